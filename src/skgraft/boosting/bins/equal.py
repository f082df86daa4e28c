"""Rows that are equal in all bins and in the target: no split tells them apart, so one of them can stand for all.

Their gradients are the same in every tree, and a row that weighs as much as several adds the same whole numbers to a
histogram as these would.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skgraft.boosting.bins.storage import DenseBins, SparseBins
from skgraft.matrix import ThreadPool

LEAST_ROWS = 20_000  # below it there is nothing to gain
SAMPLE_SIZE = 2**16  # rows that tell whether it is worth comparing all
MOST_AT_A_GLANCE = 0.9  # of them may differ
MOST_DIFFERENT = 0.5  # of all rows
PIECE = 2**14  # rows whose hashes stay in a cache

OneKind: TypeAlias = DenseBins | SparseBins


@dataclass(frozen=True, eq=False)
class Equal:
    """Which rows are equal: the first of each kind, ascending, and the kind of every row."""

    firsts: NDArray[np.int64]
    kind: NDArray[np.int32]

    def added_up(self, weight: NDArray[Any]) -> NDArray[np.float64]:
        """Return what the rows of each kind weigh together."""
        return np.asarray(np.bincount(self.kind, weight, self.firsts.size), np.float64)


def find_equal(bins: OneKind, y: NDArray[np.float64], workers: ThreadPool) -> Equal | None:
    """Look for equal rows; None if most are different.

    They are told by hashes of 128 bits: in ten million rows two of all pairs that differ have the same one with a
    probability of 10^-25.

    Parameters
    ----------
    bins : DenseBins or SparseBins
        All columns.
    y : ndarray of shape (n_rows,)
        The target.
    workers : ThreadPool
        Threads.
    """
    n_rows = bins.n_rows
    if n_rows < LEAST_ROWS:
        return None
    step = max(1, n_rows // SAMPLE_SIZE)
    if step > 1 and _group(bins, y, step, MOST_AT_A_GLANCE, workers) is None:
        return None
    return _group(bins, y, 1, MOST_DIFFERENT, workers)


def take_rows(bins: OneKind, rows: NDArray[np.int64], workers: ThreadPool) -> OneKind:
    """Return the bins of some rows, which ascend."""
    if isinstance(bins, DenseBins):
        cells = bins.bins
        out = np.empty((len(cells), rows.size), np.uint8)

        def take(first: int, last: int) -> None:
            for f in range(first, last):
                np.take(cells[f], rows, out=out[f], mode="clip")  # since another mode would copy

        workers.run(take, len(out), 0.2 * out.size)
        return replace(bins, bins=out)
    place = np.full(bins.n_rows, -1, np.int64)
    place[rows] = np.arange(rows.size)
    new = place[bins.rows]
    stays = new >= 0
    starts = np.concatenate([[0], np.cumsum(stays, dtype=np.int64)])[bins.starts]
    return replace(bins, n_rows=rows.size, starts=starts, rows=new[stays].astype(np.uint32), bins=bins.bins[stays])


def _group(bins: OneKind, y: NDArray[np.float64], step: int, most: float, workers: ThreadPool) -> Equal | None:
    """Group every step-th row, if at most such a share of them are different."""
    from skgraft.boosting.bins._kernels import group_rows, hash_dense, hash_sparse, hash_targets

    n = -(-bins.n_rows // step)
    hashes = np.empty((2, n), np.uint64)
    hash_targets(y, step, hashes)
    if isinstance(bins, SparseBins):
        hash_sparse(bins.starts, bins.rows, bins.bins, bins.zero, step, hashes)
    else:
        cells = bins.bins

        def add(first: int, last: int) -> None:
            for k in range(first, last):
                hash_dense(cells, step, k * PIECE, min(n, (k + 1) * PIECE), hashes)

        workers.run(add, -(-n // PIECE), 0.2 * n * len(cells))
    kind, firsts = np.empty(n, np.int32), np.empty(int(most * n), np.int64)
    n_kinds = group_rows(hashes, kind, firsts)
    return None if n_kinds < 0 else Equal(firsts[:n_kinds].copy(), kind)
