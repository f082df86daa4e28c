"""Which bin a value belongs to: edges of numbers, numbers of categories."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skgraft.matrix.threads import Crew

Array = NDArray[np.float64]
Index = NDArray[np.int64]

SAMPLE = 200_000  # rows from which edges are found
BLOCK = 2**22  # values in one block of columns


@dataclass(frozen=True, eq=False)
class Categories:
    """The categories of one column: their values, ascending, and the bin of each; rare ones may share the last bin."""

    values: Array
    bins: NDArray[np.uint8]
    n_bins: int
    shared: bool

    def code(self, column: NDArray[np.floating[Any]], missing: int) -> NDArray[np.uint8]:
        """Return the bin of every value; a value never seen is as good as missing, or one of the rare."""
        unseen = self.n_bins - 1 if self.shared else missing
        if not self.values.size:
            return np.full(column.size, missing, np.uint8)
        at = np.minimum(np.searchsorted(self.values, column), self.values.size - 1)
        known = np.where(self.values[at] == column, self.bins[at], np.uint8(unseen))
        return np.where(np.isnan(column), np.uint8(missing), known).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class Layout:
    """The bins of all columns.

    Attributes
    ----------
    edges : ndarray
        The edges of all columns, one after the other: bin b holds what is above edge b - 1 and at most edge b.
    starts : ndarray of shape (n_features + 1,)
        Where the edges of each column begin.
    n_bins : ndarray of shape (n_features,)
        Bins of known values; 0 for a column with none.
    missing : int
        The bin of missing values, the same in all columns and above all others.
    categories : dict
        Of each categorical column.
    """

    edges: NDArray[np.floating[Any]]
    starts: Index
    n_bins: NDArray[np.int32]
    missing: int
    categories: dict[int, Categories] = field(default_factory=dict)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.n_bins.size

    @property
    def stride(self) -> int:
        """Cells of a histogram."""
        return self.missing + 1

    @cached_property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Whether each column holds categories."""
        mask = np.zeros(self.n_features, bool)
        mask[list(self.categories)] = True
        return mask

    def part(self, features: NDArray[np.intp]) -> Layout:
        """Return the bins of some columns."""
        edges = [self.edges[self.starts[f] : self.starts[f + 1]] for f in features]
        categories = {k: self.categories[int(f)] for k, f in enumerate(features) if int(f) in self.categories}
        return _joined(edges, self.n_bins[features], categories, self.missing)

    def threshold(self, feature: int, b: int) -> float:
        """Return the largest value of a bin."""
        at = int(self.starts[feature]) + b
        return float(self.edges[at]) if at < self.starts[feature + 1] else np.inf

    def category_values(self, feature: int, goes_left: NDArray[np.bool_]) -> list[float]:
        """Return the categories whose bins are marked."""
        categories = self.categories[feature]
        return [float(v) for v, b in zip(categories.values, categories.bins, strict=True) if goes_left[b]]


def find_layout(X: Any, weight: Array | None, categorical: NDArray[np.bool_], max_bins: int, crew: Crew) -> Layout:
    """Find the bins of every column from at most 200,000 rows, the same ones every time.

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
    crew : Crew
        Threads.
    """
    n_rows = X.shape[0]
    sample = None
    if n_rows > SAMPLE:
        sample = np.sort(np.random.default_rng(0).choice(n_rows, SAMPLE, replace=False))
    if sp.issparse(X):
        return _sparse_layout(X, weight, sample, max_bins, crew)
    return _dense_layout(X, weight, sample, categorical, max_bins, crew)


def _joined(
    edges: list[Any], n_bins: NDArray[np.int32], categories: dict[int, Categories], missing: int | None = None
) -> Layout:
    """Write the edges of all columns one after the other."""
    starts = np.concatenate([[0], np.cumsum([len(each) for each in edges], dtype=np.int64)])
    last = int(n_bins.max(initial=1)) if missing is None else missing
    return Layout(np.concatenate(edges) if edges else np.empty(0), starts, n_bins, last, categories)


