"""How the time of a tree grows with rows, columns and bought features, and how it falls as training goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import _boosting_problems, _table
from benchmarks._boosters import gbfs
from benchmarks._boosting_problems import Problem
from benchmarks._growth import exponent
from benchmarks._timing import isolated, timed

LIMIT = 600.0
TREES = 40
LONG = 320  # trees over which a tree's cost is followed
Report = Callable[[Any], None]


def time_of_fit(problem: Problem, **parameters: Any) -> dict[str, Any]:
    """Return CPU seconds of a fit, of a further tree, and the number of features bought."""
    gain = problem.root_gain()

    def once(trees: int) -> tuple[Any, float]:
        model, run = timed(lambda: gbfs(problem, trees, 1, gain, **parameters))
        return model, run.cpu

    once(2)
    model, first = once(TREES)
    cpu = median([first, once(TREES)[1], once(TREES)[1]])
    start = median([once(1)[1] for _ in range(3)])
    return {"cpu": cpu, "tree": max(cpu - start, 1e-9) / (TREES - 1), "n_features": int(np.sum(model.support_))}


def series(*, quick: bool) -> Iterator[tuple[str, list[tuple[float, Callable[[], Problem], dict[str, Any]]]]]:
    """Yield what grows, and for each size a problem and what is asked of it."""
    rows = (5_000, 20_000, 80_000) if quick else (10_000, 40_000, 160_000, 640_000)
    yield "rows, 50 columns", [(n, lambda n=n: _boosting_problems.dense(n, 50, share=0.02), {}) for n in rows]
    columns = (500, 2_000, 8_000) if quick else (1_000, 4_000, 16_000, 64_000)
    few = {"n_relevant": 4}
    yield (
        "columns, 5,000 rows",
        [(d, lambda d=d: _boosting_problems.dense(5_000, d, share=0.1, **few), {}) for d in columns],
    )
    yield (
        "columns, 5,000 rows, no screening",
        [(d, lambda d=d: _boosting_problems.dense(5_000, d, share=0.1, **few), {"screening": "off"}) for d in columns],
    )
    n, d = (10_000, 200) if quick else (20_000, 500)
    bought = (5, 10, 20, 40, 80)
    yield (
        f"bought features, {n:,} x {d}",
        [(k, lambda: _boosting_problems.dense(n, d, share=0.0005), {"max_features": k}) for k in bought],
    )


def measure(note: Callable[[str], None], *, quick: bool) -> list[dict[str, Any]]:
    """Return for each kind of growth sizes, times and the exponents."""
    found = []
    for what, sizes in series(quick=quick):
        points = []
        for size, make, parameters in sizes:
            problem = make()

            def work(report: Report, problem: Problem = problem, parameters: dict[str, Any] = parameters) -> None:
                with threadpool_limits(1):
                    report(time_of_fit(problem, **parameters))

            points.append({"size": size, **next(isolated(work, LIMIT))})
            note(f"  {what}: {points[-1]}")
        at = [point["n_features"] if what.startswith("bought") else point["size"] for point in points]
        powers = {key: exponent(at, [point[key] for point in points]) for key in ("cpu", "tree")}
        found.append({"what": what, "points": points, "exponents": powers})
    return found


def render(found: Sequence[dict[str, Any]]) -> str:
    """Return the table of times and exponents."""
    body = []
    for line in found:
        steps = "; ".join(
            f"{point['size']:,}: {_table.milliseconds(point['cpu'])} / {_table.milliseconds(point['tree'])} "
            f"({point['n_features']})"
            for point in line["points"]
        )
        powers = line["exponents"]
        body.append([line["what"], steps, f"{powers['cpu']:.2f}", f"{powers['tree']:.2f}"])
    title = f"## Growth: CPU ms of a fit of {TREES} trees / of a further tree (features bought), 1 thread\n\n"
    return title + _table.markdown(["growing", "size: times", "exponent, fit", "exponent, tree"], body)


# ------------------------------------------------------------------------------------------ as training goes on


def fall(note: Callable[[str], None], *, quick: bool) -> list[dict[str, Any]]:
    """Return, for each problem and way of screening, ms of a tree in stretches of the training.

    The floor is the time of a tree on the bought features alone, found by boosting on these columns without a price.
    """
    trees = LONG // 4 if quick else LONG
    shapes = ((10_000, 250, 0.05, 20), (1_000, 5_000, 0.15, 4))
    if not quick:
        shapes = ((10_000, 1_000, 0.05, 20), (100_000, 500, 0.02, 20), (1_000, 20_000, 0.15, 4))
    rows = []
    for n, d, share, n_relevant in shapes:
        problem = _boosting_problems.dense(n, d, share=share, trees=trees, n_relevant=n_relevant)

        def work(report: Report, problem: Problem = problem) -> None:
            with threadpool_limits(1):
                for screening in ("exact", "off", "adaptive"):
                    report((screening, _stretches(problem, screening)))

        for screening, measured in isolated(work, LIMIT):
            rows.append({"problem": problem.name, "screening": screening, **measured})
            note(f"  {rows[-1]}")
    return rows


def marks(trees: int) -> list[int]:
    """Return where stretches of the training end: the first tree, then doubling."""
    ends = [1, 10]
    while 2 * ends[-1] <= trees:
        ends.append(2 * ends[-1])
    return ends


def _stretches(problem: Problem, screening: str) -> dict[str, Any]:
    gain = problem.root_gain()
    gbfs(problem, 2, 1, gain, screening=screening)
    moments, model = _moments(lambda note: gbfs(problem, problem.trees, 1, gain, screening=screening, callback=note))
    bought = np.flatnonzero(model.support_)
    floor = replace(
        problem, X=np.ascontiguousarray(problem.X[:, bought]), X_test=None, share=0.0, relevant=np.arange(bought.size)
    )
    gbfs(floor, 2, 1, gain, screening="off")
    alone, _ = _moments(lambda note: gbfs(floor, problem.trees, 1, gain, screening="off", callback=note))
    ends = marks(len(moments) - 1)
    spans = [(moments[end] - moments[start]) / (end - start) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    least = (alone[-1] - alone[1]) / (len(alone) - 2)
    return {"ends": ends, "seconds": spans, "floor": least, "n_features": int(bought.size)}


def _moments(fit: Callable[[Callable[..., None]], Any]) -> tuple[list[float], Any]:
    """Return the CPU time at the start of a fit and at the end of each tree."""
    times: dict[int, float] = {}

    def note(record: Any) -> None:
        times[record.step] = time.process_time()  # a tree that buys has a record for each purchase

    began = time.process_time()
    model = fit(note)
    return [began, *times.values()], model


def render_fall(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table of ms a tree by stretch of the training."""
    longest = max((row["ends"] for row in rows), key=len)
    header = ["problem", "screening", "features"]
    header += ["binning + tree 1", *[f"to {end}" for end in longest[1:]], "bought alone", "last / alone"]
    body = []
    for row in rows:
        spans = [_table.milliseconds(seconds) for seconds in row["seconds"]]
        spans += [""] * (len(longest) - len(spans))
        ratio = f"{row['seconds'][-1] / row['floor']:.1f}"
        last = [_table.milliseconds(row["floor"]), ratio]
        body.append([row["problem"], row["screening"], str(row["n_features"]), *spans, *last])
    title = "## The cost of a tree as training goes on: CPU ms a tree, 1 thread\n\n"
    text = (
        "\n\n*Bought alone* is a tree grown on the bought features and nothing else, the least that a tree can cost "
        "once nothing more is bought."
    )
    return title + _table.markdown(header, body) + text
