"""Compiled passes over X: products with residuals, means and squares, without a float64 copy of it."""

from __future__ import annotations

import numpy as np

from skgraft.compiled import FAST, ONE, column_dot, njit


@njit(cache=True, nogil=True, fastmath=FAST)
def dense_gradient(XT, R, out):
    """out[j, k] = Σ_i XT[j, i] R[k, i], accumulated in float64 whatever the type of X."""
    for j in range(XT.shape[0]):
        for k in range(R.shape[0]):
            total = 0.0
            for i in range(XT.shape[1]):
                total += XT[j, i] * R[k, i]
            out[j, k] = total


@njit(cache=True, nogil=True)
def csc_gradient_of(data, rows, columns, which, R, out):
    """out[c, k] = Σ_i X[i, which[c]] R[i, k] for compressed columns."""
    n_outputs = np.uintp(R.shape[1])
    if n_outputs == ONE:
        r = R[:, 0]
        for c in range(which.size):
            j = np.uintp(which[c])
            out[c, 0] = column_dot(data, rows, np.uintp(columns[j]), np.uintp(columns[j + ONE]), r)
        return
    for c in range(which.size):
        j = np.uintp(which[c])
        for k in range(n_outputs):
            out[c, k] = 0.0
        for i in range(np.uintp(columns[j]), np.uintp(columns[j + ONE])):
            for k in range(n_outputs):
                out[c, k] += data[i] * R[np.uintp(rows[i]), k]


@njit(cache=True, nogil=True)
def csc_gradient(data, rows, columns, R, out):
    """out[j, k] = Σ_i X[i, j] R[i, k] for compressed columns."""
    csc_gradient_of(data, rows, columns, np.arange(columns.size - 1), R, out)


@njit(cache=True, nogil=True, fastmath=FAST)
def csr_gradient(data, columns, rows, R, out):
    """out[j, k] = Σ_i X[i, j] R[i, k] for compressed rows; ``out`` starts at zero."""
    for i in range(rows.size - 1):
        for e in range(rows[i], rows[i + 1]):
            for k in range(R.shape[1]):
                out[columns[e], k] += data[e] * R[i, k]


@njit(cache=True, nogil=True, fastmath=FAST)
def dense_gradient_of(XT, which, R, out):
    """out[c, k] = Σ_i XT[which[c], i] R[k, i]: the same for some columns only."""
    for c in range(which.size):
        column = XT[which[c]]
        for k in range(R.shape[0]):
            total = 0.0
            for i in range(column.size):
                total += column[i] * R[k, i]
            out[c, k] = total


# Differences from a nearby number are exact, and are taken before anything is multiplied; only their sums may be
# reordered, and the two numbers that are subtracted.
@njit(cache=True, nogil=True, fastmath=FAST)
def weighted_sum(weight, x, first):
    """Return Σ_i weight[i]·(x[i] - first)."""
    total = 0.0
    for i in range(x.size):
        total += weight[i] * (x[i] - first)
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def weighted_squares(weight, x, first, shift):
    """Return Σ_i weight[i]·(x[i] - first - shift)²."""
    total = 0.0
    for i in range(x.size):
        d = (x[i] - first) - shift
        total += weight[i] * d * d
    return total


@njit(cache=True, nogil=True)
def column_moments(XT, weight, counted, mean, variance):
    """Weighted mean and variance of every row of XT; ``counted`` is a sample whose weight is not zero."""
    for j in range(XT.shape[0]):
        first = np.float64(XT[j, counted])
        shift = weighted_sum(weight, XT[j], first)
        mean[j] = first + shift
        variance[j] = weighted_squares(weight, XT[j], first, shift)


# Not allowed to reorder at all.
@njit(cache=True, nogil=True)
def row_moments(X, weight, counted, first, last, mean, variance):
    """Weighted mean and variance of the columns first:last of X, which is read by rows."""
    shift = np.zeros(last - first)
    for i in range(X.shape[0]):
        s = weight[i]
        for j in range(first, last):
            shift[j - first] += s * (X[i, j] - np.float64(X[counted, j]))
    for j in range(first, last):
        mean[j] = np.float64(X[counted, j]) + shift[j - first]
        variance[j] = 0.0
    for i in range(X.shape[0]):
        s = weight[i]
        for j in range(first, last):
            d = (X[i, j] - np.float64(X[counted, j])) - shift[j - first]
            variance[j] += s * d * d


@njit(cache=True, nogil=True)
def csc_moments(data, rows, columns, weight, mean, squares, stored):
    """Of every column: its weighted mean, the stored cells' squared distances from it, and their weight."""
    for j in range(columns.size - 1):
        first, last = np.uintp(columns[j]), np.uintp(columns[j + 1])
        total = 0.0
        seen = 0.0
        for i in range(first, last):
            s = weight[np.uintp(rows[i])]
            total += s * data[i]
            seen += s
        centre = total
        total = 0.0
        for i in range(first, last):
            d = data[i] - centre
            total += weight[np.uintp(rows[i])] * d * d
        mean[j] = centre
        stored[j] = seen
        squares[j] = total


@njit(cache=True, nogil=True)
def csr_moments(data, columns, rows, weight, mean, squares, stored):
    """Do the same for compressed rows; the three results start at zero."""
    for i in range(rows.size - 1):
        for e in range(rows[i], rows[i + 1]):
            mean[columns[e]] += weight[i] * data[e]
            stored[columns[e]] += weight[i]
    for i in range(rows.size - 1):
        for e in range(rows[i], rows[i + 1]):
            d = data[e] - mean[columns[e]]
            squares[columns[e]] += weight[i] * d * d
