"""Compiled loops over rows: gradients of the losses, their quantisation, nodes and leaves, and predictions."""

from __future__ import annotations

from math import factorial

import numpy as np
from numba import njit

LARGEST_SCORE = 700.0  # beyond it the exponential is no number
SOME = 512  # rows
INVERSE_FACTORIALS = tuple(1.0 / factorial(k) for k in range(12, -1, -1))


@njit(cache=True, nogil=True, error_model="numpy")
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


@njit(cache=True, nogil=True)
def logistic(f, y, w, first, last, g, h):
    """Write the negative gradient and the curvature of ln(1 + e^-yf), y being 0 or 1; return the weighted loss."""
    exps = np.empty(SOME)
    total, product, weight = 0.0, 1.0, w[first]
    for start in range(first, last, SOME):
        stop = min(start + SOME, last)
        exponentials(f[start:stop], stop - start, exps)
        for i in range(start, stop):
            e = exps[i - start]
            m = f[i] if y[i] > 0.5 else -f[i]
            inverse = 1.0 / (1.0 + e)
            wrong = e * inverse if m > 0.0 else inverse  # probability of the other class
            g[i] = wrong if y[i] > 0.5 else -wrong
            h[i] = e * inverse * inverse
            # Σ w·ln(1 + e) = w·ln Π(1 + e) over rows of one weight: a logarithm now and then instead of one a row
            if w[i] != weight or product > 1e250:
                total += weight * np.log(product)
                product, weight = 1.0, w[i]
            product *= 1.0 + e
            total += w[i] * max(-m, 0.0)
    return total + weight * np.log(product)


@njit(cache=True, nogil=True)
def softmax(f, y, w, first, last, g, h):
    """Write the negative gradients and curvatures of every class's score; y is the number of the class.

    The curvature carries Friedman's factor K/(K - 1), since all scores of a row move at once.
    """
    n_classes = f.shape[0]
    scale = n_classes / (n_classes - 1.0)
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
            p = g[k, i] / s
            g[k, i] = (1.0 if k == own else 0.0) - p
            h[k, i] = scale * p * (1.0 - p)
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
def quantise(g, first, last, scale, u, shift, z, values):
    """Write gradients as whole numbers, and what histograms add up."""
    one = np.int64(1) << shift
    for i in range(first, last):
        a = np.int64(np.rint(g[i] * scale))
        z[i] = a
        if shift > 0:
            values[0, i] = one + a
        else:
            values[0, i] = u[i] * a
            values[1, i] = u[i]


@njit(cache=True, nogil=True)
def leaf_sums(g, h, w, rows, start, stop):
    """Return Σ w·g, Σ w·h and Σ w over the rows of a leaf, in their order."""
    a, b, c = 0.0, 0.0, 0.0
    for i in range(start, stop):
        r = rows[i]
        a += w[r] * g[r]
        b += w[r] * h[r]
        c += w[r]
    return a, b, c


@njit(cache=True, nogil=True)
def add_to_rows(f, rows, start, stop, value):
    """Add a leaf's value to the scores of its rows."""
    for i in range(start, stop):
        f[rows[i]] += value


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
def partition(column, goes_left, missing, rows, start, stop, spare, seen):
    """Put the rows that go left before the others, both in their order; return where the others begin.

    ``seen`` gets the lowest bin of known values that goes right (256 if none does), and whether a value is missing.
    """
    at, n = start, np.int64(0)
    lowest, any_missing = np.int64(256), 0
    for i in range(start, stop):
        r = rows[i]
        b = np.int64(column[r])
        left = np.int64(goes_left[b])
        # both are written, and only one counts: a branch that nobody can predict would take longer
        rows[at] = r
        spare[n] = r
        at += left
        n += 1 - left
        any_missing |= b == missing
        lowest = min(lowest, b + 256 * (left | (b == missing)))
    for i in range(n):
        rows[at + i] = spare[i]
    seen[0], seen[1] = lowest, any_missing
    return at


@njit(cache=True, nogil=True)
def gather(values, z, shift, rows, start, stop, out, total):
    """Copy the values of a node's rows side by side and add them up; return Σ u·z² and the least and greatest z.

    Packed values, where ``shift`` is not 0, hold z in their lower bits.
    """
    squares, low, high = 0.0, np.int64(z[rows[start]]), np.int64(z[rows[start]])
    if shift > 0:
        half, mask = np.int64(1) << (shift - 1), (np.int64(1) << shift) - 1
        v, o, s = values[0], out[0], np.int64(0)
        for i in range(start, stop):
            a = v[rows[i]]
            o[i] = a
            s += a
            q = ((a + half) & mask) - half
            low, high = min(low, q), max(high, q)
            squares += np.float64(q) * np.float64(q)
        total[0] = s
        return squares, low, high
    s, t = np.int64(0), np.int64(0)
    for i in range(start, stop):
        r = rows[i]
        a, u, q = values[0, r], values[1, r], np.int64(z[r])
        out[0, i], out[1, i] = a, u
        s += a
        t += u
        low, high = min(low, q), max(high, q)
        squares += np.float64(a) * np.float64(q)
    total[0], total[1] = s, t
    return squares, low, high


@njit(cache=True, nogil=True)
def survey(values, z, first, last, total):
    """Add up the values of rows first:last; return Σ u·z² and the least and greatest z."""
    squares, low, high = 0.0, np.int64(z[first]), np.int64(z[first])
    for c in range(values.shape[0]):
        s = np.int64(0)
        for i in range(first, last):
            s += values[c, i]
        total[c] = s
    weighted = values.shape[0] > 1
    for i in range(first, last):
        q = np.int64(z[i])
        low, high = min(low, q), max(high, q)
        squares += np.float64(values[0, i] if weighted else q) * np.float64(q)
    return squares, low, high


@njit(cache=True, nogil=True)
def label_nodes(rows, start, stop, node, node_of):
    """Note which node the rows are in."""
    for i in range(start, stop):
        node_of[rows[i]] = node


@njit(cache=True, nogil=True)
def products(z, u, rows, start, stop, before):
    """Return Σ u·z·b and Σ u·b over the rows of a node, b being an earlier gradient of theirs."""
    both, other = 0.0, 0.0
    for i in range(start, stop):
        r = rows[i]
        weight = 1.0 if u.shape[0] == 0 else np.float64(u[r])
        b = weight * np.float64(before[i - start])
        both += b * np.float64(z[r])
        other += b
    return both, other


@njit(cache=True, nogil=True)
def may_win(features, share, along, across, length, slack, price, best, out):
    """Write which features may gain more than ``best`` and their price; see screening.py for the bound.

    ``along`` and ``across`` are what the present gradient, of this ``length``, has in the direction of the earlier one
    and at right angles to it.
    """
    n = 0
    for i in range(features.shape[0]):
        f = features[i]
        bound = length
        r = np.float64(share[f])
        # the direction of the present gradient itself is at r = along/length
        if r * length < along:
            bound = min(length, along * r + across * np.sqrt(max(0.0, 1.0 - r * r)))
        bound += slack
        if bound * bound >= price[f] + best:
            out[n] = f
            n += 1
    return n


@njit(cache=True, nogil=True)
def category_histogram(column, rows, values, start, stop, cells):
    """Add the rows of a node to the cells of one feature."""
    for c in range(values.shape[0]):
        for i in range(start, stop):
            cells[c, column[rows[i]]] += values[c, i]
