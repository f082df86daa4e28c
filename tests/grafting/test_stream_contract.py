"""The estimators over streams keep scikit-learn's contract, and tell who made a mistake which one it was."""

from __future__ import annotations

import io
import warnings
from contextlib import redirect_stderr

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from skgraft import GraftClassifier, GraftRegressor, StreamGraftClassifier, StreamGraftRegressor

from .test_estimators_contract import FOR_SCIKIT_LEARN_ONLY

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

ESTIMATORS = [
    StreamGraftClassifier(),
    StreamGraftRegressor(),
    StreamGraftClassifier(buffer=0, loss="squared_hinge"),
    StreamGraftRegressor(buffer=2, group_l1=0.1),
    StreamGraftRegressor(buffer=None, max_features=2),
]


@parametrize_with_checks(ESTIMATORS)
def test_the_checks_that_scikit_learn_gives_to_third_parties_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", FOR_SCIKIT_LEARN_ONLY)
@pytest.mark.parametrize("estimator", ESTIMATORS[:4], ids=str)
def test_the_checks_that_scikit_learn_keeps_for_itself_pass_too(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)


RNG = np.random.default_rng(0)
NAMES = [f"f{j}" for j in range(12)]
X = RNG.normal(size=(90, 12))
TARGET = 2.0 * X[:, 1] - 1.5 * X[:, 7] + X[:, 10] + 0.3 * RNG.normal(size=90)
CLASSES = np.where(TARGET > 0, "yes", "no")
FRAME = pd.DataFrame(X, columns=NAMES)


def stream(**parameters):
    model = StreamGraftRegressor(**{"l1": 0.4, **parameters})
    return model.fit_stream([FRAME[NAMES[:5]], FRAME[NAMES[5:]]], TARGET)


def without(frame, row):
    """Return a table that lacks the values of a row."""
    table = frame.copy()
    table.iloc[row] = np.nan
    return table


def state(model):
    """Return all that a failure must leave as it was."""
    return {name: value for name, value in vars(model).items() if not name.startswith("_said")}


# --- new samples ---


@pytest.mark.parametrize(
    "library", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "pyarrow"]
)
def test_new_samples_are_found_by_name(library):
    model = stream()
    assert model.selected_names_.tolist() == ["f1", "f7", "f10"]
    expected = X @ model.coef_ + model.intercept_
    for frame in (FRAME, FRAME[NAMES[::-1]], FRAME[["f10", "f1", "f7"]], FRAME[["f7", "f0", "f1", "f10"]]):
        assert_allclose(model.predict(library(frame)), expected)
        assert_array_equal(model.transform(library(frame)), X[:, [1, 7, 10]])
    words = FRAME[["f7", "f1", "f10"]].assign(town="Oslo", f0=np.nan)
    assert_allclose(model.predict(library(words)), expected)
    with pytest.raises(ValueError, match=r"X lacks the column 'f7', 'f10', which StreamGraftRegressor has"):
        model.predict(library(FRAME[["f1", "f2"]]))


def test_arrays_hold_all_columns_or_the_selected_ones():
    model = stream()
    expected = X @ model.coef_ + model.intercept_
    for convert in (np.asarray, sp.csr_array, sp.csc_array, np.ndarray.tolist):
        assert_allclose(model.predict(convert(X)), expected)
        assert_allclose(model.predict(convert(X[:, [1, 7, 10]])), expected)
    with pytest.raises(ValueError, match=r"X has 4 columns without names.*the 3 selected ones.*or all 12"):
        model.predict(X[:, :4])
    with pytest.raises(ValueError, match=r"X contains NaN. The first is in column 'f1', row 5"):
        model.predict(without(FRAME, 5))


def test_a_column_twice_in_a_new_table_is_refused():
    twice = pd.concat([FRAME, FRAME[["f7"]]], axis=1)
    with pytest.raises(ValueError, match="several columns of X are called 'f7'"):
        stream().predict(twice)


