"""Features that arrive over time end at the optimum of all of them, or the certificate says that this is not known."""

from __future__ import annotations

import pickle
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skgraft import GraftClassifier, GraftRegressor, StreamGraftClassifier, StreamGraftRegressor
from skgraft.datasets import column_blocks

from .cases import SEVERAL, SINGLE, make_case

ALL_LOSSES = [(loss, 1) for loss in SINGLE] + list(SEVERAL)


def problem(n=120, p=300, seed=0, correlation=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + correlation * rng.normal(size=(n, 1))
    f = X[:, :6] @ np.array([2.0, -2.0, 1.5, 1.0, -1.0, 0.7])
    return X, f + rng.normal(size=n)


def classes(y):
    return np.where(y > np.median(y), "high", "low")


def cut(X, width):
    return [X[:, start : start + width] for start in range(0, X.shape[1], width)]


def streaming(case, **parameters):
    regression = case.criterion.loss in {"squared", "huber", "poisson"}
    return (StreamGraftRegressor if regression else StreamGraftClassifier)(**{**case.parameters, **parameters})


def rearranged(case, rng):
    """Return a case's columns in blocks that hold whole bags, and its parameters in their order."""
    p = case.criterion.X.shape[1]
    bags = case.parameters["groups"]
    keys = rng.permutation(p) if bags is None else rng.permutation(bags.max() + 1)[bags]
    order = np.argsort(keys, kind="stable")
    borders = np.arange(1, p) if bags is None else np.flatnonzero(np.diff(bags[order])) + 1
    edges = np.unique([0, *rng.choice(borders, min(3, borders.size), replace=False), p]) if borders.size else [0, p]
    X = sp.csc_array(case.X) if sp.issparse(case.X) else case.X
    blocks = [X[:, order[a:e]] for a, e in pairwise(edges)]
    parameters = {"penalty_weights": case.parameters["penalty_weights"][order]}
    if bags is not None:
        parameters["groups"] = bags[order]
    return order, blocks, parameters


# --- one block ---


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("loss", "k"), ALL_LOSSES)
def test_one_block_is_batch(loss, k, seed):
    case = make_case(loss, seed, k=k, largest=60)
    batch = case.fit()
    model = streaming(case).fit(case.X, case.labels, sample_weight=case.sample_weight)
    assert_allclose(model.coef_, batch.coef_, rtol=1e-9, atol=1e-12)
    assert_allclose(model.intercept_, batch.intercept_, rtol=1e-9, atol=1e-12)
    assert model.objective_ == pytest.approx(batch.objective_, rel=1e-8)
    assert_array_equal(model.order_, batch.order_)
    assert_array_equal(model.support_, batch.support_)
    assert [record.feature for record in model.history_] == [record.feature for record in batch.history_]
    assert model.certificate_ == batch.certificate_


