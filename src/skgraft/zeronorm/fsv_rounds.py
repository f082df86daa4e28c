"""FSV: concave minimisation by a succession of linear programs (Bradley and Mangasarian 1998).

The zero-norm is approximated by Σ_j 1 - exp(-α v_j) with v_j the size of feature j's weights.  Being concave, that lies
below its tangents: a round minimises Σ_j α exp(-α v*_j) v_j and the price of the slack (Weston et al. 2003, Problem 2),
with v* from the round before and zero at first, and never raises the criterion.  All rounds are one program whose costs
change.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from skgraft.grafting.loop import Monitor, Stop
from skgraft.matrix import DenseColumns, SparseColumns
from skgraft.svm.design import DenseDesign, Design, SparseDesign
from skgraft.svm.machines import MachineSolution
from skgraft.svm.margins import Margins
from skgraft.zeronorm.column_generation import Controls, check, grow
from skgraft.zeronorm.l1_rounds import STEPS, L1Machine
from skgraft.zeronorm.l2_rounds import RoundControls
from skgraft.zeronorm.programs import Program, ProgramModel
from skgraft.zeronorm.rounds import Rounds, feature_size, largest, nonzero

Array = NDArray[np.float64]
Index = NDArray[np.intp]

SETTLED = 1e-9  # relative fall of the criterion at which rounds have converged
GROWTH = 1.5  # factor by which α rises
RAISES = 20  # and how often at most: more than a thousandfold
UNMOVED = 2  # raises that leave the features what they are, after which further ones would too
LEAST_COST = 1e-12  # share of α below which a cost does not fall: what is free has no bounded program
SOFT_PRICE = 1e3  # of slack where chosen features do not separate, as a multiple of the norm of those that did


@dataclass(frozen=True, eq=False)
class _Round:
    """The state after a round, as the monitor asks for it."""

    weights: Array
    intercept: Array
    gradient: Array
    n_selected: int
    value: float
    violation: float

    @property
    def size(self) -> Array:
        """The size of each feature."""
        return feature_size(self.weights)

    @property
    def total_cost(self) -> float:
        """What the features cost, each one."""
        return float(self.n_selected)

    def objective(self) -> float:
        """Return the criterion."""
        return self.value

    def save(self) -> _Round:
        """Return itself: nothing in it changes."""
        return self


def fsv_rounds(
    columns: DenseColumns | SparseColumns,
    margins: Margins,
    price: Array,
    controls: RoundControls,
    *,
    alpha: float = 5.0,
    raise_alpha: bool = False,
) -> tuple[Rounds, float]:
    """Run rounds of linear programs until the features are as few as asked for, or the criterion falls no more.

    Parameters
    ----------
    columns : DenseColumns or SparseColumns
        Standardised features.
    margins : Margins
        The constraints of the machine.
    price : ndarray of shape (n_rows,)
        What a unit of slack costs in each row's constraints; infinite for a hard margin.
    controls : RoundControls
        How rounds are run; ``rescale_features`` and ``rescale_errors`` mean nothing here.
    alpha : float
        How sharply the zero-norm is approximated.
    raise_alpha : bool
        Whether to raise α whenever the rounds have settled, until that changes nothing.

    Returns
    -------
    rounds : Rounds
        Weights and intercepts for the standardised features; the objective is Σ_j 1 - exp(-α v_j) + loss.
    alpha : float
        The last α.

    Raises
    ------
    InseparableError
        If no slack is allowed and the data cannot do without.
    """
    monitor = Monitor(callback=controls.callback, verbose=controls.verbose, name="rounds")
    run = _Run(columns, margins, price[margins.row], controls, alpha)
    interrupted = False
    try:
        run.go(monitor, raise_alpha=raise_alpha)
    except Stop:
        pass
    except KeyboardInterrupt:
        if monitor.latest is None:
            raise
        interrupted = True
    finally:
        monitor.close()
    if interrupted:
        warnings.warn("Interrupted: these are the features so far.", ConvergenceWarning, stacklevel=3)
    elif not run.settled and not monitor.stopped:
        msg = f"The rounds had not settled after max_iter={controls.max_iter}. Raise max_iter."
        warnings.warn(msg, ConvergenceWarning, stacklevel=3)
    return _conclude(columns, margins, price, run, monitor), run.alpha


class _Run:
    """The rounds themselves, and what they have come to."""

    def __init__(
        self,
        columns: DenseColumns | SparseColumns,
        margins: Margins,
        price: Array,
        controls: RoundControls,
        alpha: float,
    ) -> None:
        self.controls = controls
        self.alpha = alpha
        cost = np.full(columns.n_columns, alpha)
        self._model = ProgramModel(Program(columns, margins, price, cost, intercept=True))
        self.latest: _Round | None = None
        self.before: _Round | None = None
        self.settled = False

    def go(self, monitor: Monitor, *, raise_alpha: bool) -> None:
        """Solve, linearise, until the criterion falls no more."""
        value = np.inf
        chosen, unmoved, raises = np.empty(0, np.intp), 0, 0
        for _ in range(self.controls.max_iter):
            now: Any = self._solve()
            monitor.record(now, "round", int(np.argmax(now.size)) if now.n_selected else -1, now.violation)
            r = self.controls.n_features_to_select
            if now.n_selected == 0 or (r is not None and now.n_selected <= r):
                self.settled = True
                return
            if now.value >= value - SETTLED * max(abs(value), 1.0):
                features = np.flatnonzero(nonzero(now.size))
                unmoved = unmoved + 1 if np.array_equal(features, chosen) else 0
                if not raise_alpha or unmoved > UNMOVED or raises == RAISES:
                    self.settled = True
                    return
                chosen, raises, value = features, raises + 1, np.inf
                self.alpha *= GROWTH
            else:
                value = now.value
            self._model.charge(self.alpha * np.maximum(np.exp(-self.alpha * now.size), LEAST_COST))

    def _solve(self) -> _Round:
        model = self._model
        model.optimize("full", 0.0, exact=True, growing=False)
        grow(model, Controls(tol=self.controls.tol, max_iter=STEPS), Monitor())
        model.centre_intercepts()
        weights, intercept = model.coefficients()
        size = feature_size(weights.T)
        weights[~nonzero(size)] = 0.0
        now = _Round(
            weights=weights.T,
            intercept=intercept,
            gradient=np.abs(model.gradient()).sum(axis=1),
            n_selected=int(np.count_nonzero(weights.any(axis=1))),
            value=self.criterion(feature_size(weights.T), model.slack()),
            violation=check(model)[0],
        )
        self.before, self.latest = self.latest, now
        return now

    def criterion(self, size: Array, slack: Array) -> float:
        """Return Σ_j 1 - exp(-α v_j) + Σ price·slack."""
        program = self._model.program
        paid = ~program.hard
        return float(-np.expm1(-self.alpha * size).sum() + program.price[paid] @ slack[paid])

    def chosen(self) -> Index:
        """Return the features of the answer, the largest first.

        Beyond those with weights the ones come that are nearest to having some.
        """
        assert self.latest is not None  # noqa: S101 -- a round was run
        r, last = self.controls.n_features_to_select, self.latest
        if r is None:
            return largest(last.size, last.n_selected)
        if last.n_selected < r and self.before is not None:
            last = self.before  # the last round before the limit
        top = largest(last.size, min(r, last.n_selected))
        others = np.argsort(-last.gradient, kind="stable")
        return np.concatenate([top, others[~np.isin(others, top)][: r - top.size]])


def _conclude(
    columns: DenseColumns | SparseColumns, margins: Margins, price: Array, run: _Run, monitor: Monitor
) -> Rounds:
    """Return the weights of the last round, or a machine with an l1 norm on the chosen features."""
    assert run.latest is not None  # noqa: S101 -- a round was run
    order, last = run.chosen(), run.latest
    alive = np.sort(order)
    weights, intercept, violation, value = last.weights, last.intercept, last.violation, last.value
    if alive.size and (run.controls.retrain or not np.array_equal(alive, np.flatnonzero(last.weights.any(axis=0)))):
        solution = _retrained(_design_of(columns, alive), L1Machine(margins, price), run)
        weights = np.zeros_like(last.weights)
        weights[:, alive] = solution.weights
        intercept, violation = solution.intercept, solution.violation
        if isinstance(columns, SparseColumns):
            intercept = intercept + weights @ columns.shift
        value = float(-np.expm1(-run.alpha * feature_size(weights)).sum()) + solution.loss
    return Rounds(
        weights=weights,
        intercept=intercept,
        alive=alive,
        order=order,
        history=monitor.history,
        objective=value,
        kkt_violation=violation,
        converged=run.settled and max(violation, last.violation) <= 10.0 * run.controls.tol,
    )


def _design_of(columns: DenseColumns | SparseColumns, features: Index) -> Design:
    if isinstance(columns, DenseColumns):
        return DenseDesign(columns.take(features), features)
    return SparseDesign(sparse.csr_array(columns.take(features)), features)


def _retrained(design: Design, machine: L1Machine, run: _Run) -> MachineSolution:
    """Solve a machine with an l1 norm on the chosen features; if they do not separate, one with the least slack."""
    solution = machine.solve(design, None, run.controls.tol)
    if np.isfinite(solution.violation):
        return solution
    msg = (
        f"The {design.n_features} chosen features do not separate the training data, so the margin is not hard "
        "(C=inf) but that of the least slack. Choose more features, or a finite C."
    )
    warnings.warn(msg, ConvergenceWarning, stacklevel=5)
    assert run.latest is not None  # noqa: S101 -- a round was run
    norm = float((run.before or run.latest).size.sum()) or 1.0
    return machine.afresh(softened=0.5 / (SOFT_PRICE * norm)).solve(design, None, run.controls.tol)
