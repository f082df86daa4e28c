"""AROM: what the rounds promise, in all their forms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from skgraft import AROMClassifier, AROMRegressor
from skgraft.svm.dual import class_bands, solve_bands
from skgraft.zeronorm.rounds import ZERO, feature_size, largest, nonzero


def separable(seed=0, m=40, n=200, k=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    y = (X[:, :k].sum(axis=1) > 0).astype(int)
    return X, y


def noisy(seed=0, m=300, n=20):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    return X, (X[:, 0] - X[:, 1] + 0.7 * rng.standard_normal(m) > 0).astype(int)


FORMS = [{"C": np.inf}, {"C": np.inf, "norm": "l1"}, {}, {"errors": "zero"}, {"retrain": False}]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_separable_classes_are_separated_by_few_features(form):
    X, y = separable()
    model = AROMClassifier(**form).fit(X, y)
    soft = "errors" not in form and "C" not in form
    assert model.score(X, y) >= (0.95 if soft else 1.0)
    assert model.support_.sum() <= 8
    assert {0, 1, 2} & set(model.order_)
    assert model.certificate_.converged
    assert_array_equal(model.support_, (model.coef_ != 0.0).any(axis=0))


def test_a_hard_margin_gives_every_row_its_margin():
    X, y = separable()
    model = AROMClassifier(C=np.inf).fit(X, y)
    margin = np.where(y == 1, 1.0, -1.0) * model.decision_function(X)
    assert margin.min() >= 1.0 - 1e-5


@pytest.mark.parametrize("C", [np.inf, 100.0])
def test_the_log_criterion_never_rises(C):
    X, y = separable(3)
    objective = AROMClassifier(C=C, retrain=False).fit(X, y).history_.column("objective")
    lengthened = 0 if np.isinf(C) else 6  # scales are not those of the criterion while they are lengthened
    assert (np.diff(objective)[lengthened:] <= 1e-6 * np.abs(objective).max()).all()


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_norm_and_count_of_errors_never_rise_together(norm):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 4))
    y = (X[:, 0] + 0.8 * rng.standard_normal(60) > 0).astype(int)
    model = AROMClassifier(norm=norm, minimise="errors", C=1.0).fit(X, y)
    objective = model.history_.column("objective")
    assert len(objective) > 2
    assert (np.diff(objective) <= 1e-6 * np.abs(objective).max()).all()
    assert objective[-1] < objective[0]


@pytest.mark.parametrize("form", [*FORMS, {"multi_class": "ovr"}, {"multi_class": "naive"}], ids=str)
@pytest.mark.parametrize("r", [1, 4, 150])
def test_exactly_as_many_features_are_selected_as_asked_for(form, r):
    X, y = separable()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = AROMClassifier(n_features_to_select=r, **form).fit(X, y)
    assert model.support_.sum() == r
    assert sorted(model.order_) == list(np.flatnonzero(model.support_))


def test_the_features_are_those_of_rounds_written_out():
    X, y = separable(1, m=20, n=60)
    r = 12
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    sign = np.where(y == 1, 1.0, -1.0)
    z, before = np.ones(60), None
    for _ in range(30):
        K = (Z * z**2) @ Z.T
        v = z**2 * (Z.T @ solve_bands(K, class_bands(sign)).beta)
        size = np.abs(v)
        left = np.flatnonzero(size > ZERO * size.max())
        if left.size <= r:
            chosen = left if left.size == r else np.argsort(-before)[:r]
            break
        z = before = np.where(size > ZERO * size.max(), size, 0.0)
    model = AROMClassifier(C=np.inf, n_features_to_select=r).fit(X, y)
    assert_array_equal(np.sort(chosen), np.flatnonzero(model.support_))


def test_retraining_is_a_machine_on_the_chosen_features_alone():
    X, y = noisy()
    model = AROMClassifier(n_features_to_select=3, C=0.3).fit(X, y)
    alone = AROMClassifier(n_features_to_select=3, C=0.3).fit(X[:, model.support_], y)
    assert_allclose(alone.coef_[0], model.coef_[0, model.support_], rtol=1e-5)
    assert_allclose(alone.intercept_, model.intercept_, rtol=1e-5, atol=1e-7)


def test_inseparable_classes_and_a_hard_margin_are_refused_with_the_remedy():
    X, y = noisy()
    for form in ({}, {"norm": "l1"}):
        with pytest.raises(ValueError, match="Set a finite C"):
            AROMClassifier(C=np.inf, **form).fit(X, y)
    X, y = load_iris(return_X_y=True)
    for kind in ("joint", "ovr"):
        with pytest.raises(ValueError, match="Set a finite C"):
            AROMClassifier(C=np.inf, multi_class=kind).fit(X, y)
    with pytest.raises(ValueError, match="larger epsilon"):
        AROMRegressor(C=np.inf, epsilon=0.01).fit(*noisy())


def test_chosen_features_that_no_longer_separate_are_said_to():
    X, y = separable()
    with pytest.warns(ConvergenceWarning, match="do not separate"):
        model = AROMClassifier(C=np.inf, n_features_to_select=1).fit(X, y)
    assert np.isfinite(model.coef_).all()


def test_errors_of_zero_norm_leave_fewer_rows_with_slack():
    X, y = noisy(2)
    sign = np.where(y == 1, 1.0, -1.0)

    def with_slack(model):
        return int((sign * model.decision_function(X) < 1.0 - 5e-3).sum())

    ridge = AROMClassifier(retrain=False).fit(X, y)
    zero = AROMClassifier(errors="zero", retrain=False).fit(X, y)
    assert with_slack(zero) < with_slack(ridge)


def test_minimising_errors_keeps_all_features_and_makes_fewer_errors():
    X, y = noisy(5, m=120, n=6)
    plain = AROMClassifier(n_features_to_select=6).fit(X, y)
    fewest = AROMClassifier(minimise="errors").fit(X, y)
    assert fewest.support_.all()
    assert fewest.score(X, y) >= plain.score(X, y)
    assert fewest.certificate_.converged


def test_of_copies_one_survives():
    X, y = separable(4)
    X[:, 50], X[:, 60] = X[:, 0], -3.0 * X[:, 1] + 2.0
    for form in ({"C": np.inf}, {}, {"n_features_to_select": 4}, {"C": np.inf, "norm": "l1"}):
        support = AROMClassifier(**form).fit(X, y).support_
        assert not support[50] or not support[0]
        assert not support[60] or not support[1]


def test_constant_and_huge_columns_do_no_harm():
    X, y = separable(6, n=30)
    expected = AROMClassifier(n_features_to_select=3).fit(X, y)
    X = X.copy()
    X[:, 29] = 7.0
    X[:, 0] = 1e9 * X[:, 0] + 1e12
    model = AROMClassifier(n_features_to_select=3).fit(X, y)
    assert_array_equal(model.support_, expected.support_)
    assert_allclose(model.decision_function(X), expected.decision_function(separable(6, n=30)[0]), atol=1e-3)


def test_two_rows_suffice():
    model = AROMClassifier(C=np.inf).fit([[0.0, 1.0, 5.0], [1.0, 3.0, 5.0]], ["no", "yes"])
    assert list(model.predict([[0.0, 1.0, 5.0], [1.0, 3.0, 5.0]])) == ["no", "yes"]
    three = AROMClassifier(C=np.inf).fit(np.eye(3), [False, True, True])
    assert three.score(np.eye(3), [False, True, True]) == 1.0


@pytest.mark.parametrize("kind", ["joint", "ovr", "naive"])
@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_many_classes_share_their_features(kind, norm):
    X, y = load_wine(return_X_y=True)
    X = np.hstack([X, np.random.default_rng(0).standard_normal((178, 30))])
    model = AROMClassifier(multi_class=kind, norm=norm, n_features_to_select=6, C=10.0).fit(X, y)
    assert model.coef_.shape == (3, 43)
    assert model.support_.sum() == 6
    assert model.support_[13:].sum() == 0
    assert model.score(X, y) > 0.95


def test_one_row_for_each_class_is_enough_for_the_joint_machine():
    X = np.eye(4)
    y = list("abcd")
    for kind in ("joint", "ovr"):
        assert AROMClassifier(C=np.inf, multi_class=kind).fit(X, y).score(X, y) == 1.0


def test_a_class_without_weight_is_never_predicted():
    X, y = load_iris(return_X_y=True)
    for kind in ("joint", "ovr"):
        model = AROMClassifier(multi_class=kind).fit(X, y, sample_weight=(y != 1).astype(float))
        assert set(model.predict(X)) == {0, 2}


@pytest.mark.parametrize("form", [{}, {"multi_class": "ovr"}, {"norm": "l1"}, {"C": np.inf, "n_features_to_select": 9}])
def test_sparse_input_gives_the_model_of_dense_input(form):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((400, 25)) < 0.3, rng.random((400, 25)), 0.0)
    y = np.digitize(X[:, 0] - X[:, 1] + 0.5 * X[:, 2], [-0.1, 0.1])
    if np.isinf(form.get("C", 1.0)):
        X, y = X[:20], y[:20] > 0
    dense = AROMClassifier(**form).fit(X, y)
    for kind in (sparse.csr_array, sparse.csc_matrix):
        other = AROMClassifier(**form).fit(kind(X), y)
        assert_array_equal(other.support_, dense.support_)
        assert_allclose(other.coef_, dense.coef_, atol=1e-4 * np.abs(dense.coef_).max())
        assert_allclose(other.decision_function(kind(X)), dense.decision_function(X), atol=2e-3)


def test_weights_are_repetitions():
    X, y = noisy(8, m=60)
    times = np.random.default_rng(0).integers(0, 3, 60)
    for form in ({}, {"errors": "zero"}, {"norm": "l1"}):
        weighted = AROMClassifier(**form).fit(X, y, sample_weight=times)
        repeated = AROMClassifier(**form).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        assert_array_equal(weighted.support_, repeated.support_)
        assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_regression_finds_the_features_of_the_target(norm):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 200))
    y = 1e3 * (2.0 * X[:, 3] - X[:, 7]) + 5e4 + rng.standard_normal(80)
    model = AROMRegressor(norm=norm, epsilon=10.0, C=10.0).fit(X, y)
    assert_array_equal(np.sort(model.order_)[:2], [3, 7])
    assert set(model.order_[:2]) == {3, 7}
    assert model.score(X, y) > 0.999
    assert model.coef_.shape == (200,)
    two = AROMRegressor(norm=norm, epsilon=10.0, n_features_to_select=2).fit(X, y)
    assert set(two.order_) == {3, 7}


def test_a_hard_tube_holds_every_target():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 80))
    y = X[:, 0] + 0.1 * rng.standard_normal(30)
    model = AROMRegressor(C=np.inf, epsilon=0.2).fit(X, y)
    assert np.abs(y - model.predict(X)).max() <= 0.2 + 1e-5
    assert model.support_.sum() < 30


def test_targets_in_other_units_give_the_same_features():
    X, _ = noisy(3)
    y = X[:, 0] + 0.5 * X[:, 4]
    model = AROMRegressor(epsilon=0.1).fit(X, y)
    other = AROMRegressor(epsilon=1e5).fit(X, 1e6 * y + 3e6)
    assert_array_equal(other.support_, model.support_)
    assert_allclose(other.coef_, 1e6 * model.coef_, rtol=1e-5, atol=1e-3)


def test_the_callback_sees_each_round_and_may_stop():
    X, y = separable()
    seen = []

    def third(record):
        seen.append(record.n_selected)
        return len(seen) == 3

    model = AROMClassifier(callback=third).fit(X, y)
    assert len(model.history_) == 3
    assert not model.certificate_.converged
    assert list(model.history_.column("n_selected")) == seen
    assert model.support_.sum() == seen[-1]


def test_too_few_rounds_are_warned_of():
    X, y = separable()
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        AROMClassifier(max_iter=2).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_features_to_select": 21}, "n_features_to_select is 21, but X has 20 features"),
        ({"minimise": "errors", "n_features_to_select": 3}, "leave it at None"),
        ({"minimise": "errors", "C": np.inf}, "set a finite C"),
        ({"C": 0.0}, "'C' parameter"),
        ({"multi_class": "pairs"}, "'multi_class' parameter"),
        ({"class_weight": {0: -1.0, 1: 1.0}}, "class_weight gives class"),
    ],
)
def test_mistakes_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        AROMClassifier(**parameters).fit(*noisy())


def test_zero_is_what_the_threshold_says():
    size = np.array([1.0, 0.9 * ZERO, 2.0 * ZERO, 0.0])
    assert_array_equal(nonzero(size), [True, False, True, False])
    assert not nonzero(np.zeros(3)).any()
    assert_array_equal(largest(np.array([1.0, 3.0, 3.0]), 2), [1, 2])
    assert_array_equal(feature_size(np.array([[1.0, -2.0], [-3.0, 0.0]])), [4.0, 2.0])
