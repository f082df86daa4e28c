"""What a model is to explain: targets, sample weights, and the loss that judges it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skgraft.arrays import Array
from skgraft.criterion import Curvature, Loss

START_DAMPING = 1e-4


@dataclass(frozen=True)
class Target:
    """What is to be explained: the loss, encoded targets and weights, and whether outputs have intercepts."""

    loss: Loss
    y: Array
    weight: Array
    intercept: bool

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.y.shape[1]

    def value(self, scores: Array) -> float:
        """Return the weighted mean loss of the scores."""
        return self.loss.value(scores, self.y, self.weight)

    def residual(self, scores: Array) -> Array:
        """Return the weighted derivative of the loss."""
        return self.loss.residual(scores, self.y, self.weight)

    def curvature(self, scores: Array, damping: float) -> Curvature:
        """Return the weighted second derivative, kept away from zero.

        Where the loss is flat a Newton step would be unbounded, so no sample's curvature falls below ``damping``
        of the average (of the sample's own bound for losses whose curvature jumps: damping 1 is then a
        majorizer and its step a sure descent).
        """
        loss, s = self.loss, self.weight
        curvature = loss.curvature(scores, self.y, s)
        if loss.quadratic:
            return curvature
        if curvature.factor is not None:
            largest = (curvature.diagonal - curvature.factor**2).max(axis=1)
            floor = damping * s if damping > START_DAMPING else 1e-8 * largest  # 1 is a majorizer: p(1 - p) <= 1/4
            return replace(curvature, diagonal=curvature.diagonal + np.maximum(floor, 1e-14 * s)[:, None])
        if loss.piecewise:
            bound = loss.majorizer(scores, self.y, s).diagonal if damping >= 1.0 else s[:, None]
            return Curvature(np.maximum(curvature.diagonal, damping * bound))
        floor = np.maximum(damping * curvature.diagonal.sum(axis=0), 1e-14)
        return Curvature(np.maximum(curvature.diagonal, floor * s[:, None]))
