"""What cannot be learned from is refused, before any work and with the culprit's name."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from skgraft import GraftClassifier, GraftRegressor, l1_max
from skgraft.grafting.linear import estimators

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

NAMES = ["age", "height", "weight", "sodium", "iron"]
both = pytest.mark.parametrize("estimator", [GraftClassifier, GraftRegressor])


@pytest.fixture(autouse=True)
def no_work(monkeypatch):
    """Make every fit fail that gets as far as the solver."""

    def solver(*_, **__):
        pytest.fail("bad input got as far as the solver")

    monkeypatch.setattr(estimators, "fit_linear", solver)


def problem():
    """Return 20 samples of 5 features, and a target that is good for classes, numbers and counts."""
    return np.random.default_rng(0).normal(size=(20, 5)), np.arange(20) % 2


def refuses(model, X, y, *words, sample_weight=None):
    """Assert that fitting raises a ValueError which names the culprit, and leaves nothing behind."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=words[0]) as refused:
            model.fit(X, y, sample_weight)
    for word in words[1:]:
        assert word in str(refused.value)
    assert not hasattr(model, "coef_")


# --- X ---


@both
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_found_in_an_array(estimator, bad):
    X, y = problem()
    X[7, 3] = bad
    for given in (X, np.asfortranarray(X), X.astype(np.float32), X.tolist()):
        refuses(estimator(), given, y, "X", "NaN" if np.isnan(bad) else "infinity", "column 3", "row 7")


@both
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
def test_values_that_are_not_finite_are_found_in_a_sparse_matrix(estimator, bad, form):
    X, y = problem()
    X[7, 3] = bad
    refuses(estimator(), form(X), y, "X", "NaN" if np.isnan(bad) else "infinity", "column 3", "row 7")


@both
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_values_that_are_not_finite_are_found_by_name_in_a_table(estimator, frame):
    X, y = problem()
    X[7, 3] = np.nan
    refuses(estimator(), frame(dict(zip(NAMES, X.T, strict=True))), y, "NaN", "'sodium'")


@both
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_words_are_named(estimator, frame):
    X, y = problem()
    columns = dict(zip(NAMES, X.T, strict=True)) | {"weight": ["heavy"] * 20}
    refuses(estimator(), frame(columns), y, "'weight'", "'heavy'", "not numeric")


@both
def test_tables_without_rows_or_columns_are_refused(estimator):
    X, y = problem()
    refuses(estimator(), X[:0], y[:0], "0 sample")
    refuses(estimator(), X[:, :0], y, "0 feature")
    refuses(estimator(), sparse.csr_array(X[:0]), y[:0], "0 sample")
    refuses(estimator(), pd.DataFrame(X[:0], columns=NAMES), y[:0], "0 sample")


@both
@pytest.mark.parametrize("shape", [(100,), (4, 5, 5), ()])
def test_tables_have_two_dimensions(estimator, shape):
    _, y = problem()
    refuses(estimator(), np.ones(shape), y, "2D array|dim")


@both
def test_complex_numbers_are_refused(estimator):
    X, y = problem()
    refuses(estimator(), X + 1j, y, "[Cc]omplex")


# --- y ---


@both
def test_lengths_must_agree(estimator):
    X, y = problem()
    refuses(estimator(), X, y[:-1], "inconsistent numbers of samples", "20", "19")
    refuses(estimator(), sparse.csc_array(X), y[:-1], "inconsistent numbers of samples")


@both
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_targets_that_are_not_finite_are_found(estimator, bad):
    X, y = problem()
    y = y.astype(float)
    y[4] = bad
    refuses(estimator(), X, y, "y contains", "row 4")


@both
def test_a_target_is_needed(estimator):
    X, _ = problem()
    refuses(estimator(), X, None, "y")


@pytest.mark.parametrize("only", [0, 1.0, "yes", True])
def test_one_class_alone_is_named(only):
    X, _ = problem()
    refuses(GraftClassifier(), X, np.full(20, only), "class", str(only))


def test_one_class_alone_has_weight():
    X, y = problem()
    refuses(GraftClassifier(), X, y, "class", sample_weight=(y == 1).astype(float))


def test_numbers_are_not_classes():
    X, _ = problem()
    refuses(GraftClassifier(), X, X[:, 0], "continuous")


def test_classes_come_in_one_column():
    X, y = problem()
    refuses(GraftClassifier(), X, np.column_stack([y, y]), "y should be a 1d array")


def test_words_are_not_numbers():
    X, y = problem()
    refuses(GraftRegressor(), X, np.array(["low", "high"])[y], "y must be numbers", "'low'")


@pytest.mark.parametrize("bad", [-1, -0.5])
def test_counts_are_not_negative(bad):
    X, y = problem()
    y = y.astype(float)
    y[6] = bad
    refuses(GraftRegressor(loss="poisson"), X, y, "poisson", "row 6")


