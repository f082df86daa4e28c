"""Machines in the primal, by Newton's method.

For scales z, bands and costs c (see :mod:`skgraft.svm.dual`) they minimise

    ½ Σ_j v_j²/z_j² + Σ_i c_i (max(0, lower_i - f_i)² + max(0, f_i - higher_i)²),   f = Xv + b

over the weights v of the features as they are and an intercept.  Rows outside their bands are the support; while
they stay the same the criterion is a quadratic, and a Newton step ends at its minimum.  With few features the step is
a Cholesky decomposition of the support's cross-product, which is kept and updated by the rows that come and go;
with many it is conjugate gradients on u = v/z, where small scales are no harm to the condition.

A limit of the dual variables makes slack linear beyond ridge times limit: such rows pull with a constant force and
have no curvature.  The plain hinge has no ridge at all.  It is reached by proximal-point steps on the dual variables β:
with bands moved by what the ridge r did, lower + rβ, the solution has the conditions of the machine without a ridge
once β repeats itself (Rockafellar 1976), whatever r.  The smaller r, the fewer such steps and the more Newton steps in
each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from skgraft.arrays import Array
from skgraft.svm.dual import Bands

NEWTON_STEPS = 100
HALVINGS = 40
CG_STEPS = 500
ROWS_CELLS = 1 << 18  # cells of the rows whose cross-product is computed at a time
#: The ridge of proximal-point steps times the mean limit of β, that is, how wide the rounded corner of the hinge is in
#: units of the margin: of the first step from nothing, by which factor it falls, and the least.
WIDE, NARROWER, NARROW = 1.0, 0.1, 1e-4
NARROWEST = 1e-9  # it falls below the least where that is too slow, but not below this
WARM = 1e-2  # the first from a solution nearby
PROXIMAL_STEPS = 60


@dataclass(frozen=True)
class PrimalSolution:
    """The optimum of one machine: weights, intercept, violation in units of the scores, slack of every row."""

    weights: Array
    intercept: float
    violation: float
    slack: Array
    n_steps: int


class Primal:
    """A machine that keeps its solution and its cross-product between rounds.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        The features.
    bands : Bands
        Where the scores should be; the ridge r stands for costs c = 1/(2r), and is zero for the plain hinge.
    direct : bool
        Whether steps are taken by Cholesky's method.
    """

    def __init__(self, X: Any, bands: Bands, *, direct: bool) -> None:
        self._X = X
        self._machine = bands
        self._plain = not bands.ridge.any()
        self._width = WIDE
        self._beta = np.zeros(X.shape[0])
        self._direct = direct
        self.weights = np.zeros(X.shape[1])
        self.intercept = _first_intercept(bands, bands.upper if self._plain else 0.5 / bands.ridge)
        self._cross: Array | None = None
        self._take(bands)
        self._factor: Any = None  # of the last Newton step's system
        self._support = np.zeros(X.shape[0], dtype=np.int8)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.weights.size

    def keep(self, X: Any, which: NDArray[np.bool_], *, direct: bool) -> None:
        """Go on with some of the features."""
        self._X = X
        self.weights = self.weights[which]
        if self._cross is not None:
            inside = np.flatnonzero(np.append(which, True))
            self._cross = self._cross[np.ix_(inside, inside)]
        self._direct = direct
        self._factor = None

    def _take(self, bands: Bands) -> None:
        """Go on with other bands."""
        self._bands = bands
        self._cost = 0.5 / np.where(bands.ridge > 0.0, bands.ridge, 1.0)
        self._limit = bands.ridge * bands.upper  # slack beyond which β is at its limit

    def solve(self, squared_scale: Array, tol: float) -> PrimalSolution:
        """Minimise from the present weights until the conditions hold within ``tol``."""
        return self._solve_plain(squared_scale, tol) if self._plain else self._solve(squared_scale, tol)

    def _solve_plain(self, squared_scale: Array, tol: float) -> PrimalSolution:
        """Minimise without a ridge, by proximal-point steps from the present β."""
        machine = self._machine
        unit = float(machine.upper.mean())
        steps, before = 0, np.inf
        for _ in range(PROXIMAL_STEPS):
            level = self._width / unit
            shift = level * self._beta
            if level != self._bands.ridge[0]:
                self._cross = None  # its rows have other costs now
            self._take(Bands(machine.lower + shift, machine.higher + shift, machine.upper, np.full(shift.size, level)))
            solution = self._solve(squared_scale, 0.1 * tol)
            steps += solution.n_steps
            f = self._X @ self.weights + self.intercept
            beta = self._dual(f)
            violation = level * float(np.abs(beta - self._beta).max()) + solution.violation
            self._beta = beta
            if violation <= tol or self._width < NARROWEST:
                break
            slow = self._width <= NARROW and violation > 0.1 * before
            before = violation
            self._width = NARROWER * self._width if slow else max(NARROWER * self._width, min(NARROW, self._width))
        self._width = WARM
        slack = np.maximum(np.maximum(machine.lower - f, f - machine.higher), 0.0)
        return PrimalSolution(self.weights, self.intercept, violation, slack, steps)

    def _dual(self, f: Array) -> Array:
        """Return β of scores: slack in units of the ridge, within the limits."""
        return np.clip(2.0 * self._cost * self._slack(f), -self._bands.upper, self._bands.upper)

    def _solve(self, squared_scale: Array, tol: float) -> PrimalSolution:
        v, b = self.weights, self.intercept
        self._factor = None
        f = self._X @ v + b
        value = self._value(f, v, squared_scale)
        violation, steps = np.inf, 0
        for steps in range(1, NEWTON_STEPS + 1):  # noqa: B007 -- counted for the caller
            side = self._side(f)
            target_v, target_b = self._newton(side, squared_scale, v, b, f, tol)
            target_f = self._X @ target_v + target_b
            v, b, f, value, moved = self._towards(v, b, f, value, (target_v, target_b, target_f), squared_scale)
            violation = self._violation(v, f, squared_scale)
            if violation <= tol or not moved:
                break
        self.weights, self.intercept = v, b
        slack = np.maximum(np.maximum(self._bands.lower - f, f - self._bands.higher), 0.0)
        return PrimalSolution(v, b, violation, slack, steps)

    def _side(self, f: Array) -> NDArray[np.int8]:
        """Return 1 for rows below their band, -1 for rows above it, 0 inside; twice that for β at its limit."""
        slack = self._slack(f)
        side = np.sign(slack).astype(np.int8)
        side[np.abs(slack) > self._limit] *= 2
        return side

    def _slack(self, f: Array) -> Array:
        """Return how far, and which way, each score is from its band."""
        return np.maximum(self._bands.lower - f, 0.0) - np.maximum(f - self._bands.higher, 0.0)

    def _value(self, f: Array, v: Array, squared_scale: Array) -> float:
        slack = np.abs(self._slack(f))
        rounded = np.minimum(slack, self._limit)
        loss = self._cost @ rounded**2
        beyond = slack > rounded
        if beyond.any():
            loss += self._bands.upper[beyond] @ (slack[beyond] - rounded[beyond])
        return 0.5 * float((v * v / squared_scale).sum()) + float(loss)

    def _violation(self, v: Array, f: Array, squared_scale: Array) -> float:
        """Return by how much scores would change if the weights followed from the slacks, as they should."""
        beta = self._dual(f)
        if self._factor is not None and np.array_equal(self._side(f), self._support):
            return self._next_step(v, beta, squared_scale)
        total = float(2.0 * self._cost[(beta != 0.0) & (np.abs(beta) < self._bands.upper)].sum())
        drift = abs(float(beta.sum())) / total if total > 0.0 else 0.0
        off = squared_scale * np.asarray(self._X.T @ beta) - v
        return float(np.abs(self._X @ off).max(initial=0.0)) + drift

    def _next_step(self, v: Array, beta: Array, squared_scale: Array) -> float:
        """Return how much another Newton step, with the factor of the last, would change a score.

        On an unchanged support this is the whole distance from the optimum.  Where costs are stiff it is the measure
        that means something: slacks are then so small that rounding alone makes weights that follow from them differ.
        """
        z = np.sqrt(squared_scale)
        slope = np.append(z * np.asarray(self._X.T @ beta) - v / z, beta.sum())
        step = cho_solve(self._factor, slope, check_finite=False)
        return float(np.abs(self._X @ (z * step[:-1]) + step[-1]).max(initial=0.0))

    def _towards(
        self, v: Array, b: float, f: Array, value: float, target: tuple[Array, float, Array], squared_scale: Array
    ) -> tuple[Array, float, Array, float, bool]:
        """Return the point between here and the target that lowers the criterion; False at the end if none does."""
        step = 1.0
        for _ in range(HALVINGS):
            new_v, new_b = v + step * (target[0] - v), b + step * (target[1] - b)
            new_f = f + step * (target[2] - f) if step < 1.0 else target[2]
            new_value = self._value(new_f, new_v, squared_scale)
            if new_value < value:
                return new_v, new_b, new_f, new_value, True
            step *= 0.5
        return v, b, f, value, False

    def _newton(
        self, side: NDArray[np.int8], squared_scale: Array, v: Array, b: float, f: Array, tol: float
    ) -> tuple[Array, float]:
        """Return the minimum of the quadratic of the present support."""
        inside, limited = np.flatnonzero(np.abs(side) == 1), np.flatnonzero(np.abs(side) == 2)
        pull = np.zeros(v.size + 1)
        if limited.size:
            pull = self._pull(limited, np.sign(side[limited]) * self._bands.upper[limited])
        if not inside.size:
            # all forces are constant: the weights follow from them, and the intercept goes where forces ask
            return squared_scale * pull[:-1], self._next_edge(f, b, float(pull[-1]))
        edge = np.where(side[inside] > 0, self._bands.lower[inside], self._bands.higher[inside])
        if self._direct:
            return self._by_cholesky(side, inside, edge, pull, squared_scale)
        return self._by_conjugate_gradients(inside, edge, pull, squared_scale, v, f, tol)

    def _pull(self, rows: NDArray[np.intp], force: Array) -> Array:
        """Return what forces on some rows do to the weights and the intercept, without a copy of these rows."""
        every = np.zeros(self._X.shape[0])
        every[rows] = force
        return np.append(np.asarray(self._X.T @ every), force.sum())

    def _next_edge(self, f: Array, b: float, force: float) -> float:
        """Return the intercept at which the first row changes its side if all are moved the way of the force."""
        if force == 0.0:
            return b
        bands = self._bands
        kinks = np.concatenate([bands.lower - f, bands.higher - f, bands.lower - self._limit - f,
                                bands.higher + self._limit - f])  # fmt: skip
        ahead = kinks[np.isfinite(kinks) & (kinks * force > 0.0)]
        return b + float(ahead[np.argmin(np.abs(ahead))]) * (1.0 + 1e-9) if ahead.size else b

    def _by_cholesky(
        self, side: NDArray[np.int8], inside: NDArray[np.intp], edge: Array, pull: Array, squared_scale: Array
    ) -> tuple[Array, float]:
        self._update_cross(side)
        cost = 2.0 * self._cost[inside]
        right = self._pull(inside, cost * edge) + pull
        scale = np.append(np.sqrt(squared_scale), 1.0)
        H = self._cross * scale[:, None]
        H *= scale
        diagonal = np.arange(scale.size)
        H[diagonal[:-1], diagonal[:-1]] += 1.0
        try:
            factor = cho_factor(H, lower=True, check_finite=False)
        except LinAlgError:
            H[diagonal, diagonal] += 1e-12 * np.trace(H) / H.shape[0]
            factor = cho_factor(H, lower=True, check_finite=False)
        self._factor = factor
        solved = scale * cho_solve(factor, scale * right, check_finite=False)
        return solved[:-1], float(solved[-1])

    def _update_cross(self, side: NDArray[np.int8]) -> None:
        """Bring the cross-product of the support, with a column of ones, up to date."""
        now, before = np.abs(side) == 1, np.abs(self._support) == 1
        changed = now != before
        if self._cross is None or 2 * np.count_nonzero(changed) > np.count_nonzero(now):
            self._cross = self._cross_product(np.flatnonzero(now))
        else:
            joined, left = np.flatnonzero(changed & now), np.flatnonzero(changed & before)
            if joined.size:
                self._cross = self._cross + self._cross_product(joined)
            if left.size:
                self._cross = self._cross - self._cross_product(left)
        self._support = side

    def _cross_product(self, rows: NDArray[np.intp]) -> Array:
        """Return Σ_i 2c_i (x_i, 1)(x_i, 1)' over some rows, dense ones being copied a part at a time."""
        if sparse.issparse(self._X):
            return self._part_of_cross(rows)
        step = max(self._X.shape[1], ROWS_CELLS // max(self._X.shape[1], 1))
        cross = self._part_of_cross(rows[:step])
        for start in range(step, rows.size, step):
            cross += self._part_of_cross(rows[start : start + step])
        return cross

    def _part_of_cross(self, rows: NDArray[np.intp]) -> Array:
        X = self._X[rows]
        root = np.sqrt(2.0 * self._cost[rows])
        n = X.shape[1]
        cross = np.empty((n + 1, n + 1))
        if sparse.issparse(X):
            X = X.multiply(root[:, None]).tocsr()
            cross[:n, :n] = (X.T @ X).toarray()
        else:
            X *= root[:, None]
            cross[:n, :n] = X.T @ X
        cross[n, :n] = cross[:n, n] = np.asarray(X.T @ root)
        cross[n, n] = root @ root
        return cross

    def _by_conjugate_gradients(
        self,
        inside: NDArray[np.intp],
        edge: Array,
        pull: Array,
        squared_scale: Array,
        v: Array,
        f: Array,
        tol: float,
    ) -> tuple[Array, float]:
        """Solve for u = v/z with the intercept profiled out, starting from the present weights."""
        z = np.sqrt(squared_scale)
        X, cost = self._X[inside], 2.0 * self._cost[inside]
        mean_cost = cost / cost.sum()
        transposed = X.T

        def curvature(u: Array) -> Array:
            t = X @ (z * u)
            t -= mean_cost @ t
            return u + z * np.asarray(transposed @ (cost * t))

        residual = edge - f[inside]
        residual -= mean_cost @ residual
        u = v / z
        # what the limited rows pull at the intercept, the others have to hold against
        g = z * (np.asarray(transposed @ (cost * residual - pull[-1] * mean_cost)) + pull[:-1]) - u
        u = u + _conjugate_gradients(curvature, g, z, X, tol)
        v = z * u
        return v, float(mean_cost @ (edge - X @ v)) + float(pull[-1]) / float(cost.sum())


def _conjugate_gradients(curvature: Any, right: Array, z: Array, X: Any, tol: float) -> Array:
    """Solve curvature(d) = right until what is left can change no score by much."""
    d, r = np.zeros_like(right), right.copy()
    p, square = r.copy(), float(r @ r)
    reach = float(np.sqrt((X.multiply(X) if sparse.issparse(X) else X * X).sum(axis=1).max())) * float(z.max())
    enough = max(0.1 * tol / max(reach, 1e-300), 1e-3 * np.sqrt(square) * min(1.0, np.sqrt(square)))
    for _ in range(CG_STEPS):
        if np.sqrt(square) <= enough:
            break
        q = curvature(p)
        length = square / float(p @ q)
        d += length * p
        r -= length * q
        new = float(r @ r)
        p = r + (new / square) * p
        square = new
    return d


def _first_intercept(bands: Bands, cost: Array) -> float:
    """Return the weighted mean of the edges of all bands."""
    edge = np.where(np.isfinite(bands.lower), bands.lower, bands.higher)
    both = np.isfinite(bands.lower) & np.isfinite(bands.higher)
    edge = np.where(both, 0.5 * (np.where(both, bands.lower, 0.0) + np.where(both, bands.higher, 0.0)), edge)
    return float(cost @ edge / cost.sum())
