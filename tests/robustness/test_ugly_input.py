"""Ugly but legal data: what it looks like does not change what is learned from it, and nothing breaks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from skgraft import GraftClassifier, GraftRegressor

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

KINDS = {
    "logistic": GraftClassifier(loss="logistic", l1=0.02),
    "multinomial": GraftClassifier(loss="multinomial", l1=0.02),
    "squared hinge": GraftClassifier(loss="squared_hinge", l1=0.02),
    "squared": GraftRegressor(loss="squared", l1=0.02),
    "huber": GraftRegressor(loss="huber", l1=0.02),
    "poisson": GraftRegressor(loss="poisson", l1=0.02),
    "several targets": GraftRegressor(l1=0.02),
    "bags": GraftRegressor(l1=0.005, group_l1=0.03, groups=[0, 0, 1, 1, 2, 2, 3, 3]),
    "prices": GraftClassifier(loss="logistic", l1=0.002, l0=0.01),
    "a budget": GraftRegressor(l1=0.0, max_features=3),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def estimator(kind, **parameters):
    model = KINDS[kind]
    return type(model)(**{**model.get_params(), **parameters})


def features(n_samples=60, n_features=8, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_samples, n_features)) + 0.5 * rng.normal(size=(n_samples, 1))


def target(kind, X, seed=1):
    rng = np.random.default_rng(seed)
    f = 1.5 * X[:, 0] - X[:, min(3, X.shape[1] - 1)] + 0.7 * rng.normal(size=len(X))
    if kind == "multinomial":
        return np.digitize(f, [-0.8, 0.8])
    if kind == "poisson":
        return rng.poisson(np.exp(0.4 * f))
    if kind == "several targets":
        return np.column_stack([f, X[:, 1] + rng.normal(size=len(X)), rng.normal(size=len(X))])
    if kind == "huber":
        f[::9] += 8.0
    return f > 0 if is_classifier(KINDS[kind]) else f


def scale_of(X):
    """Return the standard deviation of each column, and 1 for constant ones."""
    deviation = X.std(axis=0)
    return np.where(deviation > 0, deviation, 1.0)


def fit(model, X, y, sample_weight=None):
    """Fit without a word of warning, and check that the result is whole."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y, sample_weight)
    return whole(model)


def whole(model):
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.certificate_.kkt_violation)
    return model


def assert_same_model(a, b, X=None):
    """Assert that two fits found the same optimum, each from its own view of the same problem."""
    assert_allclose(a.objective_, b.objective_, rtol=1e-9)
    assert_array_equal(a.support_, b.support_)
    if X is not None:
        at = scale_of(X)
        assert_allclose(a.coef_ * at, b.coef_ * at, rtol=1e-5, atol=1e-5)
    assert a.certificate_.converged
    assert b.certificate_.converged


# --- columns that say nothing, or say it twice ---


@every_kind
@pytest.mark.parametrize("storage", [np.asarray, sparse.csc_array], ids=["dense", "sparse"])
def test_constant_columns_are_never_selected_and_change_nothing(kind, storage):
    X = features()
    y = target(kind, X)
    constants = np.array([0.0, 1.0, -7.0, 0.1, 1e8, 1e-8, 1 / 3])
    wide = np.hstack([X, np.tile(constants, (60, 1))])
    groups = None if kind != "bags" else [0, 0, 1, 1, 2, 2, 3, 3, *range(4, 11)]
    model = fit(estimator(kind, groups=groups), storage(wide), y)
    assert not model.support_[8:].any()
    plain = fit(estimator(kind), storage(X), y)
    assert_allclose(model.objective_, plain.objective_, rtol=1e-9)
    assert_array_equal(model.support_[:8], plain.support_)


@every_kind
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("value", [0.0, 0.1])
@pytest.mark.parametrize("l1", [0.02, 0.0])
def test_nothing_but_constant_columns_give_the_empty_model(kind, storage, value, l1):
    y = target(kind, features())
    X = np.full((60, 8), value)
    model = fit(estimator(kind, l1=l1, max_iter=5), storage(X), y)
    assert not model.support_.any()
    assert model.order_.size == 0
    assert_array_equal(model.coef_, np.zeros_like(model.coef_))
    assert model.certificate_.converged
    if kind == "squared":
        assert_allclose(model.predict(X), y.mean(), rtol=1e-12)


