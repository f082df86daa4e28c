"""The compiled kernels reach the minimum of their quadratic models, and agree with plain NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import block_diag

from skgraft.criterion.penalties import Penalty
from skgraft.grafting.linear._kernels import (
    allowed,
    combine,
    extrapolation,
    gram_cd,
    group_scale,
    penalty_value,
    rows_cd,
    soft_threshold,
    softmax_cd,
    sparse_cd,
    targets_cd,
)
from skgraft.grafting.linear.quadratic import minimize_gram, plain_gram_cd, search_kinks

M, N = 24, 60
SIZES = (3, 1, 5, 2, 4, 1, 2, 6)
KINDS = {
    "l1": {"l1": 0.3},
    "elastic": {"l1": 0.2, "ridge": 0.5},
    "ridge": {"ridge": 0.3},
    "nothing": {},
    "group": {"norm": 0.4},
    "sparse_group": {"l1": 0.1, "norm": 0.3},
    "group_with_ridge": {"l1": 0.1, "norm": 0.2, "ridge": 0.4},
    "singletons": {"l1": 0.1, "norm": 0.2, "single": True},
}
every_kind = pytest.mark.parametrize("kind", sorted(KINDS))
scalar_kind = pytest.mark.parametrize("kind", ["elastic", "l1", "nothing", "ridge", "singletons"])
both_signs = pytest.mark.parametrize("positive", [False, True], ids=["any_sign", "positive"])
precision = pytest.mark.parametrize("dtype", [np.float64, np.float32])
SETTLED = {np.float64: 1e-10, np.float32: 1e-6}


def make_penalty(kind: str, *, positive: bool, seed: int = 0, m: int = M) -> Penalty:
    rng = np.random.default_rng(seed)
    parts = KINDS[kind]
    grouped = "norm" in parts and "single" not in parts
    starts = np.r_[0, np.cumsum(np.resize(SIZES, m))] if grouped else np.arange(m + 1)
    if grouped:
        starts = np.append(starts[starts < m], m)
    l1 = parts.get("l1", 0.0) * rng.uniform(0.5, 1.5, m)
    ridge = parts.get("ridge", 0.0) * rng.uniform(0.5, 1.5, m)
    norm = parts.get("norm", 0.0) * rng.uniform(0.5, 1.5, starts.size - 1)
    return Penalty(l1, ridge, norm, starts.astype(np.intp), positive)


@dataclass
class Model:
    """q·(w - w0) + ½(w - w0)'H(w - w0) + penalty(w), with H in float64 and the ridge inside."""

    H: np.ndarray
    q: np.ndarray
    w0: np.ndarray
    penalty: Penalty

    def value(self, w: np.ndarray) -> float:
        d = w - self.w0
        p = self.penalty
        norms = sum(c * np.linalg.norm(w[a:b]) for c, a, b in zip(p.norm, p.starts[:-1], p.starts[1:], strict=True))
        return float(self.q @ d + 0.5 * d @ self.H @ d + p.l1 @ np.abs(w) + norms)

    def violation(self, w: np.ndarray) -> float:
        p = self.penalty
        plain = Penalty(p.l1, np.zeros(w.size), p.norm, p.starts, p.positive)
        return float(plain.violation(self.q + self.H @ (w - self.w0), w).max())

    def minimum(self) -> np.ndarray:
        """Return the minimiser by accelerated proximal gradients with restarts, run until they stand still."""
        p, step = self.penalty, 1.0 / np.linalg.eigvalsh(self.H)[-1]
        w = v = self.w0.copy()
        momentum = 1.0
        for _ in range(200_000):
            x = v - step * (self.q + self.H @ (v - self.w0))
            x = np.sign(x) * np.maximum(np.abs(x) - step * p.l1, 0.0)
            x = np.maximum(x, 0.0) if p.positive else x
            for c, a, b in zip(p.norm, p.starts[:-1], p.starts[1:], strict=True):
                length = np.linalg.norm(x[a:b])
                x[a:b] *= max(0.0, 1.0 - step * c / length) if length > 0.0 else 0.0
            restart = (v - x) @ (x - w) > 0.0
            after = 1.0 if restart else 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            v = x + (0.0 if restart else (momentum - 1.0) / after) * (x - w)
            moved = np.abs(x - w).max()
            w, momentum = x, after
            if moved <= 1e-15 * np.abs(w).max(initial=1.0) and self.violation(w) < 1e-12:
                break
        assert self.violation(w) < 1e-11
        return w


