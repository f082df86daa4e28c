"""Reading the user's X, y and sample weights into the arrays that the solvers use.

scikit-learn's own validation does most of the work and keeps its messages wherever they already say what is
wrong. What is added here: data frames become arrays in one step and keep their precision, and an error names
the column, the row and the value behind it, and what to do about it. Looking for that culprit is left until
something has failed, so that good data pays nothing for it.
"""

from __future__ import annotations

import numbers
import sys
import warnings
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.utils import check_array, gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

__all__ = ["Features", "read_new", "read_table", "read_training", "require_finite", "sample_weights"]

# A dense array of float64 or float32 in either order, or a CSR or CSC matrix of them.
Features: TypeAlias = Any
# Whatever the user handed over: an array, a list, a frame or a column of some library.
UserData: TypeAlias = Any
Names: TypeAlias = "Sequence[Any] | None"
IsBad: TypeAlias = "Callable[[NDArray[Any]], NDArray[np.bool_]]"

# Elements looked at in one go when a culprit is searched for: the search must not need a second X.
_BLOCK = 2**22

_FORMATS: dict[str, Any] = {
    # CSC comes first because formats that are neither are turned into the first: solvers go by columns.
    "accept_sparse": ["csc", "csr"],
    "accept_large_sparse": True,
    "dtype": [np.float64, np.float32],
    # Left to `require_finite`, which names the column.
    "ensure_all_finite": False,
}


def read_training(
    estimator: BaseEstimator,
    X: UserData,
    y: UserData,
    *,
    multi_output: bool = False,
    y_numeric: bool = False,
    min_samples: int = 1,
    allow_nan: bool = False,
    check_finite: bool = True,
) -> tuple[Features, NDArray[Any]]:
    """Read the training data and note the features on the estimator.

    Sets ``n_features_in_`` and, where the columns have names, ``feature_names_in_``.

    Parameters
    ----------
    estimator : estimator
        The estimator being fitted. A classifier's ``y`` must hold classes, a regressor's numbers.
    X : array-like, sparse matrix, pandas, polars or pyarrow table of shape (n_samples, n_features)
        The features. float32 stays float32; everything else becomes float64. An array, CSR or CSC matrix that
        already fits is used as it is, without a copy.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The target.
    multi_output : bool, default=False
        Whether ``y`` may have several columns. If it may, a single column stays a column.
    y_numeric : bool, default=False
        Whether ``y`` must be numbers. Always so for a regressor.
    min_samples : int, default=1
        The least number of rows.
    allow_nan : bool, default=False
        Whether X may hold NaN, for missing values.
    check_finite : bool, default=True
        Whether to look for NaN and infinite numbers. A caller that reads all of X next may see them there, and then
        call :func:`require_finite`.

    Returns
    -------
    X : ndarray, CSR or CSC of shape (n_samples, n_features)
        float64 or float32; sparse matrices have sorted indices and no duplicate entries.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        float64 where numbers are asked for, otherwise as given.

    Raises
    ------
    ValueError
        If the data cannot be learned from; the message names the culprit.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from skgraft.tables.table import read_training
    >>> X, y = read_training(LinearRegression(), [[1, 2], [3, 4]], [0, 1])
    >>> X.dtype, y.dtype
    (dtype('float64'), dtype('float64'))
    >>> read_training(LinearRegression(), [[1, 2], [3, float("nan")]], [0, 1])
    Traceback (most recent call last):
    ValueError: Input X contains NaN. The first is in column 1, row 1; in total 1 value in 1 column...
    """
    if y is None:
        message = f"{_name(estimator)} requires y to be passed, but the target y is None."
        raise ValueError(message)
    _refuse_swapped(X, y)
    features = _read_features(
        estimator, X, reset=True, min_samples=min_samples, allow_nan=allow_nan, check_finite=check_finite
    )
    target = _read_target(estimator, y, multi_output=multi_output)
    _require_same_length(features, target)
    if y_numeric or is_regressor(estimator):
        target = _as_numbers(target, "y")
    _require_known_target(target)
    _require_squares(target)
    if is_classifier(estimator):
        check_classification_targets(target)
    return features, target


