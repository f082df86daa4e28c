"""Figure 1: the errors of a polynomial machine, a linear one and AROM, and the paper's statements about them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from papers._tables import Table, mean_and_error, written
from papers._zero_norm import paper
from papers._zero_norm.compare import percent
from papers._zero_norm.polynomials import AROM, LINEAR, ROWS, SPANNED, SVM, TARGETS, WIDE, Learned

FIGURE = "zero_norm-figure1.png"
_STYLES = {SVM: ("#d62728", "--"), AROM: ("#1f77b4", "-"), LINEAR: ("#2ca02c", ":")}


class Results:
    """The errors by target, number of points and method."""

    def __init__(self, learned: Sequence[Learned]) -> None:
        self._learned = learned

    def errors(self, target: str, method: str, n_points: int, trials: int | None = None) -> list[float]:
        """Return the errors of all trials, or of the first few."""
        return [
            each.error
            for each in self._learned
            if (each.target, each.method, each.n_points) == (target, method, n_points)
            and (trials is None or each.trial < trials)
        ]

    def mean(self, target: str, method: str) -> float:
        """Return the mean error over all numbers of points."""
        return float(np.mean([np.mean(self.errors(target, method, size)) for size in paper.SIZES]))

    def lead(self, target: str, other: str) -> tuple[float, float]:
        """Return by how much AROM errs less than another machine, over all numbers of points, and its error."""
        paired = [
            np.mean([np.array(self.errors(target, m, size)) for size in paper.SIZES], axis=0) for m in (other, AROM)
        ]
        return mean_and_error(paired[0] - paired[1])

    def n_monomials(self, target: str, n_points: int) -> float:
        """Return how many monomials AROM leaves."""
        counts = [
            each.n_monomials
            for each in self._learned
            if (each.target, each.method, each.n_points) == (target, AROM, n_points)
        ]
        return float(np.mean(counts))

    @property
    def spanned(self) -> bool:
        """Whether some trials were also run by kernels alone."""
        return any(each.method == ROWS for each in self._learned)


def tables(learned: Sequence[Learned], trials: int) -> list[Table]:
    """Return the curves as numbers, the paper's statements, and the comparison of implementations."""
    found = Results(learned)
    result = [_curves(found, trials), _statements(found)]
    return [*result, _implementations(found, min(trials, SPANNED))] if found.spanned else result


def _curves(found: Results, trials: int) -> Table:
    rows = []
    for target, (name, _) in TARGETS.items():
        for size in paper.SIZES:
            cells = [written(*percent(found.errors(target, method, size)), 1) for method in (SVM, LINEAR, AROM)]
            rows.append([f"({target}) {name}", str(size), *cells, f"{found.n_monomials(target, size):.1f}"])
    return Table(
        f"Figure 1 as numbers: test error in percent of {trials} trials",
        ["target", "points", "SVM, degree 2", "linear SVM", "l2-AROM, degree 2", "monomials left of 65"],
        rows,
        [
            "The paper prints the curves without values, so there is no column of its own here.",
            (
                "Points and coefficients are standard normal; the paper does not say how its own were drawn. Draws "
                "whose first 20 points have fewer than two of a class are made again."
            ),
            "SVM and AROM have hard margins. A linear machine has none on most targets and gets C = 1000.",
        ],
    )


