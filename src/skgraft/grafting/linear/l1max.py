"""Where the path begins: the smallest l1 that selects nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from skgraft.arrays import Array
from skgraft.criterion import LOSSES, Loss
from skgraft.grafting.linear.model import LinearModel
from skgraft.grafting.linear.problem import Layout, LinearProblem, make_penalty
from skgraft.tables import are_quantities


def l1_max(X: Any, y: Any, *, loss: str | Loss = "auto", sample_weight: Any = None, **parameters: Any) -> float:
    """Return the smallest ``l1`` at which no penalised feature enters the model.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        Training data.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Classes or numbers.
    loss : str, default="auto"
        As in :class:`GraftClassifier` and :class:`GraftRegressor`.  ``"auto"`` takes floating-point numbers in
        ``y`` for a regression, and strings, booleans and integers for classes.  Floating-point numbers that are all
        whole, with at most 20 different values, may be either and are refused: then say which.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples.
    **parameters
        Parameters of the estimator that change the answer: ``standardize``, ``fit_intercept``,
        ``penalty_weights``, ``class_weight``, ``groups``, ``group_l1``, ``positive``, ``delta``, ``l2``,
        ``capped_l1``.

    Returns
    -------
    float
        The value; 0 if nothing in X tells anything about y.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skgraft import GraftClassifier, l1_max
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> top = l1_max(X, y)
    >>> [int(GraftClassifier(l1=top * f).fit(X, y).support_.sum()) for f in (1.001, 0.999)]
    [0, 1]
    """
    estimator = estimator_for(y, loss, parameters)
    estimator.set_params(l0=0.0, max_features=None, max_cost=None, keep=None)
    return null_l1(estimator._problem(X, y, sample_weight))  # noqa: SLF001 -- the estimators' own encoding


def estimator_for(y: Any, loss: str | Loss, parameters: dict[str, Any]) -> Any:
    """Return the estimator that the loss asks for, or else the kind of target."""
    from skgraft.grafting.linear.estimators import GraftClassifier, GraftRegressor

    given = loss if isinstance(loss, Loss) else LOSSES.get(loss)
    regression = are_quantities(y) if loss == "auto" else given is not None and given.task == "numbers"
    estimator = (GraftRegressor if regression else GraftClassifier)(loss=loss, **parameters)
    estimator._validate_params()  # noqa: SLF001 -- what fit does first
    return estimator


def null_l1(problem: LinearProblem) -> float:
    """Return the smallest l1 that keeps every penalised weight at zero."""
    start = replace(problem, l1=1.0, capped_l1=0.0)
    model = LinearModel(start)
    model.open_first(None, 1e-10 * float(np.abs(model.null_gradient).max(initial=0.0)))
    gradient = model.exact_gradient()
    layout = Layout(start)
    a = make_penalty(start, layout).l1  # with l1 = 1 these are the penalty weights
    kkt_excess = np.maximum(-gradient, 0.0) if problem.positive else np.abs(gradient)
    told = (a > 0.0) & (kkt_excess > _noise(problem, layout, model.point.scores))
    top = float((kkt_excess[told] / a[told]).max(initial=0.0))
    if problem.group_l1 == 0.0 or top == 0.0:
        return max(top - problem.capped_l1, 0.0)  # at zero a capped l1 holds as any other
    low, high = 0.0, top
    for _ in range(100):
        middle = 0.5 * (low + high)
        quiet = make_penalty(replace(problem, l1=middle), layout).distance_at_zero(gradient).max() == 0.0
        low, high = (low, middle) if quiet else (middle, high)
    return high


def _noise(problem: LinearProblem, layout: Layout, scores: Array) -> Array:
    """Return what rounding alone leaves of the gradient of a column that tells nothing about the target."""
    target, eps = problem.target, float(np.finfo(float).eps)
    apart = target.loss.derivative(scores, target.y)
    size, residual = target.weight @ np.abs(target.y), np.sqrt(target.weight @ apart**2)
    noise = 4.0 * eps * np.outer(problem.columns.length, residual)
    noise[:, residual <= 4.0 * eps * size] = np.inf  # a constant target: its residuals are rounding themselves
    return np.asarray(layout.flat(noise))
