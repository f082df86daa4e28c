"""Compiled search for splits.

A histogram cell holds the rows of one bin: how many there are and the sum of their gradients, both whole numbers, so
that a sum does not depend on the order of its terms and a difference is exact.  Where all rows weigh the same, both
share one int64: the count above ``shift`` bits, the gradients below.  Otherwise there are two channels, Σ u·z and Σ u,
and ``shift`` is 0.  Bins are uint8, features by rows; the last of the ``stride`` cells of a feature is that of missing
values.

``held`` is what a tree holds of its rows: gradients z in the order of X; entries, each a row number and its gradient,
in the order of the nodes; weights u, none if all are equal; and whether all rows are still in one node and in the order
of X, where entries say nothing.

Unsigned indices are no accident: numba asks of signed ones whether they count from the end.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from skgraft.boosting._kernels import amount, gradient_at, row_at

# There are no NaN or infinities in a histogram, so comparisons may be done by vectors; but sums and products stay in
# their order, since a gain must come out the same from every kernel.
FLAGS = {"nnan", "ninf", "nsz"}
BLOCK = 32
SHORT = 16
MANY = 6  # blocks of sixteen bins that take longer one by one than all bins by vectors
FEW = 32  # bins that are gone through one by one rather than by vectors
LEAST_TO_SIFT, MOST_TO_SIFT = 64, 500  # bins of a feature and rows of a node


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FLAGS)
def decode_pair(q, u, shift):
    """Return the sum of gradients and the weight of one cell."""
    if shift == 0:
        return np.float64(q), np.float64(u)
    half = np.int64(1) << (shift - 1)
    mask = (np.int64(1) << shift) - 1
    low = ((q + half) & mask) - half
    return np.float64(low), np.float64((q - low) >> shift)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FLAGS)
def decode(cells, shift, k):
    """Return the sum of gradients and the weight of cell k."""
    return decode_pair(cells[0, k], cells[cells.shape[0] - 1, k], shift)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FLAGS)
def accumulate(cells, at, n_bins, left, order, compact):
    """Add up the cells from the left; if ``compact``, list only bins that have rows.  Return how many are listed."""
    if compact:
        n = 0
        total = np.int64(0)
        for b in range(n_bins):
            a = cells[0, at + b]
            total += a
            left[0, n] = total
            order[n] = b
            n += a != 0
        return n
    for c in range(cells.shape[0]):
        total = np.int64(0)
        for b in range(n_bins):
            total += cells[c, at + b]
            left[c, b] = total
    return n_bins


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FLAGS)
def largest(score, n):
    """Return the largest of the first n scores, or 0; four at a time, as one chain of comparisons would be slow."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = n - n % 4
    for i in range(0, whole, 4):
        a = max(a, score[i])
        b = max(b, score[i + 1])
        c = max(c, score[i + 2])
        d = max(d, score[i + 3])
    for i in range(whole, n):
        a = max(a, score[i])
    return max(a, b, c, d)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FLAGS)
def first_equal(score, n, value):
    """Return the first place of a value; whole blocks are counted, which takes vectors."""
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        found = 0
        for i in range(start, stop):
            found += score[i] == value
        if found > 0:
            for i in range(start, stop):
                if score[i] == value:
                    return i
    return -1


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FLAGS)
def score_splits(left, n_splits, extra_q, extra_u, total_q, total_u, shift, min_leaf, score):
    """Score the splits whose left sides weigh ``left + extra``; return the best score and the first split that has it.

    The score is V²/(u_L·u_R) with V = q_L - (q/u)·u_L; times u it is the decrease of squared error
    (Xu et al. 2014, eq. 14).  Some known value must go left: missing values alone are split off to the right.
    """
    mean = total_q / total_u
    if shift == 0:
        for b in range(n_splits):
            u = np.float64(left[1, b] + extra_u)
            rest = total_u - u
            v = np.float64(left[0, b] + extra_q) - mean * u
            s = v * v / max(u * rest, 1.0)
            score[b] = s if min(u, rest) >= min_leaf and left[1, b] != 0 else 0.0
    else:
        half = np.int64(1) << (shift - 1)
        mask = (np.int64(1) << shift) - 1
        for b in range(n_splits):
            a = left[0, b] + extra_q
            q = ((a + half) & mask) - half
            u = np.float64((a - q) >> shift)
            rest = total_u - u
            v = np.float64(q) - mean * u
            s = v * v / max(u * rest, 1.0)
            score[b] = s if min(u, rest) >= min_leaf and left[0, b] != 0 else 0.0
    best = largest(score, n_splits)
    return best, (first_equal(score, n_splits, best) if best > 0.0 else -1)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FLAGS)
