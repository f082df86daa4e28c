"""From the user's data and parameters to a problem that can be boosted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.boosting.bins import (
    Layout,
    bin_values,
    find_equal,
    store,
    take_rows,
    with_rare_apart,
)
from skgraft.boosting.boost import Problem, Validation
from skgraft.boosting.growth import Grower, Limits, quantise_weights
from skgraft.boosting.losses import Task
from skgraft.criterion import Loss
from skgraft.matrix import ThreadPool

# Small data are left to NumPy, unless that takes much longer than a compiler that has nothing to do.
COMPILED_CELLS = 100_000  # of X
MOST_SECONDS = 1.0
SECONDS_A_ROW, SECONDS_A_CELL = 1.8e-8, 2.2e-8


@dataclass(frozen=True, eq=False)
class Data:
    """Rows with their targets, as numbers, and weights."""

    X: Any
    y: Array
    weight: Array

    def take(self, rows: Index | NDArray[np.bool_]) -> Data:
        """Return some of the rows."""
        return Data(self.X[rows], self.y[rows], self.weight[rows])

    def without_weightless(self) -> Data:
        """Leave out the rows of weight zero: they are as good as absent."""
        counts = self.weight > 0.0
        return self if counts.all() else self.take(counts)

    @property
    def is_small(self) -> bool:
        """Whether there are too few cells for compiled code to be worth waiting for."""
        return int(np.prod(self.X.shape)) < COMPILED_CELLS

    def task(self, loss: Loss, n_outputs: int, *, compiled: bool) -> Task:
        """Return what is to be learned from the rows."""
        return Task(loss, np.array(self.y, np.float64), np.array(self.weight, np.float64), n_outputs, compiled)


@dataclass(frozen=True, eq=False)
class Settings:
    """What a problem needs beside its data."""

    loss: Loss
    n_outputs: int
    n_trees: int
    max_depth: int
    min_samples_leaf: int
    max_bins: int
    screening: str
    is_categorical: NDArray[np.bool_]
    keep_edges: bool = False
    names: list[str] | None = None
    labels: dict[int, list[Any]] = field(default_factory=dict)

    def seconds(self, shape: tuple[int, int]) -> float:
        """Return about how long NumPy takes to grow all trees: to add up rows, and to score cells of histograms."""
        n_rows, n_features = shape
        n_nodes = min(2**self.max_depth, 2 * n_rows // self.min_samples_leaf + 1)
        a_level = SECONDS_A_ROW * n_rows * self.max_depth
        cells = SECONDS_A_CELL * n_nodes * min(n_rows, self.max_bins)
        return self.n_trees * self.n_outputs * n_features * (a_level + cells)


def make_problem(
    data: Data, validation: Data | None, settings: Settings, workers: ThreadPool, layout: Layout | None = None
) -> Problem:
    """Bin the rows and get ready to grow; a given layout of the bins is used again."""
    # Derivatives differ by rounding, so what they are depends on the data alone; trees come out the same either way.
    derive, compiled = not data.is_small, not data.is_small or settings.seconds(data.X.shape) > MOST_SECONDS
    X = data.X
    if sp.issparse(X):
        X = X.tocsc() if compiled else X.toarray()
    task = data.task(settings.loss, settings.n_outputs, compiled=derive)
    weights, rows = quantise_weights(task.weight, task.y.size), None
    if layout is not None:
        bins = store(X, layout, workers, compiled=compiled)
    else:
        weight = None if bool((task.weight == task.weight[0]).all()) else task.weight
        columns, most = settings.is_categorical, settings.max_bins
        bins = bin_values(X, weight, columns, most, workers, keep_edges=settings.keep_edges, compiled=compiled)
    equal = find_equal(bins, task.y, workers)
    if equal is not None:
        rows = equal.firsts
        bins = take_rows(bins, rows, workers)
        task = replace(task, y=task.y[rows], weight=equal.added_up(task.weight))
        weights = weights.added_up(equal)
    limits = Limits(settings.max_depth, settings.min_samples_leaf)
    return Problem(
        grower=Grower(
            with_rare_apart(bins) if compiled else bins,
            limits,
            weights,
            workers,
            screening=settings.screening != "off",
            compiled=compiled,
        ),
        task=task,
        weights=weights,
        workers=workers,
        rows=rows,
        validation=None
        if validation is None
        else Validation(validation.X, validation.task(settings.loss, settings.n_outputs, compiled=derive)),
        names=settings.names,
        labels=settings.labels,
    )


def hold_out(data: Data, share: float, seed: int, *, by_class: bool) -> tuple[Data, Data]:
    """Set rows aside to judge by, in the same shares of classes where that can be."""
    from sklearn.model_selection import train_test_split

    can = by_class and np.unique(data.y, return_counts=True)[1].min() > 1
    try:
        train, test = train_test_split(
            np.arange(data.y.size), test_size=share, random_state=seed, stratify=data.y if can else None
        )
    except ValueError as error:
        msg = f"early_stopping cannot set validation_fraction={share!r} of {data.y.size} rows aside: {error}"
        raise ValueError(msg) from error
    return data.take(np.sort(train)), data.take(np.sort(test))
