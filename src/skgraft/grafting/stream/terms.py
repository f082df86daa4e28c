"""What the user says of features, while not all of them are there: bags, prices, what is kept, penalty weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np

from skgraft.arrays import Array, Index
from skgraft.prices import (
    Prices,
    is_mask,
    list_entries,
    named_entries,
    read_numbers,
    resolve_penalty_weights,
    resolve_prices,
)

_ABSENT = object()


@dataclass(frozen=True)
class _Said:
    """One parameter: a value by position in the stream, or by name or position."""

    parameter: str
    by_position: Sequence[Any] | None
    by_reference: Mapping[Hashable, Any]

    def of(self, position: int, name: str) -> Any:
        """Return what is said of a column, or a sign of nothing."""
        if self.by_position is not None:
            if position >= len(self.by_position):
                msg = (
                    f"{self.parameter} has {len(self.by_position)} entries, but column {position} of the stream "
                    f"({name!r}) has arrived: give an entry for every column that may come, or a mapping by name"
                )
                raise ValueError(msg)
            return self.by_position[position]
        by_name = self.by_reference.get(name, _ABSENT)
        by_place = self.by_reference.get(position, _ABSENT)
        if by_name is not _ABSENT and by_place is not _ABSENT:
            msg = f"{self.parameter} names one feature twice: as {name!r} and as {position}"
            raise ValueError(msg)
        return by_place if by_name is _ABSENT else by_name


class Terms:
    """Bags, prices, kept features and penalty weights of a stream's columns.

    Columns are referred to by name or by position in the stream, and may be named before they arrive.  Arrays have an
    entry for every column that may come.

    Parameters
    ----------
    groups, feature_costs, keep, penalty_weights
        As the user gave them.
    """

    def __init__(
        self, groups: Any = None, feature_costs: Any = None, keep: Any = None, penalty_weights: Any = None
    ) -> None:
        self.empty = groups is None and feature_costs is None and keep is None and penalty_weights is None
        self._groups = None if groups is None else _read_groups(groups)
        self._costs = None if feature_costs is None else _read_numbers(feature_costs, "feature_costs")
        self._weights = None if penalty_weights is None else _read_numbers(penalty_weights, "penalty_weights")
        self._keep = None if keep is None else _read_keep(keep)
        self._sizes: Counter[Hashable] = Counter()
        if self._groups is not None:
            labels = self._groups.by_position
            self._sizes.update(self._groups.by_reference.values() if labels is None else labels)

    def over(
        self, positions: Index, names: Sequence[str], max_features: int | None, max_cost: float | None
    ) -> tuple[Prices, Array]:
        """Return prices and penalty weights of some columns of the stream.

        Parameters
        ----------
        positions, names
            The columns, by position in the stream and by name.
        max_features, max_cost
            The budget.
        """
        limits: dict[str, Any] = {"max_features": max_features, "max_cost": max_cost, "n_features": positions.size}
        if self.empty:
            return resolve_prices(groups=None, feature_costs=None, keep=None, names=None, **limits), np.ones(
                positions.size
            )
        columns = list(zip(positions.tolist(), names, strict=True))
        bags = None if self._groups is None else self._bags(columns)
        prices = resolve_prices(
            groups=bags,
            feature_costs=None if self._costs is None else self._prices(columns, bags),
            keep=None if self._keep is None else [name for at, name in columns if self._is_kept(at, name)],
            names=names,
            **limits,
        )
        said = None if self._weights is None else _known(self._weights, columns)
        return prices, resolve_penalty_weights(said, positions.size, names)

    def require_whole_bags(self, positions: Index, names: Sequence[str]) -> None:
        """Refuse a block that brings a part of a bag."""
        if self._groups is None:
            return
        for label, members in self._bags(zip(positions.tolist(), names, strict=True)).items():
            if len(members) < self._sizes[label]:
                msg = (
                    f"the bag {label!r} has {self._sizes[label]} features, of which {len(members)} are in this block "
                    f"({', '.join(map(repr, members[:3]))}{', ...' if len(members) > 3 else ''}): with group_l1 a bag "
                    "is selected as a whole, so that its features must arrive in one block"
                )
                raise ValueError(msg)

    def references(self) -> Iterator[tuple[str, Any]]:
        """Yield every name or position that a parameter refers to, with the name of the parameter."""
        for said in (self._groups, self._costs, self._keep, self._weights):
            if said is None:
                continue
            for reference in range(len(said.by_position)) if said.by_position is not None else said.by_reference:
                if said is not self._costs or reference not in self._sizes:
                    yield said.parameter, reference

    def _bags(self, columns: Any) -> dict[Hashable, list[str]]:
        bags: dict[Hashable, list[str]] = {}
        assert self._groups is not None  # noqa: S101 -- asked for only then
        for position, name in columns:
            label = self._groups.of(position, name)
            if label is not _ABSENT:
                bags.setdefault(label, []).append(name)
        return bags

    def _prices(self, columns: list[tuple[int, str]], bags: Mapping[Hashable, list[str]] | None) -> dict[Hashable, Any]:
        said = self._costs
        assert said is not None  # noqa: S101 -- asked for only then
        if said.by_position is not None:
            return self._prices_by_position(said, columns)
        # a number that is the label of a bag is not a position
        own = [column for column in columns if column[0] not in self._sizes]
        prices: dict[Hashable, Any] = {}
        prices.update(_known(said, own))
        prices.update({label: said.by_reference[label] for label in bags or () if label in said.by_reference})
        return prices

    def _prices_by_position(self, said: _Said, columns: list[tuple[int, str]]) -> dict[Hashable, Any]:
        """Return prices given for every feature, which must agree inside a bag."""
        prices: dict[Hashable, Any] = {}
        for position, name in columns:
            label = _ABSENT if self._groups is None else self._groups.of(position, name)
            key, price = (name if label is _ABSENT else label), said.of(position, name)
            if prices.setdefault(key, price) != price:
                msg = (
                    f"feature_costs gives two prices to the bag {key!r}, {prices[key]!r} and {price!r}, but a bag is "
                    f"paid for once: give one price, for instance as {{{key!r}: {price!r}}}"
                )
                raise ValueError(msg)
        return prices

    def _is_kept(self, position: int, name: str) -> bool:
        assert self._keep is not None  # noqa: S101 -- asked for only then
        found = self._keep.of(position, name)
        return found is not _ABSENT and bool(found)


def _known(said: _Said, columns: list[tuple[int, str]]) -> dict[str, Any]:
    """Return what is said of some columns, by name."""
    found = ((name, said.of(position, name)) for position, name in columns)
    return {name: value for name, value in found if value is not _ABSENT}


def _read_numbers(values: Any, parameter: str) -> _Said:
    by_name = named_entries(values)
    if by_name is not None:
        read_numbers(list(by_name.values()), list(by_name), parameter)
        return _Said(parameter, None, by_name)
    entries = list_entries(values, parameter)
    read_numbers(entries, range(len(entries)), parameter)
    return _Said(parameter, entries, {})


def _read_keep(keep: Any) -> _Said:
    return _Said("keep", None, dict.fromkeys(_references(keep, "keep"), True))


def _references(which: Any, parameter: str) -> list[Hashable]:
    """Return the features that a user names: names and positions."""
    if isinstance(which, (str, int, np.integer)):
        return [which if isinstance(which, str) else int(which)]
    by_name = named_entries(which)
    if by_name is not None and is_mask(list(by_name.values())):
        return [name for name, is_in in by_name.items() if is_in]
    entries = list(which) if isinstance(which, AbstractSet) else list_entries(which, parameter)
    if is_mask(entries):
        return [position for position, is_in in enumerate(entries) if is_in]
    for entry in entries:
        if isinstance(entry, bool) or not isinstance(entry, (str, int)) or (isinstance(entry, int) and entry < 0):
            msg = f"{parameter} names features by column name or position, not by {entry!r}"
            raise ValueError(msg)
    return entries


def _read_groups(groups: Any) -> _Said:
    if not isinstance(groups, Mapping):
        by_name = named_entries(groups)
        return _Said("groups", None, by_name) if by_name is not None else _Said("groups", _labels(groups), {})
    of: dict[Hashable, Hashable] = {}
    for label, which in groups.items():
        members = _references(which, f"groups[{label!r}]")
        if not members:
            msg = f"The bag {label!r} in groups is empty: name its features or leave it out."
            raise ValueError(msg)
        for reference in members:
            if of.setdefault(reference, label) != label:
                msg = (
                    f"groups puts the feature {reference!r} into two bags, {of[reference]!r} and {label!r}; "
                    "a feature can be in one."
                )
                raise ValueError(msg)
    return _Said("groups", None, of)


def _labels(groups: Any) -> list[Any]:
    labels = list_entries(groups, "groups")
    for position, label in enumerate(labels):
        if label is None or not isinstance(label, Hashable) or label != label:  # noqa: PLR0124 -- NaN
            msg = f"In groups, the bag of column {position} cannot be {label!r}: use a string or a number."
            raise ValueError(msg)
    return labels
