"""l1-AROM: a succession of linear programs on features multiplied by ever new scales.

Weston et al. 2003, section 3.1, Problems 6 and 7; section 3.3, Problem 10.  In the weights w of the features as
given, a round minimises Σ_j |w_j|/(ε + z_j) and the price of the slack exactly.  Since

    ln(ε + |w|) <= ln(ε + z) + (|w| - z)/(ε + z)    with equality at |w| = z,

a round at z = |w| of the round before does not raise Σ_j ln(ε + |w_j|) + loss, the objective of Problem 6; see
:mod:`skgraft.zeronorm.l2_rounds` for prices, bags and scales that are lengthened.

Slack (section 3.2) is one more coordinate a constraint.  Its scale may stay (a soft margin of price C), or be
multiplied by the slack as features are by their weights (q = 0: few constraints fail, rather than by little); it is
then the features that may stay as they are (p = 1, q = 0: a machine that makes few errors).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skgraft.arrays import Array, Mask
from skgraft.matrix import DenseBlock, DenseColumns, SparseBlock, SparseColumns
from skgraft.run import Controls, Monitor
from skgraft.svm import DenseDesign, Design, InseparableError, MachineSolution, Margins
from skgraft.zeronorm.column_generation import check, grow
from skgraft.zeronorm.l2_rounds import RoundControls, l2_rounds
from skgraft.zeronorm.programs import Program, ProgramModel
from skgraft.zeronorm.rounds import EPSILON, ZERO, Rounds

STEPS = 1000  # linear programs of one round
ROUNDING = 1e-9  # slack up to this share of the margin is a rounding error of the program
ALL_AT_ONCE = 2  # features for each row up to which a program starts with all of them


def l1_rounds(columns: DenseColumns | SparseColumns, margins: Margins, price: Array, controls: RoundControls) -> Rounds:
    """Run rounds of linear programs until the features are as few as asked for, or change no more.

    Parameters
    ----------
    columns : DenseColumns or SparseColumns
        Standardised features.
    margins : Margins
        The constraints of the machine: ``two_classes``, ``one_against_rest``, ``all_pairs`` or ``tube``.
    price : ndarray of shape (n_rows,)
        What a unit of slack costs in each row's constraints, C times its weight; infinite for a hard margin.
    controls : RoundControls
        How rounds are run.

    Returns
    -------
    Rounds
        Weights and intercepts for the standardised features.

    Raises
    ------
    InseparableError
        If no slack is allowed and the data cannot do without.

    Examples
    --------
    >>> import numpy as np
    >>> from skgraft.matrix import make_columns
    >>> from skgraft.zeronorm.l2_rounds import RoundControls
    >>> from skgraft.svm.margins import two_classes
    >>> X = np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, -2.0], [-2.0, -1.0]])
    >>> columns = make_columns(X, np.full(4, 0.25), center=True, standardize=False)
    >>> margins = two_classes(np.array([1.0, 1.0, -1.0, -1.0]))
    >>> rounds = l1_rounds(columns, margins, np.full(4, np.inf), RoundControls(n_features_to_select=1))
    >>> rounds.alive.size, float(abs(rounds.weights).max())
    (1, 1.0)
    """
    return l2_rounds(columns, L1Machine(margins, price), controls)


class L1Machine:
    """The linear program that a round solves.

    Parameters
    ----------
    margins : Margins
        The constraints, of all outputs.
    price : ndarray of shape (n_rows,)
        What a unit of slack costs in each row's constraints.
    """

    power = 1

    def __init__(self, margins: Margins, price: Array) -> None:
        self._margins = margins
        self._by_row = price
        self._first = price[margins.row]
        self._price = self._first
        self._slack = np.zeros(margins.size)
        self._support: NDArray[np.intp] | None = None  # of the round before
        self._log_loss = False

    @property
    def hard(self) -> bool:
        """Whether no slack is allowed anywhere."""
        return bool(np.isinf(self._first).all())

    def afresh(self, *, softened: float = 0.0) -> L1Machine:
        """Return the machine at its start; ``softened`` is a ridge 1/(2C) where slack is not allowed."""
        price = self._by_row
        return L1Machine(self._margins, np.where(np.isinf(price), 0.5 / softened, price) if softened > 0.0 else price)

    def keep(self, which: Mask) -> None:
        """Forget about the other features."""
        if self._support is not None:
            place = np.cumsum(which) - 1
            self._support = place[self._support[which[self._support]]]

    def rescale_errors(self) -> None:
        """Multiply the scale of each slack by its size: price/slack, and none at all where there was none."""
        shown = self._slack > 0.0
        self._price = np.where(shown, self._first / (EPSILON + np.where(shown, self._slack, 1.0)), np.inf)

    def count_errors(self) -> None:
        """State the loss as the zero-norm of the slack."""
        self._log_loss = True

    def norm_of(self, weights: Array) -> float:
        """Return Σ |w|."""
        return float(np.abs(weights).sum())

    def solve(self, design: Design, squared_scale: Array | None, tol: float) -> MachineSolution:
        """Solve with features multiplied by their scales, exactly; a violation of infinity says inseparable."""
        scale = None if squared_scale is None else np.sqrt(squared_scale)
        cost = np.ones(design.n_features) if scale is None else scale / (EPSILON + scale)
        model = ProgramModel(Program(ScaledColumns(design, scale), self._margins, self._price, cost, intercept=True))
        self._open_first(model, design)
        try:
            grow(model, Controls(tol=tol, max_iter=STEPS), Monitor())
            model.centre_intercepts()
            violation = check(model)[0]
        except InseparableError:
            violation = np.inf
        weights, intercept = model.coefficients()
        slack = model.slack()
        least = max(ZERO * float(slack.max(initial=0.0)), ROUNDING * float(np.abs(self._margins.need).max(initial=0.0)))
        self._slack = np.where(slack > least, slack, 0.0)
        self._support = np.flatnonzero(weights.any(axis=1))
        weights = weights.T if scale is None else weights.T * scale
        return MachineSolution(weights, intercept, violation, self._loss())

    def _open_first(self, model: ProgramModel, design: Design) -> None:
        """Start a program with what the round before had, or with everything where that is little."""
        first = self._support
        if design.n_features <= ALL_AT_ONCE * design.n_rows:
            first = np.arange(design.n_features)
        if first is not None and first.size:
            outputs = np.arange(self._margins.n_outputs)
            model.free((first[:, None] * outputs.size + outputs).ravel())
            model.optimize(0.0, exact=True)

    def _loss(self) -> float:
        """Return Σ C ξ, or Σ C ln(ε + ξ) where slacks are rescaled too."""
        paid = np.isfinite(self._first)
        size = np.log(EPSILON + self._slack[paid]) if self._log_loss else self._slack[paid]
        return float(self._first[paid] @ size)


class ScaledColumns:
    """The features that are still alive, multiplied by their scales."""

    def __init__(self, design: Design, scale: Array | None) -> None:
        self._design = design
        self._scale = scale
        self.n_rows, self.n_columns = design.n_rows, design.n_features
        self.shift = np.zeros(design.n_features)  # centring sparse columns is left to the intercepts

    def gradient(self, residual: Array) -> Array:
        """Return the product of all columns with a residual (n_rows, n_outputs)."""
        product = self._design.weights(residual)
        return product if self._scale is None else product * self._scale[:, None]

    def block(self) -> DenseBlock | SparseBlock:
        """Return an empty block, to which the columns in use are copied."""
        columns: Any = self
        return DenseBlock(columns) if isinstance(self._design, DenseDesign) else SparseBlock(columns)

    def take(self, columns: NDArray[np.intp], out: Array | None = None) -> Any:
        """Return columns: as rows of an array, or as a sparse matrix."""
        scale = np.ones(columns.size) if self._scale is None else self._scale[columns]
        if isinstance(self._design, DenseDesign):
            return np.multiply(self._design.take(columns), scale[:, None], out=out)
        part = sparse.csc_array(self._design.X[:, columns])
        part.data = part.data * np.repeat(scale, np.diff(part.indptr))
        return part
