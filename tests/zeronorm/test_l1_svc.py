"""The support vector machine with an l1 norm, and its path."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import __version__ as sklearn_version
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from skgraft import L1SVC, FSVClassifier, l1_svc_path
from skgraft.svm.interior import solve_inside
from skgraft.svm.margins import all_pairs, one_against_rest, two_classes
from skgraft.zeronorm import programs

from .full_program import solve_full, standardized

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

ESTIMATORS = [L1SVC(), L1SVC(multi_class="joint"), FSVClassifier(), FSVClassifier(multi_class="joint")]

FOR_SCIKIT_LEARN_ONLY = [
    "check_class_weight_balanced_linear_classifier",
    "check_get_feature_names_out_error",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_inplace_ensure_writeable",
    "check_param_validation",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
]


@parametrize_with_checks(ESTIMATORS)
def test_the_checks_that_scikit_learn_gives_to_third_parties_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", FOR_SCIKIT_LEARN_ONLY)
@pytest.mark.parametrize("estimator", [L1SVC(), FSVClassifier()], ids=str)
def test_the_checks_that_scikit_learn_keeps_for_itself_pass_too(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_predictions_are_those_of_the_decision_function(estimator):
    X, y = load_iris(return_X_y=True)
    classes = np.array(["a", "b", "c"])[y]
    estimator_checks.check_classifiers_predictions(X, classes, type(estimator).__name__, estimator)


@pytest.mark.skipif(
    parse_version(sklearn_version) < parse_version("1.9"), reason="the checks as they are since scikit-learn 1.9"
)
def test_the_check_that_scikit_learn_skips_without_an_environment_variable_passes():
    """SciPy reads SCIPY_ARRAY_API when it is imported, so this takes a process of its own."""
    program = """
from sklearn.utils.estimator_checks import check_array_api_input
from skgraft import FSVClassifier, L1SVC
for estimator in (L1SVC(), FSVClassifier()):
    name = type(estimator).__name__
    check_array_api_input(name, estimator, array_namespace="numpy", expect_only_array_outputs=False)
    print("passed")
