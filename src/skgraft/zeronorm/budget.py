"""Programs within a budget: bags that bring least for their price leave, and the rest is solved again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from skgraft.arrays import Index
from skgraft.matrix import DenseColumns, SparseColumns
from skgraft.prices import Bags, Prices
from skgraft.run import Controls
from skgraft.svm import DenseDesign, Design, SparseDesign
from skgraft.zeronorm.column_generation import ProgramFit, fit_program
from skgraft.zeronorm.l1_rounds import ScaledColumns
from skgraft.zeronorm.programs import Program
from skgraft.zeronorm.rounds import ROUNDING, affordable, feature_size


def within_budget(unit: Program, l1: float, fit: ProgramFit, controls: Controls) -> ProgramFit:
    """Return the optimum itself if ``max_cost`` allows for it, or that of the features that the budget has room for.

    Parameters
    ----------
    unit : Program
        The program at an l1 of one, over the columns of the data.
    l1 : float
        What its costs are multiplied by.
    fit : ProgramFit
        The optimum over all features.
    controls : Controls
        How the program without the others is solved.
    """
    prices = unit.prices
    if prices is None or prices.max_cost is None or fit.total_cost <= prices.max_cost * (1.0 + ROUNDING):
        return fit
    stay = np.flatnonzero((fit.support & affordable(feature_size(fit.weights.T), prices)) | prices.kept)
    rest = fit_program(_with_features(unit, l1, stay), controls)
    weights = np.zeros_like(fit.weights)
    weights[stay] = rest.weights
    support = np.zeros_like(fit.support)
    support[stay] = rest.support
    shift = unit.columns.shift if isinstance(unit.columns, SparseColumns) else np.zeros(weights.shape[0])
    return replace(
        rest,
        weights=weights,
        intercept=rest.intercept + shift @ weights * unit.intercept,
        support=support,
        order=stay[rest.order],
        total_cost=prices.total(support),
    )


def design_of(columns: DenseColumns | SparseColumns, features: Index) -> Design:
    """Return some columns as features that rounds and programs can work with."""
    if isinstance(columns, DenseColumns):
        return DenseDesign(columns.take(features), features)
    return SparseDesign(sparse.csr_array(columns.take(features)), features)


def _with_features(unit: Program, l1: float, features: Index) -> Program:
    columns = unit.columns
    assert isinstance(columns, DenseColumns | SparseColumns)  # noqa: S101 -- the estimator's own
    prices = unit.prices
    assert prices is not None  # noqa: S101 -- they have a budget
    return replace(
        unit,
        columns=ScaledColumns(design_of(columns, features), None),
        cost=l1 * unit.cost[features],
        bags=None if unit.bags is None else _bags_of(unit.bags, features)[0],
        prices=_prices_of(prices, features),
    )


def _prices_of(prices: Prices, features: Index) -> Prices:
    bags, which = _bags_of(prices.bags, features)
    return replace(prices, bags=bags, cost=prices.cost[which], kept=prices.kept[features])


def _bags_of(bags: Bags, features: Index) -> tuple[Bags, Index]:
    """Return the bags that some features are in, and which of the former these are."""
    which, of = np.unique(bags.of[features], return_inverse=True)
    return Bags(tuple(bags.labels[b] for b in which.tolist()), of.ravel()), which
