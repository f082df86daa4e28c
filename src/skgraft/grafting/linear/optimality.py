"""Checking a linear model against the optimality conditions of its criterion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array
from skgraft.criterion import Penalty, duality_gap
from skgraft.grafting.linear.newton import fit_intercept
from skgraft.grafting.linear.problem import Layout, LinearProblem, make_penalty
from skgraft.prices import within_limits

ROUNDING = 1e-12  # a gap below this share of the criterion is rounding
ROUNDED_SUMS = 8.0  # units in the last place by which a sum over residuals may be wrong


@dataclass(frozen=True)
class Check:
    """What the optimality conditions say of a model, in the units of the criterion.

    ``violation`` leaves out what a price or a limit holds at zero, ``relaxed`` counts it too: where that is small and
    nothing has a price, the model is the optimum without limits.
    """

    violation: float
    relaxed: float
    gap: float | None
    value: float
    support: NDArray[np.bool_]


def certify(problem: LinearProblem, weights: Array, intercept: Array) -> Check:
    """Check a model against the optimality conditions, from its coefficients alone.

    The violation is the largest over all features and intercepts, ``value`` the convex part of the criterion.
    """
    layout = Layout(problem)
    scores = model_scores(problem, weights) + intercept
    gradient = layout.flat(problem.columns.gradient(problem.target.residual(scores)))
    return check(problem, layout, make_penalty(problem, layout), weights, scores, gradient)


def check(
    problem: LinearProblem, layout: Layout, penalty: Penalty, weights: Array, scores: Array, gradient: Array
) -> Check:
    """Check weights whose scores and loss gradient (as laid out) are known."""
    target = problem.target
    support = problem.prices.kept | (weights != 0.0).any(axis=1)
    residual = target.residual(scores)
    w = layout.flat(weights)
    violations = penalty.violation(gradient, w)
    slope = float(np.abs(residual.sum(axis=0)).max()) if target.intercept else 0.0
    relaxed = max(slope, float(violations.max(initial=0.0)))
    if not problem.convex:
        held = layout.flat(np.repeat(_held_at_zero(problem, support)[:, None], problem.n_outputs, axis=1))
        groups_held = held if penalty.scalar else np.logical_and.reduceat(held, penalty.starts[:-1])
        violations = np.where(groups_held, 0.0, violations)
    worst = max(slope, float(violations.max(initial=0.0)))
    value = target.value(scores) + penalty.value(w)
    gap = None
    if problem.convex and is_bounded(problem):
        # a constant of the penalty is in both the primal and the dual value
        gap = _gap(problem, layout, penalty, scores, gradient, value - penalty.offset)
    return Check(worst, relaxed, gap, value, support)


def _gap(
    problem: LinearProblem, layout: Layout, penalty: Penalty, scores: Array, gradient: Array, value: float
) -> float | None:
    target = problem.target
    loss, y, weight = target.loss, target.y, target.weight
    u = loss.derivative(scores, y)
    if target.intercept:
        u = u - weight @ u  # leaves the gradient of centred columns as it is
    # a residual is exact to the last digit of what it is the difference of, and so is its sum over a column
    spread = problem.columns.length[:, None] * (weight @ (np.abs(u) + np.abs(y)))
    noise = layout.flat(ROUNDED_SUMS * np.finfo(float).eps * spread)
    noise = np.where(penalty.unpenalized & (penalty.ridge == 0.0), np.inf, noise)
    gap = duality_gap(value, loss, y, weight, u, penalty, gradient, noise)
    if gap is None and target.intercept:
        # the shift left the domain; the derivatives at the best intercepts cannot
        _, scores = fit_intercept(target, scores, np.zeros(target.n_outputs))
        gradient = layout.flat(problem.columns.gradient(target.residual(scores)))
        gap = duality_gap(value, loss, y, weight, loss.derivative(scores, y), penalty, gradient, noise)
    return 0.0 if gap is not None and gap < ROUNDING * abs(value) else gap


def is_bounded(problem: LinearProblem) -> bool:
    """Whether a penalty bounds the dual problem."""
    return problem.l1 > 0.0 or problem.l2 > 0.0 or problem.group_l1 > 0.0 or problem.capped_l1 > 0.0


def _held_at_zero(problem: LinearProblem, support: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the features that a price or an exhausted budget keeps out of the model."""
    prices, of = problem.prices, problem.prices.bags.of
    taken = problem.taken(support)
    paid = np.zeros(prices.bags.n_bags, bool)
    paid[of[taken]] = True
    charge = np.where(paid, 0.0, prices.charge)[of]
    size = np.ones(of.size, np.intp)
    if problem.group_l1 > 0.0:
        _, group, sizes = np.unique(problem.group_of, return_inverse=True, return_counts=True)
        size = sizes[group]
    count, cost = np.count_nonzero(taken) + size, prices.total(taken) + charge
    held = (problem.l0 * charge > 0.0) | ~within_limits(count, cost, prices.max_features, prices.max_cost)
    return np.asarray((held & ~taken) | problem.barred)


def model_scores(problem: LinearProblem, weights: Array) -> Array:
    """Return the scores of weights (n_features, n_outputs), without intercepts."""
    used = np.flatnonzero((weights != 0.0).any(axis=1))
    block = problem.columns.block()
    block.append(used)
    return block.scores(weights[used])