def random_rows(seed: int, dtype: type, m: int = M, n: int = N) -> np.ndarray:
    """Return correlated rows whose Gram matrix has a diagonal of about one."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, n)) + 0.5 * rng.standard_normal((1, n))
    return (A / np.sqrt(1.25 * n)).astype(dtype)


def random_model(kind: str, *, positive: bool, dtype: type, seed: int) -> tuple[Model, np.ndarray]:
    """Return a model and the rows A of its H = AA' + ridge, from a start that is not zero."""
    A = random_rows(seed, dtype)
    penalty = make_penalty(kind, positive=positive, seed=seed)
    rng = np.random.default_rng([seed, 1])
    w0 = rng.standard_normal(M) * (rng.random(M) < 0.5)
    w0 = np.abs(w0) if positive else w0
    H = A.astype(np.float64) @ A.astype(np.float64).T
    H[np.arange(M), np.arange(M)] += penalty.ridge
    return Model(H, rng.standard_normal(M), w0, penalty), A


def block_norms(H: np.ndarray, penalty: Penalty) -> np.ndarray:
    edges = zip(penalty.starts[:-1], penalty.starts[1:], strict=True)
    return np.array([np.linalg.eigvalsh(H[a:b, a:b])[-1] for a, b in edges]) * (1.0 + 1e-9)


def assert_minimal(model: Model, w: np.ndarray, tol: float) -> None:
    """Check that what is left is what steps of ``tol`` can leave, and that the minimum is not below.

    The last epoch moved no weight by more than tol in the gradient's units, so no slope moved by more than M·tol.
    """
    assert model.violation(w) <= 2.0 * M * tol
    best = model.value(model.minimum())
    assert model.value(w) <= best + 1e-12 + M * tol * (1.0 + abs(best))
    assert model.value(w) >= best - 1e-10 * (1.0 + abs(best))
    if model.penalty.positive:
        assert (w >= 0.0).all()


# -- the five descents ------------------------------------------------------------------------------------------


@every_kind
@both_signs
@precision
@pytest.mark.parametrize("seed", [0, 1])
def test_descent_on_a_matrix_reaches_the_minimum(kind, positive, dtype, seed):
    model, _ = random_model(kind, positive=positive, dtype=np.float64, seed=seed)
    p, tol = model.penalty, 1e-10
    buffer = np.full((M + 5, M + 5), np.nan, dtype)  # H may be the leading block of a larger one
    buffer[:M, :M] = model.H
    model.H = buffer[:M, :M].astype(np.float64)
    w, q = model.w0.copy(), model.q.copy()
    epochs = gram_cd(buffer, M, q, w, p.starts, p.l1, p.norm, block_norms(model.H, p), positive, tol, 20000)
    assert epochs < 20000
    assert_minimal(model, w, tol)
    assert_allclose(q, model.q + model.H @ (w - model.w0), atol=1e-10)  # it is kept up to date


