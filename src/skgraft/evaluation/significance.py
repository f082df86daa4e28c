"""Tests of significance for methods that were compared on random splits of one data set."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Alternative = Literal["two-sided", "less", "greater"]
_ALTERNATIVES = ("two-sided", "less", "greater")


@dataclass(frozen=True)
class CorrectedTTest:
    """The result of a corrected resampled t-test.

    Parameters
    ----------
    statistic : float
        The mean difference in corrected standard errors.
    pvalue : float
        The probability of a statistic at least as extreme where both methods are equally good.
    df : int
        Degrees of freedom: the number of splits less one.
    mean_difference : float
        Mean of the first method's scores less the second's.
    standard_error : float
        The corrected standard error of the mean difference.
    """

    statistic: float
    pvalue: float
    df: int
    mean_difference: float
    standard_error: float

    def confidence_interval(self, confidence_level: float = 0.95) -> tuple[float, float]:
        """Return the two-sided confidence interval of the mean difference.

        Parameters
        ----------
        confidence_level : float, default=0.95
            The share of such intervals that hold the true difference.

        Returns
        -------
        low, high : float
            Its ends.
        """
        from scipy.stats import t

        if not (isinstance(confidence_level, Real) and 0 < confidence_level < 1):
            raise ValueError(f"confidence_level must be a number between 0 and 1, got {confidence_level!r}")
        reach = float(t.ppf(0.5 + 0.5 * float(confidence_level), self.df)) * self.standard_error
        return self.mean_difference - reach, self.mean_difference + reach


def corrected_resampled_ttest(
    scores: ArrayLike,
    other_scores: ArrayLike | None = None,
    *,
    n_train: int,
    n_test: int,
    alternative: Alternative = "two-sided",
) -> CorrectedTTest:
    r"""Test whether two methods differ, from their scores on the same random splits of one data set.

    Splits of one data set share rows, so the scores on them are not independent, and a plain paired t-test or a
    Wilcoxon test finds differences that are not there. Nadeau and Bengio [1]_ estimate the variance of the mean
    difference over J splits as

    .. math:: \left(\frac{1}{J} + \frac{n_\mathrm{test}}{n_\mathrm{train}}\right) s^2,

    where s² is the sample variance of the differences; the plain test has 1/J alone.

    Parameters
    ----------
    scores : array-like of shape (n_splits,)
        Scores or errors of the first method, one for each split; or differences, where there is nothing else.
    other_scores : array-like of shape (n_splits,), optional
        Those of the second method on the same splits.
    n_train, n_test : int
        Number of training and test rows of each split.
    alternative : {"two-sided", "less", "greater"}, default="two-sided"
        Whether the first method's scores are other than, less than or greater than the second's.

    Returns
    -------
    CorrectedTTest
        Statistic, p-value, and the mean difference with its corrected standard error. Where all differences are
        zero the statistic is 0; where they all are the same other number it is infinite.

    References
    ----------
    .. [1] C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52, 239-281, 2003.

    Examples
    --------
    >>> from skgraft import corrected_resampled_ttest
    >>> first = [0.10, 0.12, 0.08, 0.14, 0.11, 0.09]
    >>> second = [0.14, 0.15, 0.11, 0.15, 0.15, 0.13]
    >>> result = corrected_resampled_ttest(first, second, n_train=50, n_test=12)
    >>> round(result.statistic, 2), round(result.pvalue, 3)
    (-4.25, 0.008)
    >>> [round(end, 3) for end in result.confidence_interval()]
    [-0.051, -0.013]
    """
    from scipy.stats import t

    difference = _differences(scores, other_scores)
    for name, value in (("n_train", n_train), ("n_test", n_test)):
        if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < 1:
            raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")
    if alternative not in _ALTERNATIVES:
        raise ValueError(f"alternative must be one of {', '.join(_ALTERNATIVES)}, got {alternative!r}")

    n_splits = difference.size
    mean = float(difference.mean())
    same = bool((difference == difference[0]).all())  # rounding of the mean must not make a variance of it
    variance = 0.0 if same else float(difference.var(ddof=1))
    error = float(np.sqrt((1 / n_splits + n_test / n_train) * variance))
    if error > 0.0:
        statistic = mean / error
    else:
        mean = float(difference[0])
        statistic = 0.0 if mean == 0.0 else float(np.copysign(np.inf, mean))
    df = n_splits - 1
    if alternative == "two-sided":
        pvalue = 2.0 * float(t.sf(abs(statistic), df))
    else:
        pvalue = float(t.cdf(statistic, df) if alternative == "less" else t.sf(statistic, df))
    return CorrectedTTest(statistic, pvalue, df, mean, error)


def _differences(scores: ArrayLike, other_scores: ArrayLike | None) -> NDArray[np.float64]:
    first = _scores("scores", scores)
    if other_scores is None:
        return first
    second = _scores("other_scores", other_scores)
    if first.size != second.size:
        msg = f"the methods must be scored on the same splits, but there are {first.size} and {second.size} scores"
        raise ValueError(msg)
    return first - second


def _scores(name: str, values: ArrayLike) -> NDArray[np.float64]:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or scores.size < 2:
        msg = f"{name} must hold one number for each of at least 2 splits, got an array of shape {scores.shape}"
        raise ValueError(msg)
    if not np.isfinite(scores).all():
        split = int(np.argmin(np.isfinite(scores)))
        raise ValueError(f"{name} must be finite, got {float(scores[split])!r} in split {split}")
    return scores
