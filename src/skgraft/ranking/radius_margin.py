"""The bound R²W² on the error of a support vector machine, and its descent in the scales of the features.

Weston et al. 2001, and section 4.4 of Weston et al. 2003: with R the radius of the training data and 1/W their margin,
both with features multiplied by scales σ, the expected error is at most R²W²/m.  The bound depends on the scales
smoothly: ∂W²/∂K_ij = -β_i β_j for the dual variables β of the machine, and ∂R²/∂K_ij = γ_i [i = j] - γ_i γ_j for
those of the sphere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from skgraft.arrays import Array, Index
from skgraft.ranking.kernels import Kernel, gram
from skgraft.ranking.sphere import RowSphere, smallest_sphere
from skgraft.run import Monitor
from skgraft.svm import (
    INSEPARABLE,
    Bands,
    Design,
    IndependentMachines,
    InseparableError,
    initial_state,
    prefers_primal,
    solve_bands,
)

KernelOf = Callable[[Design], Kernel | None]

LEAST = float(np.log(1e-3))  # bound of log σ; a descent alone does not reach zero, halving does
ITERATIONS = 40  # of a descent; at 2,000 x 5,000 each takes 0.65 s
#: Share of W² beyond which slacks drown the margin.  The bound is then nearly flat around equal scales, whichever
#: features matter (a machine with hardly a ridge undoes any scales), and descents with a stronger ridge are tried too.
OVERLAP = 0.5
STRONG = 10.0  # ridge of such a descent, as a multiple of the mean squared length of a row
MOST_SWAPS = 100  # features left up to which these are exchanged for others afterwards,
TRIALS = 10  # how many others are tried for each,
PASSES = 10  # and how often at most all of them are gone through
FALLS = 1e-9  # share by which an exchange must lower the bound


@dataclass(frozen=True)
class Descent:
    """The features left with their log scales, the bound of the last descent, and whether they still separate."""

    alive: Index
    log_scale: Array
    bound: float
    separates: bool = True
    finished: bool = True

    def best(self, n_wanted: int) -> Descent:
        """Return what has the largest scales, where the descents were stopped."""
        order = np.sort(np.argsort(-self.log_scale, kind="stable")[:n_wanted])
        return replace(self, alive=self.alive[order], log_scale=self.log_scale[order], finished=False)


class RadiusMargin:
    """log R² + log W², averaged over machines, as a function of log scales.

    ``slack_radius`` is what the coordinates of slacks, each 1/(2C) squared, may add to R².
    """

    def __init__(
        self,
        design: Design,
        bands: Sequence[Bands],
        tol: float,
        slack_radius: float = 0.0,
        kernel: Kernel | None = None,
    ) -> None:
        self._design = design
        self._slack_radius = slack_radius
        self._bands = bands
        self._tol = tol
        self._kernel = kernel
        self._squares = design.squares()
        self._machines: list[IndependentMachines] = []
        self._states = [initial_state(each) for each in bands]
        self._gamma: Array | None = None
        self._betas: list[Array] = []
        self._gram = (np.empty(0), np.empty(0))
        self.overlap = 0.0  # the slacks' share of W²
        self.violation = 0.0
        if kernel is None and prefers_primal(design, bands):
            self._machines = [IndependentMachines([each]) for each in bands]
            self._sphere = RowSphere(design.by_rows())

    def __call__(self, log_scale: Array) -> tuple[float, Array]:
        """Return the bound and its gradient."""
        s2 = np.exp(2.0 * log_scale)
        share = s2 * self._squares
        total = share.sum()
        if total > 0.0:
            # the data keep their size: otherwise larger scales would just make slack cheaper
            s2, share = s2 * (self._squares.sum() / total), share / total
        squared_radius, radius_slope, machines = self._from_rows(s2) if self._machines else self._from_gram(s2)
        value = float(np.log(squared_radius))
        slope = radius_slope / squared_radius
        self.overlap = 0.0
        for squared_weights, slack, weights_slope in machines:
            value += float(np.log(squared_weights)) / len(machines)
            slope += weights_slope / squared_weights / len(machines)
            self.overlap += slack / squared_weights / len(machines)
        return value, slope - share * slope.sum()

    def separates(self) -> bool:
        """Say whether a hard margin exists; of soft ones, always."""
        hard = not any(each.ridge.any() for each in self._bands)
        if hard:
            with np.errstate(over="ignore", invalid="ignore"):  # without a margin dual variables have no bound
                self(np.zeros(self._design.n_features))
        return not hard or self.violation <= INSEPARABLE

    def kkt_excess(self, others: Design) -> Array:
        """Return how fast W² would fall, for the machines last solved, if each of other features came in."""
        if self._kernel is None:
            return np.asarray((others.weights(np.stack(self._betas, axis=1)) ** 2).sum(axis=1))
        S, K = self._gram
        M = np.asarray(sum(np.outer(beta, beta) for beta in self._betas))
        return others.quadratic_forms(self._kernel.pull_back(M, S, K))

    def _from_rows(self, s2: Array) -> tuple[float, Array, list[tuple[float, float, Array]]]:
        """Return R² and its slope, and W², slack and slope of each machine, without a Gram matrix."""
        squared_radius, gamma = self._sphere.solve(s2)
        centre = self._design.weights(gamma)
        slope = 2.0 * s2 * (self._design.weighted_squares(gamma) - centre**2)
        machines = []
        self._betas = []
        for each, bands in zip(self._machines, self._bands, strict=True):
            solution = each.solve(self._design, s2, self._tol)
            f = self._design.scores(solution.weights[0]) + solution.intercept[0]
            self._betas.append((np.maximum(bands.lower - f, 0.0) - np.maximum(f - bands.higher, 0.0)) / bands.ridge)
            length = solution.weights[0] ** 2 / s2  # of w in the scaled space
            machines.append((float(length.sum()) + 2.0 * solution.loss, 2.0 * solution.loss, -2.0 * length))
        return max(squared_radius, np.finfo(float).tiny) + self._slack_radius, slope, machines

    def _from_gram(self, s2: Array) -> tuple[float, Array, list[tuple[float, float, Array]]]:
        """Return the same from the Gram matrix."""
        S = self._design.gram(s2)
        K = S if self._kernel is None else gram(self._kernel, S)
        squared_radius, self._gamma = smallest_sphere(K, self._gamma)
        slope = self._slope(s2, S, K, self._gamma, np.diag(self._gamma))
        machines = []
        self._gram, self._betas, self.violation = (S, K), [], 0.0
        for q, each in enumerate(self._bands):
            solution = solve_bands(K, each, state=self._states[q], tol=self._tol)
            self.violation = float(np.maximum(self.violation, solution.violation))
            self._states[q], beta = solution.state, solution.beta
            self._betas.append(beta)
            slack = float(each.ridge @ beta**2)
            squared_weights = max(float(beta @ (K @ beta)) + slack, np.finfo(float).tiny)
            machines.append((squared_weights, slack, self._slope(s2, S, K, beta, None)))
        return max(squared_radius, np.finfo(float).tiny) + self._slack_radius, slope, machines

    def _slope(self, s2: Array, S: Array, K: Array, dual: Array, diagonal: Array | None) -> Array:
        """Return the slope in log σ of a quantity whose slope in K is ``diagonal`` - dual dual'."""
        design = self._design
        if self._kernel is None:
            squares = 0.0 if diagonal is None else design.weighted_squares(dual)
            return np.asarray(2.0 * s2 * (squares - design.weights(dual) ** 2))
        M = -np.outer(dual, dual)
        B = self._kernel.pull_back(M if diagonal is None else M + diagonal, S, K)
        return np.asarray(2.0 * s2 * design.quadratic_forms(B))


