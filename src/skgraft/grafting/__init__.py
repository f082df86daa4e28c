"""Grafting: the loop, and the models it grows."""

from __future__ import annotations

from skgraft.grafting.effort import SolvedAtOnce
from skgraft.grafting.linear import (
    GraftClassifier,
    GraftClassifierCV,
    GraftPath,
    GraftRegressor,
    GraftRegressorCV,
    graft_path,
    l1_max,
)
from skgraft.grafting.linear.path import PathPoint
from skgraft.grafting.loop import Candidates, Settings, graft
from skgraft.grafting.network import MLPGraftClassifier, MLPGraftRegressor
from skgraft.grafting.stream import StreamGraftClassifier, StreamGraftRegressor

__all__ = [
    "Candidates",
    "GraftClassifier",
    "GraftClassifierCV",
    "GraftPath",
    "GraftRegressor",
    "GraftRegressorCV",
    "MLPGraftClassifier",
    "MLPGraftRegressor",
    "PathPoint",
    "Settings",
    "SolvedAtOnce",
    "StreamGraftClassifier",
    "StreamGraftRegressor",
    "graft",
    "graft_path",
    "l1_max",
]
