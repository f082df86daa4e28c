"""What every run of rounds shares: when a weight counts as zero, which features stay, what is returned.

A run of rounds is Weston et al. 2003, section 3: solve a machine on rescaled features, multiply the scales z by the
size of its weights, repeat.  l2-AROM, l1-AROM, FSV and the machine in the space of monomials differ in the machine that
a round solves and in nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.prices import Bags, Prices
from skgraft.run import Ending, History

#: A feature is zero once its size is at most this part of the largest.  The threshold defines the zero-norm of
#: this package: it decides how many features a round leaves, hence which round is the last before a limit.
#: A feature that is zero stays out for good.
ZERO = 1e-8

#: The epsilon of Problem 6 (Weston et al. 2003), the machine precision as in the paper.
EPSILON = float(np.finfo(np.float64).eps)


ROUNDING = 1e-12  # share of a budget by which the sum of prices may exceed it, being rounded


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
    ending : Ending
        What to tell the user once the result is kept.
    """

    weights: Array
    intercept: Array
    alive: Index
    order: Index
    history: History
    objective: float
    kkt_violation: float
    converged: bool
    ending: Ending = field(default_factory=Ending)


def feature_size(weights: Array, power: int = 1) -> Array:
    """Return the size of each feature over all outputs, (Σ_k |w_kj|^p)^(1/p).

    With p = 1 that is eq. 5 of Weston et al. 2003.
    """
    weights = np.abs(np.atleast_2d(weights))
    if weights.shape[0] == 1:
        return weights[0]
    return weights.sum(axis=0) if power == 1 else np.linalg.norm(weights, axis=0)


def bag_size(size: Array, features: Index, bags: Bags, power: int) -> Array:
    """Return the size of every bag from those of some features, (Σ_j size_j^p)^(1/p); features not given are zero."""
    if bags.is_trivial:
        total = np.zeros(bags.n_bags)
        total[features] = size
        return total
    total = np.bincount(bags.of[features], size**power, bags.n_bags).astype(np.float64)
    return total if power == 1 else np.sqrt(total)


def trivial_prices(n_features: int) -> Prices:
    """Return prices of one, every feature being a bag."""
    bags = Bags(tuple(range(n_features)), np.arange(n_features))
    return Prices(bags, np.ones(n_features), np.zeros(n_features, bool))


def choose(size: Array, prices: Prices, n_features: int | None = None) -> Index:
    """Return the features of the answer, the largest first: ``n_features`` exactly, or what the budget allows for.

    Parameters
    ----------
    size : ndarray of shape (n_features,)
        The size of every feature, zero for those that went.
    prices : Prices
        Kept features are among the answer whatever their size.
    n_features : int, optional
        How many; None takes all that are not zero.
    """
    chosen = nonzero(size) | prices.kept
    if n_features is not None:
        first = largest(np.where(prices.kept, np.inf, size), n_features)
        chosen = np.zeros(size.size, dtype=bool)
        chosen[first] = True
    elif prices.max_cost is not None:
        chosen &= affordable(size, prices)
    return largest(np.where(chosen, size, -1.0), int(np.count_nonzero(chosen)))


def affordable(size: Array, prices: Prices) -> NDArray[np.bool_]:
    """Say which features stay within ``max_cost``: those of the bags whose largest feature has most size for the price.

    Bags that the budget has no room for are passed over, and what costs nothing stays.
    """
    bags, charge = prices.bags, prices.charge
    limit = np.inf if prices.max_cost is None else prices.max_cost * (1.0 + ROUNDING)
    v = np.zeros(bags.n_bags)
    np.maximum.at(v, bags.of, size)
    stays = charge == 0.0
    paid = 0.0
    worth = v / np.where(stays, 1.0, charge)
    for b in np.argsort(-worth, kind="stable")[: np.count_nonzero(v)].tolist():
        if not stays[b] and paid + charge[b] <= limit:
            stays[b] = True
            paid += charge[b]
    return np.asarray(stays[bags.of])


def nonzero(size: Array) -> NDArray[np.bool_]:
    """Say which features have left zero by the definition of :data:`ZERO`."""
    largest = size.max(initial=0.0)
    return size > ZERO * largest if largest > 0.0 else np.zeros(size.shape, dtype=bool)


def largest(size: Array, n_features: int) -> Index:
    """Return the positions of the ``n_features`` largest, the largest first; the earlier column wins a tie."""
    return np.argsort(-size, kind="stable")[:n_features]


def log_criterion(size: Array, charge: Array) -> float:
    """Return Σ_g charge_g ln(ε + size_g) of all bags (Problem 6, with prices)."""
    return float(charge @ np.log(EPSILON + size))
