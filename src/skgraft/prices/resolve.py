"""Which features cost what: the l0 part of the criterion.

``l0 · Σ_g cost_g · [any weight of bag g ≠ 0]`` (Perkins et al. 2003, eq. 7) needs to know the bags, their
prices, the features that are always in and the limits of the budget. Users say all this by column names,
positions, masks, arrays or mappings; here it is read, once and before any work is done, into a
:class:`Prices` of plain arrays, and what cannot be meant is refused by name.
"""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Bags",
    "Prices",
    "resolve_bags",
    "resolve_costs",
    "resolve_features",
    "resolve_penalty_weights",
    "resolve_prices",
    "within_limits",
]

# Whatever the user gave as a parameter: an array, a list, a mapping, a pandas Series, a single value.
UserValue: TypeAlias = Any
Names: TypeAlias = "Sequence[str] | NDArray[Any] | None"

# Prices that add up to a budget in decimals may exceed it in floating point: 0.1 + 0.2 is above 0.3.
_ROUNDING = 1e-12

# Comparing a misspelt name with very many takes longer than the message is worth.
_MOST_NAMES_COMPARED = 20_000


@dataclass(frozen=True, eq=False)
class Bags:
    """Features that are bought together.

    Attributes
    ----------
    labels : sequence of hashable
        The name of each bag.
    of : ndarray of shape (n_features,)
        The number of the bag that each feature is in. If no bag has two features, bag j is feature j.
    """

    labels: Sequence[Hashable]
    of: NDArray[np.intp]

    @property
    def n_bags(self) -> int:
        """The number of bags."""
        return len(self.labels)

    @property
    def is_trivial(self) -> bool:
        """Whether each feature is a bag of its own."""
        return self.n_bags == self.of.size

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """The number of features in each bag."""
        return np.bincount(self.of, minlength=self.n_bags)

    def members(self, b: int) -> NDArray[np.intp]:
        """Return the features in bag b, in ascending order."""
        return self._by_bag[self._ends[b] - self.sizes[b] : self._ends[b]]

    @cached_property
    def _by_bag(self) -> NDArray[np.intp]:
        return np.argsort(self.of, kind="stable")

    @cached_property
    def _ends(self) -> NDArray[np.intp]:
        return np.cumsum(self.sizes)