@every_kind
def test_a_column_that_varies_only_in_rows_without_weight_is_constant(kind):
    X = features()
    y = target(kind, X)
    s = np.ones(60)
    s[::4] = 0.0
    X[:, 2] = np.where(s == 0.0, 1e6, 5.0)
    model = fit(estimator(kind), X, y, s)
    assert not model.support_[2]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "bags"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csc_array], ids=["dense", "sparse"])
def test_duplicate_columns_do_not_change_the_optimum(kind, storage):
    X = features()
    y = target(kind, X)
    once = fit(estimator(kind), storage(X), y)
    thrice = fit(estimator(kind), storage(np.hstack([X, X, -2.0 * X])), y)
    assert_allclose(thrice.objective_, once.objective_, rtol=1e-9)
    assert thrice.certificate_.converged
    assert_array_equal(thrice.support_.reshape(3, 8).any(axis=0), once.support_)


@every_kind
def test_duplicate_columns_without_any_penalty_are_solved(kind):
    X = features(60, 4)
    y = target(kind, X)
    model = fit(estimator(kind, l1=0.0, groups=None), np.hstack([X, X]), y)
    assert model.certificate_.converged


# --- small and odd shapes ---


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("loss", ["auto", "squared_hinge", "logistic"])
@pytest.mark.parametrize("l0", [0.0, 0.01])
def test_one_row_per_class_is_enough(n_classes, loss, l0):
    X = features(n_classes, 6)
    y = np.arange(n_classes)
    model = fit(GraftClassifier(loss=loss, l1=0.01, l0=l0), X, y)
    assert_array_equal(model.predict(X), y)


@every_kind
@pytest.mark.parametrize("n_samples", [2, 3, 4])
@pytest.mark.parametrize("n_features", [1, 2, 30])
def test_few_rows_and_few_or_many_columns(kind, n_samples, n_features):
    X = features(n_samples, n_features)
    y = {
        "several targets": np.column_stack([np.arange(n_samples), np.ones(n_samples)]),
        "multinomial": np.arange(n_samples),
    }.get(kind, np.arange(n_samples) % 2)
    model = fit(estimator(kind, groups=None), X, y)
    assert model.certificate_.converged
    assert model.predict(X).shape == y.shape


@every_kind
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_many_more_columns_than_rows(kind, storage):
    X = features(20, 600)
    y = target(kind, X)
    model = fit(estimator(kind, groups=None), storage(X), y)
    assert model.certificate_.converged
    assert 0 < model.support_.sum() < 600


@every_kind
def test_a_constant_column_serves_as_intercept_where_there_is_none(kind):
    X = features()
    y = target(kind, X + 2.0)
    X[:, 0] = 3.0
    model = fit(estimator(kind, l1=0.0, l0=0.0, group_l1=0.0, max_features=None, fit_intercept=False), X, y)
    usual = fit(estimator(kind, l1=0.0, l0=0.0, group_l1=0.0, max_features=None), X, y)
    assert model.support_[0]
    assert_allclose(model.objective_, usual.objective_, rtol=1e-9)


@every_kind
def test_one_column(kind):
    X = features()
    y = target(kind, X)
    model = fit(estimator(kind, groups=None), X[:, :1], y)
    assert model.support_.tolist() == [True]


# --- offsets and scales ---


@every_kind
@pytest.mark.parametrize("offset", [1e3, -1e8])
def test_an_offset_changes_only_the_intercept(kind, offset):
    X = features() + offset
    moved = X - offset  # exactly what is left of the columns at that offset
    y = target(kind, moved)
    far, near = fit(estimator(kind), X, y), fit(estimator(kind), moved, y)
    assert_same_model(far, near, X)
    rounding = 1e2 * np.finfo(float).eps * abs(offset)
    scores = "decision_function" if is_classifier(far) else "predict"
    assert_allclose(getattr(far, scores)(X), getattr(near, scores)(moved), rtol=1e-5, atol=1e-5 + rounding)