@both_signs
@precision
@pytest.mark.parametrize("size", [1, 3])
def test_descent_on_one_matrix_for_all_outputs_reaches_the_minimum(size, positive, dtype):
    m, n_outputs, tol = 6, 2, 1e-10
    rng = np.random.default_rng([size, 5])
    A = random_rows(7, np.float64, m=m)
    G = (A @ A.T + 0.01 * np.eye(m)).astype(dtype)
    starts, norm = np.arange(0, m + 1, size), rng.uniform(0.05, 0.3, m // size)
    l1 = rng.uniform(0.0, 0.1, m)
    # the same as a model over pairs (feature, output), whose groups lie together
    H = np.kron(G.astype(np.float64), np.eye(n_outputs))
    pairs = Penalty(np.repeat(l1, n_outputs), np.zeros(m * n_outputs), norm, starts * n_outputs, positive)
    w0 = np.abs(rng.standard_normal((m, n_outputs)))
    model = Model(H, rng.standard_normal(m * n_outputs), w0.ravel(), pairs)
    q, w = np.ascontiguousarray(model.q.reshape(m, n_outputs).T), np.ascontiguousarray(w0.T)
    bound = block_norms(G.astype(np.float64), Penalty(l1, np.zeros(m), norm, starts))
    assert targets_cd(G, m, q, w, starts, l1, norm, bound, positive, tol, 20000) < 20000
    assert_minimal(model, w.T.ravel(), tol)
    assert_allclose(q.T.ravel(), model.q + H @ (w.T.ravel() - model.w0), atol=1e-9)


@both_signs
@pytest.mark.parametrize("size", [1, 3])
def test_descent_on_rows_for_all_outputs_is_descent_on_their_matrix(size, positive):
    m, n_outputs = 6, 3
    rng = np.random.default_rng([size, 6])
    A = random_rows(8, np.float64, m=m)
    ridge = rng.uniform(0.0, 0.2, m)
    G = A @ A.T + np.diag(ridge)
    starts, norm = np.arange(0, m + 1, size), rng.uniform(0.05, 0.3, m // size)
    l1 = rng.uniform(0.0, 0.1, m)
    bound = block_norms(G, Penalty(l1, np.zeros(m), norm, starts))
    q0, w0 = rng.standard_normal((n_outputs, m)), np.abs(rng.standard_normal((n_outputs, m)))
    by_matrix, by_rows = w0.copy(), w0.copy()
    assert targets_cd(G, m, q0.copy(), by_matrix, starts, l1, norm, bound, positive, 1e-11, 20000) < 20000
    assert rows_cd(A, m, q0, by_rows, ridge, starts, l1, norm, bound, positive, 1e-11, 20000) < 20000
    assert_allclose(by_rows, by_matrix, atol=1e-8)
    assert by_rows.any()


@every_kind
@both_signs
@precision
@pytest.mark.parametrize("seed", [0, 1])
def test_descent_on_rows_reaches_the_minimum(kind, positive, dtype, seed):
    model, A = random_model(kind, positive=positive, dtype=dtype, seed=seed)
    p, tol = model.penalty, SETTLED[dtype]
    buffer = np.vstack([A, np.full((3, N), np.nan, dtype)])
    w = model.w0.copy()
    bound = block_norms(model.H, p)
    epochs = rows_cd(buffer, M, model.q[None], w[None], p.ridge, p.starts, p.l1, p.norm, bound, positive, tol, 20000)
    assert epochs < 20000
    # single precision carries its rounding into the slopes
    assert_minimal(model, w, tol if dtype == np.float64 else 2e-6)


@every_kind
@both_signs
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "through_zero"])
@pytest.mark.parametrize("seed", [0, 1])
def test_descent_on_sparse_columns_reaches_the_minimum(kind, positive, intercept, seed):
    rng = np.random.default_rng([seed, 2])
    X = (rng.standard_normal((N, M)) + 1.0) * (rng.random((N, M)) < 0.4)
    curvature = rng.uniform(0.1, 1.0, N) / N
    total = curvature.sum()
    A = sp.csc_array(X * np.sqrt(curvature)[:, None])
    mean = curvature @ X / total if intercept else np.zeros(M)
    weight = total if intercept else 0.0
    p = make_penalty(kind, positive=positive, seed=seed)
    p = Penalty(0.1 * p.l1, 0.1 * p.ridge, 0.1 * p.norm, p.starts, positive)
    H = (X.T * curvature) @ X - weight * np.outer(mean, mean) + np.diag(p.ridge)
    w0 = np.abs(rng.standard_normal(M)) * (rng.random(M) < 0.5)
    model = Model(H, 0.2 * rng.standard_normal(M), w0, p)
    w = w0.copy()
    epochs = sparse_cd(
        A.data, A.indices, A.indptr, N, mean, weight, model.q, w, p.ridge, p.starts, p.l1, p.norm,
        block_norms(H, p), positive, 1e-11, 50000,
    )  # fmt: skip
    assert epochs < 50000
    assert_minimal(model, w, 1e-10)


