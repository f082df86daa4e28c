"""Recursive feature elimination: the ranking of scikit-learn's, in all ways to take steps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from skgraft import RFESelector
from skgraft.ranking import elimination
from skgraft.ranking.elimination import how_many
from skgraft.svm import one_by_one


def data(seed=0, m=40, n=60):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, (X[:, :3].sum(axis=1) + rng.standard_normal(m) > 0).astype(int)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_ranking_is_that_of_scikit_learn(monkeypatch, compiled, C):
    monkeypatch.setattr(elimination, "COMPILED_CELLS", 0 if compiled else 10**9)
    X, y = data()
    peer = RFE(SVC(kernel="linear", C=C, tol=1e-9), n_features_to_select=1, step=1).fit(X, y)
    selector = RFESelector(n_features_to_select=1, C=C).fit(X, y)
    assert_array_equal(selector.ranking_, peer.ranking_)
    assert_array_equal(selector.history_.column("n_selected"), np.arange(59, 0, -1))


@pytest.mark.parametrize("step", [7, 0.2, 0.5, "half"])
def test_steps_may_be_numbers_or_shares(step):
    X, y = data(1)
    selector = RFESelector(n_features_to_select=5, step=step).fit(X, y)
    assert selector.support_.sum() == 5
    left = [60, *selector.history_.column("n_selected")]
    share = 0.5 if step == "half" else step
    for before, after in pairwise(left):
        assert before - after == how_many(before, 5, share)
    assert_array_equal(selector.support_, selector.ranking_ == 1)


def test_many_classes_add_up_their_squared_weights(monkeypatch):
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    alive, ranks = list(range(13)), np.ones(13, dtype=int)
    while len(alive) > 2:
        square = sum(SVC(kernel="linear", tol=1e-8).fit(X[:, alive], y == k).coef_[0] ** 2 for k in range(3))
        ranks[alive.pop(int(np.argmin(square)))] = len(alive) - 1
    for cells in (0, 10**9):
        monkeypatch.setattr(elimination, "COMPILED_CELLS", cells)
        selector = RFESelector(n_features_to_select=2).fit(X, y)
        assert_array_equal(selector.ranking_[selector.ranking_ > 1], ranks[ranks > 1])
        assert selector.coef_.shape == (3, 13)


def test_the_last_machine_is_that_of_the_features_left():
    X, y = data(2)
    selector = RFESelector(n_features_to_select=4, C=0.5).fit(X, y)
    peer = SVC(kernel="linear", C=0.5, tol=1e-8).fit(X[:, selector.support_], y)
    assert_allclose(selector.coef_[0, selector.support_], peer.coef_[0], atol=1e-4)
    assert_allclose(selector.intercept_, peer.intercept_, atol=1e-4)
    assert_array_equal(selector.predict(X), peer.predict(X[:, selector.support_]))


def test_sparse_input_and_the_squared_hinge_are_served():
    rng = np.random.default_rng(3)
    X = np.where(rng.random((350, 12)) < 0.4, rng.random((350, 12)), 0.0)
    y = X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(350) > 0.0
    for form in ({"loss": "squared_hinge"}, {"step": 0.3}):
        dense = RFESelector(n_features_to_select=3, **form).fit(X, y)
        other = RFESelector(n_features_to_select=3, **form).fit(sparse.csr_array(X), y)
        assert_array_equal(other.ranking_, dense.ranking_)
        assert {0, 1} <= set(dense.order_)


def test_more_features_than_there_are_is_refused():
    with pytest.raises(ValueError, match="n_features_to_select is 61"):
        RFESelector(n_features_to_select=61).fit(*data())


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_the_ranking_of_many_rows_is_that_of_scikit_learn(C):
    X, y = data(4, 150, 12)
    peer = RFE(SVC(kernel="linear", C=C, tol=1e-9), n_features_to_select=1, step=1).fit(X, y)
    selector = RFESelector(n_features_to_select=1, C=C).fit(X, y)
    assert_array_equal(selector.ranking_, peer.ranking_)
    weighted = RFESelector(n_features_to_select=1, C=C).fit(X, y, np.full(150, 2.0))
    assert_array_equal(weighted.ranking_, RFE(SVC(kernel="linear", C=2 * C, tol=1e-9), step=1,
                                              n_features_to_select=1).fit(X, y).ranking_)  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True])
def test_a_hard_margin_ranks_as_a_very_large_price_of_slack_does(monkeypatch, compiled):
    monkeypatch.setattr(elimination, "COMPILED_CELLS", 0 if compiled else 10**9)
    X, y = data(5, 30, 60)
    peer = RFE(SVC(kernel="linear", C=1e6, tol=1e-9), n_features_to_select=35, step=1).fit(X, y)
    selector = RFESelector(n_features_to_select=35, C=np.inf).fit(X, y)
    assert_array_equal(selector.ranking_, peer.ranking_)
    assert selector.score(X, y) == 1.0
    with pytest.warns(ConvergenceWarning, match="do not separate"):
        few = RFESelector(n_features_to_select=1, C=np.inf).fit(X, y)
    assert few.support_.sum() == 1
    assert_array_equal(np.sort(few.ranking_), np.arange(1, 61))


def test_a_hard_margin_on_inseparable_classes_is_refused_with_the_remedy():
    X, y = data(6, 100, 3)
    with pytest.raises(ValueError, match="Set a finite C"):
        RFESelector(C=np.inf, n_features_to_select=1).fit(X, y)


@pytest.mark.parametrize(("kernel", "form"), [("poly", {"degree": 2, "coef0": 1.0}), ("rbf", {})])
def test_with_kernels_that_feature_goes_whose_loss_changes_the_margin_least(kernel, form):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 8))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = X[:, 0] * X[:, 1] > 0.0 if kernel == "poly" else X[:, 0] ** 2 + X[:, 1] ** 2 < 1.4
    alive, order = list(range(8)), []
    while len(alive) > 2:
        machine = SVC(kernel=kernel, gamma=1.0 / len(alive), C=10.0, tol=1e-9, **form).fit(X[:, alive], y)
        beta, rows, k = machine.dual_coef_[0], X[machine.support_], len(alive)

        def square(left, beta=beta, rows=rows, k=k):
            return beta @ pairwise_kernels(rows[:, left], metric=kernel, gamma=1.0 / k, **form) @ beta

        change = [abs(square(alive) - square([j for j in alive if j != p])) for p in alive]
        order.append(alive.pop(int(np.argmin(change))))
    selector = RFESelector(n_features_to_select=2, C=10.0, kernel=kernel, degree=2).fit(X, y)
    assert_array_equal(np.argsort(-selector.ranking_, kind="stable")[:6], order)
    assert set(selector.order_.tolist()) == set(alive)
    peer = SVC(kernel=kernel, gamma=0.5, C=10.0, tol=1e-9, **form).fit(X[:, alive], y)
    assert_allclose(selector.decision_function(X), peer.decision_function(X[:, alive]), atol=1e-4)


@pytest.mark.parametrize("compiled", [False, True])
def test_progress_is_told_and_may_end_the_elimination(monkeypatch, compiled):
    monkeypatch.setattr(elimination, "COMPILED_CELLS", 0 if compiled else 10**9)
    monkeypatch.setattr(one_by_one, "TOLD", 7)
    X, y = data()
    selector = RFESelector(n_features_to_select=1, callback=lambda record: record.n_selected <= 40).fit(X, y)
    whole = RFESelector(n_features_to_select=1).fit(X, y)
    n_left = int(selector.support_.sum())
    assert 33 <= n_left <= 40
    assert not selector.certificate_.converged
    assert_array_equal(selector.support_, whole.ranking_ <= n_left)
    assert_array_equal(selector.history_.column("n_selected"), np.arange(59, 39, -1))
