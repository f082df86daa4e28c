"""From a shortlist of candidates to their true gains: the trials of :mod:`trial`, set up for a network."""

from __future__ import annotations

import numpy as np

from skgraft.arrays import Array, Index
from skgraft.grafting.network.candidates import Closed
from skgraft.grafting.network.descent import Point
from skgraft.grafting.network.problem import NetworkProblem
from skgraft.grafting.network.trial import DirectionalLoss, ManyOutputs, Trials, seen_from_one_output, solve

# A candidate without a gradient at zero starts as a step of this steepness at each of these quantiles, both ways.
STEEPNESS = 3.0
QUANTILES = (0.2, 0.5, 0.8)
HELD_CELLS = 1 << 18  # candidates times samples times outputs that are held in one go


def gains(
    problem: NetworkProblem, point: Point, rows: Array, closed: Closed, units: Index, tol: float
) -> tuple[Array, Array]:
    """Solve candidates with everything else fixed.

    Parameters
    ----------
    problem, point, rows
        The criterion, the network as it is and its features' rows.
    closed : Closed
        The derivatives that the candidates were numbered by.
    units : ndarray of shape (n_candidates,)
        Their numbers.
    tol : float
        A fall of the criterion below which solving ends.

    Returns
    -------
    found : ndarray of shape (n_candidates, 3)
        The weight of the new connection, and the shifts of its unit's bias and of the output bias.
    gain : ndarray of shape (n_candidates,)
        By how much the criterion falls, prices apart.
    """
    row, feature = np.divmod(units, problem.columns.n_columns)
    width = problem.target.y.shape[1] if closed.shared else 1
    n_starts = np.where(closed.is_even(row), 2 * len(QUANTILES), 1)
    # candidates do not look at one another: as many at a time as a copy of their samples may take
    group = np.cumsum(n_starts) * problem.target.weight.size * width // HELD_CELLS
    parts = [
        _gains_together(problem, point, rows, closed, row[group == k], feature[group == k], tol)
        for k in np.unique(group)
    ]
    return np.concatenate([found for found, _ in parts]), np.concatenate([gain for _, gain in parts])


def _gains_together(
    problem: NetworkProblem, point: Point, rows: Array, closed: Closed, row: Index, feature: Index, tol: float
) -> tuple[Array, Array]:
    x = problem.rows(feature)
    weight = problem.target.weight
    starts = [_starts(x[k], weight, even=bool(closed.is_even(row[k]))) for k in range(row.size)]
    which = np.repeat(np.arange(row.size), [len(start) for start in starts])
    z, along = _surroundings(problem, point, rows, closed, row, feature)
    penalty = problem.penalty_weight[feature]
    trials = Trials(x, z, along, np.zeros((row.size, 3)), problem.l1 * penalty, problem.l2 * penalty)
    base = along.value(np.tanh(0.5 * z))
    found, value = solve(trials.take(which, np.concatenate(starts)), tol)
    best = np.array([np.flatnonzero(which == k)[np.argmin(value[which == k])] for k in range(row.size)])
    return found[best], base - value[best]


def _starts(x: Array, weight: Array, *, even: bool) -> Array:
    if not even:
        return np.zeros((1, 3))
    order = np.argsort(x, kind="stable")
    below = np.cumsum(weight[order])
    at = np.searchsorted(below, np.array(QUANTILES) - 1e-9)  # less rounding: repeated rows weigh as much as one
    thresholds = x[order[np.minimum(at, x.size - 1)]]
    return np.array([[s * STEEPNESS, -s * STEEPNESS * t, 0.0] for t in thresholds for s in (1.0, -1.0)])


def _surroundings(
    problem: NetworkProblem, point: Point, rows: Array, closed: Closed, row: Index, feature: Index
) -> tuple[Array, DirectionalLoss]:
    """Return the input of each candidate's unit, and the loss along what that unit gives to the outputs."""
    net, f, target = point.net, point.f, problem.target
    z = np.zeros((row.size, f.shape[0]))
    v = np.empty((row.size, net.n_outputs))
    owner = np.empty(row.size, np.intp)
    given = np.zeros_like(z)
    for k, (r, j) in enumerate(zip(row.tolist(), feature.tolist(), strict=True)):
        if r < net.n_units:
            mine = net.unit == r
            z[k] = net.c[r] + net.w[mine] @ rows[net.column[mine]]
            v[k], owner[k], given[k] = net.v[r], net.owner[r], point.a[r]
        else:
            owner[k], v[k] = closed.outputs(r, j)
    if closed.shared:
        offset = f - given[:, :, None] * v[:, None, :]
        return z, ManyOutputs(target.loss, target.y, target.weight, offset, v)
    own = v[np.arange(row.size), owner]
    offset = f.T[owner] - own[:, None] * given
    return z, seen_from_one_output(target.loss, target.y, target.weight, f, owner, own, offset)
