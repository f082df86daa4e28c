"""Tables of results in Markdown, and how a mean and its standard error are written."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

ABSENT = "-"


@dataclass(frozen=True)
class Table:
    """A table with a title above it and remarks below."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()

    def markdown(self) -> str:
        """Return the table with aligned columns, readable as it stands."""
        lines = [self.header, *self.rows]
        widths = [max(len(line[j]) for line in lines) for j in range(len(self.header))]
        rule = ["-" * width for width in widths]
        body = [_line(self.header, widths), _line(rule, widths), *(_line(row, widths) for row in self.rows)]
        remarks = [f"- {remark}" for remark in self.remarks]
        return "\n".join([f"### {self.title}", "", *body, "", *remarks, *([""] if remarks else [])])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"


def mean_and_error(values: ArrayLike) -> tuple[float, float]:
    """Return the mean and its standard error; the error of a single value is not known and given as NaN."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.size == 1:
        return float(numbers[0]), float("nan")
    return float(numbers.mean()), float(numbers.std(ddof=1) / np.sqrt(numbers.size))


def written(mean: float, error: float, digits: int) -> str:
    """Return ``mean ± error``, or the mean alone where the error is not known."""
    number = f"{mean:.{digits}f}"
    return number if np.isnan(error) else f"{number} ± {error:.{digits}f}"
