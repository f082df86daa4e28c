import json
import time
from dataclasses import replace

import numpy as np
import pytest
from benchmarks import _boosting_growth, _boosting_memory, _boosting_problems, _boosting_race, boosting
from benchmarks._boosters import BOOSTERS, Booster, Fitted
from benchmarks._timing import now

SMALL = replace(_boosting_problems.dense(200, 12, n_relevant=4), trees=3)


def constant(problem, trees, threads, root_gain):
    del trees, threads, root_gain
    return Fitted(lambda X: np.full(X.shape[0], problem.prior), lambda: 0)


def sleepy(problem, trees, threads, root_gain):
    time.sleep(0.002 * trees)
    return constant(problem, trees, threads, root_gain)


def telling(problem, trees, threads, root_gain):
    time.sleep(0.05)  # to prepare
    ends = []
    for _ in range(trees):
        time.sleep(0.005)
        ends.append(now())
    return replace(constant(problem, trees, threads, root_gain), ends=ends)


def broken(problem, trees, threads, root_gain):
    del problem, trees, threads, root_gain
    msg = "no memory"
    raise MemoryError(msg)


def endless(problem, trees, threads, root_gain):
    del trees, threads, root_gain
    time.sleep(0.0 if problem.shape[1] == 30 else 60.0)


def made_up_cell(cpu, loss=0.5):
    times = {f"{clock}{part}": cpu for clock in ("cpu", "wall") for part in ("", "_first", "_tree")}
    return {"state": "timed", "runs": 3, "loss": loss, "error": 0.2, "n_features": 7, **times}


def made_up_row(threads=1):
    solvers = {booster.name: made_up_cell(0.1 * (i + 1)) for i, booster in enumerate(BOOSTERS)}
    solvers["LightGBM"] = made_up_cell(0.05, 0.4)
    solvers["CatBoost"] = {"state": "absent", "reason": "not installed"}
    forest = solvers["random forest"]
    solvers["random forest"] = {key: value for key, value in forest.items() if not key.endswith(("_first", "_tree"))}
    head = {"problem": "10 x 5", "trees": 9, "share": 0.05, "threads": threads, "l1": f"{threads} threads"}
    return {**head, "solvers": solvers}


def made_up_sections():
    points = [{"size": n, "cpu": 1e-3 * n, "tree": 1e-5 * n, "n_features": 3} for n in (10, 100)]
    stretch = {"ends": [1, 10], "seconds": [0.02, 0.01], "floor": 0.005, "n_features": 3}
    cells = {booster.name: {"state": "timed", "peak": 5_000_000} for booster in BOOSTERS}
    return {
        "race": [made_up_row(), made_up_row(2)],
        "growth": [{"what": "rows", "points": points, "exponents": {"cpu": 1.0, "tree": 1.0}}],
        "fall": [{"problem": "10 x 5", "screening": "exact", **stretch}],
        "memory": [{"problem": "10 x 5", "data": 4_000_000, "cells": 1_000_000, "solvers": cells}],
    }


def test_generated_problems_have_a_signal_and_the_same_rows_each_time():
    again = _boosting_problems.dense(200, 12, n_relevant=4)
    assert np.array_equal(again.X, SMALL.X)
    assert 0.3 < SMALL.prior < 0.7
    assert SMALL.X.dtype == np.float32
    sparse = _boosting_problems.sparse(300, 400)
    assert sparse.sparse
    assert sparse.X.shape == (300, 400)
    assert np.diff(sparse.X.tocsc().indptr).min() >= 20  # a leaf can be cut from every column
    assert sparse.root_gain() > 1.0


def test_the_best_first_gain_is_that_of_all_thresholds():
    rng = np.random.default_rng(0)
    column, y = rng.integers(0, 4, 40).astype(float), rng.standard_normal(40)
    y -= y.mean()
    parts = [(y[column <= cut], y[column > cut]) for cut in (0, 1, 2)]
    best = max(left.sum() ** 2 / left.size + right.sum() ** 2 / right.size for left, right in parts)
    assert _boosting_problems.split_gain(column, y) == pytest.approx(best)
    assert _boosting_problems.split_gain(np.ones(40), y) == 0.0


