"""LassoNet's path on one problem, run as a script: it may need an environment of its own, for torch.

    python benchmarks/_lassonet.py problem.npz

Reads X, y, X_test, y_test; a fifth of the training rows chooses the point of the path.  Prints the test error, the
selected features and the seconds of processor time as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np


def chosen_point(history: list[Any], model: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """Return the point of the path with the fewest errors on held-out rows; of equals the one with fewer features."""
    wrong = []
    for point in history:
        model.load(point.state_dict)
        wrong.append((float(np.mean(model.predict(X) != y)), int(point.selected.sum())))
    return history[min(range(len(history)), key=wrong.__getitem__)]


def main(path: str) -> None:
    """Measure one problem."""
    import torch
    from lassonet import LassoNetClassifier

    torch.set_num_threads(1)
    data = np.load(path)
    X, y = data["X"].astype(np.float32), data["y"].astype(np.int64)
    cut = X.shape[0] * 4 // 5
    torch.manual_seed(0)
    begin = time.process_time()
    model = LassoNetClassifier(verbose=0, random_state=0, torch_seed=0)
    history = model.path(X[:cut], y[:cut], X_val=X[cut:], y_val=y[cut:], return_state_dicts=True)
    best = chosen_point(history, model, X[cut:], y[cut:])
    seconds = time.process_time() - begin
    model.load(best.state_dict)
    error = float(np.mean(model.predict(data["X_test"].astype(np.float32)) != data["y_test"]))
    features = np.flatnonzero(best.selected.numpy()).tolist()
    sys.stdout.write(json.dumps({"error": error, "features": features, "seconds": seconds}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
