"""What linear machines that select features share: reading, standardising, scores and support.

A subclass fits and sets ``coef_`` (n_outputs, n_features), ``intercept_`` (n_outputs,) and ``support_``.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skgraft.arrays import Array, Index
from skgraft.estimator.class_scores import ClassScores
from skgraft.estimator.named_selector import NamedSelector
from skgraft.estimator.sizes import require_sizes
from skgraft.matrix import DenseColumns, SparseColumns, make_columns
from skgraft.prices import Prices, resolve_prices
from skgraft.tables import read_classes, read_selected, read_training, require_finite, sample_weights, weight_shares

#: What the parameters that say what features cost may be.
PRICES: dict[str, Any] = {
    "feature_costs": [None, "array-like", Mapping],
    "groups": [None, "array-like", Mapping],
    "keep": [None, "array-like", str, Integral, set, frozenset],
    "max_cost": [None, Interval(Real, 0, None, closed="left")],
}


class LinearSelector(NamedSelector, BaseEstimator):
    """A linear model that is also a selector of its features."""

    feature_costs: Any
    groups: Any
    keep: Any
    max_cost: float | None
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
        columns = make_columns(X, weight_shares(weight), center=center, standardize=standardize)
        names = getattr(self, "feature_names_in_", None)
        if not columns.finite:
            require_finite(X, names)
        require_sizes(columns, names)
        return columns

    def _prices(self, n_features_to_select: int | None = None) -> Prices:
        """Return what features cost, which are always in, and the budget, as the parameters say."""
        prices = resolve_prices(
            groups=self.groups,
            feature_costs=self.feature_costs,
            keep=self.keep,
            max_features=None,
            max_cost=self.max_cost,
            n_features=self.n_features_in_,
            names=getattr(self, "feature_names_in_", None),
        )
        if n_features_to_select is None:
            return prices
        if prices.max_cost is not None:
            msg = (
                f"n_features_to_select={n_features_to_select} asks for exactly so many features, and "
                f"max_cost={self.max_cost!r} may not allow for them; give one of the two"
            )
            raise ValueError(msg)
        n_kept = int(np.count_nonzero(prices.kept))
        if n_features_to_select < n_kept:
            msg = (
                f"n_features_to_select={n_features_to_select} leaves no room for the {n_kept} features named in keep; "
                "select more, or keep fewer"
            )
            raise ValueError(msg)
        return prices

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

    def _scores(self, X: Any) -> Array:
        """Return scores (n_samples, n_outputs), touching only the columns in use."""
        check_is_fitted(self)
        columns = read_selected(self, X, self.support_)
        return np.asarray(columns @ np.atleast_2d(self.coef_)[:, self.support_].T) + self.intercept_


class LinearSelectingClassifier(ClassScores, LinearSelector):
    """The same for classes; ``class_weight`` is read where the estimator has it."""

    def _read_classes(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Index, Array]:
        """Return X, the place of each sample's class in ``classes_`` and the weights, all of them above zero."""
        X, y = read_training(self, X, y, check_finite=False)
        classes, codes, weight = read_classes(y, sample_weights(sample_weight, X), getattr(self, "class_weight", None))
        counted = weight > 0.0
        self.classes_ = classes
        if not counted.all():
            require_finite(X, getattr(self, "feature_names_in_", None))
            X, codes, weight = X[counted], codes[counted], weight[counted]
        return X, codes, weight
