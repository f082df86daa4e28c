"""Rooms, doors and what the documentation says of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import skgraft

SOURCE = Path(skgraft.__file__).parent
REPOSITORY = Path(__file__).parents[1]
ROOMS = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


def imports_between_rooms() -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the file, the parts of the module and the names of each import from another room."""
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skgraft."):
                parts = (node.module or "").split(".")[1:]
                if parts[0] != room:
                    yield str(path.relative_to(SOURCE)), parts, [each.name for each in node.names]


def test_imports_from_another_room_go_through_its_door():
    around = [(file, parts) for file, parts, _ in imports_between_rooms() if len(parts) > 1]
    assert around == []


def test_no_private_name_is_imported_from_another_room():
    private = [
        (file, parts, names)
        for file, parts, names in imports_between_rooms()
        if any(name.startswith("_") for name in [*parts, *names])
    ]
    assert private == []


@pytest.mark.parametrize(("file", "prefix"), [("CONTRIBUTING.md", ""), ("README.md", "src/skgraft/")])
def test_the_table_of_rooms_lists_the_rooms_that_are_there(file, prefix):
    text = (REPOSITORY / file).read_text(encoding="utf-8")
    listed = re.findall(rf"^\| `{prefix}(\w+)` \|", text, flags=re.MULTILINE)
    assert sorted(set(listed) - {"tests", "benchmarks", "papers", "docs", "examples"}) == ROOMS
