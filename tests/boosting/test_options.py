"""What the parameters of the boosted estimators do."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skgraft import GBFSClassifier, GBFSRegressor, gbfs_path, mu_max
from skgraft.boosting import bags, neighbourhood, stages
from skgraft.boosting.growth import Grower
from skgraft.datasets import make_gbfs_toy

from .samples import classes

pd = pytest.importorskip("pandas")


def scores(model, X):
    return model.decision_function(X)


def test_the_toy_of_the_paper_is_solved_with_two_features():
    problem = make_gbfs_toy(random_state=0)
    train = np.arange(370) < 333
    model = GBFSClassifier().fit(problem.data[train], problem.target[train])
    assert sorted(model.order_) == [0, 1]
    assert model.score(problem.data[~train], problem.target[~train]) == 1.0


def test_an_exclusive_or_is_found_below_the_root():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (1000, 10))
    y = (X[:, 0] > 0.3) ^ (X[:, 1] > 0)
    model = GBFSClassifier(mu=0.9, n_trees=40).fit(X, y)
    assert model.order_.tolist() == [1, 0]
    assert model.trees_[0][0].gain.argmax() > 0
    assert model.score(X, y) > 0.99


# --- what was fitted ---


def test_attributes_fit_together():
    X, y = classes()
    model = GBFSClassifier(mu=0.05, n_trees=15).fit(X, y)
    assert_array_equal(np.flatnonzero(model.support_), np.sort(model.order_))
    used = {int(f) for trees in model.trees_ for tree in trees for f in tree.features}
    assert used == set(model.order_.tolist())
    assert model.n_trees_ == model.n_iter_ == len(model.trees_) == 15
    assert model.train_score_.shape == (16,)
    assert (np.diff(model.train_score_) < 0.0).all()
    assert model.validation_score_ is None
    assert_allclose(model.feature_importances_.sum(), 1.0)
    assert_array_equal(model.feature_importances_ > 0.0, model.support_)
    assert_allclose(model.mu_, 0.05 * model.mu_max_)
    assert_allclose(model.objective_, model.train_score_[-1] + 0.5 * model.mu_ * model.total_cost_ / 300)


def test_history_has_the_moment_of_every_purchase():
    X, y = classes()
    seen = []
    model = GBFSClassifier(mu=0.05, n_trees=15, callback=lambda record: seen.append(record) and False).fit(X, y)
    history = model.history_
    assert list(history) == seen
    bought = [record for record in history if record.kind == "buy"]
    assert [record.feature for record in bought] == model.order_.tolist()
    assert [record.n_selected for record in bought] == list(range(1, len(bought) + 1))
    assert all(record.gradient > model.mu_ for record in bought)
    assert {record.step for record in history} == set(range(1, 16))
    assert history[-1].cost == model.total_cost_
    assert len(history.to_frame()) == len(history)
    first = bought[0]
    tree = model.trees_[first.step - 1][0]
    assert tree.feature[0] == first.feature
    assert tree.gain[0] == first.gradient


def test_trees_can_be_read():
    X, y = classes()
    table = pd.DataFrame(X, columns=[f"gene {j}" for j in range(20)])
    model = GBFSClassifier(mu=0.1, n_trees=2, max_depth=2).fit(table, y)
    tree = model.trees_[0][0]
    text = str(tree)
    assert "gene 0 <=" in text
    assert "else" in text
    assert "missing" not in text
    frame = tree.to_frame()
    assert len(frame) == tree.n_nodes == 2 * tree.n_leaves - 1
    assert frame["n_samples"][0] == 300
    leaves = tree.feature < 0
    assert frame["n_samples"][leaves].sum() == 300
    assert "leaves" in repr(tree)


def test_gains_are_decreases_of_squared_error():
    X, y = classes()
    model = GBFSClassifier(mu=0.0, n_trees=1, max_depth=1).fit(X, y)
    tree = model.trees_[0][0]
    g = y - y.mean()
    left = X[:, tree.feature[0]] <= tree.threshold[0]
    error = sum(((part - part.mean()) ** 2).sum() for part in (g[left], g[~left]))
    assert_allclose(tree.gain[0], (g**2).sum() - error, rtol=1e-6)
    values = np.unique(X[:, tree.feature[0]])
    at = np.searchsorted(values, tree.threshold[0])
    assert_allclose(tree.threshold[0], 0.5 * (values[at - 1] + values[at]))


def test_staged_predictions_end_at_the_prediction():
    for n_classes in (2, 3):
        X, y = classes(n_classes=n_classes)
        model = GBFSClassifier(n_trees=12).fit(X, y)
        stages_ = list(model.staged_decision_function(X))
        assert len(stages_) == 12
        assert_array_equal(stages_[-1], model.decision_function(X))
        assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
        assert_array_equal(list(model.staged_predict_proba(X))[-1], model.predict_proba(X))
        shorter = GBFSClassifier(n_trees=5).fit(X, y)
        assert_array_equal(stages_[4], shorter.decision_function(X))
    model = GBFSRegressor(n_trees=7).fit(X, y.astype(float))
    assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


# --- prices ---


def test_names_can_be_used_for_everything():
    X, y = classes()
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(20)])
    model = GBFSClassifier(
        mu=0.05, n_trees=10, groups={"pair": ["x1", "x2"]}, feature_costs={"pair": 3.0, "x0": 0.5}, keep=["x7"]
    ).fit(table, y)
    assert model.support_[7]
    assert model.order_[0] == 7
    costs = {0: 0.5, 1: 0.0, 2: 0.0, 7: 0.0}
    bag = 3.0 * bool(model.support_[1:3].any())
    assert_allclose(model.total_cost_, bag + sum(costs.get(int(f), 1.0) for f in model.order_))
    assert model.support_[0]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_no_more_features_than_allowed(limit):
    X, y = classes()
    model = GBFSClassifier(mu=0.0, n_trees=20, max_features=limit).fit(X, y)
    assert model.support_.sum() == limit
    model = GBFSClassifier(mu=0.0, n_trees=20, max_cost=limit + 0.5).fit(X, y)
    assert model.total_cost_ == limit


@pytest.mark.parametrize(("costs", "limit"), [([0.1, 0.2], 0.3), ([0.2, 0.1], 0.3), ([0.7, 0.1], 0.8)])
def test_a_budget_can_be_met_exactly(costs, limit):
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)  # only both together tell anything
    for more, bought in ((1.0, True), (1.0 - 1e-9, False)):
        model = GBFSClassifier(mu=0.0, n_trees=5, feature_costs=costs, max_cost=limit * more).fit(X, y)
        assert model.support_.all() == bought
        assert_allclose(model.total_cost_, np.array(costs)[model.support_].sum())


def test_ready_made_costs_make_near_features_cheaper():
    used = np.zeros(25, bool)
    used[12] = True
    price = neighbourhood((5, 5), radius=1.0, discount=0.25, price=2.0)(used).reshape(5, 5)
    assert price[2, 1] == price[1, 2] == 1.5
    assert price[1, 1] == price[0, 0] == 2.0
    assert bags([1, 1, 2], {1: 3.0, 2: 4.0})(np.array([True, False, False])).tolist() == [0.0, 0.0, 4.0]
    assert stages({0: {1: 0.5}}, 2.0)(np.array([True, False, False])).tolist() == [2.0, 0.5, 2.0]
    for bad in ({"shape": 0}, {"shape": 5, "radius": -1}, {"shape": 5, "discount": 2.0}):
        with pytest.raises(ValueError, match="must"):
            neighbourhood(**bad)
    with pytest.raises(ValueError, match="no price for the bag"):
        bags([1, 2], {1: 1.0})


def test_bags_as_groups_and_as_a_function_are_the_same():
    X, y = classes()
    labels = np.arange(20) // 4
    by_groups = GBFSClassifier(n_trees=15, groups=labels).fit(X, y)
    by_function = GBFSClassifier(n_trees=15, cost_function=bags(labels)).fit(X, y)
    assert_array_equal(by_groups.order_, by_function.order_)
    assert_array_equal(scores(by_groups, X), scores(by_function, X))
    assert by_groups.total_cost_ == by_function.total_cost_
    again = pickle.loads(pickle.dumps(clone(by_function)))  # noqa: S301 -- our own bytes
    assert_array_equal(again.fit(X, y).order_, by_function.order_)


def test_the_cost_function_sees_what_was_bought():
    X, y = classes()
    seen = []

    def cost(used):
        seen.append(used.sum())
        return np.ones(used.size)

    model = GBFSClassifier(n_trees=10, cost_function=cost).fit(X, y)
    assert sorted(set(seen)) == list(range(model.order_.size + 1))


# --- going on, stopping ---


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_warm_start_is_one_longer_fit(n_classes):
    X, y = classes(n_classes=n_classes)
    long = GBFSClassifier(mu=0.02, n_trees=20).fit(X, y)
    warm = GBFSClassifier(mu=0.02, n_trees=6, warm_start=True).fit(X, y)
    early = warm.order_.copy()
    warm.set_params(n_trees=20).fit(X, y)
    assert_array_equal(warm.order_[: early.size], early)
    assert_array_equal(warm.order_, long.order_)
    assert_array_equal(scores(warm, X), scores(long, X))
    assert warm.total_cost_ == long.total_cost_
    assert warm.n_trees_ == 20
    assert warm.train_score_.tolist() == long.train_score_.tolist()
    assert [r.feature for r in warm.history_] == [r.feature for r in long.history_]
    with pytest.raises(ValueError, match="n_trees=3 is less than the 20"):
        warm.set_params(n_trees=3).fit(X, y)


def test_a_warm_start_needs_the_same_classes_and_columns():
    X, y = classes()
    warm = GBFSClassifier(n_trees=3, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="goes on with the classes"):
        warm.fit(X, np.arange(300) % 3)
    with pytest.raises(ValueError, match="features"):
        warm.fit(X[:, :5], y)


def test_early_stopping_goes_back_to_the_best_round():
    X, y = classes(400, seed=3)
    X_val, y_val = classes(400, seed=4)
    model = GBFSClassifier(mu=0.0, n_trees=300, learning_rate=0.5, early_stopping=True, n_iter_no_change=5)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    assert model.n_trees_ < 295
    assert model.n_trees_ == np.argmin(model.validation_score_)
    assert model.validation_score_.size == model.n_trees_ + 6
    used = {int(f) for trees in model.trees_ for tree in trees for f in tree.features}
    assert used == set(model.order_.tolist())
    p = model.predict_proba(X_val)
    loss = -np.log(p[np.arange(400), y_val]).mean()
    assert_allclose(loss, model.validation_score_.min(), rtol=1e-10)
    assert {record.feature for record in model.history_ if record.kind == "buy"} == used
    assert model.history_[-1].step == model.n_trees_


def test_a_warm_start_after_an_early_stop_goes_on_from_the_best_round():
    X, y = classes(400, seed=3)
    model = GBFSClassifier(mu=0.0, n_trees=300, learning_rate=0.5, early_stopping=True, n_iter_no_change=5)
    model.set_params(warm_start=True, random_state=0).fit(X, y)
    n_best, history = model.n_trees_, list(model.history_)
    assert model.train_score_.size > n_best + 1
    model.set_params(early_stopping=False, n_trees=n_best + 3).fit(X, y)
    assert model.n_trees_ == n_best + 3
    assert model.train_score_.size == n_best + 4
    assert list(model.history_)[: len(history)] == history
    p = model.predict_proba(X)
    assert_allclose(-np.log(p[np.arange(400), y]).mean(), model.train_score_[-1], rtol=1e-10)


@pytest.mark.parametrize("fraction", [0.2, 60])
def test_rows_set_aside_are_not_learned_from(fraction):
    X, y = classes(300, n_classes=3)
    model = GBFSClassifier(n_trees=5, early_stopping=True, validation_fraction=fraction, random_state=1).fit(X, y)
    assert model.trees_[0][0].n_samples[0] == 240
    same = GBFSClassifier(n_trees=5, early_stopping=True, validation_fraction=fraction, random_state=1).fit(X, y)
    assert_array_equal(scores(model, X), scores(same, X))


def test_validation_rows_alone_are_only_watched():
    X, y = classes()
    plain = GBFSClassifier(n_trees=8).fit(X, y)
    watched = GBFSClassifier(n_trees=8).fit(X, y, X_val=X, y_val=y, sample_weight_val=np.ones(300))
    assert_array_equal(scores(plain, X), scores(watched, X))
    assert_allclose(watched.validation_score_, watched.train_score_, rtol=1e-12)


def test_a_callback_can_stop():
    X, y = classes()
    model = GBFSClassifier(n_trees=50, callback=lambda record: record.step == 4).fit(X, y)
    assert model.n_trees_ == 4
    assert not model.certificate_.converged
    assert_array_equal(scores(model, X), scores(GBFSClassifier(n_trees=4).fit(X, y), X))


def test_an_interruption_leaves_the_rounds_so_far():
    X, y = classes()

    def interrupt(record):
        if record.step == 5:
            raise KeyboardInterrupt

    model = GBFSClassifier(n_trees=50, callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.n_trees_ == 5
    assert not model.certificate_.converged
    whole = GBFSClassifier(n_trees=5).fit(X, y)
    assert whole.certificate_.converged
    assert_array_equal(scores(model, X), scores(whole, X))
    model.set_params(callback=None, warm_start=True).fit(X, y)
    assert model.certificate_.converged


def test_a_fit_that_has_nothing_left_to_gain_has_converged():
    X, y = classes()
    nothing = GBFSClassifier(mu=1.01).fit(X, y)
    assert nothing.n_trees_ == 0
    assert nothing.certificate_.converged
    early = GBFSClassifier(n_trees=500, early_stopping=True, random_state=0).fit(X, y)
    assert early.n_trees_ < 500
    assert early.certificate_.converged


def test_an_interruption_inside_a_tree_leaves_whole_rounds():
    X, y = classes()
    calls = []

    def cost(used):
        calls.append(used.sum())
        if used.sum() == 3:
            raise KeyboardInterrupt
        return np.ones(used.size)

    model = GBFSClassifier(n_trees=50, mu=0.02, cost_function=cost)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    used = {int(f) for trees in model.trees_ for tree in trees for f in tree.features}
    assert used == set(np.flatnonzero(model.support_).tolist())
    assert model.support_.sum() < 3
    assert not model.certificate_.converged
    model.predict(X)


def test_progress_is_shown_on_standard_error(capsys):
    X, y = classes()
    GBFSClassifier(n_trees=3, verbose=1).fit(X, y)
    captured = capsys.readouterr()
    assert "tree 3 of 3" in captured.err
    assert not captured.out


# --- adaptive and exploring searches ---


def test_the_adaptive_search_still_finds_the_features():
    X, y = classes(500, 40)
    exact = GBFSClassifier(mu=0.1, n_trees=60).fit(X, y)
    adaptive = GBFSClassifier(mu=0.1, n_trees=60, screening="adaptive").fit(X, y)
    assert set(exact.order_[:2].tolist()) <= set(adaptive.order_.tolist())
    assert adaptive.score(X, y) > 0.9 * exact.score(X, y)


def searched_rounds(monkeypatch, model, X, y):
    """Return the rounds in which priced features were searched, and those in which some were bought."""
    searched = set()
    grow = Grower.grow

    def watch(self, gradients, feature_prices, at, pool=None):
        if pool is None or pool.any():
            searched.add(at[0])
        return grow(self, gradients, feature_prices, at, pool)

    monkeypatch.setattr(Grower, "grow", watch)
    model.fit(X, y)
    return searched, {record.step - 1 for record in model.history_ if record.kind == "buy"}


@pytest.mark.parametrize(("n_classes", "mu"), [(2, 0.02), (3, 0.1)])
def test_the_adaptive_search_rests_twice_as_long_until_something_is_bought(n_classes, mu, monkeypatch):
    X, y = classes(500, 40, n_classes=n_classes)
    model = GBFSClassifier(mu=mu, n_trees=80, screening="adaptive")
    searched, bought = searched_rounds(monkeypatch, model, X, y)
    assert any(t - 1 not in searched for t in bought if t > 0)  # after a rest
    assert bought <= searched
    gap, due, expected = 1, 0, set()
    for t in range(model.n_trees_):
        if t < due:
            continue
        expected.add(t)
        gap = 1 if t in bought else min(2 * gap, 16)
        due = t + gap
    assert searched == expected


def test_a_stump_ends_the_rest_of_the_adaptive_search(monkeypatch):
    # the one feature that is bought first splits two values, and is used up long before the next search is due
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 300), rng.normal(size=(300, 3))]).astype(float)
    y = 10.0 * X[:, 0] + X[:, 1]
    model = GBFSRegressor(mu=0.9, n_trees=40, learning_rate=1.0, max_depth=1, screening="adaptive")
    searched, _ = searched_rounds(monkeypatch, model, X, y)
    assert model.n_trees_ < 40
    assert searched == {0, 1}


@pytest.mark.parametrize("explore", [0.2, 8])
def test_exploring_a_sample_finds_the_features_in_the_end(explore):
    X, y = classes(500, 40)
    model = GBFSClassifier(mu=0.1, n_trees=60, explore=explore, random_state=0).fit(X, y)
    again = GBFSClassifier(mu=0.1, n_trees=60, explore=explore, random_state=0, screening="off").fit(X, y)
    assert_array_equal(model.order_, again.order_)
    assert_array_equal(scores(model, X), scores(again, X))
    assert {0, 3} <= set(model.order_.tolist())


def test_exploring_everything_is_the_full_search():
    X, y = classes()
    everything = GBFSClassifier(n_trees=10, explore=1.0).fit(X, y)
    assert_array_equal(scores(everything, X), scores(GBFSClassifier(n_trees=10).fit(X, y), X))


# --- paths ---


def test_a_path_is_its_separate_fits():
    X, y = classes()
    mus = [0.02, 0.5, 0.1]
    path = gbfs_path(X, y, mus, n_trees=12)
    assert_array_equal(path.mus, [0.5, 0.1, 0.02])
    assert len(path) == 3
    assert (np.diff(path.n_selected) >= 0).all()
    for k, mu in enumerate(path.mus):
        alone = GBFSClassifier(mu=mu, n_trees=12).fit(X, y)
        point = path.estimator(k)
        assert point.mu == mu
        assert_array_equal(scores(point, X), scores(alone, X))
        assert_array_equal(point.order_, alone.order_)
        assert point.objective_ == path.objectives[k]
        assert point.total_cost_ == path.total_costs[k] == path.n_selected[k]
    absolute = gbfs_path(X, y, [0.1 * mu_max(X, y)], n_trees=12, mu_scale="absolute")
    assert_array_equal(scores(absolute[0], X), scores(path[1], X))


def test_the_default_path_reaches_from_few_features_to_noise():
    X, y = classes()
    path = gbfs_path(X, y, n_values=5, n_trees=5)
    assert path.n_selected[0] <= 2
    assert path.n_selected[-1] >= 4
    numbers = gbfs_path(X, y + X[:, 0], n_values=3, n_trees=5)
    assert isinstance(numbers[0], GBFSRegressor)
    counts = gbfs_path(X, y, n_values=3, n_trees=5, loss="poisson")
    assert counts[0].loss == "poisson"
    labels = np.where(y, 1.0, -1.0)
    for ambiguous in (labels, labels.astype(np.float32), np.repeat([0.0, 1.0, 2.0], 100)):
        with pytest.raises(ValueError, match=r"classes or quantities.*loss='logistic'"):
            gbfs_path(X, ambiguous)
        with pytest.raises(ValueError, match=r"classes or quantities.*loss='squared'"):
            mu_max(X, ambiguous)
    assert mu_max(X, labels, loss="logistic") == mu_max(X, y)
    assert_allclose(mu_max(X, labels, loss="squared"), 4.0 * mu_max(X, y), rtol=1e-5)  # twice the gradients
    assert isinstance(gbfs_path(X, np.arange(300.0), n_values=1, n_trees=1)[0], GBFSRegressor)
    with pytest.raises(ValueError, match="mus must"):
        gbfs_path(X, y, [-1.0])
    with pytest.raises(ValueError, match="loss"):
        gbfs_path(X, y, loss="hinge")


def test_light_weights_are_pointed_out():
    X, y = classes()
    with pytest.warns(UserWarning, match="add up to 1"):
        GBFSClassifier(n_trees=2).fit(X, y, sample_weight=np.full(300, 1 / 300))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GBFSClassifier(n_trees=2).fit(X, y, sample_weight=np.full(300, 0.5))


def test_a_rare_class_does_not_run_away():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 5))
    y = np.zeros(5000, int)
    y[np.argsort(X[:, 0])[-20:]] = 1
    model = GBFSClassifier(n_trees=100).fit(X, y)
    assert np.abs(scores(model, X)).max() < 60.0
    assert (np.diff(model.train_score_) <= 1e-12).all()
