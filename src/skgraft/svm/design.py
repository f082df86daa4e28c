"""The features that are still alive, in the form that rounds need: Gram matrices, products, fewer features.

Dense features are copied once, standardised and one a row; where X is large, rounds leave them where they are until few
are left.  Sparse ones are scaled and stay sparse.  Centring sparse features is left to the intercepts: dual variables
sum to zero, so that their products do not see it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgraft.arrays import Array, Index
from skgraft.matrix import COMPILED_CELLS, DenseColumns, SparseColumns
from skgraft.svm.dual import load_kernels

BLOCK_CELLS = 1 << 17  # cells of a Gram matrix treated at a time: the scaled copy stays in the cache
CELLS = 1 << 21  # cells of a block that is standardised at a time
STORED_CELLS = 1 << 19  # the same where X is not copied
LARGE = 1 << 20  # cells of X beyond which it is not copied as a whole
COPIED = 0.25  # share of the bytes of X that a copy of the features left may have
COPY = 1e-10  # relative difference of signatures below which two columns are copies


class DenseDesign:
    """Standardised features, one a row of a contiguous array."""

    is_sparse = False

    def __init__(self, rows: Array, features: Index) -> None:
        self.rows = rows
        self.features = features
        self.n_features, self.n_rows = rows.shape

    @classmethod
    def of(cls, columns: DenseColumns) -> DenseDesign:
        """Copy all columns, a block at a time."""
        rows = np.empty((columns.n_columns, columns.n_rows))
        step = max(1, CELLS // max(columns.n_rows, 1))
        for start in range(0, columns.n_columns, step):
            part = slice(start, start + step)
            block = rows[part]
            np.subtract(columns.X[:, part].T, columns.centre[part, None], out=block)
            block /= columns.scale[part, None]
        rows[columns.constant] = 0.0
        return cls(rows, np.arange(columns.n_columns))

    @property
    def intercept_shift(self) -> Array:
        """What an intercept of centred features has more than one of these: nothing, they are centred."""
        return np.zeros(self.n_features)

    def squares(self) -> Array:
        """Return the sum of squares of each feature."""
        return self.weighted_squares(np.ones(self.n_rows))

    def weighted_squares(self, weight: Array) -> Array:
        """Return Σ_i weight_i x_ij² of each feature."""
        return np.einsum("ji,ji,i->j", self.rows, self.rows, weight)

    def quadratic_forms(self, B: Array) -> Array:
        """Return x_j'Bx_j of each feature."""
        return np.einsum("ji,ji->j", self.rows @ B, self.rows)

    def column(self, j: int) -> Array:
        """Return a feature."""
        return self.rows[j]

    def gram(self, squared_scale: Array | None) -> Array:
        """Return the Gram matrix of the rows of X with features scaled, X diag(z²) X'."""
        if squared_scale is None:
            return self.rows.T @ self.rows
        K = np.zeros((self.n_rows, self.n_rows))
        scale = np.sqrt(squared_scale)[:, None]
        step = max(4 * self.n_rows, BLOCK_CELLS // max(self.n_rows, 1))
        room = np.empty((min(step, self.n_features), self.n_rows))
        for start in range(0, self.n_features, step):
            part = slice(start, start + step)
            block = room[: scale[part].size]
            np.multiply(self.rows[part], scale[part], out=block)
            K += block.T @ block
        return K

    def weights(self, beta: Array) -> Array:
        """Return X'β for dual variables (n_rows,) or (n_rows, n_outputs)."""
        return self.rows @ beta

    def scores(self, weights: Array) -> Array:
        """Return X @ weights."""
        return self.rows.T @ weights

    def by_rows(self) -> Array:
        """Return X as an array with one sample a row."""
        return np.ascontiguousarray(self.rows.T)

    def take(self, positions: Index) -> Array:
        """Return some features, one a row."""
        return self.rows[positions]

    def keep(self, which: NDArray[Any]) -> DenseDesign:
        """Return the design with some of the features, by mask or position."""
        return DenseDesign(self.rows[which], self.features[which])


class StoredDesign(DenseDesign):
    """Features that stay in X and are standardised a block at a time; a copy is made once few are left."""

    def __init__(self, columns: DenseColumns, features: Index) -> None:
        self._columns = columns
        self.features = features
        self.n_features, self.n_rows = features.size, columns.n_rows

    @property
    def rows(self) -> Array:  # type: ignore[override]
        """All features, copied: one a row."""
        rows = np.empty((self.n_features, self.n_rows))
        for part, block in self._blocks():
            rows[part] = block.T
        return rows

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield standardised features, one a column, some at a time."""
        columns = self._columns
        step = max(self.n_rows // 4, STORED_CELLS // max(self.n_rows, 1), 1)
        for start in range(0, self.n_features, step):
            part = slice(start, start + step)
            which = self.features[part]
            whole = which[-1] - which[0] + 1 == which.size  # features ascend
            at: Any = slice(which[0], which[-1] + 1) if whole else which
            block = columns.X[:, at].astype(np.float64, order="C")
            block -= columns.centre[at]
            block /= columns.scale[at]
            block[:, columns.constant[at]] = 0.0
            yield part, block

    def take(self, positions: Index) -> Array:
        """Return some features, one a row."""
        return self._columns.take(self.features[positions])

    def weighted_squares(self, weight: Array) -> Array:
        """Return Σ_i weight_i x_ij² of each feature."""
        squares = np.empty(self.n_features)
        for part, block in self._blocks():
            squares[part] = weight @ np.square(block, out=block)
        return squares

    def gram(self, squared_scale: Array | None) -> Array:
        """Return the Gram matrix of the rows of X with features scaled, X diag(z²) X'."""
        K = np.zeros((self.n_rows, self.n_rows))
        for part, block in self._blocks():
            if squared_scale is not None:
                np.multiply(block, np.sqrt(squared_scale[part]), out=block)
            K += block @ block.T
        return K

    def weights(self, beta: Array) -> Array:
        """Return X'β for dual variables (n_rows,) or (n_rows, n_outputs)."""
        residual = beta.reshape(self.n_rows, -1)
        columns = self._columns
        if self.n_features == columns.n_columns:
            product = columns.gradient(residual)
        else:
            product = columns.gradient_of(self.features, residual)
        return product.reshape(self.n_features, *beta.shape[1:])

    def scores(self, weights: Array) -> Array:
        """Return X @ weights."""
        total = np.zeros((self.n_rows, *weights.shape[1:]))
        for part, block in self._blocks():
            total += block @ weights[part]
        return total

    def by_rows(self) -> Any:
        """Return X with one sample a row, without a copy."""
        return StoredRows(self._columns, self.features)

    def keep(self, which: NDArray[Any]) -> DenseDesign:
        """Return the design with some of the features, by mask or position."""
        left = StoredDesign(self._columns, self.features[which])
        few = 8.0 * left.n_features * self.n_rows <= COPIED * self._columns.X.nbytes
        return DenseDesign(left.rows, left.features) if few else left


class StoredRows:
    """Standardised features in the place of an array (n_rows, n_features): X stays where it is.

    It knows the products ``rows @ v`` and ``rows.T @ beta`` with vectors, and gives rows as arrays.
    """

    def __init__(self, columns: DenseColumns, features: Index) -> None:
        self._columns = columns
        every = features.size == columns.n_columns
        self._features: Any = slice(None) if every else features
        self._centre = columns.centre[self._features]
        # constants are zero, whatever they are divided by
        self._inverse = np.where(columns.constant[self._features], 0.0, 1.0 / columns.scale[self._features])
        self.shape = (columns.n_rows, features.size)

    def _centred(self, rows: Any) -> Array:
        cells = self._columns.X[rows]
        if not isinstance(self._features, slice):
            cells = cells[:, self._features]
        return np.asarray(np.subtract(cells, self._centre, dtype=np.float64))

    def __getitem__(self, rows: Any) -> Array:
        """Return some rows, copied."""
        block = self._centred(rows)
        block *= self._inverse
        return block

    def _parts(self) -> Iterator[slice]:
        step = max(1, BLOCK_CELLS // max(self.shape[1], 1))
        for start in range(0, self.shape[0], step):
            yield slice(start, start + step)

    def __matmul__(self, v: Array) -> Array:
        """Return the scores of weights."""
        product, shrunk = np.empty(self.shape[0]), v * self._inverse
        for part in self._parts():
            product[part] = self._centred(part) @ shrunk
        return product

    @property
    def T(self) -> StoredRowsTransposed:  # noqa: N802 -- as of an array
        """The same with one feature a row."""
        return StoredRowsTransposed(self)

    def weights(self, beta: Array) -> Array:
        """Return X'β."""
        total = np.zeros(self.shape[1])
        for part in self._parts():
            total += beta[part] @ self._centred(part)
        return total * self._inverse


class StoredRowsTransposed:
    """The other side of :class:`StoredRows`."""

    def __init__(self, rows: StoredRows) -> None:
        self._rows = rows

    def __matmul__(self, beta: Array) -> Array:
        """Return X'β."""
        return self._rows.weights(beta)


class SparseDesign:
    """Scaled features in a sparse matrix with one sample a row."""

    is_sparse = True

    def __init__(self, X: Any, features: Index, shift: Array | None = None) -> None:
        self.X = X
        self.features = features
        self.n_rows, self.n_features = X.shape
        # what centring would take from the features, and so adds to intercepts
        self.intercept_shift = np.zeros(self.n_features) if shift is None else shift

    @classmethod
    def of(cls, columns: SparseColumns) -> SparseDesign:
        """Copy the stored cells, scaled."""
        every = np.arange(columns.n_columns)
        return cls(sparse.csr_array(columns.take(every)), every, columns.shift)

    def squares(self) -> Array:
        """Return the sum of squares of each feature."""
        return self.weighted_squares(np.ones(self.n_rows))

    def weighted_squares(self, weight: Array) -> Array:
        """Return Σ_i weight_i x_ij² of each feature."""
        each = np.repeat(weight, np.diff(self.X.indptr))
        return np.bincount(self.X.indices, each * self.X.data**2, self.n_features).astype(np.float64)

    def quadratic_forms(self, B: Array) -> Array:
        """Return x_j'Bx_j of each feature."""
        return np.asarray(self.X.multiply(np.asarray(B @ self.X)).sum(axis=0)).ravel()

    def column(self, j: int) -> Array:
        """Return a feature."""
        return np.asarray(self.X[:, [j]].toarray()).ravel()

    def gram(self, squared_scale: Array | None) -> Array:
        """Return the Gram matrix of the rows of X with features scaled, without their densification."""
        scaled = self.X
        if squared_scale is not None:
            scaled = self.X.copy()
            scaled.data *= np.sqrt(squared_scale)[scaled.indices]
        return np.ascontiguousarray((scaled @ scaled.T).toarray())

    def weights(self, beta: Array) -> Array:
        """Return X'β for dual variables (n_rows,) or (n_rows, n_outputs)."""
        return np.asarray(self.X.T @ beta)

    def scores(self, weights: Array) -> Array:
        """Return X @ weights."""
        return np.asarray(self.X @ weights)

    def by_rows(self) -> Any:
        """Return X as a sparse matrix with one sample a row."""
        return self.X

    def keep(self, which: NDArray[Any]) -> SparseDesign:
        """Return the design with some of the features, by mask or position."""
        positions = np.flatnonzero(which) if which.dtype == bool else which
        return SparseDesign(
            sparse.csr_array(self.X[:, positions]), self.features[positions], self.intercept_shift[positions]
        )


Design = DenseDesign | SparseDesign


def make_design(columns: DenseColumns | SparseColumns) -> Design:
    """Copy the columns of X in the form that rounds need."""
    if columns.size > COMPILED_CELLS:
        load_kernels()
    return DenseDesign.of(columns) if isinstance(columns, DenseColumns) else SparseDesign.of(columns)


def rounds_design(columns: DenseColumns | SparseColumns) -> Design:
    """Return the columns of X in the form that rounds need, without a copy where X is large."""
    if isinstance(columns, DenseColumns) and columns.size > LARGE:
        load_kernels()
        return StoredDesign(columns, np.arange(columns.n_columns))
    return make_design(columns)


def first_of_each(design: Design, price: Array | None = None, bag: Index | None = None) -> NDArray[np.bool_]:
    """Say which features are not copies, up to a sign, of one that costs less, or of an earlier one at its price.

    Copies would keep equal weights for ever, and the zero-norm wants one of them.  Columns are compared by their
    products with two random vectors, equal for copies and for nothing else.  Copies in different bags may both be of
    use, each with the rest of its bag.
    """
    directions = np.random.default_rng(0).standard_normal((design.n_rows, 2))
    marks = design.weights(directions)
    size = np.sort(np.abs(marks[:, 0]))
    if not (np.diff(size) <= COPY * size[1:]).any():
        return np.ones(design.n_features, dtype=bool)
    sign = np.where(marks[:, 0] < 0.0, -1.0, 1.0)
    marks = marks * sign[:, None]
    order = np.argsort(marks[:, 0], kind="stable")
    ordered = marks[order]
    size = np.abs(ordered).sum(axis=1)
    near = np.abs(np.diff(ordered, axis=0)).max(axis=1, initial=0.0) <= COPY * size[1:]
    group = np.empty(design.n_features, np.intp)
    group[order] = np.concatenate([[0], np.cumsum(~near)])
    if bag is not None:
        group = np.unique(np.column_stack([group, bag]), axis=0, return_inverse=True)[1].ravel()
    by_price = np.arange(design.n_features) if price is None else np.argsort(price, kind="stable")
    first = np.zeros(design.n_features, dtype=bool)
    first[by_price[np.unique(group[by_price], return_index=True)[1]]] = True
    return first
