"""Columns of several matrices, side by side, are the columns of one."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from skgraft.matrix import DenseBlock, JoinedColumns, SparseBlock, make_columns

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 11)) * (RNG.random((40, 11)) < 0.6) + np.where(np.arange(11) == 4, 1e5, 0.0)
X[:, 6] = 3.0
WEIGHT = RNG.random(40) / 20
STORAGES = {
    "dense": [np.asfortranarray, np.ascontiguousarray, np.asarray],
    "sparse": [sp.csc_array, sp.csr_array, sp.csc_array],
    "mixed": [sp.csc_array, np.asfortranarray, sp.csr_array],
}


@pytest.fixture(params=[True, False], ids=["centred", "uncentred"])
def center(request):
    return request.param


@pytest.fixture(params=STORAGES)
def joined(request, center):
    parts = [
        make_columns(store(part), WEIGHT / WEIGHT.sum(), center=center, standardize=True)
        for store, part in zip(STORAGES[request.param], (X[:, :3], X[:, 3:7], X[:, 7:]), strict=True)
    ]
    return JoinedColumns(parts)


@pytest.fixture
def whole(center):
    return make_columns(X, WEIGHT / WEIGHT.sum(), center=center, standardize=True)


def test_products_are_those_of_the_whole(joined, whole):
    residual = RNG.normal(size=(40, 2))
    some = np.array([8, 0, 5, 4, 10])
    assert_allclose(joined.gradient(residual), whole.gradient(residual), rtol=1e-9, atol=1e-9)
    assert_allclose(joined.gradient_of(some, residual), whole.gradient(residual)[some], rtol=1e-9, atol=1e-9)
    assert_allclose(joined.squares(WEIGHT), whole.squares(WEIGHT), rtol=1e-6)
    for name in ("centre", "scale", "length", "too_large"):
        assert_allclose(getattr(joined, name), getattr(whole, name), rtol=1e-9)
    assert joined.finite
    assert (joined.n_rows, joined.n_columns) == (40, 11)


def test_columns_in_use_are_those_of_the_whole(joined, whole):
    ours, theirs = joined.block(), whole.block()
    sparse = isinstance(joined.parts[1].X, sp.csc_array | sp.csr_array)
    assert isinstance(ours, SparseBlock if sparse else DenseBlock)
    for some in (np.array([9, 1, 4]), np.array([], dtype=np.intp), np.array([6, 0])):
        ours.append(some)
        theirs.append(some)
    weights, residual = RNG.normal(size=(5, 2)), RNG.normal(size=(40, 2))
    assert_allclose(ours.scores(weights), theirs.scores(weights), rtol=1e-7, atol=1e-8)
    assert_allclose(ours.gradient(residual), theirs.gradient(residual), rtol=1e-7, atol=1e-8)
