"""One block of columns after another: test, graft, keep the promising ones, let the others go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from skgraft.arrays import Array, Index, Mask
from skgraft.grafting.linear.fit import LinearControls, check_saved, minimize, rounding, scope_of
from skgraft.grafting.linear.optimality import model_scores
from skgraft.grafting.linear.problem import Layout, LinearProblem, make_penalty
from skgraft.grafting.stream.held import RetainedColumns, copied, screening_bound, stays
from skgraft.grafting.stream.names import NameIndex
from skgraft.grafting.stream.state import Known, PassState, Stream, empty_stream
from skgraft.grafting.target import Target
from skgraft.matrix import DenseColumns, JoinedColumns, SparseColumns
from skgraft.run import Monitor, Record


class Criterion(Protocol):
    """What is to be minimised, over whichever columns are there."""

    def standardized(self, matrix: Any) -> DenseColumns | SparseColumns:
        """Return columns as the criterion sees them."""

    def over(
        self, columns: DenseColumns | SparseColumns | JoinedColumns, positions: Index, names: Sequence[str]
    ) -> LinearProblem:
        """Return the criterion over some columns, given with their positions in the stream and their names."""


@dataclass(frozen=True, eq=False)
class Block:
    """Columns that arrive: as given, standardised, from which position of the stream on, their names, and all names."""

    X: Any
    columns: DenseColumns | SparseColumns
    start: int
    names: Sequence[str]
    index: NameIndex

    @property
    def positions(self) -> Index:
        """Where the columns stand in the stream."""
        return np.arange(self.start, self.start + self.columns.n_columns)


@dataclass
class _StreamMonitor(Monitor):
    """A monitor whose records name columns by their positions in the stream."""

    positions: Index = field(default_factory=lambda: np.empty(0, np.intp))
    evaluated: int = 0  # gradients computed before this block

    def note(self, *records: Record) -> None:
        """Add records to the history."""
        super().note(*(self._in_stream(record) for record in records))

    def _in_stream(self, record: Record) -> Record:
        came_in = self.positions[list(record.features)].tolist()
        feature = int(self.positions[record.feature]) if record.feature >= 0 else -1
        evaluations = self.evaluated + record.gradient_evaluations
        return replace(record, feature=feature, features=tuple(came_in), gradient_evaluations=evaluations)


def update_stream(
    before: Stream | None,
    block: Block,
    criterion: Criterion,
    controls: LinearControls,
    buffer: int | None,
    start: tuple[Array, Array] | None = None,
) -> Stream:
    """Return what a stream comes to with one more block.

    Parameters
    ----------
    before : Stream or None
        The stream so far, None at its start.
    block : Block
        The columns that arrive; in a further pass, read again.
    criterion : Criterion
        What is to be minimised.
    controls : LinearControls
        How to minimise it.
    buffer : int or None
        How many columns outside the model to keep; None keeps all.
    start : tuple of ndarray, optional
        Weights and intercepts to start from, in standardised coordinates, at the start of a stream.
    """
    arriving = criterion.over(block.columns, block.positions, block.names)
    if before is None:
        return _optimized(empty_stream(arriving.target), block, arriving, criterion, controls, buffer, start)
    n_outputs = before.null_residual.shape[1]
    both = block.columns.gradient(np.hstack([before.known.residual, before.null_residual]))
    before = replace(before, scale=max(before.scale, float(np.abs(both[:, n_outputs:]).max(initial=0.0))))
    gradient = both[:, :n_outputs]
    tol = _tolerance(arriving.target, controls, before.scale)
    found = screening_bound(arriving, gradient, tol)
    anew = np.flatnonzero(~np.isin(block.positions, before.held.positions))  # in a further pass some are there already
    kkt_excess = float(found.kkt_excess[anew].max(initial=0.0))
    if not before.known.finished or not arriving.convex or kkt_excess > tol or _some_always_open(arriving):
        return _optimized(before, block, arriving, criterion, controls, buffer)
    known = before.known
    if kkt_excess > 0.0:
        known = _with_tested(known, arriving, np.where(np.isin(np.arange(len(gradient)), anew)[:, None], gradient, 0.0))
        known = replace(known, violation=max(known.violation, kkt_excess))
    newcomers = _Newcomers(
        block,
        anew,
        np.zeros_like(gradient),
        np.zeros(gradient.shape[0], bool),
        block.start + _first_of_bag(arriving, np.arange(gradient.shape[0])),
        found.rank,
        before.way + found.expiry,
    )
    return _kept(replace(before, known=known), newcomers, buffer, whole=arriving.group_l1 > 0.0)


def _some_always_open(problem: LinearProblem) -> bool:
    """Whether there are columns that are in the model whatever their gradients."""
    free = problem.penalty_weight == 0.0 if problem.l1 or problem.l2 or problem.group_l1 else True
    return bool(np.any(problem.prices.kept | free))


def _first_of_bag(problem: LinearProblem, positions: Index) -> Index:
    """Return, for each column, the lowest position in its bag."""
    bags = problem.prices.bags
    first = np.full(bags.n_bags, np.iinfo(np.intp).max)
    np.minimum.at(first, bags.of, positions)
    return np.asarray(first[bags.of])


def _tolerance(target: Target, controls: LinearControls, scale: float) -> float:
    return max(controls.tol * scale, rounding(target))


def _with_tested(known: Known, problem: LinearProblem, gradient: Array) -> Known:
    """Return what is known after further columns have been tested, some of them just outside the subdifferential.

    These shrink the dual point by t.  The dual objective is concave along it and ends at the least loss, so that it
    falls by at most (1 - t) of the distance to that.
    """
    if known.gap is None:
        return known
    layout = Layout(problem)
    penalty = make_penalty(problem, layout)
    z, target = -layout.flat(gradient), problem.target
    t = penalty.feasible_scale(z)
    lost = (1.0 - t) * (known.value - target.loss.least(target.y, target.weight))
    gap = known.gap + lost + penalty.conjugate(t * (1.0 - 1e-12) * z)  # the scale itself was rounded
    return replace(known, gap=gap if np.isfinite(gap) else None)


@dataclass(frozen=True, eq=False)
class _Newcomers:
    """A block's columns that may be kept, and for all its columns what :class:`RetainedColumns` asks."""

    block: Block
    which: Index
    coef: Array
    selected: Mask
    bag: Index
    rank: Array
    expiry: Array

    def taken(self, which: Index) -> RetainedColumns:
        """Return copies of some columns of the block."""
        block = self.block
        return RetainedColumns(
            block.start + which,
            [block.names[j] for j in which.tolist()],
            copied(block.X, which),
            self.coef[which],
            self.selected[which],
            self.bag[which],
            self.rank[which],
            self.expiry[which],
        )