@every_kind
@both_signs
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "through_zero"])
@pytest.mark.parametrize("wide", [False, True], ids=["int32", "int64"])
def test_descent_on_class_probabilities_reaches_the_minimum(kind, positive, intercept, wide):
    rng = np.random.default_rng(3)
    n_columns, k = 8, 3
    X = (rng.standard_normal((N, n_columns)) + 0.5) * (rng.random((N, n_columns)) < 0.5)
    P = rng.dirichlet(np.ones(k), N)
    s = rng.uniform(0.2, 1.0, N) / N
    column, output = np.repeat(np.arange(n_columns), k), np.tile(np.arange(k), n_columns)
    m = column.size
    assert m == M
    p = make_penalty(kind, positive=positive)
    p = Penalty(0.05 * p.l1, 0.05 * p.ridge + 1e-3, 0.05 * p.norm, p.starts, positive)
    # the explicit Hessian over all weights, then the intercepts: s·(diag(P) - PP') between the outputs
    wide_X = np.column_stack([X[:, column], np.ones((N, k))])
    out = np.r_[output, np.arange(k)]
    left = wide_X * np.sqrt(s)[:, None]
    same = out[:, None] == out
    H = np.where(same, (left * P[:, out]).T @ left, 0.0) - (left * P[:, out]).T @ (left * P[:, out])
    H[np.arange(m), np.arange(m)] += p.ridge
    w0 = np.abs(rng.standard_normal(m)) * (rng.random(m) < 0.5)
    q, qb = 0.05 * rng.standard_normal(m), 0.05 * rng.standard_normal(k)
    qb -= qb.mean()  # only differences of intercepts matter
    bound = block_diag(*[H[a:b, a:b] for a, b in zip(p.starts[:-1], p.starts[1:], strict=True)])
    columns = sp.csc_array(X)
    index = np.int64 if wide else np.int32
    w, b = w0.copy(), np.zeros(k)
    epochs = softmax_cd(
        columns.data, columns.indices.astype(index), columns.indptr.astype(index), column, output, P, s, intercept,
        q, qb, w, b, p.ridge, p.starts, p.l1, p.norm, block_norms(bound, p), positive, 1e-11, 200_000,
    )  # fmt: skip
    assert epochs < 200_000
    if intercept:
        inverse = np.linalg.pinv(H[m:, m:], rcond=1e-12, hermitian=True)
        profiled = H[:m, :m] - H[:m, m:] @ inverse @ H[m:, :m]
        assert np.abs(qb + H[m:, m:] @ b + H[m:, :m] @ (w - w0)).max() <= 1e-9
        model = Model(profiled, q - H[:m, m:] @ (inverse @ qb), w0, p)
    else:
        assert not b.any()
        model = Model(H[:m, :m], q, w0, p)
    assert_minimal(model, w, 1e-9)


@every_kind
@both_signs
@precision
@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_minimisation_leaves_at_most_the_tolerance(kind, positive, dtype, compiled):
    for seed in range(3):
        model, _ = random_model(kind, positive=positive, dtype=np.float64, seed=seed)
        H = model.H.astype(dtype)
        model.H = H.astype(np.float64)
        tol = 1e-9 if dtype == np.float64 else 1e-5
        w, q = model.w0.copy(), model.q.copy()
        minimize_gram(H, q, w, model.penalty, tol, compiled=compiled)
        assert model.violation(w) <= (1.0 if dtype == np.float64 else 1.1) * tol
        if positive:
            assert (w >= 0.0).all()


@every_kind
@both_signs
@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_minimisation_copes_with_a_hessian_of_low_rank(kind, positive, compiled):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((M, 6)) / 3.0
        A[5], A[9] = A[4], -A[4]  # duplicates
        p = make_penalty(kind, positive=positive, seed=seed)
        w0 = np.abs(rng.standard_normal(M)) * (rng.random(M) < 0.5)
        model = Model(A @ A.T + np.diag(p.ridge), A @ rng.standard_normal(6), w0, p)
        w, q = w0.copy(), model.q.copy()
        minimize_gram(model.H, q, w, p, 1e-7, compiled=compiled)
        assert model.violation(w) <= 1.001e-7


# -- twins ------------------------------------------------------------------------------------------------------


@scalar_kind
@both_signs
@precision
def test_first_epochs_on_a_matrix_are_those_of_the_plain_twin(kind, positive, dtype):
    model, _ = random_model(kind, positive=positive, dtype=np.float64, seed=4)
    p, H = model.penalty, model.H.astype(dtype)
    bound = np.diagonal(H).astype(np.float64)
    w, q, w_plain, q_plain = model.w0.copy(), model.q.copy(), model.w0.copy(), model.q.copy()
    assert gram_cd(H, M, q, w, p.starts, p.l1, p.norm, bound, positive, 0.0, 3) == 3
    assert plain_gram_cd(H, q_plain, w_plain, p, bound, 0.0, 3) == 3
    assert_allclose(w, w_plain, rtol=0.0, atol=1e-13 if dtype == np.float64 else 1e-6)
    assert_allclose(q, q_plain, rtol=0.0, atol=1e-13 if dtype == np.float64 else 1e-6)


