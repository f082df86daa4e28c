"""The machine that judges every choice of features: a linear support vector machine with a margin as hard as it can be.

The paper leaves C at infinity. Where the chosen features do not separate the classes there is no such machine, and the
limit of the soft margin for large C stands for it: C = 1000 with the plain hinge on standardised features.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skgraft.svm.dual import solve_dual

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

HARD = 1e3


@dataclass(frozen=True)
class Split:
    """Training and test rows; classes are -1 and +1, or the numbers of several classes."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array

    def standardised(self) -> "Split":
        """Return the split with features of mean zero and deviation one in the training rows."""
        centre, scale = self.X.mean(axis=0), self.X.std(axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        return Split((self.X - centre) / scale, self.y, (self.X_test - centre) / scale, self.y_test)


def machine(K: Array, y: Array, C: float = HARD) -> tuple[Array, float]:
    """Return dual variables and intercept of a support vector machine from its Gram matrix."""
    solution = solve_dual(K, y, C)
    return solution.beta, solution.intercept


def linear_error(split: Split, features: Indices, C: float = HARD) -> float:
    """Return the test error of a linear machine on these features."""
    rows, new = split.X[:, features], split.X_test[:, features]
    beta, intercept = machine(rows @ rows.T, split.y, C)
    scores = new @ (rows.T @ beta) + intercept
    return float(np.mean(np.where(scores > 0.0, 1.0, -1.0) != split.y_test))


def linear_errors_of_classes(split: Split, features: Indices, C: float = HARD) -> float:
    """Return the test error of linear machines of each class against the rest."""
    rows, new = split.X[:, features], split.X_test[:, features]
    K = rows @ rows.T
    classes = np.unique(split.y)
    scores = []
    for each in classes:
        beta, intercept = machine(K, np.where(split.y == each, 1.0, -1.0), C)
        scores.append(new @ (rows.T @ beta) + intercept)
    return float(np.mean(classes[np.argmax(scores, axis=0)] != split.y_test))
