"""An exact quadratic form of losses that are quadratic in pieces, for problems on which Newton steps stall.

Huber's loss and the squared hinge are squared losses in which every sample has a weight v of its own:

    huber(y - f)          = min over v of ½(y - f - v)² + δ|v|
    ½max(0, 1 - yf)²      = min over v with y·v <= 0 of ½(y - f - v)²        (y = ±1)

With the v as further weights the criterion is the squared loss under an l1 penalty, whose minimum needs no line search
and no damping.  It has as many more weights as there are samples, so it is kept for small problems.
"""

from __future__ import annotations

import numpy as np

from skgraft.arrays import Array, Index
from skgraft.criterion import Huber, Penalty
from skgraft.grafting.linear.quadratic import PLAIN_WEIGHTS, minimize_gram
from skgraft.grafting.target import Target

WALL = 100.0  # slope that keeps a sign, in units of the largest residual


def minimize_augmented(
    target: Target, columns: list[Array], mine: list[Index], w: Array, intercept: Array, penalty: Penalty, tol: float
) -> tuple[Array, Array]:
    """Return weights and intercepts at the minimum of the criterion, starting from given ones.

    Parameters
    ----------
    target : Target
        The loss, one of those that are quadratic in pieces, and its data.
    columns : list of ndarray
        For every output, the columns of its weights, one a row.
    mine : list of ndarray of int
        For every output, where its weights stand in ``w``.
    w, intercept : ndarray
        Where to start.
    penalty : Penalty
        Penalty of ``w``.
    tol : float
        Largest violation of the optimality conditions to leave.
    """
    counted = np.flatnonzero(target.weight > 0.0)
    s = target.weight[counted]
    m, n, n_outputs = w.size, counted.size, len(columns)
    n_intercepts = n_outputs if target.intercept else 0
    size = m + n_intercepts + n * n_outputs
    H, q = np.zeros((size, size)), np.zeros(size)
    start = np.concatenate([w, intercept[:n_intercepts], np.zeros(n * n_outputs)])
    l1 = np.concatenate([penalty.l1, np.zeros(size - m)])
    worst = 0.0
    for k in range(n_outputs):
        own = np.arange(m + n_intercepts + n * k, m + n_intercepts + n * (k + 1))
        places = [mine[k], own] if n_intercepts == 0 else [mine[k], np.array([m + k]), own]
        X = columns[k][:, counted]
        A = np.vstack([X, np.ones((1 if n_intercepts else 0, n)), np.eye(n)])
        at = np.concatenate(places)
        H[at[:, None], at] = (A * s) @ A.T
        f = w[mine[k]] @ X + intercept[k]
        y = target.y[counted, k]
        start[own] = _own_weights(target, y, f)
        residual = f + start[own] - y
        q[at] = A @ (s * residual)
        worst = max(worst, float(np.abs(residual).max(initial=1.0)))
        if isinstance(target.loss, Huber):
            l1[own] = target.loss.delta * s
        else:
            wall = WALL * worst * s
            l1[own] = wall
            q[own] += wall * y
    q[:m] += penalty.ridge * w
    H[np.arange(m), np.arange(m)] += penalty.ridge
    if penalty.positive:
        steep = WALL * max(float(np.abs(q[:m]).max(initial=0.0)), float(penalty.l1.max(initial=0.0)))
        l1[:m] += steep
        q[:m] -= steep
    single = np.zeros(size - m)
    starts = np.concatenate([penalty.starts, m + 1 + np.arange(size - m)])
    lifted = Penalty(l1, np.zeros(size), np.concatenate([penalty.norm, single]), starts)
    minimize_gram(H, q, start, lifted, tol, compiled=size > PLAIN_WEIGHTS)
    new = np.maximum(start[:m], 0.0) if penalty.positive else start[:m]
    return new, start[m : m + n_intercepts] if n_intercepts else intercept


def _own_weights(target: Target, y: Array, f: Array) -> Array:
    """Return the samples' own weights that go with given scores."""
    apart = y - f
    if isinstance(target.loss, Huber):
        return np.sign(apart) * np.maximum(np.abs(apart) - target.loss.delta, 0.0)
    return np.where(y * apart < 0.0, apart, 0.0)  # y² = 1, so y·(y - f) is 1 - yf
