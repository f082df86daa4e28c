"""What linear machines that select features share: reading, standardising, scores and support.

A subclass fits and sets ``coef_`` (n_outputs, n_features), ``intercept_`` (n_outputs,) and ``support_``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, compute_class_weight
from sklearn.utils.validation import check_is_fitted

from skgraft.matrix import DenseColumns, SparseColumns, make_columns
from skgraft.matrix.table import read_new, read_training, require_finite, sample_weights

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


class LinearSelectingClassifier(ClassifierMixin, LinearSelector):
    """The same for classes; ``class_weight`` is read where the estimator has it."""

    classes_: NDArray[Any]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    def _read_classes(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Indices, Array]:
        """Return X, the place of each sample's class in ``classes_`` and the weights, all of them above zero."""
        X, y = read_training(self, X, y, check_finite=False)
        weight = sample_weights(sample_weight, X)
        classes, codes = np.unique(y, return_inverse=True)
        if classes.size < 2:
            msg = f"y holds one class only ({classes[0]!r}); a classifier needs samples of at least 2 classes"
            raise ValueError(msg)
        class_weight = getattr(self, "class_weight", None)
        if class_weight is not None:
            each = compute_class_weight(class_weight, classes=classes, y=y, sample_weight=weight)
            _require_class_weights(each, classes)
            weight = weight * each[codes]
        counted = weight > 0.0
        present = np.unique(codes[counted])
        if present.size < 2:
            msg = (
                "all samples of nonzero weight are of one class; a classifier needs at least 2 classes "
                "(see sample_weight and class_weight)"
            )
            raise ValueError(msg)
        self.classes_ = classes
        if not counted.all():
            require_finite(X, getattr(self, "feature_names_in_", None))
            X, codes, weight = X[counted], codes[counted], weight[counted]
        return X, codes, weight

    def decision_function(self, X: Any) -> Array:
        """Return the score of each class, or of the second class if there are two.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The scores w·x + b.
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each sample.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Members of ``classes_``.
        """
        scores = self.decision_function(X)
        chosen = (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]


def _require_class_weights(each: Array, classes: NDArray[Any]) -> None:
    bad = np.flatnonzero(~np.isfinite(each) | (each < 0.0))
    if bad.size:
        k = int(bad[0])
        msg = f"class_weight gives class {classes[k]!r} the weight {each[k]:g}; it must be a number of at least 0"
        raise ValueError(msg)
