"""Which bin a value belongs to: edges of numbers, numbers of categories."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array
from skgraft.boosting.loops import loops_over_columns
from skgraft.matrix import ThreadPool

Index = NDArray[np.int64]

SAMPLE = 200_000  # rows from which edges are found
BLOCK = 2**20  # values in one block of columns
PIECE = 2**15  # rows of a block that are copied at once
FEW_CELLS = 100_000  # that NumPy transposes in less time than it takes to load a compiled loop


class Edges(Protocol):
    """Where the bins of columns end: bin b holds what is above edge b - 1 and at most edge b."""

    def of(self, feature: int) -> NDArray[np.floating[Any]]:
        """Return the edges of one column."""
        ...


@dataclass(frozen=True, eq=False)
class StoredEdges:
    """The edges of all columns, one after the other, and where those of each column begin."""

    values: NDArray[np.floating[Any]]
    starts: Index

    def of(self, feature: int) -> NDArray[np.floating[Any]]:
        """Return the edges of one column."""
        return self.values[self.starts[feature] : self.starts[feature + 1]]


@dataclass(frozen=True, eq=False)
class EdgesAgain:
    """Edges that are found again when a tree asks for them: those of all columns may take as much memory as X."""

    X: Any
    weight: Array | None
    sample: Index | None
    max_bins: int
    compiled: bool = True
    _found: dict[int, NDArray[np.floating[Any]]] = field(default_factory=dict)

    def of(self, feature: int) -> NDArray[np.floating[Any]]:
        """Return the edges of one column."""
        if feature not in self._found:
            edges, n_edges, _ = self.of_block(feature, feature + 1)
            self._found[feature] = edges[0, : n_edges[0]].copy()
        return self._found[feature]

    def of_block(self, first: int, last: int) -> tuple[NDArray[Any], Index, Index]:
        """Return the edges of some columns, how many each has, and how many known values."""
        block, weights = _sorted(columns_as_rows(self.X, first, last, self.sample), self._sampled_weight)
        edges = np.empty((last - first, self.max_bins - 1), self.X.dtype)
        n_edges, n_known = np.empty(last - first, np.int64), np.empty(last - first, np.int64)
        loops = loops_over_columns(compiled=self.compiled)
        loops.edges_of_rows(block, weights, self.max_bins, edges, n_edges, n_known)
        return edges, n_edges, n_known

    def categories(self, feature: int) -> Categories:
        """Return the categories of a column."""
        column = columns_as_rows(self.X, feature, feature + 1, self.sample)[0]
        return _categories(column.astype(np.float64), self._sampled_weight, self.max_bins)

    @property
    def _sampled_weight(self) -> Array | None:
        return self.weight if self.weight is None or self.sample is None else self.weight[self.sample]


@dataclass(frozen=True, eq=False)
class EdgesOfSome:
    """The edges of some columns."""

    all: Edges
    features: NDArray[np.intp]

    def of(self, feature: int) -> NDArray[np.floating[Any]]:
        """Return the edges of one column."""
        return self.all.of(int(self.features[feature]))


def joined(edges: list[Any]) -> StoredEdges:
    """Write the edges of all columns one after the other."""
    starts = np.concatenate([[0], np.cumsum([len(each) for each in edges], dtype=np.int64)])
    return StoredEdges(np.concatenate(edges) if edges else np.empty(0), starts)


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
    edges : Edges
        Where the bins of each column end.
    n_bins : ndarray of shape (n_features,)
        Bins of known values; 0 for a column with none.
    missing : int
        The bin of missing values, the same in all columns and above all others.
    categories : dict
        Of each categorical column.
    """

    edges: Edges
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
        categories = {k: self.categories[int(f)] for k, f in enumerate(features) if int(f) in self.categories}
        return Layout(EdgesOfSome(self.edges, features), self.n_bins[features], self.missing, categories)

    @cached_property
    def stored_edges(self) -> StoredEdges:
        """The edges of all columns."""
        if isinstance(self.edges, StoredEdges):
            return self.edges
        return joined([self.edges.of(f) for f in range(self.n_features)])

    def threshold(self, feature: int, b: int) -> float:
        """Return the largest value of a bin."""
        edges = self.edges.of(feature)
        return float(edges[b]) if b < edges.size else np.inf

    def category_values(self, feature: int, goes_left: NDArray[np.bool_]) -> list[float]:
        """Return the categories whose bins are marked."""
        categories = self.categories[feature]
        return [float(v) for v, b in zip(categories.values, categories.bins, strict=True) if goes_left[b]]


def sample_rows(n_rows: int) -> Index | None:
    """Return the rows from which edges are found, the same ones every time; None for all."""
    if n_rows <= SAMPLE:
        return None
    return np.sort(np.random.default_rng(0).choice(n_rows, SAMPLE, replace=False))


def column_blocks(n_rows: int, n_features: int, n_threads: int) -> list[tuple[int, int]]:
    """Cut the columns into blocks that fit a cache and keep all threads busy."""
    width = max(1, min(256, BLOCK // max(n_rows, 1), -(-n_features // n_threads)))
    width = max(width, min(16, n_features))  # a cache line of a row, or its neighbours are read for nothing
    return [(first, min(first + width, n_features)) for first in range(0, n_features, width)]


def columns_as_rows(X: Any, first: int, last: int, rows: Index | slice | None = None) -> NDArray[Any]:
    """Return a copy of some columns, each in one piece; of some of the rows, if given."""
    if isinstance(rows, slice):
        X = X[rows]
    elif rows is not None:
        out = np.empty((last - first, rows.size), X.dtype)
        for start in range(0, rows.size, PIECE):
            some = rows[start : start + PIECE]
            out[:, start : start + PIECE] = X[some, first:last].T
        return out
    if not X.flags.c_contiguous or X.size <= FEW_CELLS:
        return np.array(X[:, first:last].T, order="C")
    from skgraft.boosting.bins._kernels import transpose

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


def sparse_layout(X: Any, weight: Array | None, max_bins: int, workers: ThreadPool) -> Layout:
    """Find the bins of the columns of a CSC matrix; ``weight`` and ``max_bins`` as in `bin_values`."""
    from skgraft.boosting.bins._kernels import sparse_edges

    n_rows, n_features = X.shape
    sample = sample_rows(n_rows)
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

    workers.run(find, len(blocks), 100.0 * X.nnz)
    n_bins = np.where(known, n_edges + 1, 0).astype(np.int32)
    return Layout(joined(found), n_bins, int(n_bins.max(initial=1)))
