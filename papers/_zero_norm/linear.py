"""Table 1: two features of a hundred, chosen from 10, 20 or 30 points."""

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from papers._zero_norm import paper
from papers._zero_norm.machines import HARD, Indices, Split, linear_error
from papers._zero_norm.methods import METHODS, r2w2_of_hard_margins
from skgraft.datasets import make_weston_linear

TEST_POINTS = 500
N_CHOSEN = 2
LEAST = 2  # training points of the rarer class; other draws are made again, as no method can learn from them

# What the paper leaves open: which rows the features are scaled by, and what the last machine does with errors.
MAIN = "scaled by the training rows"
ALL_ROWS = "scaled by training and test rows"
SOFT = "scaled by the training rows, last machine with C = 1"
# R2W2 alone: what it owes to the slack that its own machines have.
INFINITE = "scaled by the training rows, R2W2 with C at infinity"
VARIANTS = (MAIN, ALL_ROWS, SOFT, INFINITE)


@dataclass(frozen=True)
class Trials:
    """The test errors of a method over all trials, and how often it chose a relevant feature of either group."""

    variant: str
    n_points: int
    method: str
    errors: list[float]
    perfect: int


def draw_trial(n_points: int, trial: int) -> Split:
    """Return training and test rows as they are drawn, before scaling."""
    for attempt in range(1000):
        seeds = np.random.SeedSequence((2, n_points, trial, attempt)).generate_state(2)
        train = make_weston_linear(n_points, random_state=int(seeds[0]))
        if min((train.target == 1).sum(), (train.target == -1).sum()) >= LEAST:
            break
    test = make_weston_linear(TEST_POINTS, random_state=int(seeds[1]))
    return Split(train.data, train.target.astype(np.float64), test.data, test.target.astype(np.float64))


def scaled(split: Split, variant: str) -> Split:
    """Return the split with features of mean zero and deviation one, in the rows that the variant says."""
    if variant != ALL_ROWS:
        return split.standardised()
    rows = np.vstack([split.X, split.X_test])
    centre, scale = rows.mean(axis=0), rows.std(axis=0)
    return Split((split.X - centre) / scale, split.y, (split.X_test - centre) / scale, split.y_test)


def is_perfect(features: Indices) -> bool:
    """Say whether a pair has a relevant feature of either group."""
    chosen = set(features.tolist())
    return len(chosen) == N_CHOSEN and bool(chosen & {0, 1, 2}) and bool(chosen & {3, 4, 5})


def run_trial(n_points: int, trial: int) -> list[tuple[str, str, float, bool]]:
    """Return variant, method, test error and whether the pair is perfect."""
    drawn = draw_trial(n_points, trial)
    found = []
    for scaling in (MAIN, ALL_ROWS):
        split = scaled(drawn, scaling)
        for name, choose in METHODS.items():
            features = choose(split.X, split.y, [N_CHOSEN])[N_CHOSEN]
            found.append((scaling, name, linear_error(split, features, HARD), is_perfect(features)))
            if scaling == MAIN:
                found.append((SOFT, name, linear_error(split, features, 1.0), is_perfect(features)))
    split = scaled(drawn, MAIN)
    features = r2w2_of_hard_margins(split.X, split.y, [N_CHOSEN])[N_CHOSEN]
    found.append((INFINITE, "R2W2", linear_error(split, features, HARD), is_perfect(features)))
    return found


def run_linear(trials: int, n_jobs: int) -> list[Trials]:
    """Run all trials."""
    result = []
    for n_points in paper.POINTS:
        rows = Parallel(n_jobs=n_jobs)(delayed(run_trial)(n_points, trial) for trial in range(trials))
        for variant in VARIANTS:
            for method in METHODS:
                mine = [row for part in rows for row in part if row[:2] == (variant, method)]
                if not mine:
                    continue
                errors, perfect = [row[2] for row in mine], sum(row[3] for row in mine)
                result.append(Trials(variant, n_points, method, errors, perfect))
    return result
