"""The linear program of a machine with an l1 norm by an interior-point method, its features coming in on the way.

In the notation of :mod:`skgraft.svm.dual_lp`, with w = w⁺ - w⁻ and all of w⁺, w⁻, ξ, s, a and the slacks of their
bounds positive, the conditions are ::

    rows'w + balance'b + ξ - s = need                 primal
    cost ∓ rows @ a = z±,  price - a = u,  balance @ a = 0      dual
    w± z± = ξ u = s a = μ,  μ falling to zero

and a Newton step (Mehrotra 1992: predictor and corrector on one factor) is a system in a with the matrix
rows'Θ rows + Θ_r, Θ = w⁺/z⁺ + w⁻/z⁻ and Θ_r = ξ/u + s/a.  The simplex method needs a pivot for each feature that comes
in or leaves; this one some twenty steps, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyrk

from skgraft.arrays import Array, Index

STEPS = 60
ENOUGH = 1e-8  # relative difference of the two criteria at the end
NEARLY = 1e-4  # the same where rounding does not allow for less
BOUNDARY = 0.9995  # share of the way to the boundary that a step takes
NEAR = 0.9  # share of its cost from which on a feature's gradient brings it in
FIRST = 0.6  # features of the first step, for each row
WATCHED = 5  # steps after which multipliers begin to tell which features matter
NEGLIGIBLE = 1e-9  # part of the largest Θ below which a feature changes no step


@dataclass(frozen=True, eq=False)
class Inside:
    """Features that came in with their weights, and the multipliers: nearly optimal."""

    features: Index
    weights: Array
    multipliers: Array


@dataclass(eq=False)
class _Point:
    """Where the method is; ``up`` and ``down`` are w⁺ and w⁻."""

    a: Array
    u: Array
    b: Array
    xi: Array
    s: Array
    up: Array
    down: Array
    z_up: Array
    z_down: Array

    def pairs(self) -> tuple[tuple[Array, Array], ...]:
        """Return the products that go to zero: primal part, dual part."""
        return (self.up, self.z_up), (self.down, self.z_down), (self.xi, self.u), (self.s, self.a)

    def measure(self) -> float:
        """Return μ."""
        return sum(float(x @ y) for x, y in self.pairs()) / (2.0 * (self.up.size + self.a.size))


def solve_inside(
    take: Callable[[Index], Array],
    gradient: Callable[[Array], Array],
    need: Array,
    price: Array,
    cost: Array,
    balance: Array,
    first: Array,
) -> Inside | None:
    """Solve a program nearly; None where rounding errors keep it from getting near.

    What is left to the simplex method are a few pivots from the vertex that the solution points to.

    Parameters
    ----------
    take : callable
        Returns the program's rows of some features, (n_some, n_variables).
    gradient : callable
        Returns rows @ a of all features.
    need, price, cost, balance
        The program, see :class:`~skgraft.svm.dual_lp.DualLP`.
    first : ndarray
        The gradient of the machine without features, which says where to begin.
    """
    pull = np.abs(first) / np.maximum(cost, np.finfo(float).tiny)
    features = np.sort(np.argsort(-pull, kind="stable")[: int(FIRST * need.size)])
    R = take(features)
    at = _start(R, price, cost[features], balance.shape[0])
    inside = np.zeros(cost.size, bool)
    inside[features] = True
    gap = np.inf
    for step in range(STEPS):
        if step >= WATCHED:
            g = gradient(at.a)
            new = np.flatnonzero(~inside & (np.abs(g) > NEAR * cost))
            if new.size:
                inside[new] = True
                features, R = np.concatenate([features, new]), np.concatenate([R, take(new)])
                _widen(at, g[new], cost[new])
        c = cost[features]
        residual = need - (R.T @ (at.up - at.down) + balance.T @ at.b + at.xi - at.s)
        value = float(c @ (at.up + at.down) + price @ at.xi)
        gap = abs(value - float(need @ at.a)) / max(abs(value), np.finfo(float).tiny)
        if gap <= ENOUGH:
            break
        try:
            _advance(at, R, residual, price, c, balance)
        except LinAlgError:
            break
    return Inside(features, at.up - at.down, np.clip(at.a, 0.0, price)) if gap <= NEARLY else None


def _start(R: Array, price: Array, cost: Array, n_intercepts: int) -> _Point:
    a = 0.5 * price
    g = R @ a
    small = np.full(cost.size, 0.01)
    half = np.full(a.size, 0.5)
    return _Point(a, price - a, np.zeros(n_intercepts), half, half.copy(), small, small.copy(), *_slacks(g, cost))


def _slacks(g: Array, cost: Array) -> tuple[Array, Array]:
    return np.maximum(cost - g, 0.1 * cost), np.maximum(cost + g, 0.1 * cost)


def _widen(at: _Point, g: Array, cost: Array) -> None:
    """Let features in, as well centred as the others are."""
    z_up, z_down = _slacks(g, cost)
    mu = at.measure()
    at.up, at.down = np.concatenate([at.up, mu / z_up]), np.concatenate([at.down, mu / z_down])
    at.z_up, at.z_down = np.concatenate([at.z_up, z_up]), np.concatenate([at.z_down, z_down])


def _advance(at: _Point, R: Array, residual: Array, price: Array, cost: Array, balance: Array) -> None:
    """Take a predictor-corrector step."""
    g = R @ at.a
    off_up, off_down, off_u = cost - g - at.z_up, cost + g - at.z_down, price - at.a - at.u
    theta_up, theta_down = at.up / at.z_up, at.down / at.z_down
    theta = theta_up + theta_down
    some = theta > NEGLIGIBLE * theta.max()
    scaled = R[some] * np.sqrt(theta[some])[:, None]
    M = dsyrk(1.0, scaled.T, lower=1)
    M[np.diag_indices_from(M)] += at.xi / at.u + at.s / at.a
    factor = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
    spread = cho_solve(factor, balance.T, check_finite=False)
    small = balance @ spread

    def direction(c_up: Array, c_down: Array, c_xi: Array, c_s: Array) -> tuple[Array, ...]:
        fixed = R.T @ (c_up / at.z_up - theta_up * off_up - c_down / at.z_down + theta_down * off_down)
        fixed += c_xi / at.u - (at.xi / at.u) * off_u - c_s / at.a
        da = cho_solve(factor, residual - fixed, check_finite=False)
        db = np.linalg.solve(small, balance @ (da + at.a)) if small.size else np.zeros(0)
        da -= spread @ db
        move = R @ da
        dz_up, dz_down, du = off_up - move, off_down + move, off_u - da
        return (
            (c_up - at.up * dz_up) / at.z_up, dz_up, (c_down - at.down * dz_down) / at.z_down, dz_down,
            (c_xi - at.xi * du) / at.u, du, (c_s - at.s * da) / at.a, da, db,
        )  # fmt: skip

    pairs = at.pairs()
    found = direction(*(-x * y for x, y in pairs))
    reach, mu = _reach(pairs, found), at.measure()
    ahead = sum(
        float((x + reach[0] * found[2 * i]) @ (y + reach[1] * found[2 * i + 1])) for i, (x, y) in enumerate(pairs)
    )
    target = mu * (ahead / (mu * 2.0 * (at.up.size + at.a.size))) ** 3
    found = direction(*(target - x * y - found[2 * i] * found[2 * i + 1] for i, (x, y) in enumerate(pairs)))
    reach = _reach(pairs, found)
    for i, (x, y) in enumerate(pairs):
        x += BOUNDARY * reach[0] * found[2 * i]  # noqa: PLW2901 -- in place
        y += BOUNDARY * reach[1] * found[2 * i + 1]  # noqa: PLW2901
    at.b = at.b + BOUNDARY * reach[0] * found[8]


def _reach(pairs: tuple[tuple[Array, Array], ...], found: tuple[Array, ...]) -> tuple[float, float]:
    """Return how far the primal and the dual part may go until something is zero, at most one."""
    reach = [1.0, 1.0]
    for i, pair in enumerate(pairs):
        for side in (0, 1):
            change = found[2 * i + side]
            falling = change < 0.0
            reach[side] = min(reach[side], float((-pair[side][falling] / change[falling]).min(initial=np.inf)))
    return reach[0], reach[1]
