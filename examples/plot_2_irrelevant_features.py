"""
Irrelevant features
===================

An l2 penalty keeps every feature, and each irrelevant one adds a little noise. An l1 penalty sets most of their
weights to zero. Both problems below are from Perkins, Lacker and Theiler (2003), who compared the penalties on them.
"""

import matplotlib.pyplot as plt
import numpy as np

from skgraft import GraftClassifier
from skgraft.datasets import make_irrelevant, make_threshold_max

# %%
# Threshold max
# -------------
# Ten features decide the label, ninety do not. The boundary is not linear, so no linear model is exact, but a
# linear model can still find the ten. A price ``l0`` on each feature leaves out the ones that explain too little
# to be worth it.

train, test = make_threshold_max(random_state=0), make_threshold_max(5000, random_state=1)
models = {
    "l2 = 0.02": GraftClassifier(l1=0, l2=0.02),
    "l1 = 0.03": GraftClassifier(l1=0.03),
    "l1 = 0.001, l0 = 0.004": GraftClassifier(l1=0.001, l0=0.004),
}
fig, axes = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True, layout="constrained")
informative = np.isin(np.arange(100), train.informative)
for axis, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(train.data, train.target)
    error = 1 - model.score(test.data, test.target)
    print(
        f"{name:24s} {model.support_[informative].sum():3d} of the ten, "
        f"{model.support_[~informative].sum():3d} of the ninety, test error {error:.3f}"
    )
    weight = np.where(model.support_, model.coef_[0], np.nan)
    axis.stem(np.flatnonzero(informative), weight[informative], "tab:orange", markerfmt="o", basefmt=" ")
    axis.stem(np.flatnonzero(~informative), weight[~informative], "0.6", markerfmt=".", basefmt=" ")
    axis.axhline(0, color="k", lw=0.5)
    axis.set(title=f"{name}\ntest error {error:.3f}", xlabel="feature (the first ten decide)")
axes[0].set_ylabel("weight")

# %%
# More and more irrelevant features
# ---------------------------------
# Two features tell two Gaussian classes apart; the others are permuted so that they tell nothing. There are ten
# training rows of each class. The lines are means over 20 repetitions, the penalties are fixed.

counts = [0, 4, 8, 12]
penalties = {
    "no penalty": {"l1": 0, "l2": 1e-6},
    "l2 = 0.05": {"l1": 0, "l2": 0.05},
    "l1 = 0.1": {"l1": 0.1},
}
errors = {name: np.zeros(len(counts)) for name in penalties}
repetitions = 20
for repetition in range(repetitions):
    for c, count in enumerate(counts):
        train = make_irrelevant(10, count, sigma=1.0, random_state=repetition)
        test = make_irrelevant(1000, count, sigma=1.0, random_state=1000 + repetition)
        for name, penalty in penalties.items():
            model = GraftClassifier(**penalty).fit(train.data, train.target)
            errors[name][c] += (1 - model.score(test.data, test.target)) / repetitions

fig, axis = plt.subplots(figsize=(6, 4), layout="constrained")
for (name, error), style in zip(errors.items(), [":", "--", "-"], strict=True):
    axis.plot(counts, error, style, marker="o", label=name)
axis.axhline(0.0786, color="k", lw=0.8)
axis.annotate("best possible", (12, 0.0786), xytext=(0, 3), textcoords="offset points", ha="right")
axis.set(xlabel="irrelevant features", ylabel="test error", ylim=(0, None))
axis.legend()
plt.show()
