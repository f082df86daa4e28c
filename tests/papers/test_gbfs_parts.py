"""The parts of the experiments on gradient boosted feature selection, on small data."""

from dataclasses import replace

import numpy as np
import pytest
from papers._gbfs import bags, boosting, connections, methods, quality, toy
from papers._gbfs.problems import PAIRS, Budget, Problem, lightened
from papers.data import RealData


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 8))
    y = np.where((X[:, 2] > 0) | (X[:, 5] > 0.5), 1, -1)
    budget = Budget(splits=2, depths=(2, 3), trees=15, forest=20, retrained=10, sizes=(1, 2, 50), most=8)
    return Problem("made up", "a or b", X[:300], y[:300], X[300:], y[300:], budget)


def test_depth_and_number_of_trees_are_chosen_for_every_price(problem):
    choices = boosting.choose(problem, ((0.1, 0.5), "relative"))
    assert [choice.mu for choice in choices] == [0.5, 0.1]
    assert all(choice.depth in {2, 3} and 1 <= choice.trees <= 15 for choice in choices)


def test_a_point_is_what_a_fit_of_the_choice_gives(problem):
    from skgraft import GBFSClassifier

    point = methods.gbfs_curve("GBFS", ((0.2,), "relative"))(problem)[0]
    depth, trees = point.parameters["depth"], point.parameters["trees"]
    model = GBFSClassifier(mu=0.2, max_depth=depth, n_trees=trees, learning_rate=0.1).fit(problem.X, problem.y)
    assert point.error == np.mean(model.predict(problem.X_test) != problem.y_test)
    assert list(point.features) == list(model.order_)


def test_the_papers_price_is_told_as_the_paper_tells_it(problem):
    points = methods.METHODS["GBFS"].curve(problem)
    assert {point.parameters["mu"] for point in points} <= {2.0**k for k in (-3, -2, -1, 0, 1, 2, 3, 5, 7, 9)}
    assert {2, 5} <= set(points[-1].features)


def test_a_price_above_every_gain_leaves_no_point(problem):
    assert methods.gbfs_curve("GBFS", ((2.0,), "relative"))(problem) == []


def test_errors_after_each_tree_end_with_those_of_the_model(problem):
    from skgraft import GBFSClassifier

    model = GBFSClassifier(n_trees=6).fit(problem.X, problem.y)
    errors = boosting.staged_errors(model, problem.X_test, problem.y_test, 9)
    assert errors.size == 9
    assert errors[5] == errors[8] == np.mean(model.predict(problem.X_test) != problem.y_test)


def test_curves_of_the_others_find_the_same_features(problem):
    lasso = methods.trace("L1-LR", problem)
    assert set(lasso.points[0].features) <= {2, 5}
    forest = methods.trace("RF-FS", problem)
    assert [point.n_features for point in forest.points] == [1, 2]  # 50 are more than there are
    assert set(forest.points[1].features) == {2, 5}


def test_a_method_that_is_not_there_is_refused(problem):
    with pytest.raises(ValueError, match="mRMR is not there yet"):
        methods.trace("mRMR", problem)


def test_boosting_itself_gives_a_point_for_each_number_of_features(problem):
    curve = connections.iteration_curve(replace(problem, budget=replace(problem.budget, trees=20)), 0.5, "absolute")
    counts = [point.n_features for point in curve.points]
    assert counts == sorted(set(counts))
    assert curve.points[-1].parameters["trees"] == 20
    assert all(len(point.features) == point.n_features for point in curve.points)


def test_an_svm_judges_the_features_it_is_given(problem):
    good = methods.Point("a", "made up", 2, 0.0, {}, (2, 5))
    bad = methods.Point("a", "made up", 2, 0.0, {}, (0, 1))
    assert quality.judge(problem, good).error < 0.1 < quality.judge(problem, bad).error


def test_points_are_spread_over_the_numbers_of_features():
    points = [methods.Point("a", "d", k, 0.0, {}, ()) for k in (9, 1, 2, 2, 3, 4, 5)]
    assert [point.n_features for point in quality.spread(points, 3)] == [1, 3, 9]


def test_bags_are_made_on_training_rows_and_counted(monkeypatch):
    rng = np.random.default_rng(1)
    X = np.exp(rng.standard_normal((40, 30)))
    y = (np.log(X[:, 0]) > 0).astype(np.int64)
    monkeypatch.setattr(bags, "SHARES", (0.5, 0.2))
    monkeypatch.setattr(bags, "TUNING", 1)
    monkeypatch.setattr(bags, "FOREST", 10)
    outcomes = bags.run_split(RealData(X, y, [f"gene {j}" for j in range(30)]), 0)
    assert [outcome.method for outcome in outcomes] == [*bags.BAGGED, "random forest"]
    for outcome in outcomes:
        assert sum(outcome.sizes) == 30
        assert sum(outcome.bags) == outcome.n_features
        assert sum(count > 0 for count in outcome.bags) == outcome.n_bags


def test_above_the_largest_group_coefficient_no_bag_is_opened():
    rng = np.random.default_rng(2)
    X, groups = rng.standard_normal((50, 12)), np.arange(12) // 4
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = (X[:, 0] + 0.5 * rng.standard_normal(50) > 0).astype(np.int64)
    assert not bags.Shared(1.001, groups).fit(X, y).support_.any()
    assert bags.Shared(0.9, groups).fit(X, y).support_.any()


def test_a_look_is_short_and_six_pairs_are_further_ones(problem):
    short = lightened(replace(problem, X=np.tile(problem.X, (5, 1)), y=np.tile(problem.y, 5)))
    assert short.X.shape[0] == 1000
    assert short.budget.splits == 1
    assert len(set(PAIRS)) == 6
    assert (3, 8) not in PAIRS


def test_the_toy_takes_two_features_together_and_a_line_does_not_do():
    found = toy.run_toy(3)
    boosted, linear = ([outcome for outcome in found if outcome.method == name] for name in toy.METHODS)
    assert {outcome.features for outcome in boosted} == {"x, y"}
    assert max(outcome.error for outcome in boosted) < 0.06
    assert np.mean([outcome.error for outcome in linear]) > 0.3
