"""The paper's figures again: the toy, bags, and error against number of features."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from papers._gbfs import bags, paper, toy
from papers._gbfs.curves import Run, Runs
from papers._gbfs.quality import Quality
from papers._gbfs.report import FURTHER, MAIN

FIGURES = {
    "toy": ("gbfs-figure1.png",),
    "bags": ("gbfs-figure2.png",),
    "curves": ("gbfs-figure3.png", "gbfs-figure7.png"),
    "connections": ("gbfs-figure4.png",),
    "quality": ("gbfs-figure5.png",),
    "genes": ("gbfs-figure6.png",),
}
_STYLE: dict[str, dict[str, Any]] = {
    "GBFS": {"color": "#d62728", "marker": "o"},
    "GBFS relative": {"color": "#ff9896", "marker": "o", "markerfacecolor": "white"},
    "L1-LR": {"color": "#1f77b4", "marker": ".", "linewidth": 1.0},
    "L1-LR refitted": {"color": "#1f77b4", "marker": "x", "linewidth": 1.0, "linestyle": "--"},
    "RF-FS": {"color": "#2ca02c", "marker": "s"},
    "mRMR": {"color": "#9467bd", "marker": "^"},
    "HSIC lasso": {"color": "#8c564b", "marker": "v"},
}
_REDS = ("#67000d", "#cb181d", "#fb6a4a", "#e08214", "#fdb863")


def draw_curves(runs: Sequence[Run], folder: Path) -> None:
    """Draw figures 3 and 7."""
    found = Runs(runs)
    for names, file, title in (
        (MAIN, "gbfs-figure3.png", "Test error against number of features (log scale)"),
        (FURTHER, "gbfs-figure7.png", "Six further pairs of MNIST: test error against number of features (log scale)"),
    ):
        shown = [name for name in names if name in found.data_sets]
        if shown:
            _panels(found, shown, folder / file, title)


def draw_genes(runs: Sequence[Run], folder: Path) -> None:
    """Draw what stands for figure 6."""
    found = Runs(runs)
    title = "Far more features than rows: test error against number of features (log scale)"
    _panels(found, found.data_sets, folder / "gbfs-figure6.png", title)


def _panels(found: Runs, names: Sequence[str], path: Path, title: str) -> None:
    from matplotlib.figure import Figure

    n_rows = -(-len(names) // 3)
    figure = Figure(figsize=(12.5, 3.6 * n_rows + 0.8), layout="constrained")
    grid = figure.subplots(n_rows, 3, squeeze=False)
    for axes, name in zip(grid.flat, names, strict=False):
        for method in found.methods(name):
            _line(axes, found.curve(method, name), method)
        axes.set_title(name)
        _log_features(axes)
    for axes in grid.flat[len(names) :]:
        axes.set_visible(False)
    for row in grid:
        row[0].set_ylabel("test error, %")
    for axes in grid[-1]:
        axes.set_xlabel("number of features")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.suptitle(title)
    figure.savefig(path, dpi=100)


def _line(axes: Any, curve: Sequence[Run], label: str, **style: Any) -> None:
    style = {"markersize": 4, "linewidth": 1.4, **_STYLE.get(label, {"color": "black"}), **style}
    axes.plot([run.n_features for run in curve], [100 * run.error for run in curve], label=label, **style)


def _log_features(axes: Any) -> None:
    axes.set_xscale("log")
    ticks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    low, high = axes.get_xlim()
    shown = [tick for tick in ticks if low <= tick <= high]
    axes.set_xticks(shown, [str(tick) for tick in shown])
    axes.minorticks_off()
    axes.grid(alpha=0.3)


def draw_connections(runs: Sequence[Run], folder: Path) -> None:
    """Draw figure 4."""
    from matplotlib.figure import Figure

    found = Runs(runs)
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    reds = iter(_REDS)
    for method in found.methods("kddcup99"):
        style = {"color": next(reds), "marker": ".", "linewidth": 1.0} if method.startswith("GBFS") else {}
        _line(axes, found.curve(method, "kddcup99"), method, **style)
    _log_features(axes)
    axes.set_xlabel("number of features (log scale)")
    axes.set_ylabel("test error, %")
    axes.set_title("kddcup99: GBFS as boosting goes on, 494,021 training rows")
    axes.legend(frameon=False)
    figure.savefig(folder / "gbfs-figure4.png", dpi=100)


def draw_quality(found: Sequence[Quality], folder: Path) -> None:
    """Draw figure 5."""
    from matplotlib.figure import Figure

    runs = Runs([Run(each.method, "uspst", each.n_features, each.error, 0.0) for each in found])
    figure = Figure(figsize=(7.5, 5), layout="constrained")
    axes = figure.subplots()
    for method in runs.methods("uspst"):
        _line(axes, runs.curve(method, "uspst"), method)
    _log_features(axes)
    axes.set_xlabel("number of features (log scale)")
    axes.set_ylabel("test error of an RBF SVM, %")
    axes.set_title("How good the selected features of uspst are to another classifier")
    axes.legend(frameon=False)
    figure.savefig(folder / "gbfs-figure5.png", dpi=100)


def draw_toy(folder: Path) -> None:
    """Draw the toy's rows in the plane of x and y, over what each method says there."""
    from matplotlib.figure import Figure

    problem = toy.instance(0)
    X, y = problem.data, problem.target
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    for axes, method in zip(figure.subplots(1, 2), toy.METHODS, strict=True):
        model = toy.fit(method, X, y, 0)
        said = model.predict(X)
        for label, colour in zip(np.unique(y), ("#1f77b4", "#d62728"), strict=True):
            for right, marker in ((True, "o"), (False, "x")):
                rows = (y == label) & ((said == y) == right)
                name = f"class {label}" + ("" if right else ", taken for the other")
                axes.scatter(X[rows, 0], X[rows, 1], s=14, color=colour, marker=marker, label=name, linewidths=0.8)
        used = ", ".join(problem.feature_names[j] for j in np.flatnonzero(model.support_)) or "none"
        axes.set_title(f"{method}: uses {used}; {100 * np.mean(said != y):.1f} % of these rows wrong")
        axes.set_xlabel(problem.feature_names[0])
        axes.set_ylabel(problem.feature_names[1])
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(folder / "gbfs-figure1.png", dpi=100)


