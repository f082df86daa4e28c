"""Zero-norm machines: AROM, FSV, the l1 support vector machine."""

from __future__ import annotations

from skgraft.zeronorm.arom import AROMClassifier
from skgraft.zeronorm.arom_regressor import AROMRegressor
from skgraft.zeronorm.fsv import FSVClassifier
from skgraft.zeronorm.kernel import KernelAROMClassifier
from skgraft.zeronorm.l1_path import l1_svc_path
from skgraft.zeronorm.l1_svc import L1SVC
from skgraft.zeronorm.monomials import Monomial

__all__ = [
    "L1SVC",
    "AROMClassifier",
    "AROMRegressor",
    "FSVClassifier",
    "KernelAROMClassifier",
    "Monomial",
    "l1_svc_path",
]
