"""Data to try the methods on: generated problems whose relevant features are known."""

from skgraft.datasets.generators import SelectionProblem, make_irrelevant, make_threshold_max

__all__ = ["SelectionProblem", "make_irrelevant", "make_threshold_max"]
