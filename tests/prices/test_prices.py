"""What the features cost, as the user may say it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from skgraft.prices.resolve import (
    Bags,
    Prices,
    resolve_bags,
    resolve_costs,
    resolve_features,
    resolve_penalty_weights,
    resolve_prices,
)

NAMES = np.array(["age", "height", "weight", "sodium", "iron"], dtype=object)
N = len(NAMES)
BLOOD = {"blood": ["sodium", "iron"]}

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

every_column = pytest.mark.parametrize(
    "column",
    [list, tuple, np.array, pd.Series, pl.Series, pa.array],
    ids=lambda kind: kind.__module__ + kind.__name__,
)


def prices(**parameters: Any) -> Prices:
    given = {"groups": None, "feature_costs": None, "keep": None, "max_features": None, "max_cost": None}
    return resolve_prices(**{**given, **parameters}, n_features=N, names=NAMES)


# --- bags ---


def test_without_groups_each_feature_is_a_bag_with_its_own_name() -> None:
    bags = resolve_bags(None, N, NAMES)
    assert bags.labels == tuple(NAMES)
    assert bags.is_trivial
    assert_array_equal(bags.of, np.arange(N))
    assert resolve_bags(None, 3, None).labels == (0, 1, 2)


@every_column
def test_features_with_equal_labels_share_a_bag_numbered_by_first_appearance(column: Any) -> None:
    bags = resolve_bags(column(["b", "a", "b", "c", "a"]), N, NAMES)
    assert bags.labels == ("b", "a", "c")
    assert_array_equal(bags.of, [0, 1, 0, 2, 1])
    assert_array_equal(bags.sizes, [2, 2, 1])
    assert bags.n_bags == 3
    assert not bags.is_trivial


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_members_are_the_features_of_a_bag(labels: list[int]) -> None:
    bags = resolve_bags(labels, len(labels), None)
    for b, label in enumerate(bags.labels):
        assert bags.members(b).tolist() == [j for j, other in enumerate(labels) if other == label]
        assert bags.members(b).size == bags.sizes[b]


def test_labels_may_be_tuples_and_are_plain_values() -> None:
    assert resolve_bags([("a", 1), ("a", 1), "b"], 3, None).labels == (("a", 1), "b")
    assert {type(label) for label in resolve_bags(np.array([3, 3, 4]), 3, None).labels} == {int}


def test_a_mapping_names_bags_and_leaves_the_other_features_on_their_own() -> None:
    bags = resolve_bags({"blood": ["sodium", 4], "body": ("height", "weight")}, N, NAMES)
    assert bags.labels == ("blood", "body", "age")
    assert_array_equal(bags.of, [2, 1, 1, 0, 0])


def test_a_bag_may_be_one_feature_and_bag_j_is_feature_j_if_all_are() -> None:
    bags = resolve_bags({"last": "iron", "first": 0}, N, NAMES)
    assert bags.is_trivial
    assert bags.labels == ("first", "height", "weight", "sodium", "last")
    assert_array_equal(bags.of, np.arange(N))


def test_a_series_indexed_by_features_is_read_by_name() -> None:
    series = pd.Series(["m", "m", "p", "p", "p"], index=["iron", "sodium", "age", "height", "weight"])
    assert_array_equal(resolve_bags(series, N, NAMES).of, [0, 0, 0, 1, 1])
    with pytest.raises(ValueError, match="no label for the feature 'age'"):
        resolve_bags(series.drop("age"), N, NAMES)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([1, 1, 2], "groups has 3 entries, but X has 5 features"),
        (["a", "a", None, "b", "b"], "bag of the feature 'weight' cannot be None"),
        (["a", "a", np.nan, "b", "b"], "bag of the feature 'weight' cannot be nan"),
        ([1.0, 1.0, np.nan, 2.0, 2.0], "bag of the feature 'weight' cannot be nan"),
        (pd.array([1, 1, None, 2, 2], dtype="Int64"), "bag of the feature 'weight' cannot be"),
        ([["a"], 1, 2, 3, 4], r"bag of the feature 'age' cannot be \['a'\]"),
        ("blood", "one-dimensional"),
        ({"a", "b"}, "one-dimensional"),
        ({None: ["age"]}, "name of a bag cannot be None"),
        ({"blood": []}, "bag 'blood' in groups is empty"),
        ({"blood": None}, "bag 'blood' in groups is empty"),
        ({"blood": ["sodum"]}, r"groups\['blood'\] names the feature 'sodum'.*Did you mean 'sodium'\?"),
        ({"blood": [7]}, r"groups\['blood'\] refers to feature 7, but X has 5 features"),
        (BLOOD | {"salt": ["age", "sodium"]}, "feature 'sodium' into two bags, 'blood' and 'salt'"),
    ],
)
def test_groups_that_cannot_be_meant_are_refused(groups: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        resolve_bags(groups, N, NAMES)


# --- costs ---


def costs(feature_costs: Any, groups: Any = None, names: Any = NAMES) -> list[float]:
    cost = resolve_costs(feature_costs, resolve_bags(groups, N, names), N, names)
    assert cost.dtype == np.float64
    return list(cost)


def test_everything_costs_one_unless_told() -> None:
    assert costs(None) == [1, 1, 1, 1, 1]
    assert costs(None, BLOOD) == [1, 1, 1, 1]


@every_column
def test_an_array_prices_the_features(column: Any) -> None:
    assert costs(column([3, 1, 4, 0, 5])) == [3, 1, 4, 0, 5]


def test_an_array_prices_the_bags() -> None:
    assert costs([7, 1, 2, 3], BLOOD) == [7, 1, 2, 3]


def test_an_array_of_features_that_agree_inside_each_bag_prices_the_bags() -> None:
    assert costs([1, 2, 3, 7, 7], BLOOD) == [7, 1, 2, 3]


def test_a_mapping_prices_features_and_bags_by_name_or_position() -> None:
    assert costs({"iron": 2.5, 0: 0}) == [0, 1, 1, 1, 2.5]
    assert costs({"blood": 9, "height": 2, 2: 3}, BLOOD) == [9, 1, 2, 3]
    assert costs({4: 2}, names=None) == [1, 1, 1, 1, 2]
    assert costs(pd.Series({"iron": 2.5, "age": 4.0})) == [4, 1, 1, 1, 2.5]


def test_a_bag_that_is_called_like_one_of_its_features_is_meant_by_that_name() -> None:
    assert costs({"iron": 9}, {"iron": ["sodium", "iron"]}) == [9, 1, 1, 1]


def test_a_feature_alone_in_a_bag_may_be_priced_by_either_name() -> None:
    groups = {"metal": "iron"}
    assert costs({"iron": 2}, groups) == costs({"metal": 2}, groups) == [1, 1, 1, 1, 2]


@pytest.mark.parametrize(
    ("feature_costs", "groups", "words"),
    [
        ([1, 2, 3], None, "feature_costs has 3 entries, but X has 5 features"),
        ([1, 2, 3], BLOOD, "3 entries, but there are 4 bags of 5 features"),
        ([1, -2, 3, 4, 5], None, r"gives 'height' the value -2: it must be a finite number of at least 0"),
        ([1, np.nan, 3, 4, 5], None, "gives 'height' the value nan"),
        ([1, np.inf, 3, 4, 5], None, "gives 'height' the value inf"),
        ([1, "2", 3, 4, 5], None, "gives 'height' the value '2'"),
        ([1, None, 3, 4, 5], None, "gives 'height' the value None"),
        ([1, True, 3, 4, 5], None, "gives 'height' the value True"),
        ([-1, 2, 3, 4], BLOOD, "gives 'blood' the value -1"),
        ([1, 2, 3, 7, 8], BLOOD, r"two prices to the bag 'blood', 7\.0 and 8\.0.*\{'blood': 8\.0\}"),
        ({"iron": -1}, None, "gives 'iron' the value -1"),
        ({"irn": 1}, None, r"prices 'irn', which is neither a feature nor a bag\. Did you mean 'iron'\?"),
        ({"bloood": 1}, BLOOD, r"Did you mean 'blood'\?"),
        ({5: 1}, None, "refers to feature 5, but X has 5 features, numbered 0 to 4"),
        ({"iron": 1}, BLOOD, "'iron', which is sold only in the bag 'blood': price the bag by its name"),
        ({"iron": 1, 4: 2}, None, "gives two values to one and the same: 'iron' and 4"),
        ({"age": 1}, {"age": ["iron", "sodium"]}, "both a bag in groups and a feature outside it"),
        (3.0, None, "one-dimensional"),
        (np.ones((5, 1)), None, "one-dimensional"),
    ],
)
def test_costs_that_cannot_be_meant_are_refused(feature_costs: Any, groups: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        costs(feature_costs, groups)


def test_names_do_not_price_columns_without_names() -> None:
    with pytest.raises(ValueError, match="prices 'iron', which is neither a feature nor a bag"):
        costs({"iron": 1}, names=None)


# --- features by name ---


@pytest.mark.parametrize(
    ("which", "found"),
    [
        (None, []),
        ([], []),
        ("iron", [4]),
        (3, [3]),
        (np.int64(3), [3]),
        (["iron", "age", "iron"], [0, 4]),
        (["iron", 0], [0, 4]),
        ({"iron", "age"}, [0, 4]),
        (np.array([4, 1, 1]), [1, 4]),
        (range(2), [0, 1]),
        (pd.Index(["height"]), [1]),
        (pl.Series(["height"]), [1]),
        ([True, False, False, False, True], [0, 4]),
        (np.array([True, False, False, False, True]), [0, 4]),
        (pd.Series([True, False], index=["iron", "age"]), [4]),
    ],
)
def test_features_are_found_by_name_position_or_mask(which: Any, found: list[int]) -> None:
    features = resolve_features(which, N, NAMES, "keep")
    assert features.dtype == np.intp
    assert features.tolist() == found


@pytest.mark.parametrize(
    ("which", "words"),
    [
        (5, "keep refers to feature 5, but X has 5 features, numbered 0 to 4"),
        ([-1], "keep refers to feature -1"),
        (["irn"], r"keep names the feature 'irn', which X does not have\. Did you mean 'iron'\?"),
        (["xyz"], r"which X does not have\.$"),
        ([True, False], "The mask keep has 2 entries, but X has 5 features"),
        ([True, 2], "not by True"),
        (True, "not by True"),
        ([1.0], r"not by 1\.0"),
        ({"age": 1}, "one-dimensional"),
        (np.ones((2, 2), dtype=int), "one-dimensional"),
    ],
)
def test_features_that_do_not_exist_are_refused(which: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        resolve_features(which, N, NAMES, "keep")


def test_names_need_columns_with_names() -> None:
    with pytest.raises(ValueError, match="keep names the feature 'iron', but the columns of X have no names"):
        resolve_features("iron", N, None, "keep")


def test_a_name_that_two_columns_share_names_neither() -> None:
    with pytest.raises(ValueError, match="several columns of X have this name"):
        resolve_features("a", 3, ["a", "b", "a"], "keep")
    assert resolve_features("b", 3, ["a", "b", "a"], "keep").tolist() == [1]


# --- penalty weights ---


@pytest.mark.parametrize(
    ("penalty_weights", "expected"),
    [
        (None, [1, 1, 1, 1, 1]),
        ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
        (np.arange(5, dtype=np.float32), [0, 1, 2, 3, 4]),
        ({"iron": 0, 1: 2.5}, [1, 2.5, 1, 1, 0]),
        (pd.Series({"iron": 0.0}), [1, 1, 1, 1, 0]),
    ],
)
def test_penalty_weights_are_one_unless_told(penalty_weights: Any, expected: list[float]) -> None:
    weights = resolve_penalty_weights(penalty_weights, N, NAMES)
    assert weights.dtype == np.float64
    assert_array_equal(weights, expected)


@pytest.mark.parametrize(
    ("penalty_weights", "words"),
    [
        ([1, 2], "penalty_weights has 2 entries, but X has 5 features"),
        ([1, 2, 3, -4, 5], "penalty_weights gives 'sodium' the value -4"),
        ({"sodium": np.inf}, "penalty_weights gives 'sodium' the value inf"),
        ({"sodum": 1}, r"penalty_weights names the feature 'sodum'.*Did you mean 'sodium'\?"),
        ({"age": 1, 0: 1}, "gives two values to one and the same: 'age' and 0"),
    ],
)
def test_penalty_weights_that_cannot_be_meant_are_refused(penalty_weights: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        resolve_penalty_weights(penalty_weights, N, NAMES)


# --- prices ---


def test_a_bag_is_paid_for_once() -> None:
    known = prices(groups=BLOOD, feature_costs={"blood": 10, "age": 3})
    for selected, cost in [([], 0), ([3], 10), ([3, 4], 10), ([0, 3, 4], 13), ([1, 2], 2)]:
        mask = np.isin(np.arange(N), selected)
        assert known.total(mask) == cost


def test_a_bag_with_a_kept_feature_is_open_and_free() -> None:
    known = prices(groups=BLOOD, feature_costs={"blood": 10}, keep="iron")
    assert_array_equal(known.kept, [False, False, False, False, True])
    assert_array_equal(known.bag_is_kept, [True, False, False, False])
    assert_array_equal(known.charge, [0, 1, 1, 1])
    assert_array_equal(known.cost, [10, 1, 1, 1])
    assert known.total(np.ones(N, dtype=bool)) == 3


@given(
    of=st.lists(st.integers(0, 3), min_size=1, max_size=10),
    data=st.data(),
)
def test_the_total_is_the_sum_of_equation_7(of: list[int], data: st.DataObject) -> None:
    bags = resolve_bags(of, len(of), None)
    cost = np.array(data.draw(st.lists(st.integers(0, 9), min_size=bags.n_bags, max_size=bags.n_bags)), dtype=float)
    kept, selected = (
        np.array(data.draw(st.lists(st.booleans(), min_size=len(of), max_size=len(of)))) for _ in range(2)
    )
    expected = sum(
        cost[b] for b in range(bags.n_bags) if any(selected[bags.members(b)]) and not any(kept[bags.members(b)])
    )
    assert Prices(bags, cost, kept).total(selected) == expected


def test_limits_are_plain_numbers() -> None:
    known = prices(max_features=np.int64(99), max_cost=np.float32(2))
    assert (type(known.max_features), known.max_features) == (int, 99)
    assert (type(known.max_cost), known.max_cost) == (float, 2.0)
    assert prices(max_cost=0).max_cost == 0
    unlimited = prices()
    assert unlimited.max_features is None
    assert unlimited.max_cost is None


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2", np.bool_(1)])
def test_max_features_is_a_whole_number_of_at_least_one(value: Any) -> None:
    with pytest.raises(ValueError, match="max_features must be a whole number of at least 1"):
        prices(max_features=value)


def test_max_features_leaves_room_for_what_is_kept() -> None:
    assert prices(max_features=2, keep=["age", "iron"]).max_features == 2
    with pytest.raises(ValueError, match="max_features=1 leaves no room for the 2 features named in keep"):
        prices(max_features=1, keep=["age", "iron"])


@pytest.mark.parametrize("value", [-1, np.nan, True, "2", [1]])
def test_max_cost_is_a_number_of_at_least_zero(value: Any) -> None:
    with pytest.raises(ValueError, match="max_cost must be a number of at least 0"):
        prices(max_cost=value)


def test_many_features_are_priced_by_name_in_no_time() -> None:
    names = [f"f{j}" for j in range(50_000)]
    bags = resolve_bags({"all": names[:25_000]}, len(names), names)
    cost = resolve_costs(dict.fromkeys(names[25_000:], 2), bags, len(names), names)
    assert isinstance(bags, Bags)
    assert_array_equal(cost, [1] + [2] * 25_000)
