"""What the command of the paper on gradient boosted feature selection prints and stores."""

import json

import pytest
from papers import gbfs
from papers._gbfs import bags, figures, paper, toy
from papers._gbfs.curves import Run, Runs
from papers._gbfs.methods import METHODS
from papers._gbfs.problems import MAKERS, WIDE
from papers._gbfs.quality import Quality
from papers._storage import stored

THERE = [name for name, method in METHODS.items() if method.curve is not None]


def made_up_runs(names=tuple(MAKERS)):
    runs = []
    for name in names:
        for i, method in enumerate(THERE):
            parameters = {"mu": 1.0, "depth": 4, "trees": 10 + i} if method.startswith("GBFS") else {"trees": 9}
            runs += [Run(method, name, k, 0.1 * (i + 1) / k, 3.0, parameters) for k in (3, 10, 40)]
    return runs


def made_up_sections():
    budgets = {name: {"depths": [4], "trees": 9, "splits": 2, "forest": 7, "retrained": 5} for name in MAKERS}
    names = ("GBFS, mu = 1", "GBFS, mu = 8", "L1-LR", "RF-FS")
    connected = [Run(name, "kddcup99", k, 0.01 * k, 2.0, {}) for name in names for k in (1, 4, 9)]
    outcomes = [
        bags.Outcome(name, split, 0.2, 4, 2, 0.5, (0, 1, 3, *[0] * 6), (10,) * 9)
        for name in (*bags.BAGGED, "random forest")
        for split in range(2)
    ]
    toys = [toy.Outcome(method, seed, 0.25, "x, y") for method in toy.METHODS for seed in range(2)]
    quality = [Quality(name, k, 0.1 / k, 1.0, 0.1) for name in THERE for k in (2, 20)]
    return {
        "toy": {"records": stored(toys)},
        "bags": {"splits": 2, "missing": {}, "records": as_read(outcomes)},
        "curves": {"missing": {}, "budgets": budgets, "records": stored(made_up_runs())},
        "connections": {"missing": {}, "always": 0.2, "records": stored(connected)},
        "quality": {"missing": {}, "records": stored(quality)},
        "genes": {"missing": {}, "budgets": {}, "records": stored(made_up_runs(tuple(WIDE)))},
    }


def as_read(records):
    return json.loads(json.dumps(stored(records)))


def rows_of(table, *start):
    return [list(row) for row in table.rows if list(row[: len(start)]) == list(start)]


class TestTables:
    def test_a_cell_is_the_point_with_the_most_features_allowed(self):
        table = gbfs.tables("curves", made_up_sections()["curves"])[0]
        assert rows_of(table, "spam", "GBFS")[0][2:] == ["3.33 (3)", "1.00 (10)", "1.00 (10)", "0.25 (40)", "0.25 (40)"]

    def test_methods_to_come_have_their_place(self):
        table = gbfs.tables("curves", made_up_sections()["curves"])[0]
        for name in ("mRMR", "HSIC lasso"):
            assert rows_of(table, "uspst", name) == [["uspst", name, *["-"] * 5]]
        assert "Not there yet: mRMR, HSIC lasso." in table.remarks

    def test_statements_are_counted_over_the_data_sets(self):
        table = gbfs.tables("curves", made_up_sections()["curves"])[2]
        first = rows_of(table, "GBFS errs less than L1-LR")[0]
        assert first[1:3] == ["GBFS - L1-LR", "6 of 6"]
        assert rows_of(table, "RF-FS errs less than L1-LR")[0][2] == "0 of 6"  # as made up

    def test_test_errors_choose_no_point(self):
        runs = Runs([Run("a", "d", 5, 0.3, 0.0), Run("a", "d", 4, 0.1, 0.0)])
        assert runs.at("a", "d", 10).error == 0.3
        assert runs.at("a", "d", 3) is None

    def test_bags_that_are_a_stand_in_stand_beside_no_figure_of_the_paper(self):
        (table,) = gbfs.tables("bags", made_up_sections()["bags"])
        beside = {row[0]: row[2] for row in table.rows}
        assert beside["GBFS, bags"] == beside["group lasso"] == "-"
        assert beside["L1-LR"] == "17.69"
        assert any("stand-in" in remark for remark in table.remarks)

    def test_what_was_not_reproduced_or_not_to_be_had_is_said(self):
        (table,) = gbfs.tables("bags", made_up_sections()["bags"])
        assert any("not reproduced" in remark for remark in table.remarks)
        errors, _ = gbfs.tables("genes", made_up_sections()["genes"])
        assert [row[0] for row in errors.rows if row[1] == "GBFS"] == ["leukemia", "lymphoma"]
        assert any("SMK-CAN-187" in remark and "not to be had" in remark for remark in errors.remarks)

    def test_missing_data_are_said_to_be_missing(self):
        section = {"missing": {"kddcup99": "no such file"}, "always": None, "records": []}
        (table,) = gbfs.tables("connections", section)
        assert "kddcup99 is missing: no such file" in table.remarks
        (table,) = gbfs.tables("bags", {"splits": 0, "missing": {"colon": "nor this"}, "records": []})
        assert "colon is missing: nor this" in table.remarks


class TestCommand:
    def test_everything_is_stored_and_read_back(self, tmp_path, monkeypatch):
        monkeypatch.setattr(figures, "draw_toy", lambda folder: (folder / "gbfs-figure1.png").write_bytes(b"0" * 20000))
        gbfs.store(made_up_sections(), tmp_path)
        assert json.loads((tmp_path / "gbfs.json").read_text(encoding="utf-8")) == made_up_sections()
        page = (tmp_path / "gbfs.md").read_text(encoding="utf-8")
        for files in figures.FIGURES.values():
            for file in files:
                assert (tmp_path / file).stat().st_size > 10_000
                assert file in page

    def test_an_experiment_not_run_keeps_its_results(self, tmp_path, monkeypatch):
        sections = made_up_sections()
        monkeypatch.setattr(gbfs, "draw", lambda *_: None)
        gbfs.store({"quality": sections["quality"]}, tmp_path)
        gbfs.store({"toy": sections["toy"]}, tmp_path)
        assert list(json.loads((tmp_path / "gbfs.json").read_text(encoding="utf-8"))) == ["toy", "quality"]

    def test_a_quick_run_does_not_replace_the_stored_results(self, monkeypatch, capsys):
        sections = made_up_sections()
        monkeypatch.setattr(gbfs, "MEASURE", {"toy": lambda _: sections["toy"]})
        monkeypatch.setattr(gbfs, "store", lambda *_: pytest.fail("stored"))
        gbfs.main(["--quick", "--only", "toy"])
        assert "A quick run is not stored" in capsys.readouterr().out

    def test_wrong_options_are_refused(self, capsys):
        with pytest.raises(SystemExit):
            gbfs.parse(["--only", "speed"])
        assert "'speed' is none of" in capsys.readouterr().err

    def test_without_data_every_experiment_on_real_data_says_so(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SKGRAFT_DATA", str(tmp_path))
        options = gbfs.parse(["--quick", "--n-jobs", "1"])
        for name in ("bags", "curves", "connections", "quality", "genes"):
            section = gbfs.MEASURE[name](options)
            assert section["records"] == []
            assert all("SKGRAFT_DATA" in reason for reason in section["missing"].values())
            assert gbfs.tables(name, section) is not None


def test_the_papers_ten_prices():
    assert paper.MUS == (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 32.0, 128.0, 512.0)
