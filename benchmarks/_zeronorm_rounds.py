"""Rounds of AROM and elimination one by one, in fits of scikit-learn's machines on the same data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import _problems, _table
from benchmarks._problems import data_folder
from benchmarks._timing import timed

Note = Callable[[str], None]

WIDE = ((200, 20_000), (200, 100_000))
TALL = ((20_000, 200),)
CHOSEN = 20  # features that a run of rounds is asked for
ENOUGH = 20.0  # seconds after which a pair is not run again


@dataclass(frozen=True)
class Case:
    """Standardised data, the machine that runs of rounds are counted in, and the C of both."""

    name: str
    X: Any
    y: Any
    peer: str
    C: float


def lymphoma() -> tuple[Any, Any]:
    """Return the lymphoma data, malignant against the rest, standardised."""
    from papers.data import read_lymphoma

    data = read_lymphoma(data_folder(), malignant=66)
    return _problems.standardized(np.asarray(data.data, dtype=np.float64)), np.asarray(data.target)


def cases(note: Note, *, quick: bool) -> Iterator[Case]:
    """Yield the data: hard margins where features outnumber rows, soft ones elsewhere."""
    folder = data_folder()
    if folder is None:
        note("  real data left out (set SKGRAFT_DATA)")
    else:
        X, y = lymphoma()
        yield Case("lymphoma", X, y, "SVC", np.inf)
        golub = _problems.golub(folder)
        yield Case("golub", golub.X, golub.y, "SVC", np.inf)
    for shape in () if quick else WIDE:
        problem = _problems.dense("logistic", *shape)
        yield Case("generated", problem.X, problem.y, "SVC", np.inf)
    for shape in ((2000, 100),) if quick else TALL:
        problem = _problems.dense("logistic", *shape)
        yield Case("generated", problem.X, problem.y, "LinearSVC", 1.0)
    if folder is not None and not quick:
        for read in (_problems.pcmac, _problems.news_2):
            problem = read(folder)
            name = problem.name.removesuffix(" {:,} x {:,}".format(*problem.X.shape))
            for peer in ("SVC", "LinearSVC"):  # features outnumber rows, but sparse ones
                yield Case(name, problem.X, problem.y, peer, 1.0)


def machine(case: Case) -> Any:
    """Return scikit-learn's machine; its hard margin is a large C."""
    from sklearn.svm import SVC, LinearSVC

    if case.peer == "SVC":
        return SVC(kernel="linear", C=1e6 if np.isinf(case.C) else case.C)
    return LinearSVC(C=case.C, dual="auto", max_iter=10_000)


def alternate(jobs: dict[str, Callable[[], Any]], repeat: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the median processor time of each job, run in turns, and the last results."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    results: dict[str, Any] = {}
    spent = 0.0
    for turn in range(repeat):
        names = list(jobs)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            results[name], run = timed(jobs[name])
            times[name].append(run.cpu)
            spent += run.cpu
        if spent > ENOUGH:
            break
    return {name: median(each) for name, each in times.items()}, results


def measure_rounds(note: Note, *, quick: bool = False, repeat: int = 5) -> list[dict[str, Any]]:
    """Return the times of whole runs of l2-AROM and of one fit of the peer."""
    from skgraft import AROMClassifier

    rows = []
    for case in cases(note, quick=quick):
        jobs = {
            "chosen": lambda case=case: AROMClassifier(C=case.C, n_features_to_select=CHOSEN).fit(case.X, case.y),
            "all": lambda case=case: AROMClassifier(C=case.C).fit(case.X, case.y),
            "peer": lambda case=case: machine(case).fit(case.X, case.y),
        }
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jobs["chosen"]()  # loads compiled code
            times, results = alternate(jobs, repeat)
        rows.append(
            {
                "problem": f"{case.name}, {case.X.shape[0]:,} x {case.X.shape[1]:,}",
                "peer": case.peer,
                "seconds": times,
                "rounds": {name: len(results[name].history_) for name in ("chosen", "all")},
                "features": int(results["all"].support_.sum()),
                "violation": results["all"].certificate_.kkt_violation,
            }
        )
        note(render_rounds(rows[-1:]))
    return rows


def render_rounds(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table of runs."""
    body = []
    for row in rows:
        seconds = row["seconds"]
        cells = [_table.milliseconds(seconds["peer"])]
        for name in ("chosen", "all"):
            times = seconds[name] / seconds["peer"]
            cells.append(f"{_table.milliseconds(seconds[name])} ({times:.2f}; {row['rounds'][name]} rounds)")
        body.append([row["problem"], row["peer"], *cells, str(row["features"]), f"{row['violation']:.0e}"])
    header = ["problem", "peer", "one fit", f"l2-AROM to {CHOSEN}", "until settled", "features then", "KKT"]
    return _table.markdown(header, body)


def measure_elimination(note: Note, *, quick: bool = False, repeat: int = 3) -> list[dict[str, Any]]:
    """Return the times of elimination one by one, ours and scikit-learn's, and how many ranks differ."""
    from sklearn.feature_selection import RFE
    from sklearn.svm import SVC

    from skgraft import RFESelector

    shape = (50, 400) if quick else (60, 1500)
    small = _problems.dense("logistic", *shape)
    found = [("generated", small.X, small.y)]
    if data_folder() is not None and not quick:
        found.append(("lymphoma", *lymphoma()))
    rows = []
    for name, X, y in found:
        with threadpool_limits(1):
            RFESelector(n_features_to_select=1).fit(X, y)  # loads compiled code
            ours = [timed(lambda X=X, y=y: RFESelector(n_features_to_select=1).fit(X, y)) for _ in range(repeat)]
            peer, run = timed(
                lambda X=X, y=y: RFE(SVC(kernel="linear", tol=1e-6), n_features_to_select=1, step=1).fit(X, y)
            )
        differ = int(np.count_nonzero(ours[0][0].ranking_ != peer.ranking_))
        seconds = {"ours": median(each[1].cpu for each in ours), "peer": run.cpu}
        rows.append({"problem": f"{name}, {X.shape[0]} x {X.shape[1]:,}", "seconds": seconds, "differ": differ})
        note(render_elimination(rows[-1:]))
    return rows


def render_elimination(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table of eliminations."""
    body = [
        [
            row["problem"],
            _table.milliseconds(row["seconds"]["ours"]),
            _table.milliseconds(row["seconds"]["peer"]),
            f"{row['seconds']['peer'] / row['seconds']['ours']:.0f}",
            str(row["differ"]),
        ]
        for row in rows
    ]
    return _table.markdown(["problem", "RFESelector", "RFE(SVC), tol 1e-6", "times faster", "ranks that differ"], body)
