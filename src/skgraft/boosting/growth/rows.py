"""The rows of a tree while it grows: their gradients as whole numbers, and which node each is in."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgraft.matrix.threads import Crew

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

PIECE = 2**16  # rows that are added up before they join the rest: so sums do not depend on the threads
GRADIENT_BITS = 24
WEIGHT_BITS = 37  # of all rows together: with the gradient's, a sum stays within an int64


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights as whole numbers of a unit: w_i = unit·u_i.

    ``u`` is empty where all rows weigh one unit.
    """

    u: Whole
    unit: float
    n_rows: int

    @property
    def shift(self) -> int:
        """Bits below the count in a packed cell; 0 where weights and gradients have a cell each."""
        if self.u.size:
            return 0
        return min(44, 62 - _bits(self.n_rows))

    @property
    def gradient_bits(self) -> int:
        """Bits of a quantised gradient, so that the sum over all rows fits its part of a cell."""
        return GRADIENT_BITS if self.u.size else min(GRADIENT_BITS, self.shift - _bits(self.n_rows) - 1)


def _bits(n: int) -> int:
    return int(n).bit_length()


def quantise_weights(weight: Array | None, n_rows: int) -> Weights:
    """Write weights as whole numbers: exactly if they are whole or equal, else to one part in a great many.

    Parameters
    ----------
    weight : ndarray of shape (n_rows,) or None
        Positive weights; None for one each.
    n_rows : int
        Number of rows.
    """
    if weight is None or not n_rows:
        return Weights(np.empty(0, np.int64), 1.0, n_rows)
    if (weight == weight[0]).all():
        return Weights(np.empty(0, np.int64), float(weight[0]), n_rows)
    total = float(weight.sum())
    if (weight == np.rint(weight)).all() and total < 2.0**WEIGHT_BITS:
        return Weights(weight.astype(np.int64), 1.0, n_rows)
    unit = 2.0 ** np.ceil(np.log2(total) - WEIGHT_BITS + 1)
    return Weights(np.maximum(1, np.rint(weight / unit)).astype(np.int64), float(unit), n_rows)


@dataclass(eq=False)
class Gradients:
    """Gradients of one tree as whole numbers: g_i ≈ z_i·2^-exponent.

    ``values`` are what histograms add up: a packed channel, or u·z and u.  ``factor`` turns a gain of whole numbers
    into the gain of gradients.
    """

    z: NDArray[np.int32]
    values: Whole
    weights: Weights
    exponent: int
    largest: float

    @property
    def factor(self) -> float:
        """The gain of one unit of quantised gradient and weight."""
        return self.weights.unit * 2.0 ** (-2 * self.exponent)

    @property
    def least_gain(self) -> float:
        """A gain below which a split only follows rounding."""
        u = self.weights.u
        return 2.0**-40 * self.largest**2 * self.weights.unit * float(u.sum() if u.size else self.z.size)

    def decode(self, total: Whole) -> tuple[float, float]:
        """Return Σ u·z and Σ u of a cell."""
        shift = self.weights.shift
        if shift == 0:
            return float(total[0]), float(total[1])
        a = int(total[0])
        half = 1 << (shift - 1)
        q = ((a + half) & ((1 << shift) - 1)) - half
        return float(q), float((a - q) >> shift)


@dataclass(eq=False)
class Node:
    """A node of a growing tree: its rows are rows[start:stop], and ``path`` says how they got there.

    Once it is opened, ``total`` is the sum of its values, ``squares`` is Σ u·z², and ``slopes`` are how far its
    gradients reach above and below their mean, in whole numbers.
    """

    index: int
    start: int
    stop: int
    path: tuple[Hashable, ...]
    parent: Node | None = None
    sibling: Node | None = None
    is_left: bool = True
    total: Whole = field(default_factory=lambda: np.empty(0, np.int64))
    squares: float = 0.0
    slopes: tuple[float, float] = (0.0, 0.0)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.stop - self.start


class Parted(NamedTuple):
    """The two parts of a node, the lowest known bin of the right one, and whether there were missing values."""

    left: Node
    right: Node
    lowest_right: int
    has_missing: bool


