"""
A network that grows
====================

Ten features decide, each beyond a threshold of its own; thirty do not. A network is grown unit by unit until no
further connection pays, and then drawn.
"""

import matplotlib.pyplot as plt

from skgraft import GraftClassifier, MLPGraftClassifier, NetworkDisplay
from skgraft.datasets import make_threshold_max

train, test = (make_threshold_max(1000, n_irrelevant=30, random_state=seed) for seed in (0, 1))

# %%
# A linear model finds the features and cannot use them.

linear = GraftClassifier(l1=3e-4, l0=0.005).fit(train.data, train.target)
model = MLPGraftClassifier(l1=1e-6, l0=0.005).fit(train.data, train.target)
for name, fitted in (("linear", linear), ("network", model)):
    error = 1.0 - fitted.score(test.data, test.target)
    print(f"{name}: {fitted.support_.sum()} features, test error {error:.3f}")

# %%
# Who is connected to whom. The thicker a line, the larger the weight: most units are thresholds of one feature.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 6), layout="constrained", width_ratios=(3, 2))
NetworkDisplay.from_estimator(model, ax=left)

# %%
# The criterion falls with every step. Features are bought first; after that connections are free, and each must lower
# the criterion by ``min_gain`` all the same.

history = model.history_
right.plot(history.column("step"), history.column("objective"), color="black")
right.set(xlabel="step", ylabel="criterion")
count = right.twinx()
count.step(history.column("step"), history.column("n_selected"), color="tab:blue", where="post")
count.set_ylabel("features", color="tab:blue")
plt.show()
