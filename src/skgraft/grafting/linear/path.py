"""Many values of one coefficient, each fit starting from the one before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array

from skgraft.criterion import Loss
from skgraft.criterion.certificate import Certificate
from skgraft.grafting.linear.fit import Controls, LinearFit, begin, check_model, conclude, run
from skgraft.grafting.linear.l1max import estimator_for, null_l1
from skgraft.grafting.linear.problem import LinearProblem
from skgraft.grafting.loop import Monitor
from skgraft.run.threads import threads

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PathPoint:
    """One model of a path, on the original scale of the features.

    Attributes
    ----------
    l1, l0, max_features
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
    def n_selected(self) -> NDArray[np.intp]:
        """How many features each model has."""
        return np.array([point.features.size for point in self.points])

    @property
    def objectives(self) -> Array:
        """The criterion of each model."""
        return np.array([point.objective for point in self.points])

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
        values = {"l1": point.l1, "l0": point.l0, "max_features": point.max_features}
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
    sizes: ArrayLike | None = None,
    n_values: int = 100,
    smallest: float = 1e-2,
    loss: str | Loss = "auto",
    sample_weight: Any = None,
    **parameters: Any,
) -> GraftPath:
    """Fit a linear model for many values of l1 (or of l0, or of the number of features).

    Every fit starts from the one before and ends, like a separate fit, with a certificate.

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
    sizes : array-like of int, optional
        Values of ``max_features`` instead, from the smallest, at the ``l1`` among the parameters (0 if it is not).
    n_values, smallest
        See ``l1s``.
    loss : str, default="auto"
        As in :func:`l1_max`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples.
    **parameters
        Further parameters of :class:`GraftClassifier` or :class:`GraftRegressor`.

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
    """
    given = [name for name, values in (("l1s", l1s), ("l0s", l0s), ("sizes", sizes)) if values is not None]
    if len(given) > 1:
        msg = f"a path goes along one of l1s, l0s and sizes, but {' and '.join(given)} were given"
        raise ValueError(msg)
    if given and given != ["l1s"]:
        parameters.setdefault("l1", 0.0)
    if not 0.0 < smallest < 1.0:
        msg = f"smallest={smallest!r} must lie between 0 and 1: it is a share of the largest l1"
        raise ValueError(msg)
    template = estimator_for(y, loss, parameters)
    return path_of(template, X, y, sample_weight, l1s=l1s, l0s=l0s, sizes=sizes, n_values=n_values, smallest=smallest)


def path_of(
    template: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    l1s: Any = None,
    l0s: Any = None,
    sizes: Any = None,
    n_values: int = 100,
    smallest: float = 1e-2,
) -> GraftPath:
    """Return the path of an estimator's criterion; what it goes along is as in :func:`graft_path`."""
    with threads(template.n_jobs):
        problem = template._problem(X, y, sample_weight)  # noqa: SLF001 -- the estimators' own encoding
        steps = _steps(problem, l1s, l0s, sizes, n_values, smallest)
        points = tuple(_walk(steps, template._controls()))  # noqa: SLF001
    return GraftPath(points, problem.n_features, template)


def _steps(
    problem: LinearProblem, l1s: Any, l0s: Any, sizes: Any, n_values: int, smallest: float
) -> list[LinearProblem]:
    """Return the problems of a path, in the order of growing models."""
    if sizes is not None:
        counts = np.unique(check_array(sizes, ensure_2d=False, dtype=np.intp, input_name="sizes"))
        return [replace(problem, prices=replace(problem.prices, max_features=int(k))) for k in counts]
    if l0s is not None:
        return [replace(problem, l0=float(value)) for value in falling(l0s, "l0s")]
    if l1s is None:
        top = null_l1(replace(problem, l0=0.0))
        l1s = np.geomspace(top, smallest * top, n_values) if top > 0.0 else [0.0]
    return [replace(problem, l1=float(value)) for value in falling(l1s, "l1s")]


def falling(values: Any, name: str) -> Array:
    """Return the values of a parameter that may not be negative, the largest first."""
    numbers = check_array(values, ensure_2d=False, dtype=np.float64, input_name=name)
    if (numbers < 0.0).any():
        msg = f"{name} must not be negative, but {numbers.min():g} is among them"
        raise ValueError(msg)
    return np.sort(numbers)[::-1]


def _walk(steps: list[LinearProblem], controls: Controls) -> Iterator[PathPoint]:
    model, tol = begin(steps[0], controls, None)
    for step in steps:
        model.repenalize(step)
        monitor = Monitor(callback=controls.callback, verbose=controls.verbose)
        finished = run(model, controls, tol, monitor)
        fit = conclude(model, check_model(model), model.save(), controls, monitor.history, finished=finished)
        yield _point(step, fit)


def _point(problem: LinearProblem, fit: LinearFit) -> PathPoint:
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
    )
