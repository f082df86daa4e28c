"""Print the lower bounds of pyproject.toml as constraints for pip: the oldest versions that are said to work."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def lower_bounds(extras: list[str]) -> list[str]:
    """Return ``name==version`` for every requirement with a lower bound, of the package and these extras."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    asked = [*project["dependencies"], *(one for extra in extras for one in project["optional-dependencies"][extra])]
    found = [re.match(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", requirement) for requirement in asked]
    return sorted({f"{bound[1]}=={bound[2]}" for bound in found if bound})


if __name__ == "__main__":
    sys.stdout.write("\n".join([*lower_bounds(sys.argv[1].split(",")), ""]))
