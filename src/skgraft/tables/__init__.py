"""What people hand over: frames, arrays, sparse matrices, categories, names, targets and weights.

What cannot be used is refused here, by the name of the column and the value at fault.
"""

from __future__ import annotations

from skgraft.tables.categories import CategoryCoder, find_categories
from skgraft.tables.named import named_columns, read_block, read_selected, take_named, take_selected
from skgraft.tables.stored import ColumnBlocks, column_blocks
from skgraft.tables.table import (
    native_table,
    read_new,
    read_table,
    read_training,
    require_finite,
    sample_weights,
    weight_shares,
)
from skgraft.tables.targets import are_quantities, read_classes

__all__ = [
    "CategoryCoder",
    "ColumnBlocks",
    "are_quantities",
    "column_blocks",
    "find_categories",
    "named_columns",
    "native_table",
    "read_block",
    "read_classes",
    "read_new",
    "read_selected",
    "read_table",
    "read_training",
    "require_finite",
    "sample_weights",
    "take_named",
    "take_selected",
    "weight_shares",
]
