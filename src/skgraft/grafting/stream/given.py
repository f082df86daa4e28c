"""What a stream is given: the criterion, and with every block the same samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.grafting.linear.problem import LinearProblem
from skgraft.grafting.stream.names import NameIndex
from skgraft.grafting.stream.state import Stream
from skgraft.grafting.stream.terms import Terms
from skgraft.matrix import DenseColumns, JoinedColumns, SparseColumns, make_columns

_SHOWN = 3  # classes in a message


@dataclass(frozen=True, eq=False)
class LinearCriterion:
    """An estimator's criterion over whichever columns are there."""

    estimator: Any
    target: Array
    weight: Array
    terms: Terms
    whole: LinearProblem | None = None  # where all columns are there at once

    def standardized(self, matrix: Any) -> DenseColumns | SparseColumns:
        """Return columns that were accepted before."""
        own = self.estimator
        return make_columns(matrix, self.weight, center=own.fit_intercept, standardize=own.standardize)

    def over(
        self, columns: DenseColumns | SparseColumns | JoinedColumns, positions: Index, names: Sequence[str]
    ) -> LinearProblem:
        """Return the criterion over some columns."""
        if self.whole is not None:
            return self.whole
        own = self.estimator
        prices, penalty_weight = self.terms.over(positions, names, own.max_features, own.max_cost)
        return own._criterion(columns, self.target, self.weight, prices, penalty_weight)  # noqa: SLF001 -- its own


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What comes with every block: the target, encoded and decoded, and the weights of the samples.

    ``weight`` are these with those of the classes, and sum to one.
    """

    target: Array
    codes: NDArray[Any]
    sample_weight: Array
    weight: Array

    def require_rows(self, n_rows: int) -> None:
        """Refuse another number of samples."""
        if n_rows != self.codes.shape[0]:
            msg = (
                f"this block has {n_rows} rows, but those before it have {self.codes.shape[0]}: all columns of a "
                "stream are of the same samples"
            )
            raise ValueError(msg)

    def require_same(self, now: TrainingData, classes: Any, classes_now: Any) -> None:
        """Refuse other samples than those of the blocks before."""
        self.require_rows(now.codes.shape[0])
        if classes is not None and not np.array_equal(classes, classes_now):
            msg = f"y holds the classes {_shortened(classes_now)}, but came with {_shortened(classes)} before"
            raise ValueError(msg)
        if not np.array_equal(self.codes, now.codes):
            row = "" if self.codes.shape != now.codes.shape else f" (row {_first_difference(self.codes, now.codes)})"
            msg = f"y is not the y of the blocks before{row}: all columns of a stream explain the same target"
            raise ValueError(msg)
        if not np.array_equal(self.sample_weight, now.sample_weight):
            row = f"row {_first_difference(self.sample_weight, now.sample_weight)}"
            msg = f"sample_weight is not that of the blocks before ({row}): give the same weights, or none"
            raise ValueError(msg)


def _shortened(classes: NDArray[Any]) -> str:
    shown = ", ".join(repr(each) for each in classes[:_SHOWN].tolist())
    return shown + (", ..." if classes.size > _SHOWN else "")


def _first_difference(a: NDArray[Any], b: NDArray[Any]) -> int:
    return int(np.argwhere(a != b)[0][0])


def extended_index(before: Stream | None, names: Sequence[str], start: int) -> NameIndex:
    """Return the names of all columns with those of a block, which must be new, or in a further pass the same."""
    index = NameIndex() if before is None else before.names
    if before is None or before.again is None:
        return index.extended(names)
    if start + len(names) > before.seen:
        msg = (
            f"this pass brings more than the {before.seen} columns of the first: blocks must give the same columns "
            "whenever they are iterated over"
        )
        raise ValueError(msg)
    index.require_same(names, start)
    return index


def is_same(now: dict[str, Any], before: dict[str, Any]) -> bool:
    """Whether the criterion is the one it was: by value for plain parameters, by identity for arrays and mappings."""
    plain = (bool, int, float, str, np.number, type(None))
    return all(
        value is before[name]
        or (isinstance(value, plain) and isinstance(before[name], plain) and value == before[name])
        for name, value in now.items()
    )
