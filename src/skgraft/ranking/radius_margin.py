"""The bound R²W² on the error of a support vector machine, and its descent in the scales of the features.

Weston et al. 2001, and section 4.4 of Weston et al. 2003: with R the radius of the training data and 1/W their margin,
both with features multiplied by scales σ, the expected error is at most R²W²/m.  The bound depends on the scales
smoothly: ∂W²/∂K_ij = -β_i β_j for the dual variables β of the machine, and ∂R²/∂K_ij = γ_i [i = j] - γ_i γ_j for
those of the sphere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from skgraft.ranking.sphere import smallest_sphere
from skgraft.svm.design import Design
from skgraft.svm.dual import Bands, initial_state, solve_bands
from skgraft.svm.machines import INSEPARABLE, InseparableError

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

LEAST = float(np.log(1e-3))  # bound of log σ; a descent alone does not reach zero, halving does
ITERATIONS = 60


@dataclass(frozen=True)
class Descent:
    """The features left with their log scales, and for each descent how many it had and the bound it reached."""

    alive: Indices
    log_scale: Array
    n_features: list[int]
    bounds: list[float]


class RadiusMargin:
    """log R² + log W², averaged over machines, as a function of log scales.

    ``slack_radius`` is what the coordinates of slacks, each 1/(2C) squared, may add to R².
    """

    def __init__(self, design: Design, bands: list[Bands], tol: float, slack_radius: float = 0.0) -> None:
        self._design = design
        self._slack_radius = slack_radius
        self._bands = bands
        self._tol = tol
        self._squares = design.squares()
        self._states = [initial_state(each) for each in bands]
        self._on_sphere: NDArray[np.bool_] | None = None

    def __call__(self, log_scale: Array) -> tuple[float, Array]:
        """Return the bound and its gradient."""
        design = self._design
        s2 = np.exp(2.0 * log_scale)
        share = s2 * self._squares
        total = share.sum()
        if total > 0.0:
            # the data keep their size: otherwise larger scales would just make slack cheaper
            s2, share = s2 * (self._squares.sum() / total), share / total
        K = design.gram(s2)
        squared_radius, gamma, self._on_sphere = smallest_sphere(K, self._on_sphere)
        squared_radius = max(squared_radius, np.finfo(float).tiny) + self._slack_radius
        value = float(np.log(squared_radius))
        slope = self._radius_slope(s2, gamma) / squared_radius
        for q, each in enumerate(self._bands):
            solution = solve_bands(K, each, state=self._states[q], tol=self._tol)
            if not each.ridge.any() and solution.violation > INSEPARABLE:
                raise InseparableError
            self._states[q], beta = solution.state, solution.beta
            squared_weights = float(beta @ (K @ beta) + each.ridge @ beta**2)
            value += float(np.log(squared_weights)) / len(self._bands)
            slope -= 2.0 * s2 * design.weights(beta) ** 2 / squared_weights / len(self._bands)
        return value, slope - share * slope.sum()

    def _radius_slope(self, s2: Array, gamma: Array) -> Array:
        centre = self._design.weights(gamma)
        return 2.0 * s2 * (self._design.weighted_squares(gamma) - centre**2)


def descend(
    design: Design, bands: list[Bands], n_wanted: int, *, halving: bool, tol: float, slack_radius: float = 0.0
) -> Descent:
    """Lower the bound, remove the half of the features with the smallest scales, and repeat.

    Without halving one descent is all, and the features with the largest scales are kept.
    """
    log_scale = np.zeros(design.n_features)
    counts: list[int] = []
    bounds: list[float] = []
    while True:
        limits = [(LEAST, 0.0)] * design.n_features
        found = minimize(
            RadiusMargin(design, bands, tol, slack_radius),
            log_scale,
            jac=True,
            method="L-BFGS-B",
            bounds=limits,
            options={"maxiter": ITERATIONS},
        )
        counts.append(design.n_features)
        bounds.append(float(np.exp(found.fun)))
        n_left = max(n_wanted, design.n_features // 2) if halving else n_wanted
        varying = design.squares() > 0.0  # a constant has no slope, and would keep the scale that it began with
        best = np.sort(np.argsort(np.where(varying, -found.x, np.inf), kind="stable")[:n_left])
        log_scale = np.where(varying, found.x, LEAST)[best]
        log_scale -= log_scale.max(initial=LEAST)
        design = design.keep(best)
        if n_left == n_wanted:
            return Descent(design.features, log_scale, counts, bounds)
