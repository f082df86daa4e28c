"""Linear grafting beside its peers: time at one common accuracy, memory, start and growth.

    python -m benchmarks.linear [--only dense,sparse] [--quick] [--repeat 5] [--threads 1,2]

Every solver is given the loosest tolerance at which skgraft's certificate, computed from the coefficients it returned,
finds a duality gap of at most 1e-6 of the objective at zero.  Then all are timed in turns.  A solver that misses this
accuracy at its tightest tolerance gets no time.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks import _fresh, _growth, _problems, _subsets, _table
from benchmarks._accuracy import GAP
from benchmarks._peers import SOLVERS
from benchmarks._problems import Problem
from benchmarks._processor import agree_on_processor
from benchmarks._timing import compare, warm_up

RESULTS = Path(__file__).parent / "results"
README = Path(__file__).parents[1] / "README.md"
MARKER = "benchmarks/linear"
LIMIT = 60.0  # seconds that one fit may take; less where skgraft is fast, see `compare`
SHARES = (0.1, 0.01)


@dataclass(frozen=True)
class Plan:
    """What to run and how."""

    quick: bool
    repeat: int
    threads: tuple[int, ...]
    limit: float

    def size(self, *shape: int) -> tuple[int, ...]:
        """Return a shape, a quarter of it in each direction for a quick look."""
        return tuple(max(10, length // 4) for length in shape) if self.quick else shape


def note(message: str) -> None:
    """Tell about progress."""
    print(message, file=sys.stderr, flush=True)


# ------------------------------------------------------------------------------------- problems by section


def dense_problems(plan: Plan) -> Iterator[Problem]:
    """Yield dense problems, wide and tall, and one without intercept for those that have none."""
    for kind, shapes in {
        "squared": [(1000, 10000), (10000, 1000)],
        "logistic": [(1000, 10000), (500, 20000), (10000, 1000)],
    }.items():
        for shape in shapes:
            problem = _problems.dense(kind, *plan.size(*shape))
            yield from (problem.at(share) for share in SHARES)
            if kind == "logistic" and shape == (1000, 10000):
                bare = replace(problem, intercept=False, name=f"{problem.name}, no intercept")
                yield from (bare.at(share) for share in SHARES)


def sparse_problems(plan: Plan) -> Iterator[Problem]:
    """Yield sparse problems with a thousandth of the cells filled."""
    for kind in ("squared", "logistic"):
        problem = _problems.sparse(kind, *plan.size(20000, 100000))
        yield from (problem.at(share) for share in SHARES)


def group_problems(plan: Plan) -> Iterator[Problem]:
    """Yield problems with blocks of columns."""
    n, p = (200, 2000) if plan.quick else (500, 10000)
    for size in (5, 50):
        for rho in (0.5, 0.9):
            problem = _problems.groups(n, p, size, rho)
            yield from (problem.at(share) for share in (0.2, 0.05))


def output_problems(plan: Plan) -> Iterator[Problem]:
    """Yield problems of several classes and targets."""
    yield _problems.outputs("multinomial", *plan.size(2000, 500), 5).at(0.1)
    yield _problems.outputs("multinomial", *plan.size(5000, 10000), 5, per_column=20).at(0.2)
    for problem in real_problems(_problems.MORE_CLASSES):
        yield problem.at(0.1)
    yield _problems.outputs("classes", *plan.size(2000, 500), 5).at(0.1)
    targets = _problems.outputs("targets", *plan.size(1000, 5000), 10)
    yield from (targets.at(share) for share in SHARES)


def path_problems(plan: Plan) -> Iterator[Problem]:
    """Yield paths of a hundred values."""
    for kind in ("squared", "logistic"):
        yield _problems.dense(kind, *plan.size(1000, 10000)).along(100, 0.05)


def two_class_problems(plan: Plan) -> Iterator[Problem]:
    """Yield real data of two classes."""
    del plan
    for problem in real_problems(_problems.TWO_CLASSES):
        yield from (problem.at(share) for share in SHARES)


def real_problems(readers: dict[str, Callable[[Path], Problem]]) -> Iterator[Problem]:
    """Yield the real data sets that are there, and tell which are not."""
    folder = _problems.data_folder()
    for name, read in readers.items():
        if folder is None:
            note(f"  {name}: left out, no real data (set SKGRAFT_DATA)")
            continue
        try:
            yield read(folder)
        except OSError as error:
            note(f"  {name}: left out, {error}")


COMPARISONS: dict[str, tuple[str, Callable[[Plan], Iterator[Problem]]]] = {
    "dense": ("Dense, generated", dense_problems),
    "sparse": ("Sparse, generated", sparse_problems),
    "groups": ("Group lasso", group_problems),
    "multinomial": ("Several classes and several targets", output_problems),
    "path": ("Paths of 100 values", path_problems),
    "real": ("Real data, logistic", two_class_problems),
}


def small_twins(section: str) -> list[Problem]:
    """Return small problems of a section's kinds: what is compiled for them is compiled for all."""
    dense = [_problems.dense(kind, 400, 600) for kind in ("squared", "logistic")]
    if section == "dense":
        return [problem.at(0.1) for problem in (*dense, replace(dense[1], intercept=False))]
    if section == "path":
        return [problem.along(5, 0.3) for problem in dense]
    if section == "groups":
        return [_problems.groups(300, 1000, 5, 0.5).at(0.2)]
    if section == "multinomial":
        each = [_problems.outputs(kind, 400, 200, 4) for kind in ("multinomial", "classes", "targets")]
        return [problem.at(0.2) for problem in (*each, _problems.outputs("multinomial", 2000, 2000, 4, per_column=30))]
    sparse = _problems.sparse("logistic", 2000, 15000)
    other = dense[1] if section == "real" else _problems.sparse("squared", 2000, 15000)
    return [problem.at(0.1) for problem in (sparse, other)]


