"""No round of AROM raises the criterion with the μ of its scales: all norms, losses, prices and bags."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgraft.matrix import make_columns
from skgraft.prices import resolve_prices
from skgraft.svm.dual import Bands, class_bands
from skgraft.svm.joint import JointMachine
from skgraft.svm.machines import IndependentMachines
from skgraft.svm.margins import all_pairs, one_against_rest, tube
from skgraft.zeronorm.l1_rounds import L1Machine
from skgraft.zeronorm.l2_rounds import RoundControls, l2_rounds
from skgraft.zeronorm.rounds import EPSILON

N_ROWS, N_FEATURES = 40, 24
LABELS = np.arange(N_FEATURES) // 2
PRICES = {
    "ones": {},
    "priced": {"feature_costs": np.linspace(0.3, 3.0, N_FEATURES)},
    "bags": {"groups": LABELS, "feature_costs": dict(enumerate(np.linspace(3.0, 0.3, 12))), "keep": [5]},
}


class Recorder:
    """A machine that notes what it was asked and what it answered."""

    def __init__(self, machine):
        self._machine = machine
        self.rounds = []

    def __getattr__(self, name):
        return getattr(self._machine, name)

    def solve(self, design, squared_scale, tol):
        solution = self._machine.solve(design, squared_scale, tol)
        scale = np.ones(design.n_features) if squared_scale is None else np.sqrt(squared_scale)
        self.rounds.append((design.features, scale, solution))
        return solution


def machine(kind, norm, C, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    score = X[:, 0] - X[:, 1] + (0.0 if np.isinf(C) else 0.7) * rng.normal(size=N_ROWS)
    codes = np.digitize(score, [-0.6, 0.6])
    member = {"two": score[:, None] > 0.0, "rest": codes[:, None] == np.arange(3)}.get(kind)
    price = np.full(N_ROWS, float(C))
    if norm == "l1":
        margins = tube(score, 0.1) if kind == "tube" else None
        margins = all_pairs(codes, 3) if kind == "pairs" else margins
        return X, L1Machine(one_against_rest(member) if margins is None else margins, price)
    if kind == "pairs":
        return X, JointMachine(codes, 3, 0.5 / price)
    if kind == "tube":
        bands = [Bands(score - 0.1, score + 0.1, np.full(N_ROWS, np.inf), 0.5 / price)]
    else:
        bands = [class_bands(np.where(y, 1.0, -1.0), ridge=0.5 / price) for y in member.T]
    return X, IndependentMachines(bands)


def run(kind, norm, C, prices, *, errors=False, seed=0, **controls):
    X, inner = machine(kind, norm, C, seed)
    recorder = Recorder(inner)
    prices = resolve_prices(
        **{"groups": None, "feature_costs": None, "keep": None} | prices,
        max_features=None,
        max_cost=None,
        n_features=N_FEATURES,
        names=None,
    )
    columns = make_columns(X, np.full(N_ROWS, 1.0 / N_ROWS), center=True, standardize=True)
    rounds = l2_rounds(columns, recorder, RoundControls(prices=prices, rescale_errors=errors, **controls))
    return rounds, recorder.rounds, prices


def criterion(weights, loss, mu, prices, p):
    """Σ_g charge_g ln(ε + size_g) + (loss + norm of what is not charged) / μ, from its definition."""
    by_bag = [np.abs(weights[:, prices.bags.members(g)]) for g in range(prices.bags.n_bags)]
    size = np.array([(each**p).sum() ** (1.0 / p) for each in by_bag])
    free = (np.abs(weights[:, prices.charge[prices.bags.of] == 0.0]) ** p).sum() / p
    return prices.charge @ np.log(EPSILON + size) + (loss + free) / mu, size


def compared(steps, prices, p):
    """Return for each round μ, and the criterion with that μ before and after the round."""
    compared, before = [], None
    for features, scale, solution in steps:
        weights = np.zeros((solution.weights.shape[0], N_FEATURES))
        weights[:, features] = solution.weights
        of = prices.bags.of[features]
        paid = prices.charge[of] > 0.0
        assert_allclose(scale[~paid], 1.0)
        mu, old = 1.0, np.inf
        if before is not None and paid.any():
            # z^p = size^p / (charge μ), the same for all members of a bag
            each = before[2][of[paid]] ** p / (prices.charge[of[paid]] * scale[paid] ** p)
            assert_allclose(each, each[0], rtol=1e-9)
            mu = each[0]
            old = criterion(before[0], before[1], mu, prices, p)[0]
        new, size = criterion(weights, solution.loss, mu, prices, p)
        compared.append((mu, old, new))
        before = (weights, solution.loss, size)
    return np.array(compared).T


@pytest.mark.parametrize("kind", ["two", "rest", "pairs", "tube"])
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize(
    ("C", "errors"), [(0.02, False), (0.1, False), (3.0, False), (np.inf, False), (0.1, True), (3.0, True)]
)
@pytest.mark.parametrize("prices", PRICES)
def test_no_round_raises_the_criterion_with_its_own_mu(kind, norm, C, errors, prices):
    rounds, steps, prices = run(kind, norm, C, PRICES[prices], errors=errors)
    mu, old, new = compared(steps[: len(rounds.history)], prices, 1 if norm == "l1" else 2)
    assert (mu <= 1.0 + 1e-9).all()
    assert_allclose(rounds.history.column("objective")[1:], new[1:], rtol=1e-9)
    start = 2 if errors else 1  # errors are rescaled from the second round on
    assert (new <= old + 1e-6 * np.maximum(1.0, np.abs(new)))[start:].all()


@pytest.mark.parametrize(("norm", "C", "p"), [("l2", 0.02, 2), ("l2", 0.1, 2), ("l1", 0.1, 1)])
def test_mu_changes_where_slack_is_allowed_and_weights_are_short(norm, C, p):
    rounds, steps, prices = run("two", norm, C, {})
    mu, _, _ = compared(steps[: len(rounds.history)], prices, p)
    assert np.ptp(mu[1:]) > 1e-3
    assert mu[-1] < 1.0


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_a_hard_margin_has_one_criterion_for_all_rounds(norm):
    rounds, _, _ = run("two", norm, np.inf, {})
    objective = rounds.history.column("objective")
    assert objective.size > 2
    assert (np.diff(objective) <= 1e-6 * np.abs(objective[1:])).all()
    assert (np.diff(rounds.history.column("n_selected")) <= 0).all()


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("C", [0.1, 3.0])
def test_weights_at_the_scales_of_the_rounds_are_those_of_the_last_round(norm, C):
    """Where no features were left out, ``retrain=False`` changes nothing that had settled."""
    rounds, steps, _ = run("two", norm, C, {}, retrain=False, max_iter=500)
    features, _, last = steps[len(rounds.history) - 1]
    assert rounds.converged
    expected = np.zeros(N_FEATURES)
    expected[features] = last.weights[0]
    assert_allclose(rounds.weights[0], expected, atol=1e-3 * np.abs(expected).max())
    assert_allclose(rounds.objective, rounds.history.column("objective")[-1], rtol=1e-4)
