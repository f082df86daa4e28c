"""What is read from the user's tables, and what is said about tables that cannot be read."""

from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from skgraft.tables.table import read_new, read_training, sample_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


class Ridge(BaseEstimator):
    """Ridge regression in a few lines: the least that has something to read."""

    def _solve(self, X: Any, targets: NDArray[Any], weights: NDArray[np.float64]) -> None:
        dense = X.toarray() if sp.issparse(X) else X
        rows = np.column_stack([dense, np.ones(X.shape[0])]).astype(np.float64)
        gram = (rows.T * weights) @ rows + 1e-3 * np.eye(rows.shape[1])
        self.coef_ = np.linalg.solve(gram, (rows.T * weights) @ targets)

    def _scores(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        scores: NDArray[Any] = read_new(self, X) @ self.coef_[:-1] + self.coef_[-1]
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Regressor(RegressorMixin, Ridge):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Regressor:
        X, y = read_training(self, X, y)
        self._solve(X, y, sample_weights(sample_weight, X))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        return self._scores(X)


class Classifier(ClassifierMixin, Ridge):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Classifier:
        X, y = read_training(self, X, y)
        self.classes_, number = np.unique(y, return_inverse=True)
        if len(self.classes_) == 1:
            message = "y holds one class only"
            raise ValueError(message)
        self._solve(X, np.eye(len(self.classes_))[number], sample_weights(sample_weight, X))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        winners = np.argmax(self._scores(X), axis=1)
        classes: NDArray[Any] = self.classes_[winners]
        return classes


COLUMNS = {"age": [1.0, 2.0, 3.0], "height": [4.0, 5.0, 6.0]}
VALUES = np.array([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]])
Y = [0.5, 1.5, 2.5]

FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "pyarrow record batch": pa.RecordBatch.from_pydict,
}
every_frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())


def read_features(X: Any) -> Any:
    return read_training(Regressor(), X, Y)[0]


# --- the estimator checks of scikit-learn ---


@pytest.mark.parametrize("estimator", [Regressor(), Classifier()], ids=["regressor", "classifier"])
def test_estimators_built_on_it_pass_every_check_of_scikit_learn(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert [result for result in results if result["status"] == "failed"] == []


# --- what is read ---


@every_frame
def test_frames_give_their_values_and_names(frame: Any) -> None:
    estimator = Regressor()
    X, y = read_training(estimator, frame(COLUMNS), Y)
    assert_array_equal(X, VALUES)
    assert X.dtype == np.float64
    assert_array_equal(y, Y)
    assert estimator.n_features_in_ == 2
    assert list(estimator.feature_names_in_) == ["age", "height"]
    assert_array_equal(read_new(estimator, frame(COLUMNS)), VALUES)


@every_frame
def test_float32_frames_stay_float32(frame: Any) -> None:
    X = read_features(frame({name: np.array(values, dtype=np.float32) for name, values in COLUMNS.items()}))
    assert X.dtype == np.float32
    assert_array_equal(X, VALUES)


@every_frame
def test_mixed_numeric_columns_become_float64(frame: Any) -> None:
    table = frame({"b": [True, False, True], "i": [1, 2, 3], "f": np.array([1, 2, 3], dtype=np.float32)})
    X = read_features(table)
    assert X.dtype == np.float64
    assert_array_equal(X, [[1, 1, 1], [0, 2, 2], [1, 3, 3]])


@every_frame
def test_decimals_are_numbers(frame: Any) -> None:
    X = read_features(frame({"price": [Decimal("1.50"), Decimal("2.25"), Decimal("3.00")]}))
    assert_array_equal(X, [[1.5], [2.25], [3.0]])


@pytest.mark.parametrize("dtype", ["Float64", "Int64", "float64[pyarrow]", "Float32"])
def test_pandas_nullable_columns_are_read(dtype: str) -> None:
    X = read_features(pd.DataFrame(COLUMNS).astype(dtype))
    assert X.dtype == (np.float32 if dtype == "Float32" else np.float64)
    assert_array_equal(X, VALUES)


def test_pandas_nullable_booleans_are_read() -> None:
    X = read_features(pd.DataFrame({"a": [True, False, True], "b": [1, 2, 3]}).astype({"a": "boolean"}))
    assert_array_equal(X, [[1, 1], [0, 2], [1, 3]])


def test_pandas_object_columns_of_numbers_are_read() -> None:
    assert_array_equal(read_features(pd.DataFrame(COLUMNS).astype(object)), VALUES)


def test_pandas_sparse_columns_become_csc() -> None:
    dense = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]])
    X = read_features(pd.DataFrame(dense, columns=["a", "b"]).astype(pd.SparseDtype(float, 0)))
    assert X.format == "csc"
    assert_array_equal(X.toarray(), dense)


