"""The losses of the criterion: value, derivative, curvature and conjugate with respect to the scores.

Scores ``f`` and targets ``y`` are arrays of shape (n_samples, n_outputs); sample weights ``s`` have shape
(n_samples,) and sum to one.  A classification target is encoded as -1/+1 per output for margin losses and as
one-hot rows for ``multinomial``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit, softmax, xlogy

from skgraft.arrays import Array, Index

Task = Literal["numbers", "classes"]

LARGEST_EXPONENT = 700.0  # whose exponential is a float
# A dual point may leave the domain of a conjugate by rounding alone; beyond this it is infeasible.
DOMAIN_SLACK = 1e-12


@dataclass(frozen=True)
class Curvature:
    """Second derivative of the loss at every sample: ``diag(diagonal_i) - factor_i factor_i'``.

    ``factor`` is None for losses that do not couple the outputs.
    """

    diagonal: Array
    factor: Array | None = None


class Loss:
    """What a loss must offer; each method is a sum over samples or an array per sample and output.

    A subclass with ``name``, ``per_sample``, ``derivative``, ``second_derivative``, ``start`` and ``conjugate`` is a
    loss that every estimator takes; all that is particular to it is said here and asked for nowhere else.
    """

    name: ClassVar[str]
    task: ClassVar[Task] = "numbers"  # what targets are
    quadratic: ClassVar[bool] = False  # the second derivative is constant
    piecewise: ClassVar[bool] = False  # the second derivative jumps: Newton needs safeguards
    coupled: ClassVar[bool] = False  # the second derivative couples the outputs, and targets are one-hot rows
    margin: ClassVar[bool] = False  # targets are -1/+1
    has_probabilities: ClassVar[bool] = False  # scores tell the probabilities of classes
    exponential: ClassVar[bool] = False  # scores stand in an exponential: an unbounded Newton step overflows
    positive_target: ClassVar[bool] = False  # targets are at least zero
    scalable: ClassVar[bool] = True  # targets may be standardised: see `rescaled`
    # By which share of l0 a step of a growing network must lower the criterion at least.  Measured: fits of numbers and
    # of many classes fall by smaller steps than those of two classes.
    gain_floor: ClassVar[float] = 0.02

    def value(self, f: Array, y: Array, s: Array) -> float:
        """Return the weighted mean loss."""
        return float(s @ self.per_sample(f, y))

    def per_sample(self, f: Array, y: Array) -> Array:
        """Return the loss of every sample, summed over outputs."""
        raise NotImplementedError

    def derivative(self, f: Array, y: Array) -> Array:
        """Return dL/df, unweighted."""
        raise NotImplementedError

    def residual(self, f: Array, y: Array, s: Array) -> Array:
        """Return the weighted derivative, whose product with X' is the gradient."""
        return self.derivative(f, y) * s[:, None]

    def second_derivative(self, f: Array, y: Array) -> Array:
        """Return d²L/df², unweighted and per output."""
        raise NotImplementedError

    def curvature(self, f: Array, y: Array, s: Array) -> Curvature:
        """Return the weighted second derivative."""
        return Curvature(self.second_derivative(f, y) * s[:, None])

    def majorizer(self, f: Array, y: Array, s: Array) -> Curvature:
        """Return a curvature whose quadratic model never lies below the loss; the true one by default."""
        return self.curvature(f, y, s)

    def start(self, y: Array, s: Array) -> Array:
        """Return a good first intercept for every output."""
        raise NotImplementedError

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return sup_f u·f - L(f) for every sample (inf outside the domain)."""
        raise NotImplementedError

    def least(self, y: Array, s: Array) -> float:  # noqa: ARG002 -- most losses reach zero
        """Return the smallest value the loss can take on these targets."""
        return 0.0

    @property
    def largest_derivative(self) -> float | None:
        """A bound of |dL/df| that holds for all scores, None if there is none."""
        return None

    def response(self, f: Array) -> Array:
        """Return what is predicted at scores ``f``: the mean of a number."""
        return f

    def probabilities(self, decision: Array) -> Array:
        """Return the probabilities of all classes, from scores of every class or, of two, that of the second alone."""
        if decision.ndim == 1:
            return np.column_stack([expit(-decision), expit(decision)])
        each = expit(decision)
        return np.asarray(each / np.maximum(each.sum(axis=1, keepdims=True), np.finfo(float).tiny))

    def encode(self, codes: Index, n_classes: int) -> Array:
        """Return classes as the loss wants them: one-hot rows, or -1/+1, in one column if there are two classes."""
        if self.coupled:
            return np.eye(n_classes)[codes]
        if n_classes == 2:
            return np.where(codes[:, None] == 1, 1.0, -1.0)
        return np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)

    def require_target(self, y: Array, weight: Array) -> None:
        """Refuse numbers that cannot be targets of this loss."""

    def rescaled(self, unit: float) -> Loss:  # noqa: ARG002 -- most have no unit of their own
        """Return the same loss for targets divided by ``unit``."""
        return self


def _means(s: Array, y: NDArray[Any]) -> Array:
    """Return Σ s·y of every output, added up in one order whatever the threads of linear algebra."""
    return np.einsum("i,ik->k", s, y)


def _clipped(u: Array, low: float, high: float) -> tuple[Array, NDArray[np.bool_]]:
    """Return ``u`` moved into [low, high] and which samples were further outside than rounding explains."""
    inside = np.clip(u, low, high)
    return inside, np.asarray((np.abs(u - inside) > DOMAIN_SLACK).any(axis=1))


def _sum_where(values: Array, outside: NDArray[np.bool_]) -> Array:
    return np.where(outside, np.inf, values.sum(axis=1))


def _log1p(x: Array) -> Array:
    """Return ln(1 + x) for x >= 0 to full relative precision, by NumPy's fast logarithm.

    The rounding of 1 + x in the logarithm is the same as in (1 + x) - 1, and cancels.
    """
    u = 1.0 + x
    rounded = u - 1.0
    return np.asarray(np.where(rounded > 0.0, np.log(u) * (x / np.where(rounded > 0.0, rounded, 1.0)), x))


def _softmax(f: Array) -> Array:
    e = np.exp(f - f.max(axis=1, keepdims=True))
    e /= e.sum(axis=1, keepdims=True)
    return e


def _log_sum_exp(f: Array) -> Array:
    """Return ln Σ e^f to full relative precision, also where one term is zero and the others vanish beside it."""
    rows, first = np.arange(f.shape[0]), f.argmax(axis=1)
    top = f[rows, first]
    e = np.exp(f - top[:, None])
    e[rows, first] = 0.0
    return np.asarray(top + _log1p(e.sum(axis=1)))


class Squared(Loss):
    """½(y - f)²."""

    name = "squared"
    quadratic = True

    def per_sample(self, f: Array, y: Array) -> Array:
        """Return ½(y - f)², summed over outputs."""
        d = f - y
        return 0.5 * np.einsum("ik,ik->i", d, d)

    def derivative(self, f: Array, y: Array) -> Array:
        """Return f - y."""
        return f - y

    def second_derivative(self, f: Array, y: Array) -> Array:  # noqa: ARG002 -- constant
        """Return one."""
        return np.ones_like(f)

    def start(self, y: Array, s: Array) -> Array:
        """Return the weighted mean of the targets."""
        return _means(s, y)

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return u·y + ½u²."""
        return np.einsum("ik,ik->i", u, y + 0.5 * u)


