"""The search for splits in small data, in NumPy, to the last bit; see `skgraft.boosting.loops`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.boosting.bins import DenseBins
from skgraft.boosting.growth.rows import Node, Rows
from skgraft.boosting.plain import amounts, rows_and_gradients

Whole = NDArray[np.int64]
Codes = NDArray[np.int32]

CELLS_AT_ONCE = 2**17  # of histograms: arrays of so many numbers stay in a cache


def decode(cells: Whole, shift: int) -> tuple[Array, Array]:
    """Return sums of gradients and weights of cells, whose channels come first."""
    if shift == 0:
        return cells[0].astype(np.float64), cells[1].astype(np.float64)
    half, mask = 1 << (shift - 1), (1 << shift) - 1
    q = ((cells[0] + half) & mask) - half
    return q.astype(np.float64), ((cells[0] - q) >> shift).astype(np.float64)


def scores(cells: Whole, shift: int, total_q: Any, total_u: Any, min_leaf: float) -> Array:
    """Return V²/(u_L·u_R) of splits whose left sides are these cells, 0 where a side is too light; Xu et al., eq. 14.

    See the kernel `score_splits`.
    """
    q, u = decode(cells, shift)
    rest = total_u - u
    v = q - total_q / total_u * u
    score = v * v / np.maximum(u * rest, 1.0)
    return np.where(np.minimum(u, rest) >= min_leaf, score, 0.0)


def order_categories(
    cells: Whole,
    at: int,
    n_bins: int,
    stride: int,
    total_q: float,
    total_u: float,
    shift: int,
    min_leaf: float,
    order: Whole,
    mean: Array,
    ties: Any,
) -> int:
    """List the categories that have rows, by their mean gradient and then by number; missing values are one more."""
    weight, taken, chosen = ties
    bins = np.append(np.arange(n_bins), stride - 1)
    q, u = decode(cells[:, at + bins], shift)
    bins, q, u = bins[u > 0.0], q[u > 0.0], u[u > 0.0]
    by_mean = np.argsort(q / u, kind="stable")
    n = bins.size
    order[:n], mean[:n], weight[:n] = bins[by_mean], (q / u)[by_mean], u[by_mean]
    means, weights = mean[:n].tolist(), weight[:n].tolist()
    centre = total_q / total_u
    first, before, v = 0, 0.0, 0.0
    while first < n:
        last, inside, slope = first, 0.0, 0.0
        while last < n and means[last] <= means[first] + 1.0:
            inside += weights[last]
            slope += weights[last] * (means[last] - centre)
            last += 1
        after = before + inside
        if last - first > 1 and (before < min_leaf < after or before < total_u - min_leaf < after):
            # rare, and no work for NumPy
            from skgraft.boosting.growth._kernels import order_equals

            order_equals(order, weight, first, last, before, v, slope / inside, total_u, min_leaf, taken, chosen)
        first, before, v = last, after, v + slope
    return n


def make_ties(n: int) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return room for the order of so many categories."""
    return np.empty(n), np.empty(n, np.bool_), np.empty(n, np.bool_)