def measure(section: str, plan: Plan) -> list[dict[str, Any]]:
    """Return the rows of a comparison."""
    note("  compiling ...")
    warm_up(SOLVERS, small_twins(section))
    rows = []
    for problem in COMPARISONS[section][1](plan):
        l1 = f"{problem.share:g}" if len(problem.l1s) == 1 else f"1 to {problem.share:g}"
        began = time.perf_counter()
        results = compare(SOLVERS, problem, repeat=plan.repeat, threads=plan.threads, longest=plan.limit, note=note)
        for threads, cells in results.items():
            solvers = {name: cell.as_dict() for name, cell in cells.items()}
            rows.append({"problem": problem.name, "l1": l1, "threads": threads, "solvers": solvers})
        note(f"{_table.comparison(rows[-len(results) :][:1], 'cpu')}\n  ({time.perf_counter() - began:.0f} s)")
    return rows


# ------------------------------------------------------------------------------------------------- report


def report(stored: dict[str, Any]) -> str:
    """Return everything that was measured, as Markdown."""
    parts = ["# Linear grafting beside its peers", _header(stored)]
    for section, (title, _) in COMPARISONS.items():
        rows = stored["sections"].get(section)
        if not rows:
            continue
        for threads in sorted({row["threads"] for row in rows}):
            clock, said = _clock(threads)
            its = [row for row in rows if row["threads"] == threads]
            parts += [f"## {title}: {said}", _table.comparison(its, clock)]
            lost = _table.losses(its, clock)
            parts.append("\n".join(f"- {line}" for line in lost) if lost else "skgraft is the fastest in every row.")
    for name, module in (("l0", _subsets), ("growth", _growth), ("memory", _fresh.Memory), ("start", _fresh.Start)):
        if stored["sections"].get(name):
            parts.append(module.render(stored["sections"][name]))
    return "\n\n".join(parts) + "\n"


def _clock(threads: int) -> tuple[str, str]:
    """Return what is compared: processor time with one thread, the clock on the wall with more."""
    return ("cpu", "CPU ms, 1 thread") if threads == 1 else ("wall", f"wall ms, {threads} threads")


def _header(stored: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in stored["versions"].items())
    absent = "".join(f" Absent: {name} ({reason})." for name, reason in stored["absent"].items())
    return (
        f"Made by `make bench` on {stored['machine']}: {versions}.{absent}\n\n"
        f"Every solver at the same accuracy: a duality gap of {GAP:.0e} of the objective at zero, found by skgraft's "
        "certificate from the coefficients that the solver returned; its tolerance is the loosest that reaches it. "
        "Median of alternating runs, compilation not counted; in brackets, how many times as long as skgraft, in bold "
        "where the peer is faster. `missed` stands for a solver that did not reach the accuracy at its tightest "
        "tolerance, `>` for one stopped at the time limit. Columns are standardised beforehand (sparse ones scaled, "
        "not centred), and every solver gets them in the memory order that suits it. All fit an intercept unless the "
        "row says otherwise; for snapml and liblinear, which penalise theirs, it is the weight of a constant column so "
        "large that the penalty is next to nothing, and liblinear is then stopped by its number of iterations. "
        "scikit-learn stands for coordinate descent with squares, liblinear with two classes and saga with more. Where "
        "NumPy's own OpenBLAS does not know the processor, it is told, for all."
    )


