"""How many threads linear algebra may use during a fit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Limit BLAS to ``n_jobs`` threads; None leaves it alone, -1 means all cores."""
    if n_jobs is None:
        yield
        return
    limit = n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)
    with _controller().limit(limits=limit, user_api="blas"):
        yield
