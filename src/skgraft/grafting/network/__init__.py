"""Networks that grow: hidden units, connections and features come in one by one."""

from __future__ import annotations

from skgraft.grafting.network.estimators import MLPGraftClassifier, MLPGraftRegressor

__all__ = ["MLPGraftClassifier", "MLPGraftRegressor"]
