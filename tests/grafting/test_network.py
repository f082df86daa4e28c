"""Networks that grow: what must hold of every fit."""

from __future__ import annotations

import tracemalloc
import warnings
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits, make_friedman1
from sklearn.exceptions import ConvergenceWarning

from skgraft import MLPGraftClassifier, MLPGraftRegressor
from skgraft.criterion.certificate import NOT_CONVERGED, NOT_STATIONARY, WEIGHTS
from skgraft.datasets import make_threshold_max
from skgraft.grafting.effort import EFFORTS
from skgraft.grafting.network import model as network_model

EFFORT = sorted(EFFORTS)


def threshold_max(n=400, n_informative=3, n_irrelevant=12, seed=0, **options):
    made = make_threshold_max(n, n_informative=n_informative, n_irrelevant=n_irrelevant, random_state=seed, **options)
    return made.data, made.target, made.informative


def three_classes(n=150, p=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.digitize(X[:, 0] + X[:, 1] * (X[:, 2] > 0), [-0.5, 0.5])


def fits(X, y, **options):
    """Yield a fit of each kind of problem on the same features."""
    yield MLPGraftClassifier(**options).fit(X, y > np.median(y))
    yield MLPGraftClassifier(**options).fit(X, np.digitize(y, np.quantile(y, [0.3, 0.6])))
    yield MLPGraftRegressor(**options).fit(X, y)


# --- it learns what it should ---


def test_the_informative_features_of_a_threshold_max_problem_are_found():
    X, y, informative = threshold_max()
    X_test, y_test, _ = threshold_max(seed=1)
    model = MLPGraftClassifier(l1=1e-6, l0=0.005).fit(X, y)
    assert_array_equal(np.flatnonzero(model.support_), np.sort(informative))
    assert model.score(X_test, y_test) > 0.97
    assert sorted(model.order_) == sorted(informative)


def test_the_five_features_of_friedman_are_found_among_noise():
    X, y = make_friedman1(1200, n_features=60, noise=1.0, random_state=3)
    model = MLPGraftRegressor().fit(X[:600], y[:600])
    assert_array_equal(np.flatnonzero(model.support_), np.arange(5))
    assert np.sqrt(np.mean((model.predict(X[600:]) - y[600:]) ** 2)) < 1.25


def test_an_even_effect_is_found_by_the_quadratic_screen_alone():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (400, 10))
    X = np.vstack([X, -X])  # so that x² has no linear part whatever
    y = X[:, 4] ** 2
    empty = MLPGraftRegressor(screen="linear").fit(X, y)
    assert not empty.support_.any()
    assert empty.certificate_.converged  # although rounding is all that pulls
    model = MLPGraftRegressor(screen="quadratic").fit(X, y)
    assert_array_equal(np.flatnonzero(model.support_), [4])
    assert model.score(X, y) > 0.9
    inside = np.abs(X[:, 4]) < 0.5
    model = MLPGraftClassifier(screen="quadratic").fit(X, inside)
    assert_array_equal(np.flatnonzero(model.support_), [4])
    assert model.score(X, inside) > 0.95


def test_many_classes_share_units():
    X, y = load_digits(return_X_y=True)
    model = MLPGraftClassifier(l0=0.005).fit(X[:600], y[:600])
    assert model.score(X[600:1200], y[600:1200]) > 0.85
    assert model.support_.sum() < 40
    assert model.output_weights_.shape == (10, len(model.units_))
    assert (np.count_nonzero(model.output_weights_, axis=0) > 1).all()


def test_with_unit_output_weights_a_unit_belongs_to_one_class():
    X, y = three_classes()
    model = MLPGraftClassifier(output_weights="unit").fit(X, y)
    assert set(model.units_["output"]) <= {0, 1, 2}
    assert_array_equal(model.output_weights_, np.eye(3)[model.units_["output"]].T)
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_classes_one_against_the_rest(loss):
    X, y = three_classes()
    model = MLPGraftClassifier(loss=loss, output_weights="unit").fit(X, y)
    assert model.score(X, y) > 0.8


