"""Compiled products of X' with residuals, without a float64 copy of X."""

from __future__ import annotations

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
