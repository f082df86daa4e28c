"""How the time of a grafted network grows with rows and with columns, beside its peers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from papers._grafting.paper import NETWORK
from papers._grafting.problems import Split

from benchmarks import _table
from benchmarks._network_race import LASSONET, LASSONET_LIMIT, Outcome, all_connected, grafted, judged, lassonet
from skgraft.datasets import make_threshold_max

ROWS = ((1_000, 100), (10_000, 100), (100_000, 100))
COLUMNS = ((1_000, 100), (1_000, 1_000), (1_000, 10_000))
QUICK_ROWS, QUICK_COLUMNS = ((500, 50), (1_000, 50), (2_000, 50)), ((500, 50), (500, 100), (500, 200))


def split(n_rows: int, n_columns: int) -> Split:
    """Return a threshold-max problem with ten informative columns."""
    train, test = (
        make_threshold_max(n, n_irrelevant=n_columns - 10, random_state=seed) for seed, n in ((0, n_rows), (1, 2_000))
    )
    source = np.full(n_columns, -1, dtype=np.intp)
    source[train.informative] = np.arange(10)
    return Split(train.data, train.target, test.data, test.target, source, 10)


def measure(n_rows: int, n_columns: int, python: str | None) -> dict[str, Any]:
    """Return seconds, error and features of each contestant; None for LassoNet stopped at its limit."""
    problem = split(n_rows, n_columns)
    found: dict[str, Outcome | None] = {
        "skgraft": grafted(problem, **NETWORK["A"]),
        "MLPClassifier": all_connected(problem),
    }
    if python is not None:
        found[LASSONET] = lassonet(problem, python)
    outcomes = {name: outcome and judged(problem, outcome) for name, outcome in found.items()}
    return {"rows": n_rows, "columns": n_columns, "found": outcomes}


def growth(python: str | None, note: Callable[[str], None], *, quick: bool) -> dict[str, Any]:
    """Return a line for each size, and the exponents of the time in rows and in columns."""
    out: dict[str, Any] = {}
    known: dict[tuple[int, int], Any] = {}  # both series begin at the same size
    for axis, sizes in (
        ("rows", QUICK_ROWS if quick else ROWS),
        ("columns", QUICK_COLUMNS if quick else COLUMNS),
    ):
        for size in sizes:
            if size not in known:
                known[size] = measure(*size, python)
                note(f"  {known[size]}")
        points = [known[size] for size in sizes]
        seconds = [point["found"]["skgraft"]["seconds"] for point in points]
        logs = np.log([point[axis] for point in points]), np.log(seconds)
        out[axis] = {"points": points, "exponent": float(np.polyfit(*logs, 1)[0])}
    return out


def render(found: dict[str, Any]) -> str:
    """Return the table of growth."""
    body = []
    every = [point for axis in ("rows", "columns") for point in found[axis]["points"]]
    for point in {(point["rows"], point["columns"]): point for point in every}.values():
        size = f"{point['rows']:,} x {point['columns']:,}"
        ours = point["found"]["skgraft"]["seconds"]
        for name, outcome in point["found"].items():
            if outcome is None:
                body.append([size, name, "", "", "", f"> {LASSONET_LIMIT:.0f}", ""])
                continue
            saliency = "" if outcome["saliency"] is None else f"{outcome['saliency']:.2f}"
            cells = [f"{100 * outcome['error']:.2f}", str(outcome["n_features"]), saliency]
            body.append([size, name, *cells, f"{outcome['seconds']:.2f}", _table.ratio(outcome["seconds"] / ours)])
    header = ["threshold max", "method", "error, %", "features", "saliency", "CPU s", "times skgraft's"]
    powers = ", ".join(f"{axis} to the power {found[axis]['exponent']:.2f}" for axis in ("rows", "columns"))
    return (
        "## Growth\n\n"
        + _table.markdown(header, body)
        + f"\n\nThe time of a grafted network grows with the number of {powers}."
    )
