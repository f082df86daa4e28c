"""The machine of Weston and Watkins (1999) for many classes at once, with one scale a feature.

Its constraints are f_c(x_i) - f_k(x_i) >= 1 - ξ_ik for the class c of row i and every other class k (Weston et al.
2003, Problem 10 with the l2 norm).  The dual has a variable α_ik >= 0 for each; with E the matrix whose row (i, k) is
e_c - e_k, it minimises ½ α'(K_ij <E_ik, E_jl> + R)α - Σα under E'α = 0, one equality a class.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skgraft.arrays import Array, Index, Mask
from skgraft.svm.design import Design
from skgraft.svm.dual import JITTER, JITTER_LIMIT, SIGN, Swaps, class_bands, solve_bands
from skgraft.svm.joint_primal import JointPrimal
from skgraft.svm.machines import (
    DUAL_ROWS,
    DUAL_SHARE,
    NO_SLACK,
    SPARSE_DUAL_ROWS,
    MachineSolution,
    half_squares,
    slack_loss,
)

PIVOTS = 60
CORRECTIONS = 12
ACTIVE_SET_STEPS = 3000
DUAL_VARIABLES = 6000  # beyond which the primal is solved where it can be


class JointMachine:
    """All classes in one machine.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
        The class of each row; every class has a row.
    n_classes : int
        Number of classes.
    ridge : ndarray of shape (n_rows,)
        1/(2 C s_i); zero allows no slack.
    """

    power = 2

    def __init__(self, codes: Index, n_classes: int, ridge: Array) -> None:
        self._codes, self._n_classes, self._row_ridge = codes, n_classes, ridge
        others = np.tile(np.arange(n_classes), (codes.size, 1))
        self._other = others[others != codes[:, None]]
        self._row = np.repeat(np.arange(codes.size), n_classes - 1)
        self._first_ridge = ridge[self._row]
        self._ridge = self._first_ridge
        self._free: Mask | None = None
        self._primal: JointPrimal | None = None
        self._weights: Array | None = None
        self._intercept = np.zeros(n_classes)
        self._slack = np.zeros(self._row.size)
        self._log_loss = False

    @property
    def hard(self) -> bool:
        """Whether no slack is allowed anywhere."""
        return not self._first_ridge.any()

    def afresh(self, *, softened: float = 0.0) -> JointMachine:
        """Return the machine at its start; ``softened`` is a ridge where there is none."""
        ridge = np.where(self._row_ridge > 0.0, self._row_ridge, softened)
        return JointMachine(self._codes, self._n_classes, ridge)

    def keep(self, which: Mask) -> None:
        """Forget about the other features."""
        if self._weights is not None:
            self._weights = self._weights[:, which]

    def rescale_errors(self) -> None:
        """Multiply the scale of each slack by its size."""
        self._ridge = self._first_ridge * (self._slack**2 + NO_SLACK**2)
        self._primal = None

    def count_errors(self) -> None:
        """State the loss as the zero-norm of the slack."""
        self._log_loss = True

    def norm_of(self, weights: Array) -> float:
        """Return ½ Σ w²."""
        return half_squares(weights)

    def solve(self, design: Design, squared_scale: Array | None, tol: float) -> MachineSolution:
        """Solve with features multiplied by their scales."""
        solver = self._solve_primal if self._prefers_primal(design) else self._solve_dual
        weights, violation = solver(design, squared_scale, tol)
        self._weights = weights
        return MachineSolution(weights, self._intercept.copy(), violation, self._loss())

    def _loss(self) -> float:
        return slack_loss(self._slack, self._first_ridge, log=self._log_loss)

    def _prefers_primal(self, design: Design) -> bool:
        if not (self._ridge > 0.0).all():
            return False
        rows = SPARSE_DUAL_ROWS if design.is_sparse else DUAL_ROWS
        few_features = design.n_features < DUAL_SHARE * design.n_rows
        return design.n_rows > rows or self._row.size > DUAL_VARIABLES or (few_features and not design.is_sparse)

    def _solve_primal(self, design: Design, squared_scale: Array | None, tol: float) -> tuple[Array, float]:
        if self._primal is None:
            self._primal = JointPrimal(self._codes, self._n_classes, self._ridge)
        scale = np.ones(design.n_features) if squared_scale is None else squared_scale
        start = np.zeros((self._n_classes, design.n_features)) if self._weights is None else self._weights
        solution = self._primal.solve(design, scale, start, self._intercept, tol)
        self._intercept, self._slack = solution.intercept, solution.slack
        return solution.weights, solution.violation

    # --- dual ---

    def _solve_dual(self, design: Design, squared_scale: Array | None, tol: float) -> tuple[Array, float]:
        K = design.gram(squared_scale)
        mean_diagonal = max(float(np.trace(K)) / K.shape[0], np.finfo(float).tiny)
        if self._free is None:
            self._free = self._first_free(K)
        jitter = JITTER * mean_diagonal
        while True:
            try:
                alpha, violation = self._corrected(K, jitter, tol)
                break
            except np.linalg.LinAlgError:
                jitter *= 100.0
                if jitter > JITTER_LIMIT * mean_diagonal:
                    raise
        self._slack = self._ridge * alpha
        v = design.weights(self._spread(alpha)).T
        return (v if squared_scale is None else v * squared_scale), violation

    def _first_free(self, K: Array) -> Mask:
        """Guess the variables above zero: rows that support the border of their class against each other class."""
        supports = np.empty((K.shape[0], self._n_classes), dtype=bool)
        for k in range(self._n_classes):
            y = np.where(self._codes == k, 1.0, -1.0)
            supports[:, k] = solve_bands(K, class_bands(y, ridge=self._row_ridge), tol=1e-3).beta != 0.0
        return supports[self._row, self._other]

    def _corrected(self, K: Array, jitter: float, tol: float) -> tuple[Array, float]:
        """Solve with the jitter, then shift the margins until it has no effect, as for two classes."""
        alpha = np.zeros(self._row.size)
        best_alpha, best_b, best = alpha, self._intercept, np.inf
        for _ in range(CORRECTIONS):
            alpha, b = self._pivot(K, 1.0 + jitter * alpha, self._ridge + jitter, 0.1 * tol)
            violation = self._violation(K, alpha, b)
            stalled = violation > 0.5 * best
            if violation < best:
                best_alpha, best_b, best = alpha, b, violation
            if violation <= tol or stalled:
                break
        self._intercept = best_b
        return best_alpha, best

    def _spread(self, alpha: Array) -> Array:
        """Return E'α row by row: the dual variables (n_rows, n_classes) of the classes' scores."""
        B = np.zeros((self._codes.size, self._n_classes))
        B[self._row, self._other] = -alpha
        B[np.arange(self._codes.size), self._codes] = np.bincount(self._row, alpha, self._codes.size)
        return B

    def _margins(self, K: Array, alpha: Array, b: Array) -> Array:
        f = K @ self._spread(alpha) + b
        return np.asarray(f[self._row, self._codes[self._row]] - f[self._row, self._other])

    def _violation(self, K: Array, alpha: Array, b: Array) -> float:
        short = 1.0 - self._margins(K, alpha, b) - self._ridge * alpha
        return float(np.where(alpha > 0.0, np.abs(short), np.maximum(short, 0.0)).max(initial=0.0))

    def _pivot(self, K: Array, need: Array, ridge: Array, tol: float) -> tuple[Array, Array]:
        assert self._free is not None  # noqa: S101 -- set before
        free, swaps = self._free, Swaps()
        for _ in range(PIVOTS):
            alpha, b = self._partition(K, np.flatnonzero(free), need, ridge)
            short = need - self._margins(K, alpha, b) - ridge * alpha
            rounding = SIGN * float(np.abs(alpha).max(initial=0.0))
            chosen = swaps.choose(np.where(free, alpha < -rounding, short > tol))
            if chosen is None:
                self._free = free
                return np.maximum(alpha, 0.0), b
            free = free ^ chosen
        return self._active_set(K, need, ridge, tol)

    def _partition(self, K: Array, free: Index, need: Array, ridge: Array) -> tuple[Array, Array]:
        """Return α and b that meet the free constraints with equality, E'α = 0."""
        alpha = np.zeros(self._row.size)
        if not free.size:
            return alpha, np.zeros(self._n_classes)
        row, other, own = self._row[free], self._other[free], self._codes[self._row[free]]
        H = (own[:, None] == own).astype(float)
        H += other[:, None] == other
        H -= own[:, None] == other
        H -= other[:, None] == own
        H *= K[np.ix_(row, row)]
        H[np.arange(free.size), np.arange(free.size)] += ridge[free]
        E = np.zeros((free.size, self._n_classes))
        E[np.arange(free.size), own] += 1.0
        E[np.arange(free.size), other] -= 1.0
        E = E[:, :-1]  # the last equality follows from the others
        factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
        solved = cho_solve(factor, np.column_stack([need[free], E]), check_finite=False)
        b = np.linalg.lstsq(E.T @ solved[:, 1:], E.T @ solved[:, 0], rcond=1e-12)[0]
        alpha[free] = solved[:, 0] - solved[:, 1:] @ b
        return alpha, np.append(b, 0.0)

    def _active_set(self, K: Array, need: Array, ridge: Array, tol: float) -> tuple[Array, Array]:
        """Go from α = 0 to the optimum with one variable in or out at a time."""
        alpha = np.zeros(self._row.size)
        pairs = self._codes[self._row] * self._n_classes + self._other
        free = np.zeros(alpha.size, dtype=bool)
        free[np.unique(pairs, return_index=True)[1]] = True  # a constraint for each pair of classes
        b = np.zeros(self._n_classes)
        for _ in range(ACTIVE_SET_STEPS):
            target, b = self._partition(K, np.flatnonzero(free), need, ridge)
            falling = free & (target < 0.0)
            if falling.any():
                reach = np.where(falling, alpha / np.where(falling, alpha - target, 1.0), np.inf)
                step = float(reach.min())
                alpha += step * (target - alpha)
                leaving = falling & (reach <= step)
                alpha[leaving] = 0.0
                free &= ~leaving
                continue
            alpha = target
            short = np.where(free, -np.inf, need - self._margins(K, alpha, b) - ridge * alpha)
            worst = int(np.argmax(short))
            if short[worst] <= tol:
                break
            free[worst] = True
        self._free = free
        return alpha, b
