"""Whether targets are classes or quantities."""

from __future__ import annotations

import numpy as np
import pytest

from skgraft.tables import are_quantities


@pytest.mark.parametrize(
    ("y", "quantities"),
    [
        ([0.5, 1.0, 1.0], True),
        ([1.0, 2.0, 3.0], True),  # all different: no classes
        ([7.0, 7.0, 7.0], True),  # one value: no classes either
        (np.arange(60.0) // 2, True),
        ([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]], True),  # several columns
        ([0, 1, 1], False),
        (["a", "b", "a"], False),
        ([True, False, True], False),
    ],
)
def test_floating_point_numbers_are_quantities(y, quantities):
    assert are_quantities(y) == quantities


@pytest.mark.parametrize("y", [[1.0, -1.0, 1.0], [[0.0], [1.0], [1.0]], np.float32([0, 1, 2, 2]), [1.0, 2.0, np.nan]])
def test_few_whole_numbers_may_be_either(y):
    with pytest.raises(ValueError, match=r"classes or quantities.*loss='logistic'.*loss='squared'"):
        are_quantities(y)
