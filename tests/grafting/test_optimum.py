"""Convex problems end at the global optimum, whatever the data look like.

Every fit is judged from ``coef_`` and ``intercept_`` on the original data by the optimality conditions in ``kkt.py``,
which share no code with skgraft.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso

from skgraft import GraftClassifier, GraftRegressor, l1_max

from .cases import SEVERAL, SINGLE, Case, make_case
from .kkt import Criterion
from .reference import accelerated_proximal, quasi_newton

TOL = 1e-6  # the estimators' default
ROUNDING = 1e-9  # the same gradient, summed in another order on the original scale
EVERY = [(loss, 1) for loss in SINGLE] + list(SEVERAL)
every_problem = pytest.mark.parametrize(("loss", "k"), EVERY, ids=[f"{loss}-{k}" for loss, k in EVERY])
every_loss = pytest.mark.parametrize("loss", SINGLE)


@pytest.fixture
def kernels(monkeypatch):
    """Return a switch that lets the compiled kernels serve the smallest problems, too."""

    def switch(*, on: bool) -> None:
        if on:
            monkeypatch.setattr("skgraft.grafting.linear.problem.COMPILED_CELLS", -1)
            monkeypatch.setattr("skgraft.matrix.dense.COMPILED_CELLS", -1)
            monkeypatch.setattr("skgraft.matrix.sparse.COMPILED_STORED", -1)

    return switch


def assert_optimal(case: Case, model, tol: float = TOL) -> None:
    """Check a model against the optimality conditions, and what it says of itself against the criterion."""
    assert model.certificate_.converged
    assert case.criterion.violation(model.coef_, model.intercept_) <= tol + ROUNDING
    assert model.certificate_.kkt_violation <= tol * (1.0 + 1e-6)
    value = case.criterion.value(model.coef_, model.intercept_)
    assert abs(model.objective_ - value) <= 1e-8 * max(abs(value), case.criterion.height())


@pytest.mark.parametrize(
    ("loss", "k", "seed"), [(loss, k, seed) for loss, k in EVERY for seed in range(25 if k == 1 else 12)]
)
def test_every_fit_satisfies_the_optimality_conditions(loss, k, seed, kernels):
    kernels(on=seed % 8 > 3)
    case = make_case(loss, seed, k=k)
    assert_optimal(case, case.fit())


@pytest.mark.slow
@every_problem
@pytest.mark.parametrize("seed", range(1000, 1300))
def test_every_fit_satisfies_the_optimality_conditions_at_length(loss, k, seed, kernels):
    kernels(on=seed % 8 > 3)
    case = make_case(loss, seed, k=k, largest=300)
    assert_optimal(case, case.fit())


@every_problem
@pytest.mark.parametrize("effort", ["light", "batch"])
@pytest.mark.parametrize("seed", range(5))
def test_every_effort_satisfies_the_optimality_conditions(loss, k, effort, seed, kernels):
    kernels(on=seed % 2 == 1)
    case = make_case(loss, 100 + seed, k=k)
    assert_optimal(case, case.fit(effort=effort))


@pytest.mark.slow
@every_problem
@pytest.mark.parametrize("effort", ["light", "batch"])
@pytest.mark.parametrize("seed", range(2000, 2060))
def test_every_effort_satisfies_the_optimality_conditions_at_length(loss, k, effort, seed, kernels):
    kernels(on=seed % 8 > 3)
    case = make_case(loss, seed, k=k, largest=300)
    assert_optimal(case, case.fit(effort=effort))


@every_problem
@pytest.mark.parametrize("seed", range(3))
def test_light_full_and_batch_end_at_the_same_objective(loss, k, seed):
    case = make_case(loss, 200 + seed, k=k, nasty=seed > 0)
    found = [case.fit(effort=effort).objective_ for effort in ("full", "light", "batch")]
    assert_allclose(found, found[0], rtol=0.0, atol=1e-8 * max(abs(found[0]), case.criterion.height()))


def independent_minimum(criterion: Criterion) -> float:
    if criterion.group_l1 > 0.0:
        return accelerated_proximal(criterion)
    return quasi_newton(criterion)


@every_problem
@pytest.mark.parametrize("seed", range(6))
def test_objective_agrees_with_an_independent_solver(loss, k, seed):
    case = make_case(loss, 300 + seed, k=k, nasty=False)
    found, reference = case.fit().objective_, independent_minimum(case.criterion)
    assert abs(found - reference) <= 1e-8 * abs(reference)


@pytest.mark.slow
@every_problem
@pytest.mark.parametrize("seed", range(60))
def test_objective_agrees_with_an_independent_solver_at_length(loss, k, seed):
    case = make_case(loss, 3000 + seed, k=k, nasty=False)
    found, reference = case.fit().objective_, independent_minimum(case.criterion)
    assert abs(found - reference) <= 1e-8 * abs(reference)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("loss", ["squared", "logistic", "multinomial"])
def test_two_independent_solvers_agree_on_what_the_minimum_is(loss, seed):
    # the judges are judged, too
    criterion = replace(make_case(loss, 400 + seed, nasty=False).criterion, group_l1=0.0)
    criterion = replace(criterion, l1=0.05 * criterion.null_gradient(), a=np.ones(criterion.X.shape[1]))
    assert_allclose(accelerated_proximal(criterion), quasi_newton(criterion), rtol=1e-9)


@pytest.mark.parametrize("l2", [0.0, 0.05])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("shape", [(100, 20), (40, 80)])
def test_squared_loss_agrees_with_the_lasso_and_the_elastic_net(shape, positive, l2):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    y = X[:, :5] @ rng.standard_normal(5) + rng.standard_normal(shape[0])
    l1 = 0.05
    theirs = Lasso(alpha=l1, positive=positive, tol=1e-12, max_iter=1_000_000)
    if l2 > 0.0:
        share = l1 / (l1 + 2.0 * l2)
        theirs = ElasticNet(l1 + 2.0 * l2, l1_ratio=share, positive=positive, tol=1e-12, max_iter=1_000_000)
    theirs.fit(X, y)
    ours = GraftRegressor(l1=l1, l2=l2, positive=positive, standardize=False).fit(X, y)
    criterion = Criterion(
        X, y[:, None], np.full(y.size, 1.0 / y.size), "squared", l1=l1, l2=l2, standardize=False, positive=positive
    )
    assert_allclose(ours.objective_, criterion.value(theirs.coef_, theirs.intercept_), rtol=1e-8)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)


@every_problem
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-9])
def test_tolerance_is_what_is_left_of_the_violation(loss, k, tol):
    case = make_case(loss, 501, k=k, nasty=False)
    model = case.fit(tol=tol)
    assert model.certificate_.converged
    assert case.criterion.violation(model.coef_, model.intercept_) <= tol * (1.0 + 1e-6) + 1e-13


@every_problem
@pytest.mark.parametrize("seed", range(4))
def test_certificate_states_the_violation_that_is_there(loss, k, seed):
    # a loose tolerance leaves something to state
    case = make_case(loss, 510 + seed, k=k, nasty=False)
    model = case.fit(tol=0.1)
    there = case.criterion.violation(model.coef_, model.intercept_)
    assert_allclose(model.certificate_.kkt_violation, there, rtol=1e-5, atol=1e-10)


def classes_or_numbers(loss: str, f: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and encoded targets that follow the scores, with noise."""
    n = f.size
    if loss in {"squared", "huber"}:
        y = f + rng.standard_t(3.0, n)
        return y, y[:, None]
    if loss == "poisson":
        y = rng.poisson(np.exp(np.clip(f, -3.0, 3.0))).astype(float)
        return y, y[:, None]
    codes = np.argmax(np.column_stack([f, -f, 0.0 * f]) + rng.gumbel(size=(n, 3)), axis=1)
    if loss == "multinomial":
        return codes, np.eye(3)[codes]
    codes = np.minimum(codes, 1)
    return codes, np.where(codes == 1, 1.0, -1.0)[:, None]


