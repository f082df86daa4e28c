"""The machines that a round of l2-AROM solves: one for each output, all on the same scales.

Two classes and regression have one output.  One-against-the-rest has as many as there are classes, sharing the scales
(Weston et al. 2003, Problem 11) and therefore the Gram matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgraft.arrays import Array, Mask
from skgraft.svm.design import Design
from skgraft.svm.dual import Bands, DualSolution, State, initial_state, solve_bands
from skgraft.svm.primal import Primal

#: A slack beyond this in a machine that allows none proves that nothing separates: slacks of inseparable data have
#: a weighted mean of one at least.
INSEPARABLE = 0.5
SOFTENED = 1e-6  # ridge, as part of a row's mean square, of machines that should have none but do not separate
DUAL_ROWS = 3000  # rows beyond which the Gram matrix of all of them is not formed
DUAL_SHARE = 1.0 / 3.0  # the dual is solved while features are more than this share of the rows
SPARSE_DUAL_ROWS = 300  # the same for sparse features, whose products are cheap in the primal
DIRECT_FEATURES = 1500  # features up to which a Newton step is a Cholesky decomposition
DIRECT_SPARSE = 400
FIRST_ROWS = 400  # rows of the first working set


#: Where the zero-norm of the slacks is minimised: the slack, in units of the margin, that counts as none.  Like ε in
#: Problem 6 it keeps the logarithm finite, and it keeps constraints that are met from becoming infinitely stiff.
NO_SLACK = 1e-3


class InseparableError(ValueError):
    """No hyperplane separates the classes (or no function stays in the tube) without slack."""


@dataclass(frozen=True)
class MachineSolution:
    """Weights (n_outputs, n_alive) for the features as given, intercepts, violation and loss of a round's machine."""

    weights: Array
    intercept: Array
    violation: float
    loss: float


class SVMProblem(Protocol):
    """What the rounds ask of a machine."""

    power: int  #: p of the norm 1/p Σ |w|^p that it minimises

    @property
    def hard(self) -> bool:
        """Whether no slack is allowed anywhere."""

    def solve(self, design: Design, squared_scale: Array | None, tol: float) -> MachineSolution:
        """Solve with features multiplied by their scales."""

    def keep(self, which: Mask) -> None:
        """Forget about the other features."""

    def count_errors(self) -> None:
        """State the loss as the zero-norm of the slack (q = 0)."""

    def rescale_errors(self) -> None:
        """Multiply the scale of each slack by its size (q = 0)."""

    def norm_of(self, weights: Array) -> float:
        """Return what weights cost on features at their own scale."""

    def afresh(self, *, softened: float = 0.0) -> SVMProblem:
        """Return the machine at its start; ``softened`` is a ridge where there is none."""


def slack_loss(slack: Array, ridge: Array, *, log: bool) -> float:
    """Return Σ C s ξ², or Σ C s ln(ξ² + NO_SLACK²) for the zero-norm; C s is 1/(2 ridge), no slack without a ridge."""
    priced = ridge > 0.0
    squares = slack[priced] ** 2
    size = np.log(squares + NO_SLACK**2) if log else squares
    return float((size / (2.0 * ridge[priced])).sum())


def half_squares(weights: Array) -> float:
    """Return ½ Σ w²."""
    return 0.5 * float((weights * weights).sum())


