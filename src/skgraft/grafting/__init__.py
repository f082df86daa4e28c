"""Grafting: the loop, and the models it grows."""

from __future__ import annotations

from skgraft.grafting.cross_validation import GraftClassifierCV, GraftRegressorCV
from skgraft.grafting.estimators import GraftClassifier, GraftRegressor
from skgraft.grafting.history import History, Record
from skgraft.grafting.l1max import l1_max
from skgraft.grafting.network import MLPGraftClassifier, MLPGraftRegressor
from skgraft.grafting.path import GraftPath, graft_path
from skgraft.grafting.stream import StreamGraftClassifier, StreamGraftRegressor

__all__ = [
    "GraftClassifier",
    "GraftClassifierCV",
    "GraftPath",
    "GraftRegressor",
    "GraftRegressorCV",
    "History",
    "MLPGraftClassifier",
    "MLPGraftRegressor",
    "Record",
    "StreamGraftClassifier",
    "StreamGraftRegressor",
    "graft_path",
    "l1_max",
]
