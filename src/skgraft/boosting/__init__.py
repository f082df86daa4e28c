"""Gradient boosted feature selection: trees that pay for the features they use."""

from __future__ import annotations

from skgraft.boosting.classifier import GBFSClassifier
from skgraft.boosting.costs import bags, neighbourhood, stages
from skgraft.boosting.path import GBFSPath, gbfs_path, mu_max
from skgraft.boosting.regressor import GBFSRegressor
from skgraft.boosting.tree import Tree

__all__ = [
    "GBFSClassifier",
    "GBFSPath",
    "GBFSRegressor",
    "Tree",
    "bags",
    "gbfs_path",
    "mu_max",
    "neighbourhood",
    "stages",
]
