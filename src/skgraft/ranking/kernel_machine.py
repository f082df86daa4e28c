"""Support vector machines with kernels, on the features that a ranking leaves."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skgraft.arrays import Array, Index
from skgraft.estimator import LinearSelectingClassifier
from skgraft.matrix import DenseColumns, SparseColumns
from skgraft.ranking.kernels import Kernel, gram, make_kernel
from skgraft.svm import Bands, Design, solve_bands
from skgraft.tables import read_new

KERNEL_CONSTRAINTS: dict[str, Any] = {
    "kernel": [StrOptions({"linear", "poly", "rbf"})],
    "degree": [Interval(Integral, 1, 20, closed="both")],
    "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
    "coef0": [Interval(Real, 0, None, closed="left")],
}


class KernelSelectingClassifier(LinearSelectingClassifier):
    """A linear machine, or one with a kernel, on selected features; one for two classes, else one a class."""

    kernel: str
    degree: int
    gamma: float | str
    coef0: float
    dual_coef_: Array
    support_vectors_: Array
    _parameter_constraints: ClassVar[dict[str, Any]] = KERNEL_CONSTRAINTS

    def _kernel_of(self, design: Design) -> Kernel | None:
        """Return the kernel on some features, None if it is linear; ``gamma="scale"`` depends on them."""
        total = float(design.squares().sum()) / design.n_rows
        return make_kernel(self.kernel, self.degree, self.gamma, self.coef0, total)

    def _signs(self, codes: Index) -> list[Array]:
        """Return the classes of each machine as -1 and 1."""
        positive = [1] if self.classes_.size == 2 else range(self.classes_.size)
        return [np.where(codes == k, 1.0, -1.0) for k in positive]

    def _fit_kernel_machines(
        self, design: Design, bands: list[Bands], columns: DenseColumns | SparseColumns, tol: float
    ) -> float:
        """Train on the features of a design, keep what scores need, and return the largest violation."""
        kernel = self._kernel_of(design)
        assert kernel is not None  # noqa: S101 -- linear machines are kept by their weights
        K = gram(kernel, design.gram(None))
        solutions = [solve_bands(K, each, tol=tol) for each in bands]
        beta = np.stack([each.beta for each in solutions])
        carrying = np.flatnonzero((beta != 0.0).any(axis=0))
        rows: Any = design.by_rows()[carrying]
        self.dual_coef_ = beta[:, carrying]
        self.support_vectors_ = np.ascontiguousarray(rows.toarray() if design.is_sparse else rows)
        self.intercept_ = np.array([each.intercept for each in solutions])
        self._kernel = kernel
        self._scale = columns.scale[design.features]
        # sparse features are scaled but not centred
        self._centre = np.zeros(design.n_features) if design.is_sparse else columns.centre[design.features]
        return max(each.violation for each in solutions)

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        if self.kernel == "linear":
            return super()._scores(X)
        chosen: Any = read_new(self, X)[:, np.flatnonzero(self.support_)]
        dense = np.asarray(chosen.toarray() if hasattr(chosen, "toarray") else chosen, dtype=np.float64)
        Z = (dense - self._centre) / self._scale
        vectors = self.support_vectors_
        K = self._kernel.values(Z @ vectors.T, (Z * Z).sum(axis=1), (vectors * vectors).sum(axis=1))
        return np.asarray(K @ self.dual_coef_.T + self.intercept_)
