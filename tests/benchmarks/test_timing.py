import os
import time

import numpy as np
import pytest
from benchmarks import _problems, _timing
from benchmarks._accuracy import Judge
from benchmarks._peers import SKGRAFT, Solver
from benchmarks._problems import Model
from benchmarks._timing import Cell, Crashed, Late, alternate, compare, find_tolerance, isolated, ladder, search, turns

PROBLEM = _problems.dense("squared", 60, 30).at(0.1)


def anyone(problem):
    del problem


def contestant(name, fit, **settings):
    return Solver(name, "numpy", fit, anyone, **settings)


def never_right(problem, tol, threads):
    del tol, threads
    return lambda: [Model(np.zeros((1, problem.n_columns)), np.zeros(1))]


def never_done(problem, tol, threads):
    del problem, tol, threads
    time.sleep(60.0)


def falls(problem, tol, threads):
    del problem, tol, threads
    os._exit(3)


def test_every_solver_has_its_turn_in_each_round_and_the_first_changes():
    assert list(turns(["a", "b", "c"], {"a": 3, "b": 3, "c": 1})) == ["a", "b", "c", "b", "a", "a", "b"]


def test_tolerances_go_from_loose_to_tight():
    assert ladder(1e-1, 1e-2) == pytest.approx([1e-1, 10**-1.5, 1e-2])


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1.0, 30.0])
def test_search_ends_at_the_loosest_that_is_enough(power, factor):
    rungs = ladder(1e-1, 1e-15)
    gaps = [factor * tol**power for tol in rungs]
    tried = []

    def attempt(rung):
        tried.append(rung)
        return gaps[rung]

    search(attempt, len(rungs))
    enough = [rung for rung in tried if gaps[rung] <= 1e-6]
    assert min(enough) == next(rung for rung, gap in enumerate(gaps) if gap <= 1e-6)
    assert len(tried) == len(set(tried))


def test_the_tolerance_found_is_the_loosest_that_is_enough():
    exact = SKGRAFT.fit(PROBLEM, 1e-10, 1)()[0]

    def off_by_the_tolerance(problem, tol, threads):
        del problem, threads
        return lambda: [Model(exact.coef * (1.0 + tol), exact.intercept)]

    solver = contestant("exact", off_by_the_tolerance)
    judge = Judge(PROBLEM)
    found = find_tolerance(solver, PROBLEM, judge, 10.0)
    assert found.state == "timed"
    assert judge.accuracy(off_by_the_tolerance(PROBLEM, found.tol, 1)()).met
    assert not judge.accuracy(off_by_the_tolerance(PROBLEM, 10.0 * found.tol, 1)()).met


def test_a_solver_that_misses_the_accuracy_gets_no_time():
    cell = find_tolerance(contestant("wrong", never_right, tightest=1e-3), PROBLEM, Judge(PROBLEM), 10.0)
    assert cell.state == "missed"
    assert cell.gap > 1e-6


def test_a_solver_that_does_not_end_is_stopped_and_one_that_falls_is_noted():
    judge = Judge(PROBLEM)
    assert find_tolerance(contestant("slow", never_done), PROBLEM, judge, 0.2).state == "late"
    assert find_tolerance(contestant("fallen", falls), PROBLEM, judge, 10.0).state == "failed"


def test_a_solver_that_is_not_installed_is_absent():
    missing = Solver("missing", "no_such_module_at_all", never_done, anyone)
    cells = compare([SKGRAFT, missing], PROBLEM, repeat=1, threads=[1], longest=10.0, note=print)[1]
    assert cells["missing"].state == "absent"
    assert cells["skgraft"].state == "timed"


def test_accuracy_is_checked_again_where_the_time_is_taken():
    found = {"wrong": Cell("timed", cpu=0.1, wall=0.1, tol=1e-3)}
    cells = alternate([contestant("wrong", never_right)], PROBLEM, Judge(PROBLEM), found, repeat=2, threads=1)
    assert cells["wrong"].state == "missed"


def test_a_solver_that_is_very_slow_with_more_threads_is_stopped_and_the_others_are_timed(monkeypatch):
    monkeypatch.setattr(_timing, "PATIENCE", 0.5)
    found = {name: Cell("timed", cpu=0.01, wall=0.01, tol=1e-3) for name in ("skgraft", "slow")}
    both = [SKGRAFT, contestant("slow", never_done)]
    cells = alternate(both, PROBLEM, Judge(PROBLEM), found, repeat=1, threads=2)
    assert cells["slow"].state == "late"
    assert cells["skgraft"].state == "timed"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_a_solver_that_binds_itself_to_a_core_does_not_bind_the_others(tmp_path):
    cores, seen = os.sched_getaffinity(0), tmp_path / "seen"

    def binding(problem, tol, threads):
        with seen.open("a") as file:
            file.write(f"{len(os.sched_getaffinity(0))}\n")
        os.sched_setaffinity(0, {min(cores)})
        return SKGRAFT.fit(problem, tol, threads)

    found = {"binding": Cell("timed", cpu=0.01, wall=0.01, tol=1e-8)}
    alternate([contestant("binding", binding)], PROBLEM, Judge(PROBLEM), found, repeat=2, threads=2)
    assert seen.read_text().split() == [str(len(cores))] * 3


def test_a_solver_that_misses_with_more_threads_is_given_a_tighter_tolerance():
    exact = SKGRAFT.fit(PROBLEM, 1e-10, 1)()[0]

    def racing(problem, tol, threads):
        del problem
        return lambda: [Model(exact.coef * (1.0 + tol * threads**2), exact.intercept)]

    cells = compare([contestant("racing", racing)], PROBLEM, repeat=1, threads=[1, 2], longest=10.0, note=print)
    assert cells[1]["racing"].state == cells[2]["racing"].state == "timed"
    assert cells[2]["racing"].tol < cells[1]["racing"].tol


def test_a_child_that_hangs_or_fails_leaves_the_parent_alone():
    with pytest.raises(Late):
        list(isolated(lambda _: time.sleep(30.0), 0.1))
    with pytest.raises(Crashed, match="ZeroDivisionError"):
        list(isolated(lambda report: report(1 / 0), 10.0))
