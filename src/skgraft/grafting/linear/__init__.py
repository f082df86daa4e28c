"""Linear models that grow feature by feature: estimators, paths, cross-validation."""

from __future__ import annotations

from skgraft.grafting.linear.cross_validation import GraftClassifierCV, GraftRegressorCV
from skgraft.grafting.linear.estimators import GraftClassifier, GraftRegressor
from skgraft.grafting.linear.l1max import l1_max
from skgraft.grafting.linear.path import GraftPath, graft_path

__all__ = [
    "GraftClassifier",
    "GraftClassifierCV",
    "GraftPath",
    "GraftRegressor",
    "GraftRegressorCV",
    "graft_path",
    "l1_max",
]
