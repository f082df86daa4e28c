"""The zero-norm in a space of monomials, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skgraft.arrays import Array
from skgraft.criterion import Certificate
from skgraft.estimator import LinearSelectingClassifier, store_parameters
from skgraft.run import Monitor, threads, warn_user
from skgraft.svm import InseparableError
from skgraft.tables import read_selected, require_finite
from skgraft.zeronorm.kernel_rounds import KernelRounds, Space, Task, run_rounds
from skgraft.zeronorm.monomials import ABSENT, Monomial, MonomialSpace, count_entries, count_monomials, monomial_names
from skgraft.zeronorm.span import SpanSpace

#: The values of all monomials in all training rows may be this many numbers (a gigabyte) to be kept explicitly.
LARGEST = 2**27
#: Largest power of ten of a squared monomial; what is left up to the largest float is for sums of them.
EXPONENT = 270
#: Points that a span gets beyond the number of monomials, so that random ones surely hold them all.
SPARE = 5
#: Points of a span beyond which the time is announced: it grows with their fourth power.
MANY_POINTS = 500


class KernelAROMClassifier(LinearSelectingClassifier):
    """Polynomial classifier with few monomials.

    Looks for a polynomial of a given degree that separates the classes with as few monomials as possible, by l2-AROM
    in the space of monomials [1]_: a support vector machine is trained, every monomial is multiplied by its
    weight, and so on until nothing changes.  Weights that are not needed go to zero.  With scales z, squared scales
    start at one, and a round solves for each class k::

        min ½||w_k||² + C Σ_i s_i ξ_ki²   subject to   y_ki (w_k·(z*φ(x_i)) + b_k) >= 1 - ξ_ki

    and lets z*z be Σ_k v_k*v_k with v_k = z*w_k, the weights of the monomials themselves.  φ(x) holds the monomials of
    degree 1 to ``degree``, those of several different factors once for every order of the factors, as the kernel
    Σ_t (x·y)^t has them.  With a hard margin Σ_k ||w_k||² ends as the number of monomials left, counted in this way.
    Where errors are allowed and z is shorter than one it is lengthened to one: many monomials start with tiny weights,
    whose scales would leave so little of the data that all of them would vanish together.

    More than two classes are treated one against the rest with one z for all, so that they share monomials.  The paper
    adds up ``|v_k|`` there; squares are what kernels can add up.  For two classes there is no difference.

    Features are divided by their root mean square and not centred, since a monomial of centred features is a sum of
    many monomials of the original ones.  Constant columns are not used, nor are columns that repeat an earlier one up
    to the sign.

    Parameters
    ----------
    degree : int, default=2
        The largest degree of a monomial.
    C : float, default=1.0
        What a squared slack costs; infinity asks for a hard margin.
    implementation : {"auto", "explicit", "span"}, default="auto"
        ``"explicit"`` keeps the value of every monomial in every row.  ``"span"`` works by kernels alone: the weights
        are kept in the span of the mapped training rows, and projected back to it in every round.  It needs no
        list of monomials, however many there are, but finds a polynomial with few of them only if the span holds one;
        its time grows with the fourth power of the number of rows.  ``"auto"`` is explicit where the values fit in a
        gigabyte.
    extra_points : int or "auto", default=0
        Random points that widen the span.  With ``"auto"`` there are as many points as monomials and five more, and
        the result is that of ``"explicit"``.  Of no account where the monomials are explicit.
    standardize : bool, default=True
        Learn on features divided by their root mean square; weights are reported for the original features.
    class_weight : dict or "balanced", optional
        Weights of the classes, as in scikit-learn.
    tol : float, default=1e-6
        Relative change of the weights at which rounds end.
    max_iter : int, default=200
        Largest number of rounds.
    n_jobs : int, optional
        Number of threads: None is one, unless joblib's context says otherwise, and -1 all cores.
    random_state : int, RandomState or None, default=None
        Seed of the extra points.
    verbose : int, default=0
        1 shows progress on standard error.
    callback : callable, optional
        Called with each round's record; returning True ends the fit.

    Attributes
    ----------
    monomials_ : list of Monomial or None
        The monomials left with names and weights, the largest first; the scores are the sum of these monomials times
        their weights, plus ``intercept_``.  None by kernels alone, where the monomials are never listed.
    support_ : ndarray of bool of shape (n_features,)
        Features that some monomial left has as a factor.  By kernels alone those whose monomials hold more than a
        millionth of the largest such squared weight.
    order_ : ndarray of int
        These features, the one with the largest squared weights behind it first.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; minus infinity for a class whose samples all have weight zero.
    objective_ : float
        Σ_k (||w_k||² + 2C Σ_i s_i ξ_ki²) of the last machines.
    certificate_ : Certificate
        KKT violation of the last machines, in units of the margin, and whether the rounds have converged.
    history_ : History
        One record a round, with the number of features left.
    implementation_ : str
        ``"explicit"`` or ``"span"``.
    n_iter_ : int
        Number of rounds.
    classes_ : ndarray
        The classes.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    AROMClassifier : The same for linear machines.

    References
    ----------
    .. [1] Weston, Elisseeff, Schölkopf and Tipping (2003). Use of the zero-norm with linear models and kernel methods.
       Journal of Machine Learning Research 3, sections 3.4 and 5.

    Examples
    --------
    >>> import numpy as np
    >>> from skgraft import KernelAROMClassifier
    >>> from skgraft.datasets import make_sparse_polynomial
    >>> problem = make_sparse_polynomial(100, terms={(0, 1): 1.0, (2,): 1.0}, random_state=0)
    >>> model = KernelAROMClassifier(degree=2, C=np.inf).fit(problem.data, problem.target)
    >>> [monomial.name for monomial in model.monomials_]
    ['x0 x1', 'x2']
    >>> np.flatnonzero(model.support_)
    array([0, 1, 2])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "degree": [Interval(Integral, 1, 20, closed="both")],
        "C": [Interval(Real, 0, None, closed="right")],
        "implementation": [StrOptions({"auto", "explicit", "span"})],
        "extra_points": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "standardize": ["boolean"],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "callback": [None, callable],
    }

    def __init__(
        self,
        degree: int = 2,
        *,
        C: float = 1.0,
        implementation: str = "auto",
        extra_points: int | str = 0,
        standardize: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 200,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        store_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelAROMClassifier:
        """Look for a polynomial with few monomials that separates the classes.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, which multiply C; a weight of two is the same as a repetition.

        Returns
        -------
        self
            The fitted estimator.
        """
        X, codes, weight = self._read_classes(X, y, sample_weight)
        require_finite(X, getattr(self, "feature_names_in_", None))
        size = _root_mean_square(X, weight)
        self._scale = size if self.standardize else np.ones(X.shape[1])
        self._used = _telling(X / size if not sp.issparse(X) else X @ _diagonal(1.0 / size), size / self._scale)
        self._require_representable(size)
        # one machine for two classes, else one for each class that has rows of nonzero weight
        machines = np.array([1]) if self.classes_.size == 2 else np.unique(codes)
        ridge = np.zeros(weight.size) if np.isinf(self.C) else 0.5 / (self.C * weight)
        task = Task(np.where(codes[None, :] == machines[:, None], 1.0, -1.0), ridge)
        monitor = Monitor(callback=self.callback, verbose=int(self.verbose), name="zero-norm")
        try:
            with threads(self.n_jobs, X):
                rounds = run_rounds(self._space(self._scaled(X)), task, self.tol, self.max_iter, monitor)
        except InseparableError:
            msg = (
                f"no polynomial of degree {self.degree} separates the classes, so there is no hard margin (C=inf): "
                "give C a finite value, which allows errors, or raise degree"
            )
            raise ValueError(msg) from None
        self._keep(rounds, machines)
        return self

    def _spread(self, columns: Any) -> Any:
        """Return the selected columns in their places, all others being zero: they are in no monomial that counts."""
        places = np.flatnonzero(self.support_)
        if sp.issparse(columns):
            cells = (np.ones(places.size), (np.arange(places.size), places))
            return columns.tocsr() @ sp.csr_array(cells, (places.size, self.n_features_in_))
        X = np.zeros((columns.shape[0], self.n_features_in_), columns.dtype)
        X[:, places] = columns
        return X

    def _require_representable(self, size: Array) -> None:
        """Refuse features whose monomials cannot be squared and added up, by their size on the scale learned on."""
        size = (size / self._scale)[self._used]
        if not size.size:
            return
        j = int(np.argmax(size))
        largest = 2.0 * np.log10(size[j])
        if self.degree * max(largest, 0.0) < EXPONENT and largest > -EXPONENT:
            return
        names = getattr(self, "feature_names_in_", None)
        column = int(self._used[j]) if names is None else repr(str(names[self._used[j]]))
        kind = "large" if largest > 0.0 else "small"
        msg = (
            f"column {column} of X holds numbers too {kind} for monomials of degree {self.degree} to be squared; "
            "rescale it, or set standardize=True"
        )
        raise ValueError(msg)

    def _scaled(self, X: Any) -> Any:
        """Return the columns that are used, on the scale that is learned on."""
        columns, scale = X[:, self._used], self._scale[self._used]
        if sp.issparse(X):
            return sp.csr_array(columns.tocsr() @ _diagonal(1.0 / scale))
        return np.asarray(columns, dtype=np.float64) / scale

    def _space(self, X: Any) -> Space:
        entries = count_entries(X, self.degree)
        chosen = self.implementation
        if chosen == "auto":
            chosen = "explicit" if entries <= LARGEST else "span"
        if chosen == "explicit" and entries > LARGEST:
            msg = (
                f"the {count_monomials(X.shape[1], self.degree):,} monomials of degree {self.degree} and less of "
                f"{X.shape[1]} features in {X.shape[0]} rows do not fit in memory: set implementation='span', or lower "
                "degree"
            )
            raise ValueError(msg)
        self.implementation_ = chosen
        return MonomialSpace.of(X, self.degree) if chosen == "explicit" else self._span(X)

    def _span(self, X: Any) -> SpanSpace:
        n_extra = self.extra_points
        if n_extra == "auto":
            n_extra = max(0, count_monomials(X.shape[1], self.degree) + SPARE - SpanSpace.of(X, self.degree).basis.size)
        n_points = X.shape[0] + int(n_extra)
        if n_points > MANY_POINTS:
            msg = (
                f"implementation='span' computes about {float(n_points) ** 4:.0e} kernel values in every round for "
                f"{n_points:,} points, which may take hours; use fewer rows or features, or a lower degree, so that "
                f"the {count_monomials(X.shape[1], self.degree):,} monomials fit in memory"
            )
            warn_user(msg, UserWarning)
        extra = check_random_state(self.random_state).standard_normal((int(n_extra), X.shape[1]))
        return SpanSpace.of(X, self.degree, extra)

    def _keep(self, rounds: KernelRounds, machines: NDArray[np.intp]) -> None:
        """Set the fitted attributes."""
        last = rounds.last
        polynomial = last.space.polynomial()
        self._polynomial, self.intercept_ = polynomial, last.intercept
        if self.classes_.size not in {2, machines.size}:
            coefficients = np.zeros((self.classes_.size, polynomial.coefficients.shape[1]))
            coefficients[machines] = polynomial.coefficients
            self._polynomial = replace(polynomial, coefficients=coefficients)
            self.intercept_ = np.full(self.classes_.size, -np.inf)
            self.intercept_[machines] = last.intercept
        left = last.space.support()
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[self._used[left]] = True
        by_mass = np.argsort(-last.space.feature_masses(), kind="stable")
        self.order_ = self._used[by_mass[left[by_mass]]]
        self.objective_ = last.criterion
        self.certificate_ = Certificate(last.violation, None, rounds.converged)
        self.history_ = rounds.history
        self.n_iter_ = len(rounds.history)
        self.monomials_ = self._listed() if self.implementation_ == "explicit" else None
        rounds.ending.tell()

    def _listed(self) -> list[Monomial]:
        names = getattr(self, "feature_names_in_", None)
        features = [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]
        places, coefficients = self._polynomial.monomials, self._polynomial.coefficients
        monomials = np.append(self._used, ABSENT)[places]  # ABSENT is the last place
        scales = np.append(self._scale, 1.0)[monomials].prod(axis=1)
        listed = monomial_names(monomials, features)
        largest_first = np.argsort(-np.abs(coefficients).max(axis=0, initial=0.0), kind="stable")
        return [
            Monomial(listed[m], tuple(int(j) for j in monomials[m] if j != ABSENT), coefficients[:, m] / scales[m])
            for m in largest_first
        ]

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        rows = self._scaled(self._spread(read_selected(self, X, self.support_)))
        return np.asarray(self._polynomial.scores(rows) + self.intercept_)


def _diagonal(values: Array) -> Any:
    return sp.diags_array(values, format="csr")


def _telling(X: Any, size: Array) -> NDArray[np.intp]:
    """Return the columns that are not constant and repeat no earlier one, up to rounding and the sign.

    Columns, all of a mean square of one here, are told apart by their products with two random vectors and by the size
    that they are used with.
    """
    probes = np.random.default_rng(0).standard_normal((2, X.shape[0]))
    probes -= probes.mean(axis=1, keepdims=True)  # a constant column has products of zero
    prints = np.round(np.asarray((X.T @ probes.T) / np.sqrt(X.shape[0]), dtype=np.float64), 10) + 0.0
    prints *= np.where(prints[:, :1] < 0.0, -1.0, 1.0)
    with_size = np.column_stack([prints, np.round(np.log2(size), 10)])
    _, first = np.unique(with_size, axis=0, return_index=True)
    return np.sort(first[prints[first].any(axis=1)])


def _root_mean_square(X: Any, weight: Array) -> Array:
    """Return the weighted root mean square of each column, one where it is zero; safe for huge numbers."""
    largest = abs(X).max(axis=0)
    largest = np.asarray(largest.toarray() if sp.issparse(largest) else largest, dtype=np.float64).ravel()
    largest = np.where(largest > 0.0, largest, 1.0)
    share = weight / weight.sum()
    if sp.issparse(X):
        relative = sp.csr_array(X, dtype=np.float64) @ _diagonal(1.0 / largest)
        squares = np.asarray(relative.power(2).T @ share)
    else:
        squares = share @ (X / largest) ** 2
    scale = largest * np.sqrt(squares)
    return np.where(scale > 0.0, scale, 1.0)
