"""The linear model as the grafting loop grows it (Perkins et al. 2003, section 3.3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.criterion import Penalty
from skgraft.grafting.linear.hessian import FreeHessian, make_hessian
from skgraft.grafting.linear.newton import Newton, Point, fit_intercept
from skgraft.grafting.linear.problem import Layout, LinearProblem, make_penalty
from skgraft.grafting.linear.screening import ScreenedGradient
from skgraft.grafting.loop import Candidates
from skgraft.grafting.orthant import OrthantMemory, orthant_step, pseudo_gradient
from skgraft.prices import within_limits

NEWTON_STEPS = 100
INEXACT_STEPS = 2  # Newton steps between selections while many features still come in
# On columns alike in direction single weights need thousands of steps; after these few all weights move together.
GAUSS_SEIDEL_STEPS = 15
WORTHWHILE = 0.2  # share of the open units that a generous pruning must find to close
NEAR = 0.8  # a weight back at zero stays free while its gradient is within this share of its penalty


@dataclass(frozen=True)
class Saved:
    """A model to come back to: the open units, when each came in, which weights are the newest, and the point."""

    units: Index
    arrival: Index
    newest: Index
    point: Point


@dataclass(frozen=True)
class Outcome:
    """How a search ended: whether by itself, and whether it knows of no single move that would lower the criterion."""

    finished: bool = False
    no_move: bool = False


class LinearModel:
    """A linear model whose features come in and go."""

    def __init__(self, problem: LinearProblem) -> None:
        self.problem = problem
        self.layout = Layout(problem)
        self.penalty = make_penalty(problem, self.layout)
        self._target = problem.target
        self._bag_of = problem.prices.bags.of
        self._charge = problem.prices.charge
        self._gradients = ScreenedGradient(problem.columns, problem.target.weight, self.layout)
        self._empty()
        intercept = self._target.loss.start(self._target.y, self._target.weight) if self._target.intercept else None
        zero = np.zeros(problem.n_outputs)
        b = zero if intercept is None else intercept
        scores = np.tile(b, (problem.columns.n_rows, 1))
        b, scores = fit_intercept(self._target, scores, b)
        self.null_value = self._target.value(scores)
        self._point = self._null = Point(np.empty(0), b, scores)
        self._gradient = self._gradients.exact(self._target.residual(scores))
        self.null_gradient = self._gradient.copy()
        self._fresh = True  # whether the gradient is that of the present point
        self.checked: Any = None  # what was found of the present point, until it moves

    @property
    def height(self) -> float:
        """How far the empty model's loss is above the least possible."""
        target = self._target
        return float(max(self.null_value - target.loss.least(target.y, target.weight), np.finfo(float).tiny))

    @property
    def to_gain(self) -> float:
        """How far the criterion is above the least possible loss: no model can lower it by more."""
        return self.objective() - (self.null_value - self.height)

    def restart(self, start: tuple[Array, Array] | None, tol: float) -> None:
        """Go back to the empty model and open what is there from the start."""
        self._empty()
        self._move_to(self._null)
        self.open_first(start, tol)

    def _empty(self) -> None:
        problem = self.problem
        self._always = np.zeros(self.layout.n_units, bool)
        self._open = np.zeros(self.layout.n_units, bool)
        self._arrival = np.zeros(self.layout.n_units, np.intp)
        self._arrivals = 0
        self._units = np.empty(0, np.intp)
        self._weights = np.empty(0, np.intp)
        self._hessian = self._new_hessian()
        self._newton = Newton(problem.target, self._hessian)
        self._part = self.penalty.take(np.empty(0, np.intp))[0]
        self._memory = OrthantMemory()
        self._newest = np.empty(0, np.intp)

    def _new_hessian(self) -> FreeHessian:
        problem = self.problem
        return make_hessian(
            problem.columns.block(),
            problem.n_outputs,
            intercept=problem.target.intercept,
            compiled=problem.is_large,
            # curvatures that range over many orders of magnitude need all digits
            single_precision=not problem.loss.piecewise,
        )

    def open_first(self, start: tuple[Array, Array] | None, tol: float) -> None:
        """Open what nothing holds at zero, what is kept, and what ``start`` (weights, intercepts) has selected."""
        first = self._any_weight(self.penalty.unpenalized)
        if not self.problem.convex:
            first = np.zeros_like(first)  # a price or a budget holds them
        kept = np.flatnonzero(self.problem.prices.kept)
        if kept.size:
            first |= self._units_of(kept)
        self._always = first.copy()
        if start is not None and self._is_allowed(start[0]):
            weights, intercept = start
            flat = self.layout.flat(np.maximum(weights, 0.0) if self.problem.positive else weights)
            opened = first | self._any_weight(flat != 0.0)
            self.free(np.flatnonzero(opened))
            w = flat[self._weights]
            b, scores = fit_intercept(self._target, self._hessian.scores(w) + intercept, intercept)
            self._move_to(Point(w, b, scores))
        elif first.any():
            self.free(np.flatnonzero(first))
        if first.any():
            self.optimize(tol, exact=True)

    def _is_allowed(self, weights: Array) -> bool:
        """Whether weights to start from keep to the limits."""
        prices = self.problem.prices
        support = prices.kept | (weights != 0.0).any(axis=1)
        taken = self.problem.taken(support)
        within = within_limits(int(taken.sum()), prices.total(taken), prices.max_features, prices.max_cost)
        return bool(within and not (support & self.problem.barred).any())

    def _units_of(self, features: Index) -> NDArray[np.bool_]:
        mask = np.zeros(self.problem.n_features, bool)
        mask[features] = True
        per_weight = self.layout.flat(np.repeat(mask[:, None], self.problem.n_outputs, axis=1))
        return self._any_weight(per_weight)

    def _any_weight(self, of_weight: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which units have a weight for which something is true."""
        return np.asarray(self.layout.over_units(np.logical_or, of_weight), dtype=bool)

    # -- what the loop asks -------------------------------------------------------------------------------

    @property
    def n_selected(self) -> int:
        """Number of features with a weight that is not zero, or kept."""
        return int(np.count_nonzero(self.support()))

    @property
    def total_cost(self) -> float:
        """What the selected features cost together."""
        return self.problem.prices.total(self.support())

    def support(self) -> NDArray[np.bool_]:
        """Return which features are in the model."""
        mask = self.problem.prices.kept.copy()
        mask[self.layout.feature(self._weights[self._point.w != 0.0])] = True
        return mask

    def gradient_test(self) -> Candidates:
        """Return the closed units with the distance of their gradient from the subdifferential at zero."""
        kkt_excess = self._pull(self.scores_and_gradient()[1])
        closed = np.flatnonzero(~(self._open | self.layout.barred))
        if self.problem.convex:
            nothing = np.broadcast_to(0.0, closed.size)
            one = np.broadcast_to(np.intp(1), closed.size)
            return Candidates(closed, kkt_excess[closed], nothing, nothing, one, nothing)
        return self._priced_candidates(closed, kkt_excess)

    def scores_and_gradient(self) -> tuple[Array, Array]:
        """Return the scores, computed afresh from the weights, and the loss gradient of all weights there.

        Where nothing is priced, a gradient that cannot leave the subdifferential at zero may be an earlier one.
        """
        if not self._fresh:
            # sums of many steps drift
            self._point = self._exact_scores(self._point)
            residual = self._target.residual(self._point.scores)
            if self.problem.convex:
                self._gradient = self._gradients.beyond(residual, self.penalty, self.layout.feature(self._weights))
            else:
                self._gradient = self._gradients.exact(residual)
            self._fresh = True
        return self._point.scores, self._gradient

    @property
    def gradient_evaluations(self) -> int:
        """How often the gradient over all features was computed, as far as it was needed."""
        return self._gradients.evaluations

    def gradient_of(self, features: Index) -> Array:
        """Return the loss gradient of some features' weights where the model is, which must have one output."""
        residual = self._target.residual(self._point.scores)
        return np.asarray(self.problem.columns.gradient_of(features, residual)[:, 0])

    def _move_to(self, point: Point) -> None:
        self._point = point
        self._fresh = False
        self.checked = None

    def _pull(self, gradient: Array) -> Array:
        if self.penalty.scalar and not self.layout.single:
            excess = self.penalty.excess(gradient)
            return np.sqrt(self.layout.over_units(np.add, excess * excess))
        return self.penalty.distance_at_zero(gradient)

    def _priced_candidates(self, closed: Index, kkt_excess: Array) -> Candidates:
        # An open weight may be zero now and not after the next step, so that what is open counts, not what is used.
        taken = self.problem.prices.kept.copy()
        taken[self.layout.feature(self._weights)] = True
        bag = self._bag_of[self.layout.feature(self.layout.starts[closed])]
        paid = np.zeros(self._charge.size, bool)
        paid[self._bag_of[taken]] = True
        charge = np.where(paid[bag], 0.0, self._charge[bag])
        ridge = 0.5 * self.layout.over_units(np.maximum, self.penalty.ridge)[closed]
        count = self.layout.sizes[closed] // self.problem.n_outputs
        spent = self.problem.prices.total(taken)
        return Candidates(
            closed, kkt_excess[closed], self.problem.l0 * charge, charge, count, ridge, int(taken.sum()), spent
        )

    def open_violation(self) -> float:
        """Return the largest violation over the open weights and the intercepts."""
        point = self._point
        residual = self._target.residual(point.scores)
        worst = float(np.abs(residual.sum(axis=0)).max()) if self._target.intercept else 0.0
        own = self._part.violation(self._hessian.gradient(residual), point.w)
        return max(worst, float(own.max(initial=0.0)))

    def feature_of(self, unit: int) -> int:
        """Return the first feature of a unit."""
        return int(self.layout.feature(self.layout.starts[unit]))

    def typical_weight(self) -> float | None:
        """Return the largest of the newest weights."""
        at = np.isin(self._weights, self._newest)
        newest = np.abs(self._point.w[at])
        return float(newest.max()) if newest.any() else None

    def free(self, units: Index) -> None:
        """Open units, their weights starting from zero."""
        weights = self.layout.weights(units)
        self._arrival[units] = self._arrivals + np.arange(units.size)
        self._arrivals += units.size
        self._open[units] = True
        self._units = np.concatenate([self._units, units])
        self._weights = np.concatenate([self._weights, weights])
        self._hessian.free(self.layout.feature(weights), self.layout.output(weights))
        self._newest = weights
        point = self._point
        self._point = Point(np.concatenate([point.w, np.zeros(weights.size)]), point.intercept, point.scores)
        self._restrict()

    def prune(self, *, generous: bool) -> None:
        """Close units at zero, except those a generous pruning expects back, and those always open."""
        if not self._units.size:
            return
        starts = np.concatenate([[0], np.cumsum(self.layout.sizes[self._units])])[:-1]
        keep = np.logical_or.reduceat(self._point.w != 0.0, starts) | self._always[self._units]
        if generous:
            near = Penalty(
                NEAR * self._part.l1,
                self._part.ridge,
                NEAR * self._part.norm,
                self._part.starts,
                self._part.positive,
            ).distance_at_zero(self._gradient[self._weights])
            near = near if near.size == keep.size else np.maximum.reduceat(near, starts)
            keep |= near > 0.0
            if np.count_nonzero(~keep) < WORTHWHILE * keep.size:
                return  # moving what stays would cost more than what goes
        self._close(~keep)

    def close(self, units: Index) -> None:
        """Close units whatever their weights; the scores follow."""
        self._close(np.isin(self._units, units))
        self._move_to(self._exact_scores(self._point))

    def _close(self, gone: NDArray[np.bool_]) -> None:
        if not gone.any():
            return
        stay = np.flatnonzero(np.repeat(~gone, self.layout.sizes[self._units]))
        self._open[self._units[gone]] = False
        self._units = self._units[~gone]
        self._weights = self._weights[stay]
        self._hessian.keep(stay)
        self._point = Point(self._point.w[stay], self._point.intercept, self._point.scores)
        self._restrict()

    def _restrict(self) -> None:
        groups = self._units if self.layout.grouped else self._weights
        self._part = self.penalty.take(groups)[0]

    def objective(self) -> float:
        """Return the criterion, prices included."""
        value = self._target.value(self._point.scores) + self._part.value(self._point.w)
        return value + self.problem.l0 * self.total_cost

    def save(self) -> Saved:
        """Return everything needed to come back to this model."""
        return Saved(self._units.copy(), self._arrival[self._units], self._newest, self._point)

    def restore(self, saved: Saved) -> None:
        """Come back to a saved model."""
        units, point = saved.units, saved.point
        self._close(~np.isin(self._units, units))
        missing = units[~np.isin(units, self._units)]
        if missing.size:
            self.free(missing)
        self._arrival[units], self._newest = saved.arrival, saved.newest
        order = _positions(units, self._units)
        if not (order == np.arange(order.size)).all():
            # weights were saved in another order of the same units
            starts = np.concatenate([[0], np.cumsum(self.layout.sizes[units])])
            sizes = self.layout.sizes[self._units]
            pick = np.concatenate([np.arange(starts[o], starts[o] + z) for o, z in zip(order, sizes, strict=True)])
            point = Point(point.w[pick], point.intercept, point.scores)
        self._move_to(point)

    # -- re-optimising the open weights --------------------------------------------------------------------

    def optimize(self, tol: float, *, exact: bool) -> None:
        """Bring the open weights to their optimum, or a few Newton steps nearer to it."""
        steps = NEWTON_STEPS if exact or self._target.loss.quadratic else INEXACT_STEPS
        known = self._gradient[self._weights] if self._fresh else None
        self._move_to(self._newton.run(self._point, self._part, tol, steps, known))

    def optimize_newest(self, tol: float) -> None:
        """Bring the newest weights and the intercepts to their optimum."""
        newest = self._units[np.isin(self._units, self._units_at(self._newest))]
        self._move_to(self._optimize_only(newest, tol))

    def optimize_in_turn(self, tol: float, *, exact: bool) -> None:
        """Bring the worst unit to its optimum a few times, then all of them together."""
        self._gauss_seidel(tol)
        self.optimize(tol, exact=exact)

    def final_newton(self, tol: float) -> None:
        """Take the last digits of the open weights, as far as two steps with the curvature at hand bring them."""
        known = self._gradient[self._weights] if self._fresh else None
        self._move_to(self._newton.run(self._point, self._part, tol, INEXACT_STEPS, known, as_is=True))

    def _units_at(self, weights: Index) -> Index:
        return np.unique(np.searchsorted(self.layout.starts, weights, side="right") - 1)

    def _optimize_only(self, units: Index, tol: float) -> Point:
        """Optimise the weights of some open units and the intercepts; everything else stays."""
        point = self._point
        if not units.size:
            b, scores = fit_intercept(self._target, point.scores, point.intercept)
            return Point(point.w, b, scores)
        mine = np.flatnonzero(np.repeat(np.isin(self._units, units), self.layout.sizes[self._units]))
        weights = self._weights[mine]
        hessian = self._new_hessian()
        hessian.free(self.layout.feature(weights), self.layout.output(weights))
        groups = self._units[np.isin(self._units, units)] if self.layout.grouped else weights
        part = self.penalty.take(groups)[0]
        start = Point(point.w[mine], point.intercept, point.scores)
        moved = Newton(self._target, hessian).run(start, part, tol, NEWTON_STEPS)
        w = point.w.copy()
        w[mine] = moved.w
        return Point(w, moved.intercept, moved.scores)

    def _gauss_seidel(self, tol: float) -> None:
        """Optimise the worst open unit alone, a few times (Shevade and Keerthi 2003)."""
        starts = np.concatenate([[0], np.cumsum(self.layout.sizes[self._units])])[:-1]
        for _ in range(GAUSS_SEIDEL_STEPS):
            residual = self._target.residual(self._point.scores)
            own = self._part.violation(self._hessian.gradient(residual), self._point.w)
            own = own if own.size == self._units.size else np.maximum.reduceat(own, starts)
            slope = float(np.abs(residual.sum(axis=0)).max()) if self._target.intercept else 0.0
            if max(float(own.max(initial=0.0)), slope) <= tol:
                return
            worst = self._units[[int(np.argmax(own))]] if own.size else self._units
            self._move_to(self._optimize_only(worst, tol))

    def single_step(self) -> None:
        """Take one orthant-wise quasi-Newton step of the open weights."""
        point, part = self._point, self._part
        residual = self._target.residual(point.scores)
        gradient = self._hessian.gradient(residual)
        slope = pseudo_gradient(gradient, point.w, part)
        direction = self._memory.direction(self._weights, slope)
        length = float(np.sqrt(slope @ slope))
        if length == 0.0:
            b, scores = fit_intercept(self._target, point.scores, point.intercept)
            self._move_to(Point(point.w, b, scores))
            return

        def evaluate(w: Array) -> float:
            return self._target.value(self._scores(w, point.intercept)) + part.value(w)

        value = self._target.value(point.scores) + part.value(point.w)
        first = 1.0 if direction @ direction > 0.0 else 0.0
        w = orthant_step(point.w, slope, direction, part, value, evaluate, first)
        b, scores = fit_intercept(self._target, self._scores(w, point.intercept), point.intercept)
        self._move_to(Point(w, b, scores))
        after = self._hessian.gradient(self._target.residual(scores))
        self._memory.add(self._weights, w - point.w, after - gradient + part.ridge * (w - point.w))

    def _scores(self, w: Array, intercept: Array) -> Array:
        return self._hessian.scores(w) + intercept

    def _exact_scores(self, point: Point) -> Point:
        """Return the point with scores computed afresh."""
        return Point(point.w, point.intercept, self._scores(point.w, point.intercept))

    def repenalize(self, problem: LinearProblem) -> None:
        """Go on with other coefficients of the penalties: same data, same units, same point."""
        self.problem = problem
        self.penalty = make_penalty(problem, self.layout)
        self._fresh = False  # what could not matter under the old penalty may matter now
        self.checked = None
        self._restrict()

    def exact_gradient(self) -> Array:
        """Return the loss gradient of all weights where the model is."""
        return self._gradients.exact(self._target.residual(self._exact_scores(self._point).scores))

    # -- what a polish asks ----------------------------------------------------------------------------------

    def curvature_terms(self, most: int) -> tuple[Index, Array, Array, Array]:
        """Return second derivatives of the loss of one output, with its intercept profiled out.

        Of at most about ``most`` cross terms: the features looked at, the terms over the open weights (k, k),
        between these features and the open weights (n, k), and of these features alone (n,).  Where not all
        features can be looked at, those with the largest gradients and the nearest to each open feature are.
        """
        columns = self.problem.columns
        curvature = self._target.curvature(self._point.scores, 1e-4).diagonal[:, 0]
        rows = self._hessian.columns_of_weights()
        alone = columns.squares(curvature)
        total = curvature.sum() if self._target.intercept else 1.0
        mean = columns.gradient(curvature[:, None])[:, 0] / total if self._target.intercept else np.zeros(alone.size)
        alone = np.maximum(alone - total * mean**2, 0.0)
        own_mean = mean[self.layout.feature(self._weights)]

        def cross_with(some: slice) -> Array:
            product = columns.gradient(np.ascontiguousarray((rows[some] * curvature).T))
            return np.asarray(product - total * np.outer(mean, own_mean[some]))

        k = self._weights.size
        parts = [slice(i, i + 8) for i in range(0, k, 8)]
        features = np.arange(self.problem.n_features)
        if features.size * k > most:
            near = [np.argsort(-np.abs(self._gradient), kind="stable")[: most // (2 * k)]]
            for part in parts:
                likeness = np.abs(cross_with(part)) / np.sqrt(alone + 1e-300)[:, None]
                near.append(np.argsort(-likeness, axis=0, kind="stable")[: most // (2 * k * k) + 8].ravel())
            features = np.unique(np.concatenate([*near, self.layout.feature(self._weights)]))
        cross = np.concatenate([cross_with(part)[features] for part in parts] or [np.empty((features.size, 0))], axis=1)
        own = cross[np.searchsorted(features, self.layout.feature(self._weights))]
        return features, own, cross, alone[features]

    @property
    def all_gradients(self) -> Array:
        """Loss gradient of all weights at the last gradient test."""
        return self._gradient

    @property
    def open_weights(self) -> Index:
        """The open weights, as laid out."""
        return self._weights

    # -- the result ----------------------------------------------------------------------------------------

    @property
    def open_units(self) -> Index:
        """The open units, in the order in which they were opened."""
        return self._units

    @property
    def point(self) -> Point:
        """Where the model is."""
        return self._point

    def coefficients(self, saved: Saved | None = None) -> tuple[Array, Array]:
        """Return weights (n_features, n_outputs) and intercepts in standardised coordinates, now or as saved."""
        saved = self.save() if saved is None else saved
        weights = self.layout.weights(saved.units)
        out = np.zeros((self.problem.n_features, self.problem.n_outputs))
        out[self.layout.feature(weights), self.layout.output(weights)] = saved.point.w
        return out, saved.point.intercept

    def order(self, saved: Saved | None = None) -> Index:
        """Return the selected features in the order in which they came in."""
        saved = self.save() if saved is None else saved
        features = self.layout.feature(self.layout.weights(saved.units))
        arrival = np.repeat(saved.arrival, self.layout.sizes[saved.units])
        chosen = np.flatnonzero((saved.point.w != 0.0) | self.problem.prices.kept[features])
        chosen = chosen[np.argsort(arrival[chosen], kind="stable")]
        _, first = np.unique(features[chosen], return_index=True)
        return np.asarray(features[chosen][np.sort(first)])


def _positions(known: Index, wanted: Index) -> Index:
    """Return where each wanted value stands among the known ones."""
    order = np.argsort(known, kind="stable")
    return np.asarray(order[np.searchsorted(known, wanted, sorter=order)])
