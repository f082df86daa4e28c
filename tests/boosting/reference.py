"""Gradient boosted feature selection the slow way: every split of every feature at every node, with its price.

It knows rows and values, and neither bins nor histograms.  Where several splits are equally good to rounding, the one
that a fitted tree took is taken, so that what remains to compare is everything but exact ties.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

TIE = 1e-6  # gradients are rounded to 24 bits, and a gain is a square


@dataclass
class Options:
    """What is grown: see the parameters of the estimators."""

    mu: float
    price: object  # a function of the mask of bought features
    n_trees: int = 3
    learning_rate: float = 0.3
    depth: int = 3
    min_leaf: float = 1.0
    leaf: str = "newton"
    loss: str = "logistic"
    delta: float = 1.0
    categorical: tuple = ()
    keep: tuple = ()
    max_features: int | None = None
    max_cost: float | None = None


@dataclass
class State:
    """What was bought, in which order and for how much."""

    options: Options
    bought: np.ndarray
    order: list = field(default_factory=list)
    paid: float = 0.0

    def prices(self):
        phi = np.where(self.bought, 0.0, self.options.price(self.bought))
        price = self.options.mu * phi
        if self.options.max_features is not None and self.bought.sum() >= self.options.max_features:
            price[~self.bought] = np.inf
        if self.options.max_cost is not None:
            price[(phi > self.options.max_cost - self.paid + 1e-9) & ~self.bought] = np.inf
        return phi, price


def gain(sg, s, left):
    """Return the decrease of Σ s(g - mean)² when the rows are split, from s·g and s."""
    a, b, u, v = sg[left].sum(), sg[~left].sum(), s[left].sum(), s[~left].sum()
    return a * a / u + b * b / v - (a + b) ** 2 / (u + v)


def splits(x, g, s, options, f):
    """Yield every split of a feature as the mask of the rows that go left, the lowest first."""
    missing = np.isnan(x)
    if f in options.categorical:
        keys = np.where(missing, np.inf, x)
        values = np.unique(keys)
        if options.min_leaf > 1.0:  # then not every set is tried, but those in an order of mean gradients
            sets = sets_in_order(values, [np.average(g[keys == v], weights=s[keys == v]) for v in values])
        else:
            sets = [c for k in range(1, values.size) for c in combinations(values, k)]
        for chosen in sets:
            yield np.isin(keys, chosen)
        return
    values = np.unique(x[~missing])
    for v in values if missing.any() else values[:-1]:
        below = x <= v  # NaN is not
        yield below
        if missing.any() and v != values[-1]:
            yield below | missing


def sets_in_order(values, means):
    """Return the sets that are the first of some order by means; equal means have every order."""
    order = np.argsort(means, kind="stable")
    values, means = np.asarray(values)[order], np.asarray(means)[order]
    runs = np.split(values, 1 + np.flatnonzero(np.diff(means) > 1e-9 * np.abs(means).max()))
    sets, before = [], ()
    for run in runs:
        sets += [(*before, *some) for k in range(1, run.size + 1) for some in combinations(run, k)]
        before = (*before, *run)
    return sets[:-1]


def best_splits(X, g, s, rows, state, price):
    """List the splits that are best to rounding, as (net gain, feature, left mask), the lowest feature first."""
    found = []
    sg, weight = s[rows] * g[rows], s[rows]
    for f in range(X.shape[1]):
        if price[f] == np.inf:
            continue
        for left in splits(X[rows, f], g[rows], s[rows], state.options, f):
            if min(weight[left].sum(), weight[~left].sum()) < state.options.min_leaf - 1e-9:
                continue
            found.append((gain(sg, weight, left) - price[f], f, left))
    if not found:
        return [], 0.0
    top = max(net for net, _, _ in found)
    scale = (s[rows] * g[rows] ** 2).sum()
    return [split for split in found if split[0] >= top - TIE * scale], scale


def grow(X, g, s, state, advice):
    """Grow a tree and return it as a list of (feature, rows that go left) in the order of splitting, and its leaves.

    ``advice`` yields the splits of a fitted tree, as (feature, rows left) or None for a leaf, in the same order.
    """
    level = [np.arange(len(g))]
    taken, leaves = [], []
    for _ in range(state.options.depth):
        below = []
        for rows in level:
            hint = next(advice)
            phi, price = state.prices()
            candidates, scale = best_splits(X, g, s, rows, state, price)
            wanted = [c for c in candidates if c[0] > -TIE * scale]
            chosen = None
            for _, f, left in wanted:
                if hint is not None and f == hint[0] and same_sides(rows, left, hint[1]):
                    chosen = f, rows[left], rows[~left]
                    break
            else:
                certain = [c for c in wanted if c[0] > TIE * scale]
                if certain:
                    _, f, left = certain[0]
                    chosen = f, rows[left], rows[~left]
            if chosen is None:
                leaves.append(rows)
                taken.append(None)
                continue
            f, left_rows, right_rows = chosen
            taken.append((f, frozenset(left_rows.tolist())))
            if not state.bought[f]:
                state.bought[f] = True
                state.order.append(f)
                state.paid += phi[f]
            below += [left_rows, right_rows]
        level = below
    return taken, leaves + level


def same_sides(rows, left, hint):
    return set(rows[left].tolist()) == hint


def gradients(F, y, options):
    """Return negative gradients and curvatures of scores (n_outputs, n_rows)."""
    if options.loss == "logistic":
        p = 1.0 / (1.0 + np.exp(-F))
        return y - p, p * (1.0 - p)
    if options.loss == "multinomial":
        p = np.exp(F - F.max(axis=0))
        p /= p.sum(axis=0)
        k = F.shape[0]
        return (np.arange(k)[:, None] == y) - p, p * (1.0 - p) * k / (k - 1.0)
    if options.loss == "poisson":
        return y - np.exp(F), np.exp(F)
    r = y - F
    if options.loss == "squared":
        return r, np.ones_like(r)
    return np.clip(r, -options.delta, options.delta), np.minimum(1.0, options.delta / np.maximum(np.abs(r), 1e-300))


def step(g, h, s, options):
    below = s.sum() if options.leaf == "gradient" else (s * h).sum()
    value = (s * g).sum() / below
    return value if options.loss in {"squared", "huber"} else float(np.clip(value, -4.0, 4.0))


def boost(X, y, s, start, options, trees):
    """Boost as Algorithm 1 does; ``trees`` are those of a fitted model, asked only where splits are equally good.

    Returns the splits of every tree, the scores, and what was bought.
    """
    bought = np.zeros(X.shape[1], bool)
    bought[list(options.keep)] = True
    state = State(options, bought)
    F = np.repeat(np.asarray(start, float)[:, None], len(y), axis=1)
    grown = []
    for t in range(options.n_trees):
        g, h = gradients(F, y, options)
        these = []
        F = F.copy()
        steps = np.zeros_like(F)
        for k in range(F.shape[0]):
            advice = advise(trees[t][k], X) if t < len(trees) else iter(lambda: None, 0)
            taken, leaves = grow(X, g[k], s, state, advice)
            these.append(taken)
            for rows in leaves:
                steps[k, rows] = options.learning_rate * step(g[k, rows], h[k, rows], s[rows], options)
        if all(split is None for taken in these for split in taken):
            break
        F += steps
        grown.append(these)
    return grown, F, state


def advise(tree, X):
    """Yield the splits of a fitted tree level by level, as (feature, rows that go left), None for a leaf."""
    level = [(0, np.arange(X.shape[0]))]
    while level:
        below = []
        for node, rows in level:
            if tree.feature[node] < 0:
                yield None
                continue
            left = goes_left(tree, node, X[rows])
            yield int(tree.feature[node]), set(rows[left].tolist())
            below += [(tree.left[node], rows[left]), (tree.right[node], rows[~left])]
        level = below


def goes_left(tree, node, X):
    x = X[:, tree.feature[node]]
    if tree.categories[node] is not None:
        inside = np.isin(x, np.array(tree.categories[node], float))
    else:
        inside = x <= tree.threshold[node]
    return np.where(np.isnan(x), tree.missing_left[node], inside)


def splits_of(tree, X, depth):
    """Return the splits of a fitted tree as :func:`grow` does."""
    out = []
    level = [(0, np.arange(X.shape[0]))]
    for _ in range(depth):
        below = []
        for node, rows in level:
            if tree.feature[node] < 0:
                out.append(None)
                continue
            left = goes_left(tree, node, X[rows])
            out.append((int(tree.feature[node]), frozenset(rows[left].tolist())))
            below += [(tree.left[node], rows[left]), (tree.right[node], rows[~left])]
        level = below
    return out