def read_new(estimator: BaseEstimator, X: UserData, *, allow_nan: bool = False) -> Features:
    """Read rows to predict or transform, whose columns must be those that the estimator was fitted on.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator.
    X : array-like, sparse matrix, pandas, polars or pyarrow table of shape (n_samples, n_features)
        The rows.
    allow_nan : bool, default=False
        Whether X may hold NaN, for missing values.

    Returns
    -------
    X : ndarray, CSR or CSC of shape (n_samples, n_features)
        As in :func:`read_training`.

    Raises
    ------
    ValueError
        If columns are missing, unknown or in another order, or if values cannot be used.
    """
    return _read_features(estimator, X, reset=False, allow_nan=allow_nan)


def sample_weights(sample_weight: UserData, X: Features) -> NDArray[np.float64]:
    """Read the weights of the rows.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), number or None
        None and a single number give every row the same weight.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        The features, as read.

    Returns
    -------
    weights : ndarray of float64 of shape (n_samples,)
        C-contiguous; the caller's own array if that already fits, so not to be written to.

    Raises
    ------
    ValueError
        If the length is wrong, a weight is negative, NaN or infinite, or all weights are zero.
    """
    n_samples: int = X.shape[0]
    if sample_weight is None:
        return np.ones(n_samples)
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n_samples, sample_weight)
    weights = _as_numbers(_plain_array(sample_weight, "sample_weight"), "sample_weight")
    if weights.shape != (n_samples,):
        message = f"sample_weight has the shape {weights.shape}, but X has {n_samples} rows: give one weight a row."
        raise ValueError(message)
    _require_usable_weights(weights)
    return np.ascontiguousarray(weights)


