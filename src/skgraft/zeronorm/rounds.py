"""What every run of rounds shares: when a weight counts as zero, which features stay, what is returned.

A run of rounds is Weston et al. 2003, section 3: solve a machine on rescaled features, multiply the scales z by the
size of its weights, repeat.  l2-AROM, l1-AROM, FSV and the machine in the space of monomials differ in the machine that
a round solves and in nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skgraft.run.history import History

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

#: A feature is zero once its size is at most this part of the largest.  The threshold defines the zero-norm of
#: this package: it decides how many features a round leaves, hence which round is the last before a limit.
#: A feature that is zero stays out for good.
ZERO = 1e-8

#: The epsilon of Problem 6 (Weston et al. 2003), the machine precision as in the paper.
EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Rounds:
    """The result of a run of rounds.

    Attributes
    ----------
    weights : ndarray of shape (n_outputs, n_features)
        Weights of the last machine for the features as they were given (not for their rescaled copies); exactly zero
        outside ``alive``.  One output for two classes and for regression, one for each class otherwise.
    intercept : ndarray of shape (n_outputs,)
        Intercepts that go with these weights.
    alive : ndarray of int
        The features left, ascending; exactly ``n_features_to_select`` of them where that was given.
    order : ndarray of int
        The same features, the one with the largest size first.
    history : History
        One record a round of kind ``"round"``: ``n_selected`` features left, the largest ``feature``, the KKT
        violation of the round's machine as ``gradient``, the log criterion (:func:`log_criterion`) as ``objective``.
    objective : float
        The log criterion at ``weights``.
    kkt_violation : float
        Violation of the optimality conditions of the machine that gave ``weights``, relative to the margin of one.
    converged : bool
        Whether the rounds ended by themselves and every machine was solved to the tolerance.
    """

    weights: Array
    intercept: Array
    alive: Indices
    order: Indices
    history: History
    objective: float
    kkt_violation: float
    converged: bool


def feature_size(weights: Array) -> Array:
    """Return the size of each feature over all outputs, Σ_k |w_kj| (Weston et al. 2003, eq. 5)."""
    return np.abs(np.atleast_2d(weights)).sum(axis=0)


def nonzero(size: Array) -> NDArray[np.bool_]:
    """Say which features have left zero by the definition of :data:`ZERO`."""
    largest = size.max(initial=0.0)
    return size > ZERO * largest if largest > 0.0 else np.zeros(size.shape, dtype=bool)


def largest(size: Array, n_features: int) -> Indices:
    """Return the positions of the ``n_features`` largest, the largest first; the earlier column wins a tie."""
    return np.argsort(-size, kind="stable")[:n_features]


def log_criterion(size: Array, n_features: int, loss: float = 0.0) -> float:
    """Return Σ_j ln(ε + size_j) + loss over all ``n_features``, those not in ``size`` being zero (Problem 6)."""
    dead = n_features - size.size
    return float(np.log(EPSILON + size).sum() + dead * np.log(EPSILON) + loss)
