"""Sections 4.2 to 4.4: every algorithm on every data set, by cross-validated and by the paper's parameters."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from papers._grafting.algorithms import ALGORITHMS, Algorithm, Parameters, timed_training
from papers._grafting.problems import Problem, Split

FOLDS = 5
CHOSEN, STATED = "five-fold", "paper's"  # how the parameters of a run were set


@dataclass(frozen=True)
class Run:
    """One algorithm on one instance of a data set."""

    algorithm: str
    data_set: str
    instance: int
    version: str
    parameters: dict[str, float]
    error: float
    n_features: int
    saliency: float | None
    seconds: float
    objective: float | None
    steps: int | None
    selects: bool
    converged: bool = True
    n_connections: int | None = None


Choices = Mapping[tuple[str, str, int], Parameters]  # by algorithm, data set and instance
NONE: Choices = {}


def choices_of(runs: Iterable[Run]) -> Choices:
    """Return the parameters that cross-validation chose."""
    return {(run.algorithm, run.data_set, run.instance): run.parameters for run in runs if run.version == CHOSEN}


def compare(
    problems: Sequence[Problem], instances: int, n_jobs: int, keys: Iterable[str] | None = None, known: Choices = NONE
) -> list[Run]:
    """Run the algorithms (all, or those named) on fresh instances of every data set.

    Parameters that are ``known`` from the same instances are not chosen again.
    """
    named = sorted(ALGORITHMS if keys is None else keys)
    chosen = sorted((ALGORITHMS[key] for key in named), key=lambda algorithm: algorithm.same_as is not None)
    tasks = [(problem, i) for problem in reversed(problems) for i in range(instances)]  # the longest first
    done = Parallel(n_jobs=n_jobs)(delayed(_run_all)(problem, i, chosen, known) for problem, i in tasks)
    runs = [run for task in done for run in task]
    return sorted(runs, key=lambda run: (run.data_set, run.algorithm, run.version, run.instance))


def _run_all(problem: Problem, i: int, algorithms: Sequence[Algorithm], known: Choices) -> list[Run]:
    with threadpool_limits(1):
        split = problem.instance(i)
        choices: dict[str, Parameters] = {}
        runs = []
        for algorithm in algorithms:
            before = known.get((algorithm.key, problem.name, i))
            choices[algorithm.key] = _choice(algorithm, split, choices, i) if before is None else before
            chosen, stated = choices[algorithm.key], algorithm.stated[problem.name]
            runs.append(_run(algorithm, problem.name, i, CHOSEN, split, chosen))
            same = dict(chosen) == dict(stated)
            again = runs[-1] if same else _run(algorithm, problem.name, i, STATED, split, stated)
            runs.append(replace(again, version=STATED))
        return runs


def _run(algorithm: Algorithm, data_set: str, i: int, version: str, split: Split, parameters: Parameters) -> Run:
    trained, seconds = timed_training(algorithm, split.X, split.y, parameters)
    features = np.arange(split.X.shape[1]) if trained.features is None else trained.features
    return Run(
        algorithm=algorithm.key,
        data_set=data_set,
        instance=i,
        version=version,
        parameters=dict(parameters),
        error=float(np.mean(trained.predict(split.X_test) != split.y_test)),
        n_features=len(features),
        saliency=None if trained.features is None else split.saliency(features),
        seconds=seconds,
        objective=trained.objective,
        steps=trained.steps,
        selects=trained.features is not None,
        converged=trained.converged,
        n_connections=trained.n_connections,
    )


def _choice(algorithm: Algorithm, split: Split, earlier: dict[str, Parameters], i: int) -> Parameters:
    """Return the parameters shared with an earlier algorithm, or those of the least cross-validated error."""
    if algorithm.same_as is not None:
        return earlier[algorithm.same_as]
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=i).split(split.X, split.y))
    errors = [_cross_validated_error(algorithm, split, folds, parameters) for parameters in algorithm.grid]
    return algorithm.grid[int(np.argmin(errors))]


def _cross_validated_error(
    algorithm: Algorithm, split: Split, folds: Sequence[tuple[np.ndarray, np.ndarray]], parameters: Parameters
) -> float:
    wrong = 0
    for train, test in folds:
        trained = algorithm.train(np.asfortranarray(split.X[train]), split.y[train], parameters)
        wrong += int(np.sum(trained.predict(split.X[test]) != split.y[test]))
    return wrong / len(split.y)


def measure_times(
    problems: Sequence[Problem], instances: int, chosen: Iterable[str] | None = None, known: Choices = NONE
) -> list[Run]:
    """Run the timed algorithms (all, or those named) one after the other, once they are compiled."""
    named = set(ALGORITHMS if chosen is None else chosen)
    keys = [key for key, algorithm in ALGORITHMS.items() if algorithm.timed and key in named]
    for problem in problems:
        split = problem.instance(0)
        for key in keys:
            if key not in {"c", "d"}:  # nothing of these is compiled
                ALGORITHMS[key].train(split.X, split.y, ALGORITHMS[key].stated[problem.name])
    return compare(problems, instances, 1, keys, known)
