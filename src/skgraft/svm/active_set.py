"""The machine of :mod:`skgraft.svm.dual` by a primal active set: slower than pivoting, but it cannot cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array

if TYPE_CHECKING:
    from skgraft.svm.dual import Bands, State


STEPS_PER_ROW = 5


def active_set(
    K: Array, bands: Bands, state: State, beta: Array, pinned: NDArray[np.bool_], tol: float
) -> tuple[Array, float, State, int]:
    """Go from a feasible β to the optimum, lowering the objective at every step.

    Each step moves towards the optimum of the free rows and stops where one reaches zero or its limit;
    at that optimum the row that fails most comes in.
    """
    from skgraft.svm.dual import solve_partition

    beta, state = feasible_start(bands, state, beta, pinned)
    b = 0.0
    for step in range(1, 100 + STEPS_PER_ROW * K.shape[0]):
        free = np.flatnonzero(np.abs(state) == 1)
        if free.size:
            target, b = solve_partition(K, bands, state)
            length, blocked = _longest_step(bands, state, beta, target, free, pinned)
            beta = beta + length * (target - beta)
            if blocked >= 0:
                state[blocked], beta[blocked] = _where_blocked(bands, state, target, blocked)
                continue
            worst = _worst(K, bands, state, beta, b)
            if worst[0] <= tol:
                return beta, b, state, step
            state[worst[1]] = worst[2]
        else:
            pair = _violating_pair(K, bands, state, beta)
            b = pair[1]
            if pair[0] <= tol:
                return beta, b, state, step
            for row, turned in pair[2]:
                state[row] = turned
    return beta, b, state, step


def feasible_start(bands: Bands, state: State, beta: Array, pinned: NDArray[np.bool_]) -> tuple[Array, State]:
    """Return the nearest easy feasible point: wrong signs become zero, and the heavier sign is scaled down."""
    side = np.where(np.isfinite(bands.lower), 1.0, 0.0) - np.where(np.isfinite(bands.higher), 1.0, 0.0)
    allowed = pinned | (side == 0.0) | (np.sign(beta) == side)
    beta = np.where(allowed, np.clip(beta, -bands.upper, bands.upper), 0.0)
    positive, negative = float(beta[beta > 0.0].sum()), float(-beta[beta < 0.0].sum())
    scale_up = min(1.0, negative / positive) if positive > 0.0 else 0.0
    scale_down = min(1.0, positive / negative) if negative > 0.0 else 0.0
    beta = np.where(beta > 0.0, beta * scale_up, beta * scale_down)
    state = np.sign(beta).astype(np.int8)
    state[(np.abs(beta) >= bands.upper) & (beta != 0.0)] *= 2
    state[pinned & (state == 0)] = 1
    return beta, state


def _longest_step(
    bands: Bands, state: State, beta: Array, target: Array, free: NDArray[np.intp], pinned: NDArray[np.bool_]
) -> tuple[float, int]:
    """Return how far towards the target all rows stay feasible, and the row that stops it (-1 for none)."""
    here, there, side = beta[free], target[free], np.sign(state[free])
    change = there - here
    with np.errstate(divide="ignore", invalid="ignore"):
        to_zero = np.where((side * there < 0.0) & ~pinned[free], -here / change, np.inf)
        limit = np.sign(there) * bands.upper[free]
        to_limit = np.where(np.abs(there) > bands.upper[free], (limit - here) / change, np.inf)
    reach = np.maximum(np.minimum(to_zero, to_limit), 0.0)
    at = int(np.argmin(reach))
    return (float(reach[at]), int(free[at])) if reach[at] < 1.0 else (1.0, -1)


def _where_blocked(bands: Bands, state: State, target: Array, row: int) -> tuple[int, float]:
    if np.sign(state[row]) * target[row] < 0.0 and bands.lower[row] != bands.higher[row]:
        return 0, 0.0
    side = 1 if target[row] > 0.0 else -1
    return 2 * side, side * float(bands.upper[row])


def _worst(K: Array, bands: Bands, state: State, beta: Array, b: float) -> tuple[float, int, int]:
    """Return the largest violation among rows that are not free, its row and the state it asks for."""
    f = K @ beta + b + bands.ridge * beta
    below = np.where(state == 0, bands.lower - f, -np.inf)
    above = np.where(state == 0, f - bands.higher, -np.inf)
    over = np.where(state == 2, f - bands.lower, np.where(state == -2, bands.higher - f, -np.inf))
    found = [(float(v.max()), int(np.argmax(v))) for v in (below, above, over)]
    best = max(range(3), key=lambda i: found[i][0])
    value, row = found[best]
    turned = (1, -1, int(np.sign(state[row])))[best]
    return value, row, turned


def _violating_pair(K: Array, bands: Bands, state: State, beta: Array) -> tuple[float, float, list[tuple[int, int]]]:
    """Return the violation where no row is free, an intercept, and the two rows to free."""
    f = K @ beta + bands.ridge * beta
    raise_to = np.where(state == 0, bands.lower, np.where(state == -2, bands.higher, -np.inf)) - f
    lower_to = np.where(state == 0, bands.higher, np.where(state == 2, bands.lower, np.inf)) - f
    up, down = int(np.argmax(raise_to)), int(np.argmin(lower_to))
    b = 0.5 * (raise_to[up] + lower_to[down])
    turned = [(up, 1 if state[up] == 0 else -1), (down, -1 if state[down] == 0 else 1)]
    return float(raise_to[up] - lower_to[down]) / 2.0, float(b), turned
