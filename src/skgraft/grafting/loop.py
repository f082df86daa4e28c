"""The grafting loop: gradient test, graft, optimise, prune.  Written once, for every model that can grow.

A model is made of units that are either closed (all their weights are zero) or open.  What a unit is, the model
decides: a weight, a bag of features, a connection of a network.  See :class:`Growable` for what the loop asks of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.grafting.effort import FULL, Effort, Optimizable
from skgraft.prices import within_limits
from skgraft.run import Monitor

PATIENCE = 50  # steps without progress, and without anything that wants to come in, before giving up
SETTLINGS = 20  # rounds of priced growth, each from the optimum of the weights that the one before left open
NOTICEABLE = 1e-5  # share of the criterion by which a step must lower it to count as progress


@dataclass(frozen=True)
class Candidates:
    """The closed units that may come in now.

    ``kkt_excess`` is the distance of the gradient from the penalty's subdifferential at zero, ``price`` what opening
    the unit adds to the criterion, ``cost`` and ``n_features`` what it takes from the budget, ``ridge`` the l2
    coefficient of its weights.  ``taken`` features at a cost of ``spent`` are gone from the budget already.
    """

    unit: Index
    kkt_excess: Array
    price: Array
    cost: Array
    n_features: NDArray[np.intp]
    ridge: Array
    taken: int = 0
    spent: float = 0.0

    def take(self, which: Any) -> Candidates:
        """Return some of the candidates, in the given order."""
        return Candidates(
            self.unit[which], self.kkt_excess[which], self.price[which], self.cost[which], self.n_features[which],
            self.ridge[which], self.taken, self.spent,
        )  # fmt: skip


class Growable(Optimizable, Protocol):
    """What the loop asks of a model, beside the ways to re-optimise it."""

    @property
    def n_selected(self) -> int:
        """Number of features in the model."""

    @property
    def total_cost(self) -> float:
        """What they cost together."""

    @property
    def gradient_evaluations(self) -> int:
        """How often the gradient over all features has been computed so far; 0 where it is not counted."""

    def gradient_test(self) -> Candidates:
        """Return the closed units with the derivative of the criterion towards them."""

    def open_violation(self) -> float:
        """Return how far the open weights are from their optimality conditions."""

    def feature_of(self, unit: int) -> int:
        """Return the input feature a unit belongs to."""

    def typical_weight(self) -> float | None:
        """Return the size of the newest weights (eq. 9), None while there are none."""

    def free(self, units: Index) -> None:
        """Open units."""

    def prune(self, *, generous: bool) -> None:
        """Close units whose weights returned to zero; if ``generous``, keep those that are near coming back."""

    def objective(self) -> float:
        """Return the criterion."""

    def save(self) -> Any:
        """Return everything needed to come back to this model."""

    def restore(self, saved: Any) -> None:
        """Come back to a saved model."""


@runtime_checkable
class Weighing(Growable, Protocol):
    """A model that can tell more of a candidate than its gradient does."""

    def weigh(self, candidates: Candidates, change: Array, batch: int) -> list[Candidates]:
        """Look at those candidates in earnest that eq. 9 expects most of; return what to try, best first.

        ``change`` is what it expects of each; an entry is a set of at most ``batch`` candidates that come in together.
        """

    def kind_of(self, unit: int) -> str:
        """Return what opening a unit is called in the history."""


@dataclass(frozen=True)
class Settings:
    """How to grow.

    ``tol`` is absolute; ``priced`` says that opening a unit has a price or draws on a budget, so that units come
    in one at a time (or ``select_unit`` at a time) and a step that does not lower the criterion is undone;
    ``thrifty`` takes first what brings most for its cost, rather than what brings most; ``min_gain`` is by how much a
    priced step must lower the criterion; ``settle`` brings the open weights to their optimum before and after priced
    growth, whatever the effort in between.
    """

    effort: Effort = FULL
    select_unit: int | str = "auto"
    on_increase: str = "stop"
    tol: float = 1e-6
    max_iter: int = 1000
    priced: bool = False
    max_features: int | None = None
    max_cost: float | None = None
    first_batch: int = 20
    thrifty: bool = False
    min_gain: float = 0.0
    settle: bool = False


def record_step(
    monitor: Monitor,
    model: Growable,
    kind: str,
    feature: int = -1,
    gradient: float = 0.0,
    features: Sequence[int] = (),
) -> None:
    """Let the monitor note where a model has come to."""
    monitor.step(
        model.save(),
        kind=kind,
        objective=model.objective(),
        n_selected=model.n_selected,
        cost=model.total_cost,
        feature=feature,
        gradient=gradient,
        features=features,
        gradient_evaluations=model.gradient_evaluations,
    )


def graft(model: Growable, settings: Settings, monitor: Monitor) -> bool:
    """Grow a model until no closed unit would lower the criterion; returns whether it got there.

    ``max_iter`` limits the number of steps.
    """
    if not settings.priced:
        return _grow_convex(model, settings, monitor)
    if not settings.settle:
        return _grow_priced(model, settings, monitor)
    for _ in range(SETTLINGS):
        _settle(model, settings, monitor)
        if not _grow_priced(model, settings, monitor):
            return False
        if model.open_violation() <= settings.tol:
            return True
    return False


def _settle(model: Growable, settings: Settings, monitor: Monitor) -> None:
    """Bring the open weights to their optimum, where a start or a light effort left them elsewhere."""
    if model.open_violation() > settings.tol:
        model.optimize(0.5 * settings.tol, exact=True)
        model.prune(generous=False)
        record_step(monitor, model, "optimize")


def _grow_convex(model: Growable, settings: Settings, monitor: Monitor) -> bool:
    automatic = settings.select_unit == "auto"
    batch = settings.first_batch if automatic else int(settings.select_unit)
    # the least violation and criterion seen while nothing wants to come in, and the steps since either fell
    least, lowest, since = np.inf, np.inf, 0
    for step in range(settings.max_iter):
        candidates = model.gradient_test()
        wanting = np.flatnonzero(candidates.kkt_excess > settings.tol)
        if not wanting.size:
            left = model.open_violation()
            if left <= settings.tol:
                return True
            value = model.objective()
            falls = left < 0.9 * least or value < lowest - NOTICEABLE * abs(value)
            least, lowest, since = (min(left, least), min(value, lowest), 0) if falls else (least, lowest, since + 1)
            if not settings.effort.is_stationary or since > PATIENCE:
                return False
        if wanting.size and step and settings.effort.is_stationary:
            model.prune(generous=automatic)
        if settings.effort.opens_everything:
            chosen = candidates
        else:
            batch = max(batch, model.n_selected) if automatic else batch
            # with room in the batch, what is only just within the tolerance comes along and need not come later
            eager = np.flatnonzero(candidates.kkt_excess > 0.0) if automatic and wanting.size else wanting
            chosen = candidates.take(strongest(candidates.kkt_excess, eager, batch))
        if chosen.unit.size:
            model.free(chosen.unit)
        largest = float(chosen.kkt_excess.max(initial=0.0))
        target = max(0.2 * largest, 0.5 * settings.tol) if automatic else 0.5 * settings.tol
        settings.effort.apply(model, target, exact=not automatic, growing=wanting.size > 0)
        if wanting.size:
            feature = model.feature_of(int(chosen.unit[np.argmax(chosen.kkt_excess)]))
            record_step(monitor, model, "graft", feature, largest, _features(model, chosen))
        else:
            record_step(monitor, model, "optimize", -1, largest)
    return False


def strongest(kkt_excess: Array, wanting: Index, count: int) -> Index:
    """Return the ``count`` candidates with the largest KKT excess, strongest first; earlier columns win ties."""
    if wanting.size > count:
        wanting = wanting[np.argpartition(-kkt_excess[wanting], count - 1)[:count]]
    return wanting[np.lexsort((wanting, -kkt_excess[wanting]))]


def _features(model: Growable, chosen: Candidates) -> list[int]:
    """Return the features of candidates, each once, in their order."""
    return list(dict.fromkeys(model.feature_of(unit) for unit in chosen.unit.tolist()))


def _grow_priced(model: Growable, settings: Settings, monitor: Monitor) -> bool:
    batch = 1 if settings.select_unit == "auto" else int(settings.select_unit)
    rejected: set[int] = set()
    stopped = False  # an addition did not pay: only what has no price may still come in
    for _ in range(settings.max_iter):
        candidates = affordable(model.gradient_test(), settings)
        allowed = candidates.kkt_excess > settings.tol
        if rejected:
            allowed &= ~np.isin(candidates.unit, list(rejected))
        if stopped:
            allowed &= candidates.price == 0.0
        if not allowed.any():
            return True
        for chosen in _proposals(model, candidates.take(allowed), settings, batch):
            if _try(model, chosen, settings, monitor):
                rejected.clear()
                break
            rejected.update(chosen.unit.tolist())
        else:
            stopped = stopped or settings.on_increase == "stop"
            if stopped and isinstance(model, Weighing):
                return True  # its candidates were tried in earnest, those without a price too
    return False


def _try(model: Growable, chosen: Candidates, settings: Settings, monitor: Monitor) -> bool:
    """Open units and re-optimise; undo it, and return False, unless that lowers the criterion."""
    saved, before = model.save(), model.objective()
    first = int(chosen.unit[0])
    feature, kkt_excess = model.feature_of(first), float(chosen.kkt_excess[0])
    kind = model.kind_of(first) if isinstance(model, Weighing) else "graft"
    model.free(chosen.unit)
    settings.effort.apply(model, 0.5 * settings.tol, exact=True, growing=True)
    if settings.effort.is_partial and not model.objective() < before - settings.min_gain:
        model.optimize(0.5 * settings.tol, exact=True)  # one step was not enough to judge by
    model.prune(generous=False)
    if model.objective() < before - settings.min_gain:
        record_step(monitor, model, kind, feature, kkt_excess, _features(model, chosen))
        return True
    model.restore(saved)
    record_step(monitor, model, "undo", feature, kkt_excess, _features(model, chosen))
    return False


def _proposals(model: Growable, candidates: Candidates, settings: Settings, batch: int) -> list[Candidates]:
    """Return what to try next, best first."""
    if not isinstance(model, Weighing):
        return [_choose(model, candidates, settings, batch)]
    change = expected_change(model, candidates)
    return [_within_budget(each, settings) for each in model.weigh(candidates, change, batch)]


def _choose(model: Growable, candidates: Candidates, settings: Settings, batch: int) -> Candidates:
    """Return the candidates to try next, best first."""
    free_of_charge = (candidates.price == 0.0) & (candidates.cost == 0.0)
    if free_of_charge.any() and settings.max_features is None:
        candidates = candidates.take(free_of_charge)
        return candidates.take(strongest(candidates.kkt_excess, np.arange(candidates.unit.size), candidates.unit.size))
    change = expected_change(model, candidates)
    if settings.thrifty:
        change = change / np.maximum(candidates.cost, np.finfo(float).tiny)
    chosen = candidates.take(np.lexsort((candidates.unit, change))[:batch])
    return _within_budget(chosen, settings)


def expected_change(model: Growable, candidates: Candidates) -> Array:
    """Estimate what opening each candidate does to the criterion (Perkins et al. 2003, eq. 9).

    The newest weight bounds the size of the next one; while there is none, the candidates' own Newton steps do.
    """
    size = model.typical_weight()
    if size is None:
        size = float(candidates.kkt_excess.max(initial=0.0)) or 1.0
    gain = size * (candidates.kkt_excess - candidates.ridge * size)
    # ties, and a size that grew too large for the ridge, fall back to the plain gradient test
    return np.asarray(candidates.price - np.maximum(gain, 1e-12 * size * candidates.kkt_excess))


def affordable(candidates: Candidates, settings: Settings) -> Candidates:
    """Return the candidates that still fit into the budget, each by itself."""
    count, cost = candidates.taken + candidates.n_features, candidates.spent + candidates.cost
    fits = within_limits(count, cost, settings.max_features, settings.max_cost)
    return candidates if fits.all() else candidates.take(fits)


def _within_budget(chosen: Candidates, settings: Settings) -> Candidates:
    """Return as many of the chosen, in order, as fit together; the first does by itself."""
    count, cost = chosen.taken + np.cumsum(chosen.n_features), chosen.spent + np.cumsum(chosen.cost)
    return chosen.take(within_limits(count, cost, settings.max_features, settings.max_cost))
