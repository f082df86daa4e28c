"""
Sparse and wide: words of generated text
========================================

20,000 words, 2,000 texts, and twelve words that decide. The matrix stays sparse: features are standardised inside
the products with it, and the zeros are never written out.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from skgraft import GraftClassifier, graft_path, l1_max

# %%
# Word frequencies follow Zipf's law. The label of a text depends on twelve words of middling frequency, six for
# each class.

rng = np.random.default_rng(0)
n_texts, n_words, length = 2000, 20_000, 150
frequency = 1 / np.arange(5, n_words + 5)
words = rng.choice(n_words, size=n_texts * length, p=frequency / frequency.sum())
texts = np.repeat(np.arange(n_texts), length)
counts = sparse.coo_array((np.ones(words.size), (texts, words)), shape=(n_texts, n_words)).tocsr()
X = counts.log1p()
deciding = rng.choice(np.arange(20, 120), size=12, replace=False)
truth = np.where(np.arange(12) < 6, 2.5, -2.5)
y = rng.random(n_texts) < 1 / (1 + np.exp(-(X[:, deciding] @ truth)))
train, test = slice(0, 1500), slice(1500, None)
cells = X.shape[0] * X.shape[1]
print(f"{X.nnz} of {cells} cells are not zero ({X.nnz / cells:.2%})")
print(f"{X.data.nbytes / 1e6:.1f} MB of values; as a dense matrix {8 * cells / 1e6:.0f} MB")

# %%
# One fit at a middling ``l1``, then a path.

model = GraftClassifier(l1=0.35 * l1_max(X[train], y[train])).fit(X[train], y[train])
found = np.isin(deciding, model.order_).sum()
print(f"{model.support_.sum()} words selected, {found} of them deciding")
print(f"accuracy on new texts {model.score(X[test], y[test]):.3f}; {model.certificate_}")

path = graft_path(X[train], y[train], n_values=30, smallest=0.1)
right_ones = [np.isin(deciding, point.features).sum() for point in path]
accuracy = [path.estimator(i).score(X[test], y[test]) for i in range(len(path))]

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
share = path.l1s / path.l1s[0]
left.plot(share, path.n_selected, color="0.5", label="selected words")
left.plot(share, right_ones, color="tab:orange", lw=2.5, label="deciding words among them")
left.axhline(12, color="k", lw=0.8, ls="--")
left.set(
    xscale="log",
    yscale="symlog",
    xlabel="l1, as a share of the value that selects nothing",
    ylabel="words",
    ylim=(0, 1000),
)
left.invert_xaxis()
left.legend(loc="upper left")
right.plot(share, accuracy, color="tab:blue")
right.set(xscale="log", xlabel="l1, as a share of the value that selects nothing", ylabel="accuracy on new texts")
right.invert_xaxis()
plt.show()
