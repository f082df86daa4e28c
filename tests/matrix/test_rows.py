"""Rows are brought into an order of their own, and equal ones become one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from skgraft.matrix import rows as rows_module
from skgraft.matrix.rows import merge_rows


def table(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (400, 4)) * np.array([1.0, 0.5, 0.25, 2.0])
    return X, rng.integers(0, 2, 400).astype(float), rng.integers(0, 3, 400).astype(float)


def merged(X, y, weight):
    """Return what remains of X, y and the weights."""
    rows, together = merge_rows(X, y, weight)
    return X[rows], y[rows], together


def test_every_row_that_counts_is_there_once_with_all_its_weight():
    X, y, weight = table()
    found, target, together = merged(X, y, weight)
    wanted = {}
    for row, own, w in zip(X, y, weight, strict=True):
        if w > 0.0:
            key = (*row, own)
            wanted[key] = wanted.get(key, 0.0) + w
    got = {(*row, own): w for row, own, w in zip(found, target, together, strict=True)}
    assert len(found) == len(wanted)
    assert got == wanted


def test_neither_order_nor_storage_nor_repetition_matters():
    X, y, weight = table()
    found, target, together = merged(X, y, weight)
    many = np.random.default_rng(1).permutation(np.arange(400).repeat(weight.astype(int)))
    for kind in (
        X[many],
        np.asfortranarray(X[many]),
        X[many].astype(np.float32),
        sp.csr_matrix(X[many]),
        sp.csc_array(X[many]),
        np.where(X[many] == 0.0, -0.0, X[many]),
    ):
        again, its, ones = merged(kind, y[many], np.ones(many.size))
        assert_array_equal(again.toarray() if sp.issparse(again) else again, found)
        assert_array_equal(its, target)
        assert_array_equal(ones, together)


def test_the_order_of_columns_does_not_matter():
    X, y, weight = np.random.default_rng(0).normal(size=(50, 6)), np.zeros(50), np.ones(50)
    order = [3, 1, 5, 0, 2, 4]
    assert_array_equal(merged(X[:, order], y, weight)[0], merged(X, y, weight)[0][:, order])


def test_rows_of_the_same_values_in_other_columns_differ():
    X = np.array([[1.0, 2.0], [2.0, 1.0], [0.0, 3.0], [3.0, 0.0], [1.0, 2.0]])
    assert len(merge_rows(X, np.zeros(5), np.ones(5))[0]) == 4


@pytest.mark.parametrize("cells", [10, 10**7])
def test_large_data_stay_as_they_are(cells, monkeypatch):
    monkeypatch.setattr(rows_module, "MOST_CELLS", cells)
    X = np.ones((20, 2))
    rows, weight = merge_rows(X, np.zeros(20), np.ones(20))
    if cells == 10:
        assert rows is None
        assert_array_equal(weight, np.ones(20))
    else:
        assert len(rows) == 1
        assert_array_equal(weight, [20.0])