def test_counts_of_nothing_but_zeros_have_no_finite_model():
    X, y = problem()
    refuses(GraftRegressor(loss="poisson"), X, np.zeros(20), "poisson", "zero")
    refuses(GraftRegressor(loss="poisson"), X, y, "poisson", "zero", sample_weight=1.0 - y)
    refuses(GraftRegressor(loss="poisson"), X, np.column_stack([y, 0 * y]), "poisson", "zero")


# --- weights ---


@both
@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_weights_are_finite_and_not_negative(estimator, bad):
    X, y = problem()
    s = np.ones(20)
    s[5] = bad
    refuses(estimator(), X, y, "sample_weight", "row 5", sample_weight=s)


@both
def test_weights_fit_the_rows(estimator):
    X, y = problem()
    refuses(estimator(), X, y, "sample_weight", "20", sample_weight=np.ones(19))
    refuses(estimator(), X, y, "sample_weight", sample_weight=np.ones((20, 2)))
    refuses(estimator(), X, y, "all zero", sample_weight=np.zeros(20))


@pytest.mark.parametrize(
    "class_weight",
    [{0: -1.0, 1: 1.0}, {0: np.nan, 1: 1.0}, {0: np.inf, 1: 1.0}, {0: 0.0, 1: 0.0}, {0: 0.0, 1: 1.0}],
    ids=str,
)
def test_class_weights_leave_two_classes_with_finite_weight(class_weight):
    X, y = problem()
    refuses(GraftClassifier(class_weight=class_weight), X, y, "class")


def test_class_weights_are_of_classes_that_exist():
    X, y = problem()
    refuses(GraftClassifier(class_weight={0: 1.0, 7: 2.0}), X, y, "class_weight", "[1]")


# --- what features cost ---


@both
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"keep": ["sodum"]}, ["keep", "'sodum'", "Did you mean 'sodium'"]),
        ({"keep": [5]}, ["keep", "feature 5", "5 features"]),
        ({"keep": [-1]}, ["keep", "feature -1"]),
        ({"keep": [1.5]}, ["keep", "1.5"]),
        ({"keep": [True, False]}, ["keep", "2 entries", "5 features"]),
        ({"keep": ["age", "iron"], "max_features": 1}, ["max_features=1", "keep"]),
        ({"groups": {"blood": ["sodum"]}}, ["groups", "'sodum'"]),
        ({"groups": {"blood": [9]}}, ["groups", "feature 9"]),
        ({"groups": {"blood": []}}, ["groups", "'blood'", "empty"]),
        ({"groups": {"a": ["age"], "b": ["age"]}}, ["groups", "'age'", "'a'", "'b'"]),
        ({"groups": [0, 0, 1]}, ["groups", "3 entries", "5 features"]),
        ({"groups": [0, 0, 1, 1, None]}, ["groups", "'iron'"]),
        ({"feature_costs": [1, 1, -2, 1, 1]}, ["feature_costs", "'weight'", "-2"]),
        ({"feature_costs": [1, 1, np.nan, 1, 1]}, ["feature_costs", "'weight'", "nan"]),
        ({"feature_costs": [1, 1, np.inf, 1, 1]}, ["feature_costs", "'weight'", "inf"]),
        ({"feature_costs": [1, 1]}, ["feature_costs", "2 entries", "5 features"]),
        ({"feature_costs": {"sodum": 2}}, ["feature_costs", "'sodum'"]),
        ({"feature_costs": {"iron": -1}}, ["feature_costs", "'iron'", "-1"]),
        (
            {"feature_costs": {"iron": 1}, "groups": {"blood": ["iron", "sodium"]}},
            ["feature_costs", "'iron'", "'blood'"],
        ),
        ({"feature_costs": [1, 1, 1, 2, 3], "groups": {"blood": ["iron", "sodium"]}}, ["two prices", "'blood'"]),
        ({"penalty_weights": [1, 1, 1, 1]}, ["penalty_weights", "4 entries", "5 features"]),
        ({"penalty_weights": [1, 1, -1, 1, 1]}, ["penalty_weights", "'weight'", "-1"]),
        ({"penalty_weights": {"sodum": 1}}, ["penalty_weights", "'sodum'"]),
    ],
    ids=str,
)
def test_prices_that_cannot_be_meant_are_refused(estimator, parameters, words):
    X, y = problem()
    refuses(estimator(**parameters), pd.DataFrame(X, columns=NAMES), y, *words)


@both
def test_names_need_columns_with_names(estimator):
    X, y = problem()
    refuses(estimator(keep=["iron"]), X, y, "keep", "'iron'", "no names")


# --- parameters ---

