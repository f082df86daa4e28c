"""What all estimators share: classes and probabilities, the selector's side, fitted attributes."""

from __future__ import annotations

from skgraft.estimator.class_scores import ClassProbabilities, ClassScores, one_or_all
from skgraft.estimator.linear_selector import PRICES, LinearSelectingClassifier, LinearSelector
from skgraft.estimator.named_selector import NamedSelector
from skgraft.estimator.parameters import store_parameters
from skgraft.estimator.sizes import require_sizes
from skgraft.estimator.values import falling, list_of_numbers

__all__ = [
    "PRICES",
    "ClassProbabilities",
    "ClassScores",
    "LinearSelectingClassifier",
    "LinearSelector",
    "NamedSelector",
    "falling",
    "list_of_numbers",
    "one_or_all",
    "require_sizes",
    "store_parameters",
]
