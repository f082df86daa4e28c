"""How the time of a grafted network grows with rows and with columns."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from benchmarks import _table

ROWS = ((1_000, 100), (10_000, 100), (100_000, 100))
COLUMNS = ((1_000, 100), (1_000, 1_000), (1_000, 10_000))
QUICK_ROWS, QUICK_COLUMNS = ((500, 50), (1_000, 50), (2_000, 50)), ((500, 50), (500, 100), (500, 200))


def measure(n_rows: int, n_columns: int) -> dict[str, Any]:
    """Return seconds, error and features of a threshold-max problem with ten informative columns."""
    from skgraft import MLPGraftClassifier
    from skgraft.datasets import make_threshold_max

    train, test = (
        make_threshold_max(n, n_irrelevant=n_columns - 10, random_state=seed) for seed, n in ((0, n_rows), (1, 2_000))
    )
    begin = process_time()
    model = MLPGraftClassifier(l1=1e-6, l0=0.005).fit(train.data, train.target)
    seconds = process_time() - begin
    error = float(np.mean(model.predict(test.data) != test.target))
    good = int(model.support_[train.informative].sum())
    selected = int(model.support_.sum())
    return {
        "rows": n_rows,
        "columns": n_columns,
        "seconds": seconds,
        "error": error,
        "n_features": selected,
        "saliency": good / 10 + good / max(selected, 1) - 1.0,
        "connections": len(model.connections_),
    }


def growth(note: Callable[[str], None], *, quick: bool) -> dict[str, Any]:
    """Return a line for each size, and the exponents of the time in rows and in columns."""
    out: dict[str, Any] = {}
    for axis, sizes in (
        ("rows", QUICK_ROWS if quick else ROWS),
        ("columns", QUICK_COLUMNS if quick else COLUMNS),
    ):
        points = []
        for n_rows, n_columns in sizes:
            points.append(measure(n_rows, n_columns))
            note(f"  {points[-1]}")
        logs = [[np.log(point[key]) for point in points] for key in (axis, "seconds")]
        out[axis] = {"points": points, "exponent": float(np.polyfit(*logs, 1)[0])}
    return out


def render(found: dict[str, Any]) -> str:
    """Return the table of growth."""
    body = [
        [
            f"{point['rows']:,} x {point['columns']:,}",
            f"{point['seconds']:.2f}",
            f"{100 * point['error']:.2f}",
            str(point["n_features"]),
            f"{point['saliency']:.2f}",
            str(point["connections"]),
        ]
        for axis in ("rows", "columns")
        for point in found[axis]["points"]
    ]
    header = ["threshold max", "CPU s", "error, %", "features", "saliency", "connections"]
    powers = ", ".join(f"{axis} to the power {found[axis]['exponent']:.2f}" for axis in ("rows", "columns"))
    return "## Growth\n\n" + _table.markdown(header, body) + f"\n\nTime grows with the number of {powers}."
