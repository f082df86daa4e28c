"""Figure 2 and table 1: what the experiment with irrelevant features showed, ours beside the paper's."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import norm

from papers._grafting import paper
from papers._grafting.irrelevant import COARSE, GRIDS, L0, L0_COARSE, L1, L2, NONE, REGULARISERS, Outcome
from papers._tables import ABSENT, Table, written

FIGURE = "grafting-figure2.png"
_COLOURS = {NONE: "#7f7f7f", L0: "#d62728", L0_COARSE: "#f2a3a3", L1: "#1f77b4", L2: "#2ca02c"}
_MARKERS = {NONE: "x", L0: "s", L0_COARSE: "s", L1: "o", L2: "^"}
_LABELS = {
    NONE: "none",
    L0: "l0, backward elimination",
    L0_COARSE: f"l0, losses known to {COARSE:g}",
    L1: "l1",
    L2: "l2",
}
_FEW, _MANY = (0, 1), (8, 12)  # first and last number of irrelevant features: most relevant, most irrelevant


class Outcomes:
    """The outcomes by sigma, number of irrelevant features and regulariser."""

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self._by_kind = {(o.sigma, o.n_irrelevant, o.regulariser): o for o in outcomes}

    def __call__(self, sigma: float, n_irrelevant: int, regulariser: str) -> Outcome:
        """Return one outcome."""
        return self._by_kind[sigma, n_irrelevant, regulariser]

    def curve(self, sigma: float, regulariser: str) -> list[Outcome]:
        """Return the outcomes of one curve of figure 2."""
        return [self(sigma, n, regulariser) for n in range(paper.LARGEST_IRRELEVANT + 1)]

    def mean_error(self, sigma: float, regulariser: str, first: int, last: int) -> float:
        """Return the mean error over a range of numbers of irrelevant features."""
        return float(np.mean([o.error for o in self.curve(sigma, regulariser)[first : last + 1]]))

    def lead(self, sigma: float, regulariser: str, first: int, last: int) -> tuple[float, float]:
        """Return by how much a regulariser errs more than l1 over a range, and the standard error of that.

        The instances of a range share their informative features, so the errors are averaged, not pooled.
        """
        part = self.curve(sigma, regulariser)[first : last + 1]
        return float(np.mean([o.behind_l1 for o in part])), float(np.mean([o.behind_l1_se for o in part]))


def tables(outcomes: Sequence[Outcome], repetitions: int) -> list[Table]:
    """Return the curves as a table, the paper's statements about them with ours, and table 1."""
    found = Outcomes(outcomes)
    return [_curves(found, repetitions), _statements(found), _table_1(found)]


def _curves(found: Outcomes, repetitions: int) -> Table:
    rows = []
    for sigma in paper.SIGMAS:
        for n in range(paper.LARGEST_IRRELEVANT + 1):
            all_of_kind = [found(sigma, n, name) for name in REGULARISERS]
            chosen = [f"{o.parameter:g}" for o in all_of_kind[1:]]
            rows.append([f"{sigma:g}", str(n), *(written(o.error, o.error_se, 4) for o in all_of_kind), *chosen])
    return Table(
        f"Figure 2 as numbers: mean test error of {repetitions} repetitions",
        ["sigma", "irrelevant", *(_LABELS[name] for name in REGULARISERS), "l0 keeps", "coarse keeps", "l1", "l2"],
        rows,
        [
            (
                "The last four columns are the parameters with the least mean error on other instances of the same "
                "kind, one choice for each kind of problem, as in the paper."
            ),
            "The paper prints the curves without values, so there is no column of its own here.",
            _edge_remark(found),
        ],
    )


def _edge_remark(found: Outcomes) -> str:
    at_edge = [
        f"{name} at sigma {sigma:g} with {o.n_irrelevant}"
        for name, grid in GRIDS.items()
        for sigma in paper.SIGMAS
        for o in found.curve(sigma, name)
        if o.parameter in {grid.min(), grid.max()}
    ]
    if not at_edge:
        return "No choice lies at an end of the values tried."
    return f"Choices at an end of the values tried: {'; '.join(at_edge)}."


