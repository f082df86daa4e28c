"""The loops of `_kernels` over the columns of small data, in NumPy, to the last bit; see `skgraft.boosting.loops`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array

Whole = NDArray[np.int64]


def edges_of_rows(
    block: NDArray[Any], weights: Array, max_bins: int, edges: NDArray[Any], n_edges: Whole, n_known: Whole
) -> None:
    """Find the edges of every sorted row of a block, where NaN is last; ``weights`` has no rows if all are one."""
    for f, row in enumerate(block):
        values = row[: row.size - int(np.isnan(row).sum())]
        weight = weights[f, : values.size] if weights.size else np.ones(values.size)
        ends = _ends_of_bins(values, weight, max_bins)
        n_known[f], n_edges[f] = values.size, ends.size
        edges[f, : ends.size] = _edges(values[ends - 1], values[ends], edges.dtype)


def _edges(a: NDArray[Any], b: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return edges x with a <= x < b, half-way where their precision allows it."""
    middle = (a.astype(np.float64) * 0.5 + b.astype(np.float64) * 0.5).astype(dtype)
    return np.where((a <= middle) & (middle < b), middle, a)


def _ends_of_bins(values: NDArray[Any], weight: Array, max_bins: int) -> NDArray[np.intp]:
    """Return where bins of sorted values end, but for the last: at every value, or at about equal shares."""
    ends = np.flatnonzero(values[1:] != values[:-1]) + 1
    if ends.size < max_bins:
        return ends
    starts = np.append(0, ends)
    kind = np.repeat(np.arange(starts.size), np.diff(np.append(starts, values.size)))
    weights: list[float] = np.bincount(kind, weight).tolist()
    gaps: list[float] = (values[ends].astype(np.float64) - values[ends - 1].astype(np.float64)).tolist()
    left, first = float(np.cumsum(weight)[-1]), 0
    chosen: list[int] = []
    while len(chosen) < max_bins - 1:
        end, inside = _end_of_bin(weights, gaps, first, left / (max_bins - len(chosen)))
        if end < 0:
            break
        chosen.append(end)
        left -= inside
        first = end
    return starts[chosen]


def _end_of_bin(weights: list[float], gaps: list[float], first: int, share: float) -> tuple[int, float]:
    """Return where a bin that begins at a distinct value ends, and its weight; see the kernel `end_of_bin`."""
    inside, usual, wide = 0.0, 0.0, 0.0
    end, end_weight, gap_end, gap_weight = -1, 0.0, -1, 0.0
    for i in range(first, len(weights)):
        if inside >= 1.5 * share:
            break
        here = weights[i]
        if end < 0 and inside > 0.0 and here >= share and inside + here > 1.5 * share:
            return i, inside
        inside += here
        if i == len(gaps):
            break
        if end < 0 and inside >= share:
            end, end_weight, usual = i + 1, inside, gaps[i]
        if 0.5 * share <= inside <= 1.5 * share and gaps[i] > wide:
            gap_end, gap_weight, wide = i + 1, inside, gaps[i]
    if end >= 0 and wide > 4.0 * usual:
        return gap_end, gap_weight
    return end, end_weight


def code_rows(
    block: NDArray[Any], edges: NDArray[Any], n_edges: Whole, missing: int, start: int, out: NDArray[np.uint8]
) -> None:
    """Write the bin of every value, how many edges are below it, from place ``start`` of the rows of ``out`` on."""
    for f, row in enumerate(block):
        below = np.searchsorted(edges[f, : n_edges[f]], row)
        out[f, start : start + row.size] = np.where(np.isnan(row), missing, below)