def draw_bags(outcomes: Sequence[bags.Outcome], folder: Path) -> None:
    """Draw which bags each method opens on the first split, and its errors over all."""
    from matplotlib.figure import Figure

    methods = list(dict.fromkeys(outcome.method for outcome in outcomes))
    figure = Figure(figsize=(11.5, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.6, 1.0))
    first = [next(o for o in outcomes if o.method == method and o.split == 0) for method in methods]
    shares = np.array([np.array(o.bags) / np.maximum(o.sizes, 1) for o in first])
    left.imshow(shares > 0, cmap="Blues", vmin=0.0, vmax=2.5, aspect="auto")
    for i, outcome in enumerate(first):
        for j, (count, size) in enumerate(zip(outcome.bags, outcome.sizes, strict=True)):
            left.text(j, i, f"{count}\n/{size}", ha="center", va="center", fontsize=8)
    left.set_xticks(range(paper.BAGS), [str(bag + 1) for bag in range(paper.BAGS)])
    left.set_yticks(range(len(methods)), methods)
    left.set_xlabel("bag (a cluster of genes on the training tissues: a stand-in for the paper's)")
    left.set_title("First split: selected genes of all in each bag")
    for i, method in enumerate(methods):
        errors = [100 * o.error for o in outcomes if o.method == method]
        opened = np.mean([o.n_bags for o in outcomes if o.method == method])
        spread = np.std(errors, ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else 0.0
        right.barh(i, np.mean(errors), xerr=spread, color="#7fb3d9", capsize=3)
        right.text(0.5, i, f"{opened:.1f} bags", va="center", fontsize=9)
    right.set_yticks(range(len(methods)), [""] * len(methods))
    right.invert_yaxis()
    right.set_xlabel("test error, % (mean ± standard error)")
    right.set_title(f"All {len(outcomes) // len(methods)} splits")
    figure.savefig(folder / "gbfs-figure2.png", dpi=100)