@pytest.mark.parametrize(
    ("kind", "offset"), [*((kind, 1e3) for kind in KINDS), ("squared", 1e6), ("squared", 1e8), ("logistic", 1e8)]
)
def test_offsets_of_sparse_columns_change_only_the_intercept(kind, offset):
    X = features() + offset
    y = target(kind, X - offset)
    stored, dense = (fit(estimator(kind, max_iter=50), form(X), y) for form in (sparse.csc_array, np.asarray))
    assert_same_model(stored, dense, X)


@pytest.mark.parametrize("factor", [1e160, 1e300])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csc_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", ["squared", "logistic"])
def test_columns_whose_squares_are_no_floats_are_learned_from_or_refused(kind, storage, factor):
    X = features()
    y = target(kind, X)
    X[:, 0] *= factor
    try:
        model = fit(estimator(kind, max_iter=50), storage(X), y)
    except ValueError as refused:
        assert "column 0" in str(refused)  # noqa: PT017 -- either will do
    else:
        assert model.support_[0]
        assert model.certificate_.converged


@every_kind
@pytest.mark.parametrize("storage", [np.asarray, sparse.csc_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("factors", [[1e-8], [1e8], [1e-8, 1e8], [1e-8, 1.0, 1e8, 1e3]], ids=str)
def test_the_scale_of_a_column_does_not_matter(kind, storage, factors):
    X = features()
    y = target(kind, X)
    factor = np.resize(factors, 8)
    model = fit(estimator(kind), storage(X * factor), y)
    plain = fit(estimator(kind), storage(X), y)
    assert_allclose(model.objective_, plain.objective_, rtol=1e-9)
    assert_array_equal(model.support_, plain.support_)
    assert_allclose(model.coef_ * factor, plain.coef_, rtol=0, atol=1e-5)


@every_kind
@pytest.mark.parametrize("factors", [[1e-8], [1e8], [1e-4, 1.0, 1e4]], ids=str)
def test_columns_of_any_scale_are_solved_as_they_are(kind, factors):
    X = features()
    y = target(kind, X)
    X = X * np.resize(factors, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = whole(estimator(kind, standardize=False).fit(X, y))
    assert model.certificate_.converged


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_the_scale_of_the_target_does_not_matter(factor):
    X = features()
    y = target("squared", X)
    model = fit(GraftRegressor(l1=0.02 * factor), X, y * factor)
    plain = fit(GraftRegressor(l1=0.02), X, y)
    assert_allclose(model.coef_ / factor, plain.coef_, rtol=0, atol=1e-6)
    assert_array_equal(model.support_, plain.support_)


def test_an_offset_of_the_target_changes_only_the_intercept():
    X = features()
    y = target("squared", X) + 1e8
    model = fit(GraftRegressor(l1=0.02), X, y)
    plain = fit(GraftRegressor(l1=0.02), X, y - 1e8)
    assert_allclose(model.coef_, plain.coef_, rtol=0, atol=1e-6)
    assert_allclose(model.intercept_ - 1e8, plain.intercept_, rtol=0, atol=1e-6)


@pytest.mark.parametrize("weight", [1e-300, 1e12, 1e307])
@every_kind
def test_the_scale_of_the_weights_does_not_matter(kind, weight):
    X = features()
    y = target(kind, X)
    assert_same_model(fit(estimator(kind), X, y, np.full(60, weight)), fit(estimator(kind), X, y), X)


# --- types and storages ---


@every_kind
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint16, np.float16, bool, object])
def test_numbers_of_any_type_are_numbers(kind, dtype):
    X = np.round(2 * features()).clip(0, 5)
    y = target(kind, features())
    if dtype is bool:
        X = (X > 1).astype(float)
    typed = fit(estimator(kind), X.astype(dtype), y)
    plain = fit(estimator(kind), X, y)
    assert_array_equal(typed.coef_, plain.coef_)
    assert typed.coef_.dtype == np.float64


@every_kind
@pytest.mark.parametrize("storage", [np.asarray, np.asfortranarray, sparse.csc_array, sparse.csr_array])
def test_single_precision_is_only_a_matter_of_storage(kind, storage):
    X = features().astype(np.float32)
    y = target(kind, X.astype(float))
    single, double = fit(estimator(kind), storage(X), y), fit(estimator(kind), storage(X.astype(float)), y)
    assert_same_model(single, double, X)
    assert single.coef_.dtype == np.float64


@every_kind
def test_memory_order_does_not_matter(kind):
    X = features()
    y = target(kind, X)
    sharp = {"tol": 1e-9}  # at which it is not left to rounding where within tol a fit ends
    c_order = fit(estimator(kind, **sharp), np.ascontiguousarray(X), y)
    for other in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], X[::-1][::-1], np.hstack([X, X])[:, :8]):
        assert_array_equal(other, X)
        model = fit(estimator(kind, **sharp), other, y)
        assert_allclose(model.coef_, c_order.coef_, rtol=0, atol=1e-10)
        assert_allclose(model.objective_, c_order.objective_, rtol=1e-12)


