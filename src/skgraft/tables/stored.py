"""Columns in blocks, from files larger than memory or from tables and arrays in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skgraft.arrays import Index
from skgraft.prices import resolve_features
from skgraft.tables.named import named_columns, take_named

__all__ = ["ColumnBlocks", "column_blocks"]

UserData: TypeAlias = Any


def column_blocks(source: UserData, block: int = 1000, *, columns: Any = None, exclude: Any = None) -> ColumnBlocks:
    """Give the columns of a file or a matrix in blocks, reading no more than a block at a time.

    Parameters
    ----------
    source : path, memory map, array, sparse matrix or data frame
        A Parquet file (``.parquet``, read by columns and row groups; needs pyarrow), a NumPy file (``.npy``), a NumPy
        memory map, or columns in memory.
    block : int, default=1000
        How many columns a block has.
    columns : names, positions or mask, optional
        The columns to give, by default all; they come in their order in the source.
    exclude : names, positions or mask, optional
        Columns to leave out, such as the target.

    Returns
    -------
    ColumnBlocks
        May be iterated over again and again; each item is a block and the names of its columns, or None if these have
        none.

    Raises
    ------
    ValueError
        If the source is of no known kind, or a column does not exist or is not numeric.

    See Also
    --------
    skgraft.StreamGraftClassifier : Learns from such blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from skgraft.datasets import column_blocks
    >>> blocks = column_blocks(np.arange(10.0).reshape(2, 5), 2, exclude=0)
    >>> [block.tolist() for block, names in blocks]
    [[[1.0, 2.0], [6.0, 7.0]], [[3.0, 4.0], [8.0, 9.0]]]
    """
    if isinstance(block, bool) or not isinstance(block, (int, np.integer)) or block < 1:
        msg = f"block must be a whole number of at least 1; got {block!r}"
        raise ValueError(msg)
    store = _open(source)
    chosen = np.ones(store.n_columns, bool)
    if columns is not None:
        chosen[:] = False
        chosen[resolve_features(columns, store.n_columns, store.names, "columns")] = True
    chosen[resolve_features(exclude, store.n_columns, store.names, "exclude")] = False
    store.require_numbers(np.flatnonzero(chosen))
    return ColumnBlocks(store, np.flatnonzero(chosen), int(block))


class ColumnBlocks:
    """Columns in blocks, to be iterated over as often as wanted; made by :func:`column_blocks`.

    Parameters
    ----------
    store : object
        The opened source.
    chosen : ndarray of int
        The columns to give.
    block : int
        How many columns a block has.

    Attributes
    ----------
    n_rows, n_columns : int
        Number of rows, and of columns that the blocks give together.
    names : list of str or None
        Names of these columns.
    """

    def __init__(self, store: Any, chosen: Index, block: int) -> None:
        self._store = store
        self._chosen = chosen
        self._block = block
        self.n_rows: int = store.n_rows
        self.n_columns = chosen.size

    @property
    def names(self) -> list[str] | None:
        """Names of the columns, None if they have none."""
        names = self._store.names
        return None if names is None else [names[j] for j in self._chosen]

    def __len__(self) -> int:
        """Return the number of blocks."""
        return (self.n_columns + self._block - 1) // self._block

    def __iter__(self) -> Iterator[tuple[UserData, list[str] | None]]:
        """Read one block after the other."""
        names = self._store.names
        for start in range(0, self.n_columns, self._block):
            some = self._chosen[start : start + self._block]
            yield self._store.read(some), None if names is None else [names[j] for j in some]

    def column(self, which: str | int) -> NDArray[Any]:
        """Read one column of the source, such as the target.

        Parameters
        ----------
        which : str or int
            Its name or position in the source; it may be an excluded one.

        Returns
        -------
        ndarray of shape (n_rows,)
            Its values; those of a Parquet file may be other than numbers.
        """
        store = self._store
        j = resolve_features(which, store.n_columns, store.names, "which")
        return np.asarray(store.column(int(j[0])))


def _open(source: UserData) -> Any:
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if path.suffix in {".parquet", ".pq"}:
            return _Parquet(path)
        if path.suffix == ".npy":
            return _ArrayFile(_mapped(path))
        msg = f"{path} is neither a Parquet file (.parquet) nor a NumPy file (.npy)"
        raise ValueError(msg)
    if isinstance(source, np.memmap) and source.filename is not None and _is_whole(source):
        return _ArrayFile(source)
    return _InMemory(source)


def _mapped(path: Path) -> np.memmap[Any, Any]:
    """Map an array file; one that is none is named, rather than taken for a pickle."""
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except ValueError as error:
        msg = f"{path} is not a NumPy file of numbers ({error}); write it with numpy.save"
        raise ValueError(msg) from error


def _is_whole(array: np.memmap[Any, Any]) -> bool:
    """Whether a memory map is all of the file from its offset on, not a part of another memory map."""
    flags = array.flags
    return (flags.c_contiguous or flags.f_contiguous) and not isinstance(array.base, np.memmap)


def _require_matrix(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        msg = f"the columns of a matrix can be read in blocks, but this array has the shape {shape}"
        raise ValueError(msg)


class _InMemory:
    """Columns in memory: blocks are parts of them."""

    def __init__(self, source: UserData) -> None:
        self.names = named_columns(source)
        if self.names is None and not hasattr(source, "shape"):
            source = np.asarray(source)
        _require_matrix(tuple(source.shape))
        self._X = source.tocsc() if hasattr(source, "tocsc") else source
        self.n_rows, self.n_columns = source.shape

    def require_numbers(self, chosen: Index) -> None:
        """Leave it to whoever takes the blocks."""

    def read(self, columns: Index) -> UserData:
        """Return some columns."""
        if self.names is not None:
            return take_named(self._X, [self.names[j] for j in columns])
        if hasattr(self._X, "iloc"):
            return self._X.iloc[:, columns]
        return self._X[:, columns]

    def column(self, j: int) -> Any:
        """Return the values of a column."""
        found = self.read(np.array([j]))
        return np.asarray(found.toarray() if hasattr(found, "tocsc") else found).ravel()


class _ArrayFile:
    """An array in a file, which is read and not mapped, so that memory holds a block and nothing else."""

    names = None

    def __init__(self, array: np.memmap[Any, Any]) -> None:
        _require_matrix(array.shape)
        if array.dtype.kind not in "biuf":
            msg = f"{array.filename} holds {array.dtype}, which are not numbers"
            raise ValueError(msg)
        self._path, self._offset, self._dtype = Path(str(array.filename)), int(array.offset), array.dtype
        self._by_column = bool(array.flags.f_contiguous)
        self.n_rows, self.n_columns = array.shape

    def require_numbers(self, chosen: Index) -> None:
        """Do nothing: all of them are."""

    def read(self, columns: Index) -> NDArray[Any]:
        """Read some columns, in ascending order."""
        out = np.empty((self.n_rows, columns.size), self._dtype, order="F")
        with self._path.open("rb", buffering=0) as file:
            if self._by_column:
                for first, last in _runs(columns):
                    start = int(columns[first]) * self.n_rows
                    self._fill(file, start, out[:, first:last].T.reshape(-1))
            else:
                self._read_rows(file, columns, out)
        return out

    def _read_rows(self, file: Any, columns: Index, out: NDArray[Any]) -> None:
        low, high = int(columns[0]), int(columns[-1]) + 1
        row = np.empty(high - low, self._dtype)
        # a few rows at a time, since writing single cells of columns is slow
        rows = np.empty((min(64, self.n_rows), columns.size), self._dtype)
        for start in range(0, self.n_rows, rows.shape[0]):
            some = rows[: min(rows.shape[0], self.n_rows - start)]
            for k in range(some.shape[0]):
                self._fill(file, (start + k) * self.n_columns + low, row)
                some[k] = row[columns - low]
            out[start : start + some.shape[0]] = some

    def _fill(self, file: Any, start: int, into: NDArray[Any]) -> None:
        file.seek(self._offset + start * self._dtype.itemsize)
        view = memoryview(into.view(np.uint8).data)
        done = 0
        while done < len(view):
            count = file.readinto(view[done:])
            if not count:
                msg = f"{self._path} ends before its last column: it has changed since it was opened"
                raise ValueError(msg)
            done += count

    def column(self, j: int) -> NDArray[Any]:
        """Return the values of a column."""
        return self.read(np.array([j]))[:, 0]


def _runs(columns: Index) -> Iterator[tuple[int, int]]:
    """Yield where runs of neighbouring columns begin and end."""
    breaks = np.flatnonzero(np.diff(columns) != 1) + 1
    yield from pairwise([0, *breaks.tolist(), columns.size])


class _Parquet:
    """A Parquet file, of which only the asked columns are read, one row group after the other."""

    def __init__(self, path: Path) -> None:
        try:
            from pyarrow import parquet
        except ImportError as error:
            msg = "reading a Parquet file needs pyarrow: pip install pyarrow"
            raise ImportError(msg) from error
        self._path = path
        self._open = parquet.ParquetFile
        try:
            with self._open(path) as file:
                self.names, self._types = list(file.schema_arrow.names), list(file.schema_arrow.types)
                self.n_rows, self._n_groups = file.metadata.num_rows, file.num_row_groups
        except ValueError as error:  # pyarrow's own are of this kind
            msg = f"{path} is not a Parquet file, or a damaged one ({error})"
            raise ValueError(msg) from error
        self.n_columns = len(self.names)
        if len(set(self.names)) < len(self.names):
            name = next(name for name in self.names if self.names.count(name) > 1)
            msg = f"{path} has several columns called {name!r}"
            raise ValueError(msg)

    def require_numbers(self, chosen: Index) -> None:
        """Refuse columns that are not numbers."""
        for j in chosen:
            if not _is_number(self._types[j]):
                msg = (
                    f"in {self._path}, column {self.names[j]!r} ({self._types[j]}) is not numeric: encode it as "
                    "numbers, or leave it out with exclude"
                )
                raise ValueError(msg)

    def read(self, columns: Index) -> NDArray[Any]:
        """Read some columns: float32 if all of them are, else float64, missing values being NaN."""
        import pyarrow as pa

        names = [self.names[j] for j in columns]
        target = pa.float32() if all(self._types[j] == pa.float32() for j in columns) else pa.float64()
        out = np.empty((self.n_rows, columns.size), np.float32 if target == pa.float32() else np.float64, order="F")
        with self._open(self._path) as file:
            start = 0
            for group in range(self._n_groups):
                table = file.read_row_group(group, columns=names)
                for place, name in enumerate(names):
                    # safe=False: whole numbers beyond 2**53 are rounded here as everywhere else
                    out[start : start + table.num_rows, place] = table[name].cast(target, safe=False).to_numpy()
                start += table.num_rows
        return out

    def column(self, j: int) -> NDArray[Any]:
        """Return the values of a column, whatever they are."""
        with self._open(self._path) as file:
            return np.asarray(file.read(columns=[self.names[j]])[self.names[j]].to_numpy())


def _is_number(dtype: Any) -> bool:
    from pyarrow import types

    return any(test(dtype) for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal))
