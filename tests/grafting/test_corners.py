"""Corners of the linear criterion: free features in bags, wild scales, scores and targets that say nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import make_scorer, r2_score
from sklearn.model_selection import KFold, LeaveOneOut

from skgraft import (
    GBFSRegressor,
    GraftClassifier,
    GraftClassifierCV,
    GraftRegressor,
    GraftRegressorCV,
    StreamGraftRegressor,
    graft_path,
    l1_max,
)
from skgraft.criterion import Penalty, duality_gap, make_loss
from skgraft.grafting.linear.optimality import certify
from skgraft.grafting.target import Target
from skgraft.matrix import make_columns

Array = np.ndarray


def sample(seed: int, n: int = 60, p: int = 8) -> tuple[Array, Array]:
    """Return standard normal columns and a target that half of them explain."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, ::2] @ rng.standard_normal(X[:, ::2].shape[1]) + rng.standard_normal(n)


def wild(seed: int) -> tuple[Array, Array, Array, float]:
    """Return bags of columns, some alike, whose scales range over six orders, and the median null gradient."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(8, 30)), int(rng.integers(5, 40))
    X = rng.normal(size=(n, p))
    if rng.random() < 0.5:
        X = X[:, rng.integers(0, max(1, p // 3), p)]
    X *= 10.0 ** rng.uniform(-3.0, 3.0, p) * (1.0 if seed % 2 else 10.0 ** rng.uniform(-5.0, 5.0))
    y = (X / X.std(axis=0)) @ np.where(rng.random(p) < 0.3, rng.normal(size=p), 0.0) + rng.normal(size=n)
    unit = np.median(np.abs((X - X.mean(axis=0)).T @ (y - y.mean()) / n))
    return X, y, rng.integers(0, max(1, p // 4), p), float(unit)


# --- a free feature in a bag ---

BAGS = np.array([0, 0, 0, 1, 1, 1, 2, 2])
APART = np.array([0, 3, 0, 1, 1, 1, 2, 2])  # feature 1 is its own bag
FREE = np.array([1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("options", [{}, {"l1": 0.05}, {"l2": 0.1}, {"positive": True}, {"effort": "light"}], ids=str)
def test_a_free_feature_is_as_free_inside_a_bag_as_outside(options):
    X, y = sample(0)
    options = {"l1": 0.0, "group_l1": 0.2, "penalty_weights": FREE, **options}
    inside = GraftRegressor(groups=BAGS, **options).fit(X, y)
    outside = GraftRegressor(groups=APART, **options).fit(X, y)
    assert inside.certificate_.converged
    assert inside.certificate_.duality_gap < 1e-8
    assert_allclose(inside.coef_, outside.coef_, atol=1e-7)
    residual = y - inside.predict(X)
    if not options.get("positive"):
        assert abs(X[:, 1] @ residual) / len(y) < 1e-6


def test_a_free_feature_stays_when_its_bag_is_priced_out_by_the_norm():
    X, y = sample(1)
    model = GraftRegressor(l1=0.0, group_l1=1e6, groups=BAGS, penalty_weights=FREE).fit(X, y)
    assert_array_equal(np.flatnonzero(model.support_), [1])
    slope, intercept = np.polyfit(X[:, 1], y, 1)
    assert_allclose([model.coef_[1], model.intercept_], [slope, intercept], atol=1e-6)


def test_a_free_feature_of_several_classes_is_free_in_each():
    X, y = sample(2, n=120)
    labels = np.digitize(y, [-1.0, 1.0])
    options = {"l1": 0.0, "group_l1": 0.05, "penalty_weights": FREE}
    inside = GraftClassifier(groups=BAGS, **options).fit(X, labels)
    outside = GraftClassifier(groups=APART, **options).fit(X, labels)
    gradient = (inside.predict_proba(X) - np.eye(3)[labels]).T @ X[:, 1] / len(y)
    assert_allclose(gradient, 0.0, atol=1e-6)
    assert_allclose(inside.objective_, outside.objective_, rtol=1e-9)


def test_a_free_feature_counts_alone_where_features_are_limited():
    X, y = sample(3)
    options = {"l1": 0.0, "group_l1": 0.01, "groups": BAGS, "penalty_weights": FREE}
    for most in range(1, 9):
        assert GraftRegressor(max_features=most, **options).fit(X, y).support_.sum() <= most


def test_free_features_in_bags_may_arrive_over_time():
    X, y = sample(4)
    options = {"l1": 0.0, "group_l1": 0.3, "groups": BAGS, "penalty_weights": FREE}
    stream = StreamGraftRegressor(**options)
    for part in ([0, 1, 2], [3, 4, 5], [6, 7]):
        stream.partial_fit_features(X[:, part], y)
    batch = GraftRegressor(**options).fit(X, y)
    assert_allclose(stream.objective_, batch.objective_, rtol=1e-7)


# --- scales ---


@pytest.mark.parametrize("share", [1e-3, 1e-5])
@pytest.mark.parametrize("loss", ["squared", "huber", "logistic"])
@pytest.mark.parametrize("seed", range(8))
def test_bags_of_wildly_scaled_columns_reach_a_small_gap_in_few_steps(seed, loss, share):
    X, y, groups, unit = wild(seed)
    l1 = 0.0 if seed % 3 else 0.5 * share * unit
    kind, target = (GraftClassifier, y > np.median(y)) if loss == "logistic" else (GraftRegressor, y)
    model = kind(
        loss=loss, l1=l1, group_l1=share * unit, groups=groups, positive=bool(seed % 2), standardize=False, max_iter=60
    ).fit(X, target)
    assert model.certificate_.converged
    assert model.certificate_.duality_gap < 1e-7


@pytest.mark.parametrize("loss", ["squared", "huber", "squared_hinge"])
@pytest.mark.parametrize("penalty", [{"l1": 1e-19}, {"l1": 0.0, "group_l1": 1e-19}, {"l1": 1e-19, "l2": 1e-3}], ids=str)
def test_a_penalty_below_rounding_does_not_make_the_gap_meaningless(loss, penalty):
    X, y = sample(5, n=25, p=4)
    kind, target = (GraftClassifier, y > 0.0) if loss == "squared_hinge" else (GraftRegressor, y)
    for unit in (1.0, 1e5):
        options = {"penalty_weights": [1.0, 0.0, 1.0, 1.0], "standardize": False, **penalty}
        model = kind(loss=loss, **options).fit(X * [unit, 1.0, 1.0 / unit, 1.0], target)
        assert model.certificate_.converged
        assert model.certificate_.duality_gap < 1e-9


def test_a_dual_point_outside_its_domain_by_rounding_alone_proves_as_much():
    # every residual is beyond delta, where Huber's derivative is delta itself
    loss, weight = make_loss("huber", delta=0.1), np.full(4, 0.25)
    y, scores = np.array([[1.0], [-1.0], [2.0], [-2.0]]), np.zeros((4, 1))
    penalty = Penalty(np.array([0.05]), np.zeros(1), np.zeros(1), np.arange(2))
    u, value = loss.derivative(scores, y), loss.value(scores, y, weight)
    for beyond in (0.0, 3e-14, 5e-13):
        outside = u + beyond * np.sign(u)
        gap = duality_gap(value, loss, y, weight, outside, penalty, np.zeros(1), np.zeros(1))
        assert gap is not None
        assert gap < 1e-9
    outside = u + 1e-9 * np.sign(u)
    assert duality_gap(value, loss, y, weight, outside, penalty, np.zeros(1), np.zeros(1)) is None


@pytest.mark.parametrize("norm", [0.0, 0.3])
@pytest.mark.parametrize("beyond", [0.0, 1e-15, 1e-13, 1e-11])
def test_a_gradient_just_beyond_the_penalty_leaves_a_gap_of_its_size(beyond, norm):
    # the scaled dual point may land outside the penalty's domain again, by rounding
    loss, weight = make_loss("squared"), np.full(5, 0.2)
    rng = np.random.default_rng(6)
    for _ in range(200):
        y = rng.standard_normal((5, 1))
        l1 = rng.uniform(0.1, 1.0, 3)
        starts = np.array([0, 3]) if norm else np.arange(4)
        penalty = Penalty(l1, np.zeros(3), np.full(starts.size - 1, norm), starts)
        direction = rng.standard_normal(3)
        if norm:
            direction = np.sign(direction) * (l1 + norm * np.abs(direction) / np.linalg.norm(direction))
        else:
            direction = np.sign(direction) * l1
        gradient = (1.0 + beyond) * direction
        # the empty model is optimal, so that the gap is what the rounding of the gradient leaves
        gap = duality_gap(loss.value(0 * y, y, weight), loss, y, weight, -y, penalty, gradient, np.zeros(3))
        assert gap is not None
        assert gap <= 1e-9


def test_one_weight_at_a_time_looks_at_the_data_no_more_than_ten_times_as_often(monkeypatch):
    calls = {"full": 0, "gauss_seidel": 0}
    plain = Target.residual
    for seed in range(6):
        X, y, groups, unit = wild(seed)
        for effort in calls:

            def counted(self, scores, effort=effort):
                calls[effort] += 1
                return plain(self, scores)

            monkeypatch.setattr(Target, "residual", counted)
            model = GraftRegressor(loss="huber", l1=1e-2 * unit, group_l1=1e-2 * unit, groups=groups, effort=effort)
            model = model.set_params(standardize=False).fit(X, y)
            assert model.certificate_.converged
    assert calls["gauss_seidel"] <= 10 * calls["full"]


# --- scores that are no numbers ---


def test_scores_that_are_undefined_are_refused_with_scorer_fold_and_remedy():
    X, y = sample(7, n=20)
    with (
        pytest.warns(UndefinedMetricWarning),
        pytest.raises(ValueError, match=r"'r2' is undefined.*fold 0, which has 1 row;.*'neg_"),
    ):
        GraftRegressorCV(cv=LeaveOneOut(), n_l1s=3).fit(X, y)
    own = make_scorer(r2_score)
    with (
        pytest.warns(UndefinedMetricWarning),
        pytest.raises(ValueError, match=r"make_scorer\(r2_score.*20 of 20 folds"),
    ):
        GraftRegressorCV(cv=LeaveOneOut(), n_l1s=3, scoring=own).fit(X, y)
    model = GraftRegressorCV(cv=LeaveOneOut(), n_l1s=3, scoring="neg_mean_squared_error").fit(X, y)
    assert model.support_.any()


def test_the_first_fold_without_a_score_is_named():
    X, _ = sample(8, n=30)
    y = np.r_[np.tile([0, 1], 10), np.ones(10, int)]
    with (
        pytest.warns(UndefinedMetricWarning),
        pytest.raises(ValueError, match=r"'roc_auc'.*fold 2, which has 10 rows; 1 of 3.*class"),
    ):
        GraftClassifierCV(cv=KFold(3), scoring="roc_auc", n_l1s=3).fit(X, y)


# --- targets that nothing explains ---


@pytest.mark.parametrize("level", [0.0, 0.1, 7.3, 1e9, 1e-9])
@pytest.mark.parametrize("loss", ["squared", "huber", "poisson"])
def test_no_l1_is_needed_to_select_nothing_for_a_constant_target(loss, level):
    X, _ = sample(9)
    y = np.full(X.shape[0], level)
    if loss != "poisson" or level > 0.0:
        assert l1_max(X, y, loss=loss) == 0.0
        assert l1_max(X, y, loss=loss, groups=BAGS, group_l1=0.0, standardize=False) == 0.0


def test_cross_validation_of_a_constant_target_chooses_zero():
    X, _ = sample(10)
    model = GraftRegressorCV(scoring="neg_mean_squared_error").fit(X, np.full(X.shape[0], 0.1))
    assert model.l1_ == 0.0
    assert_allclose(model.predict(X), 0.1, rtol=1e-12)
    assert_array_equal(graft_path(X, np.full(X.shape[0], 0.1)).l1s, [0.0])


def test_columns_that_tell_nothing_need_no_l1():
    x = np.linspace(-1.0, 1.0, 31)
    assert l1_max((x**2)[:, None], x) == 0.0  # an even column and an odd target


# --- numbers at the ends of the range ---


@pytest.mark.parametrize("size", [1e160, 1e300])
@pytest.mark.parametrize("kind", [GraftRegressor, GraftRegressorCV, GBFSRegressor])
def test_targets_too_large_to_be_squared_are_refused_by_name(kind, size):
    X, y = sample(11)
    with pytest.raises(ValueError, match=r"Input y holds numbers too large.*Rescale y"):
        kind().fit(X, size * y)


def test_a_column_too_small_for_a_coefficient_is_refused_by_name():
    X, y = sample(12)
    for factor in (1e-200, 1e200):
        model = GraftRegressor(l1=0.1).fit(X * np.where(np.arange(8) == 2, factor, 1.0), y)
        assert_allclose(model.coef_[2] * factor, GraftRegressor(l1=0.1).fit(X, y).coef_[2], rtol=1e-6)
    with pytest.raises(ValueError, match="column 2 of X holds numbers so small"):
        GraftRegressor(l1=0.1).fit(X * np.where(np.arange(8) == 2, 1e-310, 1.0), y)


# --- the capped l1 norm ---


def capped_criterion(model: GraftRegressor, X: Array, y: Array) -> float:
    """Return the criterion of a regression, from its coefficients alone."""
    w = np.abs(model.coef_ * X.std(axis=0))
    penalty = model.l1 * w.sum() + model.capped_l1 * np.minimum(w, model.cap).sum()
    return 0.5 * float(np.mean((y - model.predict(X)) ** 2)) + penalty


@pytest.mark.parametrize("seed", range(10))
def test_no_round_of_reweighting_raises_the_capped_criterion(seed):
    X, y = sample(seed, n=40, p=15)
    model = GraftRegressor(l1=0.01, capped_l1=0.3, cap=0.2).fit(X, y)
    rounds = [r.objective for r in model.history_ if r.kind == "reweight"] + [model.objective_]
    first = GraftRegressor(l1=0.31).fit(X, y).set_params(l1=0.01, capped_l1=0.3, cap=0.2)
    assert len(rounds) > 1
    assert_allclose(rounds[0], capped_criterion(first, X, y), rtol=1e-9)
    assert (np.diff(rounds) <= 1e-12).all()
    assert_allclose(model.objective_, capped_criterion(model, X, y), rtol=1e-10)


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "squared_hinge"])
def test_capped_fits_are_stationary_without_a_claim_of_the_global_optimum(loss):
    X, y = sample(13, n=80)
    kind, target = (GraftRegressor, y) if loss in {"squared", "huber"} else (GraftClassifier, y > 0.0)
    options = {"loss": loss, "l1": 0.002, "standardize": False}
    model = kind(capped_l1=0.03, cap=0.2, **options).fit(X, target)
    w = np.ravel(model.coef_)
    assert model.certificate_.converged
    assert model.certificate_.duality_gap is None
    assert (np.abs(w) >= 0.2).any()
    # where the capped norm is flat a weight is held by l1 alone: the criterion with those weights is this one's optimum
    twin = kind(**{**options, "l1": 1.0}, penalty_weights=np.where(np.abs(w) >= 0.2, 0.002, 0.032)).fit(X, target)
    assert_allclose(np.ravel(twin.coef_), w, atol=1e-5)


def test_a_cap_beyond_every_weight_is_plain_l1_and_no_cap_costs_nothing():
    X, y = sample(14)
    plain = GraftRegressor(l1=0.3).fit(X, y)
    assert_allclose(GraftRegressor(l1=0.1, capped_l1=0.2, cap=1e6).fit(X, y).coef_, plain.coef_, atol=1e-9)
    assert_array_equal(GraftRegressor(l1=0.3, capped_l1=0.0, cap=0.01).fit(X, y).coef_, plain.coef_)


def test_paths_and_cross_validation_with_a_cap_are_separate_fits():
    X, y = sample(15)
    path = graft_path(X, y, l1s=[0.3, 0.1, 0.01], capped_l1=0.1, cap=0.2)
    for point in path:
        alone = GraftRegressor(l1=point.l1, capped_l1=0.1, cap=0.2).fit(X, y)
        assert_allclose(point.objective, alone.objective_, rtol=1e-8)
    model = GraftRegressorCV(l1s=[0.3, 0.1, 0.01], capped_l1=0.1, cap=0.2).fit(X, y)
    alone = GraftRegressor(l1=model.l1_, capped_l1=0.1, cap=0.2).fit(X, y)
    assert_allclose(model.coef_, alone.coef_)
    top = l1_max(X, y, capped_l1=0.1)
    assert_allclose(top, l1_max(X, y) - 0.1)


def test_the_constant_of_weights_beyond_the_cap_is_no_gap():
    X, y = sample(16)
    model = GraftRegressor(l1=0.01, capped_l1=0.3, cap=0.2, warm_start=True).fit(X, y)
    problem = model._problem(X, y, None)
    weights, intercept = model._start(problem.columns.centre, problem.columns.scale, 1)
    beyond = np.abs(weights) >= model.cap
    assert beyond.any()
    found = certify(replace(problem, beyond=beyond), weights, intercept)
    assert_allclose(found.value, model.objective_, rtol=1e-12)
    assert found.gap < 1e-8 * model.objective_


def test_a_cap_and_a_price_are_not_taken_together():
    X, y = sample(16)
    for price in ({"l0": 0.1}, {"max_features": 2}, {"max_cost": 2.0}):
        with pytest.raises(ValueError, match="capped_l1 stands for a price"):
            GraftRegressor(capped_l1=0.1, **price).fit(X, y)
    for way in ({"l0s": [0.1]}, {"sizes": [1, 2]}, {"costs": [2.0]}):
        with pytest.raises(ValueError, match="capped_l1 stands for a price"):
            graft_path(X, y, capped_l1=0.1, **way)
    with pytest.raises(ValueError, match="capped_l1 stands for a price"):
        GraftRegressorCV(l0="auto", capped_l1=0.1).fit(X, y)


# --- holes that a fault could hide in ---


def test_a_series_of_costs_with_a_mixed_index_is_read_by_position():
    pd = pytest.importorskip("pandas")
    X, y = sample(17, p=4)
    costs = pd.Series([1.0, 2.0, 3.0, 4.0], index=["x", 1, "y", 3])
    model = GraftRegressor(l1=0.0, l0=1e-9, feature_costs=costs).fit(X, y)
    assert_allclose(model.total_cost_, np.array([1.0, 2.0, 3.0, 4.0])[model.support_].sum())
    assert model.support_.all()
    dear = GraftRegressor(l1=0.0, max_cost=2.0, feature_costs=costs).fit(X, y)
    assert np.arange(1.0, 5.0)[dear.support_].sum() <= 2.0


@pytest.mark.parametrize("storage", [sparse.csc_matrix, sparse.csr_matrix])
def test_sparse_gradients_far_off_centre_keep_their_digits(storage):
    # a mean of a million and a spread of a thousandth: far beyond where a mean may be taken off afterwards
    rng = np.random.default_rng(18)
    Z = rng.standard_normal((200, 3))
    X = 1e6 + 1e-3 * Z
    weight = np.full(200, 1.0 / 200.0)
    columns = make_columns(storage(X), weight, center=True, standardize=True)
    residual = rng.standard_normal((200, 1)) / 200.0
    residual -= residual.mean()  # as with an intercept
    apart = X - X[0]
    apart -= apart.mean(axis=0)
    exact = (apart / apart.std(axis=0)).T @ residual
    assert_allclose(columns.gradient(residual), exact, rtol=0.0, atol=1e-10)
    assert_allclose(columns.gradient_of(np.array([2, 0]), residual), exact[[2, 0]], rtol=0.0, atol=1e-10)
