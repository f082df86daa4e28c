"""The columns that a stream holds, how promising the others were, and what is known of those that are gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgraft.arrays import Array, Index, Mask
from skgraft.grafting.linear.problem import Layout, LinearProblem, make_penalty

# A column of its own: its values, or the rows and values of those that are not zero.
Column: TypeAlias = NDArray[Any] | tuple[NDArray[Any], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class RetainedColumns:
    """The columns in memory: selected ones and the buffer.

    Attributes
    ----------
    positions : ndarray of int
        Where they stand in the stream.
    names : list of str
        Their names.
    columns : list
        Their values, as they came.
    coef : ndarray of shape (n_held, n_outputs)
        Their coefficients on the original scale.
    selected : ndarray of bool
        Which are in the model; the others are the buffer.
    bag : ndarray of int
        The position of the first column of the bag that each is in.
    rank : ndarray
        How far the residual must move before a column can come in: the smaller, the more promising.
    expiry : ndarray
        How far along its way (see :class:`ExpiryIndex`) the residual may go before a column has to be tested again.
    """

    positions: Index
    names: list[str]
    columns: list[Column]
    coef: Array
    selected: Mask
    bag: Index
    rank: Array
    expiry: Array

    @classmethod
    def nothing(cls, n_outputs: int) -> RetainedColumns:
        """Return no columns."""
        none, nowhere = np.empty(0), np.empty(0, np.intp)
        return cls(nowhere, [], [], np.empty((0, n_outputs)), np.empty(0, bool), nowhere, none, none)

    @property
    def size(self) -> int:
        """Number of columns."""
        return self.positions.size

    def take(self, which: Index) -> RetainedColumns:
        """Return some of the columns, in the given order."""
        return RetainedColumns(
            self.positions[which],
            [self.names[k] for k in which],
            [self.columns[k] for k in which],
            self.coef[which],
            self.selected[which],
            self.bag[which],
            self.rank[which],
            self.expiry[which],
        )

    def joined(self, other: RetainedColumns) -> RetainedColumns:
        """Return these columns and others, by their positions."""
        both = RetainedColumns(
            np.concatenate([self.positions, other.positions]),
            self.names + other.names,
            self.columns + other.columns,
            np.concatenate([self.coef, other.coef]),
            np.concatenate([self.selected, other.selected]),
            np.concatenate([self.bag, other.bag]),
            np.concatenate([self.rank, other.rank]),
            np.concatenate([self.expiry, other.expiry]),
        )
        return both.take(np.argsort(both.positions, kind="stable"))

    def matrices(self, n_rows: int) -> list[tuple[Any, Index]]:
        """Return the columns as a dense and a sparse matrix, those that there are, and which columns these hold."""
        sparse_ones = np.array([isinstance(column, tuple) for column in self.columns], dtype=bool)
        found: list[tuple[Any, Index]] = []
        for which, stack in ((np.flatnonzero(~sparse_ones), _dense), (np.flatnonzero(sparse_ones), _sparse)):
            if which.size:
                found.append((stack([self.columns[k] for k in which], n_rows), which))
        return found


def _dense(columns: Sequence[Any], n_rows: int) -> NDArray[Any]:
    X = np.empty((n_rows, len(columns)), np.result_type(*{column.dtype for column in columns}), order="F")
    for j, column in enumerate(columns):
        X[:, j] = column
    return X


def _sparse(columns: Sequence[Any], n_rows: int) -> Any:
    starts = np.cumsum([0, *(rows.size for rows, _ in columns)])
    rows = np.concatenate([rows for rows, _ in columns])
    values = np.concatenate([values for _, values in columns])
    return sparse.csc_array((values, rows, starts), shape=(n_rows, len(columns)))


def copied(X: Any, which: Index) -> list[Column]:
    """Return copies of some columns of a matrix, each on its own, so that the matrix itself can go."""
    if not sparse.issparse(X):
        return [np.array(X[:, j]) for j in which]
    part = X[:, which].tocsc()
    ends = part.indptr
    return [(part.indices[a:e].copy(), part.data[a:e].copy()) for a, e in pairwise(ends)]


# --- how promising a column is ---


@dataclass(frozen=True, eq=False)
class ScreeningBound:
    """What the gradients of columns say: ``rank`` and ``expiry`` as in :class:`RetainedColumns`, the latter from zero.

    ``kkt_excess`` is the distance of each gradient from the subdifferential at zero.
    """

    rank: Array
    expiry: Array
    kkt_excess: Array


def screening_bound(problem: LinearProblem, gradient: Array, tol: float) -> ScreeningBound:
    """Judge columns that are not in the model by their loss gradients (n_columns, n_outputs).

    A gradient moves by at most the length of its column times the way of the residual (Cauchy-Schwarz).  So a column
    whose gradient is ``slack`` inside the penalty's subdifferential at zero stays out while the residual moves by less
    than slack/length.  With prices no such thing holds, and a column counts as tested only while the model stays.
    """
    slack, length = _slack(problem, gradient)
    with np.errstate(divide="ignore", invalid="ignore"):
        leeway = (slack if problem.convex else 0.0) + tol
        expiry = np.where(length > 0.0, leeway / length, np.inf)
        # a gain of slack²/2 length² must also pay the price
        charge = problem.prices.charge[problem.prices.bags.of]
        rank = np.where(length > 0.0, slack / length + np.sqrt(2.0 * problem.l0 * charge), np.inf)
    return ScreeningBound(rank, expiry, np.where(length > 0.0, np.maximum(-slack, 0.0), 0.0))


def _slack(problem: LinearProblem, gradient: Array) -> tuple[Array, Array]:
    """Return how far each gradient is inside the subdifferential at zero, and how fast it may move.

    A bag under a group norm is judged as a whole: ||S(g)|| moves by at most the root of its columns' squared lengths.
    """
    layout = Layout(problem)
    penalty = make_penalty(problem, layout)
    flat, length = layout.flat(gradient), problem.columns.length
    if not layout.grouped:
        kkt_excess = -flat if problem.positive else np.abs(flat)
        return (penalty.hold - kkt_excess).reshape(gradient.shape).min(axis=1), length
    of = layout.unit_of
    excess = penalty.excess(flat)
    reach = np.sqrt(layout.over_units(np.add, excess * excess))
    lengths = np.sqrt(problem.n_outputs * np.bincount(of, length**2, layout.n_units))
    return np.asarray((penalty.norm - reach)[of]), lengths[of]


def stays(rank: Array, selected: Mask, buffer: int | None, bag: Index | None) -> Mask:
    """Return which columns stay in memory: the selected ones and the ``buffer`` most promising others.

    With ``bag`` (the bag of each column) bags stay or go as a whole.
    """
    stay = selected.copy()
    if buffer is None:
        stay[:] = True
        return stay
    others = np.flatnonzero(~selected)
    if bag is None:
        if others.size > buffer:
            near = np.argpartition(rank[others], buffer)[: buffer + 1] if buffer else np.empty(0, np.intp)
            others = others[near[np.lexsort((near, rank[others][near]))][:buffer]]
        stay[others] = True
        return stay
    stay |= np.isin(bag, bag[selected])
    others = np.flatnonzero(~stay)
    order = others[np.lexsort((bag[others], rank[others]))]
    _, first, sizes = np.unique(bag[order], return_index=True, return_counts=True)
    by_promise = np.argsort(first)
    room = np.cumsum(sizes[by_promise]) <= buffer
    stay[order[np.isin(bag[order], bag[order[first[by_promise[room]]]])]] = True
    return stay


# --- columns that are gone ---


@dataclass(frozen=True)
class ExpiryIndex:
    """Until when the columns that are gone are known to stay out of the model.

    The way is the length of the path that the residual has gone so far.  It is never changed, only extended.
    """

    parts: tuple[Array, ...] = field(default=())

    def extended(self, expiry: Array) -> ExpiryIndex:
        """Return the ledger with further columns."""
        new = np.sort(expiry)
        parts = list(self.parts)
        while parts and parts[-1].size <= new.size:
            new = np.sort(np.concatenate([parts.pop(), new]), kind="stable")
        return ExpiryIndex((*parts, new)) if new.size else self

    def joined(self, other: ExpiryIndex) -> ExpiryIndex:
        """Return the columns of both."""
        both = self
        for part in other.parts:
            both = both.extended(part)
        return both

    def count_before(self, way: float) -> int:
        """Return how many columns are known only up to an earlier point of the way."""
        return sum(int(np.searchsorted(part, way)) for part in self.parts)
