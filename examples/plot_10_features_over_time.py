"""
Features that arrive over time
==============================

Columns come in blocks and are forgotten unless they are selected or promising. What does a small memory cost, and what
does a second look bring?
"""

import matplotlib.pyplot as plt
import numpy as np

from skgraft import GraftClassifier, StreamGraftClassifier, l1_max
from skgraft.datasets import column_blocks

# %%
# 300 samples and 6,000 columns in correlated families; twenty columns decide, and they come anywhere in the stream.

rng = np.random.default_rng(0)
n_samples, n_columns = 300, 6000
families = rng.normal(size=(n_samples, 200))
X = families[:, rng.integers(0, 200, n_columns)] + rng.normal(size=(n_samples, n_columns))
deciding = rng.choice(n_columns, 20, replace=False)
scores = X[:, deciding] @ rng.normal(size=20)
y = scores + rng.logistic(size=n_samples) > 0
l1 = 0.15 * l1_max(X, y)

# %%
# The model with all columns in memory, which the streams should come to.

batch = GraftClassifier(l1=l1).fit(X, y)
print(f"batch: {batch.support_.sum()} features, criterion {batch.objective_:.6f}")

# %%
# Streams with buffers of several sizes, followed block by block.

blocks = column_blocks(X, 200)
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for buffer, color in ((0, "tab:red"), (50, "tab:orange"), (500, "tab:blue")):
    model = StreamGraftClassifier(l1=l1, buffer=buffer)
    seen, criterion, held = [], [], []
    for block, names in blocks:
        model.partial_fit_features(block, y, names)
        seen.append(model.n_features_seen_)
        criterion.append(model.objective_)
        held.append(model.n_features_seen_ - model.n_forgotten_)
    left.plot(seen, criterion, color=color, label=f"buffer of {buffer}")
    right.plot(seen, held, color=color)
    twice = StreamGraftClassifier(l1=l1, buffer=buffer).fit_stream(blocks, y, passes=2)
    print(
        f"buffer {buffer:3d}: {model.objective_ - batch.objective_:.1e} above the optimum "
        f"({model.n_untested_} columns untested), after a second pass {twice.objective_ - batch.objective_:.1e} "
        f"({twice.n_untested_} untested)"
    )
left.axhline(batch.objective_, color="k", lw=0.8, ls="--", label="all columns in memory")
left.set(xlabel="columns seen", ylabel="criterion")
left.legend()
right.plot(seen, seen, color="0.7", lw=0.8, ls="--")
right.set(xlabel="columns seen", ylabel="columns in memory", yscale="log")
plt.show()

# %%
# A forgotten column can only be missed, never wrongly kept: the criterion falls with every block, and what a stream
# loses is what it let go before it was wanted. ``n_untested_`` says of how many columns that is not excluded.
