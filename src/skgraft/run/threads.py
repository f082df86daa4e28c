"""How many threads a fit may use, in linear algebra and in compiled passes over X."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from skgraft.matrix.threads import at_work, n_threads


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
    limit = n_threads(n_jobs or 1)
    with _controller().limit(limits=limit, user_api="blas"), at_work(limit):
        yield
