"""What every fit returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from skgraft.criterion import Certificate
from skgraft.run.history import History
from skgraft.run.monitor import Ending


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit:
    """A model's features, how good it is, and how it came to be; a method adds the model itself.

    The estimator's fitted attributes are these fields with an underscore, see
    :meth:`~skgraft.estimator.NamedSelector._set_fitted_attributes`.
    """

    support: NDArray[np.bool_]
    order: NDArray[np.intp]
    objective: float
    total_cost: float
    certificate: Certificate
    history: History
    ending: Ending = field(default_factory=Ending)

    @property
    def n_iter(self) -> int:
        """Number of steps; a first look that finds nothing to do is one."""
        return max(1, len(self.history))
