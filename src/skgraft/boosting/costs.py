"""Ready-made cost functions: what features cost given those already bought (Xu et al. 2014, section 4.2).

A cost function takes a mask of the features bought so far and returns the price of every feature.  These are objects
rather than closures, so that an estimator that holds one can be cloned and pickled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgraft.arrays import Array, Mask

__all__ = ["bags", "neighbourhood", "stages"]


@dataclass(frozen=True, eq=False)
class _Bags:
    of: NDArray[np.intp]
    prices: Array

    def __call__(self, used: Mask) -> Array:
        is_open = np.zeros(self.prices.size, bool)
        is_open[self.of[used]] = True
        return np.where(is_open, 0.0, self.prices)[self.of]


def bags(labels: ArrayLike, prices: Mapping[Any, float] | float = 1.0) -> _Bags:
    """Price whole bags: the first feature of a bag opens it, and the others are free.

    The same as ``groups`` with ``feature_costs``; here to be combined with functions of your own.

    Parameters
    ----------
    labels : array-like of shape (n_features,)
        The bag of every feature.
    prices : float or mapping, default=1.0
        The price of every bag, or of each by its label.

    Returns
    -------
    callable
        A ``cost_function``.

    Examples
    --------
    >>> import numpy as np
    >>> from skgraft.boosting import bags
    >>> price = bags(["a", "a", "b"], {"a": 2.0, "b": 5.0})
    >>> price(np.array([False, False, False])), price(np.array([True, False, False]))
    (array([2., 2., 5.]), array([0., 0., 5.]))
    """
    known, of = np.unique(np.asarray(labels), return_inverse=True)
    if isinstance(prices, Mapping):
        missing = [label for label in known.tolist() if label not in prices]
        if missing:
            msg = f"prices has no price for the bag {missing[0]!r}"
            raise ValueError(msg)
        each = np.array([prices[label] for label in known.tolist()], float)
    else:
        each = np.full(known.size, float(prices))
    return _Bags(of.astype(np.intp).ravel(), each)


@dataclass(frozen=True, eq=False)
class _Neighbourhood:
    shape: tuple[int, ...]
    offsets: NDArray[np.intp]
    discount: float
    price: float

    def __call__(self, used: Mask) -> Array:
        here = np.argwhere(used.reshape(self.shape))
        near = np.zeros(self.shape, bool)
        for offset in self.offsets:
            at = here + offset
            at = at[((at >= 0) & (at < np.array(self.shape))).all(axis=1)]
            near[tuple(at.T)] = True
        return np.where(near.ravel(), self.price * (1.0 - self.discount), self.price)


def neighbourhood(
    shape: int | Sequence[int], radius: float = 1.5, discount: float = 0.5, price: float = 1.0
) -> _Neighbourhood:
    """Make features near a bought one cheaper, as in the paper's example of medical images.

    Parameters
    ----------
    shape : int or sequence of int
        How the features lie: their number on a line, or rows and columns of an image (or more dimensions); features are
        numbered as by ``ravel``.
    radius : float, default=1.5
        How far a neighbour may be (Euclidean distance; 1.5 is the eight around a pixel).
    discount : float, default=0.5
        The share of the price that is taken off; 1 makes neighbours free.
    price : float, default=1.0
        The price without discount.

    Returns
    -------
    callable
        A ``cost_function``.

    Examples
    --------
    >>> import numpy as np
    >>> from skgraft.boosting import neighbourhood
    >>> price = neighbourhood(5, radius=1, discount=0.5)
    >>> price(np.array([False, True, False, False, False]))
    array([0.5, 0.5, 0.5, 1. , 1. ])
    """
    sides = tuple(int(side) for side in np.ravel(shape))
    if not sides or min(sides) < 1:
        msg = f"shape={shape!r} must be one or more positive numbers"
        raise ValueError(msg)
    if not radius >= 0.0:
        msg = f"radius={radius!r} must be at least 0"
        raise ValueError(msg)
    if not 0.0 <= discount <= 1.0:
        msg = f"discount={discount!r} must lie between 0 and 1"
        raise ValueError(msg)
    reach = int(radius)
    cube = np.argwhere(np.ones((2 * reach + 1,) * len(sides), bool)) - reach
    offsets = cube[(cube**2).sum(axis=1) <= radius**2]
    return _Neighbourhood(sides, offsets, float(discount), float(price))


@dataclass(frozen=True, eq=False)
class _Stages:
    cheaper: dict[int, dict[int, float]] = field(default_factory=dict)
    prices: Array | float = 1.0

    def __call__(self, used: Mask) -> Array:
        price = np.broadcast_to(np.asarray(self.prices, float), used.shape).copy()
        for f in np.flatnonzero(used):
            for g, lower in self.cheaper.get(int(f), {}).items():
                price[g] = min(price[g], lower)
        return price


def stages(cheaper: Mapping[int, Mapping[int, float]], prices: ArrayLike = 1.0) -> _Stages:
    """Make features cheaper once others are there: having f, g costs ``cheaper[f][g]``.

    Parameters
    ----------
    cheaper : mapping
        From feature f to a mapping from feature g to its price once f is bought.  Of several such prices, and the first
        one, the lowest counts.
    prices : float or array-like of shape (n_features,), default=1.0
        Prices before anything is bought.

    Returns
    -------
    callable
        A ``cost_function``.

    Examples
    --------
    >>> import numpy as np
    >>> from skgraft.boosting import stages
    >>> price = stages({0: {1: 0.2}}, prices=[1.0, 3.0])
    >>> price(np.array([False, False])), price(np.array([True, False]))
    (array([1., 3.]), array([1. , 0.2]))
    """
    plain = {int(f): {int(g): float(p) for g, p in lower.items()} for f, lower in cheaper.items()}
    return _Stages(plain, float(prices) if isinstance(prices, (int, float)) else np.asarray(prices, float))
