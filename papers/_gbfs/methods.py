"""The methods of the comparison: each gives a curve of test error against number of features.

A method that is not there yet has its place in `METHODS` with no curve; one entry fills it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from papers._gbfs import paper
from papers._gbfs.boosting import GRID, Choice, Prices, choose, walk
from papers._gbfs.problems import Problem
from skgraft import GraftClassifier, graft_path

L1_VALUES = 40
RIDGE = 1e-6


@dataclass(frozen=True)
class Point:
    """One model: its features in the order of their worth, its test error, and the parameters behind it."""

    method: str
    data_set: str
    n_features: int
    error: float
    parameters: dict[str, float]
    features: tuple[int, ...]


@dataclass(frozen=True)
class Curve:
    """A method's points on a data set and the CPU seconds that they took."""

    method: str
    data_set: str
    points: tuple[Point, ...]
    seconds: float


@dataclass(frozen=True)
class Method:
    """A method of the paper's comparison and how its curve is found; None where it is not there yet."""

    name: str
    title: str
    curve: Callable[[Problem], list[Point]] | None


def error_of(predicted: NDArray[np.generic], truth: NDArray[np.generic]) -> float:
    """Return the share of wrong predictions."""
    return float(np.mean(predicted != truth))


def gbfs_curve(name: str, prices: Prices) -> Callable[[Problem], list[Point]]:
    """Return the curve of GBFS over prices, depth and number of trees chosen by splits of the training rows."""

    def curve(problem: Problem) -> list[Point]:
        mus, scale = prices
        choices = choose(problem, prices)
        return [_gbfs_point(name, problem, choice, scale) for choice in walk(problem, prices, choices) if mus]

    return curve


def _gbfs_point(name: str, problem: Problem, choice: Choice, scale: str) -> Point:
    mu = 0.5 * choice.mu if scale == "absolute" else choice.mu  # the paper's mu is half of ours: see `boosting`
    parameters = {"mu": mu, "depth": choice.depth, "trees": choice.trees}
    return Point(name, problem.name, len(choice.features), choice.error, parameters, choice.features)


def l1_curve(problem: Problem) -> list[Point]:
    """Return the curve of l1-regularised logistic regression over its path, up to the most features asked for."""
    return _along_l1(problem, "L1-LR", lambda point, _X: point)


def refitted_curve(problem: Problem) -> list[Point]:
    """Return the curve of logistic regression refitted without shrinkage on the features that each l1 selects."""

    def refit(point: GraftClassifier, X: NDArray[np.float64]) -> GraftClassifier:
        # kept features alone, and a ridge that only keeps weights finite where they separate the training rows
        model = GraftClassifier(l1=0.0, l2=RIDGE, max_features=int(point.support_.sum()), keep=point.support_, tol=1e-4)
        return model.fit(X, problem.y)

    return _along_l1(problem, "L1-LR refitted", refit)


def _along_l1(
    problem: Problem, name: str, model_of: Callable[[GraftClassifier, NDArray[np.float64]], GraftClassifier]
) -> list[Point]:
    """Return the points of models that are made of those along the path of l1."""
    X, X_test = problem.standardised()
    # From the largest l1 down; the paths of data that a linear model separates are long, hence the tolerance.
    path = graft_path(X, problem.y, n_values=L1_VALUES, smallest=1e-3, tol=1e-3, max_features=None)
    points = []
    for i, step in enumerate(path):
        if 0 < step.features.size <= 1.5 * problem.budget.most:
            error = error_of(model_of(path.estimator(i), X).predict(X_test), problem.y_test)
            features = tuple(int(j) for j in step.features)
            points.append(Point(name, problem.name, step.features.size, error, {"l1": step.l1}, features))
    return points


def forest(n_trees: int, leaf: int) -> RandomForestClassifier:
    """Return a forest whose trees grow until a node has at most so many rows."""
    return RandomForestClassifier(n_trees, min_samples_split=leaf + 1, random_state=0)


def forest_curve(problem: Problem) -> list[Point]:
    """Return the curve of forests grown on the features that a first forest ranks highest."""
    budget = problem.budget
    ranking = forest(budget.forest, budget.leaf).fit(problem.X, problem.y).feature_importances_
    order = np.argsort(-ranking, kind="stable")
    return retrained(problem, "RF-FS", order, budget.sizes, forest(budget.retrained, budget.leaf))


def retrained(
    problem: Problem, name: str, order: NDArray[np.intp], sizes: Sequence[int], model: RandomForestClassifier
) -> list[Point]:
    """Return the points of a classifier trained on the first features of an order."""
    points = []
    for size in sizes:
        if size <= problem.X.shape[1]:
            chosen = order[:size]
            model.fit(problem.X[:, chosen], problem.y)
            error = error_of(model.predict(problem.X_test[:, chosen]), problem.y_test)
            features = tuple(int(j) for j in chosen)
            points.append(Point(name, problem.name, size, error, {"trees": model.n_estimators}, features))
    return points


PAPER_PRICES: Prices = (tuple(2.0 * mu for mu in paper.MUS), "absolute")
OUR_PRICES: Prices = (GRID, "relative")

METHODS = {
    method.name: method
    for method in (
        Method("GBFS", "GBFS, the paper's ten mu", gbfs_curve("GBFS", PAPER_PRICES)),
        Method("GBFS relative", "GBFS, mu as a share of the largest", gbfs_curve("GBFS relative", OUR_PRICES)),
        Method("L1-LR", "logistic regression with l1", l1_curve),
        Method("L1-LR refitted", "logistic regression on the features of l1, without shrinkage", refitted_curve),
        Method("RF-FS", "random forest, ranked and retrained", forest_curve),
        Method("mRMR", "minimum redundancy, maximum relevance", None),
        Method("HSIC lasso", "HSIC lasso", None),
    )
}


def trace(name: str, problem: Problem) -> Curve:
    """Return a method's curve on a data set."""
    find = METHODS[name].curve
    if find is None:
        raise ValueError(f"{name} is not there yet")
    began = process_time()
    points = find(problem)
    return Curve(name, problem.name, tuple(points), process_time() - began)
