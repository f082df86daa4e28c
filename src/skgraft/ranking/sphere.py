"""The smallest sphere around points: known by their Gram matrix, or as rows with scaled features.

R² = max_γ Σ γ_i K_ii - γ'Kγ over γ >= 0 that sum to one.  With λ the multiplier of the sum, γ is optimal if
2(Kγ)_i + λ = K_ii where γ_i > 0 and 2(Kγ)_i + λ >= K_ii elsewhere; the centre is Σ γ_i x_i.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from skgraft.arrays import Array, Mask
from skgraft.svm import Swaps, gram_of

JITTER = 1e-8
PIVOTS = 10  # near the answer few are needed, far from it they are not what helps
STEPS_PER_ROW = 50
FIRST_ROWS = 50  # of the working set of many points
MORE_ROWS = 50  # that join it at a time
TOLERANCE = 1e-9  # largest violation of the conditions, as part of the mean diagonal


def smallest_sphere(K: Array, start: Array | None = None) -> tuple[float, Array]:
    """Return R² and γ.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_rows)
        Gram matrix.
    start : ndarray of shape (n_rows,), optional
        The γ of a sphere nearby.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[-1.0], [0.5], [3.0]])
    >>> squared_radius, gamma = smallest_sphere(x @ x.T)
    >>> round(squared_radius, 6), gamma.round(6)
    (4.0, array([0.5, 0. , 0.5]))
    """
    d = np.diag(K).copy()
    unit = float(d.mean()) or 1.0  # one where all points are the same
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()  # R² does not depend on where zero is
    d = np.diag(centred).copy()
    ridge = JITTER * max(float(d.mean()), JITTER * unit)
    free = np.ones(d.size, dtype=bool) if start is None else start > 0.0
    swaps = Swaps()
    for _ in range(PIVOTS):
        gamma, multiplier = _partition(centred, d, free, ridge)
        slope = 2.0 * (centred @ gamma) + multiplier - d
        chosen = swaps.choose(np.where(free, gamma < -1e-12, slope < -TOLERANCE * unit))
        if chosen is None:
            return _result(centred, d, np.maximum(gamma, 0.0))
        free = free ^ chosen
        if not free.any():
            free[int(np.argmax(d))] = True
    return _active_set(centred, d, ridge, TOLERANCE * unit, start)


class RowSphere:
    """The smallest sphere around rows whose features are multiplied by ever new scales, by working sets.

    Few of many points touch the sphere: a sphere around some of them is found, and those that are outside join.  The
    next sphere starts from the points of the last.
    """

    def __init__(self, X: Any) -> None:
        self._X = X
        self._squares = X.multiply(X).tocsr() if sparse.issparse(X) else X * X
        self._working: NDArray[np.intp] | None = None
        self._gamma = np.empty(0)

    def solve(self, squared_scale: Array) -> tuple[float, Array]:
        """Return R² and γ of all rows."""
        squares = np.asarray(self._squares @ squared_scale)
        if self._working is None:
            centre = squared_scale * np.asarray(self._X.mean(axis=0)).ravel()
            far = squares - 2.0 * np.asarray(self._X @ centre)
            self._working = np.argsort(-far, kind="stable")[:FIRST_ROWS]
        start = self._gamma if self._gamma.size else None
        while True:
            working = self._working
            part = self._X[working]
            squared_radius, gamma = smallest_sphere(gram_of(part, squared_scale), start)
            centre = np.asarray(part.T @ gamma)
            far = squares - 2.0 * np.asarray(self._X @ (squared_scale * centre)) + squared_scale @ centre**2
            far[working] = -np.inf
            outside = np.flatnonzero(far > squared_radius + max(JITTER * squared_radius, TOLERANCE * squares.mean()))
            if not outside.size:
                break
            if outside.size > MORE_ROWS:
                outside = outside[np.argpartition(-far[outside], MORE_ROWS)[:MORE_ROWS]]
            touching = gamma > 0.0
            self._working = np.concatenate([working[touching], outside])
            start = np.concatenate([gamma[touching], np.zeros(outside.size)])
        every = np.zeros(squares.size)
        every[working] = gamma
        touching = gamma > 0.0
        self._working, self._gamma = working[touching], gamma[touching]
        return squared_radius, every


def _result(K: Array, d: Array, gamma: Array) -> tuple[float, Array]:
    gamma = gamma / gamma.sum()
    return float(gamma @ d - gamma @ K @ gamma), gamma


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


def _active_set(K: Array, d: Array, ridge: float, tol: float, start: Array | None) -> tuple[float, Array]:
    """Go from a feasible γ, or the farthest point, to the optimum, one point in or out at a time; it cannot cycle."""
    gamma = np.zeros(d.size)
    if start is None:
        gamma[int(np.argmax(d))] = 1.0
    else:
        gamma[:] = start
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
    return _result(K, d, np.maximum(gamma, 0.0))
