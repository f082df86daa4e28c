"""The space of monomials by kernels alone: weights that are sums of mapped points.

With φ(x)·φ(y) = k(x, y) = Σ_t (x·y)^t, t = 1..degree, products of mapped points are mapped products of points,
φ(x)*φ(y) = φ(x*y) (Weston et al. 2003, eq. 6).  So if the weights of the last machines are v_k = Σ_i c_ki φ(u_i),
the squared scales are a sum of mapped points too,

    z*z = Σ_k v_k*v_k = Σ_{i<=l} d_il φ(u_i*u_l),   d_il = (2 - [i=l]) Σ_k c_ki c_kl,

and every product that a machine needs is a sum of kernels:

    (z*φ(a))·(z*φ(b)) = Σ_{i<=l} d_il k(u_i*u_l, a*b).

The new weights v = z*z*Σ_j β_j φ(x_j) need not be in the span of the φ(u_i).  Their projection Σ_i c_i φ(u_i) has the
same product with every point of the span, φ(u_i)·v = t_i, and so solves K_uu c = t.  All training rows are in the
span: hence the projection leaves their scores as they are, and changes those of other rows only where the span does
not hold v.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf
from sklearn.utils import gen_batches

from skgraft.arrays import Array, Index
from skgraft.svm import State, solve_dual
from skgraft.zeronorm.kernel_rounds import Solved, Task

#: Directions of the span shorter than this part of the longest are rounding and left out of the projection.
RANK = 1e-12
#: A feature counts as selected when its coordinates hold more than this part of the most that any feature's do.
#: Cancellation between the points of the span hides anything smaller.
MASS = 1e-6
_BLOCK = 2**22  # numbers in memory at a time
_SIDE = 2**11  # products of points in a block


def polynomial_kernel(products: Array, degree: int, lowest: int = 1) -> Array:
    """Return Σ_t p^t for t = lowest..degree from the products p = x·y, by Horner's rule."""
    result = products.copy()
    for t in range(degree, 1, -1):
        if t > lowest:
            result += 1.0
        result *= products
    return result


