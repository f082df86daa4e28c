"""A criterion over networks: the data, the loss, the penalties and the prices."""

from __future__ import annotations

from dataclasses import dataclass

from skgraft.arrays import Array, Index
from skgraft.grafting.network.wiring import Network
from skgraft.grafting.target import Target
from skgraft.matrix import Columns
from skgraft.prices import Prices


@dataclass(frozen=True)
class NetworkProblem:
    """A criterion over networks, in standardised coordinates.

    ``l1``, ``l2`` and ``l0`` are the coefficients of eq. 7, ``penalty_weight`` is a_j per feature.  Where output
    weights are free, ``output_l2`` is the coefficient of their squares, else it is None.
    """

    columns: Columns
    target: Target
    prices: Prices
    penalty_weight: Array
    l1: float = 0.0
    l2: float = 0.0
    l0: float = 0.0
    output_l2: float | None = None
    max_units: int | None = None
    max_connections: int | None = None
    quadratic: bool = False
    connect_all: bool = False

    @property
    def free_outputs(self) -> bool:
        """Whether output weights may move."""
        return self.output_l2 is not None

    def rows(self, features: Index) -> Array:
        """Return standardised columns as the rows of an array."""
        return self.columns.dense_rows(features)

    def hold(self, net: Network) -> Array:
        """Return the l1 coefficient of each connection."""
        return self.l1 * self.penalty_weight[net.feature]

    def ridge(self, net: Network) -> Array:
        """Return the l2 coefficient of each connection."""
        return self.l2 * self.penalty_weight[net.feature]
