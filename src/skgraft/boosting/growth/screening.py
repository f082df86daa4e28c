"""Which features need not be searched at a node because they cannot win there.

Two bounds, both exact.  A split of node S cannot lower the squared error by more than there is of it.  And for a fixed
set of rows, √gain of a split is |v·g|, where g is the gradient less its mean and v a direction of length one that the
split determines.  If all splits of a feature had |v·g| <= r then, for another gradient g' of the same rows, the angles
allow at most

    |v·g'| <= a·r/|g| + b·√(1 - r²/|g|²),    a and b being the parts of g' along g and at right angles to it,

or |g'| where g' itself is within reach.  A child is not bounded by its parent: exclusive or has no gain at the root and
all of it below.
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

MOST_SURVIVORS = 0.6  # share of the features beyond which all are searched, which can be done for many nodes at once
MOST_REFERENCES = 8
FEATURES_A_REFERENCE = 64  # comparing with one more gradient must cost little beside the search
MOST_BYTES = 2**28
SLACK = 1e-5  # of the gradient's length: more than rounding


@dataclass(frozen=True, eq=False)
class Reference:
    """A gradient for which features were searched: whole numbers, their exponent, and its length less the mean."""

    z: NDArray[np.int32]
    exponent: int
    length: float


class Memory:
    """What is known of the features at a node: √gain of each as a share of its gradient's length, and which that is."""

    def __init__(self, n_features: int) -> None:
        self.references: list[Reference] = []
        self.share = np.full(n_features, np.inf, np.float32)
        self.of = np.zeros(n_features, np.uint8)

    @property
    def n_bytes(self) -> int:
        """Memory it takes."""
        return self.share.nbytes + self.of.nbytes + sum(reference.z.nbytes for reference in self.references)

    def add(self, reference: Reference, features: Index, share: NDArray[np.float32], most: int) -> None:
        """Note gains under one more gradient; if there are too many, that of the fewest features is forgotten."""
        self.share[features] = share
        if len(self.references) < most:
            self.of[features] = len(self.references)
            self.references.append(reference)
            return
        self.of[features] = most
        counts = np.bincount(self.of, minlength=most + 1)
        dropped = int(np.argmin(counts[:most]))
        self.share[self.of == dropped] = np.inf
        self.of[self.of == most] = dropped
        self.references[dropped] = reference


class Screen:
    """Remembers gains by the path to a node, which determines its rows."""

    def __init__(self, n_features: int, always: NDArray[np.bool_]) -> None:
        self._n_features = n_features
        self._always = always
        self._most = int(np.clip(n_features // FEATURES_A_REFERENCE, 1, MOST_REFERENCES))
        self._memory: OrderedDict[Hashable, Memory] = OrderedDict()
        self._bytes = 0
        self._visited: set[Hashable] = set()

    def survivors(self, rows: Rows, node: Node, features: Index, price: Array, best: float) -> Index:
        """Return the features whose gain may exceed ``best`` and their price."""
        from skgraft.boosting.growth._kernels import may_win

        memory = self._memory.get(node.path)
        if memory is None or rows.is_flat(node):
            return features
        self._memory.move_to_end(node.path)
        parts = [rows.compare(node, ref.z, ref.exponent, ref.length) for ref in memory.references]
        along, across = np.array([part[0] for part in parts]), np.array([part[1] for part in parts])
        length = rows.length(node)
        slack = SLACK * float(np.sqrt(rows.gradients.factor * rows.squares(node)))
        out = np.empty_like(features)
        n = may_win(features, memory.share, memory.of, along, across, length, slack, price, best, out)
        return out[:n]

    def remember(self, rows: Rows, node: Node, features: Index, gains: Array, *, everything: bool) -> None:
        """Note the gains of features at a node; ``everything`` says that all priced ones were searched."""
        if rows.is_flat(node):
            return
        if node.parent is not None and node.path not in self._visited:
            # most paths below the root are never seen again, and a memory of them would be made for nothing
            self._visited.add(node.path)
            return
        memory = self._memory.get(node.path)
        if not everything and memory is not None and features.size * FEATURES_A_REFERENCE < self._n_features:
            return  # so few are searched again sooner than a gradient is copied
        before = 0 if memory is None else memory.n_bytes
        if memory is None or everything:
            memory = Memory(self._n_features)
        length = rows.length(node)
        # float32 may round down, and a bound must not
        share = np.nextafter((np.sqrt(gains) / length).astype(np.float32), np.float32(np.inf))
        # the sets of categories that are tried depend on the gradient, so nothing is known of another gradient's
        share[self._always[features]] = np.inf
        z = rows.gradients.z[rows.rows[node.start : node.stop]]
        memory.add(Reference(z, rows.gradients.exponent, length), features, share, self._most)
        self._memory[node.path] = memory
        self._memory.move_to_end(node.path)
        self._bytes += memory.n_bytes - before
        while self._bytes > MOST_BYTES and len(self._memory) > 1:
            self._bytes -= self._memory.popitem(last=False)[1].n_bytes
