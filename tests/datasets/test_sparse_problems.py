"""The generated problems of the paper on the zero-norm."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skgraft.datasets import make_sparse_polynomial, make_weston_linear


def test_a_weston_row_tells_its_label_by_one_of_the_two_groups():
    problem = make_weston_linear(40_000, n_irrelevant=2, random_state=0)
    signed = problem.data * problem.target[:, None]
    means = signed.mean(axis=0)
    expected = np.array([0.7, 1.4, 2.1, 0.3, 0.6, 0.9, 0.0, 0.0])
    errors = signed.std(axis=0) / np.sqrt(40_000)
    assert (np.abs(means - expected) < 4.5 * errors).all()
    assert abs((problem.target == 1).mean() - 0.5) < 0.02
    assert_array_equal(problem.data[:, 6:].std(axis=0).round(), [20, 20])


def test_features_of_one_group_tell_in_the_same_rows():
    problem = make_weston_linear(20_000, n_irrelevant=0, random_state=1)
    signed = problem.data * problem.target[:, None]
    within, between = np.corrcoef(signed.T)[1, 2], np.corrcoef(signed.T)[1, 5]
    # Var(x) = 1 + m² p(1 - p) for p = 0.7; within a group Cov = m n p(1 - p), between them the negative of it.
    spread = [np.sqrt(1 + m * m * 0.21) for m in (2, 3)]
    assert within == pytest.approx(6 * 0.21 / np.prod(spread), abs=0.03)
    assert between == pytest.approx(-6 * 0.21 / np.prod(spread), abs=0.03)


def test_a_seed_gives_the_same_problem_again():
    first, again = make_weston_linear(30, random_state=3), make_weston_linear(30, random_state=3)
    assert_array_equal(first.data, again.data)
    assert_array_equal(first.target, again.target)
    polynomials = [make_sparse_polynomial(30, random_state=3) for _ in range(2)]
    assert polynomials[0].terms == polynomials[1].terms
    assert_array_equal(polynomials[0].data, polynomials[1].data)


@pytest.mark.parametrize("sparsity", [0.95, 0.8, 0.0, 1.0])
def test_the_label_is_the_sign_of_the_polynomial(sparsity):
    problem = make_sparse_polynomial(200, sparsity=sparsity, random_state=5)
    every = [c for t in (1, 2) for c in combinations_with_replacement(range(10), t)]
    assert set(problem.terms) <= set(every)
    assert len(problem.terms) == max(1, round((1 - sparsity) * 65))
    values = np.zeros(200)
    for term, coefficient in problem.terms.items():
        product = np.ones(200)
        for j in term:
            product *= problem.data[:, j]
        values += coefficient * product
    assert_array_equal(problem.target, np.where(values > 0, 1, -1))
    assert_array_equal(problem.informative, sorted({j for term in problem.terms for j in term}))


def test_given_terms_are_the_polynomial():
    problem = make_sparse_polynomial(50, 4, terms={(3, 0, 0): -2.0}, random_state=0)
    assert problem.terms == {(0, 0, 3): -2.0}
    assert_array_equal(problem.target, np.where(problem.data[:, 3] < 0, 1, -1))
    assert repr(problem) == "<PolynomialProblem: 50 rows, 4 features, 1 terms>"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"terms": {(0, 10): 1.0}}, r"features from 0 to 9, such as \(0, 1\), got \(0, 10\)"),
        ({"terms": {"x0": 1.0}}, "got 'x0'"),
        ({"terms": {(): 1.0}}, r"got \(\)"),
        ({"terms": {}}, "at least one term"),
        ({"terms": {(0,): float("nan")}}, "finite number other than 0, got nan"),
        ({"terms": {(0, 1): 1.0, (1, 0): 1.0}}, r"\(0, 1\) is given twice"),
        ({"sparsity": 1.5}, "sparsity must be a number from 0 to 1, got 1.5"),
        ({"degree": 0}, "degree must be an integer of at least 1, got 0"),
    ],
)
def test_bad_polynomials_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_sparse_polynomial(**options)


def test_bad_counts_are_refused():
    with pytest.raises(ValueError, match="n_samples must be an integer of at least 1, got 0"):
        make_weston_linear(0)
    with pytest.raises(ValueError, match="n_irrelevant must be an integer of at least 0, got -1"):
        make_weston_linear(10, -1)
