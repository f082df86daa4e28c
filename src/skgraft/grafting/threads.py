"""How many threads a fit may use, in linear algebra and in compiled passes over X."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from skgraft.matrix.threads import at_work


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


SMALL_CELLS = 2_000_000  # of X: below, products are so small that threads wait for each other rather than work


@contextmanager
def threads(n_jobs: int | None, cells: float = np.inf) -> Iterator[None]:
    """Limit BLAS and passes over X to ``n_jobs`` threads; None leaves BLAS alone, -1 means all cores.

    ``cells`` is the size of X for methods of many small products: None is one thread there if X is small.
    """
    if n_jobs is None and cells > SMALL_CELLS:
        yield
        return
    n_jobs = n_jobs or 1
    limit = n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)
    with _controller().limit(limits=limit, user_api="blas"), at_work(limit):
        yield
