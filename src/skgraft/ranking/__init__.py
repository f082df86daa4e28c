"""Rankings of features: scores, elimination, bounds."""

from __future__ import annotations

from skgraft.ranking.fisher import fisher_score
from skgraft.ranking.r2w2 import R2W2Selector
from skgraft.ranking.rfe import RFESelector

__all__ = ["R2W2Selector", "RFESelector", "fisher_score"]
