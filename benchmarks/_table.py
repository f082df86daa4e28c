"""Rows of measurements as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

OURS = "skgraft"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def milliseconds(seconds: float) -> str:
    """Return a time with three digits at most."""
    value = 1e3 * seconds
    return f"{value:.2g}" if value < 10.0 else f"{value:,.0f}"


def ratio(value: float) -> str:
    """Return how many times as long."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 1.05 else f"{value:.2f}"


def cell(found: Mapping[str, Any], ours: Mapping[str, Any], clock: str) -> str:
    """Return the text of a peer's cell: its time and that over ours, in bold where it is the faster.

    No time is shown for a solver that missed the common accuracy.
    """
    state = found["state"]
    if state == "timed":
        text = milliseconds(found[clock])
        if ours["state"] != "timed":
            return text
        times = found[clock] / ours[clock]
        return f"**{text} ({ratio(times)})**" if times < 1.0 else f"{text} ({ratio(times)})"
    if state == "missed":
        return f"missed: gap {found['gap']:.1e}"
    if state == "late":
        return f"> {found['limit']:.0f} s"
    return found.get("reason", state) if state == "excused" else state


def own_cell(ours: Mapping[str, Any], clock: str) -> str:
    """Return the text of our cell."""
    return milliseconds(ours[clock]) if ours["state"] == "timed" else cell(ours, ours, clock)


def comparison(rows: Sequence[Mapping[str, Any]], clock: str) -> str:
    """Return the table of rows that share one set of solvers."""
    names = list(dict.fromkeys(name for row in rows for name in row["solvers"]))
    peers = [name for name in names if name != OURS and any(_shown(row, name) for row in rows)]
    body = []
    for row in rows:
        ours = row["solvers"][OURS]
        cells = [cell(row["solvers"][name], ours, clock) if name in row["solvers"] else "" for name in peers]
        body.append([row["problem"], row["l1"], str(ours.get("n_features", "")), own_cell(ours, clock), *cells])
    return markdown(["problem", "l1 / largest", "features", OURS, *peers], body)


def _shown(row: Mapping[str, Any], name: str) -> bool:
    return name in row["solvers"] and row["solvers"][name]["state"] != "excused"


def short_comparison(rows: Sequence[Mapping[str, Any]], clock: str) -> str:
    """Return one line for each problem: our milliseconds, and how many times as long each peer takes."""
    names = list(dict.fromkeys(name for row in rows for name in row["solvers"]))
    peers = [name for name in names if name != OURS and any(_shown(row, name) for row in rows)]
    problems: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        problems.setdefault(row["problem"], []).append(row)
    body = []
    for problem, its in problems.items():
        values = " / ".join(row["l1"] for row in its)
        ours = " / ".join(own_cell(row["solvers"][OURS], clock) for row in its)
        cells = [" / ".join(_times(row, name, clock) for row in its) for name in peers]
        body.append([problem, values, ours, *[text if set(text) - set("/ –") else "–" for text in cells]])
    return markdown(["problem", "l1 / largest", f"{OURS}, ms", *peers], body)


def _times(row: Mapping[str, Any], name: str, clock: str) -> str:
    found, ours = row["solvers"].get(name, {"state": "excused"}), row["solvers"][OURS]
    if found["state"] == "timed" and ours["state"] == "timed":
        times = found[clock] / ours[clock]
        return f"**{ratio(times)}**" if times < 1.0 else ratio(times)
    if found["state"] == "late" and ours["state"] == "timed":
        return f"> {ratio(found['limit'] / ours[clock])}"
    return "missed" if found["state"] == "missed" else "–"


def losses(rows: Sequence[Mapping[str, Any]], clock: str) -> list[str]:
    """Return a line for every row in which a peer was faster."""
    lines = []
    for row in rows:
        ours = row["solvers"][OURS]
        timed = {name: found[clock] for name, found in row["solvers"].items() if found["state"] == "timed"}
        if ours["state"] != "timed":
            lines.append(f"{row['problem']}, {row['l1']}: {OURS} has no time ({cell(ours, ours, clock)})")
            continue
        best = min(timed, key=timed.__getitem__)
        if best != OURS:
            times = ratio(timed[OURS] / timed[best])
            lines.append(f"{row['problem']}, {row['l1']}: {best} is {times} times as fast")
    return lines


def rewrite(file: Path, name: str, text: str) -> bool:
    """Put text between the markers ``<!-- name -->`` and ``<!-- end -->`` of a file; False where there are none."""
    content = file.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not pattern.search(content):
        return False
    file.write_text(pattern.sub(lambda found: f"{found[1]}{text}\n{found[2]}", content), encoding="utf-8")
    return True
