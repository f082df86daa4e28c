"""Compiled loops of the dual machines: the pivoting of :mod:`skgraft.svm.dual`, over plain arrays.

States are 0 inside the band, ±1 at its edge, ±2 at the upper limit.
"""

import numpy as np
from numba import njit

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
