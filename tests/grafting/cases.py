"""Random problems of every kind that a linear fit must solve: shapes, ranks, scales, storages, weights, bags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from skgraft import GraftClassifier, GraftRegressor

from .kkt import Criterion

Array = np.ndarray
SINGLE = ("squared", "huber", "poisson", "logistic", "squared_hinge", "multinomial")
# loss, number of outputs: several targets, more classes, one class against the rest
SEVERAL = (
    ("squared", 3),
    ("huber", 3),
    ("poisson", 3),
    ("multinomial", 4),
    ("logistic", 3),
    ("squared_hinge", 3),
)
STORAGES = ("dense_f", "dense_c", "csc", "csr")


@dataclass(frozen=True)
class Case:
    """Data and parameters for an estimator, and the same as a :class:`Criterion`."""

    X: Any
    labels: Array
    sample_weight: Array | None
    parameters: dict[str, Any]
    criterion: Criterion

    def fit(self, **changes: Any) -> Any:
        """Return the fitted estimator."""
        regression = self.criterion.loss in {"squared", "huber", "poisson"}
        kind = GraftRegressor if regression else GraftClassifier
        model = kind(**{**self.parameters, **changes})
        return model.fit(self.X, self.labels, sample_weight=self.sample_weight)


def design(rng: np.random.Generator, n: int, p: int, *, nasty: bool) -> Array:
    """Return columns that may be collinear, duplicate, constant, rare, heavy-tailed or of wild scales."""
    X = rng.standard_normal((n, p))
    if not nasty:
        return X
    kind = rng.integers(0, 7)
    if kind == 1:  # low rank
        rank = int(rng.integers(1, max(2, min(n, p) // 2)))
        X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p))
    if kind == 2:  # duplicates
        X = X[:, rng.integers(0, max(1, p // 3), p)]
    if kind == 3:  # strongly correlated
        X += 5.0 * rng.standard_normal((n, 1))
    if kind == 4:  # rare and heavy-tailed
        X = (rng.random((n, p)) < 0.1) * rng.standard_t(1.5, (n, p))
    if kind == 5:  # off centre
        X += rng.uniform(-20.0, 20.0, p)
    if kind == 6:  # far off centre
        X += 10.0 ** rng.uniform(0.0, 3.0, p)
    if rng.random() < 0.5:
        X *= 10.0 ** rng.uniform(-8.0, 8.0, p)
    if rng.random() < 0.4:
        still = rng.random(p) < 0.2
        X[:, still] = rng.choice([0.0, 7.3, -1e5], still.sum())
    return X


def targets(rng: np.random.Generator, loss: str, f: Array, k: int, *, separable: bool) -> tuple[Array, Array]:
    """Return labels as an estimator takes them and as the loss is encoded."""
    n, noise = f.size, 0.0 if separable else 1.0
    several = f[:, None] * rng.standard_normal(k) if k > 1 else f[:, None]
    if loss in {"squared", "huber"}:
        tail = rng.standard_normal((n, k)) if loss == "squared" else rng.standard_t(1.2, (n, k))
        y = (several + tail) * rng.choice([1e-3, 1.0, 1e3])
        return (y if k > 1 else y[:, 0]), y
    if loss == "poisson":
        y = rng.poisson(np.exp(np.clip(several, -6.0, 6.0) + rng.choice([-1.0, 0.0, 2.0]))).astype(float)
        y[rng.integers(0, n)] += 1.0
        return (y if k > 1 else y[:, 0]), y
    classes = max(k, 2 if loss != "multinomial" else 3)
    codes = np.argmax(f[:, None] * rng.standard_normal(classes) + noise * rng.gumbel(size=(n, classes)), axis=1)
    codes[:classes] = np.arange(classes)
    if loss == "multinomial":
        return codes, np.eye(classes)[codes]
    if classes == 2:
        return codes, np.where(codes == 1, 1.0, -1.0)[:, None]
    return codes, np.where(codes[:, None] == np.arange(classes), 1.0, -1.0)


def stored(X: Array, storage: str, dtype: type, *, wide: bool) -> Any:
    """Return X in the given storage, with int64 indices if ``wide``."""
    if storage == "dense_f":
        return np.asfortranarray(X, dtype=dtype)
    if storage == "dense_c":
        return np.ascontiguousarray(X, dtype=dtype)
    matrix = (sp.csc_matrix if storage == "csc" else sp.csr_matrix)(X.astype(dtype))
    if wide:
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def make_case(loss: str, seed: int, *, k: int = 1, nasty: bool = True, largest: int = 150) -> Case:
    """Return the problem number ``seed`` of a loss; tame ones (``nasty=False``) suit slow solvers."""
    rng = np.random.default_rng([seed, k, sum(loss.encode())])
    n = int(rng.integers(12, 120)) if nasty else int(rng.integers(40, 80))
    p = int(rng.integers(1, largest)) if nasty else int(rng.integers(3, 15))
    X = design(rng, n, p, nasty=nasty)
    dtype = np.float32 if rng.random() < 0.3 else np.float64
    storage = STORAGES[seed % 4]
    X = X.astype(dtype).astype(np.float64)
    true = np.where(rng.random(p) < max(0.1, 4.0 / p), rng.standard_normal(p), 0.0)
    varies = np.ptp(X, axis=0) > 0.0
    f = (X - X.mean(axis=0)) @ np.where(varies, true / np.where(varies, X.std(axis=0), 1.0), 0.0)
    separable = nasty and rng.random() < 0.25
    f *= (15.0 if separable else 1.5) / max(f.std(), 1e-12)
    labels, y = targets(rng, loss, f, k, separable=separable)
    s = np.ones(n)
    if rng.random() < 0.4:
        s = rng.choice([0.0, 0.5, 1.0, 10.0], n)
        s[:4] = 1.0
    a = np.ones(p)
    if rng.random() < 0.4:
        # without a penalty, separable classes and impossible counts have no minimum to end at
        may_be_free = loss in {"squared", "huber", "squared_hinge"} or (nasty is False and not separable)
        a = np.where((rng.random(p) < 0.1) & may_be_free, 0.0, rng.uniform(0.3, 3.0, p))
    bags = rng.integers(0, max(1, p // 4), p) if rng.random() < 0.3 else None
    base = Criterion(
        X, y, s / s.sum(), loss, a=a, bags=bags, positive=bool(rng.random() < 0.25),
        intercept=bool(rng.random() < 0.8), standardize=bool(rng.random() < 0.7),
        delta=float(rng.choice([0.02, 0.3, 1.35])) * float(np.abs(y - np.median(y, axis=0)).mean() + 1e-9),
    )  # fmt: skip
    unit = base.null_gradient()
    share = float(rng.choice([0.5, 0.1, 0.01, 1e-3] if nasty else [0.3, 0.1, 0.03]))
    kind = rng.choice(["l1", "l1", "elastic", "ridge"])
    l1 = share * unit * (kind != "ridge")
    l2 = 0.0 if kind == "l1" else share * max(unit, 1e-12) * float(rng.choice([0.1, 1.0]))
    group_l1 = 0.0 if bags is None else 0.5 * share * unit
    if bags is not None and rng.random() < 0.5:
        l1 = 0.0
    values = {"l1": l1, "l2": l2, "group_l1": group_l1}
    criterion = Criterion(**{**base.__dict__, **values})
    parameters = {
        **values, "loss": loss, "penalty_weights": a, "groups": bags, "positive": base.positive,
        "fit_intercept": base.intercept, "standardize": base.standardize,
    }  # fmt: skip
    if loss == "huber":
        parameters["delta"] = base.delta
    wide = bool(rng.random() < 0.3)
    weights = None if (s == 1.0).all() else s
    return Case(stored(X, storage, dtype, wide=wide), labels, weights, parameters, criterion)
