"""The full linear program, written down with its every column and given to SciPy: the oracle of column generation."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def constraints(Z, margins, *, intercept=True):
    """Return the matrix of the constraints over [weights by feature and output, intercepts], written out one by one."""
    n_features, n_outputs = Z.shape[1], margins.n_outputs
    A = np.zeros((margins.size, n_features * n_outputs + n_outputs * intercept))
    for r in range(margins.size):
        for output, sign in ((margins.plus[r], 1.0), (margins.minus[r], -1.0)):
            if output >= 0:
                A[r, output : n_features * n_outputs : n_outputs] += sign * Z[margins.row[r]]
                if intercept:
                    A[r, n_features * n_outputs + output] += sign
    return A


def solve_full(Z, margins, price, cost, *, intercept=True, bag=None):
    """Return the least criterion of the machine with features Z, or None if there is no machine without slack.

    With ``bag``, the weights of a bag's members have one bound for each output, v >= cost |w|, and v is what is paid.
    """
    A = constraints(Z, margins, intercept=intercept)
    n = Z.shape[1] * margins.n_outputs
    each = np.repeat(cost, margins.n_outputs)
    soft = np.flatnonzero(np.isfinite(price))
    slack = np.zeros((margins.size, soft.size))
    slack[soft, np.arange(soft.size)] = 1.0
    full = np.hstack([A[:, :n], -A[:, :n], A[:, n:], slack])
    free = A.shape[1] - n
    bounds = [(0, None)] * (2 * n) + [(None, None)] * free + [(0, None)] * soft.size
    c = np.concatenate([each, each, np.zeros(free), price[soft]])
    need = -margins.need
    if bag is not None:
        labels, of = np.unique(bag, return_inverse=True)
        n_bounds = labels.size * margins.n_outputs
        held = np.zeros((n, full.shape[1] + n_bounds))  # cost (w+ + w-) - v <= 0
        for j in range(Z.shape[1]):
            for k in range(margins.n_outputs):
                u = j * margins.n_outputs + k
                held[u, [u, n + u]] = cost[j]
                held[u, full.shape[1] + of[j] * margins.n_outputs + k] = -1.0
        full = np.vstack([np.hstack([full, np.zeros((margins.size, n_bounds))]), -held])
        need = np.concatenate([need, np.zeros(n)])
        bounds += [(0, None)] * n_bounds
        c = np.concatenate([np.zeros(2 * n), c[2 * n :], np.ones(n_bounds)])
    found = linprog(c, A_ub=-full, b_ub=need, bounds=bounds, method="highs", options={"presolve": False})
    return found.fun if found.status == 0 else None


def standardized(X, weight=None):
    """Return X centred and divided by its deviation, by the formula."""
    weight = np.full(len(X), 1.0 / len(X)) if weight is None else weight / weight.sum()
    centred = X - weight @ X
    deviation = np.sqrt(weight @ centred**2)
    return centred / np.where(deviation > 0.0, deviation, 1.0)
