"""The space of monomials, explicitly: which there are, their values, and z as one number for each.

The feature map of Weston et al. 2003, section 3.4, has a coordinate for every ordered tuple of features, so x₀x₁ comes
twice.  Equal coordinates keep equal scales z for ever, so that one with its multiplicity stands for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb, factorial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skgraft.arrays import Array, Index
from skgraft.svm import DenseDesign, Design, IndependentMachines, SparseDesign, class_bands
from skgraft.zeronorm.kernel_rounds import Solved, Task
from skgraft.zeronorm.rounds import nonzero

ABSENT = -1  # fills the places that a monomial of lower degree leaves
ACCURACY = 1e-7  # largest violation of the optimality conditions of a machine
_BLOCK = 2**22  # numbers in memory at a time when scores are made


@dataclass(frozen=True, eq=False)
class Monomial:
    """A product of features and its weights.

    Parameters
    ----------
    name : str
        Such as ``"x0 x2^2"``.
    features : tuple of int
        The features, each as often as it is a factor, ascending: ``(0, 2, 2)``.
    weights : ndarray of shape (n_outputs,)
        Its weight in each score, for features on their original scale.
    """

    name: str
    features: tuple[int, ...]
    weights: Array

    def __repr__(self) -> str:
        return f"Monomial({self.name!r}, weights={np.array2string(self.weights, precision=4)})"


def count_monomials(n_features: int, degree: int) -> int:
    """Return the number of monomials of degree 1 to ``degree``."""
    return comb(n_features + degree, degree) - 1


def count_entries(X: Any, degree: int) -> int:
    """Return how many numbers the values of all monomials are; zeros of a sparse X stay out."""
    if not sp.issparse(X):
        return X.shape[0] * count_monomials(X.shape[1], degree)
    filled, rows = np.unique(np.diff(X.tocsr().indptr), return_counts=True)
    entries = sum(int(r) * count_monomials(int(k), degree) for k, r in zip(filled, rows, strict=True))
    return max(entries, count_monomials(X.shape[1], degree))


def list_monomials(n_features: int, degree: int) -> Index:
    """Return the features of each monomial, (n_monomials, degree), lower degrees first and then in lexical order."""
    block = np.arange(n_features)[:, None]
    blocks = [_padded(block, degree)]
    for _ in range(1, degree if n_features else 1):
        starts = np.searchsorted(block[:, 0], np.arange(n_features))
        lengths = block.shape[0] - starts
        rest = np.concatenate([block[start:] for start in starts])
        block = np.column_stack([np.repeat(np.arange(n_features), lengths), rest])
        blocks.append(_padded(block, degree))
    return np.concatenate(blocks)


def _padded(block: Index, degree: int) -> Index:
    padded = np.full((block.shape[0], degree), ABSENT, dtype=np.intp)
    padded[:, : block.shape[1]] = block
    return padded


def multiplicities(monomials: Index) -> Array:
    """Return the number of ordered tuples that are each monomial: t! over the product of its exponents' factorials."""
    present = monomials != ABSENT
    degrees = present.sum(axis=1)
    result = np.array([factorial(t) for t in range(monomials.shape[1] + 1)], dtype=np.float64)[degrees]
    run = np.ones(monomials.shape[0])
    for s in range(1, monomials.shape[1]):
        run = np.where(monomials[:, s] == monomials[:, s - 1], run + 1.0, 1.0)
        result /= np.where(present[:, s], run, 1.0)
    return result


def monomial_values(X: Any, degree: int) -> Any:
    """Return the values of all monomials, (n_monomials, n_rows), in the order of :func:`list_monomials`.

    A product of degree t is a feature times a product of degree t - 1 of this and later features, and these are the
    end of the block of that degree.  Sparse X gives a CSR matrix.
    """
    if sp.issparse(X):
        return _sparse_values(X, degree)
    columns = np.ascontiguousarray(X.T, dtype=np.float64)
    n_features, first = columns.shape[0], np.arange(columns.shape[0])
    block, blocks = columns, [columns]
    for _ in range(1, degree if n_features else 1):
        starts = np.searchsorted(first, np.arange(n_features))
        block_next = [columns[p] * block[start:] for p, start in enumerate(starts)]
        first = np.repeat(np.arange(n_features), block.shape[0] - starts)
        block = np.concatenate(block_next)
        blocks.append(block)
    return np.concatenate(blocks) if degree > 1 else columns


def _sparse_values(X: Any, degree: int) -> Any:
    columns = sp.csr_array(X.T.tocsr(), dtype=np.float64)
    n_features, first = columns.shape[0], np.arange(columns.shape[0])
    block, blocks = columns, [columns]
    for _ in range(1, degree if n_features else 1):
        starts = np.searchsorted(first, np.arange(n_features))
        products = []
        for p, start in enumerate(starts):
            product = block[int(start) :] @ sp.diags_array(columns[[p]].toarray().ravel(), format="csr")
            product.eliminate_zeros()
            products.append(product)
        first = np.repeat(np.arange(n_features), block.shape[0] - starts)
        block = sp.csr_array(sp.vstack(products, format="csr"))
        blocks.append(block)
    return sp.csr_array(sp.vstack(blocks, format="csr"))


def monomial_names(monomials: Index, features: Sequence[str]) -> list[str]:
    """Return names such as ``x0 x2^2``."""
    names = []
    for row in monomials:
        used, exponents = np.unique(row[row != ABSENT], return_counts=True)
        factors = [features[j] if e == 1 else f"{features[j]}^{e}" for j, e in zip(used, exponents, strict=True)]
        names.append(" ".join(factors))
    return names


