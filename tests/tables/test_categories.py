"""Columns of labels become whole numbers, and missing values are let through where they are allowed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.linear_model import LinearRegression

from skgraft.tables.categories import find_categories
from skgraft.tables.table import read_new, read_training

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


def test_labels_are_coded_in_their_order_and_the_rest_is_left_alone():
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.5], "b": pd.Categorical(["y", None, "x"])}, index=[9, 8, 7])
    coder = find_categories(frame, "from_dtype")
    assert coder.labels == {1: ["x", "y"]}
    assert_array_equal(coder.is_categorical, [False, True])
    coded = coder.code(frame)
    assert_array_equal(coded["b"], [1.0, np.nan, 0.0])
    assert_array_equal(coded["a"], frame["a"])
    assert frame["b"].dtype == "category"  # the caller's own frame
    new = pd.DataFrame({"a": [0.0, 0.0], "b": ["z", "x"]})
    assert_array_equal(coder.code(new)["b"], [2.0, 0.0])


def test_without_labels_x_is_not_touched():
    for X in (np.ones((3, 2)), sp.csr_array(np.eye(3)), pd.DataFrame({"a": [1.0]}), pl.DataFrame({"a": [1]})):
        coder = find_categories(X, "from_dtype")
        assert not coder.labels
        assert coder.code(X) is X


def test_mixed_labels_have_an_order():
    frame = pd.DataFrame({"a": pd.Categorical(["b", 3, "a", 1])})
    assert find_categories(frame, "from_dtype").labels == {0: [1, 3, "a", "b"]}


def test_numbers_that_name_need_no_codes():
    X = np.array([[1.0, 7.0], [2.0, 9.0]])
    coder = find_categories(X, [1])
    assert_array_equal(coder.is_categorical, [False, True])
    assert coder.code(X) is X
    with pytest.raises(ValueError, match="feature 5"):
        find_categories(X, [5])


@pytest.mark.parametrize("container", [np.array, sp.csr_array, sp.csc_array])
def test_missing_values_pass_and_infinite_ones_do_not(container):
    X = container([[1.0, np.nan], [2.0, 3.0], [0.0, 1.0]])
    y = [0.0, 1.0, 2.0]
    model = LinearRegression()
    read, _ = read_training(model, X, y, allow_nan=True)
    assert np.isnan(read.toarray() if sp.issparse(read) else read).sum() == 1
    with pytest.raises(ValueError, match="NaN"):
        read_training(model, X, y)
    bad = container([[1.0, np.nan], [2.0, 3.0], [-np.inf, 1.0]])
    with pytest.raises(ValueError, match=r"infinity.*column 0, row 2"):
        read_training(model, bad, y, allow_nan=True)
    with pytest.raises(ValueError, match="infinity"):
        read_new(model, bad, allow_nan=True)
