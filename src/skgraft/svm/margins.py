"""The constraints of machines whose slack is paid for: two classes, many, or numbers in a tube."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgraft.arrays import Array, Index


@dataclass(frozen=True, eq=False)
class Margins:
    """Constraints f_plus(x_row) - f_minus(x_row) >= need - slack on the scores f = Wx + b.

    Attributes
    ----------
    row : ndarray of int of shape (n_constraints,)
        The sample of each constraint.
    plus, minus : ndarray of int of shape (n_constraints,)
        The outputs whose scores count for and against; -1 stands for none.
    need : ndarray of shape (n_constraints,)
        How large the difference should be.
    n_rows, n_outputs : int
        Numbers of samples and of outputs.
    """

    row: Index
    plus: Index
    minus: Index
    need: Array
    n_rows: int
    n_outputs: int

    @property
    def size(self) -> int:
        """Number of constraints."""
        return self.row.size

    @property
    def coupled(self) -> bool:
        """Whether a constraint compares two outputs; else each output is a problem of its own."""
        return bool(((self.plus >= 0) & (self.minus >= 0)).any())

    def of(self, scores: Array) -> Array:
        """Return the margins of scores (n_rows, n_outputs)."""
        padded = np.concatenate([scores, np.zeros((self.n_rows, 1))], axis=1)  # -1 is the last column
        return np.asarray(padded[self.row, self.plus] - padded[self.row, self.minus])

    def slack(self, scores: Array) -> Array:
        """Return how much each constraint falls short."""
        return np.maximum(self.need - self.of(scores), 0.0)

    def spread(self, a: Array) -> Array:
        """Return the multipliers of the constraints added up by sample and output, (n_rows, n_outputs)."""
        width = self.n_outputs + 1
        shape = self.n_rows * width
        total = np.bincount(self.row * width + self.plus % width, a, shape)
        total -= np.bincount(self.row * width + self.minus % width, a, shape)
        return np.ascontiguousarray(total.reshape(self.n_rows, width)[:, : self.n_outputs])

    def touching(self, output: int) -> tuple[Index, Array]:
        """Return the constraints that an output's score is in, and its sign there."""
        sign = (self.plus == output).astype(float) - (self.minus == output)
        which = np.flatnonzero(sign)
        return which, sign[which]

    def balance(self, outputs: Index) -> Any:
        """Return what each output's intercept adds to every constraint, as CSR matrix (n_outputs, n_constraints)."""
        parts = [self.touching(k) for k in outputs.tolist()]
        ends = np.cumsum([0, *(which.size for which, _ in parts)])
        index, sign = (np.concatenate(part) for part in zip(*parts, strict=True))
        return sparse.csr_array((sign, index, ends), shape=(outputs.size, self.size))

    def take(self, which: Index) -> Margins:
        """Return some of the constraints."""
        return Margins(
            self.row[which], self.plus[which], self.minus[which], self.need[which], self.n_rows, self.n_outputs
        )


def two_classes(sign: Array) -> Margins:
    """Return y_i f(x_i) >= 1 for signs y of -1 and 1."""
    return one_against_rest((sign > 0.0).astype(np.intp)[:, None] == 1)


def one_against_rest(member: NDArray[np.bool_]) -> Margins:
    """Return y_ik f_k(x_i) >= 1, y_ik being 1 for members (n_rows, n_outputs) of class k and -1 for the others."""
    n_rows, n_outputs = member.shape
    row = np.tile(np.arange(n_rows), n_outputs)
    output = np.repeat(np.arange(n_outputs), n_rows)
    inside = member.T.ravel()
    plus, minus = np.where(inside, output, -1), np.where(inside, -1, output)
    return Margins(row, plus, minus, np.ones(row.size), n_rows, n_outputs)


def all_pairs(codes: Index, n_classes: int) -> Margins:
    """Return f_c(i)(x_i) - f_k(x_i) >= 1 for every other class k (Weston and Watkins 1999)."""
    others = np.tile(np.arange(n_classes), (codes.size, 1))
    others = others[others != codes[:, None]].reshape(codes.size, n_classes - 1)
    row = np.repeat(np.arange(codes.size), n_classes - 1)
    return Margins(row, codes[row], others.ravel(), np.ones(row.size), codes.size, n_classes)


def tube(y: Array, epsilon: float) -> Margins:
    """Return |f(x_i) - y_i| <= epsilon, as two constraints a sample."""
    n = y.size
    none, output = np.full(n, -1, np.intp), np.zeros(n, np.intp)
    row = np.tile(np.arange(n), 2)
    need = np.concatenate([y - epsilon, -y - epsilon])
    return Margins(row, np.concatenate([output, none]), np.concatenate([none, output]), need, n, 1)
