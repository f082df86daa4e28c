"""Limits hold, and every fit and every point of a path is optimal for its features, whatever else is set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from skgraft import GraftClassifier, GraftClassifierCV, GraftRegressor, GraftRegressorCV, graft_path
from skgraft.criterion.certificate import GLOBAL, NO_MOVE, NOT_CONVERGED, NOT_STATIONARY, WEIGHTS
from skgraft.grafting.linear.model import LinearModel
from skgraft.grafting.loop import expected_change

CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
LOSSES = ("squared", "logistic", "huber", "poisson", "squared_hinge", "multinomial", "several")
NEARER = 1e-8  # of the empty model's criterion: two criteria nearer than this are equal


class Case:
    """A small random problem: data, an estimator's class and its parameters."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(12, 40)), int(rng.integers(3, 9))
        self.X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.6 * rng.normal(size=(p, p)))
        f = self.X @ rng.normal(size=p) + rng.normal(size=n)
        f /= f.std()
        loss = str(rng.choice(LOSSES))
        self.kind: Any = GraftRegressor if loss in {"squared", "huber", "poisson", "several"} else GraftClassifier
        self.y = self._target(rng, loss, f)
        self.options: dict[str, Any] = {"loss": "squared" if loss == "several" else loss, "random_state": 0}
        self._penalties(rng, p)
        self._manners(rng)

    def _target(self, rng: np.random.Generator, loss: str, f: np.ndarray) -> np.ndarray:
        if loss in {"squared", "huber"}:
            return f + (rng.standard_t(1.5, f.size) if loss == "huber" else 0.0)
        if loss == "several":
            return np.column_stack([f, f[::-1] + self.X[:, 0]])
        if loss == "poisson":
            return 1.0 + rng.poisson(np.exp(np.clip(f, -3.0, 3.0)))
        if loss == "multinomial":
            return np.digitize(f, np.quantile(f, [0.33, 0.66]))
        y = (f + rng.normal(size=f.size) > 0.0).astype(int)
        y[:2] = [0, 1]
        return y

    def _penalties(self, rng: np.random.Generator, p: int) -> None:
        options, n_bags = self.options, p
        options["l1"] = float(rng.choice([0.0, 0.01, 0.05, 0.2]))
        options["l2"] = float(rng.choice([1e-3, 0.05]))
        if rng.random() < 0.5:
            options["groups"] = rng.integers(0, max(2, p // 2), p)
            options["group_l1"] = float(rng.choice([0.0, 0.0, 0.1]))
            n_bags = np.unique(options["groups"]).size
        if rng.random() < 0.6:
            options["feature_costs"] = rng.choice([0.1, 0.2, 0.5, 1.0, 2.0], n_bags)
        limited = int(rng.integers(0, 4))
        if limited in {0, 2}:
            options["max_features"] = int(rng.integers(1, p + 1))
        if limited in {1, 2}:
            options["max_cost"] = float(rng.choice([0.3, 0.6, 1.0, 2.0, 3.0]))
        if rng.random() < 0.4 or limited == 3:
            options["l0"] = float(rng.choice([0.005, 0.02, 0.1]))
        if rng.random() < 0.4:
            most = min(3, options.get("max_features", p))
            options["keep"] = np.sort(rng.permutation(p)[: int(rng.integers(1, most + 1))])

    def _manners(self, rng: np.random.Generator) -> None:
        efforts = ["full", "full", "light", "newest", "batch", "gauss_seidel"]
        self.options |= {
            "effort": str(rng.choice(efforts)),
            "polish": [True, True, False, "thorough"][int(rng.integers(0, 4))],
            "select_unit": ["auto", "auto", 1, 3][int(rng.integers(0, 4))],
            "on_increase": str(rng.choice(["stop", "next"])),
            "positive": bool(rng.random() < 0.2),
        }

    def fit(self, **changes: Any) -> Any:
        """Return the fitted estimator."""
        return self.kind(**{**self.options, **changes}).fit(self.X, self.y)

    @property
    def null(self) -> float:
        """The size of the empty model's criterion."""
        free = {"l0": 0.0, "group_l1": 0.0, "max_features": None, "max_cost": None, "keep": None, "effort": "full"}
        return abs(self.fit(l1=1e6, **free).objective_)

    def check(self) -> None:
        """Check what is true of every fit."""
        model, options = self.fit(), self.options
        kept = np.isin(np.arange(self.X.shape[1]), options.get("keep", []))
        assert (model.support_ == (kept | (np.atleast_2d(model.coef_) != 0.0).any(axis=0))).all()
        assert model.support_.sum() <= options.get("max_features", np.inf)
        assert model.total_cost_ <= options.get("max_cost", np.inf) * (1.0 + 1e-12)
        assert model.certificate_.converged or model.certificate_.scope == NOT_STATIONARY
        assert options["effort"] == "newest" or model.certificate_.converged


@pytest.mark.parametrize("seeds", [range(first, first + 25) for first in range(0, 150, 25)], ids=str)
def test_limits_are_never_exceeded_and_every_fit_is_stationary(seeds):
    for seed in seeds:
        Case(seed).check()


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(first, first + 500) for first in range(200, 10_200, 500)], ids=str)
def test_limits_are_never_exceeded_in_ten_thousand_cases(seeds):
    for seed in seeds:
        Case(seed).check()


