"""What every fit is told beside its problem."""

from __future__ import annotations

from dataclasses import dataclass

from skgraft.run.monitor import Callback, Monitor


@dataclass(frozen=True, kw_only=True)
class Controls:
    """When to stop, and whom to tell; methods add what else they can be told."""

    tol: float = 1e-6
    max_iter: int = 1000
    verbose: int = 0
    callback: Callback | None = None

    def monitor(self, name: str) -> Monitor:
        """Return what watches a fit."""
        return Monitor(callback=self.callback, verbose=self.verbose, name=name)
