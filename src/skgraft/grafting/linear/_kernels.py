"""Compiled coordinate descent on the quadratic model of the free weights.

All five kernels minimise, over the free weights w (moving from w0),

    q·(w - w0) + ½(w - w0)'H(w - w0) + penalty(w)

by cycling over groups, and extrapolate every few epochs (Anderson).  They differ in how H is known: as a matrix, as
one matrix for every output, through scaled dense rows, through scaled sparse columns, or through sparse columns and
class probabilities.
Groups are ``starts[g]:starts[g + 1]``; ``lipschitz[g]`` bounds the largest eigenvalue of H's block.
"""

from __future__ import annotations

import numpy as np

from skgraft.compiled import FAST, ONE, column_add, column_dot, njit

MEMORY = 5  # epochs between extrapolations
REPEATS = 4  # proximal steps on a group of several weights before moving on


@njit(cache=True, nogil=True, fastmath=FAST)
def penalty_value(w, starts, l1, norm):
    """Return Σ l1|w| + Σ_g norm_g ||w_g|| of weights (n_outputs, m) whose groups span all outputs."""
    total = 0.0
    for g in range(starts.size - 1):
        squares = 0.0
        for k in range(w.shape[0]):
            for j in range(starts[g], starts[g + 1]):
                total += l1[j] * abs(w[k, j])
                squares += w[k, j] * w[k, j]
        total += norm[g] * np.sqrt(squares)
    return total


@njit(cache=True, nogil=True)
def soft_threshold(x, t, positive):
    if x > t:
        return x - t
    if x < -t and not positive:
        return x + t
    return 0.0


@njit(cache=True, nogil=True)
def group_scale(v, size, t):
    """Return the factor by which the group norm's prox shrinks the first ``size`` entries of v."""
    squares = 0.0
    for j in range(size):
        squares += v[j] * v[j]
    if squares == 0.0:
        return 0.0
    return max(0.0, 1.0 - t / np.sqrt(squares))


@njit(cache=True, nogil=True, fastmath=FAST)
def extrapolation(trail, weights):
    """Solve for the affine combination of the last iterates whose residual is smallest; False if singular."""
    k = weights.size
    m = trail.shape[1]
    gram = np.empty((k, k))
    trace = 0.0
    for a in range(k):
        for b in range(a + 1):
            total = 0.0
            for j in range(m):
                total += (trail[a + 1, j] - trail[a, j]) * (trail[b + 1, j] - trail[b, j])
            gram[a, b] = total
            gram[b, a] = total
        trace += gram[a, a]
    if not trace > 0.0:
        return False
    for a in range(k):
        gram[a, a] += 1e-12 * trace
        weights[a] = 1.0
    # Gaussian elimination of a positive definite matrix needs no pivoting
    for a in range(k):
        if gram[a, a] <= 0.0:
            return False
        for b in range(a + 1, k):
            f = gram[b, a] / gram[a, a]
            for c in range(a, k):
                gram[b, c] -= f * gram[a, c]
            weights[b] -= f * weights[a]
    total = 0.0
    for a in range(k - 1, -1, -1):
        for c in range(a + 1, k):
            weights[a] -= gram[a, c] * weights[c]
        weights[a] /= gram[a, a]
        total += weights[a]
    if total == 0.0 or not np.isfinite(total):
        return False
    for a in range(k):
        weights[a] /= total
    return True


@njit(cache=True, nogil=True, fastmath=FAST)
def combine(trail, weights, out):
    for j in range(out.size):
        total = 0.0
        for a in range(weights.size):
            total += weights[a] * trail[a + 1, j]
        out[j] = total


@njit(cache=True, nogil=True)
def allowed(w, positive):
    for j in range(w.size):  # noqa: SIM110 -- numba compiles loops
        if (positive and w[j] < 0.0) or not np.isfinite(w[j]):
            return False
    return True


@njit(cache=True, nogil=True, fastmath=FAST)
def extrapolate_gradient(trail, trail_q, w, q, starts, l1, norm, positive):
    """Move w and its gradient q, (n_outputs, m), to the mixture of the trail if the model is lower there.

    q is affine in w, so it mixes with the same weights, and the model changes by ½(q + q_mixed)·(w_mixed - w).
    """
    mix = np.empty(MEMORY)
    if not extrapolation(trail, mix):
        return
    w_mixed, q_mixed = np.empty(w.size), np.empty(w.size)
    combine(trail, mix, w_mixed)
    combine(trail_q, mix, q_mixed)
    flat_w, flat_q = w.reshape(w.size), q.reshape(w.size)
    change = penalty_value(w_mixed.reshape(w.shape), starts, l1, norm) - penalty_value(w, starts, l1, norm)
    for i in range(w.size):
        change += 0.5 * (flat_q[i] + q_mixed[i]) * (w_mixed[i] - flat_w[i])
    if change < 0.0 and allowed(w_mixed, positive):
        flat_w[:] = w_mixed
        flat_q[:] = q_mixed


