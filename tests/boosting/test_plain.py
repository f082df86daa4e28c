"""Small data are left to NumPy, which grows the same trees as compiled code and waits for no compiler."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from skgraft import GBFSClassifier, GBFSRegressor
from skgraft.boosting import _kernels as row_kernels
from skgraft.boosting import forest, plain, prepare
from skgraft.boosting.bins import _kernels as bin_kernels
from skgraft.boosting.bins import plain as plain_bins
from skgraft.boosting.growth import _kernels as kernels
from skgraft.boosting.growth import plain as plain_growth
from skgraft.boosting.growth.plain import make_ties

PARTS = "feature", "threshold", "left", "right", "value", "missing_left", "missing_seen", "gain", "n_samples"


def table(seed, n=160, d=9):
    """Return numbers of few and of many values, some missing, and categories in the last two columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = np.round(2.0 * X[:, 2])
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    X[rng.random((n, d)) < 0.05] = np.nan
    X[:, 3] = rng.normal(size=n)
    X[:, -2:] = rng.integers(0, 12, size=(n, 2))
    return X, y + 0.3 * (X[:, -1] % 3)


def both(monkeypatch, fit):
    """Return what comes out in NumPy and in compiled code, given the same derivatives."""
    monkeypatch.setattr(prepare, "MOST_SECONDS", np.inf)
    small = fit()
    monkeypatch.setattr(prepare, "MOST_SECONDS", -1.0)
    return small, fit()


def assert_same(a, b):
    assert_array_equal(a.get_support(), b.get_support())
    assert a.mu_max_ == b.mu_max_
    assert len(a.trees_) == len(b.trees_)
    for one, other in zip(np.ravel(a.trees_), np.ravel(b.trees_), strict=True):
        for name in PARTS:
            assert_array_equal(getattr(one, name), getattr(other, name))
        assert one.categories == other.categories


OPTIONS = {
    "plain": {},
    "deep": {"max_depth": 7, "min_samples_leaf": 1},
    "bins": {"max_bins": 20},
    "prices": {"feature_costs": np.linspace(0.5, 2.0, 9), "max_cost": 6.0},
    "bags": {"groups": [0, 0, 1, 1, 2, 2, 3, 3, 3]},
    "kept": {"keep": [3], "max_features": 3},
    "categories": {"categorical_features": [7, 8], "min_samples_leaf": 3},
    "gradient": {"leaf": "gradient", "screening": "off"},
    "explored": {"explore": 3, "random_state": 0},
}


@pytest.mark.parametrize("weighted", ["", "whole", "real"])
@pytest.mark.parametrize("options", OPTIONS)
def test_trees_are_those_of_compiled_code(options, weighted, monkeypatch):
    for seed in range(3):
        X, y = table(seed)
        rng = np.random.default_rng(seed)
        weights = {"": None, "whole": rng.integers(1, 4, y.size), "real": rng.uniform(0.2, 2.0, y.size)}[weighted]
        settings = {"n_trees": 8, "mu": 0.01, "min_samples_leaf": 5, **OPTIONS[options]}
        numbers = lambda: GBFSRegressor(**settings).fit(X, y, sample_weight=weights)  # noqa: B023, E731
        assert_same(*both(monkeypatch, numbers))
        classes = np.digitize(y, [0.0] if seed else [-0.5, 0.5])
        labels = lambda: GBFSClassifier(**settings).fit(X, classes, sample_weight=weights)  # noqa: B023, E731
        assert_same(*both(monkeypatch, labels))


@pytest.mark.parametrize("loss", ["huber", "poisson"])
def test_every_loss_and_single_precision(loss, monkeypatch):
    X, y = table(5)
    X32, counts = X.astype(np.float32), np.round(np.exp(0.3 * y))
    assert_same(*both(monkeypatch, lambda: GBFSRegressor(loss=loss, n_trees=10).fit(X32, counts)))


def test_sparse_data_are_as_good_as_dense_ones(monkeypatch):
    X, y = table(6)
    S = sp.csr_array(np.where(np.abs(X) < 1.3, 0.0, X))
    small, compiled = both(monkeypatch, lambda: GBFSRegressor(n_trees=10, mu=0.01).fit(S, y))
    assert_same(small, compiled)
    assert_same(small, GBFSRegressor(n_trees=10, mu=0.01).fit(S.toarray(), y))


def test_validation_and_warm_starts(monkeypatch):
    X, y = table(7)

    def fit():
        model = GBFSRegressor(n_trees=5, warm_start=True, mu=0.01).fit(X[:100], y[:100], X_val=X[100:], y_val=y[100:])
        return model.set_params(n_trees=9).fit(X[:100], y[:100], X_val=X[100:], y_val=y[100:])

    small, compiled = both(monkeypatch, fit)
    assert_same(small, compiled)
    assert_array_equal(small.validation_score_, compiled.validation_score_)


@pytest.mark.parametrize("categorical", [None, [7, 8]])
def test_predictions_are_those_of_compiled_code(categorical, monkeypatch):
    X, y = table(8)
    model = GBFSClassifier(n_trees=20, categorical_features=categorical).fit(X, np.digitize(y, [-0.5, 0.5]))
    small = model.decision_function(X)
    monkeypatch.setattr(forest, "COMPILED_STEPS", 0)
    assert_array_equal(small, model.decision_function(X))


