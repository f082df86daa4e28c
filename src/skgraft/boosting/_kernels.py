"""Compiled loops over rows: gradients of the losses, their quantisation, nodes and leaves, and predictions."""

from __future__ import annotations

from math import factorial

import numpy as np

from skgraft.compiled import njit

LARGEST_SCORE = 700.0  # beyond it the exponential is no number
SOME = 512  # rows
SOME_SQUARES = 2**14  # rows: so many squares of 24 bits fit an int64
WHOLE_SHARE = 2**8 - 1  # units of a whole, where shares are remembered as whole numbers
INVERSE_FACTORIALS = tuple(1.0 / factorial(k) for k in range(12, -1, -1))


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def exponentials(x, n, out):
    """Write e^-|x| of the first n numbers: e^x = 2^k·e^r with |r| <= ½·ln 2, and e^r by its series to the last bit.

    Without calls or branches, so that it runs by vectors.
    """
    bits = out.view(np.int64)
    for i in range(n):
        a = -min(abs(x[i]), LARGEST_SCORE)
        # adding 1.5·2^52 rounds to a whole number, which is then in the lowest bits
        out[i] = a * 1.4426950408889634 + 6755399441055744.0
        k = out[i] - 6755399441055744.0
        r = (a - k * 0.6931471803691238) - k * 1.9082149292705877e-10
        e = 1.0 / 6227020800.0
        for c in INVERSE_FACTORIALS:
            e = e * r + c
        bits[i] = (bits[i] + 1023) << 52
        out[i] *= e


@njit(cache=True, nogil=True, error_model="numpy")
def logistic(f, y, w, first, last, g):
    """Write the negative gradient of ln(1 + e^-yf), y being 0 or 1; return the weighted loss.

    One w stands for all.
    """
    exps = np.empty(SOME)
    total = 0.0
    for start in range(first, last, SOME):
        stop = min(start + SOME, last)
        n = stop - start
        scores, classes = f[start:stop], y[start:stop]
        exponentials(scores, n, exps)
        logistic_slopes(scores, classes, exps, n, g[start:stop])
        if w.shape[0] == 1:
            total += w[0] * logistic_loss(scores, classes, exps, n)
        else:
            for i in range(n):
                m = scores[i] if classes[i] > 0 else -scores[i]
                total += w[start + i] * (np.log(1.0 + exps[i]) + max(-m, 0.0))
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def logistic_slopes(scores, classes, exps, n, g):
    """Write gradients, the probability of the other class, given e^-|f|; without branches: so it runs by vectors."""
    for i in range(n):
        e = exps[i]
        sign = 1.0 if classes[i] > 0 else -1.0
        g[i] = sign * ((e if sign * scores[i] > 0.0 else 1.0) * (1.0 / (1.0 + e)))


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def logistic_loss(scores, classes, exps, n):
    """Return Σ ln(1 + e^-|f|) + max(-yf, 0), by one logarithm of a product of up to 512 numbers below 2."""
    product, total = 1.0, 0.0
    for i in range(n):
        product *= 1.0 + exps[i]
        m = scores[i] if classes[i] > 0 else -scores[i]
        total += 0.0 if m > 0.0 else -m
    return np.log(product) + total


@njit(cache=True, nogil=True)
def softmax(f, y, w, first, last, g):
    """Write the negative gradients of every class's score; y is the number of the class."""
    n_classes = f.shape[0]
    total = 0.0
    for i in range(first, last):
        top = f[0, i]
        for k in range(1, n_classes):
            top = max(top, f[k, i])
        s = 0.0
        for k in range(n_classes):
            e = np.exp(f[k, i] - top)
            g[k, i] = e
            s += e
        own = np.int64(y[i])
        for k in range(n_classes):
            g[k, i] = (1.0 if k == own else 0.0) - g[k, i] / s
        total += w[i] * (np.log(s) + top - f[own, i])
    return total


@njit(cache=True, nogil=True)
def squared(f, y, w, first, last, g, h):
    """Write the residual and one; return the weighted loss."""
    total = 0.0
    for i in range(first, last):
        r = y[i] - f[i]
        g[i] = r
        h[i] = 1.0
        total += w[i] * 0.5 * r * r
    return total


@njit(cache=True, nogil=True)
def huber(f, y, w, first, last, g, h, delta):
    """Write the clipped residual and the curvature of the square that touches the loss from above."""
    total = 0.0
    for i in range(first, last):
        r = y[i] - f[i]
        a = abs(r)
        if a <= delta:
            g[i] = r
            h[i] = 1.0
            total += w[i] * 0.5 * r * r
        else:
            g[i] = delta if r > 0.0 else -delta
            h[i] = delta / a
            total += w[i] * delta * (a - 0.5 * delta)
    return total


@njit(cache=True, nogil=True)
def poisson(f, y, w, first, last, g, h):
    """Write y - e^f and e^f."""
    total = 0.0
    for i in range(first, last):
        m = np.exp(min(f[i], LARGEST_SCORE))
        g[i] = y[i] - m
        h[i] = m
        total += w[i] * (m - y[i] * f[i])
    return total


