"""From a problem to a fitted, certified linear model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from skgraft.criterion.certificate import Certificate, duality_gap
from skgraft.grafting.history import History, Record
from skgraft.grafting.linear import Layout, LinearModel, LinearProblem, make_penalty
from skgraft.grafting.loop import Monitor, Settings, Stop, graft
from skgraft.grafting.polish import polish as polish_model

Array = NDArray[np.float64]
Index = NDArray[np.intp]

GAP_SHARE = 1e-2  # the duality gap is brought to this share of the tolerance where it can be
REFINEMENTS = 5
SHARP = 1e-4  # share of the tolerance that a last Newton step aims at
ROUNDING = 1e-12


@dataclass(frozen=True)
class Controls:
    """How to fit: everything that is not part of the criterion."""

    effort: str = "full"
    select_unit: int | str = "auto"
    on_increase: str = "stop"
    polish: bool | str = True
    tol: float = 1e-6
    max_iter: int = 1000
    verbose: int = 0
    callback: Callable[[Record], Any] | None = None
    rng: np.random.Generator | None = None


@dataclass(frozen=True)
class LinearFit:
    """A fitted linear model in standardised coordinates, and how good it is."""

    weights: Array
    intercept: Array
    support: NDArray[np.bool_]
    order: Index
    objective: float
    total_cost: float
    certificate: Certificate
    history: History
    n_iter: int


def fit_linear(problem: LinearProblem, controls: Controls, start: tuple[Array, Array] | None = None) -> LinearFit:
    """Minimise the criterion over linear models, and certify the result.

    Parameters
    ----------
    problem : LinearProblem
        The criterion.
    controls : Controls
        How to minimise it.
    start : tuple of ndarray, optional
        Weights (n_features, n_outputs) and intercepts to start from, in standardised coordinates.
    """
    monitor = Monitor(callback=controls.callback, verbose=controls.verbose)
    model, tol = None, 0.0
    finished = interrupted = False
    try:
        model, tol = _begin(problem, controls, start)
        monitor.latest = model.save()
        finished = _run(model, problem, controls, tol, monitor)
        if finished and controls.effort != "newest":
            _sharpen(model, tol)
        saved = model.save()
    except Stop:
        saved = monitor.latest
    except KeyboardInterrupt:
        if monitor.latest is None or model is None:
            raise  # nothing was fitted yet
        saved, interrupted = monitor.latest, True
    finally:
        monitor.close()
    assert model is not None  # noqa: S101 -- Stop comes from a step, and steps have a model
    fit = _certified(model, saved, controls, monitor.history, finished=finished)
    if interrupted:
        _warn("Interrupted: this is the best model so far, not the optimum.")
    elif not fit.certificate.converged and controls.effort != "newest" and not monitor.stopped:
        _warn(
            f"The fit did not reach tol={controls.tol:g} in max_iter={controls.max_iter} steps "
            f"(KKT violation {fit.certificate.kkt_violation:.1e}). Raise max_iter or tol, or add an l2 penalty."
        )
    return fit


def _begin(problem: LinearProblem, controls: Controls, start: tuple[Array, Array] | None) -> tuple[LinearModel, float]:
    """Return the model at its start and the absolute tolerance that belongs to it."""
    model = LinearModel(problem)
    scale = float(np.abs(model.null_gradient).max(initial=0.0))
    tol = controls.tol * scale if scale > 0.0 else np.finfo(float).tiny
    model.open_first(start, 0.5 * tol)
    return model, tol


def _run(model: LinearModel, problem: LinearProblem, controls: Controls, tol: float, monitor: Monitor) -> bool:
    rows, columns = problem.columns.n_rows, problem.n_features * problem.n_outputs
    settings = Settings(
        effort=controls.effort,
        select_unit=controls.select_unit,
        on_increase=controls.on_increase,
        tol=tol,
        max_iter=controls.max_iter,
        priced=not problem.convex,
        max_features=problem.prices.max_features,
        max_cost=problem.prices.max_cost,
        first_batch=max(20, min(rows, columns) // 10),
    )
    finished = graft(model, settings, monitor)
    if problem.convex:
        return finished and _refine(model, settings, controls, monitor)
    if controls.polish:
        rng = np.random.default_rng() if controls.rng is None else controls.rng
        polish_model(model, settings, monitor, thorough=controls.polish == "thorough", rng=rng)
    return finished


def _refine(model: LinearModel, settings: Settings, controls: Controls, monitor: Monitor) -> bool:
    """Go on with smaller tolerances until the duality gap, too, is small; small gradients alone may leave it."""
    if controls.effort == "newest" or not _is_bounded(model.problem):
        return True
    tol = settings.tol
    for _ in range(REFINEMENTS):
        check = certify(model.problem, *model.coefficients())
        if check.gap is None or check.gap <= GAP_SHARE * controls.tol * _null_height(model):
            break
        tol = 0.1 * min(tol, check.violation)
        if tol < ROUNDING * settings.tol or not graft(model, replace(settings, tol=tol), monitor):
            break
    return True


def _sharpen(model: LinearModel, tol: float) -> None:
    """Take the last digits: a Newton step more costs little and brings them."""
    saved, before = model.save(), model.open_violation()
    model.optimize("full", SHARP * tol, exact=False, growing=False)
    if not model.open_violation() <= before:
        model.restore(saved)


def _null_height(model: LinearModel) -> float:
    """Return how far the empty model's loss is above the least possible."""
    target = model.problem.target
    return max(model.null_value - target.loss.least(target.y, target.weight), np.finfo(float).tiny)


