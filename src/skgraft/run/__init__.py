"""How any fit runs: its history, its progress, its threads."""

from __future__ import annotations

from skgraft.run.history import History, Record
from skgraft.run.threads import threads

__all__ = ["History", "Record", "threads"]
