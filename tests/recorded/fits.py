"""Sixty fits over all public estimators, and what is remembered of each.

``python tests/recorded/fits.py`` compares them with what is stored and prints the differences, down to the last bit;
``--write`` stores what they give now.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine, make_regression

import skgraft as sg
from skgraft import datasets

HERE = Path(__file__).parent
STORED = HERE / "fits.json"
Fit = Callable[[], dict[str, Any]]


@cache
def cancer() -> tuple[np.ndarray, np.ndarray]:
    return load_breast_cancer(return_X_y=True)


@cache
def wine() -> tuple[np.ndarray, np.ndarray]:
    return load_wine(return_X_y=True)


@cache
def diabetes() -> tuple[np.ndarray, np.ndarray]:
    return load_diabetes(return_X_y=True)


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


@cache
def wide() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_regression(80, 600, n_informative=8, noise=5.0, random_state=0)
    return X, y / 50.0


@cache
def counts() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 12))
    return X, rng.poisson(np.exp(0.5 * X[:, 2] - 0.4 * X[:, 5])).astype(float)


@cache
def sparse() -> tuple[sp.csr_array, np.ndarray]:
    rng = np.random.default_rng(7)
    X = sp.random_array((300, 900), density=0.03, rng=rng, format="csr")
    y = np.where(np.asarray(X @ rng.normal(size=900)) + 0.1 * rng.normal(size=300) > 0.0, 1, 0)
    return X, y


def signs(data: tuple[Any, np.ndarray]) -> tuple[Any, np.ndarray]:
    X, y = data
    return X, np.where(y > np.median(y), 1, -1)


COSTS = np.linspace(0.5, 2.0, 30)
BAGS = np.repeat(np.arange(10), 3)
STEEP = {"l1": 0.0, "l0": 0.01}


def _seen(model: Any) -> dict[str, Any]:
    """Return what a fitted estimator is remembered by."""
    seen: dict[str, Any] = {"support": np.flatnonzero(model.support_).tolist()}
    if hasattr(model, "order_"):
        seen["order"] = np.asarray(model.order_).tolist()
    if hasattr(model, "objective_"):
        seen["objective"] = float(model.objective_)
    for name in ("coef_", "intercept_", "train_score_", "l1_", "mu_", "ranking_", "scores_"):
        value = getattr(model, name, None)
        if value is not None and not (name == "scores_" and not isinstance(value, np.ndarray)):
            seen[name] = np.asarray(value, float).ravel().tolist()
    if hasattr(model, "trees_"):
        seen["trees"] = [
            [[tree.feature.tolist(), np.nan_to_num(np.asarray(tree.threshold, float)).tolist()] for tree in trees]
            for trees in model.trees_
        ]
    return seen


def _path(points: Any) -> dict[str, Any]:
    return {
        "support": [np.sort(point.features).tolist() for point in points],
        "objective": [float(point.objective) for point in points],
    }


def _fit(estimator: Any, data: tuple[Any, Any], **fit: Any) -> dict[str, Any]:
    return _seen(estimator.fit(*data, **fit))


def _stream(estimator: Any, data: tuple[Any, Any], block: int) -> dict[str, Any]:
    X, y = data
    for first in range(0, X.shape[1], block):
        estimator.partial_fit_features(X[:, first : first + block], y)
    return _seen(estimator)


def _half(data: tuple[Any, np.ndarray]) -> np.ndarray:
    return np.where(np.arange(data[1].size) % 3 == 0, 2.0, 1.0)


def linear() -> Iterator[tuple[str, Fit]]:
    """Linear grafting: losses, penalties, prices, efforts, storages."""
    classify, regress = sg.GraftClassifier, sg.GraftRegressor
    yield "logistic", lambda: _fit(classify(l1=0.02), cancer())
    yield "logistic weighted", lambda: _fit(classify(l1=0.02), cancer(), sample_weight=_half(cancer()))
    yield "logistic unscaled", lambda: _fit(classify(l1=0.02, standardize=False), cancer())
    yield "logistic ridge", lambda: _fit(classify(l1=0.01, l2=0.01), cancer())
    yield "logistic light", lambda: _fit(classify(l1=0.02, effort="light"), cancer())
    yield "logistic newest", lambda: _fit(classify(l1=0.02, effort="newest"), cancer())
    yield "logistic batch", lambda: _fit(classify(l1=0.02, effort="batch"), cancer())
    yield "logistic gauss_seidel", lambda: _fit(classify(l1=0.05, effort="gauss_seidel"), cancer())
    yield "logistic one by one", lambda: _fit(classify(l1=0.02, select_unit=1), cancer())
    yield "logistic l0", lambda: _fit(classify(**STEEP), cancer())
    yield "logistic budget", lambda: _fit(classify(l1=0.001, max_features=4), cancer())
    yield "logistic costs", lambda: _fit(classify(l1=0.001, feature_costs=COSTS, max_cost=5.0), cancer())
    yield "logistic bags", lambda: _fit(classify(l1=0.0, group_l1=0.03, groups=BAGS), cancer())
    yield "logistic keep", lambda: _fit(classify(l1=0.001, l0=0.01, keep=[3, 7], max_features=5), cancer())
    yield "logistic positive", lambda: _fit(classify(l1=0.02, positive=True), cancer())
    yield "logistic sparse", lambda: _fit(classify(l1=0.03), sparse())
    yield "multinomial", lambda: _fit(classify(l1=0.02), wine())
    yield "multinomial digits", lambda: _fit(classify(l1=0.02), digits())
    yield "squared hinge", lambda: _fit(classify(l1=0.02, loss="squared_hinge"), cancer())
    yield "squared hinge wine", lambda: _fit(classify(l1=0.02, loss="squared_hinge"), wine())
    yield "squared", lambda: _fit(regress(l1=2.0), diabetes())
    yield "squared wide", lambda: _fit(regress(l1=0.05), wide())
    yield "squared thorough", lambda: _fit(regress(l1=0.0, l0=40.0, polish="thorough", random_state=0), diabetes())
    yield "huber", lambda: _fit(regress(l1=0.02, loss="huber"), wide())
    yield "poisson", lambda: _fit(regress(l1=0.05, loss="poisson"), counts())
    yield "two targets", lambda: _fit(regress(l1=0.1), (wide()[0], np.column_stack([wide()[1], wide()[1][::-1]])))
    yield "classifier cv", lambda: _fit(sg.GraftClassifierCV(cv=3, l1s=np.geomspace(0.3, 0.003, 12)), cancer())
    yield "regressor cv", lambda: _fit(sg.GraftRegressorCV(cv=3, l1s=np.geomspace(30.0, 0.3, 12)), diabetes())
    yield "path", lambda: _path(sg.graft_path(*cancer(), n_values=15))
    yield "path of sizes", lambda: _path(sg.graft_path(*diabetes(), l1=0.5, sizes=range(1, 5)))


def growing() -> Iterator[tuple[str, Fit]]:
    """Networks and streams."""

    def hidden() -> tuple[np.ndarray, np.ndarray]:
        problem = datasets.make_threshold_max(300, random_state=1)
        return problem.data, problem.target

    yield "network", lambda: _fit(sg.MLPGraftClassifier(l1=0.01, random_state=0, max_iter=30), hidden())
    yield (
        "network light",
        lambda: _fit(sg.MLPGraftClassifier(l1=0.01, effort="light", random_state=0, max_iter=30), hidden()),
    )
    yield "network wine", lambda: _fit(sg.MLPGraftClassifier(l1=0.01, random_state=0, max_iter=20), wine())
    yield (
        "network budget",
        lambda: _fit(sg.MLPGraftClassifier(l1=0.01, max_features=4, random_state=0, max_iter=20), cancer()),
    )
    yield "network regression", lambda: _fit(sg.MLPGraftRegressor(random_state=0, max_iter=20), diabetes())
    yield "stream", lambda: _stream(sg.StreamGraftClassifier(l1=0.02), cancer(), 7)
    yield "stream regression", lambda: _stream(sg.StreamGraftRegressor(l1=0.05), wide(), 100)
    yield "stream sparse", lambda: _stream(sg.StreamGraftClassifier(l1=0.03), sparse(), 200)


def boosted() -> Iterator[tuple[str, Fit]]:
    """Boosted trees under prices."""
    classify, regress = sg.GBFSClassifier, sg.GBFSRegressor
    few = {"n_trees": 20, "mu": 0.02, "min_samples_leaf": 5}
    yield "trees", lambda: _fit(classify(**few), cancer())
    yield "trees weighted", lambda: _fit(classify(**few), cancer(), sample_weight=_half(cancer()))
    yield (
        "trees real weights",
        lambda: _fit(classify(**few), cancer(), sample_weight=np.linspace(0.5, 1.7, cancer()[1].size)),
    )
    yield "trees wine", lambda: _fit(classify(**few), wine())
    yield "trees costs", lambda: _fit(classify(**few, feature_costs=COSTS, max_cost=6.0), cancer())
    yield "trees bags", lambda: _fit(classify(**few, groups=BAGS), cancer())
    yield "trees adaptive", lambda: _fit(classify(**few, screening="adaptive"), cancer())
    yield "trees sparse", lambda: _fit(classify(**few), sparse())
    yield "trees regression", lambda: _fit(regress(**few), diabetes())
    yield "trees huber", lambda: _fit(regress(**few, loss="huber"), wide())
    yield "trees poisson", lambda: _fit(regress(**few, loss="poisson"), counts())


def machines() -> Iterator[tuple[str, Fit]]:
    """Zero-norm machines and the rankings that stand beside them."""

    def small() -> tuple[np.ndarray, np.ndarray]:
        X, y = signs(wide())
        return X[:, :200], y

    yield "arom l2", lambda: _fit(sg.AROMClassifier(n_features_to_select=5, C=1.0), small())
    yield "arom l1", lambda: _fit(sg.AROMClassifier(n_features_to_select=5, norm="l1", C=1.0), small())
    yield "arom wine", lambda: _fit(sg.AROMClassifier(n_features_to_select=4, C=1.0), wine())
    yield "arom wine ovr", lambda: _fit(sg.AROMClassifier(n_features_to_select=4, C=1.0, multi_class="ovr"), wine())
    yield "arom regression", lambda: _fit(sg.AROMRegressor(n_features_to_select=5, C=1.0), wide())
    yield "fsv", lambda: _fit(sg.FSVClassifier(n_features_to_select=5, C=1.0), small())
    yield "l1 svc", lambda: _fit(sg.L1SVC(l1=0.05), small())
    yield "l1 svc wine", lambda: _fit(sg.L1SVC(l1=0.05), wine())
    yield "kernel arom", lambda: _fit(sg.KernelAROMClassifier(2, C=1.0), (cancer()[0][:80, :6], cancer()[1][:80]))
    yield "rfe", lambda: _fit(sg.RFESelector(n_features_to_select=5, C=1.0), small())
    # of thirty: with all, rounding alone decides where descents of so few steps end
    yield "r2w2", lambda: _fit(sg.R2W2Selector(n_features_to_select=5, C=1.0), (small()[0][:, :30], small()[1]))


def fits() -> dict[str, Fit]:
    """Return all fits by name."""
    return {name: fit for group in (linear, growing, boosted, machines) for name, fit in group()}


def made(fit: Fit) -> dict[str, Any]:
    """Run a fit; what does not converge in so few steps is remembered all the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit()