def order_categories(cells, at, n_bins, stride, shift, order, mean):
    """List the categories that have rows, by their mean gradient and then by number; missing values are one more."""
    n = 0
    for b in range(n_bins + 1):
        k = b if b < n_bins else stride - 1
        q, u = decode(cells, shift, at + k)
        if u == 0.0:
            continue
        m = q / u
        j = n
        while j > 0 and mean[j - 1] > m:
            mean[j] = mean[j - 1]
            order[j] = order[j - 1]
            j -= 1
        mean[j] = m
        order[j] = k
        n += 1
    return n


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FLAGS)
def where_reached(us, vs, n, total_u, bar, rise, fall, reached):
    """Write between which splits one may gain ``bar``, and return how many such gaps there are.

    Those that are known have left sides that weigh us[0] to us[n], with V of vs[0] to vs[n]; reached[i] is about the
    splits from i to i + 1.

    A unit of weight that goes left moves V by at most ``rise`` up and ``fall`` down.  So between two splits V lies
    under the lines V0 + (u - u0)·rise and V1 + (u1 - u)·fall, and its gain V²·u/(u_L·u_R) is largest where they meet:
    along the first it grows with u, since V <= u·rise, and along the second it falls, while u_L is the smaller side;
    the other way round where u_R is.  The same holds for -V.
    """
    per = 1.0 / (rise + fall)
    both = rise * fall
    need = bar / total_u * (1.0 - 1e-6)
    half = 0.5 * total_u
    count = 0
    for i in range(n):  # without branches, so that it runs by vectors
        u0, u, v0, v = us[i], us[i + 1], vs[i], vs[i + 1]
        up = max((v0 * fall + v * rise + (u - u0) * both) * per, 0.0)
        down = max(((u - u0) * both - v0 * rise - v * fall) * per, 0.0)
        at_up = min(max((v - v0 + u0 * rise + u * fall) * per, u0), u)
        at_down = min(max((v0 - v + u0 * fall + u * rise) * per, u0), u)
        turns = (u0 < half) & (half < u)
        ends = min(u0 * (total_u - u0), u * (total_u - u))
        room_up = ends if turns else at_up * (total_u - at_up)
        room_down = ends if turns else at_down * (total_u - at_down)
        reached[i] = (up * up >= need * room_up) | (down * down >= need * room_down)
        count += reached[i]
    return count


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FLAGS)
def cannot_reach(left, n_splits, extra_q, extra_u, total_q, total_u, shift, bar, rise, fall, us, vs, reached):
    """Whether no split gains ``bar``, judged by a few of them; the last three are room for these."""
    mean = total_q / total_u
    us[0], vs[0] = 0.0, 0.0
    if extra_u != 0:
        q, us[0] = decode_pair(extra_q, extra_u, shift)
        vs[0] = q - mean * us[0]
    n = 0
    for start in range(0, n_splits, SHORT):
        end = min(start + SHORT, n_splits) - 1
        n += 1
        q, us[n] = decode_pair(left[0, end] + extra_q, left[left.shape[0] - 1, end] + extra_u, shift)
        vs[n] = q - mean * us[n]
    return where_reached(us, vs, n, total_u, bar, rise, fall, reached) == 0


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FLAGS)
def best_split(
    cells, at, n_bins, categorical, stride, totals, node, shift, min_leaf, bar, rise, fall, left, score, order
):  # fmt: skip
    """Return the gain and the code of the best split of a feature at a node, 0 and -1 if there is none.

    If no split gains ``bar``, that may be returned with the code -1.

    The code of a threshold is twice its bin, plus one if missing values go left.  Of equally good splits the lowest
    bin is taken, then missing values to the right.  The code of a set of categories is its size less one.
    """
    total_q, total_u = decode(totals, shift, node)
    channels = cells.shape[0]
    none = np.int64(0)
    if categorical:
        n = order_categories(cells, at, n_bins, stride, shift, order, score)
        for c in range(channels):
            total = np.int64(0)
            for b in range(n):
                total += cells[c, at + order[b]]
                left[c, b] = total
        best, b = score_splits(left, n - 1, none, none, total_q, total_u, shift, min_leaf, score)
        return best * total_u, b
    compact = shift > 0 and total_u < n_bins  # fewer rows than bins: most splits would be the same
    n = accumulate(cells, at, n_bins, left, order, compact)
    q, u = cells[0, at + stride - 1], cells[channels - 1, at + stride - 1]
    missing = u != 0
    us, vs, reached = score[:32], score[32:64], score[64:96]
    if (
        bar > 0.0
        and cannot_reach(
            left, n if missing else n - 1, none, none, total_q, total_u, shift, bar, rise, fall, us, vs, reached
        )
        and (not missing or cannot_reach(left, n - 1, q, u, total_q, total_u, shift, bar, rise, fall, us, vs, reached))
    ):
        return bar, -1
    best, b = score_splits(left, n if missing else n - 1, none, none, total_q, total_u, shift, min_leaf, score)
    goes_left = 0
    if missing:
        other, b_left = score_splits(left, n - 1, q, u, total_q, total_u, shift, min_leaf, score)
        if other > best or (other == best and other > 0.0 and b_left < b):
            best, b, goes_left = other, b_left, 1
    if b < 0:
        return 0.0, -1
    return best * total_u, 2 * (order[b] if compact else b) + goes_left