@every_kind
@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse_equals_dense(kind, form, index, fit_intercept):
    X = features()
    X = np.where(X > 0.2, X, 0.0)
    y = target(kind, features())
    A = sparse.csr_array(X).asformat(form)
    A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)
    stored = fit(estimator(kind, fit_intercept=fit_intercept), A, y)
    dense = fit(estimator(kind, fit_intercept=fit_intercept), X, y)
    assert_same_model(stored, dense, X)
    assert_allclose(stored.intercept_, dense.intercept_, rtol=0, atol=1e-5)
    scores = "decision_function" if is_classifier(stored) else "predict"
    assert_allclose(getattr(stored, scores)(A), getattr(stored, scores)(X), rtol=1e-12, atol=1e-12)
    assert A.indices.dtype == index


@every_kind
@pytest.mark.parametrize("container", [sparse.coo_array, sparse.csr_matrix, sparse.lil_array, sparse.dok_array])
def test_every_sparse_format_will_do(kind, container):
    X = np.where(features() > 0.2, features(), 0.0)
    y = target(kind, features())
    other = fit(estimator(kind), container(X), y)
    assert_same_model(other, fit(estimator(kind), sparse.csc_array(X), y), X)


@every_kind
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_explicit_zeros_unsorted_indices_and_split_entries_change_nothing(kind, form):
    X = np.where(features() > 0.2, features(), 0.0)
    y = target(kind, features())
    rng = np.random.default_rng(0)
    zeros = np.argwhere(X == 0.0)[::3]
    rows, columns = np.nonzero(X)
    values = X[rows, columns]
    # every entry in two halves, and some zeros stored, all in random order within their row or column
    rows, columns = (np.concatenate([a, a, z]) for a, z in ((rows, zeros[:, 0]), (columns, zeros[:, 1])))
    values = np.concatenate([0.5 * values, 0.5 * values, np.zeros(len(zeros))])
    major, minor = (rows, columns) if form == "csr" else (columns, rows)
    order = np.lexsort((rng.permutation(len(major)), major))
    starts = np.concatenate([[0], np.cumsum(np.bincount(major))])
    container = sparse.csr_array if form == "csr" else sparse.csc_array
    messy = container((values[order], minor[order], starts), shape=X.shape)
    before = messy.data.copy(), messy.indices.copy(), messy.indptr.copy()
    model = fit(estimator(kind), messy, y)
    assert_same_model(model, fit(estimator(kind), container(X), y), X)
    for kept, now in zip(before, (messy.data, messy.indices, messy.indptr), strict=True):
        assert_array_equal(kept, now)


@every_kind
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array])
def test_read_only_data_is_left_alone(kind, form):
    X = form(features())
    y = target(kind, features())
    s = np.ones(60)
    arrays = [y, s, *((X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,))]
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    model = fit(estimator(kind), X, y, s)
    model.predict(X)
    model.transform(X)
    for array, copy in zip(arrays, copies, strict=True):
        assert_array_equal(array, copy)