@njit(cache=True, nogil=True, fastmath=FAST)
def extrapolate_scores(trail, trail_z, trail_shift, total, q0, w, w0, z, shift, ridge, starts, l1, norm, positive):
    """Move w and z = A'(w - w0), (n_outputs, ...), to the mixture of the trail if the model is lower there.

    The model is q0·(w - w0) + ½||z||² + ½ridge·(w - w0)² - ½shift²/total + penalty(w); returns the shift at w.
    """
    mix = np.empty(MEMORY)
    if not extrapolation(trail, mix):
        return shift
    w_mixed, z_mixed, shift_mixed = np.empty(w.size), np.empty(z.size), np.empty(1)
    combine(trail, mix, w_mixed)
    combine(trail_z, mix, z_mixed)
    combine(trail_shift, mix, shift_mixed)
    flat_w, flat_z = w.reshape(w.size), z.reshape(z.size)
    flat_w0, flat_q0 = w0.reshape(w.size), q0.reshape(w.size)
    change = penalty_value(w_mixed.reshape(w.shape), starts, l1, norm) - penalty_value(w, starts, l1, norm)
    for j in range(w.size):
        before = flat_w[j] - flat_w0[j]
        after = w_mixed[j] - flat_w0[j]
        change += flat_q0[j] * (after - before) + 0.5 * ridge[j % ridge.size] * (after * after - before * before)
    for i in range(z.size):
        change += 0.5 * (z_mixed[i] * z_mixed[i] - flat_z[i] * flat_z[i])
    if total > 0.0:
        change -= 0.5 * (shift_mixed[0] * shift_mixed[0] - shift * shift) / total
    if change >= 0.0 or not allowed(w_mixed, positive):
        return shift
    for j in range(w.size):
        flat_w[j] = w_mixed[j]
    for i in range(z.size):
        flat_z[i] = z_mixed[i]
    return shift_mixed[0]


@njit(cache=True, nogil=True, fastmath=FAST)
def gram_cd(H, m, q, w, starts, l1, norm, lipschitz, positive, tol, max_epochs):
    """Descend with H given; ``q``, the model's gradient at w, is kept up to date.  H may be a larger buffer."""
    n_groups = starts.size - 1
    largest = 1
    for g in range(n_groups):
        largest = max(largest, starts[g + 1] - starts[g])
    v = np.empty(largest)
    moved = np.empty(largest)
    trail = np.empty((MEMORY + 1, m))
    trail_q = np.empty((MEMORY + 1, m))
    kept = 0
    for j in range(m):
        trail[0, j] = w[j]
        trail_q[0, j] = q[j]
    epoch = 0
    while epoch < max_epochs:
        largest_step = 0.0
        for g in range(n_groups):
            a = starts[g]
            b = starts[g + 1]
            if b - a == 1:
                h = H[a, a]
                if h <= 0.0:
                    continue
                new = soft_threshold(w[a] * h - q[a], l1[a] + norm[g], positive) / h
                d = new - w[a]
                if d != 0.0:
                    w[a] = new
                    largest_step = max(largest_step, abs(d) * h)
                    for i in range(m):
                        q[i] += d * H[a, i]
                continue
            bound = lipschitz[g]
            if bound <= 0.0:
                continue
            size = b - a
            for j in range(size):
                moved[j] = 0.0
            for repeat in range(REPEATS):
                for j in range(size):
                    v[j] = soft_threshold(w[a + j] - q[a + j] / bound, l1[a + j] / bound, positive)
                shrink = group_scale(v, size, norm[g] / bound)
                step = 0.0
                for j in range(size):
                    new = shrink * v[j]
                    d = new - w[a + j]
                    if d != 0.0:
                        w[a + j] = new
                        moved[j] += d
                        step = max(step, abs(d) * bound)
                        for i in range(a, b):
                            q[i] += d * H[a + j, i]
                if repeat == 0:
                    largest_step = max(largest_step, step)
                if step <= 0.3 * tol or shrink == 0.0:
                    break
            for j in range(size):
                d = moved[j]
                if d != 0.0:
                    for i in range(a):
                        q[i] += d * H[a + j, i]
                    for i in range(b, m):
                        q[i] += d * H[a + j, i]
        epoch += 1
        if largest_step <= tol:
            break
        kept += 1
        for j in range(m):
            trail[kept, j] = w[j]
            trail_q[kept, j] = q[j]
        if kept == MEMORY:
            kept = 0
            extrapolate_gradient(trail, trail_q, w.reshape(1, m), q.reshape(1, m), starts, l1, norm, positive)
            for j in range(m):
                trail[0, j] = w[j]
                trail_q[0, j] = q[j]
    return epoch