"""
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert run.stdout.split() == 2 * ["passed"], run.stderr


# --- the optimum ---


def problem(seed=0, n_rows=80, n_features=40, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(2.0, 3.0, size=(n_rows, n_features))
    score = X[:, 0] - X[:, 3] + rng.normal(size=n_rows)
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


@pytest.mark.parametrize("l1", [0.3, 0.03, 0.003, 0.0])
def test_two_classes_reach_the_optimum_of_the_full_program(l1):
    X, y = problem()
    model = L1SVC(l1=l1).fit(X, y)
    Z, sign = standardized(X), np.where(y == 1, 1.0, -1.0)
    expected = solve_full(Z, two_classes(sign), np.full(80, 1 / 80), np.full(40, l1))
    assert_allclose(model.objective_, expected, rtol=1e-8, atol=1e-12)
    by_hand = np.maximum(0.0, 1.0 - sign * model.decision_function(X)).mean()
    by_hand += l1 * np.abs(model.coef_ * X.std(axis=0)).sum()
    assert_allclose(by_hand, expected, rtol=1e-8, atol=1e-9)
    assert model.certificate_.converged


@pytest.mark.parametrize(("multi_class", "margins"), [("ovr", "rest"), ("joint", "pairs")])
def test_many_classes_reach_the_optimum_of_the_full_program(multi_class, margins):
    X, y = problem(seed=1, n_classes=4, n_features=15)
    model = L1SVC(l1=0.05, multi_class=multi_class).fit(X, y)
    rows = one_against_rest(y[:, None] == np.arange(4)) if margins == "rest" else all_pairs(y, 4)
    expected = solve_full(standardized(X), rows, np.full(rows.size, 1 / 80), np.full(15, 0.05))
    assert_allclose(model.objective_, expected, rtol=1e-8)
    assert model.coef_.shape == (4, 15)
    assert_array_equal(model.support_, (model.coef_ != 0.0).any(axis=0))


def test_weights_of_samples_and_classes_enter_the_criterion():
    X, y = problem(seed=2)
    s = np.random.default_rng(0).exponential(size=80)
    model = L1SVC(l1=0.02, class_weight={0: 1.0, 1: 3.0}).fit(X, y, sample_weight=s)
    s = s * np.where(y == 1, 3.0, 1.0)
    s /= s.sum()
    expected = solve_full(standardized(X, s), two_classes(np.where(y == 1, 1.0, -1.0)), s, np.full(40, 0.02))
    assert_allclose(model.objective_, expected, rtol=1e-8)


def test_without_intercept_and_standardisation_the_criterion_is_the_plain_one():
    X, y = problem(seed=3)
    model = L1SVC(l1=0.05, fit_intercept=False, standardize=False).fit(X, y)
    sign = np.where(y == 1, 1.0, -1.0)
    expected = solve_full(X, two_classes(sign), np.full(80, 1 / 80), np.full(40, 0.05), intercept=False)
    assert_allclose(model.objective_, expected, rtol=1e-8)
    assert_array_equal(model.intercept_, 0.0)


def test_penalty_weights_are_costs_and_zero_is_free():
    X, y = problem(seed=4)
    a = np.random.default_rng(1).exponential(size=40)
    a[7] = 0.0
    model = L1SVC(l1=0.1, penalty_weights=a).fit(X, y)
    expected = solve_full(standardized(X), two_classes(np.where(y == 1, 1.0, -1.0)), np.full(80, 1 / 80), 0.1 * a)
    assert_allclose(model.objective_, expected, rtol=1e-8)
    assert model.support_[7]
    assert model.certificate_.converged


def test_kept_features_are_selected_whatever_their_weights():
    X, y = problem(seed=5)
    plain = L1SVC(l1=0.1).fit(X, y)
    kept = L1SVC(l1=0.1, keep=[20, 0]).fit(X, y)
    assert not plain.support_[20]
    assert kept.support_[20]
    assert_array_equal(kept.coef_, plain.coef_)
    assert kept.total_cost_ == plain.support_.sum() - 1  # column 0 is in both and no longer counted


# --- input ---


def test_sparse_input_gives_the_dense_optimum():
    X, y = problem(seed=6)
    X[np.random.default_rng(0).random(X.shape) < 0.8] = 0.0
    dense = L1SVC(l1=0.02).fit(X, y)
    for matrix in (sp.csr_matrix(X), sp.csc_array(X), sp.csr_array(X.astype(np.float32))):
        large = matrix.copy()
        large.indices, large.indptr = large.indices.astype(np.int64), large.indptr.astype(np.int64)
        for each in (matrix, large):
            model = L1SVC(l1=0.02).fit(each, y)
            assert_allclose(model.objective_, dense.objective_, rtol=1e-6 if each.dtype == np.float32 else 1e-9)
            assert_array_equal(model.support_, dense.support_)
            assert_array_equal(model.predict(each), dense.predict(X))


def test_every_kind_of_table_and_precision_gives_the_same():
    X, y = problem(seed=7, n_features=6)
    names = list("abcdef")
    reference = L1SVC(l1=0.02).fit(X, y)
    tables = [
        np.asfortranarray(X),
        pd.DataFrame(X, columns=names),
        pl.DataFrame(dict(zip(names, X.T, strict=True))),
        pa.table(dict(zip(names, X.T, strict=True))),
        X.tolist(),
    ]
    for table in tables:
        assert_allclose(L1SVC(l1=0.02).fit(table, y).coef_, reference.coef_, rtol=1e-9)
    single = L1SVC(l1=0.02).fit(X.astype(np.float32), y)
    assert_allclose(single.coef_, reference.coef_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "labels",
    [np.array(["no", "yes"]), np.array([False, True]), np.array([-7, 3]), np.array([1.0, 2.0])],
    ids=str,
)
def test_labels_may_be_of_any_type(labels):
    X, y = problem(seed=8)
    model = L1SVC(l1=0.05).fit(X, labels[y])
    assert_array_equal(model.classes_, labels)
    assert set(model.predict(X)) == set(labels)
    assert model.score(X, labels[y]) > 0.8


def test_two_rows_and_one_row_a_class_are_enough():
    model = L1SVC(l1=0.01).fit([[0.0, 1.0], [1.0, 1.0]], ["a", "b"])
    assert_array_equal(model.support_, [True, False])
    assert_array_equal(model.predict([[0.0, 1.0], [1.0, 1.0]]), ["a", "b"])
    X = np.eye(4)[:, :3] + 0.1
    for multi_class in ("ovr", "joint"):
        model = L1SVC(l1=0.001, multi_class=multi_class).fit(X, [0, 1, 2, 3])
        assert_array_equal(model.predict(X), [0, 1, 2, 3])


def test_huge_and_tiny_scales_change_nothing_but_the_unit():
    X, y = problem(seed=9)
    scale = 10.0 ** np.random.default_rng(2).uniform(-100, 100, 40)
    plain, scaled = L1SVC(l1=0.02).fit(X, y), L1SVC(l1=0.02).fit(X * scale, y)
    assert_array_equal(scaled.support_, plain.support_)
    assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-6, atol=1e-9)


def test_copies_share_one_weight_and_constants_get_none():
    X, y = problem(seed=10)
    X = np.column_stack([X, X[:, 0], np.full(80, 3.0), np.zeros(80)])
    model = L1SVC(l1=0.05).fit(X, y)
    assert model.support_[[0, 40]].sum() == 1
    assert not model.support_[[41, 42]].any()


def test_too_large_an_l1_selects_nothing_and_says_the_larger_class():
    X, y = problem(seed=11)
    y[:10] = 1
    model = L1SVC(l1=10.0).fit(X, y)
    assert not model.support_.any()
    assert set(model.predict(X)) == {int(np.bincount(y).argmax())}
    assert model.certificate_.converged
    assert_allclose(model.objective_, 2.0 * np.bincount(y).min() / 80)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"l1": -1.0}, "l1"),
        ({"keep": [40]}, "keep"),
        ({"keep": ["z"]}, "keep"),
        ({"penalty_weights": [-1.0] * 40}, "penalty_weights"),
        ({"class_weight": {0: -1.0}}, "class_weight"),
        ({"multi_class": "both"}, "multi_class"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(parameters, match):
    X, y = problem()
    with pytest.raises(ValueError, match=match):
        L1SVC(**parameters).fit(X, y)


def test_bad_data_is_refused_by_column():
    X, y = problem()
    X[3, 7] = np.nan
    with pytest.raises(ValueError, match="column 7"):
        L1SVC().fit(X, y)
    X[3, 7] = np.inf
    with pytest.raises(ValueError, match="column 7"):
        L1SVC().fit(X, y)
    with pytest.raises(ValueError, match="one class only"):
        L1SVC().fit(np.ones((4, 2)), np.ones(4))


# --- a member of scikit-learn ---


def test_it_works_in_pipelines_searches_and_pickles():
    X, y = load_breast_cancer(return_X_y=True)
    search = GridSearchCV(make_pipeline(StandardScaler(), L1SVC()), {"l1svc__l1": [1.0, 0.02]}, cv=3).fit(X, y)
    assert search.best_params_ == {"l1svc__l1": 0.02}
    assert search.best_score_ > 0.93
    model = L1SVC(l1=0.02).fit(X, y)
    back = pickle.loads(pickle.dumps(model))  # noqa: S301 -- our own bytes
    assert_array_equal(back.predict(X), model.predict(X))
    assert back.certificate_ == model.certificate_
    assert_array_equal(clone(model).fit(X, y).coef_, model.coef_)


def test_weights_are_routed():
    X, y = problem(seed=12)
    s = np.tile([1.0, 0.0], 40)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(L1SVC(l1=0.05).set_fit_request(sample_weight=True)).fit(X, y, sample_weight=s)
    assert_allclose(pipe[0].coef_, L1SVC(l1=0.05).fit(X[::2], y[::2]).coef_, atol=1e-9)


def test_progress_is_shown_where_asked_for(capsys):
    X, y = problem()
    L1SVC(verbose=1).fit(X, y)
    assert "column generation" in capsys.readouterr().err


# --- the path ---


def test_every_point_of_the_path_is_a_fit_of_its_own():
    X, y = problem(seed=13, n_features=200)
    path = l1_svc_path(X, y, n_values=12)
    assert len(path) == 12
    for i, point in enumerate(path):
        alone = L1SVC(l1=point.l1).fit(X, y)
        assert_allclose(point.objective, alone.objective_, rtol=1e-9)
        assert point.certificate.converged
        assert point.certificate.duality_gap < 1e-9
        assert_allclose(path.coef(i), alone.coef_, atol=1e-7)
        again = path.estimator(i)
        assert again.l1 == point.l1
        assert_array_equal(again.predict(X), alone.predict(X))
        assert_array_equal(again.support_, alone.support_)


@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_the_path_begins_where_the_first_feature_comes_in(load, multi_class):
    X, y = load(return_X_y=True)
    path = l1_svc_path(X, y, n_values=2, multi_class=multi_class)
    assert path.n_selected[0] == 0
    assert L1SVC(l1=path.l1s[0] * (1 - 1e-5), multi_class=multi_class).fit(X, y).support_.sum() >= 1
    assert L1SVC(l1=path.l1s[0] * (1 + 1e-6), multi_class=multi_class).fit(X, y).support_.sum() == 0


def test_the_path_of_many_columns_begins_with_none():
    """Classes of unequal size, for which the uniform multipliers only bound the first l1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(96, 4026))
    y = X[:, :5].sum(axis=1) + rng.normal(size=96) > 0.0
    path = l1_svc_path(X, y, n_values=3, smallest=0.5)
    assert path.n_selected[0] == 0
    assert L1SVC(l1=path.l1s[0] * (1 - 1e-5)).fit(X, y).support_.sum() >= 1


