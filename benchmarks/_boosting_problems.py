"""The problems that boosted trees are timed on: generated ones with few relevant features, and network connections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

SEED = 20141  # nothing was tuned on it
N_RELEVANT = 20
RHO = 0.5  # correlation of neighbouring columns
SAMPLE = 50_000  # rows enough to find the best first split


@dataclass(frozen=True)
class Problem:
    """Two classes, 0 and 1, with test rows of their own.

    ``X`` lies by rows, dense in float32 or as CSR: every contestant gets the same array.  A feature's price is
    ``share`` of the best gain that a first split has, as each contestant counts gains.  ``trees`` is how many are
    grown.  ``repeats`` says that many rows are equal.
    """

    name: str
    X: Any
    y: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]
    relevant: NDArray[np.intp]
    share: float = 0.05
    trees: int = 100
    repeats: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    @property
    def sparse(self) -> bool:
        """Whether X is a sparse matrix."""
        return sp.issparse(self.X)

    @property
    def cells(self) -> int:
        """Number of cells, those that a sparse matrix leaves out included."""
        return self.shape[0] * self.shape[1]

    @property
    def prior(self) -> float:
        """Share of the second class."""
        return float(self.y.mean())

    def root_gain(self) -> float:
        """Return the most by which one split reduces the squared error of y, among the relevant columns."""
        n = self.shape[0]
        rows = slice(None) if n <= SAMPLE else np.random.default_rng(SEED).choice(n, SAMPLE, replace=False)
        columns = self.X[rows][:, self.relevant]
        columns = np.asarray(columns.todense() if self.sparse else columns)
        y = self.y[rows] - self.y[rows].mean()
        return n / y.size * max(split_gain(column, y) for column in columns.T)


def split_gain(column: NDArray[Any], y: NDArray[np.float64]) -> float:
    """Return the largest V²n/(n_L n_R) over thresholds, V the sum of the centred y on the left."""
    order = np.argsort(column, kind="stable")
    left = np.cumsum(y[order])[:-1]
    count = np.arange(1, y.size)
    possible = column[order][1:] > column[order][:-1]
    gains = np.where(possible, left**2 * y.size / (count * (y.size - count)), 0.0)
    return float(gains.max(initial=0.0))


def labels(columns: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw classes from relevant columns: half of these act by steps of their own, half by pairs."""
    high = columns > np.median(columns, axis=0) if columns.dtype.kind == "f" else columns
    half = high.shape[1] // 2
    alone = high[:, :half].sum(axis=1)
    pairs = (high[:, half::2] ^ high[:, half + 1 :: 2]).sum(axis=1) + 0.5 * high[:, half:].sum(axis=1)
    scores = alone + pairs
    scores = 2.5 * (scores - scores.mean()) / scores.std()
    return (rng.random(scores.size) < 1.0 / (1.0 + np.exp(-scores))).astype(np.int64)


def dense(n: int, d: int, *, share: float = 0.05, trees: int = 100, n_relevant: int = N_RELEVANT) -> Problem:
    """Return Gaussian columns, neighbours correlated, of which a few decide."""
    from scipy.signal import lfilter

    rng = np.random.default_rng(SEED)
    n_test = min(20_000, max(1_000, n // 2))
    total = np.empty((n + n_test, d), np.float32)
    step = max(1, 20_000_000 // d)
    for start in range(0, n + n_test, step):
        block = rng.standard_normal((min(step, n + n_test - start), d), np.float32)
        by = np.array([np.sqrt(1.0 - RHO**2)], np.float32), np.array([1.0, -RHO], np.float32)
        total[start : start + step] = lfilter(*by, block, axis=1)
    relevant = np.sort(rng.choice(d, min(n_relevant, d), replace=False))
    y = labels(total[:, relevant], rng)
    return Problem(f"{n:,} x {d:,}", total[:n], y[:n], total[n:], y[n:], relevant, share, trees)


def sparse(n: int, d: int, *, share: float = 0.05, trees: int = 100) -> Problem:
    """Return counts, as of words: a few columns are filled in a third of the rows, most in a fiftieth.

    All can be split at: a leaf needs 20 rows, and a column filled in fewer would be dropped beforehand.
    """
    rng = np.random.default_rng(SEED)
    n_test = max(1_000, n // 2)
    filled = np.maximum(0.3 / np.sqrt(1.0 + np.arange(d)), max(0.02, 40.0 / n))
    counts = rng.binomial(n + n_test, filled)
    rows = np.concatenate([rng.integers(0, n + n_test, count, dtype=np.int32) for count in counts])
    columns = np.repeat(np.arange(d, dtype=np.int32), counts)
    values = (1 + rng.poisson(1.0, rows.size)).astype(np.float32)
    X = sp.csr_matrix((values, (rows, columns)), shape=(n + n_test, d))
    relevant = np.sort(rng.choice(min(d, 50), N_RELEVANT, replace=False))
    y = labels(np.asarray((X[:, relevant] > 0).todense()), rng)
    return Problem(f"{n:,} x {d:,}, sparse", X[:n], y[:n], X[n:], y[n:], relevant, share, trees)


def connections(n: int, *, trees: int = 30) -> Problem:
    """Return the network connections of KDD Cup 1999, normal or attack, grown to n rows by drawing with repetition.

    Categories are columns of zeros and ones, as in the paper.  Repeated rows bring no new information: this is a
    problem of size, not of accuracy.
    """
    from papers.data import read_kddcup99

    from benchmarks._problems import data_folder

    train, test = read_kddcup99(data_folder()).one_hot().split()
    normal = (train.target_names or []).index("normal")
    drawn = np.random.default_rng(SEED).integers(0, train.target.size, n)
    X, X_test = train.data.astype(np.float32), test.data.astype(np.float32)
    y, y_test = ((part.target != normal).astype(np.int64) for part in (train, test))
    every = np.arange(X.shape[1], dtype=np.intp)
    name = f"kddcup99 {n:,} x {X.shape[1]}"
    return Problem(name, X[drawn], y[drawn], X_test, y_test, every, 0.001, trees, repeats=True)


Maker = Callable[[], Problem]


def race_problems(*, quick: bool) -> dict[str, Maker]:
    """Return the problems of the comparison by name, or for a quick look a quarter of their rows and columns.

    Rows are not cut where they are few, nor relevant columns more than the rows can tell.  The prices (shares of the
    best first gain) were chosen after looking at the losses and the numbers of features that they lead to.
    """
    trees, few = (30, 15) if quick else (30, 12)

    def shape(n: int, d: int) -> tuple[int, int]:
        return (n // 4 if n >= 10_000 else n, d // 4) if quick else (n, d)

    return {
        "10k x 1k": lambda: dense(*shape(10_000, 1_000), share=0.05, trees=trees),
        "100k x 500": lambda: dense(*shape(100_000, 500), share=0.02, trees=trees),
        "500k x 100": lambda: dense(*shape(500_000, 100), share=0.01, trees=trees),
        "1k x 20k": lambda: dense(*shape(1_000, 20_000), share=0.15, trees=trees, n_relevant=4),
        "5k x 50k": lambda: dense(*shape(5_000, 50_000), share=0.1, trees=few, n_relevant=8),
        "2k x 200k sparse": lambda: sparse(*shape(2_000, 200_000), share=0.1, trees=few),
        "kddcup99": lambda: connections(100_000 if quick else 4_900_000, trees=trees),
    }
