"""Boosting under prices (Xu et al. 2014, Algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Array
from skgraft.boosting.explore import Explorer
from skgraft.boosting.feature_prices import FeaturePrices, Purchase
from skgraft.boosting.forest import Forest
from skgraft.boosting.growth import Gradients, Grower, Grown, Weights
from skgraft.boosting.growth.rows import pieces_of
from skgraft.boosting.losses import Task, quantise_gradients
from skgraft.boosting.tree import Tree, make_tree
from skgraft.matrix import ThreadPool
from skgraft.run import Controls, Ending, History, Record

LONGEST_GAP = 16  # trees between two searches of the priced features, if the search adapts


@dataclass(frozen=True, kw_only=True)
class BoostControls(Controls):
    """How to boost: everything that is neither data nor price."""

    n_trees: int = 100
    learning_rate: float = 0.1
    leaf: str = "newton"
    screening: str = "exact"
    early_stopping: bool = False
    n_iter_no_change: int = 10
    tol: float = 1e-7


@dataclass(frozen=True, eq=False)
class Validation:
    """Rows to judge by: values, and targets with their loss."""

    X: Any
    task: Task


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything that does not change from tree to tree, and not with mu.

    ``rows`` are those of X that stand for all, where many are equal.
    """

    grower: Grower
    task: Task
    weights: Weights
    workers: ThreadPool
    validation: Validation | None = None
    names: list[str] | None = None
    labels: dict[int, list[Any]] = field(default_factory=dict)
    rows: NDArray[np.intp] | None = None

    def quantised(self, g: Array, out: NDArray[np.int32] | None = None) -> Gradients:
        """Return the gradients of one output as whole numbers; in ``out`` if given."""
        largest, compiled = self.task.loss.largest_derivative, self.grower.compiled
        return quantise_gradients(g, self.weights, largest, self.workers, out, compiled=compiled)


@dataclass(eq=False)
class Ensemble:
    """What a fit has so far; a warm start goes on from here."""

    forest: Forest
    log: list[Purchase] = field(default_factory=list)
    train_score: list[float] = field(default_factory=list)
    validation_score: list[float] = field(default_factory=list)
    history: History = field(default_factory=History)
    gap: int = 1  # of the adaptive search
    rest: int = 0  # trees until its next search
    explorer: Explorer | None = None
    stopped: bool = False  # whether the callback ended the last fit
    ending: Ending = field(default_factory=Ending)

    def forget_scores(self) -> None:
        """Drop the scores of rounds that were taken back, before others take their places."""
        n = len(self.forest.rounds) + 1
        del self.train_score[n:], self.validation_score[n:]


def empty_ensemble(problem: Problem) -> Ensemble:
    """Return the model without trees, which predicts the prior."""
    layout = problem.grower.bins.layout
    return Ensemble(Forest(problem.task.start(), [], layout.categories, layout.missing))


def root_gains(problem: Problem) -> Array:
    """Return the best gain of each feature at the root of the first round's trees, the largest over outputs."""
    task, n = problem.task, problem.task.y.size
    scores = np.repeat(task.start()[:, None], n, axis=1)
    g, h = task.workspace()
    task.derivatives(scores, g, h, problem.workers)
    each = [problem.grower.root_gains(problem.quantised(g[k]), k) for k in range(task.n_outputs)]
    return np.asarray(np.max(each, axis=0))


def largest_mu(gains: Array, phi: Array) -> float:
    """Return the mu above which no priced feature is bought at the root of the first tree: max_f gain_f/φ_f."""
    priced = phi > 0.0
    with np.errstate(over="ignore"):
        top = float((gains[priced] / phi[priced]).max(initial=0.0))
    return min(top, float(np.finfo(float).max))


def boost(
    problem: Problem,
    feature_prices: FeaturePrices,
    controls: BoostControls,
    ensemble: Ensemble,
    scores: Array | None = None,
) -> Ensemble:
    """Add rounds of trees until there are enough, nothing is left to gain, or somebody stops it.

    Prices and ensemble belong together: what was bought is in both.  ``scores`` (n_outputs, n_rows) are those
    of the trees that are already there.
    """
    booster = _Booster(problem, feature_prices, controls, ensemble, scores)
    with booster.monitor.watch():
        booster.run()
    ensemble.stopped = booster.monitor.stopped
    ensemble.ending = booster.monitor.ending("", converged=True)
    return booster.conclude()