@njit(inline="always")
def scan(cells, first, last, a, b, total_q, total_u, shift, min_leaf, best, code):
    """Go through splits one by one, a and b being the sums on the left before them; return the best so far.

    What it finds is what `best_split` does, to the bit, where no values are missing.
    """
    channels = cells.shape[0]
    mean = total_q / total_u
    for k in range(first, last):
        a += cells[0, k]
        b += cells[channels - 1, k]
        q, u = decode_pair(a, b, shift)
        rest = total_u - u
        if min(u, rest) >= min_leaf:
            v = q - mean * u
            score = v * v / max(u * rest, 1.0)
            if score > best:
                best, code = score, k
    return best, code


@njit(inline="always")
def best_of_few(cells, at, n_bins, total_q, total_u, shift, min_leaf):
    """Return what `best_split` does for few bins and no missing values."""
    none = np.int64(0)
    best, k = scan(cells, at, at + n_bins - 1, none, none, total_q, total_u, shift, min_leaf, 0.0, np.int64(-1))
    return best * total_u, 2 * (k - at) if k >= 0 else -1


@njit(inline="always")
def fill(cells, bins, held, shift, start, stop, stride, width):
    """Add the rows start:stop to the cells of up to four features."""
    x0, x1, x2, x3 = bins
    z, entries, u, whole = held
    for c in range(cells.shape[0]):
        h = cells[c]
        for j in range(0, 256 * width, 256):
            for k in range(stride):
                h[j + k] = 0
        if whole:
            if width == 1:
                for i in range(np.uint64(start), np.uint64(stop)):
                    h[x0[i]] += amount(z[i], i, u, shift, c)
            else:
                for i in range(np.uint64(start), np.uint64(stop)):
                    a = amount(z[i], i, u, shift, c)
                    h[x0[i]] += a
                    h[256 + np.int64(x1[i])] += a
                    h[512 + np.int64(x2[i])] += a
                    h[768 + np.int64(x3[i])] += a
        elif width == 1:
            for i in range(np.uint64(start), np.uint64(stop)):
                r = row_at(entries, i)
                h[x0[r]] += amount(gradient_at(entries, i), r, u, shift, c)
        else:
            for i in range(np.uint64(start), np.uint64(stop)):
                r = row_at(entries, i)
                a = amount(gradient_at(entries, i), r, u, shift, c)
                h[x0[r]] += a
                h[256 + np.int64(x1[r])] += a
                h[512 + np.int64(x2[r])] += a
                h[768 + np.int64(x3[r])] += a


@njit(inline="always")
def sift(coarse, x, held, start, stop, bars, totals, node, shift, rise, fall, room, sums, reached, n_reached):
    """Find which of four features may reach their bars, and where, from histograms of sixteen bins a cell.

    Small ones take a fraction of the time, and most features get no further.  reached[j, k] says whether the bins of
    cell k may hold such a split of feature j, n_reached[j] how many do, and sums[:, 16·j + k] is what lies on the left.
    """
    x0, x1, x2, x3 = x
    _, entries, u, _ = held
    for c in range(coarse.shape[0]):
        h = coarse[c]
        for k in range(64):
            h[k] = 0
        for i in range(np.uint64(start), np.uint64(stop)):
            r = row_at(entries, i)
            a = amount(gradient_at(entries, i), r, u, shift, c)
            h[x0[r] >> 4] += a
            h[16 + np.int64(x1[r] >> 4)] += a
            h[32 + np.int64(x2[r] >> 4)] += a
            h[48 + np.int64(x3[r] >> 4)] += a
    total_q, total_u = decode(totals, shift, node)
    mean = total_q / total_u
    us, vs = room[:32], room[32:64]
    us[0], vs[0] = 0.0, 0.0
    last = coarse.shape[0] - 1
    for j in range(4):
        a, b = np.int64(0), np.int64(0)
        for k in range(16):
            sums[0, 16 * j + k], sums[last, 16 * j + k] = a, b
            a += coarse[0, 16 * j + k]
            b += coarse[last, 16 * j + k]
            q, us[k + 1] = decode_pair(a, b, shift)
            vs[k + 1] = q - mean * us[k + 1]
        n_reached[j] = where_reached(us, vs, 16, total_u, bars[j], rise, fall, reached[j])


