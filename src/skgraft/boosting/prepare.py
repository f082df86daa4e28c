"""From the user's data and parameters to a problem that can be boosted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skgraft.boosting.bins import (
    Layout,
    find_equal,
    find_layout,
    store,
    take_rows,
    with_rare_apart,
)
from skgraft.boosting.boost import Problem, Validation
from skgraft.boosting.growth import Grower, Limits, quantise_weights
from skgraft.boosting.losses import Task
from skgraft.criterion import Loss
from skgraft.matrix.threads import Crew

Array = NDArray[np.float64]
Index = NDArray[np.intp]


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

    def task(self, loss: Loss, n_outputs: int) -> Task:
        """Return what is to be learned from the rows."""
        return Task(loss, np.array(self.y, np.float64), np.array(self.weight, np.float64), n_outputs)


@dataclass(frozen=True, eq=False)
class Settings:
    """What a problem needs beside its data."""

    loss: Loss
    n_outputs: int
    max_depth: int
    min_samples_leaf: int
    max_bins: int
    screening: str
    is_categorical: NDArray[np.bool_]
    names: list[str] | None = None
    labels: dict[int, list[Any]] = field(default_factory=dict)


def make_problem(
    data: Data, validation: Data | None, settings: Settings, crew: Crew, layout: Layout | None = None
) -> Problem:
    """Bin the rows and get ready to grow; a given layout of the bins is used again."""
    X = data.X.tocsc() if sp.issparse(data.X) else data.X
    task = data.task(settings.loss, settings.n_outputs)
    even = bool((task.weight == task.weight[0]).all())
    if layout is None:
        weight = None if even else task.weight
        layout = find_layout(X, weight, settings.is_categorical, settings.max_bins, crew)
    weights = quantise_weights(task.weight, task.y.size)
    bins, rows = store(X, layout, crew), None
    equal = find_equal(bins, task.y, crew)
    if equal is not None:
        rows = equal.firsts
        bins = take_rows(bins, rows, crew)
        task = replace(task, y=task.y[rows], weight=equal.added_up(task.weight))
        weights = weights.added_up(equal)
    limits = Limits(settings.max_depth, settings.min_samples_leaf)
    return Problem(
        grower=Grower(with_rare_apart(bins), limits, weights, crew, screening=settings.screening != "off"),
        task=task,
        weights=weights,
        crew=crew,
        rows=rows,
        validation=None
        if validation is None
        else Validation(validation.X, validation.task(settings.loss, settings.n_outputs)),
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
