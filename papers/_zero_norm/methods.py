"""The methods that the paper compares: each chooses features for every number asked for, from standardised rows."""

import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from papers._zero_norm.machines import HARD, Array, Indices, machine
from skgraft import AROMClassifier, FSVClassifier, R2W2Selector, RFESelector, fisher_score

Choice = dict[int, Indices]
Choose = Callable[[Array, Array, Sequence[int]], Choice]


def everything(X: Array, y: Array, sizes: Sequence[int]) -> Choice:
    """Choose all features, whatever is asked for: the machine without selection."""
    del y
    return {size: np.arange(X.shape[1]) for size in sizes}


def corr(X: Array, y: Array, sizes: Sequence[int]) -> Choice:
    """Choose by the score of each feature alone (section 4.2)."""
    order = np.argsort(-np.asarray(fisher_score(X, y)), kind="stable")
    return {size: order[:size] for size in sizes}


def rfe(X: Array, y: Array, sizes: Sequence[int]) -> Choice:
    """Leave out the feature with the smallest weight, one at a time (section 4.3); smaller choices are parts of it."""
    selector = RFESelector(n_features_to_select=1, step=1, C=HARD, standardize=False).fit(X, y)
    order = np.argsort(selector.ranking_, kind="stable")
    return {size: order[:size] for size in sizes}


def r2w2(X: Array, y: Array, sizes: Sequence[int]) -> Choice:
    """Choose by scaling factors that lower the bound R²W² (section 4.4)."""
    return _r2w2(X, y, sizes, HARD)


def r2w2_of_hard_margins(X: Array, y: Array, sizes: Sequence[int]) -> Choice:
    """Choose by the same bound of machines that allow no slack, as the paper has it."""
    return _r2w2(X, y, sizes, np.inf)


def _r2w2(X: Array, y: Array, sizes: Sequence[int], C: float) -> Choice:
    return {size: _chosen(R2W2Selector(n_features_to_select=size, C=C, standardize=False), X, y) for size in sizes}


def fsv(X: Array, y: Array, sizes: Sequence[int]) -> Choice:
    """Choose by concave minimisation (Bradley and Mangasarian), alpha = 5."""
    return {
        size: _chosen(FSVClassifier(n_features_to_select=size, C=np.inf, retrain=False, standardize=False), X, y)
        for size in sizes
    }


def l2_arom(X: Array, y: Array, sizes: Sequence[int]) -> Choice:
    """Choose by l2-AROM with a hard margin."""
    return {size: _chosen(_arom("l2", size), X, y) for size in sizes}


def l1_arom(X: Array, y: Array, sizes: Sequence[int]) -> Choice:
    """Choose by l1-AROM with a hard margin."""
    return {size: _chosen(_arom("l1", size), X, y) for size in sizes}


def first_l2(X: Array, y: Array, sizes: Sequence[int]) -> Choice:
    """Choose the largest weights of one support vector machine."""
    weights = X.T @ machine(X @ X.T, y, np.inf)[0]
    order = np.argsort(-np.abs(weights), kind="stable")
    return {size: order[:size] for size in sizes}


def first_l1(X: Array, y: Array, sizes: Sequence[int]) -> Choice:
    """Choose the largest weights of the hard margin with the least l1 norm: the first program of l1-AROM."""
    model = AROMClassifier(norm="l1", C=np.inf, retrain=False, standardize=False, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one round was asked for
        weights = model.fit(X, y).coef_[0]
    order = np.argsort(-np.abs(weights), kind="stable")
    return {size: order[:size] for size in sizes}


def _arom(norm: str, size: int) -> AROMClassifier:
    return AROMClassifier(norm=norm, n_features_to_select=size, C=np.inf, retrain=False, standardize=False)


def _chosen(estimator: AROMClassifier | FSVClassifier | R2W2Selector, X: Array, y: Array) -> Indices:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few features need not separate: the choice is what counts
        return np.flatnonzero(estimator.fit(X, y).support_)


METHODS: Mapping[str, Choose] = {
    "SVM": everything,
    "CORR": corr,
    "RFE": rfe,
    "R2W2": r2w2,
    "FSV": fsv,
    "l2-AROM": l2_arom,
    "l1-AROM": l1_arom,
    "first l2": first_l2,
    "first l1": first_l1,
}
