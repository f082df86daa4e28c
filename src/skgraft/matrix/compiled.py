"""How kernels are compiled: kept on disk where that is possible, in memory for the process otherwise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numba

__all__ = ["njit"]


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
    >>> from skgraft.matrix.compiled import njit
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