@njit(cache=True, nogil=True)
def quantise(g, first, last, scale, z):
    """Write gradients as whole numbers."""
    for i in range(first, last):
        z[i] = np.int32(np.rint(g[i] * scale))


# ------------------------------------------------------------------------------------------ the rows of nodes
#
# An entry is a row's number, in the upper half of an uint64, and its quantised gradient: what a histogram needs of a
# row moves as one.  In the root all rows are in their order, and there are no entries yet (``whole``).


@njit(inline="always")
def row_at(entries, i):
    """Return the number of a row."""
    return entries[i] >> np.uint64(32)


@njit(inline="always")
def gradient_at(entries, i):
    """Return the quantised gradient of a row."""
    return np.int32(entries[i])


@njit(inline="always")
def amount(q, r, u, shift, c):
    """Return what row r with gradient q adds to channel c of a histogram."""
    if u.shape[0] == 0:
        return (np.int64(1) << shift) + np.int64(q)
    if shift > 0:
        return u[r] * ((np.int64(1) << shift) + np.int64(q))
    return u[r] * np.int64(q) if c == 0 else u[r]


@njit(cache=True, nogil=True)
def count_left(column, goes_left, held, first, last):
    """Return how many of the rows go left."""
    _, entries, _, whole = held
    n = np.int64(0)
    if whole:
        for i in range(np.uint64(first), np.uint64(last)):
            n += goes_left[column[i]]
    else:
        for i in range(np.uint64(first), np.uint64(last)):
            n += goes_left[column[row_at(entries, i)]]
    return n


@njit(cache=True, nogil=True)
def partition_rows(column, goes_left, held, first, last, left, right, out, present):
    """Write the rows that go left to out[left], out[left + 1], ..., the others to out[right], out[right - 1], ...

    Return where the next one on the left would be.  ``present`` gets 1 for every bin that was met.
    """
    z, entries, _, whole = held
    one = np.uint64(1)
    at, other = np.uint64(left), np.uint64(right)
    for i in range(np.uint64(first), np.uint64(last)):
        if whole:
            r = i
            entry = (i << np.uint64(32)) | np.uint64(np.uint32(z[i]))
        else:
            r = row_at(entries, i)
            entry = entries[i]
        b = column[r]
        present[b] = 1
        goes = np.uint64(goes_left[b])
        # by arithmetic: a branch that nobody can predict would take longer
        mask = np.uint64(0) - goes
        out[(at & mask) | (other & ~mask)] = entry
        at += goes
        other -= one - goes
    return np.int64(at)


@njit(cache=True, nogil=True)
def end_of_left(present, b, n_bins, edges):
    """Return the first bin that goes right where bin b is the last on the left that has rows.

    Edges up to the next bin that has rows tell both sides apart as well: of these the nearest to the middle is taken.
    If only missing values go right, all bins go left.
    """
    other = b + 1
    while other < n_bins and not present[other]:
        other += 1
    if other == n_bins:
        return n_bins
    middle = 0.5 * edges[b] + 0.5 * edges[other - 1]
    best = b
    for k in range(b + 1, other):
        if abs(edges[k] - middle) < abs(edges[best] - middle):
            best = k
    return best + 1


@njit(cache=True, nogil=True)
def sum_node(held, shift, first, last, total):
    """Add up the rows first:last as a histogram does; return Σ u·z² and the least and greatest z.

    The sum of squares is in two parts, of which the first is in units of 2^32: so it is exact where all rows weigh the
    same.
    """
    z, entries, u, whole = held
    low, high = np.int32(2**31 - 1), np.int32(-(2**31) + 1)
    sums, units, rest = np.int64(0), np.int64(0), np.int64(0)
    for start in range(first, last, SOME_SQUARES):
        stop = min(start + SOME_SQUARES, last)
        some = np.int64(0)
        for i in range(np.uint64(start), np.uint64(stop)):
            q = z[i] if whole else gradient_at(entries, i)
            low, high = min(low, q), max(high, q)
            sums += np.int64(q)
            some += np.int64(q) * np.int64(q)
        units += some >> 32
        rest += some & np.int64(2**32 - 1)
    if u.shape[0] == 0:
        total[0] = (np.int64(last - first) << shift) + sums
        return np.float64(units), np.float64(rest), low, high
    sums, weight, squares = np.int64(0), np.int64(0), 0.0
    for i in range(np.uint64(first), np.uint64(last)):
        q, r = (z[i], i) if whole else (gradient_at(entries, i), row_at(entries, i))
        a = u[r] * np.int64(q)
        sums += a
        weight += u[r]
        squares += np.float64(a) * np.float64(q)
    if shift > 0:
        total[0] = (weight << shift) + sums
    else:
        total[0], total[1] = sums, weight
    return 0.0, squares, low, high


@njit(cache=True, nogil=True)
def gradients_of(held, first, last, out):
    """Copy the gradients of a node's rows."""
    z, entries, _, whole = held
    for i in range(np.uint64(first), np.uint64(last)):
        out[i - np.uint64(first)] = z[i] if whole else gradient_at(entries, i)


