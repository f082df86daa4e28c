"""Algorithms (a) to (h) of section 4.2, each an entry in one table; those not written yet have none."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from time import process_time

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from papers._grafting import paper
from papers._grafting.descent import descend, l1_logistic, prune
from papers._grafting.network_descent import descend_network
from skgraft import GraftClassifier, MLPGraftClassifier

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Parameters = Mapping[str, float]

MOST_STEPS = 200  # of (b), whose rule has no end where each connection still lowers C by next to nothing
START = 0.01  # deviation of the weights that gradient descent starts from


@dataclass(frozen=True)
class Trained:
    """A trained model: how it predicts, which features it uses (None: all) and, where defined, its criterion."""

    predict: Callable[[Array], Labels]
    features: NDArray[np.intp] | None = None
    objective: float | None = None
    steps: int | None = None
    converged: bool = True
    n_connections: int | None = None


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of the comparison.

    Attributes
    ----------
    key : str
        The paper's letter, with a prime for a variant that the paper does not have.
    name : str
        What it is.
    train : callable
        Takes standardised rows, labels -1 or +1 and parameters, and returns a `Trained`.
    stated : mapping
        The paper's own parameters for each data set (table 2).
    grid : sequence of parameters
        What cross-validation chooses from, the simplest models first: of equals the first is taken.
    same_as : str, optional
        The algorithm whose chosen parameters this one shares, as the paper has it; then there is no grid.
    timed : bool
        Whether table 3 has it.
    """

    key: str
    name: str
    train: Callable[[Array, Labels, Parameters], Trained]
    stated: Mapping[str, Parameters]
    grid: Sequence[Parameters] = ()
    same_as: str | None = None
    timed: bool = False


def _grafted(model: GraftClassifier) -> Trained:
    return Trained(model.predict, model.order_, model.objective_, model.n_iter_, model.certificate_.converged)


def graft_as_published(X: Array, y: Labels, parameters: Parameters) -> Trained:
    """Algorithm (a): one weight at a time, to the optimum each time, until C rises; no second thoughts."""
    model = GraftClassifier(
        l1=parameters["l1"], l0=parameters["l0"], select_unit=1, polish=False, on_increase="stop", standardize=False
    )
    return _grafted(model.fit(X, y))


def graft_without_prices(X: Array, y: Labels, parameters: Parameters) -> Trained:
    """Solve the criterion of (c), which has no l0, as the library does by default: to a certified optimum."""
    return _grafted(GraftClassifier(l1=parameters["l1"], standardize=False).fit(X, y))


def descend_and_prune(X: Array, y: Labels, parameters: Parameters) -> Trained:
    """Algorithm (c): BFGS on all weights with the l1 penalty, then pruning at 1e-4 of the largest weight."""
    start = np.random.default_rng(0).normal(0.0, START, X.shape[1] + 1)
    end = descend(l1_logistic(X, y.astype(np.float64), parameters["l1"]), start)
    w = prune(end.weights)

    def predict(rows: Array) -> Labels:
        return np.where(rows @ w[:-1] + w[-1] > 0.0, 1, -1)

    return Trained(predict, np.flatnonzero(w[:-1]), end.objective, end.steps)


def _grown(model: MLPGraftClassifier) -> Trained:
    converged, n_connections = model.certificate_.converged, len(model.connections_)
    return Trained(model.predict, model.order_, model.objective_, model.n_iter_, converged, n_connections)


def graft_network_as_published(X: Array, y: Labels, parameters: Parameters) -> Trained:
    """Algorithm (b): the gradient test alone says what comes in, until C rises or the steps are used up."""
    model = MLPGraftClassifier(
        l1=parameters["l1"],
        l0=parameters["l0"],
        selection="gradient",
        on_increase="stop",
        standardize=False,
        max_iter=MOST_STEPS,
    )
    return _grown(model.fit(X, y))


def graft_network(X: Array, y: Labels, parameters: Parameters) -> Trained:
    """Minimise the criterion of (b) as the library does by default: trial fits, and a floor on the gain of a step."""
    return _grown(MLPGraftClassifier(l1=parameters["l1"], l0=parameters["l0"], standardize=False).fit(X, y))


def descend_network_and_prune(X: Array, y: Labels, parameters: Parameters) -> Trained:
    """Algorithm (d): a fully connected network of ten units by descent, pruned at 1e-4 of the largest weight."""
    end = descend_network(X, y.astype(np.float64), parameters["l1"])
    return Trained(end.predict, end.features, end.objective, end.steps, converged=end.converged)


def _svm(kernel: str) -> Callable[[Array, Labels, Parameters], Trained]:
    def train(X: Array, y: Labels, parameters: Parameters) -> Trained:
        # gamma="auto" is 1 / number of features, the default of libsvm at the paper's time
        return Trained(SVC(C=parameters["C"], kernel=kernel, gamma="auto").fit(X, y).predict)

    return train


L1_GRID = (0.2, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4)
L0_GRID = (0.005, 0.001)
NETWORK_L1_GRID = (0.1, 0.01, 1e-3, 3e-4, 3e-5, 1e-6)

ALGORITHMS: dict[str, Algorithm] = {
    algorithm.key: algorithm
    for algorithm in (
        Algorithm(
            "a",
            paper.NAMES["a"],
            graft_as_published,
            paper.LINEAR,
            [{"l1": l1, "l0": l0} for l1, l0 in product(L1_GRID, L0_GRID)],
            timed=True,
        ),
        Algorithm(
            "a'",
            "linear grafting, l0 = 0",
            graft_without_prices,
            paper.LINEAR,
            same_as="a",
            timed=True,
        ),
        Algorithm("b", paper.NAMES["b"], graft_network_as_published, paper.NETWORK, same_as="b'", timed=True),
        Algorithm(
            "b'",
            "network grafting, trial fits",
            graft_network,
            paper.NETWORK,
            [{"l1": l1, "l0": l0} for l1, l0 in product(NETWORK_L1_GRID, L0_GRID)],
            timed=True,
        ),
        Algorithm("d", paper.NAMES["d"], descend_network_and_prune, paper.NETWORK, same_as="b'", timed=True),
        Algorithm("c", paper.NAMES["c"], descend_and_prune, paper.LINEAR, same_as="a", timed=True),
        Algorithm("e", paper.NAMES["e"], _svm("linear"), paper.LINEAR_SVM, [{"C": C} for C in (0.001, 0.01, 0.1, 1.0)]),
        Algorithm("f", paper.NAMES["f"], _svm("rbf"), paper.RBF_SVM, [{"C": C} for C in (0.01, 0.1, 1.0, 10.0, 100.0)]),
    )
}


def rows() -> list[tuple[str, str]]:
    """Return key and name of every row of the tables: the paper's eight, and our variants after their originals."""
    names = paper.NAMES | {key: algorithm.name for key, algorithm in ALGORITHMS.items()}
    return sorted(names.items())


def timed_training(algorithm: Algorithm, X: Array, y: Labels, parameters: Parameters) -> tuple[Trained, float]:
    """Train and return the model with the seconds of processor time that took."""
    begin = process_time()
    trained = algorithm.train(X, y, parameters)
    return trained, process_time() - begin
