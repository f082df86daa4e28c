"""Honest judgement of selectors: tests of significance."""

from skgraft.evaluation.significance import CorrectedTTest, corrected_resampled_ttest

__all__ = ["CorrectedTTest", "corrected_resampled_ttest"]