@dataclass(frozen=True, eq=False)
class SpanSpace:
    """The space of monomials while the rounds go on, as sums of mapped points.

    Attributes
    ----------
    rows, extra : ndarray or CSR of shape (n_rows or n_extra, n_features)
        Training rows, and other points of the basis.
    basis : ndarray of int
        The points u that the span needs, as places in rows followed by extra; the others depend on them.
    degree : int
        Largest degree of a monomial.
    kernel : ndarray of shape (n_basis, n_basis)
        k(u_i, u_l).
    lengths, directions : ndarray
        Its eigenvalues and eigenvectors, those of rounding left out.
    coefficients : ndarray of shape (n_outputs, n_basis) or None
        The weights v_k of the last machines; None before the first, where z is the vector of ones, φ(1).
    stretch : float
        Factor of z*z = Σ_k v_k*v_k.
    """

    rows: Any
    extra: Any
    basis: Index
    degree: int
    kernel: Array
    lengths: Array
    directions: Array
    coefficients: Array | None = None
    stretch: float = 1.0

    @staticmethod
    def of(X: Any, degree: int, extra: Array | None = None) -> SpanSpace:
        """Return the span of the training rows and of some other points."""
        rows = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
        others = np.empty((0, X.shape[1])) if extra is None else extra
        others = sp.csr_array(others) if sp.issparse(rows) else others
        points = _stacked(rows, others)
        kernel = polynomial_kernel(_inner(points, points), degree)
        basis = independent(kernel)
        n_rows = X.shape[0]
        from_rows, from_others = basis[basis < n_rows], basis[basis >= n_rows]
        kept = np.concatenate([from_rows, n_rows + np.arange(from_others.size)])
        chosen = kernel[np.ix_(basis, basis)]
        lengths, directions = np.linalg.eigh(chosen)
        real = lengths > RANK * lengths[-1]
        return SpanSpace(rows, others[from_others - n_rows], kept, degree, chosen, lengths[real], directions[:, real])

    @cached_property
    def points(self) -> Any:
        """The points u of the basis."""
        return _stacked(self.rows, self.extra)[self.basis]

    @cached_property
    def products(self) -> Array:
        """Products (z*φ(p))·(z*φ(x)) of all points p, rows first, and training rows x."""
        every, n_rows = _stacked(self.rows, self.extra), self.rows.shape[0]
        if self.coefficients is None:
            return polynomial_kernel(_inner(every, self.rows), self.degree)
        a, b = np.triu_indices(n_rows)
        others = n_rows + np.arange(self.extra.shape[0])
        a = np.concatenate([a, np.repeat(others, n_rows)])
        b = np.concatenate([b, np.tile(np.arange(n_rows), others.size)])
        result = np.empty((every.shape[0], n_rows))
        result[a, b] = values = self._squared_scales_times(every, a, b)
        within = a < n_rows
        result[b[within], a[within]] = values[within]
        return result

    def _squared_scales_times(self, every: Any, a: Index, b: Index) -> Array:
        """Return (z*z)·φ(p_a*p_b) for pairs of points."""
        n_basis, n_features = self.points.shape
        # Up to degree two the sums over pairs of points are a vector and a matrix, which is less work unless there are
        # very many features.
        known = 0 if 2 * n_features > n_basis**2 else min(self.degree, 2)
        values = np.zeros(a.size)
        step = max(1, min(_SIDE, _BLOCK // n_features))
        if known:
            values += self._low_degrees(every, a, b, known, step)
        if known < self.degree:
            values += self._high_degrees(every, a, b, known + 1, step)
        return self.stretch * values

    def _low_degrees(self, every: Any, a: Index, b: Index, degree: int, step: int) -> Array:
        """Return the part of degree one and two, from Σ_i c_i u_i and Σ_i c_i u_i u_i', both squared."""
        assert self.coefficients is not None  # noqa: S101 -- asked for after the first round only
        first = sum(_dense(self.points.T @ c) ** 2 for c in self.coefficients)
        second = sum(_dense(self.points.T @ _rows_times(self.points, c)) ** 2 for c in self.coefficients)
        values = np.empty(a.size)
        for pairs in gen_batches(a.size, step):
            products = _times(every, a[pairs], b[pairs])
            values[pairs] = products @ first
            if degree > 1:
                image = products @ second
                values[pairs] += np.asarray((products * image).sum(axis=1)).ravel()
        return values

    def _high_degrees(self, every: Any, a: Index, b: Index, lowest: int, step: int) -> Array:
        """Return the part of degree ``lowest`` and above, by kernels."""
        c = self.coefficients
        assert c is not None  # noqa: S101 -- asked for after the first round only
        i, l = np.triu_indices(self.basis.size)  # noqa: E741 -- the indices of the formula above
        d = (c.T @ c)[i, l] * np.where(i == l, 1.0, 2.0)
        values = np.zeros(a.size)
        for squares in gen_batches(d.size, step):
            left = _times(self.points, i[squares], l[squares])
            for pairs in gen_batches(a.size, step):
                inner = _inner(_times(every, a[pairs], b[pairs]), left)
                values[pairs] += polynomial_kernel(inner, self.degree, lowest) @ d[squares]
        return values

    def gram(self) -> Array:
        """Return (z*φ(x_i))·(z*φ(x_j)) for the training rows."""
        return self.products[: self.rows.shape[0]]

    def solver(self, task: Task) -> SpanSolver:
        """Return what solves the machines."""
        return SpanSolver(task)

    def project(self, beta: Array) -> Array:
        """Return the coefficients of the projection of v_k = z*z*Σ_i β_ki φ(x_i) on the span."""
        targets = self.products[self.basis] @ beta.T
        return np.asarray((self.directions @ ((self.directions.T @ targets) / self.lengths[:, None])).T)

    def rescaled(self, weights: Array, *, lengthen: bool = False) -> tuple[SpanSpace, float]:
        """Take the coefficients of the machines' weights v_k, and let z*z be Σ_k v_k*v_k from now on.

        Returns the space and the relative change of the weights.  If asked to, lengthens a z shorter than one to one.
        """
        c = weights
        before = np.zeros_like(c) if self.coefficients is None else self.coefficients
        whole = self._length(c)
        change = self._length(c - before) / whole if whole > 0.0 else 0.0
        stretch = 1.0 / whole**2 if lengthen and 0.0 < whole < 1.0 else 1.0
        return replace(self, coefficients=c, stretch=stretch), change

    def _length(self, c: Array) -> float:
        return float(np.sqrt(max((c * (c @ self.kernel)).sum(), 0.0)))

    def feature_masses(self) -> Array:
        """Return for each feature the squared weights of all coordinates that it is a factor of, added up.

        These are ||v||² without the part that is left when the feature is taken out of all points.
        """
        n_features = self.rows.shape[1]
        if self.coefficients is None:
            return np.zeros(n_features)
        weight = self.coefficients.T @ self.coefficients
        inner = _inner(self.points, self.points)
        whole = float((weight * self.kernel).sum())
        masses = np.empty(n_features)
        for j in range(n_features):
            column = _dense(self.points[:, [j]]).ravel()
            without = polynomial_kernel(inner - np.outer(column, column), self.degree)
            masses[j] = whole - float((weight * without).sum())
        return np.maximum(masses, 0.0)

    def support(self) -> NDArray[np.bool_]:
        """Say which features some coordinate of the weights has as a factor, as far as rounding lets it be seen."""
        masses = self.feature_masses()
        return masses > MASS * masses.max(initial=0.0)

    def polynomial(self) -> Expansion:
        """Return the weights of the last machine as a sum of kernels."""
        c = self.coefficients if self.coefficients is not None else np.zeros((1, self.basis.size))
        return Expansion(self.points, c, self.degree)


class SpanSolver:
    """Machines in the dual, which need the Gram matrix alone."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._states: list[State | None] = [None] * len(task.signs)

    def solve(self, space: SpanSpace) -> Solved:
        """Solve the machines at the present scales."""
        signs, ridge = self._task.signs, self._task.ridge
        K = space.gram()
        beta, intercept, violation = np.empty(signs.shape), np.empty(len(signs)), 0.0
        for k, y in enumerate(signs):
            solution = solve_dual(K, y, ridge=ridge, state=self._states[k])
            beta[k], intercept[k], self._states[k] = solution.beta, solution.intercept, solution.state
            violation = max(violation, solution.violation)
        images = beta @ K
        criterion = float((beta * images).sum() + (ridge * beta**2).sum())
        separated = self._task.separated(images + intercept[:, None])
        return Solved(space.project(beta), intercept, violation, criterion, separated)


def independent(kernel: Array) -> Index:
    """Return points whose span is that of all, ascending: the pivots of Cholesky's method, the longest rest first."""
    _, pivots, rank, _ = dpstrf(kernel, tol=RANK * float(np.diag(kernel).max(initial=0.0)), lower=1)
    return np.sort(pivots[: max(rank, 1)] - 1).astype(np.intp)


@dataclass(frozen=True, eq=False)
class Expansion:
    """Scores Σ_i c_ki k(u_i, x)."""

    points: Any
    coefficients: Array
    degree: int

    def scores(self, X: Any) -> Array:
        """Return the scores of rows, (n_rows, n_outputs)."""
        result = np.empty((X.shape[0], self.coefficients.shape[0]))
        step = max(1, _BLOCK // max(1, self.points.shape[0]))
        rows = X.tocsr() if sp.issparse(X) else X
        for start in range(0, X.shape[0], step):
            inner = _inner(rows[start : start + step], self.points)
            result[start : start + step] = polynomial_kernel(inner, self.degree) @ self.coefficients.T
        return result


def _inner(A: Any, B: Any) -> Array:
    """Return the products of all rows, dense."""
    return _dense(A @ B.T)


def _times(A: Any, i: Index, j: Index) -> Any:
    """Return the products a_i * a_j of rows."""
    return sp.csr_array(A[i].multiply(A[j])) if sp.issparse(A) else A[i] * A[j]


def _rows_times(A: Any, c: Array) -> Any:
    """Return the rows c_i a_i."""
    return sp.diags_array(c, format="csr") @ A if sp.issparse(A) else A * c[:, None]


def _stacked(A: Any, B: Any) -> Any:
    if not B.shape[0]:
        return A
    return sp.csr_array(sp.vstack([A, B])) if sp.issparse(A) else np.vstack([A, B])


def _dense(A: Any) -> Array:
    return np.asarray(A.toarray() if sp.issparse(A) else A, dtype=np.float64)
