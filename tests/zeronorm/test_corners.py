"""Targets and features without variation, and numbers at the ends of their range."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgraft import AROMRegressor, KernelAROMClassifier, R2W2Selector


def rows(n_features=6):
    return np.random.default_rng(0).normal(size=(40, n_features))


@pytest.mark.parametrize("value", [0.0, 1e-300, 1e-8, 1 / 3, 1e9])
@pytest.mark.parametrize("form", [{}, {"epsilon": 0.0}, {"errors": "zero"}, {"n_features_to_select": 2}], ids=str)
@pytest.mark.parametrize("C", [1.0, np.inf])
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_a_constant_target_needs_no_weight(value, form, C, norm):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AROMRegressor(norm=norm, C=C, **form).fit(rows(), np.full(40, value))
    assert not model.coef_.any()
    assert model.certificate_.converged
    assert model.support_.sum() == form.get("n_features_to_select", 0)
    assert_allclose(model.intercept_, value, rtol=1e-9, atol=1e-12)
    assert np.abs(model.predict(rows()) - value).max() <= model.epsilon * (1.0 + 1e-9) + 1e-12 * value


def test_targets_within_the_tube_of_a_constant_need_no_weight():
    y = np.random.default_rng(1).uniform(-0.04, 0.04, 40)
    model = AROMRegressor(C=np.inf, epsilon=0.05).fit(rows(), y)
    assert not model.coef_.any()
    assert np.abs(y - model.intercept_).max() <= 0.05


@pytest.mark.parametrize("seed", range(3))
def test_of_intercepts_that_are_as_good_the_middle_is_taken(seed):
    """Without features any b between the kinks next to the median is: a rounding error must not choose."""
    y = np.random.default_rng(seed).normal(size=20)
    model = AROMRegressor(norm="l1", C=1e-3, epsilon=0.1).fit(rows()[:20], y)
    assert not model.coef_.any()
    kinks = np.sort(np.concatenate([y - 0.1, y + 0.1]))
    loss = np.maximum(np.abs(y[:, None] - kinks) - 0.1, 0.0).sum(axis=0)
    best = kinks[loss <= loss.min() + 1e-9]
    assert np.ptp(best) > 0.0
    assert_allclose(model.intercept_, 0.5 * (best[0] + best[-1]), atol=1e-9)


@pytest.mark.parametrize("size", [1e150, 1e-150])
@pytest.mark.parametrize("implementation", ["explicit", "span"])
def test_monomials_that_no_float_can_hold_are_refused_by_column(size, implementation):
    X = rows()
    X[:, 4] *= 2.0
    model = KernelAROMClassifier(3, standardize=False, implementation=implementation)
    with pytest.raises(ValueError, match=r"column 4 of X .*degree 3.*standardize=True"):
        model.fit(size * X, X[:, 0] > 0.0)


@pytest.mark.parametrize("size", [1e40, 1e-12, 1e-40])
def test_the_unit_of_the_features_does_not_decide_which_are_constant(size):
    """Three digits of 270 are left: monomials of degree 3 of numbers around 1e40 can still be squared."""
    X = rows()
    model = KernelAROMClassifier(3, standardize=False, C=np.inf if size > 1.0 else 1.0).fit(size * X, X[:, 0] > 0.0)
    assert model.support_.any()


def test_a_column_twice_as_long_is_no_copy_where_nothing_is_standardised():
    X = rows(3)
    y = X[:, 0] > 0.0
    X = np.column_stack([X, 2.0 * X[:, 0], -X[:, 0]])
    assert_array_equal(KernelAROMClassifier(1, standardize=False).fit(X, y)._used, [0, 1, 2, 3])
    assert_array_equal(KernelAROMClassifier(1).fit(X, y)._used, [0, 1, 2])


CONSTANT = np.ones((40, 3)) * np.array([0.0, 1.0, 5.0])
CLASSES = np.arange(40) % 2


@pytest.mark.parametrize("implementation", ["explicit", "span"])
@pytest.mark.parametrize("standardize", [True, False])
def test_constant_features_leave_a_polynomial_without_monomials(implementation, standardize):
    model = KernelAROMClassifier(2, implementation=implementation, standardize=standardize).fit(CONSTANT, CLASSES)
    assert not model.support_.any()
    assert_allclose(model.decision_function(CONSTANT), 0.0, atol=1e-12)
    assert model.certificate_.converged
    with pytest.raises(ValueError, match="no polynomial of degree 2 separates"):
        KernelAROMClassifier(2, C=np.inf, implementation=implementation).fit(CONSTANT, CLASSES)


@pytest.mark.parametrize("X", [CONSTANT, np.zeros((40, 30))], ids=["ones", "zeros"])
def test_constant_features_are_as_good_as_each_other_to_the_radius_margin_bound(X):
    model = R2W2Selector(n_features_to_select=2).fit(X, CLASSES)
    assert model.support_.sum() == 2
    assert not model.coef_.any()
    with pytest.raises(ValueError, match="Set a finite C"):
        R2W2Selector(C=np.inf).fit(X, CLASSES)
