"""What only a fresh process shows: peak memory, the time of an import and of the first fit.

    python -m benchmarks._fresh {memory,start} SOLVER FOLDER

is the process itself; it reads the problem from a folder and prints its measurements as JSON.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import _problems, _table
from benchmarks._peers import SOLVERS, Solver
from benchmarks._problems import Problem

LIMIT = 120.0
# Tolerances of about the common accuracy on these problems; memory hardly depends on them.
TOLERANCE = {"skgraft": 1e-3, "skglm": 1e-6, "celer": 1e-4, "adelie": 1e-11, "scikit-learn": 1e-5, "snapml": 1e-5}
KEEP_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def save(problem: Problem, folder: Path) -> None:
    """Write a problem in a form that is read without more memory than it takes."""
    if problem.sparse:
        sp.save_npz(folder / "X.npz", problem.X, compressed=False)
    else:
        np.save(folder / "X.npy", problem.X)
    np.save(folder / "y.npy", problem.y)
    told = {"name": problem.name, "kind": problem.kind, "l1s": problem.l1s, "share": problem.share}
    (folder / "problem.json").write_text(json.dumps(told), encoding="utf-8")


def load(folder: Path) -> Problem:
    """Read a problem."""
    told = json.loads((folder / "problem.json").read_text(encoding="utf-8"))
    dense = folder / "X.npy"
    X = np.load(dense) if dense.exists() else sp.csc_matrix(sp.load_npz(folder / "X.npz"))
    return Problem(told["name"], told["kind"], X, np.load(folder / "y.npy"), tuple(told["l1s"]), told["share"])


def spawn(what: str, solver: Solver, folder: Path, **environment: str) -> dict[str, Any]:
    """Run this module in a fresh process and return its measurements."""
    command = [sys.executable, "-m", "benchmarks._fresh", what, solver.name, str(folder)]
    try:
        done = subprocess.run(  # noqa: S603 -- our own module
            command,
            capture_output=True,
            check=True,
            timeout=LIMIT,
            cwd=Path(__file__).parents[1],
            env={**os.environ, **KEEP_ONE_THREAD, **environment},
        )
        return {"state": "timed", **json.loads(done.stdout.splitlines()[-1])}
    except subprocess.TimeoutExpired:
        return {"state": "late", "limit": LIMIT}
    except (subprocess.CalledProcessError, ValueError, IndexError) as error:
        return {"state": "failed", "reason": str(error)[:200]}


# --------------------------------------------------------------------------------------------------- memory


def _memory(name: str) -> int:
    """Return a line of /proc/self/status in bytes: VmRSS is the memory held now, VmHWM the most so far."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    msg = f"/proc/self/status has no {name}"
    raise OSError(msg)


def peak_of(work: Callable[[], Any]) -> int:
    """Return the most memory that is held during some work beyond that held before, in bytes."""
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # memory freed earlier would be used again, and not be seen
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the high-water mark starts anew
        before = _memory("VmRSS")
        work()
        return max(0, _memory("VmHWM") - before)
    except OSError:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        work()
        return 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def child_memory(solver: Solver, folder: Path) -> dict[str, Any]:
    """Return the peak memory of one fit, after a small one that imports and compiles everything."""
    problem = load(folder)
    small = _problems.sparse if problem.sparse else _problems.dense
    twin = small(problem.kind, 2000, 15000).at(0.1) if problem.sparse else small(problem.kind, 400, 600).at(0.1)
    tol = TOLERANCE[solver.name]
    solver.fit(twin, tol, 1)
    solver.prepare(problem)
    held = problem.X.data.nbytes + problem.X.indices.nbytes if problem.sparse else problem.X.nbytes
    return {"peak": peak_of(lambda: solver.fit(problem, tol, 1)), "data": held}