@dataclass(frozen=True)
class Huber(Squared):
    """½d² while d = y - f is within delta of zero, delta(abs(d) - ½delta) beyond."""

    delta: float = 1.35

    name = "huber"
    quadratic = False
    piecewise = True

    @property
    def largest_derivative(self) -> float:
        """The bound delta."""
        return self.delta

    def rescaled(self, unit: float) -> Huber:
        """Return the loss whose delta has the unit of the targets."""
        return Huber(delta=self.delta / unit)

    def per_sample(self, f: Array, y: Array) -> Array:
        """Return Huber's function of the residual, summed over outputs."""
        d = np.abs(f - y)
        return np.where(d <= self.delta, 0.5 * d * d, self.delta * (d - 0.5 * self.delta)).sum(axis=1)

    def derivative(self, f: Array, y: Array) -> Array:
        """Return the residual, clipped to [-delta, delta]."""
        return np.clip(f - y, -self.delta, self.delta)

    def second_derivative(self, f: Array, y: Array) -> Array:
        """Return one where the residual is within delta, else zero."""
        return (np.abs(f - y) <= self.delta).astype(np.float64)

    def majorizer(self, f: Array, y: Array, s: Array) -> Curvature:
        """Return the weights of iteratively reweighted least squares: min(1, delta/|residual|)."""
        weight = self.delta / np.maximum(np.abs(f - y), self.delta)
        return Curvature(weight * s[:, None])

    def start(self, y: Array, s: Array) -> Array:
        """Return the weighted median of each target."""
        order = np.argsort(y, axis=0)
        below = np.cumsum(s[order], axis=0)
        at = (below < 0.5 * below[-1]).sum(axis=0)
        return np.take_along_axis(y, np.take_along_axis(order, at[None, :], axis=0), axis=0)[0]

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return u·y + ½u² while u is within delta of zero."""
        inside, outside = _clipped(u, -self.delta, self.delta)
        return np.where(outside, np.inf, Squared.conjugate(self, inside, y))


class Logistic(Loss):
    """ln(1 + exp(-ρ)) with the margin ρ = y·f (Perkins et al. 2003, section 2.1.1)."""

    name = "logistic"
    task = "classes"
    margin = True
    has_probabilities = True
    exponential = True
    gain_floor = 0.1
    largest_derivative = 1.0

    def per_sample(self, f: Array, y: Array) -> Array:
        """Return ln(1 + exp(-ρ)), summed over outputs."""
        margin = y * f
        return (_log1p(np.exp(-np.abs(margin))) - np.minimum(margin, 0.0)).sum(axis=1)

    def derivative(self, f: Array, y: Array) -> Array:
        """Return -y/(1 + exp(ρ))."""
        return -y / (1.0 + np.exp(np.minimum(y * f, LARGEST_EXPONENT)))

    def second_derivative(self, f: Array, y: Array) -> Array:  # noqa: ARG002 -- the same for both labels
        """Return p(1 - p)."""
        e = np.exp(-np.abs(f))
        return e / (1.0 + e) ** 2

    def start(self, y: Array, s: Array) -> Array:
        """Return the log odds of each output, kept finite where one label has no weight."""
        p = np.clip(_means(s, y > 0), 1e-10, 1 - 1e-10)
        return np.log(p) - np.log1p(-p)

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return a ln a + (1-a) ln(1-a) with a = -u·y in [0, 1]."""
        a, outside = _clipped(-u * y, 0.0, 1.0)
        return _sum_where(-entr(a) - entr(1.0 - a), outside)


