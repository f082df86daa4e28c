"""From a problem to a fitted, certified linear model."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skgraft.arrays import Array
from skgraft.criterion import GLOBAL, NO_MOVE, NOT_CONVERGED, NOT_STATIONARY, WEIGHTS, Certificate
from skgraft.grafting.effort import FULL, Effort
from skgraft.grafting.linear.capped import reweight
from skgraft.grafting.linear.model import LinearModel, Outcome, Saved
from skgraft.grafting.linear.optimality import Check, certify, check, is_bounded
from skgraft.grafting.linear.polish import polish as polish_model
from skgraft.grafting.linear.problem import LinearProblem
from skgraft.grafting.loop import Settings, graft, record_step
from skgraft.grafting.target import Target
from skgraft.run import Controls, Fit, History, Monitor

FEWEST_UNITS = 5  # that a first batch opens, however large they are
GAP_SHARE = 1e-2  # the duality gap is brought to this share of the tolerance where it can be
EXACT = 1e-2  # share of that at which nothing is left to refine
REFINEMENTS = 5
LEAST_RATIO = 1e-3  # of one refinement's tolerance to that before
REFINE_STEPS = 50
SHARP = 1e-4  # share of the tolerance that a last Newton step aims at
SMALLEST = 1e-12  # share of the tolerance beyond which rounding ends the refinement


@dataclass(frozen=True, kw_only=True)
class LinearControls(Controls):
    """How to fit: everything that is not part of the criterion."""

    effort: Effort = FULL
    select_unit: int | str = "auto"
    on_increase: str = "stop"
    polish: bool | str = True
    seed: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearFit(Fit):
    """A fitted linear model in standardised coordinates."""

    weights: Array
    intercept: Array


def fit_linear(problem: LinearProblem, controls: LinearControls, start: tuple[Array, Array] | None = None) -> LinearFit:
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
    monitor = controls.monitor("grafting")
    ended = minimize(problem, controls, start, monitor)
    model, saved = ended.model, ended.saved
    fit = conclude(model, check_saved(model, saved), saved, controls, monitor.history, ended.outcome)
    reached = fit.certificate.converged or not controls.effort.is_stationary
    return replace(fit, ending=monitor.ending(unconverged(controls, fit.certificate.kkt_violation), converged=reached))


def unconverged(controls: Controls, violation: float) -> str:
    """Return what to say of a fit that did not reach its tolerance."""
    return (
        f"The fit did not reach tol={controls.tol:g} in max_iter={controls.max_iter} steps "
        f"(KKT violation {violation:.1e}). Raise max_iter or tol, or add an l2 penalty."
    )


@dataclass(frozen=True)
class Ended:
    """How a minimisation ended: the model, its best state, and how the search ended."""

    model: LinearModel
    saved: Saved
    outcome: Outcome


def minimize(
    problem: LinearProblem,
    controls: LinearControls,
    start: tuple[Array, Array] | None,
    monitor: Monitor,
    scale: float = 0.0,
) -> Ended:
    """Minimise the criterion; a callback or Ctrl-C ends it with the best model so far.

    ``scale`` is the largest gradient of the empty model over columns that are not there, for the tolerance.
    """
    if problem.is_large and "skgraft.grafting.linear._kernels" not in sys.modules:
        monitor.say("loading compiled code (compiled once, which may take some seconds) ...")
    outcome = Outcome()
    with monitor.watch():
        model, tol = begin(problem, controls, start)
        tol = max(tol, controls.tol * scale)
        monitor.latest = model.save()
        outcome = run(model, controls, tol, monitor)
        if start is not None and not problem.convex:
            outcome = _no_worse_than_cold(model, controls, tol, monitor, outcome)
        monitor.latest = model.save()
    return Ended(model, monitor.latest, outcome)


def begin(
    problem: LinearProblem, controls: LinearControls, start: tuple[Array, Array] | None
) -> tuple[LinearModel, float]:
    """Return the model at its start and the absolute tolerance that belongs to it."""
    model = LinearModel(problem)
    scale = float(np.abs(model.null_gradient).max(initial=0.0))
    tol = max(controls.tol * scale, rounding(problem.target))
    model.open_first(start, 0.5 * tol)
    return model, tol


def rounding(target: Target) -> float:
    """Return how exact a sum over the residuals can be: a violation below it means nothing."""
    return 4.0 * float(np.finfo(float).eps * (target.weight @ np.abs(target.y)).max())


def run(model: LinearModel, controls: LinearControls, tol: float, monitor: Monitor) -> Outcome:
    """Minimise the criterion from where the model is."""
    if model.problem.capped_l1 == 0.0:
        return _run_once(model, controls, tol, monitor)
    return reweight(model, lambda: _run_once(model, controls, tol, monitor), monitor)


def _run_once(model: LinearModel, controls: LinearControls, tol: float, monitor: Monitor) -> Outcome:
    settings = settings_for(model.problem, controls, tol, model.layout.n_units)
    finished = grow(model, settings, monitor)
    return improve(model, controls, settings, monitor, finished=finished)


def settings_for(problem: LinearProblem, controls: LinearControls, tol: float, n_units: int) -> Settings:
    """Return how the loop is to grow the model of a problem."""
    rows, columns = problem.columns.n_rows, problem.n_features * problem.n_outputs
    return Settings(
        effort=controls.effort,
        select_unit=controls.select_unit,
        on_increase=controls.on_increase,
        tol=tol,
        max_iter=controls.max_iter,
        priced=not problem.convex,
        max_features=problem.prices.max_features,
        max_cost=problem.prices.max_cost,
        first_batch=max(FEWEST_UNITS, max(20, min(rows, columns) // 20) * n_units // max(columns, 1)),
        settle=controls.effort.is_stationary,
    )


def grow(model: LinearModel, settings: Settings, monitor: Monitor) -> bool:
    """Grow the model greedily from where it is; returns whether that ended by itself."""
    frugal = _thrifty_start(model, settings)
    finished = graft(model, settings, monitor)
    if frugal is not None and frugal[1] < model.objective():
        model.restore(frugal[0])
        record_step(monitor, model, "restart")
    return finished


def improve(
    model: LinearModel, controls: LinearControls, settings: Settings, monitor: Monitor, *, finished: bool
) -> Outcome:
    """Polish a grown model where that can help, and take the last digits."""
    no_move = False
    if controls.polish and not _is_global(model, settings):
        rng = np.random.default_rng(controls.seed)
        no_move = polish_model(model, settings, monitor, thorough=controls.polish == "thorough", rng=rng)
    if finished and controls.effort.is_stationary:
        _refine(model, settings, controls, monitor)
    return Outcome(finished, no_move)


def _is_global(model: LinearModel, settings: Settings) -> bool:
    """Whether no model is better: where no feature has a price, one that would be optimal without limits, too."""
    problem = model.problem
    return problem.convex or (problem.l0 == 0.0 and check_model(model).relaxed <= settings.tol)


def _no_worse_than_cold(
    model: LinearModel, controls: LinearControls, tol: float, monitor: Monitor, outcome: Outcome
) -> Outcome:
    """Search from the empty model too, and take the better.

    With prices or limits, where a search ends depends on where it starts.
    """
    if _is_global(model, settings_for(model.problem, controls, tol, model.layout.n_units)):
        return outcome
    found, value = model.save(), model.objective()
    model.restart(None, 0.5 * tol)
    cold = run(model, controls, tol, Monitor())
    if model.objective() < value:
        record_step(monitor, model, "restart")
        return cold
    model.restore(found)
    return outcome


def _thrifty_start(model: LinearModel, settings: Settings) -> tuple[Any, float] | None:
    """Spend the budget on what brings most for its cost; returns that model and its criterion, and goes back.

    None where there is no budget, or where everything costs the same.
    """
    charge = model.problem.prices.charge
    if settings.max_cost is None or np.ptp(charge) == 0.0:
        return None
    start = model.save()
    graft(model, replace(settings, thrifty=True), Monitor())
    found = model.save(), model.objective()
    model.restore(start)
    return found


def _refine(model: LinearModel, settings: Settings, controls: LinearControls, monitor: Monitor) -> None:
    """Go on with smaller tolerances until the duality gap, too, is small; small gradients alone may leave it.

    Then take the last digits, where they cost little.
    """
    tol = settings.tol
    wanted = GAP_SHARE * controls.tol * model.height
    if model.problem.convex and is_bounded(model.problem):
        for _ in range(REFINEMENTS):
            found = check_model(model)
            if found.gap is not None and found.gap <= EXACT * wanted:
                return
            if found.gap is None or found.gap <= wanted:
                break
            # a gap falls at least as fast as the violation behind it
            tol = max(0.5 * wanted / found.gap, LEAST_RATIO) * min(tol, found.violation)
            if tol < SMALLEST * settings.tol:
                break
            if not graft(model, replace(settings, tol=tol, max_iter=min(settings.max_iter, REFINE_STEPS)), monitor):
                break
    saved, before = model.save(), model.open_violation()
    if before > SHARP * settings.tol:
        model.final_newton(SHARP * settings.tol)
        if not model.open_violation() <= before:
            model.restore(saved)


def check_model(model: LinearModel) -> Check:
    """Check the model where it is."""
    scores, gradient = model.scores_and_gradient()
    if model.checked is None:
        weights = model.coefficients()[0]
        model.checked = check(model.problem, model.layout, model.penalty, weights, scores, gradient)
    return model.checked


def check_saved(model: LinearModel, saved: Saved) -> Check:
    """Check a saved state: by the model where it is still there, else from the coefficients alone."""
    if saved.point is model.point:
        return check_model(model)
    return certify(model.problem, *model.coefficients(saved))


def conclude(
    model: LinearModel, found: Check, saved: Any, controls: LinearControls, history: History, outcome: Outcome
) -> LinearFit:
    """Put a model and what was found of it into a result."""
    problem = model.problem
    weights, intercept = model.coefficients(saved)
    if problem.loss.coupled:
        intercept = intercept - intercept.mean()  # the classes' common score is arbitrary
    scale = float(np.abs(model.null_gradient).max(initial=0.0))
    meaningless = found.violation <= rounding(problem.target) and controls.tol * scale <= rounding(problem.target)
    violation = 0.0 if meaningless else found.violation / scale
    # with a cap the gap is that of the last round alone
    gap = None if found.gap is None or problem.capped_l1 > 0.0 else found.gap / model.height
    total_cost = problem.prices.total(found.support)
    converged = outcome.finished and violation <= controls.tol * (1.0 + 1e-6)
    scope = scope_of(problem, found, controls, scale, outcome, converged=converged)
    return LinearFit(
        weights=weights,
        intercept=intercept,
        support=found.support,
        order=model.order(saved),
        objective=found.value + problem.l0 * total_cost,
        total_cost=total_cost,
        certificate=Certificate(violation, gap, converged, scope),
        history=history,
    )


def scope_of(
    problem: LinearProblem, found: Check, controls: LinearControls, scale: float, outcome: Outcome, *, converged: bool
) -> str:
    """Return what is certified of a model, in words; ``scale`` is the largest gradient of the empty model."""
    if not converged:
        return NOT_CONVERGED if controls.effort.is_stationary else NOT_STATIONARY
    tol = max(controls.tol * scale * (1.0 + 1e-6), rounding(problem.target))
    if problem.l0 == 0.0 and problem.capped_l1 == 0.0 and found.relaxed <= tol:
        return GLOBAL
    return NO_MOVE if outcome.no_move else WEIGHTS
