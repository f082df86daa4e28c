"""The three-feature problem of gradient boosted feature selection."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from skgraft.datasets import make_gbfs_toy


def test_the_first_two_features_decide_and_the_third_is_their_mean():
    problem = make_gbfs_toy(random_state=1)
    x, y, z = problem.data.T
    assert problem.data.shape == (370, 3)
    assert_allclose(z, (x + y) / 2)
    assert_array_equal(problem.target == 1, np.maximum(abs(x), abs(y)) <= 1)
    assert (problem.target == 1).sum() == 185
    assert_array_equal(problem.informative, [0, 1])
    gap = np.maximum(abs(x), abs(y))
    assert not ((gap > 1) & (gap < 1.5)).any()


def test_no_plane_separates_the_classes():
    problem = make_gbfs_toy(2000, random_state=0)
    assert LogisticRegression().fit(problem.data, problem.target).score(problem.data, problem.target) < 0.6


def test_a_seed_gives_the_same_problem_and_mistakes_are_named():
    assert_array_equal(make_gbfs_toy(50, random_state=3).data, make_gbfs_toy(50, random_state=3).data)
    with pytest.raises(ValueError, match="n_samples"):
        make_gbfs_toy(1)
    with pytest.raises(ValueError, match="gap"):
        make_gbfs_toy(gap=-1)
