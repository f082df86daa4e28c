"""The contestants, each called as its documentation tells to call it, with the same trees asked of all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._boosting_problems import Problem
from benchmarks._peers import Package
from benchmarks._timing import Run, now

DEPTH, BINS, RATE, LEAF = 4, 255, 0.1, 20
FOREST = 2_000
FOREST_TIMED = 4  # trees of a forest are alike: so many are timed and the time is multiplied

Probabilities = Callable[[Any], NDArray[np.float64]]


@dataclass(frozen=True)
class Fitted:
    """What a contestant learned: probabilities of the second class, and how many features it looks at.

    ``ends`` is when each tree was done, of those that tell.
    """

    probabilities: Probabilities
    n_features: Callable[[], int]
    ends: Sequence[Run] = ()

    def judged(self, problem: Problem) -> dict[str, float]:
        """Return the log loss and the error on the test rows, and the number of features."""
        p = np.clip(np.asarray(self.probabilities(problem.X_test), np.float64), 1e-15, 1.0 - 1e-15)
        y = problem.y_test
        loss = -np.mean(np.where(y == 1, np.log(p), np.log1p(-p)))
        return {"loss": float(loss), "error": float(np.mean((p > 0.5) != y)), "n_features": self.n_features()}


Fit = Callable[[Problem, int, int, float], Fitted]


def _anything(problem: Problem) -> None:
    del problem


@dataclass(frozen=True)
class Booster(Package):
    """One contestant.

    ``fit(problem, trees, threads, root_gain)`` is what gets timed.  ``excuse`` tells why a problem is not for it.
    ``selects`` says that it prices features; ``multiple`` by what the time of a fit is multiplied (a forest's).
    """

    fit: Fit
    excuse: Callable[[Problem], str | None] = _anything
    selects: bool = False
    multiple: float = 1.0


# ------------------------------------------------------------------------------------------------- skgraft


def gbfs(problem: Problem, trees: int, threads: int, root_gain: float, **parameters: Any) -> Any:
    """Return skgraft's estimator, fitted."""
    from skgraft import GBFSClassifier

    told = {
        "mu": problem.share * root_gain,
        "mu_scale": "absolute",
        "n_trees": trees,
        "learning_rate": RATE,
        "max_depth": DEPTH,
        "max_bins": BINS,
        "min_samples_leaf": LEAF,
        "n_jobs": threads,
        **parameters,
    }
    return GBFSClassifier(**told).fit(problem.X, problem.y)


def _skgraft(**parameters: Any) -> Fit:
    def fit(problem: Problem, trees: int, threads: int, root_gain: float) -> Fitted:
        ends: dict[int, Run] = {}

        def note(record: Any) -> None:
            ends[record.step] = now()  # a tree has a record for every feature that it buys

        model = gbfs(problem, trees, threads, root_gain, callback=note, **parameters)
        return Fitted(lambda X: model.predict_proba(X)[:, 1], lambda: int(np.sum(model.support_)), list(ends.values()))

    return fit


def _apart(problem: Problem, trees: int, threads: int, root_gain: float) -> Fitted:
    """Let no row stand for others; this child has no other use for the module."""
    from skgraft.boosting.bins import equal

    equal.LEAST_ROWS = sys.maxsize
    return _skgraft()(problem, trees, threads, root_gain)


def _has_equal_rows(problem: Problem) -> str | None:
    return None if problem.repeats else "–"


# --------------------------------------------------------------------------------------------------- peers


def _lightgbm(*, priced: bool) -> Fit:
    def fit(problem: Problem, trees: int, threads: int, root_gain: float) -> Fitted:
        import lightgbm as lgb

        told: dict[str, Any] = {
            "objective": "binary",
            "max_depth": DEPTH,
            "num_leaves": 2**DEPTH,
            "max_bin": BINS,
            "learning_rate": RATE,
            "min_data_in_leaf": LEAF,
            "min_sum_hessian_in_leaf": 0.0,
            "num_threads": threads,
            "verbosity": -1,
        }
        if priced:  # its gains are divided by the second derivative, p(1 - p) at the start
            price = problem.share * root_gain / (problem.prior * (1.0 - problem.prior))
            told |= {"cegb_penalty_feature_coupled": [price] * problem.shape[1]}
        ends: list[Run] = []
        data = lgb.Dataset(problem.X, problem.y, params=told)
        model = lgb.train(told, data, trees, callbacks=[lambda _: ends.append(now())])
        return Fitted(
            lambda X: np.asarray(model.predict(X)), lambda: int(np.sum(model.feature_importance("split") > 0)), ends
        )

    return fit


def _catboost(policy: str) -> Fit:
    def fit(problem: Problem, trees: int, threads: int, root_gain: float) -> Fitted:
        from catboost import CatBoostClassifier, Pool

        # Its score is of the size of a gain's root. How it counts prices is its own: see the numbers of features.
        price = problem.share * float(np.sqrt(root_gain))
        told: dict[str, Any] = {
            "iterations": trees,
            "depth": DEPTH,
            "border_count": BINS - 1,
            "learning_rate": RATE,
            "grow_policy": policy,
            "boosting_type": "Plain",
            "bootstrap_type": "No",
            "random_strength": 0.0,
            "leaf_estimation_iterations": 1,
            "first_feature_use_penalties": [price] * problem.shape[1],
            "thread_count": threads,
            "verbose": False,
            "allow_writing_files": False,
        }
        if policy != "SymmetricTree":
            told["min_data_in_leaf"] = LEAF
        model = CatBoostClassifier(**told).fit(Pool(problem.X, problem.y, thread_count=threads))
        return Fitted(lambda X: model.predict_proba(X)[:, 1], lambda: int(np.sum(model.get_feature_importance() > 0)))

    return fit


def _histogram(problem: Problem, trees: int, threads: int, root_gain: float) -> Fitted:
    from sklearn.ensemble import HistGradientBoostingClassifier

    del threads, root_gain  # its threads are OpenMP's, which the child that runs it has limited
    model = HistGradientBoostingClassifier(
        max_iter=trees,
        learning_rate=RATE,
        max_depth=DEPTH,
        max_leaf_nodes=2**DEPTH,
        max_bins=BINS,
        min_samples_leaf=LEAF,
        early_stopping=False,
    ).fit(problem.X, problem.y)

    def n_features() -> int:
        nodes = [predictor.nodes for stage in model._predictors for predictor in stage]  # noqa: SLF001 -- nowhere else
        return np.unique(np.concatenate([each["feature_idx"][each["is_leaf"] == 0] for each in nodes])).size

    return Fitted(lambda X: model.predict_proba(X)[:, 1], n_features)


def _forest(problem: Problem, trees: int, threads: int, root_gain: float) -> Fitted:
    from sklearn.ensemble import RandomForestClassifier

    del root_gain
    model = RandomForestClassifier(trees, min_samples_split=21, n_jobs=threads, random_state=0)
    model.fit(problem.X, problem.y)
    return Fitted(lambda X: model.predict_proba(X)[:, 1], lambda: int(np.sum(model.feature_importances_ > 0)))


def _dense_only(problem: Problem) -> str | None:
    return "takes no sparse data" if problem.sparse else None


SKGRAFT = Booster("skgraft", "skgraft.boosting", _skgraft(), selects=True)
LIGHTGBM = "LightGBM CEGB"
BOOSTERS = (
    SKGRAFT,
    Booster("skgraft, no screening", "skgraft.boosting", _skgraft(screening="off"), selects=True),
    Booster("skgraft, equal rows apart", "skgraft.boosting", _apart, _has_equal_rows, selects=True),
    Booster("skgraft, adaptive", "skgraft.boosting", _skgraft(screening="adaptive"), selects=True),
    Booster(LIGHTGBM, "lightgbm", _lightgbm(priced=True), selects=True),
    Booster("LightGBM", "lightgbm", _lightgbm(priced=False)),
    Booster("CatBoost", "catboost", _catboost("SymmetricTree"), selects=True),
    Booster("CatBoost, depthwise", "catboost", _catboost("Depthwise"), selects=True),
    Booster("HistGradientBoosting", "sklearn", _histogram, _dense_only),
    Booster("random forest", "sklearn", _forest, multiple=FOREST / FOREST_TIMED),
)
