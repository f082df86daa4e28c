"""The smallest sphere around points that are known by their Gram matrix.

R² = max_γ Σ γ_i K_ii - γ'Kγ over γ >= 0 that sum to one.  With λ the multiplier of the sum, γ is optimal if
2(Kγ)_i + λ = K_ii where γ_i > 0 and 2(Kγ)_i + λ >= K_ii elsewhere; the centre is Σ γ_i x_i.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from skgraft.svm.dual import Swaps

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

JITTER = 1e-8
PIVOTS = 10  # near the answer few are needed, far from it they are not what helps
STEPS_PER_ROW = 50


def smallest_sphere(K: Array, free: Mask | None = None, tol: float = 1e-9) -> tuple[float, Array, Mask]:
    """Return R², γ and which points are on the sphere.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_rows)
        Gram matrix.
    free : ndarray of bool, optional
        Points to try on the sphere first.
    tol : float, default=1e-9
        Largest violation of the conditions, as part of the mean diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[-1.0], [0.5], [3.0]])
    >>> squared_radius, gamma, _ = smallest_sphere(x @ x.T)
    >>> round(squared_radius, 6), gamma.round(6)
    (4.0, array([0.5, 0. , 0.5]))
    """
    d = np.diag(K).copy()
    unit = float(d.mean()) or 1.0  # one where all points are the same
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()  # R² does not depend on where zero is
    d = np.diag(centred).copy()
    ridge = JITTER * max(float(d.mean()), JITTER * unit)
    free = np.ones(d.size, dtype=bool) if free is None or not free.any() else free
    swaps = Swaps()
    for _ in range(PIVOTS):
        gamma, multiplier = _partition(centred, d, free, ridge)
        slope = 2.0 * (centred @ gamma) + multiplier - d
        chosen = swaps.choose(np.where(free, gamma < -1e-12, slope < -tol * unit))
        if chosen is None:
            return _result(centred, d, np.maximum(gamma, 0.0), free)
        free = free ^ chosen
        if not free.any():
            free[int(np.argmax(d))] = True
    return _active_set(centred, d, ridge, tol * unit)


def _result(K: Array, d: Array, gamma: Array, free: Mask) -> tuple[float, Array, Mask]:
    gamma = gamma / gamma.sum()
    return float(gamma @ d - gamma @ K @ gamma), gamma, free


def _partition(K: Array, d: Array, free: Mask, ridge: float) -> tuple[Array, float]:
    """Return γ that puts the free points on the sphere, summing to one, and the multiplier of the sum."""
    at = np.flatnonzero(free)
    A = 2.0 * K[np.ix_(at, at)]
    A[np.arange(at.size), np.arange(at.size)] += 2.0 * ridge
    factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
    solved = cho_solve(factor, np.column_stack([d[at], np.ones(at.size)]), check_finite=False)
    multiplier = (float(solved[:, 0].sum()) - 1.0) / float(solved[:, 1].sum())
    gamma = np.zeros(d.size)
    gamma[at] = solved[:, 0] - multiplier * solved[:, 1]
    return gamma, multiplier


def _active_set(K: Array, d: Array, ridge: float, tol: float) -> tuple[float, Array, Mask]:
    """Go from the farthest point to the optimum, one point in or out at a time; it cannot cycle."""
    gamma = np.zeros(d.size)
    gamma[int(np.argmax(d))] = 1.0
    free = gamma > 0.0
    for _ in range(STEPS_PER_ROW * d.size):
        target, multiplier = _partition(K, d, free, ridge)
        falling = free & (target < 0.0)
        if falling.any():
            reach = np.where(falling, gamma / np.where(falling, gamma - target, 1.0), np.inf)
            first = int(np.argmin(reach))
            gamma += reach[first] * (target - gamma)
            gamma[first], free[first] = 0.0, False
            continue
        gamma = target
        slope = np.where(free, np.inf, 2.0 * (K @ gamma) + multiplier - d)
        worst = int(np.argmin(slope))
        if slope[worst] >= -tol:
            break
        free[worst] = True
    return _result(K, d, np.maximum(gamma, 0.0), free)