class Multinomial(Loss):
    """Logsumexp(f) - f_class (multi-class logistic regression)."""

    name = "multinomial"
    task = "classes"
    coupled = True
    has_probabilities = True
    exponential = True
    gain_floor = 0.04
    largest_derivative = 1.0

    def probabilities(self, decision: Array) -> Array:
        """Return the softmax of the scores."""
        return super().probabilities(decision) if decision.ndim == 1 else np.asarray(softmax(decision, axis=1))

    def per_sample(self, f: Array, y: Array) -> Array:
        """Return minus the log probability of each sample's class."""
        return _log_sum_exp(f - np.einsum("ik,ik->i", y, f)[:, None])

    def derivative(self, f: Array, y: Array) -> Array:
        """Return the probabilities minus the one-hot targets."""
        return _softmax(f) - y

    def second_derivative(self, f: Array, y: Array) -> Array:  # noqa: ARG002 -- the same for every class
        """Return the diagonal p(1 - p)."""
        p = _softmax(f)
        return p * (1.0 - p)

    def curvature(self, f: Array, y: Array, s: Array) -> Curvature:  # noqa: ARG002 -- the same for every class
        """Return s·(diag(p) - pp')."""
        p = _softmax(f)
        return Curvature(p * s[:, None], p * np.sqrt(s)[:, None])

    def start(self, y: Array, s: Array) -> Array:
        """Return centred log priors, kept finite where a class has no weight."""
        log_prior = np.log(np.maximum(_means(s, y), 1e-10))
        return log_prior - log_prior.mean()

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return Σ q ln q with q = u + y on the simplex."""
        q, outside = _clipped(u + y, 0.0, 1.0)
        outside = outside | (np.abs(q.sum(axis=1) - 1.0) > 1e-9)
        return _sum_where(-entr(q), outside)


class Poisson(Loss):
    """exp(f) - y·f: the mean is exp(f)."""

    name = "poisson"
    exponential = True
    positive_target = True
    scalable = False

    @staticmethod
    def _mean(f: Array) -> Array:
        # finite however far a trial step goes, so that a sample of weight zero stays without influence
        return np.exp(np.minimum(f, 700.0))

    def per_sample(self, f: Array, y: Array) -> Array:
        """Return exp(f) - y·f, summed over outputs."""
        return (self._mean(f) - y * f).sum(axis=1)

    def derivative(self, f: Array, y: Array) -> Array:
        """Return exp(f) - y."""
        return self._mean(f) - y

    def second_derivative(self, f: Array, y: Array) -> Array:  # noqa: ARG002 -- the same for every count
        """Return exp(f)."""
        return self._mean(f)

    def start(self, y: Array, s: Array) -> Array:
        """Return the log of the weighted mean."""
        return np.log(np.maximum(_means(s, y), 1e-10))

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return q ln q - q with q = u + y >= 0."""
        q, outside = _clipped(u + y, 0.0, np.inf)
        return _sum_where(xlogy(q, q) - q, outside)

    def least(self, y: Array, s: Array) -> float:
        """Return the loss at f = ln y."""
        return float(s @ (y - xlogy(y, y)).sum(axis=1))

    def response(self, f: Array) -> Array:
        """Return exp(f)."""
        return np.exp(f)

    def require_target(self, y: Array, weight: Array) -> None:
        """Refuse targets below zero, and targets without a positive one of nonzero weight."""
        bad = np.argwhere(np.atleast_1d(y) < 0.0)
        if bad.size:
            row = int(bad[0][0])
            held = np.ravel(y[row])
            msg = f"loss='poisson' needs y >= 0, but row {row} of y holds {held}; use loss='squared' or 'huber'"
            raise ValueError(msg)
        if not (y.reshape(y.shape[0], -1)[weight > 0.0] > 0.0).any(axis=0).all():
            msg = "loss='poisson' needs a positive y somewhere, but y is zero in every row of nonzero weight"
            raise ValueError(msg)


