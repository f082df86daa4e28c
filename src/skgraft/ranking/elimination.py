"""Recursive feature elimination: train, remove the features that matter least, repeat (Guyon et al. 2002)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.ranking.kernels import Kernel, gram
from skgraft.run import Monitor
from skgraft.svm import (
    INSEPARABLE,
    Bands,
    DenseDesign,
    Design,
    IndependentMachines,
    InseparableError,
    MachineSolution,
    OneByOne,
    State,
    prefers_primal,
    softened,
    solve_bands,
)

KernelOf = Callable[[Design], Kernel | None]

FEW = 10
COMPILED_CELLS = 50_000  # cells beyond which single steps are worth compiled code
COMPILED_ROWS = 800


@dataclass(frozen=True)
class Elimination:
    """What is left and when the others went.

    Attributes
    ----------
    alive : ndarray of int
        The features left, ascending.
    removed : list of ndarray
        The features of each step, in order.
    size : ndarray
        Σ_q of what each feature left adds to W² of machine q: its squared weights, if the kernel is linear.
    violation : float
        Violation of the conditions of the machine on the features left.
    solution : MachineSolution or None
        That machine, if it is linear.
    softened_at : int or None
        With how many features the classes were no longer separated, though no slack was allowed.
    finished : bool
        Whether it came to its end.
    """

    alive: Index
    removed: list[Index]
    size: Array
    violation: float
    solution: MachineSolution | None = None
    softened_at: int | None = None
    finished: bool = True

    def objective(self) -> float:
        """Return W² of the machine that these features were left by, if it is linear."""
        return float("nan") if self.solution is None else float((self.solution.weights**2).sum())


def default_number(n_features: int) -> int:
    """Return how many features are left where nobody says: half of them, but ten at least if there are ten."""
    return max(n_features // 2, min(n_features, FEW))


def how_many(n_left: int, n_wanted: int, step: float) -> int:
    """Return how many features the next step removes: ``step``, or that share of those left, one at least."""
    wish = int(step) if step >= 1 else int(step * n_left)
    return min(max(1, wish), n_left - n_wanted)


def eliminate(
    design: Design,
    bands: list[Bands],
    n_wanted: int,
    step: float,
    tol: float,
    monitor: Monitor,
    kernel_of: KernelOf = lambda _: None,
) -> Elimination:
    """Remove features until ``n_wanted`` are left.

    Parameters
    ----------
    design : Design
        The features.
    bands : list of Bands
        The conditions of the machine of each output.
    n_wanted : int
        How many features are to be left.
    step : float
        Features removed at a time, or the share of those left if below one.
    tol : float
        Accuracy of the machines.
    monitor : Monitor
        Told of each step; may end the elimination, which then has more features left.
    kernel_of : callable
        Returns the kernel on some features, None for the linear one.

    Raises
    ------
    InseparableError
        If no slack is allowed and all features together do not separate the classes.
    """
    machine = KernelMachine(bands, kernel_of) if kernel_of(design) else LinearMachine(bands)
    run = _Run(design, machine, n_wanted, step, tol)
    with monitor.watch():
        if isinstance(machine, LinearMachine) and run.worth_compiling(bands):
            run.one_by_one(bands, monitor)
        return run.go(monitor)
    return replace(run.solved(), finished=False)


def violation_left(violation: float) -> str:
    """Return what to say of a machine that was not solved to its tolerance."""
    return f"The machine on the selected features is solved to {violation:.1e} only. Raise tol, or set a smaller C."


class LinearMachine:
    """One linear machine for each output, on ever fewer features."""

    def __init__(self, bands: list[Bands]) -> None:
        self._bands = bands
        self._machines = IndependentMachines(bands)
        self.hard = all(not each.ridge.any() and np.isinf(each.upper).all() for each in bands)
        self.solution: MachineSolution | None = None

    def solve(self, design: Design, tol: float) -> tuple[Array, float]:
        """Return the squared weights of the features and the violation."""
        self.solution = self._machines.solve(design, None, tol)
        return (self.solution.weights**2).sum(axis=0), self.solution.violation

    def keep(self, stay: NDArray[np.bool_]) -> None:
        """Forget about the other features."""
        self._machines.keep(stay)

    def soften(self, design: Design) -> None:
        """Allow slack from now on, as little as there can be."""
        self._machines, self.hard = IndependentMachines(softened(self._bands, design)), False


class KernelMachine:
    """One machine with a kernel for each output.

    A feature adds W² - W²₍₋ₚ₎ to W² = β'Kβ, the dual variables β staying what they are while K loses the feature
    (Weston et al. 2003, section 4.3).
    """

    solution = None

    def __init__(self, bands: list[Bands], kernel_of: KernelOf) -> None:
        self._bands = bands
        self._kernel_of = kernel_of
        self._states: list[State | None] = [None] * len(bands)
        self.hard = all(not each.ridge.any() and np.isinf(each.upper).all() for each in bands)

    def solve(self, design: Design, tol: float) -> tuple[Array, float]:
        """Return what the features add to W², and the violation."""
        kernel = self._kernel_of(design)
        assert kernel is not None  # noqa: S101 -- linear machines have weights
        S = design.gram(None)
        K = gram(kernel, S)
        size, violation = np.zeros(design.n_features), 0.0
        for q, each in enumerate(self._bands):
            solution = solve_bands(K, each, state=self._states[q], tol=tol)
            self._states[q] = solution.state
            violation = float(np.maximum(violation, solution.violation))
            size += self._added(design, kernel, S, solution.beta)
        return size, violation

    @staticmethod
    def _added(design: Design, kernel: Kernel, S: Array, beta: Array) -> Array:
        carrying = np.flatnonzero(beta)
        beta, S = beta[carrying], np.ascontiguousarray(S[np.ix_(carrying, carrying)])
        whole = float(beta @ gram(kernel, S) @ beta)
        size = np.empty(design.n_features)
        for p in range(design.n_features):
            x = design.column(p)[carrying]
            size[p] = abs(whole - float(beta @ gram(kernel, S - np.outer(x, x)) @ beta))
        return size

    def keep(self, stay: NDArray[np.bool_]) -> None:
        """Forget about the other features: nothing here depends on them."""

    def soften(self, design: Design) -> None:
        """Allow slack from now on, as little as there can be."""
        self._bands, self.hard = softened(self._bands, design), False


class _Run:
    """The elimination as it goes on."""

    def __init__(
        self, design: Design, machine: LinearMachine | KernelMachine, n_wanted: int, step: float, tol: float
    ) -> None:
        self._design = design
        self._machine = machine
        self._n_wanted = n_wanted
        self._step = step
        self._tol = tol
        self._removed: list[Index] = []
        self._softened_at: int | None = None

    def worth_compiling(self, bands: list[Bands]) -> bool:
        """Say whether features go one by one from a dense X so wide that compiled code is worth its loading."""
        design = self._design
        wide = not prefers_primal(design, bands) and design.n_rows <= COMPILED_ROWS
        plain = all(not each.ridge.any() for each in bands)
        dense = isinstance(design, DenseDesign) and design.rows.size > COMPILED_CELLS
        return self._step == 1 and dense and plain and wide and design.n_features > self._n_wanted

    def one_by_one(self, bands: list[Bands], monitor: Monitor) -> None:
        """Remove features in compiled code."""
        design = self._design
        assert isinstance(design, DenseDesign)  # noqa: S101 -- see worth_compiling
        if self._machine.hard:
            self.solved()  # says where nothing separates at all
        compiled = OneByOne(design, bands, self._tol, hard=self._machine.hard)
        order = np.arange(design.n_features)
        try:
            for order, k in compiled.run(self._n_wanted):
                for at in range(design.n_features - len(self._removed) - 1, k - 1, -1):
                    self._removed.append(order[at : at + 1])
                    self._tell(monitor, Elimination(order[:at], self._removed, np.empty(0), 0.0))
        finally:
            self._design = design.keep(np.sort(order[: design.n_features - len(self._removed)]))

    def solved(self) -> Elimination:
        """Solve the machine on the features left."""
        design, machine = self._design, self._machine
        with np.errstate(over="ignore", invalid="ignore"):  # without a margin dual variables have no bound
            size, violation = machine.solve(design, self._tol)
        if machine.hard and not violation <= INSEPARABLE:
            if not self._removed:
                raise InseparableError
            self._softened_at = design.n_features
            machine.soften(design)
            size, violation = machine.solve(design, self._tol)
        return Elimination(design.features, self._removed, size, violation, machine.solution, self._softened_at)

    def go(self, monitor: Monitor) -> Elimination:
        """Solve, remove the least features, repeat."""
        while True:
            now = self.solved()
            n_left = self._design.n_features
            if n_left <= self._n_wanted:
                return now
            worst = np.argsort(now.size, kind="stable")[: how_many(n_left, self._n_wanted, self._step)]
            self._removed.append(self._design.features[worst])
            stay = np.ones(n_left, dtype=bool)
            stay[worst] = False
            self._design = self._design.keep(stay)
            self._machine.keep(stay)
            self._tell(monitor, replace(now, alive=self._design.features))

    def _tell(self, monitor: Monitor, now: Elimination) -> None:
        monitor.step(
            now,
            kind="drop",
            objective=now.objective(),
            n_selected=now.alive.size,
            cost=float(now.alive.size),  # every feature costs one
            feature=int(self._removed[-1][0]),
            gradient=now.violation,
        )