class IndependentMachines:
    """One machine for each output.

    Parameters
    ----------
    bands : sequence of Bands
        The conditions of each output, with the ridge 1/(2 C s_i) of its rows.
    """

    power = 2

    def __init__(self, bands: Sequence[Bands]) -> None:
        self._first = list(bands)
        self._bands = list(bands)
        self._states: list[State] = [initial_state(each) for each in bands]
        self._working: list[NDArray[np.intp] | None] = [None] * len(self._bands)
        self._primal: list[Primal] | None = None
        self._alive = np.empty(0, np.intp)  # features of the primal machines
        self._weights: Array | None = None
        self._intercept = np.zeros(len(self._bands))
        self._slack: list[Array] = []
        self._log_loss = False

    @property
    def hard(self) -> bool:
        """Whether no slack is allowed anywhere."""
        return all(not each.ridge.any() for each in self._first)

    def afresh(self, *, softened: float = 0.0) -> IndependentMachines:
        """Return the machines at their start; ``softened`` is a ridge where there is none."""
        ridged = [replace(each, ridge=np.where(each.ridge > 0.0, each.ridge, softened)) for each in self._first]
        return IndependentMachines(ridged)

    def keep(self, which: Mask) -> None:
        """Forget about the other features."""
        if self._weights is not None:
            self._weights = self._weights[:, which]

    def rescale_errors(self) -> None:
        """Multiply the scale of each slack by its size: the ridge 1/(2C) becomes (ξ² + NO_SLACK²)/(2C)."""
        self._bands = [
            replace(first, ridge=first.ridge * (slack**2 + NO_SLACK**2))
            for first, slack in zip(self._first, self._slack, strict=True)
        ]
        self._primal = None

    def count_errors(self) -> None:
        """State the loss as the zero-norm of the slack."""
        self._log_loss = True

    def norm_of(self, weights: Array) -> float:
        """Return ½ Σ w²."""
        return half_squares(weights)

    def solve(self, design: Design, squared_scale: Array | None, tol: float) -> MachineSolution:
        """Solve with features multiplied by their scales."""
        solver = self._solve_primal if prefers_primal(design, self._bands) else self._solve_dual
        violation = solver(design, squared_scale, tol)
        assert self._weights is not None  # noqa: S101 -- set by either solver
        return MachineSolution(self._weights, self._intercept.copy(), violation, self._loss())

    def _loss(self) -> float:
        """Return the price of the slacks of all outputs."""
        pairs = zip(self._first, self._slack, strict=True)
        return sum(slack_loss(slack, first.ridge, log=self._log_loss) for first, slack in pairs)

    def _solve_primal(self, design: Design, squared_scale: Array | None, tol: float) -> float:
        X = design.by_rows() if self._primal is None or self._primal[0].n_features != design.n_features else None
        direct = design.n_features <= (DIRECT_SPARSE if design.is_sparse else DIRECT_FEATURES)
        if self._primal is None:
            self._primal = [Primal(X, each, direct=direct) for each in self._bands]
            if self._weights is not None:
                for k, primal in enumerate(self._primal):
                    primal.weights, primal.intercept = self._weights[k], float(self._intercept[k])
        elif X is not None:
            for primal in self._primal:
                primal.keep(X, np.isin(self._alive, design.features, assume_unique=True), direct=direct)
        self._alive = design.features
        scale = np.ones(design.n_features) if squared_scale is None else squared_scale
        solutions = [primal.solve(scale, tol) for primal in self._primal]
        self._weights = np.stack([each.weights for each in solutions])
        self._intercept = np.array([each.intercept for each in solutions])
        self._slack = [each.slack for each in solutions]
        return max(each.violation for each in solutions)

    def _solve_dual(self, design: Design, squared_scale: Array | None, tol: float) -> float:
        by_working_sets = design.n_rows > DUAL_ROWS
        K = None if by_working_sets else design.gram(squared_scale)
        weights, violation, slacks = [], 0.0, []
        for k, bands in enumerate(self._bands):
            if K is None:
                solution, self._working[k] = solve_by_rows(design, squared_scale, bands, self._working[k], tol)
            else:
                solution = solve_bands(K, bands, state=self._states[k], tol=tol)
            self._states[k], self._intercept[k] = solution.state, solution.intercept
            weights.append(solution.beta)
            violation = max(violation, solution.violation)
            slacks.append(bands.ridge * np.abs(solution.beta))
        v = design.weights(np.stack(weights, axis=1)).T
        self._weights = v if squared_scale is None else v * squared_scale
        self._slack = slacks
        return violation


