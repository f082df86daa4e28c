"""Recursive feature elimination: the ranking of scikit-learn's, in all ways to take steps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.feature_selection import RFE
from sklearn.svm import SVC

from skgraft import RFESelector
from skgraft.ranking import elimination
from skgraft.ranking.elimination import how_many


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
