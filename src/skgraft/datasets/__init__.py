"""Data to try the methods on: generated problems whose relevant features are known, and readers of real data."""

from skgraft.datasets.generators import SelectionProblem, make_irrelevant, make_threshold_max
from skgraft.datasets.readers import RealData, read_arrhythmia, read_mfeat

__all__ = ["RealData", "SelectionProblem", "make_irrelevant", "make_threshold_max", "read_arrhythmia", "read_mfeat"]