def softening(design: Design, squared_scale: Array | None = None) -> float:
    """Return the ridge that hard margins get on features that do not separate, by the mean square of a row."""
    squares = design.squares()
    total = float(squares.sum() if squared_scale is None else squares @ squared_scale)
    return SOFTENED * max(total / design.n_rows, np.finfo(float).tiny)


def softened(bands: Sequence[Bands], design: Design) -> list[Bands]:
    """Return bands of hard margins with a small ridge, for features that do not separate."""
    ridge = softening(design)
    return [replace(each, ridge=np.where(each.ridge > 0.0, each.ridge, ridge)) for each in bands]


def prefers_primal(design: Design, bands: Sequence[Bands]) -> bool:
    """Say whether machines on these features are solved by Newton's method rather than from a Gram matrix."""
    if not all((each.ridge > 0.0).all() for each in bands):
        limited = all(np.isfinite(each.upper).all() and not each.ridge.any() for each in bands)
        return limited and design.n_features < DUAL_SHARE * design.n_rows and design.n_features <= DIRECT_FEATURES
    if design.is_sparse:
        return design.n_rows > SPARSE_DUAL_ROWS
    return design.n_features < DUAL_SHARE * design.n_rows or design.n_rows > DUAL_ROWS


def solve_by_rows(
    design: Design, squared_scale: Array | None, bands: Bands, working: NDArray[np.intp] | None, tol: float
) -> tuple[DualSolution, NDArray[np.intp]]:
    """Solve a machine of many rows by working sets: rows that fail come in, rows inside their bands leave."""
    n = design.n_rows
    X = design.by_rows()
    z2 = np.ones(design.n_features) if squared_scale is None else squared_scale
    if working is None:
        working = _first_working_set(bands, n)
    state: State | None = None
    while True:
        part = X[working]
        K = gram_of(part, z2)
        some = Bands(bands.lower[working], bands.higher[working], bands.upper[working], bands.ridge[working])
        solution = solve_bands(K, some, state=state, tol=tol)
        v = z2 * np.asarray(part.T @ solution.beta)
        f = np.asarray(X @ v) + solution.intercept
        outside = np.maximum(bands.lower - f, f - bands.higher)
        outside[working] = -np.inf
        failing = np.flatnonzero(outside > tol)
        if not failing.size or solution.violation > INSEPARABLE:
            break
        most = max(FIRST_ROWS, working.size // 2)
        if failing.size > most:
            failing = failing[np.argpartition(-outside[failing], most)[:most]]
        stay = (solution.state != 0) | (np.maximum(bands.lower - f, f - bands.higher)[working] > -1.0)
        state = np.concatenate([solution.state[stay], _edge(bands, failing, f)])
        working = np.concatenate([working[stay], failing])
    beta, full = np.zeros(n), np.zeros(n, dtype=np.int8)
    beta[working], full[working] = solution.beta, solution.state
    return replace(solution, beta=beta, state=full), working


def gram_of(X: Any, squared_scale: Array) -> Array:
    """Return X diag(z²) X' of rows, dense or sparse."""
    if sparse.issparse(X):
        return np.ascontiguousarray((X.multiply(squared_scale).tocsr() @ X.T).toarray())
    return np.asarray((X * squared_scale) @ X.T)


def _edge(bands: Bands, rows: NDArray[np.intp], f: Array) -> State:
    return np.where(f[rows] < bands.lower[rows], 1, -1).astype(np.int8)


def _first_working_set(bands: Bands, n_rows: int) -> NDArray[np.intp]:
    """Return rows of both sides, at random."""
    rng = np.random.default_rng(0)
    rising = np.isfinite(bands.lower)
    both = rising & np.isfinite(bands.higher)
    if both.any():
        return np.sort(rng.permutation(n_rows)[:FIRST_ROWS])
    half = FIRST_ROWS // 2
    sides = [rng.permutation(np.flatnonzero(side))[:half] for side in (rising, ~rising)]
    return np.sort(np.concatenate(sides))
