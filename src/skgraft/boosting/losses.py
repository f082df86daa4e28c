"""What boosting needs of a loss: where to start, and the negative gradient and curvature of every row.

The losses themselves are those of :mod:`skgraft.criterion.losses`; here are their compiled forms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgraft.boosting.growth import Gradients, Weights
from skgraft.boosting.growth.rows import PIECE
from skgraft.criterion.losses import make_loss
from skgraft.matrix.threads import Crew

Array = NDArray[np.float64]

LONGEST_STEP = 4.0  # of a score inside an exponential, before the learning rate

_HAS_EXPONENTIAL = {"logistic", "multinomial", "poisson"}


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be learned: targets, weights and the loss.

    ``y`` is 0 or 1 for ``logistic``, the number of the class for ``multinomial``, and else the target.
    """

    loss: str
    y: Array
    weight: Array
    n_outputs: int
    delta: float = 1.35

    @cached_property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.weight.sum())

    def start(self) -> Array:
        """Return the best constant scores: the prior."""
        share = self.weight / self.weight.max()
        share /= share.sum()
        loss = make_loss(self.loss, delta=self.delta)
        if self.loss == "logistic":
            y = np.where(self.y > 0.5, 1.0, -1.0)[:, None]
        elif self.loss == "multinomial":
            return _log_priors(self.y, share, self.n_outputs)
        else:
            y = self.y[:, None]
        return np.asarray(loss.start(y, share))

    @property
    def curvature_scale(self) -> float | None:
        """What |g|·(1 - |g|) is to be multiplied by for the curvature, None if that is no function of the gradient.

        That of several classes carries Friedman's factor K/(K - 1), since all scores of a row move at once.
        """
        if self.loss == "multinomial":
            return self.n_outputs / (self.n_outputs - 1.0)
        return 1.0 if self.loss == "logistic" else None

    def room(self) -> tuple[Array, Array]:
        """Return arrays for gradients and curvatures, (n_outputs, n_rows); none for those that gradients tell."""
        n = self.y.size
        return np.empty((self.n_outputs, n)), np.empty((self.n_outputs, n if self.curvature_scale is None else 0))

    def derivatives(self, scores: Array, g: Array, h: Array, crew: Crew) -> float:
        """Write the negative gradients and curvatures of scores (n_outputs, n_rows); return the mean loss."""
        n = self.y.size
        pieces = -(-n // PIECE)
        losses = np.empty(pieces)

        def run(first: int, last: int) -> None:
            for k in range(first, last):
                losses[k] = self._loss(scores, g, h, k * PIECE, min(n, (k + 1) * PIECE))

        crew.run(run, pieces, 0.4 * n * self.n_outputs)
        return float(losses.sum()) / self.total_weight

    def mean_loss(self, scores: Array) -> float:
        """Return the weighted mean loss of scores (n_outputs, n_rows)."""
        return self._loss(scores, *self.room(), 0, self.y.size) / self.total_weight

    def _loss(self, scores: Array, g: Array, h: Array, first: int, last: int) -> float:
        """Write the derivatives of some rows; return their loss."""
        from skgraft.boosting import _kernels as kernels

        y, w = self._targets
        if self.loss == "logistic":
            return float(kernels.logistic(scores[0], y, w, first, last, g[0]))
        if self.loss == "multinomial":
            return float(kernels.softmax(scores, y, w, first, last, g))
        if self.loss == "huber":
            return float(kernels.huber(scores[0], y, w, first, last, g[0], h[0], self.delta))
        kernel = kernels.squared if self.loss == "squared" else kernels.poisson
        return float(kernel(scores[0], y, w, first, last, g[0], h[0]))

    @cached_property
    def _targets(self) -> tuple[NDArray[Any], Array]:
        """Targets and weights as the kernels want them: a pass over many rows takes as long as reading them."""
        if self.loss != "logistic":
            return self.y, self.weight
        are_equal = bool((self.weight == self.weight[0]).all())
        return (self.y > 0.5).astype(np.uint8), self.weight[:1] if are_equal else self.weight

    @property
    def largest_gradient(self) -> float | None:
        """A bound of the gradient that holds for all scores, None if there is none."""
        return {"logistic": 1.0, "multinomial": 1.0, "huber": self.delta}.get(self.loss)

    def leaf_value(self, gradient: float, curvature: float, weight: float, leaf: str) -> float:
        """Return a leaf's step: the mean gradient (Xu et al. 2014, eq. 14) or Newton's.

        Inside an exponential a step is at most 4, since where a class is rare Newton's has no bound.
        """
        below = weight if leaf == "gradient" else curvature
        bounded = self.loss in _HAS_EXPONENTIAL
        if bounded and abs(gradient) >= LONGEST_STEP * below:
            return float(np.sign(gradient)) * LONGEST_STEP if gradient else 0.0
        return gradient / below if below > 0.0 else 0.0


def _log_priors(y: Array, share: Array, n_classes: int) -> Array:
    """Return centred log priors: those of the multinomial loss, without one-hot rows."""
    log_prior = np.log(np.maximum(np.bincount(y.astype(np.intp), share, minlength=n_classes), 1e-10))
    return np.asarray(log_prior - log_prior.mean())


def quantise_gradients(
    g: Array, weights: Weights, largest: float | None, crew: Crew, out: NDArray[np.int32] | None = None
) -> Gradients:
    """Write gradients as whole numbers, by a power of two that the largest of them fits; into ``out`` if given."""
    from skgraft.boosting._kernels import quantise

    n = g.size
    top = max(float(g.max()), -float(g.min())) if largest is None else largest
    exponent = weights.gradient_bits - int(np.ceil(np.log2(top))) if top > 0.0 else 0
    z = np.empty(n, np.int32) if out is None else out

    def run(first: int, last: int) -> None:
        quantise(g, first, last, 2.0**exponent, z)

    crew.run(run, n, 0.3 * n)
    return Gradients(z, weights, exponent, top)
