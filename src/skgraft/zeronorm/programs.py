"""Linear programs with a feature for every column, solved by grafting.

A machine with an l1 norm is the linear program ::

    min Σ_jk cost_j |w_jk| + Σ_r price_r slack_r    so that    f_plus(x) - f_minus(x) >= need_r - slack_r,  slack >= 0

whose multipliers a of the constraints (0 <= a <= price) give every weight, in the program or not, its reduced cost
cost_j - |Σ_r a_r ∂(f_plus - f_minus)/∂w_jk|.  A weight at zero whose reduced cost is negative would lower the
criterion: that is the gradient test, and column generation is grafting.  :class:`ProgramModel` is what the common loop
grows, and what it ends with is the optimum of the full program.

A bag of features is one bound v_gk >= cost_j |w_jk| on the weights of all its members, and v_gk is what is paid.  Its
reduced cost is 1 - Σ_j |Σ_r a_r ∂(f_plus - f_minus)/∂w_jk| / cost_j, and all its members come in together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgraft.arrays import Array, Index
from skgraft.grafting import Candidates, SolvedAtOnce
from skgraft.matrix import DenseBlock, SparseBlock
from skgraft.prices import Bags, Prices
from skgraft.svm import ALONE, USED, DualLP, Margins, Rows, solve_inside
from skgraft.zeronorm.rounds import trivial_prices

HARD = 1e3  # first price of slack that must vanish, in units of the multipliers
NEAR = 0.8  # a row stays in the program while its feature's gradient is within this share of its cost
NEARLY = 0.999  # the same after an interior-point method, which leaves little undecided
MANY_ROWS, MOST_ROWS = 500, 5000  # rows for which one is worth its steps
MANY = 0.5  # features that want to come in, for each row, from which on there are too many pivots
CROWDED = 4  # rows for each that matters beyond which the others leave


class ProgramColumns(Protocol):
    """What a program asks of its features."""

    n_rows: int
    n_columns: int

    def gradient(self, residual: Array) -> Array:
        """Return the product of all columns with a residual (n_rows, n_outputs)."""

    def take(self, columns: Index) -> Any:
        """Return columns: as rows of an array, or as a sparse matrix."""

    def block(self) -> DenseBlock | SparseBlock:
        """Return an empty block, to which the columns in use are copied."""


@dataclass(frozen=True, eq=False)
class Program:
    """A machine: data, constraints, and what weights and slack cost.

    Attributes
    ----------
    columns : DenseColumns, SparseColumns or ScaledColumns
        The features.
    margins : Margins
        The constraints.
    price : ndarray of shape (n_constraints,)
        Cost of a unit of slack; infinite where there may be none.
    cost : ndarray of shape (n_features,)
        Cost of a unit of weight, the same for all outputs.
    intercept : bool
        Whether outputs have intercepts.
    prices : Prices, optional
        Which features count as selected whatever their weights, and what the others cost together; by default one each.
    bags : Bags, optional
        Features whose weights have a common bound, the largest being paid; by default each has its own.
    """

    columns: ProgramColumns
    margins: Margins
    price: Array
    cost: Array
    intercept: bool
    prices: Prices | None = None
    bags: Bags | None = None

    @cached_property
    def bag_cost(self) -> Array:
        """The cost of each bag's most expensive weight, by which reduced costs are measured."""
        if self.bags is None:
            return self.cost
        top = np.zeros(self.bags.n_bags)
        np.maximum.at(top, self.bags.of, self.cost)
        return top

    @cached_property
    def bag_of(self) -> Index:
        """The bag of each feature."""
        return np.arange(self.cost.size) if self.bags is None else self.bags.of

    @cached_property
    def relative_cost(self) -> Array:
        """What a unit of weight costs, in units of its bag's cost; one where nothing is paid."""
        top = self.bag_cost[self.bag_of]
        return np.where(top > 0.0, self.cost / np.where(top > 0.0, top, 1.0), 1.0)

    def by_bag(self, gradient: Array) -> Array:
        """Return Σ_j |gradient_jk| over the members of each bag, in units of its cost: (n_bags, n_outputs)."""
        size = np.abs(gradient)
        if self.bags is None:
            return size
        total = np.zeros((self.bags.n_bags, size.shape[1]))
        np.add.at(total, self.bags.of, size / self.relative_cost[:, None])
        return total

    def bound(self, weights: Array) -> Array:
        """Return the bound of each bag's weights for each output: (n_bags, n_outputs)."""
        size = np.abs(weights)
        if self.bags is None:
            return size
        top = np.zeros((self.bags.n_bags, size.shape[1]))
        np.maximum.at(top, self.bags.of, size * self.relative_cost[:, None])
        return top

    @property
    def hard(self) -> NDArray[np.bool_]:
        """Which constraints may have no slack."""
        return np.isinf(self.price)

    def norm(self, weights: Array) -> float:
        """Return what weights (n_features, n_outputs) cost."""
        return float(self.bag_cost @ self.bound(weights).sum(axis=1))

    def value(self, weights: Array, slack: Array) -> float:
        """Return the criterion; slack that may not be counts nothing."""
        priced = ~self.hard
        return self.norm(weights) + float(self.price[priced] @ slack[priced])


