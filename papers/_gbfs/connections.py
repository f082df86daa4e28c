"""Figure 4: the network connections, whose curves follow the boosting itself: one point for each number of features."""

from time import process_time

import numpy as np
from joblib import Parallel, delayed

from papers._gbfs.boosting import parameters, staged_errors
from papers._gbfs.methods import Curve, Point, trace
from papers._gbfs.problems import Problem
from skgraft import GBFSClassifier

# Three of the paper's ten (it does not tell which it draws), and shares of the largest, for fewer features
PRICES = ((2.0**-3, "absolute"), (2.0**3, "absolute"), (2.0**9, "absolute"), (0.01, "relative"), (0.1, "relative"))
DEPTH = 4


def iteration_curve(problem: Problem, mu: float, scale: str) -> Curve:
    """Return the error with each number of features, after the last tree that has no more of them."""
    began = process_time()
    trees = problem.budget.trees
    passed = 2.0 * mu if scale == "absolute" else mu  # the paper's mu is half of ours: see `boosting`
    model = GBFSClassifier(mu=passed, **parameters(scale, DEPTH, trees)).fit(problem.X, problem.y)
    errors = staged_errors(model, problem.X_test, problem.y_test, trees)
    counts = dict(zip(model.history_.column("step"), model.history_.column("n_selected"), strict=True))
    last = {int(count): int(step) for step, count in sorted(counts.items())}
    order = [int(j) for j in model.order_]
    name = f"GBFS, mu = {mu:g}" + (" of the largest" if scale == "relative" else "")
    points = [
        Point(name, problem.name, count, float(errors[step - 1]), {"mu": mu, "trees": step}, tuple(order[:count]))
        for count, step in last.items()
        if count
    ]
    return Curve(name, problem.name, tuple(points), process_time() - began)


def run_connections(problem: Problem, n_jobs: int) -> list[Curve]:
    """Return the curves of GBFS for several prices, and those of the other methods."""
    work = [delayed(iteration_curve)(problem, mu, scale) for mu, scale in PRICES]
    return list(Parallel(n_jobs=n_jobs)([*work, *(delayed(trace)(name, problem) for name in ("L1-LR", "RF-FS"))]))


def share_of_normal(problem: Problem) -> float:
    """Return the error of always saying attack."""
    return float(np.mean(problem.y_test == -1))
