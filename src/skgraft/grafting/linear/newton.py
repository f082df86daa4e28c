"""Proximal Newton on the free weights of a linear model, with everything else held at zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skgraft.arrays import Array
from skgraft.criterion import Penalty
from skgraft.grafting.linear.augmented_quadratic import minimize_augmented
from skgraft.grafting.linear.hessian import FreeHessian
from skgraft.grafting.target import START_DAMPING, Target

LEAST_DAMPING = 1e-5
NO_DAMPING = 1e-14
# From true curvature to majorizer in two strides: on hard Huber problems strides of 10 or of 1000 take up to
# ten times as many steps as strides of 100.
STRIDE = 100.0
LIFT_AFTER = 20  # steps that did not reach the tolerance, after which a loss in pieces is solved in its lifted form,
LIFT_LARGEST = 2000  # if that has no more weights than this
NO_GAIN = 1e-16  # share of the objective that no comparison of values can see
ROUNDING = 1e-11  # a predicted decrease below this share of the objective is noise


@dataclass(frozen=True)
class Point:
    """Weights of the free coordinates, intercepts, and the scores they give."""

    w: Array
    intercept: Array
    scores: Array


@dataclass(frozen=True)
class _Visit:
    """A point with the loss gradient there, by weights and by intercepts, and the violation that is left."""

    point: Point
    g: Array
    gb: Array
    left: float


def fit_intercept(target: Target, scores: Array, intercept: Array, tol: float = 1e-14) -> tuple[Array, Array]:
    """Optimise the intercepts alone; returns them and the scores that go with them."""
    if not target.intercept:
        return intercept, scores
    value = target.value(scores)
    for _ in range(50):
        slope = target.residual(scores).sum(axis=0)
        if np.abs(slope).max() <= tol:
            break
        curvature = target.curvature(scores, START_DAMPING)
        hessian = np.diag(curvature.diagonal.sum(axis=0))
        if curvature.factor is not None:
            hessian -= curvature.factor.T @ curvature.factor
        step = -np.linalg.pinv(hessian, rcond=1e-14, hermitian=True) @ slope
        if -(slope @ step) <= NO_GAIN * abs(value):
            scores, intercept = scores + step, intercept + step  # no value can tell any more
            break
        moved = _shorten(target, scores, step, value)
        if moved == 0.0:
            break
        scores = scores + moved * step
        intercept = intercept + moved * step
        value = target.value(scores)
    return intercept, scores


def _shorten(target: Target, scores: Array, step: Array, value: float) -> float:
    t = 1.0
    while t > 1e-10:
        if target.value(scores + t * step) < value:
            return t
        t *= 0.5
    return 0.0


class Newton:
    """Repeated proximal Newton steps; remembers its damping and its curvature from call to call."""

    def __init__(self, target: Target, hessian: FreeHessian) -> None:
        self._target = target
        self._hessian = hessian
        self._damping = START_DAMPING
        self._steps = 0  # since the tolerance was last reached
        # a quadratic loss is its own model, worth solving well; others change before that pays
        self._forcing = 1e-4 if target.loss.quadratic else 0.05

    def run(
        self,
        point: Point,
        penalty: Penalty,
        tol: float,
        max_steps: int,
        gradient: Array | None = None,
        *,
        as_is: bool = False,
    ) -> Point:
        """Step until the free weights violate their optimality conditions by at most ``tol``.

        ``gradient`` is the loss gradient of the free weights at the start, where it is known; ``as_is`` keeps to the
        curvature at hand where another would be dear.
        """
        if self._hessian.curvature is None:
            self._refresh(point)
        here = self._visit(point, penalty, gradient)
        for step in range(max_steps):
            if here.left > tol:
                self._steps += 1
                if self._steps % LIFT_AFTER == 0 and self._target.loss.piecewise:
                    here = self._lift(here, penalty, tol)
            if here.left <= tol:
                self._steps = 0
                break
            here, t = self._step(here, penalty, tol, first=step == 0, as_is=as_is)
            if t == 0.0 and self._damping >= 1.0 and step:
                break
        return here.point

    def _visit(self, point: Point, penalty: Penalty, gradient: Array | None = None) -> _Visit:
        residual = self._target.residual(point.scores)
        gb = residual.sum(axis=0) if self._target.intercept else np.zeros(residual.shape[1])
        g = self._hessian.gradient(residual) if gradient is None else gradient
        worst = float(np.abs(gb).max(initial=0.0))
        return _Visit(point, g, gb, max(worst, float(penalty.violation(g, point.w).max(initial=0.0))))

    def _step(self, here: _Visit, penalty: Penalty, tol: float, *, first: bool, as_is: bool) -> tuple[_Visit, float]:
        """Take one step; returns where it ended and its length."""
        target, hessian, point = self._target, self._hessian, here.point
        if hessian.cheap and not target.loss.quadratic:
            self._refresh(point)
        model_tol = max(0.2 * tol, self._forcing * here.left)
        w, db = hessian.solve(here.g + penalty.ridge * point.w, here.gb, point.w, penalty, model_tol)
        point, t, useful = self._move(point, here.g, here.gb, w, db, penalty)
        there = self._visit(point, penalty)
        if there.left <= tol or as_is:
            return there, t
        if there.left > 0.5 * here.left and not first:
            hessian.promote()
        self._adapt(useful)
        if not target.loss.quadratic and (t != 1.0 or there.left > 0.1 * here.left):
            self._refresh(point)
        return there, t

    def _refresh(self, point: Point) -> None:
        self._hessian.refresh(self._target.curvature(point.scores, self._damping))

    def _lift(self, here: _Visit, penalty: Penalty, tol: float) -> _Visit:
        """Solve the lifted form where it is small enough; stay if that brings the optimum no nearer."""
        target, hessian, point = self._target, self._hessian, here.point
        if point.w.size + target.y.size > LIFT_LARGEST or (penalty.positive and not penalty.scalar):
            return here
        columns, mine = hessian.columns_by_output()
        w, b = minimize_augmented(target, columns, mine, point.w, point.intercept, penalty, 0.2 * tol)
        there = self._visit(Point(w, b, hessian.scores(w) + b), penalty)
        return there if there.left < here.left else here

    def _adapt(self, useful: float) -> None:
        """Trust the curvature more after a step that kept its promise, less after one that did not.

        A smooth loss keeps its promise near the optimum; only a step that brought much more than promised tells
        that the damping, not the loss, shaped the model.
        """
        if useful < 0.25:
            self._damping = min(1.0, STRIDE * self._damping)
        elif useful > 1.5:
            self._damping = max(NO_DAMPING, self._damping / STRIDE)
        elif useful > 0.75 and self._target.loss.piecewise and self._damping > LEAST_DAMPING:
            self._damping = max(LEAST_DAMPING, self._damping / STRIDE)

    def _move(
        self, point: Point, g: Array, gb: Array, w: Array, db: Array, penalty: Penalty
    ) -> tuple[Point, float, float]:
        """Go towards the model's minimum as far as the criterion itself falls.

        Returns the new point, the step length, and the share of the predicted decrease that came true.
        """
        target = self._target
        d = w - point.w
        du = self._hessian.scores(d) + db
        value = target.value(point.scores) + penalty.value(point.w)
        if target.loss.quadratic:
            there = target.value(point.scores + du) + penalty.value(w)
            if there <= value + 1e-12 * abs(value):  # else the model was spoilt by rounding
                return Point(w, point.intercept + db, point.scores + du), 1.0, 1.0
        promised = float(g @ d + gb @ db) + penalty.value(w) - penalty.value(point.w)

        def along(t: float) -> float:
            return target.value(point.scores + t * du) + penalty.value(point.w + t * d)

        t = _search(along, value, promised, extend=target.loss.piecewise and not penalty.positive)
        if t == 0.0:
            return point, 0.0, 0.0
        moved = w if t == 1.0 else point.w + t * d
        new = Point(moved, point.intercept + t * db, point.scores + t * du)
        noise = abs(promised) <= ROUNDING * abs(value)
        # near the minimum the criterion falls by half of its slope at the start
        useful = 1.0 if noise else (value - along(t)) / max(-0.5 * promised, 1e-300)
        return new, t, useful


def _search(along: Callable[[float], float], value: float, promised: float, *, extend: bool) -> float:
    """Return a step length along which a convex function falls; 0 if it does not."""
    at_one = along(1.0)
    noise = abs(promised) <= ROUNDING * abs(value)
    if at_one <= value + 1e-3 * promised or (noise and at_one <= value + 1e-13 * abs(value)):
        t = 1.0
        while extend and t < 1e6 and along(2.0 * t) < at_one - 1e-3 * abs(value - at_one):
            t *= 2.0
            at_one = along(t)
        return t
    # convex along the ray: golden section for its minimum inside (0, 1)
    low, high, ratio = 0.0, 1.0, 0.5 * (np.sqrt(5.0) - 1.0)
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    fa, fb = along(a), along(b)
    for _ in range(80):
        if fa <= fb:
            high, b, fb = b, a, fa
            a = high - ratio * (high - low)
            fa = along(a)
        else:
            low, a, fa = a, b, fb
            b = low + ratio * (high - low)
            fb = along(b)
        if min(fa, fb) < value and high - low < 0.1 * high:
            break
    t, best = (a, fa) if fa <= fb else (b, fb)
    return t if best < value else 0.0
