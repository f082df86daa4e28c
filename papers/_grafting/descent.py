"""Algorithm (c): gradient descent on all weights of an l1-penalised logistic model, then pruning."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymv, dsyr2
from scipy.special import expit

Array = NDArray[np.float64]
Criterion = Callable[[Array], tuple[float, Array]]

PRUNE_BELOW = 1e-4  # share of the largest weight, as in the paper
PATIENCE = 10  # steps over which a relative decrease below TOLERANCE ends the descent
TOLERANCE = 1e-7
LARGEST_HALVINGS = 40


@dataclass(frozen=True)
class Descent:
    """Where a descent ended: weights (the intercept last), the criterion there, the number of steps."""

    weights: Array
    objective: float
    steps: int


def l1_logistic(X: Array, y: Array, l1: float) -> Criterion:
    """Return C(w) of eq. 10 without its l0 term, and its gradient with sign(0) = 0; the intercept is last."""
    n, p = X.shape

    def criterion(w: Array) -> tuple[float, Array]:
        margin = y * (X @ w[:p] + w[p])
        slope = -y * expit(-margin) / n
        value = np.logaddexp(0.0, -margin).mean() + l1 * np.abs(w[:p]).sum()
        return float(value), np.append(X.T @ slope + l1 * np.sign(w[:p]), slope.sum())

    return criterion


def descend(criterion: Criterion, start: Array, max_steps: int = 3000) -> Descent:
    """Minimise by BFGS with all weights free, blind to the kinks of the criterion, as general routines are.

    The inverse curvature is kept as a lower triangle and updated in O(p²) a step.
    """
    w, inverse = start, np.eye(start.size, order="F")
    value, gradient = criterion(w)
    values = [value]
    for step in range(1, max_steps + 1):
        direction = dsymv(-1.0, inverse, gradient, lower=1)
        found = _weak_wolfe(criterion, w, value, gradient, direction)
        if found is None:
            return Descent(w, value, step - 1)
        new, value, new_gradient = found
        inverse = _updated(inverse, new - w, new_gradient - gradient, first=step == 1)
        w, gradient = new, new_gradient
        values.append(value)
        if len(values) > PATIENCE and values[-1 - PATIENCE] - value < TOLERANCE * abs(value):
            break
    return Descent(w, value, step)


def _weak_wolfe(
    criterion: Criterion, w: Array, value: float, gradient: Array, direction: Array
) -> tuple[Array, float, Array] | None:
    """Return the next point, its value and gradient by doubling and bisection; None where no step descends."""
    slope = float(gradient @ direction)
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(LARGEST_HALVINGS):
        new = w + t * direction
        new_value, new_gradient = criterion(new)
        if not new_value <= value + 1e-4 * t * slope:
            high = t
        elif new_gradient @ direction < 0.9 * slope:
            low = t
        else:
            return new, new_value, new_gradient
        t = 2.0 * low if np.isinf(high) else 0.5 * (low + high)
    return None


def _updated(inverse: Array, step: Array, change: Array, *, first: bool) -> Array:
    """Return H + (1 + y'Hy/s'y) ss'/s'y - (Hy s' + s y'H)/s'y, written over H."""
    curvature = float(step @ change)
    if first:
        inverse *= curvature / float(change @ change)
    image = dsymv(1.0, inverse, change, lower=1)
    left = 0.5 * (1.0 + float(change @ image) / curvature) * step - image
    return dsyr2(1.0 / curvature, left, step, a=inverse, lower=1, overwrite_a=1)


def prune(weights: Array) -> Array:
    """Set to zero the weights below 1e-4 of the largest one; the intercept, last, is left alone."""
    features = weights[:-1]
    largest = np.abs(features).max(initial=0.0)
    return np.append(np.where(np.abs(features) < PRUNE_BELOW * largest, 0.0, features), weights[-1])
