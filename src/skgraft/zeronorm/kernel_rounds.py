"""The rounds of l2-AROM in a space of monomials, whether that is explicit or by kernels alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from skgraft.grafting.history import History
from skgraft.grafting.loop import Monitor, Stop
from skgraft.zeronorm.dual import State, solve_dual
from skgraft.zeronorm.machines import InseparableError

Array = NDArray[np.float64]

SOLVED = 1e-4  # violation of the optimality conditions, in margins, up to which a machine counts as solved


class Space(Protocol):
    """A space of monomials with scales z, see :class:`MonomialSpace` and :class:`SpanSpace`."""

    def gram(self) -> Array:
        """Return the Gram matrix of the rescaled training rows."""
        ...

    def rescaled(self, beta: Array, *, lengthen: bool = False) -> tuple[Self, float]:
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
    """What a round leaves behind; also what the monitor asks of a model."""

    space: Any
    intercept: Array
    violation: float
    criterion: float

    def objective(self) -> float:
        """Return the machines' criterion."""
        return self.criterion

    @property
    def n_selected(self) -> int:
        """Number of input features left."""
        return int(self.space.support().sum())

    @property
    def total_cost(self) -> float:
        """Every feature costs one."""
        return float(self.n_selected)

    def save(self) -> Round:
        """Return itself: a round is never changed."""
        return self


@dataclass(frozen=True, eq=False)
class KernelRounds:
    """The result of all rounds."""

    last: Round
    history: History
    converged: bool
    interrupted: bool
    stopped: bool


def run_rounds(space: Space, signs: Array, ridge: Array, tol: float, max_iter: int, monitor: Monitor) -> KernelRounds:
    """Solve machines and rescale until the weights stay as they are.

    Parameters
    ----------
    space : Space
        The space at its start, z = (1, ..., 1).
    signs : ndarray of shape (n_outputs, n_rows)
        The classes of each machine, +1 and -1.
    ridge : ndarray of shape (n_rows,)
        Ridge on the kernel, zero for a hard margin.
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
    converged = interrupted = False
    try:
        converged = _rounds(space, signs, ridge, tol, max_iter, monitor)
    except Stop:
        pass
    except KeyboardInterrupt:
        if monitor.latest is None:
            raise
        interrupted = True
    finally:
        monitor.close()
    return KernelRounds(monitor.latest, monitor.history, converged, interrupted, monitor.stopped)


def _rounds(space: Any, signs: Array, ridge: Array, tol: float, max_iter: int, monitor: Monitor) -> bool:
    hard = not ridge.any()
    states: list[State | None] = [None] * len(signs)
    for step in range(max_iter):
        K = space.gram()
        beta, intercept, violation = np.zeros(signs.shape), np.full(len(signs), -1.0), 0.0
        for k, y in enumerate(signs):
            if (y < 0.0).all():
                continue  # a class that sample weights have left without rows
            solution = solve_dual(K, y, ridge=ridge, state=states[k])
            beta[k], intercept[k], states[k] = solution.beta, solution.intercept, solution.state
            violation = max(violation, solution.violation)
        if hard and _wrong_side(K, signs, beta, intercept):
            if step == 0:
                raise InseparableError
            return False  # rounding has taken the margin: the round before is the last good one
        space, change = space.rescaled(beta, lengthen=not hard)
        criterion = float((beta * (beta @ K)).sum() + (ridge * beta**2).sum())
        done: Any = Round(space, intercept, violation, criterion)  # a model to the monitor, not one that grows
        monitor.record(done, "round", _strongest(space), violation)
        if change <= tol:
            return violation <= SOLVED
    return False


def _wrong_side(K: Array, signs: Array, beta: Array, intercept: Array) -> bool:
    return bool((signs * (beta @ K + intercept[:, None]) <= 0.0).any())


def _strongest(space: Any) -> int:
    masses = space.feature_masses()
    return int(np.argmax(masses)) if masses.any() else -1
