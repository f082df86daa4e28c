"""How what was measured is stored: JSON with one record a line, so that a change shows as such."""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

Section = dict[str, Any]


def stored(records: Sequence[Any]) -> list[dict[str, Any]]:
    """Return dataclass records as plain values, numbers to ten digits."""
    return [{name: _rounded(value) for name, value in asdict(record).items()} for record in records]


def _rounded(value: Any) -> Any:
    return float(f"{value:.10g}") if isinstance(value, float) else value


def as_json(sections: Mapping[str, Section]) -> str:
    """Return sections as JSON, their ``records`` one a line."""
    written = []
    for name, section in sections.items():
        head = "".join(
            f"{json.dumps(key)}: {json.dumps(value)}, " for key, value in section.items() if key != "records"
        )
        lines = ",\n".join(json.dumps(record) for record in section["records"])
        written.append(f'{json.dumps(name)}: {{{head}"records": [\n{lines}\n]}}')
    return "{\n" + ",\n".join(written) + "\n}\n"


def merged(path: Path, sections: Mapping[str, Section], order: Sequence[str]) -> dict[str, Section]:
    """Return what a file has with these sections in place of its own, in the order of the experiments."""
    known = (json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}) | dict(sections)
    return {name: known[name] for name in order if name in known}


def some_of(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Return the reader of a command-line option that names some of the experiments."""

    def read(text: str) -> tuple[str, ...]:
        names = tuple(name.strip() for name in text.split(","))
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(known)}")
        return names

    return read
