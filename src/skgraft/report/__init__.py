"""Pictures of what was found."""

from __future__ import annotations

from skgraft.report.network_display import NetworkDisplay

__all__ = ["NetworkDisplay"]