def test_counts_are_predicted_by_their_mean():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    mean = np.exp(1.0 + np.tanh(X[:, 2]))
    model = MLPGraftRegressor(loss="poisson", l0=0.01).fit(X, rng.poisson(mean))
    assert 2 in model.order_
    assert np.corrcoef(model.predict(X), mean)[0, 1] > 0.95


def test_outliers_move_hubers_loss_less_than_squares():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    clean = np.tanh(2.0 * X[:, 1])
    y = clean.copy()
    y[::30] += 50.0
    far = {
        loss: np.abs(MLPGraftRegressor(loss=loss, delta=0.5).fit(X, y).predict(X) - clean).mean()
        for loss in ("squared", "huber")
    }
    assert far["huber"] < 0.5 * far["squared"]


# --- the paper's own rule ---


def eq_9(model, X, y, l1, l0):
    """Return ΔC of every candidate of a binary network by hand: rows are its units and a new one."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    W = np.zeros((len(model.units_), X.shape[1]))
    W[model.connections_["unit"], model.connections_["feature"]] = model.connections_["strength"]
    a = np.tanh(0.5 * (X @ (W / X.std(axis=0)).T + model.units_["bias"]))
    d = -y / (1.0 + np.exp(y * model.decision_function(X))) / y.size
    slope = np.vstack([(0.5 * (1.0 - a * a) * d[:, None]).T @ Z, 0.5 * d @ Z])
    newest = abs(model.connections_["strength"][-1]) if len(model.connections_) else 1.0
    change = l0 * ~model.support_ - newest * (np.abs(slope) - l1)
    change[model.connections_["unit"], model.connections_["feature"]] = np.inf
    return change


@pytest.mark.parametrize("l0", [0.0, 0.01])
def test_the_gradient_test_alone_decides_who_comes_in(l0, monkeypatch):
    """Every connection is the one with the least ΔC of eq. 9, by what the network before it reports."""
    monkeypatch.setattr("skgraft.grafting.network.model.gains", lambda *_: pytest.fail("a trial fit"))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    # a second feature that matters where the first decides little, and the other way round elsewhere
    f = 3.0 * X[:, 0] + np.where(np.abs(X[:, 0]) < 0.7, 4.0, -0.7) * X[:, 1] + X[:, 2]
    y = np.where(f + rng.logistic(size=300) > 0.0, 1, -1)
    options = {"selection": "gradient", "l1": 1e-3, "l0": l0, "tol": 1e-9}
    grown = [MLPGraftClassifier(max_connections=k, **options).fit(X, y) for k in range(1, 7)]
    was_there = []
    for k, (before, after) in enumerate(pairwise(grown), 1):
        assert len(before.connections_) == k  # none left, so the last is the newest
        unit, feature = np.divmod(np.argmin(eq_9(before, X, y, 1e-3, l0)), 5)
        assert (unit, feature) == (after.connections_[-1]["unit"], after.connections_[-1]["feature"])
        was_there.append(unit < len(before.units_))
    assert 0 < sum(was_there) < 5


def test_the_gradient_test_has_no_floor():
    X, y = make_friedman1(200, n_features=8, noise=2.0, random_state=0)
    least = {}
    for selection in ("trial", "gradient"):
        model = MLPGraftClassifier(selection=selection, l1=1e-4, l0=0.01).fit(X, y > np.median(y))
        kinds = model.history_.column("kind")
        falls = -np.diff(model.history_.column("objective"))[np.isin(kinds[1:], ["unit", "connection"])]
        least[selection] = falls.min()
    assert 0.0 < least["gradient"] < 0.1 * 0.01 <= least["trial"]


@pytest.mark.parametrize("selection", ["trial", "gradient"])
def test_growth_ends_where_nothing_that_was_tried_pays(selection):
    """Also where connections of features already paid for are left: those are what the floor is for."""
    X, y = make_friedman1(200, n_features=8, noise=2.0, random_state=0)
    model = MLPGraftClassifier(selection=selection, l1=1e-4, l0=0.01).fit(X, y > np.median(y))
    kinds = model.history_.column("kind").tolist()
    assert "undo" in kinds
    first = kinds.index("undo")
    if selection == "gradient":
        assert set(kinds[first + 1 :]) <= {"optimize"}
    run = "".join("u" if kind == "undo" else "." for kind in kinds if kind != "optimize")
    assert len(run) - len(run.rstrip("u")) <= 3
    assert len(model.connections_) < 8 * len(model.units_)


def test_the_gradient_test_serves_every_kind_of_target_and_limit():
    X, y = make_friedman1(200, n_features=8, noise=0.5, random_state=0)
    for model in fits(
        X, y, selection="gradient", max_features=3, select_unit=2, keep=[6], n_restarts=2, random_state=0
    ):
        assert model.support_[6]
        assert 1 < model.support_.sum() <= 3
        assert (np.diff(model.history_.column("objective")) <= 0.0).all()


# --- the criterion ---


def criterion(model, X, y, l1, l2, l0):
    """Return C of a binary classifier, afresh from what it reports."""
    f = model.decision_function(X)
    w = model.connections_["strength"]
    loss = np.logaddexp(0.0, -np.where(y, 1.0, -1.0) * f).mean()
    return loss + l1 * np.abs(w).sum() + l2 * (w @ w) + l0 * model.support_.sum()


def test_the_objective_is_the_criterion():
    X, y, _ = threshold_max(200)
    model = MLPGraftClassifier(l1=1e-3, l2=1e-3, l0=0.01).fit(X, y)
    assert_allclose(model.objective_, criterion(model, X, y == 1, 1e-3, 1e-3, 0.01), rtol=1e-10)


def test_what_is_reported_is_the_network():
    """f(x) = b + Σ v g(w·x + c) by hand, from connections, units and output weights for features as given."""
    X, y = three_classes()
    X = X * [1.0, 10.0, 0.1, 1.0, 1.0, 1.0] + 5.0
    model = MLPGraftClassifier().fit(X, y)
    W = np.zeros((len(model.units_), X.shape[1]))
    W[model.connections_["unit"], model.connections_["feature"]] = model.connections_["weight"]
    a = np.tanh(0.5 * (X @ W.T + model.units_["bias"]))
    assert_allclose(a @ model.output_weights_.T + model.intercept_, model.decision_function(X), rtol=1e-7, atol=1e-9)
    assert_array_equal(np.unique(model.connections_["feature"]), np.flatnonzero(model.support_))


@pytest.mark.parametrize("effort", EFFORT)
def test_the_criterion_never_rises(effort):
    X, y = make_friedman1(150, n_features=8, noise=0.5, random_state=0)
    for model in fits(X, y, effort=effort, max_units=4, random_state=0):
        objective = model.history_.column("objective")
        assert objective.size
        assert (np.diff(objective) <= 0.0).all()
        assert_allclose(objective[-1], model.objective_, rtol=1e-12)
        assert np.isfinite(model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)).all()


@pytest.mark.parametrize("effort", ["full", "light", "gauss_seidel"])
def test_free_weights_end_without_slope(effort):
    X, y, _ = threshold_max(200)
    model = MLPGraftClassifier(effort=effort, l1=1e-3).fit(X, y)
    assert model.certificate_.converged
    assert model.certificate_.kkt_violation < 1e-6
    assert model.certificate_.duality_gap is None


def test_history_tells_units_from_connections():
    X, y = make_friedman1(300, n_features=8, noise=0.5, random_state=0)
    model = MLPGraftRegressor().fit(X, y)
    kinds = model.history_.column("kind")
    assert {"unit", "connection"} <= set(kinds) <= {"unit", "connection", "undo", "optimize"}
    assert kinds[0] == "unit"
    assert np.count_nonzero(kinds == "unit") >= len(model.units_)


# --- sameness ---


@pytest.mark.parametrize("options", [{}, {"n_restarts": 3}, {"early_stopping": True}, {"effort": "batch"}], ids=str)
def test_the_same_seed_gives_the_same_network(options):
    X, y = make_friedman1(120, n_features=6, noise=0.5, random_state=0)
    for one, two in zip(
        fits(X, y, random_state=7, max_units=4, **options),
        fits(X, y, random_state=7, max_units=4, **options),
        strict=True,
    ):
        assert_array_equal(one.connections_, two.connections_)
        assert_array_equal(one.units_, two.units_)
        assert one.objective_ == two.objective_


def test_the_order_of_columns_does_not_matter():
    X, y = make_friedman1(300, n_features=10, noise=0.5, random_state=1)
    order = np.random.default_rng(0).permutation(10)
    for one, two in zip(fits(X, y), fits(X[:, order], y), strict=True):
        assert_array_equal(one.support_[order], two.support_)
        assert_allclose(one.objective_, two.objective_, rtol=1e-6)
        assert_array_equal(one.order_, order[two.order_])


def test_restarts_never_end_higher():
    X, y = make_friedman1(200, n_features=10, noise=1.0, random_state=5)
    once = MLPGraftRegressor(random_state=0).fit(X, y)
    often = MLPGraftRegressor(random_state=0, n_restarts=4).fit(X, y)
    assert often.objective_ <= once.objective_


def test_sparse_and_dense_input_give_the_same_network():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 12)) < 0.3, rng.normal(size=(200, 12)), 0.0)
    y = np.tanh(2.0 * X[:, 1]) + X[:, 5] + 0.1 * rng.normal(size=200)
    dense = MLPGraftRegressor().fit(X, y)
    for kind in (sparse.csr_array, sparse.csc_matrix):
        model = MLPGraftRegressor().fit(kind(X), y)
        assert_array_equal(model.support_, dense.support_)
        assert_allclose(model.predict(kind(X)), dense.predict(X), rtol=1e-6, atol=1e-8)
    single = MLPGraftRegressor().fit(X.astype(np.float32), y)
    assert_array_equal(single.support_, dense.support_)


def test_rows_without_weight_are_as_good_as_absent():
    X, y = make_friedman1(200, n_features=8, noise=0.5, random_state=2)
    s = np.tile([1.0, 0.0, 2.0, 1.0], 50)
    for kind, target in ((MLPGraftRegressor, y), (MLPGraftClassifier, y > np.median(y))):
        weighted = kind().fit(X, target, sample_weight=s)
        repeated = kind().fit(np.repeat(X, s.astype(int), axis=0), np.repeat(target, s.astype(int)))
        assert_array_equal(weighted.support_, repeated.support_)
        assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-7)


# --- limits and prices ---


@pytest.mark.parametrize("connect", ["one", "all"])
def test_without_penalties_growth_stops_at_the_largest_number_of_connections(connect):
    X, y = make_friedman1(200, n_features=8, noise=1.0, random_state=0)
    for model in fits(X, y, l0=0.0, l1=0.0, max_connections=12, connect=connect, min_gain=0.0):
        assert 12 - 8 <= len(model.connections_) <= 12
        if connect == "one":
            assert len(model.connections_) == 12


@pytest.mark.parametrize(
    ("limit", "found"),
    [
        ({"max_units": 2}, lambda model: len(model.units_) <= 2),
        ({"max_features": 2}, lambda model: model.support_.sum() <= 2),
        ({"max_cost": 3.0, "feature_costs": [1, 2, 3, 4, 5, 6, 7, 8]}, lambda model: model.total_cost_ <= 3.0),
        ({"select_unit": 3, "max_features": 4}, lambda model: model.support_.sum() <= 4),
    ],
    ids=["units", "features", "cost", "features_by_threes"],
)
def test_limits_are_kept(limit, found):
    X, y = make_friedman1(200, n_features=8, noise=0.5, random_state=0)
    for model in fits(X, y, **limit):
        assert found(model)
        assert model.support_.any()


def test_a_dear_feature_stays_out_and_a_bag_is_paid_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[:, 1] = X[:, 0] + 0.05 * rng.normal(size=300)
    y = np.tanh(X[:, 0]) + np.tanh(X[:, 2])
    model = MLPGraftRegressor(feature_costs=[100.0, 1.0, 1.0, 1.0]).fit(X, y)
    assert not model.support_[0]
    assert model.support_[1]
    model = MLPGraftRegressor(groups=["a", "b", "a", "b"]).fit(X, y)
    assert model.support_[[0, 2]].all()
    assert model.total_cost_ == 1.0


def test_kept_features_are_in_and_free():
    X, y, informative = threshold_max(200)
    noise = int(np.setdiff1d(np.arange(X.shape[1]), informative)[0])
    model = MLPGraftClassifier(keep=[noise], l0=0.01).fit(X, y)
    assert model.support_[noise]
    assert model.total_cost_ == model.support_.sum() - 1


def test_penalty_weights_hold_a_feature_back():
    X, y = make_friedman1(200, n_features=6, noise=0.1, random_state=0)
    model = MLPGraftRegressor(penalty_weights=[1, 1, 1, 1e6, 1, 1]).fit(X, y)
    assert MLPGraftRegressor().fit(X, y).support_[3]
    assert not model.support_[3]


def test_early_stopping_returns_the_network_that_was_best_on_the_rows_held_out():
    X, y = make_friedman1(300, n_features=20, noise=2.0, random_state=0)
    model = MLPGraftRegressor(l0=0.0, l1=0.0, early_stopping=True, n_iter_no_change=3, random_state=0).fit(X, y)
    losses = model.validation_losses_
    assert losses.size >= 4
    assert np.argmin(losses) == losses.size - 4
    endless = MLPGraftRegressor(l0=0.0, l1=0.0, max_connections=80, min_gain=0.0, random_state=0).fit(X, y)
    assert len(model.connections_) < len(endless.connections_)


def test_a_floor_of_the_gain_ends_growth_sooner():
    X, y = make_friedman1(200, n_features=10, noise=1.0, random_state=0)
    small, large = (MLPGraftRegressor(min_gain=gain, l0=0.001).fit(X, y) for gain in (1e-5, 1e-2))
    assert len(large.connections_) < len(small.connections_)


def test_free_output_weights_move():
    X, y = make_friedman1(200, n_features=6, noise=0.1, random_state=0)
    model = MLPGraftRegressor(output_weights="free").fit(X, y)
    assert (np.abs(model.units_["output_weight"] - 1.0) > 1e-3).all()
    assert_array_equal(MLPGraftRegressor().fit(X, y).units_["output_weight"], 1.0)


# --- ugly input ---


def ugly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 8))
    X[:, 1] = 3.0
    X[:, 2] = X[:, 0]
    X[:, 3] *= 1e-150
    X[:, 4] *= 1e150
    X[:, 5] = 1e9 + X[:, 5]
    X[:, 6] = X[:, 0] > 0
    return X, X[:, 0] + np.sin(3.0 * X[:, 7])


@pytest.mark.parametrize("effort", EFFORT)
def test_ugly_columns_never_give_nan(effort):
    X, y = ugly()
    for model in fits(X, y, effort=effort, random_state=0, max_units=3):
        assert not model.support_[1]
        out = model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)
        assert np.isfinite(out).all()
        for field in ("weight", "strength"):
            assert np.isfinite(model.connections_[field]).all()
        assert np.isfinite(model.units_["bias"]).all()


@pytest.mark.parametrize("n_classes", [2, 5])
def test_one_row_for_each_class(n_classes):
    X = np.random.default_rng(0).normal(size=(n_classes, 3))
    model = MLPGraftClassifier(l0=0.0).fit(X, np.arange(n_classes))
    assert np.isfinite(model.predict_proba(X)).all()
    assert_array_equal(model.predict(X), np.arange(n_classes))


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e150])
def test_the_scale_of_a_target_does_not_matter(scale):
    X, y = make_friedman1(100, n_features=5, random_state=0)
    one, two = MLPGraftRegressor().fit(X, y), MLPGraftRegressor().fit(X, y * scale)
    assert_array_equal(one.support_, two.support_)
    assert_allclose(two.predict(X), one.predict(X) * scale, rtol=1e-6)


def test_a_constant_target_and_constant_features_give_the_mean():
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert_allclose(MLPGraftRegressor().fit(X, np.full(20, 7.0)).predict(X), 7.0)
    y = np.arange(20.0)
    model = MLPGraftRegressor().fit(np.ones((20, 3)), y)
    assert_allclose(model.predict(np.ones((2, 3))), y.mean())
    assert not model.support_.any()
    assert MLPGraftClassifier().fit(np.ones((4, 2)), [0, 1, 1, 1]).predict([[1.0, 1.0]]) == [1]


def test_bad_parameters_are_named():
    X, y = three_classes()
    for options, culprit in (
        ({"effort": "batch", "max_features": 2}, "max_features=2"),
        ({"keep": [17]}, "keep"),
        ({"feature_costs": [1.0, -1.0, 1.0, 1.0, 1.0, 1.0]}, "feature_costs"),
        ({"groups": {"a": [0, 99]}}, "groups"),
    ):
        with pytest.raises(ValueError, match=culprit):
            MLPGraftClassifier(**options).fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        MLPGraftClassifier().fit(X, np.zeros(len(y)))
    X = X.copy()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="column 2, row 3"):
        MLPGraftClassifier().fit(X, y)


# --- memory ---


def extra_memory(model, X, y):
    """Return what a fit needs at most beside X, in units of X."""
    tracemalloc.start()
    try:
        model.fit(X, y)
        return tracemalloc.get_traced_memory()[1] / X.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_fit_needs_less_than_a_second_x(dtype, order):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.normal(size=(6000, 1000)), dtype=dtype, order=order)
    y = np.tanh(2.0 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0.0) + 0.3 * rng.normal(size=6000)
    some = {"max_connections": 6, "n_jobs": 1}
    MLPGraftRegressor(**some).fit(X[:300], y[:300])  # what is imported and compiled is not counted
    assert extra_memory(MLPGraftClassifier(**some), X, y > 0.0) < 1.0
    assert extra_memory(MLPGraftRegressor(**some), X, y) < 1.0


def test_rows_held_out_are_the_only_copy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 1000))
    y = X[:, 0] + X[:, 1] > 0.0
    model = MLPGraftClassifier(early_stopping=True, random_state=0, max_connections=4, n_jobs=1)
    model.fit(X[:300], y[:300])
    assert extra_memory(model, X, y) < 1.0


# --- control ---


def test_a_callback_ends_the_fit_and_leaves_a_whole_model():
    X, y = make_friedman1(200, n_features=8, random_state=0)
    model = MLPGraftRegressor(callback=lambda record: record.step == 3).fit(X, y)
    assert len(model.history_) == 3
    assert not model.certificate_.converged
    assert_allclose(model.history_[-1].objective, model.objective_)
    assert np.isfinite(model.predict(X)).all()


def test_an_interrupted_fit_keeps_the_best_network_so_far():
    X, y = make_friedman1(200, n_features=8, random_state=0)

    def interrupt(record):
        if record.step == 4:
            raise KeyboardInterrupt

    model = MLPGraftRegressor(callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not model.certificate_.converged
    assert np.isfinite(model.predict(X)).all()


def test_too_few_steps_are_told():
    X, y = make_friedman1(200, n_features=8, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        MLPGraftRegressor(max_iter=2).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MLPGraftRegressor().fit(X, y)


def test_networks_with_many_weights_converge():
    """Newton steps need many rounds on the first; the second has too many weights for them."""
    X, y = make_friedman1(300, n_features=10, noise=0.5, random_state=1)
    digits = load_digits(return_X_y=True)
    for features, classes in ((X, np.digitize(y, np.quantile(y, [0.3, 0.6]))), (digits[0][:600], digits[1][:600])):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = MLPGraftClassifier().fit(features, classes)
        assert model.certificate_.converged


def test_weights_that_do_not_reach_tol_are_told(monkeypatch):
    monkeypatch.setattr("skgraft.grafting.network.model.LAST_ROUNDS", 0)
    X, y = make_friedman1(60, n_features=5, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"did not reach tol=1e-09: the largest violation left is \d"):
        model = MLPGraftRegressor(tol=1e-9).fit(X, y)
    assert not model.certificate_.converged


@pytest.mark.parametrize("options", [{"effort": "newest"}, {"early_stopping": True}], ids=str)
def test_where_weights_need_not_end_without_slope_nothing_is_told(options):
    X, y = make_friedman1(120, n_features=5, noise=1.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MLPGraftRegressor(random_state=0, **options).fit(X, y)
    assert not model.certificate_.converged


def test_progress_goes_to_standard_error(capsys):
    X, y = make_friedman1(60, n_features=5, random_state=0)
    MLPGraftRegressor(verbose=1).fit(X, y)
    shown = capsys.readouterr()
    assert not shown.out
    assert "network: step 1, 1 features" in shown.err


# --- numbers at the ends of the range ---


def column_at(exponent: int, dtype: type, *, is_sparse: bool):
    """Return X with column 1 times a power of two, which is exact, and the factor."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 4)).astype(dtype)
    X[np.abs(X) < 0.3] = 0.0
    y = np.tanh(2.0 * X[:, 1].astype(float)) + 0.5 * X[:, 2]
    moved = X.copy()
    moved[:, 1] = np.ldexp(moved[:, 1], exponent)
    wrap = sparse.csc_array if is_sparse else np.asfortranarray
    return wrap(X), wrap(moved), y


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(
    ("dtype", "exponents"), [(np.float64, (-960, -664, 664, 996)), (np.float32, (-100, 124))], ids=["double", "single"]
)
@pytest.mark.parametrize("kind", [MLPGraftRegressor, MLPGraftClassifier])
def test_the_scale_of_a_column_does_not_matter(kind, dtype, exponents, is_sparse):
    for exponent in exponents:
        X, moved, y = column_at(exponent, dtype, is_sparse=is_sparse)
        y = y > 0.0 if kind is MLPGraftClassifier else y
        one, two = kind(max_iter=6, tol=1e-3).fit(X, y), kind(max_iter=6, tol=1e-3).fit(moved, y)
        assert one.support_[1]
        assert_array_equal(one.support_, two.support_)
        score = "predict" if kind is MLPGraftRegressor else "decision_function"
        assert_allclose(getattr(two, score)(moved[:20]), getattr(one, score)(X[:20]), rtol=1e-6, atol=1e-9)
        assert np.isfinite(two.connections_["weight"]).all()


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("kind", [MLPGraftRegressor, MLPGraftClassifier])
def test_a_column_too_small_for_a_weight_is_refused_by_name(kind, is_sparse):
    _, moved, y = column_at(-1000, np.float64, is_sparse=is_sparse)
    with pytest.raises(ValueError, match="column 1 of X holds numbers so small"):
        kind().fit(moved, y if kind is MLPGraftRegressor else y > 0.0)


