"""Figure 1: sparse and other polynomials of degree two, learned by a polynomial machine, a linear one and AROM."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from papers._zero_norm import paper
from papers._zero_norm.machines import Array, Split, linear_error, machine
from skgraft import KernelAROMClassifier
from skgraft.datasets import make_sparse_polynomial
from skgraft.zeronorm.span import polynomial_kernel

TARGETS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "a": ("x1 x2 + x3", {"terms": {(0, 1): 1.0, (2,): 1.0}}),
    "b": ("x1", {"terms": {(0,): 1.0}}),
    "c": ("95 % sparse", {"sparsity": 0.95}),
    "d": ("90 % sparse", {"sparsity": 0.9}),
    "e": ("80 % sparse", {"sparsity": 0.8}),
    "f": ("not sparse", {"sparsity": 0.0}),
}
SVM, LINEAR, AROM, ROWS, WIDE = "SVM", "linear SVM", "l2-AROM", "l2-AROM, span of rows", "l2-AROM, span of all"
METHODS = (SVM, LINEAR, AROM, ROWS, WIDE)
SPANNED = 4  # trials that are also run by kernels alone
LEAST = 2  # training points of the rarer class; other draws are made again


@dataclass(frozen=True)
class Learned:
    """A machine's test error on one trial."""

    target: str
    n_points: int
    trial: int
    method: str
    error: float
    n_monomials: int


def draw_trial(target: str, trial: int) -> Split:
    """Return the points of a trial: as many for training as the largest size, of which smaller ones take the first."""
    for attempt in range(1000):
        seed = int(np.random.SeedSequence((1, ord(target), trial, attempt)).generate_state(1)[0])
        n_train = max(paper.SIZES)
        options = TARGETS[target][1]
        problem = make_sparse_polynomial(n_train + paper.TEST_POINTS, 10, random_state=seed, **options)
        y = problem.target.astype(np.float64)
        if np.unique(y[: min(paper.SIZES)], return_counts=True)[1].min(initial=n_train) < LEAST:
            continue
        if np.unique(y[: min(paper.SIZES)]).size == 2:
            return Split(problem.data[:n_train], y[:n_train], problem.data[n_train:], y[n_train:])
    raise RuntimeError(f"no draw of target {target} has both classes")


def learn(target: str, trial: int) -> list[Learned]:
    """Return the errors of all machines on a trial, for all numbers of training points."""
    whole = draw_trial(target, trial)
    found = []
    for size in paper.SIZES:
        split = Split(whole.X[:size], whole.y[:size], whole.X_test, whole.y_test)
        errors = {SVM: (_polynomial_error(split), 65), LINEAR: (linear_error(split, np.arange(10)), 10)}
        errors[AROM] = _arom(split, implementation="explicit")
        if trial < SPANNED:
            errors[ROWS] = _arom(split, implementation="span")
            errors[WIDE] = _arom(split, implementation="span", extra_points="auto", random_state=trial)
        found += [Learned(target, size, trial, name, *values) for name, values in errors.items()]
    return found


def _polynomial_error(split: Split) -> float:
    beta, intercept = machine(_kernel(split.X, split.X), split.y, np.inf)
    scores = _kernel(split.X_test, split.X) @ beta + intercept
    return float(np.mean(np.where(scores > 0.0, 1.0, -1.0) != split.y_test))


def _kernel(A: Array, B: Array) -> Array:
    return polynomial_kernel(A @ B.T, 2)


def _arom(split: Split, **options: Any) -> tuple[float, int]:
    model = KernelAROMClassifier(2, C=np.inf, standardize=False, max_iter=100, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # in a span too narrow the rounds may go on for ever
        model.fit(split.X, split.y)
    n_monomials = len(model.monomials_) if model.monomials_ is not None else -1
    return 1.0 - float(model.score(split.X_test, split.y_test)), n_monomials


def run_polynomials(trials: int, n_jobs: int) -> list[Learned]:
    """Run all trials of all targets."""
    jobs = [(target, trial) for target in TARGETS for trial in range(trials)]
    found: list[list[Learned]] = Parallel(n_jobs=n_jobs)(delayed(learn)(*job) for job in jobs)
    return [each for part in found for each in part]
