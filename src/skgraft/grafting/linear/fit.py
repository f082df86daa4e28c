"""From a problem to a fitted, certified linear model."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from skgraft.criterion.certificate import Certificate
from skgraft.grafting.linear.model import LinearModel, Saved
from skgraft.grafting.linear.optimality import Check, certify, check, is_bounded
from skgraft.grafting.linear.polish import polish as polish_model
from skgraft.grafting.linear.problem import LinearProblem
from skgraft.grafting.loop import Monitor, Settings, Stop, graft
from skgraft.grafting.target import Target
from skgraft.run.history import History, Record

Array = NDArray[np.float64]
Index = NDArray[np.intp]

FEWEST_UNITS = 5  # that a first batch opens, however large they are
GAP_SHARE = 1e-2  # the duality gap is brought to this share of the tolerance where it can be
EXACT = 1e-2  # share of that at which nothing is left to refine
REFINEMENTS = 5
LEAST_RATIO = 1e-3  # of one refinement's tolerance to that before
REFINE_STEPS = 50
SHARP = 1e-4  # share of the tolerance that a last Newton step aims at
SMALLEST = 1e-12  # share of the tolerance beyond which rounding ends the refinement


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
    ended = minimize(problem, controls, start, monitor)
    model, saved = ended.model, ended.saved
    fit = conclude(model, check_saved(model, saved), saved, controls, monitor.history, finished=ended.finished)
    if ended.interrupted:
        _warn("Interrupted: this is the best model so far, not the optimum.")
    elif not fit.certificate.converged and controls.effort != "newest" and not monitor.stopped:
        _warn(
            f"The fit did not reach tol={controls.tol:g} in max_iter={controls.max_iter} steps "
            f"(KKT violation {fit.certificate.kkt_violation:.1e}). Raise max_iter or tol, or add an l2 penalty."
        )
    return fit


@dataclass(frozen=True)
class Ended:
    """How a minimisation ended: the model, its best state, and whether it got there by itself."""

    model: LinearModel
    saved: Saved
    finished: bool
    interrupted: bool


def minimize(
    problem: LinearProblem,
    controls: Controls,
    start: tuple[Array, Array] | None,
    monitor: Monitor,
    scale: float = 0.0,
) -> Ended:
    """Minimise the criterion; a callback or Ctrl-C ends it with the best model so far.

    ``scale`` is the largest gradient of the empty model over columns that are not there, for the tolerance.
    """
    if problem.is_large and "skgraft.grafting.linear._kernels" not in sys.modules:
        monitor.say("loading compiled code (compiled once, which may take some seconds) ...")
    model = None
    finished = interrupted = False
    try:
        model, tol = begin(problem, controls, start)
        monitor.latest = model.save()
        finished = run(model, controls, max(tol, controls.tol * scale), monitor)
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
    return Ended(model, saved, finished, interrupted)


def begin(problem: LinearProblem, controls: Controls, start: tuple[Array, Array] | None) -> tuple[LinearModel, float]:
    """Return the model at its start and the absolute tolerance that belongs to it."""
    model = LinearModel(problem)
    scale = float(np.abs(model.null_gradient).max(initial=0.0))
    tol = max(controls.tol * scale, rounding(problem.target))
    model.open_first(start, 0.5 * tol)
    return model, tol


def rounding(target: Target) -> float:
    """Return how exact a sum over the residuals can be: a violation below it means nothing."""
    return 4.0 * float(np.finfo(float).eps * (target.weight @ np.abs(target.y)).max())


def run(model: LinearModel, controls: Controls, tol: float, monitor: Monitor) -> bool:
    """Minimise the criterion from where the model is; returns whether the search ended by itself."""
    problem = model.problem
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
        first_batch=max(FEWEST_UNITS, max(20, min(rows, columns) // 20) * model.layout.n_units // max(columns, 1)),
    )
    frugal = _thrifty_start(model, settings)
    finished = graft(model, settings, monitor)
    if frugal is not None and frugal[1] < model.objective():
        model.restore(frugal[0])
        monitor.record(model, "restart")
    if not problem.convex and controls.polish:
        rng = np.random.default_rng() if controls.rng is None else controls.rng
        polish_model(model, settings, monitor, thorough=controls.polish == "thorough", rng=rng)
    if finished and controls.effort != "newest":
        _refine(model, settings, controls, monitor)
    return finished


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


def _refine(model: LinearModel, settings: Settings, controls: Controls, monitor: Monitor) -> None:
    """Go on with smaller tolerances until the duality gap, too, is small; small gradients alone may leave it.

    Then take the last digits, where they cost little.
    """
    tol = settings.tol
    wanted = GAP_SHARE * controls.tol * null_height(model)
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
        model.sharpen(SHARP * settings.tol)
        if not model.open_violation() <= before:
            model.restore(saved)


def check_model(model: LinearModel) -> Check:
    """Check the model where it is."""
    scores, gradient = model.evidence()
    if model.checked is None:
        weights = model.coefficients()[0]
        model.checked = check(model.problem, model.layout, model.penalty, weights, scores, gradient)
    return model.checked


def null_height(model: LinearModel) -> float:
    """Return how far the empty model's loss is above the least possible."""
    target = model.problem.target
    return max(model.null_value - target.loss.least(target.y, target.weight), np.finfo(float).tiny)


def _warn(message: str) -> None:
    warnings.warn(message, ConvergenceWarning, stacklevel=5)


def check_saved(model: LinearModel, saved: Saved) -> Check:
    """Check a saved state: by the model where it is still there, else from the coefficients alone."""
    if saved.point is model.point:
        return check_model(model)
    return certify(model.problem, *model.coefficients(saved))


def conclude(
    model: LinearModel, found: Check, saved: Any, controls: Controls, history: History, *, finished: bool
) -> LinearFit:
    """Put a model and what was found of it into a result."""
    problem = model.problem
    weights, intercept = model.coefficients(saved)
    if problem.loss.coupled:
        intercept = intercept - intercept.mean()  # the classes' common score is arbitrary
    scale = float(np.abs(model.null_gradient).max(initial=0.0))
    meaningless = found.violation <= rounding(problem.target) and controls.tol * scale <= rounding(problem.target)
    violation = 0.0 if meaningless else found.violation / scale
    gap = None if found.gap is None else found.gap / null_height(model)
    total_cost = problem.prices.total(found.support)
    return LinearFit(
        weights=weights,
        intercept=intercept,
        support=found.support,
        order=model.order(saved),
        objective=found.value + problem.l0 * total_cost,
        total_cost=total_cost,
        certificate=Certificate(violation, gap, finished and violation <= controls.tol * (1.0 + 1e-6)),
        history=history,
        n_iter=max(1, len(history)),  # the first gradient test counts
    )
