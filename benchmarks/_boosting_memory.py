"""Peak memory of boosting, each contestant in a fresh process.

    python -m benchmarks._boosting_memory BOOSTER {dense,sparse} ROWS COLUMNS

is the process itself; it makes the problem, fits and prints the peak as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import _boosting_problems, _table
from benchmarks._boosters import BOOSTERS, Booster
from benchmarks._boosting_problems import Problem
from benchmarks._fresh import KEEP_ONE_THREAD, peak_of

LIMIT = 600.0
TREES = 10
SHAPES = (("dense", 100_000, 500), ("dense", 5_000, 20_000), ("sparse", 2_000, 200_000))


def make(kind: str, n: int, d: int) -> Problem:
    """Return the problem of a kind and shape."""
    return (_boosting_problems.sparse if kind == "sparse" else _boosting_problems.dense)(n, d, share=0.1)


def measure(note: Callable[[str], None], *, quick: bool) -> list[dict[str, Any]]:
    """Return a row for each problem."""
    rows = []
    for kind, n, d in SHAPES:
        shape = (n // 4 if n > 5_000 else n, d // 4) if quick else (n, d)
        problem = make(kind, *shape)
        held = problem.X.data.nbytes + problem.X.indices.nbytes if problem.sparse else problem.X.nbytes
        cells = {booster.name: _cell(booster, problem, kind) for booster in BOOSTERS if booster.multiple == 1.0}
        rows.append({"problem": problem.name, "data": held, "cells": problem.cells, "solvers": cells})
        note(f"  {rows[-1]}")
    return rows


def _cell(booster: Booster, problem: Problem, kind: str) -> dict[str, Any]:
    reason = booster.absent or booster.excuse(problem)
    if reason:
        return {"state": "excused", "reason": reason}
    command = [sys.executable, "-m", "benchmarks._boosting_memory", booster.name, kind, *map(str, problem.shape)]
    try:
        done = subprocess.run(  # noqa: S603 -- our own module
            command,
            capture_output=True,
            check=True,
            timeout=LIMIT,
            cwd=Path(__file__).parents[1],
            env={**os.environ, **KEEP_ONE_THREAD},
        )
        return {"state": "timed", **json.loads(done.stdout.splitlines()[-1])}
    except subprocess.TimeoutExpired:
        return {"state": "late", "limit": LIMIT}
    except (subprocess.CalledProcessError, ValueError, IndexError) as error:
        return {"state": "failed", "reason": str(error)[:200]}


def render(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table in megabytes."""
    names = list(rows[0]["solvers"])
    body = []
    for row in rows:
        cells = [
            f"{found['peak'] / 1e6:,.0f}" if found["state"] == "timed" else str(found.get("reason", found["state"]))
            for found in row["solvers"].values()
        ]
        body.append([row["problem"], f"{row['data'] / 1e6:,.0f}", f"{row['cells'] / 1e6:,.0f}", *cells])
    title = f"## Peak memory of a fit of {TREES} trees beyond the data, MB, 1 thread\n\n"
    return title + _table.markdown(["problem", "data", "a byte a cell", *names], body)


def main() -> None:
    """Be the fresh process."""
    warnings.simplefilter("ignore")
    name, kind, n, d = sys.argv[1:]
    booster = next(each for each in BOOSTERS if each.name == name)
    small = _boosting_problems.sparse(300, 400) if kind == "sparse" else _boosting_problems.dense(500, 30)
    booster.fit(small, 3, 1, small.root_gain())
    problem = make(kind, int(n), int(d))
    gain = problem.root_gain()
    print(json.dumps({"peak": peak_of(lambda: booster.fit(problem, TREES, 1, gain))}))


if __name__ == "__main__":
    main()
