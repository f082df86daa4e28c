"""Compiled loops of the dual machines: the pivoting of :mod:`skgraft.svm.dual`, over plain arrays.

States are 0 inside the band, ±1 at its edge, ±2 at the upper limit.
"""

import numpy as np

from skgraft.compiled import njit

CYCLED = -1  # more pivots than allowed
SINGULAR = -2  # the matrix of the free rows is not positive definite


@njit(cache=True, nogil=True, fastmath=True)
def dot(a, b, n):
    """Return the product of the first n numbers."""
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@njit(cache=True, nogil=True)
def cholesky(A, n):
    """Overwrite the lower triangle of the leading n x n block; returns whether it is positive definite."""
    for i in range(n):
        row = A[i]
        for j in range(i):
            row[j] = (row[j] - dot(row, A[j], j)) / A[j, j]
        left = row[i] - dot(row, row, i)
        if not left > 1e-15 * row[i]:
            return False
        row[i] = np.sqrt(left)
    return True


@njit(cache=True, nogil=True)
def solve_factored(L, n, first, second):
    """Solve LL'x = r for two right-hand sides, in place."""
    for i in range(n):
        first[i] = (first[i] - dot(L[i], first, i)) / L[i, i]
        second[i] = (second[i] - dot(L[i], second, i)) / L[i, i]
    for i in range(n - 1, -1, -1):
        a = first[i] / L[i, i]
        c = second[i] / L[i, i]
        first[i] = a
        second[i] = c
        row = L[i]
        for k in range(i):
            first[k] -= row[k] * a
            second[k] -= row[k] * c


@njit(cache=True, nogil=True)
def scores(K, beta, active, n_active, out):
    """Write K @ beta, beta being zero outside the active rows."""
    out[:] = 0.0
    for at in range(n_active):
        j = active[at]
        value = beta[j]
        row = K[j]
        for i in range(out.shape[0]):
            out[i] += row[i] * value


@njit(cache=True, nogil=True)
def turned(state, beta, f, lower, higher, upper, pinned, tol, rounding):
    """Return the state that a row turns to; the same if its condition holds."""
    new = state
    if abs(state) == 1:
        if not pinned and state * beta < -rounding:
            new = 0
        elif abs(beta) > upper * (1.0 + 1e-12):
            new = 2 if beta > 0.0 else -2
    elif state == 0:
        if f < lower - tol:
            new = 1
        elif f > higher + tol:
            new = -1
    elif state == 2:
        new = 1 if f > lower + tol else 2
    else:
        new = -1 if f < higher - tol else -2
    return new


@njit(cache=True, nogil=True)
def free_someone(state, f, lower, higher):
    """Free the row that wants most to rise and the one that wants most to fall, where no row is free."""
    m = state.shape[0]
    up, down, most_up, most_down = -1, -1, -np.inf, -np.inf
    for i in range(m):
        if state[i] == 0 or state[i] == -2:
            wish = (lower[i] if state[i] == 0 else higher[i]) - f[i]
            if wish > most_up and np.isfinite(wish):
                most_up, up = wish, i
        if state[i] == 0 or state[i] == 2:
            wish = f[i] - (higher[i] if state[i] == 0 else lower[i])
            if wish > most_down and np.isfinite(wish):
                most_down, down = wish, i
    new_up = -1 if up >= 0 and state[up] == -2 else 1
    new_down = 1 if down >= 0 and state[down] == 2 else -1
    if up >= 0:
        state[up] = new_up
    if down >= 0:
        state[down] = new_down


