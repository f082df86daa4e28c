"""The paper on gradient boosted feature selection (Xu et al. 2014): its experiments again, ours beside the paper's.

Run by ``make papers`` or ``python -m papers.gbfs``. Results go to ``papers/results``: ``gbfs.json`` holds what was
measured, ``gbfs.md`` the tables, and PNG files the figures.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter

from papers._gbfs import bags, connections, figures, paper, report, toy
from papers._gbfs.curves import Run, run_curves, runs_of
from papers._gbfs.problems import MAKERS, Problem, lightened, load_problems
from papers._gbfs.quality import Quality, run_quality
from papers._storage import Section, as_json, merged, some_of, stored
from papers._tables import Table
from papers.data import read_colon

RESULTS = Path(__file__).parent / "results"
EXPERIMENTS = ("toy", "bags", "curves", "connections", "quality")


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m papers.gbfs", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--only", type=some_of(EXPERIMENTS), default=EXPERIMENTS, help=f"some of {','.join(EXPERIMENTS)}, with commas"
    )
    parser.add_argument("--quick", action="store_true", help="few rows and trees; stored only where --output says")
    parser.add_argument("--render", action="store_true", help="measure nothing: tables and figures from what is stored")
    parser.add_argument("--n-jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--output", type=Path, help=f"where results are stored (default {RESULTS.parent.name}/results)")
    options = parser.parse_args(arguments)
    options.only = () if options.render else options.only
    if options.output is None and not options.quick:
        options.output = RESULTS
    return options


def measure_toy(options: argparse.Namespace) -> Section:
    """Run section 5.1."""
    return {"records": stored(toy.run_toy(2 if options.quick else 20))}


def measure_bags(options: argparse.Namespace) -> Section:
    """Run section 5.2."""
    splits = 2 if options.quick else paper.COLON_SPLITS
    try:
        data = read_colon()
    except FileNotFoundError as reason:
        return {"splits": 0, "missing": {"colon": str(reason)}, "records": []}
    return {"splits": splits, "missing": {}, "records": stored(bags.run_bags(data, splits, options.n_jobs))}


def measure_curves(options: argparse.Namespace) -> Section:
    """Run figures 3 and 7."""
    found = run_curves(list(MAKERS), options.n_jobs, quick=options.quick)
    return {"missing": dict(found.missing), "budgets": dict(found.budgets), "records": stored(found.runs)}


def measure_connections(options: argparse.Namespace) -> Section:
    """Run figure 4."""
    problem, missing = _one("kddcup99", options)
    if problem is None:
        return {"missing": missing, "always": None, "records": []}
    runs = runs_of(connections.run_connections(problem, options.n_jobs))
    return {"missing": {}, "always": connections.share_of_normal(problem), "records": stored(runs)}


def measure_quality(options: argparse.Namespace) -> Section:
    """Run figure 5."""
    problem, missing = _one("uspst", options)
    if problem is None:
        return {"missing": missing, "records": []}
    return {"missing": {}, "records": stored(run_quality(problem, options.n_jobs))}


def _one(name: str, options: argparse.Namespace) -> tuple[Problem | None, dict[str, str]]:
    problems = load_problems([name])
    if not problems.present:
        return None, problems.missing
    (problem,) = problems.present
    return (lightened(problem) if options.quick else problem), {}


MEASURE: Mapping[str, Callable[[argparse.Namespace], Section]] = {
    "toy": measure_toy,
    "bags": measure_bags,
    "curves": measure_curves,
    "connections": measure_connections,
    "quality": measure_quality,
}


def tables(name: str, section: Section) -> list[Table]:
    """Return the tables of an experiment from what was stored of it."""
    records = section["records"]
    if name == "toy":
        return report.toy_tables([toy.Outcome(**record) for record in records])
    if name == "bags":
        outcomes = [bags.Outcome(**record) for record in records]
        return report.bag_tables(outcomes, section["splits"], section["missing"])
    if name == "curves":
        return report.curve_tables([Run(**record) for record in records], section["missing"], section["budgets"])
    if name == "connections":
        return report.connection_tables([Run(**record) for record in records], section["missing"], section["always"])
    return report.quality_tables([Quality(**record) for record in records], section["missing"])


def draw(name: str, section: Section, folder: Path) -> None:
    """Draw the figures of an experiment; there are none of data that are missing."""
    records = section["records"]
    if not records:
        return
    if name == "toy":
        figures.draw_toy(folder)
    elif name == "bags":
        figures.draw_bags([bags.Outcome(**record) for record in records], folder)
    elif name == "quality":
        figures.draw_quality([Quality(**record) for record in records], folder)
    else:
        picture = figures.draw_curves if name == "curves" else figures.draw_connections
        picture([Run(**record) for record in records], folder)


def page(sections: Mapping[str, Section]) -> str:
    """Return all tables and figures as one page."""
    title = "# Gradient boosted feature selection, ours beside the paper's\n"
    parts = [title, f"{paper.CITATION}.\n", "Made by `make papers`.\n"]
    for name, section in sections.items():
        parts += [table.markdown() for table in tables(name, section)]
        parts += [f"![{name}]({file})\n" for file in figures.FIGURES[name] if section["records"]]
    parts.append("Figure 6 of the paper is left out: its data set, SMK-CAN-187, is not to be had.\n")
    return "\n".join(parts)


def store(sections: Mapping[str, Section], folder: Path) -> None:
    """Write what was measured, its tables and its figures; experiments not run this time keep their results."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "gbfs.json"
    known = merged(path, sections, EXPERIMENTS)
    path.write_text(as_json(known), encoding="utf-8")
    (folder / "gbfs.md").write_text(page(known), encoding="utf-8")
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
        print(f"Stored in {options.output}: gbfs.md, gbfs.json and the figures.")


if __name__ == "__main__":
    main()
