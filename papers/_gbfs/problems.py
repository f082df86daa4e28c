"""The data sets of table 1, each with its training and test rows, and how much work each is given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from papers._gbfs import paper
from papers.data import RealData, read_a9a, read_isolet, read_kddcup99, read_mnist, read_pcmac, read_spambase, read_usps

Array = NDArray[np.float64]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Budget:
    """How much work a data set is given; less than in the paper where two cores would take hours.

    ``splits`` of the training rows choose the depth and the number of trees, at most ``trees``. A forest of
    ``forest`` trees ranks the features, and forests of ``retrained`` trees are grown on the best of them, splitting
    nodes of more than ``leaf`` rows.
    """

    splits: int = 5
    depths: tuple[int, ...] = (4, 5)
    trees: int = 200
    forest: int = 2000
    retrained: int = 500
    leaf: int = paper.FOREST_LEAF
    sizes: tuple[int, ...] = (1, 2, 5, 10, 20, 35, 50, 100)
    most: int = 100


@dataclass(frozen=True)
class Problem:
    """Training and test rows of a data set, labels -1 and +1."""

    name: str
    title: str
    X: Array
    y: Labels
    X_test: Array
    y_test: Labels
    budget: Budget

    def standardised(self) -> tuple[Array, Array]:
        """Return training and test rows with the training rows' means and deviations taken out."""
        mean, deviation = self.X.mean(axis=0), self.X.std(axis=0)
        scale = np.where(deviation > 0.0, deviation, 1.0)
        return (self.X - mean) / scale, (self.X_test - mean) / scale


PAIRS = ((4, 9), (5, 8), (7, 9), (3, 5), (2, 7), (1, 7))  # the paper does not name its six
SMALL = Budget()
MEDIUM = Budget(splits=2, trees=150, forest=500, retrained=200)
LARGE = Budget(splits=1, depths=(4,), trees=150, forest=200, retrained=100, sizes=(2, 5, 10, 20, 50, 100))


def _random(data: RealData, positive: Labels, name: str, title: str, budget: Budget) -> Problem:
    """Part off 20 % of the rows for the test, as many as the paper has."""
    y = np.where(np.isin(data.target, positive), 1, -1)
    X, X_test, y_train, y_test = train_test_split(data.data, y, test_size=0.2, stratify=y, random_state=0)
    return Problem(name, title, X, y_train, X_test, y_test, budget)


def _given(data: RealData, positive: Labels, name: str, title: str, budget: Budget) -> Problem:
    """Keep the test rows that the data set comes with."""
    train, test = data.split()
    labels = (np.where(np.isin(part.target, positive), 1, -1) for part in (train, test))
    return Problem(name, title, train.data, next(labels), test.data, next(labels), budget)


def pcmac() -> Problem:
    """Words of two news groups."""
    return _random(read_pcmac(), np.array([1]), "pcmac", "PC against Mac", replace(SMALL, depths=(4,), splits=3))


def uspst() -> Problem:
    """Digits; the paper's 2,007 rows are the test part of the data set, its two classes are not told."""
    return _random(read_usps().split()[1], np.arange(5), "uspst", "digits 0 to 4 against 5 to 9", SMALL)


def spam() -> Problem:
    """Mails."""
    return _random(read_spambase(), np.array([1]), "spam", "spam against mail", replace(SMALL, most=57))


def isolet() -> Problem:
    """Spoken letters; the paper's two classes are not told."""
    return _given(read_isolet(), np.arange(1, 14), "isolet", "letters A to M against N to Z", MEDIUM)


def adult() -> Problem:
    """Incomes."""
    return _given(read_a9a(), np.array([1]), "adult", "income above 50,000 dollars", MEDIUM)


def digits(pair: tuple[int, int], budget: Budget) -> Callable[[], Problem]:
    """Return the maker of a pair of MNIST's digits."""
    first, second = pair
    name = f"mnist {first} against {second}"
    return lambda: _given(read_mnist(digits=pair), np.array([second]), name, f"digit {second} against {first}", budget)


def kddcup99() -> Problem:
    """Network connections: a tenth of the paper's training rows, and all of its test rows."""
    data = read_kddcup99().one_hot()
    normal = (data.target_names or []).index("normal")
    attacks = np.setdiff1d(np.unique(data.target), [normal])
    sizes = (1, 2, 3, 5, 8, 12, 20, 40)
    budget = replace(LARGE, splits=0, trees=500, forest=100, retrained=50, leaf=500, sizes=sizes)
    return _given(data, attacks, "kddcup99", "attacks against normal connections", budget)


MAKERS: dict[str, Callable[[], Problem]] = {
    "pcmac": pcmac,
    "uspst": uspst,
    "spam": spam,
    "isolet": isolet,
    "mnist 3 against 8": digits((3, 8), replace(LARGE, splits=2, forest=500)),
    "adult": adult,
    **{f"mnist {a} against {b}": digits((a, b), LARGE) for a, b in PAIRS},
}


@dataclass(frozen=True)
class Problems:
    """The data sets at hand, and for each that is missing why."""

    present: tuple[Problem, ...]
    missing: dict[str, str]


def load_problems(names: Sequence[str]) -> Problems:
    """Return the data sets of these names whose files are found."""
    present, missing = [], {}
    for name in names:
        try:
            present.append((MAKERS | {"kddcup99": kddcup99})[name]())
        except FileNotFoundError as reason:
            missing[name] = str(reason)
    return Problems(tuple(present), missing)


def lightened(problem: Problem) -> Problem:
    """Return the problem with few rows and little work, for a look while developing."""
    budget = replace(problem.budget, splits=1, depths=(4,), trees=30, forest=50, retrained=30, sizes=(5, 20, 50))
    rows = np.random.default_rng(0).permutation(problem.y.size)[:1000]
    return replace(problem, X=problem.X[rows], y=problem.y[rows], budget=budget)
