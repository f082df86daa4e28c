"""Selection by the radius-margin bound, as an estimator."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from skgraft.criterion import Certificate
from skgraft.estimator.linear_selector import LinearSelectingClassifier
from skgraft.ranking.elimination import default_number
from skgraft.ranking.radius_margin import Descent, descend
from skgraft.run.history import History, Record
from skgraft.run.threads import threads
from skgraft.svm.design import make_design
from skgraft.svm.dual import Bands, class_bands
from skgraft.svm.machines import IndependentMachines, InseparableError

Array = NDArray[np.float64]


class R2W2Selector(LinearSelectingClassifier):
    """Linear support vector machine on the features that its own error bound asks for.

    Multiplies features by scales σ and lowers the bound R²(σ)W²(σ) on the expected error [1]_ by gradient descent in
    log σ, R being the radius of the smallest sphere around the training data and 1/W their margin.  Then the half of
    the features with the smallest scales goes, and the descent is repeated with the others; a single descent selects
    clearly worse.

    Parameters
    ----------
    n_features_to_select : int, optional
        How many features are to be left, by default half of them but at least ten.
    C : float, default=100.0
        What squared slack costs; infinity is the hard margin for which the bound was proved, for classes
        that can be separated.  Slacks are coordinates of their own: a ridge of 1/(2C) on the kernel, in W and in R.
        The more the classes overlap, the less the bound says about features.
    halving : bool, default=True
        Whether descents are repeated; otherwise the features with the largest scales after one are selected.
    standardize : bool, default=True
        Learn on features of mean zero and deviation one; ``coef_`` is for the original features.
    class_weight : dict or "balanced", optional
        Weights of the classes, as in scikit-learn.
    tol : float, default=1e-6
        Largest violation of the optimality conditions of a machine, relative to the margin.
    n_jobs : int, optional
        Number of threads for linear algebra; None is one for small X and else left to the libraries, -1 is all cores.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of a machine on the selected features without scales, for the original features.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    support_ : ndarray of bool of shape (n_features,)
        The selected features.
    order_ : ndarray of int
        The selected features, the one with the largest scale first.
    scale_ : ndarray of shape (n_features,)
        The scales σ; zero for features that were removed.
    objective_ : float
        The least bound R²W² reached with the features of the last descent.
    history_ : History
        One record for each descent: features it had, and the bound.
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
        "halving": ["boolean"],
        "standardize": ["boolean"],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [None, Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        *,
        n_features_to_select: int | None = None,
        C: float = 100.0,
        halving: bool = True,
        standardize: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.C = C
        self.halving = halving
        self.standardize = standardize
        self.class_weight = class_weight
        self.tol = tol
        self.n_jobs = n_jobs

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
        bands = self._bands(codes, float(self.C) * weight)
        with threads(self.n_jobs, X.shape[0] * X.shape[1]):
            columns = self._columns(X, weight, standardize=self.standardize)
            design = make_design(columns)
            try:
                found = descend(
                    design, bands, int(wanted), halving=self.halving, tol=self.tol, slack_radius=0.5 / float(self.C)
                )
            except InseparableError:
                msg = "No hyperplane separates the classes, which C=inf (a hard margin) asks for. Set a finite C."
                raise InseparableError(msg) from None
            solution = IndependentMachines(bands).solve(design.keep(found.alive), None, self.tol)
        self._keep_descent(found)
        weights = np.zeros((len(bands), self.n_features_in_))
        weights[:, found.alive] = solution.weights
        self._keep_weights(weights, solution.intercept + weights @ design.intercept_shift, columns)
        self.certificate_ = Certificate(solution.violation, None, solution.violation <= 10.0 * self.tol)
        return self

    def _bands(self, codes: NDArray[np.intp], cost: Array) -> list[Bands]:
        """Return the conditions of each machine: one for two classes, else one a class against the rest."""
        positive = [1] if self.classes_.size == 2 else range(self.classes_.size)
        return [class_bands(np.where(codes == k, 1.0, -1.0), ridge=0.5 / cost) for k in positive]

    def _keep_descent(self, found: Descent) -> None:
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[found.alive] = True
        self.scale_ = np.zeros(self.n_features_in_)
        self.scale_[found.alive] = np.exp(found.log_scale)
        self.order_ = found.alive[np.argsort(-found.log_scale, kind="stable")]
        self.objective_ = found.bounds[-1]
        steps = zip(found.n_features, found.bounds, strict=True)
        self.history_ = History(
            [Record(k, -1, 0.0, bound, n, float(n), 0.0, "optimize") for k, (n, bound) in enumerate(steps, 1)]
        )
        self.n_iter_ = len(self.history_)
