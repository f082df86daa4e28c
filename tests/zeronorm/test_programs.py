"""Column generation ends at the optimum of the full program."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skgraft.grafting.loop import Settings, graft
from skgraft.matrix import make_columns
from skgraft.run import Controls, Monitor
from skgraft.svm.dual_lp import DualLP, ProgramError
from skgraft.svm.machines import InseparableError
from skgraft.svm.margins import all_pairs, one_against_rest, tube, two_classes
from skgraft.zeronorm.column_generation import conclude, fit_program, grow
from skgraft.zeronorm.programs import Program, ProgramModel, _middle

from .full_program import constraints, solve_full, standardized

KINDS = ["two", "rest", "pairs", "tube"]


def machine(kind, seed=0, n_rows=24, n_features=30):
    """Return features and constraints of a small machine."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    score = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n_rows)
    codes = np.digitize(score, [-0.6, 0.6])
    margins = {
        "two": lambda: two_classes(np.where(score > 0.0, 1.0, -1.0)),
        "rest": lambda: one_against_rest(codes[:, None] == np.arange(3)),
        "pairs": lambda: all_pairs(codes, 3),
        "tube": lambda: tube(3.0 * score, 0.2),
    }
    return X, margins[kind]()


def program_of(X, margins, price, cost, *, intercept=True, standardize=True):
    weight = np.full(X.shape[0], 1.0 / X.shape[0])
    columns = make_columns(X, weight, center=intercept, standardize=standardize)
    cost = np.broadcast_to(np.asarray(cost, float), (X.shape[1],)).copy()
    return Program(columns, margins, np.broadcast_to(price, (margins.size,)).astype(float), cost, intercept)


# --- the optimum ---


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l1", [0.3, 0.03, 0.003])
def test_the_optimum_is_that_of_the_full_program(kind, l1):
    X, margins = machine(kind)
    fit = fit_program(program_of(X, margins, 1.0 / 24, l1), Controls())
    expected = solve_full(standardized(X), margins, np.full(margins.size, 1.0 / 24), np.full(30, l1))
    assert_allclose(fit.objective, expected, rtol=1e-8)
    assert fit.certificate.converged
    assert fit.certificate.kkt_violation < 1e-9
    assert fit.certificate.duality_gap < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_without_intercept_too(kind):
    X, margins = machine(kind, seed=1)
    X = X + 0.3
    fit = fit_program(program_of(X, margins, 0.05, 0.05, intercept=False, standardize=False), Controls())
    expected = solve_full(X, margins, np.full(margins.size, 0.05), np.full(30, 0.05), intercept=False)
    assert_allclose(fit.objective, expected, rtol=1e-8)
    assert_array_equal(fit.intercept, 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_columns_give_the_optimum_of_dense_ones(kind):
    X, margins = machine(kind, seed=2)
    X[np.random.default_rng(3).random(X.shape) < 0.7] = 0.0
    for matrix in (X, sp.csr_array(X), sp.csc_matrix(X)):
        fit = fit_program(program_of(matrix, margins, 0.05, 0.02), Controls())
        expected = solve_full(standardized(X), margins, np.full(margins.size, 0.05), np.full(30, 0.02))
        assert_allclose(fit.objective, expected, rtol=1e-8)
        scores = standardized(X) @ fit.weights + fit.intercept
        assert_allclose(margins.slack(scores), fit.slack, atol=1e-9)


@given(st.integers(0, 10**6), st.sampled_from(KINDS), st.floats(-3, 0), st.integers(2, 40), st.integers(1, 50))
def test_any_machine_ends_at_its_optimum(seed, kind, exponent, n_rows, n_features):
    X, margins = machine(kind, seed, n_rows, n_features + 1)
    rng = np.random.default_rng(seed)
    price = rng.exponential(size=margins.size) / n_rows
    cost = 10.0**exponent * rng.exponential(size=n_features + 1)
    fit = fit_program(program_of(X, margins, price, cost, standardize=False), Controls())
    expected = solve_full(X - X.mean(axis=0), margins, price, cost)
    assert_allclose(fit.objective, expected, rtol=1e-8, atol=1e-10)
    assert fit.certificate.converged


def test_optimality_conditions_hold_of_every_column():
    """Written out anew: multipliers in their boxes and balanced, reduced costs, complementary slackness."""
    X, margins = machine("pairs", seed=5)
    program = program_of(X, margins, 0.05, 0.04)
    model = ProgramModel(program)
    assert grow(model, Controls(), Monitor())
    a, (weights, intercept) = model.multipliers, model.coefficients()
    A = constraints(standardized(X), margins)
    n = weights.size
    gradient = A[:, :n].T @ a
    assert a.min() >= 0.0
    assert a.max() <= 0.05 * (1 + 1e-12)
    assert_allclose(A[:, n:].T @ a, 0.0, atol=1e-12)
    assert np.abs(gradient).max() <= 0.04 * (1 + 1e-9)
    used = weights.ravel() != 0.0
    assert 0 < used.sum() < n
    assert_allclose(gradient[used], 0.04 * np.sign(weights.ravel()[used]), rtol=1e-9)
    excess = A @ np.concatenate([weights.ravel(), intercept]) - 1.0
    assert (a[excess > 1e-9] == 0.0).all()
    assert_allclose(a[excess < -1e-9], 0.05, rtol=1e-12)


def test_few_of_many_columns_enter_the_program():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3000))
    sign = np.where(X[:, 0] + X[:, 1] > 0.0, 1.0, -1.0)
    model = ProgramModel(program_of(X, two_classes(sign), 1.0 / 60, 0.1))
    assert grow(model, Controls(), Monitor())
    assert model.n_open < 400


