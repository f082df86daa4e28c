"""Which sparse features cannot win at any node of a level, told by their entries alone.

One side of every split has stored entries alone.  If it weighs w of a node's u, V² is at most w·Σ u_i·(z_i - mean)²
over its entries on one side of the mean, and so the gain is at most this sum times u/(u - w).  It is also at most
w·reach²·u/(u - w), where no gradient of the node is further than ``reach`` from the mean, and the entries must weigh
enough for a leaf.  So for every node there are amounts, one an entry, that add up to one or more if the feature can
reach its bar there: squares or weights, in units of what is needed.  Then they add up to one or more over several nodes
together: the amounts of all nodes, in two groups, are fields of one word a row, and one sum tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array
from skgraft.boosting.bins import SparseBins
from skgraft.boosting.growth.rows import Node, Rows, pieces_of
from skgraft.matrix import ThreadPool

USUAL = 0.99  # of all features have so few entries that packed bounds tell about them
GROUPS = 2

# The packed bounds, what makes up one in each group, and the numbers and weights of entries up to which they tell.
Words: TypeAlias = tuple[NDArray[np.uint64], NDArray[np.uint64], int, NDArray[np.int64], int]
NO_WORDS: Words = np.empty(0, np.uint64), np.empty(0, np.uint64), 0, np.empty(0, np.int64), 0


class EntryBound:
    """Makes packed bounds for the nodes of a level."""

    def __init__(self, bins: SparseBins, rows: Rows, min_samples_leaf: int, workers: ThreadPool) -> None:
        from skgraft.boosting.growth._kernels import FIELD

        self._n_rows, self._crew = bins.n_rows, workers
        self._min_leaf = min_samples_leaf / rows.gradients.weights.unit
        self._filled = bins.entry_weights(rows.gradients.weights.u, workers, every=True)
        counts = np.diff(bins.starts)
        self._most, self._most_filled = (int(np.quantile(each, USUAL)) for each in (counts, self._filled))
        self._mean_filled = float(self._filled.mean())
        self._room = 2**FIELD - 1 - self._most  # of a field, less what rounding up adds
        self.is_of_use = 2 * self._room > 2**FIELD

    def packed_bounds(self, rows: Rows, nodes: Sequence[Node], thresholds: Array) -> Words:
        """Return the packed bounds of all rows, given what a feature must gain at each node, in whole numbers."""
        from skgraft.boosting.growth._kernels import write_words

        per_square, per_weight, shares = self._amounts(rows, nodes, thresholds)
        group, sums = np.zeros(len(nodes), np.int64), np.zeros(GROUPS)
        for k in np.argsort(-shares):
            group[k] = np.argmin(sums)
            sums[group[k]] += shares[k]
        ones = np.floor(self._room / np.maximum(sums, 1.0))
        packed_bounds, held, pieces = np.zeros(self._n_rows, np.uint64), rows.held, pieces_of(nodes)

        def write(first: int, last: int) -> None:
            for k, a, b in pieces[first:last]:
                one, mean = ones[group[k]], nodes[k].gradient / nodes[k].weight
                write_words(held, a, b, mean, one * per_square[k], one * per_weight[k], group[k], packed_bounds)

        self._crew.run(write, len(pieces), 0.4 * sum(node.n_rows for node in nodes))
        return packed_bounds, ones.astype(np.uint64), self._most, self._filled, self._most_filled

    def _amounts(self, rows: Rows, nodes: Sequence[Node], thresholds: Array) -> tuple[Array, Array, Array]:
        """Return what a square and a weight count at each node, one of them zero, and what one feature's can sum to."""
        u = np.array([node.weight for node in nodes])
        reach = np.array([max(node.slopes) for node in nodes]) ** 2
        squares = np.array([rows.centred_squares(node) for node in nodes])
        a_square = u / np.maximum(u - self._most_filled, self._min_leaf) / thresholds * (1.0 + 1e-6)
        a_weight = 1.0 / np.maximum(self._min_leaf, thresholds * u / (reach * u + thresholds)) * (1.0 + 1e-6)
        # the sum over a usual feature's entries, and twice what it varies by
        entries = self._mean_filled * u / rows.gradients.weights.total
        mean_square = a_square * squares / u
        by_square = entries * mean_square + 2.0 * np.sqrt(entries * mean_square * a_square * reach)
        by_weight = entries * a_weight + 2.0 * np.sqrt(entries) * a_weight
        is_square = by_square < by_weight
        shares = np.where(is_square, a_square * squares * (1.0 + 1e-6), a_weight * np.minimum(u, self._most_filled))
        return np.where(is_square, a_square, 0.0), np.where(is_square, 0.0, a_weight), shares
