"""
A polynomial with few monomials
===============================

A machine with a polynomial kernel weighs every monomial. :class:`skgraft.KernelAROMClassifier` keeps those that it
takes to separate the classes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from skgraft import KernelAROMClassifier
from skgraft.datasets import make_sparse_polynomial

problem = make_sparse_polynomial(1200, n_features=10, terms={(0, 1): 1.0, (2,): 1.0}, random_state=1)
X_test, y_test = problem.data[200:], problem.target[200:]


def all_monomials(A, B):
    """Return the kernel whose feature space holds all monomials of degree one and two."""
    products = A @ B.T
    return products + products**2


sizes = [20, 30, 50, 75, 100, 150, 200]
errors = {"all 65 monomials": [], "few monomials": []}
for size in sizes:
    X, y = problem.data[:size], problem.target[:size]
    dense = SVC(kernel=all_monomials, C=1e6).fit(X, y)
    sparse = KernelAROMClassifier(degree=2, C=np.inf).fit(X, y)
    errors["all 65 monomials"].append(1 - dense.score(X_test, y_test))
    errors["few monomials"].append(1 - sparse.score(X_test, y_test))
    print(f"{size:3d} rows: {', '.join(monomial.name for monomial in sparse.monomials_)}")

# %%
# The label is the sign of x0·x1 + x2. With few rows other monomials separate them as well; with more, those two are
# left, and the error goes on falling where the dense machine still has noise in 63 weights.

fig, left = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, style in zip(errors, ["--", "-"], strict=True):
    left.plot(sizes, errors[name], style, marker="o", label=name)
left.set(xlabel="training rows", ylabel="test error", ylim=(0, None))
left.legend()

# %%
# Inside a fit: every round multiplies each monomial by its weight, and what is not needed vanishes. At the end the
# criterion of the machine counts the monomials, x0·x1 twice because it has two orders.

final = KernelAROMClassifier(degree=2, C=np.inf).fit(problem.data[:200], problem.target[:200])
rounds = final.history_.column("step")
fig, right = plt.subplots(figsize=(7, 4.2), layout="constrained")
right.plot(rounds, final.history_.column("n_selected"), "-o", label="features left")
right.plot(rounds, final.history_.column("objective"), "--s", label="criterion of the machine")
right.axhline(3, color="grey", lw=0.8)
right.set(xlabel="round", yscale="log")
right.set_yticks([3, 10, 30], ["3", "10", "30"])
right.legend()
plt.show()
