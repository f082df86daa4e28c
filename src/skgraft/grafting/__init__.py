"""Grafting: the loop, and the models it grows."""

from __future__ import annotations

from skgraft.grafting.estimators import GraftClassifier, GraftRegressor
from skgraft.grafting.history import History, Record
from skgraft.grafting.l1max import l1_max

__all__ = ["GraftClassifier", "GraftRegressor", "History", "Record", "l1_max"]
