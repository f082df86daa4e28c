"""The convex penalties of the criterion: l1, l2 and the group norm, over weights laid out by group.

One notion drives the gradient test, the stopping rule and the certificate: the distance of minus the gradient
from the penalty's subdifferential.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index


@dataclass(frozen=True)
class Penalty:
    """Σ_j l1_j|w_j| + ½Σ_j ridge_j w_j² + Σ_g norm_g ||w_g||, with w >= 0 where ``positive``.

    Group ``g`` holds the weights ``starts[g]:starts[g + 1]``; where the group norm is not used every weight is
    a group of its own and ``norm`` is zero.  ``offset`` is a constant that :meth:`value` adds.
    """

    l1: Array
    ridge: Array
    norm: Array
    starts: Index
    positive: bool = False
    offset: float = 0.0

    @property
    def scalar(self) -> bool:
        """Whether every weight is a group of its own."""
        return self.norm.size == self.l1.size

    @property
    def unpenalized(self) -> NDArray[np.bool_]:
        """Weights that no l1 or group norm holds at zero."""
        return (self.l1 == 0.0) & (self.per_weight(self.norm) == 0.0)

    @cached_property
    def hold(self) -> Array:
        """The largest gradient at which a weight that is a group of its own stays at zero."""
        return self.l1 + self.norm if self.norm.any() else self.l1

    def per_weight(self, per_group: Array) -> Array:
        """Repeat a value of each group for all its weights."""
        return per_group if self.scalar else np.repeat(per_group, np.diff(self.starts))

    def per_group(self, per_weight: Array) -> Array:
        """Sum the weights' values over each group."""
        if self.scalar:
            return per_weight
        return np.add.reduceat(per_weight, self.starts[:-1]) if per_weight.size else np.zeros(0)

    def value(self, w: Array) -> float:
        """Return the penalty of the weights."""
        total = float(self.l1 @ np.abs(w) + 0.5 * (self.ridge @ (w * w)))
        if self.norm.any():
            total += float(self.norm @ np.sqrt(self.per_group(w * w)))
        return total + self.offset

    def excess(self, gradient: Array) -> Array:
        """Return how far the loss gradient of weights at zero reaches beyond their l1 (eq. 8)."""
        pull = -gradient if self.positive else np.abs(gradient)
        return np.maximum(pull - self.l1, 0.0)

    def distance_at_zero(self, gradient: Array) -> Array:
        """Return, per group at zero, the distance of -gradient from the subdifferential there."""
        if self.scalar:
            distance = -gradient if self.positive else np.abs(gradient)
            distance -= self.hold
            return np.asarray(np.maximum(distance, 0.0, out=distance))
        excess = self.excess(gradient)
        return np.maximum(np.sqrt(self.per_group(excess * excess)) - self.norm, 0.0)

    def violation(self, gradient: Array, w: Array) -> Array:
        """Return, per group, the distance of -gradient from the subdifferential at ``w`` (largest weight)."""
        out = self.distance_at_zero(gradient)
        nonzero = w != 0.0
        if self.scalar:
            # with one weight the group norm is one more l1
            at = np.flatnonzero(nonzero)
            out[at] = np.abs(gradient[at] + self.ridge[at] * w[at] + self.hold[at] * np.sign(w[at]))
            return out
        slope = gradient + self.ridge * w
        length = np.sqrt(self.per_group(w * w))
        open_group = length > 0.0
        pull = self.per_weight(np.divide(self.norm, length, out=np.zeros_like(length), where=open_group))
        each = np.where(nonzero, np.abs(slope + pull * w + self.l1 * np.sign(w)), self.excess(gradient))
        if w.size:
            out = np.where(open_group, np.maximum.reduceat(each, self.starts[:-1]), out)
        return out

    def conjugate(self, z: Array) -> float:
        """Return the conjugate at ``z``; inf if ``z`` lies outside its domain.

        With one ridge for a whole group its part is (||S(z, l1)|| - norm)₊²/(2·ridge), S being the soft
        threshold; without a ridge it is zero inside the dual ball and infinite outside.
        """
        over = self.distance_at_zero(-z)
        if not over.any():
            return 0.0
        excess = self.excess(-z)
        low, uniform = self.ridge, np.ones(self.norm.size, bool)
        if not self.scalar and self.ridge.size:
            low = np.minimum.reduceat(self.ridge, self.starts[:-1])
            uniform = low == np.maximum.reduceat(self.ridge, self.starts[:-1])
        with np.errstate(divide="ignore", invalid="ignore"):
            total = float(np.where(over > 0.0, over**2 / (2.0 * low), 0.0)[uniform].sum())
        for g in np.flatnonzero(~uniform & (over > 0.0)):
            mine = slice(self.starts[g], self.starts[g + 1])
            total += _uneven_conjugate(excess[mine], self.ridge[mine], float(self.norm[g]))
        return total

    def feasible_scale(self, z: Array) -> float:
        """Return the largest t <= 1 for which t·z lies in the domain of the conjugate."""
        # a ridge leaves its weight's z unbounded
        if self.ridge.any():
            z = np.where(self.ridge == 0.0, z, 0.0)
        pull = np.maximum(z, 0.0) if self.positive else np.abs(z)
        if self.scalar:
            limit = self.hold
            over = pull > limit
            return float((limit[over] / pull[over]).min()) if over.any() else 1.0
        outside = np.flatnonzero(self.distance_at_zero(-z) > 0.0)
        if not outside.size:
            return 1.0
        part, weights = self.take(outside)
        z = z[weights]
        if not part.l1.any():
            length = np.sqrt(part.per_group(pull[weights] ** 2))
            return float((part.norm / length).min()) * (1.0 - np.finfo(float).eps)
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            if (part.distance_at_zero(-middle * z) > 0.0).any():
                high = middle
            else:
                low = middle
        return low

    def take(self, groups: Index) -> tuple[Penalty, Index]:
        """Return the penalty restricted to some groups, and the weights these hold, in that order."""
        if self.scalar:
            weights = groups
            starts = np.arange(groups.size + 1)
        else:
            sizes = np.diff(self.starts)[groups]
            starts = np.concatenate([[0], np.cumsum(sizes)])
            weights = np.repeat(self.starts[groups] - starts[:-1], sizes) + np.arange(starts[-1])
        part = Penalty(self.l1[weights], self.ridge[weights], self.norm[groups], starts, self.positive, self.offset)
        return part, weights


def _uneven_conjugate(v: Array, ridge: Array, norm: float) -> float:
    """Return the conjugate of a group whose ridges differ, for soft-thresholded ``v``.

    The maximiser is w = v/(ridge + norm/t) with t = ||w||, found from Σ v²/(ridge·t + norm)² = 1.
    """
    if norm == 0.0:
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.where(v > 0.0, v**2 / (2.0 * ridge), 0.0).sum())
    without = ridge == 0.0
    if v[without] @ v[without] >= norm * norm:
        # on the boundary of its domain the conjugate may still be finite; infinity is a safe answer
        return np.inf

    def excess(t: float) -> float:
        return float(((v / (ridge * t + norm)) ** 2).sum()) - 1.0

    high = 1.0
    while excess(high) > 0.0 and high < 1e300:
        high *= 4.0
    low = 0.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    t = high
    w = v * t / (ridge * t + norm)
    return float(v @ w - 0.5 * (ridge @ (w * w)) - norm * np.sqrt(w @ w))
