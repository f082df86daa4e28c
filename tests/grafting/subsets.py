"""The exact minimum of the criterion with prices, by trying every subset of features."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from .kkt import loss_slope, loss_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .kkt import Criterion

Array = np.ndarray
BATCH = 2000


def least_over_subsets(
    criterion: Criterion,
    l0: float,
    cost: Array,
    *,
    max_features: int | None = None,
    max_cost: float | None = None,
) -> tuple[float, Array]:
    """Return the least criterion and the mask of the features it takes; one output, no l1, no group norm.

    ``cost`` has the price of each bag.  Subsets are tried by size, and only while the price of the cheapest of that
    size plus the loss of the full model, which no subset can beat, is below the best found.
    """
    assert criterion.l1 == criterion.group_l1 == 0.0
    assert criterion.y.shape[1] == 1
    p = criterion.X.shape[1]
    bag = np.arange(p) if criterion.bags is None else np.unique(criterion.bags, return_inverse=True)[1]
    full = float(minima(criterion, np.arange(p)[None, :])[0])
    best, chosen = np.inf, np.zeros(p, bool)
    for size in range(p + 1):
        if max_features is not None and size > max_features:
            break
        for subsets in batches(p, size):
            price = np.array([cost[np.unique(bag[list(subset)])].sum() if size else 0.0 for subset in subsets])
            worth = full + l0 * price < best
            if max_cost is not None:
                worth &= price <= max_cost
            if not worth.any():
                continue
            value = minima(criterion, subsets[worth]) + l0 * price[worth]
            if value.min() < best:
                best = float(value.min())
                chosen = np.isin(np.arange(p), subsets[worth][np.argmin(value)])
    return best, chosen


def batches(p: int, size: int) -> Iterator[Array]:
    """Yield all subsets of a size, some thousand at a time."""
    every = np.array(list(combinations(range(p), size)), dtype=np.intp).reshape(comb(p, size), size)
    for start in range(0, every.shape[0], BATCH):
        yield every[start : start + BATCH]


def minima(criterion: Criterion, subsets: Array) -> Array:
    """Return the least loss plus ridge over each subset (n_subsets, size), by Newton's method on all at once."""
    Z = criterion.columns()
    if criterion.intercept:
        Z = np.column_stack([Z, np.ones(Z.shape[0])])
        subsets = np.column_stack([subsets, np.full(subsets.shape[0], Z.shape[1] - 1)])
    weights = np.append(criterion.weights, 0.0)
    ridge = 2.0 * criterion.l2 * weights[subsets]
    rows = np.ascontiguousarray(Z[:, subsets].transpose(1, 0, 2))  # (subsets, n, size)
    y, s, name, delta = criterion.y, criterion.s, criterion.loss, criterion.delta
    w = np.zeros(subsets.shape)
    if criterion.intercept:
        w[:, -1] = criterion.null_intercept()[0]

    def value(v: Array, at: Array, ridge: Array) -> Array:
        f = np.einsum("bnk,bk->bn", at, v)
        with np.errstate(over="ignore"):
            each = loss_value(name, f.reshape(-1, 1), np.tile(y, (f.shape[0], 1)), delta).reshape(f.shape)
        return each @ s + 0.5 * (ridge * v * v).sum(axis=1)

    result = value(w, rows, ridge)
    left = np.arange(subsets.shape[0])
    stuck = np.zeros(left.size, bool)  # by rounding: the value itself no longer falls
    for _ in range(200):
        at, v, r = rows[left], w[left], ridge[left]
        f = np.einsum("bnk,bk->bn", at, v)
        slope = loss_slope(name, f.reshape(-1, 1), np.tile(y, (f.shape[0], 1)), delta).reshape(f.shape)
        g = np.einsum("bnk,bn->bk", at, slope * s) + r * v
        unsettled = np.abs(g).max(axis=1, initial=0.0) > np.where(stuck[left], 1e-6, 1e-9)
        if not unsettled.any():
            return result
        left, at, v, r, f, g = left[unsettled], at[unsettled], v[unsettled], r[unsettled], f[unsettled], g[unsettled]
        H = np.einsum("bnk,bn,bnl->bkl", at, s * curvature(name, f, y[:, 0], delta), at, optimize=True)
        index = np.arange(v.shape[1])
        H[:, index, index] += r + 1e-9
        d = -np.linalg.solve(H, g[:, :, None])[:, :, 0]
        t, before = np.ones(left.size), result[left]
        for _ in range(40):
            after = value(v + t[:, None] * d, at, r)
            rising = ~(after <= before + 1e-4 * t * (g * d).sum(axis=1) + 1e-15 * np.abs(before))
            if not rising.any():
                break
            t = np.where(rising, 0.5 * t, t)
        w[left] = v + t[:, None] * d
        result[left] = value(w[left], at, r)
        stuck[left] = result[left] >= before - 1e-14 * np.abs(before)
    message = f"{left.size} subsets did not settle"
    raise RuntimeError(message)


def curvature(name: str, f: Array, y: Array, delta: float) -> Array:
    """Return the second derivative of the loss of one output."""
    curvatures = {
        "squared": lambda: np.ones_like(f),
        "huber": lambda: (np.abs(y - f) <= delta).astype(float),
        "poisson": lambda: np.exp(np.minimum(f, 50.0)),
        "logistic": lambda: expit(f) * expit(-f),
        "squared_hinge": lambda: (y * f < 1.0).astype(float),
    }
    return curvatures[name]()
