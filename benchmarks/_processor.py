"""The processor as NumPy sees it.

The OpenBLAS inside an older NumPy may not know a newer processor and fall back to code for one of long ago, several
times slower; the one inside SciPy, which numba uses, may know it.  Then whoever calls NumPy would lose for no fault of
its own, skgraft among them.  A benchmark therefore begins by starting itself again with the better answer for all.
"""

from __future__ import annotations

import os
import sys

SETTING = "OPENBLAS_CORETYPE"


def agree_on_processor() -> None:
    """Start the running module again, if NumPy's OpenBLAS takes the processor for another than SciPy's does."""
    if SETTING in os.environ:
        return
    import numpy  # noqa: F401, ICN001 -- loads its OpenBLAS
    import scipy.linalg  # noqa: F401 -- same
    from threadpoolctl import threadpool_info

    seen = {}
    for library in threadpool_info():
        for owner in ("numpy", "scipy"):
            if library["user_api"] == "blas" and f"{owner}.libs" in library["filepath"]:
                seen[owner] = library.get("architecture")
    program = sys.modules["__main__"].__spec__
    if len(seen) < 2 or seen["numpy"] == seen["scipy"] or program is None:
        return
    os.environ[SETTING] = str(seen["scipy"])
    command = [sys.executable, "-m", program.name, *sys.argv[1:]]
    os.execv(sys.executable, command)  # noqa: S606 -- this very program
