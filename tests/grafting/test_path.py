"""Paths and the choice along them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import GroupKFold, KFold

from skgraft import (
    GraftClassifier,
    GraftClassifierCV,
    GraftRegressor,
    GraftRegressorCV,
    graft_path,
    l1_max,
)

DIABETES = load_diabetes(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
WINE = load_wine(return_X_y=True)


@pytest.mark.parametrize("loss", ["squared", "huber", "poisson"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
def test_each_point_is_the_separate_fit(loss, storage):
    X, y = storage(DIABETES[0]), DIABETES[1]
    path = graft_path(X, y, loss=loss, n_values=8, smallest=1e-2)
    for i, point in enumerate(path):
        alone = GraftRegressor(loss=loss, l1=point.l1).fit(X, y)
        assert point.certificate.converged
        assert_allclose(point.objective, alone.objective_, rtol=1e-8)
        assert_allclose(path.estimator(i).predict(X), alone.predict(X), rtol=1e-4)


@pytest.mark.parametrize("data", [CANCER, WINE])
@pytest.mark.parametrize("options", [{}, {"loss": "squared_hinge"}, {"group_l1": 0.02}, {"standardize": False}])
def test_each_point_of_a_classifier_is_the_separate_fit(data, options):
    path = graft_path(*data, n_values=5, smallest=0.05, **options)
    for point in path:
        alone = GraftClassifier(l1=point.l1, **options).fit(*data)
        assert_allclose(point.objective, alone.objective_, rtol=1e-8)


def test_a_path_begins_with_nothing_and_ends_with_the_most():
    path = graft_path(*CANCER, n_values=20, smallest=1e-3)
    assert path.n_selected[0] == 0
    assert path.n_selected[-1] == path.n_selected.max()
    assert_allclose(path.l1s[0], l1_max(*CANCER))
    assert_allclose(path.coefs[-1], path.estimator(-1).coef_)


def test_a_path_along_sizes_keeps_to_each_size_and_never_rises():
    path = graft_path(*DIABETES, sizes=[4, 1, 2, 8])
    assert path.n_selected.tolist() == [1, 2, 4, 8]
    assert (np.diff(path.objectives) < 0.0).all()


def test_a_path_along_l0_is_no_worse_than_separate_fits():
    prices = [300.0, 100.0, 30.0, 10.0]
    path = graft_path(*DIABETES, l0s=prices)
    for point in path:
        alone = GraftRegressor(l1=0.0, l0=point.l0).fit(*DIABETES)
        assert point.objective <= alone.objective_ * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        ({"l1s": [1.0], "l0s": [1.0]}, "l1s and l0s"),
        ({"l1s": [-1.0]}, "l1s"),
        ({"smallest": 2.0}, "smallest"),
        ({"loss": "hinge"}, "loss"),
        ({"l1s": [np.nan]}, "l1s"),
    ],
)
def test_wrong_arguments_of_a_path_are_named(arguments, culprit):
    with pytest.raises(ValueError, match=culprit):
        graft_path(*CANCER, **arguments)


def test_the_scores_are_those_of_separate_fits_on_the_training_rows():
    X, y = CANCER
    cv = KFold(3, shuffle=True, random_state=0)
    model = GraftClassifierCV(n_l1s=6, smallest=0.05, cv=cv).fit(X, y)
    for fold, (train, test) in enumerate(cv.split(X)):
        for value, l1 in enumerate(model.l1_path_):
            alone = GraftClassifier(l1=l1).fit(X[train], y[train])
            assert model.cv_scores_[value, fold] == pytest.approx(alone.score(X[test], y[test]), abs=1e-12)
    assert model.best_index_ == int(np.argmax(model.cv_scores_.mean(axis=1)))
    assert_allclose(model.objective_, GraftClassifier(l1=model.l1_).fit(X, y).objective_, rtol=1e-9)


def test_one_standard_error_takes_a_smaller_model_within_it():
    best = GraftClassifierCV(n_l1s=30, smallest=1e-3).fit(*CANCER)
    small = GraftClassifierCV(n_l1s=30, smallest=1e-3, rule="one_se").fit(*CANCER)
    assert small.best_index_ < best.best_index_
    limit = best.mean_scores_.max() - best.se_scores_[best.best_index_]
    assert small.mean_scores_[small.best_index_] >= limit
    assert (small.mean_scores_[: small.best_index_] < limit).all()


def test_sizes_are_chosen_the_same_way():
    model = GraftRegressorCV(l0="auto", max_features=6, rule="one_se").fit(*DIABETES)
    assert model.size_path_.tolist() == [1, 2, 3, 4, 5, 6]
    assert model.support_.sum() == model.size_path_[model.best_index_]


def test_groups_reach_the_splitter_and_names_the_folds():
    X = pd.DataFrame(DIABETES[0], columns=[f"x{j}" for j in range(10)])
    groups = np.arange(X.shape[0]) % 7
    model = GraftRegressorCV(n_l1s=5, cv=GroupKFold(7), keep=["x0"]).fit(X, DIABETES[1], groups=groups)
    assert model.cv_scores_.shape == (5, 7)
    assert model.support_[0]


def test_weights_of_zero_are_as_good_as_absent_rows():
    X, y = DIABETES
    weight = np.ones(y.size)
    weight[::5] = 0.0
    folds = [(np.arange(0, 200), np.arange(200, 442)), (np.arange(200, 442), np.arange(0, 200))]
    counted = np.flatnonzero(weight)
    position = np.cumsum(weight > 0) - 1
    fewer = [tuple(position[part[weight[part] > 0]] for part in fold) for fold in folds]
    whole = GraftRegressorCV(l1s=[1.0, 5.0], cv=folds).fit(X, y, sample_weight=weight)
    without = GraftRegressorCV(l1s=[1.0, 5.0], cv=fewer).fit(X[counted], y[counted])
    assert_allclose(whole.cv_scores_, without.cv_scores_, rtol=1e-7)


def test_the_default_score_works_with_metadata_routing():
    with config_context(enable_metadata_routing=True):
        model = GraftClassifierCV(n_l1s=5).fit(*CANCER)
    assert_allclose(model.cv_scores_, GraftClassifierCV(n_l1s=5).fit(*CANCER).cv_scores_)


def test_what_is_wrong_with_the_table_is_said_before_any_fold_is_fitted():
    X = DIABETES[0].copy()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*column 2, row 3"):
        GraftRegressorCV(l1s=[0.1, 1.0]).fit(X, DIABETES[1])
