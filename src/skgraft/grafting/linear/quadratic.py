"""Minimising the quadratic model of the free weights, given its Hessian as a matrix.

    q·(w - w0) + ½(w - w0)'H(w - w0) + penalty(w)

Coordinate epochs find the support; a Newton step on that support, with an exact search over the zero crossings,
finishes what coordinates are slow at.  H may be float32: the caller's gradient is exact, so repeated models
converge to the exact answer.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from skgraft.criterion.penalties import Penalty

Array = NDArray[np.float64]

EPOCHS = 50  # coordinate epochs between Newton steps on the support
PLAIN_EPOCHS = 3  # the same for plain NumPy, where an epoch costs more than a small factorisation
PLAIN_UPDATES = 20_000  # updates of single weights after which a problem proved hard enough to compile for
ROUNDS = 100
PIVOT_AFTER = 4  # rounds after which weights come in one at a time,
PIVOT_WEIGHTS = 600  # if they are no more than this
PATIENCE = 15  # rounds without halving the violation before giving up
SUPPORT_STEPS = 10  # Newton steps in a row between epochs
PLAIN_WEIGHTS = 256  # up to this many free weights of a small problem need no compiler


def minimize_gram(H: NDArray[np.floating], q: Array, w: Array, penalty: Penalty, tol: float, *, compiled: bool) -> None:
    """Move ``w`` to the minimum, in place; ``q``, the model's gradient, follows.

    Parameters
    ----------
    H : ndarray
        A buffer whose leading block is the Hessian, ridge included.
    q, w : ndarray of shape (m,)
        Gradient of the model and weights at the start; overwritten.
    penalty : Penalty
        Penalty of these weights; its ridge is taken to be in H and q already.
    tol : float
        Largest violation of the model's optimality conditions to leave.
    compiled : bool
        Use the compiled kernel rather than plain NumPy.
    """
    if w.size == 0:
        return
    penalty = replace(penalty, ridge=np.zeros(w.size))
    epochs = _Epochs(H, penalty, 0.3 * tol, compiled=compiled)
    patience = _Patience(PATIENCE)
    for round_ in range(ROUNDS):
        settled = epochs.run(q, w)
        if penalty.violation(q, w).max() <= tol:
            return
        if settled and round_ < 3:
            continue  # by step size, though not by gradient: another few epochs are cheaper than what follows
        _support_steps(H, q, w, penalty, SUPPORT_STEPS)
        left = float(penalty.violation(q, w).max())
        if left <= tol:
            return
        if patience.exhausted(left):
            if not epochs.plain:
                return
            epochs.compile()
            patience = _Patience(PATIENCE)
        if penalty.scalar and round_ >= PIVOT_AFTER and w.size <= PIVOT_WEIGHTS:
            _pivot(H, q, w, penalty, tol)
            return


class _Patience:
    """Ends what no longer halves the violation: rounding, or a model too ill-conditioned to be worth more."""

    def __init__(self, rounds: int) -> None:
        self._rounds, self._best, self._stalled = rounds, np.inf, 0

    def exhausted(self, left: float) -> bool:
        """Note what is left after a round."""
        if left < 0.5 * self._best:
            self._best, self._stalled = left, 0
        else:
            self._stalled += 1
        return self._stalled > self._rounds


class _Epochs:
    """Batches of coordinate epochs: in plain NumPy at first if the problem is small, else compiled."""

    def __init__(self, H: NDArray[np.floating], penalty: Penalty, tol: float, *, compiled: bool) -> None:
        self._H, self._penalty, self._tol = H, penalty, tol
        self._lipschitz = block_norms(H, penalty)
        self._plain_left = 0 if compiled else PLAIN_UPDATES // penalty.l1.size

    @property
    def plain(self) -> bool:
        """Whether the next batch is plain NumPy."""
        return self._plain_left > 0

    def compile(self) -> None:
        """Use the compiled kernel from now on: the problem proved hard."""
        self._plain_left = 0

    def run(self, q: Array, w: Array) -> bool:
        """Run a batch; returns whether the weights settled before its end."""
        penalty = self._penalty
        if self.plain:
            taken = plain_gram_cd(self._H, q, w, penalty, self._lipschitz, self._tol, PLAIN_EPOCHS)
            self._plain_left -= taken
            return taken < PLAIN_EPOCHS
        from skgraft.grafting.linear._kernels import gram_cd

        taken = gram_cd(
            self._H, w.size, q, w, penalty.starts, penalty.l1, penalty.norm, self._lipschitz, penalty.positive,
            self._tol, EPOCHS,
        )  # fmt: skip
        return bool(taken < EPOCHS)


def _pivot(H: NDArray[np.floating], q: Array, w: Array, penalty: Penalty, tol: float) -> None:
    """Finish by an active set: to the minimum over the nonzero weights, then the worst of the others comes in.

    Slower than epochs where many weights change, but every step goes down, so it cannot cycle.
    """
    m = w.size
    threshold = penalty.l1 + penalty.norm
    for _ in range(4 * m):
        _support_steps(H, q, w, penalty, m)
        violation = penalty.violation(q, w)
        j = int(np.argmax(np.where(w == 0.0, violation, 0.0)))
        if violation[j] <= tol or w[j] != 0.0 or H[j, j] <= 0.0:
            return
        step = -np.sign(q[j]) * (abs(q[j]) - threshold[j]) / H[j, j]
        w[j] = step
        q += step * H[j, :m]


def plain_gram_cd(
    H: NDArray[np.floating], q: Array, w: Array, penalty: Penalty, lipschitz: Array, tol: float, limit: int
) -> int:
    """Run coordinate epochs in plain NumPy: the compiled kernel's twin, for problems too small to compile for."""
    m = w.size
    H = H[:m, :m]
    starts = penalty.starts.tolist()
    threshold = penalty.l1 + penalty.per_weight(penalty.norm) if penalty.scalar else penalty.l1
    for epoch in range(1, limit + 1):
        largest_step = 0.0
        for g, bound in enumerate(lipschitz.tolist()):
            if bound <= 0.0:
                continue
            a, b = starts[g], starts[g + 1]
            if penalty.scalar:
                old = w[a]
                x = old * bound - q[a]
                t = threshold[a]
                new = (x - t) / bound if x > t else ((x + t) / bound if x < -t and not penalty.positive else 0.0)
                if new != old:
                    w[a] = new
                    q += (new - old) * H[a]
                    largest_step = max(largest_step, abs(new - old) * bound)
                continue
            x = w[a:b] - q[a:b] / bound
            x = np.sign(x) * np.maximum(np.abs(x) - threshold[a:b] / bound, 0.0)
            if penalty.positive:
                x = np.maximum(x, 0.0)
            length = np.sqrt(x @ x)
            d = (max(0.0, 1.0 - penalty.norm[g] / (bound * length)) * x if length > 0.0 else x) - w[a:b]
            if d.any():
                w[a:b] += d
                q += d @ H[a:b]
                largest_step = max(largest_step, float(np.abs(d).max()) * bound)
        if largest_step <= tol:
            return epoch
    return limit


