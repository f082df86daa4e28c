import os
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every run and no time limit for each, so that a failure is never the machine's mood.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of real data sets, which do not come with the project."""
    named = os.environ.get("SKGRAFT_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no real data sets: SKGRAFT_DATA names no folder and ../shared/data does not exist")
    return folder