@dataclass(frozen=True, eq=False)
class MonomialSpace:
    """The space of monomials while the rounds go on; monomials of size zero are left out for good.

    Attributes
    ----------
    monomials : ndarray of int of shape (n_alive, degree)
        The monomials left.
    design : Design
        Their values in the training rows.
    multiplicity : ndarray of shape (n_alive,)
        How often the feature map holds each.
    z2 : ndarray of shape (n_alive,)
        The squares of their scales z.
    weights : ndarray of shape (n_outputs, n_alive)
        Weights of the last machine, for one of the equal coordinates.
    n_features : int
        Number of input features.
    """

    monomials: Index
    design: Design
    multiplicity: Array
    z2: Array
    weights: Array
    n_features: int

    @staticmethod
    def of(X: Any, degree: int) -> MonomialSpace:
        """Return the space of all monomials of these rows, z = (1, ..., 1)."""
        monomials = list_monomials(X.shape[1], degree)
        values, every = monomial_values(X, degree), np.arange(monomials.shape[0])
        design = SparseDesign(sp.csr_array(values.T), every) if sp.issparse(values) else DenseDesign(values, every)
        zero = np.zeros((1, every.size))
        return MonomialSpace(monomials, design, multiplicities(monomials), np.ones(every.size), zero, X.shape[1])

    @property
    def squared_scale(self) -> Array:
        """z² times the multiplicity: what a monomial counts for in a Gram matrix."""
        return self.multiplicity * self.z2

    def gram(self) -> Array:
        """Return (z*φ(x_i))·(z*φ(x_j)) for the training rows."""
        return self.design.gram(self.squared_scale)

    def solver(self, task: Task) -> MonomialSolver:
        """Return what solves the machines."""
        return MonomialSolver(task)

    def rescaled(self, weights: Array, *, lengthen: bool = False) -> tuple[MonomialSpace, float]:
        """Take the weights v_k of the machines, and let z*z be Σ_k v_k*v_k from now on.

        Returns the space and the relative change of the weights.  If asked to, lengthens a z shorter than one to one.
        """
        size = np.sqrt((weights**2).sum(axis=0))
        alive = nonzero(size)
        before = self.weights if self.weights.shape == weights.shape else np.zeros_like(weights)
        whole = self._length(weights)
        change = self._length(weights - before) / whole if whole > 0.0 else 0.0
        size = size / whole if lengthen and 0.0 < whole < 1.0 else size
        if alive.all():
            return replace(self, z2=size**2, weights=weights), change
        smaller = replace(
            self,
            monomials=self.monomials[alive],
            design=self.design.keep(alive),
            multiplicity=self.multiplicity[alive],
            z2=size[alive] ** 2,
            weights=weights[:, alive],
        )
        return smaller, change

    def _length(self, weights: Array) -> float:
        return float(np.sqrt((self.multiplicity * weights**2).sum()))

    def feature_masses(self) -> Array:
        """Return for each feature the squared weights of all coordinates that it is a factor of, added up."""
        masses = np.zeros(self.n_features)
        mass = self.multiplicity * (self.weights**2).sum(axis=0)
        for s in range(self.monomials.shape[1]):
            places = self.monomials[:, s]
            # a factor that repeats is counted at its first place
            counts = (places != ABSENT) & ((places != self.monomials[:, s - 1]) if s else True)
            np.add.at(masses, places[counts], mass[counts])
        return masses

    def support(self) -> NDArray[np.bool_]:
        """Say which features some monomial left has as a factor."""
        chosen = np.zeros(self.n_features, dtype=bool)
        chosen[np.unique(self.monomials[self.monomials != ABSENT])] = True
        return chosen

    def polynomial(self) -> Polynomial:
        """Return the weights of the last machine as polynomials."""
        return Polynomial(self.monomials, self.weights * self.multiplicity)


class MonomialSolver:
    """Machines in the dual or in the primal, whichever has less to do."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._machines = IndependentMachines([class_bands(y, ridge=task.ridge) for y in task.signs])
        self._alive: Index | None = None

    def solve(self, space: MonomialSpace) -> Solved:
        """Solve the machines at the present scales."""
        design, scale = space.design, space.squared_scale
        if self._alive is not None and self._alive.size != design.n_features:
            self._machines.keep(np.isin(self._alive, design.features, assume_unique=True))
        self._alive = design.features
        solution = self._machines.solve(design, scale, ACCURACY)
        # These weights are for all equal coordinates together.
        weights = solution.weights / space.multiplicity
        scores = np.asarray(design.scores(solution.weights.T)).T + solution.intercept[:, None]
        criterion = float((solution.weights**2 / scale).sum()) + 2.0 * solution.loss
        return Solved(weights, solution.intercept, solution.violation, criterion, self._task.separated(scores))


@dataclass(frozen=True, eq=False)
class Polynomial:
    """Scores Σ_m coefficient_km Π_{j in m} x_j."""

    monomials: Index
    coefficients: Array

    def scores(self, X: Any) -> Array:
        """Return the scores of rows, (n_rows, n_outputs); only the columns in use are looked at."""
        used, inverse = np.unique(self.monomials, return_inverse=True)
        places: Index = inverse.reshape(self.monomials.shape)
        first = int(ABSENT in used)  # the column of ones that stands for no factor
        columns: Any = X[:, used[first:]]
        result = np.empty((X.shape[0], self.coefficients.shape[0]))
        step = max(1, _BLOCK // max(1, self.monomials.shape[0]))
        for start in range(0, X.shape[0], step):
            rows: Any = columns[start : start + step]
            dense = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
            if first:
                dense = np.concatenate([np.ones((dense.shape[0], 1)), dense], axis=1)
            products = np.ones((dense.shape[0], places.shape[0]))
            for factor in places.T:
                products *= dense[:, factor]
            result[start : start + step] = products @ self.coefficients.T
        return result
