"""Generated problems of the paper on the zero-norm: few relevant features, or few terms of a polynomial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skgraft.datasets.generators import Seed, SelectionProblem, _check_count

Term = tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class PolynomialProblem(SelectionProblem):
    """A two-class problem whose label is the sign of a known polynomial.

    Parameters
    ----------
    data, target, informative, copies_of, feature_names
        As in :class:`SelectionProblem`; informative are the features that some term holds.
    terms : dict of tuple of int to float
        The coefficient of each term; ``(0, 0, 2)`` stands for x₀²x₂.
    """

    terms: Mapping[Term, float]

    def __repr__(self) -> str:
        rows, columns = self.data.shape
        return f"<PolynomialProblem: {rows} rows, {columns} features, {len(self.terms)} terms>"


def make_weston_linear(n_samples: int = 20, n_irrelevant: int = 94, *, random_state: Seed = None) -> SelectionProblem:
    """Generate the linear problem of Weston et al.: six relevant features in two groups, the others noise.

    Both labels are equally likely. In seven rows of ten the first three features are ``y · N(i, 1)`` for i = 1, 2, 3
    and the second three are N(0, 1); in the other rows it is the other way round. The irrelevant features are normal
    with deviation 20. Features of one group are redundant: the best pair takes one from each group, and the best of
    these are the third and the sixth.

    The paper scales the features to mean zero and deviation one afterwards. That is left to the caller, who knows
    which rows are for training.

    Parameters
    ----------
    n_samples : int, default=20
        Number of rows; 10, 20 and 30 for training in the paper and 500 for the test.
    n_irrelevant : int, default=94
        Number of features that have nothing to do with the label.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    SelectionProblem
        Data, labels and the truth about each feature. Relevant features are called ``first_1`` to ``first_3`` and
        ``second_1`` to ``second_3``.

    References
    ----------
    J. Weston, A. Elisseeff, B. Schölkopf and M. Tipping, "Use of the Zero-Norm with Linear Models and Kernel Methods",
    Journal of Machine Learning Research 3, 1439-1461, 2003, section 4.5.

    Examples
    --------
    >>> from skgraft.datasets import make_weston_linear
    >>> problem = make_weston_linear(2000, random_state=0)
    >>> problem
    <SelectionProblem: 2000 rows, 100 features, 6 informative>
    >>> problem.feature_names[2], problem.feature_names[5]
    ('first_3', 'second_3')
    >>> signs = np.sign(problem.data[:, [2, 5]].sum(axis=1))
    >>> float((signs == problem.target).mean().round(2))
    0.98
    """
    _check_count("n_samples", n_samples, at_least=1)
    _check_count("n_irrelevant", n_irrelevant, at_least=0)
    rng = check_random_state(random_state)

    target = np.where(rng.uniform(size=n_samples) < 0.5, 1, -1)
    tells_first = rng.uniform(size=n_samples) < 0.7
    tells = np.column_stack([np.repeat(group[:, None], 3, axis=1) for group in (tells_first, ~tells_first)])
    noise = rng.standard_normal((n_samples, 6))
    means = np.tile([1.0, 2.0, 3.0], 2)
    relevant = np.where(tells, target[:, None] * (means + noise), noise)
    irrelevant = 20.0 * rng.standard_normal((n_samples, n_irrelevant))
    names = [f"{group}_{i}" for group in ("first", "second") for i in (1, 2, 3)]
    names += [f"irrelevant_{i}" for i in range(n_irrelevant)]
    data = np.hstack([relevant, irrelevant])
    return SelectionProblem(data, target, np.arange(6), np.arange(data.shape[1]), names)


def make_sparse_polynomial(
    n_samples: int = 100,
    n_features: int = 10,
    *,
    degree: int = 2,
    sparsity: float = 0.95,
    terms: Mapping[Sequence[int], float] | None = None,
    random_state: Seed = None,
) -> PolynomialProblem:
    """Generate rows whose label is the sign of a polynomial with few terms.

    Features are standard normal. The terms are monomials of degree 1 to `degree`, without a constant: 65 for ten
    features and degree two. Of these the share `sparsity` is left out at random, and the others get standard normal
    coefficients. Where `terms` are given, they are the polynomial.

    The paper's six targets are ``terms={(0, 1): 1, (2,): 1}``, ``terms={(0,): 1}``, and ``sparsity`` of 0.95, 0.9, 0.8
    and 0. It does not say how its points and coefficients were drawn. For training and test rows of the same target,
    draw them in one call.

    Parameters
    ----------
    n_samples : int, default=100
        Number of rows.
    n_features : int, default=10
        Number of features.
    degree : int, default=2
        The largest degree of a random term.
    sparsity : float, default=0.95
        Share of the monomials that are no terms of a random polynomial; at least one always is.
    terms : mapping from tuple of int to float, optional
        A polynomial, in place of a random one: ``{(0, 1): 1, (2,): 1}`` is x₀x₁ + x₂.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    PolynomialProblem
        Data, labels, terms and the truth about each feature.

    References
    ----------
    J. Weston, A. Elisseeff, B. Schölkopf and M. Tipping, "Use of the Zero-Norm with Linear Models and Kernel Methods",
    Journal of Machine Learning Research 3, 1439-1461, 2003, section 5.1.

    Examples
    --------
    >>> from skgraft.datasets import make_sparse_polynomial
    >>> problem = make_sparse_polynomial(50, terms={(0, 1): 1.0, (2,): 1.0}, random_state=0)
    >>> problem
    <PolynomialProblem: 50 rows, 10 features, 2 terms>
    >>> x = problem.data.T
    >>> bool(((x[0] * x[1] + x[2] > 0) == (problem.target == 1)).all())
    True
    >>> len(make_sparse_polynomial(sparsity=0.9, random_state=0).terms)
    6
    """
    _check_count("n_samples", n_samples, at_least=1)
    _check_count("n_features", n_features, at_least=1)
    _check_count("degree", degree, at_least=1)
    if not (isinstance(sparsity, Real) and 0 <= sparsity <= 1):
        raise ValueError(f"sparsity must be a number from 0 to 1, got {sparsity!r}")
    rng = check_random_state(random_state)

    chosen = _checked_terms(terms, n_features) if terms is not None else None
    if chosen is None:
        chosen = _random_terms(n_features, degree, float(sparsity), rng)
    data = rng.standard_normal((n_samples, n_features))
    values = sum(coefficient * data[:, list(term)].prod(axis=1) for term, coefficient in chosen.items())
    informative = np.unique([j for term in chosen for j in term]).astype(np.intp)
    names = [f"x{j}" for j in range(n_features)]
    return PolynomialProblem(data, np.where(values > 0, 1, -1), informative, np.arange(n_features), names, chosen)


def _random_terms(n_features: int, degree: int, sparsity: float, rng: np.random.RandomState) -> dict[Term, float]:
    monomials = [c for t in range(1, degree + 1) for c in combinations_with_replacement(range(n_features), t)]
    n_terms = max(1, round((1 - sparsity) * len(monomials)))
    places: NDArray[np.intp] = np.sort(rng.choice(len(monomials), n_terms, replace=False))
    return {monomials[place]: float(rng.standard_normal()) for place in places}


def _checked_terms(terms: Mapping[Sequence[int], float], n_features: int) -> dict[Term, float]:
    if not terms:
        raise ValueError("terms must hold at least one term, such as {(0, 1): 1.0} for x0*x1")
    checked: dict[Term, float] = {}
    for term, coefficient in terms.items():
        known = isinstance(term, tuple) and all(isinstance(j, Integral) and 0 <= int(j) < n_features for j in term)
        if not known or not term:
            msg = f"a term must be a tuple of features from 0 to {n_features - 1}, such as (0, 1), got {term!r}"
            raise ValueError(msg)
        if not (isinstance(coefficient, Real) and np.isfinite(coefficient) and coefficient != 0):
            msg = f"the coefficient of the term {term!r} must be a finite number other than 0, got {coefficient!r}"
            raise ValueError(msg)
        ordered = tuple(sorted(int(j) for j in term))
        if ordered in checked:
            raise ValueError(f"the term {ordered!r} is given twice")
        checked[ordered] = float(coefficient)
    return checked