@dataclass(frozen=True, eq=False)
class Saved:
    """A model as it was: the open units, when they came in, their weights, the intercepts and the multipliers."""

    units: Index
    arrival: Index
    weights: Array
    intercept: Array
    multipliers: Array


class _Machine:
    """A master program and what is in it: all outputs where constraints compare them, else one."""

    def __init__(self, program: Program, price: Array, unit: float, outputs: Index) -> None:
        margins = program.margins
        within = np.isin(margins.plus, outputs) | np.isin(margins.minus, outputs)
        self.constraints = np.flatnonzero(within)
        self.outputs = outputs
        self.margins = margins.take(self.constraints)
        self.touching = {k: self.margins.touching(k) for k in outputs.tolist()}
        balance = self.margins.balance(outputs) if program.intercept else sparse.csr_array((0, self.margins.size))
        self.master = DualLP(self.margins.need, price[self.constraints], balance, unit)
        self.units = np.empty(0, np.intp)
        self.stale = True  # whether something changed since the last solution

    def rows(self, columns: Any, output: int) -> Rows:
        """Return the program's rows of some columns (dense: one a row; sparse: one a column) for an output."""
        which, sign = self.touching[output]
        row = self.margins.row[which]
        if not sparse.issparse(columns):
            k = columns.shape[0]
            return Rows((columns[:, row] * sign).ravel(), np.tile(which, k), which.size * np.arange(k + 1))
        part = columns.tocsr()[row].tocsc()  # compressed by column: the program's rows
        return Rows(part.data * sign[part.indices], which[part.indices], part.indptr)