def reported() -> tuple[np.ndarray, np.ndarray]:
    """Return data on which open weights at zero came back after their room was given away."""
    rng = np.random.default_rng(172)
    X = rng.normal(size=(30, 6)) @ (np.eye(6) + 0.6 * rng.normal(size=(6, 6)))
    return X, X @ rng.normal(size=6) + rng.normal(size=30)


@pytest.mark.parametrize("polish", [False, True, "thorough"])
def test_a_weight_that_comes_back_counts(polish):
    options = {"l1": 0.1, "groups": [0, 0, 0, 1, 1, 2], "polish": polish, "random_state": 0}
    assert GraftRegressor(max_features=3, **options).fit(*reported()).support_.sum() <= 3


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_a_kept_feature_brings_the_rest_of_its_bag_only_where_it_fits(limit):
    options = {"l1": 0.1, "groups": [0, 0, 0, 1, 1, 2], "group_l1": 0.1, "keep": [0]}
    model = GraftRegressor(max_features=limit, **options).fit(*reported())
    assert model.support_[0]
    assert model.support_.sum() <= limit
    assert model.certificate_.converged
    assert model.support_[1:3].any() == (limit >= 3)


def test_kept_features_beyond_the_limit_are_refused():
    with pytest.raises(ValueError, match=r"max_features=1 .*keep"):
        GraftRegressor(keep=[0, 1], max_features=1).fit(*reported())


def test_kept_features_cost_nothing():
    X, y = reported()
    model = GraftRegressor(l1=0.0, keep=[0, 1], feature_costs=[5.0, 5.0, 1.0, 1.0, 1.0, 1.0], max_cost=1.0).fit(X, y)
    assert model.support_[:2].all()
    assert model.support_.sum() == 3
    assert model.total_cost_ == 1.0


def test_a_budget_can_be_met_exactly():
    X, y = reported()  # 0.1 + 0.2 is above 0.3 in floating point
    model = GraftRegressor(l1=0.0, feature_costs=[0.1, 0.2, 1.0, 1.0, 1.0, 1.0], max_cost=0.3).fit(X, y)
    assert model.support_.tolist() == [True, True, False, False, False, False]
    assert model.certificate_.converged


# -- optimal weights along every path ------------------------------------------------------------------------------


def logistic(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 15))
    return X, (X[:, :6] @ rng.normal(size=6) + rng.normal(size=100) > 0.0).astype(int)