def block_norms(H: NDArray[np.floating], penalty: Penalty) -> Array:
    """Return the largest eigenvalue of each group's diagonal block."""
    if penalty.scalar:
        return np.diagonal(H)[: penalty.l1.size].astype(np.float64)
    sizes = np.diff(penalty.starts)
    out = np.empty(sizes.size)
    for size in np.unique(sizes):
        groups = np.flatnonzero(sizes == size)
        at = penalty.starts[groups, None] + np.arange(size)
        blocks = H[at[:, :, None], at[:, None, :]].astype(np.float64)
        out[groups] = np.linalg.eigvalsh(blocks)[:, -1]
    return out * (1.0 + 1e-6)  # float32 blocks carry rounding


def _support_steps(H: NDArray[np.floating], q: Array, w: Array, penalty: Penalty, most: int) -> None:
    """Take Newton steps over the nonzero weights while each of them brings a weight back to zero."""
    for _ in range(most):
        if not _support_step(H, q, w, penalty):
            return


def _support_step(H: NDArray[np.floating], q: Array, w: Array, penalty: Penalty) -> bool:
    """Take a Newton step over the nonzero weights, as far as the model with its kinks goes down.

    Returns whether a weight stopped it by reaching zero.
    """
    m = w.size
    support = np.flatnonzero(w)
    if not support.size:
        return False
    at = w[support]
    slope = q[support] + penalty.l1[support] * np.sign(at)
    hessian: NDArray[Any] = H[support[:, None], support]
    if penalty.norm.any():
        hessian = hessian.astype(np.float64)
        slope = slope + _norm_curvature(hessian, support, at, penalty)
    d = _solve_definite(hessian, -slope)
    if d is None:
        return False
    step = np.zeros(m)
    step[support] = d
    H_step = np.asarray(H[:m, :m] @ step.astype(H.dtype), dtype=np.float64)
    quadratic = float(d @ H_step[support])
    linear = float(q[support] @ d)
    if penalty.norm.any() and not penalty.scalar:
        t, pinned = _search_backtracking(w, step, linear, quadratic, penalty), -1
        w += t * step
        if penalty.positive:
            np.maximum(w, 0.0, out=w)
    else:
        kink = penalty.l1[support] + (penalty.norm[support] if penalty.scalar else 0.0)
        t, pinned = search_kinks(at, d, linear, quadratic, kink, positive=penalty.positive)
        w[support] += t * d
        if pinned >= 0:
            w[support[pinned]] = 0.0
    q += t * H_step
    return pinned >= 0


