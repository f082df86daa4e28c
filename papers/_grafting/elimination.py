"""Backward elimination by the l0 norm, many problems at a time: the subset baseline of section 2.2.2."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Array = NDArray[np.float64]

VANISHING = 1e-6  # l2 that keeps weights finite on separable rows, where the loss alone has no minimum
_ROUNDS = 60
_SMALL = 1e-9


def logistic_fits(X: Array, y: Array, l2: float = VANISHING) -> tuple[Array, Array]:
    """Fit a logistic model to each problem of a batch by damped Newton steps.

    Parameters
    ----------
    X : ndarray of shape (n_problems, n_samples, n_features)
        Features.
    y : ndarray of shape (n_problems, n_samples)
        Labels, -1 or +1.
    l2 : float
        Coefficient of Σw², the intercept not included.

    Returns
    -------
    weights : ndarray of shape (n_problems, n_features + 1)
        The intercept is last.
    objective : ndarray of shape (n_problems,)
        Mean loss plus penalty.
    """
    A = np.concatenate([X, np.ones((*X.shape[:2], 1))], axis=2)
    penalty = np.append(np.full(X.shape[2], l2), 0.0)
    w = np.zeros((A.shape[0], A.shape[2]))
    value = _objective(A, y, w, penalty)
    active = np.arange(len(w))
    for _ in range(_ROUNDS):
        step, decrement = _newton(A[active], y[active], w[active], penalty)
        moving = decrement > _SMALL * value[active]
        active, step, decrement = active[moving], step[moving], decrement[moving]
        if active.size == 0:
            break
        w[active], value[active] = _damped(A[active], y[active], w[active], penalty, step, value[active])
    return w, value


def _objective(A: Array, y: Array, w: Array, penalty: Array) -> Array:
    margin = y * (A @ w[..., None])[..., 0]
    return np.logaddexp(0.0, -margin).mean(axis=1) + w**2 @ penalty


def _newton(A: Array, y: Array, w: Array, penalty: Array) -> tuple[Array, Array]:
    """Return the Newton step of every problem and the decrease that its quadratic model promises, twice."""
    n = A.shape[1]
    margin = y * (A @ w[..., None])[..., 0]
    wrong = expit(-margin)
    gradient = ((-y * wrong / n)[:, None, :] @ A)[:, 0] + 2.0 * penalty * w
    scaled = A * np.sqrt(wrong * (1.0 - wrong) / n)[..., None]
    curvature = scaled.transpose(0, 2, 1) @ scaled + np.diag(2.0 * penalty + 1e-14)
    step = -np.linalg.solve(curvature, gradient[..., None])[..., 0]
    return step, -(gradient * step).sum(axis=1)


def _damped(A: Array, y: Array, w: Array, penalty: Array, step: Array, value: Array) -> tuple[Array, Array]:
    """Halve the step of each problem until its objective falls; a problem that never falls stays where it is."""
    length = np.ones(len(w))
    for _ in range(30):
        new = w + length[:, None] * step
        new_value = _objective(A, y, new, penalty)
        worse = ~(new_value <= value)
        if not worse.any():
            break
        length[worse] *= 0.5
    keep = ~(new_value <= value)
    return np.where(keep[:, None], w, new), np.where(keep, value, new_value)


def eliminate_backward(X: Array, y: Array, resolution: float = 0.0) -> dict[int, Array]:
    """Drop, one after the other, the feature whose loss raises the criterion least.

    Parameters
    ----------
    X : ndarray of shape (n_problems, n_samples, n_features)
        Features of problems of the same size.
    y : ndarray of shape (n_problems, n_samples)
        Labels, -1 or +1.
    resolution : float, default=0.0
        Criteria that differ by less are taken for equal, and chance decides: what a search that stops early can tell.

    Returns
    -------
    dict
        For each number of features kept, from all to one, the weights (n_problems, n_features + 1) with zeros for
        what was dropped; the intercept is last.
    """
    n_problems, _, p = X.shape
    kept = np.tile(np.arange(p), (n_problems, 1))
    weights = {p: logistic_fits(X, y)[0]}
    rng = np.random.default_rng(0)
    for size in range(p - 1, 0, -1):
        rests = np.stack([np.delete(kept, i, axis=1) for i in range(size + 1)], axis=1)
        fits, objective = _fit_subsets(X, y, rests)
        if resolution > 0.0:
            objective = np.floor(objective / resolution) + rng.uniform(size=objective.shape)
        best = objective.argmin(axis=1)
        rows = np.arange(n_problems)
        kept = rests[rows, best]
        weights[size] = np.zeros((n_problems, p + 1))
        np.put_along_axis(weights[size], kept, fits[rows, best, :-1], axis=1)
        weights[size][:, -1] = fits[rows, best, -1]
    return weights


def _fit_subsets(X: Array, y: Array, subsets: NDArray[np.intp]) -> tuple[Array, Array]:
    """Fit every problem on each of its subsets (n_problems, n_subsets, size)."""
    n_problems, n_subsets, size = subsets.shape
    chosen = np.take_along_axis(X[:, None], subsets[:, :, None, :], axis=3)
    labels = np.repeat(y, n_subsets, axis=0)
    w, objective = logistic_fits(chosen.reshape(-1, X.shape[1], size), labels)
    return w.reshape(n_problems, n_subsets, size + 1), objective.reshape(n_problems, n_subsets)