def _kept(stream: Stream, new: _Newcomers, buffer: int | None, *, whole: bool) -> Stream:
    """Return the stream with the selected and the most promising columns in memory, and the others gone.

    With ``whole``, bags stay or go as a whole.
    """
    held, block, which = stream.held, new.block, new.which
    rank = np.concatenate([held.rank, new.rank[which]])
    selected = np.concatenate([held.selected, new.selected[which]])
    stay = stays(rank, selected, buffer, np.concatenate([held.bag, new.bag[which]]) if whole else None)
    old, fresh = stay[: held.size], stay[held.size :]
    left = held.take(np.flatnonzero(old)) if not old.all() else held
    kept = left.joined(new.taken(which[fresh])) if fresh.any() else left
    again = stream.again
    stop = block.start + block.columns.n_columns
    gone = np.concatenate([held.expiry[~old], new.expiry[which[~fresh]]])
    ranks = np.concatenate([held.rank[~old], new.rank[which[~fresh]]])
    safe = stream.way + float(ranks.min(initial=np.inf))
    if again is None:
        ledger, safe = stream.ledger.extended(gone), min(stream.safe_way, safe)
        return replace(stream, held=kept, ledger=ledger, safe_way=safe, seen=stop, names=block.index)
    # what goes before this pass has read it again belongs to what was known before
    unread = np.concatenate([held.positions[~old] >= stop, np.zeros(int((~fresh).sum()), bool)])
    again = PassState(stop, again.ledger.extended(gone[~unread]), min(again.safe_way, safe))
    return replace(stream, held=kept, ledger=stream.ledger.extended(gone[unread]), again=again)


@dataclass(frozen=True, eq=False)
class _Pool:
    """The columns in memory and those that arrive, as one matrix.

    ``old`` and ``new`` are where the held columns and the block's stand in it.
    """

    held: RetainedColumns
    columns: DenseColumns | SparseColumns | JoinedColumns
    positions: Index
    names: Sequence[str]
    old: Index
    new: Index


def _pooled(before: Stream, block: Block, criterion: Criterion) -> _Pool:
    """Return the pool of a block; what it brings again, in a further pass, is taken from there."""
    width = block.columns.n_columns
    held = before.held.take(np.flatnonzero(~np.isin(before.held.positions, block.positions)))
    if not held.size:
        nowhere = np.empty(0, np.intp)
        return _Pool(held, block.columns, block.positions, block.names, nowhere, np.arange(width))
    matrices = held.matrices(block.columns.n_rows)
    order = np.concatenate([which for _, which in matrices])
    return _Pool(
        held,
        JoinedColumns([*(criterion.standardized(matrix) for matrix, _ in matrices), block.columns]),
        np.concatenate([held.positions[order], block.positions]),
        [*(held.names[k] for k in order), *block.names],
        np.argsort(order),
        held.size + np.arange(width),
    )


