"""Rows in an order that their values alone decide, equal ones as one with their weights added up.

Greedy methods magnify the last digits of a sum.  What has to come out the same for shuffled rows, and for a weight of
two as for a repetition, is therefore brought into one order before anything is summed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgraft.arrays import Array, Index

Bits = NDArray[np.uint64]

MOST_CELLS = 10**7  # beyond it hashing and gathering rows cost more than their last digits are worth
CELLS_AT_ONCE = 2**15
GOLDEN, ONE = np.uint64(0x9E3779B97F4A7C15), np.uint64(1)


def merge_rows(X: Any, y: NDArray[Any], weight: Array) -> tuple[Index | None, Array]:
    """Return which rows count, every one once, in the order of their hashes; None for very large data.

    Rows are told apart by hashes of 128 bits, which do not depend on how X is stored.  Their order comes from a third
    hash that does not depend on the order of the columns either.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Finite numbers.
    y : ndarray of shape (n_rows,)
        Targets, as numbers.
    weight : ndarray of shape (n_rows,)
        Weights of at least 0.

    Returns
    -------
    rows : ndarray of int or None
        The rows that remain, None if all of them do as they are.
    weight : ndarray
        Their weights, those of equal rows added up.
    """
    if (X.nnz if sparse.issparse(X) else X.size) > MOST_CELLS:
        return None, weight
    counted = np.flatnonzero(weight > 0.0)
    hashes = _hashes(X, np.asarray(y, np.float64))[:, counted]
    order = np.lexsort(hashes)  # by the last first
    new = np.ones(order.size, bool)
    new[1:] = (np.diff(hashes[:, order]) != 0).any(axis=0)
    order = counted[order]
    together = np.asarray(np.bincount(np.cumsum(new) - 1, weight[order]), np.float64)
    return order[new], together


def _hashes(X: Any, y: Array) -> Bits:
    """Return three hashes of every row, sums of random numbers for its cells; zeros have none."""
    own = _scramble(_bits(y) + GOLDEN)
    of_cells = _sparse_sums(X) if sparse.issparse(X) else _dense_sums(X)
    return np.asarray(of_cells + np.stack([own, _scramble(own + ONE), own]))


def _dense_sums(X: NDArray[Any]) -> Bits:
    n_rows, n_features = X.shape
    columns = np.arange(1, n_features + 1, dtype=np.uint64)
    sums = np.empty((3, n_rows), np.uint64)
    step = max(1, CELLS_AT_ONCE // max(1, n_features))
    for a in range(0, n_rows, step):
        some = slice(a, a + step)
        sums[:, some] = np.sum(_of_cells(_bits(X[some]), columns), axis=2)
    return sums


def _sparse_sums(X: Any) -> Bits:
    sums = np.zeros((3, X.shape[0]), np.uint64)
    for a in range(0, X.nnz, CELLS_AT_ONCE):
        at = np.arange(a, min(a + CELLS_AT_ONCE, X.nnz))
        outer, inner = np.searchsorted(X.indptr, at, side="right") - 1, X.indices[at]
        rows, columns = (outer, inner) if X.format == "csr" else (inner, outer)
        cells = _of_cells(_bits(X.data[at]), columns.astype(np.uint64) + ONE)
        for its, own in zip(sums, cells, strict=True):
            np.add.at(its, rows, own)
    return sums


def _of_cells(bits: Bits, columns: Bits) -> Bits:
    """Return random numbers for each cell, two that depend on its column and one that does not; 0 where it holds 0."""
    one = _scramble(bits + columns * GOLDEN)
    return np.stack([one, _scramble(one + ONE), _scramble(bits + GOLDEN)]) * (bits != 0)


def _bits(values: NDArray[Any]) -> Bits:
    """Return the bits of numbers in double precision, of 0 for both zeros."""
    return (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)


def _scramble(x: Bits) -> Bits:
    """Return 64 bits that look like chance (Vigna's splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
