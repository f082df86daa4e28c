"""Tables by the names of their columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from skgraft.tables.table import (
    Features,
    UserData,
    _column_names,
    _frame_reader,
    _read_features,
    native_table,
    read_new,
    read_table,
)

__all__ = ["named_columns", "read_block", "read_selected", "take_named", "take_selected"]

_SHOWN = 3  # names in a message


def named_columns(X: UserData) -> list[str] | None:
    """Return the column names of a table, None if X is no table or its columns are not named by strings.

    Examples
    --------
    >>> import pandas as pd
    >>> from skgraft.tables.named import named_columns
    >>> named_columns(pd.DataFrame({"height": [1.8], "weight": [75]}))
    ['height', 'weight']
    """
    X = native_table(X, "X")
    if _frame_reader(X) is None:
        return None
    names = _column_names(X)
    return [str(name) for name in names] if all(isinstance(name, str) for name in names) else None


def take_named(X: UserData, names: Iterable[str], needed: str = "") -> UserData:
    """Return the columns of these names, in this order, as a table of the same library.

    Parameters
    ----------
    X : pandas, polars or pyarrow table
        The table.
    names : iterable of str
        Names of columns.
    needed : str, default=""
        Who needs them and why, for the message.

    Raises
    ------
    ValueError
        If a column is not there, or there are several of its name.
    """
    X, names = native_table(X, "X"), list(names)
    there = _column_names(X)
    known = set(there)
    missing = [repr(name) for name in names if name not in known]
    if missing:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        msg = f"X lacks the column {', '.join(missing[:_SHOWN])}{more}{needed} (X has {len(there)} columns)"
        raise ValueError(msg)
    if len(known) < len(there):
        twice = [name for name in names if there.count(name) > 1]
        if twice:
            msg = f"several columns of X are called {twice[0]!r}, a selected one: which of them is meant?"
            raise ValueError(msg)
    return X[names] if hasattr(X, "iloc") else X.select(names)


def take_selected(estimator: BaseEstimator, X: UserData, support: NDArray[np.bool_]) -> UserData | None:
    """Return the selected columns of a table by their names, whatever else is in it and in whatever order.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator.
    X : array-like, sparse matrix, pandas, polars or pyarrow table
        New rows.
    support : ndarray of bool of shape (n_features,)
        The selected columns.

    Returns
    -------
    table or None
        None if X is no table, or the columns of X or those of the training data have no names: then columns are known
        by their positions.

    Raises
    ------
    ValueError
        If a selected column is missing; the message names it.
    """
    trained: NDArray[Any] | None = getattr(estimator, "feature_names_in_", None)
    if trained is None or named_columns(X) is None:
        return None
    return take_named(X, trained[support], f", which {type(estimator).__name__} has selected")


def read_selected(estimator: BaseEstimator, X: UserData, support: NDArray[np.bool_]) -> Features:
    """Read the selected columns of new rows: by name from a table, by position from anything else.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator.
    X : array-like, sparse matrix, pandas, polars or pyarrow table
        Rows with all columns of the training data, or a table with at least the selected ones.
    support : ndarray of bool of shape (n_features,)
        The selected columns.

    Returns
    -------
    X : ndarray, CSR or CSC of shape (n_samples, n_selected)
        The selected columns in the order of the training data.

    Raises
    ------
    ValueError
        If a selected column is missing, an array has another number of columns, or values cannot be used.
    """
    table = take_selected(estimator, X, support)
    if table is None:
        return read_new(estimator, X)[:, np.flatnonzero(support)]
    if not support.any():
        check_array(np.empty((len(X), 1)), estimator=estimator, input_name="X")  # without rows it complains
        return np.empty((len(X), 0))
    return read_table(estimator, table)


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
