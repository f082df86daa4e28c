"""Networks beside LassoNet, a network that does not select, and an RBF SVM with wrapper selection."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks import _table

LASSONET, WRAPPER = SLOWEST = "LassoNet", "RBF SVM, wrapper"
LASSONET_LIMIT = 300.0  # seconds
WRAPPER_FEATURES = 10
WRAPPER_COLUMNS = 120  # beyond which a wrapper takes too long to be run
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

Outcome = dict[str, Any]


def grafted(split: Any, l1: float, l0: float, effort: str = "full") -> Outcome:
    """Return error, features and seconds of a grafted network."""
    from skgraft import MLPGraftClassifier

    begin = process_time()
    model = MLPGraftClassifier(l1=l1, l0=l0, effort=effort).fit(split.X, split.y)
    seconds = process_time() - begin
    error = float(np.mean(model.predict(split.X_test) != split.y_test))
    return {"error": error, "features": np.flatnonzero(model.support_).tolist(), "seconds": seconds}


def lassonet(split: Any, python: str) -> Outcome | None:
    """Return the same of LassoNet's path, run by another interpreter; None where it is stopped at the limit."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.npz"
        labels = {"y": split.y > 0, "y_test": split.y_test > 0}
        np.savez(file, X=split.X, X_test=split.X_test, **labels)
        script = Path(__file__).parent / "_lassonet.py"
        try:
            done = subprocess.run(  # noqa: S603 -- our own script
                [python, str(script), str(file)],
                capture_output=True,
                check=True,
                timeout=LASSONET_LIMIT,
                env={**os.environ, **ONE_THREAD},
            )
        except subprocess.TimeoutExpired:
            return None
    return dict(json.loads(done.stdout.splitlines()[-1]))


def all_connected(split: Any) -> Outcome:
    """Return the same of scikit-learn's network, which uses all features."""
    from sklearn.neural_network import MLPClassifier

    begin = process_time()
    model = MLPClassifier(max_iter=1000, random_state=0).fit(split.X, split.y)
    seconds = process_time() - begin
    return {"error": float(np.mean(model.predict(split.X_test) != split.y_test)), "features": None, "seconds": seconds}


def wrapped_svm(split: Any) -> Outcome | None:
    """Return the same of an RBF SVM with forward selection by cross-validation; None where that takes too long."""
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.svm import SVC

    if split.X.shape[1] > WRAPPER_COLUMNS:
        return None
    begin = process_time()
    svm = SVC(C=10.0)
    chosen = SequentialFeatureSelector(svm, n_features_to_select=WRAPPER_FEATURES, cv=3).fit(split.X, split.y)
    svm.fit(chosen.transform(split.X), split.y)
    seconds = process_time() - begin
    error = float(np.mean(svm.predict(chosen.transform(split.X_test)) != split.y_test))
    return {"error": error, "features": np.flatnonzero(chosen.get_support()).tolist(), "seconds": seconds}


def judged(split: Any, outcome: Outcome) -> Outcome:
    """Return an outcome with the number of features and their saliency in place of the features; None is all."""
    features = outcome["features"]
    chosen = np.arange(split.X.shape[1]) if features is None else np.array(features, dtype=np.intp)
    counted = {"n_features": chosen.size, "saliency": None if features is None else split.saliency(chosen)}
    return {key: value for key, value in outcome.items() if key != "features"} | counted


def classes(
    instances: int, python: str | None, few: int, note: Callable[[str], None], *, quick: bool
) -> list[dict[str, Any]]:
    """Return a row for each of data sets A to E and each contestant, in turns over the instances.

    The slowest by far, LassoNet and the wrapper, run on the first ``few`` instances only.
    """
    from papers._grafting.paper import NETWORK
    from papers._grafting.problems import load_problems

    rows = []
    for problem in load_problems().present:
        stated = NETWORK[problem.name]
        contestants: dict[str, Callable[[Any], Outcome | None]] = {
            "skgraft": lambda split, stated=stated: grafted(split, **stated),  # type: ignore[misc]
            "skgraft, light": lambda split, stated=stated: grafted(split, **stated, effort="light"),  # type: ignore[misc]
            "MLPClassifier": all_connected,
        }
        if python is not None:
            contestants[LASSONET] = lambda split: lassonet(split, python)
        if not quick:
            contestants[WRAPPER] = wrapped_svm
        found: dict[str, list[Outcome]] = {name: [] for name in contestants}
        for i in range(instances):
            split = problem.instance(1000 + i)
            for name, run in contestants.items():
                outcome = None if name in SLOWEST and i >= few else run(split)
                if outcome is not None:
                    found[name].append(judged(split, outcome))
            note(f"  {problem.name} {i}: " + ", ".join(f"{n} {o[-1]['seconds']:.2f} s" for n, o in found.items() if o))
        rows.append({"problem": problem.name, "title": problem.title, "found": found})
    return rows


