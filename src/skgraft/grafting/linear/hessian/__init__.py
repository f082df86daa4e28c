"""Quadratic models of the loss over the free weights."""

from __future__ import annotations

from typing import cast

from skgraft.grafting.linear.hessian.dense import DenseHessian
from skgraft.grafting.linear.hessian.free import FreeHessian
from skgraft.grafting.linear.hessian.sparse import SparseHessian
from skgraft.matrix import Block, DenseBlock, SparseBlock

__all__ = ["FreeHessian", "make_hessian"]


def make_hessian(
    block: Block, n_outputs: int, *, intercept: bool, compiled: bool, single_precision: bool = True
) -> FreeHessian:
    """Return the Hessian for columns as they are stored; ``single_precision`` is for dense ones."""
    if block.is_sparse:
        return SparseHessian(cast("SparseBlock", block), n_outputs, intercept=intercept, compiled=compiled)
    return DenseHessian(
        cast("DenseBlock", block),
        n_outputs,
        intercept=intercept,
        compiled=compiled,
        single_precision=single_precision,
    )
