"""The features that are still alive, in the form that rounds need: Gram matrices, products, fewer features.

Dense features are copied once, standardised and one a row; sparse ones are scaled and stay sparse.  Centring sparse
features is left to the intercepts: dual variables sum to zero, so that their products do not see it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgraft.matrix import DenseColumns, SparseColumns
from skgraft.matrix.dense import COMPILED_CELLS
from skgraft.svm.dual import load_kernels

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

BLOCK_CELLS = 1 << 17  # cells of a Gram matrix treated at a time: the scaled copy stays in the cache
CELLS = 1 << 21  # cells of a block that is standardised at a time
COPY = 1e-10  # relative difference of signatures below which two columns are copies


class DenseDesign:
    """Standardised features, one a row of a contiguous array."""

    is_sparse = False

    def __init__(self, rows: Array, features: Indices) -> None:
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

    def keep(self, which: NDArray[Any]) -> DenseDesign:
        """Return the design with some of the features, by mask or position."""
        return DenseDesign(self.rows[which], self.features[which])


class SparseDesign:
    """Scaled features in a sparse matrix with one sample a row."""

    is_sparse = True

    def __init__(self, X: Any, features: Indices, shift: Array | None = None) -> None:
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


def first_of_each(design: Design) -> NDArray[np.bool_]:
    """Say which features are not copies, up to a sign, of an earlier one.

    Copies would keep equal weights for ever, and the zero-norm wants one of them.  Columns are compared by their
    products with two random vectors, equal for copies and for nothing else.
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
    group = np.concatenate([[0], np.cumsum(~near)])
    earliest = np.full(int(group[-1]) + 1, design.n_features)
    np.minimum.at(earliest, group, order)
    first = np.zeros(design.n_features, dtype=bool)
    first[earliest] = True
    return first
