"""Bags, costs, keep and budgets: what the user says of them, and what it means."""

from __future__ import annotations

from skgraft.prices.resolve import (
    Bags,
    Prices,
    is_mask,
    list_entries,
    named_entries,
    read_numbers,
    resolve_features,
    resolve_penalty_weights,
    resolve_prices,
    within_limits,
)

__all__ = [
    "Bags",
    "Prices",
    "is_mask",
    "list_entries",
    "named_entries",
    "read_numbers",
    "resolve_features",
    "resolve_penalty_weights",
    "resolve_prices",
    "within_limits",
]