def _mean(outcomes: Sequence[Outcome], key: str) -> tuple[float, float] | None:
    values = [outcome[key] for outcome in outcomes if outcome[key] is not None]
    if not values:
        return None
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _written(pair: tuple[float, float] | None, scale: float, digits: int) -> str:
    return "" if pair is None else f"{scale * pair[0]:.{digits}f} ± {scale * pair[1]:.{digits}f}"


def render_classes(rows: Sequence[dict[str, Any]]) -> str:
    """Return the table of the five data sets."""
    body = []
    for row in rows:
        ours = _mean(row["found"]["skgraft"], "seconds")
        for name, outcomes in row["found"].items():
            seconds = _mean(outcomes, "seconds")
            if seconds is None or ours is None:
                continue
            fewer = len(outcomes) < len(row["found"]["skgraft"])
            body.append(
                [
                    f"{row['problem']}: {row['title']}",
                    f"{name} ({len(outcomes)} instances)" if fewer else name,
                    _written(_mean(outcomes, "error"), 100.0, 2),
                    _written(_mean(outcomes, "n_features"), 1.0, 1),
                    _written(_mean(outcomes, "saliency"), 1.0, 2),
                    f"{seconds[0]:.2f}",
                    _table.ratio(seconds[0] / ours[0]),
                ]
            )
    header = ["problem", "method", "error, %", "features", "saliency", "CPU s", "times skgraft's"]
    return "## Two classes, the paper's parameters\n\n" + _table.markdown(header, body)


def numbers(instances: int, note: Callable[[str], None]) -> list[Outcome]:
    """Return, for each instance of Friedman #1 with 95 columns of noise, errors and features of network and forest."""
    from sklearn.datasets import make_friedman1
    from sklearn.ensemble import RandomForestRegressor

    from skgraft import MLPGraftRegressor

    out = []
    for i in range(instances):
        X, y = make_friedman1(2000, n_features=100, noise=1.0, random_state=1000 + i)
        X, y, X_test, y_test = X[:1000], y[:1000], X[1000:], y[1000:]
        begin = process_time()
        model = MLPGraftRegressor().fit(X, y)
        seconds = process_time() - begin
        forest = RandomForestRegressor(100, max_features=0.33, random_state=0).fit(X, y)
        rmse = [float(np.sqrt(np.mean((each.predict(X_test) - y_test) ** 2))) for each in (model, forest)]
        right = bool(model.support_[:5].all() and not model.support_[5:].any())
        out.append({"rmse": rmse[0], "forest": rmse[1], "exact": right, "seconds": seconds})
        note(f"  {out[-1]}")
    return out


def render_numbers(rows: Sequence[Outcome]) -> str:
    """Return the table of Friedman #1."""
    exact = f"{sum(row['exact'] for row in rows)} of {len(rows)}"
    cells = [_written(_mean(rows, key), 1.0, 2) for key in ("rmse", "forest", "seconds")]
    header = ["RMSE (noise 1.0)", "forest", "CPU s", "exactly the five features"]
    return "## Friedman #1, 1,000 rows, 95 columns of noise\n\n" + _table.markdown(header, [[*cells, exact]])


def digits(instances: int, note: Callable[[str], None]) -> list[Outcome]:
    """Return, for splits of ten-class sets with 1,000 training rows, errors of networks and of a forest."""
    from papers.data import read_mfeat
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    from skgraft import MLPGraftClassifier

    sets = {"digits": load_digits(return_X_y=True)}
    try:
        table = read_mfeat()
    except FileNotFoundError as reason:
        note(f"  mfeat is missing: {reason}")
    else:
        sets["mfeat"] = (table.data, table.target)
    out = []
    for name, (X, y) in sets.items():
        for i in range(instances):
            parts = train_test_split(X, y, train_size=1000, stratify=y, random_state=1000 + i)
            X_train, X_test, y_train, y_test = parts
            methods = {
                "shared units (default)": MLPGraftClassifier(),
                "a unit for one class": MLPGraftClassifier(output_weights="unit"),
                "forest, all features": RandomForestClassifier(300, random_state=0),
            }
            for method, model in methods.items():
                begin = process_time()
                model.fit(X_train, y_train)
                seconds = process_time() - begin
                n_features = int(model.support_.sum()) if hasattr(model, "support_") else X.shape[1]
                error = float(np.mean(model.predict(X_test) != y_test))
                out.append(
                    {"set": name, "method": method, "error": error, "n_features": n_features, "seconds": seconds}
                )
                note(f"  {out[-1]}")
    return out


def render_digits(rows: Sequence[Outcome]) -> str:
    """Return the table of ten classes."""
    body = []
    for name, method in dict.fromkeys((row["set"], row["method"]) for row in rows):
        mine = [row for row in rows if (row["set"], row["method"]) == (name, method)]
        cells = [_written(_mean(mine, "error"), 100.0, 2), _written(_mean(mine, "n_features"), 1.0, 1)]
        body.append([name, method, *cells, _written(_mean(mine, "seconds"), 1.0, 2)])
    header = ["set", "method", "error, %", "features", "CPU s"]
    return "## Ten classes, 1,000 training rows\n\n" + _table.markdown(header, body)
