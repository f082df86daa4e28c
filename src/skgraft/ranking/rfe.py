"""Recursive feature elimination with linear support vector machines, as an estimator."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from skgraft.arrays import Array
from skgraft.criterion import Certificate
from skgraft.estimator import store_parameters
from skgraft.ranking.elimination import Elimination, default_number, eliminate, violation_left
from skgraft.ranking.kernel_machine import KERNEL_CONSTRAINTS, KernelSelectingClassifier
from skgraft.run import History, Monitor, threads, warn_user
from skgraft.svm import Bands, InseparableError, class_bands, make_design, softened

EXACT = 1e-3  # machines are solved to this part of ``tol``: small weights are compared with each other


class RFESelector(KernelSelectingClassifier):
    """Support vector machine on the features that recursive elimination leaves.

    Trains a machine, removes the features with the smallest squared weights, and repeats [1]_: a step removes what
    the margin depends on least.  The machines are ::

        min ½ ||w||² + C Σ_i s_i max(0, 1 - y_i (w·x_i + b))

    or have the square of the hinge.  With a kernel, the features go first without which W² = Σ_ij β_i β_j k(x_i, x_j)
    would change least, the dual variables β staying what they are [2]_; of a linear machine these are the squared
    weights.  With more than two classes there is one machine a class against the rest, and the
    squared weights of all machines are added up [2]_.

    Parameters
    ----------
    n_features_to_select : int, optional
        How many features are to be left, by default half of them but at least ten.
    step : int, float or "half", default=1
        How many features are removed at a time; below one, that share of the features left.
    C : float, default=1.0
        What slack costs; infinity is a hard margin, for classes that all features together separate.  Once those left
        no longer do, elimination goes on with the machine of the least squared slack, with a warning.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss.  For many thousands of rows the squared hinge is much the faster.
    kernel : {"linear", "poly", "rbf"}, default="linear"
        The kernel: x·x', (gamma x·x' + coef0)^degree or exp(-gamma |x - x'|²).  Others than the linear one need room
        for a few matrices of n_samples² and a kernel of the support vectors for each feature of each step; sparse
        features are scaled for them but not centred.
    degree : int, default=3
        Degree of the polynomial.
    gamma : float or "scale", default="scale"
        Factor in the kernel; ``"scale"`` is one over the mean squared length of a row, with the features in use.
    coef0 : float, default=1.0
        Constant in the polynomial.
    standardize : bool, default=True
        Learn on features of mean zero and deviation one, without which the size of a weight says nothing about its
        feature; ``coef_`` is for the original features.
    class_weight : dict or "balanced", optional
        Weights of the classes, as in scikit-learn.
    tol : float, default=1e-6
        Largest violation of the optimality conditions of a machine, relative to the margin.  Machines are solved to a
        thousandth of it, since small weights are compared with each other.
    n_jobs : int, optional
        Number of threads: None is one, unless joblib's context says otherwise, and -1 all cores.
    verbose : int, default=0
        1 shows progress on standard error.
    callback : callable, optional
        Called with each step's record; returning True ends the elimination with the features left so far.  Steps of
        single features in compiled code are told a hundred at a time.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the last machine on the original scale; zero for features that were removed.  Of the linear kernel
        only.
    dual_coef_, support_vectors_ : ndarray of shape (n_machines, n_vectors) and (n_vectors, n_selected)
        Of other kernels: the dual variables, with their signs, and the rows that have some, standardised.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    support_ : ndarray of bool of shape (n_features,)
        The features left.
    ranking_ : ndarray of int of shape (n_features,)
        1 for the features left, 2 for those removed last, and so on.
    order_ : ndarray of int
        The features left, the one with the largest weight first.
    history_ : History
        One record for each step: the least of the features removed, and how many are left.
    certificate_ : Certificate
        Violation of the conditions of the last machine.
    classes_ : ndarray
        The classes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    AROMClassifier : Features rescaled rather than removed.
    fisher_score : Features one by one.

    References
    ----------
    .. [1] Guyon, Weston, Barnhill and Vapnik (2002). Gene selection for cancer classification using support vector
       machines. Machine Learning 46.
    .. [2] Weston, Elisseeff, Schölkopf and Tipping (2003). Use of the zero-norm with linear models and kernel
       methods. Journal of Machine Learning Research 3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skgraft import RFESelector
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = RFESelector(n_features_to_select=4).fit(X, y)
    >>> selector.get_support(indices=True)
    array([ 6, 13, 19, 23])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_features_to_select": [None, Interval(Integral, 1, None, closed="left")],
        "step": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"half"}),
        ],
        "C": [Interval(Real, 0, None, closed="right")],
        **KERNEL_CONSTRAINTS,
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "standardize": ["boolean"],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [None, Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "callback": [None, callable],
    }

    def __init__(
        self,
        *,
        n_features_to_select: int | None = None,
        step: float | str = 1,
        C: float = 1.0,
        loss: str = "hinge",
        kernel: str = "linear",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 1.0,
        standardize: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        store_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RFESelector:
        """Remove features and learn on those left.

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
            The fitted selector.
        """
        X, codes, weight = self._read_classes(X, y, sample_weight)
        self._require_at_most_all(self.n_features_to_select)
        wanted = self.n_features_to_select or default_number(self.n_features_in_)
        step = 0.5 if self.step == "half" else float(self.step)
        bands = self._bands(codes, weight)
        monitor = Monitor(callback=self.callback, verbose=int(self.verbose), name="elimination")
        with threads(self.n_jobs, X):
            columns = self._columns(X, weight, standardize=self.standardize)
            design = make_design(columns)
            try:
                found = eliminate(design, bands, int(wanted), step, EXACT * self.tol, monitor, self._kernel_of)
            except InseparableError:
                msg = "No hyperplane separates the classes, which C=inf (a hard margin) asks for. Set a finite C."
                raise InseparableError(msg) from None
            if found.solution is None:
                left = design.keep(found.alive)
                bands = bands if found.softened_at is None else softened(bands, left)
                self._fit_kernel_machines(left, bands, columns, EXACT * self.tol)
        if found.softened_at is not None:
            msg = (
                f"From {found.softened_at} features on, those left do not separate the training data, so the margin is "
                "not hard (C=inf) but that of the least squared slack. Select more features, or set a finite C."
            )
            warn_user(msg)
        self._keep_elimination(found, monitor.history)
        if found.solution is not None:
            weights = np.zeros((found.solution.weights.shape[0], self.n_features_in_))
            weights[:, found.alive] = found.solution.weights
            self._keep_weights(weights, found.solution.intercept + weights @ design.intercept_shift, columns)
        monitor.ending(violation_left(found.violation), converged=found.violation <= 10.0 * self.tol).tell()
        return self

    def _bands(self, codes: NDArray[np.intp], weight: Array) -> list[Bands]:
        """Return the conditions of each machine: one for two classes, else one a class."""
        cost = float(self.C) * weight
        if self.loss == "hinge":
            return [class_bands(y, upper=cost) for y in self._signs(codes)]
        return [class_bands(y, ridge=0.5 / cost) for y in self._signs(codes)]

    def _keep_elimination(self, found: Elimination, history: History) -> None:
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[found.alive] = True
        self.ranking_ = np.ones(self.n_features_in_, dtype=np.intp)
        for rank, which in enumerate(reversed(found.removed), 2):
            self.ranking_[which] = rank
        self.order_ = found.alive[np.argsort(-found.size, kind="stable")]
        self.history_ = history
        violation = found.violation
        self.certificate_ = Certificate(violation, None, found.finished and violation <= 10.0 * self.tol)
        self.n_iter_ = len(history)
