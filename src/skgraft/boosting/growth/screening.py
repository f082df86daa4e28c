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
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.boosting.growth.rows import Node, Rows

# Shares of the features beyond which all are searched, for many nodes at once, and bounds renewed; the second one where
# that costs less: at large nodes, whose histograms save adding up the larger of their children, or with an entry bound.
MOST_SURVIVORS, MOST_IF_CHEAP = 0.5, 0.15
LEAST_CELLS = 100_000  # features times rows of a node below which a search takes no longer than finding out
LEAST_BYTES, SHARE_OF_BINS = 2**20, 1 / 16  # of what is remembered: it is forgotten beyond the larger of both
SLACK = 1e-5  # of the gradient's length: more than rounding


@dataclass(frozen=True, eq=False)
class Memory:
    """What was found when all features were searched at a node.

    The gradient of then in whole numbers, their exponent, its length less the mean, and √gain of each feature as a
    share of that length, in units of 1/255 and rounded up.
    """

    share: NDArray[np.uint8]
    z: NDArray[np.int32]
    exponent: int
    length: float

    @property
    def n_bytes(self) -> int:
        """Memory it takes."""
        return self.share.nbytes + self.z.nbytes


class Screen:
    """Remembers gains by the path to a node, which determines its rows."""

    def __init__(self, n_features: int, always: NDArray[np.bool_], n_bytes_of_bins: int) -> None:
        self._n_features = n_features
        self._always = always
        self._most_bytes = max(LEAST_BYTES, int(SHARE_OF_BINS * n_bytes_of_bins))
        self._memory: OrderedDict[Hashable, Memory] = OrderedDict()
        self._bytes = 0
        self._last: dict[int, set[Hashable]] = {}  # paths of each output's last tree
        self._before: set[Hashable] = set()
        self._now: set[Hashable] = set()

    @staticmethod
    def pays(node: Node, n_features: int) -> bool:
        """Whether so many features at a node are worth screening."""
        return n_features * node.n_rows >= LEAST_CELLS

    def survivors(self, rows: Rows, node: Node, features: Index, price: Array, best: float) -> Index:
        """Return the features whose gain may exceed ``best`` and their price."""
        memory = self._memory.get(node.path)
        if memory is None or not self.pays(node, features.size) or rows.is_flat(node):
            return features
        from skgraft.boosting._kernels import may_win

        self._memory.move_to_end(node.path)
        along, across = rows.compare(node, memory.z, memory.exponent, memory.length)
        slack = SLACK * float(np.sqrt(rows.gradients.factor * node.squares))
        length, out = rows.length(node), np.empty_like(features)
        found: list[Index] = []

        def look(first: int, last: int) -> None:
            end = may_win(features, first, last, memory.share, along, across, length, slack, price, best, out)
            found.append(out[first:end])

        rows.workers.run(look, features.size, 1.0 * features.size)
        # a copy, since a view would hold on to the room for all
        return found[0].copy() if len(found) == 1 else np.sort(np.concatenate(found))

    def remember(self, rows: Rows, node: Node, features: Index, gains: Array) -> None:
        """Note the gains of all priced features at a node."""
        if not self.pays(node, features.size) or rows.is_flat(node):
            return
        from skgraft.boosting._kernels import WHOLE_SHARE, root_shares

        length = rows.length(node)
        share = np.full(self._n_features, WHOLE_SHARE, np.uint8)
        # the sets of categories that are tried depend on the gradient, so nothing is known of another gradient's
        root_shares(features, gains, length, self._always, share)
        memory = Memory(share, rows.gradients_of(node), rows.gradients.exponent, length)
        old = self._memory.pop(node.path, None)
        self._memory[node.path] = memory
        self._bytes += memory.n_bytes - (0 if old is None else old.n_bytes)
        while self._bytes > self._most_bytes and len(self._memory) > 1:
            self._bytes -= self._memory.popitem(last=False)[1].n_bytes

    def begin(self, output: int) -> None:
        """Start a tree."""
        self._before = self._last.get(output, set())
        self._now = self._last[output] = set()

    def meet(self, nodes: Iterable[Node]) -> None:
        """Note which nodes the present tree has."""
        self._now.update(node.path for node in nodes)

    def is_lasting(self, node: Node) -> bool:
        """Whether a node is likely to come back soon: the root and its children often do, others if they just did.

        Only there a search pays that finds what every feature gains, not just which gain enough.
        """
        return node.parent is None or node.parent.parent is None or node.path in self._before