@pytest.mark.parametrize("kind", ["few", "many", "skewed", "clustered", "neighbours"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges_and_bins_are_those_of_compiled_code(kind, weighted, dtype):
    rng = np.random.default_rng(0)
    values = {
        "few": rng.integers(0, 9, (6, 300)),
        "many": rng.normal(size=(6, 300)),
        "skewed": np.maximum(rng.normal(size=(6, 300)), 0.3),
        "clustered": rng.integers(0, 12, (6, 300)) * 10 + rng.random((6, 300)),
        "neighbours": 1.0 + rng.integers(0, 90, (6, 300)) * np.finfo(dtype).eps,
    }[kind].astype(dtype)
    values[2, ::7] = np.nan
    values[3] = np.nan
    block = np.sort(values, axis=1)
    weights = rng.uniform(0.1, 2.0, (6, 300)) if weighted else np.empty((0, 0))
    for max_bins in (2, 10, 40, 255):
        found = []
        for loops in (plain_bins, bin_kernels):
            edges, n_edges, n_known = np.zeros((6, max_bins - 1), dtype), np.empty(6, np.int64), np.empty(6, np.int64)
            loops.edges_of_rows(block, weights, max_bins, edges, n_edges, n_known)
            codes = np.zeros((6, 310), np.uint8)
            loops.code_rows(values, edges, n_edges, 255, 5, codes)
            found.append((edges, n_edges, n_known, codes))
        for a, b in zip(*found, strict=True):
            assert_array_equal(a, b)


@pytest.mark.parametrize("seed", range(20))
def test_categories_have_the_same_order(seed):
    rng = np.random.default_rng(seed)
    n, stride = 12, 20
    u = rng.integers(0, 4, n) * rng.integers(0, 3, n)
    q = u * rng.integers(-2, 3, n) * 1000
    cells = np.zeros((2, stride), np.int64)
    cells[:, :n], cells[:, -1] = (q, u), (1000, 1)
    found = []
    for loops in (plain_growth, kernels):
        order, mean = np.zeros(stride, np.int64), np.zeros(stride)
        total = cells.sum(axis=1).astype(float)
        size = loops.order_categories(cells, 0, n, stride, *total, 0, 4.0, order, mean, make_ties(stride))
        found.append(order[:size].tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_loops_over_the_rows_of_a_node_are_the_same(whole, weighted):
    rng = np.random.default_rng(3)
    n = 300
    z, u = rng.integers(-(2**24), 2**24, n).astype(np.int32), rng.integers(1, 2**20, n if weighted else 0)
    order = rng.permutation(n)
    entries = (order.astype(np.uint64) << np.uint64(32)) | z[order].view(np.uint32).astype(np.uint64)
    held = z, entries, u, whole
    column, goes_left = rng.integers(0, 256, n).astype(np.uint8), rng.random(256) < 0.5
    g, h, w = rng.uniform(-1.0, 1.0, n), rng.random(n), rng.random(n)
    found = []
    for loops in (plain, row_kernels):
        out, present, scores = np.zeros(n, np.uint64), np.zeros(256, bool), np.zeros(n)
        total, cells = np.zeros(2 if weighted else 1, np.int64), np.zeros((2 if weighted else 1, 256), np.int64)
        shift = 0 if weighted else 40
        loops.category_histogram(column, held, shift, 20, 250, cells)
        loops.add_to_rows(scores, held, 20, 250, 0.3)
        units, rest, low, high = loops.sum_node(held, shift, 20, 250, total)
        found.append(
            [
                (2**32 * units + rest, low, high),
                loops.count_left(column, goes_left, held, 20, 250),
                loops.partition_rows(column, goes_left, held, 20, 250, 20, 249, out, present),
                loops.leaf_sums(g, h, w, 0.0, held, 20, 250),
                loops.leaf_sums(g, np.empty(0), np.empty(0), 1.5, held, 20, 250),
                *(total, cells, out, present, scores),
            ]
        )
    for a, b in zip(*found, strict=True):
        assert_array_equal(a, b)


def test_the_place_of_a_split_in_a_gap_is_the_same():
    rng = np.random.default_rng(1)
    for dtype in (np.float32, np.float64):
        for _ in range(200):
            n_bins = int(rng.integers(2, 12))
            edges, b = np.sort(rng.normal(size=n_bins - 1)).astype(dtype), int(rng.integers(0, n_bins - 1))
            present = rng.random(256) < 0.3
            assert plain.end_of_left(present, b, n_bins, edges) == row_kernels.end_of_left(present, b, n_bins, edges)


SMALL_FITS = """
import sys
import numpy as np
from sklearn.datasets import load_breast_cancer
from skgraft import GBFSClassifier, gbfs_path
X, y = load_breast_cancer(return_X_y=True)
weights = np.linspace(0.5, 1.5, y.size)
model = GBFSClassifier().fit(X, y)
model.predict_proba(X)
model.fit(np.where(X < 0.05, np.nan, X), y, sample_weight=weights)
GBFSClassifier(n_trees=10, early_stopping=True).fit(X, np.digitize(X[:, 0], [12.0, 15.0]))
groups = np.where(X[:, :1] > 15.0, 1.0, 2.0) + np.arange(y.size)[:, None] % 3
GBFSClassifier(n_trees=10, categorical_features=[0]).fit(np.hstack([groups, X]), y)
gbfs_path(X, y, [0.3, 0.1], n_trees=10)
print([name for name in sys.modules if name.startswith("skgraft") and name.endswith("_kernels")])
"""


def test_small_fits_compile_nothing(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", SMALL_FITS]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
    assert not list(tmp_path.iterdir())
