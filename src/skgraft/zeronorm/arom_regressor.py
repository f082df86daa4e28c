"""AROM for numbers: few features whose linear function stays near all targets."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval

from skgraft.arrays import Array
from skgraft.estimator import store_parameters
from skgraft.run import threads
from skgraft.tables import read_training, require_finite, sample_weights
from skgraft.zeronorm.arom import CONSTRAINTS, RoundsEstimator
from skgraft.zeronorm.arom_rounds import tube_rounds


class AROMRegressor(RegressorMixin, RoundsEstimator):
    """Linear regression with as few features as it takes to stay near the targets.

    The idea of :class:`AROMClassifier` with the constraints of epsilon-insensitive regression: approximates the minimum
    of the zero-norm of w by that of
    ::

        Σ_g cost_g ln(ε + ||w_g||) + C/μ Σ_i s_i ξ_i²     so that     |y_i - w·x_i - b| <= epsilon + ξ_i

    for targets in units of their standard deviation.

    Parameters
    ----------
    norm : {"l2", "l1", "l2-l1"}, default="l2"
        The norm that a round minimises, by a support vector machine or a linear program, or by these after those; with
        ``"l1"`` the slack is not squared.
    n_features_to_select, feature_costs, groups, keep, max_cost
        As in :class:`AROMClassifier`.
    epsilon : float, default=0.1
        Errors up to this, in units of y, cost nothing.
    C : float, default=1.0
        What slack costs; infinity allows none.
    errors : {"ridge", "zero"}, default="ridge"
        Whether squares of slack are added up, or its zero-norm is minimised together with that of the weights.
    minimise : {"features", "errors"}, default="features"
        ``"errors"`` keeps all features at their scale and minimises the norm of the weights and the number of
        targets outside the tube.
    retrain : bool, default=True
        Fit a fresh machine on the chosen features at their own scale; otherwise the weights are those of the
        last round's scales.
    standardize : bool, default=True
        Learn on features of mean zero and deviation one; ``coef_`` is for the original features.
    tol, max_iter, n_jobs, verbose, callback
        As in :class:`AROMClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights on the original scale.
    intercept_ : float
        Intercept.
    support_, order_, total_cost_, history_, objective_, certificate_, n_iter_
        As in :class:`AROMClassifier`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    AROMClassifier : The same for classes.
    GraftRegressor : Features that come in one by one.

    References
    ----------
    .. [1] Weston, Elisseeff, Schölkopf and Tipping (2003). Use of the zero-norm with linear models and kernel
       methods. Journal of Machine Learning Research 3.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgraft import AROMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AROMRegressor(n_features_to_select=3, epsilon=10.0).fit(X, y)
    >>> sorted(model.order_.tolist())
    [2, 4, 8]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        norm: str = "l2",
        n_features_to_select: int | None = None,
        feature_costs: Any = None,
        groups: Any = None,
        keep: Any = None,
        max_cost: float | None = None,
        epsilon: float = 0.1,
        C: float = 1.0,
        errors: str = "ridge",
        minimise: str = "features",
        retrain: bool = True,
        standardize: bool = True,
        tol: float = 1e-6,
        max_iter: int = 100,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        store_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AROMRegressor:
        """Select features and learn.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; a weight of two is the same as a repetition.

        Returns
        -------
        self
            The fitted estimator.
        """
        X, y = read_training(self, X, y, check_finite=False)
        weight = sample_weights(sample_weight, X)
        controls = self._controls()
        counted = weight > 0.0
        if not counted.all():
            require_finite(X, getattr(self, "feature_names_in_", None))
            X, y, weight = X[counted], y[counted], weight[counted]
        centre, unit = _centre_and_unit(y, weight)
        with threads(self.n_jobs, X):
            columns = self._columns(X, weight, standardize=self.standardize)
            rounds = tube_rounds(
                columns,
                (y - centre) / unit,
                float(self.epsilon) / unit,
                float(self.C) * weight,
                norm=self.norm,
                controls=controls,
            )
        self._keep_rounds(rounds, columns, controls.prices)
        self.coef_ = self.coef_[0] * unit
        self.intercept_ = float(self.intercept_[0]) * unit + centre
        rounds.ending.tell()
        return self

    def predict(self, X: Any) -> Array:
        """Return the prediction for each sample.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers.
        """
        return self._scores(X)[:, 0]


def _centre_and_unit(y: Array, weight: Array) -> tuple[float, float]:
    """Return weighted mean and standard deviation; one for the latter where y does not vary."""
    share = weight / weight.max()
    share /= share.sum()
    centre = float(share @ y)
    size = float(np.abs(y - centre).max())
    if size <= 4.0 * y.size * np.finfo(float).eps * abs(centre):
        return centre, 1.0
    return centre, size * float(np.sqrt(share @ ((y - centre) / size) ** 2))
