"""Linear grafting over features that arrive over time, as scikit-learn estimators."""

from __future__ import annotations

from typing import Any, ClassVar

from skgraft.criterion import Loss
from skgraft.grafting.linear.estimators import GraftClassifier, GraftRegressor
from skgraft.grafting.stream.columns import BUFFER, ColumnStream


def stream_constraints(base: type[Any]) -> dict[str, Any]:
    """Return the constraints of a linear estimator's parameters that streams have too: not those of the capped norm."""
    own: dict[str, Any] = base._parameter_constraints  # noqa: SLF001 -- scikit-learn's interface to subclasses
    return {name: each for name, each in own.items() if name not in {"capped_l1", "cap"}}


class StreamGraftClassifier(ColumnStream, GraftClassifier):
    """Linear classifier over features that arrive over time.

    Minimises the criterion of :class:`GraftClassifier` while columns come in blocks, of which memory holds only the
    selected ones and a buffer: rows x (selected + buffer) numbers, however many columns there are [1]_.  A block's
    gradients are tested against the present model; if one of them wants to come in, the criterion is minimised over
    the columns in memory and the block together, which tests the buffer again; then the selected columns and the most
    promising of the others stay, and the rest is forgotten.

    A column that is forgotten may have belonged into a later model.  How long it is known not to is kept: its gradient
    moves by at most its length times the way of the residual (Cauchy-Schwarz).  While all forgotten columns are known
    to stay out, the model is the optimum over all columns seen, and ``certificate_`` says so; otherwise
    ``certificate_.converged`` is False and ``n_untested_`` tells how many may belong into it.  With a buffer that
    holds all rejected columns (``buffer=None``) the result is that of :class:`GraftClassifier`; a second pass over
    the columns (see :meth:`fit_stream`) mostly reaches it with a small one.

    Parameters
    ----------
    buffer : int or None, default=1000
        How many rejected columns to keep in memory, those nearest to coming in; None keeps all.
    l1, l2, l0, group_l1, loss
        The criterion, as in :class:`GraftClassifier`.  Without ``l1``, ``group_l1`` or prices nothing is ever rejected,
        and memory holds every column.  With ``group_l1`` the features of a bag must arrive in one block.
    penalty_weights, feature_costs, groups, keep
        As in :class:`GraftClassifier`.  Positions count over all columns of the stream, and arrays have an entry for
        each; features may be named before they arrive.
    max_features, max_cost
        Budgets.  With these, or with ``l0``, every block is weighed by the full search, and a column counts as tested
        only while the model stays as it is.
    effort, select_unit, on_increase, polish
        How to grow.
    fit_intercept, standardize, class_weight, positive, tol, max_iter, n_jobs, random_state, verbose, callback
        As in :class:`GraftClassifier`; ``max_iter`` holds for each block.
    warm_start : bool, default=False
        Whether :meth:`fit_stream` goes on with the columns seen so far rather than anew, and ``fit`` starts from
        the solution of the previous call.  :meth:`partial_fit_features` always goes on.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features_seen) or (n_classes, n_features_seen)
        Weights on the original scale.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    support_ : ndarray of bool of shape (n_features_seen,)
        The selected features.
    order_ : ndarray of int
        Positions in the stream of the selected features, in the order in which they came in.
    selected_names_ : ndarray of str
        Names of the selected features, by their positions.
    buffer_names_ : ndarray of str
        Names of the columns in the buffer, the most promising first.
    n_features_seen_ : int
        Number of columns seen.
    n_forgotten_ : int
        Number of columns that are no longer in memory.
    n_untested_ : int
        Number of these that may belong into the present model for all that is known.
    objective_ : float
        C at the solution.
    certificate_ : Certificate
        KKT violation and duality gap over the columns in memory and those known to stay out.  It is converged if
        that is all columns seen and the violation is within ``tol``.
    history_ : History
        One record for each step, over all blocks.
    total_cost_, n_iter_, classes_, loss_, n_features_in_
        As in :class:`GraftClassifier`.
    feature_names_in_ : ndarray of str
        Set by ``fit`` alone.

    See Also
    --------
    GraftClassifier : Where all features are there.
    StreamGraftRegressor : The same for regression.
    skgraft.datasets.column_blocks : Reads columns by blocks from a file larger than memory.

    Notes
    -----
    Methods that take new samples need a table that has at least the selected columns; these are found by name, in
    any order and among any others.  An array must have either all columns seen or exactly the selected ones, in the
    order of the stream.  After ``fit``, as everywhere in scikit-learn, an array has the columns of ``fit``.

    References
    ----------
    .. [1] Perkins and Theiler (2003). Online feature selection using grafting. ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skgraft import StreamGraftClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = StreamGraftClassifier(l1=0.05, buffer=10)
    >>> for start in range(0, 30, 6):
    ...     model = model.partial_fit_features(X.iloc[:, start : start + 6], y)
    >>> [str(name) for name in model.selected_names_]
    ['mean concave points', 'worst radius', 'worst texture', 'worst concave points']
    >>> bool((model.predict(X[model.selected_names_]) == model.predict(X)).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **stream_constraints(GraftClassifier),
        "buffer": BUFFER,
    }

    def __init__(
        self,
        *,
        buffer: int | None = 1000,
        l1: float = 0.01,
        l2: float = 0.0,
        l0: float = 0.0,
        group_l1: float = 0.0,
        loss: str | Loss = "auto",
        penalty_weights: Any = None,
        feature_costs: Any = None,
        groups: Any = None,
        keep: Any = None,
        max_features: int | None = None,
        max_cost: float | None = None,
        effort: str = "full",
        select_unit: int | str = "auto",
        on_increase: str = "stop",
        polish: bool | str = True,
        fit_intercept: bool = True,
        standardize: bool = True,
        class_weight: Any = None,
        positive: bool = False,
        warm_start: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        super().__init__(
            l1=l1,
            l2=l2,
            l0=l0,
            group_l1=group_l1,
            loss=loss,
            penalty_weights=penalty_weights,
            feature_costs=feature_costs,
            groups=groups,
            keep=keep,
            max_features=max_features,
            max_cost=max_cost,
            effort=effort,
            select_unit=select_unit,
            on_increase=on_increase,
            polish=polish,
            fit_intercept=fit_intercept,
            standardize=standardize,
            class_weight=class_weight,
            positive=positive,
            warm_start=warm_start,
            tol=tol,
            max_iter=max_iter,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            callback=callback,
        )
        self.buffer = buffer


class StreamGraftRegressor(ColumnStream, GraftRegressor):
    """Linear regression over features that arrive over time.

    Minimises the criterion of :class:`GraftRegressor` while columns come in blocks, of which memory holds only the
    selected ones and a buffer.  How, what is certified and what new samples must have is told at
    :class:`StreamGraftClassifier`; the parameters and attributes not listed here mean the same.

    Parameters
    ----------
    buffer : int or None, default=1000
        How many rejected columns to keep in memory, those nearest to coming in; None keeps all.
    l1, l2, l0, group_l1, loss, delta
        The criterion, as in :class:`GraftRegressor`.
    penalty_weights, feature_costs, groups, keep, max_features, max_cost
        What features cost and which are in; positions count over all columns of the stream.
    effort, select_unit, on_increase, polish
        How to grow.
    fit_intercept, standardize, positive, warm_start, tol, max_iter, n_jobs, random_state, verbose, callback
        As for the classifier.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_seen,) or (n_targets, n_features_seen)
        Weights on the original scale.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercepts.
    support_, order_, selected_names_, buffer_names_, n_features_seen_, n_forgotten_, n_untested_
        As for the classifier.
    objective_, certificate_, history_, total_cost_, n_iter_, loss_, n_features_in_, feature_names_in_
        As for the classifier.

    See Also
    --------
    GraftRegressor : Where all features are there.
    StreamGraftClassifier : The same for classes.

    References
    ----------
    .. [1] Perkins and Theiler (2003). Online feature selection using grafting. ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgraft import StreamGraftRegressor
    >>> from skgraft.datasets import column_blocks
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = StreamGraftRegressor(l1=10.0, buffer=2).fit_stream(column_blocks(X, 4), y, passes=2)
    >>> [str(name) for name in model.selected_names_], model.certificate_.converged
    (['bmi', 'bp', 's3', 's5'], True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **stream_constraints(GraftRegressor),
        "buffer": BUFFER,
    }

    def __init__(
        self,
        *,
        buffer: int | None = 1000,
        l1: float = 0.01,
        l2: float = 0.0,
        l0: float = 0.0,
        group_l1: float = 0.0,
        loss: str | Loss = "auto",
        delta: float = 1.35,
        penalty_weights: Any = None,
        feature_costs: Any = None,
        groups: Any = None,
        keep: Any = None,
        max_features: int | None = None,
        max_cost: float | None = None,
        effort: str = "full",
        select_unit: int | str = "auto",
        on_increase: str = "stop",
        polish: bool | str = True,
        fit_intercept: bool = True,
        standardize: bool = True,
        positive: bool = False,
        warm_start: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        super().__init__(
            l1=l1,
            l2=l2,
            l0=l0,
            group_l1=group_l1,
            loss=loss,
            delta=delta,
            penalty_weights=penalty_weights,
            feature_costs=feature_costs,
            groups=groups,
            keep=keep,
            max_features=max_features,
            max_cost=max_cost,
            effort=effort,
            select_unit=select_unit,
            on_increase=on_increase,
            polish=polish,
            fit_intercept=fit_intercept,
            standardize=standardize,
            positive=positive,
            warm_start=warm_start,
            tol=tol,
            max_iter=max_iter,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            callback=callback,
        )
        self.buffer = buffer
