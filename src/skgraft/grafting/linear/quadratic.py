"""Minimising the quadratic model of the free weights, given its Hessian as a matrix.

    q·(w - w0) + ½(w - w0)'H(w - w0) + penalty(w)

Coordinate epochs find the support; a Newton step on that support, with an exact search over the zero crossings,
finishes what coordinates are slow at.  H may be float32: the caller's gradient is exact, so repeated models
converge to the exact answer.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from skgraft.arrays import Array
from skgraft.criterion import Penalty
from skgraft.grafting.orthant import project

EPOCHS = 50  # coordinate epochs between Newton steps on the support
PLAIN_EPOCHS = 3  # the same for plain NumPy, where an epoch costs more than a small factorisation
PLAIN_UPDATES = 20_000  # updates of single weights after which a problem proved hard enough to compile for
ROUNDS = 100
PIVOT_AFTER = 4  # rounds after which weights come in one at a time,
PIVOT_WEIGHTS = 600  # if they are no more than this
PATIENCE = 15  # rounds without halving the violation before giving up
SUPPORT_STEPS = 10  # Newton steps in a row between epochs
ROUNDING = 1e-12  # a promised decrease below this share of what the model adds up is noise
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
        _support_steps(H, q, w, penalty, SUPPORT_STEPS, tol)
        left = float(penalty.violation(q, w).max())
        if left <= tol:
            return
        if patience.exhausted(left):
            if not epochs.plain:
                return
            epochs.compile()
            patience = _Patience(PATIENCE)
        if round_ >= PIVOT_AFTER and w.size <= PIVOT_WEIGHTS:
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

    Slower than epochs where many weights change, but every step goes down, so it cannot cycle, and it does not mind
    columns of very different scales within a group, which bring proximal steps to a standstill.
    """
    m = w.size
    for _ in range(4 * m):
        _support_steps(H, q, w, penalty, m, 0.5 * tol)
        if not penalty.scalar:
            _drop_groups(H, q, w, penalty)
        violation = penalty.violation(q, w)
        at_zero = np.maximum.reduceat(np.where(w == 0.0, penalty.excess(q), 0.0), penalty.starts[:-1]) > 0.0
        group = int(np.argmax(np.where(at_zero, violation, 0.0)))
        if not at_zero[group] or violation[group] <= tol or not _enter(H, q, w, penalty, group):
            return


def _drop_groups(H: NDArray[np.floating], q: Array, w: Array, penalty: Penalty) -> None:
    """Set every group to zero that lowers the model by it; Newton steps only come near to zero."""
    for group in np.flatnonzero((penalty.norm > 0.0) & (penalty.per_group(w * w) > 0.0)).tolist():
        mine = slice(penalty.starts[group], penalty.starts[group + 1])
        H_w = np.asarray(w[mine] @ H[mine, : w.size], dtype=np.float64)
        freed = float(penalty.norm[group] * np.sqrt(w[mine] @ w[mine]) + penalty.l1[mine] @ np.abs(w[mine]))
        if 0.5 * float(w[mine] @ H_w[mine]) - float(q[mine] @ w[mine]) < freed:
            q -= H_w
            w[mine] = 0.0


def _enter(H: NDArray[np.floating], q: Array, w: Array, penalty: Penalty, group: int) -> bool:
    """Move the weights at zero of a group to the minimum along their steepest descent; False if nothing bends it."""
    mine = slice(penalty.starts[group], penalty.starts[group + 1])
    norm, length = float(penalty.norm[group]), float(np.sqrt(w[mine] @ w[mine]))
    d = np.where(w[mine] == 0.0, -np.sign(q[mine]) * penalty.excess(q)[mine], 0.0)
    reach = float(np.sqrt(d @ d))
    # along d a group at zero has the slope norm·|d| more; one that is not has the curvature norm/length at most
    held, bent = (norm, 0.0) if length == 0.0 else (0.0, norm / length)
    H_d = np.asarray(d @ H[mine, : w.size], dtype=np.float64)
    curvature = float(d @ H_d[mine]) + bent * reach**2
    if curvature <= 0.0 or reach <= held:
        return False
    t = reach * (reach - held) / curvature
    w[mine] += t * d
    q += t * H_d
    return True


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


def _support_steps(H: NDArray[np.floating], q: Array, w: Array, penalty: Penalty, most: int, tol: float) -> None:
    """Take Newton steps over the nonzero weights while each brings one of them to zero, or more are needed."""
    curved = not penalty.scalar and bool(penalty.norm.any())
    for _ in range(most):
        moved, pinned = _support_step(H, q, w, penalty)
        if pinned or (curved and moved and _support_violation(q, w, penalty) > tol):
            continue
        return


def _support_violation(q: Array, w: Array, penalty: Penalty) -> float:
    """Return the largest slope of the model over the nonzero weights."""
    length = penalty.per_weight(np.sqrt(penalty.per_group(w * w)))
    kkt_excess = penalty.per_weight(penalty.norm) / np.where(length > 0.0, length, 1.0)
    return float(np.abs(np.where(w != 0.0, q + penalty.l1 * np.sign(w) + kkt_excess * w, 0.0)).max(initial=0.0))


