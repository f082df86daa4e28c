"""
What the loop does: efforts and their history
=============================================

``effort`` says how hard the free weights are re-optimised between two selections, ``select_unit`` how many weights
come in at a time. All but ``"newest"`` end at the same optimum. ``history_`` has a record for every step.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

from skgraft import GraftClassifier, l1_max

X, y = make_classification(
    500, 400, n_informative=15, n_redundant=30, class_sep=0.7, flip_y=0.05, shuffle=False, random_state=0
)
l1 = 0.1 * l1_max(X, y)
ways = {
    'effort="full", one at a time': {"effort": "full", "select_unit": 1},
    'effort="light", one at a time': {"effort": "light", "select_unit": 1},
    'effort="newest", one at a time': {"effort": "newest", "select_unit": 1},
    'the default: "full", "auto"': {},
}
models = {name: GraftClassifier(l1=l1, **way).fit(X, y) for name, way in ways.items()}
for name, model in models.items():
    certificate = model.certificate_
    print(
        f"{name:32s} {model.n_iter_:3d} steps, {model.support_.sum():3d} features, criterion {model.objective_:.5f}, "
        f"gap {certificate.duality_gap:.0e}, converged {certificate.converged}"
    )

# %%
# ``"full"`` is the method of Perkins, Lacker and Theiler (2003): the free weights are optimal before the next gradient
# test. ``"light"`` takes one quasi-Newton step instead (Zhu, Lao and Xing 2010), which saves work where a gradient
# is dear. ``"newest"`` moves only the newest weight and never goes back to the others, so it stops above the optimum
# and says so in its certificate.

best = min(model.objective_ for model in models.values())
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
for (name, model), style in zip(models.items(), ["-", "--", ":", "-"], strict=True):
    above = [max(record.objective - best, 1e-12) for record in model.history_]
    width = 3 if "default" in name else 1.5
    left.plot(model.history_.column("step"), above, style, lw=width)
    right.plot(1e3 * model.history_.column("seconds"), above, style, lw=width, label=name)
left.set(yscale="log", xlabel="step", ylabel="criterion above its minimum", ylim=(1e-11, 1))
right.set(xlabel="milliseconds", xscale="log")
right.legend(loc="lower left", fontsize="small")

# %%
# Which features came in, and how strong their gradients were, is in the same records. The last steps only finish the
# optimisation: no feature comes in, and ``feature`` is -1.

history = models['effort="full", one at a time'].history_.to_frame()
print(history[["step", "feature", "gradient", "objective", "n_selected", "kind"]].head(8).to_string(index=False))
plt.show()
