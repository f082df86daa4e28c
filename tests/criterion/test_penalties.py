"""The convex penalty against its definition: its value, its subdifferential and its conjugate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from skgraft.criterion.penalties import Penalty

KINDS = ["l1", "ridge", "group", "sparse_group", "singletons"]
every_kind = pytest.mark.parametrize("kind", KINDS)
both_signs = pytest.mark.parametrize("positive", [False, True])
SIZES = np.array([3, 1, 4, 2])


def penalty(kind: str, seed: int, *, positive: bool, even: bool = False) -> Penalty:
    """Return a random penalty over ten weights: scalar ones, or groups of 3, 1, 4 and 2."""
    rng = np.random.default_rng(seed)
    grouped = kind in {"group", "sparse_group"}
    starts = np.r_[0, np.cumsum(SIZES)] if grouped else np.arange(11)
    n_groups = starts.size - 1
    l1 = rng.uniform(0.2, 1.0, 10) if kind != "group" else np.zeros(10)
    l1[rng.random(10) < 0.2] = 0.0
    ridge = rng.uniform(0.1, 2.0, 10) if kind != "l1" else np.zeros(10)
    if even:
        ridge = np.repeat(rng.uniform(0.1, 2.0, n_groups), np.diff(starts))
    norm = rng.uniform(0.3, 1.5, n_groups) if grouped or kind == "singletons" else np.zeros(n_groups)
    return Penalty(l1, ridge, norm, starts, positive)


def slices(p: Penalty) -> list[slice]:
    return [slice(a, b) for a, b in zip(p.starts[:-1], p.starts[1:], strict=True)]


def defined_value(p: Penalty, w: np.ndarray) -> float:
    """Return Σ l1|w| + ½Σ ridge w² + Σ norm ||w_g||, term by term."""
    total = sum(l1 * abs(x) + 0.5 * r * x * x for l1, r, x in zip(p.l1, p.ridge, w, strict=True))
    return total + sum(norm * np.linalg.norm(w[g]) for norm, g in zip(p.norm, slices(p), strict=True))


def nearest_at_zero(p: Penalty, g: int, z: np.ndarray) -> float:
    """Return the least ||z - l1·a - norm·b + c|| over |a| <= 1, ||b|| <= 1 and, if positive, c >= 0.

    Alternating projections on the three convex sets of the sum, run until they stand still.
    """
    part = slices(p)[g]
    l1, norm = p.l1[part], p.norm[g]
    box, ball, cone = (np.zeros(z.size) for _ in range(3))
    before = np.inf
    for _ in range(4000):
        box = np.clip(z - ball + cone, -l1, l1)
        rest = z - box + cone
        ball = rest * min(1.0, norm / max(np.linalg.norm(rest), 1e-300))
        if p.positive:
            cone = np.maximum(-(z - box - ball), 0.0)
        distance = float(np.linalg.norm(z - box - ball + cone))
        if distance > before - 1e-14:
            break
        before = distance
    return float(np.linalg.norm(z - box - ball + cone))


def some_weights(p: Penalty, rng: np.random.Generator) -> np.ndarray:
    """Return weights with zeros inside groups, and one group that is zero throughout."""
    w = rng.standard_normal(10) * (rng.random(10) < 0.7)
    w[slices(p)[-1]] = 0.0
    return np.abs(w) if p.positive else w


@every_kind
@both_signs
def test_value_is_the_sum_of_its_terms(kind, positive):
    rng = np.random.default_rng(0)
    for seed in range(5):
        p = penalty(kind, seed, positive=positive)
        w = some_weights(p, rng)
        assert_allclose(p.value(w), defined_value(p, w), rtol=1e-14)


@every_kind
@both_signs
def test_distance_at_zero_is_the_distance_to_the_nearest_subgradient(kind, positive):
    rng = np.random.default_rng(1)
    every = []
    for seed in range(6):
        p = penalty(kind, seed, positive=positive)
        gradient = rng.choice([0.5, 3.0]) * rng.standard_normal(10)
        nearest = [nearest_at_zero(p, g, -gradient[part]) for g, part in enumerate(slices(p))]
        assert_allclose(p.distance_at_zero(gradient), nearest, atol=1e-9)
        every += nearest
    assert max(every) > 0.1
    assert min(every) < 1e-9


@every_kind
@both_signs
def test_distance_at_zero_vanishes_exactly_where_zero_is_a_local_minimum(kind, positive):
    # the directional derivative of gradient·w + penalty(w) at 0, over many directions
    rng = np.random.default_rng(2)
    p = penalty(kind, 0, positive=positive)
    directions = rng.standard_normal((20000, 10)) * (rng.random((20000, 10)) < 0.6) + 1e-9
    directions = np.abs(directions) if positive else directions
    for scale in (0.2, 0.6, 1.0, 2.0):
        gradient = scale * rng.standard_normal(10)
        quiet = p.distance_at_zero(gradient) == 0.0
        for g, part in enumerate(slices(p)):
            d = directions[:, part] / np.linalg.norm(directions[:, part], axis=1, keepdims=True)
            slope = (d @ gradient[part] + np.abs(d) @ p.l1[part] + p.norm[g]).min()
            if quiet[g]:
                assert slope >= -1e-12
            else:
                assert slope < 1e-3


@every_kind
@both_signs
def test_violation_at_nonzero_weights_is_the_largest_slope_of_the_criterion(kind, positive):
    rng = np.random.default_rng(3)
    p = penalty(kind, 1, positive=positive)
    gradient = rng.standard_normal(10)
    w = rng.uniform(0.5, 1.5, 10) * (1.0 if positive else rng.choice([-1.0, 1.0], 10))
    h = 1e-6 * np.eye(10)
    slope = gradient + [(defined_value(p, w + e) - defined_value(p, w - e)) / 2e-6 for e in h]
    largest = [np.abs(slope[part]).max() for part in slices(p)]
    assert_allclose(p.violation(gradient, w), largest, rtol=1e-7, atol=1e-8)


@every_kind
@both_signs
def test_violation_of_a_zero_inside_an_open_group_is_its_best_one_sided_slope(kind, positive):
    rng = np.random.default_rng(4)
    for seed in range(5):
        p = penalty(kind, seed, positive=positive)
        gradient, w = rng.standard_normal(10), some_weights(p, rng)
        found = p.violation(gradient, w)
        for g, part in enumerate(slices(p)):
            if not w[part].any():
                assert_allclose(found[g], nearest_at_zero(p, g, -gradient[part]), atol=1e-9)
                continue
            worst = 0.0
            for j in range(part.start, part.stop):
                step = np.zeros(10)
                step[j] = 1e-7
                up = gradient[j] + (defined_value(p, w + step) - defined_value(p, w)) / 1e-7
                down = gradient[j] - (defined_value(p, w - step) - defined_value(p, w)) / 1e-7
                # a zero may only move where the criterion falls; a nonzero weight moves both ways
                descent = max(-up, 0.0 if positive else down, 0.0)
                worst = max(worst, abs(up) if w[j] else descent)
            assert_allclose(found[g], worst, atol=1e-5)


@every_kind
@both_signs
def test_violation_is_zero_at_a_minimum(kind, positive):
    # ½||w - c||² + penalty(w), minimised by proximal steps that are exact for this separable problem
    p = replace(penalty(kind, 2, positive=positive), ridge=np.zeros(10))
    c = 3.0 * np.random.default_rng(5).standard_normal(10)
    soft = np.sign(c) * np.maximum(np.abs(c) - p.l1, 0.0)
    soft = np.where(c > 0.0, soft, 0.0) if positive else soft
    w = np.zeros(10)
    for norm, part in zip(p.norm, slices(p), strict=True):
        length = np.linalg.norm(soft[part])
        w[part] = max(0.0, 1.0 - norm / length) * soft[part] if length > 0.0 else 0.0
    assert w.any()
    assert p.violation(w - c, w).max() <= 1e-14


def numeric_conjugate(p: Penalty, z: np.ndarray) -> float:
    """Return sup z·w - penalty(w), by a bounded minimisation over w = w⁺ - w⁻ of each group."""
    total = 0.0
    for norm, part in zip(p.norm, slices(p), strict=True):
        l1, ridge, mine = p.l1[part], p.ridge[part], z[part]
        size = mine.size

        def negated(both, l1=l1, ridge=ridge, mine=mine, norm=norm, size=size):
            w = both[:size] - both[size:]
            length = np.sqrt(w @ w)
            slope = -mine + ridge * w + (norm * w / length if length > 0.0 else 0.0)
            value = -mine @ w + l1 @ both[:size] + l1 @ both[size:] + 0.5 * ridge @ (w * w) + norm * length
            return value, np.concatenate([l1 + slope, l1 - slope])

        upper = [(0.0, None)] * size + [(0.0, 0.0 if p.positive else None)] * size
        starts = [np.full(2 * size, 0.1), np.r_[np.maximum(mine, 0.0), np.maximum(-mine, 0.0)]]
        if p.positive:
            starts = [np.where(np.arange(2 * size) < size, start, 0.0) for start in starts]
        options = {"maxiter": 20000, "ftol": 1e-16, "gtol": 1e-10}
        runs = [minimize(negated, s, jac=True, bounds=upper, method="L-BFGS-B", options=options) for s in starts]
        total += max(0.0, *(-run.fun for run in runs))
    return total


@pytest.mark.parametrize("kind", ["ridge", "group", "sparse_group", "singletons"])
@both_signs
@pytest.mark.parametrize("even", [True, False], ids=["even", "uneven"])
def test_conjugate_is_the_largest_gap_of_a_line_over_the_penalty(kind, positive, even):
    rng = np.random.default_rng(6)
    for seed in range(4):
        p = penalty(kind, seed, positive=positive, even=even)
        z = 3.0 * rng.standard_normal(10)
        assert_allclose(p.conjugate(z), numeric_conjugate(p, z), rtol=1e-7, atol=1e-8)


@both_signs
def test_conjugate_of_a_group_with_one_weight_without_ridge_is_the_largest_gap(positive):
    p = penalty("sparse_group", 3, positive=positive)
    ridge = p.ridge.copy()
    ridge[[0, 5]] = 0.0
    p = replace(p, ridge=ridge, norm=p.norm + 1.0)
    rng = np.random.default_rng(7)
    for _ in range(4):
        z = 3.0 * rng.standard_normal(10)
        z[[0, 5]] *= 0.1  # within l1 + norm, so the supremum is finite
        assert_allclose(p.conjugate(z), numeric_conjugate(p, z), rtol=1e-7, atol=1e-8)


@every_kind
@both_signs
def test_fenchel_young_inequality_and_equality(kind, positive):
    rng = np.random.default_rng(8)
    p = penalty(kind, 4, positive=positive)
    w = some_weights(p, rng)
    # a subgradient at w: the slope of the smooth part, zero where w is zero
    length = np.sqrt(p.per_group(w * w))
    unit = w / np.maximum(p.per_weight(length), 1e-300)
    z = p.l1 * np.sign(w) + p.ridge * w + p.per_weight(p.norm) * unit
    assert_allclose(p.value(w) + p.conjugate((1.0 - 1e-13) * z), z @ w, rtol=1e-9)
    for _ in range(50):
        other = some_weights(p, rng)
        assert p.value(other) + p.conjugate((1.0 - 1e-13) * z) >= (1.0 - 1e-12) * (z @ other) - 1e-12


@pytest.mark.parametrize("kind", ["l1", "group", "sparse_group", "singletons"])
@both_signs
def test_conjugate_without_ridge_is_zero_in_the_dual_ball_and_infinite_outside(kind, positive):
    p = replace(penalty(kind, 5, positive=positive), ridge=np.zeros(10))
    z = np.zeros(10)
    limit = p.l1[0] + p.norm[0]
    for share, expected in [(0.999, 0.0), (1.001, np.inf)]:
        z[0] = share * limit
        assert p.conjugate(z) == expected
    z[0] = -100.0 * limit
    assert p.conjugate(z) == (0.0 if positive else np.inf)


@every_kind
@both_signs
def test_feasible_scale_is_the_largest_that_keeps_the_conjugate_finite(kind, positive):
    rng = np.random.default_rng(9)
    for seed in range(5):
        p = penalty(kind, seed, positive=positive)
        l1, ridge = p.l1 + 0.05, p.ridge.copy()
        ridge[rng.random(10) < 0.6] = 0.0
        p = replace(p, l1=l1, ridge=ridge)
        z = 3.0 * rng.standard_normal(10)
        t = p.feasible_scale(z)
        assert 0.0 < t <= 1.0
        assert np.isfinite(p.conjugate((1.0 - 1e-11) * t * z))
        if t < 1.0:
            assert p.conjugate((1.0 + 1e-9) * t * z) == np.inf


@every_kind
def test_feasible_scale_is_one_where_every_weight_has_a_ridge(kind):
    p = replace(penalty(kind, 0, positive=False), ridge=np.full(10, 0.1))
    assert p.feasible_scale(1e3 * np.arange(10.0)) == 1.0


@every_kind
@both_signs
def test_part_of_a_penalty_is_the_penalty_of_these_weights_alone(kind, positive):
    p = penalty(kind, 6, positive=positive)
    groups = np.array([2, 0, 3])
    part, weights = p.take(groups)
    assert_array_equal(weights, np.concatenate([np.arange(10)[slices(p)[g]] for g in groups]))
    rng = np.random.default_rng(10)
    w = np.zeros(10)
    w[weights] = some_weights(p, rng)[weights]
    gradient = rng.standard_normal(10)
    assert_allclose(part.value(w[weights]), p.value(w), rtol=1e-14)
    assert_allclose(part.violation(gradient[weights], w[weights]), p.violation(gradient, w)[groups], rtol=1e-14)
    assert part.positive == positive
    assert_array_equal(part.unpenalized, p.unpenalized[weights])


@every_kind
def test_part_without_groups_is_empty(kind):
    part, weights = penalty(kind, 0, positive=False).take(np.empty(0, np.intp))
    assert weights.size == 0
    assert part.value(np.empty(0)) == 0.0
    assert part.violation(np.empty(0), np.empty(0)).size == 0


@every_kind
def test_sums_and_repeats_by_group_are_each_others_transpose(kind):
    p = penalty(kind, 7, positive=False)
    rng = np.random.default_rng(11)
    by_weight, by_group = rng.standard_normal(10), rng.standard_normal(p.norm.size)
    assert_allclose(p.per_group(by_weight) @ by_group, by_weight @ p.per_weight(by_group), rtol=1e-12)


def test_unpenalized_weights_are_those_without_l1_and_without_group_norm():
    p = Penalty(np.array([0.0, 1.0, 0.0, 0.0]), np.ones(4), np.array([0.0, 2.0]), np.array([0, 2, 4]))
    assert_array_equal(p.unpenalized, [True, False, False, False])
