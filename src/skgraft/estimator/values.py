"""The values that a path goes along, as the user gives them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["falling", "list_of_numbers"]


def list_of_numbers(values: Any, name: str) -> NDArray[np.float64]:
    """Return the values of a parameter, or say why they are no list of numbers that may not be negative.

    Examples
    --------
    >>> from skgraft.estimator.values import list_of_numbers
    >>> list_of_numbers([], "l1s")
    Traceback (most recent call last):
    ValueError: l1s is empty: give at least one number, or None for values of its own
    """
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = f"{name} must be a list of numbers; got {values!r}"
        raise ValueError(msg) from error
    if numbers.ndim != 1:
        msg = f"{name} must be a list of numbers; got an array of shape {numbers.shape}"
        raise ValueError(msg)
    if not numbers.size:
        msg = f"{name} is empty: give at least one number, or None for values of its own"
        raise ValueError(msg)
    if not np.isfinite(numbers).all():
        msg = f"{name} must be finite, but {numbers[~np.isfinite(numbers)][0]:g} is among them"
        raise ValueError(msg)
    if (numbers < 0.0).any():
        msg = f"{name} must not be negative, but {numbers.min():g} is among them"
        raise ValueError(msg)
    return numbers


def falling(values: Any, name: str) -> NDArray[np.float64]:
    """Return the values of a parameter that may not be negative, the largest first."""
    return np.sort(list_of_numbers(values, name))[::-1]
