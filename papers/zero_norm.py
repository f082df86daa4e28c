"""The paper on the zero-norm (Weston et al. 2003) and the lecture's table: ours beside theirs.

Run by ``make papers`` or ``python -m papers.zero_norm``. Results go to ``papers/results``: ``zero_norm.json`` holds
what was measured, ``zero_norm.md`` the tables, and PNG files the figures.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from papers._storage import Section, as_json, merged, some_of, stored
from papers._tables import Table
from papers._zero_norm import few_report, linear_report, microarray_report, paper, polynomials_report
from papers._zero_norm.leukemia import Outcome, run_leukemia
from papers._zero_norm.linear import Trials, run_linear
from papers._zero_norm.microarray import Errors, Seconds, measure_seconds, run_microarrays
from papers._zero_norm.polynomials import Learned, run_polynomials
from papers._zero_norm.yeast import Folds, run_yeast

RESULTS = Path(__file__).parent / "results"
EXPERIMENTS = ("linear", "genes", "time", "yeast", "polynomials", "leukemia")
TITLES = {
    "linear": "Table 1",
    "polynomials": "Figure 1",
    "genes": "Tables 2 and 3",
    "time": "Training times",
    "yeast": "In place of table 4",
    "leukemia": "The lecture",
}


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m papers.zero_norm", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--only", type=some_of(EXPERIMENTS), default=EXPERIMENTS, help=f"some of {','.join(EXPERIMENTS)}, with commas"
    )
    parser.add_argument("--quick", action="store_true", help="few repetitions; stored only where --output says")
    parser.add_argument("--render", action="store_true", help="measure nothing: tables and figures from what is stored")
    parser.add_argument("--n-jobs", type=int, default=2, help="processes (default 2); times are taken with one")
    parser.add_argument("--output", type=Path, help=f"where results are stored (default {RESULTS.parent.name}/results)")
    options = parser.parse_args(arguments)
    quick = options.quick
    options.trials, options.splits = (4, 2) if quick else (100, 30)
    options.polynomials, options.yeast, options.leukemia = (2, 1, 1) if quick else (paper.TRIALS, 3, 10)
    options.only = () if options.render else options.only
    if options.output is None and not quick:
        options.output = RESULTS
    return options


def measure_linear(options: argparse.Namespace) -> Section:
    """Run table 1."""
    return {"trials": options.trials, "records": stored(run_linear(options.trials, options.n_jobs))}


def measure_genes(options: argparse.Namespace) -> Section:
    """Run tables 2 and 3."""
    return {"splits": options.splits, "records": stored(run_microarrays(options.splits, options.n_jobs))}


def measure_time(options: argparse.Namespace) -> Section:
    """Run the training times."""
    del options
    return {"records": stored(measure_seconds())}


def measure_yeast(options: argparse.Namespace) -> Section:
    """Run the stand-in for table 4."""
    return {"repetitions": options.yeast, "records": stored(run_yeast(options.yeast))}


def measure_polynomials(options: argparse.Namespace) -> Section:
    """Run figure 1."""
    return {"trials": options.polynomials, "records": stored(run_polynomials(options.polynomials, options.n_jobs))}


def measure_leukemia(options: argparse.Namespace) -> Section:
    """Run the lecture's table."""
    return {"records": stored(run_leukemia(options.leukemia, options.n_jobs))}


MEASURE: Mapping[str, Callable[[argparse.Namespace], Section]] = {
    "linear": measure_linear,
    "genes": measure_genes,
    "time": measure_time,
    "yeast": measure_yeast,
    "polynomials": measure_polynomials,
    "leukemia": measure_leukemia,
}


def measured(name: str, options: argparse.Namespace) -> Section:
    """Run an experiment; one whose data are not at hand says so in its place."""
    try:
        return MEASURE[name](options)
    except FileNotFoundError as error:
        return {"missing": str(error), "records": []}


def tables(name: str, section: Section) -> list[Table]:
    """Return the tables of an experiment from what was stored of it."""
    if "missing" in section:
        return [Table(TITLES[name], ["left out, as its data are not at hand"], [[section["missing"]]])]
    record, show = SHOW[name]
    return show([record(**r) for r in section["records"]], *_counted(section))


def _counted(section: Section) -> list[int]:
    """Return the number of trials, splits or repetitions that a section was measured with, if it has one."""
    return [section[key] for key in ("trials", "splits", "repetitions") if key in section]


SHOW: Mapping[str, tuple[Callable[..., Any], Callable[..., list[Table]]]] = {
    "linear": (Trials, linear_report.tables),
    "genes": (Errors, microarray_report.tables),
    "time": (Seconds, microarray_report.time_tables),
    "yeast": (Folds, few_report.yeast_tables),
    "polynomials": (Learned, polynomials_report.tables),
    "leukemia": (Outcome, few_report.leukemia_tables),
}
DRAW: Mapping[str, Callable[..., None]] = {
    "linear": linear_report.draw,
    "genes": microarray_report.draw,
    "polynomials": polynomials_report.draw,
}


FIGURES = {
    "linear": linear_report.FIGURE,
    "genes": microarray_report.FIGURE,
    "polynomials": polynomials_report.FIGURE,
}


def draw(name: str, section: Section, folder: Path) -> None:
    """Draw the figure of an experiment, if it has one."""
    if name in DRAW and "missing" not in section:
        DRAW[name]([SHOW[name][0](**r) for r in section["records"]], *_counted(section), folder)


def page(sections: Mapping[str, Section]) -> str:
    """Return all tables and figures as one page."""
    parts = ["# The paper on the zero-norm, ours beside the paper's\n", f"{paper.CITATION}.\n", f"{paper.LECTURE}.\n"]
    parts.append("Made by `make papers`.\n")
    for name, section in sections.items():
        parts += [table.markdown() for table in tables(name, section)]
        if name in FIGURES and "missing" not in section:
            parts.append(f"![{name}]({FIGURES[name]})\n")
    absent = [TITLES[name] for name in EXPERIMENTS if name not in sections]
    if absent:
        parts.append(f"Not run yet: {', '.join(absent)}.\n")
    return "\n".join(parts)


def store(sections: Mapping[str, Section], folder: Path) -> None:
    """Write what was measured, its tables and its figures; experiments not run this time keep their results."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "zero_norm.json"
    known = merged(path, sections, EXPERIMENTS)
    path.write_text(as_json(known), encoding="utf-8")
    (folder / "zero_norm.md").write_text(page(known), encoding="utf-8")
    for name, section in known.items():
        draw(name, section, folder)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiments asked for, print their tables and store everything."""
    options = parse(arguments)
    sections: dict[str, Section] = {}
    for name in options.only:
        begin = perf_counter()
        sections[name] = measured(name, options)
        for table in tables(name, sections[name]):
            print(table.markdown(), flush=True)
        print(f"({name}: {perf_counter() - begin:.0f} seconds)\n", flush=True)
        if options.output is not None:  # at once, so that a later failure takes nothing along
            store(sections, options.output)
    if options.output is None:
        print("A quick run is not stored; --output FOLDER stores it.")
    else:
        store(sections, options.output)
        print(f"Stored in {options.output}: zero_norm.md, zero_norm.json and the figures.")


if __name__ == "__main__":
    main()
