"""Linear grafting with its l1, or its number of features, chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context, is_classifier
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import _num_samples

from skgraft.arrays import Array
from skgraft.criterion import Loss, loss_names
from skgraft.estimator import falling, store_parameters
from skgraft.grafting.linear.estimators import _CONSTRAINTS, GraftClassifier, GraftRegressor
from skgraft.grafting.linear.l1max import null_l1
from skgraft.grafting.linear.path import path_of
from skgraft.grafting.linear.problem import LinearProblem
from skgraft.tables import native_table

LARGEST_SIZE = 30  # features tried by l0="auto" where max_features does not say

_PATH_CONSTRAINTS: dict[str, Any] = {
    **{name: rule for name, rule in _CONSTRAINTS.items() if name not in {"l1", "l0", "warm_start"}},
    "l1": [None, Interval(Real, 0, None, closed="left")],
    "l0": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    "l1s": ["array-like", None],
    "n_l1s": [Interval(Integral, 1, None, closed="left")],
    "smallest": [Interval(Real, 0, 1, closed="neither")],
    "cv": ["cv_object"],
    "scoring": [None, StrOptions(set(get_scorer_names())), callable],
    "rule": [StrOptions({"best", "one_se"})],
}


@dataclass(frozen=True)
class Grid:
    """Values to try, in the order of growing models: l1s, sizes, or every size with every l1."""

    l1s: Array | None
    sizes: NDArray[np.intp] | None


class _GraftCV(BaseEstimator):
    """What the cross-validated estimators share: the path in every fold, the choice, the fit on everything."""

    _base: ClassVar[type[GraftClassifier | GraftRegressor]]

    def _fit_path(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> None:
        X, y, sample_weight = _sliceable(X, "X"), _sliceable(y, "y"), _sliceable(sample_weight, "sample_weight")
        grid = self._grid(X, y, sample_weight)
        splits, score_params = self._routed(X, y, sample_weight, params)
        _require_folds(splits, sample_weight, score_params.get("sample_weight"))
        scorer = self._scorer()
        scores = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_in_fold)(k, self._fold_scores, X, y, sample_weight, train, test, grid, scorer, score_params)
            for k, (train, test) in enumerate(splits)
        )
        self._require_defined(scores, splits, _num_samples(X))
        self.cv_scores_ = np.array(scores).T
        self.mean_scores_ = self.cv_scores_.mean(axis=1)
        n_folds = self.cv_scores_.shape[1]
        self.se_scores_ = self.cv_scores_.std(axis=1, ddof=1 if n_folds > 1 else 0) / np.sqrt(n_folds)
        self.best_index_ = choose(self.mean_scores_, self.se_scores_, self.rule)
        chosen = {"l1": float(self.l1 or 0.0), "l0": 0.0 if self.l0 == "auto" else float(self.l0)}
        if grid.sizes is not None:
            self.size_path_ = np.repeat(grid.sizes, 1 if grid.l1s is None else grid.l1s.size)
            chosen["max_features"] = int(self.size_path_[self.best_index_])
        if grid.l1s is not None:
            self.l1_path_ = np.tile(grid.l1s, 1 if grid.sizes is None else grid.sizes.size)
            chosen["l1"] = float(self.l1_path_[self.best_index_])
        best = self._base(**{**self._shared_parameters(), **chosen})
        self.l1_ = best.l1
        try:
            best.fit(X, y, sample_weight=sample_weight)
        finally:  # Ctrl-C leaves a whole model behind
            fitted = {name: value for name, value in vars(best).items() if name.endswith("_")}
            for name, value in (fitted | {"_loss": best._loss}).items():  # noqa: SLF001 -- of its own kind
                setattr(self, name, value)
            self._single_target = getattr(best, "_single_target", False)

    def _shared_parameters(self) -> dict[str, Any]:
        own = self.get_params(deep=False)
        names = set(self._base().get_params()) - {"l1", "l0", "warm_start"}
        return {name: own[name] for name in names}

    def _path_parameters(self) -> dict[str, Any]:
        parameters = self._shared_parameters() | {"verbose": 0, "callback": None, "n_jobs": 1}
        if self.l0 == "auto":
            return parameters | {"l1": float(self.l1 or 0.0), "max_features": None}
        return parameters | {"l0": float(self.l0)}

    def _grid(self, X: Any, y: Any, sample_weight: Any) -> Grid:
        """Return what to try, the same in every fold.

        Reads the table, so that what is wrong with it is said before any work is done.
        """
        if self.l1 is not None and self.l1s is not None:
            msg = "l1 and l1s were both given: put all values to try into l1s"
            raise ValueError(msg)
        template = self._base(**self._path_parameters() | {"l0": 0.0, "max_features": self.max_features})
        problem = template._problem(X, y, sample_weight)  # noqa: SLF001 -- the estimators' own encoding
        l1s = None if self.l1s is None else falling(self.l1s, "l1s")
        if self.l0 == "auto":
            least = max(1, int(problem.prices.kept.sum()))
            most = max(least, min(self.max_features or LARGEST_SIZE, problem.n_features))
            return Grid(l1s, np.arange(least, most + 1))
        if l1s is None and self.l1 is not None:
            l1s = np.array([float(self.l1)])
        if l1s is None:
            top = null_l1(_unlimited(problem))
            l1s = np.geomspace(top, self.smallest * top, self.n_l1s) if top > 0.0 else np.zeros(1)
        return Grid(l1s, None)

    def _scorer(self) -> Any:
        # scikit-learn's own stand-in for the estimator's score would ask this estimator for its routing, and it that
        return check_scoring(self, scoring=self._scoring)

    def _require_defined(self, scores: list[list[float]], splits: list[Any], n_rows: int) -> None:
        """Refuse to choose by scores that are not numbers, naming the scorer and the first fold that has one."""
        undefined = [fold for fold, of_fold in enumerate(scores) if np.isnan(of_fold).any()]
        if undefined:
            name = repr(self._scoring)
            fold = undefined[0]
            rows = np.arange(n_rows)[splits[fold][1]].size  # a splitter may give indices or a mask
            held_out = "1 row" if rows == 1 else f"{rows} rows"
            folds, instead = (
                ("rows of every class in each fold", "accuracy")
                if is_classifier(self)
                else ("more rows in each fold", "neg_mean_squared_error")
            )
            msg = (
                f"the score {name} is undefined (NaN) on the held-out rows of fold {fold}, which has {held_out}; "
                f"{len(undefined)} of {len(scores)} folds have no score to choose by. Use a cv with {folds}, or a "
                f"scoring that is defined on them, such as {instead!r}."
            )
            raise ValueError(msg)

    @property
    def _scoring(self) -> Any:
        """The score to maximise: the estimator's own unless told."""
        default = "accuracy" if is_classifier(self) else "r2"
        return default if self.scoring is None else self.scoring

    def _routed(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the splits and what the scorer is given besides the rows."""
        cv = check_cv(self.cv, y, classifier=is_classifier(self))
        if _routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            return list(cv.split(X, y, **routed.splitter.split)), routed.scorer.score
        unknown = set(params) - {"groups"}
        if unknown:
            msg = f"fit got {sorted(unknown)}; without metadata routing it takes sample_weight and groups only"
            raise TypeError(msg)
        score_params = {} if sample_weight is None else {"sample_weight": sample_weight}
        return list(cv.split(X, y, groups=params.get("groups"))), score_params

    def _fold_scores(
        self, X: Any, y: Any, sample_weight: Any, train: Any, test: Any, grid: Any, scorer: Any, score_params: Any
    ) -> list[float]:
        models = self._fold_models(X, y, sample_weight, train, grid)
        held_out = {name: _safe_indexing(value, test) for name, value in score_params.items() if value is not None}
        X_test, y_test = _safe_indexing(X, test), _safe_indexing(y, test)
        return [float(scorer(model, X_test, y_test, **held_out)) for model in models]

    def _fold_models(self, X: Any, y: Any, sample_weight: Any, train: Any, grid: Grid) -> list[Any]:
        """Return the models of a fold: what separate fits on its training rows would give."""
        weight = None if sample_weight is None else _safe_indexing(sample_weight, train)
        X, y = _safe_indexing(X, train), _safe_indexing(y, train)
        if grid.sizes is None:
            path = path_of(self._base(**self._path_parameters()), X, y, weight, "l1s", grid.l1s)
            return [path.estimator(i) for i in range(len(path))]
        values = [float(self.l1 or 0.0)] if grid.l1s is None else grid.l1s.tolist()
        templates = [self._base(**self._path_parameters() | {"l1": l1}) for l1 in values]
        paths = [path_of(template, X, y, weight, "sizes", grid.sizes) for template in templates]
        return [path.estimator(i) for i in range(grid.sizes.size) for path in paths]

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how sample weights and groups reach the splitter and the scorer.

        Returns
        -------
        MetadataRouter
            As in scikit-learn.
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=check_cv(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split"))
            .add(
                scorer=self._scorer(),
                method_mapping=MethodMapping().add(caller="fit", callee="score"),
            )
        )


def _unlimited(problem: LinearProblem) -> LinearProblem:
    """Return the problem with neither limits nor kept features."""
    nothing = np.zeros(problem.n_features, bool)
    return replace(problem, prices=replace(problem.prices, kept=nothing, max_features=None, max_cost=None))


def _require_folds(splits: list[Any], weight: Any, score_weight: Any) -> None:
    """Refuse a ``cv`` without folds, and folds without weight."""
    if not splits:
        msg = "cv gives no folds: give a number of folds, a splitter, or a list of pairs of training and test rows"
        raise ValueError(msg)
    for k, (train, test) in enumerate(splits):
        for rows, given, which in ((train, weight, "training"), (test, score_weight, "test")):
            if given is not None and not np.any(_safe_indexing(given, rows)):
                msg = (
                    f"the sample weights of all {which} rows of fold {k} are zero: drop the rows without weight, or "
                    "spread them over the folds with a cv that shuffles"
                )
                raise ValueError(msg)


def _in_fold(k: int, scores: Callable[..., list[float]], *given: Any) -> list[float]:
    """Return the scores of a fold; what cannot be learned from is said to be in this fold."""
    try:
        return scores(*given)
    except ValueError as error:
        msg = f"in fold {k} of cv: {error}"
        raise ValueError(msg) from error


def _sliceable(data: Any, parameter: str) -> Any:
    """Return data whose rows can be picked."""
    data = native_table(data, parameter)
    if sparse.issparse(data):
        return data if data.format in {"csr", "csc"} else data.tocsr()
    if data is None or hasattr(data, "__getitem__") or hasattr(data, "iloc"):
        return data
    return np.asarray(data)


def choose(mean: Array, error: Array, rule: str) -> int:
    """Return the index of the best score, or of the smallest model within one standard error of it.

    Scores are in the order of growing models.

    Examples
    --------
    >>> import numpy as np
    >>> choose(np.array([0.5, 0.88, 0.9, 0.9]), np.full(4, 0.03), "best")
    2
    >>> choose(np.array([0.5, 0.88, 0.9, 0.9]), np.full(4, 0.03), "one_se")
    1
    """
    best = int(np.argmax(mean))
    if rule == "best":
        return best
    return int(np.argmax(mean >= mean[best] - error[best]))


class GraftClassifierCV(_GraftCV, GraftClassifier):
    """Linear classifier whose l1, or whose number of features, is chosen by cross-validation.

    The whole path is walked in every fold, with selection and standardisation on the fold's training rows alone, and
    the choice is then fitted on all rows.

    Parameters
    ----------
    l1s : array-like, optional
        Values of l1 to try, instead of one ``l1``; by default ``n_l1s`` from the smallest that selects nothing down to
        ``smallest`` of it.  With ``l0="auto"``, every number of features is tried with each of them.
    n_l1s : int, default=100
        How many values.
    smallest : float, default=1e-2
        The smallest value, as a share of the largest.
    cv : int, splitter or iterable, optional
        As in scikit-learn; five folds by default.
    scoring : str or callable, optional
        The score to maximise; by default the estimator's own.
    rule : {"best", "one_se"}, default="best"
        Take the best mean score, or the smallest model whose score is within one standard error of it.
    l1 : float, optional
        With ``l0="auto"``, the l1 of all models (0 by default); otherwise one value instead of a path.
    l0 : float or "auto", default=0.0
        Price of a feature; ``"auto"`` walks along the number of features instead, from that of the kept ones (or 1) up
        to ``max_features`` (or 30).
    l2, group_l1, capped_l1, cap, loss, penalty_weights, feature_costs, groups, keep, max_features, max_cost
        The criterion, as in :class:`GraftClassifier`.
    effort, select_unit, on_increase, polish, fit_intercept, standardize, class_weight, positive
        As in :class:`GraftClassifier`.
    tol, max_iter, random_state, verbose, callback
        As in :class:`GraftClassifier`; progress and callback are of the last fit.
    n_jobs : int, optional
        Number of folds treated at the same time, each in one thread: None is one, unless joblib's context says
        otherwise, and -1 all cores.

    Attributes
    ----------
    l1_ : float
        The l1 chosen.
    l1_path_, size_path_ : ndarray of shape (n_values,)
        The values tried, in the order of growing models; where both were, value i is a size with an l1.
    cv_scores_ : ndarray of shape (n_values, n_folds)
        Scores on the held-out rows.
    mean_scores_, se_scores_ : ndarray of shape (n_values,)
        Their mean and its standard error.
    best_index_ : int
        Which value was chosen.
    coef_, intercept_, support_, order_, certificate_, ...
        Those of the fit on all rows, as in :class:`GraftClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skgraft import GraftClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GraftClassifierCV(n_l1s=20, rule="one_se").fit(X, y)
    >>> int(model.support_.sum()), bool(model.mean_scores_[model.best_index_] > 0.95)
    (7, True)
    """

    _base = GraftClassifier
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_PATH_CONSTRAINTS,
        "loss": [StrOptions(loss_names("classes")), Loss],
        "class_weight": [None, dict, StrOptions({"balanced"})],
    }

    def __init__(
        self,
        *,
        l1s: Any = None,
        n_l1s: int = 100,
        smallest: float = 1e-2,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        l1: Any = None,
        l2: float = 0.0,
        l0: Any = 0.0,
        group_l1: float = 0.0,
        capped_l1: float = 0.0,
        cap: float = 0.1,
        loss: str | Loss = "auto",
        penalty_weights: Any = None,
        feature_costs: Any = None,
        groups: Any = None,
        keep: Any = None,
        max_features: int | None = None,
        max_cost: float | None = None,
        effort: str = "full",
        select_unit: int | str = "auto",
        on_increase: str = "stop",
        polish: bool | str = True,
        fit_intercept: bool = True,
        standardize: bool = True,
        class_weight: Any = None,
        positive: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        store_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Choose by cross-validation and fit on everything.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like
            Classes or numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, for the fits and the scores.
        **params
            ``groups`` for the splitter; with metadata routing, whatever splitter and scorer ask for.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit_path(X, y, sample_weight, params)
        return self


class GraftRegressorCV(_GraftCV, GraftRegressor):
    """Linear regression whose l1, or whose number of features, is chosen by cross-validation.

    Parameters and attributes are those of :class:`GraftClassifierCV`, with the losses of :class:`GraftRegressor`.

    Parameters
    ----------
    l1s, n_l1s, smallest, cv, scoring, rule, l1, l0
        What to try and how to choose, as in :class:`GraftClassifierCV`.
    l2, group_l1, capped_l1, cap, loss, delta, penalty_weights, feature_costs, groups, keep, max_features, max_cost
        The criterion, as in :class:`GraftRegressor`.
    effort, select_unit, on_increase, polish, fit_intercept, standardize, positive
        As in :class:`GraftRegressor`.
    tol, max_iter, n_jobs, random_state, verbose, callback
        As in :class:`GraftClassifierCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgraft import GraftRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GraftRegressorCV(l0="auto", rule="one_se").fit(X, y)
    >>> int(model.support_.sum())
    5
    """

    _base = GraftRegressor
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_PATH_CONSTRAINTS,
        "loss": [StrOptions(loss_names("numbers")), Loss],
        "delta": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        l1s: Any = None,
        n_l1s: int = 100,
        smallest: float = 1e-2,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        l1: Any = None,
        l2: float = 0.0,
        l0: Any = 0.0,
        group_l1: float = 0.0,
        capped_l1: float = 0.0,
        cap: float = 0.1,
        loss: str | Loss = "auto",
        delta: float = 1.35,
        penalty_weights: Any = None,
        feature_costs: Any = None,
        groups: Any = None,
        keep: Any = None,
        max_features: int | None = None,
        max_cost: float | None = None,
        effort: str = "full",
        select_unit: int | str = "auto",
        on_increase: str = "stop",
        polish: bool | str = True,
        fit_intercept: bool = True,
        standardize: bool = True,
        positive: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        store_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Choose by cross-validation and fit on everything.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like
            Classes or numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, for the fits and the scores.
        **params
            ``groups`` for the splitter; with metadata routing, whatever splitter and scorer ask for.

        Returns
        -------
        self
            The fitted estimator.
        """
        self._fit_path(X, y, sample_weight, params)
        return self