@njit(cache=True, nogil=True, fastmath=FAST)
def targets_cd(G, m, q, w, starts, l1, norm, lipschitz, positive, tol, max_epochs):
    """Descend with H = G for every output alike; a group spans all outputs.  ``q`` and ``w`` are (n_outputs, m)."""
    n_groups = starts.size - 1
    n_outputs = w.shape[0]
    largest = 1
    for g in range(n_groups):
        largest = max(largest, starts[g + 1] - starts[g])
    v = np.empty(largest * n_outputs)
    flat_w, flat_q = w.reshape(w.size), q.reshape(w.size)
    trail = np.empty((MEMORY + 1, w.size))
    trail_q = np.empty((MEMORY + 1, w.size))
    kept = 0
    trail[0] = flat_w
    trail_q[0] = flat_q
    epoch = 0
    while epoch < max_epochs:
        largest_step = 0.0
        for g in range(n_groups):
            a = starts[g]
            size = starts[g + 1] - a
            bound = lipschitz[g]
            if bound <= 0.0:
                continue
            for k in range(n_outputs):
                for j in range(size):
                    e = a + j
                    v[k * size + j] = soft_threshold(w[k, e] - q[k, e] / bound, l1[e] / bound, positive)
            shrink = group_scale(v, size * n_outputs, norm[g] / bound)
            for k in range(n_outputs):
                for j in range(size):
                    e = a + j
                    new = shrink * v[k * size + j]
                    d = new - w[k, e]
                    if d != 0.0:
                        w[k, e] = new
                        largest_step = max(largest_step, abs(d) * bound)
                        for i in range(m):
                            q[k, i] += d * G[e, i]
        epoch += 1
        if largest_step <= tol:
            break
        kept += 1
        trail[kept] = flat_w
        trail_q[kept] = flat_q
        if kept == MEMORY:
            kept = 0
            extrapolate_gradient(trail, trail_q, w, q, starts, l1, norm, positive)
            trail[0] = flat_w
            trail_q[0] = flat_q
    return epoch


@njit(cache=True, nogil=True, fastmath=FAST)
def rows_cd(A, q0, w, ridge, starts, l1, norm, lipschitz, positive, tol, max_epochs):
    """Descend with H = AA' + diag(ridge) for every output alike, A's first rows; a group spans all outputs.

    ``q0`` and ``w`` are (n_outputs, m).  Sweeps the nonzero groups until they settle.
    """
    n_groups = starts.size - 1
    n_outputs, n = w.shape[0], A.shape[1]
    largest = 1
    for g in range(n_groups):
        largest = max(largest, starts[g + 1] - starts[g])
    v = np.empty(largest * n_outputs)
    z = np.zeros((n_outputs, n), A.dtype)  # (w - w0)A
    flat_w, flat_z = w.reshape(w.size), z.reshape(z.size)
    w0 = w.copy()
    trail = np.empty((MEMORY + 1, w.size))
    trail_z = np.empty((MEMORY + 1, z.size), A.dtype)
    no_shift = np.zeros((MEMORY + 1, 1))
    trail[0] = flat_w
    trail_z[0] = flat_z
    kept = 0
    nonzero_only = False
    epoch = 0
    while epoch < max_epochs:
        largest_step = 0.0
        for g in range(n_groups):
            a = starts[g]
            size = starts[g + 1] - a
            bound = lipschitz[g]
            at_zero = True
            for k in range(n_outputs):
                for j in range(a, a + size):
                    if w[k, j] != 0.0:
                        at_zero = False
            if (nonzero_only and at_zero) or bound <= 0.0:
                continue
            for j in range(size):
                e = a + j
                row = A[e]
                for k in range(n_outputs):
                    total = row[0] * 0
                    for i in range(n):
                        total += row[i] * z[k, i]
                    slope = q0[k, e] + total + ridge[e] * (w[k, e] - w0[k, e])
                    v[k * size + j] = soft_threshold(w[k, e] - slope / bound, l1[e] / bound, positive)
            shrink = group_scale(v, size * n_outputs, norm[g] / bound)
            for j in range(size):
                e = a + j
                row = A[e]
                for k in range(n_outputs):
                    new = shrink * v[k * size + j]
                    d = new - w[k, e]
                    if d != 0.0:
                        w[k, e] = new
                        largest_step = max(largest_step, abs(d) * bound)
                        for i in range(n):
                            z[k, i] += d * row[i]
        epoch += 1
        if largest_step <= tol:
            if not nonzero_only:
                break
            nonzero_only = False
            kept = 0
            trail[0] = flat_w
            trail_z[0] = flat_z
            continue
        nonzero_only = True
        kept += 1
        trail[kept] = flat_w
        trail_z[kept] = flat_z
        if kept == MEMORY:
            kept = 0
            extrapolate_scores(
                trail, trail_z, no_shift, 0.0, q0, w, w0, z, 0.0, ridge, starts, l1, norm, positive,
            )  # fmt: skip
            trail[0] = flat_w
            trail_z[0] = flat_z
    return epoch


