"""Screening, threads, column blocks and storage change nothing, bit by bit."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from skgraft import GBFSClassifier, GBFSRegressor, mu_max
from skgraft.boosting import neighbourhood
from skgraft.boosting.bins import MixedBins, bin_values, with_rare_apart
from skgraft.boosting.bins import layout as layout_module
from skgraft.boosting.bins import storage as storage_module
from skgraft.boosting.growth import screening as screening_module
from skgraft.boosting.growth import search as search_module
from skgraft.matrix.threads import ALONE

from .samples import classes

pytestmark = pytest.mark.usefixtures("compiled")


@pytest.fixture(autouse=True, scope="module")
def _screen_small_nodes():
    """Screen however few cells there are: the problems here are small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screening_module, "LEAST_CELLS", 0)
        yield


def trees(model):
    """Everything that makes the trees of a model, as plain values."""
    return [
        (tree.feature.tolist(), tree.threshold.tolist(), tree.value.tolist(), tree.gain.tolist(), tree.categories)
        for round_trees in model.trees_
        for tree in round_trees
    ]


def same(a, b):
    assert_array_equal(a.order_, b.order_)
    assert repr(trees(a)) == repr(trees(b))  # NaN is written alike
    assert a.train_score_.tolist() == b.train_score_.tolist()


