"""Many values of l1 for the support vector machine with an l1 norm, each program starting from the one before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skgraft.arrays import Array
from skgraft.estimator import falling
from skgraft.grafting import GraftPath, PathPoint
from skgraft.matrix import DenseColumns, SparseColumns
from skgraft.run import Controls, Monitor, threads
from skgraft.zeronorm.budget import within_budget
from skgraft.zeronorm.column_generation import ProgramFit, conclude, grow
from skgraft.zeronorm.l1_svc import L1SVC
from skgraft.zeronorm.programs import Program, ProgramModel

ABOVE = 1.0 + 1e-6  # at the very value where the first feature comes in, none and one are as good
NEWTON_STEPS = 50


def l1_svc_path(
    X: Any,
    y: Any,
    *,
    l1s: ArrayLike | None = None,
    n_values: int = 50,
    smallest: float = 1e-2,
    sample_weight: Any = None,
    **parameters: Any,
) -> GraftPath:
    """Fit :class:`L1SVC` for many values of l1.

    Every program starts from the one before, and ends like a separate fit at its optimum, with a certificate.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        Training data.
    y : array-like of shape (n_samples,)
        Classes.
    l1s : array-like, optional
        Values of l1, taken from the largest to the smallest.  By default ``n_values`` from the smallest that
        selects nothing, evenly on a logarithmic scale, down to ``smallest`` of it.
    n_values, smallest
        See ``l1s``.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples.
    **parameters
        Further parameters of :class:`L1SVC`.

    Returns
    -------
    GraftPath
        The models; ``estimator(i)`` gives one of them as a fitted :class:`L1SVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skgraft import l1_svc_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = l1_svc_path(X, y, n_values=5)
    >>> path.n_selected
    array([ 0,  5,  9,  9, 15])
    >>> all(point.certificate.converged for point in path)
    True
    """
    if not 0.0 < smallest < 1.0:
        msg = f"smallest={smallest!r} must lie between 0 and 1: it is a share of the largest l1"
        raise ValueError(msg)
    template = L1SVC(**parameters)
    template._validate_params()  # noqa: SLF001 -- what fit does first
    values = None if l1s is None else falling(l1s, "l1s")
    with threads(template.n_jobs, X):
        program, columns = template.set_params(l1=1.0)._program(X, y, sample_weight)  # noqa: SLF001 -- its own encoding
        model = ProgramModel(program)
        controls = template._controls()  # noqa: SLF001
        if values is None:
            top = ABOVE * first_l1(model, controls)
            values = np.geomspace(top, smallest * top, n_values) if top > 0.0 else np.zeros(1)
        fits = _walk(model, program, values, controls)
        points = tuple(_point(columns, l1, within_budget(program, l1, fit, controls)) for l1, fit in fits)
    return GraftPath(points, columns.n_columns, template)


def _walk(model: ProgramModel, unit: Program, l1s: Array, controls: Controls) -> Iterator[tuple[float, ProgramFit]]:
    """Yield the optimum for each l1; ``unit`` is the program at an l1 of one."""
    fit, flat = None, False
    for l1 in l1s.tolist():
        unchanged = flat or model.charge(l1 * unit.cost)
        if fit is not None and unchanged:
            flat = True  # no margin falls short: from here on weights stay, violation and gap fall with the costs
            fit = replace(fit, objective=l1 * unit.norm(fit.weights))
        else:
            monitor, finished = controls.monitor("column generation"), False
            with monitor.watch():
                finished = grow(model, controls, monitor)
            if monitor.interrupted:
                raise KeyboardInterrupt
            if monitor.stopped:
                return
            fit = conclude(model, controls, monitor.history, finished=finished)
        yield l1, fit


def first_l1(model: ProgramModel, controls: Controls) -> float:
    """Return the smallest l1 at which no penalised feature has a weight.

    The optimal value P(l1) is concave and piecewise linear: each solution (w, b) bounds it by the line
    loss + l1·Σ a_j|w_j|, and where that line meets the value without features is Newton's next step, from below.
    """
    unit = model.program
    a = unit.cost
    if not a.any():
        return 0.0

    def solve_at(l1: float) -> tuple[float, float]:
        model.charge(l1 * a)
        grow(model, controls, Monitor())
        size = unit.norm(model.coefficients()[0])
        return model.objective() - l1 * size, size

    bound = _sufficient_l1(model, unit)
    if a.all():
        empty, size = model.objective(), 0.0
    else:
        trial = 2.0 * bound or 1.0
        empty, size = solve_at(trial)
        while size > 0.0:  # unpenalised features may have raised the others' gradients
            trial *= 2.0
            empty, size = solve_at(trial)
        bound = _sufficient_l1(model, unit)
    l1, loss = bound, empty
    while size == 0.0:
        l1 *= 0.9 if l1 == bound else 0.5
        if not l1 > 1e-12 * bound:
            return 0.0
        loss, size = solve_at(l1)
    for _ in range(NEWTON_STEPS):
        following = (empty - loss) / size
        if following <= l1 * (1.0 + 1e-12):
            break
        l1 = following
        loss, size = solve_at(l1)
        if size == 0.0:
            break
    return l1


def _sufficient_l1(model: ProgramModel, unit: Program) -> float:
    """Return an l1 that holds the model's gradients."""
    penalised = unit.bag_cost > 0.0
    gradient = unit.by_bag(model.gradient())[penalised].max(axis=1)
    return float((gradient / unit.bag_cost[penalised]).max())


def _point(columns: DenseColumns | SparseColumns, l1: float, fit: ProgramFit) -> PathPoint:
    scale, centre = columns.scale[fit.order], columns.centre[fit.order]
    weights = (fit.weights[fit.order] / scale[:, None]).T
    return PathPoint(
        l1=l1,
        l0=0.0,
        max_features=None,
        features=fit.order,
        weights=weights,
        intercept=fit.intercept - weights @ centre,
        objective=fit.objective,
        total_cost=fit.total_cost,
        certificate=fit.certificate,
    )