@every_kind
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_tables_are_as_good_as_arrays(kind, frame):
    X = features()
    y = target(kind, X)
    names = [f"column {j}" for j in range(8)]
    table = frame(dict(zip(names, X.T, strict=True)))
    sharp = {"tol": 1e-9}
    model = fit(estimator(kind, **sharp), table, y)
    plain = fit(estimator(kind, **sharp), X, y)
    assert_allclose(model.coef_, plain.coef_, rtol=0, atol=1e-10)
    assert_array_equal(model.feature_names_in_, names)
    assert_allclose(np.asarray(model.predict(table), float), np.asarray(plain.predict(X), float), atol=1e-9)


@pytest.mark.parametrize("column", [pd.Series, pl.Series, pa.array, list], ids=["pandas", "polars", "pyarrow", "list"])
@pytest.mark.parametrize("kind", ["logistic", "multinomial", "squared", "poisson"])
def test_targets_and_weights_may_be_columns_of_any_library(kind, column):
    X = features()
    y = target(kind, X)
    s = np.linspace(0.5, 2.0, 60)
    model = fit(estimator(kind), X, column(y), column(s))
    assert_array_equal(model.coef_, fit(estimator(kind), X, y, s).coef_)


@pytest.mark.parametrize(
    "names",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-1, 1]),
        np.array([3.0, 7.0]),
        np.array([2**40, 2**50]),
        np.array(["b", "B"]),
    ],
    ids=str,
)
def test_classes_may_have_any_names(names):
    X = features()
    codes = target("logistic", X).astype(int)
    model = fit(estimator("logistic"), X, names[codes])
    assert_array_equal(model.classes_, np.sort(names))
    assert model.predict(X).dtype == names.dtype
    sign = 1.0 if names[0] < names[1] else -1.0
    plain = fit(estimator("logistic"), X, codes)
    assert_allclose(sign * model.coef_, plain.coef_, rtol=0, atol=1e-6)
    assert_array_equal(model.predict(X), names[plain.predict(X)])


def test_classes_may_be_a_pandas_category():
    X = features()
    y = pd.Series(np.array(["low", "middle", "high"])[target("multinomial", X)], dtype="category")
    model = fit(estimator("multinomial"), X, y)
    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert set(model.predict(X)) <= {"high", "low", "middle"}


# --- order, repetition, weights ---


@every_kind
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_order_of_columns_does_not_matter(kind, storage):
    X = features()
    y = target(kind, X)
    order = np.random.default_rng(5).permutation(8)
    groups = None if kind != "bags" else np.array([0, 0, 1, 1, 2, 2, 3, 3])[order]
    plain = fit(estimator(kind), storage(X), y)
    moved = fit(estimator(kind, groups=groups), storage(X[:, order]), y)
    assert_allclose(moved.objective_, plain.objective_, rtol=1e-9)
    assert_array_equal(moved.support_, plain.support_[order])
    assert_allclose(moved.coef_, plain.coef_[..., order], rtol=0, atol=1e-5)


@every_kind
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_order_of_rows_does_not_matter(kind, storage):
    X = features()
    y = target(kind, X)
    order = np.random.default_rng(5).permutation(60)
    assert_same_model(fit(estimator(kind), storage(X[order]), y[order]), fit(estimator(kind), storage(X), y), X)


@every_kind
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("standardize", [True, False])
def test_weights_are_repetitions(kind, storage, standardize):
    X = features()
    y = target(kind, X)
    times = np.random.default_rng(5).integers(0, 4, size=60)
    weighted = fit(estimator(kind, standardize=standardize), storage(X), y, times)
    repeated = fit(estimator(kind, standardize=standardize), storage(X.repeat(times, axis=0)), y.repeat(times, axis=0))
    assert_same_model(weighted, repeated, X)


