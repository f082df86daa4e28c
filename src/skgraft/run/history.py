"""What happened, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
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
        What the step did: ``"graft"``, ``"optimize"``, ``"undo"``, ``"drop"``, ``"swap"`` or ``"restart"``; in boosting
        ``"buy"`` or, for a round that bought nothing, ``"tree"``; in networks ``"unit"`` or ``"connection"``.
    """

    step: int
    feature: int
    gradient: float
    objective: float
    n_selected: int
    cost: float
    seconds: float
    kind: str = "graft"


@dataclass(frozen=True)
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
    """

    records: list[Record] = field(default_factory=list)

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
            One row for each step, one column for each field of a record.
        """
        import narwhals as nw

        rows = [asdict(record) for record in self.records]
        columns = {f.name: [row[f.name] for row in rows] for f in fields(Record)}
        return nw.from_dict(columns, backend=backend).to_native()
