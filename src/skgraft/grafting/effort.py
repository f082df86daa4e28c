"""How hard the loop re-optimises the free weights between two selections."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol


class Optimizable(Protocol):
    """What an effort asks of a model."""

    def optimize(self, tol: float, *, exact: bool) -> None:
        """Bring the free weights to their optimum; unless ``exact``, a few steps on the way are enough."""

    def single_step(self) -> None:
        """Take one quasi-Newton step of the free weights."""

    def optimize_newest(self, tol: float) -> None:
        """Bring the newest weights and the biases to their optimum, everything else staying as it is."""

    def optimize_in_turn(self, tol: float, *, exact: bool) -> None:
        """Bring single weights to their optimum, the worst one at a time."""


class SolvedAtOnce(ABC):
    """A model that has no way to its optimum but all of it, whatever the effort."""

    @abstractmethod
    def optimize(self, tol: float, *, exact: bool) -> None:
        """Bring the free weights to their optimum."""

    def single_step(self) -> None:
        """Bring the free weights to their optimum."""
        self.optimize(0.0, exact=True)

    def optimize_newest(self, tol: float) -> None:
        """Bring the free weights to their optimum."""
        self.optimize(tol, exact=True)

    def optimize_in_turn(self, tol: float, *, exact: bool) -> None:
        """Bring the free weights to their optimum."""
        self.optimize(tol, exact=exact)


class Effort(ABC):
    """How hard to re-optimise; one method each.

    Attributes
    ----------
    name : str
        What the parameter ``effort`` calls it.
    is_stationary : bool
        Whether it ends where no free weight can be improved.
    opens_everything : bool
        Whether all weights are free from the start.
    is_partial : bool
        Whether one application says too little of a candidate to reject it.
    """

    name: ClassVar[str]
    is_stationary: ClassVar[bool] = True
    opens_everything: ClassVar[bool] = False
    is_partial: ClassVar[bool] = False

    @abstractmethod
    def apply(self, model: Optimizable, tol: float, *, exact: bool, growing: bool) -> None:
        """Re-optimise; ``growing`` tells that closed units still want to come in."""


class Full(Effort):
    """To the optimum of the free weights (Perkins et al. 2003)."""

    name = "full"

    def apply(self, model: Optimizable, tol: float, *, exact: bool, growing: bool) -> None:  # noqa: ARG002
        """Re-optimise."""
        model.optimize(tol, exact=exact)


class Light(Effort):
    """One orthant-wise quasi-Newton step while features come in (Zhu, Lao and Xing 2010)."""

    name = "light"
    is_partial = True

    def apply(self, model: Optimizable, tol: float, *, exact: bool, growing: bool) -> None:  # noqa: ARG002
        """Take a step, or once nothing wants to come in, all of them."""
        if growing:
            model.single_step()
        else:
            model.optimize(tol, exact=True)


class Newest(Effort):
    """The newest weight and the biases alone (Perkins et al. 2003, section 3.4)."""

    name = "newest"
    is_stationary = False

    def apply(self, model: Optimizable, tol: float, *, exact: bool, growing: bool) -> None:  # noqa: ARG002
        """Re-optimise what is new."""
        model.optimize_newest(tol)


class Batch(Effort):
    """Everything is free from the start: no selection, for comparison."""

    name = "batch"
    opens_everything = True

    def apply(self, model: Optimizable, tol: float, *, exact: bool, growing: bool) -> None:  # noqa: ARG002
        """Re-optimise all weights."""
        model.optimize(tol, exact=True)


class GaussSeidel(Effort):
    """Single weights, the worst one at a time (Shevade and Keerthi 2003), for comparison."""

    name = "gauss_seidel"

    def apply(self, model: Optimizable, tol: float, *, exact: bool, growing: bool) -> None:  # noqa: ARG002
        """Re-optimise in turn."""
        model.optimize_in_turn(tol, exact=exact)


EFFORTS: dict[str, Effort] = {effort.name: effort for effort in (Full(), Light(), Newest(), Batch(), GaussSeidel())}
FULL = EFFORTS["full"]
