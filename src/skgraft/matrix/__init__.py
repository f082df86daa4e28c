"""X as the methods see it: columns, standardised without a copy, dense or sparse behind one interface."""

from __future__ import annotations

from skgraft.matrix.columns import Block, Columns, make_columns
from skgraft.matrix.dense import DenseBlock, DenseColumns
from skgraft.matrix.joined import JoinedColumns
from skgraft.matrix.sparse import SparseBlock, SparseColumns

__all__ = [
    "Block",
    "Columns",
    "DenseBlock",
    "DenseColumns",
    "JoinedColumns",
    "SparseBlock",
    "SparseColumns",
    "make_columns",
]
