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
FOLD = (1427, 4322)  # a sparse fold
STEPS, FEW = 20, 10  # steps in which sparse features go until so many are left
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


@dataclass(frozen=True)
class Contest:
    """An elimination that both sides run: data, features at a time, features left."""

    name: str
    X: Any
    y: Any
    step: int = 1
    left: int = 1
    losses: tuple[str, ...] = ("hinge", "squared_hinge")


def contests(note: Note, *, quick: bool) -> Iterator[Contest]:
    """Yield the data: more rows than features, sparse ones, many at a time, and more features than rows."""
    for shape in ((300, 20),) if quick else ((1000, 50), (2000, 50)):
        problem = _problems.dense("logistic", *shape)
        yield Contest(f"generated, {shape[0]:,} x {shape[1]:,}", problem.X, problem.y)
    folder = data_folder()
    if quick or folder is None:
        note("  real data left out (set SKGRAFT_DATA)")
        problem = _problems.sparse("logistic", *((200, 500) if quick else FOLD))
        yield _many_at_a_time("generated", problem.X, problem.y)
    else:
        problem = _problems.pcmac(folder)
        rows = np.sort(np.random.default_rng(0).permutation(problem.X.shape[0])[: FOLD[0]])
        X = problem.X.tocsr()[rows]
        X = X[:, np.flatnonzero(np.diff(X.tocsc().indptr))]  # words that are in none of these rows say nothing
        yield _many_at_a_time("a fold of PCMAC", X, problem.y[rows])
    shape = (50, 400) if quick else (60, 1500)
    problem = _problems.dense("logistic", *shape)
    yield Contest(f"generated, {shape[0]:,} x {shape[1]:,}", problem.X, problem.y, losses=("hinge",))
    if folder is not None and not quick:
        yield Contest("lymphoma, 96 x 4,026", *lymphoma(), losses=("hinge",))


def _many_at_a_time(name: str, X: Any, y: Any) -> Contest:
    return Contest("{}, sparse, {:,} x {:,}".format(name, *X.shape), X, y, X.shape[1] // STEPS, FEW)


def measure_elimination(note: Note, *, quick: bool = False, repeat: int = 3) -> list[dict[str, Any]]:
    """Return the times of elimination, ours and scikit-learn's with either loss, and how many ranks differ."""
    from sklearn.feature_selection import RFE
    from sklearn.svm import SVC, LinearSVC

    from skgraft import RFESelector

    peers = {
        "hinge": SVC(kernel="linear", tol=1e-6),
        "squared_hinge": LinearSVC(tol=1e-6, dual="auto", max_iter=10_000),
    }
    rows = []
    for each in contests(note, quick=quick):
        for loss in each.losses:
            peer = peers[loss]
            ours = RFESelector(n_features_to_select=each.left, step=each.step, loss=loss, standardize=False)
            theirs = RFE(peer, n_features_to_select=each.left, step=each.step)
            jobs = {
                "ours": lambda each=each, ours=ours: ours.fit(each.X, each.y),
                "peer": lambda each=each, theirs=theirs: theirs.fit(each.X, each.y),
            }
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                jobs["ours"]()  # loads compiled code
                seconds, _ = alternate(jobs, repeat)
            row = {"problem": each.name, "step": each.step, "left": each.left, "peer": type(peer).__name__}
            differ = int(np.count_nonzero(_removal(ours.ranking_) != _removal(theirs.ranking_)))
            rows.append(row | {"seconds": seconds, "differ": differ})
            note(render_elimination(rows[-1:]))
    return rows


def _removal(ranking: Any) -> Any:
    """Return when features went, counted from the end: 0 for those left, 1 for the last step, and so on."""
    return np.unique(ranking, return_inverse=True)[1].ravel()


def render_elimination(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table of eliminations."""
    body = []
    for row in rows:
        ours, peer = row["seconds"]["ours"], row["seconds"]["peer"]
        how = "one by one" if row["step"] == 1 else f"{row['step']} at a time"
        cells = [_table.milliseconds(ours), _table.milliseconds(peer), _table.ratio(peer / ours), str(row["differ"])]
        body.append([row["problem"], f"{how}, to {row['left']}", f"RFE({row['peer']})", *cells])
    header = ["problem", "elimination", "peer", "RFESelector", "peer's time", "times faster", "ranks that differ"]
    return _table.markdown(header, body)


def measure_large(note: Note, *, quick: bool = False) -> list[dict[str, Any]]:
    """Return the time of every method on many rows and more features: y is the sign of ten columns and noise."""
    from skgraft import L1SVC, FSVClassifier, R2W2Selector, RFESelector

    shape = (200, 300) if quick else (2000, 5000)
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    y = np.sign(X[:, :10].sum(axis=1) + rng.standard_normal(shape[0]))
    models = {
        "L1SVC(l1=0.01)": L1SVC(l1=0.01),
        "RFESelector(step=0.5)": RFESelector(step=0.5),
        "R2W2Selector()": R2W2Selector(),
        "FSVClassifier()": FSVClassifier(),
    }
    rows = []
    for name, model in models.items():
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            type(model)().fit(X[:60, :40], y[:60])  # loads compiled code
            _, run = timed(lambda model=model: model.fit(X, y))
        found = int(np.count_nonzero(model.support_[:10]))
        rows.append({"model": name, "shape": shape, "seconds": run.cpu, "features": int(model.support_.sum()),
                     "relevant": found})  # fmt: skip
        note(render_large(rows[-1:]))
    return rows


def render_large(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table of the large problem."""
    body = [
        ["{:,} x {:,}".format(*row["shape"]), row["model"], _table.milliseconds(row["seconds"]), str(row["features"]),
         str(row["relevant"])]
        for row in rows
    ]  # fmt: skip
    return _table.markdown(["problem", "model", "fit", "features", "relevant ones, of ten"], body)
