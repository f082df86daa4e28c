"""Linear grafting as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skgraft.arrays import Array
from skgraft.criterion import Loss, loss_facts, loss_names, resolve_loss
from skgraft.estimator import ClassProbabilities, NamedSelector, require_sizes, store_parameters
from skgraft.grafting.effort import EFFORTS
from skgraft.grafting.linear.fit import LinearControls, LinearFit, fit_linear
from skgraft.grafting.linear.problem import LinearProblem
from skgraft.grafting.target import Target
from skgraft.matrix import DenseColumns, JoinedColumns, SparseColumns, make_columns
from skgraft.prices import Prices, resolve_penalty_weights, resolve_prices
from skgraft.run import threads
from skgraft.tables import read_classes, read_selected, read_training, require_finite, sample_weights, weight_shares

_NON_NEGATIVE = Interval(Real, 0, None, closed="left")


_CONSTRAINTS: dict[str, Any] = {
    "l1": [_NON_NEGATIVE],
    "l2": [_NON_NEGATIVE],
    "l0": [_NON_NEGATIVE],
    "group_l1": [_NON_NEGATIVE],
    "capped_l1": [_NON_NEGATIVE],
    "cap": [Interval(Real, 0, None, closed="neither")],
    "penalty_weights": [None, "array-like", Mapping],
    "feature_costs": [None, "array-like", Mapping],
    "groups": [None, "array-like", Mapping],
    "keep": [None, "array-like", str, Integral, set, frozenset],
    "max_features": [None, Interval(Integral, 1, None, closed="left")],
    "max_cost": [None, _NON_NEGATIVE],
    "effort": [StrOptions(set(EFFORTS))],
    "select_unit": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "on_increase": [StrOptions({"stop", "next"})],
    "polish": ["boolean", StrOptions({"thorough"})],
    "fit_intercept": ["boolean"],
    "standardize": ["boolean"],
    "positive": ["boolean"],
    "warm_start": ["boolean"],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "n_jobs": [None, Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "callback": [None, callable],
}


class LinearGraft(NamedSelector, BaseEstimator):
    """What the linear estimators share: parameters, the fit of encoded targets, scores and support."""

    _parameter_constraints: ClassVar[dict[str, Any]] = _CONSTRAINTS

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _encoded(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array]:
        """Validate and return X, targets of shape (n_samples, n_outputs) and weights; sets the loss."""
        raise NotImplementedError

    def _problem(self, X: Any, y: Any, sample_weight: Any) -> LinearProblem:
        """Return the criterion that these parameters and data define."""
        X, target, weight = self._encoded(X, y, sample_weight)
        names = getattr(self, "feature_names_in_", None)
        n_features = X.shape[1]
        prices = resolve_prices(
            groups=self.groups,
            feature_costs=self.feature_costs,
            keep=self.keep,
            max_features=self.max_features,
            max_cost=self.max_cost,
            n_features=n_features,
            names=names,
        )
        penalty_weight = resolve_penalty_weights(self.penalty_weights, n_features, names)
        weight = weight_shares(weight)
        return self._criterion(self._columns(X, weight, names), target, weight, prices, penalty_weight)

    def _columns(self, X: Any, weight: Array, names: Any) -> DenseColumns | SparseColumns:
        """Return X standardised, or name the column that cannot be."""
        columns = make_columns(X, weight, center=self.fit_intercept, standardize=self.standardize)
        if not columns.finite:
            require_finite(X, names)
        require_sizes(columns, names)
        return columns

    def _criterion(
        self,
        columns: DenseColumns | SparseColumns | JoinedColumns,
        target: Array,
        weight: Array,
        prices: Prices,
        penalty_weight: Array,
    ) -> LinearProblem:
        return LinearProblem(
            columns=columns,
            target=Target(self._loss, target, weight, self.fit_intercept),
            prices=prices,
            penalty_weight=penalty_weight,
            l1=float(self.l1),
            l2=float(self.l2),
            group_l1=float(self.group_l1),
            l0=float(self.l0),
            positive=self.positive,
            capped_l1=float(getattr(self, "capped_l1", 0.0)),
            cap=float(getattr(self, "cap", np.inf)),
        )

    def _solve(self, problem: LinearProblem) -> None:
        """Minimise the criterion and set every fitted attribute that classes and numbers share."""
        columns = problem.columns
        fit = fit_linear(problem, self._controls(), self._start(columns.centre, columns.scale, problem.n_outputs))
        self._keep_result(fit, columns.centre, columns.scale)
        fit.ending.tell()

    def _controls(self) -> LinearControls:
        return LinearControls(
            effort=EFFORTS[self.effort],
            select_unit=self.select_unit,
            on_increase=self.on_increase,
            polish=self.polish,
            tol=self.tol,
            max_iter=self.max_iter,
            verbose=int(self.verbose),
            callback=self.callback,
            seed=int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)),
        )

    def _start(self, centre: Array, scale: Array, n_outputs: int) -> tuple[Array, Array] | None:
        """Return the earlier solution in the new standardised coordinates, for a warm start."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        coef, intercept = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        if coef.shape != (n_outputs, scale.size):
            return None
        if not self.fit_intercept:
            intercept = np.zeros(n_outputs)
        return np.ascontiguousarray((coef * scale).T), intercept + coef @ centre

    def _keep_result(self, fit: LinearFit, centre: Array, scale: Array) -> None:
        coef = (fit.weights / scale[:, None]).T
        self.coef_, self.intercept_ = np.ascontiguousarray(coef), fit.intercept - coef @ centre
        if getattr(self, "_single_target", False):
            self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0]
        self._set_fitted_attributes(fit)

    def _scores(self, X: Any) -> Array:
        """Return scores (n_samples, n_outputs), touching only the selected columns."""
        check_is_fitted(self)
        columns = read_selected(self, X, self.support_)
        return np.asarray(columns @ np.atleast_2d(self.coef_)[:, self.support_].T) + np.atleast_1d(self.intercept_)