def test_pandas_sparse_columns_beside_dense_ones_are_dense_with_a_warning() -> None:
    frame = pd.DataFrame(COLUMNS).astype({"age": pd.SparseDtype(float, 0)})
    with pytest.warns(UserWarning, match="mixes sparse and dense"):
        assert_array_equal(read_features(frame), VALUES)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_float_arrays_are_used_without_a_copy(dtype: type, order: Any) -> None:
    given: NDArray[Any] = np.array(VALUES, dtype=dtype, order=order)
    X = read_features(given)
    assert np.shares_memory(X, given)
    assert X.dtype == dtype
    estimator = Regressor().fit(given, Y)
    assert np.shares_memory(read_new(estimator, given), given)


def test_strided_and_readonly_arrays_are_used_without_a_copy() -> None:
    given = np.arange(24.0).reshape(6, 4)[::2, ::2]
    given.setflags(write=False)
    assert np.shares_memory(read_features(given), given)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_frames_of_one_block_are_used_without_a_copy(dtype: type) -> None:
    block: NDArray[Any] = np.asfortranarray(VALUES.astype(dtype))
    assert np.shares_memory(read_features(pd.DataFrame(block, columns=["a", "b"], copy=False)), block)


@pytest.mark.parametrize("given", [VALUES.astype(int), VALUES.astype(bool), VALUES.astype(object), VALUES.tolist()])
def test_other_numbers_become_float64(given: Any) -> None:
    X = read_features(given)
    assert X.dtype == np.float64
    assert_array_equal(X, np.array(given, dtype=np.float64))


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compressed_sparse_is_used_without_a_copy(container: Any, index_dtype: type, dtype: type) -> None:
    given = container(VALUES.astype(dtype))
    given.indices, given.indptr = given.indices.astype(index_dtype), given.indptr.astype(index_dtype)
    X = read_features(given)
    assert X.format == given.format
    assert X.dtype == dtype
    assert X.indices.dtype == index_dtype
    assert np.shares_memory(X.data, given.data)


@pytest.mark.parametrize("container", [sp.coo_array, sp.lil_array, sp.dok_array, sp.bsr_array, sp.dia_array])
def test_other_sparse_formats_become_csc(container: Any) -> None:
    X = read_features(container(VALUES))
    assert X.format == "csc"
    assert X.has_canonical_format
    assert_array_equal(X.toarray(), VALUES)


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_duplicate_sparse_entries_are_summed_and_the_callers_matrix_is_left_alone(container: Any, dtype: type) -> None:
    parts: Any = (np.array([1, 2, 4, 8], dtype=dtype), np.array([2, 0, 2, 1]), np.array([0, 3, 4, 4]))
    given = container(parts, shape=(3, 3))
    expected = given.toarray()
    X = read_features(given)
    assert X.has_canonical_format
    assert_array_equal(X.toarray(), expected)
    assert_array_equal(given.data, [1, 2, 4, 8])
    assert_array_equal(given.indices, [2, 0, 2, 1])


def test_sparse_buffers_longer_than_the_matrix_are_not_mistaken_for_values() -> None:
    given = sp.csr_array(VALUES)
    given.data = np.append(given.data, np.nan)
    given.indices = np.append(given.indices, 99).astype(np.int32)
    assert_array_equal(read_features(given).toarray(), VALUES)


def test_sparse_indices_outside_the_matrix_are_refused() -> None:
    given = sp.csr_array(VALUES)
    given.indices[0] = 7
    with pytest.raises(ValueError, match=r"sparse X of shape \(3, 2\) is damaged"):
        read_features(given)


# --- the target ---


