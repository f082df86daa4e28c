"""Columns come in blocks from files and from memory, the same ones each time."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from skgraft.datasets import ColumnBlocks, column_blocks

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(23, 11))
NAMES = [f"col {j}" for j in range(11)]


def as_arrays(blocks):
    return [np.asarray(block.toarray() if sp.issparse(block) else block) for block, _ in blocks]


def parquet(path, values=X, names=NAMES, **options):
    table = pa.table({name: values[:, j] for j, name in enumerate(names)})
    pq.write_table(table, path, **options)
    return path


def sources(folder):
    np.save(folder / "c.npy", X)
    np.save(folder / "f.npy", np.asfortranarray(X))
    raw = np.memmap(folder / "raw", dtype=np.float64, mode="w+", offset=128, shape=X.shape)
    raw[:] = X
    raw.flush()
    return {
        "parquet": parquet(folder / "x.parquet", row_group_size=5),
        "npy": folder / "c.npy",
        "npy, by columns": str(folder / "f.npy"),
        "memory map": np.memmap(folder / "raw", dtype=np.float64, mode="r", offset=128, shape=X.shape),
        "part of a memory map": np.load(folder / "f.npy", mmap_mode="r")[:, :],
        "array": X,
        "list": X.tolist(),
        "sparse": sp.csr_array(X),
        "pandas": pd.DataFrame(X, columns=NAMES),
        "pandas without names": pd.DataFrame(X),
        "polars": pl.DataFrame(X, schema=NAMES),
        "pyarrow": pa.table({name: X[:, j] for j, name in enumerate(NAMES)}),
    }


KINDS = [
    "parquet", "npy", "npy, by columns", "memory map", "part of a memory map", "array", "list", "sparse", "pandas",
    "pandas without names", "polars", "pyarrow",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_are_the_columns_in_their_order(kind, tmp_path):
    source = sources(tmp_path)[kind]
    blocks = column_blocks(source, 4)
    assert isinstance(blocks, ColumnBlocks)
    assert len(blocks) == 3
    assert (blocks.n_rows, blocks.n_columns) == X.shape
    assert [block.shape[1] for block in as_arrays(blocks)] == [4, 4, 3]
    for _ in range(2):
        assert_array_equal(np.hstack(as_arrays(blocks)), X)
    named = kind in {"parquet", "pandas", "polars", "pyarrow"}
    assert blocks.names == (NAMES if named else None)
    assert [names for _, names in blocks] == ([NAMES[:4], NAMES[4:8], NAMES[8:]] if named else 3 * [None])
    assert_array_equal(blocks.column(6), X[:, 6])
    some = column_blocks(source, 2, columns=[9, 1, 2, 3, 6], exclude=2)
    assert_array_equal(np.hstack(as_arrays(some)), X[:, [1, 3, 6, 9]])


def test_columns_are_left_out_by_name_and_can_be_read_alone(tmp_path):
    table = pa.table({"y": ["a", "b"], "x": pa.array([1, 2], pa.int32()), "z": pa.array([1.5, None], pa.float32())})
    pq.write_table(table, tmp_path / "t.parquet")
    blocks = column_blocks(tmp_path / "t.parquet", exclude="y")
    ((block, names),) = blocks
    assert names == ["x", "z"]
    assert_array_equal(block, [[1.0, 1.5], [2.0, np.nan]])
    assert blocks.column("y").tolist() == ["a", "b"]
    ((block, _),) = column_blocks(tmp_path / "t.parquet", columns=["z"])
    assert block.dtype == np.float32


@pytest.mark.parametrize("dtype", ["float32", ">f8", "int16", "bool", "float16"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_files_of_any_numbers_are_read_as_they_are(dtype, order, tmp_path):
    values = (10 * X).astype(dtype, order=order)
    np.save(tmp_path / "x.npy", values)
    blocks = list(column_blocks(tmp_path / "x.npy", 3))
    assert blocks[0][0].dtype == values.dtype
    assert_array_equal(np.hstack([block for block, _ in blocks]), values)


def test_what_cannot_be_read_is_named(tmp_path):
    pq.write_table(pa.table({"a": [1.0], "town": ["Oslo"]}), tmp_path / "t.parquet")
    np.save(tmp_path / "line.npy", np.zeros(3))
    np.save(tmp_path / "words.npy", np.array([["a"]]))
    (tmp_path / "t.csv").touch()
    with pytest.raises(ValueError, match=r"'town' .string. is not numeric.*exclude"):
        column_blocks(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"exclude names the feature 'twon'.*Did you mean 'town'"):
        column_blocks(tmp_path / "t.parquet", exclude="twon")
    with pytest.raises(ValueError, match=r"shape .3,."):
        column_blocks(tmp_path / "line.npy")
    with pytest.raises(ValueError, match="not numbers"):
        column_blocks(tmp_path / "words.npy")
    with pytest.raises(ValueError, match=r"t.csv is neither"):
        column_blocks(tmp_path / "t.csv")
    with pytest.raises(ValueError, match="block must be"):
        column_blocks(X, 0)
    with pytest.raises(FileNotFoundError):
        column_blocks(tmp_path / "none.npy")


def test_a_file_that_shrank_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", X)
    blocks = column_blocks(tmp_path / "x.npy", 4)
    with (tmp_path / "x.npy").open("rb+") as file:
        file.truncate(1000)
    with pytest.raises(ValueError, match="has changed since it was opened"):
        list(blocks)


@pytest.mark.parametrize("kind", ["C", "F", "parquet"])
def test_memory_holds_a_block_at_a_time(kind, tmp_path):
    values = RNG.normal(size=(400, 400))
    if kind == "parquet":
        path = parquet(tmp_path / "x.parquet", values, [f"c{j}" for j in range(400)], row_group_size=100)
    else:
        path = tmp_path / "x.npy"
        np.save(path, np.asarray(values, order=kind))
    blocks = column_blocks(path, 20)
    del values
    next(iter(blocks))
    tracemalloc.start()
    total = sum(float(block.sum()) for block, _ in blocks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(total)
    assert peak < 4 * 400 * 20 * 8  # of 400 columns in all; a block that is read while the last one is still held


@pytest.mark.parametrize("name", ["table.parquet", "table.npy", "table.txt"])
def test_a_file_that_is_none_is_named(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=f"{name} is n"):
        column_blocks(path)
