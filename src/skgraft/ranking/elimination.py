"""Recursive feature elimination: train, remove the features that matter least, repeat (Guyon et al. 2002)."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skgraft.run.history import History, Record
from skgraft.svm.active_set import active_set
from skgraft.svm.design import DenseDesign, Design
from skgraft.svm.dual import BLOCK_SWAPS, Bands, initial_state, solve_bands
from skgraft.svm.machines import IndependentMachines, MachineSolution

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

FEW = 10
COMPILED_CELLS = 50_000  # cells beyond which single steps are worth compiled code
COMPILED_ROWS = 800
COMPILED_PIVOTS = 30  # before the method that cannot cycle takes over: near the optimum it is fast
JITTER = 1e-10  # ridge on the Gram matrix, as part of its mean diagonal, that keeps Cholesky's method going
REFRESH = 0.5  # share of the trace at which the Gram matrix is computed anew: subtractions have left rounding


@dataclass(frozen=True)
class Elimination:
    """What is left and when the others went.

    Attributes
    ----------
    alive : ndarray of int
        The features left, ascending.
    removed : list of ndarray
        The features of each step, in order.
    solution : MachineSolution
        The machine on the features left.
    history : History
        One record a step.
    """

    alive: Indices
    removed: list[Indices]
    solution: MachineSolution
    history: History


def default_number(n_features: int) -> int:
    """Return how many features are left where nobody says: half of them, but ten at least if there are ten."""
    return max(n_features // 2, min(n_features, FEW))


def how_many(n_left: int, n_wanted: int, step: float) -> int:
    """Return how many features the next step removes: ``step``, or that share of those left, one at least."""
    wish = int(step) if step >= 1 else int(step * n_left)
    return min(max(1, wish), n_left - n_wanted)


def eliminate(design: Design, bands: list[Bands], n_wanted: int, step: float, tol: float) -> Elimination:
    """Remove features until ``n_wanted`` are left.

    Parameters
    ----------
    design : Design
        The features.
    bands : list of Bands
        The conditions of the machine of each output.
    n_wanted : int
        How many features are to be left.
    step : float
        Features removed at a time, or the share of those left if below one.
    tol : float
        Accuracy of the machines.
    """
    started = time.perf_counter()
    removed: list[Indices] = []
    records: list[Record] = []
    alone = step == 1 and isinstance(design, DenseDesign) and design.rows.size > COMPILED_CELLS
    plain = all(not each.ridge.any() for each in bands) and design.n_rows <= COMPILED_ROWS
    if alone and plain and design.n_features > n_wanted:
        order = OneByOne(design, bands, tol).run(n_wanted)  # type: ignore[arg-type]
        removed = [order[k : k + 1] for k in range(design.n_features - 1, n_wanted - 1, -1)]
        seconds = time.perf_counter() - started
        records = [
            _record(at + 1, int(which[0]), design.n_features - at - 1, 0.0, seconds) for at, which in enumerate(removed)
        ]
        design = design.keep(np.sort(order[:n_wanted]))
    machine = IndependentMachines(bands)
    while True:
        solution = machine.solve(design, None, tol)
        if design.n_features <= n_wanted:
            return Elimination(design.features, removed, solution, History(records))
        square = (solution.weights**2).sum(axis=0)
        worst = np.argsort(square, kind="stable")[: how_many(design.n_features, n_wanted, step)]
        removed.append(design.features[worst])
        stay = np.ones(design.n_features, dtype=bool)
        stay[worst] = False
        design = design.keep(stay)
        machine.keep(stay)
        seconds = time.perf_counter() - started
        records.append(_record(len(removed), int(removed[-1][0]), design.n_features, solution.violation, seconds))


def _record(step: int, feature: int, n_left: int, violation: float, seconds: float) -> Record:
    return Record(step, feature, violation, float("nan"), n_left, float(n_left), seconds, "drop")


class OneByOne:
    """Elimination one by one of dense features, in compiled code.

    The Gram matrix loses the product of the removed feature, the Cholesky factors of the machines are updated
    accordingly, and weights are computed only where they can be the smallest.
    """

    def __init__(self, design: DenseDesign, bands: list[Bands], tol: float) -> None:
        self._rows = design.rows.copy()
        self._features = design.features
        self._bands = bands
        self._tol = tol

    def run(self, n_wanted: int) -> Indices:
        """Return all features, the first ``n_wanted`` being those left and the last the first to go."""
        from skgraft.ranking._kernels import STUCK
        from skgraft.ranking._kernels import eliminate as compiled

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
            if not solved:
                K = rows[:k].T @ rows[:k]
                refresh = REFRESH * float(np.trace(K))
                ridge = np.full(m, max(JITTER * float(np.trace(K)) / m, np.finfo(float).tiny))
                valid[:] = False
            k, why = compiled(
                rows, norms, alive, k, n_wanted, K, lower, higher, upper, ridge, pinned, state, factors, valid, B,
                before, solved, reference, at_reference, order, 0.1 * self._tol, COMPILED_PIVOTS, BLOCK_SWAPS, refresh,
            )  # fmt: skip
            solved = why == STUCK
            if solved:
                self._solve_surely(K, ridge, state, valid, B, before)
        order[:k] = alive[:k]
        return self._features[order]

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
