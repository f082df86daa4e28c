"""Losses that are quadratic in pieces have their minimum where their lifted form has it."""

from __future__ import annotations

import numpy as np
import pytest

from skgraft.criterion.losses import make_loss
from skgraft.criterion.penalties import Penalty
from skgraft.grafting.linear.augmented_quadratic import minimize_augmented
from skgraft.grafting.target import Target

N, M = 40, 12


def penalty_of(m: int, *, grouped: bool, positive: bool) -> Penalty:
    l1, ridge = np.full(m, 0.02), np.full(m, 1e-3)
    if grouped:
        return Penalty(l1, ridge, np.full(m // 3, 0.03), np.arange(0, m + 1, 3), positive)
    return Penalty(l1, ridge, np.zeros(m), np.arange(m + 1), positive)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "through_zero"])
@pytest.mark.parametrize("kind", ["l1", "groups", "positive"])
@pytest.mark.parametrize("loss", ["huber", "squared_hinge"])
def test_lifted_minimum_satisfies_the_optimality_conditions_of_the_loss(loss, kind, intercept, n_outputs):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((M, N)) * 10.0 ** rng.uniform(-2.0, 2.0, (M, 1))
    X /= np.sqrt((X * X).mean(axis=1))[:, None]
    s = rng.choice([0.0, 1.0, 2.0], N)
    s /= s.sum()
    y = rng.standard_t(1.5, (N, n_outputs)) + X[:2].T.sum(axis=1)[:, None]
    y = y if loss == "huber" else np.sign(y)
    target = Target(make_loss(loss, delta=0.3), y, s, intercept=intercept)
    mine = [np.arange(k, M * n_outputs, n_outputs) for k in range(n_outputs)]
    penalty = penalty_of(M * n_outputs, grouped=kind == "groups", positive=kind == "positive")
    start = np.abs(rng.standard_normal(M * n_outputs))
    w, b = minimize_augmented(target, [X] * n_outputs, mine, start, np.zeros(n_outputs), penalty, 1e-10)
    f = np.column_stack([w[each] @ X for each in mine]) + b
    residual = target.residual(f)
    gradient = np.empty(w.size)
    for k, each in enumerate(mine):
        gradient[each] = X @ residual[:, k]
    assert penalty.violation(gradient, w).max() <= 1e-8
    assert w.any()
    assert not intercept or np.abs(residual.sum(axis=0)).max() <= 1e-8
    assert kind != "positive" or (w >= 0.0).all()
