"""Threads that run compiled loops side by side.

The kernels release Python's lock, so that plain threads keep all cores busy: no OpenMP, which does not survive a fork,
and no second compilation of every loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from joblib import effective_n_jobs

# Elementary steps, of some two nanoseconds, below which handing work to another thread costs more than it saves: that
# has to wake up first, and both want Python's lock in between.
LEAST_WORK = 200_000
SMALLEST = 1 / 24  # of a thread's share: pieces become smaller so that all threads are done at about the same time


class ThreadPool:
    """The caller's own thread, and others that help it, if any."""

    def __init__(self, executor: ThreadPoolExecutor | None, size: int) -> None:
        self._executor = executor
        self.size = size

    def shares(self, work: float) -> bool:
        """Whether so many steps are shared out."""
        return self._executor is not None and work >= LEAST_WORK

    def run(self, task: Callable[[int, int], Any], n: int, work: float, unit: int = 1) -> None:
        """Call ``task(first, last)`` over the pieces of range(n), which begin at multiples of ``unit``."""
        if n == 0:
            return
        if self._executor is None or not self.shares(work):
            task(0, n)
            return
        pieces = _pieces(n, unit, self.size)
        left = iter(pieces)

        def work_on() -> None:
            for first, last in left:  # shared: each piece goes to whoever asks first
                task(first, last)

        helpers = [self._executor.submit(work_on) for _ in range(min(self.size, len(pieces)) - 1)]
        try:
            work_on()
        finally:
            for helper in helpers:
                helper.result()


def _pieces(n: int, unit: int, size: int) -> list[tuple[int, int]]:
    """Cut range(n) into pieces for so many threads, each a share of what is left."""
    pieces, first = [], 0
    least = n * SMALLEST / size
    while first < n:
        step = max(least, (n - first) / (2 * size))
        last = min(n, first + unit * max(1, round(step / unit)))
        pieces.append((first, last))
        first = last
    return pieces


ALONE = ThreadPool(None, 1)


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` asks for: what it asks for everywhere.

    None is one, unless a context of joblib (``parallel_config``) says otherwise; -1 is all cores, -2 all but one.

    Examples
    --------
    >>> from joblib import parallel_config
    >>> from skgraft.matrix.threads import n_threads
    >>> n_threads(None), n_threads(3)
    (1, 3)
    >>> with parallel_config("threading", n_jobs=2):
    ...     n_threads(None)
    2
    """
    return int(effective_n_jobs(n_jobs))


@contextmanager
def workers(size: int) -> Iterator[ThreadPool]:
    """Give so many threads for the time of a fit."""
    if size == 1:
        yield ALONE
        return
    with ThreadPoolExecutor(size - 1) as executor:
        yield ThreadPool(executor, size)


_AT_WORK: ContextVar[ThreadPool] = ContextVar("workers", default=ALONE)


@contextmanager
def at_work(size: int) -> Iterator[ThreadPool]:
    """Let passes over X share out their columns to so many threads; see `share_columns`."""
    with workers(size) as threads:
        before = _AT_WORK.set(threads)
        try:
            yield threads
        finally:
            _AT_WORK.reset(before)


def share_columns(task: Callable[[int, int], Any], n: int, work: float) -> None:
    """Call ``task(first, last)`` over pieces of range(n) side by side, with the threads that are at work."""
    _AT_WORK.get().run(task, n, work)
