"""Data to try the methods on: generated problems whose relevant features are known, and readers of real data."""

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
from skgraft.datasets.table_readers import read_a9a, read_adult, read_kddcup99, read_spambase

__all__ = [
    "RealData",
    "SelectionProblem",
    "make_gbfs_toy",
    "make_irrelevant",
    "make_threshold_max",
    "read_a9a",
    "read_adult",
    "read_arrhythmia",
    "read_colon",
    "read_isolet",
    "read_kddcup99",
    "read_mfeat",
    "read_mnist",
    "read_pcmac",
    "read_spambase",
    "read_usps",
]
