"""The loss gradient over all features, recomputed only where it can matter.

A column's gradient moves by at most its length times the distance the residual has moved (Cauchy-Schwarz).  While
that cannot carry it out of the penalty's subdifferential at zero, a weight at zero is right where it is whatever the
exact number, and the old one serves as well.  Nothing is approximated: tests and certificates come out the same.
"""

from __future__ import annotations

import numpy as np

from skgraft.arrays import Array, Index
from skgraft.criterion import Penalty
from skgraft.grafting.linear.problem import Layout
from skgraft.matrix import Columns

MARGIN = 1e-9  # relative, for rounding in the bounds
MOST = 0.4  # share of columns beyond which all are computed at once


class ScreenedGradient:
    """Gradients X'r of a residual that moves.

    Parameters
    ----------
    columns : DenseColumns, SparseColumns or JoinedColumns
        The standardised columns.
    weight : ndarray of shape (n_rows,)
        Sample weights; a residual is a derivative times these.
    layout : Layout
        The order in which gradients are laid out.
    """

    def __init__(self, columns: Columns, weight: Array, layout: Layout) -> None:
        self._columns = columns
        self._layout = layout
        self._inverse = np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0.0)[:, None]
        self._residual: Array | None = None
        self._gradient = np.empty((0, 0))
        self._way = 0.0  # how far the residual has moved in all
        self._since = np.empty(0)  # its value when each column was last computed
        self.evaluations = 0

    def exact(self, residual: Array) -> Array:
        """Return the gradient of all weights, as laid out."""
        self._follow(residual)
        self._gradient = self._columns.gradient(residual)
        self.evaluations += 1
        self._since = np.full(self._columns.n_columns, self._way)
        return self._layout.flat(self._gradient)

    def beyond(self, residual: Array, penalty: Penalty, needed: Index) -> Array:
        """Return the gradient, exact for ``needed`` features and wherever it could leave the subdifferential at zero.

        Elsewhere it is an earlier one, inside the subdifferential as the exact one is.
        """
        if self._residual is None:
            return self.exact(residual)
        self._follow(residual)
        layout = self._layout
        reach = (self._way - self._since) * self._columns.length
        largest = layout.flat(np.abs(self._gradient) + reach[:, None]) * (1.0 + MARGIN)
        open_question = np.zeros(reach.size, bool)
        open_question[layout.feature(np.flatnonzero(penalty.per_weight(penalty.distance_at_zero(-largest))))] = True
        open_question[needed] = True
        which = np.flatnonzero(open_question)
        if which.size * self._columns.column_access_cost > MOST * reach.size:
            return self.exact(residual)
        self._gradient[which] = self._columns.gradient_of(which, residual)
        self.evaluations += 1
        self._since[which] = self._way
        return layout.flat(self._gradient)

    def _follow(self, residual: Array) -> None:
        if self._residual is not None:
            moved = residual - self._residual
            # in the weighted norm that belongs to the columns' lengths; the output that moved most bounds all
            squares = np.einsum("ik,ik->k", moved * self._inverse, moved)
            self._way += float(np.sqrt(squares.max()))
        self._residual = residual
