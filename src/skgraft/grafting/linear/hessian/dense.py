"""The Hessian over dense columns: a Gram matrix of rows scaled by √curvature, grown as columns come in."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.criterion import Curvature, Penalty
from skgraft.grafting.linear.hessian.free import COUPLED_WEIGHTS, DEFINITE, RESIDUAL_EPOCHS, FreeHessian
from skgraft.grafting.linear.quadratic import minimize_gram
from skgraft.matrix import DenseBlock

SYNC_CELLS = 1 << 17  # cells that are centred and scaled at a time, while they are in the cache


class DenseHessian(FreeHessian):
    """Quadratic models over dense columns.  One output keeps its Gram matrix from step to step.

    ``single_precision`` begins with matrices of float32.
    """

    block: DenseBlock

    def __init__(
        self, block: DenseBlock, n_outputs: int, *, intercept: bool, compiled: bool, single_precision: bool
    ) -> None:
        super().__init__(block, n_outputs, intercept=intercept, compiled=compiled)
        self._gram = GrowingGram(intercept=intercept, dtype=np.float32 if single_precision else np.float64)

    @property
    def cheap(self) -> bool:
        """Whether a fresh curvature costs little, because no Gram matrix is kept."""
        return self.n_outputs > 1

    def keep(self, positions: Index) -> None:
        """Keep only the weights at these positions, and the columns they use."""
        self._gram.keep(np.unique(self.row[positions]))
        super().keep(positions)

    def refresh(self, curvature: Curvature) -> None:
        """Take a new curvature of the loss."""
        super().refresh(curvature)
        self._gram.refresh(curvature.diagonal[:, 0])

    def promote(self) -> None:
        """Keep matrices in float64 from now on: float32 did not make progress."""
        self._gram.promote()

    def _solve_one(
        self, diagonal: Array, mine: Index, g: Array, gb: float, w: Array, penalty: Penalty, tol: float
    ) -> tuple[Array, float]:
        if self.n_outputs == 1:
            gram, rows = self._gram, self.block.rows
        else:
            gram, rows = GrowingGram(intercept=self.intercept, dtype=np.float64), self.block.rows[self.row[mine]]
            gram.refresh(diagonal)
        gram.sync(rows)
        m, n = rows.shape
        compiled = self._use_kernels(m)

        def minimize(q: Array, new: Array) -> None:
            if m > max(n, 1000):  # the rows themselves are smaller than their Gram matrix
                if gram.minimize_rows(q[None], new[None], penalty, tol) < RESIDUAL_EPOCHS or m > COUPLED_WEIGHTS:
                    return
                d = new - w
                q += gram.product(d) + penalty.ridge * d
            minimize_gram(gram.matrix(penalty.ridge), q, new, penalty, tol, compiled=compiled)

        return self._profiled(g, gb, w, gram.mean[:m], gram.total, minimize)

    def _rows_beat_gram(self) -> GrowingGram | None:
        """Return the rows of all outputs, if they are in their order and smaller than their Gram matrix."""
        rows, (m, n) = self.row[:: self.n_outputs], self.block.rows.shape
        if rows.size <= max(n, 1000) or rows.size != m or (np.diff(rows) != 1).any():
            return None
        self._gram.sync(self.block.rows)
        return self._gram

    def _solve_targets(
        self, diagonal: Array, g: Array, gb: Array, w: Array, penalty: Penalty, tol: float
    ) -> tuple[Array, Array]:
        gram = self._rows_beat_gram()
        if gram is None:
            return super()._solve_targets(diagonal, g, gb, w, penalty, tol)
        targets = self._by_target(g, gb, w, penalty, gram.mean[: w.size // self.n_outputs])
        gram.minimize_rows(targets.q, targets.new, targets.penalty, tol)
        return targets.result(gram.total)

    def _common_gram(self, diagonal: Array) -> tuple[NDArray[np.floating], Array]:  # noqa: ARG002 -- it is in the Gram matrix
        rows = self.row[:: self.n_outputs]
        self._gram.sync(self.block.rows)
        H = self._gram.matrix(np.zeros(self.block.rows.shape[0]))
        return H[rows[:, None], rows], self._gram.mean[rows]

    def _solve_without_matrix(self, *_: Any) -> None:
        return None  # rows make a Gram matrix at the speed of BLAS

    def _small_rows(self) -> Array:
        return self.block.rows

    def _weighted_sum(self, mine: Index, weight: Array) -> Array:
        return np.asarray((self.block.rows @ weight)[self.row[mine]])


class GrowingGram:
    """Rows scaled by √curvature and centred, and their Gram matrix, both grown as rows come in.

    float32 by default: the gradient outside is exact, so this only has to be a good model.
    """

    def __init__(self, *, intercept: bool, dtype: type[np.floating] = np.float32) -> None:
        self._intercept = intercept
        self._dtype = dtype
        self._A = np.empty((0, 0), dtype)
        self._H = np.empty((0, 0), dtype)
        self._diagonal = np.empty(0, dtype)
        self._heights = np.empty(0)  # largest eigenvalue of the block that begins at a row, where it is known
        self.mean = np.empty(0)
        self._in_rows = self._in_gram = 0

    def refresh(self, curvature: Array) -> None:
        """Forget everything that rests on the old curvature."""
        self._root = np.sqrt(curvature)
        self._curvature = curvature
        self.total = float(curvature.sum())
        self._in_rows = self._in_gram = 0
        self._heights[:] = np.nan

    def promote(self) -> None:
        """Rebuild in float64."""
        if self._dtype is not np.float64:
            self._dtype = np.float64
            self._A, self._H = np.empty((0, 0)), np.empty((0, 0))
            self._in_rows = self._in_gram = 0
            self._heights = np.empty(0)

    def keep(self, positions: Index) -> None:
        """Keep these rows."""
        inside = positions[positions < self._in_rows]
        if inside.size:
            self._A[: inside.size] = self._A[inside]
            self.mean[: inside.size] = self.mean[inside]
            self._heights[: inside.size] = self._heights[inside]
        self._heights[inside.size :] = np.nan
        self._in_rows = inside.size
        inside = positions[positions < self._in_gram]
        if inside.size:
            self._H[: inside.size, : inside.size] = self._H[inside[:, None], inside]
            self._diagonal[: inside.size] = self._diagonal[inside]
        self._in_gram = inside.size

    def sync(self, rows: Array) -> None:
        """Take in the rows that are new."""
        done, m = self._in_rows, rows.shape[0]
        if m > self._A.shape[0]:
            A = np.empty((max(m, 2 * done, 16), rows.shape[1]), self._dtype)
            mean, heights = np.zeros(A.shape[0]), np.full(A.shape[0], np.nan)
            if done:
                A[:done], mean[:done], heights[:done] = self._A[:done], self.mean[:done], self._heights[:done]
            self._A, self.mean, self._heights = A, mean, heights
        step = max(1, SYNC_CELLS // rows.shape[1])
        spare = np.empty((min(step, m - done), rows.shape[1])) if self._intercept else None
        for start in range(done, m, step):
            part = rows[start : min(start + step, m)]
            stop = start + part.shape[0]
            if spare is not None:
                self.mean[start:stop] = part @ self._curvature / self.total
                part = np.subtract(part, self.mean[start:stop, None], out=spare[: part.shape[0]])
            np.multiply(part, self._root, out=self._A[start:stop], casting="same_kind")
        self._in_rows = m

    def matrix(self, ridge: Array) -> NDArray[np.floating]:
        """Return a buffer whose leading block is the Gram matrix plus the ridge."""
        done, m = self._in_gram, self._in_rows
        if m > self._H.shape[0]:
            H = np.empty((self._A.shape[0],) * 2, self._dtype)
            diagonal = np.empty(H.shape[0], self._dtype)
            H[:done, :done], diagonal[:done] = self._H[:done, :done], self._diagonal[:done]
            self._H, self._diagonal = H, diagonal
        if done < m:
            fresh = self._A[:m] @ self._A[done:m].T
            self._H[:m, done:m] = fresh
            self._H[done:m, :done] = fresh[:done].T
            self._diagonal[done:m] = np.diagonal(fresh[done:])
            self._in_gram = m
        lift = DEFINITE if self._dtype is np.float64 else 0.0
        self._H[np.arange(m), np.arange(m)] = (1.0 + lift) * self._diagonal[:m] + ridge
        return self._H

    def product(self, d: Array) -> Array:
        """Return the Gram matrix times a vector, from the rows."""
        A = self._A[: self._in_rows]
        return np.asarray(A @ (A.T @ d.astype(self._dtype)), dtype=np.float64)

    def minimize_rows(self, q: Array, w: Array, penalty: Penalty, tol: float) -> int:
        """Descend on the rows without their Gram matrix, ``q`` and ``w`` (n_outputs, m); returns the epochs taken."""
        from skgraft.grafting.linear._kernels import rows_cd

        A = self._A[: self._in_rows]
        if penalty.scalar:
            lipschitz = np.einsum("ij,ij->i", A, A).astype(np.float64) + penalty.ridge
        else:
            first = penalty.starts[:-1]
            unknown = np.flatnonzero(np.isnan(self._heights[first]))
            self._heights[first[unknown]] = _block_heights(A, first[unknown], np.diff(penalty.starts)[unknown])
            lipschitz = self._heights[first] + np.maximum.reduceat(penalty.ridge, first)
        return int(
            rows_cd(
                self._A, q, w, penalty.ridge, penalty.starts, penalty.l1, penalty.norm, lipschitz,
                penalty.positive, 0.3 * tol, RESIDUAL_EPOCHS,
            )
        )  # fmt: skip


def _block_heights(A: NDArray[np.floating], first: Index, sizes: Index) -> Array:
    """Return the largest eigenvalue of blocks of rows times their transposes, a little rounded up."""
    out = np.empty(sizes.size)
    for size in np.unique(sizes):
        blocks = np.flatnonzero(sizes == size)
        rows = A[first[blocks, None] + np.arange(size)]
        out[blocks] = np.linalg.eigvalsh(rows @ rows.transpose(0, 2, 1))[:, -1]
    return out * (1.0 + 1e-5)
