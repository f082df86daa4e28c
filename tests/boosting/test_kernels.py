"""Compiled loops agree with plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from skgraft.boosting import _kernels as row_kernels
from skgraft.boosting.bins import _kernels as bin_kernels
from skgraft.boosting.bins import bin_values, with_rare_apart
from skgraft.boosting.growth import _kernels as kernels
from skgraft.boosting.growth import quantise_weights
from skgraft.boosting.growth import rows as rows_module
from skgraft.boosting.growth.rows import Cut, Rows
from skgraft.boosting.growth.search import make_workspaces
from skgraft.boosting.losses import Task, quantise_gradients
from skgraft.criterion.losses import make_loss
from skgraft.matrix.threads import ALONE, workers


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("loss", ["logistic", "multinomial", "squared", "huber", "poisson"])
def test_gradients_are_those_of_the_losses(loss):
    n, k = 70_000, 3 if loss == "multinomial" else 1
    f = 2.0 * rng(0).normal(size=(k, n))
    s = rng(1).uniform(0.5, 2.0, n)
    y = {"logistic": rng(2).integers(0, 2, n), "multinomial": rng(2).integers(0, 3, n)}.get(loss, rng(2).poisson(2, n))
    task = Task(make_loss(loss, delta=0.7), y.astype(float), s, k)
    g, h = task.workspace()
    value = task.derivatives(f, g, h, ALONE)
    if task.curvature_scale is not None:
        assert h.size == 0
        h = task.curvature_scale * np.abs(g) * (1.0 - np.abs(g))
    plain = make_loss(loss, delta=0.7)
    encoded = np.eye(3)[y] if loss == "multinomial" else (np.where(y, 1.0, -1.0) if loss == "logistic" else y)
    encoded = encoded.reshape(n, -1).astype(float)
    assert_allclose(g.T, -plain.derivative(f.T, encoded), rtol=1e-9, atol=1e-12)
    curvature = (
        plain.majorizer(f.T, encoded, np.ones(n)).diagonal if loss == "huber" else plain.second_derivative(f.T, encoded)
    )
    assert_allclose(h.T, curvature * (1.5 if loss == "multinomial" else 1.0), rtol=1e-9, atol=1e-12)
    assert_allclose(value, plain.value(f.T, encoded, s / s.sum()), rtol=1e-12)
    assert_allclose(task.mean_loss(f), value, rtol=1e-12)
    prior = task.start()
    assert_allclose(prior, plain.start(encoded, s / s.sum()), rtol=1e-9, atol=1e-12)


WEIGHTS = ["", "whole", "real"]  # none; those that share a cell with the gradients; those that have their own


def histogram(x, values, size):
    cells = np.zeros((len(values), size), np.int64)
    for c in range(len(values)):
        np.add.at(cells[c], x, values[c])
    return cells


def amounts(gradients):
    """Return what each row adds to a histogram, channels by rows."""
    z, weights = gradients.z.astype(np.int64), gradients.weights
    u = weights.u if weights.u.size else np.ones_like(z)
    return (u * (2**weights.shift + z))[None] if weights.channels == 1 else np.stack([u * z, u])


def entries(rows, z):
    return (rows.astype(np.uint64) << np.uint64(32)) | z[rows].astype(np.uint32).astype(np.uint64)


def held(gradients, rows=None):
    """Return what kernels get of rows in this order, or of all in that of X."""
    some = np.empty(0, np.uint64) if rows is None else entries(rows, gradients.z)
    return gradients.z, some, gradients.weights.u, rows is None


def gain_of(z, u, left):
    z = z.astype(float)
    parts = [(u[m] * z[m]).sum() ** 2 / u[m].sum() for m in (left, ~left)]
    return sum(parts) - (u * z).sum() ** 2 / u.sum()


def setting(weighted, *, missing=True, n=500, d=9, n_bins=12, seed=0):
    r = rng(seed)
    x = r.integers(0, n_bins, (d, n)).astype(np.uint8)
    if missing:
        x[r.uniform(size=x.shape) < 0.1] = n_bins
    g = r.normal(size=n)
    some = {"": None, "whole": r.integers(1, 5, n).astype(float), "real": r.uniform(0.5, 3.0, n)}
    weights = quantise_weights(some[weighted], n)
    assert weights.channels == (2 if weighted == "real" else 1)
    gradients = quantise_gradients(g, weights, None, ALONE)
    u = weights.u.astype(float) if weighted else np.ones(n)
    return x, gradients, u


@pytest.mark.parametrize("weighted", WEIGHTS)
def test_the_root_is_described_the_same_by_any_number_of_threads(weighted, monkeypatch):
    monkeypatch.setattr("skgraft.matrix.threads.LEAST_WORK", 0)
    _, gradients, u = setting(weighted, n=200_001, d=1)
    workspace = np.empty((2, u.size), np.uint64)
    alone = Rows(gradients, workspace, ALONE).root(0)
    with workers(3) as threads:
        together = Rows(gradients, workspace, threads).root(0)
    assert (together.squares, together.slopes) == (alone.squares, alone.slopes)
    assert_array_equal(together.total, alone.total)
    z = gradients.z.astype(float)
    assert_allclose(gradients.decode(alone.total), [u @ z, u.sum()], rtol=1e-14, atol=0)
    assert_allclose(alone.squares, u @ z**2, rtol=1e-12)
    mean = u @ z / u.sum()
    assert_allclose(alone.slopes, [z.max() - mean, mean - z.min()], rtol=1e-12)


def brute(x, z, u, rows, n_bins, min_leaf):
    """Return the best gain of a feature over thresholds and sides of missing values."""
    best = 0.0
    missing = x[rows] == n_bins
    for b in range(n_bins):
        for side in (False, True):
            left = np.where(missing, side, x[rows] <= b)
            if min(u[rows][left].sum(), u[rows][~left].sum()) >= min_leaf:
                best = max(best, gain_of(z[rows], u[rows], left))
    return best


@pytest.mark.parametrize("weighted", WEIGHTS)
@pytest.mark.parametrize("n", [6, 40, 500])
def test_searches_find_the_best_gain(weighted, n):
    x, gradients, u = setting(weighted, n=n)
    d, n_bins, stride = 9, 12, 13
    order = rng(1).permutation(n).astype(np.uint32)
    values = amounts(gradients)[:, order]
    cut = n // 3
    starts, stops = np.array([0, cut]), np.array([cut, n])
    totals = np.stack([values[:, a:e].sum(axis=1) for a, e in zip(starts, stops, strict=True)], axis=1)
    bins, flags = np.full(d, n_bins, np.int32), np.zeros(d, bool)
    gains, codes = np.empty((2, d)), np.empty((2, d), np.int32)
    shift = gradients.weights.shift
    stored = np.empty((d, 2, len(values), stride), np.int64)
    features, slots, rooms = np.arange(d), np.arange(2), make_workspaces(len(values), 1024)
    kernels.search_nodes(
        x, features, 0, d, held(gradients, order), starts, stops, flags, totals, bins, flags, stride, shift, 2.0,
        np.zeros(d), np.zeros(2), np.zeros(2), np.zeros(2), features, slots, stored, rooms, gains, codes,
    )  # fmt: skip
    for f in range(d):
        for k in range(2):
            rows = order[starts[k] : stops[k]]
            assert_array_equal(stored[f, k], histogram(x[f][rows], amounts(gradients)[:, rows], stride))
            assert_allclose(gains[k, f], brute(x[f], gradients.z, u, rows, n_bins, 2.0), rtol=1e-9, atol=1.0)
    # however many features are taken at once
    by_pieces, codes_by_pieces = np.empty((2, d)), np.empty((2, d), np.int32)
    for first, last in ((0, 2), (2, 3), (3, 6), (6, 9)):
        kernels.search_nodes(
            x, features, first, last, held(gradients, order), starts, stops, flags, totals, bins, flags, stride, shift,
            2.0, np.zeros(d), np.zeros(2), np.zeros(2), np.zeros(2), features, slots, np.empty_like(stored),
            rooms, by_pieces, codes_by_pieces,
        )  # fmt: skip
    assert_array_equal(by_pieces, gains)
    assert_array_equal(codes_by_pieces, codes)
    # by subtraction from the histogram of both
    parents = stored.sum(axis=1, keepdims=True)
    small = np.array([0])
    again, codes_again = np.empty((2, d)), np.empty((2, d), np.int32)
    no_bar = np.zeros(d), np.zeros(2), np.zeros(2), np.zeros(2)
    kernels.search_pairs(
        x, features, 0, d, held(gradients, order), starts[:1], stops[:1], small, totals, bins, flags, stride, shift,
        2.0, *no_bar, features, np.array([0]), parents, slots, np.empty_like(stored), rooms, again, codes_again,
    )  # fmt: skip
    assert_array_equal(again, gains)
    assert_array_equal(codes_again, codes)


@pytest.mark.parametrize("weighted", WEIGHTS)
@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n", [40, 300, 3000])
def test_what_is_said_not_to_reach_a_bar_does_not(weighted, skewed, missing, n):
    """Features are left out by coarse histograms and by a few splits, and never one that gains the bar."""
    x, gradients, _ = setting(weighted, missing=missing, n=n, d=200, n_bins=250, seed=n)
    g = np.where(rng(1).uniform(size=n) < (0.1 if skewed else 0.5), 0.9, -0.05 if skewed else -0.9)
    gradients = quantise_gradients(g + 0.01 * rng(2).normal(size=n), gradients.weights, None, ALONE)
    x[0] = np.argsort(np.argsort(gradients.z)) * 250 // n
    d, stride, features = 200, 251, np.arange(200)
    order, rooms = np.arange(n, dtype=np.uint32), make_workspaces(gradients.weights.channels, 1024)
    totals = amounts(gradients).sum(axis=1, keepdims=True)
    whole = np.array([0]), np.array([n])
    mean = np.divide(*gradients.decode(totals[:, 0]))
    rise, fall = np.array([gradients.z.max() - mean]), np.array([mean - gradients.z.min()])

    def search(bar, siftable):
        gains, codes = np.empty((1, d)), np.empty((1, d), np.int32)
        kernels.search_nodes(
            x, features, 0, d, held(gradients, order), *whole, np.full(d, siftable), totals,
            np.full(d, 250, np.int32), np.zeros(d, bool), stride, gradients.weights.shift, 2.0, np.full(d, bar),
            np.zeros(1), rise, fall, features, np.array([-1]), np.empty((0, 0, 0, 0), np.int64), rooms, gains, codes,
        )  # fmt: skip
        return gains[0], codes[0]

    exact, exact_codes = search(0.0, siftable=False)
    for bar in np.quantile(exact, [0.1, 0.9, 1.0]) * np.array([1.0, 1.1, 1.0 - 1e-9]):
        for siftable in (False,) if missing else (False, True):
            gains, codes = search(bar, siftable)
            reached = exact >= bar
            assert_array_equal(gains[reached], exact[reached])
            assert_array_equal(codes[reached], exact_codes[reached])
            known = codes >= 0
            assert_array_equal(gains[known], exact[known])
            assert (gains[~known] == bar).all()
    if n == 300 and not skewed:
        assert (search(4.0 * np.median(exact), siftable=not missing)[1] < 0).mean() > 0.5


@pytest.mark.parametrize("weighted", WEIGHTS)
def test_a_set_of_categories_is_the_best_of_all_sets(weighted):
    from itertools import combinations

    x, gradients, u = setting(weighted, n=80, d=4, n_bins=5)
    stride = 6
    totals = amounts(gradients).sum(axis=1, keepdims=True)
    for f in range(4):
        cells = np.zeros((len(totals), 1024), np.int64)
        cells[:, :stride] = histogram(x[f], amounts(gradients), stride)
        gain, _ = kernels.best_split(
            cells, 0, 5, np.ones(1, bool), 0, stride, totals, 0, gradients.weights.shift, 1.0,
            0.0, 0.0, 0.0, make_workspaces(len(cells), 1024)[-1],
        )  # fmt: skip
        every = [set_ for k in range(1, 6) for set_ in combinations(range(6), k)]
        best = max(gain_of(gradients.z, u, np.isin(x[f], set_)) for set_ in every if 0 < np.isin(x[f], set_).sum() < 80)
        assert_allclose(gain, best, rtol=1e-9)


@pytest.mark.parametrize("whole", [False, True])
def test_rows_are_parted(whole):
    _, gradients, _ = setting("", n=100)
    column = rng(0).integers(0, 10, 100).astype(np.uint8)
    rows = np.arange(100) if whole else rng(1).permutation(100)
    its = held(gradients, None if whole else rows)
    goes_left = np.arange(256) % 3 == 0
    out, present = np.zeros(100, np.uint64), np.zeros(256, bool)
    middle = row_kernels.partition_rows(column, goes_left, its, 20, 90, 20, 89, out, present)
    inside = rows[20:90]
    left = goes_left[column[inside]]
    assert middle == 20 + left.sum() == 20 + row_kernels.count_left(column, goes_left, its, 20, 90)
    assert_array_equal(np.flatnonzero(present), np.unique(column[inside]))
    assert_array_equal(out[20:90], entries(np.concatenate([inside[left], inside[~left][::-1]]), gradients.z))
    assert not out[:20].any()
    assert not out[90:].any()


@pytest.mark.parametrize("weighted", WEIGHTS)
def test_any_number_of_threads_parts_nodes_the_same(weighted, monkeypatch):
    monkeypatch.setattr("skgraft.matrix.threads.LEAST_WORK", 0)
    n = 300_001
    x, gradients, u = setting(weighted, n=n, d=3)

    def grow(threads):
        rows = Rows(gradients, np.zeros((2, n), np.uint64), threads)
        level = [rows.root(0)]
        for column in x:
            cuts = [Cut(node, column, np.arange(256) < 3 + node.start % 7, k) for k, node in enumerate(level)]
            level = [child for parted in rows.split(cuts) for child in (parted.left, parted.right)]
            rows.node_sums(level)
        return rows, level

    alone, nodes = grow(ALONE)
    with workers(3) as threads:
        together, others = grow(threads)
    _, these, _, _ = alone.held
    assert_array_equal(together.held[1], these)
    assert_array_equal(np.sort(these >> np.uint64(32)), np.arange(n))
    for node, other in zip(nodes, others, strict=True):
        assert (other.start, other.stop, other.squares, other.slopes) == (
            node.start,
            node.stop,
            node.squares,
            node.slopes,
        )
        inside = these[node.start : node.stop] >> np.uint64(32)
        z = gradients.z[inside].astype(float)
        assert_array_equal(alone.gradients_of(node), z)
        assert_allclose(gradients.decode(node.total), [u[inside] @ z, u[inside].sum()], rtol=1e-14)
        assert_allclose(node.squares, u[inside] @ z**2, rtol=1e-12)
        assert node.extremes[0] <= z.min()
        assert node.extremes[1] >= z.max()
        if not weighted:
            assert node.squares == sum(int(q) ** 2 for q in z)


def test_every_row_of_a_node_is_found_in_its_block(monkeypatch):
    monkeypatch.setattr(rows_module, "PIECE", 700)
    n, r = 5000, rng(0)
    _, gradients, _ = setting("", n=n, d=1)
    rows = Rows(gradients, np.empty((2, n), np.uint64), ALONE)
    nodes = [rows.root(0)]
    assert_array_equal(rows.places(nodes)[:, 0], [(a, min(a + 700, n)) for a in range(0, n, 700)])
    for share in (100, 60, 0):  # at last with parts that are empty
        cuts = [Cut(node, r.integers(0, 200, n).astype(np.uint8), np.arange(256) < share, 0) for node in nodes]
        nodes = [part for parts in rows.split(cuts) for part in (parts.left, parts.right)]
    places = rows.places(nodes)
    for k, node in enumerate(nodes):
        its = rows.workspace[node.side] >> np.uint64(32)
        found = [its[a:b] for a, b in places[:, k]]
        for block, some in enumerate(found):
            assert ((some >= 700 * block) & (some < 700 * (block + 1))).all()
        assert_array_equal(np.sort(np.concatenate(found)), np.sort(its[node.start : node.stop]))


@pytest.mark.parametrize("weighted", WEIGHTS)
def test_what_the_rows_of_a_node_are_together(weighted):
    _, gradients, u = setting(weighted=weighted)
    rows = rng(2).permutation(500)
    z, inside = gradients.z.astype(float), rows[10:300]
    total = np.empty(gradients.weights.channels, np.int64)
    units, rest, low, high = row_kernels.sum_node(held(gradients, rows), gradients.weights.shift, 10, 300, total)
    assert_array_equal(total, amounts(gradients)[:, inside].sum(axis=1))
    assert_allclose(units * 2.0**32 + rest, (u * z**2)[inside].sum())
    assert (low, high) == (z[inside].min(), z[inside].max())


def test_exponentials_are_right_to_the_last_bits():
    x = np.concatenate([np.linspace(-50, 50, 1001), [0.0, 1e-300, 699.9, -699.9]])
    out = np.empty(2000)
    row_kernels.exponentials(x, x.size, out)
    assert_allclose(out[: x.size], np.exp(-np.abs(x)), rtol=4e-16)
    row_kernels.exponentials(np.array([1e4, -1e300]), 2, out)
    assert (out[:2] < 1e-300).all()


@pytest.mark.parametrize("whole", [False, True])
def test_sums_over_nodes(whole):
    _, gradients, u = setting("whole")
    rows = np.arange(500) if whole else rng(2).permutation(500)
    its, inside = held(gradients, None if whole else rows), rows[10:300]
    z = gradients.z.astype(float)
    before = rng(3).integers(-1000, 1000, 290).astype(np.int32)
    both, other = row_kernels.products(its, 10, 300, before)
    assert_allclose(both, (u[inside] * z[inside] * before).sum())
    assert_allclose(other, (u[inside] * before).sum())
    g, h, w = rng(4).normal(size=(3, 500))
    sums = row_kernels.leaf_sums(g, h, w, 0.0, its, 10, 300)
    assert_allclose(sums, [(w * g)[inside].sum(), (w * h)[inside].sum(), w[inside].sum()])
    sums = row_kernels.leaf_sums(g, h, np.empty(0), 0.0, its, 10, 300)
    assert_allclose(sums, [g[inside].sum(), h[inside].sum(), 290])
    sums = row_kernels.leaf_sums(g, np.empty(0), w, 1.5, its, 10, 300)
    assert_allclose(sums[1], (w * 1.5 * np.abs(g) * (1.0 - np.abs(g)))[inside].sum())
    scores = np.zeros(500)
    row_kernels.add_to_rows(scores, its, 10, 300, 2.5)
    assert_array_equal(scores, np.where(np.isin(np.arange(500), inside), 2.5, 0.0))


def test_the_bound_of_the_screen_holds():
    """No split gains more under a new gradient than the angle to the old one allows."""
    r = rng(5)
    for _ in range(300):
        n = int(r.integers(4, 12))
        v, g, new = r.normal(size=(3, n))
        v -= v.mean()
        v /= np.linalg.norm(v)
        g, new = g - g.mean(), new - new.mean() + r.uniform(0, 3) * (g - g.mean())
        root = abs(v @ g)
        length, cap = np.linalg.norm(new), np.linalg.norm(g)
        along = min(abs(new @ g) / cap, length)
        across = np.sqrt(length**2 - along**2)
        out = np.empty(1, np.intp)
        for price, wins in ((0.999999 * (v @ new) ** 2, 1), (1.000001 * length**2, 0)):
            share = np.zeros(1, np.uint8)
            row_kernels.root_shares(np.array([0]), np.array([root**2]), cap, np.zeros(1, bool), share)
            prices = np.array([price])
            kept = row_kernels.may_win(np.array([0]), 0, 1, share, along, across, length, 0.0, prices, 0.0, out)
            assert kept == wins


# --- bins ---


def test_values_are_in_the_bin_that_their_edges_say():
    X = rng(0).normal(size=(2000, 7))
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = 1.0
    X[::3, 3] = np.nan
    X[:, 4] = np.nan
    X[:, 5] = np.where(rng(1).uniform(size=2000) < 0.6, 0.0, X[:, 5])
    for dtype in (np.float32, np.float64):
        Z = X.astype(dtype)
        bins = bin_values(Z, None, np.zeros(7, bool), 32, ALONE)
        layout = bins.layout
        assert_array_equal(layout.n_bins > 0, [True] * 4 + [False] + [True] * 2)
        assert layout.n_bins[2] == 1
        assert layout.n_bins[1] == np.unique(Z[:, 1]).size
        assert layout.n_bins.max() <= 32
        for f in range(7):
            edges = layout.edges.of(f)
            assert (np.diff(edges) > 0).all()
            known = ~np.isnan(Z[:, f])
            assert_array_equal(bins.column(f)[known], np.searchsorted(edges, Z[known, f], side="left"))
            assert (bins.column(f)[~known] == layout.missing).all()
        counts = np.bincount(bins.column(0))
        assert counts.max() < 3 * 2000 / 32
        assert (np.bincount(bins.column(5))[1:-1] > 0).all()


def test_edges_keep_values_apart_that_are_next_to_each_other():
    one = np.float64(1.0)
    x = np.array([one, np.nextafter(one, 2.0), 2.0, 1e308, -1e308, 5e-324])[:, None]
    bins = bin_values(x, None, np.zeros(1, bool), 255, ALONE)
    assert bins.layout.n_bins[0] == 6
    assert_array_equal(np.argsort(bins.column(0)), np.argsort(x[:, 0]))


def test_an_edge_lies_in_a_wide_gap():
    x = np.sort(np.concatenate([rng(0).uniform(0, 1, 300), rng(1).uniform(5, 6, 177)]))
    edges = np.empty(19)
    n = bin_kernels.find_edges(x, np.empty(0), x.size, 20, edges)
    assert n == 19
    assert ((edges > 1) & (edges < 5)).sum() == 1


def test_predictions_follow_the_trees():
    X = rng(0).normal(size=(50, 3))
    X[::7, 1] = np.nan
    out = np.zeros((50, 1))
    feature = np.array([1, -1, -1])
    arguments = (
        np.array([0]), np.array([0]), feature, np.array([0.2, np.nan, np.nan]), np.array([1, -1, -1]),
        np.array([2, -1, -1]), np.array([0.0, 1.5, -2.5]), np.array([True, False, False]), np.full(3, -1),
        np.zeros((1, 256), bool),
    )  # fmt: skip
    row_kernels.add_trees(X, 0, 50, *arguments, out)
    assert_array_equal(out[:, 0], np.where(np.isnan(X[:, 1]) | (X[:, 1] <= 0.2), 1.5, -2.5))


@pytest.mark.parametrize("weighted", [False, True])
def test_columns_with_too_few_entries_for_a_leaf_are_not_searched(weighted):
    r = rng(0)
    X = sp.csc_matrix(
        np.where(r.uniform(size=(400, 30)) < np.linspace(0.0, 0.08, 30), r.integers(1, 4, (400, 30)), 0.0)
    )
    u = r.integers(1, 4, 400) if weighted else np.empty(0, np.int64)
    bins = bin_values(X, None, np.zeros(30, bool), 255, ALONE)
    filled = (u if weighted else np.ones(400)) @ (X.toarray() != 0)
    for least in (1.0, 20.0, 20.5):
        assert_array_equal(bins.may_split(u, least, ALONE), (filled >= least) & (bins.layout.n_bins > 0))
    # where the other rows are not zeros, and some columns are dense
    dense = np.column_stack([7.0 - X.toarray(), np.arange(400.0)])
    mixed = with_rare_apart(bin_values(dense, None, np.zeros(31, bool), 255, ALONE))
    may = mixed.may_split(u, 20.0, ALONE)
    assert 8 <= mixed.is_sparse.sum() < 31
    assert_array_equal(may[mixed.is_sparse], (filled >= 20.0)[mixed.is_sparse[:30]])
    assert_array_equal(may[~mixed.is_sparse], True)
