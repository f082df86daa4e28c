"""Re-optimising the free weights of a network: damped Newton steps, or limited-memory ones where weights are many.

Every step lowers the criterion or is not taken.  l1 is treated orthant by orthant: a weight that would change its sign
stops at zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from skgraft.arrays import Array, Index, Mask
from skgraft.criterion import Penalty
from skgraft.grafting.network.curvature import Rows, summed_derivatives
from skgraft.grafting.network.problem import NetworkProblem
from skgraft.grafting.network.wiring import Network, gradient, pack, scores, slopes, unpack
from skgraft.grafting.orthant import OrthantMemory, orthant_step, pseudo_gradient

NEWTON_LARGEST = 400  # free weights beyond which second derivatives cost more than they bring,
NEWTON_WORK = 2e8  # as they do where units reach many outputs: outputs · samples · weights²
HESSIAN_ROWS = 20_000  # samples that are enough for second derivatives
NEGLIGIBLE = 1e-5  # share of a sample's weight below which its derivatives are left out of the second derivatives
STEP_LIMIT = 10.0  # the largest change of a weight in one step,
STEP_SHARE = 0.7  # or this share of the largest weight: units must not saturate in one step
SMALLEST_DAMPING, LARGEST_DAMPING = 1e-5, 1.0  # of the damping kept from one run to the next
ATTEMPTS = 12
ROUNDING = 4e-16  # share of the criterion that is noise
LIMITED_MEMORY_STEPS = 10  # limited-memory steps that count as one Newton step


@dataclass(frozen=True)
class Point:
    """A network, and what it does to the samples: activations, scores and the criterion without prices."""

    net: Network
    a: Array
    f: Array
    value: float


def evaluate(problem: NetworkProblem, net: Network, rows: Array) -> Point:
    """Return the network with its activations, scores and criterion."""
    a, f = scores(net, rows)
    return Point(net, a, f, problem.target.value(f) + penalty(problem, net))


def penalty(problem: NetworkProblem, net: Network) -> float:
    """Return the l1 and l2 penalties of a network."""
    value = float(problem.hold(net) @ np.abs(net.w) + problem.ridge(net) @ (net.w * net.w))
    if problem.output_l2 is not None:
        value += problem.output_l2 * float((net.v * net.v).sum())
    return value


def penalty_of(problem: NetworkProblem, net: Network) -> Penalty:
    """Return the penalty of all free weights in the order of :func:`pack`."""
    free = pack(net, outputs=problem.free_outputs)
    l1, ridge = np.zeros(free.size), np.zeros(free.size)
    w = slice(net.n_outputs, net.n_outputs + net.n_connections)
    l1[w], ridge[w] = problem.hold(net), 2.0 * problem.ridge(net)
    if problem.output_l2 is not None:
        ridge[w.stop + net.n_units :] = 2.0 * problem.output_l2
    return Penalty(l1, ridge, np.zeros(free.size), np.arange(free.size + 1))


def loss_gradient(problem: NetworkProblem, point: Point, rows: Array) -> Array:
    """Return the gradient of the loss over all free weights."""
    residual = problem.target.residual(point.f)
    back = slopes(point.net, point.a, residual)[1]
    return gradient(point.net, rows, point.a, residual, back, outputs=problem.free_outputs)


class Descent:
    """Lowers the criterion over the free weights; remembers its damping from one run to the next."""

    def __init__(self, problem: NetworkProblem) -> None:
        self._problem = problem
        self.damping = 1e-3

    def run(self, point: Point, rows: Array, steps: int, tol: float, movable: Mask | None = None) -> Point:
        """Take at most ``steps`` steps, and end when one lowers the criterion by less than ``tol``.

        ``movable`` says which free weights may move, in the order of :func:`pack`; by default all.
        """
        problem, net = self._problem, point.net
        if self.is_too_large(net):
            return self._limited_memory(point, rows, LIMITED_MEMORY_STEPS * steps, tol / LIMITED_MEMORY_STEPS, movable)
        part = penalty_of(problem, net)
        damping = self.damping
        for _ in range(steps):
            moved, damping, predicted = self._newton_step(point, rows, part, damping, tol, movable)
            if moved is None:
                break
            fall = point.value - moved.value
            point = moved
            if fall > 0.5 * predicted:
                damping = max(damping / 5.0, 1e-7)
            if fall < tol and predicted < 4.0 * tol:
                break
        self.damping = min(max(damping, SMALLEST_DAMPING), LARGEST_DAMPING)
        return point

    def is_too_large(self, net: Network) -> bool:
        """Whether second derivatives would cost too much, so that steps are limited-memory ones."""
        free = self._problem.free_outputs
        size = net.n_outputs + net.n_connections + net.n_units + (net.v.size if free else 0)
        samples = min(HESSIAN_ROWS, self._problem.target.weight.size)
        work = net.n_outputs * samples * size**2 if free and net.n_outputs > 1 else 0
        return size > NEWTON_LARGEST or work > NEWTON_WORK

    def _newton_step(
        self, point: Point, rows: Array, part: Penalty, damping: float, tol: float, movable: Mask | None
    ) -> tuple[Point | None, float, float]:
        """Return the next point (None if no step lowers the criterion), the damping used and the expected fall."""
        problem, net = self._problem, point.net
        theta = pack(net, outputs=problem.free_outputs)
        slope, hessian, gauss_newton = self._derivatives(point, rows, part, theta)
        free = slope != 0.0
        if movable is not None:
            free &= movable
        at = np.flatnonzero(free)
        if not at.size:
            return None, damping, 0.0
        g, B = slope[at], hessian[np.ix_(at, at)]
        floor = np.maximum(np.diagonal(gauss_newton)[at], 1e-8) + 1e-10
        largest = max(STEP_LIMIT, STEP_SHARE * float(np.abs(theta[at]).max()))
        exact, predicted = True, 0.0
        for _ in range(ATTEMPTS):
            damped = B.copy()
            damped[np.diag_indices_from(damped)] += damping * floor + 1e-10
            try:
                factor = cho_factor(damped, lower=True, overwrite_a=True, check_finite=False)
            except LinAlgError:
                if exact:
                    exact, B = False, gauss_newton[np.ix_(at, at)]
                else:
                    damping = max(damping, 1e-6) * 10.0
                continue
            step = -cho_solve(factor, g, check_finite=False)
            predicted = -0.5 * float(g @ step)
            reach = float(np.abs(step).max())
            if not np.isfinite(reach):
                damping = max(damping, 1e-6) * 10.0
                continue
            if reach > largest:
                step *= largest / reach
            moved = evaluate(problem, self._moved(net, theta, at, step, slope, part), rows)
            if moved.value < point.value or self._is_sharper(moved, point, rows, part, slope):
                return moved, damping, predicted
            damping = max(damping, 1e-6) * 10.0
            if predicted < 1e-3 * tol:
                break
        return None, damping, predicted

    def _is_sharper(self, moved: Point, point: Point, rows: Array, part: Penalty, slope: Array) -> bool:
        """Whether the criterion is the same to the last digit, and the slope smaller: its digits reach further."""
        if not abs(moved.value - point.value) <= ROUNDING * abs(point.value):
            return False
        theta = pack(moved.net, outputs=self._problem.free_outputs)
        new = pseudo_gradient(loss_gradient(self._problem, moved, rows), theta, part)
        return bool(np.abs(new).max() < 0.5 * np.abs(slope).max())

    def _moved(self, net: Network, theta: Array, at: Index, step: Array, slope: Array, part: Penalty) -> Network:
        new = theta.copy()
        new[at] += step
        orthant = np.where(theta != 0.0, np.sign(theta), -np.sign(slope))
        new[(part.l1 > 0.0) & (new * orthant < 0.0)] = 0.0
        return unpack(net, new, outputs=self._problem.free_outputs)

    def _derivatives(self, point: Point, rows: Array, part: Penalty, theta: Array) -> tuple[Array, Array, Array]:
        """Return the subgradient of least length, the Hessian and its Gauss-Newton part, penalties included."""
        problem, net, target = self._problem, point.net, self._problem.target
        residual = target.residual(point.f)
        rise, back = slopes(net, point.a, residual)
        g = gradient(net, rows, point.a, residual, back, outputs=problem.free_outputs)
        curvature = target.loss.curvature(point.f, target.y, target.weight)
        sample = Rows(rows, point.a, rise, back, residual, curvature)
        which, weight = self._telling(sample)
        hessian, gauss_newton = summed_derivatives(net, sample, which, weight, outputs=problem.free_outputs)
        diagonal = np.diag_indices_from(hessian)
        hessian[diagonal] += part.ridge
        gauss_newton[diagonal] += part.ridge
        return pseudo_gradient(g, theta, part), hessian, gauss_newton

    def _telling(self, sample: Rows) -> tuple[Index | None, float]:
        """Return samples that say enough of the second derivatives (None: all), and how often each of them counts."""
        weight = self._problem.target.weight
        curvature = np.abs(sample.curvature.diagonal).max(axis=1)
        tells = np.abs(sample.residual).max(axis=1) + curvature > NEGLIGIBLE * weight
        which = np.flatnonzero(tells)
        if which.size > HESSIAN_ROWS:
            kept = which[np.linspace(0, which.size - 1, HESSIAN_ROWS).astype(np.intp)]
            return kept, float(weight[which].sum() / weight[kept].sum())
        return None if weight[which].sum() > 0.8 else which, 1.0

    def _limited_memory(self, point: Point, rows: Array, steps: int, tol: float, movable: Mask | None) -> Point:
        """Take orthant-wise quasi-Newton steps (Andrew and Gao 2007)."""
        problem, outputs = self._problem, self._problem.free_outputs
        part, memory = penalty_of(problem, point.net), OrthantMemory()
        theta = pack(point.net, outputs=outputs)
        names = np.arange(theta.size)
        g = loss_gradient(problem, point, rows)
        seen: list[Point] = []

        def value(new: Array) -> float:
            seen[:] = [evaluate(problem, unpack(point.net, new, outputs=outputs), rows)]
            return seen[0].value

        for at in range(steps):
            slope = pseudo_gradient(g, theta, part)
            if movable is not None:
                slope = np.where(movable, slope, 0.0)
            direction = memory.direction(names, slope)
            reach = float(np.abs(direction).max(initial=0.0))
            if not 0.0 < reach < np.inf:
                break
            first = min(1.0, STEP_LIMIT / reach) if at else min(1.0, 1.0 / reach)
            new = orthant_step(theta, slope, direction, part, point.value, value, first)
            if new is theta or not seen[0].value < point.value:
                break
            fall, point = point.value - seen[0].value, seen[0]
            after = loss_gradient(problem, point, rows)
            memory.add(names, new - theta, after - g + part.ridge * (new - theta))
            theta, g = new, after
            if fall < tol:
                break
        return point
