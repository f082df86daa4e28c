"""Fitted models are those of a slow reference that enumerates all splits with their prices."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skgraft import GBFSClassifier, GBFSRegressor
from skgraft.boosting import bags, neighbourhood, stages
from skgraft.boosting.growth import screening as screening_module

from . import reference


@pytest.fixture(autouse=True, scope="module")
def _screen_small_nodes():
    """Screen however few cells there are: the problems here are small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screening_module, "LEAST_CELLS", 0)
        yield


def data(seed, loss, n=None, d=None, *, missing=False, categorical=False, coarse=False):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 90)) if n is None else n
    d = int(rng.integers(2, 7)) if d is None else d
    X = rng.normal(size=(n, d))
    if coarse:
        X = np.round(2.0 * X) / 2.0
    categories = ()
    if categorical:
        X[:, 0] = rng.integers(0, 5, n)
        categories = (0,)
    if missing:
        X[rng.uniform(size=X.shape) < 0.15] = np.nan
        X[:, -1] = np.nan if seed % 3 == 0 else X[:, -1]
    Z = np.nan_to_num(X)
    f = np.sin(2.0 * Z[:, 0]) + Z[:, 0] * Z[:, -1] + 0.5 * Z[:, 1] + 0.3 * rng.normal(size=n)
    if loss == "logistic":
        y = (f > np.median(f)).astype(int)
    elif loss == "multinomial":
        y = np.digitize(f, np.quantile(f, [0.3, 0.7]))
    elif loss == "poisson":
        y = rng.poisson(np.exp(np.clip(f, -2.0, 2.0))).astype(float)
        y[0] += 1.0
    else:
        y = f + 0.01 * rng.normal(size=n)
    return X, y, categories


def weights(seed, n, kind):
    rng = np.random.default_rng(seed + 1000)
    if kind == "none":
        return None
    return rng.integers(1, 4, n).astype(float) if kind == "whole" else rng.uniform(0.5, 2.0, n)


def prices(kind, d, seed):
    """Return parameters of the estimator, and the price function of the reference."""
    rng = np.random.default_rng(seed + 2000)
    if kind == "plain":
        return {}, lambda _: np.ones(d)
    if kind == "costs":
        phi = rng.uniform(0.2, 2.0, d)
        return {"feature_costs": phi}, lambda _: phi
    if kind == "bags":
        labels = np.arange(d) // 2
        return {"groups": labels}, bags(labels)
    if kind == "line":
        function = neighbourhood(d, 1, 0.7)
    elif kind == "stages":
        function = stages({f: {(f + 2) % d: 0.1} for f in range(d)}, rng.uniform(0.5, 1.5, d))
    else:
        # prices that rise, also from nothing, with what was bought
        def function(used):
            return 0.4 * used.sum() * np.linspace(0.0, 1.0, used.size)

    return {"cost_function": function}, function


def agree(seed, loss, price="plain", weight="none", leaf="newton", depth=3, mu=0.05, min_leaf=1, **options):
    shapes = {key: options.pop(key) for key in ("missing", "categorical", "coarse", "n", "d") if key in options}
    X, y, categories = data(seed, loss, **shapes)
    s = weights(seed, len(y), weight)
    parameters, phi = prices(price, X.shape[1], seed)
    common = {
        "mu": mu, "n_trees": 3, "learning_rate": 0.3, "max_depth": depth, "min_samples_leaf": min_leaf, "leaf": leaf,
        "categorical_features": list(categories), "n_jobs": 1, **parameters, **options,
    }  # fmt: skip
    classes = loss in {"logistic", "multinomial"}
    estimator = GBFSClassifier(**common) if classes else GBFSRegressor(loss=loss, delta=1.0, **common)
    model = estimator.fit(X, y, sample_weight=s)
    slow = reference.Options(
        mu=model.mu_, price=phi, depth=depth, min_leaf=min_leaf, leaf=leaf, loss=loss, categorical=categories,
        **{key: options[key] for key in ("keep", "max_features", "max_cost") if key in options},
    )  # fmt: skip
    s = np.ones(len(y)) if s is None else s
    grown, scores, state = reference.boost(X, y, s, model._forest.start, slow, model.trees_)
    assert len(grown) == model.n_trees_
    for t, trees in enumerate(grown):
        for k, taken in enumerate(trees):
            fitted = reference.splits_of(model.trees_[t][k], X, depth)
            assert fitted == taken, (t, k)
    bought = model.order_[~np.isin(model.order_, list(slow.keep))]
    assert bought.tolist() == state.order
    assert_allclose(model.total_cost_, state.paid)
    assert_allclose(model._scores(X).T, scores, rtol=1e-9, atol=1e-9)
    return model


LOSSES = ["logistic", "multinomial", "squared", "huber", "poisson"]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("leaf", ["newton", "gradient"])
@pytest.mark.parametrize("seed", range(3))
def test_every_loss_and_leaf(loss, leaf, seed):
    agree(seed, loss, leaf=leaf)


@pytest.mark.parametrize("loss", ["logistic", "multinomial", "squared"])
@pytest.mark.parametrize("price", ["costs", "bags", "line", "stages", "rising"])
@pytest.mark.parametrize("seed", range(3))
def test_every_kind_of_price(loss, price, seed):
    agree(seed, loss, price, mu=0.1, d=6)


@pytest.mark.parametrize("loss", ["logistic", "squared", "poisson"])
@pytest.mark.parametrize("weight", ["whole", "real"])
@pytest.mark.parametrize("seed", range(3))
def test_weights(loss, weight, seed):
    agree(seed, loss, "costs", weight, min_leaf=3)


@pytest.mark.parametrize("loss", ["logistic", "multinomial", "squared"])
@pytest.mark.parametrize("seed", range(4))
def test_missing_values(loss, seed):
    agree(seed, loss, "bags", "whole" if seed % 2 else "none", missing=True)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("min_leaf", [1, 4])
@pytest.mark.parametrize("seed", range(2))
def test_categories(loss, missing, min_leaf, seed):
    agree(seed, loss, weight="real" if seed else "none", missing=missing, categorical=True, min_leaf=min_leaf, mu=0.01)


@pytest.mark.parametrize("depth", [1, 2, 4, 5])
@pytest.mark.parametrize("mu", [0.0, 0.02, 0.5])
def test_depths(depth, mu):
    agree(depth, "logistic", "costs", depth=depth, mu=mu)


@pytest.mark.parametrize(
    "limits", [{"max_features": 2}, {"max_cost": 1.7}, {"keep": (1,)}, {"keep": (0,), "max_features": 2}]
)
@pytest.mark.parametrize("price", ["plain", "bags", "costs"])
def test_budgets_and_kept_features(limits, price):
    agree(5, "squared", price, mu=0.01, d=6, **limits)


@pytest.mark.parametrize("seed", range(3))
def test_few_values_and_many_ties(seed):
    agree(seed, "logistic", "bags", coarse=True, missing=bool(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 220))
def test_random_mixtures(seed):
    rng = np.random.default_rng(seed)
    loss = str(rng.choice(LOSSES))
    agree(
        seed,
        loss,
        str(rng.choice(["plain", "costs", "bags", "line", "stages", "rising"])),
        str(rng.choice(["none", "whole", "real"])),
        str(rng.choice(["newton", "gradient"])),
        depth=int(rng.integers(1, 5)),
        mu=float(rng.choice([0.0, 0.01, 0.1, 0.4])),
        min_leaf=int(rng.choice([1, 3])),
        missing=bool(rng.integers(2)),
        coarse=bool(rng.integers(2)),
        d=int(rng.integers(2, 7)),
    )
