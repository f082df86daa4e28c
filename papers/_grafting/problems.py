"""Data sets A to E of section 4.1, as many fresh instances or splits of each as are asked for."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from papers.data import RealData, read_arrhythmia, read_mfeat
from skgraft.datasets import SelectionProblem, make_threshold_max

Array = NDArray[np.float64]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """Training and test rows, standardised by the training rows.

    Where the truth is known, ``source`` says of each feature which informative one it is or copies (-1: none) and
    ``n_informative`` how many those are.
    """

    X: Array
    y: Labels
    X_test: Array
    y_test: Labels
    source: NDArray[np.intp] | None = None
    n_informative: int = 0

    def saliency(self, features: NDArray[np.intp]) -> float | None:
        """Return n_g/n_r + n_g/n_f - 1 of a choice of features (section 4.3); None where the truth is not known.

        Of an informative feature and its copies only one counts as good. A choice of nothing has -1, the value
        of a choice without anything good.
        """
        if self.source is None:
            return None
        sources = self.source[features]
        good = np.unique(sources[sources >= 0]).size
        return good / self.n_informative + good / max(len(features), 1) - 1.0


@dataclass(frozen=True)
class Problem:
    """One of the paper's data sets and where its instances come from."""

    name: str
    title: str
    instance: Callable[[int], Split]


@dataclass(frozen=True)
class Problems:
    """The data sets at hand, and for each that is missing why."""

    present: tuple[Problem, ...]
    missing: dict[str, str]


def seed(*key: int) -> int:
    """Return a seed of its own for every key."""
    return int(np.random.SeedSequence(key).generate_state(1)[0])


def load_problems() -> Problems:
    """Return data sets A, B and C, and D and E where their files are found."""
    present = [
        Problem("A", "threshold max, 90 irrelevant features", ThresholdMax(0, 1000, 0, 90)),
        Problem("B", "threshold max, 90 copies", ThresholdMax(1, 1000, 90, 0)),
        Problem("C", "threshold max, 100 rows, 1000 features", ThresholdMax(2, 100, 490, 500)),
    ]
    missing = {}
    for name, title, read, positive, n_train in (
        ("D", "multiple features, digit 0 against the rest", read_mfeat, 0, 1000),
        ("E", "arrhythmia, normal against the rest", read_arrhythmia, 1, 280),
    ):
        try:
            table = read()
        except FileNotFoundError as reason:
            missing[name] = str(reason)
        else:
            present.append(Problem(name, title, _RandomSplit(table, positive, n_train)))
    return Problems(tuple(present), missing)


@dataclass(frozen=True)
class ThresholdMax:
    """Instances of a threshold max with ten informative features, their copies and irrelevant ones."""

    key: int
    n_train: int
    n_redundant: int
    n_irrelevant: int

    def __call__(self, i: int) -> Split:
        train, test = (self._make(n, seed(self.key, i, part)) for part, n in enumerate((self.n_train, 1000)))
        source = np.where(np.isin(train.copies_of, train.informative), train.copies_of, -1)
        return _standardised(train.data, train.target, test.data, test.target, source, train.informative.size)

    def _make(self, n: int, random_state: int) -> SelectionProblem:
        return make_threshold_max(
            n, n_redundant=self.n_redundant, n_irrelevant=self.n_irrelevant, random_state=random_state
        )


@dataclass(frozen=True)
class _RandomSplit:
    table: RealData
    positive: int
    n_train: int

    def __call__(self, i: int) -> Split:
        y = np.where(self.table.target == self.positive, 1, -1)
        X, X_test, y_train, y_test = train_test_split(
            self.table.data, y, train_size=self.n_train, stratify=y, random_state=seed(9, i)
        )
        return _standardised(X, y_train, X_test, y_test)


def _standardised(
    X: Array, y: Labels, X_test: Array, y_test: Labels, source: NDArray[np.intp] | None = None, n_informative: int = 0
) -> Split:
    scaler = StandardScaler().fit(X)
    columns = np.asfortranarray(scaler.transform(X))
    return Split(columns, y, scaler.transform(X_test), y_test, source, n_informative)