def _statements(found: Outcomes) -> Table:
    """Return each statement of section 2.2.2 about figure 2 with what we measured for both deviations."""
    few, many = "0 or 1 irrelevant", "8 to 12 irrelevant"
    rows = [
        ["Bayes error", *(f"{paper.BAYES_ERROR[s]:g}; exact value {_bayes_error(s):.4f}" for s in paper.SIGMAS)],
        [f"none and l0 err most ({many})", *(_ranking(found, s, *_MANY) for s in paper.SIGMAS)],
        [f"the same, l0 by losses known to {COARSE:g}", *(_coarse_ranking(found, s) for s in paper.SIGMAS)],
        ["l0 does relatively better at the low sigma (l0 / none)", *(_share(found, s, L0) for s in paper.SIGMAS)],
        [f"l2 is slightly ahead of l1 ({few})", *(_lead_words(found, s, L2, *_FEW) for s in paper.SIGMAS)],
        [f"l1 is ahead of l2 ({many})", *(_lead_words(found, s, L2, *_MANY) for s in paper.SIGMAS)],
        ["l1 levels off beyond 4 irrelevant", *(_rise(found, s, L1) for s in paper.SIGMAS)],
        ["l2 goes on degrading beyond 4 irrelevant", *(_rise(found, s, L2) for s in paper.SIGMAS)],
    ]
    return Table(
        "Section 2.2.2: what the paper says of figure 2, and what we measure",
        ["the paper", *(f"ours, sigma {s:g}" for s in paper.SIGMAS)],
        rows,
        _discussion(found),
    )


def _bayes_error(sigma: float) -> float:
    return float(norm.cdf(-np.sqrt(2.0) / sigma))


def _ranking(found: Outcomes, sigma: float, first: int, last: int) -> str:
    errors = {name: found.mean_error(sigma, name, first, last) for name in (NONE, L0, L1, L2)}
    return ", ".join(f"{name} {errors[name]:.4f}" for name in sorted(errors, key=errors.__getitem__, reverse=True))


def _coarse_ranking(found: Outcomes, sigma: float) -> str:
    return f"l0 coarse {found.mean_error(sigma, L0_COARSE, *_MANY):.4f}"


def _lead_words(found: Outcomes, sigma: float, regulariser: str, first: int, last: int) -> str:
    lead, error = found.lead(sigma, regulariser, first, last)
    return f"{regulariser} - l1 = {lead:+.4f} ± {error:.4f}"


def _share(found: Outcomes, sigma: float, regulariser: str) -> str:
    return f"{found.mean_error(sigma, regulariser, *_MANY) / found.mean_error(sigma, NONE, *_MANY):.2f}"


def _rise(found: Outcomes, sigma: float, regulariser: str) -> str:
    low, high = found(sigma, 4, regulariser), found(sigma, paper.LARGEST_IRRELEVANT, regulariser)
    return f"{low.error:.4f} at 4, {high.error:.4f} at {high.n_irrelevant} ({high.error / low.error - 1:+.0%})"


def _discussion(found: Outcomes) -> list[str]:
    """Return where ours and the paper's findings part; which sentence is said depends on what was measured."""
    remarks = [
        "The Bayes error is Φ(-√2/σ). The paper's value for sigma 1 is that, rounded; its value for sigma 0.5 is not.",
        (
            "On separable rows the loss has no minimum. `none` and the elimination therefore have a vanishing l2 of "
            "1e-6, which leads to the widest margin; where the paper's search stopped there is not known."
        ),
        "The choice of parameters is as in the paper: the same for all instances of a kind, made on other instances.",
    ]
    return [*remarks, *(_on_l0(found, sigma) for sigma in paper.SIGMAS), _on_precision(found)]


def _on_precision(found: Outcomes) -> str:
    low, high = (_share(found, sigma, L0_COARSE) for sigma in paper.SIGMAS)
    return (
        f"A coarse search is thus a possible reason for the paper's ranking of l0, not a proven one. The {COARSE:g} is "
        "ours, not the paper's: of 1e-4, 1e-3 and 1e-2, tried beforehand, it is the finest at which l0 falls behind "
        f"l2. And l0 coarse / none is {low} at sigma 0.5 and {high} at sigma 1, while the paper has l0 relatively "
        "better at the low sigma."
    )


