"""Values as bins: where bins begin and end, and X as a byte a cell."""

from __future__ import annotations

from skgraft.boosting.bins.layout import Categories, Layout, find_layout
from skgraft.boosting.bins.storage import Bins, DenseBins, MixedBins, SparseBins, store

__all__ = ["Bins", "Categories", "DenseBins", "Layout", "MixedBins", "SparseBins", "find_layout", "store"]
