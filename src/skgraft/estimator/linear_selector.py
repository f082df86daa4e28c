"""What linear machines that select features share: reading, standardising, scores and support.

A subclass fits and sets ``coef_`` (n_outputs, n_features), ``intercept_`` (n_outputs,) and ``support_``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skgraft.estimator.class_scores import ClassScores
from skgraft.matrix import DenseColumns, SparseColumns, make_columns
from skgraft.tables.table import read_new, read_training, require_finite, sample_weights
from skgraft.tables.targets import read_classes

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class LinearSelector(SelectorMixin, BaseEstimator):
    """A linear model that is also a selector of its features."""

    coef_: Array
    intercept_: Any
    support_: NDArray[np.bool_]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _columns(
        self, X: Any, weight: Array, *, standardize: bool, center: bool = True
    ) -> DenseColumns | SparseColumns:
        """Return the columns of X, centred and standardised on the fly; refuses what cannot be computed with."""
        weight = weight / weight.max()  # first, since the sum of huge weights may be no float
        columns = make_columns(X, weight / weight.sum(), center=center, standardize=standardize)
        names = getattr(self, "feature_names_in_", None)
        if not columns.finite:
            require_finite(X, names)
        if columns.too_large.any():
            j = int(np.argmax(columns.too_large))
            name = j if names is None else repr(str(names[j]))
            msg = f"column {name} of X holds numbers too large to be squared; rescale it, or set standardize=True"
            raise ValueError(msg)
        return columns

    def _require_at_most_all(self, n_features_to_select: int | None) -> None:
        """Refuse to select more features than there are."""
        if n_features_to_select is not None and n_features_to_select > self.n_features_in_:
            msg = (
                f"n_features_to_select is {n_features_to_select}, but X has {self.n_features_in_} features; "
                "ask for at most as many, or for None"
            )
            raise ValueError(msg)

    def _keep_weights(self, weights: Array, intercept: Array, columns: DenseColumns | SparseColumns) -> None:
        """Set ``coef_`` and ``intercept_`` from weights (n_outputs, n_features) of standardised columns."""
        coef = weights / columns.scale
        self.coef_ = np.ascontiguousarray(coef)
        self.intercept_ = intercept - coef @ columns.centre

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
            read_new(self, X)  # names the culprit if there is one
            raise

    def _scores(self, X: Any) -> Array:
        """Return scores (n_samples, n_outputs), touching only the columns in use."""
        check_is_fitted(self)
        X = read_new(self, X)
        coef = np.atleast_2d(self.coef_)
        used = np.flatnonzero((coef != 0.0).any(axis=0))
        return np.asarray(X[:, used] @ coef[:, used].T) + self.intercept_


class LinearSelectingClassifier(ClassScores, LinearSelector):
    """The same for classes; ``class_weight`` is read where the estimator has it."""

    def _read_classes(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Indices, Array]:
        """Return X, the place of each sample's class in ``classes_`` and the weights, all of them above zero."""
        X, y = read_training(self, X, y, check_finite=False)
        classes, codes, weight = read_classes(y, sample_weights(sample_weight, X), getattr(self, "class_weight", None))
        counted = weight > 0.0
        self.classes_ = classes
        if not counted.all():
            require_finite(X, getattr(self, "feature_names_in_", None))
            X, codes, weight = X[counted], codes[counted], weight[counted]
        return X, codes, weight