@pytest.mark.parametrize("options", [{"max_features": 4}, {"max_features": 4, "effort": "light"}, {"l0": 0.01}])
def test_every_point_of_a_limited_path_is_the_separate_fit(options):
    X, y = logistic()
    path = graft_path(X, y, n_values=8, **options)
    for point in path:
        alone = GraftClassifier(l1=point.l1, **options).fit(X, y)
        assert point.certificate.converged
        assert point.objective <= alone.objective_ + NEARER * np.log(2.0)


WAYS = ("l1s", "sizes", "costs", "l0s")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(300, 304))
def test_no_point_of_a_path_is_worse_than_a_separate_fit(way, seed):
    case = Case(seed)
    parameter = {"l1s": "l1", "sizes": "max_features", "costs": "max_cost", "l0s": "l0"}[way]
    options = {name: value for name, value in case.options.items() if name != parameter}
    options["effort"] = "full" if options["effort"] == "newest" else options["effort"]
    first = max(1, np.size(options.get("keep", [])))
    values = {
        "l1s": [0.02, 0.1, 0.4],
        "sizes": range(first, case.X.shape[1]),
        "costs": [0.2, 1.0, 3.0],
        "l0s": [0, 0.1],
    }
    path = graft_path(case.X, case.y, **{way: list(values[way])}, **options)
    for point in path:
        alone = case.fit(**options, **{parameter: getattr(point, parameter)})
        assert point.certificate.converged
        assert point.objective <= alone.objective_ + NEARER * case.null
        assert point.features.size <= options.get("max_features", np.inf)
    if way in {"sizes", "costs"}:
        assert (np.diff(path.objectives) <= NEARER * case.null).all()


def test_sizes_of_a_path_are_no_worse_than_separate_fits():
    path = graft_path(*CANCER, l1=0.001, sizes=range(1, 6))
    for point in path:
        alone = GraftClassifier(l1=0.001, max_features=point.max_features).fit(*CANCER)
        assert point.objective <= alone.objective_ + NEARER


def test_points_that_do_not_converge_warn():
    with pytest.warns(ConvergenceWarning, match="points of the path"):
        graft_path(*CANCER, l1s=[0.001], max_iter=1)


@pytest.mark.parametrize("seed", range(400, 408))
def test_a_warm_start_ends_where_a_cold_one_does_or_lower(seed):
    case = Case(seed)
    effort = "full" if case.options["effort"] == "newest" else case.options["effort"]
    cold = case.fit(effort=effort)
    warm = case.fit(effort=effort, l1=3.0 * case.options["l1"] + 0.01, warm_start=True)
    warm.set_params(l1=case.options["l1"]).fit(case.X, case.y)
    assert warm.objective_ <= cold.objective_ + NEARER * case.null
    assert warm.certificate_.converged


def test_cross_validation_chooses_as_separate_fits_would():
    X, y = logistic(3)
    cv = KFold(4, shuffle=True, random_state=0)
    model = GraftClassifierCV(n_l1s=10, max_features=4, cv=cv, scoring="neg_log_loss").fit(X, y)
    scores = np.array(
        [
            [
                _log_loss(GraftClassifier(l1=l1, max_features=4).fit(X[train], y[train]), X[test], y[test])
                for train, test in cv.split(X)
            ]
            for l1 in model.l1_path_
        ]
    )
    assert_allclose(-model.cv_scores_, scores, rtol=1e-5)
    assert model.best_index_ == int(np.argmin(scores.mean(axis=1)))


