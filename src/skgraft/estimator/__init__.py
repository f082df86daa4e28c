"""What all estimators share: classes and probabilities, the selector's side, fitted attributes."""

from __future__ import annotations

from skgraft.estimator.class_scores import ClassProbabilities, ClassScores, one_or_all
from skgraft.estimator.linear_selector import LinearSelectingClassifier, LinearSelector

__all__ = [
    "ClassProbabilities",
    "ClassScores",
    "LinearSelectingClassifier",
    "LinearSelector",
    "one_or_all",
]
