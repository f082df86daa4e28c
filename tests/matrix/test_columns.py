"""Products with standardised columns equal those with an explicit standardised copy, however X is stored."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from skgraft.matrix import DenseColumns, SparseColumns, make_columns
from skgraft.matrix._kernels import csc_gradient, csr_gradient, dense_gradient
from skgraft.matrix.threads import at_work

N, P = 83, 37


def stored(X: np.ndarray, storage: str) -> Any:
    """Return X in a storage of this name."""
    kind, _, dtype = storage.partition("-")
    X = X.astype(dtype)
    if kind == "c":
        return np.ascontiguousarray(X)
    if kind == "f":
        return np.asfortranarray(X)
    if kind == "strided":
        room = np.zeros((2 * X.shape[0], 3 * X.shape[1]), X.dtype)
        room[::2, ::3] = X
        return room[::2, ::3]
    if kind == "reversed":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    matrix = {"csr": sp.csr_matrix, "csc": sp.csc_matrix, "csr_array": sp.csr_array, "csc_array": sp.csc_array}[
        kind.removesuffix("_wide")
    ](X)
    if kind.endswith("_wide"):
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


DENSE = [f"{kind}-{dtype}" for kind in ("c", "f", "strided", "reversed") for dtype in ("float32", "float64")]
SPARSE = [
    f"{kind}-{dtype}"
    for kind in ("csr", "csc", "csr_wide", "csc_wide", "csr_array", "csc_array")
    for dtype in ("float32", "float64")
]
dense_storages = pytest.mark.parametrize("storage", DENSE)
sparse_storages = pytest.mark.parametrize("storage", SPARSE)
every_storage = pytest.mark.parametrize("storage", DENSE + SPARSE)
centred = pytest.mark.parametrize("center", [True, False], ids=["centred", "through_zero"])
standardized = pytest.mark.parametrize("standardize", [True, False], ids=["standardised", "as_is"])


@pytest.fixture(params=["plain", "compiled"])
def _size(request, monkeypatch):
    """Let the compiled kernels serve small matrices, too."""
    if request.param == "compiled":
        monkeypatch.setattr("skgraft.matrix.dense.COMPILED_CELLS", -1)
        monkeypatch.setattr("skgraft.matrix.sparse.COMPILED_STORED", -1)


@pytest.fixture(params=["whole", "pieces"])
def _pieces(request, monkeypatch):
    """Let temporaries hold a few columns only, so that a small matrix is treated in many parts."""
    if request.param == "pieces":
        monkeypatch.setattr("skgraft.matrix.dense.BLOCK_CELLS", 3 * N + 1)
        monkeypatch.setattr("skgraft.matrix.sparse.BLOCK_STORED", 50)


def data(storage: str, seed: int = 0) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return stored X, the same as exact float64, and weights with zeros that sum to one.

    Columns differ in scale and mean; 5 and 6 are constant, 7 is zero.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P)) * 10.0 ** rng.uniform(-4.0, 4.0, P)
    X += X.std(axis=0) * rng.uniform(-3.0, 3.0, P)
    if "cs" in storage:
        X *= rng.random((N, P)) < 0.3
    X[:, 5], X[:, 6], X[:, 7] = 7.3, -1e6, 0.0
    s = rng.choice([0.0, 1.0, 1.0, 2.5], N)
    X = stored(X, storage)
    dense = X.toarray() if sp.issparse(X) else X
    return X, dense.astype(np.float64), s / s.sum()


def moments(X: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weighted means and standard deviations in extended precision."""
    X, s = X.astype(np.longdouble), s.astype(np.longdouble)
    s = s / s.sum()
    mean = s @ X
    return mean, np.sqrt(s @ (X - mean) ** 2)


def explicit(X: np.ndarray, s: np.ndarray, *, center: bool, standardize: bool) -> np.ndarray:
    """Return the explicit standardised copy."""
    mean, deviation = moments(X, s)
    still = np.ptp(X[s > 0.0], axis=0) == 0.0 if center else ~X[s > 0.0].any(axis=0)
    spread = deviation if center else np.sqrt(mean**2 + deviation**2)
    scale = np.where(still, 1.0, spread) if standardize else np.ones(X.shape[1])
    out = (X - (mean if center else 0.0)) / scale
    out[:, still] = 0.0
    return out.astype(np.float64)


def close(found: np.ndarray, left: np.ndarray, right: np.ndarray, rtol: float = 1e-12) -> None:
    """Check left @ right to a relative error of its absolute sum, which is what rounding can do."""
    assert found.shape == (left @ right).shape
    assert (np.abs(found - left @ right) <= rtol * (np.abs(left) @ np.abs(right))).all()


