"""The runs of the comparison in order, and what is read off them."""

from collections.abc import Callable, Iterable

import numpy as np

from papers._grafting import paper
from papers._grafting.comparison import Run

VARIANT = "a'"  # (a) without prices
NETWORK_VARIANT = "b'"  # (b) with trial fits and a floor
Measure = Callable[[Run], float | None]


class Runs:
    """The runs by algorithm, version of its parameters and data set."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs: dict[tuple[str, str, str], list[Run]] = {}
        for run in runs:
            self._runs.setdefault((run.algorithm, run.version, run.data_set), []).append(run)

    def of(self, key: str, version: str, data_set: str) -> list[Run]:
        """Return the runs on all instances; none where the algorithm or the data are missing."""
        return self._runs.get((key, version, data_set), [])

    def values(self, key: str, version: str, data_set: str, measure: Measure) -> list[float]:
        """Return what was measured on every instance, without what is not defined."""
        return [value for run in self.of(key, version, data_set) if (value := measure(run)) is not None]

    def mean(self, key: str, version: str, data_set: str, measure: Measure) -> float:
        """Return the mean over the instances; NaN where there are none."""
        values = self.values(key, version, data_set, measure)
        return float(np.mean(values)) if values else float("nan")


def error(run: Run) -> float:
    """Return the test error."""
    return run.error


def n_features(run: Run) -> float | None:
    """Return the number of features, for algorithms that select."""
    return float(run.n_features) if run.selects else None


def n_connections(run: Run) -> float | None:
    """Return the number of connections from features to hidden units, for networks that grow."""
    return run.n_connections


def saliency(run: Run) -> float | None:
    """Return the saliency, where the truth is known and the algorithm selects."""
    return run.saliency


def seconds(run: Run) -> float:
    """Return the processor time of training."""
    return run.seconds


def steps(run: Run) -> float | None:
    """Return the number of steps, where the algorithm counts them."""
    return run.steps


def ratios(found: Runs, slow: str, fast: str, version: str) -> list[float]:
    """Return, for each data set, how many times the time of one algorithm another takes."""
    return [found.mean(slow, version, d, seconds) / found.mean(fast, version, d, seconds) for d in paper.DATA_SETS]


def stated_ratios(slow: str, fast: str) -> list[float]:
    """Return the paper's ratios; NaN where it has no time, or nothing to compare."""
    times, base = paper.SECONDS.get(slow, {}), paper.SECONDS.get(fast, {})
    return [times.get(name, np.nan) / base.get(name, np.nan) for name in paper.DATA_SETS]


def excess(found: Runs, data_set: str, version: str) -> float:
    """Return by how much the criterion of (c) ends above the certified optimum, relative to it: the worst instance."""
    pairs = zip(found.of("c", version, data_set), found.of(VARIANT, version, data_set), strict=True)
    return max(
        (float(c.objective / a.objective - 1.0) for c, a in pairs if c.objective and a.objective), default=np.nan
    )
