"""Fisher's score, the smallest sphere and the radius-margin bound."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest

from skgraft import R2W2Selector, fisher_score
from skgraft.matrix import make_columns
from skgraft.ranking import sphere
from skgraft.ranking.kernels import Gaussian, Polynomial
from skgraft.ranking.radius_margin import RadiusMargin
from skgraft.ranking.sphere import RowSphere, smallest_sphere
from skgraft.svm.design import make_design
from skgraft.svm.dual import class_bands


def two_classes(seed, m, n):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    return X, (X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(m) > 0).astype(int)


def test_the_score_is_its_formula():
    X, y = two_classes(0, 50, 6)
    P, N = X[y == 1], X[y == 0]
    expected = (P.mean(0) - N.mean(0)) ** 2 / (P.var(0) + N.var(0))
    assert_allclose(fisher_score(X, y), expected)
    assert_allclose(fisher_score(sparse.csr_array(X), y), expected)
    assert_allclose(fisher_score(X.astype(np.float32), y), expected, rtol=1e-4)
    assert_allclose(fisher_score(X * 1e3 + 1e9, y), expected, rtol=1e-3)


def test_weights_are_repetitions():
    X, y = two_classes(1, 40, 5)
    times = np.random.default_rng(0).integers(0, 3, 40)
    assert_allclose(fisher_score(X, y, times), fisher_score(np.repeat(X, times, axis=0), np.repeat(y, times)))


def test_pairs_of_classes_add_up():
    X, y = load_iris(return_X_y=True)
    pairs = [(0, 1), (0, 2), (1, 2)]
    expected = sum(fisher_score(X[np.isin(y, pair)], y[np.isin(y, pair)]) for pair in pairs)
    assert_allclose(fisher_score(X, y), expected)


def test_columns_without_variance_have_a_score():
    X = np.array([[1.0, 5.0], [1.0, 5.0], [2.0, 5.0], [2.0, 5.0]])
    y = [0, 0, 1, 1]
    assert_array_equal(fisher_score(X, y), [np.inf, 0.0])
    assert_array_equal(SelectKBest(fisher_score, k=1).fit(X, y).get_support(), [True, False])
    with pytest.raises(ValueError, match="one class only"):
        fisher_score(X, [1, 1, 1, 1])


@pytest.mark.parametrize("pivots", [10, 0])
@pytest.mark.parametrize("seed", range(3))
def test_the_sphere_holds_all_points_and_touches_those_that_carry_it(monkeypatch, seed, pivots):
    monkeypatch.setattr(sphere, "PIVOTS", pivots)
    X = np.random.default_rng(seed).standard_normal((30, 3)) + 5.0
    squared_radius, gamma = smallest_sphere(X @ X.T)
    centre = gamma @ X
    distance = ((X - centre) ** 2).sum(axis=1)
    assert distance.max() <= squared_radius * (1.0 + 1e-6)
    assert_allclose(distance[gamma > 1e-9], squared_radius, rtol=1e-5)
    assert_allclose(gamma.sum(), 1.0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_sphere_of_many_rows_is_that_of_their_gram_matrix(form):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) + 1.0
    by_rows = RowSphere(form(X))
    for _ in range(3):
        scale = rng.uniform(0.1, 2.0, 5)
        squared_radius, gamma = by_rows.solve(scale)
        assert_allclose(squared_radius, smallest_sphere((X * scale) @ X.T)[0], rtol=1e-6)
        assert ((X - gamma @ X) ** 2 @ scale).max() <= squared_radius * (1.0 + 1e-6)


@pytest.mark.parametrize("kernel", [None, Polynomial(2, 0.05, 1.0), Gaussian(0.03)])
@pytest.mark.parametrize(("rows", "C"), [(20, np.inf), (20, 1.0), (150, 1.0)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_gradient_of_the_bound_is_right(form, rows, C, kernel):
    X, y = two_classes(2, rows, 30)
    design = make_design(make_columns(form(X), np.full(rows, 1.0 / rows), center=True, standardize=True))
    bound = RadiusMargin(design, [class_bands(np.where(y == 1, 1.0, -1.0), ridge=0.5 / C)], 1e-9, kernel=kernel)
    here = np.random.default_rng(0).uniform(-2.0, 0.0, 30)
    assert_allclose(bound(here)[1], approx_fprime(here, lambda t: bound(t)[0], 1e-6), atol=1e-5)


def bound_of(X, y, C, subset):
    part = make_columns(X[:, list(subset)], np.full(y.size, 1.0 / y.size), center=True, standardize=True)
    bands = [class_bands(np.where(y, 1.0, -1.0), ridge=0.5 / C)]
    return RadiusMargin(make_design(part), bands, 1e-6, 0.5 / C)(np.zeros(len(subset)))[0]


@pytest.mark.parametrize("seed", range(2))
def test_overlapping_classes_do_not_hide_the_relevant_features(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((600, 50))
    y = X[:, 0] + X[:, 1] + rng.standard_normal(600) > 0.0
    selector = R2W2Selector(n_features_to_select=2).fit(X, y)
    assert set(selector.order_.tolist()) == {0, 1}
    assert selector.certificate_.converged
    assert {0, 1} <= set(R2W2Selector(n_features_to_select=10).fit(X, y).order_.tolist())


@pytest.mark.parametrize("seed", range(4))
def test_no_other_subset_has_a_lower_bound_where_classes_overlap(seed):
    rng = np.random.default_rng(seed)
    mixing = np.eye(7) + 0.3 * rng.standard_normal((7, 7))
    X = rng.standard_normal((150, 7)) @ mixing
    y = X[:, 0] + X[:, 1] + rng.choice([0.3, 1.0, 2.0]) * rng.standard_normal(150) > 0.0
    selector = R2W2Selector(n_features_to_select=2, C=10.0).fit(X, y)
    found = bound_of(X, y, 10.0, np.flatnonzero(selector.support_))
    assert found <= min(bound_of(X, y, 10.0, pair) for pair in combinations(range(7), 2)) + 1e-6


@pytest.mark.parametrize("seed", range(10))
def test_a_half_that_does_not_separate_is_widened(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 16))
    y = X[:, :9].sum(axis=1) > 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector = R2W2Selector(n_features_to_select=9, C=np.inf).fit(X, y)
    assert selector.support_.sum() == 9
    assert selector.certificate_.converged
    assert selector.score(X, y) == 1.0
    with pytest.warns(ConvergenceWarning, match="2 selected features do not separate"):
        few = R2W2Selector(n_features_to_select=2, C=np.inf).fit(X, y)
    assert few.support_.sum() == 2


@pytest.mark.parametrize(
    ("kernel", "product"), [("poly", True), ("rbf", False)], ids=["sign of a product", "inside a circle"]
)
def test_kernels_find_features_that_no_linear_machine_needs(kernel, product):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 12))
    y = X[:, 0] * X[:, 1] > 0.0 if product else X[:, 0] ** 2 + X[:, 1] ** 2 < 1.4
    form = {"n_features_to_select": 2, "kernel": kernel, "degree": 2}
    selector = R2W2Selector(C=100.0, **form).fit(X, y)
    assert set(selector.order_.tolist()) == {0, 1}
    assert selector.score(X, y) > 0.9


def test_progress_is_told_and_may_end_the_descents():
    X, y = two_classes(3, 40, 60)
    told = []
    selector = R2W2Selector(n_features_to_select=2, callback=lambda record: told.append(record) or len(told) == 2)
    selector.fit(X, y)
    assert [record.n_selected for record in told] == [60, 30]
    assert selector.support_.sum() == 2
    assert not selector.certificate_.converged


def test_the_bound_falls_and_the_right_features_stay():
    X, y = two_classes(3, 40, 60)
    selector = R2W2Selector(n_features_to_select=2, C=np.inf).fit(X, y)
    assert set(selector.order_) == {0, 1}
    assert selector.scale_[selector.support_].max() == 1.0
    assert_array_equal(selector.history_.column("n_selected")[:2], [60, 30])
    once = R2W2Selector(n_features_to_select=2, halving=False).fit(X, y)
    assert len(once.history_) == 1
    assert once.support_.sum() == 2


def test_only_ratios_of_scales_count():
    X, y = two_classes(5, 60, 4)
    design = make_design(make_columns(X, np.full(60, 1.0 / 60.0), center=True, standardize=True))
    bound = RadiusMargin(design, [class_bands(np.where(y == 1, 1.0, -1.0), ridge=0.5)], 1e-9)
    here = np.array([0.0, -0.5, -1.0, -0.2])
    assert_allclose(bound(here - 2.0)[0], bound(here)[0])
    assert abs(bound(here)[1].sum()) <= 1e-9


def test_a_hard_margin_on_inseparable_classes_is_refused_with_the_remedy():
    X, y = two_classes(4, 80, 2)
    with pytest.raises(ValueError, match="Set a finite C"):
        R2W2Selector(C=np.inf).fit(X, y)


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_never_prefers_a_constant_to_what_decides(seed):
    rng = np.random.default_rng(seed)
    X = np.c_[np.ones(60), rng.standard_normal((60, 12))]
    y = X[:, 1] + X[:, 2] > 0
    model = R2W2Selector(n_features_to_select=2, C=1e4).fit(X, y)
    assert set(model.order_.tolist()) == {1, 2}
    everything = R2W2Selector(n_features_to_select=13, C=1e4).fit(X, y)
    assert everything.order_[-1] == 0
