"""Figures 3 and 7: the curves of all methods on all data sets but the largest."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from papers._gbfs.methods import METHODS, Curve, trace
from papers._gbfs.problems import lightened, load_problems

AT = (5, 10, 20, 50, 100)  # numbers of features at which curves are compared


@dataclass(frozen=True)
class Run:
    """A point of a curve as it is stored."""

    method: str
    data_set: str
    n_features: int
    error: float
    seconds: float  # of the whole curve
    parameters: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """Everything that was measured: curves, and for data sets that are missing why."""

    runs: list[Run]
    missing: Mapping[str, str]
    budgets: Mapping[str, Mapping[str, Any]]  # how much work each data set was given


def runs_of(curves: Sequence[Curve]) -> list[Run]:
    """Return the points of curves without their features."""
    return [
        Run(point.method, curve.data_set, point.n_features, point.error, curve.seconds, point.parameters)
        for curve in curves
        for point in curve.points
    ]


def run_curves(names: Sequence[str], n_jobs: int, *, quick: bool) -> Measured:
    """Return the curves of all methods that are there, the longest work first."""
    problems = load_problems(names)
    present = [lightened(problem) if quick else problem for problem in problems.present]
    present.sort(key=lambda problem: -problem.X.size * max(problem.budget.splits, 1))
    methods = [name for name, method in METHODS.items() if method.curve is not None]
    work = [delayed(trace)(name, problem) for problem in present for name in methods]
    found = {(curve.data_set, curve.method): curve for curve in Parallel(n_jobs=n_jobs)(work)}
    ordered = [found[name, method] for name in names for method in methods if (name, method) in found]
    budgets = {problem.name: asdict(problem.budget) for problem in present}
    return Measured(runs_of(ordered), problems.missing, {name: budgets[name] for name in names if name in budgets})


class Runs:
    """What was measured, to be asked for errors."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = list(runs)

    @property
    def data_sets(self) -> list[str]:
        """The data sets, in order."""
        return list(dict.fromkeys(run.data_set for run in self._runs))

    def methods(self, data_set: str) -> list[str]:
        """Return the methods of a data set, in order."""
        return list(dict.fromkeys(run.method for run in self._runs if run.data_set == data_set))

    def curve(self, method: str, data_set: str) -> list[Run]:
        """Return a curve from the fewest features to the most."""
        its = [run for run in self._runs if (run.method, run.data_set) == (method, data_set)]
        return sorted(its, key=lambda run: run.n_features)

    def at(self, method: str, data_set: str, most: int) -> Run | None:
        """Return the point with the most features of those with at most so many.

        Test errors have no say in it: of equals the first in order of storage is taken.
        """
        its = [run for run in self.curve(method, data_set) if run.n_features <= most]
        return max(its, key=lambda run: run.n_features) if its else None

    def differences(self, first: str, second: str, data_set: str, at: Sequence[int] = AT) -> list[float]:
        """Return by how much the first errs more than the second at numbers of features that both reach."""
        pairs = [(self.at(first, data_set, most), self.at(second, data_set, most)) for most in at]
        return [a.error - b.error for a, b in pairs if a is not None and b is not None]

    def mean_difference(self, first: str, second: str, data_set: str, at: Sequence[int] = AT) -> float:
        """Return the mean of the differences, NaN where there are none."""
        found = self.differences(first, second, data_set, at)
        return float(np.mean(found)) if found else float("nan")
