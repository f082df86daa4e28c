"""Section 5.2: colon tissues, with genes in nine bags.

The paper's bags, of genes alike in biological meaning, are not to be had. The stand-in puts genes into one bag whose
expression is alike over the training tissues (k-means), so that no test tissue has a say in it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from papers._gbfs import paper
from papers.data import RealData
from skgraft import GBFSClassifier, GraftClassifier, l1_max

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
SHARES = (0.9, 0.7, 0.5, 0.3, 0.15, 0.05, 0.01)
TREES = 60
FOREST = 1000
TUNING = 5  # splits of the training tissues that choose a share


@dataclass(frozen=True)
class Outcome:
    """A method on one split: test error, numbers of features and of bags with a selected gene, and what was chosen."""

    method: str
    split: int
    error: float
    n_features: int
    n_bags: int
    share: float | None
    bags: tuple[int, ...]  # selected genes in each bag
    sizes: tuple[int, ...]  # genes in each bag


def gbfs(share: float, bags: Labels | None) -> Any:
    """Return GBFS; stumps of a few rows are all that 49 tissues allow."""
    return GBFSClassifier(mu=share, n_trees=TREES, max_depth=2, min_samples_leaf=3, groups=bags, n_jobs=1)


def linear(share: float, bags: Labels | None) -> Any:
    """Return logistic regression with l1, or with the group norm over bags."""
    return Shared(share, bags)


@dataclass
class Shared:
    """A linear model whose coefficient is a share of the smallest that selects nothing."""

    share: float
    bags: Labels | None
    model: Any = None

    def fit(self, X: Array, y: Labels) -> "Shared":
        """Fit at the share of these rows' own largest coefficient."""
        if self.bags is None:
            self.model = GraftClassifier(l1=self.share * l1_max(X, y), tol=1e-4)
        else:
            self.model = GraftClassifier(
                l1=0.0, group_l1=self.share * largest_group_l1(X, y, self.bags), groups=self.bags, tol=1e-4
            )
        self.model.fit(X, y)
        return self

    def predict(self, X: Array) -> Labels:
        """Return classes."""
        return self.model.predict(X)

    @property
    def support_(self) -> NDArray[np.bool_]:
        """Which genes are selected."""
        return self.model.support_


def largest_group_l1(X: Array, y: Labels, bags: Labels) -> float:
    """Return the smallest coefficient of Σ √|g| ||w_g|| at which no bag is selected."""
    pull = np.abs(X.T @ (y - y.mean())) / y.size
    return float(max(np.linalg.norm(pull[bags == bag]) / np.sqrt(np.sum(bags == bag)) for bag in np.unique(bags)))


Make = Callable[[float, "Labels | None"], Any]
BAGGED: dict[str, tuple[Make, bool]] = {
    "GBFS, bags": (gbfs, True),
    "group lasso": (linear, True),
    "GBFS, no bags": (gbfs, False),
    "L1-LR": (linear, False),
}


def prepared(data: RealData, split: int) -> tuple[Array, Labels, Array, Labels, Labels]:
    """Return standardised logarithms of training and test tissues, and the bags."""
    X, X_test, y, y_test = train_test_split(
        np.log(data.data), data.target, test_size=0.2, stratify=data.target, random_state=split
    )
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    X, X_test = (X - mean) / deviation, (X_test - mean) / deviation
    bags = KMeans(paper.BAGS, n_init=5, random_state=split).fit(X.T).labels_.astype(np.int64)
    return X, y, X_test, y_test, bags


def best_share(make: Make, X: Array, y: Labels, bags: Labels | None) -> float:
    """Return the share with the least error over splits of the training rows; of equals the largest."""
    errors = np.zeros(len(SHARES))
    for split in range(TUNING):
        inner, held, y_inner, y_held = train_test_split(X, y, test_size=0.2, stratify=y, random_state=split)
        for i, share in enumerate(SHARES):
            errors[i] += np.mean(make(share, bags).fit(inner, y_inner).predict(held) != y_held)
    return SHARES[int(np.argmin(errors))]


def run_split(data: RealData, split: int) -> list[Outcome]:
    """Return all methods' outcomes on one split."""
    X, y, X_test, y_test, bags = prepared(data, split)
    sizes = tuple(int(count) for count in np.bincount(bags, minlength=paper.BAGS))
    outcomes = []
    for name, (make, bagged) in BAGGED.items():
        given = bags if bagged else None
        share = best_share(make, X, y, given)
        model = make(share, given).fit(X, y)
        outcomes.append(_outcome(name, split, model, model.support_, (X_test, y_test), bags, sizes, share))
    forest = RandomForestClassifier(FOREST, random_state=split).fit(X, y)
    used = forest.feature_importances_ > 0
    outcomes.append(_outcome("random forest", split, forest, used, (X_test, y_test), bags, sizes, None))
    return outcomes


def _outcome(
    name: str,
    split: int,
    model: Any,
    support: NDArray[np.bool_],
    test: tuple[Array, Labels],
    bags: Labels,
    sizes: tuple[int, ...],
    share: float | None,
) -> Outcome:
    counts = np.bincount(bags[support], minlength=paper.BAGS)
    error = float(np.mean(model.predict(test[0]) != test[1]))
    opened = int(np.sum(counts > 0))
    return Outcome(name, split, error, int(support.sum()), opened, share, tuple(int(c) for c in counts), sizes)


def run_bags(data: RealData, splits: int, n_jobs: int) -> list[Outcome]:
    """Return the outcomes of all splits."""
    found = Parallel(n_jobs=n_jobs)(delayed(run_split)(data, split) for split in range(splits))
    return [outcome for each in found for outcome in each]
