"""How any fit runs: its history, progress, callback, interruption, threads, and the warning at the end.

What is here takes records and states, not models, so that all methods share it.
"""

from __future__ import annotations

from skgraft.run.compilation import announced_compilation
from skgraft.run.controls import Controls
from skgraft.run.fit import Fit
from skgraft.run.history import History, Record
from skgraft.run.monitor import Ending, Monitor, Stop, warn_user
from skgraft.run.threads import threads

__all__ = [
    "Controls",
    "Ending",
    "Fit",
    "History",
    "Monitor",
    "Record",
    "Stop",
    "announced_compilation",
    "threads",
    "warn_user",
]
