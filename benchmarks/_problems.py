"""The problems that solvers are timed on: generated ones, and real data where they are to be had."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]

SEED = 20031  # no solver was tuned on it
SNR = 5.0
CONSTANT = 1e6  # so large that the penalty of its weight is next to nothing


@dataclass(frozen=True)
class Problem:
    """Minimise mean loss + l1·penalty over weights and an unpenalised intercept, for each of ``l1s``.

    ``X`` is standardised (divided by its deviations only, where sparse) and lies by columns: in Fortran order or
    as CSC.  ``kind`` is the loss and penalty: "squared", "logistic" or "multinomial" with the sum of |w|;
    "groups", squares with the group norm over blocks of ``group`` columns; "targets" and "classes", squares of
    several targets and multinomial loss, with the norm of each feature's weights.
    """

    name: str
    kind: str
    X: Any
    y: NDArray[Any]
    l1s: tuple[float, ...] = ()
    share: float = 0.0
    group: int = 1
    intercept: bool = True
    relevant: NDArray[np.intp] | None = None

    @property
    def n_rows(self) -> int:
        """Number of samples."""
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def sparse(self) -> bool:
        """Whether X is a sparse matrix."""
        return sp.issparse(self.X)

    @property
    def l1(self) -> float:
        """The coefficient of a problem that has only one."""
        (value,) = self.l1s
        return value

    @cached_property
    def rows(self) -> Any:
        """X by rows, for the solvers that go by samples."""
        return self.X.tocsr() if self.sparse else np.ascontiguousarray(self.X)

    @cached_property
    def rows_and_constant(self) -> Any:
        """X by rows with one more column, all `CONSTANT`: an intercept for those that have none."""
        constant = np.full((self.n_rows, 1), CONSTANT)
        return sp.hstack([self.rows, constant], format="csr") if self.sparse else np.hstack([self.rows, constant])

    @cached_property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(np.unique(self.y).size)

    def at(self, share: float) -> Problem:
        """Return the problem with one l1, a share of the smallest that selects nothing."""
        return replace(self, l1s=(share * l1_max(self),), share=share)

    def along(self, n_values: int, last: float) -> Problem:
        """Return the problem with a falling sequence of l1."""
        top = l1_max(self)
        return replace(self, l1s=tuple(np.geomspace(top, last * top, n_values)), share=last)


def l1_max(problem: Problem) -> float:
    """Return the smallest coefficient at which every weight is zero."""
    y = problem.y
    if problem.kind in {"multinomial", "classes"}:
        _, codes = np.unique(y, return_inverse=True)
        residual = np.eye(problem.n_classes)[codes]
    elif problem.kind == "logistic":
        residual = (y > 0).astype(float)[:, None]
    else:
        residual = y.reshape(problem.n_rows, -1)
    if problem.intercept:
        residual = residual - residual.mean(axis=0)
    elif problem.kind == "logistic":
        residual = residual - 0.5
    pull = np.asarray(problem.X.T @ residual) / problem.n_rows
    if problem.kind == "groups":
        size = problem.group
        return float(np.linalg.norm(pull.reshape(-1, size), axis=1).max() / np.sqrt(size))
    if problem.kind in {"targets", "classes"}:
        return float(np.linalg.norm(pull, axis=1).max())
    return float(np.abs(pull).max())


@dataclass(frozen=True)
class Model:
    """What a solver returned: weights (n_outputs, n_features) and intercepts (n_outputs,)."""

    coef: Array
    intercept: Array

    @classmethod
    def of(cls, coef: Any, intercept: Any, n_features: int) -> Model:
        """Take coefficients in whatever shape a solver gives them."""
        weights = np.asarray(coef, dtype=np.float64).reshape(-1, n_features)
        shift = np.zeros(1) if intercept is None else np.asarray(intercept, np.float64).ravel()
        return cls(weights, np.broadcast_to(shift, (weights.shape[0],)).copy())


# ---------------------------------------------------------------------------------------------- generated


def correlated(n: int, p: int, rho: float, rng: np.random.Generator) -> Array:
    """Return Gaussian columns, neighbours correlated by ``rho``, standardised, in Fortran order."""
    by_column = rng.standard_normal((p, n))
    for j in range(1, p):
        by_column[j] *= np.sqrt(1.0 - rho**2)
        by_column[j] += rho * by_column[j - 1]
    by_column -= by_column.mean(axis=1, keepdims=True)
    by_column /= by_column.std(axis=1, keepdims=True)
    return by_column.T


def scattered(n: int, p: int, per_column: int, rng: np.random.Generator) -> Any:
    """Return a sparse matrix with ``per_column`` Gaussian entries at random rows of each column, scaled."""
    rows = rng.integers(0, n, (p, per_column), dtype=np.int32).ravel()
    columns = np.repeat(np.arange(p, dtype=np.int32), per_column)
    X = sp.csc_matrix((rng.standard_normal(rows.size), (rows, columns)), shape=(n, p))
    return scaled(X)


def scaled(X: Any) -> Any:
    """Return a sparse matrix with columns of deviation one, those of no deviation left out; nothing is centred."""
    X = sp.csc_matrix(X, dtype=np.float64)
    mean = np.asarray(X.mean(axis=0)).ravel()
    deviation = np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0.0))
    used = np.flatnonzero(deviation > 1e-12)
    X = sp.csc_matrix(X[:, used] @ sp.diags(1.0 / deviation[used]))
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def standardized(X: Any) -> Array:
    """Return dense columns of mean zero and deviation one in Fortran order, those of no deviation left out."""
    X = np.asfortranarray(X, dtype=np.float64)
    deviation = X.std(axis=0)
    X = X[:, deviation > 1e-9]
    return np.asfortranarray((X - X.mean(axis=0)) / deviation[deviation > 1e-9])


def respond(scores: Array, kind: str, rng: np.random.Generator) -> NDArray[Any]:
    """Return targets drawn from a model's scores: with noise for numbers, by their probability for classes."""
    scores = scores / scores.std(axis=0)
    if kind == "logistic":
        return np.where(rng.random(scores.size) < 1.0 / (1.0 + np.exp(-3.0 * scores)), 1, -1)
    if kind in {"multinomial", "classes"}:
        return np.argmax(3.0 * scores + rng.gumbel(size=scores.shape), axis=1)
    return scores + rng.standard_normal(scores.shape) / np.sqrt(SNR)


