"""GBFS as the paper runs it: for every price, the depth and the number of trees that err least on held-out rows.

The paper compares half a reduction of squared error with its mu (equation 14), skgraft a whole one (the gain of a
split): the paper's mu is passed on doubled.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from papers._gbfs import paper
from papers._gbfs.problems import Problem
from skgraft import GBFSClassifier, gbfs_path

Prices = tuple[tuple[float, ...], str]  # values of mu, and the scale that they are on
GRID = (0.5, 0.25, 0.12, 0.06, 0.03, 0.015, 0.008, 0.004, 0.002, 0.001)


@dataclass(frozen=True)
class Choice:
    """What was chosen for a price, and once trained, the features in the order of purchase and the test error."""

    mu: float
    depth: int
    trees: int
    features: tuple[int, ...] = ()
    error: float = float("nan")


def parameters(scale: str, depth: int, trees: int) -> dict[str, Any]:
    """Return the parameters of an estimator or a path.

    Splits are found by the gradient, as in the paper; leaves take a Newton step, which needs fewer trees.
    """
    return {
        "mu_scale": scale,
        "max_depth": depth,
        "n_trees": trees,
        "learning_rate": paper.LEARNING_RATE,
        "n_jobs": 1,
    }


def staged_errors(model: Any, X: NDArray[np.float64], y: NDArray[np.int64], trees: int) -> NDArray[np.float64]:
    """Return the error after each tree; a model that stopped earlier keeps its last."""
    errors = [float(np.mean(predicted != y)) for predicted in model.staged_predict(X)]
    if not errors:
        errors = [float(np.mean(model.predict(X) != y))]
    return np.array([*errors, *[errors[-1]] * (trees - len(errors))])[:trees]


def choose(problem: Problem, prices: Prices) -> list[Choice]:
    """Return for every price the depth and the number of trees with the least mean error over the splits.

    Of equals the shallower trees, and of these the fewest, are taken.
    """
    mus, scale = prices
    budget = problem.budget
    falling = sorted(mus, reverse=True)
    errors = np.zeros((len(falling), len(budget.depths), budget.trees))
    for split in range(budget.splits):
        X, held, y, y_held = train_test_split(
            problem.X, problem.y, test_size=0.2, stratify=problem.y, random_state=split
        )
        for d, depth in enumerate(budget.depths):
            path = gbfs_path(X, y, falling, **parameters(scale, depth, budget.trees))
            for m in range(len(falling)):
                errors[m, d] += staged_errors(path.estimator(m), held, y_held, budget.trees)
    choices = []
    for m, mu in enumerate(falling):
        d, t = np.unravel_index(int(np.argmin(errors[m])), errors[m].shape)
        choices.append(Choice(mu, budget.depths[d], int(t) + 1))
    return choices


def walk(problem: Problem, prices: Prices, choices: list[Choice]) -> Iterator[Choice]:
    """Yield the choices trained on all training rows, those that select nothing left out."""
    for choice in choices:
        model = GBFSClassifier(mu=choice.mu, **parameters(prices[1], choice.depth, choice.trees))
        model.fit(problem.X, problem.y)
        if len(model.order_):
            error = float(np.mean(model.predict(problem.X_test) != problem.y_test))
            yield Choice(choice.mu, choice.depth, choice.trees, tuple(int(j) for j in model.order_), error)
