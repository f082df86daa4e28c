"""Features that arrive over time: growth with the number of columns, memory, and the gap to the batch optimum.

    python -m benchmarks._streaming [--quick] [--only growth,gap]

prints the tables; ``python -m benchmarks._streaming --columns N`` is the fresh process of one line of the first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp
from papers.data import read_colon, read_leukemia, read_lymphoma, read_pcmac

from benchmarks import _table
from benchmarks._fresh import KEEP_ONE_THREAD, peak_of
from benchmarks._growth import exponent
from skgraft import GraftClassifier, StreamGraftClassifier, l1_max
from skgraft.datasets import column_blocks

SECTIONS = ("growth", "gap")
ROWS = 2_000
BLOCK = 4_000
BUFFER = 1_000
RELEVANT = 10
L1 = 0.06  # far above what a column of noise reaches on 2,000 rows, about 0.5·√(2 ln 10⁶/2,000)
SIZES = (62_500, 125_000, 250_000, 500_000, 1_000_000)
ORDERS = 5
LIMIT = 1_800.0
ROUNDING = 1e-12  # a relative gap below this is rounding


# --- growth ---


def noise(n_columns: int, number: int) -> Any:
    """Return a block of columns that say nothing, as float32 that lies by columns."""
    rng = np.random.default_rng([number, 1])
    cells = np.frombuffer(rng.bytes(ROWS * n_columns), dtype=np.int8)
    return cells.reshape(n_columns, ROWS).T.astype(np.float32)


def places(n_columns: int) -> Any:
    """Return where the relevant columns stand: one in each tenth of the stream."""
    return np.rint(np.linspace(0.05, 0.95, RELEVANT) * n_columns).astype(int)


def blocks(n_columns: int, relevant: Any, clock: dict[str, float]) -> Iterator[Any]:
    """Yield blocks of noise in which the relevant columns are hidden."""
    hidden = places(n_columns)
    for number, start in enumerate(range(0, n_columns, BLOCK)):
        began = time.process_time()
        stop = min(start + BLOCK, n_columns)
        X = noise(stop - start, number)
        for k in np.flatnonzero((hidden >= start) & (hidden < stop)):
            X[:, hidden[k] - start] = relevant[:, k]
        clock["making"] += time.process_time() - began
        yield X
        del X  # before the next one is made


def stream(n_columns: int) -> dict[str, Any]:
    """Learn from a stream of columns, and return what it took."""
    rng = np.random.default_rng(0)
    relevant = rng.normal(size=(ROWS, RELEVANT)).astype(np.float32)
    y = relevant @ rng.choice([-1.0, 1.0], RELEVANT) + rng.logistic(size=ROWS) > 0.0
    clock = {"making": 0.0}
    model = StreamGraftClassifier(l1=L1, buffer=BUFFER)
    began = time.process_time()
    model.fit_stream(blocks(n_columns, relevant, clock), y)
    seconds = time.process_time() - began - clock["making"]
    return {
        "seconds": seconds,
        "making": clock["making"],
        "n_features": int(model.support_.sum()),
        "n_found": int(model.support_[places(n_columns)].sum()),
        "n_forgotten": model.n_forgotten_,
        "n_untested": model.n_untested_,
    }


def child(n_columns: int) -> dict[str, Any]:
    """Return what a stream takes in time and memory, compiled code being there already."""
    stream(2 * BLOCK)
    result: dict[str, Any] = {}
    peak = peak_of(lambda: result.update(stream(n_columns)))
    return {"columns": n_columns, "peak": peak, **result}


def growth(note: Callable[[str], None], *, quick: bool) -> dict[str, Any]:
    """Return a line for each number of columns, and the exponents of the time in it."""
    points = []
    for size in (10_000, 20_000, 40_000) if quick else SIZES:
        done = subprocess.run(  # noqa: S603 -- our own module
            [sys.executable, "-m", "benchmarks._streaming", "--columns", str(size)],
            capture_output=True,
            check=True,
            timeout=LIMIT,
            cwd=Path(__file__).parents[1],
            env={**os.environ, **KEEP_ONE_THREAD},
        )
        points.append(json.loads(done.stdout.splitlines()[-1]))
        note(f"  {points[-1]}")
    sizes, seconds = [point["columns"] for point in points], [point["seconds"] for point in points]
    last = exponent(sizes[-2:], seconds[-2:])
    return {"points": points, "exponent": exponent(sizes, seconds), "last": last}


def render_growth(found: dict[str, Any]) -> str:
    """Return the table of growth."""
    block, memory = 4 * ROWS * BLOCK, 4 * ROWS * (BUFFER + RELEVANT)
    body = [
        [
            f"{point['columns']:,}",
            f"{point['seconds']:.1f}",
            f"{1e6 * point['seconds'] / point['columns']:.1f}",
            f"{point['peak'] / 1e6:.0f}",
            f"{point['n_found']} of {RELEVANT}",
            str(point["n_features"]),
            f"{point['n_untested']:,}",
        ]
        for point in found["points"]
    ]
    header = ["columns", "CPU s", "µs a column", "peak, MB", "relevant found", "selected", "not certified"]
    return (
        f"## A stream of {ROWS:,} rows in float32 through a buffer of {BUFFER:,}, blocks of {BLOCK:,}, 1 thread\n\n"
        + _table.markdown(header, body)
        + f"\n\nTime grows with the number of columns to the power {found['exponent']:.2f}, in the last step "
        f"{found['last']:.2f}. A block takes {block / 1e6:.0f} MB, the buffer with the selected columns "
        f"{memory / 1e6:.0f} MB, all columns would take {4 * ROWS * found['points'][-1]['columns'] / 1e6:,.0f} MB.\n"
    )


# --- the gap to the batch optimum ---


def generated(n: int, p: int) -> tuple[Any, Any]:
    """Return columns in correlated families, of which a few decide."""
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(n, p // 20))
    X = factors[:, rng.integers(0, p // 20, p)] + rng.normal(size=(n, p))
    f = X[:, rng.choice(p, 20, replace=False)] @ rng.normal(size=20)
    return X, f + 0.5 * np.std(f) * rng.logistic(size=n) > 0.0


def data_sets(*, quick: bool) -> Iterator[tuple[str, Any, Any]]:
    """Yield the data sets that there are."""
    n, p = (100, 1_000) if quick else (500, 20_000)
    yield f"generated {n} x {p:,}", *generated(n, p)
    if quick:
        return
    readers = {
        "colon": read_colon,
        "leukemia": read_leukemia,
        "lymphoma": lambda: read_lymphoma(malignant=66),
        "PCMAC": read_pcmac,
    }
    for name, read in readers.items():
        try:
            data = read()
        except FileNotFoundError:
            continue
        X = data.data
        yield f"{name} {X.shape[0]:,} x {X.shape[1]:,}", (sp.csc_array(X) if sp.issparse(X) else X), data.target


def gap(note: Callable[[str], None], *, quick: bool) -> list[dict[str, Any]]:
    """Return, for each data set and l1, how far streams in random orders end above the batch optimum."""
    rows = []
    for name, X, y in data_sets(quick=quick):
        for share in (0.3, 0.1):
            l1 = share * l1_max(X, y)
            batch = GraftClassifier(l1=l1).fit(X, y)
            cells = {}
            for buffer, passes in ((0, 1), (100, 1), (1_000, 1), (0, 2), (100, 2), (1_000, 2)):
                ends = [_end(X, y, l1, buffer, passes, seed) for seed in range(2 if quick else ORDERS)]
                gaps = [max(0.0, value / batch.objective_ - 1.0) for value, _ in ends]
                cells[f"{buffer},{passes}"] = {
                    "median": median(gaps),
                    "largest": max(gaps),
                    "certified": sum(certified for _, certified in ends),
                    "of": len(ends),
                }
            rows.append({"data": name, "share": share, "n_features": int(batch.support_.sum()), "cells": cells})
            note(f"  {rows[-1]}")
    return rows


def _end(X: Any, y: Any, l1: float, buffer: int, passes: int, seed: int) -> tuple[float, bool]:
    order = np.random.default_rng(seed).permutation(X.shape[1])
    model = StreamGraftClassifier(l1=l1, buffer=buffer)
    model.fit_stream(column_blocks(X[:, order], 500), y, passes=passes)
    return model.objective_, model.certificate_.converged


def _gap(value: float) -> str:
    return "0" if value < ROUNDING else f"{value:.0e}"


def render_gap(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table of gaps."""
    settings = list(rows[0]["cells"])
    body = []
    for row in rows:
        cells = [row["cells"][key] for key in settings]
        texts = [f"{_gap(c['median'])} / {_gap(c['largest'])} ({c['certified']} of {c['of']})" for c in cells]
        body.append([row["data"], f"{row['share']:g}", str(row["n_features"]), *texts])
    names = [f"buffer {key.split(',')[0]}, {key.split(',')[1]} pass{'es' * (key[-1] != '1')}" for key in settings]
    return (
        "## How far a stream ends above the batch optimum: (C - C*)/C*, median / largest over random orders (certified)"
        "\n\nBlocks of 500 columns.\n\n" + _table.markdown(["data", "l1 / largest", "features", *names], body) + "\n"
    )


def measure(note: Callable[[str], None], *, quick: bool, only: Sequence[str] = SECTIONS) -> dict[str, Any]:
    """Return the measurements of the sections asked for."""
    work = {"growth": growth, "gap": gap}
    return {section: work[section](note, quick=quick) for section in SECTIONS if section in only}


def render(found: dict[str, Any]) -> str:
    """Return the tables of what was measured."""
    tables = {"growth": render_growth, "gap": render_gap}
    return "\n".join(tables[section](found[section]) for section in SECTIONS if section in found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print, or be the fresh process."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks._streaming", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small problems")
    parser.add_argument("--only", default=",".join(SECTIONS), help=f"sections, of {', '.join(SECTIONS)}")
    parser.add_argument("--columns", type=int, help="print the measurements of one stream as JSON")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if given.columns:
        print(json.dumps(child(given.columns)))
        return
    found = measure(lambda line: print(line, file=sys.stderr), quick=given.quick, only=given.only.split(","))
    print(render(found))


if __name__ == "__main__":
    main()
