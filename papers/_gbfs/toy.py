"""Section 5.1: three features, of which x and y decide together and z, a combination of both, is redundant."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from papers._gbfs import paper
from skgraft import GBFSClassifier, graft_path
from skgraft.datasets import SelectionProblem, make_gbfs_toy

MU = 0.1
TREES = 100
LEAF = 5  # rows; some of the squares that the data lie in have few
METHODS = ("GBFS", "L1-LR")


@dataclass(frozen=True)
class Outcome:
    """A method on one instance: test error and which features it uses."""

    method: str
    seed: int
    error: float
    features: str


def fit(method: str, X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> Any:
    """Return the fitted model; the l1 of logistic regression is tuned on held-out rows, as in the paper."""
    if method == "GBFS":
        model = GBFSClassifier(mu=MU, n_trees=TREES, learning_rate=paper.LEARNING_RATE, min_samples_leaf=LEAF, n_jobs=1)
        return model.fit(X, y)
    inner, held, y_inner, y_held = train_test_split(X, y, test_size=0.2, random_state=seed)
    path = graft_path(inner, y_inner, n_values=20)
    models = [path.estimator(i) for i in range(1, len(path))]
    errors = [float(np.mean(model.predict(held) != y_held)) for model in models]
    best = models[int(np.argmin(errors))]
    return best.fit(X, y)


def instance(seed: int) -> SelectionProblem:
    """Return the three features of a seed."""
    return make_gbfs_toy(random_state=seed)


def run_toy(repetitions: int) -> list[Outcome]:
    """Return all methods' outcomes on fresh instances, a tenth of the rows kept for the test."""
    return [_outcome(method, seed) for method in METHODS for seed in range(repetitions)]


def _outcome(method: str, seed: int) -> Outcome:
    problem = instance(seed)
    X, X_test, y, y_test = train_test_split(problem.data, problem.target, test_size=0.1, random_state=seed)
    model = fit(method, X, y, seed)
    error = float(np.mean(model.predict(X_test) != y_test))
    used = ", ".join(problem.feature_names[j] for j in np.flatnonzero(model.support_))
    return Outcome(method, seed, error, used or "none")
