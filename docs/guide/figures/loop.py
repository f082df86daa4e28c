"""The four parts of the loop."""

import matplotlib.pyplot as plt

fig, axis = plt.subplots(figsize=(10, 2.6), layout="constrained")
axis.set(xlim=(-0.1, 10.6), ylim=(0, 2.4))
axis.axis("off")
parts = [
    ("Gradient test", "gradient of every\nweight at zero"),
    ("Graft", "free the strongest"),
    ("Optimise", "move all free weights\nto their optimum"),
    ("Prune", "give back weights that\nreturned to zero"),
]
for place, (name, what) in enumerate(parts):
    x = 1.15 + 2.3 * place
    axis.add_patch(plt.Rectangle((x - 1, 0.85), 2, 1.1, facecolor="#eef3fa", edgecolor="tab:blue"))
    axis.text(x, 1.65, name, ha="center", va="center", weight="bold")
    axis.text(x, 1.2, what, ha="center", va="center", fontsize=9)
    if place:
        axis.annotate("", (x - 1, 1.4), (x - 1.3, 1.4), arrowprops={"arrowstyle": "-|>", "color": "0.3"})
end = 1.15 + 2.3 * 3
axis.plot([end, end, 1.15], [0.85, 0.4, 0.4], color="0.3", lw=1.2)
axis.annotate("", (1.15, 0.85), (1.15, 0.38), arrowprops={"arrowstyle": "-|>", "color": "0.3"})
axis.text(4.6, 0.32, "until no gradient exceeds its penalty: then the certificate is computed", ha="center", va="top")
plt.show()