def _log_loss(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    return -float(np.log(model.predict_proba(X)[np.arange(y.size), y]).mean())


# -- what a path goes along ----------------------------------------------------------------------------------------


def test_a_path_along_l2_is_that_of_ridge_regression():
    X, y = DIABETES
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    path = graft_path(X, y, l2s=[1.0, 1e-3, 100.0])
    assert path.l2s.tolist() == [100.0, 1.0, 1e-3]
    assert (path.coefs != 0.0).all()
    for i, l2 in enumerate(path.l2s):
        ridge = Ridge(alpha=2.0 * l2 * y.size).fit(scaled, y)
        assert_allclose(path.coef(i)[0] * X.std(axis=0), ridge.coef_, rtol=1e-4, atol=1e-6)
        assert path.estimator(i).l2 == l2


def test_a_path_along_costs_keeps_to_each_budget():
    prices = np.where(np.arange(10) < 5, 1.0, 3.0)
    path = graft_path(*DIABETES, costs=[6.0, 2.0, 4.0], feature_costs=prices)
    assert [point.max_cost for point in path] == [2.0, 4.0, 6.0]
    assert (path.total_costs <= [2.0, 4.0, 6.0]).all()
    assert (np.diff(path.objectives) <= 0.0).all()


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        ({"l1s": [1.0], "l1": 1.0}, "l1 must not"),
        ({"l1": 1.0}, "l1 must not"),
        ({"sizes": [2], "max_features": 3}, "max_features must not"),
        ({"costs": [2], "max_cost": 3}, "max_cost must not"),
        ({"l2s": [2], "l2": 3}, "l2 must not"),
        ({"sizes": [1, 2], "keep": [0, 1]}, "at least 2.*keep"),
        ({"sizes": [0, 2]}, "at least 1"),
        ({"costs": [-1.0]}, "costs"),
    ],
)
def test_what_a_path_goes_along_is_given_once(arguments, culprit):
    with pytest.raises(ValueError, match=culprit):
        graft_path(*CANCER, **arguments)


def test_cross_validation_refuses_l1_beside_l1s():
    with pytest.raises(ValueError, match="l1 and l1s"):
        GraftRegressorCV(l1=0.1, l1s=[0.1, 0.2]).fit(*DIABETES)


def test_sizes_and_l1s_are_chosen_together():
    X, y = DIABETES
    cv = KFold(3)
    model = GraftRegressorCV(l0="auto", l1s=[5.0, 0.5], max_features=3, cv=cv).fit(X, y)
    assert model.size_path_.tolist() == [1, 1, 2, 2, 3, 3]
    assert model.l1_path_.tolist() == [5.0, 0.5] * 3
    for value, (size, l1) in enumerate(zip(model.size_path_, model.l1_path_, strict=True)):
        alone = GraftRegressor(l1=l1, max_features=size)
        scores = [alone.fit(X[train], y[train]).score(X[test], y[test]) for train, test in cv.split(X)]
        assert_allclose(model.cv_scores_[value], scores, rtol=1e-7)
    best = int(np.argmax(model.mean_scores_))
    assert (model.l1_, model.support_.sum()) == (model.l1_path_[best], model.size_path_[best])


def test_sizes_begin_with_the_kept_features():
    model = GraftRegressorCV(l0="auto", keep=[0, 1, 5], max_features=5, cv=3).fit(*DIABETES)
    assert model.size_path_.tolist() == [3, 4, 5]
    assert model.support_[[0, 1, 5]].all()


# -- what is certified ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "scope"),
    [
        ({"l1": 0.05}, GLOBAL),
        ({"l1": 0.05, "max_features": 25}, GLOBAL),
        ({"l1": 0.01, "max_features": 2}, NO_MOVE),
        ({"l1": 0.01, "max_features": 2, "polish": False}, WEIGHTS),
        ({"l1": 0.01, "l0": 0.01}, NO_MOVE),
        ({"l1": 0.01, "effort": "newest"}, NOT_STATIONARY),
        ({"l1": 0.01, "effort": "newest", "max_features": 4, "polish": False}, NOT_STATIONARY),
    ],
)
def test_a_certificate_says_what_is_certified(options, scope):
    assert GraftClassifier(**options).fit(*CANCER).certificate_.scope == scope


def test_a_fit_that_ended_early_certifies_nothing():
    with pytest.warns(ConvergenceWarning):
        model = GraftClassifier(l1=1e-3, max_iter=1).fit(*CANCER)
    assert model.certificate_.scope == NOT_CONVERGED


