"""X as bins: a byte a cell, or a byte and a row number an entry where most cells of a column are alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skgraft.arrays import Array
from skgraft.boosting.bins.layout import (
    PIECE,
    SAMPLE,
    EdgesAgain,
    Layout,
    column_blocks,
    columns_as_rows,
    joined,
    sample_rows,
    sparse_layout,
)
from skgraft.boosting.loops import loops_over_columns
from skgraft.matrix import ThreadPool

LAST_BIN = 255  # that of missing values until it is known how many bins there are
# An entry of a sparse column takes five bytes and about five times the time of a dense cell.
SPARSE_BELOW = 0.2
# A sparse column is gone through as a whole for however few rows: columns of a dense X must have few entries indeed,
# and there must be some of them.
RARE_BELOW, LEAST_RARE = 0.03, 8


@dataclass(frozen=True, eq=False)
class DenseBins:
    """Bins of features by rows, so that a feature lies together."""

    layout: Layout
    bins: NDArray[np.uint8]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.bins.shape[1]

    @property
    def n_bytes(self) -> int:
        """Memory it takes."""
        return self.bins.nbytes

    @cached_property
    def is_complete(self) -> NDArray[np.bool_]:
        """Whether each feature holds numbers and no missing ones."""
        missing = np.uint8(self.layout.missing)
        known = np.array([not (column == missing).any() for column in self.bins], bool)
        return known & ~self.layout.is_categorical

    def column(self, feature: int) -> NDArray[np.uint8]:
        """Return the bins of one feature."""
        return self.bins[feature]

    def may_split(self, u: NDArray[np.int64], least: float, workers: ThreadPool) -> NDArray[np.bool_]:  # noqa: ARG002
        """Whether each feature has known values."""
        return self.layout.n_bins > 0


@dataclass(frozen=True, eq=False)
class SparseBins:
    """Bins of the stored entries, column by column, and the bin of all other rows, which is that of zero or another."""

    layout: Layout
    n_rows: int
    starts: NDArray[np.int64]
    rows: NDArray[np.uint32]
    bins: NDArray[np.uint8]
    zero: NDArray[np.uint8]

    @property
    def n_bytes(self) -> int:
        """Memory it takes."""
        return self.rows.nbytes + self.bins.nbytes

    def column(self, feature: int) -> NDArray[np.uint8]:
        """Return the bins of one feature."""
        out = np.full(self.n_rows, self.zero[feature])
        entries = slice(self.starts[feature], self.starts[feature + 1])
        out[self.rows[entries]] = self.bins[entries]
        return out

    def may_split(self, u: NDArray[np.int64], least: float, workers: ThreadPool) -> NDArray[np.bool_]:
        """Whether the entries of each feature weigh enough for a leaf; one side of every split has only such rows.

        ``u`` are the weights of the rows, none if each weighs one.
        """
        return (self.layout.n_bins > 0) & (self.entry_weights(u, workers, every=False) >= least)

    def entry_weights(self, u: NDArray[np.int64], workers: ThreadPool, *, every: bool) -> NDArray[np.int64]:
        """Return what the entries of each column weigh, all or those that are not in the bin of all other rows."""
        from skgraft.boosting.bins._kernels import entry_weights

        out = np.empty(self.layout.n_features, np.int64)

        def add_up(first: int, last: int) -> None:
            entry_weights(self.starts, self.rows, self.bins, self.zero, first, last, u, every, out)

        workers.run(add_up, out.size, 0.3 * self.rows.size)
        return out


@dataclass(frozen=True, eq=False)
class MixedBins:
    """Some columns dense and some sparse; ``place`` is where a feature is among its kind."""

    layout: Layout
    dense: DenseBins
    sparse: SparseBins
    is_sparse: NDArray[np.bool_]
    place: NDArray[np.intp]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.sparse.n_rows

    @property
    def n_bytes(self) -> int:
        """Memory it takes."""
        return self.dense.n_bytes + self.sparse.n_bytes

    def column(self, feature: int) -> NDArray[np.uint8]:
        """Return the bins of one feature."""
        kind = self.sparse if self.is_sparse[feature] else self.dense
        return kind.column(int(self.place[feature]))

    def may_split(self, u: NDArray[np.int64], least: float, workers: ThreadPool) -> NDArray[np.bool_]:
        """Whether there may be a split of each feature with a weight of ``least`` on both sides."""
        out = np.empty(self.layout.n_features, bool)
        for its, kind in ((~self.is_sparse, self.dense), (self.is_sparse, self.sparse)):
            out[its] = kind.may_split(u, least, workers)
        return out


Bins: TypeAlias = DenseBins | SparseBins | MixedBins


def bin_values(
    X: Any,
    weight: Array | None,
    categorical: NDArray[np.bool_],
    max_bins: int,
    workers: ThreadPool,
    *,
    keep_edges: bool = False,
    compiled: bool = True,
) -> DenseBins | SparseBins:
    """Find the bins of every column from at most 200,000 rows, and look up that of every value.

    Parameters
    ----------
    X : ndarray or CSC matrix of shape (n_samples, n_features)
        Training rows.
    weight : ndarray of shape (n_samples,) or None
        Their weights, None if they are equal: bins have about the same weight, so that a weight of two is a repetition.
    categorical : ndarray of bool of shape (n_features,)
        The columns that hold categories.
    max_bins : int
        The largest number of bins of known values.
    workers : ThreadPool
        Threads.
    keep_edges : bool
        Whether the edges of all columns are kept, for other rows to be binned alike; else X is.
    compiled : bool
        Whether by compiled loops, as a sparse X is in any case.
    """
    if sp.issparse(X):
        return store(X, sparse_layout(X, weight, max_bins, workers), workers)
    loops = loops_over_columns(compiled=compiled)
    n_rows, n_features = X.shape
    again = EdgesAgain(X, weight, sample_rows(n_rows), max_bins, compiled)
    out = np.empty((n_features, n_rows), np.uint8)
    blocks = column_blocks(min(n_rows, SAMPLE), n_features, workers.size)
    n_edges, n_known = np.zeros(n_features, np.int64), np.zeros(n_features, np.int64)
    found: list[Any] = [None] * n_features

    def code(first: int, last: int) -> None:
        for k in range(first, last):
            a, e = blocks[k]
            edges, n_edges[a:e], n_known[a:e] = again.of_block(a, e)
            _code_block(loops, X, a, edges, n_edges[a:e], LAST_BIN, out[a:e])
            if keep_edges:
                found[a:e] = [edges[f, : n_edges[a + f]].copy() for f in range(e - a)]

    workers.run(code, len(blocks), 22.0 * X.size)
    categories = {int(f): again.categories(int(f)) for f in np.flatnonzero(categorical)}
    n_bins = np.where(n_known > 0, n_edges + 1, 0).astype(np.int32)
    for f, its in categories.items():
        n_bins[f] = its.n_bins
    layout = Layout(joined(found) if keep_edges else again, n_bins, int(n_bins.max(initial=1)), categories)
    for a, e in blocks if layout.missing < LAST_BIN else ():
        np.putmask(out[a:e], out[a:e] == LAST_BIN, layout.missing)
    _code_categories(X, layout, out)
    return DenseBins(layout, out)


def store(X: Any, layout: Layout, workers: ThreadPool, *, compiled: bool = True) -> DenseBins | SparseBins:
    """Look up the bin of every value of X; ``compiled`` as in `bin_values`."""
    if not sp.issparse(X):
        return DenseBins(layout, _dense_bins(X, layout, workers, loops_over_columns(compiled=compiled)))
    sparse = _sparse_bins(X, layout, workers)
    if X.nnz < SPARSE_BELOW * X.shape[0] * X.shape[1]:
        return sparse
    bins = np.empty(X.shape[::-1], np.uint8)
    for feature in range(layout.n_features):
        bins[feature] = sparse.column(feature)
    return DenseBins(layout, bins)


def _dense_bins(X: Any, layout: Layout, workers: ThreadPool, loops: Any) -> NDArray[np.uint8]:
    n_rows, n_features = X.shape
    out = np.empty((n_features, n_rows), np.uint8)
    known = layout.stored_edges
    n_edges = np.diff(known.starts)
    width = max(1, int(n_edges.max(initial=1)))
    blocks = column_blocks(min(n_rows, SAMPLE), n_features, workers.size)

    def code(first: int, last: int) -> None:
        for k in range(first, last):
            a, e = blocks[k]
            edges = np.zeros((e - a, width), known.values.dtype)
            for f in range(a, e):
                edges[f - a, : n_edges[f]] = known.of(f)
            _code_block(loops, X, a, edges, n_edges[a:e], layout.missing, out[a:e])

    workers.run(code, len(blocks), 2.0 * X.size)
    _code_categories(X, layout, out)
    return out


def _code_block(
    loops: Any,
    X: Any,
    first: int,
    edges: NDArray[Any],
    n_edges: NDArray[np.int64],
    missing: int,
    out: NDArray[np.uint8],
) -> None:
    """Look up the bins of some columns, from ``first`` on, by pieces of their rows."""
    for start in range(0, X.shape[0], PIECE):
        rows = columns_as_rows(X, first, first + len(out), slice(start, start + PIECE))
        loops.code_rows(rows, edges, n_edges, missing, start, out)


def _code_categories(X: Any, layout: Layout, out: NDArray[np.uint8]) -> None:
    for f, categories in layout.categories.items():
        out[f] = categories.code(np.asarray(X[:, f], np.float64), layout.missing)


def _sparse_bins(X: Any, layout: Layout, workers: ThreadPool) -> SparseBins:
    from skgraft.boosting.bins._kernels import sparse_codes

    starts = X.indptr.astype(np.int64)
    out = np.empty(X.nnz, np.uint8)
    edges, edge_starts = layout.stored_edges.values, layout.stored_edges.starts

    def code(first: int, last: int) -> None:
        sparse_codes(starts, X.data, first, last, edges, edge_starts, layout.n_bins, np.uint8(layout.missing), out)

    workers.run(code, layout.n_features, 20.0 * X.nnz, unit=1024)
    negative = np.concatenate([[0], np.cumsum(edges < 0.0)])
    zero = (negative[edge_starts[1:]] - negative[edge_starts[:-1]]).astype(np.uint8)
    zero[layout.n_bins == 0] = layout.missing
    return SparseBins(layout, X.shape[0], starts, X.indices.astype(np.uint32), out, zero)


def with_rare_apart(stored: DenseBins | SparseBins) -> Bins:
    """Store the columns sparse in which nearly all rows are in one bin, as in columns of zeros and few ones.

    The other columns move together within the memory of ``stored``, which is not to be used any more.
    """
    if isinstance(stored, SparseBins):
        return stored
    bins, layout, n_rows = stored.bins, stored.layout, stored.n_rows
    # a column that differs often from its first rows' commonest bin is not rare: most are told by a glance
    usual = np.array([np.bincount(column[:1000]).argmax() for column in bins], np.uint8)
    others = [
        n_rows if _differs_soon(column, usual[f]) else np.count_nonzero(column != usual[f])
        for f, column in enumerate(bins)
    ]
    is_rare = np.array(others) <= RARE_BELOW * n_rows
    if is_rare.sum() < LEAST_RARE:
        return stored
    rare, rest = np.flatnonzero(is_rare), np.flatnonzero(~is_rare)
    rows = [np.flatnonzero(bins[f] != usual[f]).astype(np.uint32) for f in rare]
    starts = np.concatenate([[0], np.cumsum([each.size for each in rows], dtype=np.int64)])
    entries = np.concatenate([bins[f][each] for f, each in zip(rare, rows, strict=True)])
    sparse = SparseBins(layout.part(rare), n_rows, starts, np.concatenate(rows), entries, usual[rare])
    place = np.where(is_rare, np.cumsum(is_rare), np.cumsum(~is_rare)) - 1
    for k, f in enumerate(rest):
        bins[k] = bins[f]
    return MixedBins(layout, DenseBins(layout.part(rest), bins[: rest.size]), sparse, is_rare, place)


def _differs_soon(column: NDArray[np.uint8], usual: np.uint8) -> bool:
    start = column[:1000]
    return bool(np.count_nonzero(start != usual) > 3 * RARE_BELOW * start.size)