def problem(loss: str, X: np.ndarray, f: np.ndarray, *, share: float, seed: int = 0, **parameters) -> Case:
    """Return a case with l1 at a share of where everything is zero."""
    rng = np.random.default_rng(seed)
    labels, y = classes_or_numbers(loss, f, rng)
    criterion = Criterion(X, y, np.full(y.shape[0], 1.0 / y.shape[0]), loss, **parameters)
    l1 = share * criterion.null_gradient()
    return Case(X, labels, None, {"loss": loss, "l1": l1, **parameters}, replace(criterion, l1=l1))


@every_loss
@pytest.mark.parametrize("storage", [np.asfortranarray, sp.csc_matrix], ids=["dense", "sparse"])
def test_columns_ten_thousand_deviations_off_centre_are_no_obstacle(loss, storage):
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((80, 30))
    case = problem(loss, Z + 1e4, Z[:, :4].sum(axis=1), share=0.03)
    assert_optimal(case, replace(case, X=storage(case.X)).fit())


@every_loss
@pytest.mark.parametrize("penalty", ["ridge", "l1", "elastic"])
@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 20))])
def test_scales_from_1e_minus_8_to_1e8_as_they_are_are_no_obstacle(loss, penalty, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 100)) * 10.0 ** rng.uniform(-8.0, 8.0, 100)
    case = problem(loss, X, rng.standard_normal(30), share=1e-3, seed=seed, standardize=False)
    l1 = case.criterion.l1 * (penalty != "ridge")
    l2 = case.criterion.l1 * (penalty != "l1")
    criterion = replace(case.criterion, l1=l1, l2=l2)
    case = replace(case, parameters={**case.parameters, "l1": l1, "l2": l2}, criterion=criterion)
    assert_optimal(case, case.fit())