@every_storage
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_threads_share_the_columns_and_change_no_bit(storage, n_outputs, monkeypatch):
    monkeypatch.setattr("skgraft.matrix.dense.COMPILED_CELLS", -1)
    monkeypatch.setattr("skgraft.matrix.sparse.COMPILED_STORED", -1)
    monkeypatch.setattr("skgraft.matrix.threads.LEAST_WORK", 0)
    X, _, _ = data(storage)
    weight = np.random.default_rng(3).uniform(0.5, 1.5, N)
    residual = np.random.default_rng(1).standard_normal((N, n_outputs))
    some = np.array([30, 5, 3, 2, 7, 0, 11])

    def found() -> list[np.ndarray]:
        columns = make_columns(X, weight / weight.sum(), center=True, standardize=True)
        return [columns.centre, columns.scale, columns.gradient(residual), columns.gradient_of(some, residual)]

    alone = found()
    with at_work(3):
        together = found()
    for one, other in zip(alone, together, strict=True):
        assert_array_equal(one, other)


@every_storage
@centred
@standardized
@pytest.mark.usefixtures("_size", "_pieces")
def test_gradient_is_the_product_with_the_standardised_copy(storage, center, standardize):
    X, dense, s = data(storage)
    Z = explicit(dense, s, center=center, standardize=standardize)
    residual = np.random.default_rng(1).standard_normal((N, 3))
    columns = make_columns(X, s, center=center, standardize=standardize)
    close(columns.gradient(residual), Z.T, residual)
    close(columns.gradient(residual[:, :1]), Z.T, residual[:, :1])


@every_storage
@centred
@pytest.mark.usefixtures("_size", "_pieces")
def test_gradient_of_some_columns_is_that_part_of_the_whole(storage, center):
    X, dense, s = data(storage)
    if "cs" not in storage:
        X[:, 3] += 1e5 * X[:, 3].std()  # far off centre
        dense = X.astype(np.float64)
    Z = explicit(dense, s, center=center, standardize=True)
    residual = np.random.default_rng(1).standard_normal((N, 3))
    residual -= residual.mean(axis=0)
    columns = make_columns(X, s, center=center, standardize=True)
    for some in ([30, 5, 3, 2, 7, 0], [12], []):
        which = np.array(some, np.intp)
        found = columns.gradient_of(which, residual)
        assert found.shape == (which.size, 3)
        assert (np.abs(found - Z[:, which].T @ residual) <= 1e-9).all()
        assert_allclose(found, columns.gradient(residual)[which], rtol=1e-9, atol=1e-11)


@every_storage
@centred
@standardized
@pytest.mark.usefixtures("_size")
def test_length_is_the_weighted_root_mean_square(storage, center, standardize):
    X, dense, s = data(storage)
    Z = explicit(dense, s, center=center, standardize=standardize)
    columns = make_columns(X, s, center=center, standardize=standardize)
    assert_allclose(columns.length, np.sqrt(s @ Z**2), rtol=1e-10)


@every_storage
@pytest.mark.usefixtures("_size")
def test_moments_of_very_large_and_very_small_numbers_are_finite(storage):
    size = 1e15 if "float32" in storage else 1e160
    dense, s = data(storage)[1], np.full(N, 1.0 / N)
    for factor in (size, 1.0 / size):
        scaled = stored(dense[:, 10:20] / np.abs(dense[:, 10:20]).max(axis=0) * factor, storage)
        exact = (scaled.toarray() if sp.issparse(scaled) else scaled).astype(np.longdouble)
        columns = make_columns(scaled, s, center=True, standardize=True)
        assert_allclose(columns.scale, moments(exact, s)[1].astype(float), rtol=1e-10)
        assert_allclose(columns.centre, moments(exact, s)[0].astype(float), rtol=1e-6)


@every_storage
@centred
@standardized
@pytest.mark.usefixtures("_pieces")
def test_squares_are_weighted_sums_of_squares(storage, center, standardize):
    X, dense, s = data(storage)
    Z = explicit(dense, s, center=center, standardize=standardize)
    weight = np.random.default_rng(2).random(N)
    columns = make_columns(X, s, center=center, standardize=standardize)
    assert_allclose(columns.squares(weight), weight @ Z**2, rtol=1e-12)


