"""How ours and the paper's figures are put side by side, and when they count as different."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from papers._tables import mean_and_error, written

APART = 3.0  # combined standard errors


@dataclass(frozen=True)
class Pair:
    """Our error and the paper's, each with its standard error, in percent."""

    ours: float
    ours_error: float
    paper: float
    paper_error: float

    @property
    def apart(self) -> float:
        """The difference in combined standard errors, positive where ours is larger."""
        return (self.ours - self.paper) / float(np.hypot(np.nan_to_num(self.ours_error), self.paper_error))

    @property
    def differs(self) -> bool:
        """Whether the difference is more than chance would explain."""
        return abs(self.apart) > APART

    def cell(self, digits: int = 1) -> str:
        """Return ours and the paper's, with a mark where they differ."""
        mark = " *" if self.differs else ""
        return f"{written(self.ours, self.ours_error, digits)} | {self.paper:.{digits}f}{mark}".replace(" | ", " / ")


def percent(errors: Sequence[float]) -> tuple[float, float]:
    """Return mean and standard error of shares, in percent."""
    mean, error = mean_and_error(errors)
    return 100.0 * mean, 100.0 * error


def pair(errors: Sequence[float], published: tuple[float, float]) -> Pair:
    """Return our errors beside the paper's mean and standard error."""
    return Pair(*percent(errors), *published)


MARK = f"Ours / the paper's; * marks a difference of more than {APART:g} combined standard errors."