def column_blocks(n_rows: int, n_features: int, n_threads: int) -> list[tuple[int, int]]:
    """Cut the columns into blocks that fit a cache and keep all threads busy."""
    width = max(1, min(256, BLOCK // max(n_rows, 1), -(-n_features // n_threads)))
    width = max(width, min(16, n_features))  # a cache line of a row, or its neighbours are read for nothing
    return [(first, min(first + width, n_features)) for first in range(0, n_features, width)]


def _dense_layout(
    X: Any, weight: Array | None, sample: Index | None, categorical: NDArray[np.bool_], max_bins: int, crew: Crew
) -> Layout:
    from skgraft.boosting.bins._kernels import edges_of_rows

    n_features = X.shape[1]
    rows = X if sample is None else X[sample]
    w = None if weight is None else (weight if sample is None else weight[sample])
    blocks = column_blocks(rows.shape[0], n_features, crew.size)
    found: list[Any] = [None] * n_features
    n_edges, n_known = np.zeros(n_features, np.int64), np.zeros(n_features, np.int64)

    def find(first: int, last: int) -> None:
        for k in range(first, last):
            a, e = blocks[k]
            block, weights = _sorted(columns_as_rows(rows, a, e), w)
            edges = np.empty((e - a, max_bins - 1), X.dtype)
            edges_of_rows(block, weights, max_bins, edges, n_edges[a:e], n_known[a:e])
            found[a:e] = [edges[f, : n_edges[a + f]].copy() for f in range(e - a)]

    crew.run(find, len(blocks), 20.0 * rows.size)
    categories = {int(f): _categories(rows[:, f].astype(np.float64), w, max_bins) for f in np.flatnonzero(categorical)}
    n_bins = np.where(n_known > 0, n_edges + 1, 0).astype(np.int32)
    for f, found_categories in categories.items():
        n_bins[f] = found_categories.n_bins
    return _joined(found, n_bins, categories)


def columns_as_rows(X: Any, first: int, last: int) -> NDArray[Any]:
    """Return a copy of some columns, each in one piece."""
    from skgraft.boosting.bins._kernels import transpose

    if not X.flags.c_contiguous:
        return np.array(X[:, first:last].T, order="C")
    out = np.empty((last - first, X.shape[0]), X.dtype)
    transpose(X, first, out)
    return out


def _sorted(columns: NDArray[Any], weight: Array | None) -> tuple[NDArray[Any], Array]:
    """Return sorted rows, and the weights beside them if they differ."""
    if weight is None:
        columns.sort(axis=1)
        return columns, np.empty((0, 0))
    order = np.argsort(columns, axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1), weight[order]


def _categories(column: Array, weight: Array | None, max_bins: int) -> Categories:
    known = ~np.isnan(column)
    values, inverse = np.unique(column[known], return_inverse=True)
    counts = np.bincount(inverse, None if weight is None else weight[known], minlength=values.size)
    if values.size <= max_bins:
        return Categories(values, np.arange(values.size, dtype=np.uint8), values.size, shared=False)
    frequent = np.sort(np.argsort(-counts, kind="stable")[: max_bins - 1])
    bins = np.full(values.size, max_bins - 1, np.uint8)
    bins[frequent] = np.arange(max_bins - 1)
    return Categories(values, bins, max_bins, shared=True)


def _sparse_layout(X: Any, weight: Array | None, sample: Index | None, max_bins: int, crew: Crew) -> Layout:
    from skgraft.boosting.bins._kernels import sparse_edges

    n_rows, n_features = X.shape
    weights = np.ones(n_rows) if weight is None else weight
    if sample is not None:
        weights, chosen = np.zeros(n_rows), weights
        weights[sample] = chosen[sample]
    n_sampled = n_rows if sample is None else sample.size
    width = 1024
    blocks = [(first, min(first + width, n_features)) for first in range(0, n_features, width)]
    found: list[Any] = [None] * n_features
    n_edges, known = np.zeros(n_features, np.int64), np.zeros(n_features, bool)
    starts = X.indptr.astype(np.int64)
    indices = X.indices.astype(np.uint32)

    def find(first: int, last: int) -> None:
        for k in range(first, last):
            a, e = blocks[k]
            edges = np.empty((e - a, max_bins - 1), X.dtype)
            sparse_edges(starts, indices, X.data, a, e, weights, n_sampled, max_bins, edges, n_edges[a:e], known[a:e])
            found[a:e] = [edges[f, : n_edges[a + f]].copy() for f in range(e - a)]

    crew.run(find, len(blocks), 100.0 * X.nnz)
    n_bins = np.where(known, n_edges + 1, 0).astype(np.int32)
    return _joined(found, n_bins, {})
