"""Networks keep scikit-learn's contract, to the letter."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from skgraft import MLPGraftClassifier, MLPGraftRegressor

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

ESTIMATORS = [MLPGraftClassifier(), MLPGraftRegressor()]
VARIANTS = [
    MLPGraftClassifier(output_weights="unit"),
    MLPGraftClassifier(loss="squared_hinge", effort="light"),
    MLPGraftRegressor(loss="huber"),
    MLPGraftRegressor(output_weights="free", effort="newest"),
]
both = pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)


@parametrize_with_checks(ESTIMATORS)
def test_the_checks_that_scikit_learn_gives_to_third_parties_pass(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(VARIANTS)
def test_they_pass_for_variants_too(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *VARIANTS], ids=str)
def test_weights_count_as_repetition_in_any_order(estimator):
    rng = np.random.default_rng(0)
    X, weight = rng.random((60, 8)), rng.integers(0, 4, 60)
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(60) > 0.75).astype(int) + (X[:, 2] > 0.7)
    weighted, repeated = (clone(estimator).set_params(l1=0.01, l0=0.01) for _ in range(2))
    weighted.fit(X, y, sample_weight=weight)
    shuffled = rng.permutation(np.arange(60).repeat(weight))
    repeated.fit(X[shuffled], y[shuffled])
    assert weighted.support_.any()
    assert_array_equal(weighted.connections_, repeated.connections_)
    assert_array_equal(weighted.predict(X), repeated.predict(X))


@pytest.mark.parametrize(
    "check",
    [
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
    ],
)
@both
def test_the_checks_that_scikit_learn_keeps_for_itself_pass_too(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


def test_predictions_are_those_of_the_decision_function():
    X, y = load_iris(return_X_y=True)
    classes = np.array(["a", "b", "c"])[y]
    for some in (slice(None), slice(0, 100)):
        estimator_checks.check_classifiers_predictions(
            X[some], classes[some], "MLPGraftClassifier", MLPGraftClassifier(l0=0.01)
        )


def test_tags_say_what_the_estimators_can_do():
    tags = get_tags(MLPGraftClassifier())
    assert tags.classifier_tags.multi_class
    assert tags.input_tags.sparse
    assert not tags.input_tags.allow_nan
    assert get_tags(MLPGraftRegressor(loss="poisson")).target_tags.positive_only


@both
def test_estimators_are_selectors_and_survive_pickling(estimator):
    X, y = make_friedman1(150, n_features=8, random_state=0)
    y = y > y.mean() if isinstance(estimator, MLPGraftClassifier) else y
    model = clone(estimator).fit(X, y)
    assert isinstance(model, SelectorMixin)
    assert 0 < model.support_.sum() < 8
    assert_array_equal(model.transform(X), X[:, model.support_])
    back = pickle.loads(pickle.dumps(model))  # noqa: S301 -- our own bytes
    assert_array_equal(back.predict(X), model.predict(X))
    assert_array_equal(back.connections_, model.connections_)
    pipe = make_pipeline(StandardScaler(), clone(estimator)).fit(X, y)
    assert_array_equal(pipe[-1].support_, model.support_)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        lambda columns: np.asfortranarray(np.column_stack(list(columns.values()))),
    ],
    ids=["pandas", "polars", "pyarrow", "fortran"],
)
def test_tables_of_every_kind_give_the_same_network(table):
    X, y = make_friedman1(150, n_features=8, random_state=0)
    plain = MLPGraftRegressor(keep=[6]).fit(X, y)
    data = table({f"c{j}": X[:, j] for j in range(8)})
    named = hasattr(data, "columns") or hasattr(data, "column_names")
    model = MLPGraftRegressor(keep=["c6"] if named else [6]).fit(data, y)
    assert_array_equal(model.support_, plain.support_)
    assert model.support_[6]
    assert_allclose(model.predict(data), plain.predict(X), rtol=1e-9)