@pytest.mark.parametrize(
    "column",
    [
        list,
        np.array,
        pd.Series,
        pl.Series,
        pa.array,
        lambda values: pa.chunked_array([values[:1], values[1:]]),
    ],
    ids=["list", "numpy", "pandas", "polars", "pyarrow", "pyarrow chunked"],
)
class TestTarget:
    def test_numbers_become_float64_for_a_regressor(self, column: Any) -> None:
        _, y = read_training(Regressor(), VALUES, column([1, 2, 3]))
        assert y.dtype == np.float64
        assert_array_equal(y, [1, 2, 3])

    def test_whole_numbers_stay_whole_for_a_classifier(self, column: Any) -> None:
        _, y = read_training(Classifier(), VALUES, column([1, 2, 1]))
        assert y.dtype.kind == "i"
        assert_array_equal(y, [1, 2, 1])

    def test_strings_are_classes(self, column: Any) -> None:
        _, y = read_training(Classifier(), VALUES, column(["no", "yes", "no"]))
        assert y.tolist() == ["no", "yes", "no"]

    def test_strings_are_no_numbers(self, column: Any) -> None:
        with pytest.raises(ValueError, match="y must be numbers, but row 0 holds 'no'"):
            read_training(Regressor(), VALUES, column(["no", "yes", "no"]))

    def test_missing_classes_are_refused(self, column: Any) -> None:
        with pytest.raises(ValueError, match=r"Input y contains NaN\. The first is in row 1; 1 in total"):
            read_training(Classifier(), VALUES, column(["no", None, "no"]))

    def test_missing_numbers_are_refused(self, column: Any) -> None:
        with pytest.raises(ValueError, match=r"Input y contains NaN\. The first is in row 2"):
            read_training(Regressor(), VALUES, column([1.0, 2.0, None]))


@pytest.mark.parametrize(("dtype", "kind"), [("Int64", "i"), ("boolean", "b"), ("category", "i")])
def test_pandas_nullable_and_category_targets_keep_their_classes(dtype: str, kind: str) -> None:
    _, y = read_training(Classifier(), VALUES, pd.Series([1, 0, 1], dtype=dtype))
    assert y.dtype.kind == kind
    assert_array_equal(y, [1, 0, 1])


@pytest.mark.parametrize("table", [np.array, pd.DataFrame, pl.DataFrame, lambda d: pa.table({"y": d["y"]})])
def test_a_column_vector_is_raveled_with_a_warning(table: Any) -> None:
    given = np.array([[1.0], [2.0], [3.0]]) if table is np.array else table({"y": [1.0, 2.0, 3.0]})
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        _, y = read_training(Regressor(), VALUES, given)
    assert y.shape == (3,)


def test_several_targets_need_multi_output() -> None:
    two = np.ones((3, 2), dtype=int)
    with pytest.raises(ValueError, match=r"y should be a 1d array, got an array of shape \(3, 2\)"):
        read_training(Regressor(), VALUES, two)
    _, y = read_training(Regressor(), VALUES, two, multi_output=True)
    assert y.shape == (3, 2)
    assert y.dtype == np.float64


def test_one_target_may_come_as_a_column_under_multi_output() -> None:
    assert read_training(Regressor(), VALUES, [[1], [2], [3]], multi_output=True)[1].shape == (3, 1)
    assert read_training(Regressor(), VALUES, [1, 2, 3], multi_output=True)[1].shape == (3,)


def test_the_row_of_a_bad_target_is_named_among_several() -> None:
    with pytest.raises(ValueError, match="row 1 holds 'x'"):
        read_training(Regressor(), VALUES, np.array([[1, 2], [3, "x"], [5, 6]], dtype=object), multi_output=True)


def test_numbers_are_asked_for_by_y_numeric_too() -> None:
    _, y = read_training(BaseEstimator(), VALUES, [1, 2, 3], y_numeric=True)
    assert y.dtype == np.float64


def test_continuous_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="continuous"):
        read_training(Classifier(), VALUES, Y)


def test_a_missing_class_in_a_list_of_words_is_not_read_as_a_word() -> None:
    with pytest.raises(ValueError, match=r"Input y contains NaN\. The first is in row 1"):
        read_training(Classifier(), VALUES, ["no", np.nan, "yes"])


def test_no_target_is_refused() -> None:
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        read_training(Regressor(), VALUES, None)


def test_wrong_lengths_are_both_named() -> None:
    with pytest.raises(ValueError, match="X has 3 rows, y has 2 entries"):
        read_training(Regressor(), VALUES, [1.0, 2.0])


def test_infinite_targets_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Input y contains infinity.*row 1"):
        read_training(Regressor(), VALUES, [1.0, np.inf, 2.0])


# --- values that are not finite ---


