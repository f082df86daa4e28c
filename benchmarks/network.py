"""Networks that grow beside their peers: error, saliency, number of features and time; and features that arrive.

    python -m benchmarks.network [--only classes,digits] [--instances 10] [--quick] [--lassonet PYTHON]

LassoNet needs torch, and so an environment of its own:

    python -m venv lasso && lasso/bin/pip install torch==2.13.0 lassonet && ... --lassonet lasso/bin/python
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks import _network_growth, _network_race, _streaming
from benchmarks._processor import agree_on_processor
from benchmarks.linear import RESULTS, machine, note

Section = tuple[Callable[[argparse.Namespace], Any], Callable[[Any], str]]

SECTIONS: dict[str, Section] = {
    "classes": (
        lambda options: _network_race.classes(
            options.instances, options.lassonet, options.few, note, quick=options.quick
        ),
        _network_race.render_classes,
    ),
    "numbers": (lambda options: _network_race.numbers(options.instances, note), _network_race.render_numbers),
    "digits": (lambda options: _network_race.digits(options.instances, note), _network_race.render_digits),
    "growth": (
        lambda options: _network_growth.growth(options.lassonet, note, quick=options.quick),
        _network_growth.render,
    ),
    "streaming": (lambda options: _streaming.measure(note, quick=options.quick), _streaming.render),
}


def report(stored: dict[str, Any]) -> str:
    """Return everything that was measured, as Markdown."""
    head = "# Networks that grow, and features that arrive over time"
    made = f"Made by `python -m benchmarks.network` on {stored['machine']}. CPU seconds on one thread."
    shown = [SECTIONS[name][1](stored["sections"][name]) for name in SECTIONS if name in stored["sections"]]
    return "\n\n".join([head, made, *shown]) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the sections asked for, print their tables and store everything."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.network", description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", default=",".join(SECTIONS), help=f"sections, of {', '.join(SECTIONS)}")
    parser.add_argument("--instances", type=int, default=10, help="fresh instances or splits of each problem")
    parser.add_argument("--quick", action="store_true", help="small problems, nothing stored")
    parser.add_argument("--lassonet", help="a Python that has lassonet and torch; without it LassoNet is left out")
    parser.add_argument("--few", type=int, default=2, help="instances for LassoNet and the wrapper, which are slow")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the stored tables")
    options = parser.parse_args(arguments)
    file = options.output / "network.json"
    stored: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"sections": {}}
    stored["machine"] = machine()
    with threadpool_limits(1):
        for name in options.only.split(","):
            note(name)
            stored["sections"][name] = SECTIONS[name][0](options)
            print(SECTIONS[name][1](stored["sections"][name]), flush=True)
            if not options.quick:
                options.output.mkdir(parents=True, exist_ok=True)
                file.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
                file.with_suffix(".md").write_text(report(stored), encoding="utf-8")


if __name__ == "__main__":
    agree_on_processor()
    main()
