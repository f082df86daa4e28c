"""Prices and budgets against brute force over all subsets: how good the greedy choice is, and what polish adds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer

from skgraft import GraftClassifier, GraftRegressor

from .kkt import Criterion
from .subsets import least_over_subsets, minima

Array = np.ndarray
N = 60
LOSSES = ("squared", "logistic", "poisson", "squared_hinge", "huber")
HARD = [("equicorrelated", 1), ("equicorrelated", 3), ("autoregressive", 1), ("autoregressive", 3)]
every_loss = pytest.mark.parametrize("loss", LOSSES)
hard_designs = pytest.mark.parametrize(("kind", "snr"), HARD, ids=[f"{kind}-snr{snr}" for kind, snr in HARD])
SAME = 1e-7  # of the explainable loss: two criteria nearer than this are equal


def correlated(kind: str, p: int, rng: np.random.Generator) -> Array:
    """Return features with correlations 0.9, or 0.9 to the power of their distance."""
    X = rng.standard_normal((N, p))
    if kind == "equicorrelated":
        return np.sqrt(0.9) * rng.standard_normal((N, 1)) + np.sqrt(0.1) * X
    for j in range(1, p):
        X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(1.0 - 0.81) * X[:, j]
    return X


@dataclass(frozen=True)
class Instance:
    """A problem with prices: the convex part, labels as estimators take them, l0 and what else a fit needs."""

    criterion: Criterion
    labels: Array
    l0: float
    parameters: dict[str, Any]

    @property
    def explainable(self) -> float:
        """The loss of the empty model above that of the full one."""
        full = minima(self.criterion, np.arange(self.criterion.X.shape[1])[None, :])[0]
        return self.criterion.null_value() - float(full)

    def fit(self, **changes: Any) -> Any:
        """Return the fitted estimator."""
        kind = GraftRegressor if self.criterion.loss in {"squared", "huber", "poisson"} else GraftClassifier
        given = {"l1": self.criterion.l1, "l2": self.criterion.l2, "l0": self.l0, "loss": self.criterion.loss}
        return kind(**{**given, "random_state": 0, **self.parameters, **changes}).fit(self.criterion.X, self.labels)

    def best(self, **limits: Any) -> tuple[float, Array]:
        """Return the least criterion over all subsets, and which it is."""
        n_bags = self.criterion.X.shape[1] if self.criterion.bags is None else np.unique(self.criterion.bags).size
        return least_over_subsets(
            self.criterion, self.l0, self.parameters.get("feature_costs", np.ones(n_bags)), **limits
        )


def instance(loss: str, kind: str, snr: int, seed: int, *, p: int = 8, share: float = 0.1) -> Instance:
    """Return a hard problem with four true features; l0 is a share of the explainable loss."""
    rng = np.random.default_rng([seed, p, snr])
    X = correlated(kind, p, rng)
    true = np.zeros(p)
    true[rng.choice(p, 4, replace=False)] = rng.choice([-1.0, 1.0], 4)
    f = X @ true
    f *= np.sqrt(snr) / f.std()
    labels = {
        "squared": lambda: f + rng.standard_normal(N),
        "huber": lambda: f + rng.standard_t(2.0, N),
        "poisson": lambda: rng.poisson(np.exp(0.7 * f)).astype(float),
    }.get(loss, lambda: np.where(f + rng.standard_normal(N) > 0.0, 1, -1))()
    # a little ridge, without which separable classes have no minimum
    l2 = 0.0 if loss in {"squared", "huber"} else 0.01
    criterion = Criterion(X, labels[:, None].astype(float), np.full(N, 1.0 / N), loss, l2=l2)
    plain = Instance(criterion, labels, 0.0, {})
    return replace(plain, l0=share * plain.explainable)


def assert_honest(problem: Instance, model: Any) -> None:
    """Check what a model says it costs against the criterion of its coefficients."""
    criterion = problem.criterion
    bag = (
        np.arange(criterion.X.shape[1]) if criterion.bags is None else np.unique(criterion.bags, return_inverse=True)[1]
    )
    chosen = (np.atleast_2d(model.coef_) != 0.0).any(axis=0)
    cost = problem.parameters.get("feature_costs", np.ones(bag.max() + 1))
    paid = cost[np.unique(bag[chosen])].sum()
    assert_allclose(model.total_cost_, paid)
    value = criterion.value(model.coef_, model.intercept_) + problem.l0 * paid
    assert_allclose(model.objective_, value, rtol=1e-9)


# -- prices -------------------------------------------------------------------------------------------------------


@every_loss
@hard_designs
@pytest.mark.parametrize("share", [0.03, 0.1])
def test_no_fit_is_better_than_the_best_subset_and_polish_never_harms(loss, kind, snr, share):
    problem = instance(loss, kind, snr, 0, share=share)
    best, _ = problem.best()
    slack = SAME * problem.explainable
    greedy, polished = problem.fit(polish=False), problem.fit(polish=True)
    assert_honest(problem, greedy)
    assert_honest(problem, polished)
    assert best - slack <= polished.objective_ <= greedy.objective_ + 1e-3 * slack


@every_loss
def test_thorough_polish_is_never_worse_than_plain_polish(loss):
    problem = instance(loss, "autoregressive", 3, 20, p=7)
    best, _ = problem.best()
    slack = SAME * problem.explainable
    polished, thorough = problem.fit(polish=True), problem.fit(polish="thorough")
    assert_honest(problem, thorough)
    assert best - slack <= thorough.objective_ <= polished.objective_ + 1e-3 * slack


def neighbours(chosen: Array) -> list[Array]:
    """Return all subsets one drop, addition or swap away."""
    inside, outside = set(np.flatnonzero(chosen)), set(np.flatnonzero(~chosen))
    moves = [inside - {i} for i in inside] + [inside | {j} for j in outside]
    moves += [(inside - {i}) | {j} for i in inside for j in outside]
    return [np.array(sorted(move), dtype=np.intp) for move in moves]


@every_loss
@hard_designs
def test_after_polish_no_single_drop_addition_or_swap_lowers_the_criterion(loss, kind, snr):
    problem = instance(loss, kind, snr, 40, p=10, share=0.05)
    model = problem.fit()
    slack = SAME * problem.explainable
    for subset in neighbours(model.support_):
        value = minima(problem.criterion, subset[None, :])[0] + problem.l0 * subset.size
        assert value >= model.objective_ - slack, f"{subset} is better than {np.flatnonzero(model.support_)}"


@every_loss
@hard_designs
def test_after_polish_no_single_move_of_a_bag_lowers_the_criterion(loss, kind, snr):
    problem = with_bags(instance(loss, kind, snr, 50, p=10, share=0.05), snr)
    model = problem.fit()
    bags, cost = problem.criterion.bags, problem.parameters["feature_costs"]
    opened = np.isin(np.arange(cost.size), bags[model.support_])
    for subset in neighbours(opened):
        features = np.flatnonzero(np.isin(bags, subset))
        value = minima(problem.criterion, features[None, :])[0] + problem.l0 * cost[subset].sum()
        assert value >= model.objective_ - SAME * problem.explainable, f"bags {subset} beat {np.flatnonzero(opened)}"


@every_loss
@hard_designs
def test_after_polish_no_swap_within_the_budget_lowers_the_criterion(loss, kind, snr):
    problem = replace(instance(loss, kind, snr, 55, p=10), l0=0.0)
    model = problem.fit(max_features=3)
    for subset in neighbours(model.support_):
        if subset.size <= 3:
            value = minima(problem.criterion, subset[None, :])[0]
            assert value >= model.objective_ - SAME * problem.explainable


@every_loss
def test_weights_of_the_selected_features_are_optimal_for_them(loss):
    problem = instance(loss, "autoregressive", 3, 60, p=10, share=0.03)
    for polish in (False, True):
        model = problem.fit(polish=polish)
        subset = np.flatnonzero(model.support_)
        value = minima(problem.criterion, subset[None, :])[0] + problem.l0 * subset.size
        assert_allclose(model.objective_, value, rtol=0.0, atol=SAME * problem.explainable)


@every_loss
def test_trying_the_next_candidate_is_never_worse_than_stopping(loss):
    for seed in range(4):
        problem = instance(loss, "equicorrelated", 3, 80 + seed, p=9, share=0.05)
        stop = problem.fit(polish=False, on_increase="stop")
        further = problem.fit(polish=False, on_increase="next")
        assert further.objective_ <= stop.objective_ + 1e-3 * SAME * problem.explainable


def test_easy_problems_are_solved_exactly():
    # nearly independent features: the greedy choice is the best subset
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 8))
        y = X[:, :3] @ [1.0, -1.0, 0.7] + 0.5 * rng.standard_normal(200)
        criterion = Criterion(X, y[:, None], np.full(200, 1.0 / 200), "squared")
        problem = Instance(criterion, y, 0.02, {})
        best, chosen = problem.best()
        for polish in (False, True):
            model = problem.fit(polish=polish)
            assert_allclose(model.objective_, best, rtol=1e-8)
            assert (model.support_ == chosen).all()


# -- costs, bags, budgets -------------------------------------------------------------------------------------------


def with_costs(problem: Instance, seed: int) -> Instance:
    cost = np.random.default_rng(seed).choice([0.2, 0.5, 1.0, 3.0], problem.criterion.X.shape[1])
    return replace(problem, parameters={**problem.parameters, "feature_costs": cost})


def with_bags(problem: Instance, seed: int) -> Instance:
    """Return the problem with features in bags of one to three, which have prices of their own."""
    p = problem.criterion.X.shape[1]
    bags = np.resize([0, 0, 1, 2, 2, 2, 3, 4], p)
    cost = np.random.default_rng(seed).choice([0.5, 1.0, 2.0], np.unique(bags).size)
    parameters = {**problem.parameters, "groups": bags, "feature_costs": cost}
    return replace(problem, criterion=replace(problem.criterion, bags=bags), parameters=parameters)


@every_loss
@pytest.mark.parametrize("dress", [with_costs, with_bags])
def test_costs_and_bags_are_paid_as_brute_force_pays_them(loss, dress):
    for seed in range(3):
        problem = dress(instance(loss, HARD[seed][0], 3, 100 + seed, share=0.05), seed)
        best, _ = problem.best()
        slack = SAME * problem.explainable
        greedy, polished = problem.fit(polish=False), problem.fit(polish=True)
        assert_honest(problem, greedy)
        assert_honest(problem, polished)
        assert best - slack <= polished.objective_ <= greedy.objective_ + 1e-3 * slack


@every_loss
def test_all_features_of_a_bag_that_is_paid_for_are_used(loss):
    # without l1, the other weights of an open bag cost nothing more and cannot harm
    problem = with_bags(instance(loss, "autoregressive", 3, 120, share=0.05), 0)
    model = problem.fit()
    bags = problem.criterion.bags
    opened = np.unique(bags[model.support_])
    assert opened.size > 0
    subset = np.flatnonzero(np.isin(bags, opened))
    paid = problem.parameters["feature_costs"][opened].sum()
    value = minima(problem.criterion, subset[None, :])[0] + problem.l0 * paid
    assert_allclose(model.objective_, value, rtol=0.0, atol=SAME * problem.explainable)


@every_loss
@pytest.mark.parametrize("limit", [1, 2, 4])
@pytest.mark.parametrize("select_unit", ["auto", 3])
def test_number_of_features_is_a_hard_limit(loss, limit, select_unit):
    for seed in range(2):
        problem = replace(instance(loss, HARD[2 * seed][0], 3, 140 + seed), l0=0.0)
        best, _ = problem.best(max_features=limit)
        slack = SAME * problem.explainable
        values = []
        for polish in (False, True):
            model = problem.fit(polish=polish, max_features=limit, select_unit=select_unit)
            assert model.support_.sum() <= limit
            assert_honest(problem, model)
            values.append(model.objective_)
        assert best - slack <= values[1] <= values[0] + 1e-3 * slack


@every_loss
@pytest.mark.parametrize("limit", [0.4, 1.0, 3.5])
def test_total_cost_is_a_hard_limit(loss, limit):
    for seed in range(2):
        problem = with_costs(replace(instance(loss, HARD[2 * seed][0], 3, 160 + seed), l0=0.0), seed)
        best, _ = problem.best(max_cost=limit)
        slack = SAME * problem.explainable
        values = []
        for polish in (False, True):
            model = problem.fit(polish=polish, max_cost=limit)
            assert model.total_cost_ <= limit * (1.0 + 1e-12)
            assert_honest(problem, model)
            values.append(model.objective_)
        assert best - slack <= values[1] <= values[0] + 1e-3 * slack


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_budgets_and_prices_and_bags_hold_together(loss):
    for seed in range(3):
        problem = with_bags(instance(loss, "autoregressive", 3, 180 + seed, share=0.02), seed)
        best, _ = problem.best(max_features=4, max_cost=3.0)
        for polish in (False, True, "thorough") if seed == 0 else (False, True):
            model = problem.fit(polish=polish, max_features=4, max_cost=3.0)
            assert_honest(problem, model)
            assert model.support_.sum() <= 4
            assert model.total_cost_ <= 3.0
            assert model.objective_ >= best - SAME * problem.explainable


@every_loss
def test_kept_features_are_in_and_free_of_charge(loss):
    problem = instance(loss, "autoregressive", 3, 200, share=0.05)
    for polish in (False, True):
        model = problem.fit(polish=polish, keep=[0, 7])
        assert model.support_[[0, 7]].all()
        others = np.flatnonzero(model.support_ & ~np.isin(np.arange(8), [0, 7]))
        assert_allclose(model.total_cost_, others.size)
        value = minima(problem.criterion, np.flatnonzero(model.support_)[None, :])[0] + problem.l0 * others.size
        assert_allclose(model.objective_, value, rtol=0.0, atol=SAME * problem.explainable)
        free = minima(problem.criterion, np.array([[0, 7]]))[0]
        assert model.objective_ <= free + SAME * problem.explainable


def least_with_l1(problem: Instance, cost: Array) -> float:
    """Return the least criterion over all subsets, each solved by the convex fit, which has tests of its own."""
    p = problem.criterion.X.shape[1]
    best = problem.criterion.null_value()
    for size in range(1, p + 1):
        for subset in combinations(range(p), size):
            part = replace(problem.criterion, X=problem.criterion.X[:, subset])
            model = replace(problem, criterion=part, parameters={}, l0=0.0).fit()
            best = min(best, model.objective_ + problem.l0 * cost[list(subset)].sum())
    return best


@every_loss
def test_prices_go_together_with_l1(loss):
    for seed in range(2):
        problem = instance(loss, "autoregressive", 3, 220 + seed, p=5, share=0.05)
        slack = SAME * problem.explainable
        problem = replace(problem, criterion=replace(problem.criterion, l1=0.05 * problem.criterion.null_gradient()))
        problem = with_costs(problem, seed)
        best = least_with_l1(problem, problem.parameters["feature_costs"])
        greedy, polished = problem.fit(polish=False), problem.fit(polish=True)
        assert_honest(problem, greedy)
        assert_honest(problem, polished)
        assert best - slack <= polished.objective_ <= greedy.objective_ + 1e-3 * slack


def test_a_feature_is_paid_for_once_whatever_the_number_of_targets():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = correlated("autoregressive", 7, rng)
        Y = X[:, [1, 4]] @ rng.standard_normal((2, 3)) + 0.5 * rng.standard_normal((N, 3))
        l0 = 0.05
        one = Criterion(X, Y[:, :1], np.full(N, 1.0 / N), "squared")
        subsets = [subset for size in range(8) for subset in combinations(range(7), size)]
        best = min(
            sum(minima(replace(one, y=Y[:, [k]]), np.array([subset], dtype=np.intp))[0] for k in range(3))
            + l0 * len(subset)
            for subset in subsets
        )
        model = GraftRegressor(l1=0.0, l0=l0).fit(X, Y)
        assert_allclose(model.total_cost_, (model.coef_ != 0.0).any(axis=0).sum())
        paid = l0 * model.total_cost_
        assert_allclose(model.objective_, replace(one, y=Y).value(model.coef_, model.intercept_) + paid, rtol=1e-9)
        assert model.objective_ >= best - 1e-8


def test_a_larger_budget_never_gives_a_worse_model():
    X, y = load_breast_cancer(return_X_y=True)
    prices = np.where(np.arange(30) >= 20, 3.0, 1.0)
    found = []
    for budget in range(1, 8):
        model = GraftClassifier(l1=0.0, l2=1e-3, feature_costs=prices, max_cost=budget).fit(X, y)
        assert model.total_cost_ <= budget
        found.append(model.objective_)
    assert (np.diff(found) < 0.0).all()


# -- how often the optimum is reached -------------------------------------------------------------------------------


def shares_reached(loss: str, kind: str, snr: int, seeds: range, p: int, polishes: tuple[Any, ...]) -> Array:
    """Return how often each kind of polish ends at the best subset, over two prices a seed."""
    reached = []
    for seed in seeds:
        for share in (0.03, 0.1):
            problem = instance(loss, kind, snr, seed, p=p, share=share)
            best, _ = problem.best()
            slack = SAME * problem.explainable
            reached.append([problem.fit(polish=polish).objective_ <= best + slack for polish in polishes])
    return np.mean(reached, axis=0)


@every_loss
def test_polish_mostly_reaches_the_best_of_all_subsets(loss):
    found = [shares_reached(loss, kind, snr, range(300, 302), 8, (False, True)) for kind, snr in HARD]
    without, with_polish = np.mean(found, axis=0)
    assert with_polish >= without
    assert with_polish >= 0.6


@pytest.mark.slow
@every_loss
def test_share_of_hard_problems_solved_exactly_is_reported(loss):
    polishes = (False, True, "thorough")
    print(f"\n{'loss':>14} {'design':>15} snr {'greedy':>8} {'polish':>8} {'thorough':>8}")  # noqa: T201
    found = []
    for kind, snr in HARD:
        found.append(shares_reached(loss, kind, snr, range(400, 406), 15 if loss == "squared" else 11, polishes))
        print(f"{loss:>14} {kind:>15} {snr:>3} " + " ".join(f"{share:8.0%}" for share in found[-1]))  # noqa: T201
    greedy, polished, thorough = np.mean(found, axis=0)
    assert greedy <= polished <= thorough
    assert polished >= 0.5