@every_storage
@centred
@standardized
def test_blocks_hold_the_standardised_columns_in_any_order(storage, center, standardize):
    X, dense, s = data(storage)
    Z = explicit(dense, s, center=center, standardize=standardize)
    rng = np.random.default_rng(3)
    block = make_columns(X, s, center=center, standardize=standardize).block()
    held = np.empty(0, np.intp)
    for _ in range(12):
        outside = np.setdiff1d(np.arange(P), held)
        fresh = rng.permutation(outside)[: rng.integers(0, 1 + outside.size)]
        block.append(fresh)
        held = np.concatenate([held, fresh])
        residual, weights = rng.standard_normal((N, 2)), rng.standard_normal((held.size, 2))
        assert_array_equal(block.features, held)
        close(block.gradient(residual), Z[:, held].T, residual)
        close(block.scores(weights), Z[:, held], weights)
        kept = rng.permutation(held.size)[: rng.integers(0, 1 + held.size)]
        block.keep(kept)
        held = held[kept]
        assert_array_equal(block.features, held)
        close(block.gradient(residual), Z[:, held].T, residual)
        close(block.scores(weights[kept]), Z[:, held], weights[kept])


@every_storage
@centred
def test_columns_taken_are_those_of_the_copy(storage, center):
    X, dense, s = data(storage)
    Z = explicit(dense, s, center=center, standardize=True)
    wanted = np.array([30, 5, 2, 2, 7, 0])
    columns = make_columns(X, s, center=center, standardize=True)
    taken = columns.take(wanted)
    assert taken.dtype == np.float64
    if sp.issparse(taken):
        # stored cells only: what centring takes from them is a term of its own
        block = columns.block()
        block.append(wanted)
        assert taken.nnz <= X[:, wanted].nnz
        taken = taken.T.toarray() - block.mean[:, None]
    assert_allclose(taken, Z[:, wanted].T, rtol=1e-12, atol=1e-13)


@every_storage
@pytest.mark.usefixtures("_size", "_pieces")
def test_scale_is_the_weighted_standard_deviation(storage):
    X, dense, s = data(storage)
    columns = make_columns(X, s, center=True, standardize=True)
    mean, deviation = moments(dense, s)
    moving = np.setdiff1d(np.arange(P), [5, 6, 7])
    assert_allclose(columns.scale[moving], deviation[moving].astype(float), rtol=1e-12)
    assert_allclose(columns.centre, mean.astype(float), rtol=1e-12, atol=1e-300)


@every_storage
@pytest.mark.usefixtures("_size")
def test_scale_through_zero_is_the_root_mean_square(storage):
    X, dense, s = data(storage)
    columns = make_columns(X, s, center=False, standardize=True)
    square = np.sqrt((s.astype(np.longdouble) @ dense.astype(np.longdouble) ** 2).astype(float))
    assert_allclose(columns.scale, np.where(square > 0.0, square, 1.0), rtol=1e-12)
    assert not columns.centre.any()


@every_storage
@pytest.mark.parametrize("n", [2, 3, 7, 10, 30, 49, 87, 93, 100, 1000])
@pytest.mark.usefixtures("_size")
def test_constant_columns_are_recognised_whatever_the_rounding_of_the_weights(storage, n):
    rng = np.random.default_rng(n)
    values = np.array([1.0, 7.3, -1e5, 0.1, 1e-8, 1e8, 1.0 / 3.0])
    X = stored(np.tile(values, (n, 1)), storage)
    for weight in (np.ones(n), rng.random(n) + 0.01, rng.choice([1.0, 3.0], n)):
        columns = make_columns(X, weight / weight.sum(), center=True, standardize=True)
        assert columns.constant.all()
        assert_array_equal(columns.scale, np.ones(values.size))
        assert not columns.gradient(rng.standard_normal((n, 2))).any()
        assert not columns.squares(np.ones(n)).any()
        block = columns.block()
        block.append(np.arange(values.size))
        assert not block.scores(np.ones((values.size, 1))).any()


@every_storage
@pytest.mark.usefixtures("_size")
def test_a_column_constant_on_the_rows_that_count_is_constant(storage):
    X = np.column_stack([np.r_[5.0, 9.0, np.full(20, 3.0)], np.arange(22.0)])
    s = np.r_[0.0, 0.0, np.full(20, 0.05)]
    columns = make_columns(stored(X, storage), s, center=True, standardize=True)
    assert_array_equal(columns.constant, [True, False])


