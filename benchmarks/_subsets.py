"""The best twenty features: solvers of the l0 problem, compared by the loss they reach and the time they take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np

from benchmarks import _problems, _table
from benchmarks._peers import SKGRAFT, Reader, Solver, estimator
from benchmarks._problems import Model, Problem
from benchmarks._timing import Crashed, Late, isolated, timed, turns, warm_up

N_RELEVANT = 20
LIMIT = 60.0


def fit_skgraft(problem: Problem, size: float, threads: int) -> Reader:
    """Fit with a budget of features; ``size`` is where other problems have their tolerance."""
    model = estimator(problem, 0.0, max_features=int(size), n_jobs=threads).fit(problem.X, problem.y)
    return lambda: [Model.of(model.coef_, model.intercept_, problem.n_columns)]


def fit_abess(problem: Problem, size: float, threads: int) -> Reader:
    """Fit with abess at one support size."""
    import abess

    kind = abess.LinearRegression if problem.kind == "squared" else abess.LogisticRegression
    y = problem.y if problem.kind == "squared" else (problem.y > 0).astype(int)
    model = kind(support_size=int(size), thread=threads).fit(problem.rows, y)
    return lambda: [Model.of(model.coef_, model.intercept_, problem.n_columns)]


def fit_pursuit(problem: Problem, size: float, threads: int) -> Reader:
    """Fit with scikit-learn's orthogonal matching pursuit."""
    del threads
    from sklearn.linear_model import OrthogonalMatchingPursuit

    model = OrthogonalMatchingPursuit(n_nonzero_coefs=int(size)).fit(problem.X, problem.y)
    return lambda: [Model.of(model.coef_, model.intercept_, problem.n_columns)]


def _any(problem: Problem) -> None:
    del problem


def _squares_only(problem: Problem) -> str | None:
    return None if problem.kind == "squared" else "squares only"


SOLVERS = (
    Solver("skgraft", "skgraft", fit_skgraft, _any),
    Solver("abess", "abess", fit_abess, _any, prepare=lambda problem: problem.rows),
    Solver("matching pursuit", "sklearn", fit_pursuit, _squares_only),
)


def loss(problem: Problem, model: Model) -> float:
    """Return the mean loss of a model."""
    scores = problem.X @ model.coef[0] + model.intercept[0]
    if problem.kind == "squared":
        return float(0.5 * np.mean((problem.y - scores) ** 2))
    return float(np.logaddexp(0.0, -problem.y * scores).mean())


def measure(shape: Sequence[int], repeat: int, note: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return a row for each loss and correlation."""
    warm_up([SKGRAFT], [_problems.dense("squared", 400, 600).at(0.1)])
    rows = []
    for kind in ("squared", "logistic"):
        for rho in (0.5, 0.9):
            problem = _problems.dense(kind, *shape, rho=rho, n_relevant=N_RELEVANT)
            rows.append({"problem": f"{problem.name}, correlation {rho:g}", "solvers": _race(problem, repeat)})
            note(f"  {rows[-1]}")
    return rows


def _race(problem: Problem, repeat: int) -> dict[str, dict[str, Any]]:
    cells: dict[str, dict[str, Any]] = {}
    able: dict[str, Solver] = {}
    for solver in SOLVERS:
        reason = solver.absent or solver.excuse(problem)
        if reason is not None:
            cells[solver.name] = {"state": "excused", "reason": reason}
        else:
            solver.prepare(problem)
            able[solver.name] = solver

    def race(report: Callable[[Any], None]) -> None:
        for solver in able.values():
            solver.fit(problem, N_RELEVANT, 1)
        for name in turns(list(able), dict.fromkeys(able, repeat)):
            read, run = timed(lambda name=name: able[name].fit(problem, N_RELEVANT, 1))
            report((name, run, read()[0]))

    runs: dict[str, list[float]] = {name: [] for name in able}
    models: dict[str, Model] = {}
    try:
        for name, run, model in isolated(race, LIMIT * len(able)):
            runs[name].append(run.cpu)
            models[name] = model
    except (Late, Crashed) as trouble:
        cells |= {name: {"state": "failed", "reason": str(trouble)} for name in able if name not in models}
    for name, model in models.items():
        chosen = np.flatnonzero(model.coef[0])
        cells[name] = {
            "state": "timed",
            "cpu": median(runs[name]),
            "loss": loss(problem, model),
            "n_features": int(chosen.size),
            "found": int(np.isin(chosen, problem.relevant).sum()),
        }
    return cells


def render(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table of losses and times."""
    names = [solver.name for solver in SOLVERS]
    body = [[row["problem"], *[_cell(row["solvers"], name) for name in names]] for row in rows]
    return (
        f"## The best {N_RELEVANT} features: loss reached, how many of the {N_RELEVANT} true ones, CPU ms, 1 thread\n\n"
        + _table.markdown(["problem", *names], body)
    )


def _cell(cells: dict[str, dict[str, Any]], name: str) -> str:
    found = cells.get(name, {"state": "excused", "reason": "–"})
    if found["state"] != "timed":
        return str(found.get("reason") or found["state"])
    text = f"{found['loss']:.6f}, {found['found']} of {found['n_features']}, {_table.milliseconds(found['cpu'])}"
    ours = cells["skgraft"]
    if name == "skgraft" or ours["state"] != "timed":
        return text
    times = found["cpu"] / ours["cpu"]
    return f"{text} (**{_table.ratio(times)}**)" if times < 1.0 else f"{text} ({_table.ratio(times)})"
