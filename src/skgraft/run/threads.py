"""How many threads a fit may use, in linear algebra and in compiled passes over X.

Most linear algebra libraries know one limit, for the whole process, while several fits may be under way in its threads.
So the limit is the least that any of them asks for, and what it was before comes back when the last of them ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

from skgraft.matrix import ThreadPool, at_work, n_threads

__all__ = ["threads"]

SMALL_CELLS = 2_000_000  # of X: below, products are so small that threads wait for each other rather than work


@contextmanager
def threads(n_jobs: int | None, X: Any = None) -> Iterator[ThreadPool]:
    """Keep a fit, linear algebra and passes over X, within ``n_jobs`` threads.

    Parameters
    ----------
    n_jobs : int or None
        As :func:`~skgraft.matrix.threads.n_threads` reads it.
    X : array-like, data frame or sparse matrix, optional
        What is fitted, checked or not.  Where it is small, or not known, linear algebra has one thread.

    Yields
    ------
    ThreadPool
        The threads that share out passes over X.
    """
    limit = n_threads(n_jobs)
    with _LIMITS.within(limit if _is_large(X) else 1), at_work(limit) as workers:
        yield workers


def _is_large(X: Any) -> bool:
    shape = getattr(X, "shape", ())
    return isinstance(shape, tuple) and math.prod(shape) > SMALL_CELLS


class _Limits:
    """The limits that the fits under way ask for."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._asked: list[int] = []
        self._before: list[tuple[Any, int]] = []  # of the libraries with one limit for the process

    @contextmanager
    def within(self, limit: int) -> Iterator[None]:
        """Hold the linear algebra libraries to a number of threads, never to more than they had."""
        with self._lock:
            libraries = _libraries()
            own = [(library, library.get_num_threads()) for library in libraries.of_a_thread]
            if not self._asked:
                self._before = [(library, library.get_num_threads()) for library in libraries.of_the_process]
            self._asked.append(limit)
            self._apply()
        for library, before in own:
            library.set_num_threads(min(before, limit))
        try:
            yield
        finally:
            for library, before in own:
                library.set_num_threads(before)
            with self._lock:
                self._asked.remove(limit)
                self._apply()

    def _apply(self) -> None:
        for library, before in self._before:
            _set(library, min([before, *self._asked]))


_LIMITS = _Limits()


class _Libraries(NamedTuple):
    """Those that have a limit for each thread that calls them, and those with one for the process."""

    of_a_thread: list[Any]
    of_the_process: list[Any]


@cache
def _libraries() -> _Libraries:
    """Find the linear algebra libraries in this process."""
    import scipy.linalg  # noqa: F401 -- loads SciPy's own, which need not be NumPy's
    from threadpoolctl import ThreadpoolController

    found = _Libraries([], [])
    for library in ThreadpoolController().lib_controllers:
        if library.user_api == "blas" and library.get_num_threads() is not None:
            (found.of_the_process if _is_of_the_process(library) else found.of_a_thread).append(library)
    return found


def _is_of_the_process(library: Any) -> bool:
    """Whether a limit set here holds in another thread, which depends on the library, its build and its version."""
    before = library.get_num_threads()
    other = 1 if before > 1 else 2
    _set(library, other)
    try:
        with ThreadPoolExecutor(1) as executor:
            return bool(executor.submit(library.get_num_threads).result() == other)
    finally:
        _set(library, before)


def _set(library: Any, limit: int) -> None:
    """Set a limit from whichever thread; threadpoolctl 3.8 listens to the first one only until that lets go."""
    let_go = getattr(library, "clear_controlling_thread", None)
    if let_go is not None:
        let_go(force=True)
    library.set_num_threads(limit)
    if let_go is not None:
        let_go(force=True)
