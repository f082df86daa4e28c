"""What the estimators of gradient boosted feature selection share: parameters, training, scores and support."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from skgraft.arrays import Array
from skgraft.boosting.boost import BoostControls, Ensemble, Problem, boost, empty_ensemble, largest_mu, root_gains
from skgraft.boosting.explore import Explorer
from skgraft.boosting.feature_prices import FeaturePrices
from skgraft.boosting.forest import Forest
from skgraft.boosting.prepare import Data, Settings, hold_out, make_problem
from skgraft.criterion import Certificate
from skgraft.estimator import NamedSelector
from skgraft.matrix import ThreadPool
from skgraft.prices import resolve_prices
from skgraft.run import announced_compilation, threads
from skgraft.tables import (
    CategoryCoder,
    find_categories,
    read_new,
    read_table,
    read_training,
    sample_weights,
    take_selected,
)

_NON_NEGATIVE = Interval(Real, 0, None, closed="left")
_FROM_ONE = Interval(Integral, 1, None, closed="left")

CONSTRAINTS: dict[str, Any] = {
    "mu": [_NON_NEGATIVE],
    "mu_scale": [StrOptions({"relative", "absolute"})],
    "n_trees": [_FROM_ONE],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "max_depth": [Interval(Integral, 1, 16, closed="both")],
    "max_bins": [Interval(Integral, 2, 255, closed="both")],
    "min_samples_leaf": [_FROM_ONE],
    "leaf": [StrOptions({"newton", "gradient"})],
    "feature_costs": [None, "array-like", Mapping],
    "groups": [None, "array-like", Mapping],
    "cost_function": [None, callable],
    "keep": [None, "array-like", str, Integral, set, frozenset],
    "max_features": [None, _FROM_ONE],
    "max_cost": [None, _NON_NEGATIVE],
    "screening": [StrOptions({"exact", "off", "adaptive"})],
    "explore": [None, _FROM_ONE, Interval(RealNotInt, 0, 1, closed="right")],
    "categorical_features": [None, "array-like", str, Integral, set, frozenset],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(RealNotInt, 0, 1, closed="neither"), _FROM_ONE],
    "n_iter_no_change": [_FROM_ONE],
    "tol": [_NON_NEGATIVE],
    "warm_start": ["boolean"],
    "n_jobs": [None, Interval(Integral, None, -1, closed="right"), _FROM_ONE],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "callback": [None, callable],
}


@dataclass(frozen=True, eq=False)
class Ready:
    """All that training needs, checked: the problem, prices before any purchase, and gains at the first root."""

    problem: Problem
    feature_prices: FeaturePrices
    gains: Array
    data: Data


class BoostedSelector(NamedSelector, BaseEstimator):
    """What both estimators share: parameters, training, scores and support."""

    _parameter_constraints: ClassVar[dict[str, Any]] = CONSTRAINTS
    _categories: CategoryCoder

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    # --- what classes and numbers do differently ---

    def _encode(self, y: Any, weight: Array) -> tuple[Array, Array, int]:
        """Return targets as numbers, weights and the number of outputs; sets the loss."""
        raise NotImplementedError

    def _encode_new(self, y: Any) -> Array:
        """Return the targets of validation rows as numbers."""
        raise NotImplementedError

    # --- fit ---

    def _fit(self, X: Any, y: Any, sample_weight: Any, validation: tuple[Any, Any, Any]) -> None:
        with announced_compilation(), threads(self.n_jobs, X) as workers:
            resume = getattr(self, "_resume", None) if self.warm_start else None
            ready = self._prepare(X, y, sample_weight, validation, workers, resume)
            self._train(ready, resume)

    def _prepare(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        validation: tuple[Any, Any, Any],
        workers: ThreadPool,
        resume: Any = None,
    ) -> Ready:
        """Check everything, then bin."""
        categories = find_categories(X, self.categorical_features) if resume is None else self._categories
        n_before = None if resume is None else self.n_features_in_
        X, y = read_training(self, categories.code(X), y, allow_nan=True)
        if n_before not in {None, X.shape[1]}:
            msg = f"warm_start=True goes on with {n_before} features, but X has {X.shape[1]} features"
            raise ValueError(msg)
        if categories.is_categorical.size != X.shape[1]:
            categories = CategoryCoder(np.zeros(X.shape[1], bool), {})
        self._categories = categories
        target, weight, n_outputs = self._encode(y, sample_weights(sample_weight, X))
        self.loss_ = self._loss.name
        names = getattr(self, "feature_names_in_", None)
        feature_prices = self._feature_prices(X.shape[1], names)
        data = Data(X, target, weight).without_weightless()
        data, judge = self._split(data, validation)
        self._warn_of_light_rows(data)
        settings = Settings(
            loss=self._loss,
            n_outputs=n_outputs,
            n_trees=self.n_trees,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            max_bins=self.max_bins,
            screening=self.screening,
            is_categorical=categories.is_categorical,
            keep_edges=self.warm_start,
            names=None if names is None else [str(name) for name in names],
            labels=categories.labels,
        )
        problem = make_problem(data, judge, settings, workers, None if resume is None else resume[0])
        gains = np.zeros(X.shape[1]) if resume is not None else root_gains(problem)
        return Ready(problem, feature_prices, gains, data)

    def _feature_prices(self, n_features: int, names: Any) -> FeaturePrices:
        if self.cost_function is not None and (self.groups is not None or self.feature_costs is not None):
            msg = "cost_function says what every feature costs: leave out groups and feature_costs"
            raise ValueError(msg)
        prices = resolve_prices(
            groups=self.groups,
            feature_costs=self.feature_costs,
            keep=self.keep,
            max_features=self.max_features,
            max_cost=self.max_cost,
            n_features=n_features,
            names=names,
        )
        return FeaturePrices(prices, 0.0, self.cost_function)

    def _split(self, data: Data, validation: tuple[Any, Any, Any]) -> tuple[Data, Data | None]:
        """Return the rows to learn from and those to judge by."""
        X_val, y_val, weight_val = validation
        if (X_val is None) != (y_val is None):
            msg = "X_val and y_val go together: give both or neither"
            raise ValueError(msg)
        if X_val is not None:
            X_val = read_new(self, self._categories.code(X_val), allow_nan=True)
            y_val = self._encode_new(y_val)
            if y_val.shape != (X_val.shape[0],):
                msg = f"X_val has {X_val.shape[0]} rows, but y_val has the shape {y_val.shape}"
                raise ValueError(msg)
            return data, Data(X_val, y_val, sample_weights(weight_val, X_val)).without_weightless()
        if not self.early_stopping:
            return data, None
        if not hasattr(self, "_seed") or not self.warm_start:
            self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return hold_out(data, self.validation_fraction, self._seed, by_class=hasattr(self, "classes_"))

    def _warn_of_light_rows(self, data: Data) -> None:
        total, least = float(data.weight.sum()), 2 * self.min_samples_leaf
        if total < least <= data.y.size:
            msg = (
                f"The sample weights add up to {total:g}, so no node can be split into two leaves of weight "
                f"min_samples_leaf={self.min_samples_leaf}: a weight of two counts as two rows. Multiply the weights."
            )
            warnings.warn(msg, stacklevel=4)

    def _train(self, ready: Ready, resume: Any = None) -> None:
        """Boost, and set the fitted attributes."""
        if resume is None:
            mu_max = largest_mu(ready.gains, ready.feature_prices.phi)
            ensemble, scores = empty_ensemble(ready.problem), None
            if self.explore is not None:
                seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
                ensemble.explorer = Explorer(ready.gains, self.explore, np.random.default_rng(seed))
        else:
            mu_max, ensemble = self.mu_max_, deepcopy(resume[1])
            ensemble.forget_scores()
            rows = slice(None) if ready.problem.rows is None else ready.problem.rows
            scores = np.ascontiguousarray(ensemble.forest.scores(ready.data.X[rows], ready.problem.workers).T)
            if self.n_trees < len(ensemble.forest.rounds):
                msg = (
                    f"n_trees={self.n_trees} is less than the {len(ensemble.forest.rounds)} trees that are already "
                    "there; with warm_start=True it can only grow"
                )
                raise ValueError(msg)
        mu = float(self.mu) * mu_max if self.mu_scale == "relative" else float(self.mu)
        feature_prices = ready.feature_prices.with_mu(mu).replay(ensemble.log)
        ensemble = boost(ready.problem, feature_prices, self._controls(), ensemble, scores)
        self._keep(ready, feature_prices, ensemble, mu_max)
        ensemble.ending.tell()

    def _controls(self) -> BoostControls:
        return BoostControls(
            n_trees=self.n_trees,
            learning_rate=float(self.learning_rate),
            leaf=self.leaf,
            screening=self.screening,
            early_stopping=self.early_stopping,
            n_iter_no_change=self.n_iter_no_change,
            tol=float(self.tol),
            verbose=int(self.verbose),
            callback=self.callback,
        )

    def _keep(self, ready: Ready, feature_prices: FeaturePrices, ensemble: Ensemble, mu_max: float) -> None:
        """Set the fitted attributes."""
        if len(ensemble.log) != len(feature_prices.log):
            feature_prices = feature_prices.replay(ensemble.log)
        forest = ensemble.forest
        self._forest = forest
        self.mu_, self.mu_max_ = feature_prices.mu, mu_max
        self.trees_ = forest.rounds
        self.n_trees_ = self.n_iter_ = len(forest.rounds)
        self.support_ = feature_prices.selected.copy()
        bought = np.array([purchase.feature for purchase in ensemble.log], np.intp)
        kept = np.flatnonzero(feature_prices.selected)
        self.order_ = np.concatenate([kept[~np.isin(kept, bought)], bought])
        self.total_cost_ = feature_prices.paid
        self.train_score_ = np.array(ensemble.train_score)
        self.validation_score_ = np.array(ensemble.validation_score) if ready.problem.validation else None
        loss = ensemble.train_score[min(self.n_trees_, len(ensemble.train_score) - 1)]
        self.objective_ = loss + 0.5 * feature_prices.mu * feature_prices.paid / ready.problem.task.total_weight
        self.history_ = ensemble.history
        # trees are grown greedily: there is no optimum to be near to
        self.certificate_ = Certificate(float("nan"), None, not (ensemble.stopped or ensemble.ending.interrupted))
        self.feature_importances_ = _importances(forest.rounds, self.n_features_in_)
        if self.warm_start:
            self._resume = (ready.problem.grower.bins.layout, ensemble)
        elif hasattr(self, "_resume"):
            del self._resume

    # --- use ---

    def _read(self, X: Any) -> tuple[Forest, Any]:
        """Return new rows, and the forest for their columns: all of them, or those selected from a table by name."""
        check_is_fitted(self)
        table = take_selected(self, X, self.support_)
        if table is None:
            return self._forest, read_new(self, self._categories.code(X), allow_nan=True)
        if not self.support_.any():
            return self._forest, np.empty((len(X), 0))
        selected = np.flatnonzero(self.support_)
        coded = self._categories.among(selected).code(table)
        return self._forest.among(selected), read_table(self, coded, allow_nan=True)

    def _name_culprit(self, X: Any) -> None:
        self._read(X)

    def _scores(self, X: Any) -> Array:
        forest, X = self._read(X)
        with threads(self.n_jobs, X) as workers:
            return forest.scores(X, workers)

    def _staged_scores(self, X: Any) -> Iterator[Array]:
        forest, X = self._read(X)
        for scores in forest.staged_scores(X):
            yield scores.copy()


def _importances(rounds: list[Any], n_features: int) -> Array:
    total = np.zeros(n_features)
    for trees in rounds:
        for tree in trees:
            inner = tree.feature >= 0
            np.add.at(total, tree.feature[inner], tree.gain[inner])
    whole = total.sum()
    return total / whole if whole > 0.0 else total