def descend(
    design: Design,
    bands: list[Bands],
    n_wanted: int,
    *,
    halving: bool,
    tol: float,
    monitor: Monitor,
    slack_radius: float = 0.0,
    kernel_of: KernelOf = lambda _: None,
) -> Descent:
    """Lower the bound, remove the half of the features with the smallest scales, and repeat.

    Without halving one descent is all, and the features with the largest scales are kept.  Where classes overlap
    much, descents with a stronger ridge follow; the better of both answers is improved by exchanges of single
    features, as measured by the bound itself at the ridge asked for and scales of one.

    Raises
    ------
    InseparableError
        If there is no ridge and all features together do not separate the classes.
    """
    task = _Task(bands, tol, slack_radius, kernel_of)
    with monitor.watch():
        return _descend(design, task, n_wanted, monitor, halving=halving)
    latest: Descent = monitor.latest
    return latest.best(n_wanted)


def _descend(design: Design, task: _Task, n_wanted: int, monitor: Monitor, *, halving: bool) -> Descent:
    first = task.bound(design)
    if not first.separates():
        raise InseparableError
    first(np.zeros(design.n_features))
    found = _halvings(design, task, n_wanted, monitor, halving=halving)
    if first.overlap <= OVERLAP or n_wanted == design.n_features:
        return found
    other = _halvings(design, task.stronger(design), n_wanted, monitor, halving=halving)
    values = [task.value(design.keep(each.alive)) for each in (found, other)]
    found = found if values[0] <= values[1] else other
    return _exchange(design, task, found, min(values), monitor) if n_wanted <= MOST_SWAPS else found


