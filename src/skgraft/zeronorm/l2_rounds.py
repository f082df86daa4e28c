"""AROM: a succession of machines on features multiplied by ever new scales.

Weston et al. 2003, section 3.  In the weights w of the features as given, a round minimises, by a support vector
machine (p = 2) or a linear program (p = 1), ::

    1/p Σ_j |w_j|^p / z_j^p + loss(w)

With size_g = (Σ |w_j|^p)^(1/p) over the members of bag g and all outputs, a price c_g and the weights v of the round
before, concavity of the logarithm gives ::

    c_g ln size_g(w) <= c_g ln size_g(v) + c_g/p (size_g(w)^p / size_g(v)^p - 1)    with equality at w = v,

so that scales z_j^p = size_g(v)^p / (c_g μ), the same for all members of a bag, make a round a step of majorisation:
it does not raise ::

    Σ_g c_g ln size_g(w) + loss(w) / μ                                                              (the criterion)

A hard margin has no loss, and μ = 1.  Where slack is allowed and the scales are shorter than one, they are lengthened
to one, μ being what that takes: many features start with tiny weights, whose scales would leave so little of the data
that all of them would vanish together.  So slack costs C/μ, and μ changes from round to round, until the weights have
settled.  Values of the criterion can be compared where μ is the same: in each round, and in all of them where no scale
was lengthened.  No function could fall through all rounds: its gradient would have to be μ(v)/v_j, which is a gradient
only if μ is a function of Π|v_j|, and a length is not.

Features without a price, those that are kept, stay at a scale of one; their norm counts with the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from skgraft.arrays import Array, Index
from skgraft.matrix import DenseColumns, SparseColumns
from skgraft.prices import Prices
from skgraft.run import Controls, Monitor, warn_user
from skgraft.svm import (
    INSEPARABLE,
    Design,
    InseparableError,
    MachineSolution,
    SVMProblem,
    first_of_each,
    rounds_design,
    softening,
)
from skgraft.zeronorm.rounds import (
    Rounds,
    bag_size,
    choose,
    feature_size,
    largest,
    log_criterion,
    nonzero,
    trivial_prices,
)

SETTLED = 1e-4  # largest relative change of a size at which rounds have converged
STABLE = 5  # rounds after which r features that remain the same and hardly move are the answer
NEARLY = 1e-2  # what "hardly" means, as part of the largest size


@dataclass(frozen=True, kw_only=True)
class RoundControls(Controls):
    """How rounds are run: how many features, at what prices, what is rescaled, when to stop, whom to tell."""

    n_features_to_select: int | None = None
    prices: Prices | None = None
    rescale_features: bool = True
    rescale_errors: bool = False
    retrain: bool = True
    max_iter: int = 100


@dataclass(frozen=True)
class _Round:
    """The state after a round."""

    features: Index
    size: Array
    solution: MachineSolution
    n_selected: int
    value: float
    total_cost: float


def l2_rounds(
    columns: DenseColumns | SparseColumns,
    machine: SVMProblem,
    controls: RoundControls,
    later: Callable[[], SVMProblem] | None = None,
) -> Rounds:
    """Run rounds until the features are as few as asked for, or change no more.

    Parameters
    ----------
    columns : DenseColumns or SparseColumns
        Standardised features.
    machine : SVMProblem
        What a round solves.
    controls : RoundControls
        How rounds are run.
    later : callable, optional
        Makes the machine that rounds solve once no more features than rows are left.

    Returns
    -------
    Rounds
        Weights and intercepts for the standardised features.

    Raises
    ------
    InseparableError
        If no slack is allowed and the data cannot do without.
    """
    full = rounds_design(columns)
    monitor = controls.monitor("rounds")
    prices = trivial_prices(full.n_features) if controls.prices is None else controls.prices
    design = full
    if controls.rescale_features:
        first = first_of_each(full, prices.charge[prices.bags.of], None if prices.bags.is_trivial else prices.bags.of)
        design = full if first.all() else full.keep(first)
    run = _Run(design, machine, controls, prices, later)
    with monitor.watch():
        run.go(monitor)
    return _conclude(full, controls, run, monitor)


@dataclass(frozen=True, eq=False)
class _Scales:
    """The squared scales of features, and μ: by how much they were lengthened."""

    squares: Array
    stretch: float = 1.0


class _Run:
    """The rounds themselves, and what they have come to."""

    def __init__(
        self,
        design: Design,
        machine: SVMProblem,
        controls: RoundControls,
        prices: Prices,
        later: Callable[[], SVMProblem] | None,
    ) -> None:
        self._design = design
        self._controls = controls
        self._later = later
        self._size_before: Array | None = None  # of the features that are there now
        self.machine = machine
        self.prices = prices
        self.latest: _Round | None = None
        self.before: _Round | None = None
        self.scales: _Scales | None = None  # one each
        self.worst = 0.0  # violation of any round
        self.settled = False

    def go(self, monitor: Monitor) -> None:
        """Solve, rescale, drop, until there is nothing to change."""
        controls = self._controls
        if controls.rescale_errors:
            self.machine.count_errors()
        if controls.rescale_features and not np.isin(self.prices.charge, (0.0, 1.0)).all():
            self.scales = self.scales_of(self._design.features, np.ones(self.prices.charge.size))
        last_top, same = np.empty(0, np.intp), 0
        for _ in range(controls.max_iter):
            now = self._solve()
            monitor.step(
                now,
                kind="round",
                objective=now.value,
                n_selected=now.n_selected,
                cost=now.total_cost,
                feature=_top_feature(now),
                gradient=now.solution.violation,
            )
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
            if self._later is None and (change <= SETTLED or same >= STABLE):
                self.settled = True
                return
            if controls.rescale_errors:
                self.machine.rescale_errors()
            if self._later is not None and (now.n_selected <= self._design.n_rows or change <= SETTLED):
                self._go_on_with(self._later())
            if controls.rescale_features:
                self._drop(now)

    def _go_on_with(self, machine: SVMProblem) -> None:
        """Let another machine solve the rounds that follow."""
        self.machine, self._later, self._size_before = machine, None, None
        if self._controls.rescale_errors:
            machine.count_errors()

    def _solve(self) -> _Round:
        squares = None if self.scales is None else self.scales.squares
        solution = self.machine.solve(self._design, squares, self._controls.tol)
        if self.latest is None and self.machine.hard and solution.violation > INSEPARABLE:
            raise InseparableError
        features = self._design.features
        size = feature_size(solution.weights, self.machine.power)
        selected = np.zeros(self.prices.kept.size, dtype=bool)
        selected[features] = nonzero(size)
        selected |= self.prices.kept & self._controls.rescale_features
        value = self.criterion(solution, features)
        n_selected, cost = int(np.count_nonzero(selected)), self.prices.total(selected)
        self.before, self.latest = self.latest, _Round(features, size, solution, n_selected, value, cost)
        self.worst = max(self.worst, solution.violation)
        return self.latest

    def criterion(self, solution: MachineSolution, features: Index) -> float:
        """Return the criterion; with all features at their own scale that is norm and loss."""
        weights, machine = solution.weights, self.machine
        if not self._controls.rescale_features:
            return machine.norm_of(weights) + solution.loss
        bags, charge = self.prices.bags, self.prices.charge
        size = bag_size(feature_size(weights, machine.power), features, bags, machine.power)
        free = machine.norm_of(weights[:, charge[bags.of[features]] == 0.0])
        stretch = 1.0 if self.scales is None else self.scales.stretch
        return log_criterion(size, charge) + (free + solution.loss) / stretch

    def scales_of(self, features: Index, bag: Array) -> _Scales:
        """Return the scales that bags of some sizes have, lengthened to one where slack is allowed."""
        of, p = self.prices.bags.of[features], self.machine.power
        charge = self.prices.charge[of]
        priced = charge > 0.0
        shares = np.where(priced, bag[of] ** p / np.where(priced, charge, 1.0), 1.0)  # z^p
        squares = shares if p == 2 else shares * shares
        length = float(squares[priced].sum())
        if self.machine.hard or not 0.0 < length < 1.0:
            return _Scales(squares)
        return _Scales(np.where(priced, squares / length, squares), length if p == 2 else float(np.sqrt(length)))

    def _change(self, now: _Round) -> tuple[float, bool]:
        """Return the largest relative change of a size since the round before, and whether sizes hardly changed."""
        if self._size_before is None:
            return np.inf, False
        apart = np.abs(now.size - self._size_before)
        either = np.maximum(now.size, self._size_before)
        relative = apart / np.where(either > 0.0, either, 1.0)
        return float(relative.max()), float(apart.max()) < NEARLY * float(now.size.max())

    def _drop(self, now: _Round) -> None:
        """Remove bags that are zero, for good; give the others their scales."""
        bags = self.prices.bags
        bag = bag_size(now.size, now.features, bags, self.machine.power)
        alive = (nonzero(bag) | (self.prices.charge == 0.0))[bags.of[now.features]]
        if not alive.all():
            self._design = self._design.keep(alive)
            self.machine.keep(alive)
            if self._size_before is not None:
                self._size_before = self._size_before[alive]
        self.scales = self.scales_of(self._design.features, bag)

    def chosen(self) -> tuple[Index, Array]:
        """Return the features of the answer, largest first, and the sizes of all."""
        assert self.latest is not None  # noqa: S101 -- a round was run
        r, last = self._controls.n_features_to_select, self.latest
        if r is not None and last.n_selected < r and self.before is not None:
            last = self.before  # the last round before the limit
        size = np.zeros(self.prices.kept.size)
        size[last.features] = last.size
        return choose(size, self.prices, r), size


def _top_feature(now: _Round) -> int:
    return int(now.features[np.argmax(now.size)]) if now.size.size else -1


def _conclude(full: Design, controls: RoundControls, run: _Run, monitor: Monitor) -> Rounds:
    """Return the machine on the chosen features: on their own scale, or on that of the last round."""
    assert run.latest is not None  # noqa: S101 -- a round was run
    order, size = run.chosen()
    alive = np.sort(order)
    solution, machine = run.latest.solution, run.machine
    if run.latest.n_selected and controls.rescale_features:
        scale = None
        if not controls.retrain:
            run.scales = run.scales_of(alive, bag_size(size, np.arange(size.size), run.prices.bags, machine.power))
            scale = np.maximum(run.scales.squares, np.finfo(float).tiny)
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
        objective=run.criterion(replace(solution, weights=weights), np.arange(full.n_features)),
        kkt_violation=solution.violation,
        converged=run.settled and worst <= 10.0 * controls.tol,
        ending=monitor.ending(unsettled(controls), converged=run.settled),
    )


def unsettled(controls: RoundControls) -> str:
    """Return what to say of rounds that did not come to an end."""
    return (
        f"The rounds had not settled after max_iter={controls.max_iter}; the features are those of the last round. "
        "Raise max_iter."
    )


def retrained(
    columns: DenseColumns | SparseColumns, machine: SVMProblem, controls: RoundControls, rounds: Rounds
) -> Rounds:
    """Return the same features with the weights of a fresh machine, on their own scale."""
    full = rounds_design(columns)
    solution = _machine_on(full.keep(rounds.alive), machine, None, controls)
    weights = np.zeros((solution.intercept.size, full.n_features))
    weights[:, rounds.alive] = solution.weights
    return replace(
        rounds,
        weights=weights,
        intercept=solution.intercept + weights @ full.intercept_shift,
        kkt_violation=solution.violation,
    )


def _restricted(last: _Round, alive: Index) -> Array:
    return last.solution.weights[:, np.isin(last.features, alive, assume_unique=True)]


def _machine_on(
    design: Design, machine: SVMProblem, squared_scale: Array | None, controls: RoundControls
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
    warn_user(msg)
    return machine.afresh(softened=softening(design, squared_scale)).solve(design, squared_scale, tol)
