"""The criterion (Perkins et al. 2003, eq. 7) and nothing else: losses, penalties, certificates."""

from __future__ import annotations

from skgraft.criterion.certificate import (
    GLOBAL,
    NO_MOVE,
    NOT_CONVERGED,
    NOT_STATIONARY,
    WEIGHTS,
    Certificate,
    duality_gap,
)
from skgraft.criterion.losses import (
    LOSSES,
    Curvature,
    Huber,
    Logistic,
    Loss,
    Multinomial,
    Poisson,
    Squared,
    SquaredHinge,
    loss_facts,
    loss_names,
    make_loss,
    resolve_loss,
)
from skgraft.criterion.penalties import Penalty

__all__ = [
    "GLOBAL",
    "LOSSES",
    "NOT_CONVERGED",
    "NOT_STATIONARY",
    "NO_MOVE",
    "WEIGHTS",
    "Certificate",
    "Curvature",
    "Huber",
    "Logistic",
    "Loss",
    "Multinomial",
    "Penalty",
    "Poisson",
    "Squared",
    "SquaredHinge",
    "duality_gap",
    "loss_facts",
    "loss_names",
    "make_loss",
    "resolve_loss",
]
