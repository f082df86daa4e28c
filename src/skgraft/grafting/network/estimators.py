"""Networks that grow, as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skgraft.arrays import Array, Index
from skgraft.criterion import Loss, loss_facts, loss_names, resolve_loss
from skgraft.estimator import ClassProbabilities, NamedSelector, store_parameters
from skgraft.grafting.effort import EFFORTS
from skgraft.grafting.network.fit import NetworkFit, fit_network
from skgraft.grafting.network.prepare import Prepared, TrainingData, prepare, standardized_rows
from skgraft.grafting.network.wiring import scores
from skgraft.matrix import merge_rows
from skgraft.run import threads
from skgraft.tables import read_classes, read_selected, read_training, sample_weights

_NON_NEGATIVE = Interval(Real, 0, None, closed="left")
_AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")

CONNECTION = np.dtype([("unit", np.intp), ("feature", np.intp), ("weight", np.float64), ("strength", np.float64)])
UNIT = np.dtype([("output", np.intp), ("bias", np.float64), ("output_weight", np.float64)])

_CONSTRAINTS: dict[str, Any] = {
    "l1": [_NON_NEGATIVE],
    "l2": [_NON_NEGATIVE],
    "l0": [_NON_NEGATIVE, StrOptions({"auto"})],
    "output_weights": [StrOptions({"auto", "unit", "free"})],
    "output_l2": [_NON_NEGATIVE],
    "connect": [StrOptions({"auto", "one", "all"})],
    "penalty_weights": [None, "array-like", Mapping],
    "feature_costs": [None, "array-like", Mapping],
    "groups": [None, "array-like", Mapping],
    "keep": [None, "array-like", str, Integral, set, frozenset],
    "max_features": [None, _AT_LEAST_ONE],
    "max_cost": [None, _NON_NEGATIVE],
    "max_units": [None, _AT_LEAST_ONE, StrOptions({"auto"})],
    "max_connections": [None, _AT_LEAST_ONE],
    "effort": [StrOptions(set(EFFORTS))],
    "selection": [StrOptions({"trial", "gradient"})],
    "select_unit": [StrOptions({"auto"}), _AT_LEAST_ONE],
    "on_increase": [StrOptions({"stop", "next"})],
    "screen": [StrOptions({"linear", "quadratic"})],
    "min_gain": [_NON_NEGATIVE, StrOptions({"auto"})],
    "early_stopping": ["boolean"],
    "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
    "n_iter_no_change": [_AT_LEAST_ONE],
    "n_restarts": [_AT_LEAST_ONE],
    "standardize": ["boolean"],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "max_iter": [_AT_LEAST_ONE],
    "n_jobs": [None, Interval(Integral, None, -1, closed="right"), _AT_LEAST_ONE],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
    "callback": [None, callable],
}


class _GraftedNetwork(NamedSelector, BaseEstimator):
    """What the networks share: the fit of encoded targets, scores, support and the wiring's report."""

    _parameter_constraints: ClassVar[dict[str, Any]] = _CONSTRAINTS

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _arranged(self, X: Any, y: NDArray[Any], weight: Array) -> tuple[Index | None, NDArray[Any], Array]:
        """Return the rows in an order of their own; as they are where some are held out, which their order decides."""
        rows, weight = (None, weight) if self.early_stopping else merge_rows(X, y, weight)
        return rows, y if rows is None else y[rows], weight

    def _grow(self, given: TrainingData) -> None:
        """Grow the network and set every fitted attribute that classes and numbers share."""
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        prepared = prepare(self, given, seed)
        with threads(self.n_jobs, given.X):
            fit = fit_network(prepared.problem, prepared.controls)
        self._keep_result(fit, prepared)
        fit.ending.tell()

    def _keep_result(self, fit: NetworkFit, prepared: Prepared) -> None:
        net, columns = fit.net, prepared.problem.columns
        features = net.features
        self._network = net
        self._centre, self._scale = columns.centre[features], columns.scale[features]
        self._constant = columns.constant[features]
        self.connections_ = np.zeros(net.n_connections, CONNECTION)
        self.connections_["unit"], self.connections_["feature"] = net.unit, net.feature
        self.connections_["strength"] = net.w
        self.connections_["weight"] = net.w / self._scale[net.column]
        self.units_ = np.zeros(net.n_units, UNIT)
        self.units_["output"] = net.owner
        self.units_["bias"] = net.c - np.bincount(
            net.unit, net.w * (self._centre / self._scale)[net.column], net.n_units
        )
        self.units_["output_weight"] = net.v[np.arange(net.n_units), net.owner]
        self.output_weights_ = net.v.T.copy()
        self.intercept_ = net.b.copy()
        self._set_fitted_attributes(fit)
        self.validation_losses_ = np.array(fit.validation)

    def _scores(self, X: Any) -> Array:
        """Return scores (n_samples, n_outputs), touching only the features in use."""
        check_is_fitted(self)
        columns = read_selected(self, X, self.support_)
        places = np.searchsorted(np.flatnonzero(self.support_), self._network.features)
        rows = standardized_rows(columns, places, self._centre, self._scale, self._constant)
        return scores(self._network, rows)[1]


