"""What constructors do with their parameters: keep them."""

from __future__ import annotations

from typing import Any


def store_parameters(estimator: Any, given: dict[str, Any]) -> None:
    """Keep the parameters of a constructor, ``locals()``, as attributes of their names: scikit-learn's contract."""
    for name, value in given.items():
        if name not in {"self", "__class__"}:
            setattr(estimator, name, value)
