"""What happened, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, overload

import numpy as np


@dataclass(frozen=True)
class Record:
    """One grafting step.

    Attributes
    ----------
    step : int
        Number of the step, from 1.
    feature : int
        The feature with the largest gradient among those that came in; -1 if none did.
    gradient : float
        Distance of its gradient from the penalty's subdifferential, before the step.
    objective : float
        The criterion after the step.
    n_selected : int
        Number of features in the model after the step.
    cost : float
        What these features cost together.
    seconds : float
        Time since the start of the fit.
    kind : str
        What the step did: ``"graft"``, ``"optimize"``, ``"undo"``, ``"drop"``, ``"swap"``, ``"restart"`` or
        ``"reweight"``; in boosting
        ``"buy"`` or, for a round that bought nothing, ``"tree"``; in networks ``"unit"`` or ``"connection"``.
    features : tuple of int
        All features that came in with the step (or, in an ``"undo"``, were tried), strongest first.
    gradient_evaluations : int
        How often the gradient over all features has been computed so far; 0 where a method does not count them.
    """

    step: int
    feature: int
    gradient: float
    objective: float
    n_selected: int
    cost: float
    seconds: float
    kind: str = "graft"
    features: tuple[int, ...] = ()
    gradient_evaluations: int = 0


@dataclass(frozen=True, repr=False)
class History(Sequence[Record]):
    """The records of a fit, in order.

    Attributes
    ----------
    records : list of Record
        One for each step.

    Examples
    --------
    >>> history = History([Record(1, 4, 0.3, 0.51, 1, 1.0, 0.002)])
    >>> len(history), history[0].feature
    (1, 4)
    >>> history.column("objective")
    array([0.51])
    >>> history
    History(1 step, 1 feature, objective 0.51, 0.002 s)
    """

    records: list[Record] = field(default_factory=list)

    def __repr__(self) -> str:
        """Return how many steps there were and where they led."""
        steps = _counted(len(self.records), "step")
        if not self.records:
            return f"History({steps})"
        last = self.records[-1]
        ended = f"{_counted(last.n_selected, 'feature')}, objective {last.objective:.6g}, {last.seconds:.3g} s"
        return f"History({steps}, {ended})"

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.records)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | Sequence[Record]:
        """Return one record, or a list of them."""
        return self.records[index]

    def __iter__(self) -> Iterator[Record]:
        """Iterate over the records."""
        return iter(self.records)

    def append(self, record: Record) -> None:
        """Add a step.

        Parameters
        ----------
        record : Record
            What happened.
        """
        self.records.append(record)

    def until(self, step: int) -> History:
        """Return the records of the first steps.

        Parameters
        ----------
        step : int
            Number of the last step.

        Returns
        -------
        History
            A history of its own.
        """
        return History([record for record in self.records if record.step <= step])

    def copy(self) -> History:
        """Return the same records, to which others may be added.

        Returns
        -------
        History
            A history of its own.
        """
        return History(list(self.records))

    def column(self, name: str) -> np.ndarray:
        """Return one quantity over all steps.

        Parameters
        ----------
        name : str
            A field of :class:`~skgraft.run.Record`, such as ``"objective"``.

        Returns
        -------
        ndarray of shape (n_steps,)
            Its values.
        """
        return np.array([getattr(record, name) for record in self.records])

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Return the records as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the frame; it must be installed.

        Returns
        -------
        data frame
            One row for each step, one column for each field of a record; ``features`` has lists.
        """
        import narwhals as nw

        columns: dict[str, list[Any]] = {
            f.name: [getattr(record, f.name) for record in self.records] for f in fields(Record)
        }
        columns["features"] = [list(features) for features in columns["features"]]
        return nw.from_dict(columns, backend=backend).to_native()


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
