"""What boosting needs of a loss: where to start, and the negative gradient and curvature of every row.

The losses themselves are those of :mod:`skgraft.criterion.losses`; here are their compiled forms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
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

    def derivatives(self, scores: Array, g: Array, h: Array, crew: Crew) -> float:
        """Write the negative gradients and curvatures of scores (n_outputs, n_rows); return the mean loss."""
        kernel = self._kernel()
        coupled = self.loss == "multinomial"
        f, gg, hh = (scores, g, h) if coupled else (scores[0], g[0], h[0])
        n = self.y.size
        pieces = -(-n // PIECE)
        losses = np.empty(pieces)

        def run(first: int, last: int) -> None:
            for k in range(first, last):
                losses[k] = kernel(f, self.y, self.weight, k * PIECE, min(n, (k + 1) * PIECE), gg, hh)

        crew.run(run, pieces, 10.0 * n * self.n_outputs)
        return float(losses.sum()) / self.total_weight

    def mean_loss(self, scores: Array) -> float:
        """Return the weighted mean loss of scores (n_outputs, n_rows)."""
        g, h = np.empty_like(scores), np.empty_like(scores)
        kernel = self._kernel()
        coupled = self.loss == "multinomial"
        f, gg, hh = (scores, g, h) if coupled else (scores[0], g[0], h[0])
        return float(kernel(f, self.y, self.weight, 0, self.y.size, gg, hh)) / self.total_weight

    def _kernel(self) -> Callable[..., Any]:
        from skgraft.boosting import _kernels as kernels

        if self.loss == "huber":
            return partial(kernels.huber, delta=self.delta)
        named: dict[str, Callable[..., Any]] = {
            "logistic": kernels.logistic,
            "multinomial": kernels.softmax,
            "squared": kernels.squared,
            "poisson": kernels.poisson,
        }
        return named[self.loss]

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

    crew.run(run, n, 2.0 * n)
    return Gradients(z, weights, exponent, top)
