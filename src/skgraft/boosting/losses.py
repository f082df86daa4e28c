"""What boosting needs of a loss: where to start, and the negative gradient and curvature of every row.

The losses themselves are those of :mod:`skgraft.criterion.losses`; here are their compiled forms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array
from skgraft.boosting.growth import Gradients, Weights
from skgraft.boosting.growth.rows import PIECE
from skgraft.boosting.loops import loops_over_rows
from skgraft.criterion import Huber, Logistic, Loss, Multinomial, Poisson, Squared
from skgraft.matrix import ThreadPool
from skgraft.tables import weight_shares

LONGEST_STEP = 4.0  # of a score inside an exponential, before the learning rate


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be learned: targets, weights and the loss.

    ``y`` is the number of the class, 0 or 1 where there are two, or else the target.  Derivatives are ``compiled``, or
    those of the loss in NumPy, which differ by rounding.
    """

    loss: Loss
    y: Array
    weight: Array
    n_outputs: int
    compiled: bool = True

    @cached_property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.weight.sum())

    def start(self) -> Array:
        """Return the best constant scores: the prior."""
        share = weight_shares(self.weight)
        if self.loss.coupled:
            return _log_priors(self.y, share, self.n_outputs)
        return np.asarray(self.loss.start(self._encoded, share))

    @property
    def curvature_scale(self) -> float | None:
        """What |g|·(1 - |g|) is to be multiplied by for the curvature, None if that is no function of the gradient.

        That of several classes carries Friedman's factor K/(K - 1), since all scores of a row move at once.
        """
        if self.loss.coupled:
            return self.n_outputs / (self.n_outputs - 1.0)
        return 1.0 if self.loss.margin else None

    def workspace(self) -> tuple[Array, Array]:
        """Return arrays for gradients and curvatures, (n_outputs, n_rows); none for those that gradients tell."""
        n = self.y.size
        return np.empty((self.n_outputs, n)), np.empty((self.n_outputs, n if self.curvature_scale is None else 0))

    def derivatives(self, scores: Array, g: Array, h: Array, workers: ThreadPool) -> float:
        """Write the negative gradients and curvatures of scores (n_outputs, n_rows); return the mean loss."""
        n = self.y.size
        pieces = -(-n // PIECE)
        losses = np.empty(pieces)

        def run(first: int, last: int) -> None:
            for k in range(first, last):
                losses[k] = self._loss(scores, g, h, k * PIECE, min(n, (k + 1) * PIECE))

        workers.run(run, pieces, 0.4 * n * self.n_outputs)
        return float(losses.sum()) / self.total_weight

    def mean_loss(self, scores: Array) -> float:
        """Return the weighted mean loss of scores (n_outputs, n_rows)."""
        return self._loss(scores, *self.workspace(), 0, self.y.size) / self.total_weight

    def _loss(self, scores: Array, g: Array, h: Array, first: int, last: int) -> float:
        """Write the derivatives of some rows; return their loss."""
        compiled = _COMPILED.get(type(self.loss)) if self.compiled else None
        if compiled is None:
            return _by_numpy(self.loss, scores, self._encoded, self.weight, first, last, g, h)
        y, w = self._targets
        from skgraft.boosting import _kernels as kernels

        return float(compiled(kernels, self.loss, scores, y, w, first, last, g, h))

    @cached_property
    def _targets(self) -> tuple[NDArray[Any], Array]:
        """Targets and weights as the kernels want them: a pass over many rows takes as long as reading them."""
        if not self.loss.margin:
            return self.y, self.weight
        are_equal = bool((self.weight == self.weight[0]).all())
        return (self.y > 0.5).astype(np.uint8), self.weight[:1] if are_equal else self.weight

    @cached_property
    def _encoded(self) -> Array:
        """Targets as the loss wants them: -1 and 1, one-hot rows or numbers."""
        if self.loss.coupled:
            return np.eye(self.n_outputs)[self.y.astype(np.intp)]
        return (np.where(self.y > 0.5, 1.0, -1.0) if self.loss.margin else self.y)[:, None]

    def leaf_value(self, gradient: float, curvature: float, weight: float, leaf: str) -> float:
        """Return a leaf's step: the mean gradient (Xu et al. 2014, eq. 14) or Newton's.

        Inside an exponential a step is at most 4, since where a class is rare Newton's has no bound.
        """
        below = weight if leaf == "gradient" else curvature
        if self.loss.exponential and abs(gradient) >= LONGEST_STEP * below:
            return float(np.sign(gradient)) * LONGEST_STEP if gradient else 0.0
        return gradient / below if below > 0.0 else 0.0


def _log_priors(y: Array, share: Array, n_classes: int) -> Array:
    """Return centred log priors: those of the multinomial loss, without one-hot rows."""
    log_prior = np.log(np.maximum(np.bincount(y.astype(np.intp), share, minlength=n_classes), 1e-10))
    return np.asarray(log_prior - log_prior.mean())


def quantise_gradients(
    g: Array,
    weights: Weights,
    largest: float | None,
    workers: ThreadPool,
    out: NDArray[np.int32] | None = None,
    *,
    compiled: bool = True,
) -> Gradients:
    """Write gradients as whole numbers, by a power of two that the largest of them fits; into ``out`` if given."""
    n, quantise = g.size, loops_over_rows(compiled=compiled).quantise
    top = max(float(g.max()), -float(g.min())) if largest is None else largest
    exponent = weights.gradient_bits - int(np.ceil(np.log2(top))) if top > 0.0 else 0
    z = np.empty(n, np.int32) if out is None else out

    def run(first: int, last: int) -> None:
        quantise(g, first, last, 2.0**exponent, z)

    workers.run(run, n, 0.3 * n)
    return Gradients(z, weights, exponent, top)


def _by_numpy(loss: Loss, scores: Array, y: Array, w: Array, first: int, last: int, g: Array, h: Array) -> float:
    """Write negative gradients and curvatures, the latter where there is room; return the loss."""
    rows = slice(first, last)
    f, target = scores[:, rows].T, y[rows]
    g[:, rows] = -loss.derivative(f, target).T
    if h.size:
        h[:, rows] = loss.majorizer(f, target, np.ones(last - first)).diagonal.T
    return float(w[rows] @ loss.per_sample(f, target))


# Losses that have a compiled form, which says the same as their class; a subclass may say something else, so it is
# looked up by the class itself.  Arguments are the kernels, the loss, then as in `_by_numpy`.
_COMPILED: dict[type[Loss], Callable[..., float]] = {
    Logistic: lambda kernels, _, f, y, w, first, last, g, __: kernels.logistic(f[0], y, w, first, last, g[0]),
    Multinomial: lambda kernels, _, f, y, w, first, last, g, __: kernels.softmax(f, y, w, first, last, g),
    Squared: lambda kernels, _, f, y, w, first, last, g, h: kernels.squared(f[0], y, w, first, last, g[0], h[0]),
    Poisson: lambda kernels, _, f, y, w, first, last, g, h: kernels.poisson(f[0], y, w, first, last, g[0], h[0]),
    Huber: lambda kernels, loss, f, y, w, first, last, g, h: kernels.huber(
        f[0], y, w, first, last, g[0], h[0], loss.delta
    ),
}
