"""Few monomials: the explicit space, the span of kernels, and what is true of both."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from skgraft import KernelAROMClassifier
from skgraft.datasets import make_sparse_polynomial
from skgraft.run import Monitor
from skgraft.svm.dual import solve_dual
from skgraft.zeronorm import kernel as kernel_module
from skgraft.zeronorm.kernel_rounds import Task, run_rounds
from skgraft.zeronorm.monomials import (
    MonomialSpace,
    count_entries,
    count_monomials,
    list_monomials,
    monomial_names,
    monomial_values,
    multiplicities,
)
from skgraft.zeronorm.span import SpanSpace, independent, polynomial_kernel

DEGREES = [1, 2, 3, 4]


def problem(n_samples=40, n_features=6, seed=0, **options):
    options = {"terms": {(0, 1): 1.0, (2,): 1.0}} | options
    made = make_sparse_polynomial(n_samples + 200, n_features, random_state=seed, **options)
    return made.data[:n_samples], made.target[:n_samples], made.data[n_samples:], made.target[n_samples:]


def ordered(X, degree):
    """Return the feature map of the paper: a column for every ordered tuple of features."""
    n_features = X.shape[1]
    tuples = [t for d in range(1, degree + 1) for t in product(range(n_features), repeat=d)]
    return np.column_stack([X[:, list(t)].prod(axis=1) for t in tuples]), tuples


# --- the explicit space ---


@pytest.mark.parametrize("degree", DEGREES)
def test_monomials_are_the_multisets_of_features(degree):
    expected = [c for d in range(1, degree + 1) for c in combinations_with_replacement(range(5), d)]
    listed = list_monomials(5, degree)
    assert [tuple(row[row >= 0]) for row in listed] == expected
    assert count_monomials(5, degree) == len(expected)


@pytest.mark.parametrize("degree", DEGREES)
def test_a_multiplicity_is_the_number_of_ordered_tuples(degree):
    listed = list_monomials(4, degree)
    _, tuples = ordered(np.ones((1, 4)), degree)
    counted = [sum(tuple(sorted(t)) == tuple(row[row >= 0]) for t in tuples) for row in listed]
    assert_array_equal(multiplicities(listed), counted)


@pytest.mark.parametrize("degree", DEGREES)
def test_values_are_products_of_features(degree):
    X = np.random.default_rng(0).normal(size=(7, 4))
    X[np.abs(X) < 0.5] = 0.0
    expected = np.array([X[:, row[row >= 0]].prod(axis=1) for row in list_monomials(4, degree)])
    assert_allclose(monomial_values(X, degree), expected, rtol=1e-12)
    sparse = monomial_values(sp.csr_array(X), degree)
    assert sp.issparse(sparse)
    assert_allclose(sparse.toarray(), expected, rtol=1e-12)
    assert sparse.nnz == np.count_nonzero(expected)
    assert count_entries(sp.csr_array(X), degree) >= sparse.nnz


def test_names_show_powers():
    listed = np.array([[0, -1, -1], [0, 2, 2], [1, 1, 1]])
    assert monomial_names(listed, ["a", "b", "c"]) == ["a", "a c^2", "b^3"]


@pytest.mark.parametrize("degree", DEGREES)
def test_the_kernel_is_the_product_of_mapped_points(degree):
    X = np.random.default_rng(1).normal(size=(6, 3))
    mapped, _ = ordered(X, degree)
    assert_allclose(polynomial_kernel(X @ X.T, degree), mapped @ mapped.T, rtol=1e-10)
    powers = [(X @ X.T) ** t for t in range(1, degree + 1)]
    for lowest in range(1, degree + 1):
        assert_allclose(polynomial_kernel(X @ X.T, degree, lowest), sum(powers[lowest - 1 :]), rtol=1e-10)
    assert_allclose(MonomialSpace.of(X, degree).gram(), mapped @ mapped.T, rtol=1e-10)
    assert_allclose(SpanSpace.of(X, degree).gram(), mapped @ mapped.T, rtol=1e-10)


def slow_rounds(mapped, y, n_rounds):
    """Run l2-AROM over all ordered tuples as section 3.1 of the paper has it."""
    z = np.ones(mapped.shape[1])
    for _ in range(n_rounds):
        solution = solve_dual((mapped * z) @ (mapped * z).T, y)
        z = z * ((mapped * z).T @ solution.beta)
    return z, solution.intercept


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("space", [MonomialSpace.of, lambda X, d: SpanSpace.of(X, d, EXTRA)], ids=["explicit", "span"])
def test_rounds_are_those_of_the_paper_over_all_ordered_tuples(space, degree):
    X, y, new, _ = problem(15, 4, seed=3)
    y = y.astype(float)
    mapped, _ = ordered(X, degree)
    weights, intercept = slow_rounds(mapped, y, 5)
    result = run_rounds(space(X, degree), Task(y[None], np.zeros(15)), 1e-300, 5, Monitor())
    scores = result.last.space.polynomial().scores(new)[:, 0] + result.last.intercept[0]
    expected = ordered(new, degree)[0] @ weights + intercept
    assert_allclose(scores, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


EXTRA = np.random.default_rng(5).standard_normal((40, 4))


# --- the span ---


def after_one_round(space, y):
    solved = space.solver(Task(y[None], np.zeros(y.size))).solve(space)
    return space.rescaled(solved.weights)[0]


def test_the_projection_has_the_products_of_what_it_projects():
    """The projected weights are those of the span that are nearest: the rest is orthogonal to every point."""
    X, y, _, _ = problem(15, 5)
    y = y.astype(float)
    space = after_one_round(SpanSpace.of(X, 2), y)
    solution = solve_dual(space.gram(), y)
    mapped, _ = ordered(X, 2)
    z = mapped.T @ space.coefficients[0]
    exact = z * z * (mapped.T @ solution.beta)
    projected = mapped.T @ space.project(solution.beta[None])[0]
    assert np.linalg.norm(exact - projected) > 1e-3 * np.linalg.norm(exact)
    assert_allclose(mapped @ projected, mapped @ exact, rtol=0, atol=1e-8 * np.abs(mapped @ exact).max())


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
@pytest.mark.parametrize(("n_rows", "n_features"), [(12, 5), (3, 6)])  # many points, and many features
def test_products_in_the_span_are_those_of_the_scaled_map(degree, n_rows, n_features):
    X, y, _, _ = problem(12, n_features)
    rows = np.unique(y, return_index=True)[1].tolist()
    rows = [*rows, *(i for i in range(12) if i not in rows)][:n_rows]
    X, y = X[rows], y[rows].astype(float)
    extra = np.random.default_rng(0).normal(size=(4, n_features))[: n_rows - 2]
    space = after_one_round(SpanSpace.of(X, degree, extra), y)
    points, _ = ordered(space.points, degree)
    rows, _ = ordered(np.vstack([X, space.extra]), degree)
    z = points.T @ space.coefficients[0]
    expected = (rows * z) @ (rows[:n_rows] * z).T
    assert_allclose(space.products, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_a_basis_spans_the_other_points():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(9, 3))
    X[4], X[7] = X[1], X[2]
    kernel = polynomial_kernel(X @ X.T, 1)
    basis = independent(kernel)
    assert basis.size == 3
    inverse = np.linalg.inv(kernel[np.ix_(basis, basis)])
    assert_allclose(kernel[:, basis] @ inverse @ kernel[basis], kernel, atol=1e-10)


def test_masses_of_features_are_those_of_their_monomials():
    X, y, _, _ = problem(30, 4)
    y = y.astype(float)
    explicit = after_one_round(MonomialSpace.of(X, 3), y)
    span = after_one_round(SpanSpace.of(X, 3, np.random.default_rng(1).normal(size=(20, 4))), y)
    mapped, tuples = ordered(X, 3)
    weights = mapped.T @ solve_dual(mapped @ mapped.T, y).beta
    expected = [sum(w * w for w, t in zip(weights, tuples, strict=True) if j in t) for j in range(4)]
    assert_allclose(explicit.feature_masses(), expected, rtol=1e-6)
    assert_allclose(span.feature_masses(), expected, rtol=1e-5)


def test_scores_of_training_rows_survive_the_projection():
    """Without enough points the span is too narrow, and yet every training row keeps its margin."""
    X, y, _, _ = problem(25, 10)
    model = KernelAROMClassifier(C=np.inf, implementation="span", max_iter=15, tol=1e-300)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    margins = y * model.decision_function(X)
    assert margins.min() == pytest.approx(1.0, abs=1e-4)
    assert model.monomials_ is None
    assert model.implementation_ == "span"


# --- both ---


@pytest.mark.parametrize(("C", "sparsity"), [(np.inf, 0.9), (np.inf, 0.0), (5.0, 0.9)])
@pytest.mark.parametrize("seed", [0, 1])
def test_explicit_and_span_agree_when_the_span_suffices(C, sparsity, seed):
    X, y, new, _ = problem(25, 6, seed, terms=None, sparsity=sparsity)
    explicit = KernelAROMClassifier(C=C, implementation="explicit").fit(X, y)
    span = KernelAROMClassifier(C=C, implementation="span", extra_points="auto", random_state=0).fit(X, y)
    assert_array_equal(span.predict(new), explicit.predict(new))
    assert_allclose(span.decision_function(new), explicit.decision_function(new), rtol=0, atol=1e-3)
    assert_array_equal(span.support_, explicit.support_)
    assert sorted(span.order_) == sorted(explicit.order_)  # features of the same monomials are tied
    assert span.objective_ == pytest.approx(explicit.objective_, rel=1e-4)


def test_explicit_and_span_agree_without_extra_points_when_rows_are_enough():
    X, y, new, _ = problem(40, 4, seed=2)
    assert count_monomials(4, 2) < 40
    explicit, span = (
        KernelAROMClassifier(implementation=implementation).fit(X, y) for implementation in ("explicit", "span")
    )
    assert_allclose(span.decision_function(new), explicit.decision_function(new), rtol=0, atol=1e-5)


def test_explicit_and_span_agree_for_three_classes():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(45, 4))
    y = np.digitize(X[:, 0] * X[:, 1] + X[:, 2], [-0.6, 0.6])
    explicit = KernelAROMClassifier(implementation="explicit").fit(X, y)
    span = KernelAROMClassifier(implementation="span", extra_points="auto", random_state=0).fit(X, y)
    new = rng.normal(size=(100, 4))
    assert explicit.decision_function(new).shape == (100, 3)
    assert_allclose(span.decision_function(new), explicit.decision_function(new), rtol=0, atol=1e-3)
    assert {m.features for m in explicit.monomials_} >= {(0, 1), (2,)}


def test_the_first_machine_is_that_of_libsvm():
    X, y, new, _ = problem(30, 4)
    with pytest.warns(ConvergenceWarning):
        model = KernelAROMClassifier(C=np.inf, standardize=False, max_iter=1).fit(X, y)
    peer = SVC(C=1e10, kernel=lambda A, B: polynomial_kernel(A @ B.T, 2), tol=1e-9).fit(X, y)
    assert_allclose(model.decision_function(new), peer.decision_function(new), rtol=0, atol=1e-5)


def log_criterion(space):
    return float((space.multiplicity * np.log(np.abs(space.weights[0]))).sum())


@pytest.mark.parametrize("seed", range(4))
def test_the_product_of_the_weights_never_grows(seed):
    """Each round minimises a bound of Σ ln v² that touches it at the weights before."""
    X, y, _, _ = problem(30, 5, seed, terms=None, sparsity=0.5)
    y = y.astype(float)
    space = after_one_round(MonomialSpace.of(X, 2), y)
    compared = 0
    for _ in range(12):
        before, space = space, after_one_round(space, y)
        if space.weights.shape == before.weights.shape:  # a weight that has reached zero has a logarithm of -∞
            compared += 1
            assert log_criterion(space) <= log_criterion(before) + 1e-6
    assert compared >= 4


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_the_criterion_ends_as_the_number_of_coordinates_left(degree):
    X, y, _, _ = problem(20, 5, seed=1, terms={(0,): 1.0})
    model = KernelAROMClassifier(degree, C=np.inf).fit(X, y)
    count = sum(multiplicities(np.array([m.features]))[0] for m in model.monomials_)
    assert model.objective_ == pytest.approx(count, rel=1e-4)
    assert model.certificate_.converged


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("implementation", ["explicit", "span"])
def test_separable_data_are_separated(degree, implementation):
    X, y, _, _ = problem(20, 6, seed=6, terms={(0,): 1.0, (3,): -1.0})
    model = KernelAROMClassifier(degree, C=np.inf, implementation=implementation, tol=1e-4).fit(X, y)
    assert (y * model.decision_function(X)).min() > 1.0 - 1e-3


def test_the_polynomial_is_the_sum_of_its_listed_monomials():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4)) * [1e-3, 1.0, 50.0, 1e6]
    for y in (np.sign(X[:, 0] * X[:, 3] + 30 * X[:, 2]), np.digitize(X[:, 2], [-20, 20])):
        model = KernelAROMClassifier().fit(X, y)
        scores = model.intercept_ + sum(
            np.outer(X[:, list(m.features)].prod(axis=1), m.weights) for m in model.monomials_
        )
        assert_allclose(np.squeeze(scores), model.decision_function(X), rtol=1e-8)
        used = sorted({j for m in model.monomials_ for j in m.features})
        assert_array_equal(np.flatnonzero(model.support_), used)
        assert sorted(model.order_) == used


def test_the_target_is_found_among_many_monomials():
    X, y, new, truth = problem(100, 10, seed=0)
    model = KernelAROMClassifier(C=np.inf).fit(X, y)
    assert {m.name for m in model.monomials_} >= {"x2", "x0 x1"}
    dense = SVC(C=1e10, kernel=lambda A, B: polynomial_kernel(A @ B.T, 2)).fit(X, y)
    assert model.score(new, truth) > dense.score(new, truth) + 0.05


def test_history_shows_fewer_and_fewer_features():
    X, y, _, _ = problem(60, 8)
    model = KernelAROMClassifier().fit(X, y)
    left = model.history_.column("n_selected")
    assert (np.diff(left) <= 0).all()
    assert left[-1] == model.support_.sum() < left[0]
    assert set(model.history_.column("kind")) == {"round"}
    assert len(model.history_) == model.n_iter_


# --- hard cases ---


@pytest.mark.parametrize("implementation", ["explicit", "span"])
def test_of_equal_columns_the_first_is_used_and_constant_ones_are_not(implementation):
    X, y, new, _ = problem(30, 4)
    more = np.column_stack([X[:, 0], X, np.full(30, 7.0), 3.0 * X[:, 2], -X[:, 1]])
    alone = KernelAROMClassifier(implementation=implementation).fit(X, y)
    among = KernelAROMClassifier(implementation=implementation).fit(more, y)
    places = np.array([0, 2, 3, 4])
    assert_array_equal(np.flatnonzero(among.support_), places[alone.support_])
    there = np.column_stack([new[:, 0], new, new, new[:, 0]])[:, :8]
    assert_allclose(among.decision_function(there), alone.decision_function(new), rtol=1e-4, atol=1e-4)


def test_units_do_not_matter():
    X, y, new, _ = problem(30, 4)
    units = np.array([1e-200, 1.0, 1e150, 3.0])
    plain, other = KernelAROMClassifier().fit(X, y), KernelAROMClassifier().fit(X * units, y)
    assert_allclose(other.decision_function(new * units), plain.decision_function(new), rtol=1e-5, atol=1e-6)


def test_two_rows_are_enough():
    model = KernelAROMClassifier(C=np.inf).fit([[0.0, 1.0], [2.0, 1.0]], ["no", "yes"])
    assert_array_equal(model.predict([[0.0, 1.0], [2.0, 1.0]]), ["no", "yes"])
    assert_array_equal(model.support_, [True, False])


@pytest.mark.parametrize("labels", [[True, False], [3, -8], ["b", "a"], [0.5, 1.5]])
def test_labels_may_be_of_any_type_that_names_classes(labels):
    X, y, _, _ = problem(30, 4)
    named = np.where(y > 0, labels[0], labels[1])
    if named.dtype.kind == "f":
        with pytest.raises(ValueError, match="Unknown label type"):
            KernelAROMClassifier().fit(X, named)
        return
    model = KernelAROMClassifier().fit(X, named)
    assert_array_equal(model.predict(X), named)


def test_a_hard_margin_on_inseparable_data_says_so():
    X, y, _, _ = problem(40, 3)
    y[:4] *= -1
    with pytest.raises(ValueError, match=r"no polynomial of degree 1 separates .* give C a finite value.*raise degree"):
        KernelAROMClassifier(1, C=np.inf).fit(X, y)
    KernelAROMClassifier(1, C=1.0).fit(X, y)


@pytest.mark.parametrize("implementation", ["explicit", "span"])
def test_cheap_errors_leave_few_monomials_but_some(implementation):
    X, y, _, _ = problem(60, 3)
    counts = []
    for C in (1e-3, 0.1, 10.0):
        model = KernelAROMClassifier(C=C, implementation=implementation).fit(X, y)
        assert model.support_.any()
        counts.append((model.predict(X) == y).sum())
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] == 60


@pytest.mark.parametrize("implementation", ["explicit", "span"])
def test_a_weight_of_two_is_the_row_twice(implementation):
    X, y, new, _ = problem(30, 4)
    weight = np.random.default_rng(0).integers(0, 3, 30)
    weighted = KernelAROMClassifier(implementation=implementation).fit(X, y, sample_weight=weight)
    rows = np.repeat(np.arange(30), weight)
    repeated = KernelAROMClassifier(implementation=implementation).fit(X[rows], y[rows])
    assert_allclose(weighted.decision_function(new), repeated.decision_function(new), rtol=1e-4, atol=1e-4)


def test_a_class_without_weight_is_never_predicted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = KernelAROMClassifier().fit(X, y, sample_weight=(y != 1).astype(float))
    assert model.decision_function(X).shape == (60, 3)
    assert_array_equal(np.unique(model.predict(X)), [0, 2])


@pytest.mark.parametrize(("kind", "n_rows"), [(np.asarray, 4000), (sp.csr_array, 800)])
def test_many_rows_are_no_trouble_where_the_monomials_are_few(kind, n_rows):
    """Beyond a few thousand rows, a few hundred of a sparse X, the Gram matrix of all of them is not formed."""
    X, y, new, truth = problem(n_rows, 4)
    rng = np.random.default_rng(0)
    X, noisy = np.where(rng.random(X.shape) < 0.3, 0.0, X), np.where(rng.random(n_rows) < 0.05, -y, y)
    model = KernelAROMClassifier(C=0.1).fit(kind(X), noisy)
    assert model.certificate_.converged
    assert {m.name for m in model.monomials_} >= {"x2", "x0 x1"}
    assert model.score(new, truth) > 0.9
    few = KernelAROMClassifier(C=1e-2, implementation="span").fit(kind(X[:150]), noisy[:150])
    same = KernelAROMClassifier(C=1e-2, implementation="explicit").fit(kind(X[:150]), noisy[:150])
    assert_allclose(few.decision_function(new), same.decision_function(new), atol=1e-4)


def test_auto_goes_by_kernels_where_the_monomials_do_not_fit(monkeypatch):
    X, y, _, _ = problem(20, 5)
    assert KernelAROMClassifier().fit(X, y).implementation_ == "explicit"
    monkeypatch.setattr(kernel_module, "LARGEST", 20 * count_monomials(5, 2) - 1)
    assert KernelAROMClassifier(tol=1e-2).fit(X, y).implementation_ == "span"
    with pytest.raises(ValueError, match=r"the 20 monomials .* do not fit in memory: set implementation='span'"):
        KernelAROMClassifier(implementation="explicit").fit(X, y)


def test_a_callback_may_end_the_rounds():
    X, y, _, _ = problem(40, 6)
    model = KernelAROMClassifier(callback=lambda record: record.step == 2).fit(X, y)
    assert model.n_iter_ == 2
    assert not model.certificate_.converged


def test_an_interruption_keeps_the_last_round():
    X, y, _, _ = problem(40, 6)

    def interrupt(record):
        if record.step == 3:
            raise KeyboardInterrupt

    model = KernelAROMClassifier(callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.n_iter_ == 3
    assert model.score(X, y) > 0.9


def test_the_time_of_kernels_alone_is_announced_before_the_work(monkeypatch):
    monkeypatch.setattr(kernel_module, "MANY_POINTS", 10)
    problem = make_sparse_polynomial(20, terms={(0, 1): 1.0}, random_state=0)
    with pytest.warns(UserWarning, match="2e\\+05 kernel values in every round for 20 points"):
        KernelAROMClassifier(implementation="span").fit(problem.data, problem.target)