def test_generated_names_count_all_columns():
    model = StreamGraftRegressor(l1=0.4).fit_stream([X[:, :5], sp.csc_array(X[:, 5:])], TARGET)
    assert model.selected_names_.tolist() == ["x1", "x7", "x10"]
    assert model.get_feature_names_out().tolist() == ["x1", "x7", "x10"]
    named = FRAME.rename(columns={f"f{j}": f"x{j}" for j in range(12)})
    assert_allclose(model.predict(named[["x10", "x1", "x7"]]), model.predict(X))
    assert_allclose(model.predict(FRAME), model.predict(X))  # columns without names have no other
    assert model.get_feature_names_out(NAMES).tolist() == ["f1", "f7", "f10"]


def test_names_may_be_given_with_a_block():
    model = StreamGraftRegressor(l1=0.4)
    model.partial_fit_features(X[:, :5], TARGET, names=NAMES[:5])
    model.partial_fit_features(FRAME[NAMES[5:]], TARGET, names=[f"g{j}" for j in range(5, 12)])
    assert model.selected_names_.tolist() == ["f1", "g7", "g10"]
    assert model.n_features_in_ == model.n_features_seen_ == 12
    assert not hasattr(model, "feature_names_in_")
    output = model.set_output(transform="pandas").transform(X)
    assert output.columns.tolist() == ["f1", "g7", "g10"]


def test_generated_names_are_taken_too():
    model = StreamGraftRegressor(l1=0.4).partial_fit_features(X[:, :3], TARGET, names=["a", "x4", "c"])
    with pytest.raises(ValueError, match="column 1 of this block is called 'x4', as is column 1 of the stream"):
        model.partial_fit_features(X[:, 3:6], TARGET)
    model.partial_fit_features(X[:, 3:4], TARGET)
    with pytest.raises(ValueError, match="column 0 of this block is called 'x3', as is column 3 of the stream"):
        model.partial_fit_features(X[:, 4:5], TARGET, names=["x3"])
    model.partial_fit_features(X[:, 4:6], TARGET, names=["x03", "x4294967296"])
    assert model.n_features_seen_ == 6


def test_after_fit_a_table_may_have_fewer_or_more_columns_and_an_array_has_those_of_fit():
    model = StreamGraftRegressor(l1=0.4).fit(FRAME, TARGET)
    expected = GraftRegressor(l1=0.4).fit(FRAME, TARGET).predict(FRAME)
    assert_allclose(model.predict(FRAME), expected)
    assert_allclose(model.predict(FRAME[["f10", "f1", "f7"]]), expected)
    assert_allclose(model.predict(FRAME[NAMES[::-1]].assign(further=1.0)), expected)
    assert_allclose(model.predict(FRAME[NAMES[::-1]]), expected)
    with pytest.raises(ValueError, match="X lacks the column 'f10', which StreamGraftRegressor has selected"):
        model.predict(FRAME[["f1", "f7"]])
    with pytest.raises(ValueError, match="X has 3 features, but StreamGraftRegressor is expecting 12"):
        model.predict(X[:, :3])


def test_a_model_without_features_predicts_its_intercept():
    model = stream(l1=100.0)
    assert not model.support_.any()
    assert_allclose(model.predict(FRAME), TARGET.mean())
    assert_allclose(model.predict(FRAME[["f3"]]), TARGET.mean())
    with pytest.warns(UserWarning, match="No features were selected"):
        assert model.transform(FRAME).shape == (90, 0)


def test_classes_and_probabilities_come_as_from_the_batch_estimator():
    batch = GraftClassifier(l1=0.03).fit(FRAME, CLASSES)
    model = StreamGraftClassifier(l1=0.03).fit_stream([FRAME[NAMES[:5]], FRAME[NAMES[5:]]], CLASSES)
    assert_array_equal(model.predict(FRAME), batch.predict(FRAME))
    assert_allclose(model.predict_proba(FRAME), batch.predict_proba(FRAME), atol=1e-6)
    assert_allclose(model.decision_function(X), batch.decision_function(FRAME), atol=1e-5)
    assert model.score(FRAME, CLASSES) == batch.score(FRAME, CLASSES)
    assert model.coef_.shape == (1, 12)
    assert model.intercept_.shape == (1,)


