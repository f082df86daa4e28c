"""Concave minimisation by successive linear programs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from skgraft import FSVClassifier
from skgraft.svm.margins import all_pairs, one_against_rest, two_classes

from .full_program import solve_full, standardized


def problem(seed=0, n_rows=50, n_features=80, n_classes=2, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(1.0, 2.0, size=(n_rows, n_features))
    score = X[:, 0] - X[:, 3] + noise * rng.normal(size=n_rows)
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def sizes(model, X):
    return np.abs(model.coef_ * X.std(axis=0)).sum(axis=0)


def margins_of(model, y):
    if model.coef_.shape[0] == 1:
        return two_classes(np.where(y == 1, 1.0, -1.0))
    return all_pairs(y, 3) if model.multi_class == "joint" else one_against_rest(y[:, None] == np.arange(3))


KINDS = [(2, "ovr"), (3, "ovr"), (3, "joint")]


@pytest.mark.parametrize(("n_classes", "multi_class"), KINDS)
@pytest.mark.parametrize("C", [0.5, np.inf])
def test_the_criterion_never_rises_and_is_that_of_the_formula(n_classes, multi_class, C):
    X, y = problem(n_classes=n_classes)
    model = FSVClassifier(C=C, multi_class=multi_class, retrain=False).fit(X, y)
    objective = model.history_.column("objective")
    assert len(objective) > 2
    assert (np.diff(objective) <= 1e-9 * objective[1:]).all()
    scores = model.decision_function(X).reshape(50, -1)
    loss = 0.0 if np.isinf(C) else C * margins_of(model, y).slack(scores).sum()
    assert_allclose(model.objective_, (1.0 - np.exp(-5.0 * sizes(model, X))).sum() + loss, rtol=1e-7)
    assert model.certificate_.converged
    assert model.certificate_.duality_gap is None


@pytest.mark.parametrize(("n_classes", "multi_class"), KINDS)
def test_where_rounds_end_no_linear_program_leads_further(n_classes, multi_class):
    """The optimality condition of Bradley and Mangasarian: the tangent's minimum is the point itself."""
    X, y = problem(seed=1, n_classes=n_classes)
    model = FSVClassifier(C=1.0, multi_class=multi_class, retrain=False).fit(X, y)
    v, margins = sizes(model, X), margins_of(model, y)
    cost = 5.0 * np.maximum(np.exp(-5.0 * v), 1e-12)
    value = cost @ v + margins.slack(model.decision_function(X).reshape(50, -1)).sum()
    best = solve_full(standardized(X), margins, np.ones(margins.size), cost)
    assert value <= best + 1e-8 * model.objective_  # to which rounds settle


def test_the_first_round_is_the_machine_with_an_l1_norm():
    X, y = problem(seed=2)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        model = FSVClassifier(C=0.3, max_iter=1, retrain=False).fit(X, y)
    sign = np.where(y == 1, 1.0, -1.0)
    value = 5.0 * sizes(model, X).sum() + 0.3 * np.maximum(0.0, 1.0 - sign * model.decision_function(X)).sum()
    expected = solve_full(standardized(X), two_classes(sign), np.full(50, 0.3), np.full(80, 5.0))
    assert_allclose(value, expected, rtol=1e-8)


def test_few_features_that_separate():
    X, y = problem(seed=3, noise=0.0)
    model = FSVClassifier(C=np.inf).fit(X, y)
    assert_array_equal(np.flatnonzero(model.support_), [0, 3])
    assert model.score(X, y) == 1.0
    left = model.history_.column("n_selected")
    assert left[-1] == 2
    assert left[0] > 2


def test_a_rising_alpha_drops_features_that_a_low_one_keeps():
    X, y = problem(seed=4)
    low = FSVClassifier(alpha=0.5, C=np.inf).fit(X, y)
    raised = FSVClassifier(alpha=0.5, raise_alpha=True, C=np.inf).fit(X, y)
    assert raised.alpha_ > low.alpha_ == 0.5
    assert raised.support_.sum() < low.support_.sum()
    assert raised.score(X, y) == 1.0


