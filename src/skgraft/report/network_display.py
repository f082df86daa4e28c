"""Who is connected to whom in a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skgraft.arrays import Array

THINNEST, THICKEST = 0.3, 4.0  # lines, in points
POSITIVE, NEGATIVE = "#1f77b4", "#d62728"
LEFT, MIDDLE, RIGHT = 0.0, 1.0, 2.0


class NetworkDisplay:
    """A picture of a network with one hidden layer: features, hidden units, outputs and what connects them.

    The thicker a line, the larger the weight; blue ones are positive, red ones negative.  Weights of connections are
    those of standardised features, so that they can be compared.

    It is made by :meth:`from_estimator`, or from its parts.

    Parameters
    ----------
    feature_names : sequence of str
        Names of the features in the network.
    output_names : sequence of str
        Names of the outputs.
    weights : ndarray of shape (n_units, n_features)
        Weights from features to units; zero where there is no connection.
    output_weights : ndarray of shape (n_outputs, n_units)
        Weights from units to outputs; zero where there is no connection.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the picture is, once it is drawn.
    figure_ : matplotlib Figure
        Its figure.
    lines_ : list of matplotlib Line2D
        One for each connection, those to units first.

    See Also
    --------
    MLPGraftClassifier : A network that grows.
    MLPGraftRegressor : The same for regression.

    Examples
    --------
    >>> from skgraft import MLPGraftClassifier, NetworkDisplay
    >>> from skgraft.datasets import make_threshold_max
    >>> train = make_threshold_max(300, n_informative=2, n_irrelevant=8, random_state=0)
    >>> model = MLPGraftClassifier().fit(train.data, train.target)
    >>> display = NetworkDisplay.from_estimator(model)
    >>> len(display.lines_) == len(model.connections_) + len(model.units_)
    True
    """

    def __init__(
        self, feature_names: Sequence[str], output_names: Sequence[str], weights: Array, output_weights: Array
    ) -> None:
        self.feature_names = list(feature_names)
        self.output_names = list(output_names)
        self.weights = np.asarray(weights, dtype=np.float64)
        self.output_weights = np.asarray(output_weights, dtype=np.float64)
        if self.weights.ndim != 2 or self.weights.shape[1] != len(self.feature_names):
            msg = f"weights must have shape (n_units, {len(self.feature_names)}), one column a feature name"
            raise ValueError(msg)
        if self.output_weights.shape != (len(self.output_names), len(self.weights)):
            wanted = (len(self.output_names), len(self.weights))
            msg = f"output_weights must have shape {wanted}, outputs by units; got {self.output_weights.shape}"
            raise ValueError(msg)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, feature_names: Sequence[str] | None = None, ax: Any = None, max_width: float = THICKEST
    ) -> NetworkDisplay:
        """Draw a fitted network.

        Parameters
        ----------
        estimator : MLPGraftClassifier or MLPGraftRegressor
            A fitted network.
        feature_names : sequence of str, optional
            Names of all input features; by default those seen in fit, or x0, x1, ...
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        max_width : float, default=4.0
            Width of the thickest line, in points.

        Returns
        -------
        NetworkDisplay
            The picture.
        """
        check_is_fitted(estimator, "connections_")
        names = _names(estimator, feature_names)
        connections = estimator.connections_
        used = np.unique(connections["feature"])
        weights = np.zeros((len(estimator.units_), used.size))
        weights[connections["unit"], np.searchsorted(used, connections["feature"])] = connections["strength"]
        outputs = _outputs(estimator)
        display = cls([names[j] for j in used], outputs, weights, estimator.output_weights_)
        return display.plot(ax=ax, max_width=max_width)

    def plot(self, *, ax: Any = None, max_width: float = THICKEST) -> NetworkDisplay:
        """Draw the network.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        max_width : float, default=4.0
            Width of the thickest line, in points.

        Returns
        -------
        NetworkDisplay
            The picture itself.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            msg = "NetworkDisplay needs matplotlib: install it with `pip install skgraft[plots]`"
            raise ImportError(msg) from error
        if ax is None:
            rows = max(len(self.feature_names), len(self.weights), len(self.output_names), 4)
            _, ax = plt.subplots(figsize=(6.0, min(12.0, 1.0 + 0.25 * rows)))
        left, middle, right = (_spread(n) for n in (len(self.feature_names), len(self.weights), len(self.output_names)))
        middle = self._untangled(left, middle)
        self.lines_ = [
            *_lines(ax, (LEFT, MIDDLE), left, middle, self.weights, max_width),
            *_lines(ax, (MIDDLE, RIGHT), middle, right, self.output_weights, max_width),
        ]
        for x, y in ((LEFT, left), (MIDDLE, middle), (RIGHT, right)):
            ax.scatter(np.full(y.size, x), y, s=40, color="white", edgecolor="black", zorder=3)
        for name, y in zip(self.feature_names, left, strict=True):
            ax.annotate(name, (LEFT, y), xytext=(-8, 0), textcoords="offset points", ha="right", va="center")
        for name, y in zip(self.output_names, right, strict=True):
            ax.annotate(name, (RIGHT, y), xytext=(8, 0), textcoords="offset points", ha="left", va="center")
        ax.set(xlim=(LEFT - 0.5, RIGHT + 0.5), ylim=(-0.08, 1.08), xticks=[LEFT, MIDDLE, RIGHT], yticks=[])
        ax.set_xticklabels(["features", "hidden units", "outputs"])
        for spine in ax.spines.values():
            spine.set_visible(False)
        ax.tick_params(length=0)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _untangled(self, left: Array, middle: Array) -> Array:
        """Return the places of the units, each near the features that it is connected to."""
        if not self.weights.size:
            return middle
        share = np.abs(self.weights)
        total = share.sum(axis=1)
        centre = np.where(total > 0.0, (share @ left) / np.where(total > 0.0, total, 1.0), 0.5)
        places = np.empty_like(middle)
        places[np.argsort(-centre, kind="stable")] = middle
        return places


def _names(estimator: Any, given: Sequence[str] | None) -> list[str]:
    n_features = estimator.n_features_in_
    if given is not None:
        if len(given) != n_features:
            msg = f"feature_names has {len(given)} names, but the network was fitted on {n_features} features"
            raise ValueError(msg)
        return [str(name) for name in given]
    return [str(name) for name in getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(n_features)])]


def _outputs(estimator: Any) -> list[str]:
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return ["y"]
    return [str(classes[-1])] if len(estimator.output_weights_) == 1 else [str(name) for name in classes]


def _spread(n: int) -> Array:
    """Return the heights of n nodes, from top to bottom."""
    return np.linspace(1.0, 0.0, n) if n > 1 else np.full(n, 0.5)


def _lines(ax: Any, ends: tuple[float, float], start: Array, end: Array, weights: Array, max_width: float) -> list[Any]:
    """Draw a line for each weight (ends by starts) that is not zero."""
    largest = float(np.abs(weights).max(initial=0.0)) or 1.0
    lines = []
    for to, at in np.argwhere(weights != 0.0).tolist():
        w = weights[to, at]
        width = THINNEST + (max_width - THINNEST) * abs(w) / largest
        color = POSITIVE if w > 0.0 else NEGATIVE
        lines += ax.plot(ends, [start[at], end[to]], color=color, linewidth=width, alpha=0.7, zorder=1)
    return lines
