"""Times boosted trees in turns: whole fits, fits of one tree, and what the trees are worth on test rows.

Each contestant lives in a child of its own, forked with the problem in memory, and waits there for its turn: no
contestant's threads or crashes reach another.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle, repeat
from statistics import median
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks import _boosting_problems, _table
from benchmarks._boosters import BOOSTERS, FOREST, FOREST_TIMED, LIGHTGBM, Booster
from benchmarks._boosting_problems import Maker, Problem
from benchmarks._timing import ENOUGH, Crashed, Late, Run, isolated, now, turns

_FORK = multiprocessing.get_context("fork")
CLOCKS = ("cpu", "wall")


@dataclass(frozen=True)
class Fit:
    """What a fit took, up to the end of its first tree and for each further one, where that is told; and its worth."""

    whole: Run
    first: Run | None = None
    each: Run | None = None
    worth: dict[str, Any] = field(default_factory=dict)


@dataclass
class Entrant:
    """A contestant in its child: what it has measured so far, or what went wrong with it.

    One that does not tell when its trees are done has fits of a single tree beside the whole ones.
    """

    booster: Booster
    problem: Problem
    threads: int
    root_gain: float
    limit: float
    whole: list[Run] = field(default_factory=list)
    first: list[Run] = field(default_factory=list)
    each: list[Run] = field(default_factory=list)
    worth: dict[str, Any] = field(default_factory=dict)
    trouble: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        """Find out whether it can take part at all; its child starts with its first turn."""
        if (reason := self.booster.absent) is not None:
            self.trouble = {"state": "absent", "reason": reason}
        elif (reason := self.booster.excuse(self.problem)) is not None:
            self.trouble = {"state": "excused", "reason": reason}
        self._gate = _FORK.Semaphore(0)
        self._reports = isolated(self._work, self.limit)

    @property
    def trees(self) -> int:
        """Number of trees of a timed fit."""
        return FOREST_TIMED if self.booster.multiple > 1.0 else self.problem.trees

    def _work(self, report: Callable[[Any], None]) -> None:
        """Be the child: a small fit that compiles, a judged fit, then fits of one tree and of all by turns."""
        with threadpool_limits(self.threads):
            for small in (_boosting_problems.dense(500, 30), _boosting_problems.sparse(300, 400)):
                if self.booster.excuse(small) is None:
                    self.booster.fit(small, 3, self.threads, small.root_gain())
            fit = self._fit(self.trees, judge=True)
            report(fit)
            for trees in cycle((1, self.trees)) if fit.each is None else repeat(self.trees):
                report(self._fit(trees))

    def _fit(self, trees: int, *, judge: bool = False) -> Fit:
        """Wait for a turn and fit."""
        self._gate.acquire()
        start = now()
        fitted = self.booster.fit(self.problem, trees, self.threads, self.root_gain)
        whole = now().since(start)
        worth = fitted.judged(self.problem) if judge else {}
        ends = fitted.ends
        if len(ends) < 2:
            return Fit(whole, worth=worth)
        trees_time = ends[-1].since(ends[0])
        each = Run(trees_time.cpu / (len(ends) - 1), trees_time.wall / (len(ends) - 1))
        return Fit(whole, ends[0].since(start), each, worth)

    def turn(self, runs: list[Run]) -> None:
        """Let the child do its next fit, and note a crash or lateness, after which it has no more turns."""
        if self.trouble is not None:
            return
        self._gate.release()
        try:
            fit = next(self._reports)
        except Late:
            self.trouble = {"state": "late", "limit": self.limit}
        except (Crashed, StopIteration) as error:
            self.trouble = {"state": "failed", "reason": str(error)}
        else:
            runs.append(fit.whole)
            if fit.each is not None:
                self.first.append(fit.first)
                self.each.append(fit.each)
            self.worth |= fit.worth

    def end(self) -> None:
        """End the child."""
        self._reports.close()

    def cell(self) -> dict[str, Any]:
        """Return the medians of what was measured."""
        if self.trouble is not None:
            return self.trouble
        cell: dict[str, Any] = {"state": "timed", "runs": len(self.whole), **self.worth}
        for clock in CLOCKS:
            fit, start = (median(getattr(run, clock) for run in runs) for runs in (self.whole, self.first))
            cell[clock] = self.booster.multiple * fit
            if self.booster.multiple == 1.0:
                cell[f"{clock}_first"] = start
                if self.each:
                    cell[f"{clock}_tree"] = median(getattr(run, clock) for run in self.each)
                elif fit > start:  # or else the trees are lost in the noise
                    cell[f"{clock}_tree"] = (fit - start) / (self.trees - 1)
        return cell


def race(
    boosters: Sequence[Booster], problem: Problem, *, threads: int, repeat: int, limit: float
) -> dict[str, dict[str, Any]]:
    """Return every contestant's cell: seconds of a fit, of one with a single tree and of a further tree; and its worth.

    A contestant that takes longer than ``limit`` seconds, or fails, has its state in the cell and no time.
    """
    root_gain = problem.root_gain()
    entrants = {booster.name: Entrant(booster, problem, threads, root_gain, limit) for booster in boosters}
    try:
        for entrant in entrants.values():
            entrant.turn(entrant.whole)
        counts = {name: _count(entrant.whole[0], repeat) for name, entrant in entrants.items() if entrant.whole}
        for name in turns(list(counts), counts):
            entrant = entrants[name]
            if entrant.each:
                entrant.turn(entrant.whole)
                continue
            entrant.turn(entrant.first)
            if counts[name] > 1:
                entrant.turn(entrant.whole)
    finally:
        for entrant in entrants.values():
            entrant.end()
    return {name: entrant.cell() for name, entrant in entrants.items()}


def _count(run: Run, repeat: int) -> int:
    """Return how many turns more: fewer where one takes long."""
    return int(min(repeat, max(1, 2.0 * ENOUGH // max(run.wall, 1e-6))))


def measure(
    makers: dict[str, Maker], *, threads: Sequence[int], repeat: int, limit: float, note: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Return a row for every problem and number of threads."""
    rows = []
    for name, make in makers.items():
        try:
            problem = make()
        except OSError as error:
            note(f"  {name}: left out, {error}")
            continue
        for count in threads:
            solvers = race(BOOSTERS, problem, threads=count, repeat=repeat, limit=limit)
            head = {"problem": problem.name, "trees": problem.trees, "share": problem.share, "threads": count}
            rows.append({**head, "l1": f"{count} threads" if count > 1 else "1 thread", "solvers": solvers})
            note(f"{problem.name}, {count} threads")
            note("\n".join(f"  {booster}: {_short(cell)}" for booster, cell in solvers.items()))
        del problem
    return rows