@njit(cache=True, nogil=True)
def nonzero_groups(w, starts, groups):
    """Write the groups with a nonzero weight to ``groups``; returns how many they are."""
    found = 0
    for g in range(starts.size - 1):
        for j in range(starts[g], starts[g + 1]):
            if w[j] != 0.0:
                groups[found] = g
                found += 1
                break
    return found


@njit(cache=True, nogil=True)
def sparse_cd(
    data,
    rows,
    columns,
    n,
    mean,
    total_curvature,
    q0,
    w,
    ridge,
    starts,
    l1,
    norm,
    lipschitz,
    positive,
    tol,
    max_epochs,
):
    """Descend with H = A'A - mean mean'·total_curvature + diag(ridge), A sparse columns scaled by √curvature.

    The subtracted term is the intercept, profiled out: ``mean`` holds the curvature-weighted column means.
    """
    m = w.size
    n_groups = starts.size - 1
    largest = 1
    for g in range(n_groups):
        largest = max(largest, starts[g + 1] - starts[g])
    v = np.empty(largest)
    z = np.zeros(n)  # A(w - w0)
    shift = 0.0  # total_curvature·mean'(w - w0)
    w0 = w.copy()
    inverse = np.zeros(n_groups)
    for g in range(n_groups):
        if lipschitz[g] > 0.0:
            inverse[g] = 1.0 / lipschitz[g]
    trail = np.empty((MEMORY + 1, m))
    trail_z = np.empty((MEMORY + 1, n))
    trail_shift = np.empty((MEMORY + 1, 1))
    trail[0] = w
    trail_z[0] = z
    trail_shift[0, 0] = shift
    kept = 0
    everywhere = np.arange(n_groups).astype(np.uintp)
    swept = everywhere.copy()
    n_swept = n_groups
    nonzero_only = False
    epoch = 0
    while epoch < max_epochs:
        largest_step = 0.0
        for place in range(n_swept):
            g = swept[np.uintp(place)]
            bound = lipschitz[g]
            if bound <= 0.0:
                continue
            a = np.uintp(starts[g])
            size = np.uintp(starts[g + ONE]) - a
            if size == ONE:
                first, last = np.uintp(columns[a]), np.uintp(columns[a + ONE])
                slope = q0[a] - mean[a] * shift + ridge[a] * (w[a] - w0[a])
                slope += column_dot(data, rows, first, last, z)
                new = soft_threshold(w[a] * bound - slope, l1[a] + norm[g], positive) * inverse[g]
                d = new - w[a]
                if d != 0.0:
                    w[a] = new
                    shift += total_curvature * mean[a] * d
                    largest_step = max(largest_step, abs(d) * bound)
                    column_add(data, rows, first, last, d, z)
                continue
            for j in range(size):
                e = a + np.uintp(j)
                slope = q0[e] - mean[e] * shift + ridge[e] * (w[e] - w0[e])
                slope += column_dot(data, rows, np.uintp(columns[e]), np.uintp(columns[e + ONE]), z)
                v[j] = soft_threshold(w[e] - slope * inverse[g], l1[e] * inverse[g], positive)
            shrink = group_scale(v, size, norm[g] * inverse[g])
            for j in range(size):
                e = a + np.uintp(j)
                d = shrink * v[j] - w[e]
                if d != 0.0:
                    w[e] = shrink * v[j]
                    shift += total_curvature * mean[e] * d
                    largest_step = max(largest_step, abs(d) * bound)
                    column_add(data, rows, np.uintp(columns[e]), np.uintp(columns[e + ONE]), d, z)
        epoch += 1
        if largest_step <= tol:
            if not nonzero_only:
                break
            nonzero_only = False
            swept[:] = everywhere
            n_swept = n_groups
            kept = 0
            trail[0] = w
            trail_z[0] = z
            trail_shift[0, 0] = shift
            continue
        if kept == 0:
            n_swept = nonzero_groups(w, starts, swept)
        nonzero_only = True
        kept += 1
        trail[kept] = w
        trail_z[kept] = z
        trail_shift[kept, 0] = shift
        if kept == MEMORY:
            kept = 0
            shift = extrapolate_scores(
                trail, trail_z, trail_shift, total_curvature, q0.reshape(1, m), w.reshape(1, m), w0.reshape(1, m),
                z.reshape(1, n), shift, ridge, starts, l1, norm, positive,
            )  # fmt: skip
            trail[0] = w
            trail_z[0] = z
            trail_shift[0, 0] = shift
    return epoch


