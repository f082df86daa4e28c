"""Tables 2 and 3 and the times: ours beside the paper's, tests that respect the splits, and what was varied."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon

from papers._tables import ABSENT, Table, written
from papers._zero_norm import paper
from papers._zero_norm.compare import MARK, Pair, pair, percent
from papers._zero_norm.microarray import PUBLISHED, VARIANTS, VARIED, Errors, Seconds, methods_of
from skgraft import corrected_resampled_ttest

FIGURE = "zero_norm-genes.png"
LEVEL = 0.05
_TITLES = {"colon": "Table 2: colon tissues", "lymphoma": "Table 3: lymphomas"}
_COLOURS = dict(zip(paper.COMPARED, ("#7f7f7f", "#2ca02c", "#9467bd", "#ff7f0e", "#1f77b4"), strict=True))
_UNKNOWN: Mapping[str, str] = {
    "colon": (
        "The paper does not say how the intensities were prepared. Logarithms and standardised genes were chosen "
        "beforehand; the other ways were run to see what they change, not to choose."
    ),
    "lymphoma": (
        "The paper counts 61 malignant samples of 96 and 35 others; which is which is not recorded. The nearest "
        "labelling to be had has 62 and 34, another 66 and 30."
    ),
}


class Results:
    """The errors by data set, variant, method and number of genes."""

    def __init__(self, errors: Sequence[Errors]) -> None:
        self._by_kind = {(e.data, e.variant, e.method, e.n_genes): e.errors for e in errors}

    def errors(self, data: str, method: str, n_genes: int, variant: str) -> list[float]:
        """Return the errors of all splits."""
        return self._by_kind[data, variant, method, n_genes]

    def pair(self, data: str, method: str, n_genes: int, variant: str) -> Pair:
        """Return a cell beside the paper's."""
        published = PUBLISHED[data][n_genes][paper.COMPARED.index(method)]
        return pair(self.errors(data, method, n_genes, variant), published)

    def pairs(self, data: str, variant: str) -> list[Pair]:
        """Return all cells with selection beside the paper's."""
        sizes = list(PUBLISHED[data])[1:]
        return [self.pair(data, method, size, variant) for method in methods_of(data, variant) for size in sizes]

    @property
    def data(self) -> list[str]:
        """The data sets that were at hand."""
        return list(dict.fromkeys(key[0] for key in self._by_kind))


def tables(errors: Sequence[Errors], n_splits: int) -> list[Table]:
    """Return for each data set its table, its tests and its variants."""
    found = Results(errors)
    result = []
    for data in found.data:
        result += [_errors(found, data, n_splits), _tests(found, data), _variants(found, data)]
    return result


def _errors(found: Results, data: str, n_splits: int) -> Table:
    main = VARIANTS[data][0]
    rows = [
        [str(size), *(found.pair(data, method, size, main).cell(1) for method in paper.COMPARED)]
        for size in PUBLISHED[data]
    ]
    n_train, n_test = paper.SPLITS[data]
    whole = next(iter(PUBLISHED[data]))
    many = found.errors(data, "SVM", whole, main)
    return Table(
        f"{_TITLES[data]}, {n_train} for training and {n_test} for test, test error in percent of {n_splits} splits",
        ["genes", *(f"{name} SVM" for name in paper.COMPARED)],
        rows,
        [
            MARK,
            _UNKNOWN[data],
            f"Here: {main}. Without selection on {len(many)} splits: {written(*percent(many), 2)} percent.",
            "RFE and R2W2 have C = 1000 in their own machines; the paper has infinity.",
            (
                "A linear program has at most as many weights as rows. Where FSV is asked for more genes than its "
                "first program uses, the others are taken in their order."
            ),
        ],
    )


def _tests(found: Results, data: str) -> Table:
    main, (n_train, n_test) = VARIANTS[data][0], paper.SPLITS[data]
    rows = []
    for size in list(PUBLISHED[data])[1:]:
        corrected, plain = [], 0
        for a, b in combinations(paper.COMPARED, 2):
            first, second = (np.array(found.errors(data, name, size, main)) for name in (a, b))
            result = corrected_resampled_ttest(first, second, n_train=n_train, n_test=n_test)
            if result.pvalue < LEVEL:
                better = a if result.mean_difference < 0 else b
                corrected.append(f"{better} before {b if better == a else a} (p = {result.pvalue:.2g})")
            plain += not np.array_equal(first, second) and wilcoxon(first, second).pvalue < LEVEL
        rows.append([str(size), "; ".join(corrected) or "none", f"{plain} of 10"])
    said = {
        "colon": "The paper: no difference is significant but that of CORR from the others at 20 genes, while the "
        "Wilcoxon test calls many so.",
        "lymphoma": "The paper: no difference is significant.",
    }
    return Table(
        f"{_TITLES[data]}: pairs of methods that differ at {LEVEL:g}",
        ["genes", "corrected resampled t-test", "Wilcoxon test"],
        rows,
        [said[data]],
    )