@every_kind
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_rows_without_weight_are_as_good_as_absent(kind, storage):
    X = features()
    y = target(kind, X)
    s = np.random.default_rng(5).uniform(0.5, 2.0, size=60)
    s[::3] = 0.0
    rest = fit(estimator(kind), storage(X[s > 0]), y[s > 0], s[s > 0])
    X[s == 0.0] = 1e12  # absurd, and not to be looked at
    assert_same_model(fit(estimator(kind), storage(X), y, s), rest, X[s > 0])


# --- targets without information, or with too much ---


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", ["squared", "huber", "poisson"])
@pytest.mark.parametrize("value", [0.1, 1.0, 1e6])
@pytest.mark.parametrize("others", [{}, {"l1": 0.0}, {"l1": 0.0, "l0": 0.1}, {"max_features": 2}], ids=str)
def test_a_constant_target_needs_no_feature(loss, value, storage, others):
    X = storage(features())
    model = fit(GraftRegressor(loss=loss, max_iter=20, **others), X, np.full(60, value))
    assert model.certificate_.converged
    assert_allclose(model.predict(X), value, rtol=1e-9)
    if others != {"l1": 0.0}:
        assert not model.support_.any()


def test_a_target_of_zeros_needs_nothing_at_all():
    model = fit(GraftRegressor(), features(), np.zeros(60))
    assert not model.support_.any()
    assert model.intercept_ == 0.0
    assert model.objective_ == 0.0


def test_one_constant_target_among_others():
    X = features()
    Y = np.column_stack([target("squared", X), np.full(60, 5.0)])
    model = fit(GraftRegressor(l1=0.02), X, Y)
    assert_array_equal(model.coef_[1], np.zeros(8))
    assert_allclose(model.intercept_[1], 5.0, rtol=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "multinomial"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_separable_classes_without_a_penalty_end_with_finite_weights(loss, classes, storage):
    X = features(40, 5)
    y = np.digitize(X[:, 0], [0.0] if classes == 2 else [-0.5, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # there is no optimum to converge to
        model = whole(GraftClassifier(loss=loss, l1=0.0, l2=0.0, max_iter=100).fit(storage(X), y))
    if classes == 2 or loss == "multinomial":  # one against the rest cannot tell the middle one apart
        assert_array_equal(model.predict(X), y)
    assert model.n_iter_ <= 100


@pytest.mark.parametrize("effort", ["full", "light", "newest", "batch", "gauss_seidel"])
@pytest.mark.parametrize("others", [{}, {"l0": 0.01}, {"max_features": 2}], ids=str)
def test_separable_classes_end_whatever_the_effort(effort, others):
    X = features(40, 4)
    y = X[:, 0] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = whole(GraftClassifier(l1=0.0, effort=effort, max_iter=20, **others).fit(X, y))
    assert model.support_[0]


def test_a_perfect_fit_leaves_nothing():
    X = features()
    model = fit(GraftRegressor(l1=0.0), X, X @ np.arange(8.0))
    assert_allclose(model.coef_, np.arange(8.0), rtol=0, atol=1e-5)
    assert model.objective_ <= 1e-9


def test_more_columns_than_rows_without_a_penalty_fit_perfectly():
    X = features(20, 60)
    model = fit(GraftRegressor(l1=0.0), X, target("squared", X))
    assert model.certificate_.converged
    assert model.objective_ <= 1e-9


@every_kind
def test_no_penalty_and_an_enormous_one(kind):
    X = features()
    y = target(kind, X)
    loose = fit(estimator(kind, l1=0.0, l0=0.0, group_l1=0.0), X, y)
    assert loose.certificate_.converged
    for penalty in ({"l1": 1e12}, {"l1": 1e12, "l2": 1e12}, {"group_l1": 1e12}, {"l0": 1e12}):
        tight = fit(estimator(kind, **penalty), X, y)
        assert not tight.support_.any()
        assert tight.certificate_.converged


@every_kind
def test_an_enormous_l2_alone_leaves_next_to_nothing(kind):
    X = features()
    y = target(kind, X)
    model = fit(estimator(kind, l1=0.0, l0=0.0, group_l1=0.0, l2=1e12), X, y)
    assert np.abs(model.coef_).max() <= 1e-11
