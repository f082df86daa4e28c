"""One row stands for all that are equal to it, and the trees stay the same."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from skgraft import GBFSClassifier, GBFSRegressor, gbfs_path, mu_max
from skgraft.boosting import prepare
from skgraft.boosting.bins import bin_values, find_equal, take_rows
from skgraft.boosting.bins import equal as equal_module
from skgraft.boosting.growth import rows as rows_module
from skgraft.matrix.threads import ALONE, workers

pytestmark = pytest.mark.usefixtures("compiled")


@pytest.fixture
def seen(monkeypatch):
    """Look for equal rows however few there are; the list gets how many rows every fit is left with."""
    monkeypatch.setattr(equal_module, "LEAST_ROWS", 0)
    numbers = []

    def noted(weight, n_rows):
        numbers.append(n_rows)
        return rows_module.quantise_weights(weight, n_rows)

    def add_up(weights, equal):
        numbers[-1] = equal.firsts.size
        return added_up(weights, equal)

    added_up = rows_module.Weights.added_up
    monkeypatch.setattr(prepare, "quantise_weights", noted)
    monkeypatch.setattr(rows_module.Weights, "added_up", add_up)
    return numbers


def table(n=3000, n_different=300, d=12, seed=0):
    """Return rows drawn again and again, with missing cells, rare columns and a target that the rows decide."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n_different, d)), 1)
    X[:, 8:] = X[:, 8:] > 1.8
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0] + X[:, 1] * (X[:, 2] > 0)) + 0.5 * np.nan_to_num(X[:, 9]) + rng.normal(size=n_different)
    drawn = rng.integers(0, n_different, n)
    return X[drawn], y[drawn]


def bins_of(X):
    X = X.tocsc() if sp.issparse(X) else X
    return bin_values(X, None, np.zeros(X.shape[1], bool), 255, ALONE)


@pytest.mark.usefixtures("seen")
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("glance", [2**16, 500])
def test_equal_rows_are_found(kind, glance, monkeypatch):
    monkeypatch.setattr(equal_module, "SAMPLE_SIZE", glance)
    monkeypatch.setattr(equal_module, "PIECE", 1000)
    X, y = table()
    if kind == "sparse":
        X = np.where(np.random.default_rng(0).uniform(size=300) < 0.1, 1.0, 0.0).reshape(20, 15)
        X[:5, 3] = np.nan
        X = sp.csr_matrix(X[np.random.default_rng(1).integers(0, 20, 3000)])
    y = (y > 0).astype(float)
    bins = bins_of(X)
    columns = np.stack([bins.column(f) for f in range(X.shape[1])] + [y.astype(np.uint8)])
    _, firsts, kinds = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    for threads in (1, 3):
        with workers(threads) as some:
            found = find_equal(bins, y, some)
            taken = take_rows(bins, found.firsts, some)
        assert_array_equal(found.firsts, np.sort(firsts))
        assert_array_equal(found.firsts[found.kind], firsts[kinds.ravel()])
        assert_array_equal(found.added_up(np.ones(3000)), np.bincount(found.kind))
        assert taken.n_rows == firsts.size
        for f in range(X.shape[1]):
            assert_array_equal(taken.column(f), bins.column(f)[found.firsts])


@pytest.mark.parametrize("glance", [2**16, 500])
def test_rows_that_differ_are_left_alone(glance, seen, monkeypatch):
    monkeypatch.setattr(equal_module, "SAMPLE_SIZE", glance)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 4)), rng.normal(size=3000)
    assert find_equal(bins_of(X), y, ALONE) is None
    # the same rows with targets of their own are different ones, and do not take long to tell apart
    assert find_equal(bins_of(np.repeat(X[:3], 1000, axis=0)), y, ALONE) is None
    GBFSRegressor(n_trees=2).fit(X, y)
    assert seen == [3000]


def test_few_rows_are_not_looked_at():
    X, y = table()
    assert find_equal(bins_of(X), y, ALONE) is None


def weights(kind, n):
    if kind == "none":
        return None
    rng = np.random.default_rng(5)
    return {"halves": np.full(n, 0.5), "whole": rng.integers(0, 4, n), "real": rng.uniform(0.1, 3.0, n)}[kind]


def apart(monkeypatch, make):
    """Return a fit that looks for no equal rows."""
    with monkeypatch.context() as patch:
        patch.setattr(equal_module, "LEAST_ROWS", 10**9)
        return make()


