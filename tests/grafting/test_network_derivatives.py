"""Derivatives of networks agree with finite differences, for every loss and every kind of candidate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgraft.criterion import LOSSES, make_loss
from skgraft.grafting.network.candidates import closed_derivatives
from skgraft.grafting.network.curvature import Rows, second_derivatives
from skgraft.grafting.network.descent import Descent, evaluate, loss_gradient, penalty_of
from skgraft.grafting.network.problem import NetworkProblem
from skgraft.grafting.network.trial import Trials, _look
from skgraft.grafting.network.weighing import _surroundings, gains
from skgraft.grafting.network.wiring import Network, add_unit, connect, fully_connected, pack, pruned, slopes, unpack
from skgraft.grafting.orthant import pseudo_gradient
from skgraft.grafting.target import Target
from skgraft.matrix import make_columns
from skgraft.prices import resolve_prices

# loss, number of outputs, whether output weights are free
CASES = [
    ("logistic", 1, False),
    ("logistic", 1, True),
    ("logistic", 3, False),
    ("squared_hinge", 1, False),
    ("squared_hinge", 3, True),
    ("multinomial", 3, False),
    ("multinomial", 3, True),
    ("squared", 1, False),
    ("squared", 1, True),
    ("huber", 1, False),
    ("huber", 1, True),
    ("poisson", 1, False),
    ("poisson", 1, True),
]
cases = pytest.mark.parametrize(("loss", "n_outputs", "free"), CASES)


def test_every_loss_is_looked_at():
    assert {loss for loss, _, _ in CASES} == set(LOSSES)


def targets(loss, n, n_outputs, rng):
    if loss == "multinomial":
        return np.eye(n_outputs)[rng.integers(0, n_outputs, n)]
    if loss in {"logistic", "squared_hinge"}:
        return rng.choice([-1.0, 1.0], (n, n_outputs))
    if loss == "poisson":
        return rng.poisson(1.5, (n, n_outputs)).astype(float)
    return rng.normal(size=(n, n_outputs))


def problem_for(loss, n_outputs, *, free, n=60, p=5, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * rng.uniform(0.5, 2.0, p) + rng.normal(size=p)
    weight = rng.uniform(0.2, 2.0, n)
    weight /= weight.sum()
    prices = resolve_prices(
        groups=None, feature_costs=None, keep=None, max_features=None, max_cost=None, n_features=p, names=None
    )
    columns = make_columns(X, weight, center=True, standardize=True)
    target = Target(make_loss(loss), targets(loss, n, n_outputs, rng), weight, True)
    return NetworkProblem(columns, target, prices, np.ones(p), output_l2=0.02 if free else None, **options)


def network_for(problem, seed=1):
    """Return a network of four units with some connections, at weights where nothing is special."""
    rng = np.random.default_rng(seed)
    n_outputs = problem.target.n_outputs
    net = Network.empty(0.3 * rng.normal(size=n_outputs))
    for u, features in enumerate([(0, 2), (1,), (2, 3, 0), (3,)]):
        owner = u % n_outputs
        v = rng.normal(size=n_outputs) if problem.free_outputs else np.eye(n_outputs)[owner]
        net = add_unit(net, owner, v)
        for feature in features:
            net = connect(net, u, feature, rng.normal())
    return replace(net, c=rng.normal(size=net.n_units))


def loss_of(problem, net):
    return problem.target.value(evaluate(problem, net, problem.rows(net.features)).f)


def central(function, theta, step=1e-5):
    out = []
    for k in range(theta.size):
        e = np.zeros(theta.size)
        e[k] = step
        out.append((function(theta + e) - function(theta - e)) / (2.0 * step))
    return np.array(out)


@cases
def test_the_gradient_of_free_weights_is_that_of_finite_differences(loss, n_outputs, free):
    problem = problem_for(loss, n_outputs, free=free)
    net = network_for(problem)
    rows = problem.rows(net.features)
    found = loss_gradient(problem, evaluate(problem, net, rows), rows)
    theta = pack(net, outputs=free)
    wanted = central(lambda t: loss_of(problem, unpack(net, t, outputs=free)), theta)
    assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)


@cases
def test_the_hessian_is_that_of_finite_differences(loss, n_outputs, free):
    problem = problem_for(loss, n_outputs, free=free)
    net = network_for(problem)
    rows = problem.rows(net.features)
    point, target = evaluate(problem, net, rows), problem.target
    residual = target.residual(point.f)
    rise, back = slopes(net, point.a, residual)
    curvature = target.loss.curvature(point.f, target.y, target.weight)
    hessian, gauss_newton = second_derivatives(net, Rows(rows, point.a, rise, back, residual, curvature), outputs=free)

    def slope(theta):
        return loss_gradient(problem, evaluate(problem, unpack(net, theta, outputs=free), rows), rows)

    wanted = central(slope, pack(net, outputs=free))
    assert_allclose(hessian, wanted, rtol=1e-5, atol=1e-7)
    assert np.linalg.eigvalsh(gauss_newton).min() > -1e-10


@cases
def test_the_derivative_of_every_candidate_is_that_of_finite_differences(loss, n_outputs, free):
    problem = problem_for(loss, n_outputs, free=free)
    net = network_for(problem)
    point = evaluate(problem, net, problem.rows(net.features))
    closed = closed_derivatives(problem, point)
    p, step = problem.columns.n_columns, 1e-5
    present = set(zip(net.unit.tolist(), net.feature.tolist(), strict=True))
    kkt_excess = closed.kkt_excess()

    def with_weight(row, feature, w):
        if row < net.n_units:
            return connect(net, row, feature, w)
        return connect(add_unit(net, *closed.outputs(row, feature)), net.n_units, feature, w)

    kinds = set()
    for row in range(net.n_units + closed.n_new):
        for feature in range(p):
            if (row, feature) in present:
                continue
            ends = [loss_of(problem, with_weight(row, feature, sign * step)) for sign in (1.0, -1.0)]
            derivative = (ends[0] - ends[1]) / (2.0 * step)
            assert_allclose(kkt_excess[row, feature], abs(derivative), rtol=1e-5, atol=1e-8)
            kinds.add(row < net.n_units)
    assert kinds == {True, False}  # connections to units that are there, and new units


def test_a_new_unit_carries_the_slope_of_g_at_zero():
    problem = problem_for("squared", 1, free=False)
    target = problem.target
    point = evaluate(problem, Network.empty(target.loss.start(target.y, target.weight)), np.empty((0, 60)))
    linear = problem.columns.gradient(target.residual(point.f))[:, 0]
    assert_allclose(closed_derivatives(problem, point).units[0], 0.5 * linear, rtol=1e-12)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_even_candidates_are_weighed_by_the_derivative_towards_a_pair_of_opposite_units(n_outputs):
    """g(w(x-t)) - g(w(x+t)) has no slope at w = 0; its even part is found by x² - 1."""
    problem = problem_for("squared" if n_outputs == 1 else "multinomial", n_outputs, free=False, quadratic=True)
    net = network_for(problem)
    point = evaluate(problem, net, problem.rows(net.features))
    residual = problem.target.residual(point.f)
    x = problem.rows(np.arange(5))
    assert_allclose(closed_derivatives(problem, point).even, 0.5 * (residual.T @ (x**2 - 1.0).T), atol=1e-12)


# --- trials ---


@cases
def test_trials_see_the_criterion_and_its_derivatives(loss, n_outputs, free):
    problem = replace(problem_for(loss, n_outputs, free=free), l1=0.01, l2=0.02)
    net = network_for(problem)
    rows = problem.rows(net.features)
    point = evaluate(problem, net, rows)
    closed = closed_derivatives(problem, point)
    units = np.array([1 * 5 + 4, net.n_units * 5 + 1])  # a connection and a unit
    row, feature = np.divmod(units, 5)
    z, along = _surroundings(problem, point, rows, closed, row, feature)
    ones = np.ones(2)
    trials = Trials(problem.rows(feature), z, along, np.zeros((2, 3)), 0.01 * ones, 0.02 * ones)
    at = np.array([[0.7, -0.2, 0.1], [-1.1, 0.4, -0.3]])
    value, slope, bend = _look(trials, at)
    base = along.value(np.tanh(0.5 * z))
    for k in range(2):

        def network_at(p, k=k):
            if row[k] < net.n_units:
                grown, u = connect(net, row[k], feature[k], p[0]), row[k]
            else:
                grown = connect(add_unit(net, *closed.outputs(row[k], feature[k])), net.n_units, feature[k], p[0])
                u = net.n_units
            c = grown.c.copy()
            c[u] += p[1]
            v = grown.v[u] if closed.shared else np.eye(n_outputs)[grown.owner[u]] * grown.v[u, grown.owner[u]]
            return replace(grown, c=c, b=grown.b + p[2] * v)

        rise = value[k] - base[k] - 0.01 * abs(at[k, 0]) - 0.02 * at[k, 0] ** 2
        assert_allclose(rise, loss_of(problem, network_at(at[k])) - loss_of(problem, net), rtol=1e-9, atol=1e-12)
        assert_allclose(slope[k], central(lambda p: loss_of(problem, network_at(p)), at[k]), rtol=1e-5, atol=1e-8)

        def slope_at(p, k=k):
            return _look(trials.take(np.array([k])), p[None])[1][0]

        assert_allclose(bend[k], central(slope_at, at[k]), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("loss", "n_outputs"), [("logistic", 1), ("squared", 1), ("multinomial", 3)])
def test_a_trial_ends_where_no_small_change_of_its_three_weights_helps(loss, n_outputs):
    problem = replace(problem_for(loss, n_outputs, free=False), l1=0.001)
    net = network_for(problem)
    rows = problem.rows(net.features)
    point = evaluate(problem, net, rows)
    closed = closed_derivatives(problem, point)
    units = np.arange(net.n_units * 5, (net.n_units + closed.n_new) * 5)
    units = units[closed.kkt_excess().ravel()[units] > 0.002]
    found, gain = gains(problem, point, rows, closed, units, 1e-12)
    assert units.size
    assert (gain > 0.0).all()
    row, feature = np.divmod(units, 5)
    z, along = _surroundings(problem, point, rows, closed, row, feature)
    trials = Trials(problem.rows(feature), z, along, found, np.full(units.size, 0.001), np.zeros(units.size))
    slope = _look(trials, found)[1]
    slope[:, 0] += 0.001 * np.sign(found[:, 0])
    moved = found[:, 0] != 0.0
    assert np.abs(slope[moved]).max() < 1e-5


# --- descent and wiring ---


@cases
def test_descent_lowers_the_criterion_to_a_point_without_slope(loss, n_outputs, free):
    problem = replace(problem_for(loss, n_outputs, free=free), l1=0.002, l2=0.01)
    net = network_for(problem)
    rows = problem.rows(net.features)
    point = evaluate(problem, net, rows)
    descent = Descent(problem)
    for _ in range(12):
        moved = descent.run(point, rows, 10, 0.0)
        assert moved.value <= point.value
        point = moved
    slope = pseudo_gradient(
        loss_gradient(problem, point, rows), pack(point.net, outputs=free), penalty_of(problem, point.net)
    )
    assert np.abs(slope).max() < 1e-6


def test_limited_memory_arrives_where_newton_does(monkeypatch):
    problem = replace(problem_for("multinomial", 3, free=True), l1=0.002, l2=0.02)
    net = network_for(problem)
    rows = problem.rows(net.features)
    ends = []
    for largest in (400, 0):
        monkeypatch.setattr("skgraft.grafting.network.descent.NEWTON_LARGEST", largest)
        point = evaluate(problem, net, rows)
        for _ in range(30):
            point = Descent(problem).run(point, rows, 10, 0.0)
        slope = pseudo_gradient(
            loss_gradient(problem, point, rows), pack(point.net, outputs=True), penalty_of(problem, point.net)
        )
        ends.append(np.abs(slope).max())
    assert max(ends) < 1e-4


def test_pruning_connections_at_zero_changes_nothing_that_can_be_seen():
    problem = problem_for("multinomial", 3, free=True)
    net = network_for(problem)
    w = net.w.copy()
    w[[1, 2]] = 0.0  # one of two connections of the first unit, the only one of the second
    net = replace(net, w=w)
    smaller = pruned(net, net.w != 0.0)
    assert smaller.n_units == net.n_units - 1
    assert smaller.n_connections == net.n_connections - 2
    before = evaluate(problem, net, problem.rows(net.features)).f
    assert_allclose(evaluate(problem, smaller, problem.rows(smaller.features)).f, before, rtol=1e-12)


def test_full_connection_adds_every_missing_weight_at_zero():
    problem = problem_for("logistic", 1, free=False)
    net = network_for(problem)
    full = fully_connected(net)
    assert full.n_connections == net.n_units * net.features.size
    assert len(set(zip(full.unit.tolist(), full.column.tolist(), strict=True))) == full.n_connections
    assert_allclose(full.matrix(), net.matrix())
