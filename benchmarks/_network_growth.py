"""How the time of a grafted network grows with rows and with columns, beside its peers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from papers._grafting.paper import NETWORK
from papers._grafting.problems import ThresholdMax

from benchmarks import _table
from benchmarks._network_race import LASSONET, LASSONET_LIMIT, Outcome, all_connected, grafted, judged, lassonet

Size = tuple[str, int, int]  # the kind of data set, rows and columns

ROWS: tuple[Size, ...] = (("A", 1_000, 100), ("A", 10_000, 100), ("A", 100_000, 100))
COLUMNS: tuple[Size, ...] = (("A", 1_000, 100), ("A", 1_000, 1_000), ("A", 1_000, 10_000))
KINDS: tuple[Size, ...] = (("B", 100_000, 100), ("C", 100_000, 1_000))
QUICK_ROWS: tuple[Size, ...] = (("A", 500, 50), ("A", 1_000, 50), ("A", 2_000, 50))
QUICK_COLUMNS: tuple[Size, ...] = (("A", 500, 50), ("A", 500, 100), ("A", 500, 200))
QUICK_KINDS: tuple[Size, ...] = (("B", 1_000, 50), ("C", 1_000, 100))
COPIES = {"A": 0.0, "B": 1.0, "C": 0.5}  # share of the columns beside the ten informative ones that copy one of them
TITLES = {"A": "irrelevant", "B": "copies", "C": "half copies"}


def measure(size: Size, python: str | None) -> dict[str, Any]:
    """Return seconds, error and features of each contestant; None for LassoNet stopped at its limit."""
    kind, n_rows, n_columns = size
    copies = round(COPIES[kind] * (n_columns - 10))
    problem = ThresholdMax(0, n_rows, copies, n_columns - 10 - copies)(0)
    found: dict[str, Outcome | None] = {
        "skgraft": grafted(problem, **NETWORK["A"]),
        "MLPClassifier": all_connected(problem),
    }
    if python is not None:
        found[LASSONET] = lassonet(problem, python)
    outcomes = {name: outcome and judged(problem, outcome) for name, outcome in found.items()}
    return {"kind": kind, "rows": n_rows, "columns": n_columns, "found": outcomes}


def growth(python: str | None, note: Callable[[str], None], *, quick: bool) -> dict[str, Any]:
    """Return what each size took, and the exponents of the time in rows and in columns."""
    series = {"rows": QUICK_ROWS, "columns": QUICK_COLUMNS} if quick else {"rows": ROWS, "columns": COLUMNS}
    points: dict[Size, dict[str, Any]] = {}
    for size in (*series["rows"], *series["columns"], *(QUICK_KINDS if quick else KINDS)):
        if size not in points:  # both series begin at the same one
            points[size] = measure(size, python)
            note(f"  {points[size]}")
    exponents = {}
    for axis, sizes in series.items():
        length = [points[size][axis] for size in sizes]
        seconds = [points[size]["found"]["skgraft"]["seconds"] for size in sizes]
        exponents[axis] = float(np.polyfit(np.log(length), np.log(seconds), 1)[0])
    return {"points": list(points.values()), "exponents": exponents}


def render(found: dict[str, Any]) -> str:
    """Return the table of growth."""
    body = []
    for point in found["points"]:
        size = f"{point['rows']:,} x {point['columns']:,}, {TITLES[point['kind']]}"
        ours = point["found"]["skgraft"]["seconds"]
        for name, outcome in point["found"].items():
            if outcome is None:
                body.append([size, name, "", "", "", f"> {LASSONET_LIMIT:.0f}", ""])
                continue
            saliency = "" if outcome["saliency"] is None else f"{outcome['saliency']:.2f}"
            cells = [f"{100 * outcome['error']:.2f}", str(outcome["n_features"]), saliency]
            body.append([size, name, *cells, f"{outcome['seconds']:.2f}", _table.ratio(outcome["seconds"] / ours)])
    header = ["threshold max", "method", "error, %", "features", "saliency", "CPU s", "times skgraft's"]
    powers = ", ".join(f"{axis} to the power {power:.2f}" for axis, power in found["exponents"].items())
    return (
        "## Growth\n\n"
        + _table.markdown(header, body)
        + f"\n\nThe time of a grafted network grows with the number of {powers}."
    )
