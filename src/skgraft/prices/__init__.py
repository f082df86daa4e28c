"""Bags, costs, keep and budgets: what the user says of them, and what it means."""

from __future__ import annotations

from skgraft.prices.resolve import Bags, Prices, resolve_features, resolve_penalty_weights, resolve_prices

__all__ = ["Bags", "Prices", "resolve_features", "resolve_penalty_weights", "resolve_prices"]
