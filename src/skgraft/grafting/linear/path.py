"""Many values of one coefficient, each fit starting from the one before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from skgraft.arrays import Array
from skgraft.criterion import Certificate, Loss
from skgraft.estimator import falling, list_of_numbers
from skgraft.grafting.linear.fit import (
    LinearControls,
    begin,
    check_model,
    conclude,
    grow,
    improve,
    run,
    settings_for,
)
from skgraft.grafting.linear.l1max import estimator_for, null_l1
from skgraft.grafting.linear.model import LinearModel, Outcome
from skgraft.grafting.linear.problem import LinearProblem
from skgraft.prices import Prices
from skgraft.run import Monitor, Stop, threads, warn_user

# what a path goes along, and the parameter of the estimator that it gives values to
PARAMETER = {"l1s": "l1", "l0s": "l0", "l2s": "l2", "sizes": "max_features", "costs": "max_cost"}


@dataclass(frozen=True)
class PathPoint:
    """One model of a path, on the original scale of the features.

    Attributes
    ----------
    l1, l0, l2, max_features, max_cost
        The parameters that the model was fitted with.
    features : ndarray of int of shape (n_selected,)
        The selected features in the order in which they came in.
    weights : ndarray of shape (n_outputs, n_selected)
        Their weights.
    intercept : ndarray of shape (n_outputs,)
        Intercepts.
    objective : float
        The criterion of the model.
    total_cost : float
        What its features cost together.
    certificate : Certificate
        How far it is from the optimum.
    """

    l1: float
    l0: float
    max_features: int | None
    features: NDArray[np.intp]
    weights: Array
    intercept: Array
    objective: float
    total_cost: float
    certificate: Certificate
    l2: float = 0.0
    max_cost: float | None = None


@dataclass(frozen=True)
class GraftPath(Sequence[PathPoint]):
    """The models along a path, from the fewest features to the most.

    Attributes
    ----------
    points : tuple of PathPoint
        One for each value.
    n_features : int
        Number of input features.
    """

    points: tuple[PathPoint, ...]
    n_features: int
    _template: BaseEstimator

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.points)

    def __getitem__(self, index: Any) -> Any:
        """Return one point, or several."""
        return self.points[index]

    @property
    def l1s(self) -> Array:
        """The values of l1."""
        return np.array([point.l1 for point in self.points])

    @property
    def l0s(self) -> Array:
        """The values of l0."""
        return np.array([point.l0 for point in self.points])

    @property
    def l2s(self) -> Array:
        """The values of l2."""
        return np.array([point.l2 for point in self.points])

    @property
    def n_selected(self) -> NDArray[np.intp]:
        """How many features each model has."""
        return np.array([point.features.size for point in self.points])

    @property
    def objectives(self) -> Array:
        """The criterion of each model."""
        return np.array([point.objective for point in self.points])

    @property
    def total_costs(self) -> Array:
        """What the features of each model cost together."""
        return np.array([point.total_cost for point in self.points])

    @property
    def coefs(self) -> Array:
        """Weights of all models, (n_values, n_outputs, n_features); large where there are many features."""
        return np.stack([self.coef(i) for i in range(len(self))])

    def coef(self, index: int) -> Array:
        """Return the weights of one model.

        Parameters
        ----------
        index : int
            Which point of the path.

        Returns
        -------
        ndarray of shape (n_outputs, n_features)
            Weights on the original scale of the features.
        """
        point = self.points[index]
        out = np.zeros((point.intercept.size, self.n_features))
        out[:, point.features] = point.weights
        return out

    def estimator(self, index: int) -> Any:
        """Return one model as a fitted estimator, the same that a separate fit would give.

        Parameters
        ----------
        index : int
            Which point of the path.

        Returns
        -------
        GraftClassifier, GraftRegressor or L1SVC
            Without ``history_`` and ``n_iter_``: the steps belong to the path.
        """
        from copy import copy

        point = self.points[index]
        known = self._template.get_params(deep=False)
        names = ("l1", "l0", "l2", "max_features", "max_cost")
        values = {name: getattr(point, name) for name in names}
        model = copy(self._template).set_params(**{name: value for name, value in values.items() if name in known})
        coef = self.coef(index)
        model.coef_, model.intercept_ = coef, point.intercept
        if getattr(model, "_single_target", False):
            model.coef_, model.intercept_ = coef[0], point.intercept[0]
        model.support_ = np.zeros(self.n_features, bool)
        model.support_[point.features] = True
        model.order_ = point.features
        model.objective_ = point.objective
        model.total_cost_ = point.total_cost
        model.certificate_ = point.certificate
        return model


def graft_path(
    X: Any,
    y: Any,
    *,
    l1s: ArrayLike | None = None,
    l0s: ArrayLike | None = None,
    l2s: ArrayLike | None = None,
    sizes: ArrayLike | None = None,
    costs: ArrayLike | None = None,
    n_values: int = 100,
    smallest: float = 1e-2,
    loss: str | Loss = "auto",
    sample_weight: Any = None,
    **parameters: Any,
) -> GraftPath:
    """Fit a linear model for many values of l1 (or of l0, of l2, of the number of features, of the budget).

    Every point ends, like a separate fit, at the optimum of its weights and with a certificate.  Where the criterion is
    convex each fit starts from the one before.  With prices or limits, where a search ends depends on where it
    starts, so that each point is searched from the empty model; growth along ``sizes`` is shared, and a larger size or
    budget is never given a worse model than a smaller one.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        Training data.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Classes or numbers.
    l1s : array-like, optional
        Values of l1, taken from the largest to the smallest.  By default ``n_values`` from the smallest that
        selects nothing, evenly on a logarithmic scale, down to ``smallest`` of it.
    l0s : array-like, optional
        Values of l0 instead, at the ``l1`` among the parameters (0 if it is not there).
    l2s : array-like, optional
        Values of l2 instead, from the largest: at an ``l1`` of 0, the default here, the path of ridge regression,
        on which every weight shrinks and none is zero.
    sizes : array-like of int, optional
        Values of ``max_features`` instead, from the smallest, at the ``l1`` among the parameters (0 if it is not).
    costs : array-like, optional
        Values of ``max_cost`` instead, from the smallest, at the ``l1`` among the parameters (0 if it is not).
    n_values, smallest
        See ``l1s``.
    loss : str, default="auto"
        As in :func:`l1_max`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples.
    **parameters
        Further parameters of :class:`GraftClassifier` or :class:`GraftRegressor`, but not the one that the path varies.

    Returns
    -------
    GraftPath
        The models.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgraft import graft_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> path = graft_path(X, y, n_values=5)
    >>> path.n_selected
    array([0, 4, 5, 7, 8])
    >>> all(point.certificate.converged for point in path)
    True

    With a budget, at prices of one for the first five features and of three for the others:

    >>> path = graft_path(X, y, costs=[1, 3, 6], feature_costs=[1] * 5 + [3] * 5)
    >>> path.total_costs
    array([1., 3., 6.])
    """
    along = {"l1s": l1s, "l0s": l0s, "l2s": l2s, "sizes": sizes, "costs": costs}
    given = [name for name, values in along.items() if values is not None]
    if len(given) > 1:
        msg = f"a path goes along one of {', '.join(along)}, but {' and '.join(given)} were given"
        raise ValueError(msg)
    way = given[0] if given else "l1s"
    if PARAMETER[way] in parameters:
        msg = (
            f"the path goes along {way}, so that {PARAMETER[way]} must not be given too: leave it out, or put its "
            f"value into {way}"
        )
        raise ValueError(msg)
    if way != "l1s":
        parameters.setdefault("l1", 0.0)
    if not 0.0 < smallest < 1.0:
        msg = f"smallest={smallest!r} must lie between 0 and 1: it is a share of the largest l1"
        raise ValueError(msg)
    template = estimator_for(y, loss, parameters)
    values = None if not given else along[way]
    return path_of(template, X, y, sample_weight, way, values, n_values=n_values, smallest=smallest, nested=True)


def path_of(
    template: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    way: str,
    values: Any,
    *,
    n_values: int = 100,
    smallest: float = 1e-2,
    nested: bool = False,
) -> GraftPath:
    """Return the path of an estimator's criterion along ``values`` of what ``way`` names, as in :func:`graft_path`.

    Without ``nested`` every point is what a separate fit gives; with it, a larger size or budget that a separate
    fit would use worse than a smaller one goes on from the smaller one's model.
    """
    with threads(template.n_jobs, X):
        problem = template._problem(X, y, sample_weight)  # noqa: SLF001 -- the estimators' own encoding
        steps = _steps(problem, way, values, n_values, smallest)
        controls = template._controls()  # noqa: SLF001
        walk = _walk_convex if all(step.convex for step in steps) else _walk_priced
        found: list[PathPoint] = []
        with suppress(Stop):  # the callback ends the path with the points so far
            found.extend(walk(steps, controls, nested=nested and way in {"sizes", "costs"}))
    points = tuple(found)
    left = sum(not point.certificate.converged for point in points)
    if left and controls.effort.is_stationary:
        warn_user(
            f"{left} of {len(points)} points of the path did not reach tol={controls.tol:g} in "
            f"max_iter={controls.max_iter} steps. Raise max_iter or tol, or add an l2 penalty."
        )
    return GraftPath(points, problem.n_features, template)


def _steps(problem: LinearProblem, way: str, values: Any, n_values: int, smallest: float) -> list[LinearProblem]:
    """Return the problems of a path, in the order of growing models."""
    if way in {"sizes", "costs"}:
        return [replace(problem, prices=prices) for prices in _limits(problem.prices, way, values)]
    if values is None:
        top = null_l1(replace(problem, l0=0.0))
        values = np.geomspace(top, smallest * top, n_values) if top > 0.0 else [0.0]
    return [_with(problem, way, float(value)) for value in falling(values, way)]


def _limits(prices: Prices, way: str, values: Any) -> list[Prices]:
    """Return prices with each of the limits, the smallest first."""
    if way == "costs":
        return [replace(prices, max_cost=float(value)) for value in np.unique(falling(values, way))]
    counts = np.unique(list_of_numbers(values, way).astype(np.intp))
    least = max(1, int(prices.kept.sum()))
    if counts[0] < least:
        reason = "the number of features named in keep" if least > 1 else "the smallest number of features"
        msg = f"sizes must be at least {least}, {reason}, but {counts[0]} is among them"
        raise ValueError(msg)
    return [replace(prices, max_features=int(k)) for k in counts]


def _with(problem: LinearProblem, way: str, value: float) -> LinearProblem:
    if way == "l1s":
        return replace(problem, l1=value)
    return replace(problem, l0=value) if way == "l0s" else replace(problem, l2=value)


def _walk_convex(steps: list[LinearProblem], controls: LinearControls, *, nested: bool) -> Iterator[PathPoint]:
    """Go from each optimum to the next; ``nested`` follows from convexity."""
    del nested
    model, tol = begin(steps[0], controls, None)
    for step in steps:
        model.repenalize(step)
        monitor = controls.monitor("path")
        outcome = run(model, controls, tol, monitor)
        yield _point(model, controls, monitor, outcome)


def _walk_priced(steps: list[LinearProblem], controls: LinearControls, *, nested: bool) -> Iterator[PathPoint]:
    """Search each model from the empty one.

    Where steps differ in the number of features alone, and features come in one by one, each greedy growth is the
    beginning of the next, and is not repeated.
    """
    shared = _growth_is_shared(steps, controls)
    model, tol = begin(steps[0], controls, None)
    best, least = None, np.inf
    for at, step in enumerate(steps):
        if at and not shared:
            model, tol = begin(step, controls, None)
        model.repenalize(step)
        monitor = controls.monitor("path")
        settings = settings_for(step, controls, tol, model.layout.n_units)
        finished = grow(model, settings, monitor)
        trunk = model.save()
        outcome = improve(model, controls, settings, monitor, finished=finished)
        if nested and best is not None and model.objective() > least:
            model.restart(best, 0.5 * tol)
            outcome = run(model, controls, tol, monitor)
        best, least = model.coefficients(), model.objective()
        yield _point(model, controls, monitor, outcome)
        if shared:
            model.restore(trunk)


def _growth_is_shared(steps: list[LinearProblem], controls: LinearControls) -> bool:
    """Whether the greedy growth of each step begins with that of the step before."""
    first = steps[0]
    one_by_one = controls.select_unit in {"auto", 1} and first.group_l1 == 0.0
    return one_by_one and all(
        step.l1 == first.l1 and step.l0 == first.l0 and step.l2 == first.l2 and step.prices.max_cost is None
        for step in steps
    )


def _point(model: LinearModel, controls: LinearControls, monitor: Monitor, outcome: Outcome) -> PathPoint:
    problem = model.problem
    fit = conclude(model, check_model(model), model.save(), controls, monitor.history, outcome)
    scale, centre = problem.columns.scale[fit.order], problem.columns.centre[fit.order]
    weights = (fit.weights[fit.order] / scale[:, None]).T
    return PathPoint(
        l1=problem.l1,
        l0=problem.l0,
        max_features=problem.prices.max_features,
        features=fit.order,
        weights=weights,
        intercept=fit.intercept - weights @ centre,
        objective=fit.objective,
        total_cost=fit.total_cost,
        certificate=fit.certificate,
        l2=problem.l2,
        max_cost=problem.prices.max_cost,
    )
