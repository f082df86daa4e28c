"""What a stream of columns has come to, and what is proven of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from skgraft.arrays import Array, Index
from skgraft.criterion import GLOBAL, NO_MOVE, NOT_CONVERGED, WEIGHTS, Certificate
from skgraft.grafting.linear.fit import rounding
from skgraft.grafting.linear.newton import fit_intercept
from skgraft.grafting.stream.held import ExpiryIndex, RetainedColumns
from skgraft.grafting.stream.names import NameIndex
from skgraft.grafting.target import Target
from skgraft.run import History


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of the present model beyond its coefficients.

    Attributes
    ----------
    residual : ndarray of shape (n_samples, n_outputs)
        Weighted derivatives of the loss.
    value, objective, total_cost : float
        The convex part of the criterion, all of it, and what the selected features cost.
    violation : float
        Largest violation of the optimality conditions over all columns tested against this model.
    gap : float or None
        Duality gap over the same columns.
    height : float
        How far the empty model's loss is above the least possible.
    rounding : float
        A violation below this means nothing.
    finished, interrupted, stopped : bool
        Whether the last search ended by itself, by Ctrl-C or by the callback.
    scope : str
        What is certified of the model over the columns that were in memory.
    """

    residual: Array
    value: float
    objective: float
    total_cost: float
    violation: float
    gap: float | None
    height: float
    rounding: float
    finished: bool
    interrupted: bool = False
    stopped: bool = False
    scope: str = NOT_CONVERGED


@dataclass(frozen=True, eq=False)
class Stream:
    """Everything that a stream of columns has come to.  It is never changed: a block makes a new one of it.

    Attributes
    ----------
    held : RetainedColumns
        The columns in memory.
    intercept : ndarray of shape (n_outputs,)
        Intercepts on the original scale.
    known : Known
        About the present model.
    null_residual : ndarray of shape (n_samples, n_outputs)
        Weighted derivatives of the loss at the empty model.
    scale : float
        Largest gradient of the empty model over all columns seen.
    way : float
        Length of the path that the residual has gone.
    ledger : ExpiryIndex
        About the columns that are gone.
    safe_way : float
        Up to here all of them are known to lie inside the subdifferential at zero.
    seen : int
        Number of columns.
    names : NameIndex
        Their names.
    order : ndarray of int
        The selected columns in the order in which they came in.
    history : History
        One record for each step.
    again : Again or None
        How far a further pass has come, None in the first.
    """

    held: RetainedColumns
    intercept: Array
    known: Known
    null_residual: Array
    scale: float
    way: float
    ledger: ExpiryIndex
    safe_way: float
    seen: int
    names: NameIndex
    order: Index
    history: History
    again: PassState | None = None

    @property
    def n_forgotten(self) -> int:
        """Number of columns that are no longer in memory."""
        return self.seen - self.held.size

    @property
    def n_untested(self) -> int:
        """Number of these that may belong into the present model for all that is known."""
        count = self.ledger.count_before(self.way)
        if self.again is not None:
            count += self.again.ledger.count_before(self.way)  # some twice, while a pass has not ended
        return min(count, self.n_forgotten)

    def certificate(self, tol: float) -> Certificate:
        """Return what is proven of the present model."""
        known = self.known
        meaningless = known.violation <= known.rounding and tol * self.scale <= known.rounding
        violation = 0.0 if meaningless or self.scale == 0.0 else known.violation / self.scale
        certain = self.n_untested == 0
        safe = self.way <= min(self.safe_way, np.inf if self.again is None else self.again.safe_way)
        gap = known.gap / known.height if known.gap is not None and certain and safe else None
        optimal = known.finished and certain and violation <= tol * (1.0 + 1e-6)
        return Certificate(violation, gap, optimal, self._scope(optimal=optimal))

    def _scope(self, *, optimal: bool) -> str:
        """Return what is certified: of the columns that are gone, only that none wants to come in by its gradient."""
        scope = self.known.scope
        if (scope == GLOBAL and not optimal) or (scope == NO_MOVE and (self.n_forgotten or not optimal)):
            return WEIGHTS
        return scope

    def cut_short(self) -> Stream:
        """Return the stream after Ctrl-C between blocks."""
        return replace(self, known=replace(self.known, finished=False, interrupted=True))

    def reopened(self) -> Stream:
        """Return the stream at the start of a further pass over its columns."""
        return replace(self, again=PassState())

    def passed(self) -> Stream:
        """Return the stream at the end of such a pass: what was known of the columns before it is out of date."""
        again = self.again
        if again is None:
            return self
        if again.read < self.seen:  # it was broken off: what is known is what either pass knows
            both = self.ledger.joined(again.ledger)
            return replace(self, ledger=both, safe_way=min(self.safe_way, again.safe_way), again=None)
        return replace(self, ledger=again.ledger, safe_way=again.safe_way, again=None)

    def distrusted(self, target: Target) -> Stream:
        """Return the stream after a change of the criterion: nothing is known of the columns that are gone."""
        gone = ExpiryIndex().extended(np.full(self.n_forgotten, -np.inf))
        empty = null_residual(target)
        known = replace(self.known, residual=empty, rounding=rounding(target), finished=False, scope=NOT_CONVERGED)
        return replace(self, ledger=gone, safe_way=-np.inf, known=known, null_residual=empty, scale=0.0)


@dataclass(frozen=True)
class PassState:
    """How many columns a further pass has read, and what it found of those it let go."""

    read: int = 0
    ledger: ExpiryIndex = field(default_factory=ExpiryIndex)
    safe_way: float = np.inf


def empty_stream(target: Target) -> Stream:
    """Return the stream before its first block."""
    residual = null_residual(target)
    known = Known(residual, 0.0, 0.0, 0.0, 0.0, None, 1.0, rounding(target), finished=False)
    held = RetainedColumns.nothing(target.n_outputs)
    none = np.empty(0, np.intp)
    return Stream(
        held,
        np.zeros(target.n_outputs),
        known,
        residual,
        0.0,
        0.0,
        ExpiryIndex(),
        np.inf,
        0,
        NameIndex(),
        none,
        History(),
    )


def null_residual(target: Target) -> Array:
    """Return the weighted derivative of the loss at the empty model."""
    b = target.loss.start(target.y, target.weight) if target.intercept else np.zeros(target.n_outputs)
    return target.residual(fit_intercept(target, np.tile(b, (target.y.shape[0], 1)), b)[1])
