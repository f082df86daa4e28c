"""A criterion over linear models, and the order in which their weights are laid out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgraft.criterion.losses import Loss
from skgraft.criterion.penalties import Penalty
from skgraft.grafting.target import Target
from skgraft.matrix import DenseColumns, JoinedColumns, SparseColumns
from skgraft.prices.resolve import Prices

Array = NDArray[np.float64]
Index = NDArray[np.intp]

COMPILED_CELLS = 200_000  # problems of more cells than this are worth compiled kernels,
STORED_CELL = 4  # a cell of a sparse matrix counting as so many


@dataclass(frozen=True)
class LinearProblem:
    """A criterion over linear models: X, targets and penalties, all in standardised coordinates.

    ``l1``, ``l2`` and ``group_l1`` are the coefficients of eq. 7; ``penalty_weight`` is a_j per feature;
    ``l0`` and ``prices`` say what features cost.
    """

    columns: DenseColumns | SparseColumns | JoinedColumns
    target: Target
    prices: Prices
    penalty_weight: Array
    l1: float = 0.0
    l2: float = 0.0
    group_l1: float = 0.0
    l0: float = 0.0
    positive: bool = False

    @property
    def convex(self) -> bool:
        """Whether no feature has a price and no budget limits them."""
        return self.l0 == 0.0 and self.prices.max_features is None and self.prices.max_cost is None

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
        cell = STORED_CELL if isinstance(self.columns, SparseColumns) else 1
        return cell * self.columns.size * self.n_outputs > COMPILED_CELLS

    @property
    def loss(self) -> Loss:
        """The loss."""
        return self.target.loss


class Layout:
    """The order in which weights (feature, output) are laid out, and the units the loop opens and closes.

    With a group norm the units are the bags, whose weights lie together; else, where features have prices,
    a unit is a feature; else it is a single weight.
    """

    def __init__(self, problem: LinearProblem) -> None:
        p, n_outputs = problem.n_features, problem.n_outputs
        bags = problem.prices.bags
        self.n_outputs = n_outputs
        self.grouped = problem.group_l1 > 0.0
        self.features = np.argsort(bags.of, kind="stable") if self.grouped else np.arange(p)
        self.trivial = bool((self.features == np.arange(p)).all())
        if self.grouped:
            sizes = bags.sizes * n_outputs
        elif not problem.convex:
            sizes = np.full(p, n_outputs)
        else:
            sizes = np.ones(p * n_outputs, np.intp)
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        self.sizes = sizes
        self.single = self.starts.size == p * n_outputs + 1

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
    l1, ridge = problem.l1 * a, 2.0 * problem.l2 * a
    if not layout.grouped:
        return Penalty(l1, ridge, np.zeros(a.size), np.arange(a.size + 1), problem.positive)
    bags = problem.prices.bags
    norm = problem.group_l1 * np.sqrt(bags.sizes)
    norm[np.maximum.reduceat(a, layout.starts[:-1]) == 0.0] = 0.0  # a bag that nothing penalises
    return Penalty(l1, ridge, norm, layout.starts, problem.positive)
