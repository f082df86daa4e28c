"""Compiled passes over X: products with residuals, means and squares, without a float64 copy of it."""

from __future__ import annotations

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(cache=True, nogil=True, fastmath=FAST)
def dense_gradient(XT, R, out):
    """out[j, k] = Σ_i XT[j, i] R[k, i], accumulated in float64 whatever the type of X."""
    for j in range(XT.shape[0]):
        for k in range(R.shape[0]):
            total = 0.0
            for i in range(XT.shape[1]):
                total += XT[j, i] * R[k, i]
            out[j, k] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def csc_gradient(data, rows, columns, R, out):
    """out[j, k] = Σ_i X[i, j] R[i, k] for compressed columns."""
    for j in range(columns.size - 1):
        for k in range(R.shape[1]):
            total = 0.0
            for i in range(columns[j], columns[j + 1]):
                total += data[i] * R[rows[i], k]
            out[j, k] = total


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


@njit(cache=True, nogil=True, fastmath=FAST)
def csc_gradient_of(data, rows, columns, which, R, out):
    """out[c, k] = Σ_i X[i, which[c]] R[i, k] for compressed columns."""
    for c in range(which.size):
        j = which[c]
        for k in range(R.shape[1]):
            total = 0.0
            for i in range(columns[j], columns[j + 1]):
                total += data[i] * R[rows[i], k]
            out[c, k] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def weighted_sum(weight, x):
    total = 0.0
    for i in range(x.size):
        total += weight[i] * x[i]
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def weighted_squares(weight, x):
    total = 0.0
    for i in range(x.size):
        total += weight[i] * x[i] * x[i]
    return total


# Not allowed to reorder: differences from a nearby number are exact, and must stay differences.
@njit(cache=True, nogil=True)
def column_moments(XT, weight, counted, mean, variance):
    """Weighted mean and variance of every row of XT; ``counted`` is a sample whose weight is not zero."""
    n = XT.shape[1]
    apart = np.empty(n)
    for j in range(XT.shape[0]):
        first = np.float64(XT[j, counted])
        for i in range(n):
            apart[i] = XT[j, i] - first
        shift = weighted_sum(weight, apart)
        for i in range(n):
            apart[i] -= shift
        mean[j] = first + shift
        variance[j] = weighted_squares(weight, apart)


@njit(cache=True, nogil=True)
def row_moments(X, weight, counted, mean, variance):
    """Weighted mean and variance of every column of X, which is read by rows."""
    n, p = X.shape
    shift = np.zeros(p)
    for i in range(n):
        s = weight[i]
        for j in range(p):
            shift[j] += s * (X[i, j] - np.float64(X[counted, j]))
    for j in range(p):
        mean[j] = np.float64(X[counted, j]) + shift[j]
        variance[j] = 0.0
    for i in range(n):
        s = weight[i]
        for j in range(p):
            d = (X[i, j] - np.float64(X[counted, j])) - shift[j]
            variance[j] += s * d * d


@njit(cache=True, nogil=True)
def csc_moments(data, rows, columns, weight, mean, squares, stored):
    """Of every column: its weighted mean, the stored cells' squared distances from it, and their weight."""
    for j in range(columns.size - 1):
        total = 0.0
        seen = 0.0
        for i in range(columns[j], columns[j + 1]):
            s = weight[rows[i]]
            total += s * data[i]
            seen += s
        mean[j] = total
        stored[j] = seen
        total = 0.0
        for i in range(columns[j], columns[j + 1]):
            d = data[i] - mean[j]
            total += weight[rows[i]] * d * d
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
