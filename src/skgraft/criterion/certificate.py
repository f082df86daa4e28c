"""Proof that a model is optimal: computed afresh from the coefficients, whatever solver found them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skgraft.arrays import Array
from skgraft.criterion.losses import Loss
from skgraft.criterion.penalties import Penalty

# What a certificate is about, in words: the values of ``Certificate.scope``.
GLOBAL = "global optimum"
NO_MOVE = "optimal weights of the chosen features, and no single addition, removal or swap that improves"
WEIGHTS = "optimal weights of the chosen features alone"
NOT_STATIONARY = "nothing: not all weights were optimised to the end, so the model is not stationary"
NOT_CONVERGED = "nothing: the fit did not converge"


@dataclass(frozen=True)
class Certificate:
    """How far a fitted model is from the optimum of its criterion.

    Attributes
    ----------
    kkt_violation : float
        Largest distance of the gradient from the penalty's subdifferential over all features, relative to the
        largest gradient of the empty model.  A feature held at zero by a price or by an exhausted budget violates
        nothing.
    duality_gap : float or None
        An upper bound on how far the criterion is above its minimum, relative to the loss of the empty model
        above the least loss possible.  None where no such bound is defined: with prices or budgets, or without
        any l1, group or l2 penalty to bound the dual problem.
    converged : bool
        Whether the fit ended by itself and ``kkt_violation`` is within the tolerance.
    scope : str
        What is certified, in words: that the model is the global optimum; that the weights of the chosen features are
        optimal and that no single addition, removal or swap of features improves the criterion; those weights
        alone; or nothing, with the reason.
    """

    kkt_violation: float
    duality_gap: float | None
    converged: bool
    scope: str = ""

    def __post_init__(self) -> None:
        """Claim the weights alone where nothing is said, and nothing where the fit did not converge."""
        if not self.scope:
            object.__setattr__(self, "scope", WEIGHTS if self.converged else NOT_CONVERGED)


def duality_gap(
    value: float,
    loss: Loss,
    y: Array,
    weight: Array,
    u: Array,
    penalty: Penalty,
    gradient: Array,
    noise: Array,
) -> float | None:
    """Return an upper bound on value - min C by Fenchel duality, or None if the dual point has no finite value.

    Parameters
    ----------
    value : float
        The criterion of the model in question.
    loss, y, weight
        The loss, the encoded targets and the sample weights (summing to one).
    u : ndarray of shape (n_samples, n_outputs)
        The dual point: derivatives dL/df at some scores.  Where outputs have intercepts its weighted sum must be
        zero.
    penalty, gradient
        The convex penalty and X'(weight·u), laid out alike.
    noise : ndarray
        What rounding alone may add to each entry of the gradient, infinite for weights (unpenalised, at a zero
        gradient) that bound the dual point to an exact zero, which rounding never gives.  So much of the gradient
        counts as zero here, and in full in the KKT violation: beside a penalty smaller than that nothing could be
        proved at all.

    Notes
    -----
    With the dual point shrunk by t until the penalty's conjugate is finite, the minimum of C is at least
    -Σ s_i L*(t u_i) - Ω*(-t X'(s·u)).
    """
    z = -np.sign(gradient) * np.maximum(np.abs(gradient) - noise, 0.0)
    t = penalty.feasible_scale(z)
    conjugate = penalty.conjugate(t * z)
    if not np.isfinite(conjugate):
        t *= 1.0 - 1e-12  # the scale itself was rounded
        conjugate = penalty.conjugate(t * z)
    counted = weight > 0.0  # a sample of weight zero may lie outside the domain
    gap = value + float(weight[counted] @ loss.conjugate(t * u[counted], y[counted])) + conjugate
    return max(gap, 0.0) if np.isfinite(gap) else None
