"""AROM with prices, bags, kept features and a budget."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine

from skgraft import AROMClassifier, AROMRegressor

from .arom_twin import cheapest, rounds, separates

NORMS = ["l2", "l1", "l2-l1"]


def problem(seed, n_rows=14, n_features=12, n_bags=7, noise=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    bag = rng.integers(0, n_bags, n_features)
    bag[:n_bags] = np.arange(n_bags)
    y = np.where(X[:, 0] + X[:, 1] + noise * rng.normal(size=n_rows) > 0.0, 1.0, -1.0)
    return X, y, bag, np.exp(rng.normal(size=n_bags))


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("norm", "p", "C"), [("l2", 2, 0.1), ("l2", 2, 2.0), ("l1", 1, 0.3), ("l1", 1, np.inf)])
@pytest.mark.parametrize("keep", [None, [3]])
def test_the_rounds_are_those_of_the_twin_in_plain_numpy(seed, norm, p, C, keep):
    X, y, bag, cost = problem(seed, 40, 14, noise=0.0 if np.isinf(C) else 0.5)
    model = AROMClassifier(norm=norm, C=C, groups=bag, feature_costs=dict(enumerate(cost)), keep=keep, retrain=False)
    importance = np.random.default_rng(seed).uniform(0.5, 1.5, 40)  # without ties the optima of programs are unique
    model.fit(X, y, sample_weight=importance)
    share = importance / importance.sum()
    Z = X - share @ X
    deviation = np.sqrt(share @ Z**2)
    Z /= deviation
    kept = np.isin(np.arange(14), keep or [])
    charge = np.where(np.isin(np.arange(7), bag[kept]), 0.0, cost)
    steps = rounds(Z, y, C * importance, bag, charge, kept, p)
    weights, intercept, _ = steps[-1]
    assert_allclose(model.coef_[0] * deviation, weights, atol=2e-3 * np.abs(weights).max())
    assert_allclose(model.decision_function(X), Z @ weights + intercept, atol=5e-3)
    size = np.abs(weights)
    assert_array_equal(model.support_, (size > 1e-8 * size.max()) | kept)
    assert_allclose(model.total_cost_, charge[np.unique(bag[model.support_])].sum())
    sizes = [np.count_nonzero((np.abs(w) > 1e-8 * np.abs(w).max()) | kept) for w, _, _ in steps]
    common = min(len(sizes), model.n_iter_)
    assert_array_equal(model.history_.column("n_selected")[:common], sizes[:common])


@pytest.mark.parametrize("norm", NORMS)
def test_prices_bring_the_cost_near_the_least_that_separates(norm):
    """Brute force over all sets of bags; what the features of rounds without prices would cost is beside it."""
    above, unpriced = [], []
    for seed in range(12):
        X, y, bag, cost = problem(seed)
        model = AROMClassifier(norm=norm, C=np.inf, groups=bag, feature_costs=dict(enumerate(cost))).fit(X, y)
        assert separates(standardized(X)[:, model.support_], y)
        least = cheapest(standardized(X), y, bag, cost)
        above.append(model.total_cost_ / least)
        support = AROMClassifier(norm=norm, C=np.inf).fit(X, y).support_
        unpriced.append(cost[np.unique(bag[support])].sum() / least)
    assert min(above) >= 1.0 - 1e-9
    assert min(above) <= 1.0 + 1e-9
    assert np.log(above).mean() < np.log(unpriced).mean() - 0.3


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("C", [10.0, np.inf])
def test_of_two_equally_good_features_the_cheaper_is_taken(norm, C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    X[:, 7] = X[:, 2] + 1e-3 * rng.normal(size=60)
    X[:, 9] = -X[:, 2]
    y = X[:, 2] > 0.0
    for cheap in (2, 7, 9):
        cost = np.full(12, 3.0)
        cost[cheap] = 1.0
        model = AROMClassifier(norm=norm, C=C, feature_costs=cost, n_features_to_select=1)
        assert_array_equal(model.fit(X, y).order_, [cheap])
        assert model.total_cost_ == 1.0


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("multi_class", ["joint", "ovr", "naive"])
def test_limits_are_never_exceeded_and_kept_features_never_charged(norm, multi_class):
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(1)
    for case in range(6):
        bag = rng.integers(0, 8, 13)
        cost = dict(enumerate(rng.uniform(0.2, 2.0, 8)))
        keep = rng.choice(13, case % 3, replace=False).tolist()
        limits = {"max_cost": float(rng.uniform(0.0, 3.0))} if case % 2 else {"n_features_to_select": 4}
        model = AROMClassifier(
            norm=norm, multi_class=multi_class, groups=bag, feature_costs={g: cost[g] for g in set(bag.tolist())},
            keep=keep, **limits
        ).fit(X, y)  # fmt: skip
        paid = sum(cost[g] for g in set(bag[model.support_].tolist()) - set(bag[keep].tolist()))
        assert_allclose(model.total_cost_, paid, atol=1e-12)
        assert model.total_cost_ <= limits.get("max_cost", np.inf) * (1.0 + 1e-9)
        assert model.support_[keep].all()
        assert model.support_.sum() == limits.get("n_features_to_select", model.support_.sum())
        assert not model.coef_[:, ~model.support_].any()


def test_a_budget_met_exactly_is_spent():
    X, y, _, _ = problem(0, 200, 6, 6)
    model = AROMClassifier(C=np.inf, feature_costs=[0.1, 0.2, 5.0, 5.0, 5.0, 5.0], max_cost=0.3).fit(X, y)
    assert_array_equal(np.sort(model.order_), [0, 1])
    assert_allclose(model.total_cost_, 0.3)


def test_a_bag_too_expensive_for_the_budget_makes_room_for_others():
    X, y, _, _ = problem(0, 200, 6, 6)
    model = AROMClassifier(C=1.0, feature_costs=[4.0, 1.0, 1.0, 1.0, 1.0, 1.0], max_cost=1.0).fit(X, y)
    assert_array_equal(model.order_, [1])


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n_rows", [20, 60])
@pytest.mark.parametrize(("n_classes", "multi_class"), [(2, "joint"), (3, "joint"), (3, "ovr"), (3, "naive")])
def test_nothing_to_spend_leaves_a_machine_without_features(norm, n_rows, n_classes, multi_class):
    X, _, _, _ = problem(1, n_rows)
    y = np.digitize(X[:, 0], [0.8] if n_classes == 2 else [-0.3, 0.8])
    model = AROMClassifier(norm=norm, multi_class=multi_class, max_cost=0.0).fit(X, y)
    assert not model.coef_.any()
    assert not model.support_.any()
    assert_array_equal(model.predict(X), np.full(n_rows, np.bincount(y).argmax()))


@pytest.mark.parametrize("norm", NORMS)
def test_a_bag_comes_and_goes_as_a_whole(norm):
    """The second feature of the bag is worth nothing by itself, and free once the bag is paid for."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 10))
    y = X[:, 0] + 0.3 * X[:, 1] > 0.0
    bags = AROMClassifier(norm=norm, C=np.inf, groups=[0, 0, *range(1, 9)]).fit(X, y)
    assert set(np.flatnonzero(bags.support_)) == {0, 1}
    assert bags.total_cost_ == 1.0
    assert AROMClassifier(norm=norm, C=np.inf).fit(X, y).total_cost_ == 2.0


