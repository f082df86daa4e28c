"""Pictures of the comparison: figure 3 with its three panels, and the ratios of table 3."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from papers._grafting import paper
from papers._grafting.algorithms import ALGORITHMS
from papers._grafting.comparison import CHOSEN, STATED, Run
from papers._grafting.measures import VARIANT, Runs, error, n_features, ratios, saliency, stated_ratios
from papers._tables import mean_and_error

FIGURE_3 = "grafting-figure3.png"
TIMES = "grafting-times.png"
_COLOURS = {
    "a": "#1f77b4",
    VARIANT: "#7fb3d9",
    "b": "#9467bd",
    "b'": "#c5b0d5",
    "c": "#ff7f0e",
    "d": "#8c564b",
    "e": "#2ca02c",
    "f": "#d62728",
    "g": "#e377c2",
    "h": "#7f7f7f",
}
# What the text gives as numbers for single algorithms, to be marked in the panel of errors: low and high end.
_STATED_ERROR: Mapping[tuple[str, str], tuple[float, float]] = {
    **{(key, "A"): (0.36, 0.38) for key in "ace"},
    **{(key, "E"): (0.25, 0.25) for key in "acf"},
    ("e", "E"): (0.2, 0.2),
    **{(key, "D"): (0.001, 0.001) for key in "acef"},
}


def draw_figure_3(runs: Sequence[Run], instances: int, folder: Path) -> None:
    """Draw error, number of features and saliency: bars by cross-validation, diamonds by the paper's parameters."""
    from matplotlib.figure import Figure

    found = Runs(runs)
    figure = Figure(figsize=(14, 10), layout="constrained")
    panels = figure.subplots(3, 1)
    for axes, measure, label, digits in (
        (panels[0], error, "test error", 3),
        (panels[1], n_features, "number of features (log)", 0),
        (panels[2], saliency, "saliency", 2),
    ):
        _bars(axes, found, measure, digits)
        axes.set_ylabel(label)
        axes.grid(axis="y", alpha=0.3)
    for (key, data_set), (low, high) in _STATED_ERROR.items():
        _stated_mark(panels[0], key, data_set, low, high)
    panels[1].set_yscale("symlog", linthresh=1.0)
    panels[1].set_yticks([0, 1, 10, 100, 1000], ["0", "1", "10", "100", "1000"])
    panels[1].set_ylim(0, 4000)
    panels[2].axhline(0.0, color="black", linewidth=0.8)
    panels[2].set_ylim(-1.1, 1.3)
    for place in (3, 4):
        panels[2].text(place, 0.1, "truth not known", ha="center", fontsize=9, color="#555555")
    _legend(figure, panels[0])
    figure.suptitle(
        f"Ours on data sets A to E: mean ± standard error of {instances} instances or splits, the mean as a number"
    )
    figure.savefig(folder / FIGURE_3, dpi=100)


def _width() -> float:
    return 0.85 / len(ALGORITHMS)


def _place(key: str, data_set: str) -> float:
    keys = sorted(ALGORITHMS)
    return paper.DATA_SETS.index(data_set) + (keys.index(key) - (len(keys) - 1) / 2) * _width()


def _bars(axes: Any, found: Runs, measure: Any, digits: int) -> None:
    for key in sorted(ALGORITHMS):
        for data_set in paper.DATA_SETS:
            values = found.values(key, CHOSEN, data_set, measure)
            if not values:
                continue
            mean, deviation = mean_and_error(values)
            x = _place(key, data_set)
            axes.bar(x, mean, 0.92 * _width(), yerr=np.nan_to_num(deviation), color=_COLOURS[key], capsize=2)
            stated = found.mean(key, STATED, data_set, measure)
            _label(axes, x, max(mean + np.nan_to_num(deviation), stated, 0.0), mean, digits)
            axes.plot(x, stated, marker="D", markersize=5, color="white", markeredgecolor="black", linestyle="")
    axes.set_xticks(range(len(paper.DATA_SETS)), [f"data set {name}" for name in paper.DATA_SETS])
    axes.set_xlim(-0.5, len(paper.DATA_SETS) - 0.5)


def _label(axes: Any, x: float, top: float, mean: float, digits: int) -> None:
    axes.annotate(
        f"{mean:.{digits}f}",
        (x, top),
        xytext=(0, 5),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=7.5,
    )


def _stated_mark(axes: Any, key: str, data_set: str, low: float, high: float) -> None:
    if key in ALGORITHMS:
        x, half = _place(key, data_set), 0.5 * _width()
        axes.hlines([low, high], x - half, x + half, color="black", linewidth=1.5)


def _legend(figure: Any, axes: Any) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(color=_COLOURS[key], label=f"({key}) {ALGORITHMS[key].name}") for key in sorted(ALGORITHMS)
    ]
    handles.append(
        Line2D([], [], marker="D", color="white", markeredgecolor="black", label="ours with the paper's parameters")
    )
    handles.append(Line2D([], [], color="black", linewidth=1.5, label="error (or range) in the paper"))
    figure.legend(handles=handles, loc="outside lower center", ncols=4, columnspacing=1.2, frameon=False)
    axes.set_ylim(0.0, 0.62)


def draw_times(runs: Sequence[Run], instances: int, folder: Path) -> None:
    """Draw how many times longer gradient descent on all weights takes than grafting, ours and the paper's."""
    from matplotlib.figure import Figure

    found = Runs(runs)
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.subplots()
    bars = (
        ("paper, Matlab 2003", stated_ratios("c", "a"), "#555555"),
        ("ours, the paper's parameters", ratios(found, "c", "a", STATED), "#1f77b4"),
        ("ours, cross-validated parameters", ratios(found, "c", "a", CHOSEN), "#7fb3d9"),
    )
    for shift, (label, heights, colour) in enumerate(bars):
        places = np.arange(len(paper.DATA_SETS)) + 0.27 * (shift - 1)
        shown = axes.bar(places, np.nan_to_num(heights, nan=1.0) - 1.0, 0.25, bottom=1.0, color=colour, label=label)
        texts = ["" if np.isnan(height) else f"{height:.2g}" if height < 100 else f"{height:.0f}" for height in heights]
        for bar, text, height in zip(shown, texts, heights, strict=True):
            above = not height < 1.0
            axes.annotate(
                text,
                (bar.get_x() + bar.get_width() / 2, max(height, 1.0) if above else height),
                xytext=(0, 3 if above else -3),
                textcoords="offset points",
                ha="center",
                va="bottom" if above else "top",
                fontsize=8,
            )
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_yscale("log")
    axes.margins(y=0.12)
    axes.set_xticks(range(len(paper.DATA_SETS)), [f"data set {name}" for name in paper.DATA_SETS])
    axes.set_ylabel("time of (c) / time of (a)")
    axes.set_title(f"Gradient descent on all weights against grafting (ours: mean of {instances} instances)")
    axes.legend(frameon=False)
    figure.savefig(folder / TIMES, dpi=110)