def test_several_targets_share_a_stream():
    Y = np.column_stack([TARGET, X[:, 3]])
    batch = GraftRegressor(l1=0.1).fit(X, Y)
    model = StreamGraftRegressor(l1=0.1).fit_stream([X[:, :5], X[:, 5:]], Y)
    assert_allclose(model.coef_, batch.coef_, atol=1e-7)
    assert_allclose(model.predict(X), batch.predict(X), atol=1e-6)
    assert stream().coef_.shape == (12,)
    assert np.ndim(stream().intercept_) == 0


def test_sample_weights_need_be_given_only_once():
    weight = RNG.integers(0, 3, 90).astype(float)
    batch = GraftRegressor(l1=0.1).fit(X, TARGET, sample_weight=weight)
    model = StreamGraftRegressor(l1=0.1).partial_fit_features(X[:, :5], TARGET, sample_weight=weight)
    model.partial_fit_features(X[:, 5:8], TARGET)
    model.partial_fit_features(X[:, 8:], TARGET, sample_weight=weight)
    assert_allclose(model.coef_, batch.coef_, atol=1e-7)


def test_nothing_is_there_before_the_first_block():
    model = StreamGraftClassifier()
    for name in ("coef_", "support_", "selected_names_", "buffer_names_", "certificate_"):
        assert not hasattr(model, name)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(NotFittedError):
        model.get_feature_names_out()


# --- mistakes ---

BLOCK = FRAME[NAMES[5:]].set_axis([f"new{j}" for j in range(7)], axis=1)
OTHER = np.random.default_rng(9).normal(size=90)

