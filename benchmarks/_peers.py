"""The solvers under comparison, each called as its documentation tells to call it."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks._problems import CONSTANT, Model, Problem

# A fit returns a function that reads the models out of its result, which is not timed.
Reader = Callable[[], list[Model]]
Fit = Callable[[Problem, float, int], Reader]


def _never(problem: Problem) -> None:
    del problem


@dataclass(frozen=True)
class Package:
    """A contestant's name, and the module that it comes from."""

    name: str
    module: str

    @property
    def absent(self) -> str | None:
        """Why it cannot be imported, or None if it can."""
        try:
            importlib.import_module(self.module)
        except Exception as error:  # noqa: BLE001 -- a broken installation must not end the comparison
            return f"{type(error).__name__}: {error}".splitlines()[0]
        return None

    @property
    def version(self) -> str:
        """The installed version."""
        try:
            return importlib.metadata.version(_DISTRIBUTION.get(self.module, self.module))
        except importlib.metadata.PackageNotFoundError:
            return "unknown"


@dataclass(frozen=True)
class Solver(Package):
    """One contestant.

    ``fit(problem, tolerance, threads)`` is what gets timed.  ``excuse`` tells why a problem is not for this solver.
    ``loosest`` and ``tightest`` bound the search for the tolerance that just reaches the common accuracy.
    ``prepare`` lays the data out as the solver likes them best, before the clock starts.
    ``compiles`` says that the first fit of a kind compiles its kernels.
    """

    fit: Fit
    excuse: Callable[[Problem], str | None]
    loosest: float = 1e-1
    tightest: float = 1e-13
    prepare: Callable[[Problem], Any] = _never
    compiles: bool = False


_DISTRIBUTION = {"sklearn": "scikit-learn"}


def _is_path(problem: Problem) -> bool:
    return len(problem.l1s) > 1


def _one(problem: Problem, fitted: Any) -> Reader:
    """Read an estimator in scikit-learn's manner."""
    shift = fitted.intercept_ if problem.intercept else None
    return lambda: [Model.of(fitted.coef_, shift, problem.n_columns)]


def _centred(problem: Problem) -> tuple[Any, float]:
    """Return y less its mean, and the mean: with centred columns of X that is the intercept of squares."""
    mean = float(problem.y.mean())
    return problem.y - mean, mean


def _sequence(problem: Problem, coefs: Any, intercept: float) -> Reader:
    """Read the columns (n_features, n_values) of a path."""
    return lambda: [Model.of(column, intercept, problem.n_columns) for column in np.asarray(coefs).T]


# ------------------------------------------------------------------------------------------------- skgraft


def estimator(problem: Problem, l1: float, **parameters: Any) -> Any:
    """Return skgraft's estimator of a problem; the data are standardised already."""
    from skgraft import GraftClassifier, GraftRegressor

    parameters = {"standardize": False, "fit_intercept": problem.intercept, **parameters}
    if problem.kind == "groups":
        labels = np.arange(problem.n_columns) // problem.group
        return GraftRegressor(l1=0.0, group_l1=l1, groups=labels, **parameters)
    if problem.kind == "targets":
        return GraftRegressor(l1=0.0, group_l1=l1, **parameters)
    if problem.kind == "classes":
        return GraftClassifier(l1=0.0, group_l1=l1, loss="multinomial", **parameters)
    if problem.kind == "squared":
        return GraftRegressor(l1=l1, **parameters)
    return GraftClassifier(l1=l1, loss=problem.kind, **parameters)


def fit_skgraft(problem: Problem, tol: float, threads: int) -> Reader:
    """Fit or walk the path with skgraft."""
    from skgraft import graft_path

    if not _is_path(problem):
        return _one(problem, estimator(problem, problem.l1, tol=tol, n_jobs=threads).fit(problem.X, problem.y))
    path = graft_path(
        problem.X, problem.y, l1s=problem.l1s, loss=problem.kind, standardize=False, tol=tol, n_jobs=threads
    )
    return lambda: [Model.of(path.coef(i), path[i].intercept, problem.n_columns) for i in range(len(path))]


# --------------------------------------------------------------------------------------------------- skglm


