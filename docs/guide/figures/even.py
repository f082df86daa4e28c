"""An even effect has no gradient at zero."""

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)
x = rng.uniform(-2, 2, 200)
y = x**2 + rng.normal(scale=0.4, size=200)
fig, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True, layout="constrained")
for axis, feature, name in zip(axes, (x, x**2), ("x", "x²"), strict=True):
    slope, intercept = np.polyfit(feature, y, 1)
    line = np.array([feature.min(), feature.max()])
    axis.plot(feature, y, ".", color="0.6")
    axis.plot(line, intercept + slope * line, color="tab:orange", lw=2)
    axis.set(xlabel=name, title=f"correlation with {name}: {np.corrcoef(feature, y)[0, 1]:.2f}")
axes[0].set_ylabel("y")
plt.show()
