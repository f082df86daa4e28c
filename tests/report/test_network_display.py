"""The picture of a network shows its connections."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_friedman1
from sklearn.exceptions import NotFittedError

from skgraft import MLPGraftClassifier, MLPGraftRegressor, NetworkDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    plt.close("all")


def labels(display):
    return [text.get_text() for text in display.ax_.texts]


def test_every_connection_is_a_line_whose_thickness_is_its_weight():
    X, y = make_friedman1(200, n_features=6, random_state=0)
    model = MLPGraftRegressor().fit(X, y)
    display = NetworkDisplay.from_estimator(model, max_width=3.0)
    assert len(display.lines_) == len(model.connections_) + len(model.units_)
    inner = display.lines_[: len(model.connections_)]
    width = np.array([line.get_linewidth() for line in inner])
    assert width.max() == pytest.approx(3.0)
    size = np.sort(np.abs(model.connections_["strength"]))
    assert (np.argsort(np.sort(width)) == np.argsort(size)).all()
    n_positive = sum(line.get_color() == display.lines_[-1].get_color() for line in inner)
    assert n_positive == np.count_nonzero(model.connections_["strength"] > 0.0)
    assert display.figure_ is display.ax_.figure


def test_names_are_those_of_the_features_in_use_and_of_the_classes():
    X, y = load_iris(return_X_y=True, as_frame=True)
    species = np.array(["setosa", "versicolor", "virginica"])[y]
    model = MLPGraftClassifier(l0=0.02).fit(X, species)
    display = NetworkDisplay.from_estimator(model)
    assert labels(display) == [*X.columns[model.support_], "setosa", "versicolor", "virginica"]
    two = MLPGraftClassifier().fit(X.to_numpy()[:100], species[:100])
    names = list("abcd")
    shown = labels(NetworkDisplay.from_estimator(two, feature_names=names))
    assert shown == [*np.array(names)[two.support_], "versicolor"]


def test_a_network_without_units_is_drawn_too():
    model = MLPGraftRegressor(l0=100.0).fit(np.arange(6.0)[:, None], np.arange(6.0))
    assert not len(model.units_)
    assert NetworkDisplay.from_estimator(model).lines_ == []


def test_it_draws_where_it_is_told_to():
    _, ax = plt.subplots()
    display = NetworkDisplay(["a", "b"], ["y"], np.array([[1.0, 0.0]]), np.array([[1.0]])).plot(ax=ax)
    assert display.ax_ is ax
    assert len(display.lines_) == 2


def test_what_does_not_fit_is_refused():
    with pytest.raises(NotFittedError):
        NetworkDisplay.from_estimator(MLPGraftClassifier())
    with pytest.raises(ValueError, match="n_units, 1"):
        NetworkDisplay(["a"], ["y"], np.ones((1, 2)), np.ones((1, 1)))
    with pytest.raises(ValueError, match="output_weights must have shape"):
        NetworkDisplay(["a"], ["y"], np.ones((2, 1)), np.ones((1, 1)))
    model = MLPGraftRegressor(l0=100.0).fit(np.arange(6.0)[:, None], np.arange(6.0))
    with pytest.raises(ValueError, match="2 names"):
        NetworkDisplay.from_estimator(model, feature_names=["a", "b"])