def test_new_rows_far_out_saturate():
    X, y = make_friedman1(100, n_features=5, random_state=0)
    model = MLPGraftRegressor(max_iter=10).fit(1e-150 * X, y)
    far = model.predict(np.vstack([1e-100 * X[:3], np.full((1, 5), 1e300)]))
    assert np.isfinite(far).all()


# --- what is certified, and what it took ---


@pytest.mark.parametrize(
    ("options", "scope"),
    [
        ({}, WEIGHTS),
        ({"effort": "light"}, WEIGHTS),
        ({"selection": "gradient", "max_connections": 6}, WEIGHTS),
        ({"effort": "newest"}, NOT_STATIONARY),
        ({"early_stopping": True}, NOT_STATIONARY),
        ({"max_iter": 2}, NOT_CONVERGED),
        ({"max_iter": 2, "early_stopping": True}, NOT_CONVERGED),
        ({"callback": lambda record: record.step == 2}, NOT_CONVERGED),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_scope_of_a_certificate_says_what_is_certified(options, scope):
    X, y, _ = threshold_max(200)
    certificate = MLPGraftClassifier(l1=1e-3, random_state=0, **options).fit(X, y).certificate_
    assert certificate.scope == scope
    assert certificate.converged == (scope == WEIGHTS)


@pytest.mark.parametrize("options", [{}, {"screen": "quadratic"}, {"selection": "gradient"}, {"effort": "newest"}])
def test_every_gradient_over_all_features_is_counted(options, monkeypatch):
    counts = [0]

    def counted(*arguments):
        counts[0] += 1
        return network_model_derivatives(*arguments)

    network_model_derivatives = network_model.closed_derivatives
    monkeypatch.setattr(network_model, "closed_derivatives", counted)
    seen = []
    X, y, _ = threshold_max(200)
    model = MLPGraftClassifier(l1=1e-3, max_connections=6, callback=lambda _: seen.append(counts[0]), **options)
    model.fit(X, y)
    assert [record.gradient_evaluations for record in model.history_] == seen
    assert seen[0] >= 2  # of the empty network, and of the first test