class Rows:
    """Rows in the order of the nodes, and their values side by side."""

    def __init__(self, gradients: Gradients) -> None:
        n = gradients.z.size
        self.gradients = gradients
        self.rows = np.arange(n, dtype=np.uint32)
        self._spare = np.empty(n, np.uint32)
        self._gathered = np.empty_like(gradients.values)
        self._whole = True

    @property
    def values(self) -> Whole:
        """The values of the rows, in their present order."""
        return self.gradients.values if self._whole else self._gathered

    @property
    def is_whole(self) -> bool:
        """Whether no node was split yet, and the rows are in the order of X."""
        return self._whole

    def root(self, output: int, crew: Crew) -> Node:
        """Return the node of all rows, opened."""
        from skgraft.boosting._kernels import survey

        g, n = self.gradients, self.rows.size
        node = Node(0, 0, n, (output,))
        pieces = -(-n // PIECE)
        totals, found = np.empty((pieces, g.values.shape[0]), np.int64), np.empty((pieces, 3))

        def look(first: int, last: int) -> None:
            for k in range(first, last):
                found[k] = survey(g.values, g.z, k * PIECE, min(n, (k + 1) * PIECE), totals[k])

        crew.run(look, pieces, 3.0 * n)
        node.total = totals.sum(axis=0)
        self._describe(node, float(found[:, 0].sum()), found[:, 1].min(), found[:, 2].max())
        return node

    def open(self, node: Node) -> None:
        """Look at the rows of a node: gather their values and find what they are together."""
        from skgraft.boosting._kernels import gather

        g = self.gradients
        node.total = np.empty(g.values.shape[0], np.int64)
        squares, low, high = gather(
            g.values, g.z, g.weights.shift, self.rows, node.start, node.stop, self._gathered, node.total
        )
        self._describe(node, squares, float(low), float(high))

    def _describe(self, node: Node, squares: float, low: float, high: float) -> None:
        q, u = self.gradients.decode(node.total)
        node.squares = squares
        node.slopes = max(high - q / u, 0.0) + 1e-6, max(q / u - low, 0.0) + 1e-6

    def split(
        self, node: Node, column: NDArray[np.uint8], goes_left: NDArray[np.bool_], missing: int, mark: Hashable
    ) -> Parted:
        """Split a node by the bins of a column; ``mark`` names the split, for the children's paths."""
        from skgraft.boosting._kernels import partition

        seen, spare = np.empty(2, np.int64), self._spare[node.start : node.stop]  # nodes are split side by side
        middle = partition(column, goes_left, missing, self.rows, node.start, node.stop, spare, seen)
        self._whole = False
        left = Node(-1, node.start, middle, (*node.path, (mark, 0)), parent=node)
        right = Node(-1, middle, node.stop, (*node.path, (mark, 1)), parent=node, sibling=left, is_left=False)
        left.sibling = right
        return Parted(left, right, int(seen[0]), bool(seen[1]))

    def is_left_heavier(self, node: Node, left: Node) -> bool:
        """Whether the left part of a node weighs at least as much as the other."""
        u = self.gradients.weights.u
        weight = float(u[self.rows[left.start : left.stop]].sum()) if u.size else left.n_rows
        return 2 * weight >= self.gradients.decode(node.total)[1]

    def spread(self, node: Node) -> float:
        """Return the squared error of a node around its mean, which no split can lower by more; rounded up."""
        return self.gradients.factor * (self._centred_squares(node) + 1e-9 * node.squares)

    def is_flat(self, node: Node) -> bool:
        """Whether the gradients of a node are so much alike that rounding shows in what is left without the mean."""
        return self._centred_squares(node) <= 1e-4 * node.squares

    def _centred_squares(self, node: Node) -> float:
        q, u = self.gradients.decode(node.total)
        return max(0.0, node.squares - q * q / u)

    def length(self, node: Node) -> float:
        """Return √(Σ s·(g - mean)²) of a node."""
        return float(np.sqrt(self.gradients.factor * self._centred_squares(node)))

    def compare(self, node: Node, before: NDArray[np.int32], exponent: int, cap: float) -> tuple[float, float]:
        """Return how much of the centred gradient lies along an earlier one, and how much at right angles to it.

        ``cap`` is the length of the earlier one, 2^-exponent·before.
        """
        from skgraft.boosting._kernels import products

        g = self.gradients
        both, other = products(g.z, g.weights.u, self.rows, node.start, node.stop, before)
        q, u = g.decode(node.total)
        length = self.length(node)
        if cap == 0.0:
            return 0.0, length
        inner = g.weights.unit * 2.0 ** -(g.exponent + exponent) * (both - q * other / u)
        along = min(abs(inner) / cap, length)
        return along, float(np.sqrt(max(0.0, length * length - along * along)))
