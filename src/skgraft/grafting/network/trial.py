"""What a new connection would bring, with everything else fixed: three weights, solved in earnest.

The three are the connection's weight w, the shift c of its unit's bias and the shift β of the output bias:

    f = f_0 + v (g(z_0 + c + w x) + β)

A gradient tells the slope at zero only.  The true gain of a few candidates orders them far better, and their
solutions are where the re-optimisation of all weights starts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skgraft.arrays import Array, Index
from skgraft.criterion import Logistic, Loss

Derivatives = tuple[Array, Array, Array]

STEPS = 30
REFINING_STEPS = 3  # on all samples, after a solution on some
SOME_ROWS = 4000  # samples for that first solution, where there are more than twice as many
STEP_LIMIT = 4.0  # the largest change of a weight in one step,
STEP_SHARE = 0.7  # or this share of the largest of the three
MOST_REFUSED = 10  # steps in a row that do not lower the criterion
BLOCK_CELLS = 1 << 17  # candidates times samples times outputs that are looked at in one go


@dataclass(frozen=True)
class Trials:
    """Candidates to be solved side by side.

    Arrays of shape (n_candidates, n_samples) or (n_candidates,): the feature ``x``, the unit's input ``z``, where it
    starts from, ``along`` how the candidate moves scores (see :class:`DirectionalLoss`), and the coefficients of its
    penalties.
    """

    x: Array
    z: Array
    along: DirectionalLoss
    start: Array  # (n_candidates, 3)
    l1: Array
    l2: Array

    def take(self, which: Index, start: Array | None = None) -> Trials:
        """Return some of the candidates, to be started from elsewhere if ``start`` is given."""
        start = self.start[which] if start is None else start
        return Trials(self.x[which], self.z[which], self.along.take(which), start, self.l1[which], self.l2[which])

    def some_rows(self, rows: slice, times: float = 1.0) -> Trials:
        """Return the candidates on some of the samples, each counting so many times."""
        return Trials(self.x[:, rows], self.z[:, rows], self.along.some_rows(rows, times), self.start, self.l1, self.l2)


class DirectionalLoss:
    """The loss along each candidate's direction: L(f_0 + v·t) as a function of the scalar t of every sample."""

    weight: Array

    @property
    def width(self) -> int:
        """Number of scores of a sample that a candidate changes."""
        return 1

    def take(self, which: Index) -> DirectionalLoss:
        """Return some of the candidates."""
        raise NotImplementedError

    def some_rows(self, rows: slice, times: float) -> DirectionalLoss:
        """Return the candidates on some of the samples, each counting so many times."""
        raise NotImplementedError

    def value(self, t: Array) -> Array:
        """Return the weighted mean loss of each candidate."""
        raise NotImplementedError

    def derivatives(self, t: Array) -> tuple[Array, Array]:
        """Return the weighted first and second derivatives with respect to t."""
        raise NotImplementedError


@dataclass(frozen=True)
class OneOutput(DirectionalLoss):
    """Candidates that reach one output each.

    A softmax seen from one of its scores is a logistic function of that score's distance to the others'
    logsumexp, so this serves all losses.
    """

    loss: Loss
    y: Array
    weight: Array
    offset: Array
    v: Array

    def take(self, which: Index) -> OneOutput:
        """Return some of the candidates."""
        return OneOutput(self.loss, self.y[which], self.weight, self.offset[which], self.v[which])

    def some_rows(self, rows: slice, times: float) -> OneOutput:
        """Return the candidates on some of the samples, each counting so many times."""
        return OneOutput(self.loss, self.y[:, rows], times * self.weight[rows], self.offset[:, rows], self.v)

    def value(self, t: Array) -> Array:
        """Return the weighted mean loss of each candidate."""
        f = self.offset + self.v[:, None] * t
        return self.loss.per_sample(f.reshape(-1, 1), self.y.reshape(-1, 1)).reshape(f.shape) @ self.weight

    def derivatives(self, t: Array) -> tuple[Array, Array]:
        """Return the weighted first and second derivatives with respect to t."""
        f, v = self.offset + self.v[:, None] * t, self.v[:, None]
        flat, y = f.reshape(-1, 1), self.y.reshape(-1, 1)
        first = self.loss.derivative(flat, y).reshape(f.shape) * self.weight
        second = self.loss.second_derivative(flat, y).reshape(f.shape) * self.weight
        return first * v, second * (v * v)


