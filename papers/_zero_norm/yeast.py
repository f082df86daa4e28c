"""Table 4's question on a stand-in: genes of yeast in three classes, with few of 79 conditions."""

import warnings
from dataclasses import dataclass
from time import process_time

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from papers._zero_norm import paper
from papers._zero_norm.machines import HARD, Indices, Split, linear_errors_of_classes
from papers.data import RealData, read_brown_yeast
from skgraft import AROMClassifier, RFESelector

JOINT, AGAINST_REST, RFE = "AROM M-SVM", "AROM 1vsR-SVM", "RFE 1vsR-SVM"
METHODS = (JOINT, AGAINST_REST, RFE)


@dataclass(frozen=True)
class Folds:
    """The test errors of a method with a number of features, one for each fold of every repetition."""

    method: str
    n_features: int
    errors: list[float]
    seconds: float


def fold(data: RealData, train: Indices, test: Indices) -> Split:
    """Return a fold whose missing values are the means of its training genes, standardised."""
    filled = np.where(np.isnan(data.data), np.nanmean(data.data[train], axis=0), data.data)
    return Split(filled[train], data.target[train], filled[test], data.target[test]).standardised()


def error(method: str, split: Split, n_features: int) -> float:
    """Return the test error of a method on a fold."""
    if method == RFE:
        selector = RFESelector(n_features_to_select=n_features, step=1, C=HARD, standardize=False)
        chosen = np.flatnonzero(selector.fit(split.X, split.y).support_)
        return linear_errors_of_classes(split, chosen)
    multi_class = "joint" if method == JOINT else "ovr"
    model = AROMClassifier(C=HARD, multi_class=multi_class, n_features_to_select=n_features, standardize=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)  # ten features need not separate: the last machine is then soft
        model.fit(split.X, split.y)
    return float(np.mean(model.predict(split.X_test) != split.y_test))


def run_yeast(repetitions: int) -> list[Folds]:
    """Run cross-validation in eight folds, as often as asked for."""
    data = read_brown_yeast()
    cuts = [
        (train, test)
        for repetition in range(repetitions)
        for train, test in StratifiedKFold(paper.YEAST_FOLDS, shuffle=True, random_state=repetition).split(
            data.data, data.target
        )
    ]
    folds = [fold(data, train, test) for train, test in cuts]
    result = []
    for method in METHODS:
        for n_features in paper.YEAST_FEATURES:
            begin = process_time()
            errors = [error(method, each, n_features) for each in folds]
            result.append(Folds(method, n_features, errors, (process_time() - begin) / len(folds)))
    return result