class PlainSearch:
    """Searches small data: all nodes and features at once, and says what every feature gains."""

    sifts = False

    def __init__(self, bins: DenseBins, min_samples_leaf: int) -> None:
        self._bins = bins
        self._min_leaf = min_samples_leaf
        self._has_missing = ~bins.is_complete
        self.nodes_at_once = bins.n_rows

    def begin(self, rows: Rows) -> None:
        """Start a tree."""
        self._rows = rows

    def next_level(self) -> None:
        """Start a level."""

    def sifted(self, features: Index, nodes: list[Node], thresholds: Any) -> None:
        """Return None: it takes a histogram to tell."""

    def gains(
        self,
        features: Index,
        nodes: list[Node],
        group: str | None = None,  # noqa: ARG002 -- nothing is kept
        *,
        keep: bool = False,  # noqa: ARG002
        thresholds: Any = None,  # noqa: ARG002
    ) -> tuple[Array, Codes]:
        """Return the gain and the code of the best split, (n_nodes, n_features)."""
        gains, codes = np.zeros((len(nodes), features.size)), np.full((len(nodes), features.size), -1, np.int32)
        if not features.size or not nodes:
            return gains, codes
        parts = [rows_and_gradients(self._rows.held, node.start, node.stop) for node in nodes]
        place = np.repeat(np.arange(len(nodes)), [node.n_rows for node in nodes])
        rows, q = np.concatenate([each[0] for each in parts]), np.concatenate([each[1] for each in parts])
        weights = self._rows.gradients.weights
        amount = amounts(rows, q, weights.u, weights.shift)
        width = max(1, CELLS_AT_ONCE // (len(nodes) * self._bins.layout.stride))
        for first in range(0, features.size, width):
            its = slice(first, first + width)
            cells = self._histograms(features[its], rows, place, amount, len(nodes))
            gains[:, its], codes[:, its] = self._best(cells, features[its], nodes)
        gains *= self._rows.gradients.factor
        return gains, codes

    def _histograms(self, features: Index, rows: Index, place: Index, amount: Whole, n_nodes: int) -> Whole:
        """Return the cells of features at nodes, (channels, n_nodes, n_features, stride)."""
        stride, n = self._bins.layout.stride, features.size
        at = self._bins.bins[features][:, rows] + (place * (n * stride))[None] + (np.arange(n) * stride)[:, None]
        cells = np.zeros((len(amount), n_nodes * n * stride), np.int64)
        for cell, each in zip(cells, amount, strict=True):
            np.add.at(cell, at.ravel(), np.broadcast_to(each, at.shape).ravel())
        return cells.reshape(len(amount), n_nodes, n, stride)

    def _best(self, cells: Whole, features: Index, nodes: list[Node]) -> tuple[Array, Codes]:
        """Return gains, in whole numbers, and codes; of equal splits the lowest bin, then missing values right."""
        weights = self._rows.gradients.weights
        min_leaf = self._min_leaf / weights.unit
        total_q = np.array([node.gradient for node in nodes])[:, None, None]
        total_u = np.array([node.weight for node in nodes])[:, None, None]
        left = np.cumsum(cells[..., :-1], axis=-1)
        # some known value must go left: missing values alone are split off to the right
        some = left[-1] != 0
        score = np.where(some, scores(left, weights.shift, total_q, total_u, min_leaf), 0.0)
        at = score.argmax(axis=-1)
        best = np.take_along_axis(score, at[..., None], -1)[..., 0]
        codes = np.where(best > 0.0, 2 * at, -1)
        other = self._has_missing[features]
        if other.any():
            with_missing = left[:, :, other] + cells[:, :, other, -1:]
            score = scores(with_missing, weights.shift, total_q, total_u, min_leaf)
            score = np.where(some[:, other] & (cells[-1][:, other, -1:] != 0), score, 0.0)
            at_left = score.argmax(axis=-1)
            best_left = np.take_along_axis(score, at_left[..., None], -1)[..., 0]
            wins = best_left > best[:, other]
            wins |= (best_left == best[:, other]) & (best_left > 0.0) & (at_left < at[:, other])
            best[:, other] = np.where(wins, best_left, best[:, other])
            codes[:, other] = np.where(wins, 2 * at_left + 1, codes[:, other])
        gains = best * total_u[:, :, 0]
        for f in np.flatnonzero(self._bins.layout.is_categorical[features]):
            n_bins = int(self._bins.layout.n_bins[features[f]])
            for k, node in enumerate(nodes):
                gains[k, f], codes[k, f] = self._best_set(cells[:, k, f], n_bins, node, min_leaf)
        return gains, codes.astype(np.int32)

    def _best_set(self, cells: Whole, n_bins: int, node: Node, min_leaf: float) -> tuple[float, int]:
        """Return the gain of the best set of categories in their order, and its size less one."""
        shift, stride = self._rows.gradients.weights.shift, cells.shape[1]
        order, mean = np.empty(stride, np.int64), np.empty(stride)
        n = order_categories(
            cells, 0, n_bins, stride, node.gradient, node.weight, shift, min_leaf, order, mean, make_ties(stride)
        )
        if n < 2:
            return 0.0, -1
        left = np.cumsum(cells[:, order[: n - 1]], axis=1)
        score = scores(left, shift, node.gradient, node.weight, min_leaf)
        at = int(score.argmax())
        return float(score[at]) * node.weight, at if score[at] > 0.0 else -1
