"""
Features that have a price
==========================

Features may cost money, time or pain. ``feature_costs`` gives each its price, ``groups`` puts features into bags
that are paid for once, and ``l0`` says how much loss one unit of price is worth.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from skgraft import GraftClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
measures = [name.removeprefix("mean ") for name in X.columns if name.startswith("mean ")]
kinds = ["mean", "error", "worst"]


def column(measure, kind):
    """Return the name of the column that holds one statistic of one measure."""
    return f"{measure} error" if kind == "error" else f"{kind} {measure}"


# %%
# The thirty features are ten measures of cell nuclei, each as mean, standard error and worst value over an image.
# Three ways to price them:
#
# - every feature costs 1;
# - a worst value costs 3, say because all nuclei must be looked at;
# - the three statistics of a measure are a bag: who has measured it for one has it for all.

dear = {column(measure, "worst"): 3.0 for measure in measures}
bags = {measure: [column(measure, kind) for kind in kinds] for measure in measures}
models = {
    "each feature costs 1": GraftClassifier(l1=0.005, l0=0.01),
    "worst values cost 3": GraftClassifier(l1=0.005, l0=0.01, feature_costs=dear),
    "a measure costs 1": GraftClassifier(l1=0.005, l0=0.01, groups=bags),
}

fig, axes = plt.subplots(1, 3, figsize=(11, 4.2), sharey=True, layout="constrained")
for axis, (title, model) in zip(axes, models.items(), strict=True):
    model.fit(X, y)
    print(
        f"{title:22s} {model.support_.sum():2d} features, cost {model.total_cost_:g}, criterion {model.objective_:.4f}"
    )
    weight = dict(zip(X.columns, model.coef_[0] * X.std(ddof=0).to_numpy(), strict=True))
    grid = np.array([[weight[column(measure, kind)] for kind in kinds] for measure in measures])
    axis.imshow(np.where(grid == 0, np.nan, grid), cmap="RdBu", vmin=-6, vmax=6, aspect="auto")
    for (row, place), value in np.ndenumerate(grid):
        if value:
            axis.text(place, row, f"{value:+.1f}", ha="center", va="center")
    axis.set(
        title=f"{title}\n{model.support_.sum()} features, cost {model.total_cost_:g}",
        xticks=range(3),
        xticklabels=kinds,
        yticks=range(10),
        yticklabels=measures,
    )
    axis.set_xticks(np.arange(-0.5, 3), minor=True)
    axis.set_yticks(np.arange(-0.5, 10), minor=True)
    axis.grid(which="minor", color="0.85")
    axis.tick_params(which="minor", length=0)

# %%
# A budget
# --------
# ``max_cost`` is a hard limit instead of a trade: what fits into it is spent where it lowers the criterion most. A
# small ``l0`` beside it keeps money that would bring little.

budgets = np.arange(1, 8)
fig, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
for label, l0 in (("max_cost alone", 0.0), ("max_cost and l0 = 0.005", 0.005)):
    losses = []
    for budget in budgets:
        model = GraftClassifier(l1=0, l2=1e-3, l0=l0, max_cost=float(budget), feature_costs=dear).fit(X, y)
        losses.append(model.objective_ - l0 * model.total_cost_)
    axis.plot(budgets, losses, "-o", label=label)
axis.set(xlabel="max_cost (worst values cost 3)", ylabel="criterion without the price")
axis.legend()
plt.show()
