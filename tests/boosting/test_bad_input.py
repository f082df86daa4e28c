"""Mistakes are answered before training starts, with the name of the culprit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from skgraft import GBFSClassifier, GBFSRegressor

pd = pytest.importorskip("pandas")


def data(n=60, d=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] > 0).astype(int)


def never(_):
    msg = "training has started"
    raise AssertionError(msg)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"feature_costs": [1, 1, -2, 1, 1]}, "feature_costs gives 2 the value -2"),
        ({"feature_costs": [1, 1, np.inf, 1, 1]}, "inf"),
        ({"feature_costs": [1, 1, np.nan, 1, 1]}, "nan"),
        ({"feature_costs": [1, 1]}, "feature_costs has 2 entries"),
        ({"groups": {"bag": [0, 9]}}, r"groups\['bag'\] refers to feature 9"),
        ({"groups": {"bag": ["age"]}}, "have no names"),
        ({"groups": [0, 0, 1]}, "groups has 3 entries"),
        ({"keep": [7]}, "keep refers to feature 7"),
        ({"keep": [0, 1, 2], "max_features": 2}, "no room"),
        ({"cost_function": lambda used: np.ones(used.size - 1)}, r"shape \(4,\).*\(5,\)"),
        ({"cost_function": lambda used: np.ones((used.size, 1))}, "shape"),
        ({"cost_function": lambda _: 1 / 0}, "cost_function failed with 0 features bought: ZeroDivisionError"),
        ({"cost_function": lambda _: "free"}, "cost_function failed"),
        ({"cost_function": lambda used: np.full(used.size, -1.0)}, "-1 for feature 0"),
        ({"cost_function": lambda used: np.full(used.size, np.nan)}, "nan for feature 0"),
        ({"cost_function": lambda used: np.ones(used.size), "groups": [0, 0, 1, 1, 2]}, "leave out groups"),
        ({"categorical_features": [9]}, "categorical_features refers to feature 9"),
        ({"categorical_features": ["sex"]}, "have no names"),
        ({"max_depth": 0}, "max_depth"),
        ({"max_bins": 256}, "max_bins"),
        ({"mu": -1.0}, "mu"),
        ({"explore": 0.0}, "explore"),
        ({"early_stopping": True, "validation_fraction": 100}, "validation_fraction"),
    ],
)
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_bad_parameters_are_refused_by_name(parameters, words, kind):
    X, y = data()
    estimator = GBFSClassifier if kind == "classes" else GBFSRegressor
    with pytest.raises(ValueError, match=words):
        estimator(callback=never, **parameters).fit(X, y)


def test_a_cost_function_that_fails_later_says_so():
    X, y = data()

    def cost(used):
        return np.full(used.size, np.nan if used.any() else 1.0)

    with pytest.raises(ValueError, match="with 1 features bought"):
        GBFSClassifier(cost_function=cost).fit(X, y)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_refused_by_column(value):
    X, y = data()
    X[3, 2] = np.nan
    X[7, 4] = value
    with pytest.raises(ValueError, match=r"infinity.*column 4, row 7"):
        GBFSClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"infinity.*column 4, row 7"):
        GBFSClassifier().fit(sp.csr_array(X), y)
    frame = pd.DataFrame(X, columns=list("abcde"))
    with pytest.raises(ValueError, match="column 'e'"):
        GBFSClassifier().fit(frame, y)
    good = np.where(np.isfinite(X), X, np.nan)
    model = GBFSClassifier(n_trees=2).fit(good, y)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(X)


def test_one_class_is_refused():
    X, _ = data()
    with pytest.raises(ValueError, match="one class only"):
        GBFSClassifier().fit(X, np.ones(60))
    with pytest.raises(ValueError, match="one class"):
        GBFSClassifier().fit(X, np.arange(60) > 30, sample_weight=np.arange(60) > 30)


def test_bad_targets_are_refused():
    X, y = data()
    with pytest.raises(ValueError, match="NaN"):
        GBFSRegressor().fit(X, np.where(y, 1.0, np.nan))
    with pytest.raises(ValueError, match="needs y >= 0"):
        GBFSRegressor(loss="poisson").fit(X, y - 1.0)
    with pytest.raises(ValueError, match="positive y"):
        GBFSRegressor(loss="poisson").fit(X, np.zeros(60))
    with pytest.raises(ValueError, match="inconsistent"):
        GBFSRegressor().fit(X, y[:50])


def test_bad_weights_are_refused():
    X, y = data()
    for bad, words in (
        (-np.ones(60), "negative"),
        (np.full(60, np.nan), "NaN"),
        (np.zeros(60), "zero"),
        (np.ones(3), "rows"),
    ):
        with pytest.raises(ValueError, match=words):
            GBFSClassifier().fit(X, y, sample_weight=bad)


def test_bad_validation_rows_are_refused():
    X, y = data()
    with pytest.raises(ValueError, match="go together"):
        GBFSClassifier().fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="not among the classes"):
        GBFSClassifier().fit(X, y, X_val=X, y_val=y + 1)
    with pytest.raises(ValueError, match="y_val has the shape"):
        GBFSClassifier().fit(X, y, X_val=X, y_val=y[:5])
    with pytest.raises(ValueError, match="features"):
        GBFSClassifier().fit(X, y, X_val=X[:, :3], y_val=y)


def test_sparse_categories_are_refused():
    X, y = data()
    with pytest.raises(ValueError, match="needs a dense X"):
        GBFSClassifier(categorical_features=[0]).fit(sp.csr_array(X), y)


def test_huge_and_tiny_values_are_binned():
    X, y = data()
    X[:, 0] *= 1e300
    X[:, 1] *= 1e-300
    model = GBFSClassifier(n_trees=5).fit(X, y)
    assert model.order_[0] == 0
    assert model.score(X, y) == 1.0


def test_huge_targets_are_learned():
    X, y = data()
    scale = 1e150
    small = GBFSRegressor(n_trees=10).fit(X, y.astype(float))
    large = GBFSRegressor(n_trees=10).fit(X, y * scale)
    np.testing.assert_array_equal(small.order_, large.order_)
    np.testing.assert_allclose(large.predict(X) / scale, small.predict(X), rtol=1e-9)
