"""The capped l1 norm (Xu et al. 2014, eq. 3), by rounds of reweighting.

    l1 Σ a_j|w_j| + mu Σ a_j min(|w_j|, cap)

is not convex, but min(|w|, cap) is concave in |w|: it lies below |w| everywhere, and below the constant cap.  A round
takes the one or the other for each weight, whichever is exact where the weight is, and minimises the convex criterion
that comes of it.  What it minimises lies above the criterion and touches it where the round began, so that no round
ends higher than it began (majorise and minimise; multi-stage convex relaxation, Zhang 2010).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from skgraft.grafting.linear.model import LinearModel, Outcome
from skgraft.grafting.linear.problem import LinearProblem
from skgraft.grafting.loop import record_step
from skgraft.run import Monitor

ROUNDS = 100  # far more than were ever needed: each of them changes which weights are beyond the cap


def reweight(model: LinearModel, minimize: Callable[[], Outcome], monitor: Monitor) -> Outcome:
    """Minimise the capped criterion, beginning at the solution with l1 + mu; returns how the last round ended.

    ``minimize`` minimises the convex criterion that the model has at the time.  At the end the weights beyond the cap
    are those that the last round took for it, so that its criterion is the capped one.
    """
    problem: LinearProblem = model.problem
    beyond = np.zeros((problem.n_features, problem.n_outputs), bool)
    for _ in range(ROUNDS):
        model.repenalize(replace(problem, beyond=beyond))
        if beyond.any():
            record_step(monitor, model, "reweight")
        outcome = minimize()
        now = np.abs(model.coefficients()[0]) >= problem.cap
        if not outcome.finished or (now == beyond).all():
            return outcome
        beyond = now
    return replace(outcome, finished=False)