@every_frame
def test_missing_values_name_the_column(frame: Any) -> None:
    table = frame({"age": [1.0, 2.0, 3.0], "height": [4.0, None, None]})
    with pytest.raises(ValueError, match=r"Input X contains NaN\.") as caught:
        read_features(table)
    assert "column 'height', row 1; in total 2 values in 1 column." in str(caught.value)
    assert "SimpleImputer" in str(caught.value)


def spoilt(container: Callable[[Any], Any]) -> Any:
    X = np.arange(1.0, 13.0).reshape(3, 4)
    X[2, 1], X[0, 3], X[1, 1] = np.inf, np.nan, np.nan
    return container(X)


@pytest.mark.parametrize(
    "container",
    [np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_matrix, sp.coo_array, np.float32],
    ids=["C", "F", "csr", "csc", "coo", "float32"],
)
@pytest.mark.parametrize("block", [1, 5, 2**22])
def test_the_first_bad_column_and_the_number_of_bad_values_are_named(
    container: Any, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skgraft.tables.table._BLOCK", block)
    with pytest.raises(ValueError, match=r"Input X contains NaN\.") as caught:
        read_features(spoilt(container))
    assert "column 1, row 1; in total 3 values in 2 columns." in str(caught.value)


def test_infinity_is_called_infinity() -> None:
    with pytest.raises(ValueError, match=r"Input X contains infinity .*column 'b', row 2.*clip"):
        read_features(pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, -np.inf]}))


@pytest.mark.parametrize("largest", [np.finfo(np.float64).max, np.finfo(np.float32).max])
def test_values_that_are_only_large_are_accepted(largest: Any) -> None:
    X = np.full((3, 2), largest)
    assert read_features(X) is X


def test_bad_values_in_an_array_are_named_as_the_estimator_knows_them() -> None:
    estimator = Regressor().fit(pd.DataFrame(COLUMNS), Y)
    bad = VALUES.copy()
    bad[0, 1] = np.nan
    with (
        pytest.warns(UserWarning, match="feature names"),
        pytest.raises(ValueError, match="column 'height', row 0"),
    ):
        read_new(estimator, bad)


def test_assume_finite_skips_the_search() -> None:
    with config_context(assume_finite=True):
        assert np.isnan(read_features(spoilt(np.asarray))).any()


# --- columns that are not numbers ---


@every_frame
@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([None, "north", "south"], r"row 1 holds 'north'\. Encode .*OneHotEncoder"),
        (["1.5", "2", "3"], r"row 0 holds '1\.5'.*astype\(float\)"),
        ([dt.date(2020, 1, 2)] * 3, "2020.*days since"),
    ],
    ids=["words", "numbers as text", "dates"],
)
def test_columns_that_are_not_numbers_are_named(frame: Any, values: list[Any], shown: str) -> None:
    with pytest.raises(ValueError, match=r"column 'region' \(.*\) is not numeric: .*" + shown):
        read_features(frame({"age": [1, 2, 3], "region": values}))


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.Categorical([1, 2, 3])),
        pd.Series(pd.date_range("2020", periods=3)),
        pd.Series(pd.to_timedelta([1, 2, 3], unit="D")),
        pd.Series([1, "x", 3], dtype=object),
        pl.Series(["a", "b", "c"], dtype=pl.Categorical),
        pa.array(["a", "b", "c"]).dictionary_encode(),
    ],
    ids=["category", "datetime", "timedelta", "object", "polars", "pyarrow"],
)
def test_typed_columns_that_are_not_numbers_are_named(column: Any) -> None:
    frame = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[type(column).__module__.split(".")[0]]
    with pytest.raises(ValueError, match=r"column 'region' \(.*\) is not numeric"):
        read_features(frame({"region": column}))


def test_words_in_a_plain_array_are_named_after_the_words_of_scikit_learn() -> None:
    X = VALUES.astype(object)
    X[2, 1] = "north"
    with pytest.raises(ValueError, match=r"could not convert string to float.*column 1 .*row 2 holds 'north'"):
        read_features(X)
    X[2, 1] = {"foo": "bar"}
    with pytest.raises(TypeError, match=r"argument must be .* string.* number.*column 1 .*row 2"):
        read_features(X)


def test_dates_in_a_plain_array_are_not_taken_for_numbers() -> None:
    with pytest.raises(ValueError, match=r"column 0 .* is not numeric"):
        read_features(np.array([["2020-01-01"]] * 3, dtype="datetime64[D]"))


