"""The connections and units that are not there yet, and how strongly the criterion pulls at each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skgraft.arrays import Array
from skgraft.grafting.network.descent import Point
from skgraft.grafting.network.problem import NetworkProblem
from skgraft.grafting.network.wiring import slopes

# Standing in for |dC/dw|, which is zero for an even effect: the share of x² - 1 in g(w(x - t)) at the weights and
# thresholds where such candidates start.
EVEN_SHARE = 0.35


@dataclass(frozen=True)
class Closed:
    """Derivatives of the loss towards everything that is not there, in rows of n_features each.

    ``connections`` has a row for each unit that is there, ``units`` one for a new unit at each output and ``even``, if
    even effects are looked for, one for a new unit at each output that enters far from zero.  If units are
    ``shared`` by all outputs, a new one enters along the steepest direction, and its outputs are one row.

    A candidate's number is row · n_features + feature, the rows counted through.
    """

    connections: Array
    units: Array
    even: Array | None
    shared: bool

    @property
    def n_units(self) -> int:
        """Number of units that are there."""
        return len(self.connections)

    @property
    def n_new(self) -> int:
        """Number of rows of new units of one kind."""
        return 1 if self.shared else len(self.units)

    def is_even(self, row: Any) -> Any:
        """Whether the candidates of a row enter far from zero."""
        return row >= self.n_units + self.n_new

    def kkt_excess(self) -> Array:
        """Return the size of the derivative towards each candidate."""
        parts = [np.abs(self.connections), self._lengths(self.units)]
        if self.even is not None:
            parts.append(EVEN_SHARE * self._lengths(self.even))
        return np.concatenate(parts)

    def _lengths(self, by_output: Array) -> Array:
        return np.sqrt((by_output**2).sum(axis=0))[None] if self.shared else np.abs(by_output)

    def outputs(self, row: int, feature: int) -> tuple[int, Array]:
        """Return the output that a new unit belongs to, and its output weights."""
        if self.shared:
            towards = self.even if self.is_even(row) else self.units
            assert towards is not None  # noqa: S101 -- there is no such row otherwise
            v = -towards[:, feature]
            v = v / max(float(np.sqrt(v @ v)), np.finfo(float).tiny)
            return int(np.argmax(np.abs(v))), v
        owner = (row - self.n_units) % self.n_new
        return owner, np.eye(self.n_new)[owner]


def closed_derivatives(problem: NetworkProblem, point: Point) -> Closed:
    """Return dL/dw of every weight that is at zero because it is not there.

    For a connection to a unit this is Σ_i x_ij g'(z_i) Σ_o v_o dL/df_io; a new unit enters at z = 0, where g' = ½
    (Perkins et al. 2003, section 3.3.2, with what its formulas leave out).
    """
    net = point.net
    residual = problem.target.residual(point.f)
    back = slopes(net, point.a, residual)[1]
    gradient = problem.columns.gradient(np.concatenate([back.T, 0.5 * residual], axis=1)).T
    even = _even(problem, residual) if problem.quadratic else None
    shared = problem.free_outputs and net.n_outputs > 1
    return Closed(gradient[: net.n_units], gradient[net.n_units :], even, shared=shared)


def _even(problem: NetworkProblem, residual: Array) -> Array:
    """Return ½ Σ_i dL/df_i (x_ij² - 1): what a pair of opposite units could gain."""
    out = np.empty((residual.shape[1], problem.columns.n_columns))
    for o, r in enumerate(residual.T):
        squares = problem.columns.squares(np.maximum(r, 0.0)) - problem.columns.squares(np.maximum(-r, 0.0))
        out[o] = 0.5 * (squares - r.sum() * problem.columns.length**2)
    return out
