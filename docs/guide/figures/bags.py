"""Weights of four bags of five features, one bag relevant in all its features and one in two of them."""

import matplotlib.pyplot as plt
import numpy as np

from skgraft import GraftRegressor

rng = np.random.default_rng(3)
X = rng.normal(size=(100, 20))
truth = np.zeros(20)
truth[0:5], truth[10:12] = 0.5, 1.0
y = X @ truth + rng.normal(size=100)
bags = np.repeat(np.arange(4), 5)
ways = {
    "l1: single features": {"l1": 0.18},
    "group_l1: whole bags": {"l1": 0, "group_l1": 0.18},
    "both: few bags, few in each": {"l1": 0.1, "group_l1": 0.12},
}
fig, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True, layout="constrained")
for axis, (title, way) in zip(axes, ways.items(), strict=True):
    model = GraftRegressor(groups=bags, **way).fit(X, y)
    for bag in range(0, 4, 2):
        axis.axvspan(5 * bag - 0.5, 5 * bag + 4.5, color="0.94", zorder=0)
    axis.step(np.arange(20), truth, where="mid", color="0.6", lw=1, label="truth")
    at = np.flatnonzero(model.support_)
    axis.plot(at, model.coef_[at], "o", color="tab:orange", label="selected")
    axis.axhline(0, color="k", lw=0.5)
    axis.set(title=title, xlabel="feature; a shade is a bag", xticks=range(0, 20, 5))
axes[2].legend(loc="upper right")
axes[0].set_ylabel("weight")
plt.show()