@dataclass(frozen=True, eq=False)
class _Task:
    """What the bound is made of besides features and scales."""

    bands: list[Bands]
    tol: float
    slack_radius: float
    kernel_of: KernelOf

    def bound(self, design: Design) -> RadiusMargin:
        """Return the bound as a function of log scales."""
        return RadiusMargin(design, self.bands, self.tol, self.slack_radius, self.kernel_of(design))

    def value(self, design: Design) -> float:
        """Return the bound of features with scales of one."""
        return float(np.exp(self.bound(design)(np.zeros(design.n_features))[0]))

    def stronger(self, design: Design) -> _Task:
        """Return the same with a ridge beside which the data are small, so that slacks depend on scales."""
        kernel = self.kernel_of(design)
        diagonal = design.squares().sum() / design.n_rows
        if kernel is not None:
            diagonal = np.diag(gram(kernel, design.gram(None))).mean()
        factor = max(STRONG * float(diagonal) / self.slack_radius, 1.0)
        bands = [replace(each, ridge=factor * each.ridge) for each in self.bands]
        return replace(self, bands=bands, slack_radius=factor * self.slack_radius)


def _halvings(design: Design, task: _Task, n_wanted: int, monitor: Monitor, *, halving: bool) -> Descent:
    """Return the features left by descents with ever fewer of them; the bound is that of the last descent."""
    log_scale = np.zeros(design.n_features)
    while True:
        found = minimize(
            task.bound(design),
            log_scale,
            jac=True,
            method="L-BFGS-B",
            bounds=[(LEAST, 0.0)] * design.n_features,
            options={"maxiter": ITERATIONS},
        )
        value = float(np.exp(found.fun))
        varying = design.squares() > 0.0  # a constant has no slope, and would keep the scale that it began with
        log_scale = np.where(varying, found.x, LEAST)
        _note(monitor, "optimize", Descent(design.features, log_scale, value))
        n_left = max(n_wanted, design.n_features // 2) if halving else n_wanted
        order = np.argsort(np.where(varying, -log_scale, np.inf), kind="stable")
        if halving:
            n_left = _separating(design, task, order, n_left)
            n_left = n_left if n_left < design.n_features else n_wanted  # so few do not separate
        best = np.sort(order[:n_left])
        log_scale = log_scale[best] - log_scale[best].max(initial=LEAST)
        design = design.keep(best)
        if n_left == n_wanted:
            return Descent(design.features, log_scale, value, task.bound(design).separates())


def _separating(design: Design, task: _Task, order: Index, least: int) -> int:
    """Return how many features are to be kept: ``least``, or so many more that they separate the classes."""
    n_left = least
    while n_left < design.n_features:
        if task.bound(design.keep(np.sort(order[:n_left]))).separates():
            return n_left
        n_left = (n_left + design.n_features + 1) // 2
    return n_left


def _exchange(design: Design, task: _Task, found: Descent, value: float, monitor: Monitor) -> Descent:
    """Exchange features left for others while that lowers the bound at scales of one.

    For each feature left, the others are looked at that the machine without it asks for most.
    """
    alive = found.alive
    every = np.arange(design.n_features)
    for _ in range(PASSES):
        before = value
        for feature in alive.tolist():
            rest = alive[alive != feature]
            bound = task.bound(design.keep(rest))
            bound(np.zeros(rest.size))
            outside = np.setdiff1d(every, alive)
            wishes = bound.kkt_excess(design)[outside]
            for j in outside[np.argsort(-wishes, kind="stable")[:TRIALS]].tolist():
                new = np.sort(np.append(rest, j))
                lower = task.value(design.keep(new))
                if lower < (1.0 - FALLS) * value:
                    value, alive = lower, new
                    _note(monitor, "swap", Descent(alive, np.zeros(alive.size), value), j)
                    break
        if value == before:
            break
    if alive is found.alive:
        return found
    return Descent(alive, np.zeros(alive.size), value)


def _note(monitor: Monitor, kind: str, done: Descent, feature: int = -1) -> None:
    n_left = done.alive.size
    monitor.step(done, kind=kind, objective=done.bound, n_selected=n_left, cost=float(n_left), feature=feature)
