"""The rounds of l2-AROM in a space of monomials, whether that is explicit or by kernels alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array
from skgraft.run import Ending, History, Monitor
from skgraft.svm import InseparableError

SOLVED = 1e-4  # violation of the optimality conditions, in margins, up to which a machine counts as solved


@dataclass(frozen=True, eq=False)
class Task:
    """What machines have to tell apart.

    Attributes
    ----------
    signs : ndarray of shape (n_outputs, n_rows)
        The classes of each machine, +1 and -1.
    ridge : ndarray of shape (n_rows,)
        Ridge on the kernel, 1/(2 C s_i); zero for a hard margin.
    """

    signs: Array
    ridge: Array

    @property
    def hard(self) -> bool:
        """Whether no slack is allowed."""
        return not self.ridge.any()

    def separated(self, scores: Array) -> bool:
        """Say whether scores (n_outputs, n_rows) are on the right side everywhere."""
        return bool((self.signs * scores > 0.0).all())


@dataclass(frozen=True, eq=False)
class Solved:
    """Machines of one round: weights as the space writes them, intercepts, KKT violation and criterion."""

    weights: Array
    intercept: Array
    violation: float
    criterion: float
    separated: bool


class Solver(Protocol):
    """Solves machines round after round, each from where the one before ended."""

    def solve(self, space: Any) -> Solved:
        """Solve the machines of a space at its present scales."""
        ...


class Space(Protocol):
    """A space of monomials with scales z, see :class:`MonomialSpace` and :class:`SpanSpace`."""

    def solver(self, task: Task) -> Solver:
        """Return what solves its machines."""
        ...

    def rescaled(self, weights: Array, *, lengthen: bool = False) -> tuple[Self, float]:
        """Return the space after a round, and how much its weights have changed."""
        ...

    def feature_masses(self) -> Array:
        """Return the squared weights behind each feature."""
        ...

    def support(self) -> NDArray[np.bool_]:
        """Say which features are left."""
        ...

    def polynomial(self) -> Any:
        """Return what gives the scores of new rows."""
        ...


@dataclass(frozen=True, eq=False)
class Round:
    """What a round leaves behind."""

    space: Any
    intercept: Array
    violation: float
    criterion: float


@dataclass(frozen=True, eq=False)
class KernelRounds:
    """The result of all rounds."""

    last: Round
    history: History
    converged: bool
    ending: Ending


def run_rounds(space: Space, task: Task, tol: float, max_iter: int, monitor: Monitor) -> KernelRounds:
    """Solve machines and rescale until the weights stay as they are.

    Parameters
    ----------
    space : Space
        The space at its start, z = (1, ..., 1).
    task : Task
        What the machines have to tell apart.
    tol : float
        Relative change of the weights at which rounds end.
    max_iter : int
        Largest number of rounds.
    monitor : Monitor
        Keeps the history.

    Raises
    ------
    InseparableError
        If a hard margin does not exist.
    """
    converged = False
    with monitor.watch():
        converged = _rounds(space, task, tol, max_iter, monitor)
    message = (
        f"The rounds did not settle to tol={tol:g} in {len(monitor.history)} rounds (max_iter={max_iter}): raise "
        "max_iter or tol, or give C a smaller value."
    )
    return KernelRounds(monitor.latest, monitor.history, converged, monitor.ending(message, converged=converged))


def _rounds(space: Any, task: Task, tol: float, max_iter: int, monitor: Monitor) -> bool:
    solver = space.solver(task)
    for step in range(max_iter):
        solved = solver.solve(space)
        if task.hard and not solved.separated:
            if step == 0:
                raise InseparableError
            return False  # rounding has taken the margin: the round before is the last good one
        space, change = space.rescaled(solved.weights, lengthen=not task.hard)
        n_selected = int(space.support().sum())
        monitor.step(
            Round(space, solved.intercept, solved.violation, solved.criterion),
            kind="round",
            objective=solved.criterion,
            n_selected=n_selected,
            cost=float(n_selected),  # every feature costs one
            feature=_strongest(space),
            gradient=solved.violation,
        )
        if change <= tol:
            return bool(solved.violation <= SOLVED)
    return False


def _strongest(space: Any) -> int:
    masses = space.feature_masses()
    return int(np.argmax(masses)) if masses.any() else -1
