"""Algorithm (d): descent on all weights of a fully connected l1-penalised network, then pruning."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from papers._grafting.descent import PRUNE_BELOW

Array = NDArray[np.float64]
Labels = NDArray[np.int64]

UNITS = 10
MOST_STEPS = 1500
SMALL_SLOPE = 1e-4  # of a converged descent: the largest distance of the gradient from the subdifferential


@dataclass(frozen=True)
class NetworkDescent:
    """Where a descent ended: how it predicts, the features left after pruning, and whether it converged."""

    predict: Callable[[Array], Labels]
    features: NDArray[np.intp]
    objective: float
    steps: int
    converged: bool


def l1_network(X: Array, y: Array, l1: float) -> Callable[[Array], tuple[float, Array]]:
    """Return C of the weights (units by features, unit biases, output bias) and its gradient with sign(0) = 0."""
    n, p = X.shape

    def criterion(theta: Array) -> tuple[float, Array]:
        W, c, b = theta[: UNITS * p].reshape(UNITS, p), theta[UNITS * p : -1], theta[-1]
        a = np.tanh(0.5 * (X @ W.T + c))
        margin = y * (a.sum(axis=1) + b)
        slope = -y * expit(-margin) / n
        back = 0.5 * (1.0 - a * a) * slope[:, None]
        value = np.logaddexp(0.0, -margin).mean() + l1 * np.abs(W).sum()
        gradient = back.T @ X + l1 * np.sign(W)
        return float(value), np.concatenate([gradient.ravel(), back.sum(axis=0), [slope.sum()]])

    return criterion


def descend_network(X: Array, y: Array, l1: float, seed: int = 0) -> NetworkDescent:
    """Minimise by limited-memory descent, blind to the kinks of the criterion, from small random weights."""
    p = X.shape[1]
    start = np.zeros(UNITS * p + UNITS + 1)
    start[: UNITS * p] = np.random.default_rng(seed).normal(size=UNITS * p) / np.sqrt(p)
    criterion = l1_network(X, y, l1)
    end = minimize(criterion, start, jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS, "gtol": 1e-6})
    W = end.x[: UNITS * p].reshape(UNITS, p)
    largest = np.abs(W).max(initial=0.0)
    pruned = np.where(np.abs(W) < PRUNE_BELOW * largest, 0.0, W)
    c, b = end.x[UNITS * p : -1], end.x[-1]

    def predict(rows: Array) -> Labels:
        return np.where(np.tanh(0.5 * (rows @ pruned.T + c)).sum(axis=1) + b > 0.0, 1, -1)

    gradient = criterion(end.x)[1]
    # a weight near zero may have a gradient of up to l1 either way
    slack = np.concatenate([np.where(np.abs(W) < PRUNE_BELOW * largest, 2.0 * l1, 0.0).ravel(), np.zeros(UNITS + 1)])
    violation = float(np.maximum(np.abs(gradient) - slack, 0.0).max())
    converged = bool(violation <= SMALL_SLOPE and end.nit < MOST_STEPS)
    return NetworkDescent(predict, np.flatnonzero((pruned != 0.0).any(axis=0)), float(end.fun), int(end.nit), converged)