def test_every_contestant_is_timed_and_judged_whatever_befalls_the_others():
    boosters = [
        Booster("skgraft", "numpy", sleepy),
        Booster("telling", "numpy", telling),
        Booster("broken", "numpy", broken),
        Booster("endless", "numpy", endless),
        Booster("missing", "no_such_module_at_all", constant),
        Booster("excused", "numpy", constant, lambda _: "not for it"),
        Booster("forest", "numpy", constant, multiple=100.0),
    ]
    cells = _boosting_race.race(boosters, SMALL, threads=1, repeat=2, limit=3.0)
    assert {name: cell["state"] for name, cell in cells.items()} == {
        "skgraft": "timed",
        "telling": "timed",
        "broken": "failed",
        "endless": "late",
        "missing": "absent",
        "excused": "excused",
        "forest": "timed",
    }
    p = np.clip(SMALL.prior, 0.0, 1.0)
    expected = -np.mean(np.where(SMALL.y_test == 1, np.log(p), np.log1p(-p)))
    assert cells["skgraft"]["loss"] == pytest.approx(expected)
    assert cells["skgraft"].get("wall_tree", 1.0) > 0.0
    assert "wall_tree" not in cells["forest"]
    # sleeps may take longer, but not less
    assert cells["telling"]["wall_tree"] >= 0.005
    assert cells["telling"]["wall_first"] >= 0.055
    assert cells["telling"]["wall"] >= cells["telling"]["wall_first"] + 2 * 0.005
    assert cells["telling"]["runs"] == 3


def test_a_faster_peer_is_named_and_our_own_variants_are_not():
    text = _boosting_race.render([made_up_row()])
    assert "10 x 5, 1 threads: LightGBM is 2.0 times as fast" in text
    assert "skgraft, no screening is" not in text
    assert "**50 (0.50)**" in text
    assert "**0.4000** (7)" in text
    assert "| 0.20 |" in text  # ours over LightGBM with prices
    # a row of an earlier race may have fewer contestants
    fewer = made_up_row()
    del fewer["solvers"]["skgraft, equal rows apart"]
    assert _boosting_race.render([{**fewer, "problem": "9 x 5"}, made_up_row()]).count("| 300 (3.0) |") == 3


def test_times_that_noise_swallowed_are_left_out():
    row = made_up_row()
    del row["solvers"]["skgraft"]["cpu_tree"]
    del row["solvers"]["LightGBM"]["cpu_tree"]
    assert "| 10 x 5 | – |" in _boosting_race.render([row])


def test_a_row_in_which_ours_failed_says_so():
    row = made_up_row()
    row["solvers"]["skgraft"] = {"state": "failed", "reason": "no memory"}
    assert "skgraft has no time (failed)" in _boosting_race.render([row])


def test_everything_is_stored_and_a_problem_measured_anew_takes_its_place(tmp_path, monkeypatch):
    sections = made_up_sections()
    monkeypatch.setattr(boosting, "run", lambda section, _: sections[section])
    boosting.main(["--output", str(tmp_path)])
    stored = json.loads((tmp_path / "boosting.json").read_text(encoding="utf-8"))
    assert stored["sections"] == sections
    text = (tmp_path / "boosting.md").read_text(encoding="utf-8")
    for title in ("Whole fit", "Each further tree", "Growth", "as training goes on", "Peak memory"):
        assert title in text
    other = {**made_up_row(), "trees": 77}
    monkeypatch.setattr(boosting, "run", lambda *_: [other])
    boosting.main(["--only", "race", "--problems", "10k x 1k", "--output", str(tmp_path)])
    rows = json.loads((tmp_path / "boosting.json").read_text(encoding="utf-8"))["sections"]["race"]
    assert [row["trees"] for row in rows] == [77, 9]


@pytest.mark.parametrize("arguments", [["--only", "speed"], ["--problems", "1 x 1"]])
def test_unknown_sections_and_problems_are_refused(arguments, capsys):
    with pytest.raises(SystemExit):
        boosting.parse(arguments)
    assert "there are" in capsys.readouterr().err


def test_stretches_double():
    assert _boosting_growth.marks(90) == [1, 10, 20, 40, 80]


def test_problems_are_made_by_name():
    names = list(_boosting_problems.race_problems(quick=False))
    assert names == ["10k x 1k", "100k x 500", "500k x 100", "1k x 20k", "5k x 50k", "2k x 200k sparse", "kddcup99"]
    assert _boosting_memory.make("sparse", 300, 400).sparse