class _Booster:
    def __init__(
        self,
        problem: Problem,
        feature_prices: FeaturePrices,
        controls: BoostControls,
        ensemble: Ensemble,
        scores: Array | None,
    ) -> None:
        self._problem, self._feature_prices, self._controls, self._ensemble = (
            problem,
            feature_prices,
            controls,
            ensemble,
        )
        self.monitor = controls.monitor("boosting")
        self.monitor.history, self.monitor.latest = ensemble.history, ensemble
        if ensemble.history:
            self.monitor.started -= ensemble.history[-1].seconds
        start = np.repeat(ensemble.forest.start[:, None], problem.task.y.size, axis=1)
        self._scores = start if scores is None else scores
        self._g, self._h = problem.task.workspace()
        self._z = np.empty(problem.task.y.size, np.int32)  # of the tree that grows
        self._val_scores: Array | None = None

    def run(self) -> None:
        """Add rounds."""
        ensemble, problem = self._ensemble, self._problem
        loss = problem.task.derivatives(self._scores, self._g, self._h, problem.workers)
        if not ensemble.train_score:
            ensemble.train_score.append(loss)
        if problem.validation is not None:
            self._val_scores = ensemble.forest.scores(problem.validation.X, problem.workers)
            if not ensemble.validation_score:
                ensemble.validation_score.append(self._validation_loss())
        while len(ensemble.forest.rounds) < self._controls.n_trees and not self._has_settled():
            n_before = len(ensemble.log)
            trees = self._round(len(ensemble.forest.rounds))
            if trees is None:
                return
            loss = problem.task.derivatives(self._scores, self._g, self._h, problem.workers)
            self._note(trees, loss)
            self._record_round(n_before)

    # --- one round ---

    def _round(self, t: int) -> list[Tree] | None:
        """Grow a tree for every output; None if none of them found anything to split."""
        for everything in (False, True):
            pools = None if everything else self._pool()
            grown = [self._grow(t, k, pools) for k in range(self._problem.task.n_outputs)]
            if not all(tree.is_stump for tree in grown):
                return [self._finish(k, tree) for k, tree in enumerate(grown)]
            if pools is None:
                break  # all were searched, and the next tree would be the same
        return None

    def _pool(self) -> NDArray[np.bool_] | None:
        """Return the priced features that are searched in this round, None for all."""
        ensemble, feature_prices = self._ensemble, self._feature_prices
        if self._controls.screening == "adaptive" and ensemble.rest > 0:
            return np.zeros(feature_prices.selected.size, bool)
        if ensemble.explorer is not None:
            return ensemble.explorer.choose(feature_prices.selected)
        return None

    def _grow(self, t: int, k: int, pool: NDArray[np.bool_] | None) -> Grown:
        problem = self._problem
        gradients = problem.quantised(self._g[k], self._z)
        grown = problem.grower.grow(gradients, self._feature_prices, (t, k), pool)
        explorer = self._ensemble.explorer
        if explorer is not None and grown.root_gains is not None:
            explorer.learn(*grown.root_gains)
        return grown

    def _finish(self, k: int, grown: Grown) -> Tree:
        """Give the leaves their values and add them to the scores."""
        problem, rows = self._problem, grown.rows
        leaves = grown.leaves
        values = self._leaf_values(k, grown)
        places = rows.places(leaves)

        def add(first: int, last: int) -> None:
            for block in places[first:last].tolist():
                for leaf, value, (a, b) in zip(leaves, values, block, strict=True):
                    rows.loops.add_to_rows(self._scores[k], rows.held_of(leaf), a, b, value)

        problem.workers.run(add, len(places), 0.5 * self._scores.shape[1])
        by_node = {leaf.index: value for leaf, value in zip(leaves, values, strict=True)}
        tree = make_tree(grown, by_node, problem.grower.bins.layout, problem.names, problem.labels)
        problem.grower.end(rows, grown.nodes)
        return tree

    def _leaf_values(self, k: int, grown: Grown) -> list[float]:
        problem, task, leaves = self._problem, self._problem.task, grown.leaves
        pieces = pieces_of(leaves)
        weights = problem.weights
        w, unit = (task.weight, 1.0) if weights.u.size else (np.empty(0), weights.unit)
        scale = task.curvature_scale or 0.0
        found, loops = np.empty((len(pieces), 3)), grown.rows.loops

        def add_up(first: int, last: int) -> None:
            for at in range(first, last):
                piece = pieces[at]
                held = grown.rows.held_of(leaves[piece.node])
                found[at] = loops.leaf_sums(self._g[k], self._h[k], w, scale, held, piece.first, piece.last)

        problem.workers.run(add_up, len(pieces), 0.6 * task.y.size)
        sums = np.zeros((len(leaves), 3))
        np.add.at(sums, [piece.node for piece in pieces], found)
        rate, leaf = self._controls.learning_rate, self._controls.leaf
        return [rate * task.leaf_value(g, h, weight, leaf) for g, h, weight in (unit * sums).tolist()]

    # --- bookkeeping ---

    def _note(self, trees: list[Tree], loss: float) -> None:
        """Let a whole round count."""
        ensemble, feature_prices = self._ensemble, self._feature_prices
        bought = len(feature_prices.log) > len(ensemble.log)
        if self._controls.screening == "adaptive":
            searched = ensemble.rest == 0
            if bought:
                ensemble.gap = 1
            elif searched:
                ensemble.gap = min(2 * ensemble.gap, LONGEST_GAP)
            ensemble.rest = ensemble.gap - 1 if searched or bought else ensemble.rest - 1
        ensemble.log = list(feature_prices.log)
        ensemble.train_score.append(loss)
        if self._val_scores is not None and self._problem.validation is not None:
            ensemble.forest.add_round(self._problem.validation.X, trees, self._val_scores, self._problem.workers)
            ensemble.validation_score.append(self._validation_loss())
        ensemble.forest.rounds.append(trees)

    def _validation_loss(self) -> float:
        validation = self._problem.validation
        assert validation is not None  # noqa: S101 -- asked for only where there is one
        assert self._val_scores is not None  # noqa: S101
        return validation.task.mean_loss(np.ascontiguousarray(self._val_scores.T))

    def _has_settled(self) -> bool:
        """Whether the validation score has not improved for a while."""
        if not self._controls.early_stopping:
            return False
        scores = self._ensemble.validation_score
        best = best_round(scores, self._controls.tol)
        return len(scores) - 1 - best >= self._controls.n_iter_no_change

    def _record_round(self, n_before: int) -> None:
        """Record the round, a record a purchase."""
        ensemble, monitor = self._ensemble, self.monitor
        n_new = len(ensemble.log) - n_before
        objective = (
            ensemble.train_score[-1]
            + 0.5 * self._feature_prices.mu * self._feature_prices.paid / self._problem.task.total_weight
        )
        paid, n_selected = self._feature_prices.paid, self._feature_prices.n_selected
        n_trees, seconds, records = len(ensemble.forest.rounds), monitor.seconds(), []
        for k in range(max(1, n_new)):
            purchase = ensemble.log[n_before + k] if n_new else None
            later = ensemble.log[n_before + k + 1 :]
            records.append(
                Record(
                    step=n_trees,
                    feature=-1 if purchase is None else purchase.feature,
                    gradient=0.0 if purchase is None else purchase.gain,
                    objective=objective,
                    n_selected=n_selected - len(later),
                    cost=paid - sum(p.paid for p in later),
                    seconds=seconds,
                    kind="tree" if purchase is None else "buy",
                    features=() if purchase is None else (purchase.feature,),
                )
            )
        monitor.say(
            f"tree {n_trees} of {self._controls.n_trees}, {n_selected} features, criterion {objective:.6g}, "
            f"{seconds:.1f} s"
        )
        monitor.note(*records)

    def conclude(self) -> Ensemble:
        """Return the ensemble of whole rounds; that of the best round if it was to stop early."""
        ensemble = self._ensemble
        if self._controls.early_stopping and len(ensemble.validation_score) > 1:
            best = best_round(ensemble.validation_score, self._controls.tol)
            del ensemble.forest.rounds[best:]
        n_rounds = len(ensemble.forest.rounds)
        ensemble.log = [purchase for purchase in ensemble.log if purchase.round < n_rounds]
        ensemble.history = ensemble.history.until(n_rounds)
        return ensemble


def best_round(scores: list[float], tol: float) -> int:
    """Return the first round that no later one improves by more than ``tol``."""
    best = 0
    for t, score in enumerate(scores):
        if score < scores[best] - tol:
            best = t
    return best