@njit(inline="always")
def best_of_blocks(cells, sums, reached, j, n_bins, totals, node, shift, min_leaf):
    """Return the best split among blocks of sixteen bins that `sift` found, 0 and -1 if there is none."""
    total_q, total_u = decode(totals, shift, node)
    best, code = 0.0, np.int64(-1)
    for k in range(16):
        if reached[j, k]:
            a, b = sums[0, 16 * j + k], sums[sums.shape[0] - 1, 16 * j + k]
            stop = min(16 * k + 16, n_bins - 1)
            best, code = scan(cells, 16 * k, stop, a, b, total_q, total_u, shift, min_leaf, best, code)
    return best * total_u, 2 * code if code >= 0 else -1


@njit(cache=True, nogil=True)
def four(bins, features, f, last):
    """Return the bins of four features, the last one again where there are fewer."""
    return (
        bins[features[f]],
        bins[features[min(f + 1, last - 1)]],
        bins[features[min(f + 2, last - 1)]],
        bins[features[min(f + 3, last - 1)]],
    )


@njit(cache=True, nogil=True)
def search_nodes(
    bins, features, first, last, held, starts, stops, siftable, totals, n_bins, categorical, stride,
    shift, min_leaf, prices, bests, rises, falls, place, slots, stored, gains, codes,
):  # fmt: skip
    """Find the best split of features[first:last] at every node, from its rows; keep histograms that have a slot."""
    channels = totals.shape[0]
    cells = np.empty((channels, 1024), np.int64)
    coarse, sums = np.empty((channels, 64), np.int64), np.empty((channels, 64), np.int64)
    left = np.empty((channels, 256), np.int64)
    score, order = np.empty(256), np.empty(256, np.int64)
    bars, n_reached, reached = np.empty(4), np.empty(4, np.int64), np.empty((4, 16), np.bool_)
    keep = stored.shape[0] > 0
    for f in range(first, last, 4):
        width = min(4, last - f)
        x = four(bins, features, f, last)
        fine = stride < LEAST_TO_SIFT or width < 4
        for j in range(width):
            fine = fine or not siftable[features[f + j]]
        for k in range(starts.shape[0]):
            barred = not fine
            for j in range(width):
                bars[j] = prices[f + j] + bests[k]
                barred = barred and bars[j] > 0.0
            if barred and stops[k] - starts[k] <= MOST_TO_SIFT and not (held[3] or (keep and slots[k] >= 0)):
                sift(
                    coarse, x, held, starts[k], stops[k], bars, totals, k, shift, rises[k], falls[k], score, sums,
                    reached, n_reached,
                )  # fmt: skip
                for j in range(4):
                    gains[f + j, k], codes[f + j, k] = bars[j], -1
                    if n_reached[j] == 0:
                        continue
                    feature = features[f + j]
                    fill(cells, (x[j], x[j], x[j], x[j]), held, shift, starts[k], stops[k], stride, 1)
                    if n_reached[j] > MANY:
                        gain, code = best_split(
                            cells, 0, n_bins[feature], False, stride, totals, k, shift, min_leaf,
                            0.0, rises[k], falls[k], left, score, order,
                        )  # fmt: skip
                    else:
                        gain, code = best_of_blocks(
                            cells, sums, reached, j, n_bins[feature], totals, k, shift, min_leaf
                        )
                    if gain >= bars[j]:
                        gains[f + j, k], codes[f + j, k] = gain, code
                continue
            fill(cells, x, held, shift, starts[k], stops[k], stride, width)
            for j in range(width):
                feature = features[f + j]
                gains[f + j, k], codes[f + j, k] = best_split(
                    cells, 256 * j, n_bins[feature], categorical[feature], stride, totals, k, shift, min_leaf,
                    bars[j], rises[k], falls[k], left, score, order,
                )  # fmt: skip
                if keep and slots[k] >= 0:
                    stored[place[f + j], slots[k]] = cells[:, 256 * j : 256 * j + stride]


