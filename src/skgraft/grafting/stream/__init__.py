"""Features that arrive over time: grafting over a stream of columns."""

from __future__ import annotations

from skgraft.grafting.stream.estimators import StreamGraftClassifier, StreamGraftRegressor

__all__ = ["StreamGraftClassifier", "StreamGraftRegressor"]
