"""The linear estimators keep scikit-learn's contract, to the letter."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import __version__ as sklearn_version
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from skgraft import GraftClassifier, GraftClassifierCV, GraftRegressor, GraftRegressorCV

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

ESTIMATORS = [
    GraftClassifier(),
    GraftClassifier(loss="squared_hinge"),
    GraftClassifier(l0=0.01, l1=0.001),
    GraftClassifier(effort="light"),
    GraftRegressor(),
    GraftRegressor(loss="huber"),
    GraftRegressor(loss="poisson"),
    GraftRegressor(group_l1=0.1),
    GraftRegressor(max_features=2),
    GraftClassifierCV(n_l1s=5, cv=3),
    GraftRegressorCV(n_l1s=5, cv=3),
    GraftRegressorCV(l0="auto", max_features=3, cv=3),
]


def not_for_counts(estimator):
    if getattr(estimator, "loss", None) == "poisson":
        return {"check_regressor_multioutput": "its targets are negative, which no count is"}
    return {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=not_for_counts)
def test_the_checks_that_scikit_learn_gives_to_third_parties_pass(estimator, check):
    check(estimator)


FOR_SCIKIT_LEARN_ONLY = [
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


@pytest.mark.parametrize("check", FOR_SCIKIT_LEARN_ONLY)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_the_checks_that_scikit_learn_keeps_for_itself_pass_too(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


def yielded(estimator):
    checks = estimator_checks._yield_all_checks(estimator, legacy=True)
    return {(check.func if isinstance(check, partial) else check).__name__ for check in checks}


@pytest.mark.skipif(
    parse_version(sklearn_version) < parse_version("1.9"), reason="the checks as they are since scikit-learn 1.9"
)
def test_no_check_of_scikit_learn_is_forgotten():
    """A new release's check is yielded, called above, or about something that these estimators are not."""
    about_others = {
        "check_array_api_input_and_values",  # the array API, as the next two
        "check_array_api_mixed_inputs",
        "check_array_api_same_namespace",
        "check_class_weight_balanced_classifiers",  # a test below says the same of its own data
        "check_class_weight_balanced_linear_classifier",  # called below
        "check_classifiers_predictions",  # called below, with data
        "check_classifier_multioutput",
        "check_classifier_not_supporting_multiclass",
        "check_classifiers_multilabel_output_format_decision_function",
        "check_classifiers_multilabel_output_format_predict",
        "check_classifiers_multilabel_output_format_predict_proba",
        "check_classifiers_multilabel_representation_invariance",
        "check_clusterer_compute_labels_predict",
        "check_clustering",
        "check_dataframe_column_names_consistency",  # tables are read by name: tests/robustness/test_by_name.py
        "check_estimator",  # all of them
        "check_estimator_cloneable",  # comes first in any case
        "check_estimators_data_not_an_array",  # a part of others
        "check_fit_non_negative",  # X may be negative
        "check_nonsquare_error",
        "check_outlier_contamination",
        "check_outlier_corruption",
        "check_outliers_fit_predict",
        "check_outliers_train",
        "check_sparsify_coefficients",
        "check_transformers_unfitted_stateless",
    }
    known = {name for name in vars(estimator_checks) if name.startswith("check_")}
    own = {name for name in known if getattr(estimator_checks, name).__module__ == estimator_checks.__name__}
    seen = yielded(GraftClassifier()) | yielded(GraftRegressor()) | set(FOR_SCIKIT_LEARN_ONLY)
    assert own - seen - about_others == set()


@pytest.mark.skipif(
    parse_version(sklearn_version) < parse_version("1.9"), reason="the checks as they are since scikit-learn 1.9"
)
def test_the_check_that_scikit_learn_skips_without_an_environment_variable_passes():
    """SciPy reads SCIPY_ARRAY_API when it is imported, so this takes a process of its own."""
    program = """
from sklearn.utils.estimator_checks import check_array_api_input
from skgraft import GraftClassifier, GraftClassifierCV, GraftRegressor, GraftRegressorCV
estimators = GraftClassifier(), GraftClassifier(l0=0.01), GraftRegressor(), GraftRegressor(loss="poisson")
for estimator in estimators:
    name = type(estimator).__name__
    check_array_api_input(name, estimator, array_namespace="numpy", expect_only_array_outputs=False)
    print("passed")
"""
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert run.stdout.split() == 4 * ["passed"], run.stderr


CLASSIFIERS = [estimator for estimator in ESTIMATORS if is_classifier(estimator)]
REGRESSORS = [estimator for estimator in ESTIMATORS if is_regressor(estimator)]
both = pytest.mark.parametrize("estimator", [GraftClassifier(l1=0.03), GraftRegressor(l1=0.03)], ids=str)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
def test_balanced_weights_are_those_of_the_class_frequencies(estimator):
    estimator_checks.check_class_weight_balanced_linear_classifier(type(estimator).__name__, estimator)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_predictions_are_those_of_the_decision_function(estimator, load):
    X, y = load(return_X_y=True)
    classes = np.array(["a", "b", "c"])[y]
    estimator_checks.check_classifiers_predictions(X, classes, type(estimator).__name__, estimator)


