"""Problems that several tests share."""

from __future__ import annotations

import numpy as np


def classes(n=300, d=20, seed=0, n_classes=2):
    """Return columns of which four decide, two of them only together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + (X[:, 3] > 0.5) + 0.3 * rng.normal(size=n)
    return X, np.digitize(f, np.quantile(f, np.linspace(0, 1, n_classes + 1)[1:-1]))
