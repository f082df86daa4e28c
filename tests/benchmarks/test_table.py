from benchmarks._growth import exponent
from benchmarks._table import cell, comparison, losses, rewrite, short_comparison

OURS = {"state": "timed", "cpu": 0.1, "n_features": 7}
ROW = {
    "problem": "lasso",
    "l1": "0.1",
    "solvers": {
        "skgraft": OURS,
        "slow": {"state": "timed", "cpu": 0.25},
        "fast": {"state": "timed", "cpu": 0.05},
        "wrong": {"state": "missed", "cpu": 0.01, "gap": 3e-4},
        "late": {"state": "late", "limit": 60.0},
        "other": {"state": "excused", "reason": "no intercept"},
    },
}


def test_a_faster_peer_is_bold_and_a_slower_one_is_not():
    assert cell(ROW["solvers"]["slow"], OURS, "cpu") == "250 (2.5)"
    assert cell(ROW["solvers"]["fast"], OURS, "cpu") == "**50 (0.50)**"
    assert losses([ROW], "cpu") == ["lasso, 0.1: fast is 2.0 times as fast"]


def test_a_solver_that_missed_the_accuracy_shows_its_gap_and_no_time():
    assert cell(ROW["solvers"]["wrong"], OURS, "cpu") == "missed: gap 3.0e-04"
    assert cell(ROW["solvers"]["late"], OURS, "cpu") == "> 60 s"


def test_a_peer_without_any_row_has_no_column():
    table = comparison([ROW], "cpu")
    assert "other" not in table
    assert "wrong" in table


def test_the_short_table_gives_multiples():
    assert short_comparison([ROW, {**ROW, "l1": "0.01"}], "cpu").splitlines()[-1] == (
        "| lasso | 0.1 / 0.01 | 100 / 100 | 2.5 / 2.5 | **0.50** / **0.50** | missed / missed | > 600 / > 600 |"
    )


def test_text_is_put_between_its_markers_only(tmp_path):
    file = tmp_path / "README.md"
    file.write_text("before\n<!-- table -->\nold\n<!-- end -->\nafter <!-- end -->\n")
    assert rewrite(file, "table", "new")
    assert file.read_text() == "before\n<!-- table -->\nnew\n<!-- end -->\nafter <!-- end -->\n"
    assert not rewrite(file, "absent", "new")


def test_exponent_of_a_power_law():
    assert abs(exponent([1, 10, 100], [2, 20, 200]) - 1.0) < 1e-12
