"""X in blocks of rows: the smallest provider of that kind, through which solvers fit without knowing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgraft import GraftClassifier, GraftRegressor
from skgraft.grafting.linear.fit import fit_linear
from skgraft.matrix import Columns, DenseBlock


class RowBlocks:
    """Two arrays, one above the other, that are never put together; X is seen through sums over rows."""

    is_sparse = False

    def __init__(self, whole: Columns, top: np.ndarray, bottom: np.ndarray) -> None:
        self._blocks = [top, bottom]
        self._cut = top.shape[0]
        self.n_rows, self.n_columns, self.size = whole.n_rows, whole.n_columns, whole.size
        self.centre, self.scale, self.length = whole.centre, whole.scale, whole.length
        self.too_large, self.finite, self.constant = whole.too_large, whole.finite, whole.constant

    def _standardised(self, columns):
        for block in self._blocks:
            yield (block[:, columns] - self.centre[columns]) / self.scale[columns]

    def gradient_of(self, columns, residual):
        parts = np.split(residual, [self._cut])
        return sum(X.T @ r for X, r in zip(self._standardised(columns), parts, strict=True))

    def gradient(self, residual):
        return self.gradient_of(np.arange(self.n_columns), residual)

    @property
    def column_access_cost(self):
        return 1.0

    def squares(self, weight):
        parts = np.split(weight, [self._cut])
        every = np.arange(self.n_columns)
        return sum(w @ (X * X) for X, w in zip(self._standardised(every), parts, strict=True))

    def block(self):
        return DenseBlock(self)

    def take(self, columns, out=None):
        rows = np.empty((columns.size, self.n_rows)) if out is None else out
        rows[:] = np.concatenate(list(self._standardised(columns))).T
        return rows

    dense_rows = take


@pytest.mark.parametrize(
    "estimator",
    [
        GraftClassifier(l1=0.02),
        GraftClassifier(l1=0.02, effort="light"),
        GraftClassifier(l1=0.0, l0=0.02),
        GraftRegressor(l1=0.1),
        GraftRegressor(l1=0.0, max_features=3),
    ],
    ids=str,
)
def test_linear_models_fit_through_blocks_of_rows(estimator):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 12)) + rng.normal(size=12)
    y = X[:, 2] - X[:, 5] + 0.5 * rng.normal(size=90)
    y = y if isinstance(estimator, GraftRegressor) else y > np.median(y)
    problem = estimator._problem(X, y, None)
    blocks = RowBlocks(problem.columns, X[:40].copy(), X[40:].copy())
    found = fit_linear(replace(problem, columns=blocks), estimator._controls())
    whole = estimator.fit(X, y)
    assert_array_equal(found.support, whole.support_)
    assert_allclose(found.objective, whole.objective_, rtol=1e-10)
    assert found.certificate.converged
