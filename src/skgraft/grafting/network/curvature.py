"""Second derivatives of the loss over all free weights of a network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skgraft.arrays import Array, Index
from skgraft.criterion import Curvature
from skgraft.grafting.network.wiring import Network

BLOCK_CELLS = 1 << 18  # cells of a Jacobian that is held at a time


@dataclass(frozen=True)
class Rows:
    """What the second derivatives need of each sample: (n_units, n_samples) or (n_samples, n_outputs) arrays."""

    features: Array  # standardised features in use, one a row
    a: Array
    rise: Array  # g'
    back: Array  # dL/dz
    residual: Array  # dL/df
    curvature: Curvature

    def take(self, which: Index | slice, weight: float) -> Rows:
        """Return some samples, each counting ``weight`` times."""
        factor = self.curvature.factor
        return Rows(
            self.features[:, which],
            self.a[:, which],
            self.rise[:, which],
            weight * self.back[:, which],
            weight * self.residual[which],
            Curvature(
                weight * self.curvature.diagonal[which], None if factor is None else np.sqrt(weight) * factor[which]
            ),
        )


def summed_derivatives(
    net: Network, rows: Rows, which: Index | None, weight: float, *, outputs: bool
) -> tuple[Array, Array]:
    """Return :func:`second_derivatives` over some samples, each counting ``weight`` times, added up block by block.

    ``which`` is None for all samples.
    """
    width = net.n_connections + (3 + net.n_outputs) * net.n_units + 1
    step, count = max(1, BLOCK_CELLS // width), rows.a.shape[1] if which is None else which.size
    hessian: Array | float = 0.0
    gauss_newton: Array | float = 0.0
    for first in range(0, max(count, 1), step):
        part = slice(first, first + step)
        some = rows.take(part if which is None else which[part], weight)
        whole, never_indefinite = second_derivatives(net, some, outputs=outputs)
        hessian, gauss_newton = hessian + whole, gauss_newton + never_indefinite
    return np.asarray(hessian), np.asarray(gauss_newton)


def second_derivatives(net: Network, rows: Rows, *, outputs: bool) -> tuple[Array, Array]:
    """Return the Hessian of the loss and its Gauss-Newton part J' L'' J, which is never indefinite.

    The rest of the Hessian, Σ dL/df d²f/dθ², has a block for each unit.  ``outputs`` says that output weights are free.
    """
    shared = outputs and net.n_outputs > 1
    gauss_newton = _shared_gauss_newton(net, rows) if shared else _gauss_newton(net, rows, outputs=outputs)
    return gauss_newton + _unit_blocks(net, rows, gauss_newton.shape[0], outputs=outputs), gauss_newton


def _gauss_newton(net: Network, rows: Rows, *, outputs: bool) -> Array:
    """Return J' L'' J where every weight leads to one output only: a block for each output, less Q'Q."""
    n_outputs = net.n_outputs
    own = net.v[np.arange(net.n_units), net.owner]
    rise = rows.rise * own[:, None]
    jacobian = [rise[net.unit] * rows.features[net.column], rise]
    owner = [net.owner[net.unit], net.owner]
    if outputs:
        jacobian.append(rows.a)
        owner.append(net.owner)
    J, leads_to = np.concatenate(jacobian), np.concatenate(owner)
    H = np.zeros((n_outputs + len(J), n_outputs + len(J)))
    diagonal, factor = rows.curvature.diagonal, rows.curvature.factor
    for o in range(n_outputs):
        mine = np.flatnonzero(leads_to == o)
        part = J[mine] if n_outputs > 1 else J
        weighted = part * diagonal[:, o]
        at = n_outputs + mine
        H[np.ix_(at, at)] = weighted @ part.T
        H[o, at] = H[at, o] = weighted.sum(axis=1)
        H[o, o] = diagonal[:, o].sum()
    if factor is not None:
        Q = np.concatenate([factor.T, J * factor.T[leads_to]])
        H -= Q @ Q.T
    return H


def _shared_gauss_newton(net: Network, rows: Rows) -> Array:
    """Return J' L'' J where every unit leads to all outputs."""
    n_outputs, n = net.n_outputs, rows.a.shape[1]
    inner = np.concatenate([rows.rise[net.unit] * rows.features[net.column], rows.rise])
    unit = np.concatenate([net.unit, np.arange(net.n_units)])
    width = inner.shape[0]
    size = n_outputs + width + net.v.size
    H, Q = np.zeros((size, size)), np.zeros((size, n))
    diagonal, factor = rows.curvature.diagonal, rows.curvature.factor
    for o in range(n_outputs):
        J = np.concatenate([np.ones((1, n)), inner * net.v[unit, o][:, None], rows.a])
        own = n_outputs + width + o + n_outputs * np.arange(net.n_units)
        at = np.concatenate([[o], n_outputs + np.arange(width), own])
        H[np.ix_(at, at)] += (J * diagonal[:, o]) @ J.T
        if factor is not None:
            Q[at] += J * factor[:, o]
    return H - Q @ Q.T


def _unit_blocks(net: Network, rows: Rows, size: int, *, outputs: bool) -> Array:
    """Return Σ_i dL/df_i d²f_i/dθ², whose parts stem from g'' = -g·g' and, with free output weights, from g'."""
    n_outputs, k, h = net.n_outputs, net.n_connections, net.n_units
    H = np.zeros((size, size))
    bend = -rows.a * rows.back
    weighted = bend[net.unit] * rows.features[net.column]
    w, c = n_outputs + np.arange(k), n_outputs + k + np.arange(h)
    H[w, c[net.unit]] = H[c[net.unit], w] = weighted.sum(axis=1)
    H[c, c] = bend.sum(axis=1)
    # all pairs at once, and then those of one unit: quicker than unit by unit
    pairs = weighted @ rows.features[net.column].T
    H[n_outputs : n_outputs + k, n_outputs : n_outputs + k] = np.where(net.unit[:, None] == net.unit, pairs, 0.0)
    if not outputs:
        return H
    for o in range(n_outputs):
        v = n_outputs + k + h + o + n_outputs * np.arange(h)
        slope = rows.rise * rows.residual[:, o]
        cross = np.einsum("ki,ki->k", slope[net.unit], rows.features[net.column])
        H[w, v[net.unit]] = H[v[net.unit], w] = cross
        H[c, v] = H[v, c] = slope.sum(axis=1)
    return H
