"""How the time of a fit grows with the number of rows and of columns, while the selected features stay few."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import _problems, _table
from benchmarks._peers import SKGRAFT
from benchmarks._problems import Problem
from benchmarks._timing import isolated, timed

N_RELEVANT = 30
SHARE = 0.4  # at which the relevant features are selected and hardly any other
TOL = 1e-4
LIMIT = 300.0


def columns(kind: str, sizes: Sequence[int]) -> Iterator[tuple[int, Problem]]:
    """Yield sparse problems of more and more columns; the relevant ones are filled enough to stand out at any size."""
    n = 20_000
    for p in sizes:
        rng = np.random.default_rng(_problems.SEED)
        relevant = _problems.scattered(n, N_RELEVANT, n // 10, rng)
        rest = _problems.scattered(n, p - N_RELEVANT, 20, rng)
        scores = np.asarray(relevant @ rng.choice([-1.0, 1.0], N_RELEVANT)).ravel()
        X = sp.hstack([relevant, rest], format="csc")
        yield p, Problem(f"{kind}, {p:,} columns", kind, X, _problems.respond(scores, kind, rng)).at(SHARE)


def rows(kind: str, sizes: Sequence[int]) -> Iterator[tuple[int, Problem]]:
    """Yield dense problems of more and more rows."""
    for n in sizes:
        yield n, _problems.dense(kind, n, 50, n_relevant=N_RELEVANT).at(SHARE)


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Return e of the power law time = c·size^e that fits best."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def measure(note: Callable[[str], None], *, quick: bool) -> list[dict[str, Any]]:
    """Return, for each loss and direction, sizes, times and the exponent."""
    sizes = (10_000, 30_000, 100_000) if quick else (10_000, 30_000, 100_000, 300_000, 1_000_000)
    found = []
    for kind in ("squared", "logistic"):
        for what, problems in (("columns, sparse, 20,000 rows", columns), ("rows, dense, 50 columns", rows)):
            points = []
            for size, problem in problems(kind, sizes):
                cpu, n_features = next(isolated(lambda report, problem=problem: report(_time(problem)), LIMIT))
                points.append({"size": size, "cpu": cpu, "n_features": n_features})
                note(f"  {kind}, {what}: {points[-1]}")
            power = exponent([point["size"] for point in points], [point["cpu"] for point in points])
            last = exponent(*zip(*[(point["size"], point["cpu"]) for point in points[-2:]], strict=True))
            found.append({"loss": kind, "what": what, "points": points, "exponent": power, "last": last})
    return found


def _time(problem: Problem) -> tuple[float, int]:
    read, _ = timed(lambda: SKGRAFT.fit(problem, TOL, 1))
    runs = [timed(lambda: SKGRAFT.fit(problem, TOL, 1))[1].cpu for _ in range(3)]
    return median(runs), int(np.count_nonzero(read()[0].coef))


def render(found: Sequence[dict[str, Any]]) -> str:
    """Return the table of times and exponents."""
    sizes = [point["size"] for point in found[0]["points"]]
    body = []
    for line in found:
        times = [f"{_table.milliseconds(point['cpu'])} ({point['n_features']})" for point in line["points"]]
        body.append([f"{line['loss']}, {line['what']}", *times, f"{line['exponent']:.2f}", f"{line['last']:.2f}"])
    header = ["growing", *[f"{size:,}" for size in sizes], "exponent", "of the last step"]
    return "## Growth at fixed support: skgraft's CPU ms, 1 thread (features selected)\n\n" + _table.markdown(
        header, body
    )
