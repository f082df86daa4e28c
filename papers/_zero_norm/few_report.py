"""The two small tables: genes of yeast (a stand-in for table 4), and the lecture's leukaemias."""

from collections.abc import Mapping, Sequence

import numpy as np

from papers._tables import Table, written
from papers._zero_norm import paper
from papers._zero_norm.compare import percent
from papers._zero_norm.leukemia import FOLDS, PREPARED, SIZES, Outcome
from papers._zero_norm.yeast import METHODS, Folds


def yeast_tables(folds: Sequence[Folds], repetitions: int) -> list[Table]:
    """Return the stand-in for table 4."""
    by_kind = {(f.method, f.n_features): f for f in folds}
    rows = [
        [str(n), *(written(*percent(by_kind[method, n].errors), 1) for method in METHODS)] for n in paper.YEAST_FEATURES
    ]
    slowest = max(folds, key=lambda f: f.seconds)
    return [
        Table(
            f"In place of table 4: error in percent, {paper.YEAST_FOLDS}-fold cross-validation, {repetitions} times",
            ["features", *METHODS],
            rows,
            [
                (
                    "A stand-in: the paper has 208 yeast genes in 5 classes; 186 genes in 3 functional classes "
                    "(proteasome, respiration, ribosome) are what is to be had. It is an easier problem, and its "
                    "figures are not to be compared with the paper's, which are therefore not shown."
                ),
                (
                    "Standard errors are over folds, as in the paper, and too small: folds share their training genes. "
                    "Missing values are the means of the training genes."
                ),
                (f"The paper: with few features both kinds of AROM err less than RFE does. Here: {_at_few(by_kind)}."),
                f"The slowest fit, {slowest.method} with {slowest.n_features} features: {slowest.seconds:.2f} s.",
            ],
        )
    ]


def _at_few(by_kind: Mapping[tuple[str, int], Folds]) -> str:
    fewest = paper.YEAST_FEATURES[0]
    means = {method: percent(by_kind[method, fewest].errors)[0] for method in METHODS}
    return f"with {fewest} features " + ", ".join(f"{method} {mean:.1f}" for method, mean in means.items())


def leukemia_tables(tested: Sequence[Outcome]) -> list[Table]:
    """Return the lecture's table: of our repetitions the median, and the range."""
    rows = []
    for method, (cv, test, genes) in paper.LEUKEMIA.items():
        rows.append([method, "the lecture", f"{cv}/38", f"{test}/34", str(genes)])
        for prepared in PREPARED:
            mine = [t for t in tested if (t.prepared, t.method) == (prepared, method)]
            cells = [_spread([getattr(t, name) for t in mine]) for name in ("cv_errors", "test_errors", "n_genes")]
            rows.append([method, f"ours, {prepared}", f"{cells[0]} of 38", f"{cells[1]} of 34", cells[2]])
    repetitions = len({t.repetition for t in tested})
    return [
        Table(
            "The lecture: two leukaemias, 38 patients for training and 34 for the test, 7,129 genes",
            ["method", "whose", "errors in cross-validation", "test errors", "genes"],
            rows,
            [
                (
                    f"Ours: median (smallest to largest) of {repetitions} choices by {FOLDS}-fold cross-validation "
                    "with other folds. Of equally good values that with the fewest genes is taken, so that the test "
                    "part has no say."
                ),
                (
                    f"2-norm machines may have {', '.join(map(str, SIZES))} genes; ranking, elimination, l1 and "
                    "scaling are done anew in every fold."
                ),
                "How the lecture's source prepared the intensities and drew its folds is not known.",
                *_within(tested),
            ],
        )
    ]


def _spread(values: Sequence[int]) -> str:
    return f"{np.median(values):g} ({min(values)} to {max(values)})"


def _within(tested: Sequence[Outcome]) -> list[str]:
    """Return for each method whether the lecture's line lies within what our repetitions gave."""
    remarks = []
    for method, stated in paper.LEUKEMIA.items():
        mine = [t for t in tested if t.method == method]
        inside = []
        for name, value in zip(("cv_errors", "test_errors", "n_genes"), stated, strict=True):
            values = [getattr(t, name) for t in mine]
            inside.append(min(values) <= value <= max(values))
        outside = [word for word, is_in in zip(("cross-validation", "test", "genes"), inside, strict=True) if not is_in]
        text = "is within the range of ours" if not outside else f"is outside the range of ours in {', '.join(outside)}"
        remarks.append(f"{method}: the lecture's line {text}.")
    return remarks