@scalar_kind
@both_signs
def test_first_epoch_on_rows_and_on_sparse_columns_is_that_of_the_plain_twin(kind, positive):
    model, A = random_model(kind, positive=positive, dtype=np.float64, seed=5)
    p, bound = model.penalty, np.diagonal(model.H).copy()
    w_plain, q_plain = model.w0.copy(), model.q.copy()
    plain_gram_cd(model.H, q_plain, w_plain, p, bound, 0.0, 1)
    w = model.w0.copy()
    assert rows_cd(A, M, model.q[None], w[None], p.ridge, p.starts, p.l1, p.norm, bound, positive, 0.0, 1) == 1
    assert_allclose(w, w_plain, rtol=0.0, atol=1e-13)
    columns, w = sp.csc_array(A.T), model.w0.copy()
    sparse_cd(
        columns.data, columns.indices, columns.indptr, N, np.zeros(M), 0.0, model.q, w, p.ridge, p.starts, p.l1,
        p.norm, bound, positive, 0.0, 1,
    )  # fmt: skip
    assert_allclose(w, w_plain, rtol=0.0, atol=1e-13)


@every_kind
@both_signs
def test_epochs_never_raise_the_model(kind, positive):
    model, A = random_model(kind, positive=positive, dtype=np.float64, seed=6)
    p, bound = model.penalty, block_norms(model.H, model.penalty)
    by_matrix, by_rows = [model.value(model.w0)], [model.value(model.w0)]
    for epochs in range(1, 25):
        w, q = model.w0.copy(), model.q.copy()
        gram_cd(model.H, M, q, w, p.starts, p.l1, p.norm, bound, positive, 0.0, epochs)
        by_matrix.append(model.value(w))
        w = model.w0.copy()
        rows_cd(A, M, model.q[None], w[None], p.ridge, p.starts, p.l1, p.norm, bound, positive, 0.0, epochs)
        by_rows.append(model.value(w))
    assert np.diff(by_matrix).max() <= 1e-12
    assert np.diff(by_rows).max() <= 1e-12


def test_coordinates_without_curvature_stay_where_they_are():
    H = np.diag([1.0, 0.0, 2.0])
    p = make_penalty("l1", positive=False, m=3)
    for run in ("compiled", "plain"):
        w, q = np.array([0.0, 0.7, 0.0]), np.array([-2.0, 5.0, -3.0])
        if run == "compiled":
            gram_cd(H, 3, q, w, p.starts, p.l1, p.norm, np.diagonal(H).copy(), False, 1e-12, 100)
        else:
            plain_gram_cd(H, q, w, p, np.diagonal(H).copy(), 1e-12, 100)
        assert w[1] == 0.7
        assert_allclose(w[[0, 2]], [2.0 - p.l1[0], (3.0 - p.l1[2]) / 2.0])


@every_kind
def test_penalty_value_is_that_of_the_criterion(kind):
    p = make_penalty(kind, positive=False, seed=7)
    w = np.random.default_rng(8).standard_normal(M)
    plain = Penalty(p.l1, np.zeros(M), p.norm, p.starts)
    assert_allclose(penalty_value(w, p.starts, p.l1, p.norm), plain.value(w), rtol=1e-13)


def test_extrapolation_is_the_affine_combination_of_least_residual():
    rng = np.random.default_rng(9)
    for _ in range(20):
        trail = np.cumsum(rng.standard_normal((6, 30)), axis=0)
        weights = np.empty(5)
        assert extrapolation(trail, weights)
        steps = np.diff(trail, axis=0)
        solved = np.linalg.solve(steps @ steps.T, np.ones(5))
        assert_allclose(weights, solved / solved.sum(), rtol=1e-8)
        assert_allclose(weights.sum(), 1.0, rtol=1e-12)
        mixed = np.empty(30)
        combine(trail, weights, mixed)
        assert_allclose(mixed, weights @ trail[1:], rtol=1e-12, atol=1e-12)


def test_extrapolation_refuses_a_trail_that_stands_still():
    assert not extrapolation(np.ones((6, 4)), np.empty(5))


