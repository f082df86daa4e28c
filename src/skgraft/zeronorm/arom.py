"""AROM for classes: the zero-norm of a linear machine, minimised by rescaling its features round by round."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from skgraft.criterion import Certificate
from skgraft.estimator import PRICES, LinearSelectingClassifier, LinearSelector, store_parameters
from skgraft.prices import Prices
from skgraft.run import threads
from skgraft.zeronorm.arom_rounds import Columns, class_rounds
from skgraft.zeronorm.l2_rounds import RoundControls
from skgraft.zeronorm.rounds import Rounds

CONSTRAINTS: dict[str, Any] = {
    "norm": [StrOptions({"l2", "l1", "l2-l1"})],
    "n_features_to_select": [None, Interval(Integral, 1, None, closed="left")],
    **PRICES,
    "C": [Interval(Real, 0, None, closed="right")],
    "errors": [StrOptions({"ridge", "zero"})],
    "minimise": [StrOptions({"features", "errors"})],
    "retrain": ["boolean"],
    "standardize": ["boolean"],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "n_jobs": [None, Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left")],
    "verbose": ["verbose"],
    "callback": [None, callable],
}


class RoundsEstimator(LinearSelector):
    """What classifier and regressor share: the controls of the rounds and the attributes that they leave."""

    def _controls(self) -> RoundControls:
        self._require_at_most_all(self.n_features_to_select)
        fewest_errors = self.minimise == "errors"
        for name in ("n_features_to_select", *PRICES):
            if fewest_errors and getattr(self, name) is not None:
                msg = (
                    f"minimise='errors' selects no features, but {name} is {getattr(self, name)!r}; "
                    "leave it at None, or set minimise='features'"
                )
                raise ValueError(msg)
        if fewest_errors and np.isinf(self.C):
            msg = "minimise='errors' needs errors to be allowed, but C=inf is a hard margin; set a finite C"
            raise ValueError(msg)
        return RoundControls(
            n_features_to_select=self.n_features_to_select,
            prices=self._prices(self.n_features_to_select),
            rescale_features=not fewest_errors,
            rescale_errors=fewest_errors or self.errors == "zero",
            retrain=self.retrain,
            tol=self.tol,
            max_iter=self.max_iter,
            verbose=int(self.verbose),
            callback=self.callback,
        )

    def _keep_rounds(self, rounds: Rounds, columns: Columns, prices: Prices | None) -> None:
        self._keep_weights(rounds.weights, rounds.intercept, columns)
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[rounds.alive] = True
        self.total_cost_ = float(rounds.alive.size) if prices is None else prices.total(self.support_)
        self.order_ = rounds.order
        self.history_ = rounds.history
        self.objective_ = rounds.objective
        self.certificate_ = Certificate(rounds.kkt_violation, None, rounds.converged)
        self.n_iter_ = len(rounds.history)


class AROMClassifier(LinearSelectingClassifier, RoundsEstimator):
    """Linear classifier with as few features as it takes to separate the classes.

    Approximates the minimum of the zero-norm [1]_, the number of features with a weight, by that of
    ::

        Σ_g cost_g ln(ε + ||w_g||) + C/μ Σ_i s_i ξ_i²     so that     y_i (w·x_i + b) >= 1 - ξ_i

    with w_g the weights of bag g, a feature of price one if nothing else is said.  A round solves a support vector
    machine on features multiplied by scales z, one for all members of a bag, which start at ``z² = 1/cost`` and follow
    the weights, ``z² = ||w_g||²/cost``; a scale that has reached zero (10⁻⁸ of the largest) stays there.  Where slack
    is allowed, scales shorter than one are lengthened to one (otherwise tiny weights of many features would all vanish
    at once); μ <= 1 is what that takes, and one for a hard margin.  No round raises the criterion with its own μ, which
    changes from one round to the next until the weights have settled.  The criterion is not convex: the result is a
    local optimum.

    Parameters
    ----------
    norm : {"l2", "l1", "l2-l1"}, default="l2"
        The norm that a round minimises, also that of ``||w_g||``: a support vector machine, or a linear program, which
        is the steepest descent and leaves fewer features at more cost.  Its slack is then not squared, and ``z =
        ||w_g||/cost``.  ``"l2-l1"`` begins with machines and goes on with programs once no more features than rows are
        left (section 3.1 of the paper).
    n_features_to_select : int, optional
        Select exactly so many, kept ones among them: those that are largest in the last round with more than that.
        None goes on until nothing changes.
    feature_costs : array-like or mapping, optional
        Price of each feature or bag, by default 1.  What costs nothing stays at a scale of one.
    groups : array-like or mapping, optional
        A label for each feature, or a mapping from bag to features.  A bag is paid for once.
    keep : indices, names or mask, optional
        Features always in the model and never charged; their scale stays one.
    max_cost : float, optional
        Largest total cost.  Where the rounds end with more, bags with the least ``max |w_j|`` for their price leave.
    C : float, default=1.0
        What slack costs; infinity is the hard margin of the paper, for classes that can be separated.
    errors : {"ridge", "zero"}, default="ridge"
        What is done about slack: its squares are added up, which is a ridge on the kernel, or its zero-norm is
        minimised together with that of the weights, an error being worth 2C features.
    minimise : {"features", "errors"}, default="features"
        ``"errors"`` keeps all features at their scale and minimises the norm of the weights and the number of
        training errors (p = 2 and q = 0 in the paper's section 3.2).
    multi_class : {"joint", "ovr", "naive"}, default="joint"
        More than two classes share one scale a feature: in one machine, whose every sample should score higher for its
        own class than for each other [2]_, or in one machine a class against the rest.  ``"naive"`` selects for each
        class alone and puts the selections together; it is there to be compared with.
    retrain : bool, default=True
        Fit a fresh machine on the chosen features at their own scale, with the same norm and C; otherwise the
        weights are those at the scales of the last round.
    standardize : bool, default=True
        Learn on features of mean zero and deviation one; ``coef_`` is for the original features.
    class_weight : dict or "balanced", optional
        Weights of the classes, as in scikit-learn.
    tol : float, default=1e-6
        Largest violation of the optimality conditions of a machine, relative to the margin.
    max_iter : int, default=100
        Largest number of rounds.
    n_jobs : int, optional
        Number of threads: None is one, unless joblib's context says otherwise, and -1 all cores.
    verbose : int, default=0
        1 shows progress on standard error.
    callback : callable, optional
        Called with each round's record; returning True ends the rounds.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights on the original scale.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    support_ : ndarray of bool of shape (n_features,)
        The selected features.
    order_ : ndarray of int
        The selected features, the one with the largest weight of the rounds first.
    total_cost_ : float
        What the selected features cost together.
    history_ : History
        One record a round: features left and their cost, criterion with the round's μ, violation of the machine's
        conditions (``gradient``).
    objective_ : float
        The criterion of the weights that are reported, with the last μ.
    certificate_ : Certificate
        Violation of the conditions of the last machine, and whether the rounds settled.
    classes_ : ndarray
        The classes.
    n_iter_ : int
        Number of rounds.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    AROMRegressor : The same for numbers.
    KernelAROMClassifier : The same for monomials of the features.
    RFESelector : Features removed one by one.

    Notes
    -----
    Of features that are copies of each other, the cheapest is used, and the first of several at its price; copies in
    different bags are left to the rounds.  With ``errors="zero"`` the price of an error enters the criterion itself:
    the paper's λ scales coordinates, which a zero-norm does not see.  With more than two classes ``||w_g||`` runs over
    all of them; with ``norm="l2"`` it is the root of the sum of squares and not the paper's sum of sizes, with which
    the rounds would minimise no function.

    References
    ----------
    .. [1] Weston, Elisseeff, Schölkopf and Tipping (2003). Use of the zero-norm with linear models and kernel
       methods. Journal of Machine Learning Research 3.
    .. [2] Weston and Watkins (1999). Support vector machines for multi-class pattern recognition. ESANN.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skgraft import AROMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AROMClassifier(n_features_to_select=5).fit(X, y)
    >>> int(model.support_.sum()), model.score(X, y) > 0.95
    (5, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "multi_class": [StrOptions({"joint", "ovr", "naive"})],
        "class_weight": [None, dict, StrOptions({"balanced"})],
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
        C: float = 1.0,
        errors: str = "ridge",
        minimise: str = "features",
        multi_class: str = "joint",
        retrain: bool = True,
        standardize: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        store_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> AROMClassifier:
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
        controls = self._controls()
        with threads(self.n_jobs, X):
            columns = self._columns(X, weight, standardize=self.standardize)
            rounds = class_rounds(
                columns,
                codes,
                self.classes_.size,
                float(self.C) * weight,
                norm=self.norm,
                multi_class=self.multi_class,
                controls=controls,
            )
        self._keep_rounds(rounds, columns, controls.prices)
        if self.classes_.size > 2 and self.multi_class == "joint":
            self.intercept_ -= self.intercept_.mean()  # only their differences matter
        rounds.ending.tell()
        return self