def _variants(found: Results, data: str) -> Table:
    rows = []
    sizes = list(PUBLISHED[data])
    for variant in VARIANTS[data]:
        pairs = found.pairs(data, variant)
        means = [
            f"{np.mean([found.pair(data, method, size, variant).ours for size in sizes[1:]]):.1f}"
            if method in methods_of(data, variant)
            else ABSENT
            for method in paper.COMPARED
        ]
        whole = found.errors(data, VARIED[0], sizes[0], variant)
        differing = sum(p.differs for p in pairs)
        rows.append(
            [variant, str(len(whole)), written(*percent(whole), 1), *means, f"{differing} of {len(pairs)}", _gap(pairs)]
        )
    published = PUBLISHED[data]
    means = [f"{np.mean([published[size][j][0] for size in sizes[1:]]):.1f}" for j in range(len(paper.COMPARED))]
    rows.append(["the paper", "30", f"{published[sizes[0]][0][0]:.1f}", *means, ABSENT, ABSENT])
    return Table(
        f"{_TITLES[data]}: what the paper leaves open, varied (error in percent, mean over all numbers of genes)",
        ["variant", "splits", "all genes", *paper.COMPARED, "cells that differ", "ours less the paper's"],
        rows,
        [_remains(found, data)],
    )


def _gap(pairs: Sequence[Pair]) -> str:
    return f"{np.mean([p.ours - p.paper for p in pairs]):+.1f}"


def _remains(found: Results, data: str) -> str:
    sizes = list(PUBLISHED[data])[1:]
    cells = [
        f"{method} at {size}"
        for method in paper.COMPARED
        for size in sizes
        if all(found.pair(data, method, size, v).differs for v in VARIANTS[data] if method in methods_of(data, v))
    ]
    if not cells:
        return "No cell differs by more than 3 combined standard errors in all variants."
    return f"What remains different in all variants: {'; '.join(cells)}."


def time_tables(seconds: Sequence[Seconds]) -> list[Table]:
    """Return our times beside the paper's, and both in fits of a support vector machine."""
    ours = {s.method: s.seconds for s in seconds}
    rows = []
    for method, time in ours.items():
        stated = paper.SECONDS.get(method)
        rows.append(
            [
                method,
                f"{1e3 * time:.1f} ms",
                f"{time / ours['SVM']:.1f}",
                f"{stated:g} s" if stated else ABSENT,
                f"{stated / paper.SECONDS['SVM']:.1f}" if stated else ABSENT,
            ]
        )
    return [
        Table(
            "Training times: lymphomas, 60 rows, 4,026 genes to 20",
            ["method", "ours", "in SVM fits", "paper (2003)", "in SVM fits"],
            rows,
            [
                "Processor time of choosing 20 genes and training on them, median of five runs.",
                "The paper's FSV solves linear programs over all genes; ours by column generation over few.",
                "Ours eliminates one gene at a time; how many the paper's RFE removes at a time it does not say.",
            ],
        )
    ]


def draw(errors: Sequence[Errors], n_splits: int, folder: Path) -> None:
    """Draw the errors over the number of genes, ours with solid and the paper's with dashed lines."""
    from matplotlib.figure import Figure

    found = Results(errors)
    figure = Figure(figsize=(12, 4.8), layout="constrained")
    for axes, data in zip(np.atleast_1d(figure.subplots(1, len(found.data))), found.data, strict=True):
        sizes = list(PUBLISHED[data])
        for method in paper.COMPARED:
            pairs = [found.pair(data, method, size, VARIANTS[data][0]) for size in sizes]
            colour = _COLOURS[method]
            axes.errorbar(
                sizes, [p.ours for p in pairs], [p.ours_error for p in pairs], color=colour, capsize=2, marker="o",
                markersize=4, label=method,
            )  # fmt: skip
            axes.plot(sizes, [p.paper for p in pairs], color=colour, linestyle="--", marker="D", markersize=3)
        axes.set_xscale("log")
        axes.invert_xaxis()
        axes.set_xticks(sizes, [str(size) for size in sizes], rotation=45)
        axes.minorticks_off()
        axes.set(title=_TITLES[data].split(": ")[1], xlabel="genes", ylabel="test error in percent")
        axes.grid(alpha=0.3)
    figure.axes[0].legend(frameon=False, title="solid: ours; dashed: the paper")
    figure.suptitle(f"Fewer and fewer genes: ours, {n_splits} splits, bars of one standard error")
    figure.savefig(folder / FIGURE, dpi=100)
