"""Searching a sample of the unused features, chosen by what they gained before.

The closing idea of Xu et al. 2014: with millions of columns a tree looks at some of those that are not bought yet, and
rather at those whose splits came close before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index

FLOOR = 0.1  # of the mean gain: what even a feature without any weighs


class Explorer:
    """Draws features without replacement, with weights that follow their latest gains."""

    def __init__(self, gains: Array, explore: float, rng: np.random.Generator) -> None:
        self._gains = gains.copy()
        self._explore = explore
        self._rng = rng

    def choose(self, selected: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
        """Return the features to search beside the free ones, None if the sample would be all of them."""
        left = np.flatnonzero(~selected)
        wanted = int(self._explore) if _is_count(self._explore) else int(np.ceil(self._explore * left.size))
        if wanted >= left.size:
            return None
        weight = self._gains[left] + FLOOR * max(float(self._gains[left].mean()), np.finfo(float).tiny)
        # the smallest of exponential times, each at the rate of its weight, are a sample without replacement
        times = self._rng.exponential(size=left.size) / weight
        pool = np.zeros(selected.size, bool)
        pool[left[np.argpartition(times, wanted)[:wanted]]] = True
        return pool

    def learn(self, features: Index, gains: Array) -> None:
        """Note what the features gained at a root."""
        self._gains[features] = gains


def _is_count(explore: float) -> bool:
    return isinstance(explore, (int, np.integer))
