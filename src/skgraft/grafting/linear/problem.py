"""A criterion over linear models, and the order in which their weights are laid out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.criterion import Loss, Penalty
from skgraft.grafting.target import Target
from skgraft.matrix import Columns
from skgraft.prices import Prices

COMPILED_CELLS = 200_000  # problems of more cells than this are worth compiled kernels,
STORED_CELL = 4  # a cell of a sparse matrix counting as so many


@dataclass(frozen=True)
class LinearProblem:
    """A criterion over linear models: X, targets and penalties, all in standardised coordinates.

    ``l1``, ``l2`` and ``group_l1`` are the coefficients of eq. 7; ``penalty_weight`` is a_j per feature;
    ``l0`` and ``prices`` say what features cost.  ``capped_l1`` is the coefficient of Σ a_j min(|w_j|, cap), and
    ``beyond`` marks the weights (n_features, n_outputs) at which it is taken for the constant cap, not for |w_j|.
    """

    columns: Columns
    target: Target
    prices: Prices
    penalty_weight: Array
    l1: float = 0.0
    l2: float = 0.0
    group_l1: float = 0.0
    l0: float = 0.0
    positive: bool = False
    capped_l1: float = 0.0
    cap: float = np.inf
    beyond: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        """Refuse a capped l1 norm beside a price or a limit."""
        if self.capped_l1 > 0.0 and not self.convex:
            msg = (
                "capped_l1 stands for a price on features: use it without l0, max_features and max_cost (along a path: "
                "l0s, sizes and costs), or set it to 0"
            )
            raise ValueError(msg)

    @property
    def convex(self) -> bool:
        """Whether no feature has a price and no budget limits them."""
        return self.l0 == 0.0 and self.prices.max_features is None and self.prices.max_cost is None

    @cached_property
    def barred(self) -> NDArray[np.bool_]:
        """Features that can never come in.

        With a group norm a bag comes in whole.  Where the bags of kept features would exceed ``max_features`` if they
        did, they hold the kept features alone.
        """
        prices = self.prices
        if self.group_l1 == 0.0 or prices.max_features is None:
            return np.zeros(self.n_features, bool)
        others = prices.bag_is_kept[prices.bags.of] & ~prices.kept
        fits = prices.kept.sum() + others.sum() <= prices.max_features
        return np.zeros(self.n_features, bool) if fits else others

    def taken(self, features: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the features that some features take from the limits: with a group norm, the whole of their bags."""
        if self.group_l1 == 0.0:
            return features
        return np.isin(self.group_of, self.group_of[features]) & ~self.barred

    @cached_property
    def group_of(self) -> Index:
        """Number of the group that each feature comes in with: its bag, but for those that are barred from it.

        Nothing holds an unpenalised feature back together with its bag, so it has a group of its own.
        """
        bags = self.prices.bags
        alone = 2 * bags.n_bags + np.arange(self.n_features)
        return np.where(self.penalty_weight > 0.0, 2 * bags.of + self.barred, alone)

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.target.n_outputs

    @property
    def n_features(self) -> int:
        """Number of input features."""
        return self.columns.n_columns

    @property
    def is_large(self) -> bool:
        """Whether the problem is worth compiled kernels."""
        cell = STORED_CELL if self.columns.is_sparse else 1
        return cell * self.columns.size * self.n_outputs > COMPILED_CELLS

    @property
    def loss(self) -> Loss:
        """The loss."""
        return self.target.loss


class Layout:
    """The order in which weights (feature, output) are laid out, and the units the loop opens and closes.

    With a group norm the units are the bags, whose weights lie together, without their unpenalised features, each
    of which is a unit of its own; else, where features have prices, a unit is a feature; else it is a single weight.
    Features that are barred from a bag make a unit that stays closed.
    """

    def __init__(self, problem: LinearProblem) -> None:
        p, n_outputs = problem.n_features, problem.n_outputs
        self.n_outputs = n_outputs
        self.grouped = problem.group_l1 > 0.0
        self.features = np.arange(p)
        if self.grouped:
            _, first, group, counts = np.unique(
                problem.group_of, return_index=True, return_inverse=True, return_counts=True
            )
            # units follow their first features, so that units of one feature each are the features in their order
            order = np.argsort(first)
            self.unit_of = np.argsort(order)[group]
            self.features = np.argsort(self.unit_of, kind="stable")
            sizes = counts[order] * n_outputs
        elif not problem.convex:
            sizes = np.full(p, n_outputs)
        else:
            sizes = np.ones(p * n_outputs, np.intp)
        self.trivial = bool((self.features == np.arange(p)).all())
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        self.sizes = sizes
        self.single = self.starts.size == p * n_outputs + 1
        self.barred = self.over_units(np.logical_or, self.flat(np.repeat(problem.barred[:, None], n_outputs, axis=1)))

    @property
    def n_units(self) -> int:
        """Number of units."""
        return self.starts.size - 1

    def feature(self, weight: Any) -> Any:
        """Return the feature of each weight."""
        return self.features[weight // self.n_outputs]

    def output(self, weight: Index) -> Index:
        """Return the output of each weight."""
        return np.asarray(weight % self.n_outputs)

    def flat(self, by_feature: NDArray[Any]) -> NDArray[Any]:
        """Lay out an array of shape (n_features, n_outputs)."""
        return (by_feature if self.trivial else by_feature[self.features]).ravel()

    def weights(self, units: Index) -> Index:
        """Return the weights of some units, in that order."""
        if self.single:
            return units
        sizes = self.sizes[units]
        ends = np.cumsum(sizes)
        total = int(ends[-1]) if ends.size else 0
        return np.asarray(np.repeat(self.starts[units] - (ends - sizes), sizes) + np.arange(total))

    def over_units(self, ufunc: Any, per_weight: NDArray[Any]) -> NDArray[Any]:
        """Reduce a value of every weight to one of every unit."""
        return per_weight if self.single else np.asarray(ufunc.reduceat(per_weight, self.starts[:-1]))


def make_penalty(problem: LinearProblem, layout: Layout) -> Penalty:
    """Return the convex penalty of the problem over all weights, as laid out."""
    a = layout.flat(np.repeat(problem.penalty_weight[:, None], problem.n_outputs, axis=1))
    ridge = 2.0 * problem.l2 * a
    beyond = np.zeros(a.size, bool) if problem.beyond is None else layout.flat(problem.beyond)
    l1 = np.where(beyond, problem.l1, problem.l1 + problem.capped_l1) * a
    offset = problem.capped_l1 * problem.cap * float(a[beyond].sum()) if beyond.any() else 0.0
    if not layout.grouped:
        return Penalty(l1, ridge, np.zeros(a.size), np.arange(a.size + 1), problem.positive, offset)
    bags = problem.prices.bags
    # |g| counts the penalised features of a bag
    size = np.bincount(bags.of, problem.penalty_weight > 0.0, bags.n_bags)
    norm = problem.group_l1 * np.sqrt(size[bags.of[layout.feature(layout.starts[:-1])]])
    norm[np.maximum.reduceat(a, layout.starts[:-1]) == 0.0] = 0.0
    return Penalty(l1, ridge, norm, layout.starts, problem.positive, offset)
