"""AROM keeps scikit-learn's contract."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from skgraft import AROMClassifier, AROMRegressor

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

ESTIMATORS = [
    AROMClassifier(),
    AROMClassifier(multi_class="ovr"),
    AROMClassifier(norm="l1"),
    AROMRegressor(),
    AROMRegressor(norm="l1", n_features_to_select=1),
]

FOR_SCIKIT_LEARN_ONLY = [
    "check_get_feature_names_out_error",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_inplace_ensure_writeable",
    "check_param_validation",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
]


@parametrize_with_checks(ESTIMATORS)
def test_the_checks_that_scikit_learn_gives_to_third_parties_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", FOR_SCIKIT_LEARN_ONLY)
@pytest.mark.parametrize("estimator", [AROMClassifier(), AROMRegressor()], ids=str)
def test_the_checks_that_scikit_learn_keeps_for_itself_pass_too(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_names(frame):
    X, y = load_breast_cancer(return_X_y=True)
    names = [f"f{j}" for j in range(30)]
    data = frame(dict(zip(names, X.T, strict=True)))
    model = AROMClassifier(n_features_to_select=4).fit(data, y)
    assert list(model.get_feature_names_out()) == [names[j] for j in np.flatnonzero(model.support_)]
    plain = AROMClassifier(n_features_to_select=4).fit(np.asfortranarray(X.astype(np.float32)), y)
    assert_array_equal(plain.support_, model.support_)


def test_pipelines_and_pickles_work():
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), AROMClassifier(n_features_to_select=5)).fit(X, y)
    again = pickle.loads(pickle.dumps(pipeline))  # noqa: S301 -- our own
    assert_array_equal(again.predict(X), pipeline.predict(X))
