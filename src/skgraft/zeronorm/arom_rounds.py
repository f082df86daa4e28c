"""From classes or numbers to a run of rounds: which machine, with which norm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skgraft.arrays import Array, Index
from skgraft.matrix import DenseColumns, SparseColumns
from skgraft.run import Ending, History
from skgraft.svm import (
    Bands,
    IndependentMachines,
    InseparableError,
    JointMachine,
    Margins,
    SVMProblem,
    all_pairs,
    class_bands,
    one_against_rest,
    tube,
)
from skgraft.zeronorm.l2_rounds import RoundControls, l2_rounds, retrained
from skgraft.zeronorm.rounds import Rounds, choose, feature_size, trivial_prices

Columns = DenseColumns | SparseColumns


def class_rounds(
    columns: Columns,
    codes: Index,
    n_classes: int,
    cost: Array,
    *,
    norm: str,
    multi_class: str,
    controls: RoundControls,
) -> Rounds:
    """Run rounds for classes.

    Parameters
    ----------
    columns : DenseColumns or SparseColumns
        Standardised features.
    codes : ndarray of int
        The class of each row, from 0.
    n_classes : int
        Number of classes; those without a row never win.
    cost : ndarray of shape (n_rows,)
        What slack costs in each row: C times its weight, infinite for a hard margin.
    norm : {"l2", "l1", "l2-l1"}
        The norm that a round minimises.
    multi_class : {"joint", "ovr", "naive"}
        How more than two classes are treated.
    controls : RoundControls
        How rounds are run.
    """
    present, codes = np.unique(codes, return_inverse=True)
    try:
        if n_classes == 2:
            return _signed(columns, np.where(codes == 1, 1.0, -1.0)[:, None], cost, norm, controls)
        if multi_class == "naive":
            rounds = _naive(columns, _signs(codes, present.size), cost, norm, controls)
        elif multi_class == "ovr":
            rounds = _signed(columns, _signs(codes, present.size), cost, norm, controls)
        else:
            rounds = _joint(columns, codes, present.size, cost, norm, controls)
    except InseparableError:
        msg = (
            "No hyperplane separates the classes, which C=inf (a hard margin) asks for. Set a finite C, which lets "
            "rows be on the wrong side at a price (errors='ridge' or 'zero')."
        )
        raise InseparableError(msg) from None
    return rounds if present.size == n_classes else _with_absent_classes(rounds, present, n_classes)


def tube_rounds(
    columns: Columns, y: Array, epsilon: float, cost: Array, *, norm: str, controls: RoundControls
) -> Rounds:
    """Run rounds for numbers, which should be within ``epsilon`` of the prediction."""
    try:
        bands = Bands(y - epsilon, y + epsilon, np.full(y.size, np.inf), 0.5 / cost)
        return _rounds(columns, IndependentMachines([bands]), tube(y, epsilon), cost, norm, controls)
    except InseparableError:
        msg = (
            f"No linear function stays within epsilon={epsilon:g} (in standard deviations of y) of every row, which "
            "C=inf asks for. Set a finite C or a larger epsilon."
        )
        raise InseparableError(msg) from None


def _rounds(
    columns: Columns, machine: SVMProblem, margins: Margins, cost: Array, norm: str, controls: RoundControls
) -> Rounds:
    """Run rounds with support vector machines, with linear programs, or with these after those."""

    def program() -> SVMProblem:
        from skgraft.zeronorm.l1_rounds import L1Machine  # linear programs are loaded where they are asked for

        return L1Machine(margins, cost)

    if norm == "l1":
        from skgraft.zeronorm.l1_rounds import l1_rounds

        return l1_rounds(columns, margins, cost, controls)
    return l2_rounds(columns, machine, controls, later=program if norm == "l2-l1" else None)


def _signs(codes: Index, n_classes: int) -> Array:
    return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)


def _signed(columns: Columns, signs: Array, cost: Array, norm: str, controls: RoundControls) -> Rounds:
    """One machine for each column of signs, on the same scales (Weston et al. 2003, Problem 11)."""
    machines = IndependentMachines([class_bands(y, ridge=0.5 / cost) for y in signs.T])
    return _rounds(columns, machines, one_against_rest(signs > 0.0), cost, norm, controls)


def _joint(columns: Columns, codes: Index, n_classes: int, cost: Array, norm: str, controls: RoundControls) -> Rounds:
    """One machine for all classes (Problem 10)."""
    machine = JointMachine(codes, n_classes, 0.5 / cost)
    return _rounds(columns, machine, all_pairs(codes, n_classes), cost, norm, controls)


def _naive(columns: Columns, signs: Array, cost: Array, norm: str, controls: RoundControls) -> Rounds:
    """Run rounds for each class alone and put their features together."""
    runs = [_signed(columns, y[:, None], cost, norm, replace(controls, retrain=False)) for y in signs.T]
    size = np.sum([_relative(run) for run in runs], axis=0)
    prices = trivial_prices(size.size) if controls.prices is None else controls.prices
    order = choose(size, prices, controls.n_features_to_select)
    records = [record for run in runs for record in run.history]
    history = History([replace(record, step=step) for step, record in enumerate(records, 1)])
    together = Rounds(
        weights=np.concatenate([run.weights for run in runs]),
        intercept=np.concatenate([run.intercept for run in runs]),
        alive=np.sort(order),
        order=order,
        history=history,
        objective=sum(run.objective for run in runs),
        kkt_violation=max(run.kkt_violation for run in runs),
        converged=all(run.converged for run in runs),
        ending=next((run.ending for run in runs if run.ending != Ending()), Ending()),
    )
    if not _changes(controls, together):
        return together
    if norm != "l2":
        from skgraft.zeronorm.l1_rounds import L1Machine

        return retrained(columns, L1Machine(one_against_rest(signs > 0.0), cost), controls, together)
    machines = IndependentMachines([class_bands(y, ridge=0.5 / cost) for y in signs.T])
    return retrained(columns, machines, controls, together)


def _changes(controls: RoundControls, rounds: Rounds) -> bool:
    """Whether the weights are to be learned afresh: asked for, or because some features were left out."""
    used = int(np.count_nonzero(feature_size(rounds.weights)))
    return used > 0 and (controls.retrain or used > rounds.alive.size)


def _relative(run: Rounds) -> Array:
    size = feature_size(run.weights)
    return size / max(float(size.max(initial=0.0)), np.finfo(float).tiny)


def _with_absent_classes(rounds: Rounds, present: Index, n_classes: int) -> Rounds:
    """Give classes without rows weights of zero and an intercept below those of the others."""
    weights = np.zeros((n_classes, rounds.weights.shape[1]))
    weights[present] = rounds.weights
    lowest = rounds.intercept.min() - np.abs(rounds.weights).sum(axis=1).max() - 1.0
    intercept = np.full(n_classes, lowest)
    intercept[present] = rounds.intercept
    return replace(rounds, weights=weights, intercept=intercept)
