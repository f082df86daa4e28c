"""The certificate proves what it says: the duality gap is never smaller than the distance to the minimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from skgraft import GraftClassifier, GraftRegressor
from skgraft.criterion import LOSSES, make_loss
from skgraft.grafting.linear.fit import LinearControls, fit_linear
from skgraft.grafting.linear.newton import Target, fit_intercept
from skgraft.grafting.linear.optimality import certify, model_scores
from skgraft.grafting.linear.problem import LinearProblem
from skgraft.matrix import make_columns
from skgraft.prices import resolve_prices

N, P = 50, 9
BAGS = np.array([0, 0, 0, 1, 1, 2, 3, 3, 3])
PENALTIES = {
    "l1": {"l1": 0.1},
    "l2": {"l2": 0.1},
    "elastic": {"l1": 0.05, "l2": 0.02},
    "group": {"group_l1": 0.1},
    "sparse_group": {"l1": 0.04, "group_l1": 0.05},
    "group_with_ridge": {"l1": 0.03, "group_l1": 0.05, "l2": 0.05},
}
every_loss = pytest.mark.parametrize("loss", sorted(LOSSES))
every_penalty = pytest.mark.parametrize("penalty", sorted(PENALTIES))
both_signs = pytest.mark.parametrize("positive", [False, True], ids=["any_sign", "positive"])


def make_problem(loss: str, penalty: str, *, positive: bool, seed: int = 0, intercept: bool = True) -> LinearProblem:
    """Return a small convex problem whose penalties are shares of the largest null gradient."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P)) + rng.standard_normal(P)
    k = 3 if loss == "multinomial" else 2
    f = X @ np.where(rng.random((P, k)) < 0.4, rng.standard_normal((P, k)), 0.0)
    y = f + rng.standard_t(3.0, (N, k))
    if loss == "poisson":
        y = rng.poisson(np.exp(np.clip(f, -3.0, 2.0))).astype(float)
    if LOSSES[loss].margin:
        y = np.where(y > y.mean(axis=0), 1.0, -1.0)
    if loss == "multinomial":
        y = np.eye(3)[np.argmax(y, axis=1)]
    s = rng.choice([0.0, 1.0, 1.0, 3.0], N)
    s /= s.sum()
    prices = resolve_prices(
        groups=BAGS, feature_costs=None, keep=None, max_features=None, max_cost=None, n_features=P, names=None
    )
    weight = rng.choice([0.5, 1.0, 2.0], P)  # uneven ridges within a bag
    columns = make_columns(X, s, center=intercept, standardize=True)
    problem = LinearProblem(columns, Target(make_loss(loss), y, s, intercept), prices, weight, positive=positive)
    scores = scores_of(problem, np.zeros((P, k)))
    unit = np.abs(columns.gradient(problem.target.residual(scores))).max()
    return replace(problem, **{name: share * unit for name, share in PENALTIES[penalty].items()})


def best_intercept(problem: LinearProblem, weights: np.ndarray) -> np.ndarray:
    """Return the intercepts that go best with the weights: dual points rest on their slope being zero."""
    start = problem.loss.start(problem.target.y, problem.target.weight)
    if not problem.target.intercept:
        return np.zeros(start.size)
    return fit_intercept(problem.target, model_scores(problem, weights) + start, start)[0]


def scores_of(problem: LinearProblem, weights: np.ndarray) -> np.ndarray:
    return model_scores(problem, weights) + best_intercept(problem, weights)


def minimum(problem: LinearProblem) -> tuple[float, np.ndarray]:
    """Return the least criterion and where it is."""
    fit = fit_linear(problem, LinearControls(tol=1e-10))
    assert certify(problem, fit.weights, fit.intercept).violation <= 1e-9
    return fit.objective, fit.weights


def elsewhere(weights: np.ndarray, rng: np.random.Generator, *, positive: bool) -> np.ndarray:
    """Return weights that are not optimal: near or far from the optimum, sparse or not."""
    moved = weights + rng.choice([1e-3, 0.1, 1.0]) * rng.standard_normal(weights.shape)
    moved *= rng.random(weights.shape) < rng.choice([0.3, 1.0])
    return np.maximum(moved, 0.0) if positive else moved


@every_loss
@every_penalty
@both_signs
def test_gap_is_never_below_the_distance_to_the_minimum(loss, penalty, positive):
    problem = make_problem(loss, penalty, positive=positive)
    least, at = minimum(problem)
    rng = np.random.default_rng(1)
    for _ in range(15):
        w = elsewhere(at, rng, positive=positive)
        found = certify(problem, w, best_intercept(problem, w))
        assert found.gap is not None
        assert found.value >= least - 1e-10 * abs(least)
        assert found.gap >= (found.value - least) * (1.0 - 1e-9) - 1e-11 * abs(least)


@every_loss
@pytest.mark.parametrize("penalty", ["l1", "l2", "sparse_group"])
def test_gap_is_a_bound_where_the_intercept_is_not_quite_optimal(loss, penalty):
    problem = make_problem(loss, penalty, positive=False, seed=14)
    least, at = minimum(problem)
    off = best_intercept(problem, at) + 0.03 * np.arange(1.0, 1.0 + problem.n_outputs)
    found = certify(problem, at, off)
    assert found.gap is None or found.gap >= (found.value - least) * (1.0 - 1e-9) - 1e-11 * abs(least)


