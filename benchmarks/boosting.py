"""Gradient boosted feature selection beside its peers: time, memory, growth, and what the trees are worth.

    python -m benchmarks.boosting [--only race,memory] [--problems "10k x 1k"] [--quick] [--repeat 5] [--threads 1,2]
        [--remark "how it was measured"]

All grow the same number of trees of the same depth with the same bins and threads on the same array; the test log loss
stands beside the times, so that nobody wins by fitting less.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks import _boosting_growth, _boosting_memory, _boosting_problems, _boosting_race
from benchmarks._boosters import BINS, BOOSTERS, DEPTH, LEAF, RATE
from benchmarks.linear import RESULTS, machine, note

SECTIONS = ("race", "growth", "fall", "memory")
LIMIT = 900.0  # seconds that one fit may take


def report(stored: dict[str, Any]) -> str:
    """Return everything that was measured, as Markdown."""
    parts = ["# Gradient boosted feature selection beside its peers", _header(stored)]
    shown = {
        "race": _boosting_race.render,
        "growth": _boosting_growth.render,
        "fall": _boosting_growth.render_fall,
        "memory": _boosting_memory.render,
    }
    parts += [shown[name](stored["sections"][name]) for name in SECTIONS if stored["sections"].get(name)]
    return "\n\n".join(parts) + "\n"


def _header(stored: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in stored["versions"].items())
    absent = "".join(f" Absent: {name} ({reason})." for name, reason in stored["absent"].items())
    race = stored["sections"].get("race", [])
    runs = sorted({cell["runs"] for row in race for cell in row["solvers"].values() if "runs" in cell})
    how = f"{runs[0]} to {runs[-1]} runs" if len(runs) > 1 else "runs" if not runs else f"runs ({runs[0]} of each)"
    remark = f" {stored['remark']}" if stored.get("remark") else ""
    return (
        f"Made by `make bench` on {stored['machine']}: {versions}.{absent}{remark}\n\n"
        f"Trees of depth {DEPTH}, at most {BINS} bins, {LEAF} rows or more in a leaf, a learning rate of {RATE:g}; "
        f"all contestants get the same array, float32 by rows or CSR. Median of {how} in turns, each contestant in a "
        "process of its own, compilation not counted; in brackets, how many times as long as skgraft, in bold where "
        "the other is faster. skgraft and LightGBM tell when a tree is done: what another takes is measured within "
        "the fit, from the end of the first tree to that of the last. For CatBoost and HistGradientBoosting it is the "
        "difference between a fit of all trees and one of a single tree, divided, which is rough. LightGBM CEGB is "
        "LightGBM with `cegb_penalty_feature_coupled`; CatBoost has `first_feature_use_penalties`, with symmetric "
        "trees, its own kind, and depthwise ones, everybody else's. "
        "Prices are the same share of the best first gain in each one's own measure; CatBoost's measure makes that a "
        "rough equality. skgraft's default is exact screening; *adaptive* is not exact. The rows of kddcup99 are drawn "
        "with repetition, and skgraft lets one of them stand for all that are equal to it; *equal rows apart* is how "
        "it does without. LightGBM, HistGradientBoosting and the forest use all features: no selection comes with "
        "their time."
    )


def versions() -> dict[str, str]:
    """Return the versions of everything timed."""
    import numpy as np

    import skgraft

    names = {"lightgbm": "LightGBM", "catboost": "CatBoost", "sklearn": "scikit-learn"}
    present = {booster.module: booster for booster in BOOSTERS if booster.absent is None}
    found = {names[module]: booster.version for module, booster in present.items() if module in names}
    return {
        "skgraft": skgraft.__version__,
        **found,
        "NumPy": np.__version__,
        "Python": platform.python_version(),
    }


def run(section: str, given: argparse.Namespace) -> Any:
    """Return the measurements of one section."""
    if section == "race":
        makers = _boosting_problems.race_problems(quick=given.quick)
        chosen = {name: makers[name] for name in makers if given.problems is None or name in given.problems}
        repeat, limit = given.repeat, given.limit
        return _boosting_race.measure(chosen, threads=given.threads, repeat=repeat, limit=limit, note=note)
    if section == "memory":
        return _boosting_memory.measure(note, quick=given.quick)
    measure = _boosting_growth.measure if section == "growth" else _boosting_growth.fall
    return measure(note, quick=given.quick)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.boosting", description=__doc__.splitlines()[0])
    problems = ", ".join(_boosting_problems.race_problems(quick=True))
    parser.add_argument("--only", default=",".join(SECTIONS), help=f"sections, of {', '.join(SECTIONS)}")
    parser.add_argument("--problems", help=f"problems of the race, of {problems}; the others' rows are kept")
    parser.add_argument("--quick", action="store_true", help="small problems and few trees, nothing stored")
    parser.add_argument("--repeat", type=int, default=5, help="timed runs of each contestant")
    parser.add_argument("--threads", default="1,2", help="numbers of threads")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"seconds that a fit may take, by default {LIMIT:g}")
    parser.add_argument("--remark", help="a sentence on how it was measured, stored with the results")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the stored tables")
    given = parser.parse_args(arguments)
    given.only = given.only.split(",")
    if unknown := set(given.only) - set(SECTIONS):
        parser.error(f"no section is called {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    given.threads = [int(count) for count in given.threads.split(",")]
    if given.problems is not None:
        given.problems = [name.strip() for name in given.problems.split(",")]
        if unknown := set(given.problems) - set(problems.split(", ")):
            parser.error(f"no problem is called {', '.join(sorted(unknown))}; there are {problems}")
    return given


def merged(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of a race with those measured anew in their old places."""
    rows = {(row["problem"], row["threads"]): row for row in [*old, *new]}
    return list(rows.values())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the sections asked for, print their tables, and store them."""
    given = parse(arguments)
    file = given.output / "boosting.json"
    stored: dict[str, Any] = {"sections": {}}
    if file.exists() and not given.quick:
        stored = json.loads(file.read_text(encoding="utf-8"))
    absent = {booster.name: reason for booster in BOOSTERS if (reason := booster.absent)}
    stored |= {"machine": machine(), "versions": versions(), "absent": absent}
    if given.remark is not None:
        stored["remark"] = given.remark
    with threadpool_limits(1):
        for section in given.only:
            note(f"== {section}")
            found = run(section, given)
            if section == "race" and given.problems is not None:
                found = merged(stored["sections"].get("race", []), found)
            stored["sections"][section] = found
            if not given.quick:
                _store(file, stored)
    print(report(stored))


def _store(file: Path, stored: dict[str, Any]) -> None:
    """Write what there is so far: a run cut short keeps the sections it finished."""
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    file.with_suffix(".md").write_text(report(stored), encoding="utf-8")


if __name__ == "__main__":
    main()
