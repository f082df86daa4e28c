"""Growing one tree under prices, level by level (Xu et al. 2014, Algorithm 1, line 4)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.boosting.bins import Bins
from skgraft.boosting.feature_prices import Change, FeaturePrices
from skgraft.boosting.growth.plain import make_ties
from skgraft.boosting.growth.rows import Cut, Gradients, Node, Parted, Rows, Weights, Workspace
from skgraft.boosting.growth.screening import MOST_IF_CHEAP, MOST_SURVIVORS, Screen
from skgraft.boosting.growth.search import EXACT, SUBTRACT_FROM, GainThresholds, Limits, Search, make_search
from skgraft.boosting.loops import loops_over_categories
from skgraft.matrix import ThreadPool


@dataclass(frozen=True, eq=False)
class Split:
    """How a node is split: the feature, the bins that go left, and the gain."""

    feature: int
    code: int
    goes_left: NDArray[np.bool_]
    gain: float
    sees_missing: bool = False


@dataclass(eq=False)
class Grown:
    """A tree in bins: its splits by node, its leaves, and the rows in their order."""

    rows: Rows
    nodes: list[Node]
    splits: dict[int, Split] = field(default_factory=dict)
    children: dict[int, tuple[int, int]] = field(default_factory=dict)
    leaves: list[Node] = field(default_factory=list)
    root_gains: tuple[Index, Array] | None = None  # of the priced features, where only some were searched

    @property
    def is_stump(self) -> bool:
        """Whether nothing was split."""
        return not self.splits

    def n_samples(self) -> NDArray[np.int64]:
        """Return how many training rows each node has."""
        counts = np.zeros(len(self.nodes), np.int64)
        for leaf in self.leaves:
            counts[leaf.index] = self.rows.count(leaf)
        for index in sorted(self.children, reverse=True):
            counts[index] = counts[list(self.children[index])].sum()
        return counts


@dataclass(frozen=True, eq=False)
class Table:
    """Gains of some features at one node."""

    features: Index
    gains: Array
    codes: NDArray[np.int32]

    def worth(self, costs: Array, best: float) -> Table:
        """Return the features with a split that gains no less than it costs and ``best``; the first, if none.

        They are few.  If a price falls later, its feature is searched again.
        """
        some = np.flatnonzero((self.codes >= 0) & (self.gains - costs >= best))
        some = some if some.size else np.zeros(1, np.intp)
        return Table(self.features[some], self.gains[some], self.codes[some])


class Kinds(NamedTuple):
    """Features by what they cost: free from the start of a tree, free since then, and priced, with their prices."""

    price: Array
    free: Index
    freed: Index
    priced: Index
    costs: Array


def split_by_price(
    price: Array, searchable: NDArray[np.bool_], may: NDArray[np.bool_], free: Index | None = None
) -> Kinds:
    """Sort features by their prices; ``free`` are those that were free at the start of the tree, if that is over."""
    is_free = (price == 0.0) & searchable
    priced = np.flatnonzero((price > 0.0) & (price < np.inf) & may)
    if free is None:
        return Kinds(price, np.flatnonzero(is_free), np.empty(0, np.intp), priced, price[priced])
    still = free[is_free[free]]
    is_free[still] = False
    return Kinds(price, still, np.flatnonzero(is_free), priced, price[priced])


class Grower:
    """Grows trees over the same bins."""

    def __init__(
        self,
        bins: Bins,
        limits: Limits,
        weights: Weights,
        workers: ThreadPool,
        *,
        screening: bool,
        compiled: bool = True,
    ) -> None:
        self.bins = bins
        self.workers = workers
        self.compiled = compiled
        self._limits = limits
        self._search: Search = make_search(bins, limits, workers, compiled=compiled)
        layout = bins.layout
        self._searchable = bins.may_split(weights.u, limits.min_samples_leaf / weights.unit, workers)
        self.screen = Screen(layout.n_features, layout.is_categorical, bins.n_bytes) if screening else None
        self._rooms: list[Workspace] = []
        self._last_kinds: Kinds | None = None

    def kinds(self, price: Array, pool: NDArray[np.bool_] | None) -> Kinds:
        """Return the kinds of features at the start of a tree; where nothing was bought they are those of the last."""
        if pool is not None:
            return split_by_price(price, self._searchable, self._searchable & pool)
        if self._last_kinds is None or self._last_kinds.price is not price:
            self._last_kinds = split_by_price(price, self._searchable, self._searchable)
        return self._last_kinds

    def forget_kinds(self) -> None:
        """Let go of kinds that prices have overtaken."""
        self._last_kinds = None

    def begin(self, gradients: Gradients) -> Rows:
        """Return the rows of a new tree, in a room that is free."""
        workspace = self._rooms.pop() if self._rooms else np.empty((2, gradients.z.size), np.uint64)
        return Rows(gradients, workspace, self.workers, compiled=self.compiled)

    def end(self, rows: Rows, nodes: Sequence[Node] = ()) -> None:
        """Let another tree have the room of these rows, and go of nodes, which siblings hold otherwise."""
        self._rooms.append(rows.workspace)
        for node in nodes:
            node.sibling = None

    def root_gains(self, gradients: Gradients, output: int) -> Array:
        """Return the best gain of every feature at the root."""
        rows = self.begin(gradients)
        root = rows.root(output)
        features = np.flatnonzero(self._searchable)
        out = np.zeros(self._searchable.size)
        if not self._can_split(rows, root):
            return out
        self._search.begin(rows)
        gains, _ = self._search.gains(features, [root])
        out[features] = gains[0]
        if self.screen is not None:
            self.screen.remember(rows, root, features, gains[0])
        self.end(rows)
        return out

    def grow(
        self,
        gradients: Gradients,
        feature_prices: FeaturePrices,
        at: tuple[int, int],
        pool: NDArray[np.bool_] | None = None,
    ) -> Grown:
        """Grow a tree and buy what it uses.

        Parameters
        ----------
        gradients : Gradients
            What the tree is to follow.
        feature_prices : FeaturePrices
            Prices; purchases change it.
        at : tuple of int
            The round and the output, for the feature_prices's log.
        pool : ndarray of bool, optional
            The priced features to search; by default all.
        """
        return _Growth(self, gradients, feature_prices, at, pool).run()

    def _can_split(self, rows: Rows, node: Node) -> bool:
        return node.weight * rows.gradients.weights.unit >= 2 * self._limits.min_samples_leaf


class _Growth:
    """One tree on its way."""

    def __init__(
        self,
        grower: Grower,
        gradients: Gradients,
        feature_prices: FeaturePrices,
        at: tuple[int, int],
        pool: NDArray[np.bool_] | None,
    ) -> None:
        self._grower = grower
        self._feature_prices = feature_prices
        self._at = at
        self._rows = grower.begin(gradients)
        self._may = grower._searchable if pool is None else grower._searchable & pool  # noqa: SLF001
        self._pool = pool
        self._search = grower._search  # noqa: SLF001
        self._search.begin(self._rows)
        if grower.screen is not None:
            grower.screen.begin(at[1])
        self._kinds = grower.kinds(feature_prices.price, pool)
        self._grown = Grown(self._rows, [self._rows.root(at[1])])

    def run(self) -> Grown:
        level = list(self._grown.nodes)
        for depth in range(self._grower._limits.max_depth):  # noqa: SLF001
            level = self._grow_level(level, last=depth == self._grower._limits.max_depth - 1)  # noqa: SLF001
            if not level:
                break
            self._search.next_level()
        self._grown.leaves += level
        return self._grown

    def _grow_level(self, level: list[Node], *, last: bool) -> list[Node]:
        """Split the nodes of a level from left to right; what one buys is free for the next."""
        if level[0].parent is not None:
            self._rows.node_sums(level)
        nodes = [node for node in level if self._grower._can_split(self._rows, node)]  # noqa: SLF001
        tables = self._tables(nodes, keep=not last)
        at = {node.index: k for k, node in enumerate(nodes)}
        chosen: list[tuple[Node, Split]] = []
        for node in level:
            k = at.get(node.index)
            split = None if k is None else self._choose(node, tables[k])
            if split is None:
                self._grown.leaves.append(node)
                continue
            if not self._feature_prices.selected[split.feature]:
                changed = self._feature_prices.buy(split.feature, split.gain, self._at)
                self._update(nodes, tables, (k or 0) + 1, changed)
            chosen.append((node, split))
        return self._apply(chosen)

    # --- candidates ---

    def _tables(self, nodes: list[Node], *, keep: bool, again: bool = False) -> list[list[Table]]:
        """Search the free features at every node, and the others where they may win."""
        tables: list[list[Table]] = [[] for _ in nodes]
        if self._kinds.price is not self._feature_prices.price:
            free = self._kinds.free
            self._grower.forget_kinds()
            self._kinds = split_by_price(self._feature_prices.price, self._grower._searchable, self._may, free)  # noqa: SLF001
        self._add(tables, self._kinds.free, nodes, None if again else "free", keep=keep)
        self._add(tables, self._kinds.freed, nodes)
        if self._kinds.priced.size:
            self._add_priced(tables, nodes, keep=keep, again=again)
        return tables

    def _add(
        self,
        tables: list[list[Table]],
        features: Index,
        nodes: list[Node],
        group: str | None = None,
        *,
        keep: bool = False,
        thresholds: GainThresholds = EXACT,
    ) -> None:
        if features.size and nodes:
            gains, codes = self._search.gains(features, nodes, group, keep=keep, thresholds=thresholds)
            self._add_found(tables, range(len(nodes)), features, gains, codes)

    @staticmethod
    def _add_found(
        tables: list[list[Table]], at: Sequence[int], features: Index, gains: Array, codes: NDArray[np.int32]
    ) -> None:
        """Add what was found at the nodes with these numbers."""
        if features.size:
            for i, k in enumerate(at):
                tables[k].append(Table(features, gains[i], codes[i]))

    def _add_priced(self, tables: list[list[Table]], nodes: list[Node], *, keep: bool, again: bool) -> None:
        """Search the priced features where they may win: the few that are not screened or pass a bound, or all."""
        screen, costs = self._grower.screen, self._kinds.costs
        bests = np.array([max((float(table.gains.max()) for table in its), default=0.0) for its in tables])
        where = list(range(len(nodes)))
        if screen is not None:
            screen.meet(nodes)
            lowest = costs.min()
            where = [k for k in where if self._explores(nodes[k]) or self._rows.spread(nodes[k]) >= lowest + bests[k]]
        if screen is not None and not again:
            where = [k for k in where if not self._add_survivors(tables[k], nodes[k], bests[[k]], screen, keep=keep)]
        if screen is not None and self._pool is None and where:
            its, thresholds = [nodes[k] for k in where], GainThresholds(costs, bests[where])
            sifted = self._search.sifted(self._kinds.priced, its, thresholds)
            if sifted is not None:
                self._add_found(tables, where, *sifted)
                return
        self._add_all(tables, nodes, where, bests, screen, None if again else "priced", keep=keep)

    def _explores(self, node: Node) -> bool:
        """Whether the gains at a node are wanted for their own sake: exploring, those at the root."""
        return self._pool is not None and node.parent is None

    def _add_survivors(self, table: list[Table], node: Node, best: Array, screen: Screen, *, keep: bool) -> bool:
        """Search the priced features that are not screened at a node, if they are few; return whether they are."""
        if self._explores(node):
            return False
        price, priced = self._kinds.price, self._kinds.priced
        left = screen.survivors(self._rows, node, priced, price, float(best[0]))
        cheap = self._search.sifts or (keep and node.n_rows >= SUBTRACT_FROM)  # is a search of all
        most = MOST_IF_CHEAP if cheap else MOST_SURVIVORS
        if left.size > most * priced.size:
            return False
        self._add_found(
            [table], [0], left, *self._search.gains(left, [node], thresholds=GainThresholds(price[left], best))
        )
        return True

    def _add_all(
        self,
        tables: list[list[Table]],
        nodes: list[Node],
        where: list[int],
        bests: Array,
        screen: Screen | None,
        group: str | None,
        *,
        keep: bool,
    ) -> None:
        """Search all priced features at some nodes, and remember what they gain where that is of use."""
        at_once = self._search.nodes_at_once
        if len(where) > at_once:
            for k in range(0, len(where), at_once):
                self._add_all(tables, nodes, where[k : k + at_once], bests, screen, group, keep=keep)
            return
        priced, its = self._kinds.priced, [nodes[k] for k in where]
        lasting = [screen is None or self._pool is not None or screen.is_lasting(node) for node in its]
        # what is remembered must be what a feature gains, not only that it is too little
        thresholds = (
            EXACT if all(lasting) else GainThresholds(self._kinds.costs, np.where(lasting, np.nan, bests[where]))
        )
        searched: list[list[Table]] = [[] for _ in where]
        self._add(searched, priced, its, group, keep=keep, thresholds=thresholds)
        for k, node, lasts, (table,) in zip(where, its, lasting, searched, strict=True):
            tables[k].append(table.worth(self._kinds.costs, bests[k]))
            if self._explores(node):
                self._grown.root_gains = table.features, table.gains
            if screen is not None and self._pool is None and lasts:
                screen.remember(self._rows, node, priced, table.gains)

    def _update(self, nodes: list[Node], tables: list[list[Table]], first: int, changed: Change) -> None:
        """Let the nodes to come see the new prices."""
        rest = nodes[first:]
        if not rest:
            return
        if changed.free_rose:
            # what was out of reach of a free feature may now be within reach
            tables[first:] = self._tables(rest, keep=False, again=True)
            return
        fallen = changed.fallen[self._may[changed.fallen] | (self._feature_prices.price[changed.fallen] == 0.0)]
        fallen = fallen[self._grower._searchable[fallen]]  # noqa: SLF001
        found: list[list[Table]] = [[] for _ in rest]
        self._add(found, fallen, rest)
        for k in range(len(rest)):
            tables[first + k] += found[k]

    # --- choice ---

    def _choose(self, node: Node, tables: list[Table]) -> Split | None:
        """Return the split with the largest gain after its price; of equal ones that of the first feature."""
        best, chosen = self._rows.gradients.least_gain, None
        for table in tables:
            net, i = self._best_net(table)
            feature = int(table.features[i])
            if net > best or (chosen is not None and net == best and feature < chosen[0]):
                best, chosen = net, (feature, int(table.codes[i]), float(table.gains[i]))
        return None if chosen is None else self._split(node, *chosen)

    def _best_net(self, table: Table) -> tuple[float, int]:
        """Return the largest gain after its price, and the first place that has it."""
        n, best_net = table.features.size, self._rows.loops.best_net
        found: list[tuple[float, int]] = []

        def look(first: int, last: int) -> None:
            found.append(best_net(table.features, table.gains, table.codes, self._feature_prices.price, first, last))

        self._grower.workers.run(look, n, 0.4 * n)
        net, place = max(found, key=lambda each: (each[0], -each[1]))
        return net, place

    def _split(self, node: Node, feature: int, code: int, gain: float) -> Split:
        layout = self._grower.bins.layout
        goes_left = np.zeros(256, bool)
        if feature in layout.categories:
            goes_left[self._left_categories(node, feature, code)] = True
        else:
            goes_left[: code // 2 + 1] = True
            goes_left[layout.missing] = code % 2 == 1
        return Split(feature, code, goes_left, gain)

    def _left_categories(self, node: Node, feature: int, code: int) -> Index:
        """Order the categories as the search did, and return those of the left side."""
        layout, rows = self._grower.bins.layout, self._rows
        cells = np.zeros((rows.gradients.weights.channels, layout.stride), np.int64)
        weights = rows.gradients.weights
        shift, min_leaf = weights.shift, self._grower._limits.min_samples_leaf / weights.unit  # noqa: SLF001
        column = self._grower.bins.column(feature)
        rows.loops.category_histogram(column, rows.held, shift, node.start, node.stop, cells)
        order, mean = np.empty(layout.stride, np.int64), np.empty(layout.stride)
        loops_over_categories(compiled=self._grower.compiled).order_categories(
            cells, 0, layout.n_bins[feature], layout.stride, node.gradient, node.weight, shift, min_leaf, order, mean,
            make_ties(layout.stride),
        )  # fmt: skip
        return order[: code + 1]

    def _apply(self, chosen: list[tuple[Node, Split]]) -> list[Node]:
        """Part the rows of nodes; return the children in their order."""
        grown, categories = self._grown, self._grower.bins.layout.categories
        children: list[Node] = []
        for (node, split), parts in zip(chosen, self._rows.split(self._cuts(chosen)), strict=True):
            left, right = parts.left, parts.right
            left.index, right.index = len(grown.nodes), len(grown.nodes) + 1
            finish = self._with_other_categories if split.feature in categories else self._with_gap
            grown.splits[node.index] = finish(node, split, parts)
            grown.children[node.index] = (left.index, right.index)
            grown.nodes += [left, right]
            children += [left, right]
        return children

    def _cuts(self, chosen: list[tuple[Node, Split]]) -> list[Cut]:
        bins = self._grower.bins
        cuts = []
        for node, split in chosen:
            is_set = split.feature in bins.layout.categories
            mark: Hashable = (split.feature, split.goes_left.tobytes() if is_set else split.code)
            cuts.append(Cut(node, bins.column(split.feature), split.goes_left, mark))
        return cuts

    def _with_other_categories(self, node: Node, split: Split, parted: Parted) -> Split:
        """Say where categories go that the node has not."""
        # with the heavier child, as missing values that the node never saw
        goes_left = np.where(parted.present, split.goes_left, self._rows.is_left_heavier(node, parted.left))
        return replace(split, goes_left=goes_left, sees_missing=bool(parted.present[self._missing]))

    def _with_gap(self, node: Node, split: Split, parted: Parted) -> Split:
        """Say where values in the gap between both sides go: about half of it to the left."""
        layout, feature, b = self._grower.bins.layout, split.feature, split.code // 2
        edges = layout.edges.of(feature)
        goes_left = split.goes_left.copy()
        goes_left[: self._rows.loops.end_of_left(parted.present, b, layout.n_bins[feature], edges)] = True
        has_missing = bool(parted.present[self._missing])
        if not has_missing:
            goes_left[self._missing] = self._rows.is_left_heavier(node, parted.left)
        return Split(feature, split.code, goes_left, split.gain, has_missing)

    @property
    def _missing(self) -> int:
        return self._grower.bins.layout.missing