@every_loss
@every_penalty
@both_signs
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "through_zero"])
def test_gap_vanishes_at_the_optimum(loss, penalty, positive, intercept):
    problem = make_problem(loss, penalty, positive=positive, seed=2, intercept=intercept)
    fit = fit_linear(problem, LinearControls(tol=1e-10))
    empty = certify(problem, np.zeros_like(fit.weights), best_intercept(problem, np.zeros_like(fit.weights)))
    assert certify(problem, fit.weights, fit.intercept).gap <= 1e-8 * abs(empty.value)
    assert fit.certificate.duality_gap <= 1e-8


@every_loss
@every_penalty
def test_gap_shrinks_on_the_way_to_the_optimum(loss, penalty):
    problem = make_problem(loss, penalty, positive=False, seed=3)
    _, at = minimum(problem)
    direction = np.random.default_rng(4).standard_normal(at.shape)
    gaps = []
    for step in (1.0, 1e-2, 1e-4, 1e-6):
        w = at + step * direction
        gaps.append(certify(problem, w, best_intercept(problem, w)).gap)
    assert gaps[3] < 1e-2 * gaps[1] < 1e-2 * gaps[0]


@every_loss
@every_penalty
@both_signs
def test_reported_gap_bounds_what_a_loose_tolerance_leaves(loss, penalty, positive):
    problem = make_problem(loss, penalty, positive=positive, seed=5)
    least, _ = minimum(problem)
    loose = fit_linear(problem, LinearControls(tol=0.03))
    target = problem.target
    empty = target.value(scores_of(problem, np.zeros_like(loose.weights)))
    height = empty - target.loss.least(target.y, target.weight)
    assert loose.certificate.duality_gap * height >= (loose.objective - least) - 1e-10 * height
    assert loose.certificate.kkt_violation <= 0.03


@every_loss
@every_penalty
@both_signs
def test_violation_is_zero_only_at_the_minimum(loss, penalty, positive):
    problem = make_problem(loss, penalty, positive=positive, seed=6)
    least, at = minimum(problem)
    rng = np.random.default_rng(7)
    for _ in range(5):
        w = elsewhere(at, rng, positive=positive)
        found = certify(problem, w, best_intercept(problem, w))
        if found.value > least + 1e-6 * abs(least):
            assert found.violation > 1e-6


@every_loss
def test_value_is_the_loss_plus_the_penalties(loss):
    problem = make_problem(loss, "group_with_ridge", positive=False, seed=8)
    k = problem.n_outputs
    w = np.random.default_rng(9).standard_normal((P, k))
    b = np.arange(k) - 1.0
    a = problem.penalty_weight[:, None]
    scores = problem.columns.take(np.arange(P)).T @ w + b
    expected = problem.loss.value(scores, problem.target.y, problem.target.weight)
    expected += problem.l1 * (a * np.abs(w)).sum() + problem.l2 * (a * w**2).sum()
    bags = [w[np.isin(BAGS, g)] for g in range(4)]
    expected += sum(problem.group_l1 * np.sqrt(len(bag)) * np.linalg.norm(bag) for bag in bags)
    assert_allclose(certify(problem, w, b).value, expected, rtol=1e-12)


@every_loss
def test_unpenalised_features_leave_a_gap_that_still_closes(loss):
    problem = make_problem(loss, "elastic", positive=False, seed=10)
    free = problem.penalty_weight.copy()
    free[0] = 0.0
    problem = replace(problem, penalty_weight=free)
    fit = fit_linear(problem, LinearControls(tol=1e-10))
    assert fit.certificate.duality_gap is not None
    assert fit.certificate.duality_gap <= 1e-8


@pytest.mark.parametrize(
    "priced",
    [{"l0": 0.01}, {"max_features": 2}, {"max_cost": 2.0}, {"l1": 0.0}],
    ids=["price", "most_features", "most_cost", "nothing_bounds_the_dual"],
)
def test_no_gap_is_claimed_where_none_is_defined(priced):
    rng = np.random.default_rng(11)
    X = rng.standard_normal((60, 5))
    model = GraftRegressor(**{"l1": 0.01, **priced}).fit(X, X[:, 0] + rng.standard_normal(60))
    assert model.certificate_.duality_gap is None
    assert model.certificate_.converged


def test_features_held_out_by_a_price_violate_nothing():
    rng = np.random.default_rng(12)
    X = rng.standard_normal((80, 6))
    y = 2.0 * X[:, 0] + 0.2 * X[:, 1] + 0.1 * rng.standard_normal(80)
    model = GraftRegressor(l1=0.0, l0=0.5).fit(X, y)
    assert model.support_.sum() == 1
    assert model.certificate_.kkt_violation <= 1e-6


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_cut_short_says_so():
    rng = np.random.default_rng(13)
    X = rng.standard_normal((80, 40))
    y = rng.integers(0, 2, 80)
    cut = GraftClassifier(l1=1e-3, max_iter=1, select_unit=1).fit(X, y)
    assert not cut.certificate_.converged
    assert cut.certificate_.kkt_violation > 1e-6
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        GraftClassifier(l1=1e-3, max_iter=1, select_unit=1).fit(X, y)