class GraftClassifier(ClassProbabilities, LinearGraft):
    """Linear classifier that selects its features while it learns.

    Minimises, over weights w and intercepts b of standardised features::

        C(w, b) = 1/Σs Σ_i s_i L(w·x_i + b, y_i) + l2 Σ_j a_j w_j² + l1 Σ_j a_j|w_j|
                  + group_l1 Σ_g √|g| ||w_g|| + l0 Σ_g cost_g [w_g ≠ 0] + capped_l1 Σ_j a_j min(|w_j|, cap)

    by grafting [1]_: the gradient of every weight at zero is tested, the strongest come in, the free weights are
    re-optimised, those back at zero leave.  With ``l0 = 0`` and no budget the problem is convex and the
    result its global optimum, which ``certificate_`` proves; the condition is that no weight at zero has a loss
    gradient beyond its l1, and every other weight has gradient zero.  With prices or a budget it is a greedy
    choice improved by single moves.

    Parameters
    ----------
    l1 : float, default=0.01
        Coefficient of Σ|w|.  ``l1_max`` gives the smallest value that selects nothing.
    l2 : float, default=0.0
        Coefficient of Σw².
    l0 : float, default=0.0
        Price of a feature (times its cost) or bag.
    group_l1 : float, default=0.0
        Coefficient of the group norm: bags, with the weights of all classes, come in whole.  Features of penalty
        weight 0 are no part of their bag here; other penalty weights do not enter the norm.
    capped_l1 : float, default=0.0
        Coefficient mu of mu Σ a_j min(|w_j|, cap), the capped l1 norm [4]_: what is selected is not shrunk further.
        Minimised by rounds of reweighting from the solution with l1 + mu, none of which raises the criterion.  The
        result is stationary, not the global optimum, and has no duality gap.  Not together with ``l0`` or a budget.
    cap : float, default=0.1
        The epsilon of [4]_: where the capped norm stops rising, in units of the weights of standardised features
        (of the features as they are with ``standardize=False``).
    loss : {"auto", "logistic", "multinomial", "squared_hinge"} or Loss, default="auto"
        ``"auto"`` is logistic for two classes and multinomial for more.  Logistic and squared hinge treat more
        than two classes one against the rest, a feature being paid for once.
    penalty_weights : array-like or mapping, optional
        a_j of each feature, by default 1; 0 leaves a feature unpenalised.
    feature_costs : array-like or mapping, optional
        Price of each feature or bag, by default 1.
    groups : array-like or mapping, optional
        A label for each feature, or a mapping from bag to features.  A bag is paid for once.
    keep : indices, names or mask, optional
        Features always in the model and never charged; ``l1`` and ``l2`` still shrink them.
    max_features : int, optional
        Largest number of features, kept ones among them; never exceeded.
    max_cost : float, optional
        Largest total cost, to which kept features add nothing; never exceeded.
    effort : {"full", "light", "newest", "batch", "gauss_seidel"}, default="full"
        How hard to re-optimise between selections: to the optimum; one orthant-wise quasi-Newton step [2]_; the
        newest weight and the intercepts only; with everything free from the start; one weight at a time,
        the worst first
        [3]_, and then all together.  ``"newest"`` does not end at the optimum.
    select_unit : int or "auto", default="auto"
        How many weights come in at a time.
    on_increase : {"stop", "next"}, default="stop"
        After an addition that does not pay its price: stop, or try the next candidate.
    polish : bool or "thorough", default=True
        With prices or budgets: improve the greedy choice by single drops, additions and swaps of bags and, under
        ``max_features``, of features; ``"thorough"`` adds random restarts.
    fit_intercept : bool, default=True
        Whether to fit an unpenalised intercept for each class.
    standardize : bool, default=True
        Learn on features of mean zero and deviation one, as the gradient test asks for; ``coef_`` is reported
        for the original features.  Without an intercept features are divided by their root mean square.
    class_weight : dict or "balanced", optional
        Weights of the classes, as in scikit-learn.
    positive : bool, default=False
        Restrict weights to be non-negative.
    warm_start : bool, default=False
        Start from the solution of the previous call to ``fit``.  With prices or limits the search is also run from the
        empty model, and the better result is taken.
    tol : float, default=1e-6
        Largest violation of the optimality conditions, relative to the largest gradient of the empty model.
    max_iter : int, default=1000
        Largest number of grafting steps.
    n_jobs : int, optional
        Number of threads that share passes over X, and limit of the linear algebra libraries during the fit: None is
        one, unless joblib's context says otherwise, and -1 all cores.  Where X is small, linear algebra has one.
    random_state : int, RandomState or None, default=None
        Seed of the restarts of ``polish="thorough"``.
    verbose : int, default=0
        1 shows progress on standard error.
    callback : callable, optional
        Called with each step's record; returning True ends the fit.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights on the original scale.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    support_ : ndarray of bool of shape (n_features,)
        The selected features.
    order_ : ndarray of int
        The selected features in the order in which they came in.
    objective_ : float
        C at the solution.
    certificate_ : Certificate
        KKT violation, duality gap, whether the fit converged, and what that certifies.
    history_ : History
        One record for each step.
    total_cost_ : float
        What the selected features cost together.
    classes_ : ndarray
        The classes.
    loss_ : str
        The loss that was used.
    n_iter_ : int
        Number of steps.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    GraftRegressor : The same for regression.
    l1_max : The smallest l1 that selects nothing.

    References
    ----------
    .. [1] Perkins, Lacker and Theiler (2003). Grafting: fast, incremental feature selection by gradient descent
       in function space. Journal of Machine Learning Research 3.
    .. [2] Zhu, Lao and Xing (2010). Grafting-Light: fast, incremental feature selection and structure learning of
       Markov random fields. KDD.
    .. [3] Shevade and Keerthi (2003). A simple and efficient algorithm for gene selection using sparse logistic
       regression. Bioinformatics 19.
    .. [4] Xu, Huang, Weinberger and Zheng (2014). Gradient boosted feature selection. KDD. Eq. 3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skgraft import GraftClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GraftClassifier(l1=0.05).fit(X, y)
    >>> int(model.support_.sum()), model.certificate_.converged
    (4, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_CONSTRAINTS,
        "loss": [StrOptions(loss_names("classes")), Loss],
        "class_weight": [None, dict, StrOptions({"balanced"})],
    }

    def __init__(
        self,
        *,
        l1: float = 0.01,
        l2: float = 0.0,
        l0: float = 0.0,
        group_l1: float = 0.0,
        capped_l1: float = 0.0,
        cap: float = 0.1,
        loss: str | Loss = "auto",
        penalty_weights: Any = None,
        feature_costs: Any = None,
        groups: Any = None,
        keep: Any = None,
        max_features: int | None = None,
        max_cost: float | None = None,
        effort: str = "full",
        select_unit: int | str = "auto",
        on_increase: str = "stop",
        polish: bool | str = True,
        fit_intercept: bool = True,
        standardize: bool = True,
        class_weight: Any = None,
        positive: bool = False,
        warm_start: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        store_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GraftClassifier:
        """Select features and learn.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; a weight of two is the same as a repetition.

        Returns
        -------
        self
            The fitted estimator.
        """
        with threads(self.n_jobs, X):
            self._solve(self._problem(X, y, sample_weight))
        return self

    def _encoded(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array]:
        X, y = read_training(self, X, y, check_finite=False)
        classes, codes, weight = read_classes(y, sample_weights(sample_weight, X), self.class_weight)
        if self.warm_start and hasattr(self, "classes_") and not np.array_equal(self.classes_, classes):
            del self.coef_
        self.classes_: NDArray[Any] = classes
        self._loss = resolve_loss(self.loss, "classes", n_classes=classes.size)
        self.loss_ = self._loss.name
        return X, self._loss.encode(codes, classes.size), weight


class GraftRegressor(MultiOutputMixin, RegressorMixin, LinearGraft):
    """Linear regression that selects its features while it learns.

    Minimises the criterion of :class:`GraftClassifier` with a loss for numbers; the parameters not listed here
    mean the same.  With several targets the losses add up, a weight is a candidate, and a feature is paid for once;
    ``group_l1`` selects a feature for all targets together.

    Parameters
    ----------
    l1, l2, l0, group_l1, capped_l1, cap
        Coefficients of the penalties; with ``standardize=False``, ``l1`` is scikit-learn's ``Lasso(alpha)``.
    loss : {"auto", "squared", "huber", "poisson"} or Loss, default="auto"
        ½(y - f)², Huber's function of y - f, or exp(f) - y·f for counts; ``"auto"`` is squared.
    delta : float, default=1.35
        Where Huber's loss turns from a square to a line, in units of y.
    penalty_weights, feature_costs, groups, keep, max_features, max_cost
        What features cost and which are in.
    effort, select_unit, on_increase, polish
        How to grow.
    fit_intercept, standardize, positive, warm_start, tol, max_iter, n_jobs, random_state, verbose, callback
        As for the classifier.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights on the original scale.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercepts.
    support_, order_, objective_, certificate_, history_, total_cost_, n_iter_, n_features_in_, feature_names_in_
        As for the classifier.

    See Also
    --------
    GraftClassifier : The same for classes.

    References
    ----------
    .. [1] Perkins, Lacker and Theiler (2003). Grafting: fast, incremental feature selection by gradient descent
       in function space. Journal of Machine Learning Research 3.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgraft import GraftRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = GraftRegressor(l1=0.0, max_features=3).fit(X, y)
    >>> [str(name) for name in model.feature_names_in_[model.order_]]
    ['bmi', 's5', 'bp']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_CONSTRAINTS,
        "loss": [StrOptions(loss_names("numbers")), Loss],
        "delta": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        l1: float = 0.01,
        l2: float = 0.0,
        l0: float = 0.0,
        group_l1: float = 0.0,
        capped_l1: float = 0.0,
        cap: float = 0.1,
        loss: str | Loss = "auto",
        delta: float = 1.35,
        penalty_weights: Any = None,
        feature_costs: Any = None,
        groups: Any = None,
        keep: Any = None,
        max_features: int | None = None,
        max_cost: float | None = None,
        effort: str = "full",
        select_unit: int | str = "auto",
        on_increase: str = "stop",
        polish: bool | str = True,
        fit_intercept: bool = True,
        standardize: bool = True,
        positive: bool = False,
        warm_start: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        store_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GraftRegressor:
        """Select features and learn.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; a weight of two is the same as a repetition.

        Returns
        -------
        self
            The fitted estimator.
        """
        with threads(self.n_jobs, X):
            self._solve(self._problem(X, y, sample_weight))
        return self

    def _encoded(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array]:
        X, y = read_training(self, X, y, multi_output=True, check_finite=False)
        weight = sample_weights(sample_weight, X)
        self._loss = resolve_loss(self.loss, "numbers", delta=self.delta)
        self.loss_ = self._loss.name
        self._loss.require_target(y, weight)
        self._single_target = y.ndim == 1
        return X, y.reshape(y.shape[0], -1), weight

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
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
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            w·x + b, or its exponential for ``loss="poisson"``.
        """
        scores = self._scores(X)
        mean = self._loss.response(scores)
        return mean[:, 0] if np.ndim(self.coef_) == 1 else mean
