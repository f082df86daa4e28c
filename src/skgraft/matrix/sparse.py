"""Sparse columns, scaled on the fly and never densified."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgraft.arrays import Array, Index
from skgraft.matrix.dense import OFFSET, SAFE_SQUARES, TOO_LARGE
from skgraft.matrix.threads import share_columns

BLOCK_STORED = 1 << 20  # stored cells treated at a time where temporaries are needed
COMPILED_STORED = 50_000  # below this many stored cells SciPy serves without a compiler


class SparseColumns:
    """Columns of a compressed sparse matrix (by columns or by rows).

    Only scaled cells are ever stored; centring is a term of rank one in every product.
    """

    is_sparse = True

    def __init__(self, X: Any, weight: Array, *, center: bool, standardize: bool) -> None:
        self.X = X
        self.n_rows, self.n_columns = X.shape
        self.size = X.nnz
        with np.errstate(invalid="ignore", over="ignore"):
            mean, deviation, full = self._moments(weight)
        self.finite = bool(np.isfinite(mean).all() and (weight > 0.0).all())
        self.centre = mean if center else np.zeros(self.n_columns)
        spread = deviation if center else np.hypot(mean, deviation)
        noise = 4.0 * self.n_rows * np.finfo(np.float64).eps * np.abs(mean)
        self.constant = spread <= noise if center else spread == 0.0
        self.scale = np.where(self.constant, 1.0, spread) if standardize else np.ones(self.n_columns)
        self.too_large = spread / self.scale > TOO_LARGE
        # far off centre without a single zero: these are dense, and centred as such
        far = np.abs(self.centre) > OFFSET * np.where(self.constant, np.inf, spread)
        self._offset = far & full
        self.shift = np.where(self.constant | self._offset, 0.0, self.centre / self.scale)
        self.length = np.where(self.constant, 0.0, spread / self.scale)

    def gradient(self, residual: Array) -> Array:
        """Return the product of all standardised columns with the residual."""
        g = self._raw_gradient(residual)
        g /= self.scale[:, None]
        g -= np.outer(self.shift, residual.sum(axis=0))
        g[self.constant] = 0.0
        if self._offset.any():
            far = np.flatnonzero(self._offset)
            g[far] = self.take(far).T @ residual
        return g

    def gradient_of(self, columns: Index, residual: Array) -> Array:
        """Return the product of some standardised columns with the residual."""
        if self.X.format != "csc" or self.size <= COMPILED_STORED:
            return np.asarray(self.gradient(residual)[columns])
        from skgraft.matrix._kernels import csc_gradient_of

        X, g = self.X, np.empty((columns.size, residual.shape[1]))
        R, part = np.ascontiguousarray(residual), columns.size / max(1, self.n_columns)

        def multiply(a: int, e: int) -> None:
            csc_gradient_of(X.data, X.indices, X.indptr, columns[a:e], R, g[a:e])

        share_columns(multiply, columns.size, part * self.size * R.shape[1])
        g /= self.scale[columns, None]
        g -= np.outer(self.shift[columns], residual.sum(axis=0))
        g[self.constant[columns]] = 0.0
        far = np.flatnonzero(self._offset[columns])
        if far.size:
            g[far] = self.take(columns[far]).T @ residual
        return g

    @property
    def column_access_cost(self) -> float:
        """How many times dearer a column alone is than a column among all."""
        return 1.0 if self.X.format == "csc" else np.inf

    def squares(self, weight: Array) -> Array:
        """Return the weighted sum of squares of every standardised column."""
        out = self.shift**2 * weight.sum()
        moved = np.where(self._offset, self.centre, 0.0)
        for columns, rows, data in self._cells():
            cells = (data - moved[columns]) / self.scale[columns]  # first: the square of a scale may be no float
            # (x - centre)² less what the zero cells, counted above, would give
            apart = cells * (cells - 2.0 * self.shift[columns])
            out += np.bincount(columns, weight[rows] * apart, self.n_columns)
        out[self.constant] = 0.0
        return np.maximum(out, 0.0)

    def block(self) -> SparseBlock:
        """Return an empty block for the columns in use."""
        return SparseBlock(self)

    def take(self, columns: Index) -> Any:
        """Return scaled columns as a new CSC matrix of float64; ``shift`` is what centring takes from them."""
        part = sparse.csc_array(self.X[:, columns]).astype(np.float64)
        cells = np.diff(part.indptr)
        part.data -= np.repeat(np.where(self._offset, self.centre, 0.0)[columns], cells)
        part.data /= np.repeat(np.where(self.constant, np.inf, self.scale)[columns], cells)
        return part

    def dense_rows(self, columns: Index) -> Array:
        """Return standardised columns as the rows of a new array."""
        return np.asarray(self.take(columns).T.toarray() - self.shift[columns, None])

    def _raw_gradient(self, residual: Array) -> Array:
        if self.size <= COMPILED_STORED:
            return np.asarray(self.X.T @ residual)
        from skgraft.matrix._kernels import csc_gradient, csr_gradient

        X, R = self.X, np.ascontiguousarray(residual)
        out = np.zeros((self.n_columns, residual.shape[1]))
        if X.format == "csr":
            csr_gradient(X.data, X.indices, X.indptr, R, out)
            return out

        def multiply(a: int, e: int) -> None:
            csc_gradient(X.data, X.indices, X.indptr[a : e + 1], R, out[a:e])

        share_columns(multiply, self.n_columns, self.size * R.shape[1])
        return out

    def _moments(self, weight: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return weighted means and standard deviations, and which columns have no zero cell."""
        if self.size <= COMPILED_STORED:
            return self._plain_moments(weight)
        from skgraft.matrix._kernels import csc_moments, csr_moments

        X, p = self.X, self.n_columns
        mean, squares, stored = np.zeros(p), np.zeros(p), np.zeros(p)

        def add_up(a: int, e: int) -> None:
            csc_moments(X.data, X.indices, X.indptr[a : e + 1], weight, mean[a:e], squares[a:e], stored[a:e])

        if X.format == "csc":
            share_columns(add_up, p, 2.0 * self.size)
        else:
            csr_moments(X.data, X.indices, X.indptr, weight, mean, squares, stored)
        count = np.diff(X.indptr) if X.format == "csc" else np.bincount(X.indices, minlength=p)
        with np.errstate(over="ignore"):
            variance = squares + self._left(stored) * mean**2
        low, high = SAFE_SQUARES
        if not ((variance == 0.0) & (mean == 0.0) | (variance >= low) & (variance <= high)).all():
            return self._plain_moments(weight)
        return mean, np.sqrt(variance), count == self.n_rows

    def _plain_moments(self, weight: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return the same, whatever the size of the numbers."""
        p = self.n_columns
        mean, stored, squares = np.zeros(p), np.zeros(p), np.zeros(p)
        count, unit = np.zeros(p, np.intp), np.zeros(p)
        for columns, rows, data in self._cells():
            mean += np.bincount(columns, weight[rows] * data, p)
            stored += np.bincount(columns, weight[rows], p)
            count += np.bincount(columns, minlength=p)
            np.maximum.at(unit, columns, np.abs(data))
        unit = np.where(unit > 0.0, unit, 1.0)  # the largest number, in whose units every square is a float
        for columns, rows, data in self._cells():
            squares += np.bincount(columns, weight[rows] * ((data - mean[columns]) / unit[columns]) ** 2, p)
        return mean, unit * np.sqrt(squares + self._left(stored) * (mean / unit) ** 2), count == self.n_rows

    def _left(self, stored: Array) -> Array:
        """Return the weight left for the cells of each column that are zero, free of rounding."""
        left = 1.0 - stored
        left[left <= self.n_rows * np.finfo(np.float64).eps] = 0.0
        return left

    def _cells(self) -> Any:
        """Yield the stored cells in blocks, as column, row and value arrays."""
        X = self.X
        n_major = X.indptr.size - 1
        start = 0
        while start < n_major:
            reach = np.searchsorted(X.indptr, X.indptr[start] + BLOCK_STORED, side="right") - 1
            stop = min(n_major, max(start + 1, int(reach)))
            cells = slice(X.indptr[start], X.indptr[stop])
            major = np.repeat(np.arange(start, stop), np.diff(X.indptr[start : stop + 1]))
            minor, data = X.indices[cells], X.data[cells].astype(np.float64)
            yield (major, minor, data) if X.format == "csc" else (minor, major, data)
            start = stop


class SparseSource(Protocol):
    """What a sparse block copies from."""

    n_rows: int
    shift: Array

    def take(self, columns: Index) -> Any:
        """Return scaled columns as a new CSC matrix of float64; ``shift`` is what centring takes from them."""


class SparseBlock:
    """A growing copy of the columns in use, compressed by columns.

    ``matrix`` holds the scaled columns, ``transposed`` has them as rows, and ``mean`` is what centring takes from each.
    """

    is_sparse = True

    def __init__(self, columns: SparseSource) -> None:
        self._columns = columns
        self.mean = np.empty(0)
        self.features = np.empty(0, np.intp)
        self._hold(sparse.csc_array((columns.n_rows, 0), dtype=np.float64))

    def _hold(self, matrix: Any) -> None:
        self.matrix, self.transposed = matrix, matrix.T  # a new view at every product would take longer than it

    def append(self, features: Index) -> None:
        """Copy further columns."""
        self._hold(sparse.hstack([self.matrix, self._columns.take(features)], format="csc"))
        self.features = np.concatenate([self.features, features])
        self.mean = self._columns.shift[self.features]

    def keep(self, positions: Index) -> None:
        """Keep only the columns at these positions, in this order."""
        if positions.size < self.features.size or (np.diff(positions) < 0).any():
            self._hold(self.matrix[:, positions])
        self.features = self.features[positions]
        self.mean = self.mean[positions]

    def scores(self, weights: Array) -> Array:
        """Return the product of the columns with weights (n_features, n_outputs)."""
        return np.asarray(self.matrix @ weights - self.mean @ weights)

    def gradient(self, residual: Array) -> Array:
        """Return the product of each column with the residual (n_rows, n_outputs)."""
        return np.asarray(self.transposed @ residual - np.outer(self.mean, residual.sum(axis=0)))

    def dense_rows(self) -> Array:
        """Return the standardised columns as the rows of an array."""
        return np.asarray(self.matrix.T.toarray() - self.mean[:, None])
