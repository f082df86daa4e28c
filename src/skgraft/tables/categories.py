"""Columns that name rather than count: their values become whole numbers before X is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skgraft.prices import resolve_features
from skgraft.tables.table import UserData, _column_names, _frame_reader, _is_a, _is_missing, native_table

__all__ = ["CategoryCoder", "find_categories"]


@dataclass(frozen=True, eq=False)
class CategoryCoder:
    """Which columns hold categories, and the labels of those that are not numbers.

    Attributes
    ----------
    is_categorical : ndarray of bool of shape (n_features,)
        The columns that hold categories.
    labels : dict
        For each categorical column whose values are not numbers, its labels in the training rows; the code of a
        label is its place.
    """

    is_categorical: NDArray[np.bool_]
    labels: dict[int, list[Any]]

    def code(self, X: UserData) -> UserData:
        """Replace labels by their codes: NaN for missing ones, a number beyond the last for unknown ones.

        Parameters
        ----------
        X : array-like, sparse matrix or table of shape (n_samples, n_features)
            Rows as the user gave them.

        Returns
        -------
        X
            The same rows, with numbers in place of labels; X itself if it has no labels.
        """
        X = native_table(X, "X")
        if not self.labels or len(np.shape(X)) != 2 or np.shape(X)[1] != self.is_categorical.size:
            return X  # a wrong number of columns is for scikit-learn to complain about
        if _frame_reader(X) is None:
            table = np.array(X, dtype=object)
            for column, labels in self.labels.items():
                table[:, column] = _codes(table[:, column], labels)
            return table
        return self._code_frame(X)

    def among(self, features: NDArray[np.intp]) -> CategoryCoder:
        """Return the coder of these columns alone, in this order."""
        places = enumerate(features.tolist())
        labels = {place: self.labels[feature] for place, feature in places if feature in self.labels}
        return CategoryCoder(self.is_categorical[features], labels)

    def _code_frame(self, X: UserData) -> UserData:
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        names = frame.columns
        coded = [
            nw.new_series(names[column], _codes(frame[names[column]].to_list(), labels), backend=frame.implementation)
            for column, labels in self.labels.items()
        ]
        if _is_a(X, "pandas", "DataFrame"):
            # by position, since pandas would align rows by their index
            table = X.copy(deep=False)
            for column, series in zip(self.labels, coded, strict=True):
                table.isetitem(column, series.to_numpy())
            return table
        return frame.with_columns(*coded).to_native()


def find_categories(X: UserData, categorical_features: UserData) -> CategoryCoder:
    """Find the columns that hold categories, and their labels.

    Parameters
    ----------
    X : array-like, sparse matrix or table of shape (n_samples, n_features)
        Training rows.
    categorical_features : "from_dtype", None, or names, positions or a mask
        ``"from_dtype"`` takes the columns of a table that are categorical by their type.

    Returns
    -------
    coder : CategoryCoder

    Raises
    ------
    ValueError
        If a column does not exist, or X is sparse.

    Examples
    --------
    >>> import pandas as pd
    >>> from skgraft.tables.categories import find_categories
    >>> X = pd.DataFrame({"size": [1.0, 2.0, 3.0], "colour": pd.Categorical(["red", "blue", "red"])})
    >>> coder = find_categories(X, "from_dtype")
    >>> coder.labels
    {1: ['blue', 'red']}
    >>> coder.code(X)["colour"].tolist()
    [1.0, 0.0, 1.0]
    """
    X = native_table(X, "X")
    is_frame = _frame_reader(X) is not None
    shape = X.shape if hasattr(X, "shape") else np.shape(np.asarray(X, dtype=object))
    n_features = int(shape[1]) if len(shape) == 2 else 0
    mask = np.zeros(n_features, dtype=bool)
    if isinstance(categorical_features, str) and categorical_features == "from_dtype":
        if is_frame:
            mask[_categorical_by_type(X)] = True
    elif n_features:
        names = _column_names(X) if is_frame else None
        if names is not None and not all(isinstance(name, str) for name in names):
            names = None
        mask[resolve_features(categorical_features, n_features, names, "categorical_features")] = True
    if sp.issparse(X) and mask.any():
        msg = "categorical_features needs a dense X: columns of a sparse matrix are numbers"
        raise ValueError(msg)
    return CategoryCoder(mask, {int(column): _labels(X, int(column)) for column in _not_numbers(X, mask)})


def _categorical_by_type(frame: UserData) -> list[int]:
    if _is_a(frame, "pandas", "DataFrame"):
        # A frame may have a million columns and almost always has few dtypes.
        if not any(getattr(dtype, "name", "") == "category" for dtype in set(frame.dtypes)):
            return []
        return [k for k, dtype in enumerate(frame.dtypes) if getattr(dtype, "name", "") == "category"]
    import narwhals as nw

    dtypes = nw.from_native(frame, eager_only=True).schema.dtypes()
    return [k for k, dtype in enumerate(dtypes) if dtype == nw.Categorical or dtype == nw.Enum]  # noqa: PLR1714 -- their hashes differ


def _not_numbers(X: UserData, mask: NDArray[np.bool_]) -> list[int]:
    """List the categorical columns whose values have to be coded."""
    if not mask.any():
        return []
    if _frame_reader(X) is None:
        kind = getattr(getattr(X, "dtype", None), "kind", "O")
        if kind in "biuf":
            return []
        table = np.asarray(X, dtype=object)
        return [int(k) for k in np.flatnonzero(mask) if not _all_numbers(table[:, k])]
    import narwhals as nw

    dtypes = nw.from_native(X, eager_only=True).schema.dtypes()
    return [int(k) for k in np.flatnonzero(mask) if not (dtypes[k].is_numeric() or dtypes[k] == nw.Boolean)]


def _all_numbers(values: NDArray[Any]) -> bool:
    return all(_is_missing(value) or isinstance(value, (int, float, np.number, np.bool_)) for value in values)


def _labels(X: UserData, column: int) -> list[Any]:
    if _frame_reader(X) is None:
        values = np.asarray(X, dtype=object)[:, column].tolist()
    else:
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        values = frame[frame.columns[column]].to_list()
    # sorted, so that codes do not depend on the order of the rows
    known = {value for value in values if not _is_missing(value)}
    return sorted(known, key=lambda value: (type(value).__name__, value))


def _codes(values: Any, labels: list[Any]) -> list[float]:
    code = {label: float(k) for k, label in enumerate(labels)}
    unknown = float(len(labels))
    return [np.nan if _is_missing(value) else code.get(value, unknown) for value in values]
