"""The classifier with few monomials keeps scikit-learn's contract."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import __version__ as sklearn_version
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from skgraft import KernelAROMClassifier

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

ESTIMATORS = [KernelAROMClassifier(), KernelAROMClassifier(1, implementation="span", extra_points="auto")]
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
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_the_checks_that_scikit_learn_keeps_for_itself_pass_too(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


def test_balanced_weights_are_those_of_the_class_frequencies():
    X, y = problem()
    few = np.concatenate([np.flatnonzero(y == "yes")[:10], np.flatnonzero(y == "no")])
    weights = {"yes": few.size / 20, "no": few.size / (2 * (few.size - 10))}
    balanced = KernelAROMClassifier(class_weight="balanced").fit(X[few], y[few])
    given = KernelAROMClassifier(class_weight=weights).fit(X[few], y[few])
    assert_allclose(balanced.decision_function(X), given.decision_function(X), rtol=1e-9)
    plain = KernelAROMClassifier().fit(X[few], y[few])
    assert np.abs(plain.decision_function(X) - given.decision_function(X)).max() > 1e-3


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_predictions_are_those_of_the_decision_function(estimator):
    X, y = load_iris(return_X_y=True)
    for rows in (y < 3, y < 2):
        classes = np.array(["a", "b", "c"])[y[rows]]
        estimator_checks.check_classifiers_predictions(X[rows], classes, type(estimator).__name__, estimator)


@pytest.mark.skipif(
    parse_version(sklearn_version) < parse_version("1.9"), reason="the checks as they are since scikit-learn 1.9"
)
def test_the_check_that_scikit_learn_skips_without_an_environment_variable_passes():
    """SciPy reads SCIPY_ARRAY_API when it is imported, so this takes a process of its own."""
    program = """
from sklearn.utils.estimator_checks import check_array_api_input
from skgraft import KernelAROMClassifier
check_array_api_input("KernelAROMClassifier", KernelAROMClassifier(), array_namespace="numpy",
                      expect_only_array_outputs=False)
print("passed")
"""
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert run.stdout.split() == ["passed"], run.stderr


def problem(n_samples=60, n_features=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    y = X[:, 0] * X[:, 3] + X[:, 1] + 0.1 * rng.normal(size=n_samples)
    return X, np.where(y > 0, "yes", "no")


def test_tags_say_what_the_estimator_can_do():
    tags = get_tags(KernelAROMClassifier())
    assert tags.classifier_tags.multi_class
    assert not tags.classifier_tags.multi_label
    assert tags.input_tags.sparse
    assert not tags.input_tags.allow_nan


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_a_pickled_model_predicts_the_same(estimator):
    X, y = problem()
    model = clone(estimator).fit(X, y)
    back = pickle.loads(pickle.dumps(model))  # noqa: S301 -- our own bytes
    assert_array_equal(back.decision_function(X), model.decision_function(X))
    assert list(back.history_) == list(model.history_)
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def tables(X):
    names = [f"c{j}" for j in range(X.shape[1])]
    columns = dict(zip(names, X.T, strict=True))
    return {
        "fortran": np.asfortranarray(X),
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "pyarrow": pa.table(columns),
        "csr": sp.csr_array(X),
        "csc": sp.csc_matrix(X),
        "int64": with_long_indices(sp.csr_array(X)),
    }


def with_long_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@pytest.mark.parametrize("kind", tables(np.ones((1, 1))))
@pytest.mark.parametrize("implementation", ["explicit", "span"])
def test_the_result_does_not_depend_on_how_x_is_stored(kind, implementation):
    X, y = problem(40, 4)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    estimator = KernelAROMClassifier(implementation=implementation)
    plain, other = clone(estimator).fit(X, y), clone(estimator).fit(tables(X)[kind], y)
    # sums in another order move the last digits, and thirty rounds move them further
    assert_allclose(other.decision_function(tables(X)[kind]), plain.decision_function(X), rtol=1e-5, atol=1e-5)
    assert_array_equal(other.support_, plain.support_)


def test_single_precision_gives_nearly_the_same():
    X, y = problem()
    plain, single = (KernelAROMClassifier().fit(X.astype(kind), y) for kind in (np.float64, np.float32))
    assert_allclose(single.decision_function(X.astype(np.float32)), plain.decision_function(X), atol=1e-3)


def test_names_of_columns_are_names_of_monomials():
    X, y = problem()
    frame = pd.DataFrame(X, columns=["age", "b", "c", "dose", "e"])
    model = KernelAROMClassifier().fit(frame, y)
    assert {"age dose", "b"} <= {monomial.name for monomial in model.monomials_}
    assert_array_equal(model.get_feature_names_out(), np.array(frame.columns)[model.support_])


def test_bad_values_are_named():
    X, y = problem()
    X[3, 2] = np.inf
    with pytest.raises(ValueError, match=r"infinity.*column 2, row 3"):
        KernelAROMClassifier().fit(X, y)
    X[3, 2] = 0.0
    with pytest.raises(ValueError, match="one class only"):
        KernelAROMClassifier().fit(X, ["yes"] * 60)
    with pytest.raises(ValueError, match="sample_weight is negative in row 0"):
        KernelAROMClassifier().fit(X, y, sample_weight=np.r_[-1.0, np.ones(59)])
    with pytest.raises(ValueError, match="one class; a classifier needs at least 2"):
        KernelAROMClassifier().fit(X, y, sample_weight=(y == "yes").astype(float))
