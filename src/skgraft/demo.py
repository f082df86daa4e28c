"""The main job on data that needs no download: which features matter, what they cost in accuracy, and the proof.

Run it with ``python -m skgraft.demo``; what it prints is also written to ``demo-report.txt``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgraft import GraftClassifier, l1_max
from skgraft.datasets import make_threshold_max

FOLDS = 5


REPORT = Path("demo-report.txt")


def main() -> None:
    """Run the demonstration and write the report."""
    lines = []
    for part in (breast_cancer, threshold_max):
        for line in part():
            print(line, flush=True)
            lines.append(line)
    REPORT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"\nThis report is in {REPORT}.")


def breast_cancer() -> Iterator[str]:
    """Trade the number of measurements against accuracy on a real data set."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    yield (f"Breast cancer: {X.shape[0]} tumours, {X.shape[1]} measurements (scikit-learn's copy)\n")
    everything = make_pipeline(StandardScaler(), LogisticRegression())
    yield ("  features   accuracy (5 folds)   C of eq. 7   KKT violation   duality gap   l1")
    yield f"  {X.shape[1]:8d}   {_accuracy(everything, X, y):18s}   {'-':>10s}   {'-':>13s}   {'-':>11s}   all features"
    top = l1_max(X, y)
    for share in (0.5, 0.2, 0.1, 0.03):
        model = GraftClassifier(l1=share * top).fit(X, y)
        proof = model.certificate_
        yield (
            f"  {model.support_.sum():8d}   {_accuracy(model, X, y):18s}   {model.objective_:10.5f}   "
            f"{proof.kkt_violation:13.1e}   {proof.duality_gap:11.1e}   {share:.2f} of {top:.3f}"
        )
    few = GraftClassifier(l1=0.0, l2=1e-3, max_features=4).fit(X, y)
    yield (f"\n  The best four found (max_features=4), accuracy {_accuracy(few, X, y)}:")
    for j in few.order_:
        yield (f"    {X.columns[j]:24s} weight {few.coef_[0, j]:+.4g} per unit")


def threshold_max() -> Iterator[str]:
    """Find the ten features that decide among ninety that do not (Perkins et al. 2003, data set A)."""
    train, test = (make_threshold_max(random_state=seed) for seed in (0, 1))
    model = GraftClassifier(l1=3e-4, l0=0.005).fit(train.data, train.target)
    found = np.sort(model.order_)
    right = np.isin(found, train.informative)
    yield (f"\nThreshold max: {train.data.shape[0]} samples, 10 features that decide, 90 that do not\n")
    yield (f"  found             {', '.join(train.feature_names[j] for j in found)}")
    yield (f"  of the ten        {right.sum()}; of the ninety: {(~right).sum()}")
    yield (
        f"  test error        {1 - model.score(test.data, test.target):.3f} (the problem is not linear; chance is 0.5)"
    )
    yield (f"  price paid        l0 x cost = {model.l0} x {model.total_cost_:g}; C = {model.objective_:.5f}")
    yield (f"  certificate       KKT violation {model.certificate_.kkt_violation:.1e}, {len(model.history_)} steps")


def _accuracy(model: object, X: object, y: object) -> str:
    scores = cross_val_score(model, X, y, cv=FOLDS)
    return f"{scores.mean():.3f} +- {scores.std() / np.sqrt(FOLDS):.3f}"


if __name__ == "__main__":
    main()