def same(a, b, X):
    assert_array_equal(a.order_, b.order_)
    for one, other in zip(a.trees_, b.trees_, strict=True):
        for tree, its in zip(one, other, strict=True):
            assert_array_equal(tree.feature, its.feature)
            assert_array_equal(tree.threshold, its.threshold)
            assert_array_equal(tree.missing_left, its.missing_left)
            assert_array_equal(tree.n_samples, its.n_samples)
            assert tree.categories == its.categories
            assert_allclose(tree.value, its.value, rtol=1e-9, atol=1e-12)
            assert_allclose(tree.gain, its.gain, rtol=1e-6)
    assert_allclose(a.train_score_, b.train_score_, rtol=1e-10)
    assert_allclose(a.predict(X), b.predict(X), rtol=1e-9)
    assert a.mu_max_ == pytest.approx(b.mu_max_, rel=1e-9)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-9)


@pytest.mark.parametrize("weighted", ["none", "halves", "whole", "real"])
@pytest.mark.parametrize("model", ["binary", "multiclass", "squared", "huber", "poisson"])
def test_the_trees_are_the_same(model, weighted, seen, monkeypatch):
    X, y = table()
    s = weights(weighted, y.size)
    told = {"n_trees": 15, "mu": 0.01, "categorical_features": [3]}
    X[:, 3] = np.clip(np.nan_to_num(X[:, 3].round()), -2, 2)
    if model == "binary":
        y, estimator = (y > 0.3).astype(int), GBFSClassifier(**told)
    elif model == "multiclass":
        y, estimator = np.digitize(y, [-0.5, 0.8]), GBFSClassifier(**told)
    else:
        y, estimator = np.exp(y).round() if model == "poisson" else y, GBFSRegressor(loss=model, **told)
    together = estimator.fit(X, y, sample_weight=s)
    assert seen[0] <= 300
    separate = apart(monkeypatch, lambda: type(estimator)(**estimator.get_params()).fit(X, y, sample_weight=s))
    assert seen[1] >= 2000
    same(together, separate, X)
    assert together.order_.size > 2


def test_sparse_rows_early_stopping_and_other_containers(seen, monkeypatch):
    X, y = table()
    y = (y > 0.3).astype(int)
    X = sp.csr_matrix(np.nan_to_num(X[:, 8:]))
    for told in ({"n_trees": 10}, {"n_trees": 40, "early_stopping": True, "random_state": 0}):
        together = GBFSClassifier(mu=0.01, **told).fit(X, y)
        separate = apart(monkeypatch, lambda told=told: GBFSClassifier(mu=0.01, **told).fit(X, y))
        same(together, separate, X)
        assert seen[-2] < 40
        assert seen[-1] > 2000
        if told.get("early_stopping"):
            assert_allclose(together.validation_score_, separate.validation_score_, rtol=1e-10)


def test_a_warm_start_goes_on(seen):
    X, y = table()
    y = (y > 0.3).astype(int)
    whole = GBFSClassifier(n_trees=12, mu=0.01).fit(X, y)
    warm = GBFSClassifier(n_trees=5, mu=0.01, warm_start=True).fit(X, y)
    warm.set_params(n_trees=12).fit(X, y)
    same(warm, whole, X)
    assert max(seen) <= 300


@pytest.mark.usefixtures("seen")
def test_the_path_and_mu_max_are_the_same(monkeypatch):
    X, y = table()
    together = gbfs_path(X, y, n_values=4, n_trees=5)
    separate = apart(monkeypatch, lambda: gbfs_path(X, y, n_values=4, n_trees=5))
    assert_allclose(together.mus, separate.mus, rtol=1e-9)
    for one, other in zip(together, separate, strict=True):
        same(one, other, X)
    assert mu_max(X, y) == pytest.approx(apart(monkeypatch, lambda: mu_max(X, y)), rel=1e-9)


def test_too_many_rows_for_one_cell_have_two(monkeypatch):
    """So it is beyond 2^24 rows; here fewer bits are taken for too few."""
    X, y = table(n=2000, n_different=2000)
    packed = GBFSRegressor(n_trees=10, mu=0.01).fit(X, y)
    monkeypatch.setattr(rows_module, "LEAST_BITS", 25)
    channels = rows_module.quantise_weights(None, 2000)
    assert (channels.channels, channels.total, channels.u.sum()) == (2, 2000, 2000)
    same(packed, GBFSRegressor(n_trees=10, mu=0.01).fit(X, y), X)


@pytest.mark.parametrize(("n", "channels"), [(1, 1), (2**24 - 1, 1), (2**24, 2)])
def test_every_gradient_has_bits_enough(n, channels):
    weights = rows_module.Weights(np.empty(0, np.int64), 1.0, n)
    assert weights.channels == channels
    assert weights.gradient_bits >= rows_module.LEAST_BITS
    if channels == 1:  # the sum over all rows stays below the count, and both within 63 bits
        assert n << weights.gradient_bits < 1 << (weights.shift - 1)
        assert n << weights.shift < 1 << 63
