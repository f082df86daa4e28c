"""Slow solvers that share nothing with skgraft, for small and well-scaled problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

from .kkt import loss_value

if TYPE_CHECKING:
    from .kkt import Criterion

Array = np.ndarray


def quasi_newton(criterion: Criterion) -> float:
    """Return the minimum of C by L-BFGS-B over w = w⁺ - w⁻, which makes the l1 norm linear; no group norm."""
    assert criterion.group_l1 == 0.0
    Z, (p, k) = criterion.columns(), (criterion.X.shape[1], criterion.y.shape[1])
    a = np.repeat(criterion.weights, k)

    def evaluate(v: Array) -> tuple[float, Array]:
        up, down, b = v[: p * k], v[p * k : 2 * p * k], v[2 * p * k :]
        w = up - down
        scores = Z @ w.reshape(p, k) + b
        residual = criterion.residual(scores)
        slope = (Z.T @ residual).ravel() + 2.0 * criterion.l2 * a * w
        value = criterion.s @ loss_value(criterion.loss, scores, criterion.y, criterion.delta)
        value += criterion.l2 * (a @ w**2) + criterion.l1 * (a @ (up + down))
        return value, np.concatenate([slope + criterion.l1 * a, criterion.l1 * a - slope, residual.sum(axis=0)])

    start = np.concatenate([np.zeros(2 * p * k), criterion.null_intercept()])
    free = (None, None) if criterion.intercept else (0.0, 0.0)
    bounds = [(0.0, None)] * (p * k) + [(0.0, 0.0 if criterion.positive else None)] * (p * k) + [free] * k
    options = {"maxiter": 20000, "maxfun": 40000, "ftol": 0.0, "gtol": 1e-11, "maxcor": 40, "maxls": 60}
    for _ in range(3):  # a restart forgets a stale memory
        run = minimize(evaluate, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        start = run.x
    return float(run.fun)


def accelerated_proximal(criterion: Criterion, most: int = 20000) -> float:
    """Return the minimum of C by FISTA with backtracking and restarts, run until it stands still."""
    Z, k = criterion.columns(), criterion.y.shape[1]
    a = criterion.weights[:, None]

    def smooth(w: Array, b: Array) -> tuple[float, Array, Array]:
        scores = Z @ w + b
        residual = criterion.residual(scores)
        value = criterion.s @ loss_value(criterion.loss, scores, criterion.y, criterion.delta)
        slope_b = residual.sum(axis=0) if criterion.intercept else np.zeros(k)
        return value + criterion.l2 * (a * w**2).sum(), Z.T @ residual + 2.0 * criterion.l2 * a * w, slope_b

    def prox(w: Array, t: float) -> Array:
        w = np.sign(w) * np.maximum(np.abs(w) - t * criterion.l1 * a, 0.0)
        w = np.maximum(w, 0.0) if criterion.positive else w
        for members, norm in criterion.norms() if criterion.group_l1 > 0.0 else []:
            length = np.linalg.norm(w[members])
            w[members] *= max(0.0, 1.0 - t * norm / length) if length > 0.0 else 0.0
        return w

    def convex(w: Array) -> float:
        return criterion.penalty(w) - criterion.l2 * float((a * w**2).sum())

    w, b = np.zeros((Z.shape[1], k)), criterion.null_intercept()
    v, c, momentum, t = w, b, 1.0, 1.0
    value = smooth(w, b)[0] + convex(w)
    still = 0
    for _ in range(most):
        height, g, gb = smooth(v, c)
        while True:
            new, new_b = prox(v - t * g, t), c - t * gb
            d, db = new - v, new_b - c
            bound = height + (g * d).sum() + gb @ db + ((d**2).sum() + db @ db) / (2.0 * t)
            if smooth(new, new_b)[0] <= bound + 1e-15 * abs(height) or t < 1e-12:
                break
            t *= 0.5
        new_value = smooth(new, new_b)[0] + convex(new)
        if new_value > value and momentum > 1.0:
            v, c, momentum = w, b, 1.0
            continue
        still = still + 1 if value - new_value <= 1e-15 * abs(value) else 0
        if still > 20:
            break
        after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        v, c = new + (momentum - 1.0) / after * (new - w), new_b + (momentum - 1.0) / after * (new_b - b)
        w, b, momentum, value = new, new_b, after, min(value, new_value)
        t *= 1.02
    return float(value)
