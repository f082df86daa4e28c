"""The Hessian of the loss over the free weights of a linear model, in whatever form is cheapest to minimise with.

A free weight is a pair (feature, output).  The intercepts are profiled out: what is minimised is the quadratic
model in the weights with the intercepts at their best for them.  `FreeHessian.solve` chooses by what couples the
outputs, and the storage of the columns by their number:

=========================================  =================================================================
outputs                                    minimised with
=========================================  =================================================================
one, or coupled by nothing                 one after the other; dense: their Gram matrix, or the rows themselves
                                           where these are smaller (more weights than rows, and than 1,000);
                                           sparse: stored cells, and the Gram matrix (up to 4,000 weights) if
                                           100 epochs did not settle it
by the penalty alone, same curvature       one Gram matrix for all outputs, groups across them
by the loss (several classes)              sparse and more than 500 weights: stored cells and class
                                           probabilities; up to 8,000 weights the whole matrix; beyond, a
                                           separable bound, which takes more steps of far lower cost
=========================================  =================================================================

The limits are where the ways took equally long on correlated Gaussian and on text-like data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.criterion import Curvature, Penalty
from skgraft.grafting.linear.quadratic import PLAIN_WEIGHTS, block_norms, minimize_gram
from skgraft.matrix import Block

RESIDUAL_EPOCHS = 300  # coordinate epochs on rows or sparse columns
COUPLED_WEIGHTS = 8000  # beyond this many coupled free weights their matrix is replaced by a separable bound
DEFINITE = 1e-13  # share of its diagonal that keeps a singular Gram matrix from turning indefinite by rounding


class FreeHessian(ABC):
    """Quadratic models of the loss over the free weights.

    Parameters
    ----------
    block : Block
        The columns in use; owned and grown by this object.
    n_outputs : int
        Number of outputs of the model.
    intercept : bool
        Whether each output has an intercept.
    compiled : bool
        Whether the problem is large enough for compiled kernels.
    """

    def __init__(self, block: Block, n_outputs: int, *, intercept: bool, compiled: bool) -> None:
        self.block = block
        self.n_outputs = n_outputs
        self.intercept = intercept
        self._compiled = compiled
        self.row = np.empty(0, np.intp)  # position of each free weight's feature in the block
        self.output = np.empty(0, np.intp)
        self.curvature: Curvature | None = None

    @property
    def cheap(self) -> bool:
        """Whether a fresh curvature costs little, because no Gram matrix is kept."""
        return True

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
        self.block.keep(used)

    def refresh(self, curvature: Curvature) -> None:
        """Take a new curvature of the loss."""
        self.curvature = curvature

    def promote(self) -> None:  # noqa: B027 -- nothing to do where no matrix is kept
        """Keep matrices in float64 from now on: float32 did not make progress."""

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
        rows = self.block.dense_rows()
        return [rows[self.row[each]] for each in mine], mine

    def columns_of_weights(self) -> Array:
        """Return the column of every free weight as a dense row."""
        return np.asarray(self.block.dense_rows()[self.row])

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
        solved = self._solve_without_matrix(curvature, g, gb, w, penalty, tol)
        if solved is not None:
            return solved
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
            new[mine], db[k] = self._solve_one(diagonal[:, k], mine, g[mine], gb[k], w[mine], part, tol)
        return new, db

    @abstractmethod
    def _solve_one(
        self, diagonal: Array, mine: Index, g: Array, gb: float, w: Array, penalty: Penalty, tol: float
    ) -> tuple[Array, float]:
        """Minimise over the weights ``mine`` of one output, whose curvature is ``diagonal``."""

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

    # -- outputs coupled by the penalty alone, with the same Hessian each -----------------------------------------

    # -- outputs coupled by the penalty alone, with the same Hessian each -----------------------------------------

    def _solve_targets(
        self, diagonal: Array, g: Array, gb: Array, w: Array, penalty: Penalty, tol: float
    ) -> tuple[Array, Array]:
        """Minimise over groups that span all outputs: weights lie by feature, and one matrix serves every output."""
        from skgraft.grafting.linear._kernels import targets_cd

        G, mean = self._common_gram(diagonal)
        targets = self._by_target(g, gb, w, penalty, mean)
        part = targets.penalty
        G[np.arange(mean.size), np.arange(mean.size)] += part.ridge.astype(G.dtype)
        targets_cd(
            G, mean.size, targets.q, targets.new, part.starts, part.l1, part.norm, block_norms(G, part), part.positive,
            0.3 * tol, RESIDUAL_EPOCHS,
        )  # fmt: skip
        return targets.result(float(diagonal.sum()))

    def _by_target(self, g: Array, gb: Array, w: Array, penalty: Penalty, mean: Array) -> _Targets:
        """Lay gradients and weights out as (n_outputs, n_features), intercepts profiled out."""
        k = self.n_outputs
        start = w.reshape(-1, k).T
        q, new = np.ascontiguousarray(g.reshape(-1, k).T), np.ascontiguousarray(start).copy()
        if self.intercept:
            q -= np.outer(gb, mean)
        one = Penalty(penalty.l1[::k], penalty.ridge[::k], penalty.norm, penalty.starts // k, penalty.positive)
        return _Targets(q, new, start, one, mean, gb, self.intercept)

    @abstractmethod
    def _common_gram(self, diagonal: Array) -> tuple[NDArray[np.floating], Array]:
        """Return a Gram matrix over the open features that may be written to, and their means."""

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
            to_intercept = self._centre_cross(to_intercept, of_intercept)
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

    @abstractmethod
    def _solve_without_matrix(
        self, curvature: Curvature, g: Array, gb: Array, w: Array, penalty: Penalty, tol: float
    ) -> tuple[Array, Array] | None:
        """Minimise by the columns alone, where that is faster; None where it is not, or did not settle."""

    def _centre_cross(self, cross: Array, of_intercept: Array) -> Array:  # noqa: ARG002 -- columns are centred
        """Return the Hessian over weights and intercepts for centred columns; that over weights is the same."""
        return cross

    @abstractmethod
    def _small_rows(self) -> Array | None:
        """Return the columns in use as dense rows, unless they are sparse and too many for that."""

    @abstractmethod
    def _weighted_sum(self, mine: Index, weight: Array) -> Array:
        """Return Σ_i weight_i x_i of the columns of some weights."""

    def _weighted_gram(self, left: Index, right: Index, weight: Array) -> Array:
        """Return Σ_i weight_i x_i x_i' between the columns of some weights and of others."""
        rows = self._small_rows()
        assert rows is not None  # noqa: S101 -- a storage without rows has its own way
        if left is right:
            scaled = rows[self.row[left]] * np.sqrt(weight)
            return np.asarray(scaled @ scaled.T)
        return np.asarray((rows[self.row[left]] * weight) @ rows[self.row[right]].T)


@dataclass(frozen=True, eq=False)
class _Targets:
    """The quadratic model of outputs with one Hessian: gradients and weights (n_outputs, n_features)."""

    q: Array
    new: Array
    start: Array
    penalty: Penalty
    mean: Array
    gb: Array
    intercept: bool

    def result(self, total: float) -> tuple[Array, Array]:
        """Return the new weights by feature, and the change of the intercepts."""
        db = -self.gb / total - (self.new - self.start) @ self.mean if self.intercept else np.zeros(self.gb.size)
        return self.new.T.ravel(), db


def _is_common(curvature: Curvature) -> bool:
    """Whether all outputs have the same curvature, as under the squared loss."""
    return bool((curvature.diagonal == curvature.diagonal[:, :1]).all())
