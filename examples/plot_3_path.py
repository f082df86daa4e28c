"""
The path along l1, with certificates
====================================

:func:`~skgraft.graft_path` fits a model for each of many values of ``l1``, from the one that selects nothing
downwards, and starts every fit from the one before. Every point has its own certificate.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from skgraft import graft_path

X, y = load_diabetes(return_X_y=True, as_frame=True)
path = graft_path(X, y, n_values=100, smallest=1e-3)
print(f"{len(path)} models with {path.n_selected.min()} to {path.n_selected.max()} features")
print("all converged:", all(point.certificate.converged for point in path))

# %%
# Features come in one after the other as ``l1`` falls. Two correlated blood values, s1 and s2, take large weights of
# opposite sign late on the path: their difference is used, not their values. A weight alone says little about a
# feature that has a near copy.
#
# The lower panel is the proof. The relative duality gap bounds how far each model is above the least possible value
# of its criterion. The KKT violation, the largest breach of an optimality condition, is held against ``tol``.

weights = path.coefs[:, 0, :] * X.std(ddof=0).to_numpy()
share = path.l1s / path.l1s[0]


def spread(heights, gap):
    """Return the heights, moved up where they are closer than the gap to the one below."""
    placed = []
    for height in heights:
        placed.append(max(height, placed[-1] + gap) if placed else height)
    return placed


fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(8, 8), sharex=True, layout="constrained", gridspec_kw={"height_ratios": [3, 1.3]}
)
lines = top.plot(share, weights)
last = np.argsort(weights[-1])
for j, height in zip(last, spread(weights[-1, last], 3.0), strict=True):
    top.text(0.85 * share[-1], height, X.columns[j], color=lines[j].get_color(), va="center")
top.set(ylabel="weight per standard deviation", xscale="log", xlim=(1.1, 0.6 * share[-1]))
counts = top.secondary_xaxis("top", functions=(lambda x: x, lambda x: x))
marks = [1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001]
counts.set_xticks(marks, [f"{path.n_selected[np.argmin(np.abs(share - m))]}" for m in marks])
counts.set_xticks([], minor=True)
counts.set_xlabel("features in the model")

floor = 1e-16
bottom.plot(share, [max(p.certificate.kkt_violation, floor) for p in path], ".", label="KKT violation")
bottom.plot(share, [max(p.certificate.duality_gap, floor) for p in path], ".", label="duality gap")
bottom.axhline(1e-6, color="k", ls="--", lw=1)
bottom.annotate("tol", (1, 1e-6), xytext=(2, 3), textcoords="offset points")
bottom.set(yscale="log", xlabel="l1, as a share of the value that selects nothing", ylim=(floor / 3, 1e-4))
bottom.legend(loc="upper right", ncols=2)
plt.show()
