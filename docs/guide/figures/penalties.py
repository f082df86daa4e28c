"""What each penalty asks for a weight, and what it does to a weight that the data want to be z."""

import matplotlib.pyplot as plt
import numpy as np

w = np.linspace(-2.5, 2.5, 1001)
l2, l1, l0 = 0.5, 0.7, 0.5
styles = {"l2": ("tab:blue", "--"), "l1": ("tab:orange", "-"), "l0": ("tab:green", "-.")}
asked = {"l2": l2 * w**2, "l1": l1 * np.abs(w), "l0": l0 * (np.abs(w) > 1e-9)}
left_over = {
    "l2": w / (1 + 2 * l2),
    "l1": np.sign(w) * np.maximum(np.abs(w) - l1, 0),
    "l0": np.where(w**2 > 2 * l0, w, 0),
}

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for name, (colour, style) in styles.items():
    left.plot(w, asked[name], style, color=colour, label=name)
    jump = np.abs(np.diff(left_over[name], prepend=left_over[name][0])) > 0.5
    right.plot(w, np.where(jump, np.nan, left_over[name]), style, color=colour, label=name)
right.plot(w, w, color="0.8", lw=1, zorder=0)
left.set(xlabel="weight", ylabel="penalty", ylim=(0, 2))
right.set(xlabel="weight z that the loss alone wants", ylabel="weight under the penalty")
left.legend()
plt.show()
