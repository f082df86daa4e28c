"""FSV: concave minimisation by a succession of linear programs (Bradley and Mangasarian 1998).

The zero-norm is approximated by Σ_g c_g (1 - exp(-α v_g)) with c_g the price of a bag and v_g the size of its weights,
the largest of its members' for each output.  Being concave, that lies below its tangents: a round minimises
Σ_g c_g α exp(-α v*_g) v_g and the price of the slack (Weston et al. 2003, Problem 2), with v* from the round before and
zero at first, and never raises the criterion.  All rounds are one program whose costs change.  What has no price adds
its v_g to the criterion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skgraft.arrays import Array, Index
from skgraft.matrix import DenseColumns, SparseColumns
from skgraft.run import Controls, Monitor, warn_user
from skgraft.svm import Design, MachineSolution, Margins
from skgraft.zeronorm.budget import design_of
from skgraft.zeronorm.column_generation import check, grow
from skgraft.zeronorm.l1_rounds import STEPS, L1Machine
from skgraft.zeronorm.l2_rounds import RoundControls, unsettled
from skgraft.zeronorm.programs import Program, ProgramModel
from skgraft.zeronorm.rounds import Rounds, choose, feature_size, nonzero, trivial_prices

SETTLED = 1e-9  # relative fall of the criterion at which rounds have converged
GROWTH = 1.5  # factor by which α rises
RAISES = 20  # and how often at most: more than a thousandfold
UNMOVED = 2  # raises that leave the features what they are, after which further ones would too
LEAST_COST = 1e-12  # share of α below which a cost does not fall: what is free has no bounded program
SOFT_PRICE = 1e3  # of slack where chosen features do not separate, as a multiple of the norm of those that did


@dataclass(frozen=True, eq=False)
class _Round:
    """The state after a round."""

    weights: Array
    intercept: Array
    gradient: Array
    n_selected: int
    value: float
    violation: float
    total_cost: float

    @property
    def size(self) -> Array:
        """The size of each feature."""
        return feature_size(self.weights)


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
        Weights and intercepts for the standardised features; the objective is Σ_g c_g (1 - exp(-α v_g)) + loss.
    alpha : float
        The last α.

    Raises
    ------
    InseparableError
        If no slack is allowed and the data cannot do without.
    """
    monitor = controls.monitor("rounds")
    run = _Run(columns, margins, price[margins.row], controls, alpha)
    with monitor.watch():
        run.go(monitor, raise_alpha=raise_alpha)
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
        self.prices = trivial_prices(columns.n_columns) if controls.prices is None else controls.prices
        self._charge = self.prices.charge
        bags = None if self.prices.bags.is_trivial else self.prices.bags
        cost = self._cost(np.zeros(self._charge.size))
        self._model = ProgramModel(Program(columns, margins, price, cost, True, self.prices, bags))
        self.latest: _Round | None = None
        self.before: _Round | None = None
        self.settled = False

    def go(self, monitor: Monitor, *, raise_alpha: bool) -> None:
        """Solve, linearise, until the criterion falls no more."""
        value = np.inf
        chosen, unmoved, raises = np.empty(0, np.intp), 0, 0
        for _ in range(self.controls.max_iter):
            now = self._solve()
            monitor.step(
                now,
                kind="round",
                objective=now.value,
                n_selected=now.n_selected,
                cost=now.total_cost,
                feature=int(np.argmax(now.size)) if now.n_selected else -1,
                gradient=now.violation,
            )
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
            self._model.charge(self._cost(self._bag_size(now.weights)))

    def _cost(self, v: Array) -> Array:
        """Return what a unit of each feature's weight costs, by the tangent at sizes v of the bags."""
        tangent = self._charge * self.alpha * np.maximum(np.exp(-self.alpha * v), LEAST_COST)
        return np.where(self._charge > 0.0, tangent, 1.0)[self.prices.bags.of]

    def _bag_size(self, weights: Array) -> Array:
        return self._model.program.bound(weights.T).sum(axis=1)

    def _solve(self) -> _Round:
        model = self._model
        model.optimize(0.0, exact=True)
        grow(model, Controls(tol=self.controls.tol, max_iter=STEPS), Monitor())
        model.centre_intercepts()
        weights, intercept = model.coefficients()
        size = feature_size(weights.T)
        weights[~nonzero(size)] = 0.0
        selected = weights.any(axis=1) | self.prices.kept
        now = _Round(
            weights=weights.T,
            intercept=intercept,
            gradient=np.abs(model.gradient()).sum(axis=1),
            n_selected=int(np.count_nonzero(selected)),
            value=self.criterion(weights.T, self._loss(model.slack())),
            violation=check(model)[0],
            total_cost=self.prices.total(selected),
        )
        self.before, self.latest = self.latest, now
        return now

    def _loss(self, slack: Array) -> float:
        program = self._model.program
        paid = ~program.hard
        return float(program.price[paid] @ slack[paid])

    def criterion(self, weights: Array, loss: float) -> float:
        """Return Σ_g c_g (1 - exp(-α v_g)) + loss; bags without a price count by v_g."""
        v = self._bag_size(weights)
        paid = self._charge > 0.0
        return float(self._charge @ -np.expm1(-self.alpha * v) + v[~paid].sum()) + loss

    def chosen(self) -> Index:
        """Return the features of the answer, the largest first.

        Beyond those with weights the ones come that are nearest to having some.
        """
        assert self.latest is not None  # noqa: S101 -- a round was run
        r, last = self.controls.n_features_to_select, self.latest
        if r is None:
            return choose(last.size, self.prices)
        if last.n_selected < r and self.before is not None:
            last = self.before  # the last round before the limit
        top = choose(last.size, self.prices, min(r, last.n_selected))
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
    used = last.weights.any(axis=0) | run.prices.kept
    if used.any() and (run.controls.retrain or not np.array_equal(alive, np.flatnonzero(used))):
        solution = _retrained(design_of(columns, alive), L1Machine(margins, price), run)
        weights = np.zeros_like(last.weights)
        weights[:, alive] = solution.weights
        intercept, violation = solution.intercept, solution.violation
        if isinstance(columns, SparseColumns):
            intercept = intercept + weights @ columns.shift
        value = run.criterion(weights, solution.loss)
    return Rounds(
        weights=weights,
        intercept=intercept,
        alive=alive,
        order=order,
        history=monitor.history,
        objective=value,
        kkt_violation=violation,
        converged=run.settled and max(violation, last.violation) <= 10.0 * run.controls.tol,
        ending=monitor.ending(unsettled(run.controls), converged=run.settled),
    )


def _retrained(design: Design, machine: L1Machine, run: _Run) -> MachineSolution:
    """Solve a machine with an l1 norm on the chosen features; if they do not separate, one with the least slack."""
    solution = machine.solve(design, None, run.controls.tol)
    if np.isfinite(solution.violation):
        return solution
    msg = (
        f"The {design.n_features} chosen features do not separate the training data, so the margin is not hard "
        "(C=inf) but that of the least slack. Choose more features, or a finite C."
    )
    warn_user(msg)
    assert run.latest is not None  # noqa: S101 -- a round was run
    norm = float((run.before or run.latest).size.sum()) or 1.0
    return machine.afresh(softened=0.5 / (SOFT_PRICE * norm)).solve(design, None, run.controls.tol)
