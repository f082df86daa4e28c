"""A network with one hidden layer, as it is wired so far: plain arrays, and functions of them.

    f_o(x) = b_o + Σ_u v_uo g(w_u·x + c_u),   g(a) = 2/(1 + e^-a) - 1 = tanh(a/2)   (Perkins et al. 2003, section 3.3.2)

g' = ½(1 - g²), so g'(0) = ½, and g'' = -g·g'.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index


@dataclass(frozen=True)
class Network:
    """Who is connected to whom, and by which weight.

    Connection k leads from feature ``features[column[k]]`` to unit ``unit[k]`` with weight ``w[k]``; unit u has the
    bias ``c[u]``, belongs to output ``owner[u]`` and reaches the outputs by ``v[u]``; output o has the bias ``b[o]``.
    """

    features: Index
    unit: Index
    column: Index
    owner: Index
    w: Array
    c: Array
    b: Array
    v: Array

    @classmethod
    def empty(cls, b: Array) -> Network:
        """Return the network without hidden units."""
        nothing = np.empty(0, np.intp)
        return cls(nothing, nothing, nothing, nothing, np.empty(0), np.empty(0), b, np.empty((0, b.size)))

    @property
    def n_units(self) -> int:
        """Number of hidden units."""
        return self.c.size

    @property
    def n_connections(self) -> int:
        """Number of connections from features to units."""
        return self.w.size

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.b.size

    @property
    def feature(self) -> Index:
        """The feature of each connection."""
        return self.features[self.column]

    def matrix(self) -> Array:
        """Return the connections as a matrix (n_units, n_features in use)."""
        W = np.zeros((self.n_units, self.features.size))
        W[self.unit, self.column] = self.w
        return W


def scores(net: Network, rows: Array) -> tuple[Array, Array]:
    """Return the units' activations (n_units, n_samples) and the scores (n_samples, n_outputs).

    ``rows`` holds the standardised features in use, one a row.
    """
    a = net.matrix() @ rows
    a += net.c[:, None]
    a *= 0.5
    np.tanh(a, out=a)
    return a, a.T @ net.v + net.b


def slopes(net: Network, a: Array, residual: Array) -> tuple[Array, Array]:
    """Return g' of every unit and dL/dz, the derivative of the loss with respect to every unit's input.

    Both of shape (n_units, n_samples); ``residual`` is the weighted dL/df (n_samples, n_outputs).
    """
    rise = a * a
    np.subtract(1.0, rise, out=rise)
    rise *= 0.5
    if net.n_outputs == 1:
        back = net.v * residual[:, 0]
    elif one_hot(net):
        back = residual.T[net.owner]
    else:
        back = net.v @ residual.T
    return rise, rise * back


def one_hot(net: Network) -> bool:
    """Whether every unit reaches its own output with weight one, and no other."""
    own = net.v[np.arange(net.n_units), net.owner]
    return bool((own == 1.0).all() and np.count_nonzero(net.v) == net.n_units)


# --- all free weights as one vector: b, w, c and, where output weights are free, v ---


def pack(net: Network, *, outputs: bool) -> Array:
    """Return the weights as one vector: output biases, connections, unit biases and, if free, output weights."""
    parts = [net.b, net.w, net.c]
    return np.concatenate([*parts, net.v.ravel()] if outputs else parts)


def unpack(net: Network, theta: Array, *, outputs: bool) -> Network:
    """Return the network with other weights."""
    ends = np.cumsum([net.n_outputs, net.n_connections, net.n_units])
    b, w, c, rest = np.split(theta, ends)
    return replace(net, b=b, w=w, c=c, v=rest.reshape(net.v.shape) if outputs else net.v)


def gradient(net: Network, rows: Array, a: Array, residual: Array, back: Array, *, outputs: bool) -> Array:
    """Return dL/dθ, with ``back`` = dL/dz from :func:`slopes`."""
    by_weight = (back @ rows.T)[net.unit, net.column]
    parts = [residual.sum(axis=0), by_weight, back.sum(axis=1)]
    return np.concatenate([*parts, (a @ residual).ravel()] if outputs else parts)


# --- changes of the wiring ---


def connect(net: Network, unit: int, feature: int, w: float) -> Network:
    """Return the network with one more connection."""
    at = np.flatnonzero(net.features == feature)
    features = net.features if at.size else np.append(net.features, feature)
    column = int(at[0]) if at.size else net.features.size
    return replace(
        net,
        features=features,
        unit=np.append(net.unit, unit),
        column=np.append(net.column, column),
        w=np.append(net.w, w),
    )


def add_unit(net: Network, owner: int, v: Array) -> Network:
    """Return the network with one more unit, not connected to any feature."""
    return replace(net, owner=np.append(net.owner, owner), c=np.append(net.c, 0.0), v=np.vstack([net.v, v]))


def fully_connected(net: Network) -> Network:
    """Return the network with every feature connected to every unit, new connections starting from zero."""
    missing = np.ones((net.n_units, net.features.size), bool)
    missing[net.unit, net.column] = False
    unit, column = np.nonzero(missing)
    return replace(
        net,
        unit=np.concatenate([net.unit, unit]),
        column=np.concatenate([net.column, column]),
        w=np.concatenate([net.w, np.zeros(unit.size)]),
    )


def pruned(net: Network, stays: NDArray[np.bool_]) -> Network:
    """Return the network with only some of its connections.

    A unit left without connections is a constant: it becomes a part of the output biases.
    """
    used = np.zeros(net.n_units, bool)
    used[net.unit[stays]] = True
    constant = np.tanh(0.5 * net.c[~used]) @ net.v[~used]
    in_use = np.zeros(net.features.size, bool)
    in_use[net.column[stays]] = True
    return Network(
        features=net.features[in_use],
        unit=(np.cumsum(used) - 1)[net.unit[stays]],
        column=(np.cumsum(in_use) - 1)[net.column[stays]],
        owner=net.owner[used],
        w=net.w[stays],
        c=net.c[used],
        b=net.b + constant,
        v=net.v[used],
    )
