"""
A first selection
=================

Five of thirty measurements tell benign from malignant tumours. The picture shows why these five: a feature is in
the model when the gradient of the loss towards it is as large as ``l1``, and out while it is smaller.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score

from skgraft import GraftClassifier, l1_max

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
top = l1_max(X, y)
model = GraftClassifier(l1=0.1 * top).fit(X, y)
for j in model.order_:
    print(f"{X.columns[j]:22s} weight {model.coef_[0, j]:+.4g} per unit")
print(f"accuracy in five folds {cross_val_score(model, X, y).mean():.3f}")

# %%
# The certificate tells how far the fit is from the optimum of its criterion. Here it is the optimum, to rounding.

print(model.certificate_)

# %%
# Weights and gradients
# ---------------------
# Features are standardised inside the estimator, so weights are compared per standard deviation. The gradients are
# those of the mean loss. For a weight that is not zero the gradient equals ``l1``; no other may exceed it. With an
# empty model almost all features exceed it. Most of them are not needed any more once a few are in: what they could
# tell is told already.

Z = (X - X.mean()) / X.std(ddof=0)


def gradient(probability):
    """Return the size of the gradient of the mean logistic loss towards every standardised weight."""
    return np.abs(Z.T @ (probability - y)) / len(y)


before = gradient(np.full(len(y), y.mean()))
after = gradient(model.predict_proba(X)[:, 1])
rows = np.argsort(before.to_numpy())
selected = model.support_[rows]
print(f"beyond l1: {(before > model.l1).sum()} features before, {(after > 1.001 * model.l1).sum()} after the fit")
weight = (model.coef_[0] * X.std(ddof=0).to_numpy())[rows]

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 7), sharey=True, layout="constrained")
at = np.arange(rows.size)
colours = np.where(selected, "tab:orange", "0.7")
left.hlines(at, after.iloc[rows], before.iloc[rows], color="0.85", zorder=0)
left.scatter(before.iloc[rows], at, facecolor="none", edgecolor=colours, label="empty model")
left.scatter(after.iloc[rows], at, color=colours, label="fitted model")
left.axvline(model.l1, color="k", lw=1, ls="--")
left.annotate("l1", (model.l1, rows.size), xytext=(4, 0), textcoords="offset points", va="center")
left.set(yticks=at, yticklabels=X.columns[rows], xlabel="size of the gradient", title="The gradient test")
left.legend(loc="lower right")
right.barh(at, weight, color=colours)
right.axvline(0, color="k", lw=0.5)
right.set(xlabel="weight per standard deviation (negative: malignant)", title="The model")
plt.show()
