"""Support vector machines of one's own: optimality conditions, agreement with libsvm, compiled and plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.svm import SVC, SVR, LinearSVC

from skgraft.matrix import make_columns
from skgraft.svm import dual, machines
from skgraft.svm.active_set import active_set
from skgraft.svm.design import first_of_each, make_design
from skgraft.svm.dual import Bands, class_bands, dual_violation, initial_state, solve_bands, solve_dual
from skgraft.svm.joint import JointMachine
from skgraft.svm.machines import IndependentMachines, solve_by_rows
from skgraft.svm.primal import Primal


def two_classes(seed, m, n, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    y = np.where(X[:, 0] + noise * rng.standard_normal(m) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def design_of(X):
    return make_design(make_columns(X, np.full(X.shape[0], 1.0 / X.shape[0]), center=True, standardize=False))


SHAPES = [(4, 1), (15, 40), (40, 5), (30, 30), (60, 2)]


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_the_hinge_machine_is_that_of_libsvm(m, n, C):
    X, y = two_classes(m + n, m, n)
    X[3] = X[2]
    solution = solve_dual(X @ X.T, y, C)
    assert solution.violation <= 1e-6
    assert abs(solution.beta.sum()) <= 1e-6 * C
    w = X.T @ solution.beta
    peer = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y)

    def objective(w, b):
        return 0.5 * w @ w + C * np.maximum(0.0, 1.0 - y * (X @ w + b)).sum()

    ours, theirs = objective(w, solution.intercept), objective(peer.coef_[0], peer.intercept_[0])
    assert ours <= theirs * (1.0 + 1e-6)
    assert_allclose(w, peer.coef_[0], atol=1e-3 * max(1.0, np.abs(w).max()))


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_regression_in_a_tube_is_that_of_libsvm(m, n, epsilon):
    X, _ = two_classes(m * n, m, n)
    y = X[:, 0] + 0.3 * np.random.default_rng(1).standard_normal(m)
    bands = Bands(y - epsilon, y + epsilon, np.full(m, 2.0), np.zeros(m))
    solution = solve_bands(X @ X.T, bands)
    assert dual_violation(X @ X.T, bands, solution.beta, solution.intercept) <= 1e-6
    peer = SVR(kernel="linear", C=2.0, epsilon=epsilon, tol=1e-9).fit(X, y)

    def objective(w, b):
        return 0.5 * w @ w + 2.0 * np.maximum(0.0, np.abs(y - X @ w - b) - epsilon).sum()

    ours = objective(X.T @ solution.beta, solution.intercept)
    within = 2.0 * m * max(solution.violation, 1e-9)  # what the violation may cost
    assert ours <= objective(peer.coef_[0], peer.intercept_[0]) + within


@pytest.mark.parametrize(("m", "n"), SHAPES)
def test_the_squared_hinge_is_the_same_in_the_dual_and_in_the_primal(m, n):
    X, y = two_classes(m + 7 * n, m, n)
    design = design_of(X)
    C, z2 = 0.7, np.random.default_rng(0).uniform(0.1, 2.0, n)
    bands = class_bands(y, ridge=0.5 / C)
    beta = solve_bands(design.gram(z2), bands)
    expected = z2 * design.weights(beta.beta)
    for direct in (True, False):
        found = Primal(design.by_rows(), bands, direct=direct).solve(z2, 1e-8)
        assert found.violation <= 1e-6
        assert_allclose(found.weights, expected, atol=1e-5)
        assert_allclose(found.intercept, beta.intercept, atol=1e-5)
        assert_allclose(found.slack, bands.ridge * np.abs(beta.beta), atol=1e-5)


def test_the_squared_hinge_is_that_of_liblinear_but_for_its_penalised_intercept():
    X, y = two_classes(3, 200, 5)
    X -= X.mean(axis=0)
    peer = LinearSVC(C=0.5, tol=1e-10, max_iter=100_000, intercept_scaling=1e4).fit(X, y)
    found = Primal(X, class_bands(y, ridge=1.0), direct=True).solve(np.ones(5), 1e-9)
    assert_allclose(found.weights, peer.coef_[0], rtol=1e-4, atol=1e-5)


def test_a_hard_margin_on_separable_data_separates_with_margin_one():
    X, y = two_classes(0, 20, 50)
    solution = solve_dual(X @ X.T, y)
    margin = y * (X @ (X.T @ solution.beta) + solution.intercept)
    assert margin.min() >= 1.0 - 1e-6
    assert_allclose(margin[solution.beta != 0.0], 1.0, atol=1e-6)


def test_a_hard_margin_on_inseparable_data_has_a_violation_beyond_all_doubt():
    X, y = two_classes(0, 50, 2)
    assert solve_dual(X @ X.T, y).violation > machines.INSEPARABLE


def test_the_state_of_a_solution_is_solved_in_one_pivot():
    X, y = two_classes(5, 30, 60)
    K = X @ X.T
    first = solve_dual(K, y)
    again = solve_dual(K, y, state=first.state)
    assert again.n_pivots == 1
    assert_allclose(again.beta, first.beta)


@pytest.mark.parametrize("seed", range(6))
def test_compiled_pivoting_equals_its_plain_twin(seed):
    pytest.importorskip("skgraft.svm._kernels")
    X, y = two_classes(seed, 25, 30 if seed % 2 else 12)
    K = X @ X.T
    bands = class_bands(y, upper=np.inf if seed < 3 else 0.05, ridge=0.1)
    results = [
        pivot(K, bands, initial_state(bands), bands.pinned, 1e-9) for pivot in (dual.pivot_plain, dual.pivot_compiled)
    ]
    (beta, b, state, _), (beta2, b2, state2, _) = results
    assert_allclose(beta2, beta, atol=1e-9)
    assert_allclose(b2, b, atol=1e-9)
    assert_array_equal(state2, state)


@pytest.mark.parametrize("seed", range(4))
def test_the_active_set_ends_at_the_optimum_that_pivoting_finds(seed):
    X, y = two_classes(seed, 20, 30)
    K = X @ X.T
    bands = class_bands(y, upper=0.03 if seed % 2 else np.inf, ridge=0.05)
    expected = solve_bands(K, bands)
    beta, b, _, _ = active_set(K, bands, initial_state(bands), np.zeros(20), bands.pinned, 1e-9)
    assert_allclose(beta, expected.beta, atol=1e-7)
    assert dual_violation(K, bands, beta, b) <= 1e-7


def test_a_machine_that_cycles_is_still_solved(monkeypatch):
    monkeypatch.setattr(dual, "PIVOTS", 1)
    for seed in range(5):
        X, y = two_classes(seed, 30, 3)
        assert solve_dual(X @ X.T, y, 1.0).violation <= 1e-6


@pytest.mark.parametrize("hard", [True, False])
def test_working_sets_of_rows_give_the_machine_of_all_rows(hard):
    X, _ = two_classes(0, 600, 6)
    y = np.sign(X[:, 0])
    X[:, 0] += 0.2 * y
    design = design_of(X)
    bands = class_bands(y, upper=np.inf if hard else 0.02)
    solution, working = solve_by_rows(design, None, bands, None, 1e-7)
    assert working.size < 600
    whole = solve_bands(design.gram(None), bands)
    assert_allclose(design.weights(solution.beta), design.weights(whole.beta), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("C", [0.05, 5.0])
def test_the_joint_machine_is_the_same_in_the_dual_and_in_the_primal_and_a_minimum(C):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 12))
    codes = np.argmax(X[:, :3] + rng.standard_normal((40, 3)), axis=1)
    design = design_of(X)
    machine = JointMachine(codes, 3, np.full(40, 0.5 / C))
    weights, violation = machine._solve_dual(design, None, 1e-8)
    assert violation <= 1e-7
    other = JointMachine(codes, 3, np.full(40, 0.5 / C))
    primal, violation = other._solve_primal(design, None, 1e-8)
    assert violation <= 1e-7
    assert_allclose(primal, weights, atol=1e-6)
    assert_allclose(other._intercept, machine._intercept, atol=1e-6)

    def objective(W, b):
        f = design.scores(W.T) + b
        slack = np.maximum(0.0, 1.0 - f[np.arange(40), codes][:, None] + f)
        slack[np.arange(40), codes] = 0.0
        return 0.5 * (W**2).sum() + C * (slack**2).sum()

    least = objective(weights, machine._intercept)
    for _ in range(50):
        near = weights + 1e-3 * rng.standard_normal(weights.shape)
        assert objective(near, machine._intercept + 1e-3 * rng.standard_normal(3)) > least


def test_conjugate_gradients_give_the_joint_machine_of_cholesky(monkeypatch):
    from skgraft.svm import joint_primal

    rng = np.random.default_rng(4)
    X = rng.standard_normal((60, 8))
    codes = np.argmax(X[:, :4], axis=1)
    found = []
    for limit in (1200, 0):
        monkeypatch.setattr(joint_primal, "DIRECT", limit)
        machine = JointMachine(codes, 4, np.full(60, 0.5))
        found.append(machine._solve_primal(design_of(X), None, 1e-8)[0])
    assert_allclose(found[1], found[0], atol=1e-6)


def test_the_joint_active_set_agrees_with_pivoting(monkeypatch):
    from skgraft.svm import joint

    rng = np.random.default_rng(4)
    X = rng.standard_normal((24, 40))
    codes = np.argmax(X[:, :3], axis=1)
    expected = JointMachine(codes, 3, np.zeros(24))._solve_dual(design_of(X), None, 1e-8)[0]
    monkeypatch.setattr(joint, "PIVOTS", 0)
    machine = JointMachine(codes, 3, np.zeros(24))
    assert_allclose(machine._solve_dual(design_of(X), None, 1e-8)[0], expected, atol=1e-6)


def test_sparse_features_give_the_machines_of_dense_ones():
    rng = np.random.default_rng(6)
    X = np.where(rng.random((400, 30)) < 0.2, rng.standard_normal((400, 30)), 0.0)
    y = np.where(X[:, 0] + 0.2 * rng.standard_normal(400) > 0, 1.0, -1.0)
    weights = []
    for data in (X, sparse.csr_array(X)):
        machine = IndependentMachines([class_bands(y, ridge=0.5)])
        solution = machine.solve(design_of(data), None, 1e-8)
        weights.append(solution.weights)
    assert_allclose(weights[1], weights[0], atol=1e-6)


def test_copies_up_to_sign_are_found_and_nothing_else():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10, 6))
    X[:, 3], X[:, 5] = X[:, 1], -X[:, 1]
    first = first_of_each(design_of(X))
    assert_array_equal(first, [True, True, True, False, True, False])
    assert first_of_each(design_of(X[:, :3])).all()


@pytest.mark.parametrize("C", [1.0, 1e3, 1e5])
def test_machines_whose_pivots_cycle_are_solved_all_the_same(C):
    """Few features: K is singular, most rows are at the edge or beyond, and pivoting alone cycles."""
    cycled = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(40, 120))
        X = rng.choice([-1.0, 1.0], size=(n, 6)) + 0.1 * rng.normal(size=(n, 6))
        y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) + X[:, 2] > 0.0, 1.0, -1.0)
        K = X @ X.T
        found = solve_dual(K, y, C)
        cycled += found.n_pivots > dual.PIVOTS
        assert found.violation <= 1e-7 * max(1.0, 1e-4 * C)  # scores are sums of β, rounded
        assert abs(found.beta.sum()) <= 1e-12 * np.abs(found.beta).sum()
        slack = np.maximum(1.0 - y * (K @ found.beta + found.intercept), 0.0)
        square = found.beta @ K @ found.beta
        gap = square + C * slack.sum() - np.abs(found.beta).sum()  # of ½||w||² + C Σ slack above its dual
        assert gap <= 1e-6 * np.abs(found.beta).sum()
    assert cycled > 3
