"""Many values of mu over the same bins: the trade-off between cost and fit."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgraft.arrays import Array
from skgraft.boosting.boost import largest_mu
from skgraft.boosting.classifier import GBFSClassifier
from skgraft.boosting.regressor import GBFSRegressor
from skgraft.boosting.selector import Ready
from skgraft.estimator import falling
from skgraft.run import announced_compilation, threads
from skgraft.tables import are_quantities

LARGEST_SHARE = 0.5  # of mu_max, where the default path begins


@dataclass(frozen=True, eq=False)
class GBFSPath(Sequence[Any]):
    """The models along a path, from the largest mu to the smallest.

    Attributes
    ----------
    models : tuple of GBFSClassifier or GBFSRegressor
        A fitted estimator for each value.
    mus : ndarray
        The values, on the scale of ``mu_scale``.
    """

    models: tuple[Any, ...]
    mus: Array

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.models)

    def __getitem__(self, index: Any) -> Any:
        """Return one fitted estimator, or several."""
        return self.models[index]

    def estimator(self, index: int) -> Any:
        """Return one fitted estimator, the same that a separate fit would give.

        Parameters
        ----------
        index : int
            Which point of the path.

        Returns
        -------
        GBFSClassifier or GBFSRegressor
            The model.
        """
        return self.models[index]

    @property
    def n_selected(self) -> NDArray[np.intp]:
        """How many features each model has."""
        return np.array([int(model.support_.sum()) for model in self.models])

    @property
    def total_costs(self) -> Array:
        """What the features of each model cost."""
        return np.array([model.total_cost_ for model in self.models])

    @property
    def objectives(self) -> Array:
        """The criterion of each model."""
        return np.array([model.objective_ for model in self.models])


def gbfs_path(
    X: Any,
    y: Any,
    mus: ArrayLike | None = None,
    *,
    n_values: int = 10,
    loss: str = "auto",
    sample_weight: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    sample_weight_val: Any = None,
    **parameters: Any,
) -> GBFSPath:
    """Fit a model for many values of mu; X is binned once.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        Training data.
    y : array-like of shape (n_samples,)
        Classes or numbers.
    mus : array-like, optional
        Values of mu, shares of ``mu_max`` unless ``mu_scale="absolute"`` is among the parameters; taken from the
        largest to the smallest.  By default ``n_values``, evenly on a logarithmic scale, from half of mu_max down to a
        quarter of what a feature of noise gains.
    n_values : int, default=10
        See ``mus``.
    loss : str, default="auto"
        As in :func:`mu_max`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples.
    X_val, y_val, sample_weight_val : array-like, optional
        Rows to judge by, as in ``fit``.
    **parameters
        Further parameters of :class:`GBFSClassifier` or :class:`GBFSRegressor`.

    Returns
    -------
    GBFSPath
        The models.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skgraft import gbfs_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> path = gbfs_path(X, y, [1.01, 0.3, 0.1, 0.03], n_trees=20)
    >>> path.n_selected
    array([0, 1, 2, 3])
    """
    template = estimator_for(y, loss, parameters)
    with announced_compilation(), threads(template.n_jobs, X) as workers:
        ready = template._prepare(X, y, sample_weight, (X_val, y_val, sample_weight_val), workers)  # noqa: SLF001
        if mus is None:
            top = largest_mu(ready.gains, ready.feature_prices.phi)
            values = _default_mus(ready, top, n_values)
            values = values * top if template.mu_scale == "absolute" else values
        else:
            values = falling(mus, "mus")
        models = []
        for mu in values:
            model = copy(template).set_params(mu=float(mu))
            model._train(ready)  # noqa: SLF001 -- the estimators' own training
            models.append(model)
    return GBFSPath(tuple(models), values)


def mu_max(X: Any, y: Any, *, loss: str = "auto", sample_weight: Any = None, **parameters: Any) -> float:
    """Return the smallest absolute ``mu`` at which nothing is bought: max over features of root gain / price.

    Free features are not bought, so where there are any (by price, or kept) the trees that use them may still find
    something worth its price below.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        Training data.
    y : array-like of shape (n_samples,)
        Classes or numbers.
    loss : str, default="auto"
        ``"squared"``, ``"huber"`` or ``"poisson"`` for numbers, ``"logistic"`` or ``"multinomial"`` for classes;
        ``"auto"`` takes floating-point numbers in ``y`` for a regression, and strings, booleans and integers for
        classes.  Floating-point numbers that are all whole, with at most 20 different values, may be either and are
        refused: then say which.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples.
    **parameters
        Parameters of :class:`GBFSClassifier` or :class:`GBFSRegressor`.

    Returns
    -------
    float
        The value; 0 if no feature tells anything about y.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skgraft import GBFSClassifier, mu_max
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> top = mu_max(X, y)
    >>> [int(GBFSClassifier(mu=top * f, mu_scale="absolute").fit(X, y).support_.sum()) for f in (1.001, 0.999)]
    [0, 1]
    """
    template = estimator_for(y, loss, parameters)
    with announced_compilation(), threads(template.n_jobs, X) as workers:
        ready = template._prepare(X, y, sample_weight, (None, None, None), workers)  # noqa: SLF001
    return largest_mu(ready.gains, ready.feature_prices.phi)


def estimator_for(y: Any, loss: str, parameters: dict[str, Any]) -> Any:
    """Return the estimator that the loss asks for, or else the kind of target."""
    known = {"auto", "logistic", "multinomial", "squared", "huber", "poisson"}
    if loss not in known:
        msg = f"loss={loss!r} is not among {sorted(known)}"
        raise ValueError(msg)
    if loss in {"squared", "huber", "poisson"}:
        estimator: Any = GBFSRegressor(loss=loss, **parameters)
    elif loss == "auto" and are_quantities(y):
        estimator = GBFSRegressor(**parameters)
    else:
        estimator = GBFSClassifier(**parameters)
    estimator._validate_params()  # noqa: SLF001 -- what fit does first
    return estimator


def _default_mus(ready: Ready, top: float, n_values: int) -> Array:
    """Return shares of mu_max down to a quarter of what noise gains: about σ²·2·ln(50 d) for the best of d features."""
    problem, task = ready.problem, ready.problem.task
    scores = np.repeat(task.start()[:, None], task.y.size, axis=1)
    g, h = task.workspace()
    task.derivatives(scores, g, h, problem.workers)
    share = task.weight / task.total_weight
    variance = float((g * g @ share).max())
    unit = task.total_weight / ready.data.y.size  # noise grows with the weight of a row
    noise = unit * variance * 2.0 * np.log(50.0 * problem.grower.bins.layout.n_features)
    least = 0.25 * noise / top if top > 0.0 else 1e-3
    return np.geomspace(LARGEST_SHARE, float(np.clip(least, 1e-6, 0.5 * LARGEST_SHARE)), n_values)
