"""Machines on ever fewer features, one feature less at a time, in compiled code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.svm.active_set import active_set
from skgraft.svm.design import DenseDesign
from skgraft.svm.dual import BLOCK_SWAPS, Bands, initial_state, solve_bands
from skgraft.svm.machines import INSEPARABLE

COMPILED_PIVOTS = 30  # before the method that cannot cycle takes over: near the optimum it is fast
JITTER = 1e-10  # ridge on the Gram matrix, as part of its mean diagonal, that keeps Cholesky's method going
REFRESH = 0.5  # share of the trace at which the Gram matrix is computed anew: subtractions have left rounding
TOLD = 100  # features that may go in compiled code before progress is told


class OneByOne:
    """Elimination one by one of dense features, in compiled code.

    The Gram matrix loses the product of the removed feature, the Cholesky factors of the machines are updated
    accordingly, and weights are computed only where they can be the smallest.
    """

    def __init__(self, design: DenseDesign, bands: list[Bands], tol: float, *, hard: bool) -> None:
        self._hard = hard
        self._rows = design.rows.copy()
        self._features = design.features
        self._bands = bands
        self._tol = tol

    def run(self, n_wanted: int) -> Iterator[tuple[Index, int]]:
        """Yield, from time to time, all features and how many are left: these first, and last the first to go.

        Ends early where no slack is allowed and the features left no longer separate the classes.
        """
        from skgraft.svm._kernels import STUCK
        from skgraft.svm._kernels import eliminate as compiled

        rows, bands = self._rows, self._bands
        k, m = rows.shape
        n_outputs = len(bands)
        alive, order = np.arange(k), np.empty(k, np.int64)
        norms = np.sqrt((rows * rows).sum(axis=1))
        lower, higher = np.stack([b.lower for b in bands]), np.stack([b.higher for b in bands])
        upper, pinned = np.ascontiguousarray(bands[0].upper), np.zeros(m, dtype=bool)
        state = np.stack([initial_state(b) for b in bands])
        factors, valid = np.empty((n_outputs, m, m)), np.zeros(n_outputs, dtype=bool)
        B, reference, at_reference = np.zeros((n_outputs, m)), np.zeros(k), np.full((n_outputs, m), np.inf)
        before = np.zeros_like(B)
        solved, K, ridge, refresh = False, np.empty((0, 0)), np.empty(0), 0.0
        while k > n_wanted:
            least = max(n_wanted, k - TOLD)
            if not solved:
                K = rows[:k].T @ rows[:k]
                refresh = REFRESH * float(np.trace(K))
                ridge = np.full(m, max(JITTER * float(np.trace(K)) / m, np.finfo(float).tiny))
                valid[:] = False
            k, why = compiled(
                rows, norms, alive, k, least, K, lower, higher, upper, ridge, pinned, state, factors, valid, B,
                before, solved, reference, at_reference, order, 0.1 * self._tol, COMPILED_PIVOTS, BLOCK_SWAPS, refresh,
            )  # fmt: skip
            solved = why == STUCK
            order[:k] = alive[:k]
            yield self._features[order], k
            if self._hard and not float(np.abs(ridge * B).max()) <= INSEPARABLE:
                return
            if solved:
                self._solve_surely(K, ridge, state, valid, B, before)

    def _solve_surely(
        self, K: Array, ridge: Array, state: NDArray[np.int8], valid: NDArray[np.bool_], B: Array, before: Array
    ) -> None:
        """Solve the machines of one step by the method that cannot cycle, from where the step before ended."""
        for q, each in enumerate(self._bands):
            bands = replace(each, ridge=ridge)
            try:
                B[q], _, state[q], _ = active_set(K, bands, state[q], before[q], bands.pinned, 0.1 * self._tol)
            except np.linalg.LinAlgError:
                solution = solve_bands(K, each, tol=self._tol)
                state[q], B[q] = solution.state, solution.beta
            valid[q] = False
