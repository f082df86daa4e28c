"""Data to try the methods on: generated problems whose relevant features are known, and readers of real data."""

from skgraft.datasets.gene_readers import read_brown_yeast, read_leukemia, read_lymphoma
from skgraft.datasets.generators import SelectionProblem, make_gbfs_toy, make_irrelevant, make_threshold_max
from skgraft.datasets.readers import (
    read_arrhythmia,
    read_colon,
    read_isolet,
    read_mfeat,
    read_mnist,
    read_pcmac,
    read_usps,
)
from skgraft.datasets.real_data import RealData
from skgraft.datasets.sparse_problems import PolynomialProblem, make_sparse_polynomial, make_weston_linear
from skgraft.datasets.table_readers import read_a9a, read_adult, read_kddcup99, read_prostate, read_spambase
from skgraft.tables.stored import ColumnBlocks, column_blocks

__all__ = [
    "ColumnBlocks",
    "PolynomialProblem",
    "RealData",
    "SelectionProblem",
    "column_blocks",
    "make_gbfs_toy",
    "make_irrelevant",
    "make_sparse_polynomial",
    "make_threshold_max",
    "make_weston_linear",
    "read_a9a",
    "read_adult",
    "read_arrhythmia",
    "read_brown_yeast",
    "read_colon",
    "read_isolet",
    "read_kddcup99",
    "read_leukemia",
    "read_lymphoma",
    "read_mfeat",
    "read_mnist",
    "read_pcmac",
    "read_prostate",
    "read_spambase",
    "read_usps",
]
