"""Saying that code is being compiled, where it takes long: the first fit of an installation would wait in silence."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

PATIENCE = 2.0  # seconds


@contextmanager
def announced_compilation() -> Iterator[None]:
    """Write to standard error once a compilation of ours takes longer than two seconds."""
    from numba.core import event as numba_event

    event: Any = numba_event
    listener = _announcer(event.Listener)
    event.register("numba:compile", listener)
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)


def _announcer(base: Any) -> Any:
    class Announcer(base):
        """Starts a timer with the outermost compilation, and stops it with its end."""

        def __init__(self) -> None:
            self._depth = 0
            self._said = False
            self._timer: Timer | None = None

        def on_start(self, event: Any) -> None:
            if self._depth == 0 and not self._said and _is_ours(event):
                self._timer = Timer(PATIENCE, self._say)
                self._timer.daemon = True
                self._timer.start()
            self._depth += 1

        def on_end(self, event: Any) -> None:  # noqa: ARG002
            self._depth -= 1
            if self._depth == 0 and self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _say(self) -> None:
            self._said = True
            sys.stderr.write("skgraft: compiling code that this machine has not run before; it is kept for next time\n")
            sys.stderr.flush()

    return Announcer()


def _is_ours(event: Any) -> bool:
    function = getattr(event.data.get("dispatcher"), "py_func", None)
    return getattr(function, "__module__", "").startswith("skgraft")