class SquaredHinge(Loss):
    """½ max(0, 1 - ρ)² with the margin ρ = y·f."""

    name = "squared_hinge"
    task = "classes"
    margin = True
    gain_floor = 0.1
    piecewise = True

    def per_sample(self, f: Array, y: Array) -> Array:
        """Return ½ max(0, 1 - ρ)², summed over outputs."""
        slack = np.maximum(0.0, 1.0 - y * f)
        return 0.5 * np.einsum("ik,ik->i", slack, slack)

    def derivative(self, f: Array, y: Array) -> Array:
        """Return -y·max(0, 1 - ρ)."""
        return -y * np.maximum(0.0, 1.0 - y * f)

    def second_derivative(self, f: Array, y: Array) -> Array:
        """Return one where the margin is below one, else zero."""
        return (y * f < 1.0).astype(np.float64)

    def majorizer(self, f: Array, y: Array, s: Array) -> Curvature:  # noqa: ARG002 -- constant
        """Return curvature one everywhere, which bounds the loss from above."""
        return Curvature(np.ones_like(f) * s[:, None])

    def start(self, y: Array, s: Array) -> Array:
        """Return the difference of the class weights, the optimum while every margin is below one."""
        return _means(s, y)

    def conjugate(self, u: Array, y: Array) -> Array:
        """Return -a + ½a² with a = -u·y >= 0."""
        a, outside = _clipped(-u * y, 0.0, np.inf)
        return _sum_where(a * (0.5 * a - 1.0), outside)


LOSSES: dict[str, type[Loss]] = {
    loss.name: loss for loss in (Logistic, Multinomial, Squared, Huber, Poisson, SquaredHinge)
}


def make_loss(name: str, *, delta: float = 1.35) -> Loss:
    """Return the loss of that name (``delta`` is Huber's).

    Examples
    --------
    >>> import numpy as np
    >>> loss = make_loss("logistic")
    >>> round(loss.value(np.zeros((2, 1)), np.array([[1.0], [-1.0]]), np.full(2, 0.5)), 4)
    0.6931
    """
    return Huber(delta=delta) if name == "huber" else LOSSES[name]()


def loss_names(task: Task, *, besides: tuple[str, ...] = ("auto",)) -> set[str]:
    """Return the names of the losses for such targets, and ``besides`` what else may stand in their place."""
    return {name for name, loss in LOSSES.items() if loss.task == task} | set(besides)


def loss_facts(loss: str | Loss) -> Loss | type[Loss]:
    """Return where to look up what is said of a loss; for a name that none has, what is said of losses in general."""
    return LOSSES.get(loss, Loss) if isinstance(loss, str) else loss


def resolve_loss(loss: str | Loss, task: Task, *, n_classes: int = 2, delta: float = 1.35) -> Loss:
    """Return the loss that a user means for such targets.

    Raises
    ------
    ValueError
        If it is a loss for targets of another kind.
    """
    if isinstance(loss, str):
        name = loss if loss != "auto" else _usual(task, n_classes)
        return make_loss(name, delta=delta)
    if loss.task != task:
        msg = (
            f"loss={loss.name!r} is for {loss.task}, but the targets are {task}; use one of {sorted(loss_names(task))}"
        )
        raise ValueError(msg)
    return loss


def _usual(task: Task, n_classes: int) -> str:
    if task == "numbers":
        return "squared"
    return "logistic" if n_classes == 2 else "multinomial"