def test_balanced_weights_help_the_rarer_class():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [190, 10])
    X = rng.normal(size=(200, 5))
    X[:, 0] += 1.5 * y
    plain = GraftClassifier().fit(X, y)
    balanced = GraftClassifier(class_weight="balanced").fit(X, y)
    assert balanced_accuracy_score(y, balanced.predict(X)) > balanced_accuracy_score(y, plain.predict(X)) + 0.1


# --- data ---


def problem(estimator, n_samples=90, n_features=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    y = 2.0 * X[:, 0] - X[:, 3] + 0.5 * rng.normal(size=n_samples)
    return X, (np.where(y > 0, "yes", "no") if is_classifier(estimator) else y)


def without_half(y):
    """Return weights of one that leave out every other row."""
    return np.tile([1.0, 0.0], len(y) // 2)


def outputs(model, X):
    return model.decision_function(X) if is_classifier(model) else model.predict(X)


# --- tags ---


def test_tags_say_what_the_estimators_can_do():
    tags = get_tags(GraftClassifier())
    assert tags.classifier_tags.multi_class
    assert not tags.classifier_tags.multi_label
    assert not tags.target_tags.multi_output
    assert tags.input_tags.sparse
    assert not tags.input_tags.allow_nan
    tags = get_tags(GraftRegressor())
    assert tags.target_tags.multi_output
    assert tags.target_tags.single_output
    assert tags.input_tags.sparse
    assert not tags.target_tags.positive_only
    assert get_tags(GraftRegressor(loss="poisson")).target_tags.positive_only


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_estimators_are_selectors(estimator):
    assert isinstance(estimator, SelectorMixin)
    X, y = problem(estimator)
    if getattr(estimator, "loss", None) == "poisson":
        y = np.round(np.exp(0.5 * y))
    model = clone(estimator).fit(X, y)
    assert_array_equal(model.get_support(), model.support_)
    assert_array_equal(model.get_support(indices=True), np.flatnonzero(model.support_))
    assert 0 < model.support_.sum() < 8
    kept = model.transform(X)
    assert_array_equal(kept, X[:, model.support_])
    back = model.inverse_transform(kept)
    assert_array_equal(back, np.where(model.support_, X, 0.0))
    assert_array_equal(clone(estimator).fit_transform(X, y), kept)


# --- clone and pickle ---


def settings(estimator):
    own = {
        "feature_costs": {"x0": 2.0},
        "groups": {"bag": ["x1", "x2"]},
        "keep": ["x5"],
        "l0": 0.003,
        "l1": 0.002,
    }
    return clone(estimator).set_params(**own, max_cost=4.0, effort="light", select_unit=2)


@both
def test_a_clone_has_the_parameters_and_nothing_of_the_fit(estimator):
    estimator = settings(estimator)
    X, y = problem(estimator)
    X = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    model = estimator.fit(X, y)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert_array_equal(copy.fit(X, y).coef_, model.coef_)


@both
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_model_predicts_the_same(estimator, protocol):
    X, y = problem(estimator)
    model = clone(estimator).fit(X, y)
    back = pickle.loads(pickle.dumps(model, protocol=protocol))  # noqa: S301 -- our own bytes
    assert_array_equal(back.predict(X), model.predict(X))
    assert_array_equal(outputs(back, X), outputs(model, X))
    assert_array_equal(back.transform(X), model.transform(X))
    assert back.certificate_ == model.certificate_
    assert list(back.history_) == list(model.history_)
    assert_array_equal(back.order_, model.order_)


# --- names and output ---


@both
def test_selected_names_come_out(estimator):
    X, y = problem(estimator)
    model = clone(estimator).fit(X, y)
    assert_array_equal(model.get_feature_names_out(), [f"x{j}" for j in np.flatnonzero(model.support_)])
    names = [f"column {j}" for j in range(8)]
    assert_array_equal(model.get_feature_names_out(names), np.array(names)[model.support_])
    model.fit(pd.DataFrame(X, columns=names), y)
    assert_array_equal(model.feature_names_in_, names)
    assert_array_equal(model.get_feature_names_out(), np.array(names)[model.support_])


@both
@pytest.mark.parametrize(("kind", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_output_is_a_frame_where_asked_for(estimator, kind, frame):
    X, y = problem(estimator)
    names = [f"column {j}" for j in range(8)]
    table = frame(dict(zip(names, X.T, strict=True)))
    model = clone(estimator).set_output(transform=kind).fit(table, y)
    for out in (model.transform(table), clone(estimator).set_output(transform=kind).fit_transform(table, y)):
        assert isinstance(out, frame)
        assert list(out.columns) == list(np.array(names)[model.support_])
        assert_array_equal(out.to_numpy(), X[:, model.support_])


def test_pandas_output_keeps_index_and_dtypes():
    X, y = problem(GraftRegressor())
    table = pd.DataFrame(X, columns=list("abcdefgh"), index=np.arange(90) + 7).astype({"a": np.float32})
    out = GraftRegressor(l1=0.03).set_output(transform="pandas").fit_transform(table, y)
    pd.testing.assert_frame_equal(out, table[list(out.columns)])
    assert "a" in out.columns


# --- as a part of something larger ---


@pytest.mark.parametrize(
    ("selector", "learner"),
    [(GraftClassifier(l1=0.03), LogisticRegression()), (GraftRegressor(max_features=2), LinearRegression())],
    ids=str,
)
def test_estimators_select_for_others_in_a_pipeline(selector, learner):
    X, y = problem(selector)
    pipe = make_pipeline(StandardScaler(), selector, learner).fit(X, y)
    chosen = pipe[1].support_
    assert 0 < chosen.sum() < 8
    direct = clone(learner).fit(StandardScaler().fit_transform(X)[:, chosen], y)
    assert_allclose(pipe[-1].coef_, direct.coef_, rtol=1e-12)
    assert pipe[:-1].get_feature_names_out().tolist() == [f"x{j}" for j in np.flatnonzero(chosen)]


@both
def test_estimators_learn_at_the_end_of_a_pipeline(estimator):
    X, y = problem(estimator)
    pipe = make_pipeline(StandardScaler(), clone(estimator)).fit(X, y)
    assert_allclose(outputs(pipe, X), outputs(clone(estimator).fit(X, y), X), rtol=0, atol=1e-6)


@both
def test_cross_validation_scores_are_those_of_a_loop_by_hand(estimator):
    X, y = problem(estimator)
    cv = KFold(3)
    by_hand = [clone(estimator).fit(X[train], y[train]).score(X[test], y[test]) for train, test in cv.split(X, y)]
    assert_array_equal(cross_val_score(estimator, X, y, cv=cv), by_hand)
    assert min(by_hand) > 0.8


@both
def test_a_grid_search_finds_the_best_l1(estimator):
    X, y = problem(estimator)
    search = GridSearchCV(clone(estimator), {"l1": [10.0, 0.01], "l0": [0.0, 5.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"l1": 0.01, "l0": 0.0}
    assert_array_equal(search.predict(X), clone(estimator).set_params(l1=0.01).fit(X, y).predict(X))


# --- metadata routing: rows of weight zero are as good as absent, so it shows where the weights arrive ---


@both
def test_weights_reach_the_end_of_a_pipeline(estimator):
    X, y = problem(estimator)
    s = without_half(y)
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        pipe = make_pipeline(scaler, clone(estimator).set_fit_request(sample_weight=True))
        pipe.fit(X, y, sample_weight=s)
    alone = clone(estimator).fit(X[s > 0], y[s > 0])
    assert_allclose(outputs(pipe, X), outputs(alone, X), rtol=0, atol=1e-6)
    everything = clone(estimator).fit(X, y)
    assert np.abs(outputs(everything, X) - outputs(alone, X)).max() > 1e-3


@both
def test_weights_reach_a_selector_inside_a_pipeline(estimator):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 4))
    s = np.repeat([1.0, 0.0], 40)
    y = np.where(s > 0, X[:, 0], 3.0 * X[:, 1])  # the rows without weight say that the second column matters
    y = y > 0 if is_classifier(estimator) else y
    learner = LogisticRegression() if is_classifier(estimator) else LinearRegression()
    one = clone(estimator).set_params(l1=0.0, max_features=1)
    with config_context(enable_metadata_routing=True):
        steps = [
            ("select", one.set_fit_request(sample_weight=True)),
            ("learn", learner.set_fit_request(sample_weight=False)),
        ]
        pipe = Pipeline(steps).fit(X, y, sample_weight=s)
    assert_array_equal(pipe["select"].order_, [0])
    assert_array_equal(clone(one).fit(X, y).order_, [1])


@both
def test_weights_reach_fit_and_score_in_cross_validation(estimator):
    X, y = problem(estimator)
    s = np.random.default_rng(2).integers(0, 4, size=len(y)).astype(float)
    cv = KFold(3)
    with config_context(enable_metadata_routing=True):
        routed = clone(estimator).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scores = cross_validate(routed, X, y, cv=cv, params={"sample_weight": s})["test_score"]
    by_hand = [
        clone(estimator).fit(X[a], y[a], sample_weight=s[a]).score(X[b], y[b], sample_weight=s[b])
        for a, b in cv.split(X, y)
    ]
    assert_array_equal(scores, by_hand)


@both
def test_weights_reach_the_final_fit_of_a_grid_search(estimator):
    X, y = problem(estimator)
    s = without_half(y)
    with config_context(enable_metadata_routing=True):
        routed = clone(estimator).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(routed, {"l1": [1e3, 0.03]}, cv=3).fit(X, y, sample_weight=s)
    assert search.best_params_ == {"l1": 0.03}
    alone = clone(estimator).fit(X[s > 0], y[s > 0])
    assert_allclose(outputs(search.best_estimator_, X), outputs(alone, X), rtol=0, atol=1e-6)


@both
def test_weights_that_nobody_asked_for_are_refused(estimator):
    X, y = problem(estimator)
    with config_context(enable_metadata_routing=True):
        pipe = make_pipeline(clone(estimator))
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            pipe.fit(X, y, sample_weight=without_half(y))
