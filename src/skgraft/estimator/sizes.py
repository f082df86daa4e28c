"""Columns whose numbers are too large or too small to compute with, refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgraft.matrix import Columns

__all__ = ["require_sizes"]

SMALLEST_SCALE = 1e-290  # of a column, by which a weight can still be divided


def require_sizes(columns: Columns, names: NDArray[Any] | None) -> None:
    """Refuse columns whose squares, or whose weights on the original scale, would overflow.

    Examples
    --------
    >>> import numpy as np
    >>> from skgraft.estimator.sizes import require_sizes
    >>> from skgraft.matrix import make_columns
    >>> X = np.array([[1e-300, 5.0], [3e-300, 7.0]])
    >>> require_sizes(make_columns(X, np.full(2, 0.5), center=True, standardize=True), None)
    Traceback (most recent call last):
    ValueError: column 0 of X holds numbers so small that its weight would overflow; rescale it
    """
    if columns.too_large.any():
        name = _name(int(np.argmax(columns.too_large)), names)
        msg = f"column {name} of X holds numbers too large to be squared; rescale it, or set standardize=True"
        raise ValueError(msg)
    if (columns.scale < SMALLEST_SCALE).any():
        name = _name(int(np.argmin(columns.scale)), names)
        msg = f"column {name} of X holds numbers so small that its weight would overflow; rescale it"
        raise ValueError(msg)


def _name(column: int, names: NDArray[Any] | None) -> str:
    return str(column) if names is None else repr(str(names[column]))