def stored() -> dict[str, Any]:
    """Return what the fits gave when they were recorded."""
    return json.loads(STORED.read_text())


def difference(now: Any, then: Any) -> float:
    """Return the largest difference between two records, relative to the largest number; inf for other shapes."""
    a, b = np.asarray(now, float), np.asarray(then, float)
    if a.shape != b.shape:
        return np.inf
    scale = max(float(np.abs(b).max(initial=0.0)), np.finfo(float).tiny)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return float(np.abs(a - b)[~same].max(initial=0.0)) / scale


def main() -> None:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="store what the fits give now")
    if parser.parse_args().write:
        STORED.write_text(json.dumps({name: made(fit) for name, fit in fits().items()}, separators=(",", ":")))
        return
    for name, then in stored().items():
        now = made(fits()[name])
        worst = {
            key: (0.0 if now.get(key) == value else np.inf) if key == "trees" else difference(now.get(key), value)
            for key, value in then.items()
            if not (isinstance(value, list) and value and isinstance(value[0], list) and key == "support")
        }
        if any(d != 0.0 for d in worst.values()) or now["support"] != then["support"]:
            print(f"{name}: support {'same' if now['support'] == then['support'] else 'DIFFERS'}", worst)  # noqa: T201
    print("compared", len(stored()))  # noqa: T201


if __name__ == "__main__":
    main()
