"""X as the methods see it: columns, standardised without a copy, dense or sparse behind one interface."""

from __future__ import annotations

from skgraft.matrix.columns import Block, Columns, make_columns
from skgraft.matrix.dense import COMPILED_CELLS, DenseBlock, DenseColumns
from skgraft.matrix.joined import JoinedColumns
from skgraft.matrix.rows import merge_rows
from skgraft.matrix.sparse import SparseBlock, SparseColumns
from skgraft.matrix.threads import ALONE, ThreadPool, at_work, n_threads

__all__ = [
    "ALONE",
    "COMPILED_CELLS",
    "Block",
    "Columns",
    "DenseBlock",
    "DenseColumns",
    "JoinedColumns",
    "SparseBlock",
    "SparseColumns",
    "ThreadPool",
    "at_work",
    "make_columns",
    "merge_rows",
    "n_threads",
]