@pytest.mark.parametrize("norm", NORMS)
def test_numbers_have_prices_too(norm):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 20))
    X[:, 5] = X[:, 3]
    y = 2.0 * X[:, 3] - X[:, 7]
    cost = np.ones(20)
    cost[3] = 2.0
    model = AROMRegressor(norm=norm, epsilon=0.1, C=10.0, feature_costs=cost, keep=[11]).fit(X, y)
    assert_array_equal(np.flatnonzero(model.support_), [5, 7, 11])
    assert model.total_cost_ == 2.0
    assert AROMRegressor(norm=norm, epsilon=0.1, C=10.0, max_cost=1.0).fit(X, y).order_.tolist() == [3]


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_programs_follow_machines_once_features_are_no_more_than_rows(C):
    X, y, _, _ = problem(5, 30, 400, 5)
    model = AROMClassifier(norm="l2-l1", C=C, retrain=False).fit(X, y)
    first = AROMClassifier(norm="l2", C=C, retrain=False).fit(X, y)
    left, of_l2 = model.history_.column("n_selected"), first.history_.column("n_selected")
    with_machines = int(np.argmax(left <= 30)) + 1
    assert_array_equal(left[:with_machines], of_l2[:with_machines])
    assert left[with_machines] < of_l2[with_machines]
    assert model.certificate_.converged
    if np.isinf(C):
        assert model.score(X, y) == 1.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_features_to_select": 1, "keep": [0, 1]}, "leaves no room for the 2 features named in keep"),
        ({"n_features_to_select": 3, "max_cost": 2.0}, "give one of the two"),
        ({"minimise": "errors", "feature_costs": np.ones(12)}, "feature_costs is"),
        ({"feature_costs": -np.ones(12)}, "feature_costs"),
        ({"groups": [0, 1]}, "groups"),
        ({"keep": [12]}, "keep refers to feature 12"),
    ],
)
def test_mistakes_are_named(parameters, message):
    X, y, _, _ = problem(0)
    with pytest.raises(ValueError, match=message):
        AROMClassifier(**parameters).fit(X, y)
