"""Features that stay in X are those of a copy, and rounds over them need less than X again."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgraft import AROMClassifier
from skgraft.matrix import make_columns
from skgraft.svm import design
from skgraft.svm.design import DenseDesign, StoredDesign


def columns_of(dtype, order):
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, (12, 40))
    X[:, 7] = 5.0
    return make_columns(np.asarray(X, dtype, order=order), np.full(12, 1 / 12), center=True, standardize=True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("some", [np.arange(40), np.arange(3, 38), np.r_[0:6, 7:15, 20:39]], ids=["all", "run", "gaps"])
def test_features_in_place_are_those_of_a_copy(dtype, order, some, monkeypatch):
    monkeypatch.setattr(design, "STORED_CELLS", 50)  # several blocks
    columns = columns_of(dtype, order)
    stored, copied = StoredDesign(columns, np.arange(40)).keep(some), DenseDesign.of(columns).keep(some)
    rng = np.random.default_rng(1)
    beta, z2 = rng.normal(size=(12, 2)), rng.exponential(size=some.size)
    assert_array_equal(stored.features, copied.features)
    assert_allclose(stored.rows, copied.rows, atol=1e-12)
    assert_allclose(stored.take(np.array([2, 0])), copied.take(np.array([2, 0])), atol=1e-12)
    assert_allclose(stored.by_rows()[:], copied.by_rows(), atol=1e-12)
    assert_allclose(stored.weights(beta), copied.weights(beta), atol=1e-6 if dtype == np.float32 else 1e-12)
    assert_allclose(stored.weights(beta[:, 0]), copied.weights(beta[:, 0]), atol=1e-6 if dtype == np.float32 else 1e-12)
    assert_allclose(stored.scores(z2), copied.scores(z2), atol=1e-12)
    assert_allclose(stored.squares(), copied.squares(), atol=1e-12)
    for scale in (None, z2):
        assert_allclose(stored.gram(scale), copied.gram(scale), atol=1e-12)
    assert type(stored.keep(np.array([1, 4]))) is DenseDesign  # few are copied


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_rounds_choose_alike_with_and_without_a_copy(norm, monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 300))
    y = X[:, 0] - X[:, 1] > 0.0
    copied = AROMClassifier(norm=norm).fit(X, y)
    monkeypatch.setattr(design, "LARGE", 0)
    stored = AROMClassifier(norm=norm).fit(X, y)
    assert_array_equal(stored.order_, copied.order_)
    assert_allclose(stored.coef_, copied.coef_, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounds_over_a_large_table_take_less_than_it_again(dtype):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 20_000)).astype(dtype)
    y = X[:, 0] - X[:, 1] > 0.0
    AROMClassifier(max_iter=3, n_features_to_select=100).fit(X[:, :6_000], y)  # loads compiled code
    tracemalloc.start()
    model = AROMClassifier(n_features_to_select=5).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.support_.sum() == 5
    assert peak <= X.nbytes


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounds_over_many_rows_take_less_than_the_table_again(dtype):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((20_000, 200)).astype(dtype)
    y = X[:, 0] - X[:, 1] + rng.standard_normal(20_000) > 0.0
    model = AROMClassifier(C=1.0, max_iter=8, n_features_to_select=2)
    model.fit(X, y)  # loads compiled code
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= X.nbytes


def test_rows_without_a_copy_have_the_products_of_an_array():
    rng = np.random.default_rng(5)
    X = 1e3 + rng.standard_normal((50, 8))
    X[:, 3] = 7.0
    columns = make_columns(X, np.full(50, 0.02), center=True, standardize=True)
    for features in (np.arange(8), np.array([1, 3, 6])):
        rows = StoredDesign(columns, features).by_rows()
        array = columns.take(features).T
        assert rows.shape == array.shape
        v, beta = rng.standard_normal(features.size), rng.standard_normal(50)
        assert_allclose(rows @ v, array @ v, atol=1e-10)
        assert_allclose(rows.T @ beta, array.T @ beta, atol=1e-10)
        assert_allclose(rows[np.array([4, 2])], array[[4, 2]], atol=1e-10)
