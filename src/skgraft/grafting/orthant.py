"""One orthant-wise quasi-Newton step (Grafting-Light, Zhu et al. 2010, section 5.2; Andrew and Gao 2007).

Within an orthant the l1 norm is linear, so a quasi-Newton step makes sense there; weights that would leave the
orthant stop at zero.  A group whose norm is penalised is treated alike: it stops at zero when the step would turn
it round.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array
from skgraft.criterion import Penalty

MEMORY = 10


class OrthantMemory:
    """Recent steps and changes of gradient over a set of named weights that may grow and shrink."""

    def __init__(self) -> None:
        self._pairs: list[tuple[NDArray[np.intp], Array, Array]] = []

    def add(self, names: NDArray[np.intp], step: Array, change: Array) -> None:
        """Remember a step if the curvature along it is positive."""
        if step @ change > 1e-12 * np.sqrt((step @ step) * (change @ change)):
            self._pairs = [*self._pairs[1 - MEMORY :], (names, step, change)]

    def direction(self, names: NDArray[np.intp], slope: Array) -> Array:
        """Return -H·slope by the two-loop recursion over the coordinates whose slope is not zero."""
        moving = slope != 0.0
        pairs = [self._align(pair, names, moving) for pair in self._pairs]
        pairs = [(s, y) for s, y in pairs if s @ y > 0.0]
        d = -slope
        factors = []
        for s, y in reversed(pairs):
            a = (s @ d) / (s @ y)
            d = d - a * y
            factors.append(a)
        if pairs:
            s, y = pairs[-1]
            d = d * ((s @ y) / (y @ y))
        for (s, y), a in zip(pairs, reversed(factors), strict=True):
            d = d + (a - (y @ d) / (s @ y)) * s
        return np.where(d * slope < 0.0, d, 0.0)  # keep to directions of descent

    @staticmethod
    def _align(
        pair: tuple[NDArray[np.intp], Array, Array], names: NDArray[np.intp], moving: NDArray[np.bool_]
    ) -> tuple[Array, Array]:
        known, step, change = pair
        order = np.argsort(known, kind="stable")
        at = np.minimum(np.searchsorted(known, names, sorter=order), known.size - 1)
        position = order[at]
        same = (known[position] == names) & moving
        return np.where(same, step[position], 0.0), np.where(same, change[position], 0.0)


def pseudo_gradient(gradient: Array, w: Array, penalty: Penalty) -> Array:
    """Return the subgradient of the criterion of least length: minus the direction of steepest descent."""
    slope = gradient + penalty.ridge * w
    push = np.where(slope > 0.0, -1.0, 1.0)
    sign = np.where(w != 0.0, np.sign(w), push)
    smooth = slope + penalty.l1 * sign
    blocked = (w == 0.0) & (smooth * slope <= 0.0)
    if penalty.positive:
        blocked |= (w == 0.0) & (slope > 0.0)
    out = np.where(blocked, 0.0, smooth)
    if not penalty.norm.any():
        return out
    length = penalty.per_weight(np.sqrt(penalty.per_group(w * w)))
    reach = penalty.per_weight(np.sqrt(penalty.per_group(out * out)))
    norm = penalty.per_weight(penalty.norm)
    safe_length, safe_reach = np.maximum(length, 1e-300), np.maximum(reach, 1e-300)
    at_zero = np.maximum(0.0, 1.0 - norm / safe_reach) * out
    return np.asarray(np.where(length > 0.0, out + norm * w / safe_length, at_zero))


def project(moved: Array, w: Array, slope: Array, penalty: Penalty) -> Array:
    """Return the step's end, with weights that left their orthant (and groups that turned round) at zero."""
    orthant = np.where(w != 0.0, np.sign(w), -np.sign(slope))
    kinked = (penalty.l1 > 0.0) | penalty.positive
    moved = np.where(kinked & (moved * orthant <= 0.0), 0.0, moved)
    if not penalty.norm.any():
        return moved
    turned = (penalty.per_group(moved * w) <= 0.0) & (penalty.per_group(w * w) > 0.0) & (penalty.norm > 0.0)
    return np.where(penalty.per_weight(turned.astype(float)) > 0.0, 0.0, moved)


def orthant_step(
    w: Array,
    slope: Array,
    direction: Array,
    penalty: Penalty,
    value: float,
    evaluate: Callable[[Array], float],
    first: float = 1.0,
) -> Array:
    """Backtrack along the projected direction until the criterion falls; returns ``w`` itself if it does not."""
    t = first
    for _ in range(40):
        moved = project(w + t * direction, w, slope, penalty)
        if evaluate(moved) <= value + 1e-4 * float(slope @ (moved - w)):
            return moved
        t *= 0.5
    return w
