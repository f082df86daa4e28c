"""Section 2.2.2: l0, l1, l2 and no regularisation on two informative and 0 to 12 irrelevant features."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from papers._grafting import paper
from papers._grafting.elimination import VANISHING, eliminate_backward
from papers._grafting.problems import seed
from papers._tables import mean_and_error
from skgraft import GraftClassifier, graft_path
from skgraft.datasets import SelectionProblem, make_irrelevant

Array = NDArray[np.float64]

NONE, L0, L1, L2 = "none", "l0", "l1", "l2"
L0_COARSE = "l0 coarse"  # the elimination again, by losses that are known to COARSE only
COARSE = 1e-3
RESOLUTIONS = {L0: 0.0, L0_COARSE: COARSE}
REGULARISERS = (NONE, L0, L0_COARSE, L1, L2)
GRIDS = {
    L1: np.array([0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001]),
    L2: np.array([100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001]),
}
TUNING, TESTING = 0, 1  # instances that parameters are chosen on, and instances that are reported


@dataclass(frozen=True)
class Outcome:
    """A regulariser on one kind of problem, with the parameter chosen for the kind.

    ``error`` and ``error_se`` are mean and standard error over the repetitions; ``behind_l1`` and ``behind_l1_se``
    are those of the difference to l1 on the same rows. ``seconds`` are of one repetition.
    """

    sigma: float
    n_irrelevant: int
    regulariser: str
    parameter: float
    error: float
    error_se: float
    behind_l1: float
    behind_l1_se: float
    n_weights: float
    seconds: float


@dataclass(frozen=True)
class _Batch:
    """Instances of one kind of problem: training and test rows."""

    train: list[SelectionProblem]
    test: list[SelectionProblem]

    def errors(self, weights: Array) -> Array:
        """Return the test error of each instance's weights, the intercept last."""
        return np.array(
            [
                np.mean(np.where(test.data @ w[:-1] + w[-1] > 0.0, 1, -1) != test.target)
                for test, w in zip(self.test, weights, strict=True)
            ]
        )


def run_irrelevant(repetitions: int, tuning: int, n_jobs: int) -> list[Outcome]:
    """Run the whole experiment: two deviations, 0 to 12 irrelevant features, the regularisers."""
    kinds = [(sigma, n) for n in range(paper.LARGEST_IRRELEVANT, -1, -1) for sigma in paper.SIGMAS]
    done = Parallel(n_jobs=n_jobs)(delayed(_run_kind)(sigma, n, repetitions, tuning) for sigma, n in kinds)
    outcomes = [outcome for kind in done for outcome in kind]
    return sorted(outcomes, key=lambda o: (o.sigma, o.n_irrelevant, REGULARISERS.index(o.regulariser)))


def _run_kind(sigma: float, n_irrelevant: int, repetitions: int, tuning: int) -> list[Outcome]:
    with threadpool_limits(1):
        parameters = _tuned(_batch(sigma, n_irrelevant, tuning, TUNING))
        batch = _batch(sigma, n_irrelevant, repetitions, TESTING)
        trained = {name: _timed_weights(batch, name, parameters[name]) for name in REGULARISERS}
    errors = {name: batch.errors(weights) for name, (weights, _) in trained.items()}
    return [
        Outcome(
            sigma,
            n_irrelevant,
            name,
            parameters[name],
            *mean_and_error(errors[name]),
            *mean_and_error(errors[name] - errors[L1]),
            n_weights=float(np.mean((weights[:, :-1] != 0.0).sum(axis=1))),
            seconds=seconds / repetitions,
        )
        for name, (weights, seconds) in trained.items()
    ]


def _timed_weights(batch: _Batch, regulariser: str, parameter: float) -> tuple[Array, float]:
    begin = process_time()
    weights = _weights(batch, regulariser, parameter)
    return weights, process_time() - begin


def _batch(sigma: float, n_irrelevant: int, size: int, part: int) -> _Batch:
    """Return instances; for a given sigma the i-th has the same informative features however many others there are."""
    sides = []
    for side, per_class in enumerate((paper.PER_CLASS, paper.TEST_PER_CLASS)):
        seeds = [seed(round(10 * sigma), part, side, i) for i in range(size)]
        sides.append([make_irrelevant(per_class, n_irrelevant, sigma, random_state=s) for s in seeds])
    return _Batch(*sides)


def _tuned(batch: _Batch) -> dict[str, float]:
    """Return, for each regulariser, the parameter of the least mean error; of equals the sparsest or strongest."""
    chosen = {NONE: 0.0}
    for name, resolution in RESOLUTIONS.items():
        by_size = _eliminated(batch, resolution)
        sizes = sorted(by_size)
        chosen[name] = _least(np.array(sizes), [batch.errors(by_size[size]).mean() for size in sizes])
    paths = np.array([_l1_path(problem) for problem in batch.train])
    chosen[L1] = _least(GRIDS[L1], [batch.errors(paths[:, k]).mean() for k in range(GRIDS[L1].size)])
    means = [batch.errors(_weights(batch, L2, value)).mean() for value in GRIDS[L2]]
    chosen[L2] = _least(GRIDS[L2], means)
    return chosen


def _least(grid: NDArray[Any], errors: Sequence[float]) -> float:
    return float(grid[int(np.argmin(errors))])


def _weights(batch: _Batch, regulariser: str, parameter: float) -> Array:
    """Return the weights (n_instances, n_features + 1) that a regulariser learns."""
    if regulariser in RESOLUTIONS:
        return _eliminated(batch, RESOLUTIONS[regulariser])[int(parameter)]
    l1, l2 = {NONE: (0.0, VANISHING), L1: (parameter, 0.0), L2: (0.0, parameter)}[regulariser]
    model = GraftClassifier(l1=l1, l2=l2, standardize=False)
    return np.array([_fitted(model.fit(problem.data, problem.target)) for problem in batch.train])


def _fitted(model: GraftClassifier) -> Array:
    return np.append(model.coef_[0], model.intercept_)


def _l1_path(problem: SelectionProblem) -> list[Array]:
    """Return the weights along the grid of l1, from the largest."""
    path = graft_path(problem.data, problem.target, l1s=GRIDS[L1], standardize=False)
    return [_fitted(path.estimator(i)) for i in range(len(path))]


def _eliminated(batch: _Batch, resolution: float) -> dict[int, Array]:
    X = np.stack([problem.data for problem in batch.train])
    y = np.stack([problem.target for problem in batch.train]).astype(np.float64)
    return eliminate_backward(X, y, resolution)
