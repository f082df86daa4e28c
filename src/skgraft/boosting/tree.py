"""A tree to be read: what each node asks, and what each leaf says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from skgraft.boosting.bins import Layout
from skgraft.boosting.growth import Grown

Labels = dict[int, list[Any]]


@dataclass(frozen=True, eq=False)
class Tree:
    """A fitted tree; node 0 is the root.

    Attributes
    ----------
    feature : ndarray of int
        The feature that a node asks for, -1 at a leaf.
    threshold : ndarray of float
        Values up to it go left, all known ones if it is infinite; NaN at leaves and where categories are asked for.
    left, right : ndarray of int
        The children, -1 at a leaf.
    value : ndarray of float
        What a leaf adds to the score, the learning rate included; 0 at inner nodes.
    missing_left : ndarray of bool
        Whether missing values go left.
    missing_seen : ndarray of bool
        Whether training rows of the node had missing values; where not, new ones go with the heavier child.
    categories : list
        The categories that go left, None where a threshold is asked for.
    gain : ndarray of float
        By how much the split lowered the squared error of the gradients (without its price); 0 at leaves.
    n_samples : ndarray of int
        Training rows in the node.
    goes_left : dict
        For nodes that ask for categories, whether each bin goes left.
    names : list of str
        Names of the features.
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    missing_seen: NDArray[np.bool_]
    categories: list[list[Any] | None]
    gain: NDArray[np.float64]
    n_samples: NDArray[np.int64]
    goes_left: dict[int, NDArray[np.bool_]]
    names: list[str] | None = None

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.feature.size

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int((self.feature < 0).sum())

    @property
    def features(self) -> NDArray[np.intp]:
        """The features that the tree uses, ascending."""
        return np.unique(self.feature[self.feature >= 0]).astype(np.intp)

    def __str__(self) -> str:
        return "\n".join(self._lines(0, 0))

    def __repr__(self) -> str:
        return f"<Tree: {self.n_leaves} leaves, {self.features.size} features>"

    def _name(self, node: int) -> str:
        feature = int(self.feature[node])
        return f"x{feature}" if self.names is None else str(self.names[feature])

    def _question(self, node: int) -> str:
        among = self.categories[node]
        if among is not None:
            return f"{self._name(node)} in {{{', '.join(map(str, among))}}}"
        if self.threshold[node] == np.inf:
            return f"{self._name(node)} is known"
        return f"{self._name(node)} <= {self.threshold[node]:.6g}"

    def _lines(self, node: int, depth: int) -> list[str]:
        indent = "  " * depth
        if self.feature[node] < 0:
            return [f"{indent}{self.value[node]:+.6g}  ({self.n_samples[node]} rows)"]
        missing = " or missing" if self.missing_left[node] and self.missing_seen[node] else ""
        return [
            f"{indent}{self._question(node)}{missing}  (gain {self.gain[node]:.6g})",
            *self._lines(int(self.left[node]), depth + 1),
            f"{indent}else",
            *self._lines(int(self.right[node]), depth + 1),
        ]

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Return the nodes as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            The library of the frame; it must be installed.

        Returns
        -------
        data frame
            One row for each node.
        """
        import narwhals as nw

        inner = self.feature >= 0
        columns = {
            "node": list(range(self.n_nodes)),
            "feature": [self._name(k) if inner[k] else None for k in range(self.n_nodes)],
            "question": [self._question(k) if inner[k] else None for k in range(self.n_nodes)],
            "threshold": self.threshold.tolist(),
            "missing_left": self.missing_left.tolist(),
            "left": self.left.tolist(),
            "right": self.right.tolist(),
            "value": self.value.tolist(),
            "gain": self.gain.tolist(),
            "n_samples": self.n_samples.tolist(),
        }
        return nw.from_dict(columns, backend=backend).to_native()


def make_tree(grown: Grown, values: dict[int, float], layout: Layout, names: Any, labels: Labels) -> Tree:
    """Write a grown tree in values instead of bins; ``labels`` are the names of coded categories."""
    n = len(grown.nodes)
    feature, threshold = np.full(n, -1, np.int32), np.full(n, np.nan)
    left, right = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    missing_left, missing_seen, gain, value = np.zeros(n, bool), np.zeros(n, bool), np.zeros(n), np.zeros(n)
    categories: list[list[Any] | None] = [None] * n
    goes_left: dict[int, NDArray[np.bool_]] = {}
    for k, split in grown.splits.items():
        feature[k], gain[k] = split.feature, split.gain
        left[k], right[k] = grown.children[k]
        missing_left[k], missing_seen[k] = split.goes_left[layout.missing], split.sees_missing
        if split.feature in layout.categories:
            goes_left[k] = split.goes_left
            categories[k] = _labelled(layout.category_values(split.feature, split.goes_left), labels, split.feature)
        else:
            threshold[k] = layout.threshold(split.feature, int(split.goes_left[: layout.missing].sum()) - 1)
    for k, leaf_value in values.items():
        value[k] = leaf_value
    return Tree(
        feature=feature,
        threshold=threshold,
        left=left,
        right=right,
        value=value,
        missing_left=missing_left,
        missing_seen=missing_seen,
        categories=categories,
        gain=gain,
        n_samples=grown.n_samples(),
        goes_left=goes_left,
        names=names,
    )


def _labelled(values: list[float], labels: Labels, feature: int) -> list[Any]:
    if feature not in labels:
        return [int(value) if value == int(value) else value for value in values]
    return [labels[feature][int(value)] for value in values]