def dense(kind: str, n: int, p: int, *, rho: float = 0.5, n_relevant: int | None = None, seed: int = SEED) -> Problem:
    """Return a dense problem in which one column in a hundred matters, unless told how many."""
    rng = np.random.default_rng(seed)
    X = correlated(n, p, rho, rng)
    relevant = rng.choice(p, max(1, p // 100) if n_relevant is None else n_relevant, replace=False)
    scores = X[:, relevant] @ rng.choice([-1.0, 1.0], relevant.size)
    return Problem(f"{_TITLE[kind]} {n:,} x {p:,}", kind, X, respond(scores, kind, rng), relevant=relevant)


def sparse(
    kind: str, n: int, p: int, *, per_column: int = 20, n_relevant: int | None = None, seed: int = SEED
) -> Problem:
    """Return a sparse problem in which one column in a hundred matters, unless told how many."""
    rng = np.random.default_rng(seed)
    X = scattered(n, p, per_column, rng)
    relevant = rng.choice(X.shape[1], max(1, p // 100) if n_relevant is None else n_relevant, replace=False)
    scores = np.asarray(X[:, relevant] @ rng.choice([-1.0, 1.0], relevant.size)).ravel()
    return Problem(f"{_TITLE[kind]}, sparse {n:,} x {p:,}", kind, X, respond(scores, kind, rng), relevant=relevant)


def groups(n: int, p: int, size: int, rho: float, *, seed: int = SEED) -> Problem:
    """Return a dense problem in which a hundred columns matter, in blocks of ``size``."""
    rng = np.random.default_rng(seed)
    X = correlated(n, p, rho, rng)
    weights = np.zeros((p // size, size))
    relevant = rng.choice(p // size, max(1, min(100, p // 4) // size), replace=False)
    weights[relevant] = rng.standard_normal((relevant.size, size))
    y = respond(X @ weights.ravel(), "squared", rng)
    return Problem(f"groups of {size}, correlation {rho:g}, {n:,} x {p:,}", "groups", X, y, group=size)


def outputs(kind: str, n: int, p: int, n_outputs: int, *, per_column: int | None = None, seed: int = SEED) -> Problem:
    """Return a problem of several classes or targets; sparse where ``per_column`` is given."""
    rng = np.random.default_rng(seed)
    X = correlated(n, p, 0.5, rng) if per_column is None else scattered(n, p, per_column, rng)
    n_relevant = max(5, p // 100)
    weights = np.zeros((X.shape[1], n_outputs))
    shared = rng.choice(X.shape[1], n_relevant, replace=False)
    for k in range(n_outputs):
        used = shared if kind in {"targets", "classes"} else rng.choice(X.shape[1], n_relevant, replace=False)
        weights[used, k] = rng.standard_normal(n_relevant)
    y = respond(np.asarray(X @ weights), kind, rng)
    what = {"multinomial": "classes", "classes": "classes, features shared", "targets": "targets, features shared"}
    stored = "" if per_column is None else "sparse "
    return Problem(f"{n_outputs} {what[kind]}, {stored}{n:,} x {p:,}", kind, X, y)


_TITLE = {"squared": "lasso", "logistic": "logistic"}

# ----------------------------------------------------------------------------------------------- real data


def data_folder() -> Path | None:
    """Return the folder of real data sets, which do not come with the project, or None where there is none."""
    named = os.environ.get("SKGRAFT_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    return folder if folder.is_dir() else None


def golub(folder: Path) -> Problem:
    """Return Golub's leukaemia training samples: 38 of 7,129 genes."""
    with np.load(folder / "leukemia" / "golub_7129.npz", allow_pickle=False) as data:
        X, y = data["X_train"], data["y_train"]
    _, codes = np.unique(y, return_inverse=True)
    return _real("golub", standardized(X), np.where(codes == 1, 1, -1))


def pcmac(folder: Path) -> Problem:
    """Return PCMAC's word counts, two news groups."""
    from scipy.io import loadmat

    data = loadmat(folder / "skfeature" / "PCMAC.mat")
    y = data["Y"].ravel()
    return _real("PCMAC", scaled(sp.csc_matrix(data["X"])), np.where(y == y.max(), 1, -1))


def a9a(folder: Path) -> Problem:
    """Return a9a, the census incomes as 123 binary columns."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(folder / "adult" / "a9a.gz"), n_features=123)
    return _real("a9a", scaled(X), np.where(y > 0, 1, -1))


def mnist_3_8(folder: Path) -> Problem:
    """Return MNIST's threes and eights."""
    images, labels = _mnist(folder)
    chosen = (labels == 3) | (labels == 8)
    return _real("mnist 3 against 8", standardized(images[chosen]), np.where(labels[chosen] == 8, 1, -1))


def mnist_10(folder: Path) -> Problem:
    """Return the first 5,000 digits of MNIST, ten classes."""
    images, labels = _mnist(folder)
    return _real("mnist 10 classes", standardized(images[:5000]), labels[:5000].astype(np.intp))


def _mnist(folder: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    import gzip

    def read(name: str, header: int) -> NDArray[np.uint8]:
        with gzip.open(folder / "mnist" / name) as file:
            return np.frombuffer(file.read(), np.uint8, offset=header)

    return read("train-images-idx3-ubyte.gz", 16).reshape(-1, 784), read("train-labels-idx1-ubyte.gz", 8)


def news_2(folder: Path) -> Problem:
    """Return tf-idf of two news groups about computers."""
    texts, labels = _news(folder)
    pair = ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware")
    chosen = [i for i, label in enumerate(labels) if label in pair]
    y = np.array([1 if labels[i] == pair[0] else -1 for i in chosen])
    return _real("20newsgroups, two groups", _tf_idf([texts[i] for i in chosen]), y)


def news_20(folder: Path) -> Problem:
    """Return tf-idf of all twenty news groups."""
    texts, labels = _news(folder)
    _, codes = np.unique(labels, return_inverse=True)
    return _real("20newsgroups, 20 classes", _tf_idf(texts), codes)


def _news(folder: Path) -> tuple[list[str], list[str]]:
    import tarfile

    texts, labels = [], []
    with tarfile.open(folder / "20newsgroups" / "20news-bydate.tar.xz") as archive:
        for member in archive:
            parts = Path(member.name).parts
            if not member.isfile() or "20news-bydate-train" not in parts:
                continue
            file = archive.extractfile(member)
            if file is not None:
                texts.append(file.read().decode("latin-1"))
                labels.append(parts[-2])
    return texts, labels


def _tf_idf(texts: list[str]) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return scaled(TfidfVectorizer(min_df=3, stop_words="english").fit_transform(texts))


def _real(name: str, X: Any, y: NDArray[Any]) -> Problem:
    kind = "logistic" if np.unique(y).size == 2 else "multinomial"
    stored = "sparse " if sp.issparse(X) else ""
    return Problem(f"{name}, {stored}{X.shape[0]:,} x {X.shape[1]:,}", kind, X, y)


TWO_CLASSES: dict[str, Callable[[Path], Problem]] = {
    "golub": golub,
    "PCMAC": pcmac,
    "a9a": a9a,
    "mnist 3 against 8": mnist_3_8,
    "20newsgroups, two groups": news_2,
}
MORE_CLASSES: dict[str, Callable[[Path], Problem]] = {
    "mnist 10 classes": mnist_10,
    "20newsgroups, 20 classes": news_20,
}