def test_extrapolation_finds_the_limit_of_a_linear_recursion():
    rng = np.random.default_rng(10)
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    contraction = turn @ np.diag([0.9, 0.7, -0.5, 0.3, 0.95]) @ turn.T
    limit = rng.standard_normal(5)
    trail = np.empty((6, 5))
    trail[0] = 0.0
    for k in range(5):
        trail[k + 1] = limit + contraction @ (trail[k] - limit)
    weights, mixed = np.empty(5), np.empty(5)
    assert extrapolation(trail, weights)
    combine(trail, weights, mixed)
    assert np.linalg.norm(mixed - limit) < 0.2 * np.linalg.norm(trail[5] - limit)


def test_soft_threshold_and_group_scale_are_proximal_maps():
    grid = np.linspace(-4.0, 4.0, 400_001)
    for x, t, positive in [
        (1.7, 0.6, False),
        (-1.7, 0.6, False),
        (0.4, 0.6, False),
        (-1.7, 0.6, True),
        (1.7, 0.6, True),
    ]:
        value = 0.5 * (grid - x) ** 2 + t * np.abs(grid)
        value = np.where(grid < 0.0, np.inf, value) if positive else value
        assert_allclose(soft_threshold(x, t, positive), grid[np.argmin(value)], atol=3e-5)
    v = np.array([0.9, -1.2, 2.0, 99.0])
    for t in (0.0, 0.5, 2.0, 3.0):
        length = np.linalg.norm(v[:3])
        scales = np.linspace(0.0, 1.0, 100_001)
        value = 0.5 * (scales - 1.0) ** 2 * length**2 + t * scales * length
        assert_allclose(group_scale(v, 3, t), scales[np.argmin(value)], atol=1e-5)
    assert group_scale(np.zeros(3), 3, 0.1) == 0.0


def test_extrapolated_weights_are_allowed_only_if_finite_and_of_the_right_sign():
    fine = np.array([0.0, 1.0, 2.0])
    assert allowed(fine, True)
    assert allowed(-fine, False)
    assert not allowed(-fine, True)
    assert not allowed(np.array([0.0, np.nan]), False)
    assert not allowed(np.array([0.0, np.inf]), True)


@pytest.mark.parametrize("kinks", [0.0, 0.3, 3.0])
@both_signs
def test_search_over_kinks_finds_the_best_step_of_a_fine_grid(kinks, positive):
    pinned_somewhere = free_somewhere = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 8))
        w = rng.standard_normal(size)
        w = np.abs(w) if positive else w
        d = 2.0 * rng.standard_normal(size)
        kink = kinks * rng.random(size)
        linear, quadratic = 3.0 * rng.standard_normal(), rng.uniform(0.05, 3.0)

        def value(t, w=w, d=d, kink=kink, linear=linear, quadratic=quadratic):
            return linear * t + 0.5 * quadratic * t * t + kink @ np.abs(w[:, None] + d[:, None] * t)

        t, pinned = search_kinks(w, d, linear, quadratic, kink, positive=positive)
        furthest = 100.0
        if positive and (d < 0.0).any():
            furthest = (-w[d < 0.0] / d[d < 0.0]).min()
        grid = np.concatenate([np.linspace(0.0, furthest, 20001), -w[w * d < 0.0] / d[w * d < 0.0]])
        grid = grid[grid <= furthest]
        assert 0.0 <= t <= furthest * (1.0 + 1e-12)
        assert value(np.array([t]))[0] <= value(grid).min() + 1e-9
        if pinned >= 0:
            pinned_somewhere += 1
            assert abs(w[pinned] + t * d[pinned]) < 1e-12
        else:
            free_somewhere += 1
    assert free_somewhere > 0
    assert pinned_somewhere > 0 or (kinks == 0.0 and not positive)


def test_search_over_kinks_stays_where_nothing_is_gained():
    assert search_kinks(np.ones(2), np.ones(2), 0.5, 1.0, np.full(2, 0.1), positive=False) == (0.0, -1)


def test_weights_of_zero_and_no_groups_are_legal():
    w, q = np.empty(0), np.empty(0)
    minimize_gram(np.empty((0, 0)), q, w, make_penalty("l1", positive=False, m=0), 1e-9, compiled=True)
    assert_array_equal(w, np.empty(0))
