"""The types of arrays, for annotations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

__all__ = ["Array", "Index", "Mask"]
