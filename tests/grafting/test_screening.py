"""A screened gradient gives the same tests and certificates as the exact one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from skgraft import GraftClassifier
from skgraft.criterion.losses import LOSSES
from skgraft.grafting.linear.problem import Layout, LinearProblem, make_penalty
from skgraft.grafting.linear.screening import ScreenedGradient
from skgraft.grafting.target import Target
from skgraft.matrix import make_columns
from skgraft.prices.resolve import resolve_prices

N, P, K = 60, 400, 2
STORAGES = {"f": np.asfortranarray, "c": np.ascontiguousarray, "csc": sp.csc_matrix, "csr": sp.csr_matrix}


def problem(storage: str, *, group_l1: float = 0.0, positive: bool = False) -> LinearProblem:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, P)) * (rng.random((N, P)) < 0.5)
    X[:, 7] = 2.0  # constant
    weight = rng.choice([0.0, 1.0, 3.0], N)
    weight /= weight.sum()
    prices = resolve_prices(
        groups=np.arange(P) // 5,
        feature_costs=None,
        keep=None,
        max_features=None,
        max_cost=None,
        n_features=P,
        names=None,
    )
    penalty_weight = rng.choice([0.0, 1.0, 1.0, 2.0], P)
    target = Target(LOSSES["squared"](), rng.standard_normal((N, K)), weight, intercept=True)
    columns = make_columns(STORAGES[storage](X), weight, center=True, standardize=True)
    return LinearProblem(columns, target, prices, penalty_weight, l1=0.15, l2=0.1, group_l1=group_l1, positive=positive)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("group_l1", [0.0, 0.2], ids=["l1", "groups"])
@pytest.mark.parametrize("positive", [False, True], ids=["", "positive"])
def test_every_gradient_test_comes_out_as_with_the_exact_gradient(storage, group_l1, positive):
    case = problem(storage, group_l1=group_l1, positive=positive)
    layout = Layout(case)
    penalty = make_penalty(case, layout)
    screened = ScreenedGradient(case.columns, case.target.weight, layout)
    rng = np.random.default_rng(0)
    residual = rng.standard_normal((N, K)) * case.target.weight[:, None]
    for step in range(40):
        needed = rng.permutation(P)[:6]
        found = screened.beyond(residual, penalty, needed)
        exact = layout.flat(case.columns.gradient(residual))
        assert_allclose(penalty.distance_at_zero(found), penalty.distance_at_zero(exact), atol=1e-13)
        assert_allclose(penalty.conjugate(-found), penalty.conjugate(-exact), rtol=1e-12)
        needed_weights = np.isin(layout.feature(np.arange(P * K)), needed)
        assert_allclose(found[needed_weights], exact[needed_weights], atol=1e-13)
        step_size = 10.0 ** rng.uniform(-6.0, -0.5 if step % 5 else 0.5)
        residual = residual + step_size * rng.standard_normal((N, K)) * case.target.weight[:, None]


def test_columns_that_cannot_matter_are_not_computed(monkeypatch):
    case = problem("f")
    layout = Layout(case)
    penalty = make_penalty(case, layout)
    screened = ScreenedGradient(case.columns, case.target.weight, layout)
    residual = case.target.residual(np.zeros((N, K)))
    screened.beyond(residual, penalty, np.empty(0, np.intp))
    monkeypatch.setattr(case.columns, "gradient", None)  # would fail if called
    asked = []
    compute = case.columns.gradient_of
    monkeypatch.setattr(case.columns, "gradient_of", lambda which, r: asked.append(which) or compute(which, r))
    loud = make_penalty(LinearProblem(case.columns, case.target, case.prices, np.ones(P), l1=2.0), layout)
    screened.beyond(residual * (1.0 + 1e-6), loud, np.array([3]))
    assert_array_equal(asked[0], [3])


def test_a_lower_l1_wakes_what_was_screened():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((200, 2000))
    y = (X[:, 0] + 0.3 * X[:, 1] + 0.2 * rng.standard_normal(200) > 0).astype(int)
    model = GraftClassifier(l1=0.2, warm_start=True).fit(X, y)
    model.set_params(l1=0.02).fit(X, y)
    fresh = GraftClassifier(l1=0.02).fit(X, y)
    assert_array_equal(model.support_, fresh.support_)
    assert_allclose(model.objective_, fresh.objective_, rtol=1e-10)
