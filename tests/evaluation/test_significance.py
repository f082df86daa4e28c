"""The corrected resampled t-test."""

import numpy as np
import pytest
from scipy import stats

from skgraft import corrected_resampled_ttest


def test_without_test_rows_to_speak_of_it_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 12))
    for alternative in ("two-sided", "less", "greater"):
        plain = stats.ttest_rel(first, second, alternative=alternative)
        ours = corrected_resampled_ttest(first, second, n_train=10**12, n_test=1, alternative=alternative)
        assert ours.statistic == pytest.approx(plain.statistic, rel=1e-9)
        assert ours.pvalue == pytest.approx(plain.pvalue, rel=1e-9)
        assert ours.df == plain.df
    assert ours.confidence_interval() == pytest.approx(tuple(stats.ttest_rel(first, second).confidence_interval()))


def test_the_correction_is_that_of_nadeau_and_bengio():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 30))
    plain = stats.ttest_rel(first, second)
    ours = corrected_resampled_ttest(first, second, n_train=50, n_test=12)
    assert ours.statistic == pytest.approx(plain.statistic * np.sqrt((1 / 30) / (1 / 30 + 12 / 50)), rel=1e-12)
    assert ours.pvalue == pytest.approx(2 * stats.t.sf(abs(ours.statistic), 29), rel=1e-12)


def test_differences_may_be_given_in_place_of_scores():
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(2, 8))
    assert corrected_resampled_ttest(first - second, n_train=9, n_test=1) == corrected_resampled_ttest(
        first, second, n_train=9, n_test=1
    )


def test_changing_sides_changes_the_sign_alone():
    rng = np.random.default_rng(3)
    first, second = rng.normal(size=(2, 8))
    one = corrected_resampled_ttest(first, second, n_train=9, n_test=1, alternative="less")
    other = corrected_resampled_ttest(second, first, n_train=9, n_test=1, alternative="greater")
    assert one.statistic == -other.statistic
    assert one.pvalue == pytest.approx(other.pvalue, rel=1e-12)


def test_equal_methods_are_not_different():
    result = corrected_resampled_ttest([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], n_train=2, n_test=1)
    assert (result.statistic, result.pvalue, result.confidence_interval()) == (0.0, 1.0, (0.0, 0.0))


def test_a_difference_that_never_varies_is_certain():
    result = corrected_resampled_ttest([-0.1] * 7, n_train=2, n_test=1)
    assert (result.statistic, result.pvalue) == (-np.inf, 0.0)
    assert corrected_resampled_ttest([-0.1] * 7, n_train=2, n_test=1, alternative="greater").pvalue == 1.0


def test_it_errs_less_often_than_the_plain_test_where_methods_are_equally_good():
    """Two methods that see one noise feature each: neither is better, yet splits of one data set favour one."""
    plain = corrected = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
        errors = np.empty((10, 2))
        for i in range(10):
            train, test = np.split(rng.permutation(60), [48])
            low, high = (X[train][y[train] == label].mean(axis=0) for label in (0, 1))
            nearer_to_high = np.abs(X[test] - high) < np.abs(X[test] - low)
            errors[i] = (nearer_to_high != y[test, None]).mean(axis=0)
        plain += stats.ttest_rel(*errors.T).pvalue < 0.05
        corrected += corrected_resampled_ttest(*errors.T, n_train=48, n_test=12).pvalue < 0.05
    assert plain > 0.15 * 60
    assert corrected < 0.5 * plain


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0.1],), {}, "at least 2 splits"),
        (([[0.1, 0.2]],), {}, r"shape \(1, 2\)"),
        (([0.1, 0.2], [0.1, 0.2, 0.3]), {}, "there are 2 and 3 scores"),
        (([0.1, float("nan")],), {}, "finite, got nan in split 1"),
        (([0.1, 0.2], [float("inf"), 0.2]), {}, "other_scores must be finite, got inf in split 0"),
        (([0.1, 0.2],), {"n_train": 0}, "n_train must be an integer of at least 1, got 0"),
        (([0.1, 0.2],), {"n_test": 2.5}, "n_test must be an integer of at least 1, got 2.5"),
        (([0.1, 0.2],), {"alternative": "more"}, "got 'more'"),
    ],
)
def test_bad_input_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        corrected_resampled_ttest(*arguments, **({"n_train": 9, "n_test": 1} | options))


def test_a_confidence_level_outside_zero_and_one_is_refused():
    result = corrected_resampled_ttest([0.1, 0.2], n_train=9, n_test=1)
    with pytest.raises(ValueError, match="between 0 and 1, got 95"):
        result.confidence_interval(95)