@njit(cache=True, nogil=True)
def pivot(K, lower, higher, upper, ridge, pinned, state, tol, limit, block_swaps, A, beta, f):
    """Pivot until every row's condition holds; writes state, beta and scores, returns intercept and pivots.

    A is room for a matrix of the shape of K.  The number of pivots is CYCLED or SINGULAR where it did not get there.
    """
    m = K.shape[0]
    free = np.empty(m, np.int64)
    active = np.empty(m, np.int64)
    first = np.empty(m)
    second = np.empty(m)
    fresh = np.empty(m, np.int8)
    best, left = m + 1, block_swaps
    b = 0.0
    f[:] = 0.0
    for count in range(1, limit + 1):
        n_free, n_limit, at_limit = 0, 0, 0.0
        for i in range(m):
            if abs(state[i]) == 1:
                n_free += 1
        if n_free == 0:
            free_someone(state, f, lower, higher)
        n_free = 0
        for i in range(m):
            beta[i] = 0.0
            if abs(state[i]) == 1:
                free[n_free] = i
                n_free += 1
            elif state[i] != 0:
                beta[i] = upper[i] if state[i] > 0 else -upper[i]
                at_limit += beta[i]
                active[n_limit] = i
                n_limit += 1
        if n_limit:
            scores(K, beta, active, n_limit, f)
        for a in range(n_free):
            i = free[a]
            first[a] = lower[i] if state[i] > 0 else higher[i]
            if n_limit:
                first[a] -= f[i]
            second[a] = 1.0
            row, source = A[a], K[i]
            for c in range(a + 1):
                row[c] = source[free[c]]
            row[a] += ridge[i]
        if not cholesky(A, n_free):
            return b, SINGULAR
        solve_factored(A, n_free, first, second)
        total, ones = at_limit, 0.0
        for a in range(n_free):
            total += first[a]
            ones += second[a]
        b = total / ones
        largest = 0.0
        for a in range(n_free):
            beta[free[a]] = first[a] - b * second[a]
            active[n_limit + a] = free[a]
        scores(K, beta, active, n_limit + n_free, f)
        for i in range(m):
            f[i] += b + ridge[i] * beta[i]
            largest = max(largest, abs(beta[i]))
        failing, last = 0, -1
        for i in range(m):
            fresh[i] = turned(state[i], beta[i], f[i], lower[i], higher[i], upper[i], pinned[i], tol, 1e-12 * largest)
            if fresh[i] != state[i]:
                failing += 1
                last = i
        if failing == 0:
            for i in range(m):
                if beta[i] * state[i] < 0.0 and not pinned[i]:
                    beta[i] = 0.0
            return b, count
        every = True
        if failing < best:
            best, left = failing, block_swaps
        elif left > 0:
            left -= 1
        else:
            every = False
        if every:
            state[:] = fresh
        else:
            state[last] = fresh[last]
    return b, CYCLED


DONE = 0
STUCK = 1  # pivoting did not get there: the caller solves this step and calls again


@njit(cache=True, nogil=True)
def downdate(L, n, x):
    """Turn the factor of A into that of A - xx', in place; False where that is not positive definite."""
    for i in range(n):
        d = L[i, i]
        left = d * d - x[i] * x[i]
        if not left > 1e-12 * d * d:
            return False
        new = np.sqrt(left)
        c, s = new / d, x[i] / d
        L[i, i] = new
        for k in range(i + 1, n):
            L[k, i] = (L[k, i] - s * x[k]) / c
            x[k] = c * x[k] - s * L[k, i]
    return True


@njit(cache=True, nogil=True)
def same_partition(K, lower, higher, upper, ridge, pinned, state, tol, L, free, active, first, second, beta, f):
    """Solve with the state and the factor of the step before; returns the intercept and whether all conditions hold."""
    m = K.shape[0]
    n_free, n_limit, at_limit = 0, 0, 0.0
    for i in range(m):
        beta[i] = 0.0
        if abs(state[i]) == 1:
            free[n_free] = i
            n_free += 1
        elif state[i] != 0:
            beta[i] = upper[i] if state[i] > 0 else -upper[i]
            at_limit += beta[i]
            active[n_limit] = i
            n_limit += 1
    if n_free == 0:
        return 0.0, False
    if n_limit:
        scores(K, beta, active, n_limit, f)
    for a in range(n_free):
        i = free[a]
        first[a] = lower[i] if state[i] > 0 else higher[i]
        if n_limit:
            first[a] -= f[i]
        second[a] = 1.0
    solve_factored(L, n_free, first, second)
    total, ones = at_limit, 0.0
    for a in range(n_free):
        total += first[a]
        ones += second[a]
    b = total / ones
    for a in range(n_free):
        beta[free[a]] = first[a] - b * second[a]
        active[n_limit + a] = free[a]
    scores(K, beta, active, n_limit + n_free, f)
    largest = 0.0
    for i in range(m):
        f[i] += b + ridge[i] * beta[i]
        largest = max(largest, abs(beta[i]))
    for i in range(m):
        new = turned(state[i], beta[i], f[i], lower[i], higher[i], upper[i], pinned[i], tol, 1e-12 * largest)
        if new != state[i]:
            return b, False
    # the factor was updated many times: it must still solve the system
    for a in range(n_free):
        i = free[a]
        edge = lower[i] if state[i] > 0 else higher[i]
        if abs(f[i] - edge) > tol:
            return b, False
    return b, True


