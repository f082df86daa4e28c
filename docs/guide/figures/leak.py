"""Selection outside of cross-validation finds signal in noise."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from skgraft import GraftClassifier

inside, outside = [], []
for seed in range(12):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(100, 500)), np.repeat([0, 1], 50)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    model = GraftClassifier(l1=0.02, max_features=10, polish=False)
    inside.append(cross_val_score(model, X, y, cv=folds).mean())
    outside.append(cross_val_score(model, model.fit_transform(X, y), y, cv=folds).mean())
fig, axis = plt.subplots(figsize=(7, 2.4), layout="constrained")
for height, scores in enumerate([outside, inside]):
    axis.plot(scores, np.full(len(scores), height) + np.linspace(-0.15, 0.15, len(scores)), "o", alpha=0.7)
axis.axvline(0.5, color="k", ls="--", lw=1)
axis.set(
    yticks=[0, 1],
    yticklabels=["selected on all rows,\nthen cross-validated", "selected inside\neach fold"],
    xlabel="accuracy on labels that are pure chance (twelve data sets)",
    xlim=(0.3, 1),
    ylim=(-0.5, 1.5),
)
plt.show()
