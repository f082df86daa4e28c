"""Figure 5: how good the selected features are to another classifier, an SVM with an RBF kernel, on uspst."""

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import ShuffleSplit, cross_val_score
from sklearn.svm import SVC

from papers._gbfs.methods import METHODS, Point, trace
from papers._gbfs.problems import Problem

CS = (1.0, 10.0, 100.0)
WIDTHS = (0.3, 1.0, 3.0)  # of the kernel, over the features' mean squared distance
SPLITS = 3
MOST = 12  # points of a curve that are tried


@dataclass(frozen=True)
class Quality:
    """The error of an SVM on the features that a method selected."""

    method: str
    n_features: int
    error: float
    C: float
    gamma: float


def spread(points: list[Point], most: int) -> list[Point]:
    """Return at most so many points, one of each number of features and evenly among these."""
    each = list({point.n_features: point for point in points}.values())
    each.sort(key=lambda point: point.n_features)
    places = np.unique(np.linspace(0, len(each) - 1, min(most, len(each))).round().astype(int))
    return [each[place] for place in places]


def judge(problem: Problem, point: Point) -> Quality:
    """Choose C and gamma by splits of the training rows and return the error on the test rows."""
    X, X_test = (part[:, list(point.features)] for part in problem.standardised())
    best = (np.inf, 0.0, 0.0)
    for C in CS:
        for width in WIDTHS:
            gamma = width / (2.0 * X.shape[1])
            splits = ShuffleSplit(SPLITS, test_size=0.2, random_state=0)
            score = cross_val_score(SVC(C=C, gamma=gamma), X, problem.y, cv=splits).mean()
            best = min(best, (1.0 - score, C, gamma))
    _, C, gamma = best
    error = float(np.mean(SVC(C=C, gamma=gamma).fit(X, problem.y).predict(X_test) != problem.y_test))
    return Quality(point.method, point.n_features, error, C, gamma)


def run_quality(problem: Problem, n_jobs: int) -> list[Quality]:
    """Return the errors for the features of every method that is there."""
    # a model refitted on the same features has nothing to add
    names = [name for name, method in METHODS.items() if method.curve is not None and name != "L1-LR refitted"]
    curves = Parallel(n_jobs=n_jobs)(delayed(trace)(name, problem) for name in names)
    points = [point for curve in curves for point in spread(list(curve.points), MOST)]
    return list(Parallel(n_jobs=n_jobs)(delayed(judge)(problem, point) for point in points))