def _is_bounded(problem: LinearProblem) -> bool:
    """Whether a penalty bounds the dual problem."""
    return problem.l1 > 0.0 or problem.l2 > 0.0 or problem.group_l1 > 0.0


def _warn(message: str) -> None:
    warnings.warn(message, ConvergenceWarning, stacklevel=5)


def _certified(model: LinearModel, saved: Any, controls: Controls, history: History, *, finished: bool) -> LinearFit:
    problem = model.problem
    weights, intercept = model.coefficients(saved)
    if problem.loss.coupled:
        intercept = intercept - intercept.mean()  # the classes' common score is arbitrary
    check = certify(problem, weights, intercept)
    scale = float(np.abs(model.null_gradient).max(initial=0.0))
    violation = check.violation / scale if scale > 0.0 else 0.0
    gap = None if check.gap is None else check.gap / _null_height(model)
    total_cost = problem.prices.total(check.support)
    return LinearFit(
        weights=weights,
        intercept=intercept,
        support=check.support,
        order=model.order(saved),
        objective=check.value + problem.l0 * total_cost,
        total_cost=total_cost,
        certificate=Certificate(violation, gap, finished and violation <= controls.tol * (1.0 + 1e-6)),
        history=history,
        n_iter=len(history),
    )


@dataclass(frozen=True)
class Check:
    """What the optimality conditions say of a model, in the units of the criterion."""

    violation: float
    gap: float | None
    value: float
    support: NDArray[np.bool_]


def certify(problem: LinearProblem, weights: Array, intercept: Array) -> Check:
    """Check a model against the optimality conditions, from its coefficients alone.

    The violation is the largest over all features and intercepts, ``value`` the convex part of the criterion.
    """
    layout = Layout(problem)
    penalty = make_penalty(problem, layout)
    target = problem.target
    support = problem.prices.kept | (weights != 0.0).any(axis=1)
    scores = model_scores(problem, weights) + intercept
    residual = target.residual(scores)
    gradient = layout.flat(problem.columns.gradient(residual))
    w = layout.flat(weights)
    violations = penalty.violation(gradient, w)
    if not problem.convex:
        held = layout.flat(np.repeat(_held_at_zero(problem, support)[:, None], problem.n_outputs, axis=1))
        groups_held = held if penalty.scalar else np.logical_and.reduceat(held, penalty.starts[:-1])
        violations = np.where(groups_held, 0.0, violations)
    worst = float(violations.max(initial=0.0))
    if target.intercept:
        worst = max(worst, float(np.abs(residual.sum(axis=0)).max()))
    value = target.value(scores) + penalty.value(w)
    gap = None
    if problem.convex and _is_bounded(problem):
        free = penalty.unpenalized & (penalty.ridge == 0.0)
        gap = duality_gap(target.loss, target.y, target.weight, scores, penalty, w, gradient, free)
        if gap is not None and gap < ROUNDING * abs(value):
            gap = 0.0
    return Check(worst, gap, value, support)


def _held_at_zero(problem: LinearProblem, support: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the features that a price or an exhausted budget keeps out of the model."""
    prices = problem.prices
    paid = np.zeros(prices.bags.n_bags, bool)
    paid[prices.bags.of[support]] = True
    charge = np.where(paid, 0.0, prices.charge)[prices.bags.of]
    held = problem.l0 * charge > 0.0
    if prices.max_features is not None:
        size = prices.bags.sizes[prices.bags.of] if problem.group_l1 > 0.0 else 1
        held |= support.sum() + size > prices.max_features
    if prices.max_cost is not None:
        held |= prices.total(support) + charge > prices.max_cost
    return np.asarray(held & ~support)


def model_scores(problem: LinearProblem, weights: Array) -> Array:
    """Return the scores of weights (n_features, n_outputs), without intercepts."""
    used = np.flatnonzero((weights != 0.0).any(axis=1))
    block = problem.columns.block()
    block.append(used)
    return block.scores(weights[used])
