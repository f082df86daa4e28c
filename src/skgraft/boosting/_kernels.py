"""Compiled loops over rows: gradients of the losses, their quantisation, leaf sums, and predictions."""

from __future__ import annotations

import numpy as np
from numba import njit

LARGEST_SCORE = 700.0  # beyond it the exponential is no number


@njit(cache=True, nogil=True)
def logistic(f, y, w, first, last, g, h):
    """Write the negative gradient and the curvature of ln(1 + e^-yf), y being 0 or 1; return the weighted loss."""
    total, product, weight = 0.0, 1.0, w[first]
    for i in range(first, last):
        m = f[i] if y[i] > 0.5 else -f[i]
        e = np.exp(-abs(m))
        wrong = e / (1.0 + e) if m > 0.0 else 1.0 / (1.0 + e)  # probability of the other class
        g[i] = wrong if y[i] > 0.5 else -wrong
        h[i] = e / ((1.0 + e) * (1.0 + e))
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
