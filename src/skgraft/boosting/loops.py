"""Which loops a fit runs: compiled ones, or for small data those in NumPy, which say the same to the last bit.

To compile takes seconds where it was not done before, and to load what was compiled half a second; small data are done
by then.
"""

from __future__ import annotations

from typing import Any


def loops_over_rows(*, compiled: bool) -> Any:
    """Return the module of loops over the rows of nodes."""
    if compiled:
        from skgraft.boosting import _kernels as loops
    else:
        from skgraft.boosting import plain as loops  # type: ignore[no-redef]
    return loops


def loops_over_columns(*, compiled: bool) -> Any:
    """Return the module of loops that bin columns."""
    if compiled:
        from skgraft.boosting.bins import _kernels as loops
    else:
        from skgraft.boosting.bins import plain as loops  # type: ignore[no-redef]
    return loops


def loops_over_categories(*, compiled: bool) -> Any:
    """Return the module of loops that order categories."""
    if compiled:
        from skgraft.boosting.growth import _kernels as loops
    else:
        from skgraft.boosting.growth import plain as loops  # type: ignore[no-redef]
    return loops
