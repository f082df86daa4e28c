"""An entry bound holds back sparse features by their entries' gradients alone, and never one that can win."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from skgraft import GBFSClassifier
from skgraft.boosting.bins import bin_values
from skgraft.boosting.growth import quantise_weights
from skgraft.boosting.growth.entry_bound import EntryBound
from skgraft.boosting.growth.rows import Cut, Rows
from skgraft.boosting.growth.search import GainThresholds, Limits, SparseSearch
from skgraft.boosting.losses import quantise_gradients
from skgraft.matrix.threads import ALONE, workers

pytestmark = pytest.mark.usefixtures("compiled")

N, D = 3000, 400


def counts(seed=0, filled=0.02):
    """Counts of both signs; some columns are nearly full, some cells missing or stored zeros."""
    r = np.random.default_rng(seed)
    shares = np.where(np.arange(D) < 4, 0.4, filled)
    X = sp.csc_matrix(np.where(r.uniform(size=(N, D)) < shares, r.poisson(1.0, (N, D)) + 1.0, 0.0))
    X.data[r.uniform(size=X.nnz) < 0.2] *= -1.0
    X.data[r.uniform(size=X.nnz) < 0.05] = np.nan
    X.data[r.uniform(size=X.nnz) < 0.05] = 0.0
    return X


def level(X, weighted, seed=0, min_leaf=5, threads=ALONE):
    """Return a search and four nodes of very different sizes."""
    r = np.random.default_rng(seed)
    is_categorical = np.zeros(D, bool)
    bins = bin_values(X, None, is_categorical, 255, threads)
    some = {"": None, "whole": r.integers(1, 5, N).astype(float), "real": r.uniform(0.1, 3.0, N)}
    weights = quantise_weights(some[weighted], N)
    entry = np.asarray((X[:, 20] != 0).todense()).ravel()  # a feature that matters
    g = np.where(r.uniform(size=N) < 0.2 + 0.8 * entry, 0.7, -0.3) + 0.01 * r.normal(size=N)
    rows = Rows(quantise_gradients(g, weights, None, threads), np.empty((2, N), np.uint64), threads)
    nodes = [rows.root(0)]
    for shares in ((0.9,), (0.8, 0.3)):
        parted = rows.split(
            [
                Cut(node, r.integers(0, 100, N).astype(np.uint8), np.arange(256) < 100 * share, share)
                for node, share in zip(nodes, shares, strict=True)
            ]
        )
        nodes = [part for parts in parted for part in (parts.left, parts.right)]
        for k, node in enumerate(nodes):
            node.index = 10 * len(shares) + k
        rows.node_sums(nodes)
    search = SparseSearch(bins, Limits(4, min_leaf), threads)
    search.begin(rows)
    return search, nodes


@pytest.mark.parametrize("weighted", ["", "whole", "real"])
@pytest.mark.parametrize("filled", [0.02, 0.1])
@pytest.mark.parametrize("min_leaf", [1, 20])
def test_what_a_sieve_holds_back_does_not_reach_its_bar(weighted, filled, min_leaf):
    search, nodes = level(counts(filled=filled), weighted, min_leaf=min_leaf)
    features = np.arange(D)
    exact, exact_codes = search.gains(features, nodes)
    held_back = 0
    for node in range(4):
        # one node has a bar that its best feature just reaches, and dearer ones less; the others' are high
        best = np.full(4, exact.max())
        best[node] = exact[node].max() * (1.0 - 1e-9)
        price = np.where(features == exact[node].argmax(), 0.0, 0.3 * best[node])
        sifted = search.sifted(features, nodes, GainThresholds(price, best))
        if sifted is None:
            continue
        some, gains, codes = sifted
        held_back += D - some.size
        reach = exact >= price + best[:, None]
        assert reach[node].any()
        assert set(np.flatnonzero(reach.any(axis=0))) <= set(some)
        at = np.searchsorted(some, np.arange(D))
        for k, f in zip(*np.nonzero(reach), strict=True):
            assert gains[k, at[f]] == exact[k, f]
            assert codes[k, at[f]] == exact_codes[k, f]
    assert held_back > 0.9 * D


def test_few_features_pass_where_bars_are_high_and_threads_do_not_matter():
    found = []
    for n in (1, 3):
        with workers(n) as threads:
            search, nodes = level(counts(), "", threads=threads, min_leaf=20)
            exact, _ = search.gains(np.arange(D), nodes)
            found.append(
                search.sifted(
                    np.arange(D), nodes, GainThresholds(np.full(D, exact.max() / 2), exact.max(axis=1) / 2 - 1e-9)
                )
            )
    some, _, _ = found[0]
    assert 20 in some
    assert 0 < some.size < 20
    for one, other in zip(*found, strict=True):
        assert_array_equal(one, other)


def test_there_is_no_sieve_where_most_would_pass():
    search, nodes = level(counts(), "")
    assert search.sifted(np.arange(D), nodes, GainThresholds(np.zeros(D), np.full(4, 1e-6))) is None
    assert search.sifted(np.arange(D), nodes, GainThresholds(np.zeros(D), np.full(4, np.nan))) is None


@pytest.mark.parametrize("weighted", [False, True])
def test_trees_are_those_without_it(weighted):
    X = counts(filled=0.03)
    r = np.random.default_rng(1)
    y = np.asarray((X[:, 20:24] != 0).sum(axis=1)).ravel() + (r.uniform(size=N) < 0.2) > 0
    s = r.integers(1, 4, N) if weighted else None
    sifted, plain = (
        GBFSClassifier(mu=0.05, n_trees=25, screening=screening).fit(X, y, sample_weight=s)
        for screening in ("exact", "off")
    )
    assert sifted.order_.size >= 4
    assert_array_equal(sifted.order_, plain.order_)
    assert_array_equal(sifted.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("weighted", ["", "whole"])
def test_stored_zeros_do_not_fill_a_word_to_overflowing(weighted):
    """Where most entries are stored zeros, as many as a word has room for and a few more."""
    X = counts(filled=0.1)
    X.data[np.random.default_rng(2).uniform(size=X.nnz) < 0.8] = 0.0
    search, nodes = level(X, weighted, min_leaf=20)
    low = np.full(4, 0.01)
    packed_bounds, ones, most, filled, most_filled = EntryBound(search._bins, search._rows, 20, ALONE).packed_bounds(
        search._rows,
        nodes,
        GainThresholds(np.zeros(D), low).scaled(np.arange(D), nodes, search._rows)[1],
    )
    assert (ones > 0).all()
    fields = packed_bounds[:, None] >> np.arange(0, 64, 16, dtype=np.uint64) & np.uint64(2**16 - 1)
    for f in range(D):
        if X.indptr[f + 1] - X.indptr[f] <= most and filled[f] <= most_filled:
            assert fields[X.indices[X.indptr[f] : X.indptr[f + 1]]].sum(axis=0).max() < 2**16
