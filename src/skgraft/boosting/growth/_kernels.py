"""Compiled search for splits.

A histogram cell holds the rows of one bin: how many there are and the sum of their gradients, both whole numbers, so
that a sum does not depend on the order of its terms and a difference is exact.  Where they fit, both share one int64:
the count, or the weight Σ u, above ``shift`` bits, the gradients Σ u·z below.  Otherwise they are two channels, and
``shift`` is 0.  Bins are uint8, features by rows; the last of the ``stride`` cells of a feature is that of missing
values.

``held`` is what a tree holds of its rows: gradients z in the order of X; entries, each a row number and its gradient,
in the order of the nodes; weights u, none if all are equal; and whether all rows are still in one node and in the order
of X, where entries say nothing.

Unsigned indices are no accident: numba asks of signed ones whether they count from the end.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from skgraft.boosting._kernels import amount, gradient_at, row_at
from skgraft.compiled import njit

# Without numba's memory management: counting references to views in an inner loop took a quarter of a search, and more
# where threads count those to the same arrays.  So nothing is allocated here; callers bring the workspace.
kernel = partial(njit, cache=True, nogil=True, _nrt=False)

# There are no NaN or infinities in a histogram, so comparisons may be done by vectors; but sums and products stay in
# their order, since a gain must come out the same from every kernel.
FLAGS = {"nnan", "ninf", "nsz"}
BLOCK = 8  # bins
MANY = 12  # blocks beyond which it is simpler to go through all bins
CHUNK = 32  # scores that are looked through at once
FEW = 32  # bins that are gone through one by one rather than by vectors
LEAST_TO_SIFT, MOST_TO_SIFT = 64, 500  # bins of a feature and rows of a node
FIELD = 16  # bits of a quarter of a word
LOWEST = np.uint64(2**FIELD - 1)
MOST_STEPS = 10_000  # of the search among categories of equal means


@kernel(error_model="numpy", fastmath=FLAGS)
def decode_pair(q, u, shift):
    """Return the sum of gradients and the weight of one cell."""
    if shift == 0:
        return np.float64(q), np.float64(u)
    half = np.int64(1) << (shift - 1)
    mask = (np.int64(1) << shift) - 1
    low = ((q + half) & mask) - half
    return np.float64(low), np.float64((q - low) >> shift)


@kernel(error_model="numpy", fastmath=FLAGS)
def decode(cells, shift, k):
    """Return the sum of gradients and the weight of cell k."""
    return decode_pair(cells[0, k], cells[cells.shape[0] - 1, k], shift)


@kernel(error_model="numpy", fastmath=FLAGS)
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


@kernel(error_model="numpy", fastmath=FLAGS)
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


@kernel(error_model="numpy", fastmath=FLAGS)
def first_equal(score, n, value):
    """Return the first place of a value; whole blocks are counted, which takes vectors."""
    for start in range(0, n, CHUNK):
        stop = min(start + CHUNK, n)
        found = 0
        for i in range(start, stop):
            found += score[i] == value
        if found > 0:
            for i in range(start, stop):
                if score[i] == value:
                    return i
    return -1


@kernel(error_model="numpy", fastmath=FLAGS)
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


@kernel(error_model="numpy", fastmath=FLAGS)
def lightest(weight, first, last, need, taken, chosen):
    """Mark the items first:last that weigh as little as possible together, but at least ``need``; return their weight.

    Items descend by weight.  A depth-first search takes an item or leaves it.  It is complete for twelve items; beyond
    ``MOST_STEPS`` the best so far is returned, since to find the best of very many is as hard as the knapsack problem.
    """
    rest = 0.0
    for i in range(first, last):
        taken[i] = chosen[i] = False
        rest += weight[i]
    best, total, i = 2.0 * rest + need, 0.0, first
    for _ in range(MOST_STEPS):
        if total >= need:
            best = total
            for k in range(first, last):
                chosen[k] = taken[k]
        if total >= need or i == last or total + rest < need:
            # back to the last item that was taken, to leave it
            while i > first and not taken[i - 1]:
                i -= 1
                rest += weight[i]
            if i == first or best == need:
                break
            taken[i - 1] = False
            total -= weight[i - 1]
            continue
        rest -= weight[i]
        if total + weight[i] < best:
            taken[i] = True
            total += weight[i]
        i += 1
    return best


@kernel(error_model="numpy", fastmath=FLAGS)
def order_equals(order, weight, first, last, before, v, slope, total_u, min_leaf, taken, chosen):
    """Order categories of the same mean so that the best split between them is one of their order.

    ``before`` and ``v`` are the weight on the left without them and its V (see `score_splits`), and a unit of their
    weight adds ``slope`` to V.  Then V²/(u_L·u_R) is convex in u_L, the square of a line over a concave function: no
    split between them is better than both the lightest left side and the heaviest that leave enough for two leaves.
    """
    for i in range(first + 1, last):  # heaviest first
        w, k, j = weight[i], order[i], i
        while j > first and weight[j - 1] < w:
            weight[j], order[j] = weight[j - 1], order[j - 1]
            j -= 1
        weight[j], order[j] = w, k
    behind = total_u - before
    for i in range(first, last):
        behind -= weight[i]
    low = before + lightest(weight, first, last, max(min_leaf - before, 0.0), taken, chosen)
    high = total_u - behind - lightest(weight, first, last, max(min_leaf - behind, 0.0), taken, chosen)
    a, b = v + (low - before) * slope, v + (high - before) * slope
    on_left = low <= total_u - min_leaf and (
        high < min_leaf or a * a * high * (total_u - high) >= b * b * low * (total_u - low)
    )
    if on_left:
        lightest(weight, first, last, max(min_leaf - before, 0.0), taken, chosen)
    n = first
    for i in range(first, last):
        if chosen[i] == on_left:
            w, k = weight[i], order[i]
            for j in range(i, n, -1):
                weight[j], order[j], chosen[j] = weight[j - 1], order[j - 1], chosen[j - 1]
            weight[n], order[n], chosen[n] = w, k, on_left
            n += 1


@kernel(error_model="numpy", fastmath=FLAGS)
def order_categories(cells, at, n_bins, stride, total_q, total_u, shift, min_leaf, order, mean, ties):
    """List the categories that have rows, by their mean gradient and then by number; missing values are one more.

    Where a leaf would become too light inside a run of equal means, these have another order; see `order_equals`.
    Means are equal if they differ by no more than gradients are rounded by.
    """
    weight, taken, chosen = ties
    n = 0
    for b in range(n_bins + 1):
        k = b if b < n_bins else stride - 1
        q, u = decode(cells, shift, at + k)
        if u == 0.0:
            continue
        m = q / u
        j = n
        while j > 0 and mean[j - 1] > m:
            mean[j], weight[j], order[j] = mean[j - 1], weight[j - 1], order[j - 1]
            j -= 1
        mean[j], weight[j], order[j] = m, u, k
        n += 1
    first, before, v = 0, 0.0, 0.0
    while first < n:
        last, inside, slope = first, 0.0, 0.0
        while last < n and mean[last] <= mean[first] + 1.0:
            inside += weight[last]
            slope += weight[last] * (mean[last] - total_q / total_u)
            last += 1
        after = before + inside
        binds = before < min_leaf < after or before < total_u - min_leaf < after
        if last - first > 1 and binds:
            order_equals(order, weight, first, last, before, v, slope / inside, total_u, min_leaf, taken, chosen)
        first, before, v = last, after, v + slope
    return n


@kernel(error_model="numpy", fastmath=FLAGS)
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
        reached[i] = (up * up > need * room_up) | (down * down > need * room_down)
        count += reached[i]
    return count


@kernel(error_model="numpy", fastmath=FLAGS)
def add_blocks(cells, at, n_bins, sums):
    """Add up the cells from the left, block by block; return how many blocks there are."""
    whole = n_bins // BLOCK
    for c in range(cells.shape[0]):
        h, s = cells[c, at : at + n_bins], sums[c]
        for i in range(whole):
            total = np.int64(0)
            for k in range(BLOCK):
                total += h[BLOCK * i + k]
            s[i + 1] = total
        s[0] = 0
        for i in range(whole):
            s[i + 1] += s[i]
        total = s[whole]
        for k in range(BLOCK * whole, n_bins):
            total += h[k]
        s[whole + 1] = total
    return whole + (BLOCK * whole < n_bins)


@kernel(error_model="numpy", fastmath=FLAGS)
def blocks_reached(sums, n, extra_q, extra_u, total_q, total_u, shift, bar, rise, fall, us, vs, reached):
    """Find the blocks of splits in which one may gain ``bar``; return how many there are."""
    mean = total_q / total_u
    if shift == 0:
        for i in range(n + 1):
            us[i] = np.float64(sums[1, i] + extra_u)
            vs[i] = np.float64(sums[0, i] + extra_q) - mean * us[i]
    else:
        half = np.int64(1) << (shift - 1)
        mask = (np.int64(1) << shift) - 1
        for i in range(n + 1):
            a = sums[0, i] + extra_q
            q = ((a + half) & mask) - half
            us[i] = np.float64((a - q) >> shift)
            vs[i] = np.float64(q) - mean * us[i]
    return where_reached(us, vs, n, total_u, bar, rise, fall, reached)


@kernel(error_model="numpy", fastmath=FLAGS)
def list_blocks(cells, at, n_bins, sums, n, reached, left, order):
    """List the bins of the blocks reached, and what is on the left of a split after each; return how many."""
    m = 0
    for i in range(n):
        if not reached[i]:
            continue
        first, stop = BLOCK * i, min(BLOCK * i + BLOCK, n_bins)
        for c in range(cells.shape[0]):
            total = sums[c, i]
            for b in range(first, stop):
                total += cells[c, at + b]
                left[c, m + b - first] = total
        for b in range(first, stop):
            order[m + b - first] = b
        m += stop - first
    return m


@kernel(error_model="numpy", fastmath=FLAGS)
def best_split(
    cells, at, n_bins, categorical, feature, stride, totals, node, shift, min_leaf, bar, rise, fall, workspace
):
    """Return the gain and the code of the best split of a feature at a node, 0 and -1 if there is none.

    If no split gains ``bar``, that may be returned with the code -1.

    ``categorical`` tells the features that hold categories, None if none does.

    The code of a threshold is twice its bin, plus one if missing values go left.  Of equally good splits the lowest
    bin is taken, then missing values to the right.  The code of a set of categories is its size less one.
    """
    left, score, order, sums, us, vs, reached, others, ties = workspace
    total_q, total_u = decode(totals, shift, node)
    channels = cells.shape[0]
    none = np.int64(0)
    # None is a type of its own, for which numba compiles nothing of this; one condition of both would hide that from it
    if categorical is not None:  # noqa: SIM102
        if categorical[feature]:
            n = order_categories(cells, at, n_bins, stride, total_q, total_u, shift, min_leaf, order, score, ties)
            for c in range(channels):
                total = np.int64(0)
                for b in range(n):
                    total += cells[c, at + order[b]]
                    left[c, b] = total
            best, b = score_splits(left, n - 1, none, none, total_q, total_u, shift, min_leaf, score)
            return best * total_u, b
    q, u = cells[0, at + stride - 1], cells[channels - 1, at + stride - 1]
    missing = u != 0
    n, blocks = 0, 0
    if bar > 0.0:
        blocks = add_blocks(cells, at, n_bins, sums)
        n = blocks_reached(sums, blocks, none, none, total_q, total_u, shift, bar, rise, fall, us, vs, reached)
        if missing:
            n += blocks_reached(sums, blocks, q, u, total_q, total_u, shift, bar, rise, fall, us, vs, others)
            for i in range(blocks):
                reached[i] |= others[i]
        if n == 0:
            return bar, -1
    some = 0 < n <= MANY
    # where there are fewer rows than bins most splits would be the same
    listed = some or (shift > 0 and total_u < n_bins)
    if some:
        n = list_blocks(cells, at, n_bins, sums, blocks, reached, left, order)
    else:
        n = accumulate(cells, at, n_bins, left, order, listed)
    best, b = score_splits(left, n, none, none, total_q, total_u, shift, min_leaf, score)
    goes_left = 0
    if missing:
        other, b_left = score_splits(left, n, q, u, total_q, total_u, shift, min_leaf, score)
        if other > best or (other == best and other > 0.0 and b_left < b):
            best, b, goes_left = other, b_left, 1
    if some and best * total_u < bar:
        return bar, -1
    if b < 0:
        return 0.0, -1
    return best * total_u, 2 * (order[b] if listed else b) + goes_left


@njit(inline="always")
def best_of_few(cells, at, n_bins, total_q, total_u, shift, min_leaf):
    """Return what `best_split` does for few bins and no missing values, to the bit, going through them one by one."""
    channels = cells.shape[0]
    mean = total_q / total_u
    a, b = np.int64(0), np.int64(0)
    best, code = 0.0, -1
    for k in range(n_bins - 1):
        a += cells[0, at + k]
        b += cells[channels - 1, at + k]
        q, u = decode_pair(a, b, shift)
        rest = total_u - u
        if min(u, rest) >= min_leaf:
            v = q - mean * u
            score = v * v / max(u * rest, 1.0)
            if score > best:
                best, code = score, 2 * k
    return best * total_u, code


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
            elif width == 2:
                for i in range(np.uint64(start), np.uint64(stop)):
                    a = amount(z[i], i, u, shift, c)
                    h[x0[i]] += a
                    h[256 + np.int64(x1[i])] += a
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
        elif width == 2:
            for i in range(np.uint64(start), np.uint64(stop)):
                r = row_at(entries, i)
                a = amount(gradient_at(entries, i), r, u, shift, c)
                h[x0[r]] += a
                h[256 + np.int64(x1[r])] += a
        else:
            for i in range(np.uint64(start), np.uint64(stop)):
                r = row_at(entries, i)
                a = amount(gradient_at(entries, i), r, u, shift, c)
                h[x0[r]] += a
                h[256 + np.int64(x1[r])] += a
                h[512 + np.int64(x2[r])] += a
                h[768 + np.int64(x3[r])] += a


@njit(inline="always")
def sift(coarse, x, held, start, stop, thresholds, totals, node, shift, rise, fall, workspace, may):
    """Find which of four features may reach their thresholds, from histograms of sixteen bins a cell.

    Small ones take a fraction of the time, and most features get no further.
    """
    x0, x1, x2, x3 = x
    _, entries, u, _ = held
    us, vs, reached = workspace[4:7]
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
    us[0], vs[0] = 0.0, 0.0
    for j in range(4):
        a, b = np.int64(0), np.int64(0)
        for k in range(16):
            a += coarse[0, 16 * j + k]
            b += coarse[coarse.shape[0] - 1, 16 * j + k]
            q, us[k + 1] = decode_pair(a, b, shift)
            vs[k + 1] = q - mean * us[k + 1]
        may[j] = where_reached(us, vs, 16, total_u, thresholds[j], rise, fall, reached) > 0


@kernel()
def four(bins, features, f, last):
    """Return the bins of four features, the last one again where there are fewer."""
    return (
        bins[features[f]],
        bins[features[min(f + 1, last - 1)]],
        bins[features[min(f + 2, last - 1)]],
        bins[features[min(f + 3, last - 1)]],
    )


@kernel()
def put(cells, at, stride, stored, place, slot):
    """Keep the histogram of a feature."""
    for c in range(cells.shape[0]):
        for k in range(stride):
            stored[place, slot, c, k] = cells[c, at + k]


@kernel()
def search_nodes(
    bins, features, first, last, held, starts, stops, siftable, totals, n_bins, categorical, stride,
    shift, min_leaf, prices, bests, rises, falls, place, slots, stored, workspaces, gains, codes,
):  # fmt: skip
    """Find the best split of features[first:last] at every node, from its rows; keep histograms that have a slot."""
    cells, _, coarse, thresholds, may, workspace = workspaces
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
                thresholds[j] = prices[f + j] + bests[k]
                barred = barred and thresholds[j] > 0.0
            if barred and stops[k] - starts[k] <= MOST_TO_SIFT and not (held[3] or (keep and slots[k] >= 0)):
                sift(
                    coarse, x, held, starts[k], stops[k], thresholds, totals, k, shift, rises[k], falls[k], workspace,
                    may,
                )  # fmt: skip
                for j in range(4):
                    gains[k, f + j], codes[k, f + j] = thresholds[j], -1
                    if may[j]:
                        feature = features[f + j]
                        fill(cells, (x[j], x[j], x[j], x[j]), held, shift, starts[k], stops[k], stride, 1)
                        gains[k, f + j], codes[k, f + j] = best_split(
                            cells, 0, n_bins[feature], categorical, feature, stride, totals, k, shift, min_leaf,
                            thresholds[j], rises[k], falls[k], workspace,
                        )  # fmt: skip
                continue
            fill(cells, x, held, shift, starts[k], stops[k], stride, width)
            for j in range(width):
                feature = features[f + j]
                gains[k, f + j], codes[k, f + j] = best_split(
                    cells, 256 * j, n_bins[feature], categorical, feature, stride, totals, k, shift, min_leaf,
                    thresholds[j], rises[k], falls[k], workspace,
                )  # fmt: skip
                if keep and slots[k] >= 0:
                    put(cells, 256 * j, stride, stored, place[f + j], slots[k])


@kernel()
def search_pairs(
    bins, features, first, last, held, starts, stops, small, totals, n_bins, categorical, stride, shift,
    min_leaf, prices, bests, rises, falls, place, parent_slots, parents, slots, stored, workspaces, gains, codes,
):  # fmt: skip
    """Find the best splits of pairs of siblings 2p and 2p+1.

    The rows of the smaller are added up, and the other is what is left of the parent.  ``small[p]`` is 0 or 1, and
    starts and stops are its.
    """  # fmt: skip
    channels = totals.shape[0]
    cells, other, _, _, _, workspace = workspaces
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
                gains[near, f + j], codes[near, f + j] = best_split(
                    cells, 256 * j, n_bins[feature], categorical, feature, stride, totals, near, shift, min_leaf,
                    prices[f + j] + bests[near], rises[near], falls[near], workspace,
                )  # fmt: skip
                gains[far, f + j], codes[far, f + j] = best_split(
                    other, 0, n_bins[feature], categorical, feature, stride, totals, far, shift, min_leaf,
                    prices[f + j] + bests[far], rises[far], falls[far], workspace,
                )  # fmt: skip
                if keep and slots[near] >= 0:
                    put(cells, 256 * j, stride, stored, at, slots[near])
                if keep and slots[far] >= 0:
                    put(other, 0, stride, stored, at, slots[far])


@kernel()
def write_words(held, first, last, mean, per_square, per_weight, group, packed_bounds):
    """Write what the rows of a node amount to, rounded up, in a field of their word; see `entry_bound`.

    Squares are in the lower or upper field of the node's group, as z is below its mean or above, weights in the lower.
    """
    z, entries, u, whole = held
    for i in range(np.uint64(first), np.uint64(last)):
        q, r = (z[i], i) if whole else (gradient_at(entries, i), row_at(entries, i))
        weight = np.float64(u[r]) if u.shape[0] > 0 else 1.0
        d = np.float64(q) - mean
        field = 2 * group + (1 if d > 0.0 and per_square > 0.0 else 0)
        packed_bounds[r] = np.uint64(np.ceil(weight * (d * d * per_square + per_weight))) << np.uint64(FIELD * field)


@kernel()
def may_reach(starts, indices, f, entry_bound):
    """Whether a sparse feature may reach its bar at some node; see `entry_bound`."""
    packed_bounds, ones, most, filled, most_filled = entry_bound
    if starts[f + 1] - starts[f] > most or filled[f] > most_filled:
        return True
    total = np.uint64(0)
    for p in range(np.uint64(starts[f]), np.uint64(starts[f + 1])):
        total += packed_bounds[indices[p]]
    a, b = total & LOWEST, (total >> np.uint64(FIELD)) & LOWEST
    c, d = (total >> np.uint64(2 * FIELD)) & LOWEST, total >> np.uint64(3 * FIELD)
    return max(a, b) >= ones[0] or max(c, d) >= ones[1]


@kernel()
def count_reaching(starts, indices, features, step, entry_bound):
    """Return how many of every step-th feature may reach their thresholds."""
    n = 0
    for i in range(0, features.shape[0], step):
        n += may_reach(starts, indices, features[i], entry_bound)
    return n


@njit(inline="always")
def least_filled(bar, reach, total_u, min_leaf):
    """Return what the stored entries of a feature must weigh at a node for a split to be possible and to gain ``bar``.

    One side of every split has stored entries alone.  If it weighs w, V is at most w·reach there, and the gain at most
    w·reach²·u/(u - w).
    """
    if bar <= 0.0:
        return min_leaf
    return max(min_leaf, bar * total_u / (reach * reach * total_u + bar) * (1.0 - 1e-6))


@kernel(error_model="numpy")
def search_sparse(
    starts, indices, bins, zero_bin, features, first, last, node_of, slots, held, totals, total_qs, total_us, n_bins,
    categorical, shift, min_leaf, prices, bests, rises, falls, entry_bound, workspaces, listed, gains, codes,
):  # fmt: skip
    """Find the best split of sparse features at every node in one pass over their entries.

    slots[node_of[row]] is the place of a row's node.  What a node has beyond the entries of a feature is in the bin of
    zero.  Rows outside the nodes are in one more node.

    Features that an entry bound holds back are left out; the others are listed from listed[first] on, their gains and
    codes.  Return where the next would be.
    """
    z, _, u, _ = held
    channels = totals.shape[0]
    n_nodes = gains.shape[0]
    cells, workspace = workspaces[0], workspaces[5]
    n = first
    for f in range(first, last):
        feature = features[f]
        if entry_bound[0].shape[0] > 0 and not may_reach(starts, indices, feature, entry_bound):
            continue
        last_bin = np.uint64(n_bins[feature])  # here that of missing values: few bins shall take few cells
        size = n_bins[feature] + 1
        width = np.uint64(size)
        zero = min(np.int64(zero_bin[feature]), size - 1)
        for c in range(channels):
            h = cells[c]
            for k in range((n_nodes + 1) * size):
                h[k] = 0
            for p in range(np.uint64(starts[feature]), np.uint64(starts[feature + 1])):
                r = indices[p]
                at = np.uint64(slots[node_of[r]]) * width + min(np.uint64(bins[p]), last_bin)
                h[at] += amount(z[r], r, u, shift, c)
            for k in range(n_nodes):
                total = totals[c, k]
                for b in range(k * size, (k + 1) * size):
                    total -= h[b]
                h[k * size + zero] += total
        few = n_bins[feature] <= FEW
        if categorical is not None:
            few = few and not categorical[feature]
        for k in range(n_nodes):
            bar = prices[f] + bests[k]
            _, zeros = decode(cells, shift, k * size + zero)
            if total_us[k] - zeros < least_filled(bar, max(rises[k], falls[k]), total_us[k], min_leaf):
                gains[k, n], codes[k, n] = max(bar, 0.0), -1
            elif few and cells[channels - 1, k * size + size - 1] == 0:
                gains[k, n], codes[k, n] = best_of_few(
                    cells, k * size, n_bins[feature], total_qs[k], total_us[k], shift, min_leaf
                )
            else:
                gains[k, n], codes[k, n] = best_split(
                    cells, k * size, n_bins[feature], categorical, feature, size, totals, k, shift, min_leaf,
                    bar, rises[k], falls[k], workspace,
                )  # fmt: skip
        listed[n] = feature
        n += 1
    return n
