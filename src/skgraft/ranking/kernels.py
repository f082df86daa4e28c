"""Kernels as functions of inner products, which is how scales and single features enter them.

With features multiplied by scales σ, S_il = Σ_j σ_j² x_ij x_lj.  A kernel gives K = k(S), and turns derivatives with
respect to K into derivatives with respect to S: ``pull_back`` returns B with Σ M_il dK_il = Σ B_il dS_il.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from skgraft.arrays import Array


class Kernel(Protocol):
    """What rankings ask of a kernel that is not linear."""

    def values(self, S: Array, left: Array, right: Array) -> Array:
        """Return k of inner products S, ``left`` and ``right`` being the squared lengths of the two sets of rows."""

    def pull_back(self, M: Array, S: Array, K: Array) -> Array:
        """Return B with Σ M dK = Σ B dS for symmetric M, S and K."""


@dataclass(frozen=True)
class Polynomial:
    """(γ x·x' + c)^d."""

    degree: int
    gamma: float
    coef0: float

    def values(self, S: Array, left: Array, right: Array) -> Array:  # noqa: ARG002 -- lengths do not matter
        """Return the kernel."""
        return np.asarray((self.gamma * S + self.coef0) ** self.degree)

    def pull_back(self, M: Array, S: Array, K: Array) -> Array:  # noqa: ARG002
        """Return M times d γ (γS + c)^(d-1)."""
        return np.asarray(M * (self.degree * self.gamma * (self.gamma * S + self.coef0) ** (self.degree - 1)))


@dataclass(frozen=True)
class Gaussian:
    """exp(-γ |x - x'|²)."""

    gamma: float

    def values(self, S: Array, left: Array, right: Array) -> Array:
        """Return the kernel."""
        return np.asarray(np.exp(-self.gamma * np.maximum(left[:, None] + right - 2.0 * S, 0.0)))

    def pull_back(self, M: Array, S: Array, K: Array) -> Array:  # noqa: ARG002
        """Return 2(A - diag(A1)) for A = γ M∘K, since dK_il = γ K_il (2 dS_il - dS_ii - dS_ll)."""
        A = self.gamma * M * K
        A[np.diag_indices_from(A)] -= A.sum(axis=1)
        return np.asarray(2.0 * A)


def gram(kernel: Kernel, S: Array) -> Array:
    """Return the kernel of rows with themselves."""
    squares = np.diag(S)
    return kernel.values(S, squares, squares)


def make_kernel(name: str, degree: int, gamma: float | str, coef0: float, total_square: float) -> Kernel | None:
    """Return a kernel by its name in scikit-learn, None for the linear one.

    ``gamma="scale"`` is one over the mean squared length of the rows, ``total_square``: 1/n_features if standardised.
    """
    if name == "linear":
        return None
    width = 1.0 / (total_square or 1.0) if gamma == "scale" else float(gamma)
    return Gaussian(width) if name == "rbf" else Polynomial(degree, width, coef0)
