"""Feature selection by concave minimisation as a scikit-learn estimator."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from skgraft.criterion import Certificate
from skgraft.estimator import PRICES, store_parameters
from skgraft.run import threads
from skgraft.svm import InseparableError
from skgraft.zeronorm.fsv_rounds import fsv_rounds
from skgraft.zeronorm.l1_svc import ProgramClassifier, class_margins
from skgraft.zeronorm.l2_rounds import RoundControls


class FSVClassifier(ProgramClassifier):
    """Linear classifier with few features by concave minimisation (FSV).

    Approximates the number of features by a concave function of the sizes ``v_g = Σ_k max_j |w_kj|`` of the weights of
    all members j of bag g, a feature of price one if nothing else is said, and minimises, over standardised features::

        Σ_g cost_g (1 - exp(-alpha v_g)) + C Σ_i s_i max(0, 1 - y_i (w·x_i + b))

    by a succession of linear programs [1]_: each minimises the tangent Σ_g cost_g alpha exp(-alpha v*_g) v_g instead,
    v* being the sizes found before it and zero at first.  The criterion never rises, and the rounds end at a point
    that no further program improves: a local minimum, the problem being combinatorial.  Each program is solved to
    the optimum over all features by column generation, as in :class:`L1SVC`.

    Parameters
    ----------
    n_features_to_select : int, optional
        How many features to select, kept ones among them: the rounds stop at the last one with more, whose largest are
        taken [2]_.  None takes all that have a weight when the rounds have settled.
    feature_costs : array-like or mapping, optional
        Price of each feature or bag, by default 1.
    groups : array-like or mapping, optional
        A label for each feature, or a mapping from bag to features.  A bag is paid for once: its weights have one
        bound.
    keep : indices, names or mask, optional
        Features always in the model and never charged; like those that cost nothing they add their ``v_g`` itself to
        the criterion.
    max_cost : float, optional
        Largest total cost.  Where the rounds end with more, bags with the least ``max |w_j|`` for their price leave.
    C : float, default=1.0
        Price of slack; infinity asks for a hard margin.
    alpha : float, default=5.0
        How sharply the number of features is approximated.
    raise_alpha : bool, default=False
        Raise alpha by half whenever the rounds have settled, until that changes no feature any more.
    multi_class : {"ovr", "joint"}, default="ovr"
        More than two classes: one machine a class against the rest, or one for all pairs of classes.  Either way a
        feature counts once for all classes.
    retrain : bool, default=True
        Fit a fresh machine, Σ|w| + C Σ s·slack, on the chosen features.  Otherwise the weights are those of the last
        program where its features are the chosen ones.
    standardize : bool, default=True
        Learn on features of mean zero and deviation one; ``coef_`` is reported for the original features.
    class_weight : dict or "balanced", optional
        Weights of the classes, as in scikit-learn.
    tol : float, default=1e-6
        Largest violation of the optimality conditions of each program, relative to the largest gradient of the
        empty model.
    max_iter : int, default=200
        Largest number of rounds.
    n_jobs : int, optional
        Number of threads: None is one, unless joblib's context says otherwise, and -1 all cores.
    verbose : int, default=0
        1 shows progress on standard error.
    callback : callable, optional
        Called with each round's record; returning True ends the fit.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights on the original scale.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    support_ : ndarray of bool of shape (n_features,)
        The selected features.
    order_ : ndarray of int
        The same features, the one with the largest weights first.
    objective_ : float
        The criterion at ``coef_``.
    certificate_ : Certificate
        KKT violation of the program that gave ``coef_``, and whether the rounds settled; no gap is known.
    history_ : History
        One record for each round: features left, criterion.
    alpha_ : float
        The last alpha.
    total_cost_ : float
        What the selected features cost together.
    classes_ : ndarray
        The classes.
    n_iter_ : int
        Number of rounds.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    L1SVC : A single program, convex.
    AROMClassifier : Rounds with the logarithm in place of the exponential.

    References
    ----------
    .. [1] Bradley and Mangasarian (1998). Feature selection via concave minimization and support vector machines.
       International Conference on Machine Learning.
    .. [2] Weston, Elisseeff, Schölkopf and Tipping (2003). Use of the zero-norm with linear models and kernel
       methods. Journal of Machine Learning Research 3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skgraft import FSVClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FSVClassifier(n_features_to_select=3).fit(X, y)
    >>> int(model.support_.sum()), model.certificate_.converged
    (3, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_features_to_select": [None, Interval(Integral, 1, None, closed="left")],
        **PRICES,
        "C": [Interval(Real, 0, None, closed="right")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "raise_alpha": ["boolean"],
        "multi_class": [StrOptions({"ovr", "joint"})],
        "retrain": ["boolean"],
        "standardize": ["boolean"],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "callback": [None, callable],
    }

    def __init__(
        self,
        *,
        n_features_to_select: int | None = None,
        feature_costs: Any = None,
        groups: Any = None,
        keep: Any = None,
        max_cost: float | None = None,
        C: float = 1.0,
        alpha: float = 5.0,
        raise_alpha: bool = False,
        multi_class: str = "ovr",
        retrain: bool = True,
        standardize: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 200,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        store_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FSVClassifier:
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
        X, codes, weight = self._read_classes(X, y, sample_weight)
        self._require_at_most_all(self.n_features_to_select)
        prices = self._prices(self.n_features_to_select)
        columns = self._columns(X, weight, standardize=self.standardize)
        margins = class_margins(codes, self.classes_.size, self.multi_class)
        controls = RoundControls(
            n_features_to_select=self.n_features_to_select,
            prices=prices,
            retrain=self.retrain,
            tol=self.tol,
            max_iter=self.max_iter,
            verbose=int(self.verbose),
            callback=self.callback,
        )
        try:
            with threads(self.n_jobs, X):
                rounds, self.alpha_ = fsv_rounds(
                    columns, margins, self.C * weight, controls, alpha=self.alpha, raise_alpha=self.raise_alpha
                )
        except InseparableError as error:
            msg = f"{error}, so there is no hard margin (C=inf): give C a finite value, which allows errors"
            raise ValueError(msg) from None
        self._keep_weights(rounds.weights, rounds.intercept, columns)
        self.support_ = np.zeros(columns.n_columns, bool)
        self.support_[rounds.alive] = True
        self.order_ = rounds.order
        self.objective_ = rounds.objective
        self.certificate_ = Certificate(rounds.kkt_violation, None, rounds.converged)
        self.history_ = rounds.history
        self.total_cost_ = prices.total(self.support_)
        self.n_iter_ = max(1, len(rounds.history))
        rounds.ending.tell()
        return self
