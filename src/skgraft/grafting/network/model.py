"""The network as the grafting loop grows it (Perkins et al. 2003, section 3.3.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.grafting.loop import Candidates, strongest
from skgraft.grafting.network.candidates import Closed, closed_derivatives
from skgraft.grafting.network.descent import Descent, Point, evaluate, loss_gradient, penalty_of
from skgraft.grafting.network.problem import NetworkProblem
from skgraft.grafting.network.weighing import gains
from skgraft.grafting.network.wiring import Network, add_unit, connect, fully_connected, pack, pruned

SHORTLIST = 3  # candidates that are solved in earnest before one comes in
SHORTLIST_LONG = 8  # for screen="quadratic": with even effects about, gradients tell less,
SHORTLIST_EVEN = 3  # and so many candidates without a gradient at zero come on top
ATTEMPTS = 3  # candidates that are tried before a step counts as one that nothing lowers
SMALLEST_SIZE, LARGEST_SIZE = 0.05, 5.0  # of a new weight, as eq. 9 expects it
ALIKE = 0.7  # correlation beyond which two features do not come in together
COMPARABLE = 0.3  # share of the best one's gain that its companions must bring
STEPS_FROM_ZERO = 50  # of "full" where no trial fit tells where a new weight starts
STEPS, STEPS_ALL = 3, 200  # of a re-optimisation: after a trial fit, and of a network that is fully connected
LAST_ROUNDS, LAST_STEPS = 60, 4  # of the last re-optimisation by Newton steps, and
LAST_ROUNDS_MANY, LAST_STEPS_MANY = 15, 40  # by limited-memory ones, which learn the curvature anew in every round
SHARP = 1e-4  # share of the tolerance that the last re-optimisation aims at: a Newton step more brings the last digits
GAUSS_SEIDEL_SWEEPS = 5


@dataclass(frozen=True)
class Saved:
    """A network to come back to, its features' rows, and the features in the order in which they came in."""

    point: Point
    rows: Array
    order: tuple[int, ...]
    size: float


