"""What the paper states: its parameters, its times, and those of its results that it gives in words or numbers.

The curves of its figure 2 and the bars of its figure 3 are printed there without values; none are guessed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

CITATION = (
    "S. Perkins, K. Lacker and J. Theiler, Grafting: Fast, Incremental Feature Selection by Gradient Descent in "
    "Function Space, Journal of Machine Learning Research 3, 1333-1356, 2003"
)

DATA_SETS = ("A", "B", "C", "D", "E")

NAMES = {
    "a": "linear grafting",
    "b": "network grafting",
    "c": "linear, gradient descent",
    "d": "network, gradient descent",
    "e": "linear SVM",
    "f": "RBF SVM",
    "g": "RBF SVM, wrapper",
    "h": "RBF SVM, filter",
}

# Table 2
LINEAR = {
    "A": {"l1": 3e-4, "l0": 0.005},
    "B": {"l1": 1e-4, "l0": 0.005},
    "C": {"l1": 0.2, "l0": 0.001},
    "D": {"l1": 0.005, "l0": 0.001},
    "E": {"l1": 0.05, "l0": 0.001},
}
NETWORK = {
    "A": {"l1": 1e-6, "l0": 0.005},
    "B": {"l1": 1e-6, "l0": 0.005},
    "C": {"l1": 0.1, "l0": 0.001},
    "D": {"l1": 3e-4, "l0": 0.001},
    "E": {"l1": 3e-5, "l0": 0.001},
}
LINEAR_SVM = {"A": {"C": 0.01}, "B": {"C": 0.01}, "C": {"C": 0.001}, "D": {"C": 1.0}, "E": {"C": 0.01}}
RBF_SVM = {"A": {"C": 10.0}, "B": {"C": 0.1}, "C": {"C": 100.0}, "D": {"C": 1.0}, "E": {"C": 1.0}}

# Table 3, seconds; a network by gradient descent did not converge on C, D and E
SECONDS: Mapping[str, Mapping[str, float]] = {
    "a": {"A": 0.5, "B": 0.5, "C": 1.1, "D": 1.1, "E": 0.4},
    "b": {"A": 12.1, "B": 13.1, "C": 0.6, "D": 9.4, "E": 3.3},
    "c": {"A": 1.1, "B": 0.9, "C": 216.9, "D": 350.4, "E": 58.9},
    "d": {"A": 14.6, "B": 13.1},
}

# Section 4.4: what the text says of figure 3
ERROR: Mapping[str, Mapping[str, str]] = {
    "a": {"A": "0.36-0.38", "B": "as A", "C": "near chance", "D": "most 0.001", "E": "near 0.25"},
    "b": {"A": "best by far", "B": "best by far", "C": "near chance", "D": "most 0.001", "E": "near 0.25"},
    "c": {"A": "0.36-0.38", "B": "as A", "C": "near chance", "D": "most 0.001", "E": "near 0.25"},
    "d": {"C": "not converged", "D": "not converged", "E": "not converged"},
    "e": {"A": "0.36-0.38", "B": "as A", "C": "second best", "D": "most 0.001", "E": "near 0.20"},
    "f": {"A": "poor", "B": "much better", "C": "best", "D": "most 0.001", "E": "near 0.25"},
}
FEATURES: Mapping[str, Mapping[str, str]] = {
    "a": {"D": "near 6 (1 %)", "E": "very few"},
    "b": {"D": "near 6 (1 %)", "E": "very few"},
}
SALIENCY: Mapping[str, Mapping[str, str]] = {
    "a": {"A": "good", "B": "very good", "C": "very poor"},
    "b": {"A": "almost 1", "B": "extremely good", "C": "very poor"},
}

# Section 2.2.2
SIGMAS = (0.5, 1.0)
LARGEST_IRRELEVANT = 12
PER_CLASS = 10
TEST_PER_CLASS = 1000
BAYES_ERROR = {0.5: 0.0035, 1.0: 0.079}


@dataclass(frozen=True)
class Verdict:
    """A row of table 1: what is asked of a regulariser and the paper's word on l0, l1 and l2."""

    criterion: str
    l0: str
    l1: str
    l2: str


TABLE_1 = (
    Verdict("pragmatic motives", "Yes", "No", "No"),
    Verdict("performance motives", "No", "Yes", "Yes"),
    Verdict("sparse solutions", "Yes", "Yes", "No"),
    Verdict("most features relevant", "OK", "Good", "Excellent"),
    Verdict("most features irrelevant", "Poor", "Good", "OK"),
    Verdict("convex", "No", "Yes", "Yes"),
    Verdict("numerical friendliness", "Poor", "Good", "Excellent"),
)
