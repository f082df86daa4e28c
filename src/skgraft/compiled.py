"""How kernels are compiled: kept on disk where that is possible, in memory for the process otherwise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np

__all__ = ["FAST", "ONE", "column_add", "column_dot", "njit"]

FAST = {"reassoc", "contract", "arcp", "nsz"}  # sums may be reordered; NaN and inf keep their meaning
ONE, TWO, THREE, FOUR = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile a kernel as ``numba.njit`` does, also where no directory can keep what was compiled.

    numba writes beside the source file, or below the user's home, or into ``NUMBA_CACHE_DIR``, and raises if it may
    write to none of them: a package installed by somebody else, a service without a home.

    Parameters
    ----------
    **options
        Those of ``numba.njit``.

    Returns
    -------
    callable
        Turns a function into a kernel.

    Examples
    --------
    >>> from skgraft.compiled import njit
    >>> @njit(nogil=True)
    ... def twice(x):
    ...     return 2 * x
    >>> twice(21)
    42
    """

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(**options)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            _say_once()
            return numba.njit(**{**options, "cache": False})(function)

    return compiled


@cache
def _say_once() -> None:
    message = (
        "Compiled code cannot be kept, because no directory for it can be written to: every process compiles anew, for "
        "some seconds. Set the environment variable NUMBA_CACHE_DIR to a directory that you may write to."
    )
    warnings.warn(message, stacklevel=2)


# Unsigned indices spare the test for negative ones, and four sums the wait for each other: together twice as fast.  Not
# allowed to reorder, because short sums over scattered rows are slower in vectors.
@njit(cache=True, nogil=True)
def column_dot(data: Any, rows: Any, first: Any, last: Any, z: Any) -> Any:
    """Return Σ_i data[i] z[rows[i]] over the cells of a column."""
    a = b = c = d = 0.0
    i = first
    while i + THREE < last:
        a += data[i] * z[np.uintp(rows[i])]
        b += data[i + ONE] * z[np.uintp(rows[i + ONE])]
        c += data[i + TWO] * z[np.uintp(rows[i + TWO])]
        d += data[i + THREE] * z[np.uintp(rows[i + THREE])]
        i += FOUR
    while i < last:
        a += data[i] * z[np.uintp(rows[i])]
        i += ONE
    return (a + b) + (c + d)


@njit(cache=True, nogil=True)
def column_add(data: Any, rows: Any, first: Any, last: Any, d: Any, z: Any) -> None:
    """Add d times a column to z."""
    i = first
    while i < last:
        z[np.uintp(rows[i])] += d * data[i]
        i += ONE
