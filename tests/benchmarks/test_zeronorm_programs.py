"""The benchmark of linear programs compares like with like."""

from __future__ import annotations

import pytest
from benchmarks._problems import dense
from benchmarks._zeronorm_programs import FORMS, compare, full_program, machines, render, solve_full, solve_ours, walk

PROBLEM = dense("logistic", 20, 250, n_relevant=3)


def test_both_forms_of_the_full_program_have_our_optimum():
    shares = []
    for share, machine in machines(PROBLEM):
        _, ours, n_features = solve_ours(PROBLEM, machine)
        for form in FORMS:
            _, optimum = solve_full(full_program(machine, form), 60.0)
            assert optimum == pytest.approx(ours, rel=1e-8)
        assert 0 < n_features < 21
        shares.append(share)
    assert shares == ["0.5", "0.2", "0.05", "hard"]


def test_tables_show_what_was_measured():
    share, machine = next(machines(PROBLEM))
    row = compare(PROBLEM, share, machine, repeat=1, limit=60.0)
    path = walk(PROBLEM, repeat=1)
    text = render({"programs": [row], "paths": [path]})
    assert f"| 20 x 250 | 0.5 | {row['n_features']} |" in text
    assert path["gap"] < 1e-9
    late = row | {"differences": dict.fromkeys(FORMS), "primal": 60.0}
    assert "| > 60.0 (" in render({"programs": [late], "paths": []})