def _optimized(
    before: Stream,
    block: Block,
    arriving: LinearProblem,
    criterion: Criterion,
    controls: LinearControls,
    buffer: int | None,
    start: tuple[Array, Array] | None = None,
) -> Stream:
    """Return the stream at the optimum over the columns in memory and those that arrive."""
    pool = _pooled(before, block, criterion)
    problem = criterion.over(pool.columns, pool.positions, pool.names) if pool.held.size else arriving
    monitor = _monitor(before, controls, pool.positions)
    start = _start(before, problem, pool.positions) if start is None else start
    ended = minimize(problem, controls, start, monitor, before.scale)
    scale = max(before.scale, float(np.abs(ended.model.null_gradient).max(initial=0.0)))
    check = check_saved(ended.model, ended.saved)
    weights, intercept = ended.model.coefficients(ended.saved)
    residual = problem.target.residual(model_scores(problem, weights) + intercept)
    if problem.loss.coupled:
        intercept = intercept - intercept.mean()  # the classes' common score is arbitrary
    coef = weights / pool.columns.scale[:, None]
    total_cost = problem.prices.total(check.support)
    converged = ended.outcome.finished and check.violation <= _tolerance(problem.target, controls, scale) * (1.0 + 1e-6)
    stream = replace(
        before,
        intercept=intercept - pool.columns.centre @ coef,
        known=Known(
            residual=residual,
            value=check.value,
            objective=check.value + problem.l0 * total_cost,
            total_cost=total_cost,
            violation=check.violation,
            gap=check.gap,
            height=ended.model.height,
            rounding=rounding(problem.target),
            finished=ended.outcome.finished,
            scope=scope_of(problem, check, controls, scale, ended.outcome, converged=converged),
            interrupted=monitor.interrupted,
            stopped=monitor.stopped,
        ),
        scale=scale,
        way=before.way + _apart(residual, before.known.residual, problem.target.weight),
        order=_arrivals(before.order, pool.positions[ended.model.order(ended.saved)]),
        history=monitor.history,
    )
    found = screening_bound(problem, pool.columns.gradient(residual), _tolerance(problem.target, controls, scale))
    bag, expiry = _first_of_bag(problem, pool.positions), stream.way + found.expiry

    def told(which: Index) -> dict[str, Any]:
        return {
            "coef": coef[which],
            "selected": check.support[which],
            "bag": bag[which],
            "rank": found.rank[which],
            "expiry": expiry[which],
        }

    held = replace(pool.held, **told(pool.old))
    newcomers = _Newcomers(block, np.arange(pool.new.size), **told(pool.new))
    return _kept(replace(stream, held=held), newcomers, buffer, whole=problem.group_l1 > 0.0)


def _monitor(before: Stream, controls: LinearControls, positions: Index) -> _StreamMonitor:
    """Return a monitor that goes on with the history and its clock."""
    monitor = _StreamMonitor(callback=controls.callback, verbose=controls.verbose, positions=positions)
    if before.history:
        monitor.history = before.history.copy()
        monitor.started -= before.history[-1].seconds
        monitor.evaluated = before.history[-1].gradient_evaluations
    return monitor


def _start(before: Stream, problem: LinearProblem, positions: Index) -> tuple[Array, Array] | None:
    """Return the model so far in the standardised coordinates of the pool."""
    held = before.held
    if not held.selected.any() or held.coef.shape[1] != problem.n_outputs:
        return None
    columns = problem.columns
    coef = np.zeros((positions.size, problem.n_outputs))
    by_position = np.argsort(positions)
    coef[by_position[np.searchsorted(positions, held.positions, sorter=by_position)]] = held.coef
    intercept = before.intercept + columns.centre @ coef if problem.target.intercept else np.zeros(problem.n_outputs)
    return coef * columns.scale[:, None], intercept


def _apart(residual: Array, before: Array, weight: Array) -> float:
    """Return how far a residual has moved, in the norm that belongs to the columns' lengths."""
    moved = residual - before
    inverse = np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0.0)[:, None]
    return float(np.sqrt(np.einsum("ik,ik->k", moved * inverse, moved).max()))


def _arrivals(before: Index, newest: Index) -> Index:
    """Return the selected columns in the order in which they came in: those that were there stay in front."""
    return np.concatenate([before[np.isin(before, newest)], newest[~np.isin(newest, before)]])