def test_one_feature_at_a_time_comes_to_the_same():
    X, margins = machine("two", seed=4)
    program = program_of(X, margins, 1.0 / 24, 0.02)
    model = ProgramModel(program)
    assert graft(model, Settings(tol=1e-10, select_unit=1), Monitor())
    assert_allclose(model.objective(), fit_program(program, Controls()).objective, rtol=1e-10)


def test_rows_that_no_longer_matter_leave_the_program():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 600))
    sign = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    program = program_of(X, two_classes(sign), 1.0 / 30, 0.2)
    model = ProgramModel(program)
    model.free(np.arange(600))
    model.optimize(0.0, exact=True)
    before = model.objective()
    model.prune(generous=True)
    assert model.n_open < 200
    pivots = model.pivots
    model.free(np.flatnonzero(~model._open)[:1])
    model.optimize(0.0, exact=True)
    assert model.pivots - pivots < 5  # the basis survived
    assert_allclose(model.objective(), before, rtol=1e-12)


# --- other costs and prices ---


def test_a_change_of_costs_ends_where_a_fresh_start_does():
    X, margins = machine("rest", seed=6)
    model = ProgramModel(program_of(X, margins, 1.0 / 24, 0.2))
    rng = np.random.default_rng(0)
    for cost in (np.full(30, 0.2), np.full(30, 0.01), rng.exponential(0.05, 30), np.full(30, 0.1)):
        model.charge(cost)
        model.optimize(0.0, exact=True)
        assert grow(model, Controls(), Monitor())
        fresh = fit_program(program_of(X, margins, 1.0 / 24, cost), Controls())
        assert_allclose(model.objective(), fresh.objective, rtol=1e-9)


def test_where_nothing_falls_short_lower_costs_leave_the_weights():
    X, margins = machine("two", seed=7)
    model = ProgramModel(program_of(X, margins, 1.0, 0.01))
    grow(model, Controls(), Monitor())
    assert model.slack().max() < 1e-9
    weights = model.coefficients()[0]
    assert model.charge(np.full(30, 0.005))
    assert not model.charge(np.full(30, 0.02))
    assert model.charge(np.full(30, 0.01)) is False  # the program waits to be solved
    model.optimize(0.0, exact=True)
    grow(model, Controls(), Monitor())
    assert_allclose(model.coefficients()[0], weights, atol=1e-9)
    model.charge(np.full(30, 0.005))
    fit = conclude(model, Controls(), Monitor().history, finished=True)
    assert fit.certificate.converged
    assert fit.certificate.duality_gap < 1e-12


