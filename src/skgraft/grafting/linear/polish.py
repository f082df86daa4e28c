"""Improving a greedy choice of features: single drops, additions and swaps that lower the criterion.

A quadratic model of the criterion around the current solution says what every move would bring; the promising ones
are carried out, and kept if the criterion itself falls.  For the squared loss without an l1 penalty the
model is exact, so that when no move is promising none is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skgraft.arrays import Array, Index
from skgraft.grafting.effort import FULL
from skgraft.grafting.linear.model import LinearModel
from skgraft.grafting.loop import Settings, affordable, graft, record_step
from skgraft.prices import within_limits
from skgraft.run import Monitor

TRIALS = 24  # promising moves carried out before giving up
EXHAUSTIVE = 600  # where there are at most this many moves, all that are not hopeless are carried out
OPTIMISM = 2.0  # how far a gain may exceed, and a loss fall short of, what the quadratic model says
RESTARTS = 20
CROSS_TERMS = 4_000_000  # second derivatives between features kept at a time
KEPT_MOVES = 200  # additions remembered for each feature that may go
NEGLIGIBLE = 1e-10  # decreases below this share of the criterion, or of the empty model's, are rounding
NOTHING = np.empty(0, np.intp)


@dataclass(frozen=True)
class Moves:
    """Moves: close part ``drop`` of the model (or -1, nothing) and open unit ``add`` (or -1).

    ``change`` is what the criterion is expected to change by, ``hope`` what it may change by at best, ``curvature`` the
    second derivative towards what is opened (0 where it is not known).
    """

    drop: Index
    add: Index
    change: Array
    hope: Array
    curvature: Array

    def take(self, which: Any) -> Moves:
        """Return some of the moves, in the given order."""
        return Moves(self.drop[which], self.add[which], self.change[which], self.hope[which], self.curvature[which])


def polish(
    model: LinearModel, settings: Settings, monitor: Monitor, *, thorough: bool, rng: np.random.Generator
) -> bool:
    """Apply single moves until none lowers the criterion; ``thorough`` adds random restarts.

    Returns whether every move that may lower the criterion was tried.
    """
    if settings.effort.is_stationary:
        # a lesser effort is for growing, and moves are judged at the optimum
        settings = replace(settings, effort=FULL)
    complete = _descend(model, settings, monitor)
    if not thorough:
        return complete
    best, best_value = model.save(), model.objective()
    for _ in range(RESTARTS):
        if not _perturb(model, settings, rng):
            break
        graft(model, settings, Monitor())
        found = _descend(model, settings, Monitor())
        if model.objective() < best_value - _noise(model):
            best, best_value, complete = model.save(), model.objective(), found
            record_step(monitor, model, "restart")
        else:
            model.restore(best)
    return complete


def _descend(model: LinearModel, settings: Settings, monitor: Monitor) -> bool:
    """Apply moves until none of those tried lowers the criterion; returns whether all were tried."""
    for _ in range(settings.max_iter):
        if _nothing_left(model, settings):
            return True
        improved, complete = _improve(model, settings, monitor)
        if not improved:
            return complete
        graft(model, settings, monitor)
    return False


def _nothing_left(model: LinearModel, settings: Settings) -> bool:
    """Whether the criterion is within the tolerance of the least loss that any model has."""
    scale = float(np.abs(model.null_gradient).max(initial=0.0))
    return bool(model.to_gain * scale <= settings.tol * model.height)


def _noise(model: LinearModel) -> float:
    """Return the decrease of the criterion below which there is none."""
    return NEGLIGIBLE * max(abs(model.objective()), model.height)


def _improve(model: LinearModel, settings: Settings, monitor: Monitor) -> tuple[bool, bool]:
    """Carry out the first move that lowers the criterion; returns whether one does, and whether all were tried."""
    model.gradient_test()
    parts = _parts(model, settings)
    moves = _singles(model, parts, settings) if _is_single(model) else _by_removal(model, parts, settings)
    value, noise = model.objective(), _noise(model)
    expected = moves.change if _is_exact(model) else moves.hope
    moves = moves.take(np.flatnonzero(expected < -noise))
    order = np.argsort(moves.change, kind="stable")
    complete = order.size <= EXHAUSTIVE
    moves = moves.take(order if complete else order[:TRIALS])
    saved = model.save()
    without = _Without(model, settings, parts, moves, saved, value)
    for at, (drop, add) in enumerate(zip(moves.drop.tolist(), moves.add.tolist(), strict=True)):
        if without.is_hopeless(at):
            continue
        _apply(model, parts[drop] if drop >= 0 else NOTHING, add, settings)
        if model.objective() < value - noise:
            kind = "swap" if drop >= 0 and add >= 0 else ("drop" if drop >= 0 else "graft")
            record_step(monitor, model, kind, model.feature_of(add) if add >= 0 else -1)
            return True, complete
        model.restore(saved)
    return False, complete


class _Without:
    """What is left to hope for once it is known what the criterion is without a feature, rather than estimated.

    Only the gain of the feature that comes in its place is an estimate then, so that most swaps need not be tried.
    """

    def __init__(
        self, model: LinearModel, settings: Settings, parts: list[Index], moves: Moves, saved: Any, value: float
    ) -> None:
        self._model, self._settings, self._parts, self._moves = model, settings, parts, moves
        self._saved, self._value, self._noise = saved, value, _noise(model)
        self._hope = moves.hope.copy()
        self._unknown = (moves.drop >= 0) & (moves.add >= 0) & (moves.curvature > 0.0)
        if _is_exact(model):
            self._unknown[:] = False

    def is_hopeless(self, at: int) -> bool:
        """Whether a move cannot lower the criterion."""
        if self._unknown[at]:
            self._look(int(self._moves.drop[at]))
        return bool(self._hope[at] >= -self._noise)

    def _look(self, drop: int) -> None:
        """Close a feature, note what its swaps may bring, and come back."""
        model, mine = self._model, np.flatnonzero(self._unknown & (self._moves.drop == drop))
        _apply(model, self._parts[drop], -1, self._settings)
        added = self._moves.add[mine]
        slope = model.gradient_of(added)
        kkt_excess = np.maximum((-slope if model.problem.positive else np.abs(slope)) - model.penalty.hold[added], 0.0)
        gain = kkt_excess**2 / (2.0 * (self._moves.curvature[mine] + model.penalty.ridge[added]))
        price = model.problem.l0 * model.problem.prices.charge[added]
        self._hope[mine] = model.objective() - self._value + price - OPTIMISM * gain
        self._unknown[mine] = False
        model.restore(self._saved)


def _apply(model: LinearModel, part: Index, add: int, settings: Settings) -> None:
    """Close a part of the model, open a unit (or -1) and re-optimise."""
    _reoptimize_without(model, part, settings, add)
    if not _is_single(model):
        _fill(model, settings)
    model.prune(generous=False)


def _reoptimize_without(model: LinearModel, part: Index, settings: Settings, add: int = -1) -> None:
    if part.size:
        model.close(part)
    if add >= 0:
        model.free(np.array([add]))
    model.optimize(0.1 * settings.tol, exact=True)


def _fill(model: LinearModel, settings: Settings) -> None:
    """Open what costs nothing more, such as the other members of a bag that is paid for."""
    for _ in range(settings.max_iter):
        model.prune(generous=False)
        candidates = affordable(model.gradient_test(), settings)
        wanting = (candidates.kkt_excess > settings.tol) & (candidates.price == 0.0) & (candidates.cost == 0.0)
        if not wanting.any():
            return
        units = candidates.take(wanting)
        if settings.max_features is not None:
            units = units.take(np.array([np.argmax(units.kkt_excess)]))
        model.free(units.unit)
        model.optimize(0.1 * settings.tol, exact=True)


def _parts(model: LinearModel, settings: Settings) -> list[Index]:
    """Return the units that may leave the model together.

    These are bags that are not kept and, where the number of features is limited, single features too.
    """
    prices = model.problem.prices
    units = model.open_units
    feature = model.layout.feature(model.layout.starts[units])
    bag = prices.bags.of[feature]
    leaving = np.unique(bag[~prices.bag_is_kept[bag]])
    parts = [units[bag == each] for each in leaving]
    if settings.max_features is not None and not model.layout.grouped:
        alone = {int(part[0]) for part in parts if part.size == 1}
        singles = units[~prices.kept[feature]]
        parts += [np.array([unit]) for unit in np.sort(singles).tolist() if unit not in alone]
    return parts


def _is_single(model: LinearModel) -> bool:
    """Whether every unit is one weight of a feature that is its own bag."""
    return model.problem.n_outputs == 1 and model.problem.prices.bags.is_trivial


def _is_exact(model: LinearModel) -> bool:
    """Whether the quadratic model of a move is the criterion itself."""
    problem = model.problem
    return problem.loss.quadratic and _is_single(model) and not (problem.l1 or problem.group_l1 or problem.positive)


def _singles(model: LinearModel, parts: list[Index], settings: Settings) -> Moves:
    """Return all moves of single features with the change that the quadratic model promises.

    With H the Hessian over the open weights, V its inverse and B = V·(cross terms with feature j): closing i costs
    w_i²/2V_ii, moves the slope of j to g_j - w_i B_ij/V_ii and its curvature to e_j + B_ij²/V_ii; opening j
    gains (|slope| - l1)²/2(curvature + ridge).
    """
    problem, penalty = model.problem, model.penalty
    weights, w = model.open_weights, model.point.w
    looked_at, own, cross, alone = model.curvature_terms(CROSS_TERMS)
    ridge = penalty.ridge[looked_at]
    threshold = (penalty.l1 + penalty.norm)[looked_at]
    slope = model.all_gradients[looked_at]
    diagonal = np.diagonal(own) + penalty.ridge[weights]
    inverse = np.linalg.pinv(own + np.diag(penalty.ridge[weights] + 1e-12 * diagonal), hermitian=True)
    B = inverse @ cross.T
    left = alone - np.einsum("jk,kj->j", cross, B)
    gone = np.maximum(np.diagonal(inverse), 1e-300)
    fresh = alone + ridge > 0.0
    fresh[np.searchsorted(looked_at, weights)] = False
    floor = 1e-9 * alone + 1e-300

    def gain(g: Array, e: Array) -> Array:
        kkt_excess = np.maximum((-g if problem.positive else np.abs(g)) - threshold, 0.0)
        reached = np.where(e > floor, kkt_excess**2 / (2.0 * (np.maximum(e, floor) + ridge)), 0.0)
        return np.where(fresh, reached, -np.inf)

    cost = problem.prices.charge
    position = {int(weight): i for i, weight in enumerate(weights)}
    moves = [_additions(-1, looked_at, cost[looked_at], 0.0, gain(slope, left), left, model, settings)]
    for drop, part in enumerate(parts):
        feature = int(part[0])
        i = position[feature]
        loss = 0.5 * w[i] ** 2 / gone[i]
        price = problem.l0 * cost[feature]
        moves.append(_drop(drop, loss - price, loss / OPTIMISM - price))
        bend = left + B[i] ** 2 / gone[i]
        gained, extra = gain(slope - w[i] / gone[i] * B[i], bend), cost[looked_at] - cost[feature]
        moves.append(_additions(drop, looked_at, extra, loss, gained, bend, model, settings))
    return _join(moves)


def _drop(part: int, change: float, hope: float) -> Moves:
    return Moves(np.array([part]), np.array([-1]), np.array([change]), np.array([hope]), np.zeros(1))


def _additions(
    drop: int,
    features: Index,
    extra_cost: Array,
    loss: float,
    gain: Array,
    curvature: Array,
    model: LinearModel,
    settings: Settings,
) -> Moves:
    """Return the affordable and possible ones of the moves that open each of the features."""
    count, cost = model.n_selected + (drop < 0), model.total_cost + extra_cost
    fits = np.isfinite(gain) & within_limits(count, cost, settings.max_features, settings.max_cost)
    price = model.problem.l0 * extra_cost
    change, hope = price + loss - gain, price + loss / OPTIMISM - OPTIMISM * gain
    best = np.flatnonzero(fits)
    if best.size > KEPT_MOVES:
        best = best[np.argpartition(change[best], KEPT_MOVES)[:KEPT_MOVES]]
        best.sort()
    return Moves(np.full(best.size, drop), features[best], change[best], hope[best], curvature[best])


def _join(moves: list[Moves]) -> Moves:
    return Moves(
        np.concatenate([m.drop for m in moves]).astype(np.intp),
        np.concatenate([m.add for m in moves]).astype(np.intp),
        np.concatenate([m.change for m in moves]),
        np.concatenate([m.hope for m in moves]),
        np.concatenate([m.curvature for m in moves]),
    )


def _by_removal(model: LinearModel, parts: list[Index], settings: Settings) -> Moves:
    """Return moves of bags and features, each part in turn taken out and the gradient test repeated without it."""
    value, saved = model.objective(), model.save()
    alone = model.problem.columns.squares(model.problem.target.weight)
    bag_of = model.problem.prices.bags.of[model.layout.feature(model.layout.starts[:-1])]
    open_bag = bag_of[model.open_units]
    moves = []
    for drop, part in enumerate([NOTHING, *parts], start=-1):
        same = np.isin(np.arange(bag_of.size), part)
        whole = part.size > 0 and part.size == np.count_nonzero(open_bag == bag_of[part[0]])
        if part.size:
            _reoptimize_without(model, part, settings)
            model.prune(generous=False)
        candidates = affordable(model.gradient_test(), settings)
        candidates = candidates.take(~same[candidates.unit] & (candidates.kkt_excess > settings.tol))
        feature = model.layout.feature(model.layout.starts[candidates.unit])
        gain = candidates.kkt_excess**2 / (2.0 * np.maximum(alone[feature] + 2.0 * candidates.ridge, 1e-300))
        lost = model.objective() - value + candidates.price
        # a bag brings more than its first member: nothing is hopeless here
        anything, unknown = np.full(feature.size, -np.inf), np.zeros(feature.size)
        moves.append(Moves(np.full(feature.size, drop), candidates.unit, lost - gain, anything, unknown))
        if whole:  # a feature of a bag that stays open leaves to make room for another, never by itself
            _fill(model, settings)
            moves.append(_drop(drop, model.objective() - value, model.objective() - value))
        model.restore(saved)
    model.gradient_test()
    return _join(moves)


def _perturb(model: LinearModel, settings: Settings, rng: np.random.Generator) -> bool:
    """Throw out some parts at random and bring in something else first; False if there is nothing to throw out."""
    parts = _parts(model, settings)
    if not parts:
        return False
    chosen = rng.choice(len(parts), int(rng.integers(1, len(parts) // 2 + 2)), replace=False)
    gone = np.unique(np.concatenate([parts[at] for at in chosen]))
    _reoptimize_without(model, gone, settings)
    candidates = affordable(model.gradient_test(), settings)
    candidates = candidates.take(~np.isin(candidates.unit, gone) & (candidates.kkt_excess > settings.tol))
    if candidates.unit.size:
        near = np.argsort(-candidates.kkt_excess, kind="stable")[: max(1, chosen.size)]
        _reoptimize_without(model, NOTHING, settings, int(candidates.unit[rng.choice(near)]))
        model.prune(generous=False)
    return True
