"""Gradient boosted feature selection for classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions

from skgraft.arrays import Array
from skgraft.boosting.selector import CONSTRAINTS, BoostedSelector
from skgraft.criterion import resolve_loss
from skgraft.estimator import ClassProbabilities, one_or_all, store_parameters
from skgraft.tables import read_classes


class GBFSClassifier(ClassProbabilities, BoostedSelector):
    """Boosted trees that pay for every feature they use.

    Trees are grown one after the other along the negative gradient of the logistic (or multinomial) loss [1]_.  A split
    lowers the squared error Σ s_i (g_i - h(x_i))² of the gradients by its gain; to split on a feature that was never
    used before costs ``mu`` times its price, and the split with the largest gain after the price is taken if that is
    more than nothing.  A feature is paid for once, for all trees and all classes; from then on it is free, also in the
    rest of the same tree.  So features are selected while the model learns, and interactions count.

    The paper is followed but for this.  Its eq. 14 has half of the squared error before μ·Σφ, where ``mu`` is compared
    with the whole decrease: the paper's μ is ``mu=2μ`` with ``mu_scale="absolute"``.  Scores begin at the prior, the
    paper's at 0.  Leaves take a Newton step, the paper's the mean gradient (``leaf="gradient"``).

    Trees grow level by level, the nodes of a level from left to right.  Of equally good splits the feature with the
    lowest number is taken, then the lowest threshold, then missing values to the right.  The threshold is the
    edge of a bin about half-way between the node's values on both sides.  Gradients are rounded to 24 bits (fewer
    beyond half a million rows), which makes all sums exact: trees do not depend on threads or screening.  A value
    beyond all that were seen goes where the nearest goes; missing values that a node never saw go with the heavier
    child; infinite values are refused.

    Parameters
    ----------
    mu : float, default=0.05
        What a unit of price must gain: the decrease of the whole squared error, twice the paper's μ.
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
        Number of threads: None is one, unless joblib's context says otherwise, and -1 all cores.  The result is the
        same for any number.
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
        Mean training loss + ½ · ``mu_`` · ``total_cost_`` / Σs (eq. 7 of the paper as a mean).
    certificate_ : Certificate
        ``converged`` says whether the fit ended by itself: after ``n_trees`` rounds, by ``early_stopping``, or because
        nothing was left to gain; False after Ctrl-C or where ``callback`` stopped it.  Trees are grown greedily, so no
        distance from an optimum is defined: ``kkt_violation`` is NaN and ``duality_gap`` None.
    mu_, mu_max_ : float
        The absolute mu that was used, and the smallest at which nothing is bought.
    trees_ : list of list of Tree
        A list for each round, with a tree for each score; ``print(model.trees_[0][0])`` reads well.
    feature_importances_ : ndarray of shape (n_features,)
        The share of each feature in all gains.
    train_score_, validation_score_ : ndarray of shape (n_rounds + 1,)
        Mean loss before the first and after every round, those included that ``early_stopping`` took back;
        ``validation_score_`` is None without validation rows.
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
    ['worst radius', 'worst concave points']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
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

    def _encode(self, y: Any, weight: Array) -> tuple[Array, Array, int]:
        classes, codes, weight = read_classes(y, weight, self.class_weight)
        if self.warm_start and hasattr(self, "_resume") and not np.array_equal(self.classes_, classes):
            msg = f"warm_start=True goes on with the classes {list(self.classes_)}, but y holds {list(classes)}"
            raise ValueError(msg)
        self.classes_: NDArray[Any] = classes
        self._loss = resolve_loss("auto", "classes", n_classes=classes.size)
        return codes.astype(np.float64), weight, 1 if classes.size == 2 else classes.size

    def _encode_new(self, y: Any) -> Array:
        y = np.asarray(y)
        known = np.isin(y, self.classes_)
        if not known.all():
            msg = f"y_val holds {y[~known][0]!r}, which is not among the classes of y"
            raise ValueError(msg)
        return np.searchsorted(self.classes_, y).astype(np.float64)

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
            yield one_or_all(scores)

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
            yield self._classes_by(one_or_all(scores))

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
            yield self._loss.probabilities(one_or_all(scores))
