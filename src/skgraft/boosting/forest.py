"""Scores of rows: all trees in a few arrays, gone through row by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from skgraft.arrays import Array
from skgraft.boosting.bins import Categories
from skgraft.boosting.loops import loops_over_rows
from skgraft.boosting.tree import Tree
from skgraft.matrix import ALONE, ThreadPool

ROWS_AT_ONCE = 2**16
ROUNDS_TO_COME = 100
COMPILED_STEPS = 2**18  # rows times trees beyond which compiled code is worth its loading


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees of all rounds, ready to give scores.

    Attributes
    ----------
    start : ndarray of shape (n_outputs,)
        Scores before any tree.
    rounds : list of list of Tree
        A tree per output in every round.
    categories : dict
        Of the categorical columns: which bin a value is in.
    missing : int
        The bin of missing values.
    """

    start: Array
    rounds: list[list[Tree]]
    categories: dict[int, Categories] = field(default_factory=dict)
    missing: int = 255

    @property
    def n_outputs(self) -> int:
        """Number of scores of a row."""
        return self.start.size

    def scores(self, X: Any, workers: ThreadPool = ALONE) -> Array:
        """Return the scores of rows, (n_rows, n_outputs)."""
        out = np.empty((X.shape[0], self.n_outputs))
        out[:] = self.start
        if self.rounds:
            self._add(X, self.rounds, out, workers)
        return out

    def among(self, features: NDArray[np.intp]) -> Forest:
        """Return the forest for rows of these columns alone, in ascending order; it uses no others."""

        def moved(tree: Tree) -> Tree:
            return replace(tree, feature=_renumber(tree.feature, features).astype(np.int32))

        rounds = [[moved(tree) for tree in trees] for trees in self.rounds]
        places = enumerate(features.tolist())
        categories = {place: self.categories[feature] for place, feature in places if feature in self.categories}
        return replace(self, rounds=rounds, categories=categories)

    def staged_scores(self, X: Any) -> Iterator[Array]:
        """Yield the scores after every round; the array is the same one each time."""
        out = np.empty((X.shape[0], self.n_outputs))
        out[:] = self.start
        for trees in self.rounds:
            self._add(X, [trees], out, ALONE)
            yield out

    def add_round(self, X: Any, trees: list[Tree], out: Array, workers: ThreadPool = ALONE) -> None:
        """Add the values of one round to scores (n_rows, n_outputs)."""
        self._add(X, [trees], out, workers)

    def _add(self, X: Any, rounds: list[list[Tree]], out: Array, workers: ThreadPool) -> None:
        flat = _flatten(rounds)
        used = np.unique(flat.feature[flat.feature >= 0])
        if not used.size:
            for trees in rounds:
                for k, tree in enumerate(trees):
                    out[:, k] += tree.value[0]
            return
        plain = not sp.issparse(X) and X.flags.c_contiguous and not any(int(f) in self.categories for f in used)
        feature = flat.feature if plain else _renumber(flat.feature, used)
        # a single round is one of many that come
        steps = X.shape[0] * max(flat.roots.size, ROUNDS_TO_COME)
        loops = loops_over_rows(compiled=steps > COMPILED_STEPS)
        for first in range(0, X.shape[0], ROWS_AT_ONCE):
            last = min(first + ROWS_AT_ONCE, X.shape[0])
            rows = X[first:last] if plain else self._compact(X[first:last], used)

            def run(a: int, e: int, rows: Any = rows, first: int = first, last: int = last) -> None:
                loops.add_trees(
                    rows, a, e, flat.roots, flat.outputs, feature, flat.threshold, flat.left, flat.right, flat.value,
                    flat.missing_left, flat.table, flat.tables, out[first:last],
                )  # fmt: skip

            workers.run(run, last - first, 10.0 * (last - first) * flat.roots.size)

    def _compact(self, X: Any, used: NDArray[np.intp]) -> Array:
        """Return the used columns alone, categories as bins."""
        columns = X[:, used].toarray() if sp.issparse(X) else X[:, used]
        rows = np.array(columns, dtype=np.float64, order="C")
        for k, f in enumerate(used):
            if int(f) in self.categories:
                rows[:, k] = self.categories[int(f)].code(rows[:, k], self.missing)
        return rows


@dataclass(frozen=True, eq=False)
class _Flat:
    roots: NDArray[np.int64]
    outputs: NDArray[np.int64]
    feature: NDArray[np.int64]
    threshold: Array
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: Array
    missing_left: NDArray[np.bool_]
    table: NDArray[np.int64]
    tables: NDArray[np.bool_]


def _flatten(rounds: list[list[Tree]]) -> _Flat:
    trees = [(k, tree) for round_trees in rounds for k, tree in enumerate(round_trees)]
    sizes = np.array([tree.n_nodes for _, tree in trees])
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    tables = [np.zeros(256, bool)]
    table = np.full(int(sizes.sum()), -1, np.int64)
    for root, (_, tree) in zip(roots, trees, strict=True):
        for node, goes_left in tree.goes_left.items():
            table[root + node] = len(tables)
            tables.append(goes_left)

    def joined(name: str, dtype: Any, *, shifted: bool = False) -> Any:
        parts = [getattr(tree, name) + (root if shifted else 0) for root, (_, tree) in zip(roots, trees, strict=True)]
        return np.concatenate(parts).astype(dtype)

    return _Flat(
        roots=roots,
        outputs=np.array([k for k, _ in trees], np.int64),
        feature=joined("feature", np.int64),
        threshold=joined("threshold", np.float64),
        left=joined("left", np.int64, shifted=True),
        right=joined("right", np.int64, shifted=True),
        value=joined("value", np.float64),
        missing_left=np.concatenate([tree.missing_left for _, tree in trees]),
        table=table,
        tables=np.stack(tables),
    )


def _renumber(feature: NDArray[np.integer[Any]], used: NDArray[np.intp]) -> NDArray[np.int64]:
    """Replace features by their places among the used ones."""
    return np.where(feature >= 0, np.searchsorted(used, feature), -1)
