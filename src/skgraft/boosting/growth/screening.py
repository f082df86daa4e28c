"""Which features need not be searched at a node because they cannot win there.

Two bounds, both exact.  A split of node S cannot lower the squared error by more than there is of it.  And for a fixed set
of rows, the square root of a feature's gain is a maximum of linear functions of the gradient, each of norm one on what is
left after taking off the mean: from one gradient to another it changes by at most ||P_S(g' - g)||.  A child is not bounded
by its parent: exclusive or has no gain at the root and all of it below.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skgraft.boosting.growth.rows import Node, Rows

Array = NDArray[np.float64]
Index = NDArray[np.intp]

MOST_SURVIVORS = 0.25  # share of the features beyond which all are searched, and the bounds renewed
MOST_BYTES = 2**28


@dataclass(frozen=True, eq=False)
class Memory:
    """What was found the last time that all features were searched at a node: √gain of each, and the gradient then."""

    root_gain: NDArray[np.float32]
    z: NDArray[np.int32]
    exponent: int

    @property
    def n_bytes(self) -> int:
        """Memory it takes."""
        return self.root_gain.nbytes + self.z.nbytes


class Screen:
    """Remembers gains by the path to a node, which determines its rows."""

    def __init__(self, n_features: int, always: NDArray[np.bool_]) -> None:
        self._n_features = n_features
        self._always = always
        self._memory: OrderedDict[Hashable, Memory] = OrderedDict()
        self._bytes = 0

    def survivors(self, rows: Rows, node: Node, features: Index, needed: Array) -> Index | None:
        """Return the features whose gain may exceed ``needed``, or None if all had better be searched."""
        memory = self._memory.get(node.path)
        if memory is None or memory.z.size != node.n_rows:
            return None
        self._memory.move_to_end(node.path)
        bound = (memory.root_gain[features] + rows.change(node, memory.z, memory.exponent)) ** 2 * (1.0 + 1e-9)
        left = features[bound >= needed]
        return left if left.size <= MOST_SURVIVORS * features.size else None

    def remember(self, rows: Rows, node: Node, features: Index, gains: Array) -> None:
        """Note the gains of all features at a node."""
        root_gain = np.full(self._n_features, np.inf, np.float32)
        # float32 may round down, and a bound must not
        root_gain[features] = np.nextafter(np.sqrt(gains).astype(np.float32), np.float32(np.inf))
        # the sets of categories that are tried depend on the gradient, so nothing is known of another gradient's
        root_gain[self._always] = np.inf
        memory = Memory(root_gain, rows.gradients.z[rows.rows[node.start : node.stop]], rows.gradients.exponent)
        old = self._memory.pop(node.path, None)
        self._bytes += memory.n_bytes - (0 if old is None else old.n_bytes)
        self._memory[node.path] = memory
        while self._bytes > MOST_BYTES and len(self._memory) > 1:
            self._bytes -= self._memory.popitem(last=False)[1].n_bytes