class MLPGraftClassifier(ClassProbabilities, _GraftedNetwork):
    """Network classifier that grows its hidden units, its connections and its choice of features.

    The network is f(x) = b + Σ_u v_u g(w_u·x + c_u) with g(a) = 2/(1 + e^-a) - 1 on standardised features.  It
    starts without hidden units and minimises, by grafting [1]_::

        C = 1/Σs Σ_i s_i L(f(x_i), y_i) + l2 Σ a_j w² + l1 Σ a_j |w| + output_l2 Σ v² + l0 Σ_g cost_g [bag g is used]

    Every step weighs, for every feature, a new hidden unit and a new connection to each unit that is there, by the
    derivative of C; solves the most promising in earnest with everything else fixed; lets the best come in,
    re-optimises all weights and prunes those back at zero.  A step that does not lower C by ``min_gain`` is undone.
    The trial fits and ``min_gain`` are not in the paper; ``selection="gradient"`` goes without them.
    The criterion is not convex: the result is a local minimum.  Biases are not penalised.

    Parameters
    ----------
    l1 : float, default=1e-4
        Coefficient of Σ|w| over all connections.
    l2 : float, default=0.0
        Coefficient of Σw² over all connections.  Steep units, whose weights are large, are often the solution.
    l0 : float or "auto", default="auto"
        Price of a feature (times its cost) or bag, paid once however many connections it has; ``"auto"`` is 0.005
        for two classes and 5e-4 for more.
    loss : {"auto", "logistic", "multinomial", "squared_hinge"} or Loss, default="auto"
        ``"auto"`` is logistic for two classes and multinomial for more.  Logistic and squared hinge treat more
        than two classes one against the rest.
    output_weights : {"auto", "unit", "free"}, default="auto"
        ``"unit"``: each hidden unit belongs to one class and reaches its output with weight one, as in the paper.
        ``"free"``: each hidden unit reaches the outputs of all classes by weights that are learnt.  ``"auto"`` is
        ``"unit"`` for two classes and ``"free"`` for more, which measures better.
    output_l2 : float, default=1e-3
        Coefficient of Σv² where output weights are free.
    connect : {"auto", "one", "all"}, default="auto"
        What comes in at a step: one connection, as in the paper; or, since a feature is paid for once, connections
        from a new feature to all units and from a new unit to all features in use.  ``"auto"`` is ``"one"``
        for two classes and ``"all"`` for more.
    penalty_weights : array-like or mapping, optional
        a_j of each feature, by default 1; 0 leaves a feature's connections unpenalised.
    feature_costs : array-like or mapping, optional
        Price of each feature or bag, by default 1.
    groups : array-like or mapping, optional
        A label for each feature, or a mapping from bag to features.  A bag is paid for once.
    keep : indices, names or mask, optional
        Features always in the network and never charged.
    max_features : int, optional
        Largest number of features.
    max_cost : float, optional
        Largest total cost.
    max_units : int, None or "auto", default="auto"
        Largest number of hidden units; ``"auto"`` is four times the number of features and at most 40 where
        connections come in all together, else no limit.
        With ``effort="batch"`` the number of units, by default 10.
    max_connections : int, optional
        Largest number of connections from features to hidden units.
    effort : {"full", "light", "newest", "batch", "gauss_seidel"}, default="full"
        How hard to re-optimise between steps: up to three damped Newton steps on all weights; one; the newest
        weight and the biases only; a network fully connected from the start, from random weights; one weight at a
        time, the worst first.  All but ``"newest"`` end with a re-optimisation of all weights.
    selection : {"trial", "gradient"}, default="trial"
        What decides who comes in.  ``"trial"``: the true gain of the few candidates that the gradient test puts first,
        each solved with everything else fixed.  ``"gradient"``: the paper's rule, the gradient test alone.  The
        candidate with the least of ::

            ΔC = l0·cost·[its bag is not paid for] - |w'| (|dL/dw| - a_j l1 - a_j l2 |w'|)        (eq. 9 of [1]_)

        comes in from zero, w' being the weight that came in last; all weights are re-optimised to the end;
        and the first step that does not lower C is undone and ends growth.  ``min_gain="auto"`` is then 0,
        ``select_unit="auto"`` one, and there is no search for even effects, which have no gradient.
    select_unit : int or "auto", default="auto"
        How many connections or units come in at a time; ``"auto"`` is one for two classes and up to eight
        features that are not alike for more.
    on_increase : {"stop", "next"}, default="stop"
        When the best candidates do not pay: stop, or try the next ones.
    screen : {"linear", "quadratic"}, default="linear"
        ``"quadratic"`` also looks for features whose effect is even, which have no derivative at zero.
    min_gain : float or "auto", default="auto"
        By how much a step must lower C beyond the prices.  Connections of a feature already paid for are free, and
        would go on coming in to fit noise.  ``"auto"`` is 0.1·l0 for logistic and squared hinge loss and 0.04·l0
        for multinomial loss; 2·l0 where connections come in all together; 0 with ``early_stopping`` and with
        ``selection="gradient"``.
    early_stopping : bool, default=False
        Hold out rows, stop when ``n_iter_no_change`` steps did not lower the loss on them, and return the
        network that had the least.
    validation_fraction : float, default=0.1
        Share of the rows held out for early stopping.
    n_iter_no_change : int, default=10
        Patience of early stopping.
    n_restarts : int, default=1
        Number of networks grown; from the second on, chance plays a part in which of several good candidates
        comes in.  The one with the least criterion is returned.
    standardize : bool, default=True
        Learn on features of mean zero and deviation one, as the gradient test asks for.
    class_weight : dict or "balanced", optional
        Weights of the classes, as in scikit-learn.
    tol : float, default=1e-6
        A candidate comes in only if its derivative exceeds its l1 by this share of the largest derivative of
        the empty network; also the largest violation left for ``certificate_.converged``.
    max_iter : int, default=1000
        Largest number of steps.
    n_jobs : int, optional
        Number of threads: None is one, unless joblib's context says otherwise, and -1 all cores.
    random_state : int, RandomState or None, default=None
        Seed of the restarts, of the rows held out and of the start of ``effort="batch"``.
    verbose : int, default=0
        1 shows progress on standard error.
    callback : callable, optional
        Called with each step's record; returning True ends the fit.

    Attributes
    ----------
    connections_ : structured ndarray of shape (n_connections,)
        Fields ``unit``, ``feature``, ``weight`` (for features as given) and ``strength`` (for standardised ones).
    units_ : structured ndarray of shape (n_units,)
        Fields ``output`` (the class the unit belongs to, or reaches most strongly at its start), ``bias`` (for
        features as given) and ``output_weight`` (to that output).
    output_weights_ : ndarray of shape (n_outputs, n_units)
        v of every unit and output.
    intercept_ : ndarray of shape (n_outputs,)
        Output biases.
    support_ : ndarray of bool of shape (n_features,)
        The selected features.
    order_ : ndarray of int
        The selected features in the order in which they came in.
    objective_ : float
        C at the solution.
    certificate_ : Certificate
        Violation of the optimality conditions by the weights that are in; no duality gap, as C is not convex.
        ``scope`` is these weights where the fit converged, else nothing; so it is with ``effort="newest"`` and
        with ``early_stopping``, which do not optimise all weights to the end.
    history_ : History
        One record for each step, whose ``kind`` is ``"unit"``, ``"connection"``, ``"undo"`` or ``"optimize"``.
    total_cost_ : float
        What the selected features cost together.
    validation_losses_ : ndarray
        Loss on the rows held out after each step; empty without early stopping.
    classes_ : ndarray
        The classes.
    loss_ : str
        The loss that was used.
    n_iter_ : int
        Number of steps.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    MLPGraftRegressor : The same for regression.
    NetworkDisplay : A picture of who is connected to whom.
    GraftClassifier : Linear and convex.

    References
    ----------
    .. [1] Perkins, Lacker and Theiler (2003). Grafting: fast, incremental feature selection by gradient descent
       in function space. Journal of Machine Learning Research 3.

    Examples
    --------
    >>> from skgraft import MLPGraftClassifier
    >>> from skgraft.datasets import make_threshold_max
    >>> train = make_threshold_max(500, n_informative=3, n_irrelevant=20, random_state=0)
    >>> model = MLPGraftClassifier().fit(train.data, train.target)
    >>> sorted(int(j) for j in model.order_) == sorted(int(j) for j in train.informative)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_CONSTRAINTS,
        "loss": [StrOptions(loss_names("classes")), Loss],
        "class_weight": [None, dict, StrOptions({"balanced"})],
    }

    def __init__(
        self,
        *,
        l1: float = 1e-4,
        l2: float = 0.0,
        l0: float | str = "auto",
        loss: str | Loss = "auto",
        output_weights: str = "auto",
        output_l2: float = 1e-3,
        connect: str = "auto",
        penalty_weights: Any = None,
        feature_costs: Any = None,
        groups: Any = None,
        keep: Any = None,
        max_features: int | None = None,
        max_cost: float | None = None,
        max_units: int | str | None = "auto",
        max_connections: int | None = None,
        effort: str = "full",
        selection: str = "trial",
        select_unit: int | str = "auto",
        on_increase: str = "stop",
        screen: str = "linear",
        min_gain: float | str = "auto",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        n_restarts: int = 1,
        standardize: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        store_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MLPGraftClassifier:
        """Grow the network.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; a weight of two is the same as a repetition.  Up to ten million cells, and without
            early stopping, this holds to the last bit, for rows in any order.

        Returns
        -------
        self
            The fitted estimator.
        """
        X, y = read_training(self, X, y)
        classes, codes, weight = read_classes(y, sample_weights(sample_weight, X), self.class_weight)
        self.classes_ = classes
        self._loss = resolve_loss(self.loss, "classes", n_classes=classes.size)
        self.loss_ = self._loss.name
        rows, codes, weight = self._arranged(X, codes, weight)
        target = self._loss.encode(codes, classes.size)
        self._grow(TrainingData(X, target, weight, self._loss, strata=codes, rows=rows))
        return self


class MLPGraftRegressor(RegressorMixin, _GraftedNetwork):
    """Network regression that grows its hidden units, its connections and its choice of features.

    Minimises the criterion of :class:`MLPGraftClassifier` with a loss for numbers; the parameters not listed here
    mean the same.  For squared and Huber's loss the target is standardised first, and ``objective_`` and all
    coefficients refer to that scale; predictions are on the scale of y.

    Parameters
    ----------
    l1 : float, default=1e-3
        Coefficient of Σ|w| over all connections.
    l2, l0
        Coefficients of the other penalties; ``l0="auto"`` is 0.005.
    loss : {"auto", "squared", "huber", "poisson"} or Loss, default="auto"
        ½(y - f)², Huber's function of y - f, or exp(f) - y·f for counts; ``"auto"`` is squared.
    delta : float, default=1.35
        Where Huber's loss turns from a square to a line, in units of y.
    output_weights, output_l2, connect
        As for the classifier; ``"auto"`` is ``"unit"`` and ``"one"``, which measure better.
    penalty_weights, feature_costs, groups, keep, max_features, max_cost, max_units, max_connections
        What features cost, which are in, and how large the network may become.
    effort, selection, select_unit, on_increase
        How to grow.
    screen : {"linear", "quadratic"}, default="quadratic"
        Whether to look for even effects, too; with ``selection="gradient"`` they are not looked for.
    min_gain : float or "auto", default="auto"
        As for the classifier; ``"auto"`` is 0.02·l0 for all three losses, 2·l0 where connections come in all together.
    early_stopping, validation_fraction, n_iter_no_change, n_restarts, standardize
        As for the classifier.
    tol, max_iter, n_jobs, random_state, verbose, callback
        As for the classifier.

    Attributes
    ----------
    connections_, units_, output_weights_, intercept_
        The network, as for the classifier, on the scale of the standardised target.
    support_, order_, objective_, certificate_, history_, total_cost_, validation_losses_, loss_, n_iter_
        As for the classifier.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    MLPGraftClassifier : The same for classes.

    References
    ----------
    .. [1] Perkins, Lacker and Theiler (2003). Grafting: fast, incremental feature selection by gradient descent
       in function space. Journal of Machine Learning Research 3.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from skgraft import MLPGraftRegressor
    >>> X, y = make_friedman1(400, n_features=30, noise=1.0, random_state=0)
    >>> model = MLPGraftRegressor().fit(X, y)
    >>> sorted(int(j) for j in model.order_)
    [0, 1, 2, 3, 4]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_CONSTRAINTS,
        "loss": [StrOptions(loss_names("numbers")), Loss],
        "delta": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        l1: float = 1e-3,
        l2: float = 0.0,
        l0: float | str = "auto",
        loss: str | Loss = "auto",
        delta: float = 1.35,
        output_weights: str = "auto",
        output_l2: float = 1e-3,
        connect: str = "auto",
        penalty_weights: Any = None,
        feature_costs: Any = None,
        groups: Any = None,
        keep: Any = None,
        max_features: int | None = None,
        max_cost: float | None = None,
        max_units: int | str | None = "auto",
        max_connections: int | None = None,
        effort: str = "full",
        selection: str = "trial",
        select_unit: int | str = "auto",
        on_increase: str = "stop",
        screen: str = "quadratic",
        min_gain: float | str = "auto",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        n_restarts: int = 1,
        standardize: bool = True,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callback: Any = None,
    ) -> None:
        store_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MLPGraftRegressor:
        """Grow the network.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; a weight of two is the same as a repetition.  Up to ten million cells, and without
            early stopping, this holds to the last bit, for rows in any order.

        Returns
        -------
        self
            The fitted estimator.
        """
        X, y = read_training(self, X, y)
        weight = sample_weights(sample_weight, X)
        self._loss = resolve_loss(self.loss, "numbers", delta=self.delta)
        self.loss_ = self._loss.name
        self._loss.require_target(y, weight)
        rows, y, weight = self._arranged(X, y, weight)
        self._offset, self._unit = _moments(y, weight) if self._loss.scalable else (0.0, 1.0)
        target = (y - self._offset) / self._unit
        self._grow(TrainingData(X, target[:, None], weight, self._loss.rescaled(self._unit), rows=rows))
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = loss_facts(self.loss).positive_target
        return tags

    def predict(self, X: Any) -> Array:
        """Return the predicted mean of each sample.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            f(x) on the scale of y, or its exponential for ``loss="poisson"``.
        """
        found = self._scores(X)[:, 0]
        return self._loss.response(self._offset + self._unit * found)


def _moments(y: Array, weight: Array) -> tuple[float, float]:
    """Return the weighted mean and deviation of a target; 1 for the deviation of a constant."""
    share = weight / weight.max()
    share = share / share.sum()
    largest = float(np.abs(y).max(initial=0.0)) or 1.0  # in whose units every square is a float
    scaled = y / largest
    mean = float(share @ scaled)
    deviation = float(np.sqrt(share @ (scaled - mean) ** 2))
    if deviation <= 4.0 * y.size * np.finfo(float).eps * abs(mean):
        deviation = 0.0
    return mean * largest, deviation * largest or 1.0