@njit(cache=True, nogil=True, fastmath=FAST)
def softmax_cd(
    data, rows, columns, column, output, P, s, intercept, q0, qb, w, b, ridge, starts, l1, norm, lipschitz, positive,
    tol, max_epochs,
):  # fmt: skip
    """Descend with the multinomial's H over weights (column[e], output[e]) of sparse columns.

    Carries z = X(w - w0) + (b - b0) per output and t_i = Σ_k P_ik z_ik, so the coupling of the outputs costs
    nothing extra.  Intercepts ``b`` (with gradient ``qb``) are updated once an epoch where ``intercept``.
    """
    n, n_outputs = P.shape
    n_groups = starts.size - 1
    largest = 1
    for g in range(n_groups):
        largest = max(largest, starts[g + 1] - starts[g])
    v = np.empty(largest)
    z = np.zeros((n_outputs, n))
    t = np.zeros(n)
    w0 = w.copy()
    nonzero_only = False
    curvature_b = np.zeros(n_outputs)
    for k in range(n_outputs):
        for i in range(n):
            curvature_b[k] += s[i] * P[i, k] * (1.0 - P[i, k])
    epoch = 0
    while epoch < max_epochs:
        largest_step = 0.0
        if intercept:
            for k in range(n_outputs):
                if curvature_b[k] <= 0.0:
                    continue
                slope = qb[k]
                for i in range(n):
                    slope += s[i] * P[i, k] * (z[k, i] - t[i])
                d = -slope / curvature_b[k]
                b[k] += d
                largest_step = max(largest_step, abs(slope))
                for i in range(n):
                    z[k, i] += d
                    t[i] += P[i, k] * d
        for g in range(n_groups):
            a = starts[g]
            size = starts[g + 1] - a
            bound = lipschitz[g]
            if bound <= 0.0:
                continue
            if nonzero_only:
                at_zero = True
                for j in range(a, a + size):
                    if w[j] != 0.0:
                        at_zero = False
                if at_zero:
                    continue
            for j in range(size):
                e = a + j
                o, c = np.uintp(output[e]), np.uintp(column[e])
                slope = q0[e] + ridge[e] * (w[e] - w0[e])
                for i in range(np.uintp(columns[c]), np.uintp(columns[c + ONE])):
                    r = np.uintp(rows[i])
                    slope += data[i] * s[r] * P[r, o] * (z[o, r] - t[r])
                v[j] = soft_threshold(w[e] - slope / bound, l1[e] / bound, positive)
            shrink = group_scale(v, size, norm[g] / bound)
            for j in range(size):
                e = a + j
                new = shrink * v[j]
                d = new - w[e]
                if d != 0.0:
                    o, c = np.uintp(output[e]), np.uintp(column[e])
                    w[e] = new
                    largest_step = max(largest_step, abs(d) * bound)
                    for i in range(np.uintp(columns[c]), np.uintp(columns[c + ONE])):
                        r = np.uintp(rows[i])
                        z[o, r] += d * data[i]
                        t[r] += P[r, o] * d * data[i]
        epoch += 1
        if largest_step <= tol:
            if not nonzero_only:
                break
            nonzero_only = False
            continue
        nonzero_only = True
    return epoch