MISTAKES = {
    "a name again": (FRAME[["f11", "f3"]], TARGET, {}, r"column 0 .* called 'f11', as is column 11 of the stream"),
    "a name given again": (X[:, :1], TARGET, {"names": ["f2"]}, "called 'f2', as is column 2"),
    "a name twice": (X[:, :2], TARGET, {"names": ["a", "a"]}, "2 columns of this block are called 'a'"),
    "too few names": (BLOCK, TARGET, {"names": ["a"]}, "names has 1 entries, but the block has 7 columns"),
    "names that are none": (BLOCK, TARGET, {"names": "abcdefg"}, "names must be a list.*'abcdefg'"),
    "numbers as names": (X[:, :2], TARGET, {"names": ["a", 1]}, "names must be strings, but 1 is"),
    "fewer rows": (BLOCK[:80], TARGET, {}, "inconsistent numbers of samples: X has 80 rows, y has 90"),
    "fewer samples": (BLOCK[:80], TARGET[:80], {}, "this block has 80 rows, but those before it have 90"),
    "another y": (BLOCK, OTHER, {}, r"y is not the y of the blocks before \(row 0\)"),
    "two targets": (BLOCK, np.column_stack([TARGET, TARGET]), {}, "y is not the y of the blocks before"),
    "no y": (BLOCK, None, {}, "requires y"),
    "other weights": (BLOCK, TARGET, {"sample_weight": np.arange(90.0)}, r"sample_weight is not that .*\(row 0\)"),
    "NaN": (without(BLOCK, 4), TARGET, {}, "contains NaN. The first is in column 'new0', row 4"),
    "NaN without names": (X * np.where(np.arange(12) == 3, np.inf, 1.0), TARGET, {}, "infinity.*in column 'x15'"),
    "words": (BLOCK.assign(new3="Oslo"), TARGET, {}, "column 'new3' .* is not numeric: row 0 holds 'Oslo'"),
    "no columns": (X[:, :0], TARGET, {}, "0 feature"),
    "one dimension": (X[:, 0], TARGET, {}, "Expected 2D array"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_and_leaves_the_stream_as_it_was(mistake):
    block, y, options, message = MISTAKES[mistake]
    model = stream()
    before, coef = state(model), model.coef_
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=message):
        model.partial_fit_features(block, y, **options)
    assert state(model).keys() == before.keys()
    assert all(state(model)[name] is value for name, value in before.items())
    model.partial_fit_features(BLOCK, TARGET)
    assert model.n_features_seen_ == 19
    assert_allclose(model.coef_[:12], coef, atol=0.5)


def test_a_mistake_in_the_first_block_leaves_an_estimator_that_is_not_fitted():
    model = StreamGraftClassifier()
    with pytest.raises(ValueError, match="one class"):
        model.partial_fit_features(X, np.zeros(90))
    with pytest.raises(ValueError, match=r"l1"):
        StreamGraftClassifier(l1=-1).partial_fit_features(X, CLASSES)
    assert vars(model).keys() == vars(StreamGraftClassifier()).keys()


def test_other_classes_are_refused():
    model = StreamGraftClassifier().partial_fit_features(X[:, :6], CLASSES)
    with pytest.raises(ValueError, match="y holds the classes 'nein', 'yes', but came with 'no', 'yes' before"):
        model.partial_fit_features(X[:, 6:], np.where(CLASSES == "no", "nein", "yes"))
    swapped = CLASSES.copy()
    swapped[[3, 4]] = "yes", "no"
    with pytest.raises(ValueError, match="y is not the y of the blocks before"):
        model.partial_fit_features(X[:, 6:], swapped)


def test_a_block_that_fails_in_a_stream_is_counted_and_those_before_it_are_kept():
    bad = X[:, 8:].copy()
    bad[3, 1] = np.nan
    model = StreamGraftRegressor(l1=0.4)
    with pytest.raises(ValueError, match="column 'x9', row 3") as caught:
        model.fit_stream([X[:, :5], X[:, 5:8], bad], TARGET)
    assert "block 3 of the stream" in caught.value.__notes__[0]
    assert model.n_features_seen_ == 8
    model.partial_fit_features(X[:, 8:], TARGET)
    assert_allclose(model.coef_, stream().coef_, atol=1e-7)


@pytest.mark.parametrize(
    ("blocks", "options", "message"),
    [
        ([], {}, "holds no block"),
        (iter([X]), {"passes": 2}, "list_iterator can be read only once"),
        ([X], {"passes": 0}, "passes must be a whole number of at least 1; got 0"),
        ([X], {"passes": True}, "got True"),
    ],
)
def test_streams_that_cannot_be_read_are_refused(blocks, options, message):
    with pytest.raises(ValueError, match=message):
        StreamGraftRegressor().fit_stream(blocks, TARGET, **options)


class Changing:
    """Blocks that are other ones the second time."""

    def __init__(self, *passes):
        self.passes = list(passes)

    def __iter__(self):
        return iter(self.passes.pop(0))


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ([FRAME[NAMES[:4]]], "pass 2 brought 4 columns, but the first brought 12"),
        ([FRAME[NAMES[::-1]]], "column 0 of the stream is called 'f11', but in the first pass it was another"),
        ([FRAME, BLOCK], "more than the 12 columns"),
    ],
)
def test_a_pass_must_bring_the_same_columns(second, message):
    model = StreamGraftRegressor(l1=0.4, buffer=0)
    # the first reading only asks whether there can be another
    blocks = Changing([], [FRAME[NAMES[:6]], FRAME[NAMES[6:]]], second)
    with pytest.raises(ValueError, match=message):
        model.fit_stream(blocks, TARGET, passes=2)
    assert model.n_features_seen_ == 12
    assert_allclose(model.predict(FRAME), stream().predict(FRAME), atol=1e-5)