# -- polish and eq. 9 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_no_swap_of_single_features_helps_where_their_number_binds(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 8)) @ (np.eye(8) + 0.6 * rng.normal(size=(8, 8)))
    y = X @ rng.normal(size=8) + rng.normal(size=40)
    options = {"groups": [0, 0, 0, 0, 1, 1, 1, 2], "keep": [0] if seed % 2 else None}
    model = GraftRegressor(l1=0.0, max_features=3, **options).fit(X, y)
    inside, outside = np.flatnonzero(model.support_), np.flatnonzero(~model.support_)
    assert inside.size == 3
    for i in inside[1:] if seed % 2 else inside:
        for j in outside:
            swapped = np.append(inside[inside != i], j)
            A = np.column_stack([X[:, swapped], np.ones(40)])
            residual = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
            assert 0.5 * np.mean(residual**2) >= model.objective_ * (1.0 - 1e-9)


def test_the_first_choice_weighs_price_and_ridge_as_eq_9_does():
    rng = np.random.default_rng(5)
    firsts = set()
    for _ in range(30):
        X = rng.normal(size=(50, 6))
        y = X @ rng.normal(size=6) + rng.normal(size=50)
        cost, a, l0, l2 = rng.uniform(0.2, 3.0, 6), rng.uniform(0.1, 2.0, 6), 0.2, 0.3
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        kkt_excess = np.abs(Z.T @ (y - y.mean())) / 50
        size = kkt_excess.max()  # with no weight yet, the largest Newton step bounds the next one
        change = l0 * cost - size * np.maximum(kkt_excess - l2 * a * size, 1e-12 * kkt_excess)
        options = {"l1": 0.0, "l0": l0, "l2": l2, "feature_costs": cost, "penalty_weights": a}
        model = GraftRegressor(polish=False, **options)
        empty = LinearModel(model._problem(X, y, None))
        assert_allclose(expected_change(empty, empty.gradient_test()), change, rtol=1e-9)
        first = model.fit(X, y).history_[0].feature
        assert first == np.argmin(change)
        firsts.add((first == np.argmax(kkt_excess), first == np.argmin(l0 * cost - size * kkt_excess)))
    assert len(firsts) > 1  # price and ridge decided some of them


@pytest.mark.parametrize("seed", [1, 20, 36, 50, 55])
def test_a_norm_over_single_features_is_an_l1_norm(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 6)) @ (np.eye(6) + 0.6 * rng.normal(size=(6, 6)))
    y = X @ rng.normal(size=6) + rng.normal(size=30)
    options = {"l2": 1e-3, "max_features": 2, "penalty_weights": np.where(rng.random(6) < 0.4, 0.0, 1.0)}
    norm = GraftRegressor(l1=0.0, group_l1=0.05, **options).fit(X, y)
    assert_allclose(norm.objective_, GraftRegressor(l1=0.05, **options).fit(X, y).objective_, rtol=1e-9)


# -- the history ---------------------------------------------------------------------------------------------------


def test_the_history_tells_what_came_in_and_what_it_took():
    model = GraftClassifier(l1=0.01).fit(*CANCER)
    assert len(repr(model.history_)) < 100
    assert "\n" not in repr(model.history_)
    assert (np.diff(model.history_.column("gradient_evaluations")) >= 0).all()
    assert model.history_[-1].gradient_evaluations > 1
    came_in = {feature for record in model.history_ for feature in record.features}
    assert set(np.flatnonzero(model.support_)) <= came_in
    for record in model.history_:
        assert record.feature in record.features if record.features else record.feature == -1
    frame = model.history_.to_frame()
    assert {"step", "feature", "features", "gradient", "objective", "n_selected", "cost", "seconds"} <= set(frame)
    assert frame["features"].map(tuple).tolist() == [record.features for record in model.history_]


def test_one_by_one_each_record_names_its_feature():
    model = GraftRegressor(l1=0.0, max_features=4, polish=False).fit(*DIABETES)
    assert [record.features for record in model.history_] == [(feature,) for feature in model.order_]