@pytest.mark.parametrize("share", [0.3, 0.03, 0.003])
@pytest.mark.parametrize("loss", ["logistic", "multinomial", "squared_hinge"])
def test_weights_of_seven_orders_of_magnitude_are_no_obstacle(loss, share):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    codes = rng.integers(0, 3 if loss == "multinomial" else 2, 60)
    weight = np.where(codes == 0, 1e3, 1e-4)
    l1 = share * l1_max(X, codes, loss=loss, sample_weight=weight)
    model = GraftClassifier(loss=loss, l1=l1).fit(X, codes, sample_weight=weight)
    assert model.certificate_.converged
    assert model.certificate_.duality_gap <= 1e-6
    assert model.support_.any()


@every_loss
def test_dense_columns_a_million_deviations_off_centre_are_no_obstacle(loss):
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((80, 30))
    far = Z + 1e6
    case = problem(loss, far, Z[:, :4].sum(axis=1), share=0.03)
    model = case.fit()
    assert model.certificate_.converged
    # on the original scale the scores themselves carry rounding of 1e6 times the machine's
    assert case.criterion.violation(model.coef_, model.intercept_) <= 1e-5
    near = replace(case.criterion, X=far - 1e6)
    assert near.violation(model.coef_, model.intercept_ + np.atleast_2d(model.coef_).sum(axis=1) * 1e6) <= 1e-5


@every_loss
@pytest.mark.parametrize("effort", ["full", "batch"])
def test_more_free_weights_than_rows_are_no_obstacle(loss, effort):
    # beyond a thousand weights their Gram matrix would be larger than the rows
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 1500))
    case = problem(loss, X, X[:, :5].sum(axis=1), share=0.05)
    assert_optimal(case, case.fit(effort=effort))


@every_loss
@pytest.mark.parametrize("storage", [np.asfortranarray, sp.csc_matrix, sp.csr_matrix], ids=["dense", "csc", "csr"])
def test_problems_large_enough_for_compiled_code_end_at_the_optimum(loss, storage):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((700, 700)) * (rng.random((700, 700)) < 0.5)
    X += 0.7 * X[:, rng.permutation(700)]
    case = problem(loss, X, X[:, :8].sum(axis=1), share=0.1)
    assert_optimal(case, replace(case, X=storage(case.X)).fit())


def returning_feature(history) -> int | None:
    """Return a feature that was grafted twice, so that it must have left in between."""
    grafted = [record.feature for record in history if record.kind == "graft"]
    again = [feature for feature in grafted if grafted.count(feature) > 1]
    return again[0] if again else None


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber", "poisson", "squared_hinge"])
def test_features_dropped_are_tested_again_and_may_return(loss):
    # a sum of strong features comes in first, is dropped when they are in, and some return as others change
    returned = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 30)) + 0.3 * rng.standard_normal((60, 30))
        f = X[:, :6] @ rng.choice([-1.0, 1.0], 6)
        case = problem(loss, X, f / f.std(), share=0.02, seed=seed)
        model = case.fit(select_unit=1)
        feature = returning_feature(model.history_)
        if feature is not None and np.atleast_2d(model.coef_)[:, feature].any():
            returned += 1
            assert_optimal(case, model)
        if returned == 3:
            return
    pytest.fail("no feature left and came back in forty problems made for that")