class Memory:
    """Peak memory of a fit beyond the data."""

    @staticmethod
    def measure(dense: Sequence[int], sparse: Sequence[int], note: Callable[[str], None]) -> list[dict[str, Any]]:
        """Return a row for each problem."""
        makers: list[Callable[[], Problem]] = [
            *(lambda kind=kind: _problems.dense(kind, *dense).at(0.1) for kind in ("squared", "logistic")),
            *(lambda kind=kind: _problems.sparse(kind, *sparse).at(0.1) for kind in ("squared", "logistic")),
        ]
        rows = []
        for make in makers:
            problem = make()
            with tempfile.TemporaryDirectory() as name:
                save(problem, Path(name))
                cells = {}
                for solver in SOLVERS:
                    reason = solver.absent or solver.excuse(problem)
                    excused = {"state": "excused", "reason": reason}
                    cells[solver.name] = excused if reason else spawn("memory", solver, Path(name))
            rows.append({"problem": problem.name, "solvers": cells})
            note(f"  {rows[-1]}")
        return rows

    @staticmethod
    def render(rows: Sequence[dict[str, Any]]) -> str:
        """Return the table in megabytes."""
        names = list(rows[0]["solvers"])
        body = []
        for row in rows:
            data = next((found["data"] for found in row["solvers"].values() if "data" in found), 0)
            cells = [
                f"{found['peak'] / 1e6:,.0f}" if found["state"] == "timed" else str(found.get("reason", found["state"]))
                for found in row["solvers"].values()
            ]
            body.append([row["problem"], f"{data / 1e6:,.0f}", *cells])
        title = "## Peak memory of a fit beyond the data, MB (l1 at 0.1 of the largest, compilers not counted)\n\n"
        return title + _table.markdown(["problem", "data", *names], body)


# ---------------------------------------------------------------------------------------------------- start


def child_start(solver: Solver, folder: Path) -> dict[str, Any]:
    """Return the CPU seconds of an import, of the first fit and of the second."""
    problem = load(folder)
    solver.prepare(problem)
    tol = TOLERANCE[solver.name]
    began = time.process_time()
    importlib.import_module(solver.module)
    imported = time.process_time()
    solver.fit(problem, tol, 1)
    first = time.process_time()
    solver.fit(problem, tol, 1)
    second = time.process_time()
    return {"import": imported - began, "first": first - imported, "second": second - first}


class Start:
    """Time of the import and of the first fit, with nothing compiled and with compiled code kept on disk."""

    @staticmethod
    def measure(dense: Sequence[int], sparse: Sequence[int], note: Callable[[str], None]) -> list[dict[str, Any]]:
        """Return a row for each loss and storage, on small problems: what remains is the start."""
        del dense, sparse
        rows = []
        for problem in (
            _problems.dense("logistic", 100, 50).at(0.1),
            _problems.dense("squared", 500, 1000).at(0.1),
            _problems.dense("logistic", 500, 1000).at(0.1),
            _problems.sparse("logistic", 2000, 15000).at(0.2),
        ):
            with tempfile.TemporaryDirectory() as name:
                save(problem, Path(name))
                cells = {solver.name: Start._cell(solver, problem, Path(name)) for solver in SOLVERS}
            rows.append({"problem": problem.name, "solvers": cells})
            note(f"  {rows[-1]}")
        return rows

    @staticmethod
    def _cell(solver: Solver, problem: Problem, folder: Path) -> dict[str, Any]:
        reason = solver.absent or solver.excuse(problem)
        if reason:
            return {"state": "excused", "reason": reason}
        with tempfile.TemporaryDirectory() as cache:
            cold = spawn("start", solver, folder, NUMBA_CACHE_DIR=cache)
            kept = spawn("start", solver, folder, NUMBA_CACHE_DIR=cache)
        if "state" in cold and cold["state"] != "timed":
            return cold
        return {**cold, "kept": kept.get("first"), "kept_import": kept.get("import")}

    @staticmethod
    def render(rows: Sequence[dict[str, Any]]) -> str:
        """Return the table in seconds."""
        names = list(rows[0]["solvers"])
        body = [[row["problem"], *[Start._text(found) for found in row["solvers"].values()]] for row in rows]
        title = (
            "## Start in a fresh process, CPU s: import + first fit with nothing compiled / with compiled code on "
            "disk; second fit\n\n"
        )
        return title + _table.markdown(["problem", *names], body)

    @staticmethod
    def _text(found: dict[str, Any]) -> str:
        if found["state"] != "timed":
            return str(found.get("reason", found["state"]))
        kept = "–" if found["kept"] is None else f"{found['kept']:.2f}"
        return f"{found['import']:.2f} + {found['first']:.2f} / {kept}; {found['second']:.3f}"


def main() -> None:
    """Be the fresh process."""
    warnings.simplefilter("ignore")
    what, name, folder = sys.argv[1:]
    solver = next(each for each in SOLVERS if each.name == name)
    child = child_memory if what == "memory" else child_start
    print(json.dumps(child(replace(solver), Path(folder))))


if __name__ == "__main__":
    main()