@every_storage
@pytest.mark.parametrize("offset", [1e4, 1e8])
@pytest.mark.usefixtures("_size")
def test_deviation_survives_a_large_offset(storage, offset):
    if "float32" in storage:
        offset = min(offset, 1e4)  # beyond that, float32 holds no deviation of one
    for seed in range(6):
        rng = np.random.default_rng(seed)
        s = rng.random(N)
        s /= s.sum()
        X = stored(rng.standard_normal((N, 20)) + offset, storage)
        dense = (X.toarray() if sp.issparse(X) else X).astype(np.float64)
        columns = make_columns(X, s, center=True, standardize=True)
        assert_allclose(columns.scale, moments(dense, s)[1].astype(float), rtol=1e-9)


@dense_storages
@pytest.mark.parametrize("offset", [1e2, 9e3, 2e4, 1e8])
@pytest.mark.usefixtures("_size")
def test_dense_products_survive_a_large_offset(storage, offset):
    if "float32" in storage:
        offset = min(offset, 2e4)
    rng = np.random.default_rng(5)
    s = rng.random(N)
    s /= s.sum()
    X = stored(rng.standard_normal((N, 20)) + offset, storage)
    dense = X.astype(np.float64)
    mean, deviation = moments(dense, s)
    Z = (dense.astype(np.longdouble) - mean) / deviation
    residual = rng.standard_normal((N, 2))
    residual -= residual.mean(axis=0)  # an intercept makes it so; the mean itself is rounded to 1e8·eps
    columns = make_columns(X, s, center=True, standardize=True)
    block = columns.block()
    block.append(np.arange(20))
    size = np.linalg.norm(residual, axis=0) * np.sqrt(N)
    for found in (columns.gradient(residual), block.gradient(residual)):
        assert (np.abs(found - (Z.T @ residual).astype(float)) <= 1e-9 * size).all()
    weight = rng.random(N)
    assert_allclose(columns.squares(weight), (weight @ Z**2).astype(float), rtol=1e-7)


@sparse_storages
@pytest.mark.parametrize("offset", [1e2, 1e4])
def test_sparse_products_survive_an_offset(storage, offset):
    # centring sparse columns is a difference of two products, which costs digits: 1e4·eps and not more
    rng = np.random.default_rng(9)
    s = rng.random(N)
    s /= s.sum()
    X = stored(rng.standard_normal((N, 20)) + offset, storage)
    dense = X.toarray().astype(np.float64)
    mean, deviation = moments(dense, s)
    Z = (dense.astype(np.longdouble) - mean) / deviation
    residual = rng.standard_normal((N, 2))
    columns = make_columns(X, s, center=True, standardize=True)
    block = columns.block()
    block.append(np.arange(20))
    size = np.linalg.norm(residual, axis=0) * np.sqrt(N)
    for found in (columns.gradient(residual), block.gradient(residual)):
        assert (np.abs(found - (Z.T @ residual).astype(float)) <= 1e-10 * size).all()
    weights = rng.standard_normal((20, 2))
    assert (np.abs(block.scores(weights) - (Z @ weights).astype(float)) <= 1e-9).all()


@every_storage
def test_x_is_neither_changed_nor_written_to(storage):
    X, dense, s = data(storage)
    if sp.issparse(X):
        for array in (X.data, X.indices, X.indptr):
            array.flags.writeable = False
    else:
        X.flags.writeable = False
    columns = make_columns(X, s, center=True, standardize=True)
    columns.gradient(np.ones((N, 2)))
    columns.squares(s)
    block = columns.block()
    block.append(np.arange(P))
    block.keep(np.arange(0, P, 2))
    block.scores(np.ones((block.features.size, 1)))
    assert_array_equal(X.toarray() if sp.issparse(X) else X, dense)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", ["F", "C"])
