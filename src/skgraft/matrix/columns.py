"""The one interface through which every solver sees X."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgraft.arrays import Array
from skgraft.matrix.dense import DenseColumns
from skgraft.matrix.sparse import SparseColumns


class Columns(Protocol):
    """Standardised columns (x - centre)/scale of a matrix that is never copied as a whole.

    ``size`` is the number of stored cells, by which solvers choose between compiled and plain code; ``length`` is
    the weighted root mean square of every standardised column; ``finite`` says that no number can be NaN or infinite,
    otherwise some may be.
    """

    n_rows: int
    n_columns: int
    size: int
    centre: Array
    scale: Array
    constant: NDArray[np.bool_]
    too_large: NDArray[np.bool_]
    length: Array
    finite: bool
    is_sparse: bool

    def gradient(self, residual: Array) -> Array:
        """Return the product of all standardised columns with a residual (n_rows, n_outputs)."""

    def gradient_of(self, columns: NDArray[np.intp], residual: Array) -> Array:
        """Return the same for some columns only."""

    @property
    def column_access_cost(self) -> float:
        """How many times dearer a column alone is than a column among all."""

    def squares(self, weight: Array) -> Array:
        """Return the weighted sum of squares of every standardised column."""

    def block(self) -> Block:
        """Return an empty block, to which the columns in use are copied."""

    def dense_rows(self, columns: NDArray[np.intp]) -> Array:
        """Return standardised columns as the rows of a new array."""


class Block(Protocol):
    """A growing copy of the columns in use, which a solver owns."""

    features: NDArray[np.intp]
    is_sparse: bool

    def append(self, features: NDArray[np.intp]) -> None:
        """Copy further columns."""

    def keep(self, positions: NDArray[np.intp]) -> None:
        """Keep only the columns at these positions, in this order."""

    def scores(self, weights: Array) -> Array:
        """Return the product of the columns with weights (n_features, n_outputs)."""

    def gradient(self, residual: Array) -> Array:
        """Return the product of each column with the residual (n_rows, n_outputs)."""

    def dense_rows(self) -> Array:
        """Return the standardised columns as the rows of an array."""


def make_columns(
    X: Any, weight: Array, *, center: bool, standardize: bool, rows: NDArray[np.intp] | None = None
) -> DenseColumns | SparseColumns:
    """Wrap a validated X.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_columns)
        float32 or float64; it is neither copied, unless it is sparse and ``rows`` are given, nor changed.
    weight : ndarray of shape (n_rows,)
        Sample weights that sum to one, for means and standard deviations.
    center : bool
        Whether an intercept absorbs the column means.  Columns are then seen centred, which is what keeps
        products accurate, and problems well conditioned, when a mean is large.
    standardize : bool
        Divide columns by their standard deviation, or by their root mean square where there is no intercept.
    rows : ndarray of int, optional
        The rows of X that count, in the order in which they do; by default all.

    Examples
    --------
    >>> import numpy as np
    >>> columns = make_columns(np.array([[1.0, 5.0], [3.0, 5.0]]), np.full(2, 0.5), center=True, standardize=True)
    >>> columns.gradient(np.array([[-1.0], [1.0]])).ravel()
    array([2., 0.])
    """
    if sparse.issparse(X):
        return SparseColumns(X if rows is None else X[rows], weight, center=center, standardize=standardize)
    return DenseColumns(X, weight, center=center, standardize=standardize, rows=rows)