# --- hard margins ---


@pytest.mark.parametrize("kind", KINDS)
def test_a_hard_margin_is_that_of_the_full_program(kind):
    X, margins = machine(kind, seed=8)
    fit = fit_program(program_of(X, margins, np.inf, 1.0), Controls())
    expected = solve_full(standardized(X), margins, np.full(margins.size, np.inf), np.ones(30))
    assert_allclose(fit.objective, expected, rtol=1e-8)
    assert fit.slack.max() < 1e-8
    assert fit.certificate.converged


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_hard_margin_does_not_depend_on_the_unit_of_the_features(size):
    X, margins = machine("two", seed=8)
    fit = fit_program(program_of(size * X, margins, np.inf, 1.0, standardize=False), Controls())
    expected = solve_full(X - X.mean(axis=0), margins, np.full(margins.size, np.inf), np.ones(30))
    assert_allclose(fit.objective * size, expected, rtol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_separated_is_recognised(kind):
    X, margins = machine(kind, seed=9, n_rows=60, n_features=3)
    assert solve_full(standardized(X), margins, np.full(margins.size, np.inf), np.ones(3)) is None
    with pytest.raises(InseparableError, match="constraints fail"):
        fit_program(program_of(X, margins, np.inf, 1.0), Controls())


def test_a_narrow_gap_is_still_a_gap():
    """Multipliers far beyond the first price: classes 1e-4 apart."""
    x = np.concatenate([np.linspace(-1, -1e-4, 20), np.linspace(1e-4, 1, 20)])
    X = np.column_stack([x, np.random.default_rng(0).normal(size=40)])
    fit = fit_program(program_of(X, two_classes(np.sign(x)), np.inf, 1.0, standardize=False), Controls())
    expected = solve_full(X - X.mean(axis=0), two_classes(np.sign(x)), np.full(40, np.inf), np.ones(2))
    assert_allclose(fit.objective, expected, rtol=1e-7)


def test_some_constraints_may_be_hard_and_others_soft():
    X, margins = machine("two", seed=10, n_rows=40, n_features=8)
    price = np.where(np.arange(40) < 5, np.inf, 0.1)
    fit = fit_program(program_of(X, margins, price, 0.1), Controls())
    assert_allclose(fit.objective, solve_full(standardized(X), margins, price, np.full(8, 0.1)), rtol=1e-8)
    assert fit.slack[:5].max() < 1e-8


# --- ugly input ---


def test_of_copies_one_survives():
    X, margins = machine("two", seed=11)
    alone = fit_program(program_of(X, margins, 1.0 / 24, 0.02), Controls())
    doubled = fit_program(program_of(np.hstack([X, X, -X]), margins, 1.0 / 24, 0.02), Controls())
    assert_allclose(doubled.objective, alone.objective, rtol=1e-10)
    copies = doubled.support.reshape(3, 30).sum(axis=0)
    assert copies.max() == 1
    assert_array_equal(copies > 0, alone.support)


def test_constant_columns_stay_out():
    X, margins = machine("two", seed=12)
    X[:, 5], X[:, 6] = 7.0, 0.0
    fit = fit_program(program_of(X, margins, 1.0 / 24, 0.01), Controls())
    assert not fit.support[[5, 6]].any()
    assert fit.certificate.converged


def test_scales_that_differ_by_many_orders_are_no_trouble_once_standardised():
    X, margins = machine("two", seed=13)
    scale = 10.0 ** np.random.default_rng(0).uniform(-12, 12, 30)
    plain = fit_program(program_of(X, margins, 1.0 / 24, 0.02), Controls())
    scaled = fit_program(program_of(X * scale, margins, 1.0 / 24, 0.02), Controls())
    assert_allclose(scaled.objective, plain.objective, rtol=1e-9)
    assert_array_equal(scaled.support, plain.support)


def test_two_rows_are_enough():
    X = np.array([[0.0, 1.0, 5.0], [1.0, 1.0, 3.0]])
    fit = fit_program(program_of(X, two_classes(np.array([-1.0, 1.0])), np.inf, 1.0), Controls())
    assert_allclose(fit.objective, 1.0)  # standardised, either column is -1 and 1
    assert fit.support.sum() == 1


# --- the walk ---


def test_steps_are_counted_told_and_may_be_stopped():
    X, margins = machine("two", seed=14, n_features=400)
    program = program_of(X, margins, 1.0 / 24, 0.01)
    records = []
    full = fit_program(program, Controls(callback=records.append))
    assert [record.step for record in records] == list(range(1, full.n_iter + 1))
    assert list(full.history) == records
    assert (np.diff(full.history.column("objective")) <= 1e-12).all()
    stopped = fit_program(program, Controls(callback=lambda record: record.step == 1))
    assert stopped.n_iter == 1
    assert not stopped.certificate.converged
    assert stopped.objective >= full.objective
    assert "max_iter=1" in fit_program(program, Controls(max_iter=1)).ending.message


def test_an_interrupted_fit_keeps_its_last_step():
    X, margins = machine("two", seed=14, n_features=400)

    def interrupt(record):
        if record.step == 2:
            raise KeyboardInterrupt

    fit = fit_program(program_of(X, margins, 1.0 / 24, 0.01), Controls(callback=interrupt))
    assert fit.ending.interrupted
    assert fit.n_iter == 2
    assert_allclose(fit.objective, fit.history[-1].objective, rtol=1e-12)


# --- parts ---


def test_the_middle_of_the_best_intercepts_is_found():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(2, 9))
        at, price = rng.normal(size=n), rng.integers(1, 4, n).astype(float)
        sign = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        sign[:2] = 1.0, -1.0
        b = np.linspace(-5, 5, 20001)
        loss = (price[:, None] * np.maximum(0.0, sign[:, None] * (at[:, None] - b))).sum(axis=0)
        best = b[loss <= loss.min() + 1e-9]
        found = _middle(at, price, sign)
        value = (price * np.maximum(0.0, sign * (at - found))).sum()
        assert value <= loss.min() + 1e-12
        if best.size > 5:
            assert_allclose(found, 0.5 * (best[0] + best[-1]), atol=1e-3)


def test_constraints_are_those_of_the_formulas():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(5, 3))
    codes = np.array([0, 2, 1, 1, 0])
    pairs = all_pairs(codes, 3)
    expected = [scores[i, codes[i]] - scores[i, k] for i in range(5) for k in range(3) if k != codes[i]]
    assert_allclose(pairs.of(scores), expected)
    rest = one_against_rest(codes[:, None] == np.arange(3))
    expected = [(1 if codes[i] == k else -1) * scores[i, k] for k in range(3) for i in range(5)]
    assert_allclose(rest.of(scores), expected)
    y = rng.normal(size=5)
    slack = tube(y, 0.1).slack(scores[:, :1])
    assert_allclose(slack[:5] + slack[5:], np.maximum(np.abs(y - scores[:, 0]) - 0.1, 0.0))
    a = rng.random(pairs.size)
    assert_allclose((pairs.spread(a) * scores).sum(), a @ pairs.of(scores))  # the adjoint


def test_a_program_that_cannot_be_solved_says_so():
    master = DualLP(np.ones(2), np.ones(2), sp.csr_array((0, 2)), 1.0)
    master._run = lambda: False
    with pytest.raises(ProgramError, match="standardize=True"):
        master.solve()
