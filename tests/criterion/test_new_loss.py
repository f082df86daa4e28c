"""A loss of one's own, in one class, serves every estimator that takes losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone

import skgraft as sg
from skgraft.criterion import Curvature, Loss


@dataclass(frozen=True)
class QuantileHuber(Loss):
    """Huber's function, tilted: residuals y - f above zero count ``above``, those below one less."""

    above: float = 0.8
    delta: float = 0.5

    name = "quantile_huber"
    piecewise = True

    def _tilt(self, d):
        return np.where(d < 0.0, self.above, 1.0 - self.above)  # d = f - y

    def per_sample(self, f, y):
        d = f - y
        a = np.abs(d)
        huber = np.where(a <= self.delta, 0.5 * d * d, self.delta * (a - 0.5 * self.delta))
        return (self._tilt(d) * huber).sum(axis=1)

    def derivative(self, f, y):
        d = f - y
        return self._tilt(d) * np.clip(d, -self.delta, self.delta)

    def second_derivative(self, f, y):
        d = f - y
        return self._tilt(d) * (np.abs(d) <= self.delta)

    def majorizer(self, f, y, s):
        d = np.abs(f - y)
        return Curvature(max(self.above, 1.0 - self.above) * self.delta / np.maximum(d, self.delta) * s[:, None])

    def start(self, y, s):  # noqa: ARG002 -- a first guess
        return np.quantile(y, self.above, axis=0)

    def conjugate(self, u, y):
        # L = c·huber with c = above for f < y (u < 0) and 1 - above else: sup u·f - L = u·y + u²/2c for |u| <= c·delta
        c = np.where(u < 0.0, self.above, 1.0 - self.above)
        inside = np.abs(u) <= c * self.delta * (1.0 + 1e-12)
        return np.where(inside, u * y + 0.5 * u * u / c, np.inf).sum(axis=1)

    def rescaled(self, unit):
        return QuantileHuber(self.above, self.delta / unit)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    return X, 2.0 * X[:, 1] - X[:, 4] + rng.normal(size=150)


def test_a_linear_model_reaches_the_minimum_of_a_new_loss(data):
    X, y = data
    loss, l1 = QuantileHuber(), 0.02
    model = sg.GraftRegressor(loss=loss, l1=l1, standardize=False).fit(X, y)

    def criterion(v):
        w = v[:6] - v[6:12]
        f = (X @ w + v[12])[:, None]
        return loss.value(f, y[:, None], np.full(150, 1 / 150)) + l1 * v[:12].sum()

    best = minimize(
        criterion,
        np.full(13, 0.1),
        bounds=[(0, None)] * 12 + [(None, None)],
        tol=1e-14,
        options={"maxfun": 100_000, "maxiter": 5000},
    )
    assert model.certificate_.converged
    assert model.certificate_.duality_gap < 1e-6
    assert model.objective_ <= best.fun + 1e-9
    assert model.objective_ == pytest.approx(best.fun, abs=1e-5)
    above = np.mean(y > model.predict(X))
    assert 0.1 < above < 0.35  # the 0.8 quantile, smoothed


@pytest.mark.parametrize(
    "estimator",
    [
        sg.GraftRegressor(l1=0.02),
        sg.GraftRegressor(l1=0.02, effort="light"),
        sg.GraftRegressor(l1=0.0, l0=0.02),
        sg.GraftRegressorCV(cv=3, l1s=[0.1, 0.02]),
        sg.StreamGraftRegressor(l1=0.02),
        sg.MLPGraftRegressor(random_state=0),
        sg.GBFSRegressor(n_trees=30, mu=0.05),
    ],
    ids=lambda e: type(e).__name__,
)
def test_every_estimator_of_numbers_takes_a_new_loss(estimator, data):
    X, y = data
    model = clone(estimator).set_params(loss=QuantileHuber()).fit(X, y)
    plain = clone(estimator).fit(X, y)
    assert model.loss_ == "quantile_huber"
    assert model.support_[[1, 4]].all()
    assert np.mean(y > model.predict(X)) < np.mean(y > plain.predict(X)) - 0.05  # it aims higher


def test_a_loss_for_numbers_is_refused_where_targets_are_classes(data):
    X, y = data
    with pytest.raises(ValueError, match=r"quantile_huber.*is for numbers"):
        sg.GraftClassifier(loss=QuantileHuber()).fit(X, y > 0.0)
