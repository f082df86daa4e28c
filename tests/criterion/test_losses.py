"""What is true of every loss: its derivatives, its bounds and its conjugate."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from skgraft.criterion.losses import LOSSES, Loss, _log1p, make_loss

every_loss = pytest.mark.parametrize("name", sorted(LOSSES))
EXTREME = [0.0, -1.0, 30.0, -40.0, 700.0, -700.0]


def targets(name: str, n: int, rng: np.random.Generator, n_outputs: int = 3) -> np.ndarray:
    """Return encoded targets: signs, one-hot rows, counts or numbers."""
    if name == "multinomial":
        return np.eye(n_outputs)[rng.integers(0, n_outputs, n)]
    if LOSSES[name].margin:
        return np.where(rng.random((n, n_outputs)) < 0.4, 1.0, -1.0)
    if name == "poisson":
        return rng.poisson(2.0, (n, n_outputs)).astype(float)
    return 3.0 * rng.standard_normal((n, n_outputs))


def sample(name: str, seed: int = 0, n: int = 200) -> tuple[Loss, np.ndarray, np.ndarray, np.ndarray]:
    """Return a loss, scores that keep away from its kinks, targets and uneven weights that sum to one."""
    rng = np.random.default_rng(seed)
    loss = make_loss(name)
    y, f = targets(name, n, rng), 2.0 * rng.standard_normal((n, 3))
    kink = np.zeros_like(f)
    if name == "huber":
        kink = np.abs(np.abs(f - y) - loss.delta)
    if name == "squared_hinge":
        kink = np.abs(y * f - 1.0)
    away = (kink > 1e-3).all(axis=1) if loss.piecewise else np.ones(n, bool)
    weight = rng.choice([0.0, 0.5, 1.0, 4.0], n)[away]
    return loss, f[away], y[away], weight / weight.sum()


def central_differences(function, f: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Return d function / df_k for each output k, stacked along the last axis."""
    columns = []
    for k in range(f.shape[1]):
        h = np.zeros(f.shape[1])
        h[k] = step
        columns.append((function(f + h) - function(f - h)) / (2.0 * step))
    return np.stack(columns, axis=-1)


