"""The grafting paper (Perkins, Lacker and Theiler 2003): its experiments again, ours beside the paper's.

Run by ``make papers`` or ``python -m papers.grafting``. Results go to ``papers/results``: ``grafting.json`` holds what
was measured, ``grafting.md`` the tables, and PNG files the figures.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from papers._grafting import comparison_figures, comparison_report, irrelevant_report, paper
from papers._grafting.algorithms import ALGORITHMS
from papers._grafting.comparison import Choices, Run, choices_of, compare, measure_times
from papers._grafting.irrelevant import Outcome, run_irrelevant
from papers._grafting.problems import Problem, Problems, load_problems
from papers._storage import Section, as_json, merged, some_of, stored
from papers._tables import Table

RESULTS = Path(__file__).parent / "results"
EXPERIMENTS = ("irrelevant", "error", "time")


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m papers.grafting", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--only", type=some_of(EXPERIMENTS), default=EXPERIMENTS, help=f"some of {','.join(EXPERIMENTS)}, with commas"
    )
    parser.add_argument("--repetitions", type=_count, help="of the irrelevant-features experiment (default 200)")
    parser.add_argument("--instances", type=_count, help="or splits of data sets A to E (default 10; for times 3)")
    parser.add_argument(
        "--algorithms", type=some_of(tuple(ALGORITHMS)), help="some letters, with commas: the others' results stay"
    )
    parser.add_argument(
        "--data-sets", type=some_of(paper.DATA_SETS), help="some letters, with commas: the others' results stay"
    )
    parser.add_argument(
        "--keep-choices", action="store_true", help="do not choose parameters again where a choice is stored"
    )
    parser.add_argument("--quick", action="store_true", help="few repetitions; stored only where --output says")
    parser.add_argument("--render", action="store_true", help="measure nothing: tables and figures from what is stored")
    parser.add_argument("--n-jobs", type=int, default=2, help="processes (default 2); times are taken with one")
    parser.add_argument("--output", type=Path, help=f"where results are stored (default {RESULTS.parent.name}/results)")
    options = parser.parse_args(arguments)
    options.repetitions = options.repetitions or (10 if options.quick else 200)
    options.tuning = 5 if options.quick else 40
    options.timed = options.instances or (1 if options.quick else 3)
    options.instances = options.instances or (1 if options.quick else 10)
    options.only = () if options.render else options.only
    if options.output is None and not options.quick:
        options.output = RESULTS
    return options


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def measure_irrelevant(options: argparse.Namespace) -> Section:
    """Run section 2.2.2."""
    outcomes = run_irrelevant(options.repetitions, options.tuning, options.n_jobs)
    return {"repetitions": options.repetitions, "tuning": options.tuning, "records": stored(outcomes)}


def measure_error(options: argparse.Namespace) -> Section:
    """Run the comparison of figure 3."""
    problems = load_problems()
    known = _choices(options) if options.keep_choices else {}
    runs = compare(_asked_for(problems, options), options.instances, options.n_jobs, options.algorithms, known)
    records = stored(runs) + _others("error", options)
    return {"instances": options.instances, "missing": problems.missing, "records": records}


def measure_time(options: argparse.Namespace) -> Section:
    """Run the timings of table 3."""
    problems = load_problems()
    runs = measure_times(_asked_for(problems, options), options.timed, options.algorithms, _choices(options))
    records = stored(runs) + _others("time", options)
    return {"instances": options.timed, "missing": problems.missing, "records": records}


def _choices(options: argparse.Namespace) -> Choices:
    """Return the parameters that were chosen for the same instances in the comparison of errors."""
    return choices_of(Run(**record) for record in _known("error", options))


def _asked_for(problems: Problems, options: argparse.Namespace) -> list[Problem]:
    """Return the data sets that are there and wanted."""
    return [problem for problem in problems.present if problem.name in (options.data_sets or paper.DATA_SETS)]


def _others(name: str, options: argparse.Namespace) -> list[Any]:
    """Return what is stored of algorithms and data sets that are not run this time."""
    algorithms, data_sets = options.algorithms or tuple(ALGORITHMS), options.data_sets or paper.DATA_SETS
    known = _known(name, options)
    return [r for r in known if r["algorithm"] not in algorithms or r["data_set"] not in data_sets]


def _known(name: str, options: argparse.Namespace) -> list[Any]:
    """Return the records of an experiment that are stored where this run's will be."""
    path = None if options.output is None else options.output / "grafting.json"
    if path is None or not path.exists():
        return []
    return list(json.loads(path.read_text(encoding="utf-8")).get(name, {"records": []})["records"])


MEASURE: Mapping[str, Callable[[argparse.Namespace], Section]] = {
    "irrelevant": measure_irrelevant,
    "error": measure_error,
    "time": measure_time,
}


def tables(name: str, section: Section) -> list[Table]:
    """Return the tables of an experiment from what was stored of it."""
    if name == "irrelevant":
        return irrelevant_report.tables([Outcome(**r) for r in section["records"]], section["repetitions"])
    runs = [Run(**record) for record in section["records"]]
    show = comparison_report.error_tables if name == "error" else comparison_report.time_tables
    return show(runs, section["instances"], section["missing"])


FIGURES = {
    "irrelevant": irrelevant_report.FIGURE,
    "error": comparison_figures.FIGURE_3,
    "time": comparison_figures.TIMES,
}


def draw(name: str, section: Section, folder: Path) -> None:
    """Draw the figure of an experiment."""
    if name == "irrelevant":
        outcomes = [Outcome(**record) for record in section["records"]]
        irrelevant_report.draw(outcomes, section["repetitions"], folder)
        return
    runs = [Run(**record) for record in section["records"]]
    picture = comparison_figures.draw_figure_3 if name == "error" else comparison_figures.draw_times
    picture(runs, section["instances"], folder)


def page(sections: Mapping[str, Section]) -> str:
    """Return all tables and figures as one page."""
    parts = ["# The grafting paper, ours beside the paper's\n", f"{paper.CITATION}.\n", "Made by `make papers`.\n"]
    for name, section in sections.items():
        parts += [table.markdown() for table in tables(name, section)]
        parts.append(f"![{name}]({FIGURES[name]})\n")
    return "\n".join(parts)


def store(sections: Mapping[str, Section], folder: Path) -> None:
    """Write what was measured, its tables and its figures; experiments not run this time keep their results."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "grafting.json"
    known = merged(path, sections, EXPERIMENTS)
    path.write_text(as_json(known), encoding="utf-8")
    (folder / "grafting.md").write_text(page(known), encoding="utf-8")
    for name, section in known.items():
        draw(name, section, folder)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiments asked for, print their tables and store everything."""
    options = parse(arguments)
    sections = {}
    for name in options.only:
        begin = perf_counter()
        sections[name] = MEASURE[name](options)
        for table in tables(name, sections[name]):
            print(table.markdown(), flush=True)
        print(f"({name}: {perf_counter() - begin:.0f} seconds)\n", flush=True)
        if options.output is not None:  # at once, so that a later failure takes nothing along
            store(sections, options.output)
    if options.output is None:
        print("A quick run is not stored; --output FOLDER stores it.")
    else:
        store(sections, options.output)
        print(f"Stored in {options.output}: grafting.md, grafting.json and the figures.")


if __name__ == "__main__":
    main()
