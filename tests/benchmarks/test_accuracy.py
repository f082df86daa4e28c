import numpy as np
import pytest
from benchmarks import _problems
from benchmarks._accuracy import GAP, Judge
from benchmarks._peers import SKGRAFT, estimator
from benchmarks._problems import Model


def lasso_gap(problem, model):
    """Return (primal - dual) / primal at zero, from the textbook's formulas."""
    n, y = problem.n_rows, problem.y - problem.y.mean()
    residual = y - problem.X @ model.coef[0] - (model.intercept[0] - problem.y.mean())
    primal = residual @ residual / (2 * n) + problem.l1 * np.abs(model.coef).sum()
    dual_point = residual - residual.mean()
    dual_point = dual_point * min(1.0, problem.l1 * n / np.abs(problem.X.T @ dual_point).max())
    dual = (y @ y - (y - dual_point) @ (y - dual_point)) / (2 * n)
    return (primal - dual) / (y @ y / (2 * n))


def test_gap_is_the_textbooks():
    problem = _problems.dense("squared", 60, 30).at(0.1)
    rng = np.random.default_rng(0)
    best = estimator(problem, problem.l1).fit(problem.X, problem.y)
    for size in (1e-1, 1e-2, 1e-3):
        model = Model(best.coef_[None] * (1 + size * rng.standard_normal(30)), np.array([best.intercept_ + size]))
        assert Judge(problem).accuracy([model]).gap == pytest.approx(lasso_gap(problem, model), rel=1e-9)


@pytest.mark.parametrize("kind", ["squared", "logistic", "groups", "targets", "multinomial", "classes"])
def test_own_solution_meets_the_common_accuracy_and_a_disturbed_one_does_not(kind):
    if kind == "groups":
        problem = _problems.groups(60, 40, 5, 0.5).at(0.2)
    elif kind in {"squared", "logistic"}:
        problem = _problems.dense(kind, 60, 30).at(0.1)
    else:
        problem = _problems.outputs(kind, 60, 30, 3).at(0.2)
    (model,) = SKGRAFT.fit(problem, 1e-6, 1)()
    judge = Judge(problem)
    assert judge.accuracy([model]).met
    disturbed = judge.accuracy([Model(model.coef * 1.05, model.intercept)])
    assert disturbed.gap > GAP
    assert not disturbed.met


def test_a_wrong_intercept_is_found():
    problem = _problems.dense("logistic", 60, 30).at(0.1)
    (model,) = SKGRAFT.fit(problem, 1e-6, 1)()
    assert not Judge(problem).accuracy([Model(model.coef, model.intercept + 0.1)]).met


def test_a_path_is_as_accurate_as_its_worst_model():
    problem = _problems.dense("squared", 60, 30).along(5, 0.1)
    models = SKGRAFT.fit(problem, 1e-6, 1)()
    judge = Judge(problem)
    assert judge.accuracy(models).met
    spoilt = [*models[:3], Model(models[3].coef * 1.1, models[3].intercept), models[4]]
    assert not judge.accuracy(spoilt).met


def test_numbers_that_are_not_finite_meet_nothing():
    problem = _problems.dense("squared", 60, 30).at(0.1)
    assert not Judge(problem).accuracy([Model(np.full((1, 30), np.nan), np.zeros(1))]).met


@pytest.mark.parametrize("kind", ["squared", "logistic", "groups", "targets", "multinomial", "classes"])
def test_at_the_largest_l1_nothing_is_selected_and_just_below_something_is(kind):
    if kind == "groups":
        problem = _problems.groups(60, 40, 5, 0.5)
    elif kind in {"squared", "logistic"}:
        problem = _problems.dense(kind, 60, 30)
    else:
        problem = _problems.outputs(kind, 60, 30, 3)
    (none,) = SKGRAFT.fit(problem.at(1.0 + 1e-6), 1e-6, 1)()
    (some,) = SKGRAFT.fit(problem.at(0.99), 1e-6, 1)()
    assert not none.coef.any()
    assert some.coef.any()
