"""The best split of every feature at every node, over dense or sparse bins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.boosting.bins import Bins, DenseBins, MixedBins, SparseBins
from skgraft.boosting.growth.entry_bound import NO_WORDS, EntryBound, Words
from skgraft.boosting.growth.plain import PlainSearch, make_ties
from skgraft.boosting.growth.rows import Node, Rows, pieces_of
from skgraft.matrix import ThreadPool

Codes = NDArray[np.int32]

SUBTRACT_FROM = 3000  # rows of a node whose histograms are kept, for one of its children to be what the other leaves
SUBTRACTION = 300  # rows whose adding up takes as long as a subtraction
# Bytes of histograms kept for the next level: the larger of both, the second a share of the bins.
LEAST_KEPT, KEPT_SHARE = 2**21, 1 / 6
# A node's histograms of more bytes than these do not stay in a cache; to keep them takes that many times as many rows.
CACHED, FROM_MEMORY = 2**24, 4

SAMPLE_SIZE = 1024  # features that tell whether most of them pass

NO_BAR = -1e300  # finite, since the compiled search knows no infinities
NOTHING = np.empty((0, 0, 0, 0), np.int64)


@dataclass(frozen=True, eq=False)
class GainThresholds:
    """What a feature must gain at a node to be of interest: its price, and what the node has without it.

    A node whose best is NaN has no bar.
    """

    price: Array | None = None
    best: Array | None = None

    def scaled(self, features: Index, nodes: list[Node], rows: Rows) -> tuple[Array, Array, Array, Array]:
        """Return both in units of whole numbers, and how far the gradients of each node reach from their mean."""
        if self.price is None or self.best is None:
            zeros = np.zeros(len(nodes))
            return np.zeros(features.size), zeros, zeros, zeros
        factor = rows.gradients.factor
        slopes = np.array([node.slopes for node in nodes])
        # gradients that are almost equal leave too little beside rounding to judge by
        none = np.isnan(self.best) | [rows.is_flat(node) for node in nodes]
        best = np.where(none, NO_BAR, self.best / factor)
        return self.price / factor, best, slopes[:, 0].copy(), slopes[:, 1].copy()

    def of(self, some: NDArray[np.bool_]) -> GainThresholds:
        """Return the thresholds of some features."""
        return self if self.price is None else GainThresholds(self.price[some], self.best)

    def at(self, which: list[int]) -> GainThresholds:
        """Return the thresholds of some nodes."""
        return self if self.best is None else GainThresholds(self.price, self.best[which])


EXACT = GainThresholds()


class Search(Protocol):
    """Finds splits in one kind of bins.

    ``sifts`` says that a bound tells which features may reach their thresholds, and ``nodes_at_once`` how many should
    be asked for at most if the gains of all features there are not to take much memory.
    """

    sifts: bool
    nodes_at_once: int

    def begin(self, rows: Rows) -> None:
        """Start a tree."""

    def next_level(self) -> None:
        """Start a level: what was kept of the present one serves the next."""

    def gains(
        self,
        features: Index,
        nodes: list[Node],
        group: str | None = None,
        *,
        keep: bool = False,
        thresholds: GainThresholds = EXACT,
    ) -> tuple[Array, Codes]:
        """Return the gain and the code of the best split, (n_nodes, n_features).

        ``group`` names features that are searched again at the next level: with ``keep`` their histograms are kept.
        Of features that do not reach the bar only that may be said, by the bar and the code -1.
        """
        ...

    def sifted(
        self, features: Index, nodes: list[Node], thresholds: GainThresholds
    ) -> tuple[Index, Array, Codes] | None:
        """Return the features that may reach their thresholds at some node, with their gains and codes.

        None if that takes a search to tell, or if they are most of them.
        """
        ...


@dataclass(frozen=True)
class Limits:
    """How large a tree may become."""

    max_depth: int
    min_samples_leaf: int


def make_search(bins: Bins, limits: Limits, workers: ThreadPool, *, compiled: bool) -> Search:
    """Return the search that these bins need; without compiled code they must be dense."""
    if isinstance(bins, DenseBins) and not compiled:
        return PlainSearch(bins, limits.min_samples_leaf)
    if isinstance(bins, MixedBins):
        return MixedSearch(bins, limits, workers)
    return DenseSearch(bins, limits, workers) if isinstance(bins, DenseBins) else SparseSearch(bins, limits, workers)


class _Kept:
    """The histograms of a group of features: those of the level before, and those of the present one."""

    def __init__(self, features: Index) -> None:
        self.features = features
        self._buffers = [np.empty(0, np.int64), np.empty(0, np.int64)]
        self.before, self.slot_before = NOTHING, dict[int, int]()
        self.now, self.slot_now = NOTHING, dict[int, int]()

    def restart(self, features: Index) -> None:
        self.features = features
        self.forget()
        self.forget()

    def forget(self) -> None:
        """Let the present level be the one before."""
        self.before, self.slot_before = self.now, self.slot_now
        self.now, self.slot_now = NOTHING, {}
        self._buffers.reverse()

    def make_room(self, nodes: list[Node], most_bytes: float, channels: int, stride: int) -> None:
        """Give slots to the nodes that are large enough, the largest first, while there is memory for them."""
        a_node = self.features.size * channels * stride
        least = SUBTRACT_FROM if 8 * a_node <= CACHED else FROM_MEMORY * SUBTRACT_FROM
        some = sorted((node for node in nodes if node.n_rows >= least), key=lambda node: -node.n_rows)
        large = [node.index for node in some[: int(most_bytes / (8 * max(1, a_node)))]]
        size = a_node * len(large)
        if not size:
            return
        if self._buffers[0].size < size:
            self._buffers[0] = np.empty(size, np.int64)
        self.now = self._buffers[0][:size].reshape(self.features.size, len(large), channels, stride)
        self.slot_now = {index: slot for slot, index in enumerate(large)}

    def place(self, features: Index) -> Index | None:
        """Return where these features are, None if some are not there."""
        if features.size == self.features.size:
            return np.arange(features.size) if np.array_equal(features, self.features) else None
        at = np.searchsorted(self.features, features)
        inside = at.size == 0 or bool(at[-1] < self.features.size and (self.features[at] == features).all())
        return at if inside else None


class DenseSearch:
    """Adds up the rows of every node, or of the smaller of two siblings where the parent's sums were kept."""

    sifts = False

    def __init__(self, bins: DenseBins, limits: Limits, workers: ThreadPool) -> None:
        self._bins = bins
        self._min_leaf = limits.min_samples_leaf
        self._crew = workers
        self._kept: dict[str, _Kept] = {}
        self._started: set[str] = set()
        self._most_kept = max(LEAST_KEPT, KEPT_SHARE * bins.n_bytes)
        # gains and codes of a node take twelve bytes a feature, and bins a byte a row; larger nodes want their siblings
        self.nodes_at_once = max(1, bins.n_rows // 128) if bins.n_rows < SUBTRACT_FROM else bins.n_rows

    def begin(self, rows: Rows) -> None:
        """Start a tree."""
        self._rows = rows
        self._started = set()

    def next_level(self) -> None:
        """Start a level."""
        for group in self._started:
            self._kept[group].forget()

    def gains(
        self,
        features: Index,
        nodes: list[Node],
        group: str | None = None,
        *,
        keep: bool = False,
        thresholds: GainThresholds = EXACT,
    ) -> tuple[Array, Codes]:
        """Return the gain and the code of the best split, (n_nodes, n_features)."""
        gains, codes = _outputs(len(nodes), features)
        if not features.size or not nodes:
            return gains, codes
        kept = None if self._bins.n_rows < SUBTRACT_FROM else self._group(group, features)
        place = None if kept is None else kept.place(features)
        if kept is None or place is None:
            self._direct(features, nodes, list(range(len(nodes))), thresholds, None, gains, codes)
        else:
            if keep:
                kept.make_room(nodes, self._most_kept, *self._cell_shape)
            pairs, alone = _pair_up(nodes, kept)
            self._direct(features, nodes, alone, thresholds, (kept, place), gains, codes)
            self._subtract(features, nodes, pairs, thresholds, (kept, place), gains, codes)
        return gains, codes

    def sifted(self, features: Index, nodes: list[Node], thresholds: GainThresholds) -> None:
        """Return None: it takes a histogram to tell."""

    def _group(self, group: str | None, features: Index) -> _Kept | None:
        if group is None:
            return None
        if group not in self._kept:
            self._kept[group] = _Kept(features)
        if group not in self._started:
            self._kept[group].restart(features)
            self._started.add(group)
        return self._kept[group]

    @property
    def _cell_shape(self) -> tuple[int, int]:
        return self._rows.gradients.weights.channels, self._bins.layout.stride

    def _share(self, search: Callable[[int, int], None], features: Index, n_rows: NDArray[np.intp]) -> None:
        """Let threads search features, up to four at once, which share the reading of gradients."""
        unit = min(4, -(-features.size // self._crew.size))
        self._crew.run(
            search, features.size, features.size * (0.1 * float(n_rows.sum()) + 40.0 * n_rows.size), unit=unit
        )

    def _common(self) -> Any:
        layout, gradients = self._bins.layout, self._rows.gradients
        return (
            layout.n_bins,
            layout.is_categorical if layout.categories else None,
            layout.stride,
            gradients.weights.shift,
            self._min_leaf / gradients.weights.unit,
        )

    def _direct(
        self,
        features: Index,
        nodes: list[Node],
        which: list[int],
        thresholds: GainThresholds,
        kept: tuple[_Kept, Index] | None,
        gains: Array,
        codes: Codes,
    ) -> None:
        from skgraft.boosting.growth._kernels import search_nodes

        if not which:
            return
        chosen = [nodes[k] for k in which]
        starts = np.array([node.start for node in chosen])
        stops = np.array([node.stop for node in chosen])
        totals = np.stack([node.total for node in chosen], axis=1)
        place = features if kept is None else kept[1]  # not looked at where nothing is kept
        stored = NOTHING if kept is None else kept[0].now
        slots = np.array([-1 if kept is None else kept[0].slot_now.get(node.index, -1) for node in chosen])
        g, c = (gains, codes) if len(which) == len(nodes) else _outputs(len(which), features)
        rows, held, common = self._rows, self._rows.held, self._common()
        scaled = thresholds.at(which).scaled(features, chosen, rows)
        kernel: Any = search_nodes

        def search(first: int, last: int) -> None:
            kernel(
                self._bins.bins, features, first, last, held, starts, stops, self._bins.is_complete, totals,
                *common, *scaled, place, slots, stored, make_workspaces(totals.shape[0], 1024), g, c,
            )  # fmt: skip
            g[:, first:last] *= rows.gradients.factor

        self._share(search, features, stops - starts)
        if g is not gains:
            gains[which], codes[which] = g, c

    def _subtract(
        self,
        features: Index,
        nodes: list[Node],
        pairs: list[tuple[Node, list[int]]],
        thresholds: GainThresholds,
        kept: tuple[_Kept, Index],
        gains: Array,
        codes: Codes,
    ) -> None:
        from skgraft.boosting.growth._kernels import search_pairs

        if not pairs:
            return
        sides = [(node, node.sibling) if node.is_left else (node.sibling, node) for node, _ in pairs]
        small = np.array([0 if a.n_rows <= b.n_rows else 1 for a, b in sides])  # type: ignore[union-attr]
        near: list[Any] = [pair[s] for pair, s in zip(sides, small, strict=True)]
        both: list[Any] = [node for pair in sides for node in pair]
        starts, stops = np.array([node.start for node in near]), np.array([node.stop for node in near])
        totals = np.stack([node.total for node in both], axis=1)
        store, place = kept
        parent_slots = np.array([store.slot_before[node.parent.index] for node in near])
        slots = np.array([store.slot_now.get(node.index, -1) for node in both])
        g, c = _outputs(len(both), features)
        rows, held, common = self._rows, self._rows.held, self._common()
        scaled = _for_both(thresholds, nodes, pairs).scaled(features, both, rows)
        kernel: Any = search_pairs

        def search(first: int, last: int) -> None:
            kernel(
                self._bins.bins, features, first, last, held, starts, stops, small, totals,
                *common, *scaled, place, parent_slots, store.before, slots, store.now,
                make_workspaces(totals.shape[0], 1024), g, c,
            )  # fmt: skip
            g[:, first:last] *= rows.gradients.factor

        self._share(search, features, stops - starts)
        for p, (_, wanted) in enumerate(pairs):
            for k in wanted:
                at = 2 * p + (0 if nodes[k].is_left else 1)
                gains[k], codes[k] = g[at], c[at]


def make_workspaces(channels: int, n_cells: int) -> Any:
    """Return room for the histograms of features, and for the work on the splits of one."""
    left, score, order = np.empty((channels, 256), np.int64), np.empty(256), np.empty(256, np.int64)
    sums, us, vs = np.empty((channels, 40), np.int64), np.empty(40), np.empty(40)
    reached, others = np.empty(40, np.bool_), np.empty(40, np.bool_)
    workspace = left, score, order, sums, us, vs, reached, others, make_ties(256)
    cells, other, coarse = (np.empty((channels, n), np.int64) for n in (n_cells, 256, 64))
    return cells, other, coarse, np.empty(4), np.empty(4, np.bool_), workspace


def _outputs(n_nodes: int, features: Index) -> tuple[Array, Codes]:
    """Return room for gains and codes."""
    shape = n_nodes, features.size
    return np.empty(shape), np.empty(shape, np.int32)


def _for_both(thresholds: GainThresholds, nodes: list[Node], pairs: list[tuple[Node, list[int]]]) -> GainThresholds:
    """Return the thresholds of both siblings of every pair; one that nobody asked for has none."""
    if thresholds.best is None:
        return thresholds
    best = np.full(2 * len(pairs), np.nan)
    for p, (_, wanted) in enumerate(pairs):
        for k in wanted:
            best[2 * p + (0 if nodes[k].is_left else 1)] = thresholds.best[k]
    return GainThresholds(thresholds.price, best)


def _pair_up(nodes: list[Node], kept: _Kept) -> tuple[list[tuple[Node, list[int]]], list[int]]:
    """Tell the nodes that are best found by subtraction, as pairs of siblings, from those to be added up."""
    by_parent: dict[int, list[int]] = {}
    alone = []
    for k, node in enumerate(nodes):
        if node.parent is not None and node.parent.index in kept.slot_before:
            by_parent.setdefault(node.parent.index, []).append(k)
        else:
            alone.append(k)
    pairs = []
    for wanted in by_parent.values():
        node = nodes[wanted[0]]
        sibling_rows = node.parent.n_rows - node.n_rows  # type: ignore[union-attr]
        if min(node.n_rows, sibling_rows) + SUBTRACTION < sum(nodes[k].n_rows for k in wanted):
            pairs.append((node, wanted))
        else:
            alone += wanted
    return pairs, sorted(alone)


class SparseSearch:
    """Goes over the stored entries once for all nodes of a level, so there is nothing to keep."""

    sifts = True

    def __init__(self, bins: SparseBins, limits: Limits, workers: ThreadPool) -> None:
        self._bins = bins
        self._min_leaf = limits.min_samples_leaf
        self._crew = workers
        # labels are numbers of nodes: as short as possible, since they are looked up in no order
        self._node_of = np.empty(bins.n_rows, np.min_scalar_type(2 ** (limits.max_depth + 1)))
        self._labels: dict[int, int] = {}
        self._entry_bound: EntryBound | None = None
        self.nodes_at_once = bins.n_rows

    def begin(self, rows: Rows) -> None:
        """Start a tree."""
        self._rows = rows
        self._labels = {}

    def next_level(self) -> None:
        """Start a level."""

    def _label(self, nodes: list[Node]) -> None:
        """Label the rows of these nodes; of two siblings the larger keeps the label of its parent, if that has one."""
        from skgraft.boosting._kernels import label_nodes

        labels = self._labels
        if not labels:
            labels[0] = 0
            self._node_of.fill(0)
        new: list[Node] = []
        for node in nodes:
            if node.index in labels:
                continue
            if node.parent is not None and node.sibling is not None and node.parent.index in labels:
                small, large = sorted((node, node.sibling), key=lambda each: each.n_rows)
                labels[large.index] = labels[node.parent.index]
            else:
                small = node
            labels[small.index] = small.index
            new.append(small)
        pieces, held = pieces_of(new), self._rows.held

        def label(first: int, last: int) -> None:
            for node, a, b in pieces[first:last]:
                label_nodes(held, a, b, new[node].index, self._node_of)

        self._crew.run(label, len(pieces), 0.4 * sum(node.n_rows for node in new))

    def gains(
        self,
        features: Index,
        nodes: list[Node],
        group: str | None = None,  # noqa: ARG002 -- nothing is kept
        *,
        keep: bool = False,  # noqa: ARG002
        thresholds: GainThresholds = EXACT,
    ) -> tuple[Array, Codes]:
        """Return the gain and the code of the best split, (n_nodes, n_features)."""
        _, gains, codes = self._search(features, nodes, thresholds, NO_WORDS)
        return gains, codes

    def sifted(
        self, features: Index, nodes: list[Node], thresholds: GainThresholds
    ) -> tuple[Index, Array, Codes] | None:
        """Return the features whose entries have gradients large enough for their thresholds, with gains and codes."""
        from skgraft.boosting.growth._kernels import count_reaching

        price, best, _, _ = thresholds.scaled(features, nodes, self._rows)
        wanted = price.min(initial=np.inf) + best
        if self._entry_bound is None:
            self._entry_bound = EntryBound(self._bins, self._rows, self._min_leaf, self._crew)
        if not self._entry_bound.is_of_use or not (wanted > 0.0).all():
            return None
        packed_bounds = self._entry_bound.packed_bounds(self._rows, nodes, wanted)
        some = -(-features.size // SAMPLE_SIZE)
        if 2 * some * count_reaching(self._bins.starts, self._bins.rows, features, some, packed_bounds) > features.size:
            return None
        return self._search(features, nodes, thresholds, packed_bounds)

    def _search(
        self, features: Index, nodes: list[Node], thresholds: GainThresholds, packed_bounds: Words
    ) -> tuple[Index, Array, Codes]:
        """Return the features that the packed bounds let pass, with their gains and codes."""
        from skgraft.boosting.growth._kernels import search_sparse

        gains, codes = _outputs(len(nodes), features)
        if not features.size or not nodes:
            return features, gains, codes
        bins, layout, gradients = self._bins, self._bins.layout, self._rows.gradients
        self._label(nodes)
        slots = np.full(max(self._labels.values()) + 1, len(nodes))
        slots[[self._labels[node.index] for node in nodes]] = np.arange(len(nodes))
        totals = np.stack([node.total for node in nodes], axis=1)
        min_leaf = self._min_leaf / gradients.weights.unit
        scaled = thresholds.scaled(features, nodes, self._rows)
        sums = np.array([node.gradient for node in nodes]), np.array([node.weight for node in nodes])
        categorical = layout.is_categorical if layout.categories else None
        held, listed = self._rows.held, np.empty_like(features)
        kernel: Any = search_sparse
        ends: dict[int, int] = {}

        def search(first: int, last: int) -> None:
            end = ends[first] = kernel(
                bins.starts, bins.rows, bins.bins, bins.zero, features, first, last, self._node_of, slots, held,
                totals, *sums, layout.n_bins, categorical, gradients.weights.shift, min_leaf,
                *scaled, packed_bounds, make_workspaces(totals.shape[0], (len(nodes) + 1) * layout.stride), listed,
                gains, codes,
            )  # fmt: skip
            gains[:, first:end] *= gradients.factor

        work = 0.5 * bins.rows.size / max(1, layout.n_features) + 20.0 * len(nodes)  # of a feature
        self._crew.run(search, features.size, features.size * work, unit=min(16, max(1, int(10_000 / work))))
        if packed_bounds is NO_WORDS:
            return features, gains, codes
        passed = np.concatenate([np.arange(first, ends[first]) for first in sorted(ends)])
        return listed[passed], gains[:, passed], codes[:, passed]


class MixedSearch:
    """Searches every feature in the way of its kind."""

    sifts = False

    def __init__(self, bins: MixedBins, limits: Limits, workers: ThreadPool) -> None:
        self._bins = bins
        self._kinds: list[tuple[bool, Search]] = [
            (False, DenseSearch(bins.dense, limits, workers)),
            (True, SparseSearch(bins.sparse, limits, workers)),
        ]
        self.nodes_at_once = min(search.nodes_at_once for _, search in self._kinds)

    def begin(self, rows: Rows) -> None:
        """Start a tree."""
        for _, search in self._kinds:
            search.begin(rows)

    def next_level(self) -> None:
        """Start a level."""
        for _, search in self._kinds:
            search.next_level()

    def gains(
        self,
        features: Index,
        nodes: list[Node],
        group: str | None = None,
        *,
        keep: bool = False,
        thresholds: GainThresholds = EXACT,
    ) -> tuple[Array, Codes]:
        """Return the gain and the code of the best split, (n_nodes, n_features)."""
        gains, codes = _outputs(len(nodes), features)
        for is_sparse, search in self._kinds:
            its = self._bins.is_sparse[features] == is_sparse
            place = self._bins.place[features[its]]
            gains[:, its], codes[:, its] = search.gains(place, nodes, group, keep=keep, thresholds=thresholds.of(its))
        return gains, codes

    def sifted(self, features: Index, nodes: list[Node], thresholds: GainThresholds) -> None:
        """Return None: the columns that are not sparse take the time."""