def weight_shares(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights that sum to one."""
    weight = weight / weight.max()  # first, since the sum of huge weights may overflow
    return np.asarray(weight / weight.sum())


def _require_usable_weights(weights: NDArray[np.float64]) -> None:
    for wrong, means in ((~np.isfinite(weights), "NaN or infinite"), (weights < 0, "negative")):
        if wrong.any():
            row = int(np.argmax(wrong))
            message = (
                f"sample_weight is {means} in row {row} ({float(weights[row])!r}); "
                f"{int(wrong.sum())} such in total. Weights must be finite and not negative: "
                "give a row that should not count the weight 0, or drop it."
            )
            raise ValueError(message)
    if not weights.any():
        message = "The sample weights are all zero, so no row is left to learn from."
        raise ValueError(message)


# --- X ---


def _read_features(
    estimator: BaseEstimator,
    X: UserData,
    *,
    reset: bool,
    min_samples: int = 1,
    allow_nan: bool = False,
    check_finite: bool = True,
) -> Features:
    X = native_table(X, "X")
    if _frame_reader(X) is not None:
        # Names first: a column that does not belong here should be called unknown, not unreadable.
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return read_table(estimator, X, min_samples=min_samples, allow_nan=allow_nan, check_finite=check_finite)
    features = _validate_array(estimator, X, reset=reset, ensure_min_samples=min_samples)
    names: Names = getattr(estimator, "feature_names_in_", None)
    return _checked(features, names, allow_nan=allow_nan, check_finite=check_finite)


def read_table(
    estimator: BaseEstimator,
    table: UserData,
    *,
    min_samples: int = 1,
    allow_nan: bool = False,
    check_finite: bool = True,
) -> Features:
    """Read a pandas, polars or pyarrow table whose columns are those that the estimator asked for.

    Parameters
    ----------
    estimator : estimator
        Who asks, for messages.
    table : pandas, polars or pyarrow table of shape (n_samples, n_columns)
        The rows.
    min_samples, allow_nan, check_finite
        As in :func:`read_training`.

    Returns
    -------
    X : ndarray, CSR or CSC of shape (n_samples, n_columns)
        As in :func:`read_training`.
    """
    to_array = _frame_reader(table)
    if to_array is None:
        msg = f"a {type(table).__name__} is no table"
        raise TypeError(msg)
    features = check_array(
        # Without rows there is nothing to convert, only scikit-learn's complaint about it to come.
        to_array(table) if len(table) else np.empty(table.shape),
        ensure_min_samples=min_samples,
        estimator=estimator,
        input_name="X",
        **_FORMATS,
    )
    return _checked(features, _column_names(table), allow_nan=allow_nan, check_finite=check_finite)


def _checked(features: Features, names: Names, *, allow_nan: bool, check_finite: bool) -> Features:
    if sp.issparse(features):
        features = _canonical(features)
    if check_finite:
        require_finite(features, names, allow_nan=allow_nan)
    return features


def _validate_array(estimator: BaseEstimator, X: UserData, **options: int) -> Features:
    _refuse_dates(X)
    _refuse_nested(X)
    try:
        return validate_data(estimator, X, **options, **_FORMATS)
    except (TypeError, ValueError) as error:
        culprit = _first_unreadable(X)
        if culprit is None:
            raise
        # scikit-learn's words and type of error stay: its estimator checks look for them.
        kind = TypeError if isinstance(error, TypeError) else ValueError
        message = f"{error}. {culprit}"
        raise kind(message) from error


def _refuse_dates(X: UserData) -> None:
    """Refuse date arrays, which NumPy would quietly read as counts of nanoseconds."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM" and X.size:
        raise ValueError(_not_numeric(0, X.dtype, 0, X.flat[0]))


def _refuse_nested(X: UserData) -> None:
    """Refuse a column of rows: fields of a structured array, or lists in a column."""
    fields = getattr(getattr(X, "dtype", None), "names", None)
    if fields:
        message = (
            f"X is a structured array with the fields {', '.join(map(repr, fields))}, not a table: pass "
            "pandas.DataFrame(X), or numpy.lib.recfunctions.structured_to_unstructured(X)."
        )
        raise ValueError(message)
    first = next(iter(X), None) if getattr(X, "ndim", 0) == 1 and getattr(X.dtype, "kind", "") == "O" else None
    if isinstance(first, (Sequence, np.ndarray)) and not isinstance(first, str):
        message = f"each entry of X is a {type(first).__name__} with a row in it, not a number: pass numpy.stack(X)."
        raise ValueError(message)  # noqa: TRY004 -- as for everything else that cannot be learned from
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
        message = f"X is a list of records (each a {type(X[0]).__name__}), not a table: pass pandas.DataFrame(X)."
        raise ValueError(message)


def _first_unreadable(X: UserData) -> str | None:
    """Say which entry of X does not read as a number, if that is what went wrong."""
    if sp.issparse(X) or getattr(getattr(X, "dtype", None), "kind", "O") in "biufc":
        return None
    try:
        entries = np.asarray(X, dtype=object)
    except ValueError:
        return None
    if entries.ndim != 2:
        return None
    for column, values in enumerate(entries.T):
        for row, value in enumerate(values):
            if not _reads_as_number(value):
                return _not_numeric(column, type(value).__name__, row, value)
    return None


def _reads_as_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return value is None
    return True


def _canonical(X: Features) -> Features:
    """Sort the indices and sum duplicate entries; on a copy, as X may be the caller's own matrix."""
    _require_sound_indices(X)
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def _require_sound_indices(X: Features) -> None:
    """Refuse indices outside the matrix, which SciPy lets through and compiled code would follow."""
    minor = X.shape[0] if X.format == "csc" else X.shape[1]
    indices = X.indices[: X.indptr[-1]]
    if np.any(np.diff(X.indptr) < 0) or (indices.size and not 0 <= indices.min() <= indices.max() < minor):
        message = (
            f"The sparse X of shape {X.shape} is damaged: its index arrays point outside the matrix. "
            "Build it again from its rows, columns and values with scipy.sparse.coo_array."
        )
        raise ValueError(message)


# --- data frames ---


def _is_a(data: object, library: str, *class_names: str) -> bool:
    """Whether data is of one of the library's classes, without importing the library."""
    module = sys.modules.get(library)
    classes = tuple(getattr(module, name) for name in class_names if hasattr(module, name))
    return isinstance(data, classes)


def native_table(data: UserData, parameter: str) -> UserData:
    """Unwrap narwhals, give a pyarrow record batch its table, and refuse what is no table or has no values yet."""
    if isinstance(data, np.ma.MaskedArray):
        message = (
            f"{parameter} is a masked array, and what to put in place of the hidden values is for you to say: pass "
            f"{parameter}.filled(...) with a value, or {parameter}.data if none is hidden."
        )
        raise ValueError(message)  # noqa: TRY004 -- as for everything else that cannot be learned from
    if isinstance(data, Mapping) and not sp.issparse(data):
        remedy = "table: pass pandas.DataFrame(X)" if parameter == "X" else f"column: pass list({parameter}.values())"
        message = f"{parameter} is a {type(data).__name__}, not a {remedy}."
        raise ValueError(message)
    if _is_a(data, "narwhals", "DataFrame", "LazyFrame", "Series"):
        data = data.to_native()
    if _is_a(data, "polars", "LazyFrame"):
        message = (
            f"{parameter} is a polars LazyFrame, which holds a query and no values yet: pass {parameter}.collect()."
        )
        raise ValueError(message)
    if _is_a(data, "pyarrow", "RecordBatch"):
        data = sys.modules["pyarrow"].Table.from_batches([data])
    return data


def _frame_reader(X: UserData) -> Callable[[UserData], Features] | None:
    if _is_a(X, "pandas", "DataFrame"):
        return _pandas_array
    if _is_a(X, "polars", "DataFrame"):
        return _polars_array
    if _is_a(X, "pyarrow", "Table"):
        return _pyarrow_array
    return None


def _column_names(frame: UserData) -> list[Any]:
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _pandas_array(frame: UserData) -> Features:
    # A frame may have a million columns and almost always has few dtypes: ask the dtypes.
    dtypes = set(frame.dtypes)
    if any(dtype.kind == "c" for dtype in dtypes):
        message = "Complex data not supported: give the real and the imaginary part as two columns."
        raise ValueError(message)
    unsure = {dtype for dtype in dtypes if dtype.kind not in "biuf"}
    if unsure:
        _require_numbers_in_pandas(frame, unsure)
        # NumPy cannot read the pandas.NA that objects may hold; dtypes that know it can.
        frame = frame.convert_dtypes()
    sparse = {dtype for dtype in dtypes if _is_a(dtype, "pandas", "SparseDtype")}
    if sparse and sparse == dtypes:
        return _pandas_sparse(frame)
    if sparse:
        warnings.warn("X mixes sparse and dense columns and is read as a dense array.", stacklevel=2)
    kept = {np.dtype(np.float32)} == {getattr(dtype, "numpy_dtype", dtype) for dtype in dtypes}
    return frame.to_numpy(dtype=np.float32 if kept else np.float64, na_value=np.nan)


def _require_numbers_in_pandas(frame: UserData, unsure: set[Any]) -> None:
    """Refuse columns of these dtypes unless they are plain objects that are all numbers."""
    for position, dtype in enumerate(frame.dtypes):
        if dtype not in unsure:
            continue
        column = frame.iloc[:, position]
        # Categories are refused even if they are numbers: whether those count or name is for the user to say.
        may_hold_numbers = dtype.kind == "O" and dtype.name != "category"
        found = _first_non_number(column) if may_hold_numbers else _example(column)
        if found is not None:
            raise ValueError(_not_numeric(frame.columns[position], dtype, *found))


def _pandas_sparse(frame: UserData) -> Features:
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if dtype.fill_value != 0:
            message = (
                f"The sparse column {name!r} of X leaves out the value {dtype.fill_value!r}; only zeros may "
                "be left out. Convert it with .sparse.to_dense().astype(pandas.SparseDtype(float, 0))."
            )
            raise ValueError(message)
    return frame.sparse.to_coo().tocsc()


def _polars_array(frame: UserData) -> Features:
    polars = sys.modules["polars"]
    for name, dtype in frame.schema.items():
        if not (dtype.is_numeric() or dtype in (polars.Boolean, polars.Null)):
            raise ValueError(_not_numeric(name, dtype, *_example(frame[name])))
    kept = set(frame.dtypes) == {polars.Float32}
    return frame.cast(polars.Float32 if kept else polars.Float64).to_numpy()


def _pyarrow_array(table: UserData) -> Features:
    pyarrow = sys.modules["pyarrow"]
    for field, column in zip(table.schema, table.itercolumns(), strict=True):
        if not _is_pyarrow_number(field.type):
            values = (entry.as_py() for entry in column)
            raise ValueError(_not_numeric(field.name, field.type, *_example(values)))
    kept = set(table.schema.types) == {pyarrow.float32()}
    target = pyarrow.float32() if kept else pyarrow.float64()
    features = np.empty(table.shape, dtype=np.float32 if kept else np.float64, order="F")
    for position, column in enumerate(table.itercolumns()):
        # safe=False: whole numbers beyond 2**53 are rounded here as everywhere else.
        features[:, position] = column.cast(target, safe=False).to_numpy()
    return features


def _is_pyarrow_number(dtype: UserData) -> bool:
    types = sys.modules["pyarrow"].types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(is_kind(dtype) for is_kind in tests)


# --- y ---


def _plain_array(data: UserData, parameter: str) -> NDArray[Any]:
    """Turn one column, or a few, of any library into an array of its own dtype."""
    data = native_table(data, parameter)
    if isinstance(data, (list, tuple)) and any(map(_is_missing, data)):
        # Among strings NumPy would write NaN as the word "nan", one more class.
        data = np.array(data, dtype=object)
    if _is_a(data, "pandas", "Series", "DataFrame", "Index") or _is_a(data, "polars", "Series", "DataFrame"):
        # scikit-learn would turn pandas' whole and boolean dtypes into floats, and so the classes.
        data = data.to_numpy()
    array: NDArray[Any] = check_array(
        data,
        dtype=None,
        ensure_2d=False,
        ensure_all_finite=False,
        ensure_min_samples=0,
        input_name=parameter,
    )
    return array


def _read_target(estimator: BaseEstimator, y: UserData, *, multi_output: bool) -> NDArray[Any]:
    target = _plain_array(y, "y")
    if multi_output and target.ndim > 0:
        return target
    if target.ndim == 2 and target.shape[1] > 1:
        message = (
            f"y should be a 1d array, got an array of shape {target.shape} instead: "
            f"{_name(estimator)} learns one target at a time. Pass one column of y."
        )
        raise ValueError(message)
    column: NDArray[Any] = column_or_1d(target, warn=True)
    return column


def _refuse_swapped(X: UserData, y: UserData) -> None:
    """Refuse a column where the table should be, if the table is where the column should be."""
    if _n_dimensions(native_table(X, "X")) == 1 and _n_dimensions(native_table(y, "y")) == 2:
        message = "X is a single column and y a table, as if they were swapped: the features come first, fit(X, y)."
        raise ValueError(message)


def _n_dimensions(data: UserData) -> int:
    """Return the number of dimensions of an array, table or list, by its first row."""
    if hasattr(data, "shape"):
        return len(data.shape)
    if isinstance(data, (list, tuple)):
        return 2 if data and isinstance(data[0], (list, tuple, np.ndarray)) else 1
    return 0


def _require_same_length(X: Features, y: NDArray[Any]) -> None:
    if X.shape[0] != y.shape[0]:
        message = (
            "Found input variables with inconsistent numbers of samples: "
            f"X has {X.shape[0]} rows, y has {y.shape[0]} entries."
        )
        raise ValueError(message)


def _as_numbers(values: NDArray[Any], parameter: str) -> NDArray[np.float64]:
    found = None
    if values.dtype.kind == "O":
        found = _first_non_number(values.ravel())
    elif values.dtype.kind not in "biuf" and values.size:
        found = (0, values.flat[0])
    if found is not None:
        row = found[0] * len(values) // values.size
        hint = f": convert it with {parameter}.astype(float)." if _reads_as_number(found[1]) else "."
        message = f"{parameter} must be numbers, but row {row} holds {_shown(found[1])}{hint}"
        raise ValueError(message)
    if values.dtype.kind == "O":
        known = [np.nan if _is_missing(value) else value for value in values.flat]
        return np.array(known, dtype=np.float64).reshape(values.shape)
    return values.astype(np.float64, copy=False)


def _require_known_target(y: NDArray[Any]) -> None:
    """Refuse a target with missing or infinite entries, naming the first."""
    rows = y.reshape(len(y), -1)
    if y.dtype.kind == "O":
        unknown = np.array([[_is_missing(value) for value in row] for row in rows], dtype=bool)
    elif y.dtype.kind == "f" and not get_config()["assume_finite"]:
        unknown = ~np.isfinite(rows)
    else:
        return
    if unknown.any():
        row, column = (int(index) for index in np.argwhere(unknown)[0])
        message = (
            f"Input y contains {_kind_of(rows[row, column], y.dtype)}. The first is in row {row}; "
            f"{int(unknown.sum())} in total. Nothing can be learned from a row whose target is unknown: "
            "drop those rows from X and y."
        )
        raise ValueError(message)


def _require_squares(y: NDArray[Any]) -> None:
    """Refuse numbers whose squares would overflow, as losses and variances take them."""
    largest = float(np.sqrt(np.finfo(np.float64).max / (4.0 * max(1, y.size))))  # the squares are added up
    if y.dtype.kind == "f" and y.size and float(np.abs(y).max()) > largest:
        row = int(np.argmax(np.abs(y).reshape(len(y), -1).max(axis=1)))
        message = (
            f"Input y holds numbers too large to be squared. The largest is in row {row}: {_shown(y[row])}. "
            f"Rescale y to numbers below {largest:.0e}."
        )
        raise ValueError(message)


# --- values ---


class _Culprit(NamedTuple):
    """The first column with values that are not finite."""

    column: int
    row: int
    value: float
    total: int
    n_columns: int


def require_finite(X: Features, names: Names, *, allow_nan: bool = False) -> None:
    """Refuse NaN and infinite numbers, naming the first column that has some."""
    values = X.data[: X.indptr[-1]] if sp.issparse(X) else X
    if get_config()["assume_finite"] or _sum_is_finite(values):
        return
    is_bad = np.isinf if allow_nan else _is_not_finite
    culprit = _first_sparse_culprit(X, is_bad) if sp.issparse(X) else _first_dense_culprit(X, is_bad)
    # There is none when finite values merely add up to more than a float can hold.
    if culprit is not None:
        raise ValueError(_not_finite(culprit, X.dtype, names))


def _is_not_finite(values: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    return ~np.isfinite(values)


def _sum_is_finite(values: NDArray[np.floating[Any]]) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def _first_dense_culprit(X: NDArray[np.floating[Any]], is_bad: IsBad) -> _Culprit | None:
    counts = _bad_in_each_column(X, is_bad)
    bad_columns = np.flatnonzero(counts)
    if not bad_columns.size:
        return None
    column = int(bad_columns[0])
    row = int(np.argmax(is_bad(X[:, column])))
    return _Culprit(column, row, float(X[row, column]), int(counts.sum()), bad_columns.size)


def _bad_in_each_column(X: NDArray[np.floating[Any]], is_bad: IsBad) -> NDArray[np.intp]:
    """Count the values of each column that are bad, along the memory and a block at a time."""
    n_rows, n_columns = X.shape
    counts = np.zeros(n_columns, dtype=np.intp)
    if X.flags.c_contiguous:
        for rows in gen_batches(n_rows, max(1, _BLOCK // n_columns)):
            counts += np.count_nonzero(is_bad(X[rows]), axis=0)
    else:
        for columns in gen_batches(n_columns, max(1, _BLOCK // n_rows)):
            counts[columns] = np.count_nonzero(is_bad(X[:, columns]), axis=0)
    return counts


def _first_sparse_culprit(X: Features, is_bad: IsBad) -> _Culprit | None:
    places = _bad_places(X.data[: X.indptr[-1]], is_bad)
    if not places.size:
        return None
    major = np.searchsorted(X.indptr, places, side="right") - 1
    minor = X.indices[places]
    rows, columns = (minor, major) if X.format == "csc" else (major, minor)
    first = np.lexsort((rows, columns))[0]
    return _Culprit(
        int(columns[first]),
        int(rows[first]),
        float(X.data[places[first]]),
        places.size,
        np.unique(columns).size,
    )


def _bad_places(values: NDArray[np.floating[Any]], is_bad: IsBad) -> NDArray[np.intp]:
    found = [np.flatnonzero(is_bad(values[block])) + block.start for block in gen_batches(len(values), _BLOCK)]
    return np.concatenate(found)


def _first_non_number(values: Iterable[object]) -> tuple[int, object] | None:
    for row, value in enumerate(values):
        is_number = isinstance(value, (numbers.Real, Decimal, np.bool_))
        if not is_number and not _is_missing(value):
            return row, value
    return None


def _example(values: Iterable[object]) -> tuple[int, object]:
    """Pick the first value that is there, and its row."""
    return next(((row, value) for row, value in enumerate(values) if not _is_missing(value)), (0, None))


def _is_missing(value: object) -> bool:
    """Whether a value stands for none: None, NaN, or pandas' NA and NaT, which are equal to nothing."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(value, (float, np.floating, Decimal)) and bool(value != value)  # noqa: PLR0124


# --- messages ---


def _name(estimator: BaseEstimator) -> str:
    return type(estimator).__name__


def _shown(value: object) -> str:
    """Write a value short enough for an error message."""
    text = repr(value.item() if isinstance(value, np.generic) else value)
    longest = 60
    return text if len(text) <= longest else f"{text[:longest]}..."


def _kind_of(value: object, dtype: np.dtype[Any]) -> str:
    # The words of scikit-learn, which its estimator checks look for.
    if _is_missing(value):
        return "NaN"
    return f"infinity or a value too large for {dtype!r}"


def _not_numeric(column: object, dtype: object, row: int, example: object) -> str:
    return (
        f"In X, column {column!r} ({dtype}) is not numeric: row {row} holds {_shown(example)}. "
        f"{_way_to_numbers(example)}, or drop it."
    )


def _way_to_numbers(example: object) -> str:
    if isinstance(example, (date, timedelta, np.datetime64, np.timedelta64)):
        return "Make numbers of it, such as the year or the days since a given date"
    encoder = "with sklearn.preprocessing.OneHotEncoder in a pipeline"
    if _reads_as_number(example):
        return f"If it counts, convert it with .astype(float); if it names, encode it {encoder}"
    return f"Encode it as numbers, for instance {encoder}"


def _not_finite(culprit: _Culprit, dtype: np.dtype[Any], names: Names) -> str:
    name = culprit.column if names is None else repr(names[culprit.column])
    remedy = (
        "Impute them, for instance with sklearn.impute.SimpleImputer in a pipeline,"
        if np.isnan(culprit.value)
        else "Impute or clip them"
    )
    kind = _kind_of(culprit.value, dtype)
    extent = f"{_counted(culprit.total, 'value')} in {_counted(culprit.n_columns, 'column')}"
    return (
        f"Input X contains {kind}. The first is in column {name}, row {culprit.row}; in total {extent}. "
        f"{remedy} or drop the rows or columns."
    )


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
