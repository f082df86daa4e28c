"""The support vector machine with an l1 norm as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from skgraft.arrays import Array, Index
from skgraft.estimator import PRICES, LinearSelectingClassifier, store_parameters
from skgraft.matrix import DenseColumns, SparseColumns
from skgraft.prices import Bags, resolve_penalty_weights
from skgraft.run import Controls, threads
from skgraft.svm import Margins, all_pairs, one_against_rest
from skgraft.zeronorm.budget import within_budget
from skgraft.zeronorm.column_generation import ProgramFit, fit_program
from skgraft.zeronorm.programs import Program

DECIMALS = 10  # of scores


class ProgramClassifier(LinearSelectingClassifier):
    """A classifier by linear programs, whose scores are often exactly 1 or -1."""

    def _scores(self, X: Any) -> Array:
        """Return scores; ties between classes are not left to rounding errors."""
        return np.round(super()._scores(X), DECIMALS)


class L1SVC(ProgramClassifier):
    """Support vector machine with an l1 norm, solved exactly.

    Minimises, over weights w and intercepts b of standardised features::

        C(w, b) = 1/Σs Σ_i s_i max(0, 1 - y_i (w·x_i + b)) + l1 Σ_g cost_g v_g     so that     v_g >= a_j |w_j|

    for all members j of bag g, a feature of price one if nothing else is said.  This is a linear program [1]_.  Column
    generation solves it: a program over few features gives every sample its multiplier α_i between 0 and s_i/Σs, and a
    bag outside comes in if ``Σ_j |Σ_i α_i y_i x_ij| / a_j > l1 cost_g``, which is the gradient test of grafting.  The
    fit ends when no bag wants to come in, hence at the optimum over all features, which ``certificate_`` proves.

    Parameters
    ----------
    l1 : float, default=0.01
        Coefficient of Σ|w|.  :func:`l1_svc_path` starts at the smallest value that selects nothing.
    multi_class : {"ovr", "joint"}, default="ovr"
        More than two classes: one machine a class against the rest, their criteria added up; or one machine whose
        every sample should score higher for its own class than for each other class by a margin of 1 [2]_, the
        shortfalls added up.
    penalty_weights : array-like or mapping, optional
        a_j of each feature, by default 1; 0 leaves a feature unpenalised.
    feature_costs : array-like or mapping, optional
        Price of each feature or bag, by default 1.
    groups : array-like or mapping, optional
        A label for each feature, or a mapping from bag to features.  A bag is paid for once: its weights have one
        bound.
    keep : indices, names or mask, optional
        Features that count as selected whatever their weights and are never charged; ``l1`` still shrinks them, at a
        price of one.
    max_cost : float, optional
        Largest total cost.  Where the optimum costs more, bags with the least ``max |w_j|`` for their price leave, and
        the program without them is solved.
    fit_intercept : bool, default=True
        Whether to fit an unpenalised intercept for each machine.
    standardize : bool, default=True
        Learn on features of mean zero and deviation one; ``coef_`` is reported for the original features.  Without an
        intercept features are divided by their root mean square.
    class_weight : dict or "balanced", optional
        Weights of the classes, as in scikit-learn.
    tol : float, default=1e-6
        Largest violation of the optimality conditions, relative to the largest gradient of the empty model.
        A thousandth of it decides whether a feature comes in.
    max_iter : int, default=1000
        Largest number of steps, each a linear program.
    n_jobs : int, optional
        Number of threads: None is one, unless joblib's context says otherwise, and -1 all cores.
    verbose : int, default=0
        1 shows progress on standard error.
    callback : callable, optional
        Called with each step's record; returning True ends the fit.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights on the original scale.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; where several are as good, the middle of them (of one machine a class, or of two classes).
    support_ : ndarray of bool of shape (n_features,)
        The selected features.
    order_ : ndarray of int
        The selected features in the order in which they came into the program.
    objective_ : float
        C at the solution.
    certificate_ : Certificate
        KKT violation (the least reduced cost among them), duality gap and whether the fit converged.
    history_ : History
        One record for each step.
    total_cost_ : float
        What the selected features cost together, those in ``keep`` nothing.
    classes_ : ndarray
        The classes.
    n_iter_ : int
        Number of steps.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    l1_svc_path : The same for many values of l1.
    GraftClassifier : Smooth losses.
    FSVClassifier : Fewer features for the same program.

    References
    ----------
    .. [1] Zhu, Rosset, Hastie and Tibshirani (2004). 1-norm support vector machines. Advances in Neural Information
       Processing Systems 16.
    .. [2] Weston and Watkins (1999). Support vector machines for multi-class pattern recognition. ESANN.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skgraft import L1SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = L1SVC(l1=0.05).fit(X, y)
    >>> int(model.support_.sum()), model.certificate_.converged
    (9, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "l1": [Interval(Real, 0, None, closed="left")],
        "multi_class": [StrOptions({"ovr", "joint"})],
        "penalty_weights": [None, "array-like", Mapping],
        **PRICES,
        "fit_intercept": ["boolean"],
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
        l1: float = 0.01,
        multi_class: str = "ovr",
        penalty_weights: Any = None,
        feature_costs: Any = None,
        groups: Any = None,
        keep: Any = None,
        max_cost: float | None = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        store_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> L1SVC:
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
            program, columns = self._program(X, y, sample_weight)
            fit = fit_program(program, self._controls())
            fit = within_budget(program, 1.0, fit, self._controls())
        self._keep_result(fit, columns)
        fit.ending.tell()
        return self

    def _program(self, X: Any, y: Any, sample_weight: Any) -> tuple[Program, DenseColumns | SparseColumns]:
        """Return the program that these parameters and data define, and its columns."""
        X, codes, weight = self._read_classes(X, y, sample_weight)
        names = getattr(self, "feature_names_in_", None)
        n_features = X.shape[1]
        prices = self._prices()
        penalty_weight = resolve_penalty_weights(self.penalty_weights, n_features, names)
        weight = weight / weight.max()
        weight /= weight.sum()
        margins = class_margins(codes, self.classes_.size, self.multi_class)
        columns = self._columns(X, weight, standardize=self.standardize, center=self.fit_intercept)
        of = prices.bags.of
        cost = self.l1 * penalty_weight * np.where(prices.bag_is_kept, 1.0, prices.cost)[of]
        bags = None if prices.bags.is_trivial else bags_of_weights(prices.bags, cost)
        return Program(columns, margins, weight[margins.row], cost, self.fit_intercept, prices, bags), columns

    def _controls(self) -> Controls:
        return Controls(tol=self.tol, max_iter=self.max_iter, verbose=int(self.verbose), callback=self.callback)

    def _keep_result(self, fit: ProgramFit, columns: DenseColumns | SparseColumns) -> None:
        self._keep_weights(fit.weights.T, fit.intercept, columns)
        self._set_fitted_attributes(fit)


def bags_of_weights(bags: Bags, cost: Array) -> Bags:
    """Return the bags whose weights have a common bound: what costs nothing has none, and is by itself."""
    free = np.flatnonzero(cost == 0.0)
    of = bags.of.copy()
    of[free] = bags.n_bags + np.arange(free.size)
    labels, of = np.unique(of, return_inverse=True)
    return Bags(tuple(labels.tolist()), of.ravel())


def class_margins(codes: Index, n_classes: int, multi_class: str) -> Margins:
    """Return the constraints of a classifier: one output for two classes, else one for each."""
    if n_classes == 2:
        return one_against_rest(codes[:, None] == 1)
    if multi_class == "joint":
        return all_pairs(codes, n_classes)
    return one_against_rest(codes[:, None] == np.arange(n_classes))
