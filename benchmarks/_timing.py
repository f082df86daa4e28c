"""Times solvers at one common accuracy, in turns, each fit within a limit.

Solvers run in forked children: the parent stays as it is, so that a solver which hangs or crashes costs its own
cell only.  What is compiled before the fork (see `warm_up`) is not compiled again in the children.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks._accuracy import GAP, Accuracy, Judge
from benchmarks._peers import Solver
from benchmarks._problems import Problem

_FORK = multiprocessing.get_context("fork")
CORES = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
PATIENCE = 30.0  # seconds that a run with more threads may take beyond five times that with one
ENOUGH = 6.0  # seconds of timed runs after which a solver is not run again

RETRIES = 2  # with a tighter tolerance, where a timed run missed the accuracy that an earlier one had


@dataclass(frozen=True)
class Run:
    """One timed fit, in seconds of CPU (of all threads) and of the clock."""

    cpu: float
    wall: float

    def since(self, start: Run) -> Run:
        """Return what passed between two readings of the clocks."""
        return Run(self.cpu - start.cpu, self.wall - start.wall)


@dataclass(frozen=True)
class Cell:
    """What a solver did on a problem.

    ``state`` is "timed", "missed" (the accuracy, at its tightest tolerance), "late" (the time limit), "absent" (not
    installed), "excused" (not for this problem) or "failed".
    """

    state: str
    cpu: float | None = None
    wall: float | None = None
    runs: int = 0
    tol: float | None = None
    gap: float | None = None
    kkt: float | None = None
    n_features: int | None = None
    limit: float | None = None
    reason: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return what is known, for storage."""
        return {key: value for key, value in asdict(self).items() if value is not None}


class Late(Exception):  # noqa: N818 -- being late is no error here
    """A child did not report in time."""


class Crashed(Exception):  # noqa: N818 -- nor is it ours if a solver fails
    """A child ended without its last report."""


def isolated(work: Callable[[Callable[[Any], None]], None], limit: float) -> Iterator[Any]:
    """Run ``work(report)`` in a forked child and yield what it reports, each within ``limit`` seconds."""
    receiver, sender = _FORK.Pipe(duplex=False)
    child = _FORK.Process(target=_serve, args=(work, receiver, sender), daemon=True)
    child.start()
    sender.close()
    try:
        while True:
            if not receiver.poll(limit):
                raise Late
            try:
                word, value = receiver.recv()
            except EOFError:
                child.join()
                msg = f"ended with exit code {child.exitcode}"
                raise Crashed(msg) from None
            if word == "end":
                return
            if word == "error":
                raise Crashed(value)
            yield value
    finally:
        child.kill()
        child.join()
        receiver.close()


def _serve(work: Callable[[Callable[[Any], None]], None], receiver: Any, sender: Any) -> None:
    receiver.close()
    warnings.simplefilter("ignore")  # solvers stopped early say so; the certificate says it better
    try:
        work(lambda value: sender.send(("value", value)))
        sender.send(("end", None))
    except Exception as error:  # noqa: BLE001 -- told to the parent, which puts it into the cell
        sender.send(("error", f"{type(error).__name__}: {error}".splitlines()[0][:200]))


def now() -> Run:
    """Read both clocks."""
    return Run(time.process_time(), time.perf_counter())


def timed(fit: Callable[[], Any]) -> tuple[Any, Run]:
    """Return the result of a fit and what it took."""
    start = now()
    result = fit()
    return result, now().since(start)