def test_dense_columns_need_far_less_memory_than_x(dtype, order):
    # 100 MB; temporaries are blocks of a few MB, whatever the size of X
    cells = 100_000_000 // np.dtype(dtype).itemsize
    n = 5000
    X = np.ones((n, cells // n), dtype, order=order)
    X[::2] = 3.0
    s, residual = np.full(n, 1.0 / n), np.ones((n, 1))
    make_columns(X[:, :50].copy(order=order), s, center=True, standardize=True).gradient(residual)  # imports
    tracemalloc.start()
    try:
        columns = make_columns(X, s, center=True, standardize=True)
        columns.gradient(residual)
        columns.squares(s)
        block = columns.block()
        block.append(np.arange(10))
        peak = tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
    assert peak < 20.0


def test_sparse_columns_need_far_less_memory_than_x():
    # 8 million stored cells of 96 MB; densified they would be 8 GB
    n, p, per_column = 10_000, 100_000, 80
    rng = np.random.default_rng(6)
    X = sp.csc_matrix(
        (np.ones(p * per_column), rng.integers(0, n, p * per_column, dtype=np.int32), np.arange(p + 1) * per_column),
        shape=(n, p),
    )
    s = np.full(n, 1.0 / n)
    tracemalloc.start()
    try:
        columns = make_columns(X, s, center=True, standardize=True)
        columns.gradient(np.ones((n, 1)))
        peak = tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
    assert peak < 60.0


def test_block_grows_by_the_columns_in_use_only():
    X = np.random.default_rng(7).standard_normal((2000, 3000))
    columns = make_columns(X, np.full(2000, 1.0 / 2000), center=True, standardize=True)
    tracemalloc.start()
    try:
        block = columns.block()
        for j in range(0, 100, 10):
            block.append(np.arange(j, j + 10))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * 100 * 2000 * 8


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("wide", [False, True], ids=["int32", "int64"])
def test_compiled_gradients_equal_their_plain_twins(dtype, n_outputs, wide):
    rng = np.random.default_rng(8)
    X = (rng.standard_normal((70, 40)) * (rng.random((70, 40)) < 0.4)).astype(dtype)
    R = rng.standard_normal((70, n_outputs))
    twin = X.T.astype(np.float64) @ R
    size = np.abs(X.T.astype(np.float64)) @ np.abs(R)
    index = np.int64 if wide else np.int32
    csc, csr = sp.csc_matrix(X), sp.csr_matrix(X)
    found = np.empty((40, n_outputs))
    dense_gradient(np.ascontiguousarray(X.T), np.ascontiguousarray(R.T), found)
    assert (np.abs(found - twin) <= 1e-14 * size).all()
    found = np.empty((40, n_outputs))
    csc_gradient(csc.data, csc.indices.astype(index), csc.indptr.astype(index), R, found)
    assert (np.abs(found - twin) <= 1e-14 * size).all()
    found = np.zeros((40, n_outputs))
    csr_gradient(csr.data, csr.indices.astype(index), csr.indptr.astype(index), R, found)
    assert (np.abs(found - twin) <= 1e-14 * size).all()


def test_storage_decides_the_kind_of_columns_and_size_counts_stored_cells():
    X = np.eye(5)
    s = np.full(5, 0.2)
    dense = make_columns(X, s, center=True, standardize=True)
    thin = make_columns(sp.csr_matrix(X), s, center=True, standardize=True)
    assert isinstance(dense, DenseColumns)
    assert isinstance(thin, SparseColumns)
    assert (dense.size, thin.size) == (25, 5)
    assert (dense.n_rows, dense.n_columns) == (thin.n_rows, thin.n_columns) == (5, 5)


@pytest.mark.usefixtures("_size", "_pieces")
@standardized
@pytest.mark.parametrize(
    "storage", ["c-float64", "c-float32", "f-float64", "f-float32", "strided-float64", "csc-float64"]
)
def test_chosen_rows_are_as_good_as_a_copy_of_them(storage, standardize):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P)) * np.logspace(-3, 3, P) + rng.normal(size=P)
    X[:, 4] = 7.0
    X[:, 5] += 1e9
    if storage in {"c-float64", "f-float64"} and standardize:
        X[:, 6] *= 1e-200
    X, rows = stored(X, storage), rng.permutation(N)[: N - 20]
    weight, residual = rng.dirichlet(np.ones(rows.size)), rng.normal(size=(rows.size, 3))
    some = np.array([6, 0, 5, 30])
    chosen = make_columns(X, weight, center=True, standardize=standardize, rows=rows)
    copied = make_columns(X[rows], weight, center=True, standardize=standardize)
    assert (chosen.n_rows, chosen.n_columns) == (rows.size, P)
    scale = np.abs(copied.gradient(residual)) + np.abs(copied.length)[:, None]
    for one, two in (
        (chosen.centre, copied.centre),
        (chosen.scale, copied.scale),
        (chosen.length, copied.length),
        (chosen.squares(weight), copied.squares(weight)),
        (chosen.gradient(residual) / scale.clip(1e-300), copied.gradient(residual) / scale.clip(1e-300)),
        (chosen.gradient_of(some, residual), chosen.gradient(residual)[some]),
    ):
        assert_allclose(one, two, rtol=1e-9, atol=1e-9)
    if isinstance(chosen, DenseColumns):
        assert_allclose(chosen.take(some), copied.take(some), rtol=1e-9, atol=1e-9)