@njit(cache=True, nogil=True)
def products(held, first, last, before):
    """Return Σ u·z·b and Σ u·b over the rows of a node, b being an earlier gradient of theirs."""
    z, entries, u, whole = held
    both, other = 0.0, 0.0
    for i in range(np.uint64(first), np.uint64(last)):
        q, r = (z[i], i) if whole else (gradient_at(entries, i), row_at(entries, i))
        b = np.float64(before[i - np.uint64(first)])
        if u.shape[0] > 0:
            b *= np.float64(u[r])
        both += b * np.float64(q)
        other += b
    return both, other


@njit(cache=True, nogil=True)
def label_nodes(held, first, last, node, node_of):
    """Note which node the rows are in."""
    _, entries, _, whole = held
    for i in range(np.uint64(first), np.uint64(last)):
        node_of[i if whole else row_at(entries, i)] = node


@njit(cache=True, nogil=True)
def category_histogram(column, held, shift, first, last, cells):
    """Add the rows of a node to the cells of one feature."""
    z, entries, u, whole = held
    for c in range(cells.shape[0]):
        for i in range(np.uint64(first), np.uint64(last)):
            q, r = (z[i], i) if whole else (gradient_at(entries, i), row_at(entries, i))
            cells[c, column[r]] += amount(q, r, u, shift, c)


@njit(inline="always")
def curvature_at(g, h, r, scale):
    """Return the curvature of a row; where there is no h it is that of a probability, scale·|g|·(1 - |g|)."""
    if h.shape[0] > 0:
        return h[r]
    p = abs(g[r])
    return scale * p * (1.0 - p)


@njit(cache=True, nogil=True)
def leaf_sums(g, h, w, scale, held, first, last):
    """Return Σ w·g, Σ w·h and Σ w over rows of a leaf, in their order; no w means that all are 1."""
    _, entries, _, whole = held
    a, b, c = 0.0, 0.0, 0.0
    if w.shape[0] == 0:
        for i in range(np.uint64(first), np.uint64(last)):
            r = i if whole else row_at(entries, i)
            a += g[r]
            b += curvature_at(g, h, r, scale)
        return a, b, np.float64(last - first)
    for i in range(np.uint64(first), np.uint64(last)):
        r = i if whole else row_at(entries, i)
        a += w[r] * g[r]
        b += w[r] * curvature_at(g, h, r, scale)
        c += w[r]
    return a, b, c


@njit(cache=True, nogil=True)
def add_to_rows(f, held, first, last, value):
    """Add a leaf's value to the scores of its rows."""
    _, entries, _, whole = held
    for i in range(np.uint64(first), np.uint64(last)):
        f[i if whole else row_at(entries, i)] += value


@njit(cache=True, nogil=True)
def add_trees(X, first, last, roots, outputs, feature, threshold, left, right, value, missing_left, table, tables, out):
    """Add the values of trees to the scores of rows first:last, tree by tree.

    ``feature`` is a column of X, -1 at a leaf.  Where ``table`` is not negative the value is a bin, and its row of
    ``tables`` says whether it goes left.
    """
    for i in range(first, last):
        x = X[i]
        for t in range(roots.shape[0]):
            node = roots[t]
            while feature[node] >= 0:
                a = x[feature[node]]
                if table[node] >= 0:
                    goes_left = tables[table[node], np.int64(a)]
                elif a != a:  # noqa: PLR0124 -- NaN alone is not itself
                    goes_left = missing_left[node]
                else:
                    goes_left = a <= threshold[node]
                node = left[node] if goes_left else right[node]
            out[i, outputs[t]] += value[node]


@njit(cache=True, nogil=True)
def may_win(features, first, last, share, along, across, length, slack, price, best, out):
    """Write which of the features first:last may gain more than ``best`` and their price, from out[first] on.

    Return where the next would be; see screening.py for the bound.

    ``along`` and ``across`` are what the present gradient, of this ``length``, has in the direction of the earlier one
    and at right angles to it.
    """
    n = first
    for i in range(first, last):
        f = features[i]
        bound = length
        r = np.float64(share[f]) / WHOLE_SHARE
        # the direction of the present gradient itself is at r = along/length
        if r * length < along:
            bound = min(length, along * r + across * np.sqrt(max(0.0, 1.0 - r * r)))
        bound += slack
        if bound * bound >= price[f] + best:
            out[n] = f
            n += 1
    return n


@njit(cache=True, nogil=True)
def root_shares(features, gains, length, unknown, share):
    """Write √gain of features as shares of a length, rounded up, but for those of which nothing is known."""
    for i in range(features.shape[0]):
        if not unknown[features[i]]:
            share[features[i]] = np.uint8(min(np.ceil(np.sqrt(gains[i]) / length * WHOLE_SHARE), WHOLE_SHARE))


@njit(cache=True, nogil=True)
def best_net(features, gains, codes, price, first, last):
    """Return the largest gain after its price of features first:last, and the first place that has it."""
    best, at = -np.inf, first
    for i in range(first, last):
        net = gains[i] - price[features[i]]
        if codes[i] >= 0 and net > best:
            best, at = net, i
    return best, at
