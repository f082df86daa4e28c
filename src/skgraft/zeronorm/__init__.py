"""Zero-norm machines: AROM, FSV, the l1 support vector machine."""

from __future__ import annotations

from skgraft.zeronorm.l1_svc import L1SVC
from skgraft.zeronorm.l1_svc_path import l1_svc_path

__all__ = ["L1SVC", "l1_svc_path"]
