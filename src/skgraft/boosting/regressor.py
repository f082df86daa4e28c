"""Gradient boosted feature selection for numbers."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from skgraft.arrays import Array
from skgraft.boosting.selector import CONSTRAINTS, BoostedSelector
from skgraft.criterion import Loss, loss_facts, loss_names, resolve_loss
from skgraft.estimator import store_parameters


class GBFSRegressor(RegressorMixin, BoostedSelector):
    """Boosted regression trees that pay for every feature they use.

    As :class:`GBFSClassifier`, with a loss for numbers; the parameters not listed here mean the same.

    Parameters
    ----------
    mu, mu_scale
        What a unit of price must gain: the decrease of the whole squared error of the gradients, twice the paper's μ;
        on the absolute scale in units of the squared gradient, which is that of y² for the squared loss.
    loss : {"squared", "huber", "poisson"} or Loss, default="squared"
        ½(y - f)², Huber's function of y - f, or exp(f) - y·f for counts.
    delta : float, default=1.35
        Where Huber's loss turns from a square to a line, in units of y.
    n_trees, learning_rate, max_depth, max_bins, min_samples_leaf
        How to grow.
    leaf : {"newton", "gradient"}, default="newton"
        The same for the squared loss.  Newton's step for Huber's is that of the square which touches it from above.
    feature_costs, groups, cost_function, keep, max_features, max_cost
        What features cost and which are in.
    screening, explore, categorical_features, early_stopping, validation_fraction, n_iter_no_change, tol
        As for the classifier.
    warm_start, n_jobs, random_state, verbose, callback
        As for the classifier.

    Attributes
    ----------
    support_, order_, history_, total_cost_, objective_, certificate_, mu_, mu_max_, trees_, feature_importances_
        As for the classifier.
    train_score_, validation_score_, n_trees_, n_iter_, n_features_in_, feature_names_in_
        As for the classifier.

    See Also
    --------
    GBFSClassifier : The same for classes.

    References
    ----------
    .. [1] Xu, Huang, Weinberger and Zheng (2014). Gradient boosted feature selection. KDD.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgraft import GBFSRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GBFSRegressor(max_features=3).fit(X, y)
    >>> [str(name) for name in model.feature_names_in_[model.order_]]
    ['s5', 'bmi', 'bp']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "loss": [StrOptions(loss_names("numbers", besides=())), Loss],
        "delta": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        mu: float = 0.05,
        mu_scale: str = "relative",
        loss: str | Loss = "squared",
        delta: float = 1.35,
        n_trees: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        max_bins: int = 255,
        min_samples_leaf: int = 5,
        leaf: str = "newton",
        feature_costs: Any = None,
        groups: Any = None,
        cost_function: Any = None,
        keep: Any = None,
        max_features: int | None = None,
        max_cost: float | None = None,
        screening: str = "exact",
        explore: float | None = None,
        categorical_features: Any = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        store_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> GBFSRegressor:
        """Select features and learn.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Training data; NaN means missing.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; a weight of two is the same as a repetition.
        X_val, y_val, sample_weight_val : array-like, optional
            Rows to judge by, for ``validation_score_`` and ``early_stopping``.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit(X, y, sample_weight, (X_val, y_val, sample_weight_val))
        return self

    def _encode(self, y: Any, weight: Array) -> tuple[Array, Array, int]:
        self._loss = resolve_loss(self.loss, "numbers", delta=float(self.delta))
        self._loss.require_target(y, weight)
        return np.asarray(y, np.float64), weight, 1

    def _encode_new(self, y: Any) -> Array:
        return np.asarray(y, np.float64)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = loss_facts(self.loss).positive_target
        return tags

    def predict(self, X: Any) -> Array:
        """Return the predicted mean of each sample.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            The sum over the trees, or its exponential for ``loss="poisson"``.
        """
        return self._means(self._scores(X))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Yield the predicted means after every round.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples,)
            As from :meth:`predict`.
        """
        for scores in self._staged_scores(X):
            yield self._means(scores)

    def _means(self, scores: Array) -> Array:
        return self._loss.response(scores[:, 0])
