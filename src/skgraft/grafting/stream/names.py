"""What the columns of a stream are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

__all__ = ["GeneratedNames", "NameIndex"]


@dataclass(frozen=True)
class GeneratedNames(Sequence[str]):
    """The names x0, x1, ... of columns that have none, by their positions in the stream; none is kept in memory."""

    start: int
    width: int

    def __len__(self) -> int:
        return self.width

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [f"x{self.start + k}" for k in range(*index.indices(self.width))]
        return f"x{self.start + range(self.width)[int(index)]}"


@dataclass(frozen=True)
class NameIndex:
    """Where each name stands in the stream.

    It is never changed, only extended to a new one, so that a block that fails leaves no trace.  Names lie in a few
    mappings of doubling sizes: an extension costs little and a search looks into few.
    """

    parts: tuple[dict[str, int], ...] = ()
    unnamed: tuple[range, ...] = ()
    size: int = 0

    def find(self, name: str) -> int | None:
        """Return the position of the column of this name, None if there is none."""
        for part in self.parts:
            if name in part:
                return part[name]
        if name[:1] == "x" and name[1:].isdecimal() and str(int(name[1:])) == name[1:]:
            position = int(name[1:])
            if any(position in gap for gap in self.unnamed):
                return position
        return None

    def extended(self, names: Sequence[str]) -> NameIndex:
        """Return the index with the names of the next columns, or refuse a name that was there before."""
        count = len(names)
        stop = self.size + count
        if not isinstance(names, GeneratedNames) or self.parts:
            self._refuse_repeated(names)
        if isinstance(names, GeneratedNames):
            start = self.unnamed[-1].start if self.unnamed and self.unnamed[-1].stop == self.size else self.size
            gaps = tuple(gap for gap in self.unnamed if gap.start < start)
            return NameIndex(self.parts, (*gaps, range(start, stop)), stop)
        new = {name: position for position, name in enumerate(names, start=self.size)}
        parts = list(self.parts)
        while parts and len(parts[-1]) <= len(new):
            new = parts.pop() | new
        return NameIndex((*parts, new), self.unnamed, stop)

    def _refuse_repeated(self, names: Sequence[str]) -> None:
        if len(set(names)) < len(names):
            name, times = Counter(names).most_common(1)[0]
            msg = f"{times} columns of this block are called {name!r}: every column of a stream needs a name of its own"
            raise ValueError(msg)
        for number, name in enumerate(names):
            position = self.find(name)
            if position is not None:
                msg = (
                    f"column {number} of this block is called {name!r}, as is column {position} of the stream: every "
                    "column needs a name of its own. Rename it, or leave it out if it is the same column"
                )
                raise ValueError(msg)

    def require_same(self, names: Sequence[str], start: int) -> None:
        """Refuse a block of a further pass whose columns are not those that the first pass brought there."""
        for position, name in enumerate(names, start=start):
            if self.find(name) != position:
                msg = (
                    f"in this pass column {position} of the stream is called {name!r}, but in the first pass it was "
                    "another: every pass must bring the same columns in the same order"
                )
                raise ValueError(msg)


def block_names(names: Any, own: Any, width: int, start: int) -> Sequence[str]:
    """Return the names of a block's columns: as given, else its own, else generated from their positions."""
    if names is None:
        return GeneratedNames(start, width) if own is None else [str(name) for name in own]
    if isinstance(names, str):
        msg = f"names must be a list of names, one for each column of the block; got the string {names!r}"
        raise ValueError(msg)  # noqa: TRY004 -- a wrong value to the user
    given = list(names)
    if len(given) != width:
        msg = f"names has {len(given)} entries, but the block has {width} columns: give one for each column"
        raise ValueError(msg)
    wrong = next((name for name in given if not isinstance(name, str)), None)
    if wrong is not None:
        msg = f"names must be strings, but {wrong!r} is among them"
        raise ValueError(msg)
    return [str(name) for name in given]
