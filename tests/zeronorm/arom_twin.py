"""AROM with prices in plain NumPy, and the cheapest bags by brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import linprog


def machine(Z, y, C, scale):
    """Return w, b that minimise ½ Σ w²/z² + Σ C max(0, 1 - y(Zw + b))², by Newton's method with halved steps."""
    X = np.column_stack([Z * scale, np.ones(len(y))])
    ridge = np.append(np.ones(Z.shape[1]), 0.0)

    def value(u):
        return 0.5 * ridge @ u**2 + C @ np.maximum(0.0, 1.0 - y * (X @ u)) ** 2

    u = np.zeros(X.shape[1])
    for _ in range(200):
        short = np.maximum(0.0, 1.0 - y * (X @ u))
        gradient = ridge * u - 2.0 * X.T @ (C * y * short)
        if np.abs(gradient).max() < 1e-11 * C.max():
            break
        part = np.sqrt(2.0 * C[:, None]) * X * (short > 0.0)[:, None]
        step = np.linalg.lstsq(np.diag(ridge) + part.T @ part, gradient, rcond=None)[0]
        size = 1.0
        while value(u - size * step) > value(u) and size > 1e-10:
            size *= 0.5
        u = u - size * step
    return scale * u[:-1], u[-1]


def program(Z, y, C, scale):
    """Return w, b that minimise Σ |w|/z + Σ C max(0, 1 - y(Zw + b)); no slack where C is infinite."""
    m, n = Z.shape
    signed = y[:, None] * Z * scale
    A = np.hstack([-signed, signed, -y[:, None], y[:, None], -np.eye(m)])
    cost = np.concatenate([np.ones(2 * n), [0.0, 0.0], np.minimum(C, 1e300)])
    bounds = [(0, None)] * (2 * n + 2) + [(0, 0 if np.isinf(c) else None) for c in C]
    x = linprog(cost, A, -np.ones(m), bounds=bounds, method="highs").x
    return scale * (x[:n] - x[n : 2 * n]), x[2 * n] - x[2 * n + 1]


def rounds(Z, y, C, bag, cost, kept, p, n_rounds=100):
    """Return the weights of every round, with μ of its scales; ``cost`` is by bag and zero for kept ones."""
    solve = machine if p == 2 else program
    size, alive, steps = np.ones(cost.size), np.ones(Z.shape[1], bool), []
    for _ in range(n_rounds):
        z = np.where(cost > 0.0, (size**p / np.where(cost > 0.0, cost, 1.0)) ** (1.0 / p), 1.0)[bag]
        paid = alive & (cost[bag] > 0.0)
        length = np.linalg.norm(z[paid])
        mu = length**p if np.isfinite(C).all() and 0.0 < length < 1.0 else 1.0
        z[paid] /= mu ** (1.0 / p)
        w = np.zeros(Z.shape[1])
        w[alive], b = solve(Z[:, alive], y, C, z[alive])
        steps.append((w, b, mu))
        size = np.array([(np.abs(w[bag == g]) ** p).sum() ** (1.0 / p) for g in range(cost.size)])
        before, alive = alive, (size > 1e-8 * size.max())[bag] | kept | (cost[bag] == 0.0)
        old = np.abs(steps[-2][0]) if len(steps) > 1 else np.full(w.size, 1e300)
        if (np.abs(np.abs(w) - old) <= 1e-4 * np.maximum(np.abs(w), old))[before].all():
            break
    return steps


def separates(Z, y):
    """Say whether a hyperplane separates the classes."""
    m, n = Z.shape
    A = -y[:, None] * np.column_stack([Z, np.ones(m)])
    return linprog(np.zeros(n + 1), A, -np.ones(m), bounds=(None, None), method="highs").status == 0


def cheapest(Z, y, bag, cost):
    """Return the least cost of bags that separate the classes, over all subsets of bags."""
    best = np.inf
    for chosen in product([False, True], repeat=cost.size):
        total = cost[np.array(chosen)].sum()
        if total < best and any(chosen) and separates(Z[:, np.array(chosen)[bag]], y):
            best = total
    return best
