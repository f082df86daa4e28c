"""Data to try the methods on: generated problems whose relevant features are known, and columns in blocks."""

from skgraft.datasets.generators import SelectionProblem, make_gbfs_toy, make_irrelevant, make_threshold_max
from skgraft.datasets.sparse_problems import PolynomialProblem, make_sparse_polynomial, make_weston_linear
from skgraft.tables import ColumnBlocks, column_blocks

__all__ = [
    "ColumnBlocks",
    "PolynomialProblem",
    "SelectionProblem",
    "column_blocks",
    "make_gbfs_toy",
    "make_irrelevant",
    "make_sparse_polynomial",
    "make_threshold_max",
    "make_weston_linear",
]
