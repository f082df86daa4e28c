"""From an estimator's parameters and data to a problem and how to solve it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgraft.arrays import Array, Index
from skgraft.criterion import Loss
from skgraft.estimator import require_sizes
from skgraft.grafting.effort import EFFORTS
from skgraft.grafting.network.fit import HeldOut, NetworkControls
from skgraft.grafting.network.problem import NetworkProblem
from skgraft.grafting.target import Target
from skgraft.matrix import make_columns
from skgraft.prices import resolve_penalty_weights, resolve_prices
from skgraft.tables import weight_shares

# What "auto" stands for where one connection comes in at a time, and where all of a feature or unit do.
L0 = {"one": 0.005, "all": 5e-4}
MOST_UNITS, UNITS_A_FEATURE = 40, 4  # where all connections of a unit come in together
FARTHEST = 1e150  # from the centre that a new row is seen, in standard deviations; every unit is saturated long before
FLOOR_ALL = 2.0  # min_gain as a share of l0 where many connections come in together; else see `Loss.gain_floor`


@dataclass(frozen=True)
class TrainingData:
    """Validated data: X, encoded targets (n_samples, n_outputs), weights, the loss and, for classes, their codes.

    ``rows`` says which rows of X the targets and weights belong to, None that all of them do.
    """

    X: Any
    y: Array
    weight: Array
    loss: Loss
    strata: Index | None = None
    rows: Index | None = None

    def take(self, which: Index) -> TrainingData:
        """Return some of the rows; X is not copied."""
        strata = None if self.strata is None else self.strata[which]
        rows = which if self.rows is None else self.rows[which]
        return replace(self, y=self.y[which], weight=self.weight[which], strata=strata, rows=rows)


@dataclass(frozen=True)
class Prepared:
    """The criterion and how to minimise it."""

    problem: NetworkProblem
    controls: NetworkControls


def prepare(estimator: Any, given: TrainingData, seed: int) -> Prepared:
    """Read the parameters of an estimator, refuse what cannot be meant, and set up the criterion."""
    names = getattr(estimator, "feature_names_in_", None)
    n_features = given.X.shape[1]
    prices = resolve_prices(
        groups=estimator.groups,
        feature_costs=estimator.feature_costs,
        keep=estimator.keep,
        max_features=estimator.max_features,
        max_cost=estimator.max_cost,
        n_features=n_features,
        names=names,
    )
    penalty_weight = resolve_penalty_weights(estimator.penalty_weights, n_features, names)
    _require_sense(estimator)
    if not (given.weight > 0.0).all():
        given = given.take(np.flatnonzero(given.weight > 0.0))
    training, held_out_rows = _split(estimator, given, seed) if estimator.early_stopping else (given, None)
    weight = weight_shares(training.weight)
    columns = make_columns(training.X, weight, center=True, standardize=estimator.standardize, rows=training.rows)
    require_sizes(columns, names)
    chosen = _choices(estimator, given)
    problem = NetworkProblem(
        columns=columns,
        target=Target(given.loss, training.y, weight, True),
        prices=prices,
        penalty_weight=penalty_weight,
        l1=float(estimator.l1),
        l2=float(estimator.l2),
        l0=chosen["l0"],
        output_l2=float(estimator.output_l2) if chosen["free"] else None,
        max_units=chosen["max_units"],
        max_connections=estimator.max_connections,
        quadratic=chosen["quadratic"],
        connect_all=chosen["connect"] == "all",
    )
    controls = NetworkControls(
        effort=EFFORTS[estimator.effort],
        selection=estimator.selection,
        select_unit=chosen["select_unit"],
        on_increase=estimator.on_increase,
        min_gain=chosen["min_gain"],
        n_restarts=estimator.n_restarts,
        tol=estimator.tol,
        max_iter=estimator.max_iter,
        verbose=int(estimator.verbose),
        callback=estimator.callback,
        held_out=None if held_out_rows is None else _held_out(held_out_rows, problem, estimator.n_iter_no_change),
        seed=seed,
    )
    return Prepared(problem, controls)


def _choices(estimator: Any, given: TrainingData) -> dict[str, Any]:
    """Return what "auto" stands for, and everything else as it is."""
    many = given.y.shape[1] > 1
    free = estimator.output_weights == "free" or (estimator.output_weights == "auto" and many)
    connect = ("all" if many and free else "one") if estimator.connect == "auto" else estimator.connect
    l0 = L0["all" if many and free else "one"] if estimator.l0 == "auto" else float(estimator.l0)
    share = FLOOR_ALL if connect == "all" else given.loss.gain_floor
    by_gradient = estimator.selection == "gradient"
    floor = 0.0 if estimator.early_stopping or by_gradient else share * l0
    at_a_time = 8 if many and not by_gradient else 1
    limit = estimator.max_units
    return {
        "free": free,
        "connect": connect,
        "l0": l0,
        "max_units": _most_units(given.X.shape[1], connect, estimator.effort) if limit == "auto" else limit,
        "quadratic": estimator.screen == "quadratic" and not by_gradient,  # even effects have no gradient
        "select_unit": at_a_time if estimator.select_unit == "auto" else estimator.select_unit,
        "min_gain": floor if estimator.min_gain == "auto" else float(estimator.min_gain),
    }


def _most_units(n_features: int, connect: str, effort: str) -> int | None:
    if connect == "one" or EFFORTS[effort].opens_everything:
        return None
    return min(MOST_UNITS, UNITS_A_FEATURE * n_features)


def _require_sense(estimator: Any) -> None:
    if not EFFORTS[estimator.effort].opens_everything:
        return
    for name in ("max_features", "max_cost", "max_connections"):
        if getattr(estimator, name) is not None:
            msg = (
                f"effort='batch' starts with every feature connected, which {name}={getattr(estimator, name)!r} "
                "forbids; use another effort, or no limit"
            )
            raise ValueError(msg)


def _split(estimator: Any, given: TrainingData, seed: int) -> tuple[TrainingData, TrainingData]:
    """Return the rows to learn from and those to hold out, of every class a like share."""
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(
        np.arange(given.y.shape[0]), test_size=estimator.validation_fraction, random_state=seed, stratify=given.strata
    )
    return given.take(np.sort(train)), given.take(np.sort(test))


def _held_out(given: TrainingData, problem: NetworkProblem, patience: int) -> HeldOut:
    columns, X = problem.columns, given.X if given.rows is None else given.X[given.rows]

    def rows(features: Index) -> Array:
        centre, scale = columns.centre[features], columns.scale[features]
        return standardized_rows(X, features, centre, scale, columns.constant[features])

    return HeldOut(rows, given.y, weight_shares(given.weight), patience)


def standardized_rows(X: Any, features: Index, centre: Array, scale: Array, constant: NDArray[np.bool_]) -> Array:
    """Return some columns of X, standardised by given means and scales, as the rows of an array."""
    part = X[:, features]
    part = part.toarray() if sparse.issparse(part) else part
    with np.errstate(over="ignore"):
        rows = (part.astype(np.float64).T - centre[:, None]) / scale[:, None]
    rows[constant] = 0.0
    # zero connections of other units would make NaN of an overflow
    return np.ascontiguousarray(np.clip(rows, -FARTHEST, FARTHEST, out=rows))