def test_free_features_are_there_from_the_beginning():
    X, y = problem(seed=14)
    a = np.ones(40)
    a[[5, 6]] = 0.0
    path = l1_svc_path(X, y, n_values=4, penalty_weights=a)
    assert_array_equal(np.sort(path[0].features), [5, 6])
    assert L1SVC(l1=path.l1s[0] * (1 - 1e-5), penalty_weights=a).fit(X, y).support_.sum() > 2


def test_values_of_the_user_are_walked_from_the_largest():
    X, y = problem(seed=15)
    path = l1_svc_path(X, y, l1s=[0.01, 0.1, 0.03])
    assert_array_equal(path.l1s, [0.1, 0.03, 0.01])
    assert (np.diff(path.objectives) < 0.0).all()


def test_separable_data_make_the_path_flat_at_the_hard_margin():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 300))
    y = X[:, 0] + X[:, 1] > 0.0
    path = l1_svc_path(X, y, n_values=20, smallest=1e-3)
    last = path.coef(-1)
    assert_allclose(path.coef(-5), last, atol=1e-9)
    hard = solve_full(standardized(X), two_classes(np.where(y, 1.0, -1.0)), np.full(30, np.inf), np.ones(300))
    assert_allclose(np.abs(last * X.std(axis=0)).sum(), hard, rtol=1e-8)
    assert_allclose(path[-1].objective, path.l1s[-1] * hard, rtol=1e-8)


