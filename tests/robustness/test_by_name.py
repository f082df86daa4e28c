"""New rows in a table are read by the names of their columns, those in an array by their number."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_regressor
from sklearn.utils import get_tags

import skgraft

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

NAMES = [f"gene {j}" for j in range(8)]
TABLES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
CLASSIFIERS = [
    skgraft.GraftClassifier(l1=0.1),
    skgraft.GraftClassifier(l1=0.1, keep=["gene 7"], loss="squared_hinge"),
    skgraft.GraftClassifierCV(n_l1s=4, cv=2, rule="one_se"),
    skgraft.StreamGraftClassifier(l1=0.1),
    skgraft.MLPGraftClassifier(max_features=2, random_state=0),
    skgraft.GBFSClassifier(n_trees=5, max_features=2),
    skgraft.AROMClassifier(n_features_to_select=2),
    skgraft.FSVClassifier(),
    skgraft.L1SVC(l1=0.2),
    skgraft.KernelAROMClassifier(),
    skgraft.KernelAROMClassifier(implementation="span"),
    skgraft.RFESelector(n_features_to_select=2),
    skgraft.R2W2Selector(n_features_to_select=2),
]
REGRESSORS = [
    skgraft.GraftRegressor(l1=0.3),
    skgraft.GraftRegressorCV(n_l1s=4, cv=2),
    skgraft.StreamGraftRegressor(l1=0.3),
    skgraft.MLPGraftRegressor(max_features=2, random_state=0),
    skgraft.GBFSRegressor(n_trees=5, max_features=2),
    skgraft.AROMRegressor(n_features_to_select=2),
]
METHODS = ["predict", "predict_proba", "predict_log_proba", "decision_function", "transform"]


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 8))
    return X, X[:, 1] * X[:, 1] + X[:, 1] - 2.0 * X[:, 4] > 0.5


def table(kind, columns):
    return TABLES[kind](columns)


@pytest.fixture(params=[*CLASSIFIERS, *REGRESSORS], ids=lambda model: type(model).__name__)
def fitted(request):
    X, y = data()
    target = y + 0.1 * X[:, 2] if is_regressor(request.param) else y
    return clone(request.param).fit(pd.DataFrame(X, columns=NAMES), target), X, target


@pytest.mark.parametrize("kind", TABLES)
def test_the_selected_columns_are_enough_in_any_order_and_beside_others(fitted, kind):
    model, X, target = fitted
    columns = dict(zip(NAMES, X.T, strict=True))
    selected = [NAMES[j] for j in np.flatnonzero(model.support_)]
    assert 0 < len(selected) < 8
    few = table(kind, {name: columns[name] for name in reversed(selected)})
    many = table(kind, {"ward": ["north"] * 80} | {name: columns[name] for name in reversed(NAMES)})
    whole = pd.DataFrame(X, columns=NAMES)
    for method in METHODS:
        if hasattr(model, method):
            expected = getattr(model, method)(whole)
            for given in (few, many):
                assert_allclose(getattr(model, method)(given), expected, rtol=1e-12, atol=1e-12)
            plain = getattr(model, method)
            with pytest.warns(UserWarning, match="valid feature names"):
                assert_allclose(plain(X), expected, rtol=1e-12, atol=1e-12)
    assert model.score(few, target) == model.score(many, target) == model.score(whole, target)


@pytest.mark.parametrize("kind", TABLES)
def test_a_missing_selected_column_is_named(fitted, kind):
    model, X, target = fitted
    gone = NAMES[np.flatnonzero(model.support_)[-1]]
    lacking = table(kind, {name: x for name, x in zip(NAMES, X.T, strict=True) if name != gone})
    for method in METHODS:
        if hasattr(model, method):
            with pytest.raises(
                ValueError, match=f"X lacks the column '{gone}', which {type(model).__name__} has selected"
            ):
                getattr(model, method)(lacking)
    with pytest.raises(ValueError, match=f"X lacks the column '{gone}'"):
        model.score(lacking, target)


def test_arrays_are_checked_by_their_number_of_columns(fitted):
    model, X, _ = fitted
    few = X[:, model.support_]
    for given in (few, np.hstack([X, X])):
        with (
            pytest.raises(ValueError, match=f"X has {given.shape[1]} features, but"),
            pytest.warns(UserWarning, match="valid feature names"),
        ):
            model.predict(given)


def test_a_column_twice_is_refused_if_it_is_a_selected_one(fitted):
    model, X, _ = fitted
    chosen = int(np.flatnonzero(model.support_)[0])
    other = int(np.flatnonzero(~model.support_)[0])
    frame = pd.DataFrame(X, columns=NAMES)
    again = model.predict(pd.concat([frame, frame[[NAMES[other]]]], axis=1))
    assert_allclose(again, model.predict(frame), rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match=f"several columns of X are called '{NAMES[chosen]}'"):
        model.predict(pd.concat([frame, frame[[NAMES[chosen]]]], axis=1))


def test_values_of_selected_columns_are_checked_and_others_are_not_read(fitted):
    model, X, _ = fitted
    frame = pd.DataFrame(X, columns=NAMES)
    chosen, other = NAMES[np.flatnonzero(model.support_)[0]], NAMES[np.flatnonzero(~model.support_)[0]]
    again = model.predict(frame.assign(**{other: np.inf}))
    assert_allclose(again, model.predict(frame), rtol=1e-12, atol=1e-12)
    for method in ("predict",) if get_tags(model).input_tags.allow_nan else ("predict", "transform"):
        with pytest.raises(ValueError, match=f"infinity.*'{chosen}'|'{chosen}'.*infinity"):
            getattr(model, method)(frame.assign(**{chosen: np.inf}))
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(frame.iloc[:0])


def test_tables_come_back_as_tables():
    X, y = data()
    frame = pd.DataFrame(X, columns=NAMES).astype({"gene 4": "float32"})
    model = skgraft.GraftClassifier(l1=0.1).set_output(transform="pandas").fit(frame, y)
    shuffled = frame[NAMES[::-1]]
    pd.testing.assert_frame_equal(model.transform(shuffled), model.transform(frame))
    assert model.transform(shuffled).dtypes["gene 4"] == np.float32
    polars = model.set_output(transform="polars").transform(pl.DataFrame(dict(zip(NAMES, X.T, strict=True))))
    assert polars.columns == model.get_feature_names_out().tolist()


def test_categories_are_found_by_name():
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame({f"x{j}": rng.normal(size=n) for j in range(4)})
    frame["town"] = pd.Categorical(rng.choice(["Ulm", "Bonn", "Kiel"], n))
    frame["size"] = pd.Categorical(rng.choice(["S", "M", "L"], n))
    y = (frame["size"] == "M").to_numpy() ^ (frame["x2"] > 1).to_numpy()
    model = skgraft.GBFSClassifier(n_trees=8, mu=0.05).fit(frame, y)
    assert model.support_[5]
    assert model.support_.sum() < 6
    given = frame[model.get_feature_names_out()[::-1]]
    assert_array_equal(model.predict_proba(given), model.predict_proba(frame))
    assert_array_equal(list(model.staged_predict(given))[-1], model.predict(frame))


def test_without_names_in_training_a_table_is_read_by_position():
    X, y = data()
    model = skgraft.GraftClassifier(l1=0.1).fit(X, y)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert_array_equal(model.predict(pd.DataFrame(X, columns=NAMES[::-1])), model.predict(X))


def test_a_model_without_features_needs_none():
    X, y = data()
    model = skgraft.GraftClassifier(l1=10.0).fit(pd.DataFrame(X, columns=NAMES), y)
    assert model.predict(pd.DataFrame({"ward": ["north"] * 3})).shape == (3,)
