"""The Hessian over sparse columns: by their stored cells, with a Gram matrix only where that is small and needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgraft.arrays import Array, Index
from skgraft.criterion import Curvature, Penalty
from skgraft.grafting.linear.hessian.free import DEFINITE, RESIDUAL_EPOCHS, FreeHessian
from skgraft.grafting.linear.quadratic import minimize_gram
from skgraft.matrix import SparseBlock

PATIENT_EPOCHS = 100  # coordinate epochs where a Gram matrix is small enough to take over
SPARSE_GRAM_WEIGHTS = 4000  # up to here an ill-conditioned sparse problem is finished with its Gram matrix
COUPLED_GRAM_WEIGHTS = 500  # up to here the matrix of sparse coupled weights is the faster way
DENSE_CELLS = 500_000  # columns in use of up to this many cells are multiplied as dense ones


class SparseHessian(FreeHessian):
    """Quadratic models over sparse columns, which are scaled but not centred: centring is a term of rank one."""

    block: SparseBlock

    def _solve_one(
        self, diagonal: Array, mine: Index, g: Array, gb: float, w: Array, penalty: Penalty, tol: float
    ) -> tuple[Array, float]:
        block = self.block
        columns = block.matrix if self.n_outputs == 1 else block.matrix[:, self.row[mine]]
        root, total = np.sqrt(diagonal)[columns.indices], float(diagonal.sum())
        scaled = columns.data * root, columns.indices, columns.indptr
        # of the scaled cells, as the squares are: what is left without the mean must not fall below zero
        mean = _column_sums(scaled[0] * root, columns.indptr) / total if self.intercept else np.zeros(w.size)
        weight = total if self.intercept else 0.0
        # with the intercept profiled out, centred and uncentred columns have the same Hessian
        centred_mean = mean - (block.mean if self.n_outputs == 1 else block.mean[self.row[mine]])
        compiled = self._use_kernels(w.size)

        def gram() -> Array:
            A = sparse.csc_array(scaled, columns.shape)
            H = np.ascontiguousarray((A.T @ A).toarray()) - weight * np.outer(mean, mean)
            every = np.arange(w.size)
            H[every, every] = (1.0 + DEFINITE) * H[every, every] + penalty.ridge
            return H

        def minimize(q: Array, new: Array) -> None:
            if compiled:
                limit = RESIDUAL_EPOCHS if w.size > SPARSE_GRAM_WEIGHTS else PATIENT_EPOCHS
                if _sparse_epochs(scaled, diagonal.size, mean, weight, q, new, penalty, tol, limit) < limit:
                    return
                if w.size > SPARSE_GRAM_WEIGHTS:
                    return
            H = gram()
            q += H @ (new - w)
            minimize_gram(H, q, new, penalty, tol, compiled=compiled)

        return self._profiled(g, gb, w, centred_mean, total, minimize)

    def _common_gram(self, diagonal: Array) -> tuple[NDArray[np.floating], Array]:
        rows = self.row[:: self.n_outputs]
        columns, total = self.block.matrix[:, rows], float(diagonal.sum())
        mean = np.asarray(columns.T @ diagonal) / total if self.intercept else np.zeros(rows.size)
        H = (columns.T @ (sparse.diags_array(diagonal) @ columns)).toarray() - total * np.outer(mean, mean)
        return H, mean - self.block.mean[rows] if self.intercept else mean

    def _solve_without_matrix(
        self, curvature: Curvature, g: Array, gb: Array, w: Array, penalty: Penalty, tol: float
    ) -> tuple[Array, Array] | None:
        if curvature.factor is None or w.size <= COUPLED_GRAM_WEIGHTS:
            return None
        new, db, epochs = self._solve_softmax(curvature, g, gb, w, penalty, tol)
        return (new, db) if epochs < RESIDUAL_EPOCHS or w.size > SPARSE_GRAM_WEIGHTS else None

    def _centre_cross(self, cross: Array, of_intercept: Array) -> Array:
        return cross - self.block.mean[self.row, None] * of_intercept[self.output]

    def _small_rows(self) -> Array | None:
        matrix = self.block.matrix
        return np.asarray(matrix.T.toarray()) if np.prod(matrix.shape) <= DENSE_CELLS else None

    def _weighted_gram(self, left: Index, right: Index, weight: Array) -> Array:
        if np.prod(self.block.matrix.shape) <= DENSE_CELLS:
            return super()._weighted_gram(left, right, weight)
        columns = self.block.matrix
        scaled = sparse.diags_array(weight) @ columns[:, self.row[right]]
        return np.asarray((columns[:, self.row[left]].T @ scaled).toarray())

    def _weighted_sum(self, mine: Index, weight: Array) -> Array:
        return np.asarray(self.block.transposed @ weight)[self.row[mine]]

    def _solve_softmax(
        self, curvature: Curvature, g: Array, gb: Array, w: Array, penalty: Penalty, tol: float
    ) -> tuple[Array, Array, int]:
        from skgraft.grafting.linear._kernels import softmax_cd

        block = self.block
        weight = curvature.diagonal.sum(axis=1)
        P = curvature.diagonal / np.maximum(weight, np.finfo(float).tiny)[:, None]
        columns = block.matrix
        squares = sparse.csc_array((columns.data**2, columns.indices, columns.indptr), columns.shape)
        slack = P * (1.0 - P) if penalty.scalar else P
        height = np.asarray(squares.T @ (slack * weight[:, None]))[self.row, self.output] + penalty.ridge
        new = w.copy()
        db = np.zeros(self.n_outputs)
        mean = block.mean[self.row]
        uncentred = g + mean * gb[self.output]
        epochs = softmax_cd(
            columns.data, columns.indices, columns.indptr, self.row, self.output, P, weight, self.intercept,
            uncentred, gb, new, db, penalty.ridge, penalty.starts, penalty.l1, penalty.norm, penalty.per_group(height),
            penalty.positive, 0.3 * tol, RESIDUAL_EPOCHS,
        )  # fmt: skip
        db += np.bincount(self.output, mean * (new - w), self.n_outputs)
        return new, db, int(epochs)


def _column_sums(data: Array, starts: Any) -> Array:
    """Return the sums over compressed columns."""
    sums = np.add.reduceat(np.append(data, 0.0), starts[:-1])
    return np.where(np.diff(starts) > 0, sums, 0.0)  # of an empty column reduceat returns the next cell


def _sparse_epochs(
    columns: tuple[Array, Any, Any],
    n_rows: int,
    mean: Array,
    weight: float,
    q: Array,
    w: Array,
    penalty: Penalty,
    tol: float,
    limit: int,
) -> int:
    """Descend over compressed columns (data, indices, indptr); return the number of epochs."""
    from skgraft.grafting.linear._kernels import sparse_cd

    data, _, starts = columns
    heights = _column_sums(data * data, starts) - weight * mean**2 + penalty.ridge
    return int(
        sparse_cd(
            *columns, n_rows, mean, weight, q, w, penalty.ridge,
            penalty.starts, penalty.l1, penalty.norm, penalty.per_group(np.maximum(heights, 0.0)), penalty.positive,
            0.3 * tol, limit,
        )
    )  # fmt: skip