OUT_OF_RANGE = {
    "l1": [-1.0, np.nan, np.inf, "large"],
    "l2": [-1.0, np.nan, np.inf],
    "l0": [-1.0, np.nan, np.inf],
    "group_l1": [-1.0, np.nan, np.inf],
    "loss": ["hinge", None],
    "penalty_weights": [1.0, "all"],
    "feature_costs": [1.0],
    "groups": [1],
    "keep": [1.5],
    "max_features": [0, -1, 1.5],
    "max_cost": [-1.0, np.nan, "little"],
    "effort": ["medium", None],
    "select_unit": [0, 1.5, "some"],
    "on_increase": ["raise"],
    "polish": ["a little", None],
    "fit_intercept": ["yes"],
    "standardize": ["yes"],
    "positive": ["yes"],
    "warm_start": ["yes"],
    "tol": [0.0, -1.0, np.nan],
    "max_iter": [0, 1.5],
    "n_jobs": [1.5, 0],
    "random_state": ["seed"],
    "verbose": [-1],
    "callback": ["print"],
}


@both
@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in OUT_OF_RANGE.items() for value in values], ids=str
)
def test_parameters_out_of_range_are_named(estimator, name, value):
    X, y = problem()
    refuses(estimator(**{name: value}), X, y, name)


@pytest.mark.parametrize("delta", [0.0, -1.0, np.nan])
def test_delta_is_positive(delta):
    X, y = problem()
    refuses(GraftRegressor(loss="huber", delta=delta), X, y, "delta")


@pytest.mark.parametrize("loss", ["squared", "huber", "poisson"])
def test_classifiers_have_losses_for_classes(loss):
    X, y = problem()
    refuses(GraftClassifier(loss=loss), X, y, "loss", repr(loss))


@pytest.mark.parametrize("loss", ["logistic", "multinomial", "squared_hinge"])
def test_regressors_have_losses_for_numbers(loss):
    X, y = problem()
    refuses(GraftRegressor(loss=loss), X, y, "loss", repr(loss))


def test_a_mistake_in_the_data_does_not_hide_one_in_a_parameter():
    X, y = problem()
    X[0, 0] = np.nan
    refuses(GraftClassifier(l1=-1.0), X, y, "'l1' parameter")


# --- new data ---


@pytest.fixture
def fitted(monkeypatch):
    monkeypatch.undo()  # here the first fit is meant to succeed
    X, y = problem()
    return GraftRegressor(l1=0.0).fit(pd.DataFrame(X, columns=NAMES), y), X


@pytest.mark.parametrize("method", ["predict", "transform"])
def test_new_data_is_read_as_strictly(fitted, method):
    model, X = fitted
    call = getattr(model, method)
    table = pd.DataFrame(X, columns=NAMES)
    with pytest.raises(ValueError, match="feature names should match"):
        call(table[NAMES[::-1]])
    with pytest.raises(ValueError, match="feature names should match"):
        call(table.rename(columns={"iron": "copper"}))
    with pytest.raises(ValueError, match="feature names should match"):
        call(table[NAMES[:4]])
    with pytest.raises(ValueError, match="5 features"), pytest.warns(UserWarning, match="valid feature names"):
        call(X[:, :4])
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*'weight'"):
        call(pd.DataFrame(X, columns=NAMES))


def test_a_refused_second_fit_leaves_the_first_model_usable(fitted):
    model, X = fitted
    before = model.predict(pd.DataFrame(X, columns=NAMES))
    with pytest.raises(ValueError, match="keep"):
        model.set_params(keep=["copper"]).fit(pd.DataFrame(X, columns=NAMES), np.arange(20.0))
    assert (model.predict(pd.DataFrame(X, columns=NAMES)) == before).all()


# --- l1_max ---


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": np.full((20, 5), np.nan)}, "NaN"),
        ({"y": np.zeros(20), "loss": "logistic"}, "class"),
        ({"y": np.full(20, "yes")}, "class"),
        ({"y": np.zeros(19)}, "inconsistent"),
        ({"loss": "hinge"}, "loss"),
        ({"sample_weight": -np.ones(20)}, "sample_weight"),
        ({"groups": [0, 1]}, "groups"),
        ({"penalty_weights": [1, 2]}, "penalty_weights"),
        ({"group_l1": -1.0}, "group_l1"),
    ],
    ids=str,
)
def test_l1_max_refuses_what_the_estimators_refuse(change, words):
    X, y = problem()
    with pytest.raises(ValueError, match=words):
        l1_max(**{"X": X, "y": y, **change})


@pytest.mark.parametrize("storage", [np.asfortranarray, np.ascontiguousarray, sparse.csc_matrix, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "in_a_row_without_weight"])
def test_one_bad_number_in_a_large_table_is_found(storage, dtype, value, weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 400)).astype(dtype)
    X[123, 45] = value
    weight = np.ones(700)
    weight[123] = 0.0 if weighted else 1.0
    with pytest.raises(ValueError, match="column 45, row 123"):
        GraftRegressor().fit(storage(X), rng.standard_normal(700), sample_weight=weight)
