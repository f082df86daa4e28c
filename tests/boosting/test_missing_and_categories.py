"""Missing values and categories are learned from as they are."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skgraft import GBFSClassifier, GBFSRegressor

from . import reference
from .samples import classes

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


def test_missing_values_go_where_it_helps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] > 0).astype(int)
    X[rng.uniform(size=400) < 0.3, 0] = np.nan
    y[np.isnan(X[:, 0])] = 1
    model = GBFSClassifier(n_trees=30).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.order_[0] == 0
    assert model.trees_[0][0].missing_seen[0]
    assert not model.trees_[0][0].missing_left[0]
    flipped = GBFSClassifier(n_trees=30).fit(-X, y)
    assert flipped.trees_[0][0].missing_left[0]
    assert "or missing" in str(flipped.trees_[0][0])


def test_missingness_alone_can_be_split_on():
    rng = np.random.default_rng(0)
    X = np.ones((100, 2))
    X[rng.uniform(size=100) < 0.4, 1] = np.nan
    y = np.isnan(X[:, 1])
    model = GBFSClassifier(n_trees=10, mu=0.2).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.trees_[0][0].threshold[0] == np.inf


def test_columns_without_values_or_variation_are_never_chosen():
    X, y = classes()
    X[:, 5] = np.nan
    X[:, 6] = 3.0
    for matrix in (X, np.asfortranarray(X)):
        model = GBFSClassifier(mu=0.0, n_trees=20).fit(matrix, y)
        assert not model.support_[[5, 6]].any()
        assert np.isfinite(model.decision_function(matrix)).all()
    nothing = GBFSRegressor().fit(np.full((30, 2), np.nan), np.arange(30.0))
    assert not nothing.support_.any()
    assert_allclose(nothing.predict(np.zeros((2, 2))), 14.5)


def test_unseen_missing_values_go_with_the_heavier_child():
    X, y = classes()
    model = GBFSClassifier(n_trees=1, max_depth=1, mu=0.0).fit(X, y)
    tree = model.trees_[0][0]
    heavier = tree.left[0] if tree.n_samples[tree.left[0]] >= tree.n_samples[tree.right[0]] else tree.right[0]
    start = model._forest.start[0]
    assert_allclose(model.decision_function(np.full((1, 20), np.nan)), start + tree.value[heavier])


def colours(n=400, seed=0):
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue", "black", "white"], n)
    size = rng.normal(size=n)
    y = np.isin(colour, ["green", "white"]) ^ (size > 1.0)
    return colour, size, y


def test_categories_of_every_library_are_read_alike():
    colour, size, y = colours()
    frames = [
        pd.DataFrame({"size": size, "colour": pd.Categorical(colour)}, index=np.arange(400)[::-1]),
        pl.DataFrame({"size": size, "colour": pl.Series(colour, dtype=pl.Categorical)}),
        pl.DataFrame({"size": size, "colour": pl.Series(colour, dtype=pl.Enum(sorted(set(colour))))}),
        pa.table({"size": size, "colour": pa.array(colour).dictionary_encode()}),
    ]
    found = []
    for frame in frames:
        model = GBFSClassifier(n_trees=20, max_depth=2).fit(frame, y)
        assert model.score(frame, y) == 1.0
        root = model.trees_[0][0]
        assert root.categories[0] in (["black", "blue", "red"], ["green", "white"])
        assert "colour in {" in str(root)
        found.append(model.decision_function(frame))
    for other in found[1:]:
        assert_array_equal(other, found[0])


def test_named_columns_of_text_or_numbers_can_be_categories():
    colour, size, y = colours()
    text = pd.DataFrame({"size": size, "colour": colour})
    with pytest.raises(ValueError, match="'colour'"):
        GBFSClassifier().fit(text, y)
    by_name = GBFSClassifier(n_trees=20, max_depth=2, categorical_features=["colour"]).fit(text, y)
    assert by_name.score(text, y) == 1.0
    codes = np.unique(colour, return_inverse=True)[1]
    X = np.column_stack([size, codes])
    for which in ([1], [False, True], np.array([1])):
        numbers = GBFSClassifier(n_trees=20, max_depth=2, categorical_features=which).fit(X, y)
        assert_array_equal(numbers.decision_function(X), by_name.decision_function(text))
    objects = np.column_stack([size.astype(object), colour.astype(object)])
    mixed = GBFSClassifier(n_trees=20, max_depth=2, categorical_features=[1]).fit(objects, y)
    assert_array_equal(mixed.decision_function(objects), by_name.decision_function(text))


def test_unknown_and_missing_categories_are_predicted():
    colour, size, y = colours()
    frame = pd.DataFrame({"size": size, "colour": pd.Categorical(colour)})
    frame.loc[::9, "colour"] = None
    model = GBFSClassifier(n_trees=10).fit(frame, y)
    new = pd.DataFrame({"size": [0.0, 0.0, 0.0], "colour": pd.Categorical(["mauve", None, "red"])})
    p = model.predict_proba(new)
    assert np.isfinite(p).all()
    assert_array_equal(p[0], p[1])  # what was never seen is as good as missing


def test_many_categories_share_a_bin():
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.concatenate([np.repeat(np.arange(5), 60), np.arange(5, 105)]))
    y = (np.isin(codes, [1, 3]) | (codes > 40)).astype(float) + 0.01 * rng.normal(size=codes.size)
    X = codes[:, None].astype(float)
    model = GBFSRegressor(n_trees=30, max_bins=6, categorical_features=[0]).fit(X, y)
    rare = model.predict(np.array([[50.0], [20.0], [1e6]]))
    assert rare[0] == rare[1] == rare[2]
    assert_allclose(model.predict(np.array([[1.0], [0.0]])), [1.0, 0.0], atol=0.1)


@pytest.mark.parametrize("weighted", ["real", "whole", "none"])
def test_between_categories_of_equal_means_the_best_split_is_found(weighted):
    # categories of one class alone have the same gradient at the root, and leaves must weigh enough
    bound = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n_categories = int(rng.integers(3, 10))
        kind = rng.choice(3, n_categories, p=[0.6, 0.2, 0.2])  # of one class, of the other, or of both
        x = np.repeat(np.arange(n_categories), rng.integers(1, 4, n_categories))
        y = np.where(kind[x] == 2, np.arange(x.size) % 2, kind[x])
        kinds = {"real": rng.uniform(0.1, 3.0, x.size), "whole": rng.integers(1, 5, x.size), "none": np.ones(x.size)}
        s = kinds[weighted]
        min_leaf = int(rng.integers(1, max(2, 0.5 * s.sum())))
        if np.unique(y).size < 2:
            continue
        model = GBFSClassifier(n_trees=1, max_depth=1, mu=0.0, min_samples_leaf=min_leaf, categorical_features=[0])
        model.fit(x[:, None].astype(float), y, s)
        g = y - np.average(y, weights=s)
        means = [np.average(g[x == v], weights=s[x == v]) for v in range(n_categories)]
        gains = {
            chosen: reference.gain(s * g, s, np.isin(x, chosen))
            for chosen in reference.sets_in_order(np.arange(n_categories), means)
            if min_leaf - 1e-9 <= s[np.isin(x, chosen)].sum() <= s.sum() - min_leaf + 1e-9
        }
        found = model.trees_[0][0].gain[0] if model.n_trees_ else 0.0
        assert_allclose(found, max(gains.values(), default=0.0), rtol=1e-5, atol=1e-7)
        by_number = [tuple(np.argsort(means, kind="stable")[:k]) for k in range(1, n_categories)]
        bound += max((gains.get(chosen, 0.0) for chosen in by_number), default=0.0) < 0.99 * found
    assert bound > 5  # some are not found in the order of their numbers


def test_one_of_very_many_equal_orders_is_found_in_time():
    rng = np.random.default_rng(0)
    x = np.repeat(np.arange(200), 2)
    y = x >= 150  # 150 categories of one class alone, and 50 of the other
    s = rng.uniform(0.01, 0.02, x.size)
    model = GBFSClassifier(n_trees=1, max_depth=1, mu=0.0, min_samples_leaf=2, categorical_features=[0])
    tree = model.fit(x[:, None].astype(float), y, s).trees_[0][0]
    left = np.isin(x, tree.categories[0])
    small = left if s[left].sum() < s[~left].sum() else ~left
    g = y - np.average(y, weights=s)
    assert_allclose(tree.gain[0], reference.gain(s * g, s, left), rtol=1e-5)
    # all rows of the rarer class, and as few others as a leaf needs
    assert small[y].all()
    assert 2.0 <= s[small].sum() < 2.0 + 0.02  # less than any category too much