class ProgramModel(SolvedAtOnce):
    """A machine whose features come in as they are needed; a unit is a weight (feature, output)."""

    gradient_evaluations = 0  # not counted: reduced costs come with every program

    def __init__(self, program: Program) -> None:
        self.program = program
        margins, columns = program.margins, program.columns
        self._n_outputs = margins.n_outputs
        self._prices = trivial_prices(columns.n_columns) if program.prices is None else program.prices
        self._first = np.unique(program.bag_of, return_index=True)[1]  # of each bag: it stands for all of them
        self._alone = np.bincount(program.bag_of)[program.bag_of] == 1
        self._null(margins)
        n_units = columns.n_columns * self._n_outputs
        self._open = np.zeros(n_units, bool)
        self._arrival = np.zeros(n_units, np.intp)
        self._arrivals = 0
        self._place = np.full(columns.n_columns, -1, np.intp)  # of a feature in the block
        self._block = columns.block()
        self._weights = np.zeros(n_units)
        groups = [np.arange(self._n_outputs)] if margins.coupled else list(np.arange(self._n_outputs)[:, None])
        self._machines = [_Machine(program, self._price, self._unit, group) for group in groups]
        self._gradient = self.null_gradient
        self._fresh = True

    def _null(self, margins: Margins) -> None:
        """Solve the machine without features, and choose the unit of the multipliers and the first price of slack."""
        program, hard = self.program, self.program.hard
        base = float(program.price[~hard].max(initial=0.0)) or 1.0
        start = np.where(hard, base, program.price)
        self._intercept, a = _empty_machine(program, start)
        gradient = program.columns.gradient(margins.spread(a))
        self.null_slack = margins.slack(np.tile(self._intercept, (margins.n_rows, 1)))
        self._price, self._unit = start, float(start.mean())
        if hard.any():
            # multipliers are as large as the costs allow for: the strongest feature tells how large that is
            paid = program.bag_cost > 0.0
            most = program.by_bag(gradient)[paid].max(axis=1)
            reach = float((most / program.bag_cost[paid]).max(initial=0.0)) or 1.0
            typical = base / reach
            if hard.all():
                a, gradient, self._unit = a / reach, gradient / reach, typical
            self._price = np.where(hard, HARD * (typical if hard.all() else max(base, typical)), program.price)
        self.null_gradient: Array = gradient
        self._a = a

    # -- what the loop asks -------------------------------------------------------------------------------

    @property
    def n_selected(self) -> int:
        """Number of features with a weight that is not zero, or kept."""
        return int(np.count_nonzero(self.support()))

    @property
    def total_cost(self) -> float:
        """What the features cost that are in the model and not kept."""
        return self._prices.total(self.support())

    def support(self) -> NDArray[np.bool_]:
        """Return which features are in the model."""
        return self._prices.kept | self._by_feature(self._weights).any(axis=1)

    def _by_feature(self, per_unit: NDArray[Any]) -> NDArray[Any]:
        return per_unit.reshape(-1, self._n_outputs)

    def gradient(self) -> Array:
        """Return Σ_r a_r ∂margin_r/∂w for all weights, (n_features, n_outputs)."""
        if not self._fresh:
            margins = self.program.margins
            self._gradient = self.program.columns.gradient(margins.spread(self._a))
            self._fresh = True
        return self._gradient

    def gradient_test(self) -> Candidates:
        """Return the closed weights, the first of each bag, with how far their reduced cost is below zero."""
        program = self.program
        kkt_excess = np.maximum(program.by_bag(self.gradient()) - program.bag_cost[:, None], 0.0)
        units = self._first[:, None] * self._n_outputs + np.arange(self._n_outputs)
        shut = ~self._open[units]
        closed, kkt_excess = units[shut], kkt_excess[shut]
        nothing = np.broadcast_to(0.0, closed.size)
        one = np.broadcast_to(np.intp(1), closed.size)
        return Candidates(closed, kkt_excess, nothing, nothing, one, nothing)

    def open_violation(self) -> float:
        """Return 0: HiGHS solves the open weights to its precision, and the certificate measures them afresh."""
        return 0.0 if not any(machine.stale for machine in self._machines) else np.inf

    def feature_of(self, unit: int) -> int:
        """Return the feature of a weight."""
        return unit // self._n_outputs

    def typical_weight(self) -> float | None:
        """Return None: features have no price here."""
        return None

    def free(self, units: Index) -> None:
        """Take weights into the program, and with each the others of its bag."""
        units = self._whole_bags(units)
        units = units[~self._open[units]]
        self._arrival[units] = self._arrivals + np.arange(units.size)
        self._arrivals += units.size
        self._open[units] = True
        features = units // self._n_outputs
        new = np.unique(features[self._place[features] < 0])
        self._place[new] = self._block.features.size + np.arange(new.size)
        if new.size:
            self._block.append(new)
        for machine in self._machines:
            for output in machine.outputs.tolist():
                mine = units[units % self._n_outputs == output]
                if mine.size:
                    self._add(machine, output, mine)

    def _whole_bags(self, units: Index) -> Index:
        """Return weights together with those of the same bag and output, in the order of the former."""
        if self._alone.all():
            return units
        bags = self.program.bags
        assert bags is not None  # noqa: S101 -- else every feature is alone
        k = self._n_outputs
        parts = [bags.members(int(bags.of[unit // k])) * k + unit % k for unit in units.tolist()]
        every = np.concatenate(parts) if parts else units
        return every[np.sort(np.unique(every, return_index=True)[1])]

    def _add(self, machine: _Machine, output: int, units: Index) -> None:
        features = units // self._n_outputs
        at = self._place[features]
        part = self._block.rows[at] if isinstance(self._block, DenseBlock) else self._block.matrix[:, at]
        bag = np.where(self._alone[features], ALONE, self.program.bag_of[features] * self._n_outputs + output)
        machine.master.add(machine.rows(part, output), self.program.cost[features], bag)
        machine.units = np.concatenate([machine.units, units])
        machine.stale = True

    def optimize(self, tol: float, *, exact: bool) -> None:  # noqa: ARG002 -- always exact
        """Solve the programs in which something changed."""
        for machine in self._machines:
            if machine.stale:
                machine.master.solve()
                machine.stale = self._fresh = False
                self._weights[machine.units] = machine.master.weights
                self._a[machine.constraints] = machine.master.variables
                if self.program.intercept:
                    self._intercept[machine.outputs] = machine.master.intercepts + self._centring(machine.outputs)

    def approach(self) -> None:
        """Take in what an interior-point method finds to matter, where the simplex method would need many pivots.

        That is where many features want to come in at once: at the optimum about as many rows are met exactly as there
        are features, and each of them costs pivots.
        """
        if self._open.any() or self.program.hard.any() or self._block.is_sparse or self.program.bags is not None:
            return  # it knows no bounds that the members of a bag share
        wanting = np.count_nonzero(np.abs(self.null_gradient) > self.program.cost[:, None], axis=0)
        for machine in self._machines:
            if machine.outputs.size > 1 or not MANY_ROWS <= machine.margins.size <= MOST_ROWS:
                continue
            output = int(machine.outputs[0])
            if wanting[output] < MANY * machine.margins.size or not (self.program.cost > 0.0).all():
                continue
            self._approach(machine, output)

    def _approach(self, machine: _Machine, output: int) -> None:
        which, sign = machine.touching[output]
        row, columns = machine.margins.row[which], self.program.columns

        def take(features: Index) -> Array:
            return np.asarray(columns.take(features)[:, row] * sign)

        def gradient(a: Array) -> Array:
            residual = np.zeros((columns.n_rows, 1))
            np.add.at(residual[:, 0], row, sign * a)
            return columns.gradient(residual)[:, 0]

        price = self._price[machine.constraints]
        balance = np.asarray(machine.margins.balance(machine.outputs).toarray()) * float(self.program.intercept)
        balance = balance if self.program.intercept else balance[:0]
        found = solve_inside(
            take, gradient, machine.margins.need, price, self.program.cost, balance, self.null_gradient[:, output]
        )
        if found is None:
            return
        size = np.abs(found.weights)
        matter = size > USED * size.max(initial=0.0)
        near = np.abs(gradient(found.multipliers)[found.features]) >= NEARLY * self.program.cost[found.features]
        kept = np.flatnonzero(matter | near)
        self.free(found.features[kept] * self._n_outputs + output)
        machine.master.begin(found.multipliers, found.weights[kept], price)

    def _centring(self, outputs: Index) -> Array:
        """Return what intercepts gain because sparse columns enter the program as they are, not centred.

        Multipliers that add up to zero see no difference.
        """
        if isinstance(self._block, DenseBlock):
            return np.zeros(outputs.size)
        weights = self._by_feature(self._weights)[self._block.features][:, outputs]
        return np.asarray(self._block.mean @ weights)

    def prune(self, *, generous: bool) -> None:
        """Take weights out that are zero and not near coming back, where they are many; bags stay whole."""
        cost = self.program.cost
        gradient = self.gradient().ravel()
        for machine in self._machines:
            units = machine.units
            idle = (self._weights[units] == 0.0) & self._alone[units // self._n_outputs]
            near = np.abs(gradient[units]) >= NEAR * cost[units // self._n_outputs] if generous else ~idle
            matter = ~idle | near
            if units.size > CROWDED * (np.count_nonzero(matter) + 20):
                machine.master.drop(np.flatnonzero(~matter))
                self._open[units[~matter]] = False
                machine.units = units[matter]

    def objective(self) -> float:
        """Return the criterion."""
        return self.program.value(self._by_feature(self._weights), self.slack())

    def slack(self) -> Array:
        """Return the slack of every constraint."""
        return self.program.margins.slack(self.scores())

    def scores(self) -> Array:
        """Return the scores of all rows, (n_rows, n_outputs)."""
        weights = self._by_feature(self._weights)[self._block.features]
        return self._block.scores(weights) + self._intercept

    def save(self) -> Saved:
        """Return everything needed to know this model."""
        units = np.flatnonzero(self._open)
        return Saved(units, self._arrival[units], self._weights[units], self._intercept.copy(), self._a.copy())

    def restore(self, saved: Saved) -> None:
        """Come back to a saved model; further open weights become zero and stay in the program."""
        self.free(saved.units)
        self._weights[:] = 0.0
        self._weights[saved.units] = saved.weights
        self._arrival[saved.units] = saved.arrival
        self._intercept, self._a = saved.intercept.copy(), saved.multipliers.copy()
        self._fresh = False
        for machine in self._machines:
            machine.stale = True

    # -- the same machine at other costs -------------------------------------------------------------------

    def charge(self, cost: Array) -> bool:
        """Go on with other costs of the weights; returns whether the solution stays what it is."""
        shrunk = self._shrinkage(cost)
        self.program = replace(self.program, cost=cost)
        for machine in self._machines:
            machine.master.charge(cost[machine.units // self._n_outputs])
            machine.stale |= shrunk is None
        if shrunk is not None:
            self._a = shrunk * self._a
            self._gradient = shrunk * self.gradient()
        return shrunk is not None

    def _shrinkage(self, cost: Array) -> float | None:
        """Return the factor by which all costs fall where that leaves the weights as they are, else None.

        Where no constraint is short of its margin, the multipliers may fall with the costs.
        """
        old = self.program.cost
        if any(machine.stale for machine in self._machines) or (self._a >= (1.0 - 1e-9) * self._price).any():
            return None
        top = int(np.argmax(old))
        factor = float(cost[top] / old[top]) if old[top] > 0.0 else np.inf
        return factor if factor <= 1.0 and np.allclose(cost, factor * old, rtol=1e-14, atol=0.0) else None

    def raise_price(self, factor: float) -> None:
        """Make slack dearer where there may be none."""
        self._price = np.where(self.program.hard, factor * self._price, self._price)
        for machine in self._machines:
            machine.master.raise_price(self._price[machine.constraints])
            machine.stale = True

    def centre_intercepts(self) -> None:
        """Choose among intercepts that are as good: the middle of each output's, or a mean of zero.

        Outputs that are only compared with each other have a common score that is arbitrary.  Many intercepts are as
        good where weights do not decide: between the two middle targets of a machine without features, or within a
        tube that holds a constant.
        """
        if not self.program.intercept:
            return
        if self.program.margins.coupled:
            self._intercept -= self._intercept.mean()
            return
        if self.program.hard.any() and not self.program.hard.all():
            return  # next to prices that stand for infinity those of slack would be rounding
        scores = self.scores() - self._intercept
        for machine in self._machines:
            output = int(machine.outputs[0])
            which, sign = machine.touching[output]
            at = sign * machine.margins.need[which] - scores[machine.margins.row[which], output]
            self._intercept[output] = _middle(at, self._price[machine.constraints[which]], sign)

    # -- the result ----------------------------------------------------------------------------------------

    @property
    def price(self) -> Array:
        """What slack costs in the program being solved: a large number where it may not be."""
        return self._price

    @property
    def n_open(self) -> int:
        """How many weights are in the program."""
        return int(np.count_nonzero(self._open))

    @property
    def pivots(self) -> int:
        """How many steps the simplex method took so far."""
        return sum(machine.master.pivots for machine in self._machines)

    def coefficients(self) -> tuple[Array, Array]:
        """Return weights (n_features, n_outputs) and intercepts."""
        return self._by_feature(self._weights).copy(), self._intercept.copy()

    @property
    def multipliers(self) -> Array:
        """The multiplier of every constraint."""
        return self._a

    def order(self) -> Index:
        """Return the selected features in the order in which they came in."""
        chosen = np.flatnonzero(self.support())
        is_open, arrival = self._by_feature(self._open)[chosen], self._by_feature(self._arrival)[chosen]
        first = np.where(is_open, arrival, self._arrivals).min(axis=1, initial=self._arrivals)
        return chosen[np.argsort(first, kind="stable")]


def _empty_machine(program: Program, price: Array) -> tuple[Array, Array]:
    """Return intercepts and multipliers of a machine without features.

    Constraints that only their price tells apart share what their kind has: of all optimal multipliers these tell
    most about the features.
    """
    margins = program.margins
    if not program.intercept:
        return np.zeros(margins.n_outputs), np.where(margins.need > 0.0, price, 0.0)
    _, kind = np.unique(np.column_stack([margins.plus, margins.minus, margins.need]), axis=0, return_inverse=True)
    kind = kind.ravel()
    total = np.asarray(np.bincount(kind, price), dtype=np.float64)
    first = np.zeros(total.size, np.intp)
    first[kind[::-1]] = np.arange(margins.size)[::-1]
    balance = margins.take(first).balance(np.arange(margins.n_outputs))
    master = DualLP(margins.need[first], total, balance, float(total.mean()))
    master.solve()
    share = master.variables / np.where(total > 0.0, total, 1.0)
    return master.intercepts, share[kind] * price


def _middle(at: Array, price: Array, sign: Array) -> float:
    """Return the middle of the minimisers b of Σ price·max(0, sign·(at - b))."""
    order = np.argsort(at, kind="stable")
    slope = np.cumsum(price[order]) - price[sign > 0.0].sum()  # to the right of each kink
    flat = 1e-12 * price.sum()
    first = int(np.argmax(slope >= -flat))
    last = min(first + 1, at.size - 1) if slope[first] <= flat else first
    return float(0.5 * (at[order[first]] + at[order[last]]))
