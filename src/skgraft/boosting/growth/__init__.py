"""Growing trees: the search for splits, what may be left out of it, and the growth level by level."""

from __future__ import annotations

from skgraft.boosting.growth.grow import Grower, Grown, Split
from skgraft.boosting.growth.rows import Gradients, Weights, quantise_weights
from skgraft.boosting.growth.search import Limits

__all__ = ["Gradients", "Grower", "Grown", "Limits", "Split", "Weights", "quantise_weights"]
