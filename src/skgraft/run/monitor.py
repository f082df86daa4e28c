"""How a fit is watched: its records, its progress line, the callback, and how it ends.

A method writes down each step and, with it, the state from which its result can be made.  Nothing more is asked of it,
so that a linear model, a tree and a linear program are watched alike::

    monitor = Monitor(callback=callback, verbose=verbose, name="rounds")
    with monitor.watch():
        while ...:
            monitor.step(state, kind="round", objective=..., n_selected=..., cost=...)
    result = ...  # made of monitor.latest, however the loop above ended
    ending = monitor.ending(converged=..., message="The rounds did not settle ...")

The estimator sets its fitted attributes and then calls ``ending.tell()``, which passes Ctrl-C on or warns.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sklearn
from sklearn.exceptions import ConvergenceWarning

from skgraft.run.history import History, Record

Callback = Callable[[Record], Any]

# Frames of these folders are not the user's: a warning points at the line that called them.
_NOT_THE_USER = (str(Path(__file__).parents[1]), str(Path(sklearn.__file__).parent))


class Stop(Exception):  # noqa: N818 -- control flow, not an error
    """Raised by the monitor when the callback asks to stop."""


@dataclass(frozen=True)
class Ending:
    """How a fit ended, to be told once its result is kept."""

    interrupted: bool = False
    message: str | None = None

    def tell(self) -> None:
        """Pass Ctrl-C on to the caller, or warn of what did not converge."""
        if self.interrupted:
            raise KeyboardInterrupt
        if self.message is not None:
            warn_user(self.message)


@dataclass
class Monitor:
    """Keeps the history and talks to the user.

    Attributes
    ----------
    callback : callable, optional
        Called with each record; if it returns True the fit ends with the best so far.
    verbose : int
        1 shows a progress line on standard error.
    name : str
        What the progress line calls the fit.
    history : History
        One record a step.
    latest : object
        The state after the last step, whole even if the next one is interrupted; None before the first.
    stopped, interrupted : bool
        Whether the callback ended the fit, or Ctrl-C.
    started : float
        When the fit began.
    """

    callback: Callback | None = None
    verbose: int = 0
    name: str = "grafting"
    history: History = field(default_factory=History)
    latest: Any = None
    stopped: bool = False
    interrupted: bool = False
    started: float = field(default_factory=time.perf_counter)

    def step(
        self,
        state: Any,
        *,
        kind: str,
        objective: float,
        n_selected: int,
        cost: float,
        feature: int = -1,
        gradient: float = 0.0,
        features: Sequence[int] = (),
        gradient_evaluations: int = 0,
    ) -> None:
        """Note a step, as a :class:`Record` has it, and the state it led to.

        ``feature`` is the strongest of the ``features`` that came in, which need not be named where it is alone.

        Raises
        ------
        Stop
            If the callback returns True.
        """
        record = Record(
            step=len(self.history) + 1,
            feature=feature,
            gradient=gradient,
            objective=objective,
            n_selected=n_selected,
            cost=cost,
            seconds=self.seconds(),
            kind=kind,
            features=tuple(features) or ((feature,) if feature >= 0 else ()),
            gradient_evaluations=gradient_evaluations,
        )
        self.latest = state
        self.say(f"step {record.step}, {n_selected} features, criterion {objective:.6g}, {record.seconds:.1f} s")
        self.note(record)

    def note(self, *records: Record) -> None:
        """Add the records of a step to the history and show them to the callback.

        Raises
        ------
        Stop
            If the callback returns True for any of them.
        """
        for record in records:
            self.history.append(record)
        if self.callback is None:
            return
        asked = [bool(self.callback(record)) for record in records]
        if any(asked):
            raise Stop

    def seconds(self) -> float:
        """Return the time since the fit began."""
        return time.perf_counter() - self.started

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Let the callback and Ctrl-C end what is done inside, if there is a state to keep."""
        try:
            yield
        except Stop:
            self.stopped = True
        except KeyboardInterrupt:
            if self.latest is None:
                raise  # nothing was fitted yet
            self.interrupted = True
        finally:
            if self.verbose:
                sys.stderr.write("\n")

    def say(self, message: str) -> None:
        """Write over the progress line, if there is one."""
        if self.verbose:
            sys.stderr.write(f"\r{self.name}: {message} ")
            sys.stderr.flush()

    def ending(self, message: str, *, converged: bool) -> Ending:
        """Return how the fit ended; ``message`` says what to do if it did not converge.

        A fit that the callback stopped is what the user asked for, and needs no warning.
        """
        if self.interrupted:
            return Ending(interrupted=True)
        return Ending(message=None if converged or self.stopped else message)


def warn_user(message: str, category: type[Warning] = ConvergenceWarning) -> None:
    """Warn at the line that called this package, however deep inside it the warning arises."""
    frame, level = sys._getframe(1), 2  # noqa: SLF001 -- the only way to the caller's frame
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_NOT_THE_USER):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
