"""The Hessian of the loss over the free weights of a linear model, in whatever form is cheapest to minimise with.

A free weight is a pair (feature, output).  The intercepts are profiled out: what is minimised is the quadratic
model in the weights with the intercepts at their best for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgraft.criterion.losses import Curvature
from skgraft.criterion.penalties import Penalty
from skgraft.grafting.linear.quadratic import PLAIN_WEIGHTS, block_norms, minimize_gram
from skgraft.matrix import DenseBlock, SparseBlock

Array = NDArray[np.float64]
Index = NDArray[np.intp]

RESIDUAL_EPOCHS = 300  # coordinate epochs on rows or sparse columns
PATIENT_EPOCHS = 100  # the same where a Gram matrix is small enough to take over
COUPLED_WEIGHTS = 8000  # beyond this many coupled free weights their matrix is replaced by a separable bound
COUPLED_GRAM_WEIGHTS = 500  # up to here the matrix of sparse coupled weights is the faster way
DENSE_CELLS = 500_000  # columns in use of up to this many cells are multiplied as dense ones
DEFINITE = 1e-13  # share of its diagonal that keeps a singular Gram matrix from turning indefinite by rounding
SYNC_CELLS = 1 << 17  # cells that are centred and scaled at a time, while they are in the cache
SPARSE_GRAM_WEIGHTS = 4000  # up to here an ill-conditioned sparse problem is finished with its Gram matrix


class FreeHessian:
    """Quadratic models of the loss over the free weights.

    Parameters
    ----------
    block : DenseBlock or SparseBlock
        The columns in use; owned and grown by this object.
    n_outputs : int
        Number of outputs of the model.
    intercept : bool
        Whether each output has an intercept.
    compiled : bool
        Whether the problem is large enough for compiled kernels.
    single_precision : bool
        Whether to begin with matrices of float32.
    """

    def __init__(
        self,
        block: DenseBlock | SparseBlock,
        n_outputs: int,
        *,
        intercept: bool,
        compiled: bool,
        single_precision: bool = True,
    ) -> None:
        self.block = block
        self.n_outputs = n_outputs
        self.intercept = intercept
        self._compiled = compiled
        self.row = np.empty(0, np.intp)  # position of each free weight's feature in the block
        self.output = np.empty(0, np.intp)
        self.curvature: Curvature | None = None
        dtype = np.float32 if single_precision else np.float64
        self._shared = _SharedGram(intercept=intercept, dtype=dtype) if isinstance(block, DenseBlock) else None

    @property
    def cheap(self) -> bool:
        """Whether a fresh curvature costs little, because no Gram matrix is kept."""
        return self._shared is None or self.n_outputs > 1

    def free(self, features: Index, outputs: Index) -> None:
        """Add weights, copying the columns that are new."""
        known = np.isin(features, self.block.features)
        fresh = features[~known]
        _, first = np.unique(fresh, return_index=True)
        if first.size:
            self.block.append(fresh[np.sort(first)])
        order = np.argsort(self.block.features, kind="stable")
        at = order[np.searchsorted(self.block.features, features, sorter=order)]
        self.row = np.concatenate([self.row, at])
        self.output = np.concatenate([self.output, outputs])

    def keep(self, positions: Index) -> None:
        """Keep only the weights at these positions, and the columns they use."""
        self.output = self.output[positions]
        used, self.row = np.unique(self.row[positions], return_inverse=True)
        if self._shared is not None:
            self._shared.keep(used)
        self.block.keep(used)

    def refresh(self, curvature: Curvature) -> None:
        """Take a new curvature of the loss."""
        self.curvature = curvature
        if self._shared is not None:
            self._shared.refresh(curvature.diagonal[:, 0])

    def promote(self) -> None:
        """Keep matrices in float64 from now on: float32 did not make progress."""
        if self._shared is not None:
            self._shared.promote()

    def scores(self, weights: Array) -> Array:
        """Return the scores (n_rows, n_outputs) of the free weights."""
        matrix = np.zeros((self.block.features.size, self.n_outputs))
        matrix[self.row, self.output] = weights
        return self.block.scores(matrix)

    def gradient(self, residual: Array) -> Array:
        """Return the loss gradient of the free weights."""
        return np.asarray(self.block.gradient(residual)[self.row, self.output])

    def columns_by_output(self) -> tuple[list[Array], list[Index]]:
        """Return, for every output, the columns of its weights as dense rows, and which weights these are."""
        mine = [np.flatnonzero(self.output == k) for k in range(self.n_outputs)]
        block = self.block
        if isinstance(block, DenseBlock):
            return [block.rows[self.row[each]] for each in mine], mine
        rows = block.matrix.T.toarray() - block.mean[:, None]
        return [rows[self.row[each]] for each in mine], mine

    def solve(self, g: Array, gb: Array, w: Array, penalty: Penalty, tol: float) -> tuple[Array, Array]:
        """Minimise the model from ``w``, where the gradient is ``g`` (ridge included) and ``gb``.

        Returns the new weights and the change of the intercepts.
        """
        curvature = self._current()
        spans_outputs = self.n_outputs > 1 and not penalty.scalar
        if spans_outputs and curvature.factor is None and self._use_kernels(w.size) and _is_common(curvature):
            return self._solve_targets(curvature.diagonal[:, 0], g, gb, w, penalty, tol)
        if curvature.factor is None and not spans_outputs:
            return self._solve_separable(curvature.diagonal, g, gb, w, penalty, tol)
        if isinstance(self.block, SparseBlock) and curvature.factor is not None and w.size > COUPLED_GRAM_WEIGHTS:
            new, db, epochs = self._solve_softmax(curvature, g, gb, w, penalty, tol)
            if epochs < RESIDUAL_EPOCHS or w.size > SPARSE_GRAM_WEIGHTS:
                return new, db
        if w.size > COUPLED_WEIGHTS and not spans_outputs:
            return self._solve_separable(curvature.diagonal, g, gb, w, penalty, tol)
        return self._solve_coupled(curvature, g, gb, w, penalty, tol)

    def _current(self) -> Curvature:
        if self.curvature is None:
            msg = "refresh() must come before solve()"
            raise RuntimeError(msg)
        return self.curvature

    def _use_kernels(self, m: int) -> bool:
        return self._compiled or m > PLAIN_WEIGHTS

    # -- outputs that do not see each other -----------------------------------------------------------------

    def _solve_separable(
        self, diagonal: Array, g: Array, gb: Array, w: Array, penalty: Penalty, tol: float
    ) -> tuple[Array, Array]:
        new = w.copy()
        db = np.zeros(self.n_outputs)
        for k in range(self.n_outputs):
            mine = np.flatnonzero(self.output == k) if self.n_outputs > 1 else np.arange(w.size)
            if not mine.size:
                db[k] = -gb[k] / diagonal[:, k].sum() if self.intercept else 0.0
                continue
            part = penalty if self.n_outputs == 1 else penalty.take(mine)[0]
            solve = self._solve_dense if isinstance(self.block, DenseBlock) else self._solve_sparse
            new[mine], db[k] = solve(diagonal[:, k], mine, g[mine], gb[k], w[mine], part, tol)
        return new, db

    def _profiled(
        self,
        g: Array,
        gb: float,
        w: Array,
        mean: Array,
        total: float,
        minimize: Callable[[Array, Array], None],
    ) -> tuple[Array, float]:
        """Minimise with the intercept profiled out; ``mean`` are the curvature-weighted column means."""
        if not self.intercept:
            new = w.copy()
            minimize(g.copy(), new)
            return new, 0.0
        new = w.copy()
        minimize(g - mean * gb, new)
        return new, float(-gb / total - mean @ (new - w))

    def _solve_dense(
        self, diagonal: Array, mine: Index, g: Array, gb: float, w: Array, penalty: Penalty, tol: float
    ) -> tuple[Array, float]:
        block = self.block
        assert isinstance(block, DenseBlock)  # noqa: S101 -- for the type checker
        if self.n_outputs == 1 and self._shared is not None:
            gram, rows = self._shared, block.rows
        else:
            gram, rows = _SharedGram(intercept=self.intercept, dtype=np.float64), block.rows[self.row[mine]]
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

    def _solve_sparse(
        self, diagonal: Array, mine: Index, g: Array, gb: float, w: Array, penalty: Penalty, tol: float
    ) -> tuple[Array, float]:
        block = self.block
        assert isinstance(block, SparseBlock)  # noqa: S101 -- for the type checker
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

    # -- outputs coupled by the penalty alone, with the same Hessian each -----------------------------------------

    def _solve_targets(
        self, diagonal: Array, g: Array, gb: Array, w: Array, penalty: Penalty, tol: float
    ) -> tuple[Array, Array]:
        """Minimise over groups that span all outputs: weights lie by feature, and one matrix serves every output."""
        from skgraft.grafting.linear._kernels import targets_cd

        n_outputs = self.n_outputs
        start = w.reshape(-1, n_outputs).T
        q, new = np.ascontiguousarray(g.reshape(-1, n_outputs).T), np.ascontiguousarray(start).copy()
        l1, ridge = penalty.l1[::n_outputs], penalty.ridge[::n_outputs]
        one_output = Penalty(l1, ridge, penalty.norm, penalty.starts // n_outputs, penalty.positive)
        rows = self._common_rows()
        if rows is not None:
            mean, total = rows.mean[: l1.size], rows.total
            if self.intercept:
                q -= np.outer(gb, mean)
            rows.minimize_rows(q, new, one_output, tol)
        else:
            G, mean, total = self._common_gram(diagonal)
            if self.intercept:
                q -= np.outer(gb, mean)
            G[np.arange(l1.size), np.arange(l1.size)] += ridge.astype(G.dtype)
            targets_cd(
                G, l1.size, q, new, one_output.starts, l1, penalty.norm, block_norms(G, one_output), penalty.positive,
                0.3 * tol, RESIDUAL_EPOCHS,
            )  # fmt: skip
        db = -gb / total - (new - start) @ mean if self.intercept else np.zeros(n_outputs)
        return new.T.ravel(), db

    def _common_rows(self) -> _SharedGram | None:
        """Return the rows of all outputs, if they are dense, in their order, and smaller than their Gram matrix."""
        block, rows = self.block, self.row[:: self.n_outputs]
        if self._shared is None or not isinstance(block, DenseBlock) or rows.size <= max(block.rows.shape[1], 1000):
            return None
        if rows.size != block.rows.shape[0] or (np.diff(rows) != 1).any():
            return None
        self._shared.sync(block.rows)
        return self._shared

    def _common_gram(self, diagonal: Array) -> tuple[NDArray[np.floating], Array, float]:
        """Return a Gram matrix over the open features that may be written to, their means, and the curvature's sum."""
        rows = self.row[:: self.n_outputs]
        block, total = self.block, float(diagonal.sum())
        if isinstance(block, DenseBlock):
            assert self._shared is not None  # noqa: S101 -- for the type checker: dense blocks share a matrix
            self._shared.sync(block.rows)
            H = self._shared.matrix(np.zeros(block.rows.shape[0]))
            return H[rows[:, None], rows], self._shared.mean[rows], total
        columns = block.matrix[:, rows]
        mean = np.asarray(columns.T @ diagonal) / total if self.intercept else np.zeros(rows.size)
        H = (columns.T @ (sparse.diags_array(diagonal) @ columns)).toarray() - total * np.outer(mean, mean)
        return H, mean - block.mean[rows] if self.intercept else mean, total

    # -- outputs coupled by the loss or by the penalty --------------------------------------------------------

    def _solve_coupled(
        self, curvature: Curvature, g: Array, gb: Array, w: Array, penalty: Penalty, tol: float
    ) -> tuple[Array, Array]:
        H, to_intercept, of_intercept = self._coupled_matrices(curvature)
        new = w.copy()
        db = np.zeros(self.n_outputs)
        q = g.copy()
        if self.intercept:
            inverse = np.linalg.pinv(of_intercept, rcond=1e-12, hermitian=True)
            H -= to_intercept @ inverse @ to_intercept.T
            if isinstance(self.block, SparseBlock):  # the Hessian is the same for centred columns, this is not
                to_intercept -= self.block.mean[self.row, None] * of_intercept[self.output]
            q -= to_intercept @ (inverse @ gb)
        H[np.arange(w.size), np.arange(w.size)] += penalty.ridge
        minimize_gram(H, q, new, penalty, tol, compiled=self._use_kernels(w.size))
        if self.intercept:
            db = -inverse @ (gb + to_intercept.T @ (new - w))
        return new, db

    def _coupled_matrices(self, curvature: Curvature) -> tuple[Array, Array, Array]:
        """Return H over the weights, over weights and intercepts, and over the intercepts."""
        diagonal, factor = curvature.diagonal, curvature.factor
        m, n_outputs = self.row.size, self.n_outputs
        H = np.zeros((m, m))
        cross = np.zeros((m, n_outputs))
        by_output = [np.flatnonzero(self.output == k) for k in range(n_outputs)]
        for k, mine in enumerate(by_output):
            H[mine[:, None], mine] = self._weighted_gram(mine, mine, diagonal[:, k])
            cross[mine, k] = self._weighted_sum(mine, diagonal[:, k])
        of_intercept = np.diag(diagonal.sum(axis=0))
        if factor is None:
            return H, cross, of_intercept
        of_intercept = of_intercept - factor.T @ factor
        rows = self._small_rows()
        if rows is not None:
            B = rows[self.row] * factor.T[self.output]
            H -= B @ B.T
            cross -= B @ factor
            return H, cross, of_intercept
        for k, mine in enumerate(by_output):
            for other in range(n_outputs):
                weight = factor[:, k] * factor[:, other]
                H[mine[:, None], by_output[other]] -= self._weighted_gram(mine, by_output[other], weight)
                cross[mine, other] -= self._weighted_sum(mine, weight)
        return H, cross, of_intercept

    def _small_rows(self) -> Array | None:
        """Return the columns in use as dense rows, unless they are sparse and too many for that."""
        block = self.block
        if isinstance(block, DenseBlock):
            return block.rows
        return np.asarray(block.matrix.T.toarray()) if np.prod(block.matrix.shape) <= DENSE_CELLS else None

    def _weighted_gram(self, left: Index, right: Index, weight: Array) -> Array:
        rows = self._small_rows()
        if rows is not None:
            if left is right:
                scaled = rows[self.row[left]] * np.sqrt(weight)
                return np.asarray(scaled @ scaled.T)
            return np.asarray((rows[self.row[left]] * weight) @ rows[self.row[right]].T)
        assert isinstance(self.block, SparseBlock)  # noqa: S101 -- for the type checker: dense blocks are rows
        columns = self.block.matrix
        scaled = sparse.diags_array(weight) @ columns[:, self.row[right]]
        return np.asarray((columns[:, self.row[left]].T @ scaled).toarray())

    def _weighted_sum(self, mine: Index, weight: Array) -> Array:
        block = self.block
        sums = block.rows @ weight if isinstance(block, DenseBlock) else np.asarray(block.transposed @ weight)
        return sums[self.row[mine]]

    def _solve_softmax(
        self, curvature: Curvature, g: Array, gb: Array, w: Array, penalty: Penalty, tol: float
    ) -> tuple[Array, Array, int]:
        from skgraft.grafting.linear._kernels import softmax_cd

        block = self.block
        assert isinstance(block, SparseBlock)  # noqa: S101 -- for the type checker
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


def _is_common(curvature: Curvature) -> bool:
    """Whether all outputs have the same curvature, as under the squared loss."""
    return bool((curvature.diagonal == curvature.diagonal[:, :1]).all())


class _SharedGram:
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
                self._A, w.shape[1], q, w, penalty.ridge, penalty.starts, penalty.l1, penalty.norm, lipschitz,
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