def full_curvature(loss: Loss, f: np.ndarray, y: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return diag(diagonal_i) - factor_i factor_i' for every sample."""
    curvature = loss.curvature(f, y, s)
    matrix = curvature.diagonal[:, :, None] * np.eye(f.shape[1])
    if curvature.factor is not None:
        matrix = matrix - curvature.factor[:, :, None] * curvature.factor[:, None, :]
    return matrix


@every_loss
def test_derivative_is_the_slope_of_the_loss(name):
    loss, f, y, _ = sample(name)
    slope = central_differences(lambda at: loss.per_sample(at, y), f)
    assert_allclose(loss.derivative(f, y), slope, rtol=1e-7, atol=1e-7)


@every_loss
def test_second_derivative_is_the_slope_of_the_derivative(name):
    loss, f, y, _ = sample(name)
    slope = central_differences(lambda at: loss.derivative(at, y), f)
    assert_allclose(loss.second_derivative(f, y), np.einsum("ikk->ik", slope), rtol=1e-7, atol=1e-7)


@every_loss
def test_curvature_is_the_weighted_jacobian_of_the_derivative(name):
    loss, f, y, s = sample(name)
    jacobian = central_differences(lambda at: loss.derivative(at, y), f) * s[:, None, None]
    assert_allclose(full_curvature(loss, f, y, s), jacobian, rtol=1e-7, atol=1e-9)


@every_loss
def test_only_coupled_losses_have_a_factor(name):
    loss, f, y, s = sample(name)
    assert (loss.curvature(f, y, s).factor is not None) == loss.coupled


@every_loss
def test_curvature_has_no_negative_eigenvalue(name):
    loss, f, y, s = sample(name)
    lowest = np.linalg.eigvalsh(full_curvature(loss, 10.0 * f, y, s)).min()
    assert lowest >= -1e-17


@every_loss
def test_flags_say_what_the_second_derivative_does(name):
    loss, f, y, _ = sample(name)
    values = loss.second_derivative(f, y)
    assert loss.quadratic == (np.ptp(values) == 0.0)
    assert loss.piecewise == (not loss.quadratic and np.isin(values, [0.0, 1.0]).all())


@pytest.mark.parametrize("name", ["squared", "huber", "squared_hinge"])
def test_majorizer_model_is_nowhere_below_the_loss(name):
    # the losses that Newton's method can only trust after such a bound
    loss, f, y, _ = sample(name)
    value, slope, ones = loss.per_sample(f, y), loss.derivative(f, y), np.ones(f.shape[0])
    height = loss.majorizer(f, y, ones)
    assert height.factor is None
    rng = np.random.default_rng(1)
    for reach in np.concatenate([np.geomspace(1e-3, 1e3, 40), -np.geomspace(1e-3, 1e3, 40)]):
        d = reach * rng.random(f.shape)
        model = value + (slope * d + 0.5 * height.diagonal * d * d).sum(axis=1)
        assert (model - loss.per_sample(f + d, y) >= -1e-9 * (1.0 + np.abs(model))).all()


@pytest.mark.parametrize("name", ["huber", "squared_hinge"])
def test_majorizer_carries_the_sample_weights(name):
    loss, f, y, s = sample(name)
    plain = loss.majorizer(f, y, np.ones(s.size)).diagonal
    assert_allclose(loss.majorizer(f, y, s).diagonal, plain * s[:, None], rtol=1e-15)


@every_loss
def test_residual_is_the_weighted_derivative(name):
    loss, f, y, s = sample(name)
    assert_allclose(loss.residual(f, y, s), loss.derivative(f, y) * s[:, None], rtol=1e-15)


@every_loss
def test_value_is_linear_in_the_sample_weights(name):
    loss, f, y, s = sample(name)
    other = np.random.default_rng(2).random(s.size)
    both = loss.value(f, y, 2.0 * s + 3.0 * other)
    assert_allclose(both, 2.0 * loss.value(f, y, s) + 3.0 * loss.value(f, y, other), rtol=1e-13)


@every_loss
def test_a_weight_of_two_equals_a_repetition(name):
    loss, f, y, _ = sample(name, n=6)
    twice = np.array([2.0, 1.0, 1.0, 1.0, 1.0, 1.0])[: f.shape[0]]
    again = np.r_[0, np.arange(f.shape[0])]
    assert_allclose(loss.value(f, y, twice), loss.value(f[again], y[again], np.ones(again.size)), rtol=1e-14)


@every_loss
def test_loss_of_several_outputs_is_the_sum_over_them_unless_they_are_coupled(name):
    loss, f, y, _ = sample(name)
    apart = sum(loss.per_sample(f[:, [k]], y[:, [k]]) for k in range(3))
    assert np.allclose(loss.per_sample(f, y), apart) == (not loss.coupled)


@every_loss
def test_fenchel_young_inequality_holds_for_every_pair(name):
    # L(f) + L*(u) >= u·f; inside the domain of L*, u ranges over slopes at other scores
    loss, f, y, _ = sample(name)
    rng = np.random.default_rng(3)
    for _ in range(20):
        shrink = rng.random((f.shape[0], 1))
        u = shrink * loss.derivative(rng.choice([0.1, 1.0, 5.0]) * rng.standard_normal(f.shape), y)
        conjugate = loss.conjugate(u, y)
        assert np.isfinite(conjugate).all()
        gap = loss.per_sample(f, y) + conjugate - (u * f).sum(axis=1)
        assert gap.min() >= -1e-10


@every_loss
def test_fenchel_young_is_an_equality_at_the_slope(name):
    loss, f, y, _ = sample(name)
    u = loss.derivative(f, y)
    assert_allclose(loss.per_sample(f, y) + loss.conjugate(u, y), (u * f).sum(axis=1), rtol=1e-11, atol=1e-11)


@every_loss
def test_conjugate_is_the_largest_gap_of_a_line_over_the_loss(name):
    loss, _, y, _ = sample(name, n=8)
    rng = np.random.default_rng(4)
    u = 0.6 * loss.derivative(2.0 * rng.standard_normal(y.shape), y)
    for i in range(y.shape[0]):
        yi, ui = y[[i]], u[[i]]
        best = minimize(
            lambda f, yi=yi, ui=ui: float(loss.per_sample(f[None, :], yi)[0] - ui[0] @ f),
            np.zeros(3),
            jac=lambda f, yi=yi, ui=ui: (loss.derivative(f[None, :], yi) - ui)[0],
            method="BFGS",
            options={"gtol": 1e-9},
        )
        assert_allclose(loss.conjugate(ui, yi)[0], -best.fun, rtol=1e-9, atol=1e-9)


OUTSIDE = {
    "logistic": [(1.0, 0.01), (1.0, -1.01), (-1.0, -0.01), (-1.0, 1.01)],
    "squared_hinge": [(1.0, 0.01), (-1.0, -0.01)],
    "poisson": [(2.0, -2.01), (0.0, -0.01)],
    "huber": [(0.0, 1.36), (5.0, -1.36)],
}


@pytest.mark.parametrize(("name", "y", "u"), [(name, *pair) for name in OUTSIDE for pair in OUTSIDE[name]])
def test_conjugate_is_infinite_outside_its_domain(name, y, u):
    loss = make_loss(name)
    conjugate = loss.conjugate(np.array([[u, 0.0]]), np.array([[y, y]]))
    assert conjugate.shape == (1,)
    assert conjugate[0] == np.inf


@pytest.mark.parametrize("u", [(0.1, 0.0, 0.0), (-0.3, -0.3, -0.3), (-1.1, 1.1, 0.0), (-0.5, 0.6, -0.1)])
def test_multinomial_conjugate_is_infinite_off_the_simplex(u):
    loss = make_loss("multinomial")
    assert loss.conjugate(np.array([u]), np.array([[1.0, 0.0, 0.0]]))[0] == np.inf


@every_loss
def test_conjugate_survives_rounding_at_the_border_of_its_domain(name):
    rng = np.random.default_rng(5)
    loss, y = make_loss(name), targets(name, 50, rng)
    u = loss.derivative(1e3 * rng.choice([-0.7, 0.3, 0.7], y.shape), y)
    u = np.clip(u, -1e6, 1e6) if name == "poisson" else u
    assert np.isfinite(loss.conjugate(u * (1.0 + 1e-15), y)).all()


@every_loss
def test_least_is_the_lowest_the_loss_can_reach(name):
    loss, _, y, s = sample(name, n=12)
    flat = minimize(
        lambda f: loss.value(f.reshape(y.shape), y, s),
        np.zeros(y.size),
        jac=lambda f: loss.residual(f.reshape(y.shape), y, s).ravel(),
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-10},
    )
    assert flat.fun >= loss.least(y, s) - 1e-12
    assert_allclose(flat.fun, loss.least(y, s), atol=1e-6)


