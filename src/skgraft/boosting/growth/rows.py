"""The rows of a tree while it grows: their gradients as whole numbers, and which node each is in."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array
from skgraft.boosting.bins.equal import Equal
from skgraft.boosting.loops import loops_over_rows
from skgraft.matrix import ThreadPool

Whole = NDArray[np.int64]

Workspace: TypeAlias = NDArray[np.uint64]  # entries of all rows, twice
Held: TypeAlias = tuple[NDArray[np.int32], NDArray[np.uint64], Whole, bool]

WHOLE = -1  # the side of the root, whose rows have no entries
CACHE_LINE = 64  # bytes
PIECE = 2**16  # rows that are added up before they join the rest: so sums do not depend on the threads
GRADIENT_BITS = 24
WEIGHT_BITS = 37  # of all rows together: with the gradient's, a sum stays within an int64
LEAST_BITS = 12  # of a gradient in a packed cell


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights as whole numbers of a unit: w_i = unit·u_i, whose sum is ``total``.

    ``u`` is empty where all rows weigh one unit, and ``counts`` where every row stands for itself alone.
    """

    u: Whole
    unit: float
    total: int
    counts: Whole = field(default_factory=lambda: np.empty(0, np.int64))

    @cached_property
    def shift(self) -> int:
        """Bits below the weight in a packed cell; 0 where weights and gradients have a cell each."""
        return _shift(self.total) if _packed_bits(self.total) >= LEAST_BITS else 0

    @property
    def channels(self) -> int:
        """Numbers in a cell."""
        return 1 if self.shift else 2

    @property
    def gradient_bits(self) -> int:
        """Bits of a quantised gradient, so that the sum over all rows fits its part of a cell."""
        return _packed_bits(self.total) if self.shift else GRADIENT_BITS

    def added_up(self, equal: Equal) -> Weights:
        """Return the weights of rows that stand for others."""
        counts = np.bincount(equal.kind)
        # exact, as all of them weigh less than 2^53 together
        u = equal.added_up(self.u).astype(np.int64) if self.u.size else counts
        return replace(self, u=u, counts=counts)


def _shift(total: int) -> int:
    return min(44, 62 - total.bit_length())


def _packed_bits(total: int) -> int:
    return min(GRADIENT_BITS, _shift(total) - total.bit_length() - 1)


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
        return _equal_weights(1.0, n_rows)
    if (weight == weight[0]).all():
        return _equal_weights(float(weight[0]), n_rows)
    total, unit = float(weight.sum()), 1.0
    if not (weight == np.rint(weight)).all() or total >= 2.0**WEIGHT_BITS:
        unit = float(2.0 ** np.ceil(np.log2(total) - WEIGHT_BITS + 1))
    u = np.maximum(1, np.rint(weight / unit)).astype(np.int64)
    return Weights(u, unit, int(u.sum()))


def _equal_weights(unit: float, n_rows: int) -> Weights:
    weights = Weights(np.empty(0, np.int64), unit, n_rows)
    # a cell with room for the sums of very many rows would leave too little to each gradient
    return weights if weights.shift else Weights(np.ones(n_rows, np.int64), unit, n_rows)


@dataclass(eq=False)
class Gradients:
    """Gradients of one tree as whole numbers: g_i ≈ z_i·2^-exponent.

    ``factor`` turns a gain of whole numbers into the gain of gradients.
    """

    z: NDArray[np.int32]
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
        return 2.0**-40 * self.largest**2 * self.weights.unit * self.weights.total

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
    """A node of a growing tree: its rows are the entries start:stop of one side, and ``path`` says how they got there.

    Once it is opened, ``total`` is what a histogram of all its rows adds up to, ``gradient`` and ``weight`` what that
    says, Σ u·z and Σ u, ``squares`` is Σ u·z², z lies between the ``extremes``, and ``slopes`` are how far these
    are above and below its mean.
    """

    index: int
    start: int
    stop: int
    path: tuple[Hashable, ...]
    side: int = WHOLE
    parent: Node | None = None
    sibling: Node | None = None
    is_left: bool = True
    total: Whole = field(default_factory=lambda: np.empty(0, np.int64))
    gradient: float = 0.0
    weight: float = 0.0
    squares: float = 0.0
    extremes: tuple[float, float] = (0.0, 0.0)
    slopes: tuple[float, float] = (0.0, 0.0)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.stop - self.start


