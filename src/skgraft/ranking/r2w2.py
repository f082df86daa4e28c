"""Selection by the radius-margin bound, as an estimator."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from skgraft.criterion import Certificate
from skgraft.estimator import store_parameters
from skgraft.matrix import DenseColumns, SparseColumns
from skgraft.ranking.elimination import default_number, violation_left
from skgraft.ranking.kernel_machine import KERNEL_CONSTRAINTS, KernelSelectingClassifier
from skgraft.ranking.radius_margin import Descent, descend
from skgraft.run import History, Monitor, threads, warn_user
from skgraft.svm import Bands, Design, IndependentMachines, InseparableError, class_bands, make_design, softened


class R2W2Selector(KernelSelectingClassifier):
    """Support vector machine on the features that its own error bound asks for.

    Multiplies features by scales σ and lowers the bound R²(σ)W²(σ) on the expected error [1]_ by gradient descent in
    log σ, R being the radius of the smallest sphere around the training data and 1/W their margin.  Then the half of
    the features with the smallest scales goes, and the descent is repeated with the others; a single descent selects
    clearly worse.  With a kernel, k(σ*x, σ*x') takes the place of the product [2]_.

    Where classes overlap, slacks make up most of W and the bound hardly depends on the scales near equal ones, so that
    a descent may go anywhere.  If they make up more than half, a second run of descents has a ridge ten times the
    squared length of a row; the answer of the two that has the lower bound, at the C asked for and with scales of one,
    is then improved by exchanging single features (up to a hundred, each for the ten others that the machine without
    it asks for most) while that lowers the bound.

    Parameters
    ----------
    n_features_to_select : int, optional
        How many features are to be left, by default half of them but at least ten.
    C : float, default=100.0
        What squared slack costs; infinity is the hard margin for which the bound was proved, for classes
        that can be separated.  Slacks are coordinates of their own: a ridge of 1/(2C) on the kernel, in W and in R.
        At infinity a half that no longer separates the classes is widened until it does; features that cannot do so,
        because fewer were asked for, get the machine of the least squared slack, with a warning.
    kernel : {"linear", "poly", "rbf"}, default="linear"
        The kernel: x·x', (gamma x·x' + coef0)^degree or exp(-gamma |x - x'|²).  Others than the linear one need room
        for a few matrices of n_samples², and sparse features are scaled for them but not centred.
    degree : int, default=3
        Degree of the polynomial.
    gamma : float or "scale", default="scale"
        Factor in the kernel; ``"scale"`` is one over the mean squared length of a row, with the features in use.
    coef0 : float, default=1.0
        Constant in the polynomial.
    halving : bool, default=True
        Whether descents are repeated; otherwise the features with the largest scales after one are selected.
    standardize : bool, default=True
        Learn on features of mean zero and deviation one; ``coef_`` is for the original features.
    class_weight : dict or "balanced", optional
        Weights of the classes, as in scikit-learn.
    tol : float, default=1e-6
        Largest violation of the optimality conditions of a machine, relative to the margin.
    n_jobs : int, optional
        Number of threads: None is one, unless joblib's context says otherwise, and -1 all cores.
    verbose : int, default=0
        1 shows progress on standard error.
    callback : callable, optional
        Called with the record of each descent and exchange; returning True ends the fit, with the features that the
        bound of the last record belongs to, or those of the largest scales among them.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of a machine on the selected features without scales, for the original features.  Of the linear kernel
        only.
    dual_coef_, support_vectors_ : ndarray of shape (n_machines, n_vectors) and (n_vectors, n_selected)
        Of other kernels: the dual variables, with their signs, and the rows that have some, standardised.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    support_ : ndarray of bool of shape (n_features,)
        The selected features.
    order_ : ndarray of int
        The selected features, the one with the largest scale first.
    scale_ : ndarray of shape (n_features,)
        The scales σ; zero for features that were removed.
    objective_ : float
        The bound R²W² reached with the features of the last descent; after exchanges, that of the selected ones.
    history_ : History
        One record for each descent, of kind ``"optimize"``, with the features it had and the bound; and one for each
        exchange, of kind ``"swap"``, with the feature that came in.
    certificate_ : Certificate
        Violation of the conditions of the last machine.
    classes_ : ndarray
        The classes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    RFESelector : Elimination by the weights of the machine.

    References
    ----------
    .. [1] Weston, Mukherjee, Chapelle, Pontil, Poggio and Vapnik (2001). Feature selection for SVMs. NIPS 13.
    .. [2] Weston, Elisseeff, Schölkopf and Tipping (2003). Use of the zero-norm with linear models and kernel
       methods. Journal of Machine Learning Research 3, section 4.4.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skgraft import R2W2Selector
    >>> X, y = load_wine(return_X_y=True)
    >>> R2W2Selector(n_features_to_select=4).fit(X, y).score(X, y) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_features_to_select": [None, Interval(Integral, 1, None, closed="left")],
        "C": [Interval(Real, 0, None, closed="right")],
        **KERNEL_CONSTRAINTS,
        "halving": ["boolean"],
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
        C: float = 100.0,
        kernel: str = "linear",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 1.0,
        halving: bool = True,
        standardize: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        store_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> R2W2Selector:
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
            The fitted selector.
        """
        X, codes, weight = self._read_classes(X, y, sample_weight)
        self._require_at_most_all(self.n_features_to_select)
        wanted = self.n_features_to_select or default_number(self.n_features_in_)
        bands = [class_bands(y, ridge=0.5 / (float(self.C) * weight)) for y in self._signs(codes)]
        monitor = Monitor(callback=self.callback, verbose=int(self.verbose), name="radius-margin bound")
        with threads(self.n_jobs, X):
            columns = self._columns(X, weight, standardize=self.standardize)
            design = make_design(columns)
            try:
                found = descend(
                    design,
                    bands,
                    int(wanted),
                    halving=self.halving,
                    tol=self.tol,
                    monitor=monitor,
                    slack_radius=0.5 / float(self.C),
                    kernel_of=self._kernel_of,
                )
            except InseparableError:
                msg = "No hyperplane separates the classes, which C=inf (a hard margin) asks for. Set a finite C."
                raise InseparableError(msg) from None
            self._keep_descent(found, monitor.history)
            violation = self._fit_machine(design.keep(found.alive), bands, columns, separates=found.separates)
        self.certificate_ = Certificate(violation, None, found.finished and violation <= 10.0 * self.tol)
        monitor.ending(violation_left(violation), converged=violation <= 10.0 * self.tol).tell()
        return self

    def _fit_machine(
        self, design: Design, bands: list[Bands], columns: DenseColumns | SparseColumns, *, separates: bool
    ) -> float:
        """Train on the selected features and return the violation."""
        if not separates:
            msg = (
                f"The {design.n_features} selected features do not separate the training data, so the margin is not "
                "hard (C=inf) but that of the least squared slack. Select more features, or set a finite C."
            )
            warn_user(msg)
            bands = softened(bands, design)
        if self.kernel != "linear":
            return self._fit_kernel_machines(design, bands, columns, self.tol)
        solution = IndependentMachines(bands).solve(design, None, self.tol)
        weights = np.zeros((len(bands), self.n_features_in_))
        weights[:, design.features] = solution.weights
        intercept = solution.intercept + solution.weights @ design.intercept_shift
        self._keep_weights(weights, intercept, columns)
        return solution.violation

    def _keep_descent(self, found: Descent, history: History) -> None:
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[found.alive] = True
        self.scale_ = np.zeros(self.n_features_in_)
        self.scale_[found.alive] = np.exp(found.log_scale)
        self.order_ = found.alive[np.argsort(-found.log_scale, kind="stable")]
        self.objective_ = found.bound
        self.history_ = history
        self.n_iter_ = len(history)