@every_loss
@pytest.mark.parametrize("seed", range(5))
def test_start_is_near_the_best_intercept(name, seed):
    rng = np.random.default_rng(seed)
    loss, y = make_loss(name), targets(name, 60, rng)
    s = rng.choice([0.0, 1.0, 3.0], 60)
    s /= s.sum()
    best = minimize(
        lambda b: loss.value(np.tile(b, (60, 1)), y, s),
        np.zeros(3),
        jac=lambda b: loss.residual(np.tile(b, (60, 1)), y, s).sum(axis=0),
        method="BFGS",
        options={"gtol": 1e-9},
    )
    start, nothing = loss.start(y, s), loss.value(np.zeros((60, 3)), y, s)
    assert start.shape == (3,)
    value = loss.value(np.tile(start, (60, 1)), y, s)
    # Huber's median is only close to its minimum; the others are at it
    assert value - best.fun <= (0.1 * (nothing - best.fun) + 0.05 if name == "huber" else 1e-9)


@pytest.mark.parametrize("name", ["logistic", "poisson", "multinomial"])
def test_start_is_finite_where_a_class_or_count_never_occurs(name):
    loss = make_loss(name)
    y = np.zeros((4, 2)) if name == "poisson" else np.tile([1.0, 0.0 if loss.coupled else -1.0], (4, 1))
    assert np.isfinite(loss.start(y, np.full(4, 0.25))).all()


@pytest.mark.parametrize("name", ["logistic", "multinomial"])
def test_scores_of_seven_hundred_overflow_nowhere(name):
    loss = make_loss(name)
    f = np.array([[a, b, c] for a in EXTREME for b in EXTREME for c in EXTREME])
    rng = np.random.default_rng(6)
    y, s = targets(name, f.shape[0], rng), np.full(f.shape[0], 1.0 / f.shape[0])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        quantities = [
            loss.per_sample(f, y),
            loss.derivative(f, y),
            loss.second_derivative(f, y),
            loss.curvature(f, y, s).diagonal,
            loss.conjugate(loss.derivative(f, y), y),
        ]
    assert all(np.isfinite(quantity).all() for quantity in quantities)
    assert (loss.per_sample(f, y) >= 0.0).all()


def test_logistic_loss_keeps_its_digits_in_both_tails():
    loss = make_loss("logistic")
    f = np.array([[700.0], [50.0], [-700.0]])
    value = loss.per_sample(f, np.ones((3, 1)))
    assert_allclose(value, [np.exp(-700.0), np.exp(-50.0), 700.0], rtol=1e-12)
    assert_allclose(loss.derivative(f, np.ones((3, 1)))[:, 0], [-np.exp(-700.0), -np.exp(-50.0), -1.0], rtol=1e-12)


def test_multinomial_of_two_classes_is_logistic_in_the_difference():
    rng = np.random.default_rng(7)
    f, y = 3.0 * rng.standard_normal((40, 2)), np.eye(2)[rng.integers(0, 2, 40)]
    margin = make_loss("logistic").per_sample(f[:, [1]] - f[:, [0]], 2.0 * y[:, [1]] - 1.0)
    assert_allclose(make_loss("multinomial").per_sample(f, y), margin, rtol=1e-12, atol=1e-14)


def test_huber_with_a_wide_delta_is_squared():
    _, f, y, _ = sample("squared")
    wide, squared = make_loss("huber", delta=1e3), make_loss("squared")
    assert_allclose(wide.per_sample(f, y), squared.per_sample(f, y), rtol=1e-14)
    assert_allclose(wide.derivative(f, y), squared.derivative(f, y), rtol=1e-14)


def test_table_has_the_six_losses_of_the_criterion():
    assert set(LOSSES) == {"logistic", "multinomial", "squared", "huber", "poisson", "squared_hinge"}
    assert all(make_loss(name).name == name for name in LOSSES)


def test_logarithm_of_one_more_is_exact_to_the_last_digit():
    x = np.r_[0.0, 10.0 ** np.linspace(-300.0, 3.0, 20_000)]
    assert_allclose(_log1p(x), np.log1p(x), rtol=1e-15, atol=0.0)
