"""Compiled binning: where the bins of a column begin and end, and which bin a value is in."""

from __future__ import annotations

import numpy as np

from skgraft.compiled import njit

TILE = 256  # rows


@njit(cache=True, nogil=True)
def put_edge(edges, k, a, b):
    """Write an edge x with a <= x < b, half-way where the precision of the edges allows it."""
    edges[k] = np.float64(a) * 0.5 + np.float64(b) * 0.5
    if not a <= edges[k] < b:
        edges[k] = a


@njit(cache=True, nogil=True)
def count_distinct(values, n, most):
    """Count the distinct values of values[:n], which are sorted; stop counting beyond ``most``."""
    if n == 0:
        return 0
    distinct = 1
    for i in range(1, n):
        if values[i] != values[i - 1]:
            distinct += 1
            if distinct > most:
                break
    return distinct


@njit(cache=True, nogil=True)
def end_of_bin(values, weights, first, n, share):
    """Return where a bin that begins at ``first`` ends, and its weight; -1 if there is nothing beyond it.

    It ends once it weighs a share; but before a value that weighs a share by itself, and at a gap much wider than the
    others if there is one between half and one and a half of a share: no training value tells what is inside a gap.
    """
    plain = weights.shape[0] == 0
    inside, usual, wide = 0.0, 0.0, 0.0
    end, end_weight, gap_end, gap_weight = -1, 0.0, -1, 0.0
    i = first
    while i < n and inside < 1.5 * share:
        here = 0.0
        j = i
        while j < n and values[j] == values[i]:
            here += 1.0 if plain else weights[j]
            j += 1
        if end < 0 and inside > 0.0 and here >= share and inside + here > 1.5 * share:
            return i, inside
        inside += here
        if j == n:
            break
        gap = np.float64(values[j]) - np.float64(values[j - 1])
        if end < 0 and inside >= share:
            end, end_weight, usual = j, inside, gap
        if 0.5 * share <= inside <= 1.5 * share and gap > wide:
            gap_end, gap_weight, wide = j, inside, gap
        i = j
    if end >= 0 and wide > 4.0 * usual:
        return gap_end, gap_weight
    return end, end_weight


@njit(cache=True, nogil=True)
def find_edges(values, weights, n, max_bins, edges):
    """Write the edges between the bins of sorted values and return how many there are.

    Few distinct values have a bin each.  Many are dealt out so that the bins weigh about the same, a share being what
    is left, divided by the bins that are left.  ``weights`` is empty where every value weighs one.
    """
    n_edges = 0
    if count_distinct(values, n, max_bins) <= max_bins:
        for i in range(1, n):
            if values[i] != values[i - 1]:
                put_edge(edges, n_edges, values[i - 1], values[i])
                n_edges += 1
        return n_edges
    left = 0.0
    for i in range(n):
        left += 1.0 if weights.shape[0] == 0 else weights[i]
    first = 0
    while n_edges < max_bins - 1:
        end, weight = end_of_bin(values, weights, first, n, left / (max_bins - n_edges))
        if end < 0:
            break
        put_edge(edges, n_edges, values[end - 1], values[end])
        n_edges += 1
        left -= weight
        first = end
    return n_edges


@njit(cache=True, nogil=True)
def edges_of_rows(block, weights, max_bins, edges, n_edges, n_known):
    """Find the edges of every sorted row of a block, where NaN is last; ``weights`` has no rows if all are one."""
    none = np.empty(0)
    for f in range(block.shape[0]):
        n = block.shape[1]
        while n > 0 and block[f, n - 1] != block[f, n - 1]:
            n -= 1
        n_known[f] = n
        weight = none if weights.shape[0] == 0 else weights[f]
        n_edges[f] = find_edges(block[f], weight, n, max_bins, edges[f])


@njit(cache=True, nogil=True)
def transpose(X, first, out):
    """Copy the columns of X from ``first`` on to the rows of ``out``, by tiles that stay in a cache."""
    n = X.shape[0]
    for start in range(0, n, TILE):
        stop = min(start + TILE, n)
        for f in range(out.shape[0]):
            o = out[f]
            for i in range(start, stop):
                o[i] = X[i, first + f]


@njit(cache=True, nogil=True)
def code_rows(block, edges, n_edges, missing, start, out):
    """Write the bin of every value, how many edges are below it, from place ``start`` of the rows of ``out`` on."""
    padded = np.empty(256, edges.dtype)
    for f in range(block.shape[0]):
        n = n_edges[f]
        for k in range(256):
            padded[k] = edges[f, k] if k < n else np.inf
        x, o = block[f], out[f, start:]
        if n < 2:  # zeros and ones, say
            edge = padded[0]
            for i in range(x.shape[0]):
                a = x[i]
                o[i] = np.uint8(edge < a) if a == a else missing  # noqa: PLR0124 -- NaN alone is not itself
            continue
        many = n > 15
        for i in range(x.shape[0]):
            a = x[i]
            # eight halvings find one of 256 places; as sums of comparisons they need no branches
            at = np.uint64(0)
            if many:
                at += np.uint64(128) * np.uint64(padded[127] < a)
                at += np.uint64(64) * np.uint64(padded[at + np.uint64(63)] < a)
                at += np.uint64(32) * np.uint64(padded[at + np.uint64(31)] < a)
                at += np.uint64(16) * np.uint64(padded[at + np.uint64(15)] < a)
            at += np.uint64(8) * np.uint64(padded[at + np.uint64(7)] < a)
            at += np.uint64(4) * np.uint64(padded[at + np.uint64(3)] < a)
            at += np.uint64(2) * np.uint64(padded[at + np.uint64(1)] < a)
            at += np.uint64(padded[at] < a)
            o[i] = np.uint8(at) if a == a else missing  # noqa: PLR0124


