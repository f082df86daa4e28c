"""
How many features are enough
============================

``l0="auto"`` tries models of 1, 2, 3, ... features in every fold. ``rule="one_se"`` takes the smallest model whose
score is within one standard error of the best. ``polish=False`` keeps to the greedy choice of each size: it spares the
swaps that might improve it, and most of the time.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold, cross_val_score

from skgraft import GraftRegressorCV

X, y = load_diabetes(return_X_y=True, as_frame=True)
rng = np.random.default_rng(0)
X = X.assign(**{f"noise_{k}": rng.normal(size=len(X)) for k in range(15)})
folds = KFold(10, shuffle=True, random_state=0)
sizes = {"l0": "auto", "max_features": 20, "rule": "one_se", "polish": False}
model = GraftRegressorCV(**sizes, cv=folds).fit(X, y)
print("chosen:", ", ".join(X.columns[model.order_]))

# %%
# There are ten real measurements and fifteen columns of noise. The error falls fast and then levels off: late features
# bring little, and the last ones can only be noise.

error, spread = 1 - model.mean_scores_, model.se_scores_
best = int(np.argmin(error))
fig, axis = plt.subplots(figsize=(8, 4.5), layout="constrained")
axis.fill_between(model.size_path_, error - spread, error + spread, color="tab:blue", alpha=0.15, lw=0)
axis.plot(model.size_path_, error, "-o", color="tab:blue", ms=4, label="mean over the folds, and its standard error")
axis.axhline(error[best] + spread[best], color="k", ls="--", lw=1, label="best + one standard error")
axis.plot(model.size_path_[best], error[best], "o", ms=11, mfc="none", mec="k", label='rule="best"')
chosen = model.best_index_
axis.plot(model.size_path_[chosen], error[chosen], "s", ms=11, mfc="none", mec="tab:red", label='rule="one_se"')
axis.set(xlabel="number of features", ylabel="1 - R² on held-out rows", xticks=model.size_path_[::2])
axis.legend()
plt.show()

# %%
# The curve made the choice, so its value at the chosen point is no honest estimate of the error. Put the whole
# estimator, choice included, into another cross-validation.

outer = KFold(5, shuffle=True, random_state=1)
nested = cross_val_score(GraftRegressorCV(**sizes), X, y, cv=outer)
print(f"1 - R², inner score at the choice {error[chosen]:.3f}, nested {1 - nested.mean():.3f}")
