"""Support vector machines in the dual, by block principal pivoting.

Every machine here keeps scores f = Kβ + b inside bands: with dual variables β that sum to zero it minimises

    ½ β'(K + R)β - Σ_{β_i>0} lower_i β_i - Σ_{β_i<0} higher_i β_i,   |β_i| <= upper_i

and its optimality conditions are, with r_i the ridge on the diagonal,

    β_i = 0:              lower_i <= f_i <= higher_i
    0 < β_i < upper_i:    f_i + r_i β_i = lower_i
    β_i = upper_i:        f_i + r_i β_i <= lower_i

and their mirror images for negative β.  Two classes are bands [1, ∞) and (-∞, -1], so that β = αy in the notation of
Weston et al. 2003; epsilon-insensitive regression has bands [y - ε, y + ε].  The slack of row i is r_i β_i: a ridge
of 1/(2C) is the squared hinge with cost C (section 3.2), a finite ``upper`` the plain hinge.

The partition of the rows into those inside their band, at its edge and at the upper limit decides everything else by
one linear system.  All rows whose condition fails change sides at once, and only one does where that stops helping.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from skgraft.arrays import Array

State = NDArray[np.int8]

#: Ridge added for the sake of Cholesky's method, as part of the mean diagonal.  Its effect is taken out again.
JITTER = 1e-9
BOXED_JITTER = 1e-6  # the same with limits of β, where K is often singular: exact solutions then need more of it
JITTER_MOVES = 1e-4  # the most by which the jitter of a β at its limit moves a score: more takes too many corrections
JITTER_LIMIT = 1e-3
RIDGE_ENOUGH = 1e-6
BLOCK_SWAPS = 4  # swaps of all failing rows that may fail to improve before single swaps begin
PIVOTS = 60  # pivots before the method that cannot cycle takes over
CORRECTIONS = 12  # rounds that take the jitter out
LARGE_STEP = 0.1  # ridge of the first proximal-point step, as part of the mean diagonal
SMALLER = 0.1
STEP_ACCURACY = 1e-4
COMPILED_ROWS = 800  # rows beyond which LAPACK's Cholesky decomposition is worth its calls
SIGN = 1e-12  # part of the largest β below which its sign is rounding


@dataclass(frozen=True)
class DualSolution:
    """The optimum of one machine.

    Attributes
    ----------
    beta : ndarray of shape (n_rows,)
        Signed dual variables; the weights are X'β.
    intercept : float
        The intercept b.
    state : ndarray of int8
        0 inside the band, ±1 at its lower or higher edge, ±2 at the upper limit of β: the start of the next solve.
    violation : float
        Largest violation of the optimality conditions, in units of the scores.
    n_pivots : int
        Number of linear systems solved.
    """

    beta: Array
    intercept: float
    state: State
    violation: float
    n_pivots: int


@dataclass(frozen=True)
class Bands:
    """The conditions of one machine: where its scores should be, and what it costs when they are not."""

    lower: Array
    higher: Array
    upper: Array
    ridge: Array

    @property
    def pinned(self) -> NDArray[np.bool_]:
        """Rows whose band is a point: their β may have either sign."""
        return self.lower == self.higher


def class_bands(y: Array, upper: float | Array = np.inf, ridge: float | Array = 0.0) -> Bands:
    """Return the bands of two classes, y = ±1."""
    return Bands(
        lower=np.where(y > 0.0, 1.0, -np.inf),
        higher=np.where(y > 0.0, np.inf, -1.0),
        upper=np.broadcast_to(np.asarray(upper, dtype=np.float64), y.shape),
        ridge=np.broadcast_to(np.asarray(ridge, dtype=np.float64), y.shape),
    )


def solve_dual(
    K: Array,
    y: Array,
    upper: float | Array = np.inf,
    *,
    ridge: float | Array = 0.0,
    state: State | None = None,
    tol: float = 1e-7,
) -> DualSolution:
    """Solve a support vector machine of two classes from its Gram matrix.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_rows)
        Positive semidefinite Gram matrix; it is not changed.
    y : ndarray of shape (n_rows,)
        Classes, +1 and -1.
    upper : float or ndarray, default=inf
        Limit of the dual variables: C of the hinge loss.
    ridge : float or ndarray, default=0
        Ridge on the diagonal: 1/(2C) of the squared hinge.
    state : ndarray of int8, optional
        The state of an earlier solution, where to start.
    tol : float, default=1e-7
        Largest violation of the optimality conditions.

    Returns
    -------
    DualSolution
        The optimum.  A hard margin (no ridge, no limit) on inseparable data has none: its slacks,
        1 - y·(Kβ + b), then exceed one somewhere and ``violation`` tells.

    Examples
    --------
    >>> import numpy as np
    >>> from skgraft.svm.dual import solve_dual
    >>> x = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> solution = solve_dual(x @ x.T, np.array([-1.0, -1.0, 1.0, 1.0]))
    >>> (x.T @ solution.beta).round(6), round(solution.intercept, 6) + 0.0
    (array([1.]), 0.0)
    """
    return solve_bands(K, class_bands(y, upper, ridge), state=state, tol=tol)


def solve_bands(K: Array, bands: Bands, *, state: State | None = None, tol: float = 1e-7) -> DualSolution:
    """Solve a machine given by bands; see :func:`solve_dual`."""
    lowest, highest = float(bands.lower.max()), float(bands.higher.min())
    if np.isfinite([lowest, highest]).all() and lowest <= highest:
        # a constant lies in every band: no weight is needed, and of all such constants the middle is taken
        nothing = np.zeros(K.shape[0])
        return DualSolution(nothing, 0.5 * (lowest + highest), nothing.astype(np.int8), 0.0, 0)
    state = initial_state(bands) if state is None else state.copy()
    mean_diagonal = float(np.trace(K)) / K.shape[0]
    share = JITTER if np.isinf(bands.upper).all() else BOXED_JITTER
    jitter = share * mean_diagonal if mean_diagonal > 0.0 else share
    jitter = min(jitter, JITTER_MOVES / float(bands.upper.max()) or np.inf)
    if bands.ridge.min(initial=np.inf) > RIDGE_ENOUGH * mean_diagonal:
        jitter = 0.0  # the machine's own ridge does it
    while True:
        try:
            return _corrected(K, bands, state, jitter, tol)
        except np.linalg.LinAlgError:
            jitter *= 100.0
            if jitter > JITTER_LIMIT * max(mean_diagonal, 1.0):
                raise


def initial_state(bands: Bands) -> State:
    """Start with every row at the edge of its band that is there."""
    return np.where(np.isfinite(bands.lower), 1, -1).astype(np.int8)


def _corrected(K: Array, bands: Bands, state: State, jitter: float, tol: float) -> DualSolution:
    """Solve with the jitter, then move the bands by what the jitter did to the scores until it does nothing.

    These are proximal-point steps on β: they end at an optimum of the problem without jitter.
    """
    beta = np.zeros(K.shape[0])
    best = DualSolution(beta, 0.0, state, np.inf, 0)
    n_pivots = 0
    for _ in range(CORRECTIONS):
        beta, b, state, pivots = _solve_shifted(K, bands, state, jitter, jitter * beta, tol)
        _balance(beta, state)
        n_pivots += pivots
        violation = dual_violation(K, bands, beta, b)
        stalled = violation > 0.5 * best.violation
        if violation < best.violation:
            best = DualSolution(beta, b, state, violation, n_pivots)
        if violation <= tol or stalled:
            break
    return best


def _balance(beta: Array, state: State) -> None:
    """Let the largest free β take what rounding has left of the sum, which should be zero."""
    free = np.flatnonzero(np.abs(state) == 1)
    if free.size:
        beta[free[np.argmax(np.abs(beta[free]))]] -= beta.sum()


def dual_violation(K: Array, bands: Bands, beta: Array, b: float) -> float:
    """Return the largest violation of the optimality conditions, afresh from β and b."""
    f = K @ beta + b
    f += bands.ridge * beta
    below, above = bands.lower - f, f - bands.higher
    limit = bands.upper * (1.0 - SIGN)
    inside = np.maximum(np.maximum(below, above), 0.0)
    positive = np.where(beta < limit, np.abs(below), np.maximum(-below, 0.0))
    negative = np.where(beta > -limit, np.abs(above), np.maximum(-above, 0.0))
    apart = np.where(beta > 0.0, positive, np.where(beta < 0.0, negative, inside))
    return float(apart.max(initial=0.0))


def _solve_shifted(
    K: Array, bands: Bands, state: State, jitter: float, shift: Array, tol: float
) -> tuple[Array, float, State, int]:
    """Solve K + ridge + jitter with bands moved by ``shift``: by pivoting, unless that cycles."""
    moved = Bands(bands.lower + shift, bands.higher + shift, bands.upper, bands.ridge + jitter)
    beta, b, state, pivots = _pivoting(K)(K, moved, state, bands.pinned, 0.1 * tol)
    if pivots <= PIVOTS:
        return beta, b, state, pivots
    beta, state, more = _approach(K, bands, jitter, tol)
    beta, b, state, steps = _surely(K, moved, state, beta, bands.pinned, 0.1 * tol)
    return beta, b, state, pivots + more + steps


def _approach(K: Array, bands: Bands, jitter: float, tol: float) -> tuple[Array, State, int]:
    """Return a β near the optimum by proximal-point steps that begin large: large ones are easy for pivoting."""
    beta, state, count = np.zeros(K.shape[0]), initial_state(bands), 0
    level = LARGE_STEP * float(np.trace(K)) / K.shape[0]
    level = min(level, 1.0 / float(bands.upper.max()) or np.inf)  # a step reaches the limits of β
    while level > jitter:
        shift = level * beta
        moved = Bands(bands.lower + shift, bands.higher + shift, bands.upper, bands.ridge + level)
        beta, _, state, pivots = _surely(K, moved, state, beta, bands.pinned, max(0.1 * tol, STEP_ACCURACY))
        count += pivots
        level *= SMALLER
    return beta, state, count


def _surely(
    K: Array, bands: Bands, state: State, beta: Array, pinned: NDArray[np.bool_], tol: float
) -> tuple[Array, float, State, int]:
    """Pivot; if that cycles, go from ``beta`` by the active set, which cannot."""
    from skgraft.svm.active_set import active_set

    found, b, new, pivots = _pivoting(K)(K, bands, state, pinned, tol)
    if pivots <= PIVOTS:
        return found, b, new, pivots
    found, b, new, steps = active_set(K, bands, state, beta, pinned, tol)
    return found, b, new, pivots + steps


def _pivoting(K: Array) -> Callable[..., tuple[Array, float, State, int]]:
    """Return the loop that suits a matrix: compiled where linear algebra does not already dominate."""
    compiled = "skgraft.svm._kernels" in sys.modules
    return pivot_compiled if compiled and K.shape[0] <= COMPILED_ROWS else pivot_plain


def load_kernels() -> None:
    """Load compiled code, for problems that are worth the wait."""
    import skgraft.svm._kernels  # noqa: F401 -- from here on `_pivoting` finds it


def pivot_compiled(
    K: Array, bands: Bands, state: State, pinned: NDArray[np.bool_], tol: float
) -> tuple[Array, float, State, int]:
    """Pivot in compiled code; as :func:`pivot_plain`."""
    from skgraft.svm._kernels import CYCLED, SINGULAR, pivot

    m = K.shape[0]
    state, beta, f = state.copy(), np.empty(m), np.empty(m)
    upper, ridge = np.ascontiguousarray(bands.upper), np.ascontiguousarray(bands.ridge)
    room = np.empty((m, m))
    b, pivots = pivot(
        K, bands.lower, bands.higher, upper, ridge, pinned, state, tol, PIVOTS, BLOCK_SWAPS, room, beta, f
    )
    if pivots == SINGULAR:
        raise np.linalg.LinAlgError
    return beta, b, state, PIVOTS + 1 if pivots == CYCLED else pivots


def pivot_plain(
    K: Array, bands: Bands, state: State, pinned: NDArray[np.bool_], tol: float
) -> tuple[Array, float, State, int]:
    """Pivot until every condition holds; more than ``PIVOTS`` pivots in the result mean that it did not get there."""
    swaps = Swaps()
    f = np.zeros(K.shape[0])
    for pivot in range(1, PIVOTS + 1):
        state = _with_free_rows(state, bands, f)
        beta, b = solve_partition(K, bands, state)
        f = K @ beta
        f += b
        f += bands.ridge * beta
        bad, turned = _failing(bands, state, beta, f, pinned, tol)
        chosen = swaps.choose(bad)
        if chosen is None:
            beta[(beta * state < 0.0) & ~pinned] = 0.0  # a sign that is rounding
            return beta, b, state, pivot
        state = np.where(chosen, turned, state).astype(np.int8)
    return beta, b, state, PIVOTS + 1


class Swaps:
    """Which failing conditions change sides: all, or the last alone once that has stopped helping."""

    def __init__(self) -> None:
        self._best = np.inf
        self._left = BLOCK_SWAPS

    def choose(self, bad: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        """Return the conditions to swap, None if none fails."""
        count = int(np.count_nonzero(bad))
        if count == 0:
            return None
        if count < self._best:
            self._best, self._left = count, BLOCK_SWAPS
            return bad
        if self._left > 0:
            self._left -= 1
            return bad
        last = np.zeros_like(bad)
        last[np.flatnonzero(bad)[-1]] = True
        return last


def solve_partition(K: Array, bands: Bands, state: State) -> tuple[Array, float]:
    """Return β and b that put the free rows on the edges of their bands, Σβ = 0."""
    beta = np.where(np.abs(state) == 2, np.sign(state) * np.where(np.isfinite(bands.upper), bands.upper, 0.0), 0.0)
    free = np.flatnonzero(np.abs(state) == 1)
    edge = np.where(state[free] > 0, bands.lower[free], bands.higher[free])
    at_limit = float(beta.sum())
    if beta.any():
        edge = edge - K[free] @ beta
    A = K.copy() if free.size == K.shape[0] else K[np.ix_(free, free)]
    A.reshape(-1)[:: free.size + 1] += bands.ridge[free]
    factor, info = dpotrf(A.T, lower=0, overwrite_a=1, clean=0)
    if info != 0:
        raise np.linalg.LinAlgError
    right = np.empty((2, free.size))
    right[0], right[1] = edge, 1.0
    solved, _ = dpotrs(factor, right.T, lower=0, overwrite_b=1)
    b = (float(solved[:, 0].sum()) + at_limit) / float(solved[:, 1].sum())
    beta[free] = solved[:, 0] - b * solved[:, 1]
    return beta, b


def _failing(
    bands: Bands, state: State, beta: Array, f: Array, pinned: NDArray[np.bool_], tol: float
) -> tuple[NDArray[np.bool_], State]:
    """Return which rows fail their condition, and the state that each would turn to."""
    side = np.sign(state)
    free = np.abs(state) == 1
    rounding = SIGN * float(np.abs(beta).max(initial=0.0))
    wrong_sign = free & (side * beta < -rounding) & ~pinned
    too_long = free & ~wrong_sign & (np.abs(beta) > bands.upper * (1.0 + SIGN))
    at_limit = np.abs(state) == 2
    released = at_limit & np.where(side > 0, f > bands.lower + tol, f < bands.higher - tol)
    below = (state == 0) & (f < bands.lower - tol)
    above = (state == 0) & (f > bands.higher + tol)
    turned = state.copy()
    turned[wrong_sign] = 0
    turned[too_long] = np.where(beta[too_long] > 0.0, 2, -2)
    turned[released] = side[released]
    turned[below], turned[above] = 1, -1
    return wrong_sign | too_long | released | below | above, turned


def _with_free_rows(state: State, bands: Bands, f: Array) -> State:
    """Return a state with a free row, without which the intercept is not determined."""
    if (np.abs(state) == 1).any():
        return state
    state = state.copy()
    # rows that may rise, the one that asks for it most; and the same for falling
    wants_up = np.where((state == 0) | (state == -2), np.where(state == 0, bands.lower, bands.higher) - f, -np.inf)
    wants_down = np.where((state == 0) | (state == 2), f - np.where(state == 0, bands.higher, bands.lower), -np.inf)
    up, down = int(np.argmax(wants_up)), int(np.argmax(wants_down))
    freed = [(up, -1 if state[up] == -2 else 1)] if np.isfinite(wants_up[up]) else []
    freed += [(down, 1 if state[down] == 2 else -1)] if np.isfinite(wants_down[down]) else []
    for row, turned in freed:
        state[row] = turned
    return state
