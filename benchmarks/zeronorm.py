"""Zero-norm machines beside scikit-learn's and HiGHS: rounds, elimination, linear programs.

    python -m benchmarks.zeronorm [--only rounds,elimination,large,programs] [--quick] [--repeat 5]

A whole run of l2-AROM is counted in fits of one support vector machine of scikit-learn on the same data; elimination
is timed beside scikit-learn's, linear programs by column generation beside HiGHS on the full program.  One
thread, processor time, medians of alternating runs, compilation not counted.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import _zeronorm_programs, _zeronorm_rounds
from benchmarks._processor import agree_on_processor
from benchmarks.linear import RESULTS, machine, note

SECTIONS = ("rounds", "elimination", "large", "programs")

ABOUT_ELIMINATION = (
    "RFESelector with the hinge beside RFE(SVC), with its square beside RFE(LinearSVC), both at a tolerance of 1e-6. "
    "LinearSVC penalises the intercept, which is another machine: its ranks may differ for that alone; where features "
    "outnumber rows it is left out, being slower than SVC."
)


def run(section: str, *, quick: bool, repeat: int) -> Any:
    """Return the measurements of one section."""
    if section == "rounds":
        return _zeronorm_rounds.measure_rounds(note, quick=quick, repeat=repeat)
    if section == "elimination":
        return _zeronorm_rounds.measure_elimination(note, quick=quick, repeat=min(repeat, 3))
    if section == "large":
        return _zeronorm_rounds.measure_large(note, quick=quick)
    return _zeronorm_programs.measure(note, quick=quick, repeat=min(repeat, 3))


def report(stored: dict[str, Any]) -> str:
    """Return everything that was measured, as Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in stored["versions"].items())
    sections = stored["sections"]
    places: dict[str, list[str]] = {}
    for section in sections:
        places.setdefault(stored["machines"][section], []).append(section)
    where = "; ".join(f"{', '.join(names)} on {place}" for place, names in places.items())
    about = (
        f"Made by `python -m benchmarks.zeronorm` ({where}): {versions}. One thread, CPU milliseconds, "
        "medians of alternating runs, compilation not counted; data standardised beforehand for all."
    )
    parts = ["# Zero-norm machines beside scikit-learn and HiGHS", about]
    if sections.get("rounds"):
        parts += ["## Runs of l2-AROM, in fits of one machine", _zeronorm_rounds.render_rounds(sections["rounds"])]
    if sections.get("elimination"):
        table = _zeronorm_rounds.render_elimination(sections["elimination"])
        parts += ["## Recursive feature elimination", ABOUT_ELIMINATION, table]
    if sections.get("large"):
        parts += ["## Many rows and more features", _zeronorm_rounds.render_large(sections["large"])]
    if sections.get("programs"):
        parts.append(_zeronorm_programs.render(sections["programs"]))
    return "\n\n".join(parts) + "\n"


def versions() -> dict[str, str]:
    """Return the versions of everything timed."""
    from importlib.metadata import version

    found = {name: version(name) for name in ("skgraft", "scikit-learn", "highspy", "numpy", "scipy")}
    return {**found, "Python": platform.python_version()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the sections asked for, print their tables, and store them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zeronorm", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(SECTIONS), help=f"sections, of {', '.join(SECTIONS)}")
    parser.add_argument("--quick", action="store_true", help="small problems, nothing stored")
    parser.add_argument("--repeat", type=int, default=5, help="timed runs of each")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the stored tables")
    given = parser.parse_args(arguments)
    sections = given.only.split(",")
    if unknown := set(sections) - set(SECTIONS):
        parser.error(f"no section is called {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    file = given.output / "zeronorm.json"
    stored: dict[str, Any] = {"sections": {}, "machines": {}}
    if file.exists() and not given.quick:
        stored = json.loads(file.read_text(encoding="utf-8"))
    stored["versions"] = versions()
    for section in sections:
        note(f"== {section}")
        stored["sections"][section] = run(section, quick=given.quick, repeat=given.repeat)
        stored["machines"][section] = machine()
        if not given.quick:
            file.parent.mkdir(exist_ok=True, parents=True)
            file.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
            file.with_suffix(".md").write_text(report(stored), encoding="utf-8")
    print(report(stored))


if __name__ == "__main__":
    agree_on_processor()
    main()
