"""Tests of the compiled loops need them on small data too."""

import pytest

from skgraft.boosting import prepare


@pytest.fixture
def compiled(monkeypatch):
    """Let every fit run compiled loops."""
    monkeypatch.setattr(prepare, "COMPILED_CELLS", 0)
