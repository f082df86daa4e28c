"""What features cost now: the price of a feature depends on what was bought before (Xu et al. 2014, section 4.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.prices import Prices

CostFunction = Callable[[NDArray[np.bool_]], Any]


@dataclass(frozen=True)
class Purchase:
    """A feature used for the first time: in which round and for which output, its gain there and what was paid."""

    round: int
    output: int
    feature: int
    gain: float
    paid: float


@dataclass(frozen=True, eq=False)
class Change:
    """What a purchase did to prices: which fell, and whether any that was zero rose."""

    fallen: Index
    free_rose: bool


class FeaturePrices:
    """Prices φ_f(Ω) of all features given the set Ω of those bought, and the money spent.

    Parameters
    ----------
    prices : Prices
        Bags and their prices, kept features and budgets.
    mu : float
        What a unit of price is worth in gain.
    cost_function : callable, optional
        φ(Ω) in place of the bags' prices.
    """

    def __init__(self, prices: Prices, mu: float, cost_function: CostFunction | None = None) -> None:
        self._prices = prices
        self._function = cost_function
        self.mu = mu
        self.selected = prices.kept.copy()
        self.paid = 0.0
        self.log: list[Purchase] = []
        self._open = prices.bag_is_kept.copy()
        self.phi = self._look_up()
        self._price: Array | None = None

    @property
    def price(self) -> Array:
        """What features must gain now: μ·φ, and infinity where the budget does not reach; the same until a purchase."""
        if self._price is None:
            self._price = self._effective()
        return self._price

    @property
    def n_selected(self) -> int:
        """Number of features bought or kept."""
        return int(self.selected.sum())

    def buy(self, feature: int, gain: float = 0.0, at: tuple[int, int] = (0, 0)) -> Change:
        """Pay for a feature that is used for the first time; ``at`` is the round and the output."""
        paid = float(self.phi[feature])
        self.paid += paid
        self.selected[feature] = True
        self._open[self._prices.bags.of[feature]] = True
        self.log.append(Purchase(at[0], at[1], feature, gain, paid))
        before = self.price
        self.phi, self._price = self._look_up(), None
        return Change(np.flatnonzero(self.price < before), free_rose=bool(((before == 0.0) & (self.price > 0.0)).any()))

    def replay(self, log: list[Purchase]) -> FeaturePrices:
        """Return feature prices in which these purchases were made, and nothing else."""
        other = FeaturePrices(self._prices, self.mu, self._function)
        for purchase in log:
            other.buy(purchase.feature, purchase.gain, (purchase.round, purchase.output))
        return other

    def with_mu(self, mu: float) -> FeaturePrices:
        """Return feature prices before any purchase, with another mu."""
        return FeaturePrices(self._prices, mu, self._function)

    def _look_up(self) -> Array:
        """Return φ_f(Ω): nothing for what is already there."""
        if self._function is None:
            if self._prices.bags.is_trivial and not self._open.any():
                return self._prices.charge  # not a copy: with very many features that would take much memory
            phi = self._prices.charge[self._prices.bags.of]
            phi[self._open[self._prices.bags.of]] = 0.0
        else:
            phi = ask(self._function, self.selected)
        phi[self.selected] = 0.0
        return phi

    def _effective(self) -> Array:
        """Return μ·φ, and infinity where the budget does not reach."""
        price = self.mu * self.phi
        limit = self._prices.max_features
        if limit is not None and self.n_selected >= limit:
            price[~self.selected] = np.inf
        if self._prices.max_cost is not None:
            # a sum of prices may exceed the budget by rounding alone
            left = self._prices.max_cost * (1.0 + 1e-12) - self.paid
            price[(self.phi > left) & ~self.selected] = np.inf
        return price


def ask(function: CostFunction, selected: NDArray[np.bool_]) -> Array:
    """Call a cost function and refuse what cannot be a price.

    Raises
    ------
    ValueError
        If the function raises, or if what it returns is not one finite price of at least 0 per feature.
    """
    have = f"with {int(selected.sum())} features bought"
    try:
        answer = function(selected.copy())
        prices = np.array(answer, dtype=np.float64)
    except Exception as error:
        msg = f"cost_function failed {have}: {type(error).__name__}: {error}"
        raise ValueError(msg) from error
    if prices.shape != selected.shape:
        msg = (
            f"cost_function returned the shape {prices.shape} {have}; it must return one price per feature, "
            f"an array of shape {selected.shape}"
        )
        raise ValueError(msg)
    wrong = ~(np.isfinite(prices) & (prices >= 0.0))
    if wrong.any():
        f = int(np.argmax(wrong))
        msg = f"cost_function returned {prices[f]:g} for feature {f} {have}; prices must be finite and at least 0"
        raise ValueError(msg)
    return prices