@dataclass(frozen=True, eq=False)
class Prices:
    """What the features cost, which of them are always in, and how much may be spent.

    Attributes
    ----------
    bags : Bags
        The features that are bought together.
    cost : ndarray of shape (n_bags,)
        The price of each bag.
    kept : ndarray of bool of shape (n_features,)
        The features that are always in.
    max_features : int or None
        The largest number of features, kept ones among them.
    max_cost : float or None
        The largest total price.
    """

    bags: Bags
    cost: NDArray[np.float64]
    kept: NDArray[np.bool_]
    max_features: int | None = None
    max_cost: float | None = None

    @cached_property
    def bag_is_kept(self) -> NDArray[np.bool_]:
        """Whether each bag has a kept feature: such a bag is open from the start and never charged."""
        return self._touched(self.kept)

    @cached_property
    def charge(self) -> NDArray[np.float64]:
        """What it costs to open each bag: its price, or nothing if it is kept."""
        return np.where(self.bag_is_kept, 0.0, self.cost) if self.kept.any() else self.cost

    def total(self, support_mask: NDArray[np.bool_]) -> float:
        """Add up the charges of the bags with any selected feature, each paid for once.

        Parameters
        ----------
        support_mask : ndarray of bool of shape (n_features,)
            The selected features.

        Returns
        -------
        cost : float
            The sum in eq. 7 that l0 multiplies.
        """
        return float(self.charge[self._touched(support_mask)].sum())

    def _touched(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        touched = np.zeros(self.bags.n_bags, bool)
        touched[self.bags.of[mask]] = True
        return touched


def within_limits(
    n_features: NDArray[np.intp] | int,
    cost: NDArray[np.float64] | float,
    max_features: int | None,
    max_cost: float | None,
) -> NDArray[np.bool_]:
    """Tell whether so many features at such a total cost keep to the limits; None is no limit.

    A cost that meets its limit up to rounding keeps to it.
    """
    fits = np.ones(np.broadcast(n_features, cost).shape, bool)
    if max_features is not None:
        fits &= np.asarray(n_features) <= max_features
    if max_cost is not None:
        fits &= np.asarray(cost) <= max_cost * (1.0 + _ROUNDING)
    return fits


def resolve_prices(
    *,
    groups: UserValue,
    feature_costs: UserValue,
    keep: UserValue,
    max_features: int | None,
    max_cost: float | None,
    n_features: int,
    names: Names,
) -> Prices:
    """Read the parameters that say what features cost.

    Parameters
    ----------
    groups, feature_costs, keep
        See :func:`resolve_bags`, :func:`resolve_costs` and :func:`resolve_features`.
    max_features : int or None
        At least 1, and at least the number of kept features; it may exceed ``n_features``.
    max_cost : float or None
        At least 0.
    n_features : int
        The number of columns of X.
    names : sequence of str or None
        Their names, if they have any.

    Returns
    -------
    prices : Prices

    Raises
    ------
    ValueError
        If a parameter cannot be meant; the message names the culprit.

    Examples
    --------
    >>> from skgraft.prices.resolve import resolve_prices
    >>> prices = resolve_prices(
    ...     groups={"blood": ["sodium", "iron"]},
    ...     feature_costs={"blood": 10},
    ...     keep=["age"],
    ...     max_features=None,
    ...     max_cost=20,
    ...     n_features=3,
    ...     names=["age", "sodium", "iron"],
    ... )
    >>> prices.bags.labels
    ('blood', 'age')
    >>> prices.charge.tolist()
    [10.0, 0.0]
    """
    bags = resolve_bags(groups, n_features, names)
    cost = resolve_costs(feature_costs, bags, n_features, names)
    kept = np.zeros(n_features, dtype=bool)
    kept[resolve_features(keep, n_features, names, "keep")] = True
    return Prices(bags, cost, kept, _feature_limit(max_features, int(kept.sum())), _cost_limit(max_cost))


def _feature_limit(max_features: int | None, n_kept: int) -> int | None:
    if max_features is None:
        return None
    if not _is_integer(max_features) or max_features < 1:
        message = f"max_features must be a whole number of at least 1, or None; got {max_features!r}."
        raise ValueError(message)
    if max_features < n_kept:
        message = (
            f"max_features={max_features} leaves no room for the {n_kept} features named in keep: "
            "raise max_features or keep fewer."
        )
        raise ValueError(message)
    return int(max_features)


def _cost_limit(max_cost: float | None) -> float | None:
    if max_cost is None:
        return None
    # Written so that NaN fails too.
    if isinstance(max_cost, (bool, np.bool_)) or not isinstance(max_cost, numbers.Real) or not max_cost >= 0:
        message = f"max_cost must be a number of at least 0, or None; got {max_cost!r}."
        raise ValueError(message)
    return float(max_cost)


# --- features ---


def resolve_features(which: UserValue, n_features: int, names: Names, parameter: str) -> NDArray[np.intp]:
    """Read a parameter that names features.

    Parameters
    ----------
    which : None, str, int, array-like of these, or array-like of bool of shape (n_features,)
        Names, positions counted from 0, or a mask; None names no feature.
    n_features : int
        The number of columns of X.
    names : sequence of str or None
        Their names, if they have any.
    parameter : str
        What the parameter is called, for error messages.

    Returns
    -------
    features : ndarray of shape (n_named,)
        The positions, ascending and each once.

    Raises
    ------
    ValueError
        If a feature does not exist or a mask has the wrong length.
    """
    return _Columns(n_features, names).find_all(which, parameter)


@dataclass(frozen=True, eq=False)
class _Columns:
    """The columns of X, as the user may refer to them."""

    n: int
    names: Names

    @cached_property
    def labels(self) -> Sequence[Hashable]:
        """What the user calls the features: their names, or their positions if they have none."""
        return range(self.n) if self.names is None else [str(name) for name in self.names]

    @cached_property
    def position(self) -> dict[Hashable, int]:
        return {label: feature for feature, label in enumerate(self.labels)}

    def find_all(self, which: UserValue, parameter: str) -> NDArray[np.intp]:
        if which is None:
            return np.empty(0, dtype=np.intp)
        if isinstance(which, (str, numbers.Integral)):
            return np.array([self.find(which, parameter)], dtype=np.intp)
        by_name = named_entries(which)
        if by_name is not None and self.names is not None and is_mask(list(by_name.values())):
            which = [name for name, is_in in by_name.items() if is_in]
        entries = list(which) if isinstance(which, AbstractSet) else list_entries(which, parameter)
        if is_mask(entries):
            _require_length(len(entries), self.n, f"The mask {parameter}")
            return np.flatnonzero(entries)
        return np.array(sorted({self.find(entry, parameter) for entry in entries}), dtype=np.intp)

    def find(self, reference: object, parameter: str) -> int:
        """Return the position of the feature with this name or at this position."""
        if isinstance(reference, str):
            return self._find_name(reference, parameter)
        if not _is_integer(reference):
            message = f"{parameter} names features by column name or position, not by {reference!r}."
            raise ValueError(message)
        position = int(reference)
        if not 0 <= position < self.n:
            message = (
                f"{parameter} refers to feature {position}, but X has {self.n} features, numbered 0 to {self.n - 1}."
            )
            raise ValueError(message)
        return position

    def _find_name(self, name: str, parameter: str) -> int:
        if self.names is None:
            message = (
                f"{parameter} names the feature {name!r}, but the columns of X have no names: pass X as a "
                f"data frame, or refer to features by position, 0 to {self.n - 1}."
            )
            raise ValueError(message)
        if name not in self.position:
            message = f"{parameter} names the feature {name!r}, which X does not have."
            raise ValueError(message + _close(name, self.labels))
        if len(self.position) < self.n and list(self.labels).count(name) > 1:
            message = f"{parameter} names the feature {name!r}, but several columns of X have this name."
            raise ValueError(message)
        return self.position[name]


# --- bags ---


def resolve_bags(groups: UserValue, n_features: int, names: Names) -> Bags:
    """Read which features are bought together.

    Parameters
    ----------
    groups : None, array-like of shape (n_features,) or mapping
        One label per feature, where features with equal labels share a bag; or a mapping from the name of a
        bag to its features, where the others are bags of their own. None makes every feature a bag. A pandas
        Series indexed by feature names is read by these names.
    n_features : int
        The number of columns of X.
    names : sequence of str or None
        Their names, if they have any.

    Returns
    -------
    bags : Bags
        Numbered by first appearance: along the columns for labels, in its own order for a mapping, the
        features it leaves out coming last.

    Raises
    ------
    ValueError
        If labels are missing, or a bag is empty or shares a feature with another.
    """
    columns = _Columns(n_features, names)
    if groups is None:
        return Bags(columns.labels, np.arange(n_features, dtype=np.intp))
    if isinstance(groups, Mapping):
        return _bags_from_mapping(groups, columns)
    if isinstance(groups, np.ndarray) and groups.dtype.kind in "iu" and groups.shape == (n_features,):
        return _bags_from_numbers(groups)
    return _bags_from_labels(_labels_by_column(groups, columns), columns)


def _labels_by_column(groups: UserValue, columns: _Columns) -> list[Hashable]:
    by_name = named_entries(groups)
    if by_name is not None:
        label_of = {columns.find(name, "groups"): label for name, label in by_name.items()}
        for feature in range(columns.n):
            if feature not in label_of:
                message = f"groups has no label for the feature {columns.labels[feature]!r}."
                raise ValueError(message)
        return [label_of[feature] for feature in range(columns.n)]
    labels = list_entries(groups, "groups")
    _require_length(len(labels), columns.n, "groups")
    return labels


def _bags_from_numbers(labels: NDArray[np.integer]) -> Bags:
    """Return bags by first appearance: the same as from a list of labels, and quick for millions of them."""
    found, first, of = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(order.size, np.intp)
    rank[order] = np.arange(order.size)
    return Bags(tuple(found[order].tolist()), rank[of])


def _bags_from_labels(labels: list[Hashable], columns: _Columns) -> Bags:
    number: dict[Hashable, int] = {}
    of = np.empty(columns.n, dtype=np.intp)
    for feature, label in enumerate(labels):
        _require_label(label, f"In groups, the bag of the feature {columns.labels[feature]!r}")
        of[feature] = number.setdefault(label, len(number))
    return Bags(tuple(number), of)


def _require_label(label: object, whose: str) -> None:
    if not isinstance(label, Hashable) or _is_missing(label):
        message = f"{whose} cannot be {label!r}: use a string or a number."
        raise ValueError(message)


def _bags_from_mapping(groups: Mapping[Hashable, UserValue], columns: _Columns) -> Bags:
    free = -1
    of = np.full(columns.n, free, dtype=np.intp)
    labels: list[Hashable] = list(groups)
    for bag, (label, which) in enumerate(groups.items()):
        _require_label(label, "In groups, the name of a bag")
        features = columns.find_all(which, f"groups[{label!r}]")
        if not features.size:
            message = f"The bag {label!r} in groups is empty: name its features or leave it out."
            raise ValueError(message)
        for feature in features[of[features] != free]:
            message = (
                f"groups puts the feature {columns.labels[feature]!r} into two bags, {labels[of[feature]]!r} "
                f"and {label!r}; a feature can be in one."
            )
            raise ValueError(message)
        of[features] = bag
    alone = np.flatnonzero(of == free)
    of[alone] = len(labels) + np.arange(alone.size)
    labels += [columns.labels[int(feature)] for feature in alone]
    if len(labels) == columns.n:
        # Where no bag has two features, bag j is feature j.
        return Bags(tuple(labels[bag] for bag in of), np.arange(columns.n, dtype=np.intp))
    return Bags(tuple(labels), of)


# --- costs and weights ---


def resolve_costs(feature_costs: UserValue, bags: Bags, n_features: int, names: Names) -> NDArray[np.float64]:
    """Read the price of each bag.

    Parameters
    ----------
    feature_costs : None, array-like of shape (n_features,) or (n_bags,), or mapping
        One price per bag; or one per feature, which must agree inside a bag; or a mapping from the name of a
        bag or of a feature (or its position) to a price, where what is not named costs 1. A pandas Series
        indexed by names is read as a mapping. None prices everything at 1.
    bags : Bags
        The bags.
    n_features : int
        The number of columns of X.
    names : sequence of str or None
        Their names, if they have any.

    Returns
    -------
    cost : ndarray of float64 of shape (n_bags,)

    Raises
    ------
    ValueError
        If a price is negative or not finite, or it is not clear what it is the price of.
    """
    if feature_costs is None:
        return np.ones(bags.n_bags)
    columns = _Columns(n_features, names)
    by_name = named_entries(feature_costs)
    if by_name is not None:
        return _costs_by_name(by_name, bags, columns)
    entries = list_entries(feature_costs, "feature_costs")
    if len(entries) == bags.n_bags:
        return read_numbers(entries, bags.labels, "feature_costs")
    if bags.is_trivial:
        _require_length(len(entries), n_features, "feature_costs")
    if len(entries) != n_features:
        message = (
            f"feature_costs has {len(entries)} entries, but there are {bags.n_bags} bags of {n_features} "
            "features: give one price per bag or one per feature."
        )
        raise ValueError(message)
    return _costs_by_feature(read_numbers(entries, columns.labels, "feature_costs"), bags)


def _costs_by_name(by_name: Mapping[Hashable, UserValue], bags: Bags, columns: _Columns) -> NDArray[np.float64]:
    labelled: dict[Hashable, list[int]] = {}
    for bag, label in enumerate(bags.labels):
        labelled.setdefault(label, []).append(bag)
    numbered = [_bag_called(name, labelled, bags, columns) for name in by_name]
    _require_distinct(numbered, list(by_name), "feature_costs")
    cost = np.ones(bags.n_bags)
    cost[numbered] = read_numbers(list(by_name.values()), list(by_name), "feature_costs")
    return cost


def _bag_called(name: Hashable, labelled: Mapping[Hashable, list[int]], bags: Bags, columns: _Columns) -> int:
    """Find the bag with this label or, failing that, the bag that this feature is alone in."""
    found = labelled.get(name, [])
    if len(found) == 1:
        return found[0]
    if found:
        message = (
            f"feature_costs prices {name!r}, which is both a bag in groups and a feature outside it: "
            "give the bag another name."
        )
        raise ValueError(message)
    if isinstance(name, str) and name not in columns.position:
        message = f"feature_costs prices {name!r}, which is neither a feature nor a bag."
        raise ValueError(message + _close(name, [*bags.labels, *columns.labels]))
    bag = int(bags.of[columns.find(name, "feature_costs")])
    if bags.sizes[bag] > 1:
        message = (
            f"feature_costs prices the feature {name!r}, which is sold only in the bag {bags.labels[bag]!r}: "
            "price the bag by its name."
        )
        raise ValueError(message)
    return bag


def _costs_by_feature(price: NDArray[np.float64], bags: Bags) -> NDArray[np.float64]:
    cost = np.empty(bags.n_bags)
    cost[bags.of] = price
    differs = np.flatnonzero(cost[bags.of] != price)
    if differs.size:
        bag = int(bags.of[differs[0]])
        message = (
            f"feature_costs gives two prices to the bag {bags.labels[bag]!r}, {float(price[differs[0]])!r} "
            f"and {float(cost[bag])!r}, but a bag is paid for once: give one price per bag, for instance as "
            f"{{{bags.labels[bag]!r}: {float(cost[bag])!r}}}."
        )
        raise ValueError(message)
    return cost


def resolve_penalty_weights(penalty_weights: UserValue, n_features: int, names: Names) -> NDArray[np.float64]:
    """Read how strongly l1 and l2 press on each feature: the a_j of eq. 7.

    Parameters
    ----------
    penalty_weights : None, array-like of shape (n_features,) or mapping
        One weight per feature; or a mapping from name or position to weight, the others having 1. A pandas
        Series indexed by feature names is read as a mapping. None gives every feature 1.
    n_features : int
        The number of columns of X.
    names : sequence of str or None
        Their names, if they have any.

    Returns
    -------
    weights : ndarray of float64 of shape (n_features,)

    Raises
    ------
    ValueError
        If a weight is negative or not finite, or a feature does not exist.
    """
    if penalty_weights is None:
        return np.ones(n_features)
    columns = _Columns(n_features, names)
    by_name = named_entries(penalty_weights)
    if by_name is None:
        entries = list_entries(penalty_weights, "penalty_weights")
        _require_length(len(entries), n_features, "penalty_weights")
        return read_numbers(entries, columns.labels, "penalty_weights")
    positions = [columns.find(name, "penalty_weights") for name in by_name]
    _require_distinct(positions, list(by_name), "penalty_weights")
    weights = np.ones(n_features)
    weights[positions] = read_numbers(list(by_name.values()), list(by_name), "penalty_weights")
    return weights


# --- values and messages ---


def list_entries(values: UserValue, parameter: str) -> list[Any]:
    """List the entries of an array-like as plain Python values."""
    if isinstance(values, (list, tuple)):
        # Not by way of an array, in which tuples become rows and mixed entries become strings.
        return [value.item() if isinstance(value, np.generic) else value for value in values]
    entries = np.asarray(values)
    if entries.ndim != 1 or isinstance(values, (str, bytes)):
        message = f"{parameter} must be a one-dimensional array-like; got {values!r}."
        raise ValueError(message)
    plain: list[Any] = entries.tolist()
    return plain


def named_entries(values: UserValue) -> Mapping[Hashable, Any] | None:
    """Return a mapping, or a pandas Series that is indexed by names, as a mapping."""
    if isinstance(values, Mapping):
        return values
    # A list has an index too, but it is a method.
    to_names = getattr(getattr(values, "index", None), "to_list", None)
    names = [] if to_names is None else to_names()
    is_named = bool(names) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    return dict(zip(names, values.to_list(), strict=True)) if is_named else None


def is_mask(entries: Sequence[Any]) -> bool:
    return len(entries) > 0 and all(isinstance(entry, bool) for entry in entries)


def read_numbers(values: Sequence[Any], labels: Sequence[Hashable], parameter: str) -> NDArray[np.float64]:
    """Read finite numbers that are not negative."""
    for value, label in zip(values, labels, strict=True):
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not is_number or not 0 <= value < np.inf:
            message = f"{parameter} gives {label!r} the value {value!r}: it must be a finite number of at least 0."
            raise ValueError(message)
    return np.array(values, dtype=np.float64)


def _require_length(length: int, n_features: int, what: str) -> None:
    if length != n_features:
        message = f"{what} has {length} entries, but X has {n_features} features: give one per feature."
        raise ValueError(message)


def _require_distinct(positions: Sequence[int], names: Sequence[Hashable], parameter: str) -> None:
    seen: dict[int, Hashable] = {}
    for position, name in zip(positions, names, strict=True):
        if position in seen:
            message = f"{parameter} gives two values to one and the same: {seen[position]!r} and {name!r}."
            raise ValueError(message)
        seen[position] = name


def _is_integer(value: object) -> TypeGuard[int]:
    # Python counts True as 1, but nobody means a position or a number of features by it.
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _is_missing(label: object) -> bool:
    """Whether a label stands for none: None, NaN, or pandas' NA and NaT."""
    if label is None or type(label).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(label, float) and label != label  # noqa: PLR0124


def _close(name: str, known: Sequence[Hashable]) -> str:
    """Write the known names that come close to an unknown one, as an ending to an error message."""
    candidates = [label for label in known[:_MOST_NAMES_COMPARED] if isinstance(label, str)]
    close = dict.fromkeys(difflib.get_close_matches(name, candidates))
    return f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