@pytest.mark.parametrize(
    "parameters",
    [
        {"l0": 0.05, "l1": 0.0},
        {"max_features": 4, "l1": 0.0},
        {"max_cost": 3.0, "feature_costs": np.arange(1, 31) % 3 + 0.5, "l1": 0.01},
        {"groups": np.arange(30) // 3, "l0": 0.1, "feature_costs": {0: 0.1}},
        {"keep": [7, 29], "l1": 0.1},
        {"effort": "light"},
        {"effort": "newest"},
    ],
    ids=str,
)
def test_one_block_is_batch_with_prices_and_budgets(parameters):
    X, y = problem(p=30)
    batch = GraftRegressor(**parameters).fit(X, y)
    for model in (
        StreamGraftRegressor(**parameters).fit(X, y),
        StreamGraftRegressor(**parameters).partial_fit_features(X, y),
        StreamGraftRegressor(**parameters).fit_stream([X], y),
    ):
        assert_allclose(model.coef_, batch.coef_, rtol=1e-9, atol=1e-12)
        assert model.objective_ == pytest.approx(batch.objective_, rel=1e-8)
        assert model.total_cost_ == pytest.approx(batch.total_cost_)
        assert_array_equal(model.order_, batch.order_)
        assert model.certificate_ == batch.certificate_


# --- many blocks ---


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("loss", "k"), ALL_LOSSES)
def test_a_full_buffer_ends_at_the_optimum(loss, k, seed):
    case = make_case(loss, seed, k=k, largest=60)
    order, blocks, parameters = rearranged(case, np.random.default_rng(seed))
    model = streaming(case, buffer=None, **parameters)
    model.fit_stream(blocks, case.labels, sample_weight=case.sample_weight)
    coef = np.zeros_like(np.atleast_2d(model.coef_))
    coef[:, order] = np.atleast_2d(model.coef_)
    assert model.certificate_.converged
    assert case.criterion.violation(coef, model.intercept_) < 3e-6
    assert model.n_forgotten_ == 0
    if case.criterion.weights.all():  # what nothing penalises may be far off where columns are of wild scales
        assert abs(model.objective_ - case.fit().objective_) <= 1e-8 * case.criterion.height()


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_blocks_does_not_change_the_optimum(seed):
    X, y = problem(seed=seed, correlation=0.5)
    y = classes(y)
    batch = GraftClassifier(l1=0.02).fit(X, y)
    rng = np.random.default_rng(seed)
    for width in (7, 100, 299):
        places = cut(rng.permutation(300)[None], width)
        blocks = [(X[:, which[0]], [f"c{j}" for j in which[0]]) for which in places]
        model = StreamGraftClassifier(l1=0.02, buffer=300).fit_stream(blocks, y)
        assert model.certificate_.converged
        assert model.objective_ == pytest.approx(batch.objective_, rel=1e-8)
        assert set(model.selected_names_) == {f"c{j}" for j in np.flatnonzero(batch.support_)}
        by_position = np.concatenate(places, axis=1)[0]
        assert_allclose(model.coef_, batch.coef_[:, by_position], atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss", ["logistic", "squared", "huber", "multinomial"])
def test_what_is_certified_is_true_of_all_columns_forgotten_ones_included(loss, seed):
    case = make_case(loss, seed + 20, k=3 if loss == "multinomial" else 1, largest=80)
    order, blocks, parameters = rearranged(case, np.random.default_rng(seed))
    best = case.fit().objective_
    for buffer, passes in ((3, 1), (0, 3)):
        model = streaming(case, buffer=buffer, **parameters)
        model.fit_stream(blocks, case.labels, sample_weight=case.sample_weight, passes=passes)
        coef = np.zeros_like(np.atleast_2d(model.coef_))
        coef[:, order] = np.atleast_2d(model.coef_)
        value, height = case.criterion.value(coef, model.intercept_), case.criterion.height()
        assert value == pytest.approx(model.objective_, rel=1e-7, abs=1e-7 * height)
        assert value >= best - 1e-7 * height
        certificate = model.certificate_
        assert certificate.converged == (model.n_untested_ == 0)
        if certificate.converged:
            assert case.criterion.violation(coef, model.intercept_) < 3e-6
        if certificate.duality_gap is not None:
            assert value - best <= certificate.duality_gap * height + 1e-7 * height


def test_a_forgotten_column_that_matters_is_owned_up_to_and_found_by_a_second_pass():
    """The first column is useless alone, but not together with what comes last."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400))
    y = a + rng.normal(size=400) * 0.1
    y -= y.mean()
    b -= b.mean() + y * (b @ y) / (y @ y)
    noise = rng.normal(size=(400, 20))
    X = np.column_stack([b, noise, a + 3.0 * b])
    batch = GraftRegressor(l1=0.05).fit(X, y)
    assert batch.support_[[0, 21]].all()
    forgetful = StreamGraftRegressor(l1=0.05, buffer=0).fit_stream(cut(X, 1), y)
    assert not forgetful.support_[0]
    assert not forgetful.certificate_.converged
    assert 0 < forgetful.n_untested_ <= forgetful.n_forgotten_
    assert forgetful.objective_ > batch.objective_ + 0.01
    twice = StreamGraftRegressor(l1=0.05, buffer=0).fit_stream(cut(X, 1), y, passes=2)
    assert twice.support_[0]
    assert twice.objective_ < forgetful.objective_ - 0.01
    often = StreamGraftRegressor(l1=0.05, buffer=0).fit_stream(cut(X, 1), y, passes=20)
    assert often.certificate_.converged
    assert often.objective_ == pytest.approx(batch.objective_, rel=1e-8)
    buffered = StreamGraftRegressor(l1=0.05, buffer=21).fit_stream(cut(X, 1), y)
    assert buffered.certificate_.converged
    assert buffered.objective_ == pytest.approx(batch.objective_, rel=1e-8)


def test_a_larger_buffer_and_a_second_pass_close_the_gap():
    X, y = problem(n=100, p=2000, correlation=1.0)
    y = classes(y)
    best = GraftClassifier(l1=0.03).fit(X, y).objective_
    gaps = {
        (buffer, passes): StreamGraftClassifier(l1=0.03, buffer=buffer)
        .fit_stream(cut(X, 100), y, passes=passes)
        .objective_ - best
        for buffer in (0, 100, 2000)
        for passes in (1, 3)
    }  # fmt: skip
    assert all(gap > -1e-9 for gap in gaps.values())
    assert gaps[0, 1] > 1e-6
    assert gaps[2000, 1] < 1e-8
    assert gaps[0, 3] < 0.1 * gaps[0, 1]
    assert gaps[100, 3] < 1e-8


def test_passes_end_when_the_model_is_certified():
    X, y = problem()
    reads = []

    class Counting(list):
        def __iter__(self):
            reads.append(1)
            return super().__iter__()

    model = StreamGraftRegressor(l1=0.1, buffer=300).fit_stream(Counting(cut(X, 100)), y, passes=5)
    assert model.certificate_.converged
    assert len(reads) == 2  # one of them only asked whether it can be iterated over again


# --- memory ---


def test_memory_holds_the_selected_columns_and_the_buffer():
    X, y = problem(p=500)
    model = StreamGraftRegressor(l1=0.15, buffer=20)
    for block in cut(X, 50):
        model.partial_fit_features(block, y)
        held = model._stream.held
        assert held.size <= model.support_.sum() + 20
        assert len(model.buffer_names_) == held.size - model.support_.sum() <= 20
        assert sum(column.nbytes for column in held.columns) == held.size * 120 * 8
        assert all(column.base is None for column in held.columns)  # not views, which would keep the block
    assert model.n_features_seen_ == 500
    assert model.n_forgotten_ == 500 - held.size
    assert set(model.selected_names_).isdisjoint(model.buffer_names_)


def test_memory_does_not_grow_with_the_number_of_columns():
    y = np.random.default_rng(0).normal(size=(500, 50))[:, 7]

    def blocks(count):
        for seed in range(count):
            yield np.random.default_rng(seed).normal(size=(500, 50))

    def peak(count):
        model = StreamGraftRegressor(l1=0.25, buffer=30)
        tracemalloc.start()
        model.fit_stream(blocks(count), y)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert model.selected_names_.tolist() == ["x7"]
        return found

    peak(2)
    assert peak(80) < 1.1 * peak(8)
    assert peak(80) < 500 * 8 * 4 * (50 + 30 + 1)  # of 4,000 columns that went by


def test_the_most_promising_columns_stay():
    X, y = problem(p=200)
    model = StreamGraftRegressor(l1=0.3, buffer=10).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    kkt_excess = np.abs(Z.T @ (model.predict(X) - y)) / len(y)
    kkt_excess[model.support_] = 0.0
    strongest = np.argsort(-kkt_excess)[:10]
    assert model.buffer_names_.tolist() == [f"x{j}" for j in strongest]


# --- prices ---


def test_budgets_hold_over_all_blocks():
    X, y = problem(p=60)
    model = StreamGraftRegressor(l1=0.0, max_features=3, buffer=60)
    costs = {f"x{j}": 1.0 + j % 3 for j in range(60)}
    frugal = StreamGraftRegressor(l1=0.0, max_cost=4.0, feature_costs=costs, buffer=60)
    for block in cut(X, 10):
        assert model.partial_fit_features(block, y).support_.sum() <= 3
        assert frugal.partial_fit_features(block, y).total_cost_ <= 4.0
        assert frugal.total_cost_ == pytest.approx(sum(costs[name] for name in frugal.selected_names_))
    batch = GraftRegressor(l1=0.0, max_features=3).fit(X, y)
    assert model.objective_ == pytest.approx(batch.objective_, rel=1e-8)
    assert model.certificate_.converged
    backwards = StreamGraftRegressor(l1=0.0, max_features=3, buffer=0).fit_stream(cut(X[:, ::-1], 10), y)
    assert not backwards.certificate_.converged  # noise was chosen first, and what was not is gone
    assert backwards.n_untested_ > 0


def test_prices_never_let_the_criterion_rise():
    X, y = problem(p=100)
    model = StreamGraftRegressor(l0=0.05, l1=0.0, buffer=5)
    values = [model.partial_fit_features(block, y).objective_ for block in cut(X, 20)]
    assert (np.diff(values) <= 1e-12).all()
    again = StreamGraftRegressor(l0=0.05, l1=0.0, buffer=5).fit_stream(cut(X, 20), y, passes=4)
    assert again.certificate_.converged
    assert again.objective_ <= values[-1] + 1e-12


def test_a_bag_is_paid_for_once_though_its_features_arrive_apart():
    X, y = problem(p=12)
    model = StreamGraftRegressor(
        l0=0.2, l1=0.0, groups={"test": ["x0", "x5"], "other": [1, 7]}, feature_costs={"test": 3.0, 2: 0.5}
    )
    for block in cut(X, 4):
        model.partial_fit_features(block, y)
    chosen = set(model.selected_names_)
    assert {"x0", "x1", "x2"} <= chosen
    charge = 3.0 * bool({"x0", "x5"} & chosen) + bool({"x1", "x7"} & chosen) + 0.5
    charge += len(chosen - {"x0", "x5", "x1", "x7", "x2"})
    assert model.total_cost_ == pytest.approx(charge)


def test_kept_features_and_penalty_weights_are_known_before_they_arrive():
    X, y = problem(p=40)
    weights = {"x39": 0.0, 0: 5.0}
    batch = GraftRegressor(l1=0.2, keep=[33, 2], penalty_weights={39: 0.0, 0: 5.0}).fit(X, y)
    model = StreamGraftRegressor(l1=0.2, keep=["x33", 2], penalty_weights=weights).fit_stream(cut(X, 9), y)
    assert_allclose(model.coef_, batch.coef_, atol=1e-7)
    assert model.support_[[33, 2]].all()
    arrays = StreamGraftRegressor(
        l1=0.2, keep=np.isin(np.arange(40), [2, 33]), penalty_weights=[5.0, *[1.0] * 38, 0.0]
    ).fit_stream(cut(X, 9), y)
    assert_allclose(arrays.coef_, batch.coef_, atol=1e-7)


def test_bags_under_a_group_norm_stay_whole_in_the_buffer():
    X, y = problem(p=60)
    groups = np.repeat(np.arange(20), 3)
    batch = GraftRegressor(l1=0.0, group_l1=0.3, groups=groups).fit(X, y)
    for buffer in (4, 8, 100):
        model = StreamGraftRegressor(l1=0.0, group_l1=0.3, groups=groups, buffer=buffer)
        for block in cut(X, 15):
            model.partial_fit_features(block, y)
            held = groups[model._stream.held.positions]
            assert (np.bincount(held)[np.unique(held)] == 3).all()
            assert len(model.buffer_names_) <= buffer
    assert model.objective_ == pytest.approx(batch.objective_, rel=1e-8)
    twice = StreamGraftRegressor(l1=0.0, group_l1=0.3, groups=groups, buffer=4).fit_stream(cut(X, 15), y, passes=9)
    assert twice.certificate_.converged
    assert twice.objective_ == pytest.approx(batch.objective_, rel=1e-8)


# --- storage ---


def test_blocks_may_be_dense_sparse_single_or_double():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 60)) * (rng.random((150, 60)) < 0.4)
    X = X.astype(np.float32).astype(np.float64)
    y = classes(X[:, 3] - X[:, 17] + X[:, 41] - X[:, 55] + 0.3 * rng.normal(size=150))
    batch = GraftClassifier(l1=0.01).fit(X, y)
    stores = [
        np.asfortranarray,
        sp.csr_array,
        lambda Z: sp.csc_matrix(Z.astype(np.float32)),
        lambda Z: Z.astype(np.float32),
    ]
    for order in ([0, 1, 2, 3], [1, 2, 1, 2], [2, 3, 1, 0]):
        blocks = [stores[k](block) for k, block in zip(order, cut(X, 15), strict=True)]
        model = StreamGraftClassifier(l1=0.01).fit_stream(blocks, y)
        assert_allclose(model.coef_, batch.coef_, atol=1e-6)
        assert model.objective_ == pytest.approx(batch.objective_, rel=1e-8)
        assert model.certificate_.converged
        kinds = {type(column) for column in model._stream.held.columns}
        assert kinds == ({tuple} if order[0] == 1 else {tuple, np.ndarray})


def test_a_stream_from_disk_is_that_from_memory(tmp_path):
    X, y = problem()
    np.save(tmp_path / "X.npy", X)
    from_disk = StreamGraftRegressor(l1=0.1, buffer=20).fit_stream(column_blocks(tmp_path / "X.npy", 70), y, passes=2)
    from_memory = StreamGraftRegressor(l1=0.1, buffer=20).fit_stream(cut(X, 70), y, passes=2)
    assert_allclose(from_disk.coef_, from_memory.coef_, atol=1e-9)
    assert from_disk.certificate_.converged


# --- going on ---


def test_the_criterion_may_change_between_blocks():
    X, y = problem(p=90)
    model = StreamGraftRegressor(l1=0.5, buffer=90).fit_stream(cut(X[:, :60], 20), y)
    model.set_params(l1=0.05).partial_fit_features(X[:, 60:], y)
    batch = GraftRegressor(l1=0.05).fit(X, y)
    assert model.objective_ == pytest.approx(batch.objective_, rel=1e-8)
    assert model.certificate_.converged
    forgetful = StreamGraftRegressor(l1=0.5, buffer=5).fit_stream(cut(X[:, :60], 20), y)
    forgetful.set_params(l1=0.05).partial_fit_features(X[:, 60:], y)
    assert not forgetful.certificate_.converged  # what was rejected at the higher price may be wanted now
    assert forgetful.n_untested_ >= 60 - 5 - 6
    changed = StreamGraftRegressor(l1=0.05, buffer=90).fit_stream(cut(X[:, :60], 20), y)
    changed.set_params(loss="huber", standardize=False).partial_fit_features(X[:, 60:], y)
    huber = GraftRegressor(l1=0.05, loss="huber", standardize=False).fit(X, y)
    assert changed.objective_ == pytest.approx(huber.objective_, rel=1e-8)


def test_fit_begins_anew_and_warm_starts_go_on():
    X, y = problem(p=60)
    model = StreamGraftRegressor(l1=0.1).fit_stream(cut(X[:, :30], 10), y)
    model.fit_stream(cut(X[:, 30:], 10), y)
    assert model.n_features_seen_ == 30
    model.set_params(warm_start=True).fit_stream(cut(X[:, :30], 10), y)
    assert model.n_features_seen_ == 60
    model.set_params(warm_start=False).fit(X, y)
    assert model.n_features_seen_ == 60
    steps = model.n_iter_
    model.set_params(warm_start=True).fit(X, y)
    assert model.n_iter_ < steps
    further = np.random.default_rng(5).normal(size=(120, 10))
    model.partial_fit_features(further, y)
    batch = GraftRegressor(l1=0.1).fit(np.hstack([X, further]), y)
    assert_allclose(model.coef_, batch.coef_, atol=1e-7)


@pytest.mark.parametrize(
    "estimator", [StreamGraftClassifier(l1=0.05, buffer=15), StreamGraftRegressor(l1=0.1, buffer=15)]
)
def test_a_pickled_stream_goes_on_where_it_was(estimator):
    X, y = problem()
    y = classes(y) if isinstance(estimator, StreamGraftClassifier) else y
    blocks = cut(X, 60)
    whole, parts = clone(estimator), clone(estimator)
    for block in blocks:
        whole.partial_fit_features(block, y)
        parts = pickle.loads(pickle.dumps(parts.partial_fit_features(block, y)))  # noqa: S301 -- our own
    assert_array_equal(whole.coef_, parts.coef_)
    assert whole.certificate_ == parts.certificate_
    assert_array_equal(whole.buffer_names_, parts.buffer_names_)
    assert not hasattr(clone(parts), "coef_")


def test_steps_are_told_by_positions_in_the_stream():
    X, y = problem(p=60)
    told = []
    model = StreamGraftRegressor(l1=0.1, callback=told.append).fit_stream(cut(X[:, ::-1], 10), y)
    assert list(model.history_) == told
    assert [record.step for record in told] == list(range(1, len(told) + 1))
    grafted = {record.feature for record in told if record.kind == "graft"}
    assert grafted <= set(range(60))
    assert {54, 55, 56, 57, 58, 59} & grafted
    assert set(model.order_) == set(np.flatnonzero(model.support_))
    assert all(a.seconds <= b.seconds for a, b in pairwise(told))
    assert (np.diff([record.objective for record in told]) <= 1e-9).all()
