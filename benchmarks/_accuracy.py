"""One measure of accuracy for all solvers: skgraft's certificate, computed from the coefficients they returned."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from benchmarks._peers import estimator
from benchmarks._problems import Model, Problem
from skgraft.grafting.linear.model import LinearModel
from skgraft.grafting.linear.optimality import certify

GAP = 1e-6  # the common accuracy: duality gap over the objective at zero


@dataclass(frozen=True)
class Accuracy:
    """How far models are from the optimum; with several, each number is that of the worst of them."""

    gap: float
    kkt: float
    n_features: int

    @property
    def met(self) -> bool:
        """Whether the common accuracy was reached."""
        return self.gap <= GAP


class Judge:
    """Certifies models of one problem, whoever found them."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._criterion = estimator(problem, problem.l1s[0])._problem(problem.X, problem.y, None)  # noqa: SLF001
        empty = LinearModel(self._criterion)
        target = self._criterion.target
        self._height = empty.null_value - target.loss.least(target.y, target.weight)
        self._pull = float(np.abs(empty.null_gradient).max())

    def accuracy(self, models: list[Model]) -> Accuracy:
        """Return the accuracy of one model for each of the problem's l1."""
        if len(models) != len(self._problem.l1s):
            msg = f"{len(models)} models were returned for {len(self._problem.l1s)} values of l1"
            raise ValueError(msg)
        each = [self._one(model, l1) for model, l1 in zip(models, self._problem.l1s, strict=True)]
        return Accuracy(
            gap=max(one.gap for one in each),
            kkt=max(one.kkt for one in each),
            n_features=max(one.n_features for one in each),
        )

    def _one(self, model: Model, l1: float) -> Accuracy:
        grouped = self._criterion.group_l1 > 0.0
        criterion = replace(self._criterion, **{"group_l1" if grouped else "l1": l1})
        columns = criterion.columns
        if not (np.isfinite(model.coef).all() and np.isfinite(model.intercept).all()):
            return Accuracy(np.inf, np.inf, 0)
        weights = np.ascontiguousarray((model.coef * columns.scale).T)
        found = certify(criterion, weights, model.intercept + model.coef @ columns.centre)
        gap = np.inf if found.gap is None else found.gap / self._height
        return Accuracy(gap, found.violation / self._pull, int((model.coef != 0.0).any(axis=0).sum()))