@njit(cache=True, nogil=True)
def downdated(L, state, x, room):
    """Take a feature out of the factor of the free rows; returns whether that worked."""
    n_free = 0
    for i in range(state.shape[0]):
        if abs(state[i]) == 1:
            room[n_free] = x[i]
            n_free += 1
    return downdate(L, n_free, room)


@njit(cache=True, nogil=True)
def smallest(rows, norms, k, B, reference, at_reference, candidates):
    """Return the feature with the smallest Σ_q (x·β_q)², computing only those that can be it.

    With the values at earlier dual variables B' as reference, |value - value'| <= |x| |B - B'|.
    """
    n_classes, m = B.shape
    moved = 0.0
    for q in range(n_classes):
        for i in range(m):
            moved += (B[q, i] - at_reference[q, i]) ** 2
    moved = np.sqrt(moved) * (1.0 + 1e-9)
    best_bound = np.inf
    for t in range(k):
        best_bound = min(best_bound, reference[t] + norms[t] * moved)
    count = 0
    for t in range(k):
        if reference[t] - norms[t] * moved <= best_bound:
            candidates[count] = t
            count += 1
    every = 4 * count >= k
    if every:
        count = k
        at_reference[:] = B
    chosen, least = -1, np.inf
    for c in range(count):
        t = c if every else candidates[c]
        total = 0.0
        for q in range(n_classes):
            total += dot(rows[t], B[q], m) ** 2
        size = np.sqrt(total)
        if every:
            reference[t] = size
        if size < least:
            least, chosen = size, t
    return chosen


@njit(cache=True, nogil=True)
def eliminate(
    rows, norms, alive, k, last, K, lower, higher, upper, ridge, pinned, state, factors, valid, B, before, solved,
    reference, at_reference, order, tol, pivots, block_swaps, refresh,
):  # fmt: skip
    """Remove features one by one until ``last`` are left or K is to be refreshed.

    Rows, norms, alive and reference have the k features left first; removed ones are written to ``order``.  Returns k
    and why it stopped.  ``solved`` says that the caller has just put the dual variables of this step into B;
    ``before`` has those of the step before, a feasible start where pivoting is stuck.
    """
    n_classes, m = B.shape
    free = np.empty(m, np.int64)
    active = np.empty(m, np.int64)
    first, second, f, room = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    candidates = np.empty(k, np.int64)
    while k > last:
        if not solved:
            trace = 0.0
            for i in range(m):
                trace += K[i, i]
            if trace < refresh:
                return k, DONE
            for q in range(n_classes):
                good = False
                before[q, :] = B[q]
                if valid[q]:
                    _, good = same_partition(
                        K, lower[q], higher[q], upper, ridge, pinned, state[q], tol, factors[q], free, active,
                        first, second, B[q], f,
                    )  # fmt: skip
                if not good:
                    _, count = pivot(
                        K, lower[q], higher[q], upper, ridge, pinned, state[q], tol, pivots, block_swaps,
                        factors[q], B[q], f,
                    )  # fmt: skip
                    valid[q] = count > 0
                    if count < 0:
                        return k, STUCK
        solved = False
        j = smallest(rows, norms, k, B, reference, at_reference, candidates)
        x = rows[j].copy()
        for i in range(m):
            for c in range(m):
                K[i, c] -= x[i] * x[c]
        for q in range(n_classes):
            if valid[q]:
                valid[q] = downdated(factors[q], state[q], x, room)
        order[k - 1] = alive[j]
        k -= 1
        alive[j], norms[j], reference[j] = alive[k], norms[k], reference[k]
        rows[j] = rows[k]
    return k, DONE
