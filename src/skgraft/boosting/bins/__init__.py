"""Values as bins: where bins begin and end, and X as a byte a cell."""

from __future__ import annotations

from skgraft.boosting.bins.equal import find_equal, take_rows
from skgraft.boosting.bins.layout import Categories, Layout
from skgraft.boosting.bins.storage import Bins, DenseBins, MixedBins, SparseBins, bin_values, store, with_rare_apart

__all__ = [
    "Bins",
    "Categories",
    "DenseBins",
    "Layout",
    "MixedBins",
    "SparseBins",
    "bin_values",
    "find_equal",
    "store",
    "take_rows",
    "with_rare_apart",
]
