"""A linear program in HiGHS that stays there, to be solved again after every change.

The program is the dual of a machine with an l1 norm::

    max need·a   so that   0 <= a <= price,   balance @ a = 0,   -cost_j <= rows_j @ a <= cost_j

Its variables are the constraints of the machine, its rows the features in use: a new feature is a cut and a new cost
a new bound, and after both the dual simplex method goes on from where it was.  The machine's weights and intercepts
are the dual values of the rows.

Features of a bag, whose weights have one bound, are bound together::

    rows_j @ a = plus_j - minus_j,   plus, minus >= 0,   Σ_j (plus_j + minus_j) / cost_j <= 1
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from skgraft.arrays import Array, Index

PRECISION = 1e-9  # largest infeasibility that HiGHS leaves, of the program and of its dual
NOTHING = 1e-10  # what a weight may add to any margin of one without counting: a tenth of the precision
DEVEX = 1  # HiGHS's number for approximate steepest edges
USED = 1e-5  # part of the largest weight from which on one counts as such in a solution that is not exact
SHORT_WALK = 500  # variables up to which these are the faster after a change of costs
ALONE = -1  # the bag of a feature that is in none
RELAXED = 1e-7  # the same where rounding does not allow for less


class ProgramError(ArithmeticError):
    """A linear program that rounding errors keep from being solved."""


class Rows(NamedTuple):
    """Rows of a matrix, compressed: values, the columns they are in, and where each row starts."""

    value: Array
    column: Index
    start: Index

    @classmethod
    def of(cls, matrix: Any) -> Rows:
        """Take the rows of a CSR matrix."""
        return cls(matrix.data, matrix.indices, matrix.indptr)


class DualLP:
    """The program with the rows that are in use.

    Parameters
    ----------
    need : ndarray of shape (n_variables,)
        What the machine's constraints ask for.
    price : ndarray of shape (n_variables,)
        What a unit of slack costs in each.
    balance : sparse matrix of shape (n_intercepts, n_variables)
        Coefficients of the intercepts.
    unit : float
        The size of a typical variable: HiGHS sees the variables in this unit, its tolerances being absolute.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> master = DualLP(np.ones(2), np.ones(2), sparse.csr_array([[1.0, -1.0]]), 1.0)
    >>> master.add(Rows.of(sparse.csr_array([[2.0, 2.0]])), np.ones(1))  # x = 2 and x = -2, of opposite classes
    >>> master.solve()
    >>> master.variables, master.weights, abs(master.intercepts)
    (array([0.25, 0.25]), array([0.5]), array([0.]))
    """

    def __init__(self, need: Array, price: Array, balance: Any, unit: float) -> None:
        import highspy

        self._size = float(np.abs(need).max(initial=0.0)) or 1.0
        self._unit = unit
        self._scale = np.empty(0)  # of each weight
        self._bag = np.empty(0, np.intp)  # of each row but the intercepts'
        self._sums = np.empty(0, bool)  # whether such a row adds up a bag
        self._n_intercepts = balance.shape[0]
        self._n_variables = n = need.size
        self._optimal = highspy.HighsModelStatus.kOptimal
        highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        self._highs = highs
        for option, value in (
            ("output_flag", False),
            ("presolve", "off"),  # it would start from nothing each time
            ("solver", "simplex"),
            ("threads", 1),
            ("primal_feasibility_tolerance", PRECISION),
            ("dual_feasibility_tolerance", PRECISION),
        ):
            highs.setOptionValue(option, value)
        nothing = np.zeros(n, np.int32)
        highs.addCols(n, -need / self._size, np.zeros(n), price / unit, 0, nothing, nothing[:0], np.empty(0))
        if self._n_intercepts:
            self._add_rows(Rows.of(sparse.csr_array(balance)), np.zeros(self._n_intercepts))
        self.variables: Array = np.zeros(n)
        self.weights: Array = np.empty(0)
        self.intercepts: Array = np.zeros(self._n_intercepts)
        self.pivots = 0

    def add(self, rows: Rows, cost: Array, bag: Index | None = None) -> None:
        """Add features: their rows, what their weights cost, and the bags of some; a bag comes as a whole."""
        bag = np.full(cost.size, ALONE) if bag is None else bag
        cells = np.diff(rows.start)
        scale = np.zeros(cells.size)
        if rows.value.size:
            some = cells > 0
            scale[some] = np.maximum.reduceat(np.abs(rows.value), rows.start[:-1][some])
        scale[scale == 0.0] = 1.0
        scaled = Rows(rows.value / np.repeat(scale, cells), rows.column, rows.start)
        self._scale = np.concatenate([self._scale, scale])
        self._bag = np.concatenate([self._bag, bag])
        self._sums = np.concatenate([self._sums, np.zeros(bag.size, bool)])
        self._add_rows(scaled, np.where(bag == ALONE, cost / (self._unit * scale), 0.0))
        first = self._highs.getNumRow() - bag.size
        labels = np.unique(bag[bag != ALONE])
        for label in labels.tolist():
            members = np.flatnonzero(bag == label)
            self._bind(first + members, scale[members] / cost[members], cost[members])
        self._bag = np.concatenate([self._bag, labels])
        self._sums = np.concatenate([self._sums, np.ones(labels.size, bool)])

    def _bind(self, row: Index, share: Array, cost: Array) -> None:
        """Split the products of some rows into positive and negative parts, and bound the sum of what they cost."""
        k = row.size
        at = np.tile(row, 2).astype(np.int32)
        sign = np.repeat([-1.0, 1.0], k)
        first = self._highs.getNumCol()
        nothing, start = np.zeros(2 * k), np.arange(2 * k, dtype=np.int32)
        self._highs.addCols(2 * k, nothing, nothing, np.full(2 * k, np.inf), 2 * k, start, at, sign)
        index = np.arange(first, first + 2 * k, dtype=np.int32)
        top = float(cost.max())
        coefficient = np.tile(share * top, 2)
        self._highs.addRow(-np.inf, top / self._unit, 2 * k, index, coefficient)

    def _add_rows(self, rows: Rows, bound: Array) -> None:
        start, index = rows.start[:-1].astype(np.int32), rows.column.astype(np.int32)
        self._highs.addRows(bound.size, -bound, bound, index.size, start, index, rows.value)

    def charge(self, cost: Array) -> None:
        """Change what the weights cost, those of a bag by the same factor."""
        if self._n_variables <= SHORT_WALK:
            # few pivots follow: exact steepest edges would take longer to set up than they save
            self._highs.setOptionValue("simplex_dual_edge_weight_strategy", DEVEX)
        if not cost.size:
            return
        bag, sums = self._bag, self._sums
        upper = np.zeros(bag.size)
        upper[~sums] = np.where(bag[~sums] == ALONE, cost / (self._unit * self._scale), 0.0)
        for row in np.flatnonzero(sums).tolist():
            upper[row] = cost[bag[~sums] == bag[row]].max() / self._unit
        at = np.arange(self._n_intercepts, self._n_intercepts + bag.size, dtype=np.int32)
        self._highs.changeRowsBounds(bag.size, at, np.where(sums, -np.inf, -upper), upper)

    def raise_price(self, price: Array) -> None:
        """Change what slack costs."""
        n = self._n_variables
        self._highs.changeColsBounds(n, np.arange(n, dtype=np.int32), np.zeros(n), price / self._unit)

    def begin(self, variables: Array, weights: Array, price: Array) -> None:
        """Start from the vertex nearest to a solution: features with weights at their bounds, others free.

        As many variables as features, and one for each intercept, are between their bounds: those farthest from them.
        """
        import highspy

        status = highspy.HighsBasisStatus
        used = np.abs(weights) > USED * np.abs(weights).max(initial=0.0)
        between = np.minimum(variables, price - variables) / price
        basic = np.zeros(variables.size, bool)
        basic[np.argsort(-between, kind="stable")[: np.count_nonzero(used) + self._n_intercepts]] = True
        basis = highspy.HighsBasis()
        basis.col_status = [
            status.kBasic if inner else status.kLower if low else status.kUpper
            for inner, low in zip(basic.tolist(), (variables < 0.5 * price).tolist(), strict=True)
        ]
        basis.row_status = [status.kLower] * self._n_intercepts + [
            status.kBasic if not inside else status.kUpper if positive else status.kLower
            for inside, positive in zip(used.tolist(), (weights > 0.0).tolist(), strict=True)
        ]
        self._highs.setBasis(basis)

    def drop(self, positions: Index) -> None:
        """Take features out that are in no bag and whose weights are zero, the basis staying what it is."""
        basis = self._highs.getBasis()
        rows = np.flatnonzero(~self._sums)[positions]
        at = self._n_intercepts + rows
        gone = np.zeros(self._n_intercepts + self._bag.size, bool)
        gone[at] = True
        status = [s for s, out in zip(basis.row_status, gone.tolist(), strict=True) if not out]
        self._highs.deleteRows(at.size, at.astype(np.int32))
        basis.row_status = status
        self._highs.setBasis(basis)
        self._scale = np.delete(self._scale, positions)
        self._bag, self._sums = np.delete(self._bag, rows), np.delete(self._sums, rows)
        self.weights = np.delete(self.weights, positions)

    def solve(self) -> None:
        """Solve the program from where it was."""
        if not self._run():
            self._highs.clearSolver()  # a fresh factorisation often helps where an old basis went wrong
            if not self._run() and not self._run_relaxed():
                status = self._highs.modelStatusToString(self._highs.getModelStatus())
                msg = (
                    f"a linear program could not be solved ({status}); columns of very different scale are the usual "
                    "cause: set standardize=True, or drop columns whose values differ by many orders of magnitude"
                )
                raise ProgramError(msg)
        solution = self._highs.getSolution()
        dual = -np.asarray(solution.row_dual)
        dual[np.abs(dual) <= NOTHING] = 0.0
        dual *= self._size
        self.variables = self._unit * np.asarray(solution.col_value)[: self._n_variables]
        self.intercepts = dual[: self._n_intercepts]
        self.weights = dual[self._n_intercepts :][~self._sums] / self._scale

    def _run(self) -> bool:
        self._highs.run()
        self.pivots += max(self._highs.getInfo().simplex_iteration_count, 0)
        return bool(self._highs.getModelStatus() == self._optimal)

    def _run_relaxed(self) -> bool:
        for tolerance in (RELAXED, PRECISION):
            self._highs.setOptionValue("primal_feasibility_tolerance", tolerance)
            self._highs.setOptionValue("dual_feasibility_tolerance", tolerance)
            if tolerance == RELAXED:
                solved = self._run()
        return solved