def test_parameters_that_speak_of_columns_to_come_are_checked_as_far_as_can_be():
    with pytest.raises(ValueError, match="feature_costs gives 'later' the value -1"):
        StreamGraftRegressor(feature_costs={"later": -1}).partial_fit_features(FRAME, TARGET)
    with pytest.raises(ValueError, match="puts the feature 'late' into two bags, 'a' and 'b'"):
        StreamGraftRegressor(groups={"a": ["late"], "b": ["late"]}).partial_fit_features(FRAME, TARGET)
    with pytest.raises(ValueError, match=r"penalty_weights has 5 entries, but column 5 of the stream \('f5'\)"):
        StreamGraftRegressor(penalty_weights=np.ones(5)).partial_fit_features(FRAME, TARGET)
    with pytest.raises(ValueError, match="names one feature twice: as 'f3' and as 3"):
        StreamGraftRegressor(penalty_weights={"f3": 1.0, 3: 2.0}).partial_fit_features(FRAME, TARGET)
    with pytest.raises(ValueError, match="leaves no room for the 3 features"):
        StreamGraftRegressor(keep=["f1", "f2", "f3"], max_features=2).partial_fit_features(FRAME, TARGET)
    apart = StreamGraftRegressor(group_l1=0.1, groups={"pair": ["f1", "f9"], "three": ["f2", "f3", "f4"]})
    with pytest.raises(ValueError, match=r"the bag 'pair' has 2 features, of which 1 are in this block \('f1'\)"):
        apart.fit_stream([FRAME[NAMES[:6]], FRAME[NAMES[6:]]], TARGET)
    with pytest.warns(
        UserWarning, match=r"without columns that parameters speak of: 40 \(in groups\), 'f99' \(in keep\)"
    ):
        stream(keep=["f1", "f99"], groups={"a": [2, 40]})


# --- stopping ---


def test_control_c_in_a_step_leaves_the_best_model_so_far():
    steps = []

    def interrupt(record):
        steps.append(record)
        if len(steps) == 3:
            raise KeyboardInterrupt

    model = StreamGraftRegressor(l1=0.001, callback=interrupt, select_unit=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit_stream([FRAME[NAMES[:5]], FRAME[NAMES[5:]]], TARGET)
    assert not model.certificate_.converged
    assert model.n_features_seen_ == 5
    assert 1 <= model.support_.sum() <= 3
    model.set_params(callback=None)
    model.partial_fit_features(FRAME[NAMES[5:]], TARGET)
    batch = GraftRegressor(l1=0.001).fit(FRAME, TARGET)
    assert_allclose(model.coef_, batch.coef_, atol=1e-6)
    assert model.certificate_.converged


def test_control_c_between_blocks_leaves_the_model_of_those_read():
    def blocks():
        yield FRAME[NAMES[:5]]
        raise KeyboardInterrupt

    model = StreamGraftRegressor(l1=0.4)
    with pytest.raises(KeyboardInterrupt):
        model.fit_stream(blocks(), TARGET)
    assert model.n_features_seen_ == 5
    assert not model.certificate_.converged
    assert model.predict(FRAME).shape == (90,)
    model.partial_fit_features(FRAME[NAMES[5:]], TARGET)
    assert model.certificate_.converged

    def nothing():
        raise KeyboardInterrupt
        yield

    fresh = StreamGraftRegressor()
    with pytest.raises(KeyboardInterrupt):
        fresh.fit_stream(nothing(), TARGET)
    assert not hasattr(fresh, "coef_")


def test_a_callback_ends_the_stream():
    model = StreamGraftRegressor(l1=0.001, callback=lambda record: record.step >= 2, select_unit=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit_stream([FRAME[NAMES[:5]], FRAME[NAMES[5:]]], TARGET)
    assert model.n_features_seen_ == 5
    assert len(model.history_) == 2
    assert not model.certificate_.converged


def test_too_few_steps_are_told():
    with pytest.warns(ConvergenceWarning, match="did not reach tol"):
        stream(l1=0.001, max_iter=1, select_unit=1)


def test_progress_is_shown_on_standard_error():
    shown = io.StringIO()
    with redirect_stderr(shown):
        stream(verbose=1)
    assert "streaming: pass 1, 12 columns, 3 features" in shown.getvalue()
    assert "grafting:" not in shown.getvalue()
    for learn in (StreamGraftRegressor.fit, StreamGraftRegressor.partial_fit_features):
        shown = io.StringIO()
        with redirect_stderr(shown):
            learn(StreamGraftRegressor(l1=0.4, verbose=1), FRAME, TARGET)
        assert "grafting: step 1, " in shown.getvalue()