class NetworkModel:
    """A network whose units and connections come in and go.

    With ``by_gradient`` the gradient test alone says what comes in, as the paper has it; else trial fits do.
    """

    def __init__(
        self, problem: NetworkProblem, tol: float, rng: np.random.Generator | None = None, *, by_gradient: bool = False
    ) -> None:
        self.problem = problem
        self._by_gradient = by_gradient
        self._all_open = False
        self.tol = tol  # a fall of the criterion below which re-optimising ends
        self._rng = rng  # None chooses the best candidate, else the choice among good ones is random
        self._descent = Descent(problem)
        target = problem.target
        self._rows = np.empty((0, target.weight.size))
        self._order: tuple[int, ...] = ()
        self._size = 1.0
        self._point = evaluate(problem, Network.empty(target.loss.start(target.y, target.weight)), self._rows)
        self._optimize_all(LAST_STEPS)
        self._evaluations = 0
        self._at = self._look_at_closed()
        self.null_excess = float(self._at.kkt_excess().max(initial=0.0))
        self._weighed: dict[int, Array] = {}
        self._newest = np.empty(0, np.intp)

    # -- what the loop asks -------------------------------------------------------------------------------

    @property
    def net(self) -> Network:
        """The network as it is now."""
        return self._point.net

    @property
    def point(self) -> Point:
        """The network, its activations and scores."""
        return self._point

    @property
    def n_selected(self) -> int:
        """Number of features in the network, or kept."""
        return int(np.count_nonzero(self.support()))

    @property
    def total_cost(self) -> float:
        """What they cost together."""
        return self.problem.prices.total(self.support())

    def support(self) -> NDArray[np.bool_]:
        """Return which features are in the network."""
        mask = self.problem.prices.kept.copy()
        mask[self.net.feature[self.net.w != 0.0]] = True
        return mask

    def gradient_test(self) -> Candidates:
        """Return every connection and every unit that is not there, with the derivative towards it."""
        problem, net = self.problem, self.net
        self._at = self._look_at_closed()
        kkt_excess = np.maximum(self._at.kkt_excess() - problem.l1 * problem.penalty_weight, 0.0)
        kkt_excess[net.unit, net.feature] = 0.0
        if problem.max_units is not None and net.n_units >= problem.max_units:
            kkt_excess[net.n_units :] = 0.0
        if problem.max_connections is not None:
            kkt_excess[self._added() > problem.max_connections - net.n_connections] = 0.0
        unit = np.flatnonzero(kkt_excess.ravel() > 0.0)
        feature = unit % problem.columns.n_columns
        support = self.support()
        bags, charge = problem.prices.bags.of, problem.prices.charge
        paid = np.zeros(charge.size, bool)
        paid[bags[support]] = True
        cost = np.where(paid[bags], 0.0, charge[bags])[feature]
        ridge = (problem.l2 * problem.penalty_weight)[feature]
        count = (~support[feature]).astype(np.intp)
        taken, spent = int(support.sum()), problem.prices.total(support)
        return Candidates(unit, kkt_excess.ravel()[unit], problem.l0 * cost, cost, count, ridge, taken, spent)

    @property
    def gradient_evaluations(self) -> int:
        """How often the derivatives towards everything that is not there were computed."""
        return self._evaluations

    def _look_at_closed(self) -> Closed:
        self._evaluations += 1
        return closed_derivatives(self.problem, self._point)

    def _added(self) -> Array:
        """Return how many connections each candidate would bring."""
        net, width = self.net, self.problem.columns.n_columns
        n_rows = len(self._at.kkt_excess())
        if not self.problem.connect_all:
            return np.ones((n_rows, width))
        is_new = np.ones(width)
        is_new[net.features] = 0.0
        here = np.where(is_new > 0.0, net.n_units, 1.0)[None].repeat(net.n_units, axis=0)
        new = net.features.size + is_new * (net.n_units + 1)
        return np.concatenate([here, new[None].repeat(n_rows - net.n_units, axis=0)])

    def open_violation(self) -> float:
        """Return the largest violation over the free weights and the biases."""
        free = pack(self.net, outputs=self.problem.free_outputs)
        own = penalty_of(self.problem, self.net).violation(loss_gradient(self.problem, self._point, self._rows), free)
        return float(own.max(initial=0.0))

    def feature_of(self, unit: int) -> int:
        """Return the feature of a candidate."""
        return unit % self.problem.columns.n_columns

    def kind_of(self, unit: int) -> str:
        """Return what a candidate is: a new unit or a connection to one that is there."""
        return "connection" if unit // self.problem.columns.n_columns < self.net.n_units else "unit"

    def typical_weight(self) -> float | None:
        """Return the size of the newest weight; within reason, unless eq. 9 alone decides."""
        return self._size

    def weigh(self, candidates: Candidates, change: Array, batch: int) -> list[Candidates]:
        """Return what to try, best first."""
        return (self._weigh_by_gradient if self._by_gradient else self._weigh_by_trial)(candidates, change, batch)

    def _weigh_by_gradient(self, candidates: Candidates, change: Array, batch: int) -> list[Candidates]:
        """Return the one candidate that eq. 9 expects most of, or as many as may come in together."""
        worth = -change if self._rng is None else -change * self._rng.uniform(0.5, 1.0, change.size)
        short = strongest(worth, np.arange(change.size), 2 * batch)
        first = candidates.take(short)
        together = self._together(first, worth[short], batch) if batch > 1 else None
        return [first.take(slice(0, 1)) if together is None else together]

    def _weigh_by_trial(self, candidates: Candidates, change: Array, batch: int) -> list[Candidates]:
        """Solve the most promising candidates in earnest."""
        even = self._at.is_even(candidates.unit // self.problem.columns.n_columns)
        count = max(SHORTLIST_LONG if self.problem.quadratic else SHORTLIST, 2 * batch)
        short = np.concatenate(
            [
                strongest(-change, np.flatnonzero(~even), count),
                strongest(-change, np.flatnonzero(even), SHORTLIST_EVEN),
            ]
        )
        chosen = candidates.take(short)
        found, gain = gains(self.problem, self._point, self._rows, self._at, chosen.unit, self.tol)
        gain = gain - chosen.price
        self._weighed = dict(zip(chosen.unit.tolist(), found, strict=True))
        worth = gain if self._rng is None else gain * self._rng.uniform(0.5, 1.0, gain.size)
        order = np.lexsort((chosen.unit, -worth))
        first = chosen.take(order)
        singles = [first.take(slice(i, i + 1)) for i in range(min(ATTEMPTS, order.size))]
        together = self._together(first, gain[order], batch) if batch > 1 else None
        return singles if together is None else [together, *singles]

    def _together(self, ordered: Candidates, gain: Array, batch: int) -> Candidates | None:
        """Return candidates that may come in at once: comparable gains, features that are not alike, and room."""
        if self.problem.max_connections is not None:
            room = self.problem.max_connections - self.net.n_connections
            batch = 1 if self.problem.connect_all else min(batch, room)
        row, features = np.divmod(ordered.unit, self.problem.columns.n_columns)
        room = ordered.unit.size if self.problem.max_units is None else self.problem.max_units - self.net.n_units
        rows = self.problem.rows(features) * np.sqrt(self.problem.target.weight)
        length = np.sqrt(np.einsum("ij,ij->i", rows, rows)) + 1e-300
        correlation = np.abs(rows @ rows.T) / np.outer(length, length)
        chosen = [0]
        for k in range(1, features.size):
            if len(chosen) == batch or gain[k] < COMPARABLE * gain[0]:
                break
            new_units = np.count_nonzero(row[[*chosen, k]] >= self.net.n_units)
            if new_units <= room and (correlation[k, chosen] < ALIKE).all():
                chosen.append(k)
        return ordered.take(np.array(chosen)) if len(chosen) > 1 else None

    def free(self, units: Index) -> None:
        """Open connections and units, from their trial solutions where there are some."""
        problem, net = self.problem, self.net
        n_units, width = net.n_units, problem.columns.n_columns
        before = net.n_connections
        for unit in units.tolist():
            row, feature = divmod(unit, width)
            w, c, shift = self._weighed.get(unit, np.zeros(3))
            if row < n_units:
                u, v = row, net.v[row]
            else:
                owner, v = self._at.outputs(row, feature)
                net, u = add_unit(net, owner, v), net.n_units
            net = connect(net, u, feature, w)
            bias = net.c.copy()
            bias[u] += c
            net = replace(net, c=bias, b=net.b + shift * v)
        if problem.connect_all:
            net = fully_connected(net)
        new = net.features[self.net.features.size :]
        if new.size:
            self._rows = np.concatenate([self._rows, problem.rows(new)])
            self._order = (*self._order, *new.tolist())
        self._newest = np.arange(before, net.n_connections)
        self._point = evaluate(problem, net, self._rows)

    def optimize(self, tol: float, *, exact: bool) -> None:  # noqa: ARG002 -- as far as trials left off
        """Take a few steps of all free weights: trial fits have brought the new ones most of the way."""
        self._optimize_all(STEPS_ALL if self._all_open else STEPS_FROM_ZERO if self._by_gradient else STEPS)
        self._note_size()

    def single_step(self) -> None:
        """Take one step of all free weights."""
        self._optimize_all(1)
        self._note_size()

    def optimize_newest(self, tol: float) -> None:  # noqa: ARG002 -- as far as trials left off
        """Take a few steps of the newest weights and the biases."""
        self._optimize_all(STEPS, self._newest_and_biases())
        self._note_size()

    def optimize_in_turn(self, tol: float, *, exact: bool) -> None:  # noqa: ARG002 -- a number of sweeps
        """Optimise the worst weight alone, again and again."""
        self._gauss_seidel()
        self._note_size()

    def _note_size(self) -> None:
        """Note how large the newest weights have become, for eq. 9."""
        newest = np.abs(self.net.w[self._newest])
        if newest.size and newest.max() > 0.0:
            largest = float(newest.max())
            self._size = largest if self._by_gradient else float(np.clip(largest, SMALLEST_SIZE, LARGEST_SIZE))

    def finish(self, violation: float) -> None:
        """Re-optimise the free weights until none violates its optimality condition by more, or nothing is gained."""
        many = self._descent.is_too_large(self.net)
        rounds, steps = (LAST_ROUNDS_MANY, LAST_STEPS_MANY) if many else (LAST_ROUNDS, LAST_STEPS)
        enough = violation if many else SHARP * violation
        for _ in range(rounds):
            before = self._point
            if self.open_violation() <= enough:
                return
            self._point = self._descent.run(before, self._rows, steps, 0.0)
            if self._point is before:
                return

    def _optimize_all(self, steps: int, movable: NDArray[np.bool_] | None = None) -> None:
        self._point = self._descent.run(self._point, self._rows, steps, self.tol, movable)

    def _newest_and_biases(self) -> NDArray[np.bool_]:
        net = self.net
        w = np.zeros(net.n_connections, bool)
        w[self._newest] = True
        v = np.zeros(net.v.size if self.problem.free_outputs else 0, bool)
        return np.concatenate([np.ones(net.n_outputs, bool), w, np.ones(net.n_units, bool), v])

    def _gauss_seidel(self) -> None:
        """Optimise the worst weight alone, again and again (Shevade and Keerthi 2003)."""
        outputs = self.problem.free_outputs
        size = pack(self.net, outputs=outputs).size
        for _ in range(GAUSS_SEIDEL_SWEEPS * size):
            g = loss_gradient(self.problem, self._point, self._rows)
            own = penalty_of(self.problem, self.net).violation(g, pack(self.net, outputs=outputs))
            before = self._point.value
            self._optimize_all(1, np.arange(size) == np.argmax(own))
            if before - self._point.value < self.tol / size:
                return

    def prune(self, *, generous: bool) -> None:  # noqa: ARG002 -- nothing is expected back
        """Close connections whose weight returned to zero, except those of features that are kept."""
        net = self.net
        stays = (net.w != 0.0) | self.problem.prices.kept[net.feature]
        if stays.all():
            return
        smaller = pruned(net, stays)
        at = np.searchsorted(net.features, smaller.features, sorter=np.argsort(net.features))
        self._rows = self._rows[np.argsort(net.features)[at]]
        used = set(smaller.features.tolist())
        self._order = tuple(feature for feature in self._order if feature in used)
        self._newest = np.empty(0, np.intp)
        self._point = evaluate(self.problem, smaller, self._rows)

    def objective(self) -> float:
        """Return the criterion, prices included."""
        return self._point.value + self.problem.l0 * self.total_cost

    def save(self) -> Saved:
        """Return everything needed to come back to this network."""
        return Saved(self._point, self._rows, self._order, self._size)

    def restore(self, saved: Saved) -> None:
        """Come back to a saved network."""
        self._point, self._rows, self._order, self._size = saved.point, saved.rows, saved.order, saved.size
        self._newest = np.empty(0, np.intp)

    # -- how a fit begins ----------------------------------------------------------------------------------

    def open_kept(self) -> None:
        """Connect every feature that is always in, each where it brings most."""
        for feature in np.flatnonzero(self.problem.prices.kept).tolist():
            candidates = self.gradient_test()
            mine = np.flatnonzero(candidates.unit % self.problem.columns.n_columns == feature)
            if mine.size:
                mine_only = candidates.take(mine)
                self.free(self.weigh(mine_only, -mine_only.kkt_excess, 1)[0].unit)
                self._optimize_all(STEPS)

    def open_everything(self, n_units: int, rng: np.random.Generator) -> None:
        """Connect every feature to each of ``n_units`` units for every output, with small random weights."""
        problem, net = self.problem, self.net
        width, n_outputs = problem.columns.n_columns, net.n_outputs
        shared = problem.free_outputs and n_outputs > 1
        owner = np.arange(n_units) % n_outputs
        v = rng.normal(size=(n_units, n_outputs)) / np.sqrt(n_outputs) if shared else np.eye(n_outputs)[owner]
        full = Network(
            features=np.arange(width),
            unit=np.repeat(np.arange(n_units), width),
            column=np.tile(np.arange(width), n_units),
            owner=owner,
            w=rng.normal(size=n_units * width) / np.sqrt(width),
            c=np.zeros(n_units),
            b=net.b,
            v=v,
        )
        self._rows = problem.rows(full.features)
        self._order = tuple(range(width))
        self._point = evaluate(problem, full, self._rows)
        self._all_open = True
        self._optimize_all(STEPS_ALL)
        self.prune(generous=False)

    def order(self, saved: Saved) -> Index:
        """Return the selected features in the order in which they came in, features kept but unused last."""
        net = saved.point.net
        used = set(net.feature[(net.w != 0.0) | self.problem.prices.kept[net.feature]].tolist())
        first = [feature for feature in saved.order if feature in used]
        rest = [feature for feature in np.flatnonzero(self.problem.prices.kept).tolist() if feature not in used]
        return np.array(first + rest, dtype=np.intp)
