"""The lecture's table: two leukaemias told apart by few genes, 38 patients for training and 34 for the test.

Each method has one parameter, the number of genes or l1, and takes the value with the fewest errors in ten-fold
cross-validation of the training patients; of equally good ones that with the fewest genes. Ranking, elimination and
scaling are done anew in every fold. The folds are drawn at random, so that everything is repeated with other folds.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedKFold

from papers._zero_norm.machines import HARD, Array, Indices, Split, machine
from papers._zero_norm.methods import METHODS
from papers.data import read_leukemia
from skgraft import l1_svc_path

RANKING, ELIMINATION, L1 = "2-norm SVM, univariate ranking", "2-norm SVM, RFE", "1-norm SVM"
SIZES = (*range(1, 11), 12, 15, 17, 20, 22, 25, 28, 31, 35, 40, 50, 60)
N_VALUES = 30  # of l1
FOLDS = 10
PREPARED: Mapping[str, bool] = {"as measured": False, "clipped to 100 to 16,000, logarithms": True}


@dataclass(frozen=True)
class Outcome:
    """What one choice by cross-validation led to: errors in cross-validation and in the test, and genes."""

    prepared: str
    method: str
    repetition: int
    cv_errors: int
    test_errors: int
    n_genes: int


def load(prepared: str) -> Split:
    """Return the patients, not yet standardised."""
    data = read_leukemia()
    X = np.log10(np.clip(data.data, 100.0, 16_000.0)) if PREPARED[prepared] else data.data
    y = np.where(data.target == 1, 1.0, -1.0)
    test = data.is_test
    assert test is not None  # noqa: S101 -- this data set has a test part
    return Split(X[~test], y[~test], X[test], y[test])


def errors_by_size(split: Split, method: str) -> Indices:
    """Return the number of test errors of a 2-norm machine for each number of genes."""
    choice = METHODS["CORR" if method == RANKING else "RFE"](split.X, split.y, SIZES)
    errors = []
    for genes in choice.values():
        rows, new = split.X[:, genes], split.X_test[:, genes]
        beta, intercept = machine(rows @ rows.T, split.y, HARD)
        errors.append(_wrong(new @ (rows.T @ beta) + intercept, split.y_test))
    return np.array(errors)


def errors_by_l1(split: Split, l1s: Array) -> tuple[Indices, Indices]:
    """Return the number of test errors and of genes of a 1-norm machine for each l1."""
    path = l1_svc_path(split.X, split.y, l1s=l1s, standardize=False)
    scores = [path.estimator(i).decision_function(split.X_test) for i in range(len(l1s))]
    return np.array([_wrong(each, split.y_test) for each in scores]), np.asarray(path.n_selected)


def _wrong(scores: Array, y: Array) -> int:
    return int(np.count_nonzero(np.where(scores > 0.0, 1.0, -1.0) != y))


def run_repetition(prepared: str, repetition: int) -> list[Outcome]:
    """Choose by cross-validation with folds of its own, and test."""
    whole = load(prepared)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repetition).split(whole.X, whole.y)
    parts = [Split(whole.X[a], whole.y[a], whole.X[b], whole.y[b]).standardised() for a, b in folds]
    final = whole.standardised()
    found = []
    for method in (RANKING, ELIMINATION):
        cv = np.sum([errors_by_size(part, method) for part in parts], axis=0)
        best = int(np.argmin(cv))  # the first: the fewest genes
        wrong = errors_by_size(final, method)[best]
        found.append(Outcome(prepared, method, repetition, int(cv[best]), int(wrong), SIZES[best]))
    l1s = np.array([point.l1 for point in l1_svc_path(final.X, final.y, n_values=N_VALUES, standardize=False)])
    cv = np.sum([errors_by_l1(part, l1s)[0] for part in parts], axis=0)
    best = int(np.argmin(cv))  # the first: the largest l1
    wrong_by_l1, genes = errors_by_l1(final, l1s)
    found.append(Outcome(prepared, L1, repetition, int(cv[best]), int(wrong_by_l1[best]), int(genes[best])))
    return found


def run_leukemia(repetitions: int, n_jobs: int) -> list[Outcome]:
    """Run all repetitions of both preparations."""
    jobs = [(prepared, repetition) for prepared in PREPARED for repetition in range(repetitions)]
    found: list[list[Outcome]] = Parallel(n_jobs=n_jobs)(delayed(run_repetition)(*job) for job in jobs)
    return [each for part in found for each in part]
