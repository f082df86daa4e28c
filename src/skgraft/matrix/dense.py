"""Dense columns, standardised on the fly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.matrix.threads import share_columns

BLOCK_CELLS = 1 << 19  # cells of a temporary block of columns: 4 MiB
OFFSET = 1e4  # mean/standard deviation beyond which X'r - mean·Σr would lose digits
TOO_LARGE = 1e120  # deviations beyond which products of three numbers would overflow
COMPILED_CELLS = 200_000  # below this many cells plain NumPy is as fast as waiting for a compiler
SAFE_SQUARES = (1e-250, 1e250)  # outside, a variance may have lost digits by underflow or overflow


class DenseColumns:
    """Columns of a dense array, or of some of its rows in another order, which are gathered block by block."""

    is_sparse = False

    def __init__(
        self, X: NDArray[Any], weight: Array, *, center: bool, standardize: bool, rows: Index | None = None
    ) -> None:
        self.X = X
        self._rows = rows
        self.n_rows, self.n_columns = X.shape[0] if rows is None else rows.size, X.shape[1]
        self.size = self.n_rows * self.n_columns
        with np.errstate(invalid="ignore", over="ignore"):
            mean, deviation = self._moments(weight)
        self.finite = bool(np.isfinite(mean).all() and (weight > 0.0).all())
        self.centre = mean if center else np.zeros(self.n_columns)
        spread = deviation if center else np.hypot(mean, deviation)
        noise = 4.0 * self.n_rows * np.finfo(np.float64).eps * np.abs(mean)  # what rounding alone would leave
        self.constant = spread <= noise if center else spread == 0.0
        self.scale = np.where(self.constant, 1.0, spread) if standardize else np.ones(self.n_columns)
        self.too_large = spread / self.scale > TOO_LARGE
        self.length = np.where(self.constant, 0.0, spread / self.scale)
        self._offset = np.flatnonzero(np.abs(self.centre) > OFFSET * np.where(self.constant, np.inf, spread))

    def gradient(self, residual: Array) -> Array:
        """Return the product of all standardised columns with the residual."""
        g = self._raw_gradient(residual)
        g -= np.outer(self.centre, residual.sum(axis=0))
        for part in _parts(self._offset.size, self.n_rows):
            columns = self._offset[part]
            g[columns] = (self._cells(columns) - self.centre[columns]).T @ residual
        g /= self.scale[:, None]
        g[self.constant] = 0.0
        return g

    def gradient_of(self, columns: Index, residual: Array) -> Array:
        """Return the product of some standardised columns with the residual."""
        g = np.empty((columns.size, residual.shape[1]))
        if self.size > COMPILED_CELLS and self.X.flags.f_contiguous and self._rows is None:
            from skgraft.matrix._kernels import dense_gradient_of

            XT, R = self.X.T, np.ascontiguousarray(residual.T)

            def multiply(a: int, e: int) -> None:
                dense_gradient_of(XT, columns[a:e], R, g[a:e])

            share_columns(multiply, columns.size, g.size * self.n_rows)
        else:
            for part in _parts(columns.size, self.n_rows):
                g[part] = self._cells(columns[part]).T @ residual
        g -= np.outer(self.centre[columns], residual.sum(axis=0))
        far = np.flatnonzero(np.isin(columns, self._offset))
        for part in _parts(far.size, self.n_rows):
            some = columns[far[part]]
            g[far[part]] = (self._cells(some) - self.centre[some]).T @ residual
        g /= self.scale[columns, None]
        g[self.constant[columns]] = 0.0
        return g

    @property
    def column_access_cost(self) -> float:
        """How many times dearer a column alone is than a column among all."""
        return 1.0 if self.X.flags.f_contiguous else 16.0

    def squares(self, weight: Array) -> Array:
        """Return the weighted sum of squares of every standardised column."""
        out = np.zeros(self.n_columns)
        for rows, columns, block in self._blocks():
            np.subtract(block, self.centre[columns], out=block)
            np.divide(block, self.scale[columns], out=block)  # first: the square of a scale may be no float
            out[columns] += weight[rows] @ np.multiply(block, block, out=block)
        out[self.constant] = 0.0
        return out

    def block(self) -> DenseBlock:
        """Return an empty block for the columns in use."""
        return DenseBlock(self)

    def take(self, columns: Index, out: Array | None = None) -> Array:
        """Return standardised columns as rows of a float64 array, a new one unless ``out`` is given."""
        rows = np.empty((columns.size, self.n_rows)) if out is None else out
        for at, column in enumerate(columns.tolist()):
            cells = self.X[:, column] if self._rows is None else self.X[self._rows, column]
            np.subtract(cells, self.centre[column], out=rows[at], dtype=np.float64)
        if (self.scale[columns] != 1.0).any():
            rows /= self.scale[columns, None]
        rows[self.constant[columns]] = 0.0
        return rows

    def dense_rows(self, columns: Index) -> Array:
        """Return standardised columns as the rows of a new array."""
        return self.take(columns)

    def _cells(self, columns: Any) -> Array:
        """Return some columns as they are, a new array of float64."""
        if self._rows is None:
            return self.X[:, columns].astype(np.float64)
        if self.X.flags.f_contiguous:  # where rows of a block are gathered hundred times slower than columns
            return np.take(self.X.T[columns], self._rows, axis=1).astype(np.float64, copy=False).T
        return np.take(self.X[:, columns], self._rows, axis=0).astype(np.float64, copy=False)

    def _blocks(self) -> Iterator[tuple[slice, slice, Array]]:
        """Yield all cells in new arrays of float64 with their rows and columns, along the way they are stored."""
        everything = slice(None)
        if self.X.flags.c_contiguous:
            for part in _parts(self.n_rows, self.n_columns):
                some = self.X[part if self._rows is None else self._rows[part]]
                yield part, everything, some.astype(np.float64, copy=self._rows is None)
            return
        for part in _parts(self.n_columns, self.n_rows):
            yield everything, part, self._cells(part)

    def _raw_gradient(self, residual: Array) -> Array:
        if self.X.dtype == np.float64 and self._rows is None:
            return np.asarray(self.X.T @ residual)
        if self.X.flags.f_contiguous and self.size > COMPILED_CELLS and self._rows is None:
            from skgraft.matrix._kernels import dense_gradient

            out = np.empty((self.n_columns, residual.shape[1]))
            XT, R = self.X.T, np.ascontiguousarray(residual.T)
            share_columns(lambda a, e: dense_gradient(XT[a:e], R, out[a:e]), self.n_columns, out.size * self.n_rows)
            return out
        g = np.zeros((self.n_columns, residual.shape[1]))
        for rows, columns, block in self._blocks():
            g[columns] += block.T @ residual[rows]
        return g

    def _moments(self, weight: Array) -> tuple[Array, Array]:
        """Return weighted means and standard deviations, in two passes: E[x²] - mean² would cancel."""
        flags = self.X.flags
        if self.size <= COMPILED_CELLS or not (weight > 0.0).all() or not (flags.c_contiguous or flags.f_contiguous):
            return self._plain_moments(weight, np.arange(self.n_columns))
        mean, variance = self._compiled_moments(weight) if self._rows is None else self._gathered_moments(weight)
        deviation = np.sqrt(variance)
        low, high = SAFE_SQUARES
        unsafe = np.flatnonzero(~((variance >= low) & (variance <= high)))
        mean[unsafe], deviation[unsafe] = self._plain_moments(weight, unsafe)
        return mean, deviation

    def _compiled_moments(self, weight: Array) -> tuple[Array, Array]:
        from skgraft.matrix._kernels import column_moments, row_moments

        flags = self.X.flags
        mean, variance = np.empty(self.n_columns), np.empty(self.n_columns)
        X, XT = self.X, self.X.T

        def add_up(a: int, e: int) -> None:
            if flags.c_contiguous:
                row_moments(X, weight, 0, a, e, mean, variance)
            else:
                column_moments(XT[a:e], weight, 0, mean[a:e], variance[a:e])

        share_columns(add_up, self.n_columns, 2.0 * self.size)
        return mean, variance

    def _gathered_moments(self, weight: Array) -> tuple[Array, Array]:
        assert self._rows is not None  # noqa: S101 -- else they are compiled
        first = self.X[self._rows[0]].astype(np.float64)  # near the others, so large offsets leave no rounding in sums
        shift, variance = np.zeros(self.n_columns), np.zeros(self.n_columns)
        for rows, columns, block in self._blocks():
            shift[columns] += weight[rows] @ np.subtract(block, first[columns], out=block)
        for rows, columns, block in self._blocks():
            np.subtract(block, first[columns], out=block)
            np.subtract(block, shift[columns], out=block)
            variance[columns] += weight[rows] @ np.multiply(block, block, out=block)
        return first + shift, variance

    def _plain_moments(self, weight: Array, columns: Index) -> tuple[Array, Array]:
        """Return means and deviations of some columns, whatever the size of their numbers."""
        mean, deviation = np.empty(columns.size), np.empty(columns.size)
        counted = int(np.argmax(weight > 0.0))
        for part in _parts(columns.size, self.n_rows):
            block = self._cells(columns[part])
            first = block[counted].copy()
            block -= first  # exact for nearby numbers, so large offsets leave no rounding in the sums
            block[weight == 0.0] = 0.0
            shift = weight @ block
            block -= shift
            mean[part] = first + shift
            # in units of the largest number, whose square is always a float
            unit = np.maximum(block.max(axis=0), -block.min(axis=0))
            block /= np.where(unit > 0.0, unit, 1.0)
            deviation[part] = unit * np.sqrt(weight @ (block * block))
        return mean, deviation


class DenseSource(Protocol):
    """What a dense block copies from."""

    n_rows: int

    def take(self, columns: Index, out: Array | None = None) -> Any:
        """Return standardised columns as rows of a float64 array, a new one unless ``out`` is given."""


class DenseBlock:
    """A growing copy of the columns in use, as contiguous rows."""

    is_sparse = False

    def __init__(self, columns: DenseSource) -> None:
        self._columns = columns
        self._buffer = np.empty((0, columns.n_rows))
        self.features = np.empty(0, np.intp)

    @property
    def rows(self) -> Array:
        """The standardised columns, one a row."""
        return self._buffer[: self.features.size]

    def append(self, features: Index) -> None:
        """Copy further columns."""
        m = self.features.size
        grown = m + features.size
        if grown > self._buffer.shape[0]:
            buffer = np.empty((max(grown, 2 * m, 16), self._columns.n_rows))
            buffer[:m] = self.rows
            self._buffer = buffer
        self._columns.take(features, self._buffer[m:grown])
        self.features = np.concatenate([self.features, features])

    def keep(self, positions: Index) -> None:
        """Keep only the columns at these positions, in this order."""
        if positions.size < self.features.size or (np.diff(positions) < 0).any():
            self._buffer[: positions.size] = self._buffer[positions]
        self.features = self.features[positions]

    def scores(self, weights: Array) -> Array:
        """Return the product of the columns with weights (n_features, n_outputs)."""
        return np.asarray(self.rows.T @ weights)

    def gradient(self, residual: Array) -> Array:
        """Return the product of each column with the residual (n_rows, n_outputs)."""
        return np.asarray(self.rows @ residual)

    def dense_rows(self) -> Array:
        """Return the standardised columns, one a row."""
        return self.rows


def _parts(length: int, width: int) -> Iterator[slice]:
    """Cut ``length`` items, each ``width`` cells, into slices of bounded size."""
    step = max(1, BLOCK_CELLS // max(width, 1))
    for start in range(0, length, step):
        yield slice(start, min(start + step, length))
