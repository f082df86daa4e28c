"""Several sets of columns as one, without a copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from skgraft.arrays import Array, Index
from skgraft.matrix.dense import DenseBlock, DenseColumns
from skgraft.matrix.sparse import SparseBlock, SparseColumns


class JoinedColumns:
    """Columns of several matrices of the same rows, dense or sparse, side by side.

    The columns in use are dense as soon as one of the matrices is, and sparse otherwise.

    Parameters
    ----------
    parts : sequence of DenseColumns and SparseColumns
        The matrices, at least one, standardised by the same sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> from skgraft.matrix import JoinedColumns, make_columns
    >>> left, right = np.array([[1.0], [3.0]]), np.array([[5.0, 2.0], [5.0, 0.0]])
    >>> half = np.full(2, 0.5)
    >>> both = JoinedColumns([make_columns(X, half, center=True, standardize=True) for X in (left, right)])
    >>> both.gradient(np.array([[-1.0], [1.0]])).ravel()
    array([ 2.,  0., -2.])
    """

    def __init__(self, parts: Sequence[DenseColumns | SparseColumns]) -> None:
        self.parts = list(parts)
        self.n_rows = self.parts[0].n_rows
        self.starts = np.cumsum([0, *(part.n_columns for part in self.parts)])
        self.n_columns = int(self.starts[-1])
        self.size = sum(part.size for part in self.parts)
        self.is_sparse = all(part.is_sparse for part in self.parts)
        self.finite = all(part.finite for part in self.parts)
        self.centre = np.concatenate([part.centre for part in self.parts])
        self.scale = np.concatenate([part.scale for part in self.parts])
        self.constant = np.concatenate([part.constant for part in self.parts])
        self.too_large = np.concatenate([part.too_large for part in self.parts])
        self.length = np.concatenate([part.length for part in self.parts])
        # what centring takes from the columns as ``take`` gives them, where all of them are sparse
        self.shift = np.concatenate([getattr(part, "shift", np.zeros(part.n_columns)) for part in self.parts])

    def gradient(self, residual: Array) -> Array:
        """Return the product of all standardised columns with the residual."""
        return np.concatenate([part.gradient(residual) for part in self.parts])

    def gradient_of(self, columns: Index, residual: Array) -> Array:
        """Return the product of some standardised columns with the residual."""
        g = np.empty((columns.size, residual.shape[1]))
        for part, at, local in self._by_part(columns):
            g[at] = part.gradient_of(local, residual)
        return g

    @property
    def column_access_cost(self) -> float:
        """How many times dearer a column alone is than a column among all."""
        return max(part.column_access_cost for part in self.parts)

    def squares(self, weight: Array) -> Array:
        """Return the weighted sum of squares of every standardised column."""
        return np.concatenate([part.squares(weight) for part in self.parts])

    def block(self) -> DenseBlock | SparseBlock:
        """Return an empty block for the columns in use."""
        return SparseBlock(self) if self.is_sparse else DenseBlock(self)

    def take(self, columns: Index, out: Array | None = None) -> Any:
        """Return standardised columns as rows of a dense array; as scaled sparse columns where all are sparse."""
        return self._take_sparse(columns) if self.is_sparse else self.dense_rows(columns, out)

    def dense_rows(self, columns: Index, out: Array | None = None) -> Array:
        """Return standardised columns as rows of an array, a new one unless ``out`` is given."""
        rows = np.empty((columns.size, self.n_rows)) if out is None else out
        for part, at, local in self._by_part(columns):
            rows[at] = part.dense_rows(local)
        return rows

    def _take_sparse(self, columns: Index) -> Any:
        found, places = [], []
        for part, at, local in self._by_part(columns):
            found.append(part.take(local))
            places.append(at)
        if not found:
            return sparse.csc_array((self.n_rows, 0), dtype=np.float64)
        return sparse.hstack(found, format="csc")[:, np.argsort(np.concatenate(places))]

    def _by_part(self, columns: Index) -> Iterator[tuple[Any, Index, Index]]:
        """Yield each matrix that has some of the columns, where these are asked for, and their places in it."""
        of = np.searchsorted(self.starts, columns, side="right") - 1
        for number, part in enumerate(self.parts):
            at = np.flatnonzero(of == number)
            if at.size:
                yield part, at, np.asarray(columns[at] - self.starts[number])