def fit_skglm(problem: Problem, tol: float, threads: int) -> Reader:
    """Fit or walk the path with skglm; it has no threads of its own."""
    del threads
    import skglm

    settings: dict[str, Any] = {"tol": tol, "max_iter": 500, "fit_intercept": problem.intercept}
    X, y, alpha = problem.X, problem.y, problem.l1s[0]
    if problem.kind == "logistic":
        model = skglm.SparseLogisticRegression(alpha=alpha, **settings)
        return _warm_path(problem, model) if _is_path(problem) else _one(problem, model.fit(X, y))
    if problem.kind == "groups":
        weights = np.full(problem.n_columns // problem.group, np.sqrt(problem.group))
        return _one(problem, skglm.GroupLasso(groups=problem.group, alpha=alpha, weights=weights, **settings).fit(X, y))
    if problem.kind == "targets":
        return _one(problem, skglm.MultiTaskLasso(alpha=alpha, copy_X=False, **settings).fit(X, y))
    if _is_path(problem):
        return _warm_path(problem, skglm.Lasso(alpha=alpha, **settings))
    return _one(problem, skglm.Lasso(alpha=alpha, **settings).fit(X, y))


def _warm_path(problem: Problem, model: Any) -> Reader:
    model.set_params(warm_start=True)
    models = []
    for l1 in problem.l1s:
        model.set_params(alpha=l1).fit(problem.X, problem.y)
        models.append(Model.of(model.coef_.copy(), model.intercept_, problem.n_columns))
    return lambda: models


def excuse_skglm(problem: Problem) -> str | None:
    """Excuse skglm, which has no multinomial loss."""
    return "no multinomial" if problem.kind in {"multinomial", "classes"} else None


# --------------------------------------------------------------------------------------------------- celer


def fit_celer(problem: Problem, tol: float, threads: int) -> Reader:
    """Fit or walk the path with celer; it has no threads of its own."""
    del threads
    import celer

    X, y, alpha = problem.X, problem.y, problem.l1s[0]
    settings: dict[str, Any] = {"tol": tol, "max_iter": 500, "fit_intercept": problem.intercept}
    if _is_path(problem):
        y, mean = _centred(problem)
        _, coefs, _ = celer.celer_path(X, y, "lasso", alphas=np.array(problem.l1s), tol=tol, max_iter=500, prune=True)
        return _sequence(problem, coefs, mean)
    if problem.kind == "logistic":
        return _one(problem, celer.LogisticRegression(C=1.0 / (problem.n_rows * alpha), **settings).fit(X, y))
    if problem.kind == "groups":
        weights = np.full(problem.n_columns // problem.group, np.sqrt(problem.group))
        return _one(problem, celer.GroupLasso(groups=problem.group, alpha=alpha, weights=weights, **settings).fit(X, y))
    model = celer.MultiTaskLasso if problem.kind == "targets" else celer.Lasso
    return _one(problem, model(alpha=alpha, **settings).fit(X, y))


def excuse_celer(problem: Problem) -> str | None:
    """Excuse celer, whose logistic regression has no intercept and which has no multinomial loss."""
    if problem.kind == "logistic" and problem.intercept:
        return "no intercept"
    return "no multinomial" if problem.kind in {"multinomial", "classes"} else None


# -------------------------------------------------------------------------------------------------- adelie


def fit_adelie(problem: Problem, tol: float, threads: int) -> Reader:
    """Fit or walk the path with adelie, which takes a sequence of l1 in any case."""
    import adelie

    wrap = adelie.matrix.sparse if problem.sparse else adelie.matrix.dense
    n_outputs, groups, y = 1, None, problem.y
    settings: dict[str, Any] = {}
    if problem.kind == "logistic":
        glm = adelie.glm.binomial((y > 0).astype(np.float64))
    elif problem.kind == "classes":
        n_outputs = problem.n_classes
        glm = adelie.glm.multinomial(np.eye(n_outputs)[np.unique(y, return_inverse=True)[1]])
        settings["penalty"] = np.ones(problem.n_columns)
    elif problem.kind == "targets":
        n_outputs = y.shape[1]
        glm = adelie.glm.multigaussian(np.asfortranarray(y))
        settings["penalty"] = np.ones(problem.n_columns)
    else:
        glm = adelie.glm.gaussian(y)
    if problem.kind == "groups":
        groups = np.arange(0, problem.n_columns, problem.group)
        settings["penalty"] = np.full(groups.size, np.sqrt(problem.group))
    if problem.kind in {"logistic", "classes"}:
        settings["irls_tol"] = tol
    state = adelie.grpnet(
        wrap(problem.X, method="naive", n_threads=threads),
        glm,
        groups=groups,
        lmda_path=np.array(problem.l1s) / n_outputs,  # its losses of several outputs are means over them
        intercept=problem.intercept,
        tol=tol,
        max_iters=1_000_000,
        early_exit=False,
        progress_bar=False,
        n_threads=threads,
        **settings,
    )

    def read() -> list[Model]:
        betas = np.asarray(state.betas.toarray()).reshape(len(problem.l1s), problem.n_columns, n_outputs)
        shifts = np.asarray(state.intercepts).reshape(len(problem.l1s), n_outputs)
        return [Model(beta.T, shift) for beta, shift in zip(betas, shifts, strict=True)]

    return read


def excuse_adelie(problem: Problem) -> str | None:
    """Excuse adelie, whose multinomial selects a feature for all classes together."""
    return "classes share features" if problem.kind == "multinomial" else None


# -------------------------------------------------------------------------------------------- scikit-learn


def fit_sklearn(problem: Problem, tol: float, threads: int) -> Reader:
    """Coordinate descent for squares, liblinear for two classes, saga for more."""
    del threads
    from sklearn import linear_model

    settings: dict[str, Any] = {"tol": tol, "fit_intercept": problem.intercept}
    alpha = problem.l1s[0]
    if problem.kind in {"logistic", "multinomial"}:
        settings |= {"C": 1.0 / (problem.n_rows * alpha), "l1_ratio": 1.0, "max_iter": 1_000_000, "random_state": 0}
        settings["solver"] = "saga" if problem.kind == "multinomial" else "liblinear"
        if problem.kind == "logistic" and problem.intercept:
            # liblinear penalises its intercept; the larger this scale, the less, but with a large one its own
            # stopping rule never holds: it is stopped by the number of its iterations instead
            settings |= {"intercept_scaling": 1e5, "tol": 1e-12, "max_iter": round(5.0 * tol**-0.25)}
        return _one(problem, linear_model.LogisticRegression(**settings).fit(problem.rows, problem.y))
    if _is_path(problem):
        y, mean = _centred(problem)
        _, coefs, _ = linear_model.lasso_path(problem.X, y, alphas=problem.l1s, tol=tol, max_iter=1_000_000)
        return _sequence(problem, coefs, mean)
    # what `copy_X=False` may overwrite is centred already
    settings |= {"alpha": alpha, "max_iter": 1_000_000, "copy_X": False}
    model = linear_model.MultiTaskLasso if problem.kind == "targets" else linear_model.Lasso
    return _one(problem, model(**settings).fit(problem.X, problem.y))


def excuse_sklearn(problem: Problem) -> str | None:
    """Excuse scikit-learn, which has neither group norms nor warm starts of liblinear."""
    if problem.kind in {"groups", "classes"}:
        return "no groups"
    return "no path" if _is_path(problem) and problem.kind == "logistic" else None


# -------------------------------------------------------------------------------------------------- snapml


def fit_snapml(problem: Problem, tol: float, threads: int) -> Reader:
    """Fit with snapml, whose l1 models return no intercept: y is centred, or X given a constant column, before."""
    import snapml

    model = snapml.LogisticRegression if problem.kind == "logistic" else snapml.LinearRegression
    constant = problem.intercept and (problem.sparse or problem.kind == "logistic")
    y, mean = _centred(problem) if problem.intercept and not constant else (problem.y, 0.0)
    fitted = model(
        penalty="l1",
        dual=False,
        regularizer=problem.n_rows * problem.l1,
        fit_intercept=False,
        tol=tol,
        max_iter=100_000,
        n_jobs=threads,
    ).fit(problem.rows_and_constant if constant else problem.rows, y)

    def read() -> list[Model]:
        coef = np.ravel(fitted.coef_)
        if constant:
            return [Model.of(coef[:-1], coef[-1] * CONSTANT, problem.n_columns)]
        return [Model.of(coef, mean, problem.n_columns)]

    return read


def excuse_snapml(problem: Problem) -> str | None:
    """Excuse snapml, which solves single problems of one output."""
    if _is_path(problem):
        return "no path"
    return None if problem.kind in {"squared", "logistic"} else f"no {problem.kind}"


SKGRAFT = Solver("skgraft", "skgraft", fit_skgraft, _never, compiles=True)
SOLVERS = (
    SKGRAFT,
    Solver("skglm", "skglm", fit_skglm, excuse_skglm, compiles=True),
    Solver("celer", "celer", fit_celer, excuse_celer),
    Solver("adelie", "adelie", fit_adelie, excuse_adelie, loosest=1e-4, tightest=1e-16),
    Solver("scikit-learn", "sklearn", fit_sklearn, excuse_sklearn, prepare=lambda problem: problem.rows),
    Solver("snapml", "snapml", fit_snapml, excuse_snapml, prepare=lambda problem: problem.rows_and_constant),
)
