"""Grafting: the loop, and the models it grows."""

from __future__ import annotations

from skgraft.grafting.linear import (
    GraftClassifier,
    GraftClassifierCV,
    GraftPath,
    GraftRegressor,
    GraftRegressorCV,
    graft_path,
    l1_max,
)
from skgraft.grafting.network import MLPGraftClassifier, MLPGraftRegressor
from skgraft.grafting.stream import StreamGraftClassifier, StreamGraftRegressor

__all__ = [
    "GraftClassifier",
    "GraftClassifierCV",
    "GraftPath",
    "GraftRegressor",
    "GraftRegressorCV",
    "MLPGraftClassifier",
    "MLPGraftRegressor",
    "StreamGraftClassifier",
    "StreamGraftRegressor",
    "graft_path",
    "l1_max",
]
