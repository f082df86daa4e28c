"""The criterion (Perkins et al. 2003, eq. 7) and nothing else: losses, penalties, prices, certificates."""

from __future__ import annotations

from skgraft.criterion.certificate import Certificate, duality_gap
from skgraft.criterion.losses import LOSSES, Curvature, Loss, make_loss
from skgraft.criterion.penalties import Penalty
from skgraft.criterion.prices import Bags, Prices, resolve_penalty_weights, resolve_prices

__all__ = [
    "LOSSES",
    "Bags",
    "Certificate",
    "Curvature",
    "Loss",
    "Penalty",
    "Prices",
    "duality_gap",
    "make_loss",
    "resolve_penalty_weights",
    "resolve_prices",
]