@njit(cache=True, nogil=True)
def sparse_edges(starts, indices, data, first, last, weights, n_rows, max_bins, edges, n_edges, zero_known):
    """Find the edges of sparse columns; rows whose weight is zero were not sampled, and n_rows were.

    ``zero_known`` becomes False where no sampled row of a column is known.
    """
    total = 0.0
    for r in range(weights.shape[0]):
        total += weights[r]
    for f in range(first, last):
        size = starts[f + 1] - starts[f]
        values, weight = np.empty(size + 1), np.empty(size + 1)
        n, zeros, rest = 0, n_rows, total
        for p in range(starts[f], starts[f + 1]):
            w = weights[indices[p]]
            if w == 0.0:
                continue
            zeros -= 1
            rest -= w
            x = data[p]
            if x == x:  # noqa: PLR0124 -- NaN alone is not itself
                values[n], weight[n] = x, w
                n += 1
        if zeros > 0:
            values[n], weight[n] = 0.0, max(rest, 0.0)
            n += 1
        zero_known[f - first] = n > 0
        order = np.argsort(values[:n])
        n_edges[f - first] = find_edges(values[order], weight[order], n, max_bins, edges[f - first])


@njit(cache=True, nogil=True)
def sparse_codes(starts, data, first, last, edges, edge_starts, n_bins, missing, out):
    """Write the bin of every stored entry."""
    for f in range(first, last):
        low, high = edge_starts[f], edge_starts[f + 1]
        for p in range(starts[f], starts[f + 1]):
            x = data[p]
            if x != x or n_bins[f] == 0:  # noqa: PLR0124
                out[p] = missing
                continue
            a, b = low, high
            while a < b:
                m = (a + b) // 2
                if edges[m] < x:
                    a = m + 1
                else:
                    b = m
            out[p] = np.uint8(a - low)


@njit(cache=True, nogil=True)
def entry_weights(starts, rows, bins, zero, first, last, u, every, out):
    """Write what the entries of sparse columns weigh, all or those outside the bin of other rows; no u means 1 each."""
    for f in range(first, last):
        total = np.int64(0)
        for p in range(starts[f], starts[f + 1]):
            if every or bins[p] != zero[f]:
                total += u[rows[p]] if u.shape[0] > 0 else 1
        out[f] = total


# ------------------------------------------------------------------------------------------ equal rows
#
# The hash of a row is the sum of random numbers, one for each value that a cell can have.


@njit(inline="always")
def scramble(x):
    """Return 64 bits that look like chance (Vigna's splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(inline="always")
def chance(f, b, which):
    """Return a random number that belongs to bin b of column f."""
    return scramble(np.uint64(0x9E3779B97F4A7C15) * np.uint64(512 * f + 2 * np.int64(b) + which + 1))


@njit(cache=True, nogil=True)
def hash_targets(y, step, hashes):
    """Begin the hashes of rows 0, step, 2·step, ... with that of the target."""
    bits = y.view(np.uint64)
    for i in range(hashes.shape[1]):
        hashes[0, i] = scramble(bits[i * step] + np.uint64(0x9E3779B97F4A7C15))
        hashes[1, i] = scramble(hashes[0, i] + np.uint64(1))


@njit(cache=True, nogil=True)
def hash_dense(bins, step, first, last, hashes):
    """Add the cells of dense columns to the hashes first:last."""
    a, b = np.empty(256, np.uint64), np.empty(256, np.uint64)
    h, k = hashes[0], hashes[1]
    for f in range(bins.shape[0]):
        for v in range(256):
            a[v], b[v] = chance(f, v, 0), chance(f, v, 1)
        x = bins[f]
        for i in range(np.uint64(first), np.uint64(last)):
            v = x[i * np.uint64(step)]
            h[i] += a[v]
            k[i] += b[v]


@njit(cache=True, nogil=True)
def hash_sparse(starts, rows, bins, zero, step, hashes):
    """Add the stored cells of sparse columns, as far as they differ from the others."""
    for f in range(zero.shape[0]):
        for p in range(starts[f], starts[f + 1]):
            r = np.int64(rows[p])
            if bins[p] != zero[f] and r % step == 0:
                hashes[0, r // step] += chance(f, bins[p], 0)
                hashes[1, r // step] += chance(f, bins[p], 1)


@njit(cache=True, nogil=True)
def group_rows(hashes, kind, firsts):
    """Give rows with the same hashes one number, by first appearance; -1 if there are more kinds than ``firsts`` holds.

    Return how many kinds there are.
    """
    size = 64
    while size < 2 * firsts.shape[0]:
        size *= 2
    table = np.full(size, -1, np.int32)
    n = 0
    for i in range(hashes.shape[1]):
        at = hashes[0, i] & np.uint64(size - 1)
        while True:
            g = table[at]
            if g < 0:
                if n == firsts.shape[0]:
                    return -1
                table[at], firsts[n], kind[i] = n, i, n
                n += 1
                break
            if hashes[0, i] == hashes[0, firsts[g]] and hashes[1, i] == hashes[1, firsts[g]]:
                kind[i] = g
                break
            at = (at + np.uint64(1)) & np.uint64(size - 1)
    return n