def _support_step(H: NDArray[np.floating], q: Array, w: Array, penalty: Penalty) -> tuple[bool, bool]:
    """Take a Newton step over the nonzero weights, as far as the model with its kinks goes down.

    Returns whether it moved, and whether a weight stopped it by reaching zero.
    """
    m = w.size
    support = np.flatnonzero(w)
    if not support.size:
        return False, False
    if penalty.norm.any() and not penalty.scalar:
        return _support_step_of_groups(H, q, w, penalty, support)
    at = w[support]
    kink = penalty.l1[support] + (penalty.norm[support] if penalty.scalar else 0.0)
    d = _solve_definite(H[support[:, None], support], -q[support] - kink * np.sign(at))
    if d is None:
        return False, False
    step = np.zeros(m)
    step[support] = d
    H_step = np.asarray(H[:m, :m] @ step.astype(H.dtype), dtype=np.float64)
    t, pinned = search_kinks(at, d, float(q[support] @ d), float(d @ H_step[support]), kink, positive=penalty.positive)
    w[support] += t * d
    if pinned >= 0:
        w[support[pinned]] = 0.0
    q += t * H_step
    return t > 0.0, pinned >= 0


def _support_step_of_groups(
    H: NDArray[np.floating], q: Array, w: Array, penalty: Penalty, support: NDArray[np.intp]
) -> tuple[bool, bool]:
    """Take a step over the nonzero weights of groups whose norms bend.

    A norm does not bend along its own weights, so that where H is singular Newton's step may be far too long.  The
    second try is with the parabola ½norm(|w|²/length + length), which lies above the norm: its step is sure to go down.
    """
    at = w[support]
    base = np.asarray(H[support[:, None], support], dtype=np.float64)
    for radial in (0.0, 1.0):
        hessian = base.copy()
        slope = q[support] + penalty.l1[support] * np.sign(at)
        slope += _norm_curvature(hessian, support, at, penalty, radial)
        d = _solve_definite(hessian, -slope)
        if d is None:
            continue
        step = np.zeros(w.size)
        step[support] = d
        moved, pinned = _move_groups(H, q, w, step, float(slope @ d), penalty, turns=radial > 0.0)
        if moved:
            return True, pinned
    return False, False


def _move_groups(
    H: NDArray[np.floating], q: Array, w: Array, step: Array, promised: float, penalty: Penalty, *, turns: bool
) -> tuple[bool, bool]:
    """Go along a step as far as the model falls; weights that would change sign stop at zero.

    So do groups that turn round, unless the step ``turns`` them on purpose.
    Returns whether it moved, and whether something stopped at zero.
    """
    value = penalty.value(w)
    noise = abs(promised) <= ROUNDING * (value + float(np.abs(q) @ np.abs(w)))
    before = _support_violation(q, w, penalty) if noise else 0.0
    leaving = np.flatnonzero((w * step < 0.0) & ((penalty.l1 > 0.0) | penalty.positive))
    orthant = replace(penalty, norm=np.zeros_like(penalty.norm)) if turns else penalty
    first = float((-w[leaving] / step[leaving]).min(initial=np.inf))
    # the last try ends where the first weight leaves: up to there nothing has a kink
    for t in (1.0, 0.5, 0.25, min(first * (1.0 + 1e-12), 0.125)):
        moved = project(w + t * step, w, step, orthant)
        d = moved - w
        H_d = np.asarray(H[: w.size, : w.size] @ d, dtype=np.float64)
        falls = float(q @ d + 0.5 * (d @ H_d)) + penalty.value(moved) - value < 0.0
        # where values cannot tell any more, slopes do
        if falls or (noise and _support_violation(q + H_d, moved, penalty) < before):
            pinned = bool(((w != 0.0) & (moved == 0.0)).any())
            w[:] = moved
            q += H_d
            return True, pinned
    return False, False


def _norm_curvature(hessian: Array, support: NDArray[np.intp], at: Array, penalty: Penalty, radial: float) -> Array:
    """Add the group norm's second derivative to ``hessian``, in place, and return its first.

    ``radial`` is the share of the curvature across a group that is also assumed along its weights, where the norm
    has none.
    """
    group = np.repeat(np.arange(penalty.norm.size), np.diff(penalty.starts))[support]
    length = np.sqrt(np.bincount(group, at * at, penalty.norm.size))
    edges = np.flatnonzero(np.diff(np.concatenate([[-1], group, [-1]])))
    unit = at / length[group]
    for a, b in pairwise(edges.tolist()):
        weight = penalty.norm[group[a]] / length[group[a]]
        hessian[a:b, a:b] += weight * (np.eye(b - a) - (1.0 - radial) * np.outer(unit[a:b], unit[a:b]))
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
