"""l1-AROM: every round an exact optimum, the objective of Problem 6 never rising."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from skgraft.matrix import make_columns
from skgraft.svm.design import make_design
from skgraft.svm.machines import InseparableError
from skgraft.svm.margins import all_pairs, one_against_rest, tube, two_classes
from skgraft.zeronorm.l1_rounds import L1Machine, ScaledColumns, l1_rounds
from skgraft.zeronorm.l2_rounds import RoundControls
from skgraft.zeronorm.rounds import EPSILON, feature_size

from .full_program import solve_full, standardized

KINDS = ["two", "rest", "pairs", "tube"]


def machine(kind, seed=0, n_rows=30, n_features=60, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    score = X[:, 0] - X[:, 1] + noise * rng.normal(size=n_rows)
    codes = np.digitize(score, [-0.6, 0.6])
    margins = {
        "two": lambda: two_classes(np.where(score > 0.0, 1.0, -1.0)),
        "rest": lambda: one_against_rest(codes[:, None] == np.arange(3)),
        "pairs": lambda: all_pairs(codes, 3),
        "tube": lambda: tube(score, 0.1),
    }
    return X, margins[kind]()


def columns_of(X):
    return make_columns(X, np.full(X.shape[0], 1.0 / X.shape[0]), center=True, standardize=True)


def run(X, margins, price, **controls):
    return l1_rounds(columns_of(X), margins, np.full(X.shape[0], float(price)), RoundControls(**controls))


def slack_of(X, margins, rounds):
    dense = X.toarray() if sp.issparse(X) else X
    return margins.slack(standardized(dense) @ rounds.weights.T + rounds.intercept)


# --- each step ---


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("price", [0.5, np.inf])
def test_each_step_is_the_optimum_of_its_program(kind, price):
    """The rounds by hand: machine, scales, machine; each against the full program with costs 1/z."""
    X, margins = machine(kind)
    machine_ = L1Machine(margins, np.full(30, price))
    design, Z = make_design(columns_of(X)), standardized(X)
    scale, cost = None, np.ones(60)
    for _ in range(4):
        solution = machine_.solve(design, scale, 1e-6)
        assert solution.violation < 1e-9
        size = feature_size(solution.weights)
        slack = margins.slack(Z[:, design.features] @ solution.weights.T + solution.intercept)
        paid = 0.0 if np.isinf(price) else price * slack.sum()
        prices = np.full(margins.size, price)
        assert_allclose(cost @ size + paid, solve_full(Z[:, design.features], margins, prices, cost), rtol=1e-8)
        alive = size > 1e-8 * size.max()
        design, size = design.keep(alive), size[alive]
        machine_.keep(alive)
        scale, cost = size * size, 1.0 / size


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("price", [0.3, 3.0, np.inf])
@pytest.mark.parametrize("errors", [False, True])
def test_the_objective_of_problem_6_never_rises(kind, price, errors):
    X, margins = machine(kind, seed=1)
    rounds = run(X, margins, price, rescale_errors=errors and np.isfinite(price), retrain=False)
    objective = rounds.history.column("objective")
    start = 1 if errors else 0  # errors are rescaled, and counted by their logarithm, from the second round on
    assert (np.diff(objective[start:]) <= 1e-9 * np.abs(objective[start + 1 :])).all()
    assert rounds.converged
    assert (np.diff(rounds.history.column("n_selected")) <= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_is_the_logarithmic_one(kind):
    X, margins = machine(kind, seed=2)
    rounds = run(X, margins, 1.0, retrain=False)
    by_hand = np.log(EPSILON + feature_size(rounds.weights)).sum() + slack_of(X, margins, rounds).sum()
    assert_allclose(rounds.objective, by_hand, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_machine_that_makes_few_errors_never_makes_more_of_them_pay(kind):
    """p = 1, q = 0: Σ|w| + C Σ ln(ε + slack) falls, and fewer constraints fail than with plain slack."""
    X, margins = machine(kind, seed=3, n_rows=60, n_features=4, noise=1.0)
    machine_ = L1Machine(margins, np.full(60, 0.2))
    design = make_design(columns_of(X))
    values, short = [], []
    for _ in range(12):
        solution = machine_.solve(design, None, 1e-6)
        machine_.rescale_errors()
        slack = np.where(machine_._slack > 0.0, machine_._slack, 0.0)
        values.append(np.abs(solution.weights).sum() + 0.2 * np.log(EPSILON + slack).sum())
        short.append(int((slack > 0.0).sum()))
    assert (np.diff(values) <= 1e-9 * np.abs(values[1:])).all()
    assert short[-1] < short[0]


# --- what comes out ---


@pytest.mark.parametrize("kind", ["two", "rest", "pairs"])
def test_separable_data_are_separated(kind):
    X, margins = machine(kind, seed=4)
    for retrain in (False, True):
        rounds = run(X, margins, np.inf, retrain=retrain)
        assert slack_of(X, margins, rounds).max() < 1e-7
        assert 0 < rounds.alive.size < 30
        assert_array_equal(np.flatnonzero(feature_size(rounds.weights)), rounds.alive)


@pytest.mark.parametrize("kind", ["two", "pairs", "tube"])
def test_the_two_features_that_matter_are_found(kind):
    """Of 300; by one more at most, since rounds end at a local minimum."""
    X, margins = machine(kind, seed=5, n_rows=60, n_features=300, noise=0.0)
    for price in (10.0, np.inf):
        alive = run(X, margins, price).alive
        assert_array_equal(alive[:2], [0, 1])
        assert alive.size <= 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("r", [1, 5, 20, 60])
def test_exactly_as_many_features_as_asked_for(kind, r):
    X, margins = machine(kind, seed=6)
    rounds = run(X, margins, 1.0, n_features_to_select=r)
    assert rounds.alive.size == r
    assert np.unique(rounds.alive).size == r
    assert_array_equal(np.sort(rounds.order), rounds.alive)
    assert not rounds.weights[:, np.setdiff1d(np.arange(60), rounds.alive)].any()


def test_retraining_is_the_plain_machine_on_the_chosen_features():
    X, margins = machine("two", seed=7)
    rounds = run(X, margins, 1.0, n_features_to_select=4)
    value = np.abs(rounds.weights).sum() + slack_of(X, margins, rounds).sum()
    expected = solve_full(standardized(X)[:, rounds.alive], margins, np.ones(30), np.ones(4))
    assert_allclose(value, expected, rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_inseparable_data_are_recognised(kind):
    X, margins = machine(kind, seed=8, n_rows=80, n_features=4, noise=1.0)
    with pytest.raises(InseparableError):
        run(X, margins, np.inf)


def test_chosen_features_that_do_not_separate_warn_and_give_the_least_slack():
    X, margins = machine("two", seed=9, n_rows=40, n_features=80, noise=1.0)
    with pytest.warns(ConvergenceWarning, match="do not separate"):
        rounds = run(X, margins, np.inf, n_features_to_select=1)
    # the least slack of any machine on that feature
    least = solve_full(standardized(X)[:, rounds.alive], margins, np.ones(40), np.zeros(1))
    assert_allclose(slack_of(X, margins, rounds).sum(), least, rtol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_columns_choose_what_dense_ones_do(kind):
    X, margins = machine(kind, seed=10)
    X[np.random.default_rng(0).random(X.shape) < 0.6] = 0.0
    dense, sparse = run(X, margins, 2.0), run(sp.csr_array(X), margins, 2.0)
    assert_array_equal(sparse.alive, dense.alive)
    assert_allclose(sparse.weights, dense.weights, atol=1e-8)
    assert_allclose(slack_of(X, margins, sparse), slack_of(X, margins, dense), atol=1e-7)


def test_of_copies_one_survives_and_constants_do_not():
    X, margins = machine("two", seed=11)
    X = np.hstack([X, X[:, :2], -X[:, :2], np.full((30, 1), 5.0)])
    alone = run(X[:, :60], margins, np.inf)
    rounds = run(X, margins, np.inf)
    assert_array_equal(np.unique(np.where(rounds.alive >= 60, rounds.alive % 2, rounds.alive)), alone.alive)
    assert rounds.alive.size == alone.alive.size
    assert 64 not in rounds.alive


def test_two_rows_are_enough():
    X = np.array([[0.0, 1.0, 2.0], [1.0, 1.0, 5.0]])
    rounds = run(X, two_classes(np.array([-1.0, 1.0])), np.inf)
    assert rounds.alive.size == 1
    assert_allclose(np.abs(rounds.weights).max(), 1.0)


def test_a_callback_ends_the_rounds():
    X, margins = machine("two", seed=12)
    rounds = run(X, margins, np.inf, callback=lambda record: record.step == 2)
    assert len(rounds.history) == 2
    assert not rounds.converged


@pytest.mark.parametrize("matrix", [np.asarray, sp.csr_array])
def test_scaled_columns_are_columns_times_scales(matrix):
    X, _ = machine("two", seed=13)
    columns = columns_of(matrix(X))
    design = make_design(columns)
    scale = np.random.default_rng(0).exponential(size=60)
    scaled = ScaledColumns(design, scale)
    plain = design.rows.T if isinstance(X, np.ndarray) and matrix is np.asarray else design.X.toarray()
    r = np.random.default_rng(1).normal(size=(30, 2))
    assert_allclose(scaled.gradient(r), (plain * scale).T @ r)
    block = scaled.block()
    block.append(np.array([3, 50]))
    w = np.array([[1.0], [-2.0]])
    assert_allclose(block.scores(w)[:, 0], plain[:, 3] * scale[3] - 2.0 * plain[:, 50] * scale[50])
