"""Code that takes long to compile is announced."""

from __future__ import annotations

from time import sleep
from types import SimpleNamespace

import pytest

from skgraft.run import compilation
from skgraft.run.compilation import announced_compilation


@pytest.mark.parametrize(
    ("module", "pause", "lines"), [("skgraft.x", 0.3, 1), ("skgraft.x", 0.0, 0), ("other", 0.3, 0)]
)
def test_long_compilations_of_ours_are_announced_once(module, pause, lines, monkeypatch, capsys):
    from numba.core import event

    monkeypatch.setattr(compilation, "PATIENCE", 0.1)
    data = {"dispatcher": SimpleNamespace(py_func=SimpleNamespace(__module__=module))}
    with announced_compilation():
        for _ in range(2):
            event.start_event("numba:compile", data=data)
            sleep(pause)
            event.end_event("numba:compile", data=data)
    assert capsys.readouterr().err.count("compiling") == lines