class Cut(NamedTuple):
    """How a node is to be split: by the bins of a column that go left; ``mark`` names the split in paths."""

    node: Node
    column: NDArray[np.uint8]
    goes_left: NDArray[np.bool_]
    mark: Hashable


class Parted(NamedTuple):
    """The two parts of a node, and which bins its rows had."""

    left: Node
    right: Node
    present: NDArray[np.bool_]


class Piece(NamedTuple):
    """Some rows of a node, given by its place in a list."""

    node: int
    first: int
    last: int


def pieces_of(nodes: Sequence[Node], count: int | None = None) -> list[Piece]:
    """Cut the rows of nodes into pieces, of one size or into at most ``count`` of no less than that."""
    pieces = []
    for k, node in enumerate(nodes):
        size = PIECE if count is None else max(PIECE, -(-node.n_rows // count))
        pieces += [Piece(k, first, min(first + size, node.stop)) for first in range(node.start, node.stop, size)]
    return pieces


class Rows:
    """The rows of a tree: entries in the order of the nodes, which go from one side to the other level by level.

    A node that is split leaves its side; a leaf stays where it is.  ``loops`` are the compiled ones, or those in NumPy.
    """

    def __init__(
        self, gradients: Gradients, workspace: Workspace, workers: ThreadPool, *, compiled: bool = True
    ) -> None:
        self.gradients = gradients
        self.workspace = workspace
        self.workers = workers
        self.loops = loops_over_rows(compiled=compiled)
        self._side = WHOLE

    @property
    def held(self) -> Held:
        """What the kernels need to know of the rows of the present level."""
        return self._held(self._side)

    def held_of(self, node: Node) -> Held:
        """Return what the kernels need to know of the rows of any node."""
        return self._held(node.side)

    def _held(self, side: int) -> Held:
        return self.gradients.z, self.workspace[max(side, 0)], self.gradients.weights.u, side == WHOLE

    def root(self, output: int) -> Node:
        """Return the node of all rows, opened."""
        node = Node(0, 0, self.gradients.z.size, (output,))
        self.node_sums([node])
        return node

    def node_sums(self, nodes: Sequence[Node]) -> None:
        """Find out what the rows of each node are together.

        Siblings come together, and where sums are exact the larger is what the smaller leaves of their parent.
        """
        if self.gradients.weights.u.size or nodes[0].parent is None:
            self._look_at(nodes)
            return
        pairs = [sorted(nodes[k : k + 2], key=attrgetter("n_rows")) for k in range(0, len(nodes), 2)]
        self._look_at([small for small, _ in pairs])
        for small, large in pairs:
            parent: Any = large.parent
            self._describe(large, parent.total - small.total, parent.squares - small.squares, parent.extremes)

    def _look_at(self, nodes: Sequence[Node]) -> None:
        pieces, weights = pieces_of(nodes), self.gradients.weights
        totals, found = np.empty((len(pieces), weights.channels), np.int64), np.empty((len(pieces), 4))
        held = self.held

        def look(first: int, last: int) -> None:
            for k in range(first, last):
                found[k] = self.loops.sum_node(held, weights.shift, pieces[k].first, pieces[k].last, totals[k])

        self.workers.run(look, len(pieces), 0.2 * sum(node.n_rows for node in nodes))
        at = 0
        for node in nodes:
            its = slice(at, at := at + -(-node.n_rows // PIECE))
            units, rest = found[its, :2].sum(axis=0).tolist()
            squares = rest if weights.u.size else int(units) * 2**32 + int(rest)
            extremes = float(found[its, 2].min()), float(found[its, 3].max())
            self._describe(node, totals[its].sum(axis=0), squares, extremes)

    def _describe(self, node: Node, total: Whole, squares: float, extremes: tuple[float, float]) -> None:
        node.total, node.squares, node.extremes = total, squares, extremes
        node.gradient, node.weight = self.gradients.decode(total)
        mean = node.gradient / node.weight
        node.slopes = max(extremes[1] - mean, 0.0) + 1e-6, max(mean - extremes[0], 0.0) + 1e-6

    def split(self, cuts: Sequence[Cut]) -> list[Parted]:
        """Split nodes of the present level; their parts are the next.

        The rows that go left stay in their order, the others are reversed: so both can be written at once.  Several
        threads share a node, and have to know beforehand how many rows of the pieces before theirs go left; the order
        of the rows is the same.
        """
        nodes = [cut.node for cut in cuts]
        work = 0.5 * sum(node.n_rows for node in nodes)
        pieces = pieces_of(nodes, self.workers.size if self.workers.shares(work) else 1)
        held, side = self.held, max(self._side, 0) ^ 1
        out = self.workspace[side]
        lefts, rights = self._places(cuts, pieces)
        # far enough apart: threads that write to the same line of a cache wait for each other
        ends, present = np.empty(len(pieces), np.int64), np.zeros((len(pieces), 256 + CACHE_LINE), bool)

        def write(first: int, last: int) -> None:
            for k in range(first, last):
                node, a, b = pieces[k]
                cut = cuts[node]
                places = lefts[k], rights[k]
                ends[k] = self.loops.partition_rows(cut.column, cut.goes_left, held, a, b, *places, out, present[k])

        self.workers.run(write, len(pieces), work)
        self._side = side
        last = {piece.node: k for k, piece in enumerate(pieces)}
        parted, at = [], 0
        for node, cut in enumerate(cuts):
            its = slice(at, at := last[node] + 1)
            parted.append(self._parted(cut, int(ends[at - 1]), np.asarray(present[its, :256].any(axis=0))))
        return parted

    def _places(self, cuts: Sequence[Cut], pieces: list[Piece]) -> tuple[Whole, Whole]:
        """Return where each piece's rows go, on the left forwards and on the right backwards."""
        lefts = np.array([cuts[piece.node].node.start for piece in pieces])
        rights = np.array([cuts[piece.node].node.stop - 1 for piece in pieces])
        followed = [k for k in range(len(pieces) - 1) if pieces[k].node == pieces[k + 1].node]
        smaller = [
            (k, first, min(first + PIECE, pieces[k].last))
            for k in followed
            for first in range(pieces[k].first, pieces[k].last, PIECE)
        ]
        found, held = np.zeros(len(smaller), np.int64), self.held

        def count(first: int, last: int) -> None:
            for at in range(first, last):
                k, a, b = smaller[at]
                cut = cuts[pieces[k].node]
                found[at] = self.loops.count_left(cut.column, cut.goes_left, held, a, b)

        self.workers.run(count, len(smaller), 0.2 * sum(b - a for _, a, b in smaller))
        counts = np.zeros(len(pieces), np.int64)
        np.add.at(counts, [k for k, _, _ in smaller], found)
        for k in range(1, len(pieces)):
            before = pieces[k - 1]
            if before.node == pieces[k].node:
                lefts[k] = lefts[k - 1] + counts[k - 1]
                rights[k] = rights[k - 1] - (before.last - before.first - counts[k - 1])
        return lefts, rights

    def _parted(self, cut: Cut, middle: int, present: NDArray[np.bool_]) -> Parted:
        node, side = cut.node, self._side
        left = Node(-1, node.start, middle, (*node.path, (cut.mark, 0)), side, parent=node)
        right = Node(-1, middle, node.stop, (*node.path, (cut.mark, 1)), side, parent=node, sibling=left, is_left=False)
        left.sibling = right
        return Parted(left, right, present)

    def is_left_heavier(self, node: Node, left: Node) -> bool:
        """Whether the left part of a node weighs at least as much as the other."""
        _, entries, u, _ = self.held_of(left)
        weight = float(u[entries[left.start : left.stop] >> np.uint64(32)].sum()) if u.size else left.n_rows
        return 2 * weight >= node.weight

    def places(self, nodes: Sequence[Node]) -> Whole:
        """Return where nodes have the rows of each block, in the order of X: (n_blocks, n_nodes, 2).

        The entries of a node ascend or descend.  Threads that write to rows of blocks of their own do not meet.
        """
        n_rows = self.gradients.z.size
        bounds = np.append(np.arange(0, n_rows, PIECE), n_rows)
        out = np.empty((bounds.size - 1, len(nodes), 2), np.int64)
        for k, node in enumerate(nodes):
            if node.side == WHOLE:
                out[:, k, 0], out[:, k, 1] = bounds[:-1], bounds[1:]
                continue
            its, at = self.workspace[node.side, node.start : node.stop], bounds.astype(np.uint64) << np.uint64(32)
            if its.size and its[0] <= its[-1]:
                ends = node.start + np.searchsorted(its, at)
                out[:, k, 0], out[:, k, 1] = ends[:-1], ends[1:]
            else:
                ends = node.stop - np.searchsorted(its[::-1], at)
                out[:, k, 0], out[:, k, 1] = ends[1:], ends[:-1]
        return out

    def count(self, node: Node) -> int:
        """Return how many training rows a node has, those that others stand for included."""
        counts = self.gradients.weights.counts
        if not counts.size:
            return node.n_rows
        _, entries, _, whole = self.held_of(node)
        return int((counts if whole else counts[entries[node.start : node.stop] >> np.uint64(32)]).sum())

    def gradients_of(self, node: Node) -> NDArray[np.int32]:
        """Return the quantised gradients of a node's rows, in their order."""
        from skgraft.boosting._kernels import gradients_of

        out, held, pieces = np.empty(node.n_rows, np.int32), self.held_of(node), pieces_of([node])

        def copy(first: int, last: int) -> None:
            for _, a, b in pieces[first:last]:
                gradients_of(held, a, b, out[a - node.start : b - node.start])

        self.workers.run(copy, len(pieces), 0.1 * node.n_rows)
        return out

    def spread(self, node: Node) -> float:
        """Return the squared error of a node around its mean, which no split can lower by more; rounded up."""
        return self.gradients.factor * (self.centred_squares(node) + 1e-9 * node.squares)

    def is_flat(self, node: Node) -> bool:
        """Whether the gradients of a node are so much alike that rounding shows in what is left without the mean."""
        return self.centred_squares(node) <= 1e-4 * node.squares

    def centred_squares(self, node: Node) -> float:
        """Return Σ u·(z - mean)² of a node."""
        return max(0.0, node.squares - node.gradient * node.gradient / node.weight)

    def length(self, node: Node) -> float:
        """Return √(Σ s·(g - mean)²) of a node."""
        return float(np.sqrt(self.gradients.factor * self.centred_squares(node)))

    def compare(self, node: Node, before: NDArray[np.int32], exponent: int, cap: float) -> tuple[float, float]:
        """Return how much of the centred gradient lies along an earlier one, and how much at right angles to it.

        ``cap`` is the length of the earlier one, 2^-exponent·before.
        """
        from skgraft.boosting._kernels import products

        g, held, pieces = self.gradients, self.held_of(node), pieces_of([node])
        found = np.empty((len(pieces), 2))

        def multiply(first: int, last: int) -> None:
            for k in range(first, last):
                _, a, b = pieces[k]
                found[k] = products(held, a, b, before[a - node.start : b - node.start])

        self.workers.run(multiply, len(pieces), 0.4 * node.n_rows)
        both, other = found.sum(axis=0).tolist()
        length = self.length(node)
        if cap == 0.0:
            return 0.0, length
        inner = g.weights.unit * 2.0 ** -(g.exponent + exponent) * (both - node.gradient * other / node.weight)
        along = min(abs(inner) / cap, length)
        return along, float(np.sqrt(max(0.0, length * length - along * along)))
