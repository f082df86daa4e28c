"""Prices in linear programs: a bag is one bound on its weights, and the optimum that of the full program."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from skgraft import L1SVC, FSVClassifier, l1_svc_path
from skgraft.zeronorm.l1_svc import class_margins

from .full_program import solve_full, standardized


def problem(seed, n_rows=50, n_features=24, n_classes=2, n_bags=9):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) @ (np.eye(n_features) + 0.3 * rng.normal(size=(n_features, n_features)))
    score = X[:, 0] - X[:, 1] + rng.normal(size=n_rows)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    bag = np.concatenate([np.arange(n_bags), rng.integers(0, n_bags, n_features - n_bags)])
    return X, y, bag, rng.uniform(0.3, 3.0, n_bags)


def bound_of(coef, bag, cost, weight):
    """Σ_gk cost_g max_j a_j |w_jk| from its definition."""
    return sum(cost[g] * (np.abs(coef[:, bag == g]) * weight[bag == g]).max(axis=1).sum() for g in range(cost.size))


def loss_of(model, X, margins, price):
    scores = X @ model.coef_.T + model.intercept_
    return price[margins.row] @ margins.slack(scores)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "ovr"), (3, "ovr"), (3, "joint")])
@pytest.mark.parametrize("l1", [0.01, 0.05, 0.2])
def test_the_fit_is_the_optimum_of_the_full_program(seed, n_classes, multi_class, l1):
    X, y, bag, cost = problem(seed, n_classes=n_classes)
    penalty = np.random.default_rng(seed).uniform(0.5, 2.0, 24) if seed % 2 else np.ones(24)
    prices = {"groups": bag, "feature_costs": dict(enumerate(cost)), "penalty_weights": penalty}
    model = L1SVC(l1=l1, multi_class=multi_class, **prices).fit(X, y)
    Z, margins = standardized(X), class_margins(y, n_classes, multi_class)
    expected = solve_full(Z, margins, np.full(margins.size, 1.0 / 50), l1 * cost[bag] * penalty, bag=bag)
    assert_allclose(model.objective_, expected, rtol=1e-8)
    coef = model.coef_ * X.std(axis=0)
    by_hand = l1 * bound_of(coef, bag, cost, penalty) + loss_of(model, X, margins, np.full(50, 1.0 / 50))
    assert_allclose(by_hand, expected, rtol=1e-7)
    assert model.certificate_.converged
    assert model.certificate_.kkt_violation < 1e-8
    assert model.certificate_.duality_gap < 1e-8
    assert_allclose(model.total_cost_, cost[np.unique(bag[model.support_])].sum())


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
def test_sparse_columns_in_bags_give_the_criterion_of_dense_ones(kind):
    X, y, bag, cost = problem(5)
    X[np.abs(X) < 0.8] = 0.0
    form = {"l1": 0.03, "groups": bag, "feature_costs": dict(enumerate(cost)), "max_cost": 3.0}
    dense, other = L1SVC(**form).fit(X, y), L1SVC(**form).fit(kind(X), y)
    assert_array_equal(other.support_, dense.support_)
    assert_allclose(other.objective_, dense.objective_, rtol=1e-9)
    assert_allclose(other.decision_function(kind(X)), dense.decision_function(X), atol=1e-6)


def test_prices_without_bags_are_penalty_weights():
    X, y, _, _ = problem(1)
    price = np.random.default_rng(0).uniform(0.2, 3.0, 24)
    priced = L1SVC(l1=0.02, feature_costs=price).fit(X, y)
    weighted = L1SVC(l1=0.02, penalty_weights=price).fit(X, y)
    assert_allclose(priced.coef_, weighted.coef_, atol=1e-10)
    assert_allclose(priced.total_cost_, price[priced.support_].sum())


def test_a_member_without_penalty_is_not_bound():
    X, y, bag, cost = problem(2)
    penalty = np.ones(24)
    penalty[3] = 0.0
    model = L1SVC(l1=0.3, groups=bag, feature_costs=dict(enumerate(cost)), penalty_weights=penalty).fit(X, y)
    apart = bag.copy()
    apart[3] = 99
    margins = class_margins(y, 2, "ovr")
    expected = solve_full(standardized(X), margins, np.full(50, 1.0 / 50), 0.3 * cost[bag] * penalty, bag=apart)
    assert model.coef_[0, 3] != 0.0
    assert_allclose(model.objective_, expected, rtol=1e-8)


def test_every_point_of_a_path_is_the_optimum_of_its_full_program():
    X, y, bag, cost = problem(3)
    path = l1_svc_path(X, y, n_values=8, groups=bag, feature_costs=dict(enumerate(cost)))
    Z, margins = standardized(X), class_margins(y, 2, "ovr")
    assert path.n_selected[0] == 0
    assert path.n_selected[1] > 0
    for point in path:
        expected = solve_full(Z, margins, np.full(50, 1.0 / 50), point.l1 * cost[bag], bag=bag)
        assert_allclose(point.objective, expected, rtol=1e-7)
        assert point.certificate.converged


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("keep", [None, [4, 7]])
def test_over_the_budget_the_least_for_their_price_leave_and_the_rest_is_the_optimum(seed, keep):
    X, y, bag, cost = problem(seed)
    costs = dict(enumerate(cost))
    free = L1SVC(l1=0.01, groups=bag, feature_costs=costs, keep=keep).fit(X, y)
    limit = 0.5 * free.total_cost_
    model = L1SVC(l1=0.01, groups=bag, feature_costs=costs, keep=keep, max_cost=limit).fit(X, y)
    assert 0.0 < model.total_cost_ <= limit
    assert model.support_[keep or []].all()
    kept = set(bag[keep or []].tolist())
    size = np.abs(free.coef_[0] * X.std(axis=0))
    worth = {g: size[bag == g].max() / cost[g] for g in set(bag[free.support_].tolist()) - kept}
    left, paid = set(), 0.0
    for g in sorted(worth, key=worth.get, reverse=True):
        if paid + cost[g] <= limit:
            left, paid = left | {g}, paid + cost[g]
    assert set(bag[model.support_].tolist()) - kept <= left
    stay = np.flatnonzero((np.isin(bag, list(left | kept)) & free.support_) | np.isin(np.arange(24), keep or []))
    margins = class_margins(y, 2, "ovr")
    price = np.where(np.isin(bag, list(kept)), 1.0, cost[bag])[stay]
    expected = solve_full(standardized(X)[:, stay], margins, np.full(50, 1.0 / 50), 0.01 * price, bag=bag[stay])
    assert_allclose(model.objective_, expected, rtol=1e-8)
    point = l1_svc_path(X, y, l1s=[0.01], groups=bag, feature_costs=costs, keep=keep, max_cost=limit)[0]
    assert_allclose(point.objective, expected, rtol=1e-8)
    assert_allclose(point.total_cost, model.total_cost_)


# --- concave minimisation ---


@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "ovr"), (3, "ovr"), (3, "joint")])
@pytest.mark.parametrize("keep", [None, [5]])
def test_each_round_is_the_optimum_of_its_full_program_and_none_raises_the_criterion(n_classes, multi_class, keep):
    X, y, bag, cost = problem(7, n_classes=n_classes)
    Z, margins = standardized(X), class_margins(y, n_classes, multi_class)
    charge = np.where(np.isin(np.arange(9), bag[keep or []]), 0.0, cost)
    alpha, price = 3.0, np.full(margins.size, 0.2)
    form = {"C": 0.2, "alpha": alpha, "groups": bag, "feature_costs": dict(enumerate(cost)), "keep": keep}
    v, values = np.zeros(9), []
    for n_rounds in (1, 2, 3):
        model = FSVClassifier(
            multi_class=multi_class, retrain=False, callback=lambda r, n=n_rounds: r.step == n, **form
        ).fit(X, y)
        slope = np.where(charge > 0.0, charge * alpha * np.exp(-alpha * v), 1.0)
        coef = model.coef_ * X.std(axis=0)
        loss = loss_of(model, X, margins, np.full(50, 0.2))
        least = solve_full(Z, margins, price, slope[bag], bag=bag)
        assert_allclose(bound_of(coef, bag, slope, np.ones(24)) + loss, least, rtol=1e-7)
        v = np.array([np.abs(coef[:, bag == g]).max(axis=1).sum() for g in range(9)])
        values.append(charge @ -np.expm1(-alpha * v) + v[charge == 0.0].sum() + loss)
        assert_allclose(model.objective_, values[-1], rtol=1e-7)
    assert (np.diff(values) <= 1e-9).all()
    settled = FSVClassifier(multi_class=multi_class, **form).fit(X, y)
    assert (np.diff(settled.history_.column("objective")) <= 1e-9).all()
    assert_allclose(settled.total_cost_, charge[np.unique(bag[settled.support_])].sum())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [1.0, 0.1])
def test_limits_of_concave_minimisation_are_never_exceeded(seed, C):
    X, y, bag, cost = problem(seed)
    costs = dict(enumerate(cost))
    for keep in (None, [2, 8]):
        for limit in (0.0, 0.5, 2.0):
            model = FSVClassifier(C=C, groups=bag, feature_costs=costs, keep=keep, max_cost=limit).fit(X, y)
            kept = np.isin(bag, bag[keep or []])
            assert_allclose(model.total_cost_, cost[np.unique(bag[model.support_ & ~kept])].sum())
            assert model.total_cost_ <= limit
            assert model.support_[keep or []].all()
            assert not model.coef_[0, ~model.support_].any()
        exact = FSVClassifier(C=C, groups=bag, feature_costs=costs, keep=keep, n_features_to_select=4).fit(X, y)
        assert exact.support_.sum() == 4
        assert exact.support_[keep or []].all()


def test_prices_turn_the_choice_between_features_that_are_as_good():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 10))
    X[:, 6] = X[:, 2] + 0.01 * rng.normal(size=80)
    y = X[:, 2] > 0.0
    for cheap, costly in ((2, 6), (6, 2)):
        cost = np.ones(10)
        cost[costly] = 3.0
        assert_array_equal(FSVClassifier(feature_costs=cost).fit(X, y).order_[:1], [cheap])
        model = L1SVC(l1=0.1, feature_costs=cost).fit(X, y)
        assert model.support_[cheap]
        assert not model.support_[costly]