def _norm_curvature(hessian: Array, support: NDArray[np.intp], at: Array, penalty: Penalty) -> Array:
    """Add the group norm's second derivative to ``hessian``, in place, and return its first."""
    if penalty.scalar:
        return np.asarray(penalty.norm[support] * np.sign(at))
    group = np.repeat(np.arange(penalty.norm.size), np.diff(penalty.starts))[support]
    length = np.sqrt(np.bincount(group, at * at, penalty.norm.size))
    edges = np.flatnonzero(np.diff(np.concatenate([[-1], group, [-1]])))
    unit = at / length[group]
    for a, b in pairwise(edges.tolist()):
        weight = penalty.norm[group[a]] / length[group[a]]
        hessian[a:b, a:b] += weight * (np.eye(b - a) - np.outer(unit[a:b], unit[a:b]))
    return np.asarray(penalty.norm[group] * unit)


def _solve_definite(hessian: NDArray[np.floating], rhs: Array) -> Array | None:
    """Solve by Cholesky with a jitter that grows until the matrix is definite; None if it never is."""
    single = hessian.dtype == np.float32
    factorize, solve = (lapack.spotrf, lapack.spotrs) if single else (lapack.dpotrf, lapack.dpotrs)
    diagonal = np.diagonal(hessian).copy()
    if not (diagonal > 0.0).all():
        return None
    index = np.arange(diagonal.size)
    jitter = 1e-6 if single else 1e-13
    for _ in range(3):
        hessian[index, index] = diagonal * (1.0 + jitter)
        factor, info = factorize(hessian, lower=1)
        if info == 0:
            d, _ = solve(factor, rhs.astype(hessian.dtype), lower=1)
            return np.asarray(d, dtype=np.float64) if np.isfinite(d).all() else None
        jitter *= 100.0
    return None


def search_kinks(
    w: Array, d: Array, linear: float, quadratic: float, kink: Array, *, positive: bool
) -> tuple[float, int]:
    """Minimise t·linear + ½t²·quadratic + Σ kink|w + t·d| over t >= 0, exactly.

    Returns the step and the weight that it brings exactly to zero (-1 if none).  With ``positive`` no weight may
    pass zero.
    """
    slope = linear + float(kink @ (d * np.sign(w)))
    if slope >= 0.0:
        return 0.0, -1
    crossing = np.flatnonzero(w * d < 0.0)
    times = -w[crossing] / d[crossing]
    order = np.argsort(times, kind="stable")
    crossing, times = crossing[order], times[order]
    jumps = 2.0 * kink[crossing] * np.abs(d[crossing])
    if positive:
        crossing, times, jumps = crossing[:1], times[:1], np.full(times[:1].size, np.inf)
    before = slope + np.concatenate([[0.0], np.cumsum(jumps)[:-1]])[: times.size] + quadratic * times
    rising = np.flatnonzero(before + jumps >= 0.0)
    if rising.size:
        k = int(rising[0])
        if before[k] < 0.0:
            return float(times[k]), int(crossing[k])
        passed = float(jumps[:k].sum())
        return -(slope + passed) / quadratic, -1
    if quadratic <= 0.0:
        return 1.0, -1
    return -(slope + float(jumps.sum())) / quadratic, -1


def _search_backtracking(w: Array, step: Array, linear: float, quadratic: float, penalty: Penalty) -> float:
    t = 1.0
    if penalty.positive:
        falling = step < 0.0
        if falling.any():
            t = min(1.0, float((-w[falling] / step[falling]).min()))
    start = penalty.value(w)
    while t > 1e-4:
        if t * linear + 0.5 * t * t * quadratic + penalty.value(w + t * step) < start:
            return t
        t *= 0.5
    return 0.0
