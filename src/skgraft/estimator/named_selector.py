"""The selector's side of an estimator: which columns it has selected, and those columns of new rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_array, get_tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from skgraft.run import Fit
from skgraft.tables import read_new, read_table, take_selected


class NamedSelector(SelectorMixin):
    """A selector whose columns a table gives by name, and anything else by position; needs ``support_``."""

    support_: NDArray[np.bool_]

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def _set_fitted_attributes(self, fit: Fit) -> None:
        """Set what every fit has; an estimator adds its model."""
        self.support_ = fit.support
        self.order_ = fit.order
        self.objective_ = fit.objective
        self.total_cost_ = fit.total_cost
        self.certificate_ = fit.certificate
        self.history_ = fit.history
        self.n_iter_ = fit.n_iter

    def transform(self, X: Any) -> Any:
        """Return the selected columns.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples; of a table with column names, the selected ones are enough, in any order.

        Returns
        -------
        array, data frame or sparse matrix of shape (n_samples, n_selected)
            The selected columns of X, in their order in the training data.
        """
        check_is_fitted(self)
        table = take_selected(self, X, self.support_)
        if table is not None:
            return self._transformed(table, len(X))
        try:
            return super().transform(X)
        except ValueError:
            self._name_culprit(X)
            raise

    def _transformed(self, table: Any, n_rows: int) -> Any:
        """Return a table of the selected columns as scikit-learn's selectors return them."""
        if not self.support_.any():
            warnings.warn("No features were selected: the transformed X has no columns.", stacklevel=3)
        if hasattr(table, "iloc") and _get_output_config("transform", self)["dense"] != "default":
            return table
        if not self.support_.any():
            return np.empty((n_rows, 0))
        allow_nan = get_tags(self).input_tags.allow_nan
        try:
            return check_array(
                table,
                dtype=None,
                accept_sparse="csr",
                ensure_all_finite=not allow_nan,
                estimator=self,
                input_name="X",
            )
        except ValueError:
            read_table(self, table, allow_nan=allow_nan)  # names the culprit if there is one
            raise

    def _name_culprit(self, X: Any) -> None:
        """Raise what names the culprit, if there is one."""
        read_new(self, X)