@every_loss
@pytest.mark.parametrize("select_unit", [1, 3, 10_000])
def test_number_of_weights_freed_at_a_time_does_not_change_the_optimum(loss, select_unit):
    case = make_case(loss, 601, nasty=False)
    assert_optimal(case, case.fit(select_unit=select_unit))


@every_problem
def test_sample_weights_equal_repetition(loss, k):
    case = make_case(loss, 702, k=k, nasty=False)
    times = np.random.default_rng(5).integers(0, 4, case.labels.shape[0])
    times[:6] = 1
    X = case.X.tocsr() if sp.issparse(case.X) else case.X
    again = np.repeat(np.arange(times.size), times)
    weighted = replace(case, sample_weight=times.astype(float)).fit()
    repeated = replace(case, X=X[again], labels=case.labels[again], sample_weight=None).fit()
    scale = max(abs(repeated.objective_), case.criterion.height())
    assert_allclose(weighted.objective_, repeated.objective_, rtol=0.0, atol=1e-8 * scale)


@every_problem
def test_order_of_rows_and_columns_does_not_matter(loss, k):
    case = make_case(loss, 803, k=k, nasty=False)
    rng = np.random.default_rng(6)
    rows, columns = rng.permutation(case.criterion.X.shape[0]), rng.permutation(case.criterion.X.shape[1])
    X = case.X.tocsr() if sp.issparse(case.X) else case.X
    parameters = {**case.parameters, "penalty_weights": case.parameters["penalty_weights"][columns]}
    if parameters["groups"] is not None:
        parameters["groups"] = parameters["groups"][columns]
    weight = None if case.sample_weight is None else case.sample_weight[rows]
    shuffled = Case(X[rows][:, columns], case.labels[rows], weight, parameters, case.criterion)
    plain = case.fit()
    scale = max(abs(plain.objective_), case.criterion.height())
    assert_allclose(shuffled.fit().objective_, plain.objective_, rtol=0.0, atol=1e-8 * scale)


@every_problem
@pytest.mark.parametrize("seed", range(4))
def test_storage_and_precision_do_not_change_the_optimum(loss, k, seed):
    case = make_case(loss, 900 + seed, k=k, nasty=seed > 1)
    dense = case.criterion.X  # as rounded to float32, where it was
    found = [
        replace(case, X=X).fit().objective_
        for X in (np.asfortranarray(dense), np.ascontiguousarray(dense), sp.csc_matrix(dense), sp.csr_matrix(dense))
    ]
    single = dense.astype(np.float32)
    if (single == dense).all():
        found += [replace(case, X=X).fit().objective_ for X in (np.asfortranarray(single), sp.csr_matrix(single))]
    scale = max(abs(found[0]), case.criterion.height())
    assert_allclose(found, found[0], rtol=0.0, atol=1e-8 * scale)


@every_loss
def test_duplicates_of_a_column_share_its_optimum(loss):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((60, 8))
    once = problem(loss, X, X[:, 0] - X[:, 1], share=0.1)
    thrice = replace(once, X=np.tile(X, (1, 3)))
    assert_allclose(thrice.fit().objective_, once.fit().objective_, rtol=1e-8)


@every_loss
def test_constant_columns_stay_out_and_change_nothing(loss):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((60, 8))
    case = problem(loss, X, X[:, 0] - X[:, 1], share=0.1)
    still = np.tile([0.0, 1.0, -3.7, 1e8], (60, 1))
    plain = case.fit()
    for more in (np.column_stack([still, X]), sp.csr_matrix(np.column_stack([still, X]))):
        model = replace(case, X=more).fit()
        assert not np.atleast_2d(model.coef_)[:, :4].any()
        assert_allclose(model.objective_, plain.objective_, rtol=1e-8)


@pytest.mark.parametrize("kind", [np.asfortranarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_data_of_constant_columns_alone_give_the_empty_model(kind):
    X = kind(np.tile([0.0, 7.3], (30, 1)))
    y = np.arange(30.0)
    regression = GraftRegressor(l1=0.1).fit(X, y)
    assert not regression.coef_.any()
    assert_allclose(regression.intercept_, y.mean())
    classes = GraftClassifier(l1=0.1).fit(X, y > 20)
    assert not classes.coef_.any()
    assert regression.certificate_.converged
    assert classes.certificate_.converged


@every_loss
def test_no_convergence_warning_is_given_where_the_optimum_is_reached(loss):
    case = make_case(loss, 11)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        case.fit()