@dataclass(frozen=True)
class ManyOutputs(DirectionalLoss):
    """Candidates that reach several outputs at once, by the rows of ``v`` (n_candidates, n_outputs)."""

    loss: Loss
    y: Array
    weight: Array
    offset: Array  # (n_candidates, n_samples, n_outputs)
    v: Array

    @property
    def width(self) -> int:
        """Number of scores of a sample that a candidate changes."""
        return self.v.shape[1]

    def take(self, which: Index) -> ManyOutputs:
        """Return some of the candidates."""
        return ManyOutputs(self.loss, self.y, self.weight, self.offset[which], self.v[which])

    def some_rows(self, rows: slice, times: float) -> ManyOutputs:
        """Return the candidates on some of the samples, each counting so many times."""
        return ManyOutputs(self.loss, self.y[rows], times * self.weight[rows], self.offset[:, rows], self.v)

    def value(self, t: Array) -> Array:
        """Return the weighted mean loss of each candidate."""
        return np.array([self.loss.value(f, self.y, self.weight) for f in self._scores(t)])

    def derivatives(self, t: Array) -> tuple[Array, Array]:
        """Return the weighted first and second derivatives with respect to t."""
        first, second = np.empty_like(t), np.empty_like(t)
        for k, f in enumerate(self._scores(t)):
            v = self.v[k]
            first[k] = self.loss.residual(f, self.y, self.weight) @ v
            curvature = self.loss.curvature(f, self.y, self.weight)
            second[k] = curvature.diagonal @ (v * v)
            if curvature.factor is not None:
                second[k] -= (curvature.factor @ v) ** 2
        return first, second

    def _scores(self, t: Array) -> Array:
        return self.offset + t[:, :, None] * self.v[:, None, :]


def seen_from_one_output(
    loss: Loss, y: Array, weight: Array, f: Array, outputs: Index, v: Array, offset: Array
) -> OneOutput:
    """Return the loss along single outputs.

    Parameters
    ----------
    loss, y, weight, f
        The loss, targets, sample weights and scores (n_samples, n_outputs).
    outputs : ndarray of shape (n_candidates,)
        The output that each candidate reaches.
    v : ndarray of shape (n_candidates,)
        By which weight.
    offset : ndarray of shape (n_candidates, n_samples)
        That output's score without the candidate's unit.
    """
    if not loss.coupled:
        return OneOutput(loss, y.T[outputs], weight, offset, v)
    others = f[:, None, :].repeat(outputs.size, axis=1)
    others[:, np.arange(outputs.size), outputs] = -np.inf
    top = others.max(axis=2)
    rest = top + np.log(np.exp(others - top[:, :, None]).sum(axis=2))
    return OneOutput(Logistic(), 2.0 * y.T[outputs] - 1.0, weight, offset - rest.T, v)