@njit(cache=True, nogil=True)
def search_pairs(
    bins, features, first, last, held, starts, stops, small, totals, n_bins, categorical, stride, shift,
    min_leaf, prices, bests, rises, falls, place, parent_slots, parents, slots, stored, gains, codes,
):  # fmt: skip
    """Find the best splits of pairs of siblings 2p and 2p+1.

    The rows of the smaller are added up, and the other is what is left of the parent.  ``small[p]`` is 0 or 1, and
    starts and stops are its.
    """  # fmt: skip
    channels = totals.shape[0]
    cells = np.empty((channels, 1024), np.int64)
    other = np.empty((channels, stride), np.int64)
    left = np.empty((channels, 256), np.int64)
    score, order = np.empty(256), np.empty(256, np.int64)
    keep = stored.shape[0] > 0
    for f in range(first, last, 4):
        width = min(4, last - f)
        x = four(bins, features, f, last)
        for p in range(starts.shape[0]):
            fill(cells, x, held, shift, starts[p], stops[p], stride, width)
            near, far = 2 * p + small[p], 2 * p + 1 - small[p]
            for j in range(width):
                feature, at = features[f + j], place[f + j]
                for c in range(channels):
                    for b in range(stride):
                        other[c, b] = parents[at, parent_slots[p], c, b] - cells[c, 256 * j + b]
                gains[f + j, near], codes[f + j, near] = best_split(
                    cells, 256 * j, n_bins[feature], categorical[feature], stride, totals, near, shift, min_leaf,
                    prices[f + j] + bests[near], rises[near], falls[near], left, score, order,
                )  # fmt: skip
                gains[f + j, far], codes[f + j, far] = best_split(
                    other, 0, n_bins[feature], categorical[feature], stride, totals, far, shift, min_leaf,
                    prices[f + j] + bests[far], rises[far], falls[far], left, score, order,
                )  # fmt: skip
                if keep and slots[near] >= 0:
                    stored[at, slots[near]] = cells[:, 256 * j : 256 * j + stride]
                if keep and slots[far] >= 0:
                    stored[at, slots[far]] = other


@njit(cache=True, nogil=True, error_model="numpy")
def search_sparse(
    starts, indices, bins, zero_bin, features, first, last, node_of, slots, held, totals, n_bins, categorical, stride,
    shift, min_leaf, prices, bests, rises, falls, gains, codes,
):  # fmt: skip
    """Find the best split of sparse features at every node in one pass over their entries.

    slots[node_of[row]] is the place of a row's node.  What a node has beyond the entries of a feature is in the bin of
    zero.  Rows outside the nodes are in one more node.
    """
    z, _, u, _ = held
    channels = totals.shape[0]
    n_nodes = gains.shape[1]
    cells = np.empty((channels, (n_nodes + 1) * stride), np.int64)
    left = np.empty((channels, 256), np.int64)
    score, order = np.empty(256), np.empty(256, np.int64)
    for f in range(first, last):
        feature = features[f]
        last_bin = np.uint64(n_bins[feature])  # here that of missing values: few bins shall take few cells
        size = n_bins[feature] + 1
        width = np.uint64(size)
        for c in range(channels):
            h = cells[c]
            for k in range((n_nodes + 1) * size):
                h[k] = 0
            for p in range(starts[feature], starts[feature + 1]):
                r = indices[p]
                at = np.uint64(slots[node_of[r]]) * width + min(np.uint64(bins[p]), last_bin)
                h[at] += amount(z[r], r, u, shift, c)
            zero = min(np.int64(zero_bin[feature]), size - 1)
            for k in range(n_nodes):
                total = totals[c, k]
                for b in range(k * size, (k + 1) * size):
                    total -= h[b]
                h[k * size + zero] += total
        few = n_bins[feature] <= FEW and not categorical[feature]
        for k in range(n_nodes):
            if few and cells[channels - 1, k * size + size - 1] == 0:
                total_q, total_u = decode(totals, shift, k)
                gains[f, k], codes[f, k] = best_of_few(
                    cells, k * size, n_bins[feature], total_q, total_u, shift, min_leaf
                )
                continue
            gains[f, k], codes[f, k] = best_split(
                cells, k * size, n_bins[feature], categorical[feature], size, totals, k, shift, min_leaf,
                prices[f] + bests[k], rises[k], falls[k], left, score, order,
            )  # fmt: skip
