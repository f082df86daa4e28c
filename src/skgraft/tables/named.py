"""Tables by the names of their columns."""

from __future__ import annotations

from collections.abc import Iterable

from sklearn.base import BaseEstimator

from skgraft.tables.table import Features, UserData, _column_names, _frame_reader, _native, _read_features

__all__ = ["named_columns", "read_block", "take_named"]


def named_columns(X: UserData) -> list[str] | None:
    """Return the column names of a table, None if X is no table or its columns are not named by strings.

    Examples
    --------
    >>> import pandas as pd
    >>> from skgraft.tables.named import named_columns
    >>> named_columns(pd.DataFrame({"height": [1.8], "weight": [75]}))
    ['height', 'weight']
    """
    X = _native(X, "X")
    if _frame_reader(X) is None:
        return None
    names = _column_names(X)
    return [str(name) for name in names] if all(isinstance(name, str) for name in names) else None


def take_named(X: UserData, names: Iterable[str]) -> UserData:
    """Return the columns of these names, in this order, as a table of the same library."""
    X = _native(X, "X")
    return X[list(names)] if hasattr(X, "iloc") else X.select(list(names))


def read_block(estimator: BaseEstimator, X: UserData, *, check_finite: bool = True) -> Features:
    """Read columns that are not, or not all, those that an estimator was fitted on.

    Parameters
    ----------
    estimator : estimator
        Who asks, for messages; it notes what it is given as in a fit, and should be a stand-in.
    X : array-like, sparse matrix, pandas, polars or pyarrow table
        The columns.
    check_finite : bool, default=True
        Whether to look for NaN and infinite numbers.
    """
    return _read_features(estimator, X, reset=True, check_finite=check_finite)