@pytest.mark.parametrize("r", [1, 4, 25, 80])
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_exactly_as_many_features_as_asked_for(r, C):
    X, y = problem(seed=5)
    if r == 1 and np.isinf(C):
        with pytest.warns(ConvergenceWarning, match="do not separate"):
            model = FSVClassifier(n_features_to_select=r, C=C).fit(X, y)
    else:
        model = FSVClassifier(n_features_to_select=r, C=C).fit(X, y)
    assert model.support_.sum() == r == model.order_.size == model.transform(X).shape[1]
    assert not model.coef_[:, ~model.support_].any()
    assert_array_equal(np.sort(model.order_), np.flatnonzero(model.support_))


def test_retraining_is_the_machine_with_an_l1_norm_on_the_chosen_features():
    X, y = problem(seed=6)
    model = FSVClassifier(n_features_to_select=5, C=0.7).fit(X, y)
    sign = np.where(y == 1, 1.0, -1.0)
    value = sizes(model, X).sum() + 0.7 * np.maximum(0.0, 1.0 - sign * model.decision_function(X)).sum()
    part = standardized(X)[:, model.support_]
    assert_allclose(value, solve_full(part, two_classes(sign), np.full(50, 0.7), np.ones(5)), rtol=1e-8)


def test_mistakes_are_named():
    X, y = problem(seed=7, n_rows=80, n_features=4, noise=2.0)
    with pytest.raises(ValueError, match=r"no hyperplane separates the classes.*finite"):
        FSVClassifier(C=np.inf).fit(X, y)
    with pytest.raises(ValueError, match="X has 4 features"):
        FSVClassifier(n_features_to_select=5).fit(X, y)
    with pytest.raises(ValueError, match="alpha"):
        FSVClassifier(alpha=0.0).fit(X, y)
    with pytest.raises(ValueError, match="C"):
        FSVClassifier(C=0.0).fit(X, y)


def test_sparse_input_chooses_what_dense_input_does():
    X, y = problem(seed=8)
    X[np.random.default_rng(0).random(X.shape) < 0.5] = 0.0
    for C in (1.0, np.inf):
        dense, sparse = FSVClassifier(C=C).fit(X, y), FSVClassifier(C=C).fit(sp.csc_array(X), y)
        assert_array_equal(sparse.support_, dense.support_)
        assert_allclose(sparse.coef_, dense.coef_, atol=1e-8)
        assert_allclose(sparse.intercept_, dense.intercept_, atol=1e-8)


def test_weights_equal_repetitions():
    X, y = problem(seed=9)
    s = np.random.default_rng(0).integers(0, 4, 50)
    weighted, repeated = FSVClassifier().fit(X, y, sample_weight=s), FSVClassifier().fit(X.repeat(s, 0), y.repeat(s))
    assert_array_equal(weighted.support_, repeated.support_)
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)


def test_of_copies_one_survives_and_constants_do_not():
    X, y = problem(seed=10)
    alone = FSVClassifier(C=np.inf).fit(X, y)
    model = FSVClassifier(C=np.inf).fit(np.column_stack([X, X[:, 0], -X[:, 3], np.full(50, 2.0)]), y)
    assert model.support_[[0, 80]].sum() <= 1
    assert model.support_[[3, 81]].sum() <= 1
    assert model.support_.sum() == alone.support_.sum()
    assert not model.support_[82]


def test_two_rows_of_any_labels_are_enough():
    model = FSVClassifier(C=np.inf).fit([[0.0, 1e9, 1.0], [1.0, 3e9, 1.0]], ["x", "y"])
    assert model.support_.sum() == 1
    assert_array_equal(model.predict([[0.0, 1e9, 1.0], [1.0, 3e9, 1.0]]), ["x", "y"])


def test_a_callback_ends_the_rounds():
    X, y = problem(seed=11)
    model = FSVClassifier(callback=lambda record: record.step == 2).fit(X, y)
    assert model.n_iter_ == 2
    assert not model.certificate_.converged
