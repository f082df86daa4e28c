"""From a machine with an l1 norm to the optimum of its linear program, with a certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skgraft.arrays import Array
from skgraft.criterion import GLOBAL, NOT_CONVERGED, Certificate
from skgraft.grafting import Settings, graft
from skgraft.run import Controls, Fit, History, Monitor
from skgraft.svm import InseparableError
from skgraft.zeronorm.programs import Program, ProgramModel

PRICING = 1e-3  # share of the tolerance to which reduced costs are tested: a program ends exactly
LEAST_PRICING = 1e-10  # and the share of the largest gradient below which rounding speaks
RAISE = 100.0  # factor by which forbidden slack becomes dearer,
RAISES = 3  # and how often: from 1e3 to 1e9
VANISHED = 1e-7  # slack up to this is none, the margin being 1
AT_BOUND = 1e-7  # a weight this near to its bag's bound is at it
TIGHT = 1e-7  # a margin this near to what is needed is met exactly


@dataclass(frozen=True, eq=False, kw_only=True)
class ProgramFit(Fit):
    """The optimum of a program, in the coordinates of its columns.

    ``weights`` are (n_features, n_outputs); ``slack`` is that of every constraint.
    """

    weights: Array
    intercept: Array
    slack: Array


def fit_program(program: Program, controls: Controls) -> ProgramFit:
    """Solve a program by column generation and certify the result.

    Raises
    ------
    InseparableError
        If slack is forbidden (an infinite price) and cannot be avoided.
    """
    monitor = controls.monitor("column generation")
    model = ProgramModel(program)
    monitor.latest = model.save()
    finished = False
    with monitor.watch():
        finished = grow(model, controls, monitor)
    if monitor.stopped or monitor.interrupted:
        model.restore(monitor.latest)
    fit = conclude(model, controls, monitor.history, finished=finished)
    message = (
        f"The program did not reach tol={controls.tol:g} in max_iter={controls.max_iter} steps "
        f"(KKT violation {fit.certificate.kkt_violation:.1e}). Raise max_iter or tol."
    )
    return replace(fit, ending=monitor.ending(message, converged=fit.certificate.converged))


def grow(model: ProgramModel, controls: Controls, monitor: Monitor) -> bool:
    """Graft to the optimum of the full program, forbidden slack included; returns whether it got there."""
    settings = _settings(model, controls)
    model.approach()
    finished = graft(model, settings, monitor)
    hard = model.program.hard
    if not hard.any():
        return finished
    for left in reversed(range(RAISES + 1)):
        if not finished or not _is_short(model):
            return finished
        if left:
            model.raise_price(RAISE)
            model.optimize(0.0, exact=True)
            finished = graft(model, settings, monitor)
    short = int(np.count_nonzero(model.slack()[hard] > VANISHED * _need(model)))
    msg = f"no hyperplane separates the classes: {short} of {np.count_nonzero(hard)} constraints fail at any price"
    raise InseparableError(msg)


def _is_short(model: ProgramModel) -> bool:
    hard = model.program.hard
    return bool((model.slack()[hard] > VANISHED * _need(model)).any())


def _need(model: ProgramModel) -> float:
    return float(np.abs(model.program.margins.need).max(initial=0.0)) or 1.0


def _settings(model: ProgramModel, controls: Controls) -> Settings:
    columns, margins = model.program.columns, model.program.margins
    # measured: many features hardly slow the simplex method, but where rows are many a feature is dear
    batch = 20 if columns.n_rows >= columns.n_columns else max(80, min(columns.n_rows, 160))
    batch *= 1 if margins.coupled else margins.n_outputs
    tol = max(PRICING * controls.tol, LEAST_PRICING) * gradient_scale(model)
    return Settings(tol=tol, max_iter=controls.max_iter, first_batch=batch)


def gradient_scale(model: ProgramModel) -> float:
    """Return the largest gradient of the machine without features, by which violations are measured."""
    return float(np.abs(model.null_gradient).max(initial=0.0)) or 1.0


def conclude(model: ProgramModel, controls: Controls, history: History, *, finished: bool) -> ProgramFit:
    """Put a model and its certificate into a result."""
    program = model.program
    model.centre_intercepts()
    weights, intercept = model.coefficients()
    slack = model.slack()
    violation, gap = check(model)
    converged = finished and violation <= controls.tol * (1.0 + 1e-6)
    return ProgramFit(
        weights=weights,
        intercept=intercept,
        support=model.support(),
        order=model.order(),
        slack=slack,
        objective=program.value(weights, slack),
        total_cost=model.total_cost,
        certificate=Certificate(violation, gap, converged, GLOBAL if converged else NOT_CONVERGED),
        history=history,
    )


def check(model: ProgramModel) -> tuple[float, float]:
    """Return the KKT violation over all weights and the duality gap of where a model is, both relative.

    The multipliers are first put where the slack says they must be, so that the loss's own conditions count too: the
    full price where a margin falls short, nothing where it is exceeded.
    """
    program, margins = model.program, model.program.margins
    weights, _ = model.coefficients()
    need = _need(model)
    excess = margins.of(model.scores()) - margins.need
    price = np.where(program.hard, np.maximum(model.price, model.multipliers), program.price)
    a = np.where(excess > TIGHT * need, 0.0, np.where(excess < -TIGHT * need, price, model.multipliers))
    residual = margins.spread(a)
    moved = (np.abs(a - model.multipliers) > 1e-13 * price).any()
    gradient = program.columns.gradient(residual) if moved else model.gradient()
    worst = weight_violation(program, weights, gradient)
    if program.intercept:
        worst = max(worst, float(np.abs(residual.sum(axis=0)).max()))
    return worst / gradient_scale(model), _gap(model, weights, np.maximum(-excess, 0.0))


def weight_violation(program: Program, weights: Array, gradient: Array) -> float:
    """Return by how much the conditions of the weights fail.

    The gradients of a bag's members add up to at most its cost, and to the cost where it has weights; there only the
    weights at the bag's bound have a gradient, of their own sign.
    """
    bound = program.bound(weights)
    total, cost = program.by_bag(gradient), program.bag_cost[:, None]
    worst = float(np.where(bound > 0.0, np.abs(total - cost), total - cost).max(initial=0.0))
    size = np.abs(weights) * program.relative_cost[:, None]
    top = bound[program.bag_of]
    at_bound = (size > 0.0) & (size >= top * (1.0 - AT_BOUND)) & (gradient * weights >= 0.0)
    stray = np.abs(gradient)[(top > 0.0) & ~at_bound]
    return max(worst, float(stray.max(initial=0.0)), 0.0)


def _gap(model: ProgramModel, weights: Array, slack: Array) -> float:
    """Return how far the criterion is above the dual value of the multipliers, shrunk until every cost bounds them."""
    program = model.program
    total = program.by_bag(model.gradient()).max(axis=1)
    held = program.bag_cost > 0.0  # where nothing is paid the gradient is zero, up to rounding
    over = (total[held] / program.bag_cost[held]).max(initial=1.0)
    dual = float(program.margins.need @ model.multipliers) / over
    value = program.value(weights, slack)
    height = value if program.hard.any() else float(program.price @ model.null_slack)
    return float(max(value - dual, 0.0) / (height or 1.0))
