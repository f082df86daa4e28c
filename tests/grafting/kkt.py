"""The criterion and its optimality conditions in plain NumPy, on the original data: what fits are judged by.

Nothing here comes from skgraft.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp, softmax

Array = np.ndarray


def loss_value(name: str, f: Array, y: Array, delta: float) -> Array:
    """Return the loss of every sample; y holds numbers, counts, signs or one-hot rows."""
    if name == "squared":
        return (0.5 * (y - f) ** 2).sum(axis=1)
    if name == "huber":
        d = np.abs(y - f)
        return np.where(d <= delta, 0.5 * d**2, delta * d - 0.5 * delta**2).sum(axis=1)
    if name == "poisson":
        return (np.exp(f) - y * f).sum(axis=1)
    if name == "logistic":
        return np.logaddexp(0.0, -y * f).sum(axis=1)
    if name == "squared_hinge":
        return (0.5 * np.maximum(0.0, 1.0 - y * f) ** 2).sum(axis=1)
    return logsumexp(f, axis=1) - (y * f).sum(axis=1)


def loss_slope(name: str, f: Array, y: Array, delta: float) -> Array:
    """Return the derivative of the loss by the scores."""
    slopes = {
        "squared": lambda: f - y,
        "huber": lambda: np.clip(f - y, -delta, delta),
        "poisson": lambda: np.exp(f) - y,
        "logistic": lambda: -y * expit(-y * f),
        "squared_hinge": lambda: -y * np.maximum(0.0, 1.0 - y * f),
        "multinomial": lambda: softmax(f, axis=1) - y,
    }
    return slopes[name]()


@dataclass(frozen=True)
class Criterion:
    """C of the design on given data; ``s`` sums to one, ``a`` are the penalty weights, ``bags`` the bags' labels."""

    X: Array
    y: Array
    s: Array
    loss: str
    l1: float = 0.0
    l2: float = 0.0
    group_l1: float = 0.0
    a: Array | None = None
    bags: Array | None = None
    positive: bool = False
    intercept: bool = True
    standardize: bool = True
    delta: float = 1.35

    @property
    def weights(self) -> Array:
        return np.ones(self.X.shape[1]) if self.a is None else self.a

    @property
    def members(self) -> list[Array]:
        """The features of each bag."""
        labels = np.arange(self.X.shape[1]) if self.bags is None else self.bags
        return [np.flatnonzero(labels == label) for label in np.unique(labels)]

    def scaling(self) -> tuple[Array, Array]:
        """Return what is taken from each column and what it is divided by; inf for columns without variation."""
        live = self.X[self.s > 0.0]
        first = live[0]
        mean = first + self.s[self.s > 0.0] @ (live - first) if self.intercept else np.zeros(first.size)
        spread = np.sqrt(self.s[self.s > 0.0] @ (live - mean) ** 2)
        still = np.ptp(live, axis=0) == 0.0 if self.intercept else spread == 0.0
        scale = spread if self.standardize else np.ones(first.size)
        return mean, np.where(still, np.inf, scale)

    def columns(self) -> Array:
        """Return the standardised data."""
        mean, scale = self.scaling()
        return (self.X - mean) / scale

    def null_intercept(self) -> Array:
        """Return the best intercepts of the empty model."""
        mean = self.s @ self.y
        if not self.intercept:
            return np.zeros(mean.size)
        if self.loss in {"squared", "squared_hinge"}:
            return mean
        if self.loss == "poisson":
            return np.log(mean)
        if self.loss == "logistic":
            return np.log1p(mean) - np.log1p(-mean)
        if self.loss == "multinomial":
            return np.log(np.maximum(mean, np.finfo(float).tiny))
        low, high = self.y.min(axis=0), self.y.max(axis=0)
        for _ in range(200):
            middle = 0.5 * (low + high)
            rising = self.s @ loss_slope(self.loss, np.broadcast_to(middle, self.y.shape), self.y, self.delta) > 0.0
            low, high = np.where(rising, low, middle), np.where(rising, middle, high)
        return 0.5 * (low + high)

    def gradient(self, scores: Array) -> Array:
        """Return the gradient of the loss by the standardised weights (n_features, n_outputs)."""
        return self.columns().T @ self.residual(scores)

    def residual(self, scores: Array) -> Array:
        return self.s[:, None] * loss_slope(self.loss, scores, self.y, self.delta)

    def null_gradient(self) -> float:
        """Return the largest gradient of the empty model: the unit of tolerances."""
        return float(np.abs(self.gradient(np.tile(self.null_intercept(), (self.y.shape[0], 1)))).max())

    def null_value(self) -> float:
        """Return the criterion of the empty model."""
        scores = np.tile(self.null_intercept(), (self.y.shape[0], 1))
        return float(self.s @ loss_value(self.loss, scores, self.y, self.delta))

    def height(self) -> float:
        """Return how far the empty model is above the least possible loss: what differences of C are held against."""
        least = 0.0
        if self.loss == "poisson":
            least = float(
                self.s @ (self.y - np.where(self.y > 0.0, self.y * np.log(np.maximum(self.y, 1.0)), 0.0)).sum(axis=1)
            )
        return self.null_value() - least

    def standardized(self, coef: Array) -> Array:
        """Return the weights (n_features, n_outputs) that these coefficients are on the standardised data."""
        _, scale = self.scaling()
        return np.atleast_2d(coef).T * np.where(np.isinf(scale), 1.0, scale)[:, None]

    def penalty(self, w: Array) -> float:
        a = self.weights[:, None]
        value = self.l1 * (a * np.abs(w)).sum() + self.l2 * (a * w**2).sum()
        if self.group_l1 > 0.0:
            value += sum(c * np.linalg.norm(w[G]) for G, c in self.norms())
        return float(value)

    def norms(self) -> list[tuple[Array, float]]:
        """Return each bag's penalised features with the coefficient of their norm, and the others one by one."""
        held = [G[self.weights[G] > 0.0] for G in self.members]
        free = [(np.array([j]), 0.0) for j in np.flatnonzero(self.weights == 0.0)]
        return [(G, self.group_l1 * np.sqrt(G.size)) for G in held if G.size] + free

    def value(self, coef: Array, intercept: Array) -> float:
        """Return C of a model on the original scale."""
        scores = self.X @ np.atleast_2d(coef).T + intercept
        return float(self.s @ loss_value(self.loss, scores, self.y, self.delta)) + self.penalty(self.standardized(coef))

    def violation(self, coef: Array, intercept: Array) -> float:
        """Return how far a model on the original scale is from optimal, relative to the largest null gradient.

        That is the largest distance, over features (bags where ``group_l1`` is used) and intercepts, of minus the
        gradient from the penalty's subdifferential.
        """
        w = self.standardized(coef)
        scores = self.X @ np.atleast_2d(coef).T + intercept
        worst = np.abs(self.residual(scores).sum(axis=0)).max() if self.intercept else 0.0
        assert not self.positive or w.min(initial=0.0) >= 0.0
        slope = self.gradient(scores) + 2.0 * self.l2 * self.weights[:, None] * w
        return float(max(worst, *(self.distance(G, c, slope, w) for G, c in self.norms()))) / self.null_gradient()

    def distance(self, members: Array, norm: float, slope: Array, w: Array) -> float:
        """Return the distance of one bag: as a whole while it is zero, of its worst weight otherwise."""
        w, slope, l1 = w[members], slope[members], self.l1 * self.weights[members, None]
        beyond = np.maximum((-slope if self.positive else np.abs(slope)) - l1, 0.0)
        length = np.linalg.norm(w)
        if length == 0.0:
            return float(max(np.linalg.norm(beyond) - norm, 0.0)) if norm > 0.0 else float(beyond.max())
        moving = np.abs(slope + l1 * np.sign(w) + norm * w / length)
        return float(np.where(w != 0.0, moving, beyond).max())
