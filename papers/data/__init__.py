"""Readers of the papers' data sets, which do not come with the project.

They are looked for in the folder that ``SKGRAFT_DATA`` names, or else beside the project.
"""

from papers.data.gene_readers import read_brown_yeast, read_leukemia, read_lymphoma
from papers.data.readers import (
    read_arrhythmia,
    read_colon,
    read_isolet,
    read_mfeat,
    read_mnist,
    read_pcmac,
    read_usps,
)
from papers.data.real_data import RealData
from papers.data.table_readers import read_a9a, read_adult, read_kddcup99, read_prostate, read_spambase

__all__ = [
    "RealData",
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