@pytest.mark.parametrize("X", [VALUES * 1j, sp.csr_array(VALUES * 1j), pd.DataFrame(VALUES * 1j)])
def test_complex_data_is_refused(X: Any) -> None:
    with pytest.raises(ValueError, match="Complex data not supported"):
        read_features(X)


def test_sparse_pandas_columns_must_leave_out_zeros() -> None:
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([1.0, np.nan, 2.0])})
    with pytest.raises(ValueError, match="sparse column 'a' of X leaves out the value nan"):
        read_features(frame)


# --- shapes and names ---


def test_lazy_frames_are_to_be_collected() -> None:
    with pytest.raises(ValueError, match=r"X is a polars LazyFrame.*X\.collect\(\)"):
        read_features(pl.LazyFrame(COLUMNS))
    with pytest.raises(ValueError, match=r"y is a polars LazyFrame.*y\.collect\(\)"):
        read_training(Regressor(), VALUES, pl.LazyFrame({"y": Y}))


@every_frame
def test_tables_without_rows_are_refused(frame: Any) -> None:
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        read_features(frame({"a": [], "when": np.array([], dtype="datetime64[ms]")}))


@pytest.mark.parametrize("X", [np.empty((3, 0)), pd.DataFrame(index=range(3)), sp.csr_array((3, 0))])
def test_tables_without_columns_are_refused(X: Any) -> None:
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"):
        read_features(X)


def test_the_least_number_of_rows_is_the_estimators() -> None:
    with pytest.raises(ValueError, match=r"3 sample\(s\).* minimum of 4 is required by Regressor"):
        read_training(Regressor(), VALUES, Y, min_samples=4)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.ones(3), "Expected 2D array, got 1D array"),
        (pd.Series([1.0, 2.0, 3.0]), "Expected a 2-dimensional container"),
        (np.ones((3, 2, 2)), "dim 3"),
    ],
)
def test_tables_have_two_dimensions(X: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_features(X)


@every_frame
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["height", "age"], "must be in the same order"),
        (["age"], "now missing:\n- height"),
        (["age", "height", "weight"], "unseen at fit time:\n- weight"),
    ],
    ids=["reordered", "missing", "unknown"],
)
def test_new_rows_must_have_the_columns_of_training(frame: Any, columns: list[str], words: str) -> None:
    estimator = Regressor().fit(frame(COLUMNS), Y)
    with pytest.raises(ValueError, match=words):
        read_new(estimator, frame({name: COLUMNS.get(name, ["not", "a", "number"]) for name in columns}))


def test_new_rows_must_have_as_many_features() -> None:
    estimator = Regressor().fit(VALUES, Y)
    with pytest.raises(ValueError, match="X has 1 features, but Regressor is expecting 2 features"):
        read_new(estimator, VALUES[:, :1])


def test_names_are_forgotten_when_refitted_without_them() -> None:
    estimator = Regressor().fit(pd.DataFrame(COLUMNS), Y).fit(VALUES, Y)
    assert not hasattr(estimator, "feature_names_in_")


# --- sample weights ---


@pytest.mark.parametrize("column", [list, np.array, pd.Series, pl.Series, pa.array])
def test_weights_are_read_as_float64(column: Any) -> None:
    weights = sample_weights(column([1, 2, 0]), VALUES)
    assert weights.dtype == np.float64
    assert_array_equal(weights, [1, 2, 0])


def test_rows_weigh_the_same_unless_told() -> None:
    assert_array_equal(sample_weights(None, sp.csr_array(VALUES)), np.ones(3))
    assert_array_equal(sample_weights(2, VALUES), np.full(3, 2.0))


def test_fitting_weights_are_used_without_a_copy() -> None:
    given = np.array([1.0, 2.0, 3.0])
    assert sample_weights(given, VALUES) is given


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1, -2, -3], r"negative in row 1 \(-2\.0\); 2 such"),
        ([1, 2, np.nan], "NaN or infinite in row 2"),
        ([np.inf, 2, 3], "NaN or infinite in row 0"),
        ([1, None, 3], "NaN or infinite in row 1"),
        ([0, 0, 0], "sample weights are all zero"),
        (0, "sample weights are all zero"),
        ([1, 2], r"shape \(2,\), but X has 3 rows"),
        ([[1], [2], [3]], r"shape \(3, 1\), but X has 3 rows"),
        (["1", "2", "3"], r"row 0 holds '1': convert it with sample_weight\.astype\(float\)"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        sample_weights(given, VALUES)
