"""Gradient boosted feature selection as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_random_state, compute_class_weight
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from skgraft.boosting.boost import Controls, Ensemble, Problem, boost, empty_ensemble, largest_mu, root_gains
from skgraft.boosting.explore import Explorer
from skgraft.boosting.market import Market
from skgraft.boosting.prepare import Data, Settings, hold_out, make_problem
from skgraft.boosting.threads import Crew, crew
from skgraft.criterion.prices import resolve_prices
from skgraft.grafting.estimators import _require_class_weights, _require_counts
from skgraft.matrix.categories import CategoryCoder, find_categories
from skgraft.matrix.table import read_new, read_training, sample_weights

Array = NDArray[np.float64]

_NON_NEGATIVE = Interval(Real, 0, None, closed="left")
_FROM_ONE = Interval(Integral, 1, None, closed="left")

_CONSTRAINTS: dict[str, Any] = {
    "mu": [_NON_NEGATIVE],
    "mu_scale": [StrOptions({"relative", "absolute"})],
    "n_trees": [_FROM_ONE],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "max_depth": [Interval(Integral, 1, 16, closed="both")],
    "max_bins": [Interval(Integral, 2, 255, closed="both")],
    "min_samples_leaf": [_FROM_ONE],
    "leaf": [StrOptions({"newton", "gradient"})],
    "feature_costs": [None, "array-like", Mapping],
    "groups": [None, "array-like", Mapping],
    "cost_function": [None, callable],
    "keep": [None, "array-like", str, Integral, set, frozenset],
    "max_features": [None, _FROM_ONE],
    "max_cost": [None, _NON_NEGATIVE],
    "screening": [StrOptions({"exact", "off", "adaptive"})],
    "explore": [None, _FROM_ONE, Interval(RealNotInt, 0, 1, closed="right")],
    "categorical_features": [None, "array-like", str, Integral, set, frozenset],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(RealNotInt, 0, 1, closed="neither"), _FROM_ONE],
    "n_iter_no_change": [_FROM_ONE],
    "tol": [_NON_NEGATIVE],
    "warm_start": ["boolean"],
    "n_jobs": [None, Interval(Integral, None, -1, closed="right"), _FROM_ONE],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "callback": [None, callable],
}


@dataclass(frozen=True, eq=False)
class _Ready:
    """All that training needs, checked: the problem, prices before any purchase, and gains at the first root."""

    problem: Problem
    market: Market
    gains: Array
    data: Data


class _GBFS(SelectorMixin, BaseEstimator):
    """What both estimators share: parameters, training, scores and support."""

    _parameter_constraints: ClassVar[dict[str, Any]] = _CONSTRAINTS

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    # --- what classes and numbers do differently ---

    def _encode(self, y: Any, weight: Array) -> tuple[Array, Array, str, int]:
        """Return targets as numbers, weights, the loss and the number of outputs."""
        raise NotImplementedError

    def _encode_new(self, y: Any) -> Array:
        """Return the targets of validation rows as numbers."""
        raise NotImplementedError

    # --- fit ---

    def _fit(self, X: Any, y: Any, sample_weight: Any, validation: tuple[Any, Any, Any]) -> None:
        with crew(self.n_jobs) as threads:
            resume = getattr(self, "_resume", None) if self.warm_start else None
            ready = self._prepare(X, y, sample_weight, validation, threads, resume)
            self._train(ready, resume)

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, validation: tuple[Any, Any, Any], threads: Crew, resume: Any = None
    ) -> _Ready:
        """Check everything, then bin."""
        categories = find_categories(X, self.categorical_features) if resume is None else self._categories
        X, y = read_training(self, categories.code(X), y, allow_nan=True)
        if categories.is_categorical.size != X.shape[1]:
            categories = CategoryCoder(np.zeros(X.shape[1], bool), {})
        self._categories = categories
        target, weight, loss, n_outputs = self._encode(y, sample_weights(sample_weight, X))
        self.loss_ = loss
        names = getattr(self, "feature_names_in_", None)
        market = self._market(X.shape[1], names)
        data = Data(X, target, weight).without_weightless()
        data, judge = self._split(data, validation)
        self._warn_of_light_rows(data)
        settings = Settings(
            loss=loss,
            n_outputs=n_outputs,
            delta=float(getattr(self, "delta", 1.35)),
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            max_bins=self.max_bins,
            screening=self.screening,
            is_categorical=categories.is_categorical,
            names=None if names is None else [str(name) for name in names],
            labels=categories.labels,
        )
        problem = make_problem(data, judge, settings, threads, None if resume is None else resume[0])
        gains = np.zeros(X.shape[1]) if resume is not None else root_gains(problem)
        return _Ready(problem, market, gains, data)

    def _market(self, n_features: int, names: Any) -> Market:
        if self.cost_function is not None and (self.groups is not None or self.feature_costs is not None):
            msg = "cost_function says what every feature costs: leave out groups and feature_costs"
            raise ValueError(msg)
        prices = resolve_prices(
            groups=self.groups,
            feature_costs=self.feature_costs,
            keep=self.keep,
            max_features=self.max_features,
            max_cost=self.max_cost,
            n_features=n_features,
            names=names,
        )
        return Market(prices, 0.0, self.cost_function)

    def _split(self, data: Data, validation: tuple[Any, Any, Any]) -> tuple[Data, Data | None]:
        """Return the rows to learn from and those to judge by."""
        X_val, y_val, weight_val = validation
        if (X_val is None) != (y_val is None):
            msg = "X_val and y_val go together: give both or neither"
            raise ValueError(msg)
        if X_val is not None:
            X_val = read_new(self, self._categories.code(X_val), allow_nan=True)
            y_val = self._encode_new(y_val)
            if y_val.shape != (X_val.shape[0],):
                msg = f"X_val has {X_val.shape[0]} rows, but y_val has the shape {y_val.shape}"
                raise ValueError(msg)
            return data, Data(X_val, y_val, sample_weights(weight_val, X_val)).without_weightless()
        if not self.early_stopping:
            return data, None
        if not hasattr(self, "_seed") or not self.warm_start:
            self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return hold_out(data, self.validation_fraction, self._seed, by_class=hasattr(self, "classes_"))

    def _warn_of_light_rows(self, data: Data) -> None:
        import warnings

        total, least = float(data.weight.sum()), 2 * self.min_samples_leaf
        if total < least <= data.y.size:
            msg = (
                f"The sample weights add up to {total:g}, so no node can be split into two leaves of weight "
                f"min_samples_leaf={self.min_samples_leaf}: a weight of two counts as two rows. Multiply the weights."
            )
            warnings.warn(msg, stacklevel=4)

    def _train(self, ready: _Ready, resume: Any = None) -> None:
        """Boost, and set the fitted attributes."""
        if resume is None:
            mu_max = largest_mu(ready.gains, ready.market.phi)
            ensemble, scores = empty_ensemble(ready.problem), None
            if self.explore is not None:
                seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
                ensemble.explorer = Explorer(ready.gains, self.explore, np.random.default_rng(seed))
        else:
            mu_max, ensemble = self.mu_max_, deepcopy(resume[1])
            scores = np.ascontiguousarray(ensemble.forest.scores(ready.data.X, ready.problem.crew).T)
            if self.n_trees < len(ensemble.forest.rounds):
                msg = (
                    f"n_trees={self.n_trees} is less than the {len(ensemble.forest.rounds)} trees that are already "
                    "there; with warm_start=True it can only grow"
                )
                raise ValueError(msg)
        mu = float(self.mu) * mu_max if self.mu_scale == "relative" else float(self.mu)
        market = ready.market.with_mu(mu).replay(ensemble.log)
        ensemble = boost(ready.problem, market, self._controls(), ensemble, scores)
        self._keep(ready, market, ensemble, mu_max)

    def _controls(self) -> Controls:
        return Controls(
            n_trees=self.n_trees,
            learning_rate=float(self.learning_rate),
            leaf=self.leaf,
            screening=self.screening,
            explore=self.explore,
            early_stopping=self.early_stopping,
            n_iter_no_change=self.n_iter_no_change,
            tol=float(self.tol),
            verbose=int(self.verbose),
            callback=self.callback,
        )

    def _keep(self, ready: _Ready, market: Market, ensemble: Ensemble, mu_max: float) -> None:
        """Set the fitted attributes."""
        if len(ensemble.log) != len(market.log):
            market = market.replay(ensemble.log)
        forest = ensemble.forest
        self._forest = forest
        self.mu_, self.mu_max_ = market.mu, mu_max
        self.trees_ = forest.rounds
        self.n_trees_ = self.n_iter_ = len(forest.rounds)
        self.support_ = market.selected.copy()
        bought = np.array([purchase.feature for purchase in ensemble.log], np.intp)
        kept = np.flatnonzero(market.selected)
        self.order_ = np.concatenate([kept[~np.isin(kept, bought)], bought])
        self.total_cost_ = market.paid
        self.train_score_ = np.array(ensemble.train_score)
        self.validation_score_ = np.array(ensemble.validation_score) if ready.problem.validation else None
        loss = ensemble.train_score[min(self.n_trees_, len(ensemble.train_score) - 1)]
        self.objective_ = loss + 0.5 * market.mu * market.paid / ready.problem.task.total_weight
        self.history_ = ensemble.history
        self.feature_importances_ = _importances(forest.rounds, self.n_features_in_)
        if self.warm_start:
            self._resume = (ready.problem.grower.bins.layout, ensemble)
        elif hasattr(self, "_resume"):
            del self._resume

    # --- use ---

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def transform(self, X: Any) -> Any:
        """Return the selected columns.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        array, data frame or sparse matrix of shape (n_samples, n_selected)
            The selected columns of X, in their order in X.
        """
        try:
            return super().transform(X)
        except ValueError:
            self._read(X)  # names the culprit if there is one
            raise

    def _read(self, X: Any) -> Any:
        check_is_fitted(self)
        return read_new(self, self._categories.code(X), allow_nan=True)

    def _scores(self, X: Any) -> Array:
        X = self._read(X)
        with crew(self.n_jobs) as threads:
            return self._forest.scores(X, threads)

    def _staged_scores(self, X: Any) -> Iterator[Array]:
        X = self._read(X)
        for scores in self._forest.staged_scores(X):
            yield scores.copy()


def _importances(rounds: list[Any], n_features: int) -> Array:
    total = np.zeros(n_features)
    for trees in rounds:
        for tree in trees:
            inner = tree.feature >= 0
            np.add.at(total, tree.feature[inner], tree.gain[inner])
    whole = total.sum()
    return total / whole if whole > 0.0 else total


class GBFSClassifier(ClassifierMixin, _GBFS):
    """Boosted trees that pay for every feature they use.

    Trees are grown one after the other along the negative gradient of the logistic (or multinomial) loss [1]_.  A split
    lowers the squared error Σ s_i (g_i - h(x_i))² of the gradients by its gain; to split on a feature that was never
    used before costs ``mu`` times its price, and the split with the largest gain after the price is taken if that is
    more than nothing (eq. 14 of the paper, without its factor ½ before the squared error: ``mu`` here is twice
    the paper's).  A feature is paid for once, for all trees and all classes; from then on it is free, also in the rest of
    the same tree.  So features are selected while the model learns, and interactions count.

    Trees grow level by level, the nodes of a level from left to right.  Of equally good splits the feature with the lowest
    number is taken, then the lowest threshold, then missing values to the right.  Gradients are rounded to 24 bits (fewer
    beyond half a million rows), which makes all sums exact: trees do not depend on threads or on screening.

    Parameters
    ----------
    mu : float, default=0.05
        What a unit of price must gain.
    mu_scale : {"relative", "absolute"}, default="relative"
        Whether ``mu`` is a share of ``mu_max_``, the smallest value at which nothing is bought, or a gain.
    n_trees : int, default=100
        Number of rounds; each adds a tree, or one for every class if there are more than two.
    learning_rate : float, default=0.1
        What share of its step a tree takes.
    max_depth : int, default=4
        The largest number of splits from root to leaf.
    max_bins : int, default=255
        The largest number of bins of a feature; splits lie between bins.
    min_samples_leaf : int, default=5
        The least number of rows in a leaf, where a row counts with its weight.  Prices already keep noise out, so
        it is smaller than in other packages, and small data can be split.
    leaf : {"newton", "gradient"}, default="newton"
        The value of a leaf: Newton's step, or the mean gradient as in the paper.  Newton's fits better at equal size.
        A step is at most 4.
    feature_costs : array-like or mapping, optional
        Price of each feature or bag, by default 1.
    groups : array-like or mapping, optional
        A label for each feature, or a mapping from bag to features.  The first member opens a bag; the others are free.
    cost_function : callable, optional
        Takes a mask of the features bought so far and returns the price of every feature (the paper's φ_f(Ω)), in place
        of ``feature_costs`` and ``groups``; called whenever something was bought.  See :mod:`skgraft.boosting.costs`.
    keep : indices, names or mask, optional
        Features that are always selected and never charged.
    max_features : int, optional
        Largest number of features.
    max_cost : float, optional
        Largest total cost.
    screening : {"exact", "off", "adaptive"}, default="exact"
        ``"exact"`` leaves out features that cannot win, by bounds that hold; the trees are those of ``"off"``, bit by
        bit.  ``"adaptive"`` searches unused features only in every k-th round, k doubling up to 16 while none is
        bought: faster, but not the same trees.
    explore : int or float, optional
        Number or share of the unused features that are searched for each tree, chosen at random in favour of those that
        gained most before; for millions of columns.  By default all.
    categorical_features : "from_dtype", None, or indices, names or mask, default="from_dtype"
        Columns that hold categories; by default those of a data frame whose type says so.  A split sends a set of
        categories left; missing is one more category; beyond ``max_bins`` categories the rarest share a bin.
    early_stopping : bool, default=False
        Stop when the validation loss has not improved for ``n_iter_no_change`` rounds, and go back to the best round.
    validation_fraction : float or int, default=0.1
        Share or number of training rows set aside for it, unless ``fit`` is given validation rows.
    n_iter_no_change : int, default=10
        See ``early_stopping``.
    tol : float, default=1e-7
        How much the mean validation loss must fall to count as an improvement.
    class_weight : dict or "balanced", optional
        Weights of the classes, as in scikit-learn.
    warm_start : bool, default=False
        Go on from the trees of the previous call to ``fit``, up to ``n_trees``; what was bought stays bought.
    n_jobs : int, optional
        Number of threads; None and -1 mean all cores.  The result is the same for any number.
    random_state : int, RandomState or None, default=None
        Seed of ``explore`` and of the rows set aside.
    verbose : int, default=0
        1 shows progress on standard error.
    callback : callable, optional
        Called with each record of ``history_``; returning True ends the fit.

    Attributes
    ----------
    support_ : ndarray of bool of shape (n_features,)
        The selected features.
    order_ : ndarray of int
        The selected features in the order in which they were bought, kept ones first.
    history_ : History
        A record for each purchase (``kind="buy"``) and for each round without any (``"tree"``); ``step`` is the round
        and ``gradient`` the gain of the split.
    total_cost_ : float
        What was paid for the selected features.
    objective_ : float
        Mean training loss + ½ mu_·total_cost_/Σs (eq. 7 of the paper as a mean).
    mu_, mu_max_ : float
        The absolute mu that was used, and the smallest at which nothing is bought.
    trees_ : list of list of Tree
        A list for each round, with a tree for each score; ``print(model.trees_[0][0])`` reads well.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in all gains.
    train_score_, validation_score_ : ndarray of shape (n_rounds + 1,)
        Mean loss before the first and after every round; ``validation_score_`` is None without validation rows.
    n_trees_, n_iter_ : int
        Number of rounds.
    classes_ : ndarray
        The classes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    GBFSRegressor : The same for regression.
    gbfs_path : Many values of mu at once.

    References
    ----------
    .. [1] Xu, Huang, Weinberger and Zheng (2014). Gradient boosted feature selection. KDD.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skgraft import GBFSClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = GBFSClassifier(mu=0.1).fit(X, y)
    >>> [str(name) for name in model.feature_names_in_[model.order_]]
    ['worst perimeter', 'worst concave points']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_CONSTRAINTS,
        "class_weight": [None, dict, StrOptions({"balanced"})],
    }

    def __init__(
        self,
        *,
        mu: float = 0.05,
        mu_scale: str = "relative",
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
        class_weight: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        self.mu = mu
        self.mu_scale = mu_scale
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.min_samples_leaf = min_samples_leaf
        self.leaf = leaf
        self.feature_costs = feature_costs
        self.groups = groups
        self.cost_function = cost_function
        self.keep = keep
        self.max_features = max_features
        self.max_cost = max_cost
        self.screening = screening
        self.explore = explore
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

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
    ) -> GBFSClassifier:
        """Select features and learn.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Training data; NaN means missing.
        y : array-like of shape (n_samples,)
            Classes.
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

    def _encode(self, y: Any, weight: Array) -> tuple[Array, Array, str, int]:
        classes, codes = np.unique(y, return_inverse=True)
        if classes.size < 2:
            msg = f"y holds one class only ({classes[0]!r}); a classifier needs samples of at least 2 classes"
            raise ValueError(msg)
        if self.class_weight is not None:
            each = compute_class_weight(self.class_weight, classes=classes, y=y, sample_weight=weight)
            _require_class_weights(each, classes)
            weight = weight * each[codes]
        if np.unique(codes[weight > 0.0]).size < 2:
            msg = (
                "all samples of nonzero weight are of one class; a classifier needs at least 2 classes "
                "(see sample_weight and class_weight)"
            )
            raise ValueError(msg)
        if self.warm_start and hasattr(self, "_resume") and not np.array_equal(self.classes_, classes):
            msg = f"warm_start=True goes on with the classes {list(self.classes_)}, but y holds {list(classes)}"
            raise ValueError(msg)
        self.classes_: NDArray[Any] = classes
        binary = classes.size == 2
        return codes.astype(np.float64), weight, "logistic" if binary else "multinomial", 1 if binary else classes.size

    def _encode_new(self, y: Any) -> Array:
        y = np.asarray(y)
        known = np.isin(y, self.classes_)
        if not known.all():
            msg = f"y_val holds {y[~known][0]!r}, which is not among the classes of y"
            raise ValueError(msg)
        return np.searchsorted(self.classes_, y).astype(np.float64)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    def decision_function(self, X: Any) -> Array:
        """Return the score of each class, or of the second class if there are two.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Sums over the trees.
        """
        return _one_or_all(self._scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely class of each sample.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Members of ``classes_``.
        """
        return self._classes_of(self._scores(X))

    def _classes_of(self, scores: Array) -> NDArray[Any]:
        chosen = (scores[:, 0] > 0.0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_``.
        """
        return _probabilities(self._scores(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms in the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Yield the scores after every round.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            As from :meth:`decision_function`.
        """
        for scores in self._staged_scores(X):
            yield _one_or_all(scores)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the predicted classes after every round.

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
            yield self._classes_of(scores)

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Yield the probabilities after every round.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            As from :meth:`predict_proba`.
        """
        for scores in self._staged_scores(X):
            yield _probabilities(scores)


def _one_or_all(scores: Array) -> Array:
    return scores[:, 0] if scores.shape[1] == 1 else scores


def _probabilities(scores: Array) -> Array:
    from scipy.special import expit, softmax

    if scores.shape[1] == 1:
        return np.column_stack([expit(-scores[:, 0]), expit(scores[:, 0])])
    return np.asarray(softmax(scores, axis=1))


class GBFSRegressor(RegressorMixin, _GBFS):
    """Boosted regression trees that pay for every feature they use.

    As :class:`GBFSClassifier`, with a loss for numbers; the parameters not listed here mean the same.

    Parameters
    ----------
    mu, mu_scale
        What a unit of price must gain; on the absolute scale in units of the squared gradient, which is that of y² for the
        squared loss.
    loss : {"squared", "huber", "poisson"}, default="squared"
        ½(y - f)², Huber's function of y - f, or exp(f) - y·f for counts.
    delta : float, default=1.35
        Where Huber's loss turns from a square to a line, in units of y.
    n_trees, learning_rate, max_depth, max_bins, min_samples_leaf
        How to grow.
    leaf : {"newton", "gradient"}, default="newton"
        The same for the squared loss.  Newton's step for Huber's loss is that of the square which touches it from above.
    feature_costs, groups, cost_function, keep, max_features, max_cost
        What features cost and which are in.
    screening, explore, categorical_features, early_stopping, validation_fraction, n_iter_no_change, tol
        As for the classifier.
    warm_start, n_jobs, random_state, verbose, callback
        As for the classifier.

    Attributes
    ----------
    support_, order_, history_, total_cost_, objective_, mu_, mu_max_, trees_, feature_importances_
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
    ['bmi', 's5', 'bp']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_CONSTRAINTS,
        "loss": [StrOptions({"squared", "huber", "poisson"})],
        "delta": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        mu: float = 0.05,
        mu_scale: str = "relative",
        loss: str = "squared",
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
        self.mu = mu
        self.mu_scale = mu_scale
        self.loss = loss
        self.delta = delta
        self.n_trees = n_trees
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.min_samples_leaf = min_samples_leaf
        self.leaf = leaf
        self.feature_costs = feature_costs
        self.groups = groups
        self.cost_function = cost_function
        self.keep = keep
        self.max_features = max_features
        self.max_cost = max_cost
        self.screening = screening
        self.explore = explore
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

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

    def _encode(self, y: Any, weight: Array) -> tuple[Array, Array, str, int]:
        if self.loss == "poisson":
            _require_counts(y, weight)
        return np.asarray(y, np.float64), weight, self.loss, 1

    def _encode_new(self, y: Any) -> Array:
        return np.asarray(y, np.float64)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss == "poisson"
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
        return np.exp(scores[:, 0]) if self.loss_ == "poisson" else scores[:, 0]