def warm_up(solvers: Sequence[Solver], problems: Sequence[Problem]) -> None:
    """Compile what solvers compile, on small problems of the same kinds, with one thread."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for problem in problems:
            for solver in solvers:
                if solver.compiles and solver.absent is None and solver.excuse(problem) is None:
                    with suppress(Exception):  # it will fail again, in its cell
                        solver.fit(problem, 1e-3, 1)


def ladder(loosest: float, tightest: float) -> list[float]:
    """Return the tolerances that may be tried, a factor of √10 apart."""
    steps = round(2.0 * math.log10(loosest / tightest))
    return [loosest * 10.0 ** (-0.5 * step) for step in range(steps + 1)]


def search(attempt: Callable[[int], float], n_rungs: int) -> None:
    """Call ``attempt(rung)``, which returns the gap there, until the loosest rung that is accurate enough is known.

    From loose to tight, at least a decade at a time and more while the gap is far too large; then back by halves.
    """
    missed, met = -1, n_rungs
    rung = 0
    while met == n_rungs and missed < n_rungs - 1:
        gap = attempt(rung)
        if gap <= GAP:
            met = rung
        else:
            missed = rung
            far = math.log10(gap / GAP) if math.isfinite(gap) else 0.0
            rung = min(rung + 2 * max(1, int(far)), n_rungs - 1)
    while met < n_rungs and met - missed > 1:
        middle = (met + missed) // 2
        missed, met = (missed, middle) if attempt(middle) <= GAP else (middle, met)


def find_tolerance(solver: Solver, problem: Problem, judge: Judge, limit: float) -> Cell:
    """Return the loosest tolerance at which the solver reaches the common accuracy, within a factor of √10.

    The cell that is returned holds the time of one run, to be replaced by alternating ones.
    """
    rungs = ladder(solver.loosest, solver.tightest)

    def walk(report: Callable[[Any], None]) -> None:
        def attempt(rung: int) -> float:
            read, run = timed(lambda: solver.fit(problem, rungs[rung], 1))
            accuracy = judge.accuracy(read())
            report((rungs[rung], accuracy, run))
            return accuracy.gap

        with threadpool_limits(1):
            search(attempt, len(rungs))

    best: Cell | None = None
    last: Cell | None = None
    try:
        for tol, accuracy, run in isolated(walk, limit):
            last = _cell("timed" if accuracy.met else "missed", tol, accuracy, [run])
            if accuracy.met and (best is None or tol > (best.tol or 0.0)):
                best = last
    except Late:
        return best or Cell("late", limit=limit, gap=None if last is None else last.gap)
    except Crashed as crash:
        return best or Cell("failed", reason=str(crash))
    return best or last or Cell("failed", reason="no result")


def _cell(state: str, tol: float, accuracy: Accuracy, runs: Sequence[Run]) -> Cell:
    return Cell(
        state,
        cpu=median(run.cpu for run in runs),
        wall=median(run.wall for run in runs),
        runs=len(runs),
        tol=tol,
        gap=accuracy.gap,
        kkt=accuracy.kkt,
        n_features=accuracy.n_features,
    )


def turns(names: Sequence[str], counts: dict[str, int]) -> Iterator[str]:
    """Yield whose turn it is: every solver once a round, each round beginning with the next of them."""
    for turn in range(max(counts.values(), default=0)):
        start = turn % len(names)
        for name in [*names[start:], *names[:start]]:
            if turn < counts[name]:
                yield name


def alternate(
    solvers: Sequence[Solver], problem: Problem, judge: Judge, found: dict[str, Cell], repeat: int, threads: int
) -> dict[str, Cell]:
    """Time the solvers that have a tolerance in turns, and check the accuracy of what they return once more.

    One that takes very much longer than it did with one thread is stopped, and the others are timed without it.
    """
    able = {solver.name: solver for solver in solvers if found[solver.name].state == "timed"}
    limit = PATIENCE + 5.0 * max((found[name].wall or 0.0 for name in able), default=0.0)
    race = _race(able, problem, judge, found, repeat, threads)
    runs: dict[str, list[Run]] = {name: [] for name in able}
    checked: dict[str, Accuracy] = {}
    trouble: str | None = None
    running = ""
    try:
        for told in isolated(race, limit):
            if isinstance(told, str):
                running = told
                continue
            name, run, accuracy = told
            runs[name].append(run)
            if accuracy is not None:
                checked[name] = accuracy
    except Late:
        late = Cell("late", limit=limit)
        return alternate(solvers, problem, judge, found | {running: late}, repeat, threads)
    except Crashed as crash:
        trouble = f"timing ended early: {crash}"
    cells = dict(found)
    for name in able:
        if name in checked:
            accuracy = checked[name]
            cells[name] = _cell("timed" if accuracy.met else "missed", found[name].tol or 0.0, accuracy, runs[name])
        else:
            cells[name] = Cell("failed", reason=trouble)
    return cells


def _unpin() -> None:
    """Let the process use all cores again: a package that binds itself to one would bind all that come after it."""
    if CORES is not None:
        os.sched_setaffinity(0, CORES)


def _race(
    able: dict[str, Solver], problem: Problem, judge: Judge, found: dict[str, Cell], repeat: int, threads: int
) -> Callable[[Callable[[Any], None]], None]:
    """Return what a child does: it tells who runs, and after each run what it took and, of the last, its accuracy."""
    counts = {name: _count(found[name], repeat) for name in able}

    def race(report: Callable[[Any], None]) -> None:
        def fit(name: str) -> Any:
            _unpin()
            return able[name].fit(problem, found[name].tol or 0.0, threads)

        left = dict(counts)
        _unpin()
        with threadpool_limits(threads):
            for name in able:
                if (found[name].wall or 0.0) < 3.0:
                    report(name)
                    fit(name)  # caches filled, memory touched
            for name in turns(list(able), counts):
                if left[name] == 0:
                    continue
                report(name)
                read, run = timed(lambda name=name: fit(name))
                left[name] = 0 if run.wall > ENOUGH else left[name] - 1  # threads may slow a solver down
                report((name, run, judge.accuracy(read()) if left[name] == 0 else None))

    return race


def _count(cell: Cell, repeat: int) -> int:
    """Return how often to run: less often where one run takes long."""
    once = max(cell.wall or 0.0, 1e-6)
    return int(min(repeat, max(1, ENOUGH // once)))


def compare(
    solvers: Sequence[Solver],
    problem: Problem,
    *,
    repeat: int,
    threads: Sequence[int],
    longest: float,
    note: Callable[[str], None],
) -> dict[int, dict[str, Cell]]:
    """Return, for each number of threads, every solver's cell; the first solver sets the time limit of the others."""
    judge = Judge(problem)
    found: dict[str, Cell] = {}
    limit = longest
    for solver in solvers:
        if (reason := solver.absent) is not None:
            found[solver.name] = Cell("absent", reason=reason)
        elif (reason := solver.excuse(problem)) is not None:
            found[solver.name] = Cell("excused", reason=reason)
        else:
            solver.prepare(problem)
            found[solver.name] = find_tolerance(solver, problem, judge, limit)
            if found[solver.name].state != "timed":
                note(f"  {solver.name}: {found[solver.name]}")
        if solver is solvers[0] and found[solver.name].state == "timed":
            limit = min(longest, max(5.0, 20.0 * (found[solver.name].wall or 0.0)))
    return {count: _settled(solvers, problem, judge, found, repeat, count) for count in threads}


def _settled(
    solvers: Sequence[Solver], problem: Problem, judge: Judge, found: dict[str, Cell], repeat: int, threads: int
) -> dict[str, Cell]:
    """Time the solvers; whoever just missed, as one whose threads race may, is given a tighter tolerance."""
    cells = alternate(solvers, problem, judge, found, repeat, threads)
    for _ in range(RETRIES):
        missed = [name for name, cell in cells.items() if cell.state == "missed" and found[name].state == "timed"]
        if not missed:
            break
        tighter = {name: replace(found[name], tol=(found[name].tol or 0.0) / 10.0) for name in missed}
        found = found | tighter
        cells = alternate(solvers, problem, judge, found, repeat, threads)
    return cells
