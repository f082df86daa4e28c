"""Scores of single features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin

from skgraft.arrays import Array
from skgraft.tables import read_training, sample_weights

CELLS = 1 << 21  # cells of X treated at a time


class _ClassReader(ClassifierMixin, BaseEstimator):
    """Stands for an estimator where X and y are read without one; its name is in no message."""


def fisher_score(X: Any, y: Any, sample_weight: Any = None) -> Array:
    """Return how well each feature alone tells the classes apart.

    The score of a feature is (μ₊ - μ₋)²/(σ₊² + σ₋²), from the means and variances of its values in the two classes:
    CORR in Weston et al. [1]_.  For more classes the scores of all pairs of them are added up.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,)
        Classes.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples.

    Returns
    -------
    ndarray of shape (n_features,)
        Scores from zero to infinity, which is the score of a feature that is constant in each class and differs
        between them.  A feature that never varies scores zero.

    References
    ----------
    .. [1] Weston, Elisseeff, Schölkopf and Tipping (2003). Use of the zero-norm with linear models and kernel
       methods. Journal of Machine Learning Research 3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.feature_selection import SelectKBest
    >>> from skgraft import fisher_score
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> SelectKBest(fisher_score, k=3).fit(X, y).get_support(indices=True)
    array([ 7, 22, 27])
    """
    X, y = read_training(_ClassReader(), X, y)
    weight = sample_weights(sample_weight, X)
    counted = weight > 0.0
    classes, codes = np.unique(y[counted], return_inverse=True)
    if classes.size < 2:
        msg = f"y holds one class only ({classes[0]!r}); a score needs samples of at least 2 classes"
        raise ValueError(msg)
    X, weight = X if counted.all() else X[counted], weight[counted] / weight.max()
    moments = [_moments(X, np.flatnonzero(codes == k), weight) for k in range(classes.size)]
    score = np.zeros(X.shape[1])
    for k, (mean, variance) in enumerate(moments):
        for other_mean, other_variance in moments[:k]:
            score += _pair(mean - other_mean, variance + other_variance)
    return score


def _pair(apart: Array, variance: Array) -> Array:
    """Return apart²/variance; infinite where only the variance is zero."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = (apart / np.sqrt(variance)) ** 2  # the square of a difference may be no float
    return np.where(apart == 0.0, 0.0, ratio)


def _moments(X: Any, rows: NDArray[np.intp], weight: Array) -> tuple[Array, Array]:
    """Return weighted means and variances of some rows, in two passes: E[x²] - mean² would cancel."""
    share = weight[rows] / weight[rows].sum()
    part = X[rows]
    if sparse.issparse(part):
        return _sparse_moments(sparse.csr_array(part).astype(np.float64), share)
    mean, variance = np.empty(X.shape[1]), np.empty(X.shape[1])
    step = max(1, CELLS // rows.size)
    for start in range(0, X.shape[1], step):
        block = part[:, start : start + step].astype(np.float64)
        first = block[0].copy()
        block -= first  # exact for nearby numbers, so that a large offset leaves no rounding
        shift = share @ block
        block -= shift
        mean[start : start + step] = first + shift
        with np.errstate(over="ignore"):
            variance[start : start + step] = share @ (block * block)
    return mean, variance


def _sparse_moments(X: Any, share: Array) -> tuple[Array, Array]:
    n = X.shape[1]
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    mean: Array = np.bincount(X.indices, share[row] * X.data, n).astype(np.float64)
    stored = np.bincount(X.indices, share[row], n)
    squares = np.bincount(X.indices, share[row] * (X.data - mean[X.indices]) ** 2, n)
    left = np.where(np.bincount(X.indices, minlength=n) < X.shape[0], np.maximum(1.0 - stored, 0.0), 0.0)
    return mean, squares + left * mean**2