CASES = {
    "tall": (3600, 12, {"mu": 0.02}),
    "wide": (150, 500, {"mu": 0.1}),
    "bags": (200, 120, {"mu": 0.05, "groups": np.arange(120) // 5}),
    "image": (200, 100, {"mu": 0.1, "cost_function": neighbourhood((10, 10), 1.5, 0.6)}),
    "deep": (400, 40, {"mu": 0.03, "max_depth": 6, "leaf": "gradient"}),
    "budget": (300, 60, {"mu": 0.01, "max_features": 4}),
    "all free": (300, 30, {"mu": 0.0}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_screening_changes_nothing(case, n_classes):
    n, d, parameters = CASES[case]
    X, y = classes(n, d, n_classes=n_classes)
    n_trees = 30 if n_classes == 2 else 12
    exact = GBFSClassifier(n_trees=n_trees, n_jobs=1, **parameters).fit(X, y)
    off = GBFSClassifier(n_trees=n_trees, n_jobs=1, screening="off", **parameters).fit(X, y)
    same(exact, off)
    assert exact.order_.size > 1


@pytest.mark.parametrize("loss", ["squared", "huber", "poisson"])
@pytest.mark.parametrize("weighted", [False, True])
def test_screening_changes_nothing_for_numbers(loss, weighted):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(250, 90))
    X[:, :6] = np.round(X[:, :6])
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    y = rng.poisson(np.exp(np.nan_to_num(X[:, 0]) + 0.5 * np.nan_to_num(X[:, 7]))).astype(float)
    s = rng.uniform(0.5, 2.0, 250) if weighted else None
    fits = [
        GBFSRegressor(loss=loss, mu=0.05, n_trees=25, categorical_features=[0, 1], screening=screening, n_jobs=1).fit(
            X, y, sample_weight=s
        )
        for screening in ("exact", "off")
    ]
    same(*fits)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_nothing(n_jobs):
    X, y = classes(4000, 300)
    one = GBFSClassifier(mu=0.02, n_trees=8, n_jobs=1).fit(X, y)
    same(one, GBFSClassifier(mu=0.02, n_trees=8, n_jobs=n_jobs).fit(X, y))
    assert_array_equal(one.predict_proba(X), one.set_params(n_jobs=n_jobs).predict_proba(X))


def test_runs_are_the_same():
    X, y = classes(300, 50)
    same(GBFSClassifier(n_trees=10).fit(X, y), GBFSClassifier(n_trees=10).fit(X, y))


@pytest.mark.parametrize("block", [1000, 7000])
def test_column_blocks_change_nothing(block, monkeypatch):
    X, y = classes(400, 70)
    whole = GBFSClassifier(n_trees=8, n_jobs=1).fit(X, y)
    monkeypatch.setattr(layout_module, "BLOCK", block)
    same(whole, GBFSClassifier(n_trees=8, n_jobs=2).fit(X, y))


@pytest.mark.parametrize("subtract_from", [1, 50, 10**9])
def test_subtraction_changes_nothing(subtract_from, monkeypatch):
    X, y = classes(3500, 30)
    X[::7, 3] = np.nan
    s = np.where(np.arange(3500) % 3, 1.0, 2.5)
    for weight in (None, s):
        usual = GBFSClassifier(n_trees=6, mu=0.01).fit(X, y, sample_weight=weight)
        with monkeypatch.context() as patch:
            patch.setattr(search_module, "SUBTRACT_FROM", subtract_from)
            patch.setattr(search_module, "SUBTRACTION", 0)
            for screening in ("exact", "off"):
                other = GBFSClassifier(n_trees=6, mu=0.01, screening=screening).fit(X, y, sample_weight=weight)
                same(usual, other)


def test_too_little_memory_for_histograms_changes_nothing(monkeypatch):
    X, y = classes(3500, 30)
    usual = GBFSClassifier(n_trees=6).fit(X, y)
    monkeypatch.setattr(search_module, "LEAST_KEPT", 0)
    monkeypatch.setattr(search_module, "KEPT_SHARE", 0.0)
    same(usual, GBFSClassifier(n_trees=6).fit(X, y))


@pytest.mark.parametrize("density", [0.03, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_columns_are_as_good_as_dense_ones(density, weighted):
    rng = np.random.default_rng(3)
    S = sp.random(
        300, 80, density=density, random_state=4, format="csr", data_rvs=lambda k: np.round(rng.normal(size=k), 1)
    )
    S.data[::17] = np.nan
    X = S.toarray()
    y = (np.nan_to_num(X[:, :10]).sum(axis=1) + 0.1 * rng.normal(size=300) > 0).astype(int)
    s = rng.integers(1, 4, 300).astype(float) if weighted else None
    dense = GBFSClassifier(n_trees=10, mu=0.02, min_samples_leaf=2).fit(X, y, sample_weight=s)
    assert dense.order_.size > 2
    for matrix in (S, S.tocsc(), sp.csc_array(S), with_long_indices(S)):
        sparse = GBFSClassifier(n_trees=10, mu=0.02, min_samples_leaf=2).fit(matrix, y, sample_weight=s)
        same(dense, sparse)
        assert_array_equal(dense.decision_function(X), sparse.decision_function(matrix))


def with_long_indices(S):
    S = S.copy()
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    return S


@pytest.mark.parametrize("order", ["C", "F"])
def test_order_and_precision_of_the_array_change_nothing(order):
    X, y = classes(300, 40)
    X = X.astype(np.float32)
    single = GBFSClassifier(n_trees=10).fit(np.asarray(X, order=order), y)
    double = GBFSClassifier(n_trees=10).fit(X.astype(np.float64), y)
    assert_array_equal(single.order_, double.order_)
    assert_array_equal(single.decision_function(X), double.decision_function(X))
    assert_array_equal(single.decision_function(np.asfortranarray(X)), single.decision_function(X))


def test_whole_weights_are_repetitions():
    X, y = classes(150, 20)
    s = np.random.default_rng(5).integers(0, 4, 150)
    weighted = GBFSClassifier(n_trees=15, mu=0.03).fit(X, y, sample_weight=s)
    repeated = GBFSClassifier(n_trees=15, mu=0.03).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    assert_array_equal(weighted.order_, repeated.order_)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-10)
    assert weighted.mu_max_ == repeated.mu_max_


def test_equal_weights_scale_gains_alone():
    X, y = classes(150, 20)
    plain = GBFSClassifier(n_trees=8, min_samples_leaf=1).fit(X, y)
    triple = GBFSClassifier(n_trees=8, min_samples_leaf=3).fit(X, y, sample_weight=np.full(150, 3.0))
    assert_array_equal(plain.order_, triple.order_)
    np.testing.assert_allclose(triple.mu_max_, 3.0 * plain.mu_max_, rtol=1e-12)
    np.testing.assert_allclose(plain.decision_function(X), triple.decision_function(X), rtol=1e-10)


# --- prices ---


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("costs", [None, "some"])
def test_above_mu_max_nothing_is_bought_and_the_prior_is_predicted(kind, costs):
    X, y = classes(200, 15, n_classes=3 if costs else 2)
    y = y if kind == "classes" else X[:, 0] + y
    parameters = {"feature_costs": None if costs is None else np.linspace(0.5, 2.0, 15)}
    top = mu_max(X, y, **parameters)
    estimator = (GBFSClassifier if kind == "classes" else GBFSRegressor)(mu_scale="absolute", **parameters)
    above = estimator.set_params(mu=top * 1.0001).fit(X, y)
    assert not above.support_.any()
    assert above.order_.size == above.n_trees_ == above.total_cost_ == 0
    if kind == "classes":
        prior = np.bincount(y) / 200
        np.testing.assert_allclose(above.predict_proba(X), np.tile(prior, (200, 1)), rtol=1e-12)
    else:
        np.testing.assert_allclose(above.predict(X), y.mean(), rtol=1e-12)
    assert_array_equal(above.transform(X).shape, (200, 0))
    assert estimator.set_params(mu=top * 0.9999).fit(X, y).support_.any()
    relative = (GBFSClassifier if kind == "classes" else GBFSRegressor)(mu=1.0001, **parameters).fit(X, y)
    assert relative.order_.size == 0
    assert relative.mu_max_ == top


def test_a_higher_price_never_brings_a_feature_earlier():
    X, y = classes(200, 8)
    for feature in range(4):
        places = []
        for price in (0.2, 0.5, 1.0, 2.0, 5.0):
            costs = np.ones(8)
            costs[feature] = price
            model = GBFSClassifier(mu=2.0, mu_scale="absolute", n_trees=1, feature_costs=costs).fit(X, y)
            order = model.order_.tolist()
            places.append(order.index(feature) if feature in order else 99)
        assert places == sorted(places), feature


def test_a_bag_is_paid_once_and_its_members_are_free():
    X, y = classes(300, 12)
    labels = ["one", "one", "one", "two"] * 3
    model = GBFSClassifier(mu=0.05, n_trees=30, groups=labels, feature_costs={"one": 2.0, "two": 1.0}).fit(X, y)
    opened = {labels[f] for f in model.order_}
    assert model.total_cost_ == sum({"one": 2.0, "two": 1.0}[bag] for bag in opened)
    assert model.support_.sum() > len(opened)


def test_a_feature_is_paid_once_across_classes():
    X, y = classes(300, 10, n_classes=4)
    model = GBFSClassifier(mu=0.03, n_trees=10).fit(X, y)
    assert model.total_cost_ == model.support_.sum() == model.order_.size
    assert len(set(model.order_.tolist())) == model.order_.size


def test_screening_leaves_out_most_features_of_later_trees(monkeypatch):
    """The trees would be the same if it left out none."""
    r = np.random.default_rng(0)
    X = r.normal(size=(3000, 200))
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.5 * r.normal(size=3000) > 0).astype(int)
    searched = []
    gains = search_module.DenseSearch.gains

    def counted(self, features, nodes, *args, **kwargs):
        if nodes and nodes[0].parent is None:
            searched[-1] += features.size
        return gains(self, features, nodes, *args, **kwargs)

    def begin(self, rows):
        searched.append(0)
        return started(self, rows)

    started = search_module.DenseSearch.begin
    monkeypatch.setattr(search_module.DenseSearch, "gains", counted)
    monkeypatch.setattr(search_module.DenseSearch, "begin", begin)
    GBFSClassifier(n_trees=20, mu=0.05, n_jobs=1).fit(X, y)
    assert np.mean(searched[-18:]) < 0.4 * 200
    searched.clear()
    GBFSClassifier(n_trees=20, mu=0.05, n_jobs=1, screening="off").fit(X, y)
    assert searched[-18:] == [200] * 18


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("screening", ["exact", "off"])
def test_columns_stored_sparse_change_nothing(weighted, screening, monkeypatch):
    """Columns in which nearly all rows are alike (or missing) are stored by their other rows."""
    rng = np.random.default_rng(5)
    X = (rng.uniform(size=(900, 40)) < 0.02).astype(float) * rng.integers(1, 4, (900, 40))
    X[:, 10:20] = np.where(X[:, 10:20] > 0, X[:, 10:20], np.nan)
    X[:, 20:30] -= 1.0
    X[::90, 20:25] = np.nan
    X[:, 36:] = rng.normal(size=(900, 4))
    y = X[:, 36] + 3.0 * X[:, 0] - 2.0 * X[:, 25] + 4.0 * np.isnan(X[:, 12]) + 0.1 * rng.normal(size=900)
    parameters = {"mu": 0.005, "n_trees": 25, "screening": screening, "categorical_features": [5], "n_jobs": 1}
    weight = rng.uniform(0.5, 2.0, 900) if weighted else None
    mixed = GBFSRegressor(**parameters).fit(X, y, sample_weight=weight)
    monkeypatch.setattr(storage_module, "RARE_BELOW", -1.0)
    same(mixed, GBFSRegressor(**parameters).fit(X, y, sample_weight=weight))
    assert mixed.support_[[0, 25, 36]].all()


def test_rare_columns_are_stored_sparse():
    X = (np.random.default_rng(0).uniform(size=(500, 20)) < 0.01).astype(float)
    X[:, 3] = np.arange(500)
    bins = with_rare_apart(bin_values(X, None, np.zeros(20, bool), 255, ALONE))
    assert isinstance(bins, MixedBins)
    assert_array_equal(np.flatnonzero(~bins.is_sparse), [3])
    for f in range(20):
        edges = bins.layout.edges.of(f)
        assert_array_equal(bins.column(f), np.searchsorted(edges, X[:, f]))


def test_memory_beside_many_columns_is_that_of_their_bins():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30_000)).astype(np.float32)
    y = X[:, 0] + X[:, 1] * X[:, 2] > 0
    model = GBFSClassifier(n_trees=5, mu=0.02, n_jobs=1)
    model.fit(X, y)  # so that everything is compiled
    tracemalloc.start()
    try:
        model.fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.25 * X.nbytes < peak < 0.42 * X.nbytes  # a byte a cell; 0.40 where the fixed parts do not count