def _statements(found: Results) -> Table:
    def leads(other: str) -> dict[str, tuple[float, float]]:
        return {target: found.lead(target, other) for target in TARGETS}

    ahead = leads(SVM)
    words = {target: f"{100 * lead:+.1f} ± {100 * error:.1f}" for target, (lead, error) in ahead.items()}
    largest = max(ahead, key=lambda target: ahead[target][0])
    linear = found.lead("b", LINEAR)
    dense_first = found.mean("b", SVM) - found.mean("b", LINEAR)
    rows = [
        ["(a) to (d): AROM clearly outperforms the SVM", ", ".join(f"({t}) {words[t]}" for t in "abcd")],
        ["the difference is largest in (b)", f"largest in ({largest}) {words[largest]}; (b) {words['b']}"],
        ["(b): the linear SVM outperforms the polynomial one", f"{100 * dense_first:+.1f}"],
        ["(b): AROM outperforms even the linear SVM", f"{100 * linear[0]:+.1f} ± {100 * linear[1]:.1f}"],
        ["(e), 80 % sparse: AROM outperforms the SVM", words["e"]],
        ["(f), not sparse: AROM is not much worse", words["f"]],
    ]
    return Table(
        "Figure 1: what the paper says, and by how many percent ours errs less (mean over all numbers of points)",
        ["the paper", "ours"],
        rows,
        [_verdict(ahead, linear)],
    )


def _verdict(ahead: dict[str, tuple[float, float]], linear: tuple[float, float]) -> str:
    sparse = all(ahead[t][0] > 3 * ahead[t][1] for t in "abcd")
    parts = [
        f"(a) to (d) {'hold' if sparse else 'do not all hold'} by more than three standard errors",
        f"AROM before the linear SVM on (b) {'holds' if linear[0] > 3 * linear[1] else 'does not hold'}",
        f"(e) {'holds' if ahead['e'][0] > 0 else 'does not hold'}",
        f"on (f) AROM errs {-100 * ahead['f'][0]:.1f} percent more",
    ]
    return "; ".join(parts) + "."


def _implementations(found: Results, trials: int) -> Table:
    rows = []
    for target, (name, _) in TARGETS.items():
        for size in paper.SIZES:
            cells = [
                f"{100 * np.mean(found.errors(target, method, size, trials)):.1f}" for method in (AROM, ROWS, WIDE)
            ]
            rows.append([f"({target}) {name}", str(size), *cells])
    agree = np.mean(
        [
            found.errors(t, AROM, size, trials)[i] == found.errors(t, WIDE, size, trials)[i]
            for t in TARGETS
            for size in paper.SIZES
            for i in range(trials)
        ]
    )
    return Table(
        f"Section 3.4: AROM with all monomials and by kernels alone, test error in percent of {trials} trials",
        ["target", "points", "explicit", "kernels, span of the training rows", "kernels, random points added"],
        rows,
        [
            (
                "The paper found kernels and explicit monomials identical, and expects them not to be where the "
                "solution is outside the span of the training vectors. In ours they are the same where the rows "
                "span the 65 monomials (75 and 100 points) and differ where they do not (20 and 50)."
            ),
            (
                f"With random points up to the number of monomials and five more, {100 * agree:.0f} percent of the "
                "errors are the same to the last test point."
            ),
        ],
    )


def draw(learned: Sequence[Learned], trials: int, folder: Path) -> None:
    """Draw figure 1: a panel for each target, a curve for each machine."""
    from matplotlib.figure import Figure

    found = Results(learned)
    figure = Figure(figsize=(11, 6.6), layout="constrained")
    for axes, (target, (name, _)) in zip(figure.subplots(2, 3, sharex=True).ravel(), TARGETS.items(), strict=True):
        for method, (colour, style) in _STYLES.items():
            values = [mean_and_error(found.errors(target, method, size)) for size in paper.SIZES]
            axes.errorbar(
                paper.SIZES,
                [v[0] for v in values],
                np.nan_to_num([v[1] for v in values]),
                color=colour,
                linestyle=style,
                marker="o",
                markersize=4,
                capsize=2,
                label=method,
            )
        axes.set(title=f"({target}) {name}", ylim=(0.0, 0.52), xticks=paper.SIZES)
        axes.grid(alpha=0.3)
    for axes in figure.axes[3:]:
        axes.set_xlabel("training points")
    for axes in figure.axes[::3]:
        axes.set_ylabel("test error")
    figure.axes[0].legend(frameon=False)
    figure.suptitle(f"Polynomials of degree two over ten inputs: ours, {trials} trials, bars of one standard error")
    figure.savefig(folder / FIGURE, dpi=100)