def readme_table(stored: dict[str, Any]) -> str:
    """Return the README's table: one thread, our time and the peers' as multiples of it."""
    rows = [row for section in COMPARISONS for row in stored["sections"].get(section, []) if row["threads"] == 1]
    lost = len(_table.losses(rows, "cpu"))
    return f"{_table.short_comparison(rows, 'cpu')}\n\nA peer is faster in {lost} of {len(rows)} cases (in bold)."


def versions() -> dict[str, str]:
    """Return the versions of everything timed."""
    import numpy as np
    import scipy

    solvers = [*SOLVERS, *_subsets.SOLVERS]
    found = {solver.name: solver.version for solver in solvers if solver.absent is None}
    return {**found, "NumPy": np.__version__, "SciPy": scipy.__version__, "Python": platform.python_version()}


def machine() -> str:
    """Return the processor's name and number of cores."""
    import os

    name = platform.processor() or platform.machine()
    cpu = Path("/proc/cpuinfo")
    if cpu.exists():
        named = [
            line.split(":", 1)[1].strip() for line in cpu.read_text().splitlines() if line.startswith("model name")
        ]
        name = named[0] if named else name
    return f"{name}, {os.cpu_count()} cores"


SECTIONS = (*COMPARISONS, "l0", "growth", "memory", "start")


def run(section: str, plan: Plan) -> Any:
    """Return the measurements of one section."""
    if section in COMPARISONS:
        return measure(section, plan)
    if section == "l0":
        return _subsets.measure(plan.size(1000, 10000), plan.repeat, note)
    if section == "growth":
        return _growth.measure(note, quick=plan.quick)
    shape = plan.size(1000, 10000), plan.size(20000, 100000)
    return (_fresh.Memory if section == "memory" else _fresh.Start).measure(*shape, note)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the sections asked for, print their tables, and store them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linear", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(SECTIONS), help=f"sections, of {', '.join(SECTIONS)}")
    parser.add_argument("--quick", action="store_true", help="a quarter of each size, a short limit, nothing stored")
    parser.add_argument("--repeat", type=int, default=5, help="timed runs of each solver")
    parser.add_argument("--threads", default="1,2", help="numbers of threads")
    parser.add_argument("--limit", type=float, help=f"seconds that one fit may take, by default {LIMIT:g}")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the stored tables")
    given = parser.parse_args(arguments)
    sections = given.only.split(",")
    if unknown := set(sections) - set(SECTIONS):
        parser.error(f"no section is called {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    limit = given.limit or (10.0 if given.quick else LIMIT)
    plan = Plan(given.quick, given.repeat, tuple(int(count) for count in given.threads.split(",")), limit)
    file = given.output / "linear.json"
    stored: dict[str, Any] = {"sections": {}}
    if file.exists() and not plan.quick:
        stored = json.loads(file.read_text(encoding="utf-8"))
    absent = {solver.name: reason for solver in [*SOLVERS, *_subsets.SOLVERS] if (reason := solver.absent)}
    stored |= {"machine": machine(), "versions": versions(), "absent": absent}
    with threadpool_limits(1):
        for section in sections:
            note(f"== {section}")
            stored["sections"][section] = run(section, plan)
            if not plan.quick:
                _store(file, stored)
    print(report(stored))


def _store(file: Path, stored: dict[str, Any]) -> None:
    """Write what there is so far: a run cut short keeps the sections it finished."""
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    file.with_suffix(".md").write_text(report(stored), encoding="utf-8")
    if file.parent == RESULTS and not _table.rewrite(README, MARKER, readme_table(stored)):
        note(f"README.md has no <!-- {MARKER} --> to put the table at")


if __name__ == "__main__":
    agree_on_processor()
    main()