def _on_l0(found: Outcomes, sigma: float) -> str:
    l0, coarse, l2 = (found.mean_error(sigma, name, *_MANY) for name in (L0, L0_COARSE, L2))
    finding = f"sigma {sigma:g}, 8 to 12 irrelevant: l0 errs {l0:.4f} and l2 {l2:.4f}; in the paper l0 errs more. "
    if l0 > l2:
        return finding + "So it does in ours."
    measured = (
        "In ours it does not. Many subsets separate the 20 rows, with losses near zero that only an exact minimisation "
        f"tells apart. Where losses that differ by less than {COARSE:g} count as equal, l0 errs {coarse:.4f}"
    )
    if coarse > l2:
        return finding + measured + ", more than l2."
    return finding + measured + ", still no more than l2."


def _table_1(found: Outcomes) -> Table:
    ours = {
        "sparse solutions": _cells(found, _weights_kept),
        "most features relevant": _cells(found, lambda f, name: _errors(f, name, *_FEW)),
        "most features irrelevant": _cells(found, lambda f, name: _errors(f, name, *_MANY)),
        "numerical friendliness": _cells(found, _milliseconds),
    }
    rows = []
    for verdict in paper.TABLE_1:
        cells = ours.get(verdict.criterion, [ABSENT] * 3)
        words = (verdict.l0, verdict.l1, verdict.l2)
        rows.append([verdict.criterion, *(f"{word}: {cell}" for word, cell in zip(words, cells, strict=True))])
    return Table(
        "Table 1: the paper's word, then what we measure",
        ["criterion", "l0", "l1", "l2"],
        rows,
        [
            "Sparse solutions: mean number of weights in use out of 14, sigma 0.5 / 1, 12 irrelevant features.",
            "Most relevant, most irrelevant: mean error at 0 or 1 and at 8 to 12 irrelevant features, sigma 0.5 / 1.",
            (
                "Numerical friendliness: milliseconds of a repetition at 12 irrelevant features, sigma 1. The "
                "elimination treats all repetitions as one batch, which l1 and l2, fitted one at a time by the "
                "estimator, do not; it needs 105 fits where they need one."
            ),
            f"{ABSENT}: a property of the definition, nothing to measure.",
        ],
    )


def _cells(found: Outcomes, measure: Callable[[Outcomes, str], str]) -> list[str]:
    return [measure(found, name) for name in (L0, L1, L2)]


def _weights_kept(found: Outcomes, name: str) -> str:
    return " / ".join(f"{found(s, paper.LARGEST_IRRELEVANT, name).n_weights:.1f}" for s in paper.SIGMAS)


def _errors(found: Outcomes, name: str, first: int, last: int) -> str:
    return " / ".join(f"{found.mean_error(s, name, first, last):.4f}" for s in paper.SIGMAS)


def _milliseconds(found: Outcomes, name: str) -> str:
    return f"{1e3 * found(paper.SIGMAS[1], paper.LARGEST_IRRELEVANT, name).seconds:.1f} ms"


def draw(outcomes: Sequence[Outcome], repetitions: int, folder: Path) -> None:
    """Draw figure 2: a panel for each deviation, a curve for each regulariser."""
    from matplotlib.figure import Figure

    found = Outcomes(outcomes)
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    for axes, sigma in zip(figure.subplots(1, 2), paper.SIGMAS, strict=True):
        for name in REGULARISERS:
            curve = found.curve(sigma, name)
            axes.errorbar(
                [o.n_irrelevant for o in curve],
                [o.error for o in curve],
                [o.error_se for o in curve],
                color=_COLOURS[name],
                marker=_MARKERS[name],
                markersize=5,
                capsize=2,
                linestyle="--" if name == L0_COARSE else "-",
                label=_LABELS[name],
            )
        axes.axhline(_bayes_error(sigma), color="black", linewidth=1, linestyle=":")
        axes.annotate(
            f"Bayes error {_bayes_error(sigma):.4f} (paper: {paper.BAYES_ERROR[sigma]:g})",
            (paper.LARGEST_IRRELEVANT, _bayes_error(sigma)),
            xytext=(0, -4),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=8,
        )
        axes.set(title=f"σ = {sigma:g}", xlabel="number of irrelevant features", ylabel="mean test error")
        axes.set_ylim(bottom=0.0 if sigma > min(paper.SIGMAS) else -0.003)
        axes.set_xticks(range(0, paper.LARGEST_IRRELEVANT + 1, 2))
        axes.grid(alpha=0.3)
    figure.axes[0].legend(frameon=False, loc="upper left")
    figure.suptitle(
        f"Regularisers and irrelevant features: ours, {repetitions} repetitions, bars of one standard error"
    )
    figure.savefig(folder / FIGURE, dpi=110)
