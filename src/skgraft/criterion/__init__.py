"""The criterion (Perkins et al. 2003, eq. 7) and nothing else: losses, penalties, certificates."""

from __future__ import annotations

from skgraft.criterion.certificate import Certificate, duality_gap
from skgraft.criterion.losses import LOSSES, Curvature, Loss, make_loss
from skgraft.criterion.penalties import Penalty

__all__ = [
    "LOSSES",
    "Certificate",
    "Curvature",
    "Loss",
    "Penalty",
    "duality_gap",
    "make_loss",
]
