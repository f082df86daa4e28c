"""The loops of `_kernels` in NumPy: small data are done before a compiler would be.

Each does what the kernel of its name does, to the last bit (see `skgraft.boosting.loops`): whole numbers are exact, and
real ones are added up in the same order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index

Whole = NDArray[np.int64]
Entries = NDArray[np.uint64]
Held = tuple[NDArray[np.int32], Entries, Whole, bool]

HALF_WORD = np.uint64(32)


def in_order(values: Array) -> float:
    """Return a sum whose terms were added from the first to the last, as in a loop."""
    return float(np.cumsum(values)[-1]) if values.size else 0.0


def rows_and_gradients(held: Held, first: int, last: int) -> tuple[Index, Whole]:
    """Return the numbers of the rows first:last of nodes, and their quantised gradients."""
    z, entries, _, whole = held
    if whole:
        return np.arange(first, last), z[first:last].astype(np.int64)
    some = entries[first:last]
    return (some >> HALF_WORD).astype(np.intp), some.astype(np.uint32).view(np.int32).astype(np.int64)


def amounts(rows: Index, q: Whole, u: Whole, shift: int) -> Whole:
    """Return what rows add to a histogram, channels by rows."""
    weight = u[rows] if u.size else np.ones_like(q)
    if shift > 0:
        return (weight * ((1 << shift) + q))[None]
    return np.stack([weight * q, weight])


def quantise(g: Array, first: int, last: int, scale: float, z: NDArray[np.int32]) -> None:
    """Write gradients as whole numbers."""
    z[first:last] = np.rint(g[first:last] * scale)


def count_left(column: NDArray[np.uint8], goes_left: NDArray[np.bool_], held: Held, first: int, last: int) -> int:
    """Return how many of the rows go left."""
    return int(goes_left[column[rows_and_gradients(held, first, last)[0]]].sum())


def partition_rows(
    column: NDArray[np.uint8],
    goes_left: NDArray[np.bool_],
    held: Held,
    first: int,
    last: int,
    left: int,
    right: int,
    out: Entries,
    present: NDArray[np.bool_],
) -> int:
    """Write the rows that go left forwards and the others backwards; return where the next on the left would be."""
    z, entries, _, whole = held
    rows, _ = rows_and_gradients(held, first, last)
    some = entries[first:last]
    if whole:
        some = (rows.astype(np.uint64) << HALF_WORD) | z[first:last].view(np.uint32).astype(np.uint64)
    b = column[rows]
    present[b] = True
    goes = goes_left[b]
    middle = left + int(goes.sum())
    out[left:middle] = some[goes]
    out[right + 1 - (last - first - (middle - left)) : right + 1] = some[~goes][::-1]
    return middle


def end_of_left(present: NDArray[np.bool_], b: int, n_bins: int, edges: NDArray[Any]) -> int:
    """Return the first bin that goes right where bin b is the last on the left that has rows."""
    others = np.flatnonzero(present[b + 1 : n_bins])
    if not others.size:
        return n_bins
    other = b + 1 + int(others[0])
    between = edges[b:other].astype(np.float64)
    middle = 0.5 * between[0] + 0.5 * between[-1]
    return b + 1 + int(np.argmin(np.abs(between - middle)))


def sum_node(held: Held, shift: int, first: int, last: int, total: Whole) -> tuple[float, float, int, int]:
    """Add up the rows first:last as a histogram does; return Σ u·z² and the least and greatest z."""
    rows, q = rows_and_gradients(held, first, last)
    u = held[2]
    total[:] = amounts(rows, q, u, shift).sum(axis=1)
    low, high = int(q.min()), int(q.max())
    if u.size:
        return 0.0, in_order((u[rows] * q).astype(np.float64) * q.astype(np.float64)), low, high
    squares = q * q
    return float((squares >> 32).sum()), float((squares & (2**32 - 1)).sum()), low, high


def category_histogram(column: NDArray[np.uint8], held: Held, shift: int, first: int, last: int, cells: Whole) -> None:
    """Add the rows of a node to the cells of one feature."""
    rows, q = rows_and_gradients(held, first, last)
    for cell, amount in zip(cells, amounts(rows, q, held[2], shift), strict=True):
        np.add.at(cell, column[rows], amount)


def leaf_sums(
    g: Array, h: Array, w: Array, scale: float, held: Held, first: int, last: int
) -> tuple[float, float, float]:
    """Return Σ w·g, Σ w·h and Σ w over rows of a leaf, in their order; no w means that all are 1."""
    rows, _ = rows_and_gradients(held, first, last)
    its, p = g[rows], np.abs(g[rows])
    curvature = h[rows] if h.size else scale * p * (1.0 - p)
    if not w.size:
        return in_order(its), in_order(curvature), float(last - first)
    weight = w[rows]
    return in_order(weight * its), in_order(weight * curvature), in_order(weight)


def add_to_rows(f: Array, held: Held, first: int, last: int, value: float) -> None:
    """Add a leaf's value to the scores of its rows."""
    f[rows_and_gradients(held, first, last)[0]] += value


def best_net(
    features: Index, gains: Array, codes: NDArray[np.int32], price: Array, first: int, last: int
) -> tuple[float, int]:
    """Return the largest gain after its price of features first:last, and the first place that has it."""
    its = slice(first, last)
    net = np.where(codes[its] >= 0, gains[its] - price[features[its]], -np.inf)
    at = int(np.argmax(net))
    return float(net[at]), first + at


def add_trees(
    X: NDArray[Any],
    first: int,
    last: int,
    roots: Whole,
    outputs: Whole,
    feature: Whole,
    threshold: Array,
    left: Whole,
    right: Whole,
    value: Array,
    missing_left: NDArray[np.bool_],
    table: Whole,
    tables: NDArray[np.bool_],
    out: Array,
) -> None:
    """Add the values of trees to the scores of rows first:last, tree by tree."""
    rows = np.repeat(np.arange(first, last)[:, None], roots.size, axis=1)
    node = np.repeat(roots[None], last - first, axis=0)
    while (inner := feature[node] >= 0).any():
        at = node[inner]
        x = X[rows[inner], feature[at]].astype(np.float64)
        known = ~np.isnan(x)
        goes_left = np.where(known, x <= threshold[at], missing_left[at])
        by_table = np.flatnonzero(table[at] >= 0)  # values are bins there
        goes_left[by_table] = tables[table[at[by_table]], x[by_table].astype(np.intp)]
        node[inner] = np.where(goes_left, left[at], right[at])
    values = value[node]
    for t, k in enumerate(outputs.tolist()):
        out[first:last, k] += values[:, t]
