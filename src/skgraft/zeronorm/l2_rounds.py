"""l2-AROM: a succession of support vector machines on features multiplied by ever new scales.

Weston et al. 2003, section 3.1.  In the weights v of the features as given, a round minimises ½ Σ_j v_j²/z_j² and the
loss; since ln v² <= ln z² + v²/z² - 1 with equality at z = |v|, setting z = |v| and repeating never raises
Σ_j ln|v_j| + loss from one round to the next.

Where slack is allowed and the scales are shorter than one, they are lengthened to one: many features start with tiny
weights, whose scales would leave so little of the data that all of them would vanish together.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from skgraft.grafting.loop import Monitor, Stop
from skgraft.matrix import DenseColumns, SparseColumns
from skgraft.svm.design import Design, first_of_each, make_design
from skgraft.svm.machines import INSEPARABLE, InseparableError, Machine, MachineSolution
from skgraft.zeronorm.rounds import Rounds, feature_size, largest, log_criterion, nonzero

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

SETTLED = 1e-4  # largest relative change of a size at which rounds have converged
STABLE = 5  # rounds after which r features that remain the same and hardly move are the answer
NEARLY = 1e-2  # what "hardly" means, as part of the largest size
SOFTENED = 1e-6  # ridge, as part of the mean diagonal, for chosen features that no longer separate


@dataclass(frozen=True)
class RoundControls:
    """How rounds are run: how many features, what is rescaled, when to stop, whom to tell."""

    n_features_to_select: int | None = None
    rescale_features: bool = True
    rescale_errors: bool = False
    retrain: bool = True
    tol: float = 1e-6
    max_iter: int = 100
    verbose: int = 0
    callback: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class _Round:
    """The state after a round, as the monitor asks for it."""

    features: Indices
    size: Array
    solution: MachineSolution
    n_selected: int
    value: float
    total_cost: float

    def objective(self) -> float:
        """Return the log criterion."""
        return self.value

    def save(self) -> _Round:
        """Return itself: nothing in it changes."""
        return self


def l2_rounds(columns: DenseColumns | SparseColumns, machine: Machine, controls: RoundControls) -> Rounds:
    """Run rounds until the features are as few as asked for, or change no more.

    Parameters
    ----------
    columns : DenseColumns or SparseColumns
        Standardised features.
    machine : Machine
        What a round solves.
    controls : RoundControls
        How rounds are run.

    Returns
    -------
    Rounds
        Weights and intercepts for the standardised features.

    Raises
    ------
    InseparableError
        If no slack is allowed and the data cannot do without.
    """
    full = make_design(columns)
    monitor = Monitor(callback=controls.callback, verbose=controls.verbose, name="rounds")
    design = full
    if controls.rescale_features:
        first = first_of_each(full)
        design = full if first.all() else full.keep(first)
    run = _Run(design, machine, controls, full.n_features)
    interrupted = False
    try:
        run.go(monitor)
    except Stop:
        pass
    except KeyboardInterrupt:
        if monitor.latest is None:
            raise
        interrupted = True
    finally:
        monitor.close()
    rounds = _conclude(full, machine, controls, run, monitor)
    if interrupted:
        warnings.warn("Interrupted: these are the features so far.", ConvergenceWarning, stacklevel=3)
    elif not run.settled and not monitor.stopped:
        msg = (
            f"The rounds had not settled after max_iter={controls.max_iter}; the features are those of the last round. "
            "Raise max_iter."
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=3)
    return rounds


class _Run:
    """The rounds themselves, and what they have come to."""

    def __init__(self, design: Design, machine: Machine, controls: RoundControls, n_features: int) -> None:
        self._design = design
        self._machine = machine
        self._controls = controls
        self._n_features = n_features
        self._size_before: Array | None = None  # of the features that are there now
        self.latest: _Round | None = None
        self.before: _Round | None = None
        self.worst = 0.0  # violation of any round
        self.settled = False

    def go(self, monitor: Monitor) -> None:
        """Solve, rescale, drop, until there is nothing to change."""
        controls = self._controls
        squared_scale: Array | None = None
        if controls.rescale_errors:
            self._machine.count_errors()
        last_top, same = np.empty(0, np.intp), 0
        for _ in range(controls.max_iter):
            now, alive = self._solve(squared_scale)
            state: Any = now  # the monitor asks for no more of a model than a round has
            monitor.record(state, "round", _top_feature(now), now.solution.violation)
            r = controls.n_features_to_select
            if now.n_selected == 0 or (r is not None and now.n_selected <= r and controls.rescale_features):
                self.settled = True
                return
            change, nearly = self._change(now)
            self._size_before = now.size
            if r is not None and nearly:
                top = np.sort(now.features[largest(now.size, r)])
                same = same + 1 if np.array_equal(top, last_top) else 0
                last_top = top
            if change <= SETTLED or same >= STABLE:
                self.settled = True
                return
            if controls.rescale_features:
                squared_scale = self._drop(alive, now.size)
            if controls.rescale_errors:
                self._machine.rescale_errors()

    def _solve(self, squared_scale: Array | None) -> tuple[_Round, NDArray[np.bool_]]:
        solution = self._machine.solve(self._design, squared_scale, self._controls.tol)
        if self.latest is None and self._machine.hard and solution.violation > INSEPARABLE:
            raise InseparableError
        size = feature_size(solution.weights)
        alive = nonzero(size)
        n_alive = int(np.count_nonzero(alive))
        value = _criterion(self._controls, self._machine, solution, size[alive], self._n_features)
        self.before, self.latest = (
            self.latest,
            _Round(self._design.features, size, solution, n_alive, value, float(n_alive)),
        )
        self.worst = max(self.worst, solution.violation)
        return self.latest, alive

    def _change(self, now: _Round) -> tuple[float, bool]:
        """Return the largest relative change of a size since the round before, and whether sizes hardly changed."""
        if self._size_before is None:
            return np.inf, False
        apart = np.abs(now.size - self._size_before)
        either = np.maximum(now.size, self._size_before)
        relative = apart / np.where(either > 0.0, either, 1.0)
        return float(relative.max()), float(apart.max()) < NEARLY * float(now.size.max())

    def _drop(self, alive: NDArray[np.bool_], size: Array) -> Array:
        """Remove features that are zero, for good; return the squared scales of the others."""
        if not alive.all():
            self._design = self._design.keep(alive)
            self._machine.keep(alive)
            self._size_before = size = size[alive]
        squares = size * size
        length = float(squares.sum())
        return squares / length if not self._machine.hard and length < 1.0 else squares

    def chosen(self) -> tuple[Indices, Array]:
        """Return the features of the answer, largest first, and their sizes."""
        assert self.latest is not None  # noqa: S101 -- a round was run
        r, last = self._controls.n_features_to_select, self.latest
        if r is None or not self._controls.rescale_features:
            order = largest(last.size, last.n_selected)
            return last.features[order], last.size[order]
        if last.n_selected < r and self.before is not None:
            last = self.before  # the last round before the limit
        order = largest(last.size, r)
        features, size = last.features[order], last.size[order]
        if features.size < r:  # copies and constants are all that is left
            others = np.setdiff1d(np.arange(self._n_features), features)[: r - features.size]
            features, size = np.concatenate([features, others]), np.concatenate([size, np.zeros(others.size)])
        return features, size


def _top_feature(now: _Round) -> int:
    return int(now.features[np.argmax(now.size)]) if now.size.size else -1


def _conclude(
    full: Design,
    machine: Machine,
    controls: RoundControls,
    run: _Run,
    monitor: Monitor,
) -> Rounds:
    """Return the machine on the chosen features: on their own scale, or on that of the last round."""
    assert run.latest is not None  # noqa: S101 -- a round was run
    order, size = run.chosen()
    alive = np.sort(order)
    solution = run.latest.solution
    if alive.size and controls.rescale_features:
        by_feature = np.zeros(full.n_features)
        by_feature[order] = size
        scale = None if controls.retrain else np.maximum(by_feature[alive] ** 2, np.finfo(float).tiny)
        solution = _machine_on(full.keep(alive), machine, scale, controls)
    weights = np.zeros((solution.intercept.size, full.n_features))
    if alive.size:
        part = solution.weights if solution.weights.shape[1] == alive.size else _restricted(run.latest, alive)
        weights[:, alive] = part
    intercept = solution.intercept + weights @ full.intercept_shift
    worst = max(run.worst, solution.violation) if not machine.hard else run.worst
    return Rounds(
        weights=weights,
        intercept=intercept,
        alive=alive,
        order=order,
        history=monitor.history,
        objective=_criterion(controls, machine, solution, feature_size(weights)[alive], full.n_features),
        kkt_violation=solution.violation,
        converged=run.settled and worst <= 10.0 * controls.tol,
    )


def retrained(
    columns: DenseColumns | SparseColumns, machine: Machine, controls: RoundControls, rounds: Rounds
) -> Rounds:
    """Return the same features with the weights of a fresh machine, on their own scale."""
    full = make_design(columns)
    solution = _machine_on(full.keep(rounds.alive), machine, None, controls)
    weights = np.zeros((solution.intercept.size, full.n_features))
    weights[:, rounds.alive] = solution.weights
    return replace(
        rounds,
        weights=weights,
        intercept=solution.intercept + weights @ full.intercept_shift,
        kkt_violation=solution.violation,
    )


def _restricted(last: _Round, alive: Indices) -> Array:
    return last.solution.weights[:, np.isin(last.features, alive, assume_unique=True)]


def _criterion(controls: RoundControls, machine: Machine, solution: MachineSolution, size: Array, n: int) -> float:
    """Return what the rounds minimise: the log criterion, or with all features at their own scale, norm and loss."""
    if controls.rescale_features:
        return log_criterion(size, n, solution.loss)
    return machine.norm_of(solution.weights) + solution.loss


def _machine_on(
    design: Design, machine: Machine, squared_scale: Array | None, controls: RoundControls
) -> MachineSolution:
    """Solve the machine afresh on the chosen features; without a margin between the classes, with the least slack."""
    fresh, tol = machine.afresh(), controls.tol
    if controls.rescale_errors:
        fresh.count_errors()
    solution = fresh.solve(design, squared_scale, tol)
    if not (machine.hard and solution.violation > INSEPARABLE):
        return solution
    msg = (
        f"The {design.n_features} chosen features do not separate the training data, so the margin is not hard "
        "(C=inf) but that of the least squared slack. Choose more features, or a finite C."
    )
    warnings.warn(msg, ConvergenceWarning, stacklevel=5)
    ridge = SOFTENED * _mean_square(design, squared_scale)
    return machine.afresh(softened=ridge).solve(design, squared_scale, tol)


def _mean_square(design: Design, squared_scale: Array | None) -> float:
    """Return the mean diagonal of the Gram matrix."""
    z2 = np.ones(design.n_features) if squared_scale is None else squared_scale
    squares = design.squares()
    return max(float(squares @ z2) / design.n_rows, np.finfo(float).tiny)
