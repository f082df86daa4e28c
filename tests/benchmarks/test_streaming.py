"""The benchmark of streams hides what is to be found, and reports what it measured."""

import numpy as np
from benchmarks import _streaming
from numpy.testing import assert_array_equal


def test_the_relevant_columns_are_hidden_in_the_stream(monkeypatch):
    monkeypatch.setattr(_streaming, "BLOCK", 300)
    relevant = np.random.default_rng(0).normal(size=(_streaming.ROWS, 10)).astype(np.float32)
    clock = {"making": 0.0}
    X = np.hstack(list(_streaming.blocks(1_000, relevant, clock)))
    assert X.shape == (2_000, 1_000)
    assert X.dtype == np.float32
    assert_array_equal(X[:, [50, 150, 250, 350, 450, 550, 650, 750, 850, 950]], relevant)
    assert clock["making"] > 0.0
    assert np.unique(np.delete(X, 50, axis=1)[:, :50], axis=1).shape[1] == 50


def test_gaps_are_told_with_how_many_runs_were_certified():
    cell = {"median": 3e-14, "largest": 2e-4, "certified": 3, "of": 5}
    rows = [{"data": "toy", "share": 0.1, "n_features": 7, "cells": {"0,1": cell, "100,2": cell}}]
    table = _streaming.render({"gap": rows})
    assert "| toy | 0.1 | 7 | 0 / 2e-04 (3 of 5) | 0 / 2e-04 (3 of 5) |" in table
    assert "buffer 0, 1 pass | buffer 100, 2 passes |" in table


def test_growth_is_told_with_its_exponent():
    point = {"seconds": 1.0, "making": 1.0, "peak": 5e7, "n_features": 10, "n_found": 10, "n_untested": 3}
    points = [{**point, "columns": 10_000}, {**point, "columns": 20_000, "seconds": 2.0}]
    table = _streaming.render({"growth": {"points": points, "exponent": 1.0, "last": 1.0}})
    assert "| 20,000 | 2.0 | 100.0 | 50 | 10 of 10 | 10 | 3 |" in table
    assert "to the power 1.00" in table