def _short(cell: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{value}" for key, value in cell.items())


# -------------------------------------------------------------------------------------------------- tables

NOT_THERE: dict[str, Any] = {"state": "excused", "reason": "–"}
TITLES = {
    "": "whole fit, binning included",
    "_first": "binning and the first tree",
    "_tree": "each further tree",
}


def render(rows: Sequence[dict[str, Any]]) -> str:
    """Return the tables of times for each number of threads, and what the trees are worth."""
    parts = []
    for threads in sorted({row["threads"] for row in rows}):
        clock = "cpu" if threads == 1 else "wall"
        said = "CPU ms, 1 thread" if threads == 1 else f"wall ms, {threads} threads"
        its = [row for row in rows if row["threads"] == threads]
        for suffix, title in TITLES.items():
            parts += [f"## {title[0].upper()}{title[1:]}: {said}", times(its, clock + suffix)]
            known = [row for row in its if _has(row["solvers"][_table.OURS], clock + suffix)]
            lost = _table.losses([_rivals(row, clock + suffix) for row in known], clock + suffix)
            parts.append("\n".join(f"- {line}" for line in lost) if lost else "skgraft is the fastest in every row.")
    ones = [row for row in rows if row["threads"] == min(row["threads"] for row in rows)]
    parts += ["## What the trees are worth: test log loss (features used)", worth(ones)]
    return "\n\n".join(parts)


def _names(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the contestants of any row, in the order of the longest."""
    longest_first = sorted(rows, key=lambda row: -len(row["solvers"]))
    return list(dict.fromkeys(name for row in longest_first for name in row["solvers"]))


def _has(ours: dict[str, Any], clock: str) -> bool:
    """Whether there is such a time of ours, or else a state to be told."""
    return clock in ours or ours["state"] != "timed"


def _rivals(row: dict[str, Any], clock: str) -> dict[str, Any]:
    """Return a row without our own variants and without those that have no such time."""
    solvers = {
        name: cell
        for name, cell in row["solvers"].items()
        if name == _table.OURS or (not name.startswith(_table.OURS) and clock in cell)
    }
    return {**row, "solvers": solvers}


def times(rows: Sequence[dict[str, Any]], clock: str) -> str:
    """Return a table: our time, and the others' with how many times as long they take."""
    names = [name for name in _names(rows) if name != _table.OURS]
    names = [name for name in names if any(clock in row["solvers"].get(name, NOT_THERE) for row in rows)]
    body = []
    for row in rows:
        ours = row["solvers"][_table.OURS]
        cells = [_time(row["solvers"].get(name, NOT_THERE), ours, clock) for name in names]
        own = _table.own_cell(ours, clock) if _has(ours, clock) else "–"
        body.append([row["problem"], own, *cells, _against(row, clock)])
    header = ["problem", _table.OURS, *[f"{name} ≈" if name == "random forest" else name for name in names]]
    return _table.markdown([*header, f"ours / {LIGHTGBM}"], body)


def _time(cell: dict[str, Any], ours: dict[str, Any], clock: str) -> str:
    if cell["state"] == "timed" and clock not in cell:
        return "–"
    return _table.cell(cell, ours if clock in ours else {"state": "unknown"}, clock)


def _against(row: dict[str, Any], clock: str) -> str:
    ours, theirs = row["solvers"][_table.OURS], row["solvers"].get(LIGHTGBM, {})
    return f"{ours[clock] / theirs[clock]:.2f}" if clock in ours and clock in theirs else "–"


def worth(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table of log losses, the least of a row in bold, and numbers of features."""
    names = [name for name in _names(rows) if name != "random forest"]
    body = []
    for row in rows:
        found = {name: row["solvers"].get(name, NOT_THERE) for name in names}
        least = min((cell["loss"] for cell in found.values() if "loss" in cell), default=0.0)
        texts = [
            _loss(cell, least) if "loss" in cell else str(cell.get("reason", cell["state"])) for cell in found.values()
        ]
        body.append([row["problem"], str(row["trees"]), f"{row['share']:g}", *texts])
    remark = (
        f"A forest of {FOREST:,} trees is timed on {FOREST_TIMED}, whose time is multiplied; their loss says nothing "
        "and is left out. The price of a feature is the third column's share of the best first gain; these shares were "
        "chosen after looking at the losses and the numbers of features that they lead to."
    )
    return _table.markdown(["problem", "trees", "price", *names], body) + f"\n\n{remark}"


def _loss(cell: dict[str, Any], least: float) -> str:
    text = f"{cell['loss']:.4f}"
    return f"{f'**{text}**' if cell['loss'] <= least else text} ({cell['n_features']:,})"