def test_what_tells_nothing_has_a_path_of_one_point():
    path = l1_svc_path(np.ones((6, 2)), [0, 1, 0, 1, 0, 1])
    assert_array_equal(path.l1s, [0.0])
    assert_array_equal(path.n_selected, [0])


def test_mistakes_in_the_path_are_refused():
    X, y = problem()
    with pytest.raises(ValueError, match="smallest"):
        l1_svc_path(X, y, smallest=2.0)
    with pytest.raises(ValueError, match="l1s"):
        l1_svc_path(X, y, l1s=[-1.0])
    with pytest.raises(TypeError, match="l0"):
        l1_svc_path(X, y, l0=1.0)
    with pytest.raises(ValueError, match="multi_class"):
        l1_svc_path(X, y, multi_class="none")


def test_too_few_steps_warn():
    X, y = problem(seed=16, n_features=800)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = L1SVC(l1=0.001, max_iter=1).fit(X, y)
    assert not model.certificate_.converged


@pytest.mark.parametrize("intercept", [True, False])
def test_the_way_through_the_interior_ends_at_the_optimum_of_the_full_program(monkeypatch, intercept):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 300))
    y = np.where(X[:, :5].sum(axis=1) + rng.standard_normal(120) > 0.0, 1, -1)
    calls = []

    def watched(*given):
        calls.append(solve_inside(*given))
        return calls[-1]

    monkeypatch.setattr(programs, "solve_inside", watched)
    plain = L1SVC(l1=0.02, fit_intercept=intercept).fit(X, y)
    assert not calls
    monkeypatch.setattr(programs, "MANY_ROWS", 50)
    model = L1SVC(l1=0.02, fit_intercept=intercept).fit(X, y)
    assert calls[0] is not None
    assert model.certificate_.converged
    assert_allclose(model.objective_, plain.objective_, rtol=1e-9)
    assert_array_equal(model.support_, plain.support_)
    assert_allclose(model.coef_, plain.coef_, atol=1e-6)