def solve(trials: Trials, tol: float) -> tuple[Array, Array]:
    """Return the best (w, c, β) found for each candidate, and the criterion there.

    Where samples are many, a solution on some of them is refined on all.
    """
    n = trials.x.shape[1]
    if n > 2 * SOME_ROWS:
        some = slice(None, None, n // SOME_ROWS)
        found, _ = _newton(trials.some_rows(some, 1.0 / trials.along.weight[some].sum()), trials.start, tol, STEPS)
        return _newton(trials, found, tol, REFINING_STEPS)
    return _newton(trials, trials.start, tol, STEPS)


def _newton(trials: Trials, start: Array, tol: float, steps: int) -> tuple[Array, Array]:
    """Damped Newton over three weights, all candidates side by side until each is done."""
    found, least = start.copy(), np.empty(len(start))
    at, p = np.arange(len(start)), start.copy()  # the candidates that are not done, and where they are
    value, slope, bend = _look(trials, p)
    sign = np.where(p[:, 0] != 0.0, np.sign(p[:, 0]), -np.sign(slope[:, 0]))
    damping, refused = np.full(len(p), 1e-3), np.zeros(len(p), np.intp)
    for _ in range(steps):
        step, predicted = _step(trials, p, slope, bend, sign, damping)
        new = p + step
        new[new[:, 0] * sign < 0.0, 0] = 0.0
        new_value, new_slope, new_bend = _look(trials, new)
        better = new_value < value
        fall = value - new_value
        p[better], value[better] = new[better], new_value[better]
        slope[better], bend[better] = new_slope[better], new_bend[better]
        damping = np.where(better, np.maximum(damping / 6.0, 1e-9), np.maximum(damping, 1e-6) * 8.0)
        refused = np.where(better, 0, refused + 1)
        arrived = better & ((fall < tol) & (predicted < 4.0 * tol) | (p[:, 0] == 0.0))
        done = arrived | (~better & ((predicted < 1e-2 * tol) | (refused >= MOST_REFUSED)))
        if done.any():
            found[at[done]], least[at[done]] = p[done], value[done]
            stay = np.flatnonzero(~done)
            at, p, value, slope, bend = at[stay], p[stay], value[stay], slope[stay], bend[stay]
            sign, damping, refused, trials = sign[stay], damping[stay], refused[stay], trials.take(stay)
        if not at.size:
            break
    found[at], least[at] = p, value
    return found, least


def _step(trials: Trials, p: Array, slope: Array, bend: Array, sign: Array, damping: Array) -> tuple[Array, Array]:
    """Return damped Newton steps, directions of negative curvature turned round, and the fall they promise."""
    g, H = slope.copy(), bend.copy()
    g[:, 0] += trials.l1 * sign + 2.0 * trials.l2 * p[:, 0]
    H[:, 0, 0] += 2.0 * trials.l2
    size, axes = np.linalg.eigh(H)
    size = np.abs(size)
    top = np.maximum(size.max(axis=1), 1e-9)[:, None]
    along = np.einsum("kij,ki->kj", axes, g) / (np.maximum(size, 1e-7 * top) + damping[:, None] * top)
    step = -np.einsum("kij,kj->ki", axes, along)
    reach = np.abs(step).max(axis=1)
    limit = np.maximum(STEP_LIMIT, STEP_SHARE * np.abs(p[:, :2]).max(axis=1))
    step *= np.minimum(1.0, limit / np.maximum(reach, 1e-300))[:, None]
    return step, -0.5 * np.einsum("ki,ki->k", g, step)


def _look(trials: Trials, p: Array) -> Derivatives:
    """Return the criterion at p, the gradient and the Hessian of its loss."""
    n = trials.x.shape[1]
    step = max(1, BLOCK_CELLS // (len(p) * trials.along.width))
    parts = [_sums(trials if n <= step else trials.some_rows(slice(a, a + step)), p) for a in range(0, n, step)]
    value, slope, bend = (np.sum(each, axis=0) for each in zip(*parts, strict=True))
    return value + trials.l1 * np.abs(p[:, 0]) + trials.l2 * p[:, 0] ** 2, slope, bend


def _sums(trials: Trials, p: Array) -> Derivatives:
    """Return the loss at p, its gradient and its Hessian."""
    w, c, shift = (p[:, i, None] for i in range(3))
    x = trials.x
    a = np.tanh(0.5 * (trials.z + c + w * x))
    t = a + shift
    value = trials.along.value(t)
    first, second = trials.along.derivatives(t)
    rise = 0.5 * (1.0 - a * a)
    back, cross = first * rise, second * rise
    bent = cross * rise - a * back
    slope = np.stack([_dot(back, x), back.sum(axis=1), first.sum(axis=1)], axis=1)
    bx = bent * x
    h = [_dot(bx, x), bx.sum(axis=1), _dot(cross, x), bent.sum(axis=1), cross.sum(axis=1), second.sum(axis=1)]
    bend = np.stack([h[0], h[1], h[2], h[1], h[3], h[4], h[2], h[4], h[5]], axis=1).reshape(-1, 3, 3)
    return value, slope, bend


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("ki,ki->k", a, b)
