"""Every parameter of the linear estimators does what its description says.

Most tests hold the estimators against the criterion itself (eq. 7), written down here once more and computed
from ``coef_`` and ``intercept_`` alone.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit, logsumexp, softmax
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    MultiTaskLasso,
    PoissonRegressor,
    Ridge,
)
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import compute_sample_weight

from skgraft import GraftClassifier, GraftRegressor, graft_path, l1_max

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

LOSSES = ["logistic", "multinomial", "squared_hinge", "squared", "huber", "poisson"]
every_loss = pytest.mark.parametrize("loss", LOSSES)
both = pytest.mark.parametrize("estimator", [GraftClassifier, GraftRegressor])


# --- data ---


def features(n_samples=100, n_features=10, seed=0):
    """Return columns that share a common part, so that they compete."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_samples, n_features)) + 0.7 * rng.normal(size=(n_samples, 1))


def scores(X, n_outputs=1, seed=1):
    """Return what the columns say, with noise; half of the columns say nothing."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(X.shape[1], n_outputs)) * (np.arange(X.shape[1]) % 2 == 0)[:, None]
    return X @ truth + 0.5 * rng.normal(size=(X.shape[0], n_outputs))


def numbers(X):
    return scores(X)[:, 0]


def three_targets(X):
    return scores(X, 3)


def two_classes(X):
    return (scores(X)[:, 0] > 0.3).astype(int)


def three_classes(X):
    return scores(X, 3).argmax(axis=1)


def numbers_with_outliers(X):
    y = numbers(X)
    y[::9] += 6.0
    return y


def counts(X):
    return np.random.default_rng(2).poisson(np.exp(0.3 * numbers(X)))


def estimator_for(loss, **parameters):
    regression = loss in {"squared", "huber", "poisson"}
    return (GraftRegressor if regression else GraftClassifier)(loss=loss, **parameters)


def target_for(loss, X):
    if loss == "multinomial":
        return three_classes(X)
    if loss == "poisson":
        return counts(X)
    if loss == "huber":
        return numbers_with_outliers(X)
    return numbers(X) if loss == "squared" else two_classes(X)


def data(estimator, n_samples=100, n_features=10):
    X = features(n_samples, n_features)
    return X, (two_classes(X) if estimator is GraftClassifier else numbers(X))


# --- the criterion, a second time ---


def encoded(model, y):
    """Return the targets as the loss sees them: -1/+1, one-hot rows or numbers."""
    if not is_classifier(model):
        return np.asarray(y, dtype=float).reshape(len(y), -1)
    codes = np.searchsorted(model.classes_, y)
    if model.loss_ == "multinomial":
        return np.eye(model.classes_.size)[codes]
    if model.classes_.size == 2:
        return np.where(codes == 1, 1.0, -1.0)[:, None]
    return np.where(codes[:, None] == np.arange(model.classes_.size), 1.0, -1.0)


def loss_and_slope(model, f, t):
    """Return the loss of each sample and its derivative with respect to the scores f."""
    if model.loss_ == "logistic":
        return np.logaddexp(0.0, -t * f).sum(axis=1), -t * expit(-t * f)
    if model.loss_ == "squared_hinge":
        slack = np.maximum(0.0, 1.0 - t * f)
        return 0.5 * (slack**2).sum(axis=1), -t * slack
    if model.loss_ == "multinomial":
        return logsumexp(f, axis=1) - (t * f).sum(axis=1), softmax(f, axis=1) - t
    if model.loss_ == "poisson":
        return (np.exp(f) - t * f).sum(axis=1), np.exp(f) - t
    d = f - t
    if model.loss_ == "squared":
        return 0.5 * (d**2).sum(axis=1), d
    inside = np.abs(d) <= model.delta
    beyond = model.delta * (np.abs(d) - 0.5 * model.delta)
    return np.where(inside, 0.5 * d**2, beyond).sum(axis=1), np.clip(d, -model.delta, model.delta)


class Facts:
    """What eq. 7 says of a fitted model, in the coordinates in which the penalties are meant."""

    def __init__(self, model, X, y, sample_weight=None):
        X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
        s = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        s = s / s.sum()
        coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
        mean = s @ X if model.fit_intercept else np.zeros(X.shape[1])
        self.scale = np.sqrt(s @ (X - mean) ** 2) if model.standardize else np.ones(X.shape[1])
        loss, slope = loss_and_slope(model, X @ coef.T + intercept, encoded(model, y))
        self.loss = s @ loss
        self.w = (coef * self.scale).T
        self.gradient = ((X - mean) / self.scale).T @ (s[:, None] * slope)  # (n_features, n_outputs)
        self.intercept_gradient = s @ slope
        a = model.penalty_weights
        self.a = np.ones((X.shape[1], 1)) if a is None else np.asarray(a, dtype=float)[:, None]
        self.model = model

    def objective(self, groups=None):
        """Return C; ``groups`` is a label for each feature."""
        groups = np.arange(self.w.shape[0]) if groups is None else np.asarray(groups)
        m = self.model
        value = self.loss + m.l1 * (self.a * abs(self.w)).sum() + m.l2 * (self.a * self.w**2).sum()
        for label in np.unique(groups):
            mine = self.w[groups == label]
            value += m.group_l1 * np.sqrt(len(mine)) * np.linalg.norm(mine)
        return value + m.l0 * m.total_cost_

    def violation(self):
        """Return the largest violation of the optimality conditions of the l1 and l2 penalties."""
        m = self.model
        slope = self.gradient + 2.0 * m.l2 * self.a * self.w
        kkt_excess = -slope if m.positive else abs(slope)
        at_zero = np.maximum(kkt_excess - m.l1 * self.a, 0.0)
        elsewhere = abs(slope + m.l1 * self.a * np.sign(self.w))
        worst = np.where(self.w == 0.0, at_zero, elsewhere).max()
        return max(worst, abs(self.intercept_gradient).max()) if m.fit_intercept else worst


def unit(model, X, y, sample_weight=None):
    """Return the largest gradient of the empty model, in whose units ``tol`` is."""
    empty = type(model)(**{**model.get_params(), "l1": 1e9, "keep": None, "penalty_weights": None, "l0": 0.0})
    return abs(Facts(empty.fit(X, y, sample_weight), X, y, sample_weight).gradient).max()


# --- the criterion: loss, l1, l2, l0, group_l1 ---


@every_loss
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("penalty", [{"l1": 0.02}, {"l1": 0.01, "l2": 0.05}, {"l1": 0.0, "l2": 0.1}], ids=str)
def test_the_result_is_the_optimum_of_the_criterion(loss, standardize, fit_intercept, penalty):
    X = features()
    y = target_for(loss, X)
    model = estimator_for(loss, standardize=standardize, fit_intercept=fit_intercept, **penalty).fit(X, y)
    facts = Facts(model, X, y)
    assert facts.violation() <= 1.001e-6 * unit(model, X, y)
    assert_allclose(model.objective_, facts.objective(), rtol=1e-12)
    assert model.certificate_.converged
    assert model.certificate_.kkt_violation <= 1e-6
    assert 0.0 <= model.certificate_.duality_gap <= 1e-6
    if not fit_intercept:
        assert_array_equal(model.intercept_, np.zeros_like(model.intercept_))


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_margin_losses_treat_three_classes_one_against_the_rest(loss):
    X = features()
    y = three_classes(X)
    model = GraftClassifier(loss=loss, l1=0.02).fit(X, y)
    each = [GraftClassifier(loss=loss, l1=0.02).fit(X, y == c) for c in range(3)]
    assert_allclose(model.coef_, np.vstack([one.coef_ for one in each]), rtol=0, atol=1e-6)
    assert_allclose(model.objective_, sum(one.objective_ for one in each), rtol=1e-9)


def test_auto_is_logistic_for_two_classes_multinomial_for_more_and_squared_for_numbers():
    X = features()
    assert GraftClassifier().fit(X, two_classes(X)).loss_ == "logistic"
    assert GraftClassifier().fit(X, three_classes(X)).loss_ == "multinomial"
    assert GraftRegressor().fit(X, numbers(X)).loss_ == "squared"


def test_multinomial_with_two_classes_is_logistic():
    # weights (-w/2, w/2) of the two classes pay l1·|w|, as much as the weight w of the logistic model
    X = features()
    y = two_classes(X)
    pair = GraftClassifier(loss="multinomial", l1=0.02).fit(X, y)
    one = GraftClassifier(loss="logistic", l1=0.02).fit(X, y)
    assert_allclose(pair.objective_, one.objective_, rtol=1e-9)
    assert_allclose(pair.decision_function(X), one.decision_function(X), rtol=0, atol=1e-5)


def test_huber_is_the_squared_loss_while_delta_is_larger_than_every_residual():
    X = features()
    y = numbers(X)
    wide = GraftRegressor(loss="huber", delta=1e3, l1=0.05).fit(X, y)
    square = GraftRegressor(loss="squared", l1=0.05).fit(X, y)
    assert_allclose(wide.coef_, square.coef_, rtol=0, atol=1e-6)
    assert_allclose(wide.objective_, square.objective_, rtol=1e-9)


@pytest.mark.parametrize("delta", [1e-6, 1e-3, 0.1, 1.35, 10.0])
def test_huber_is_solved_whatever_its_delta(delta):
    X = features()
    y = numbers(X)
    y[::7] += 50.0
    model = GraftRegressor(loss="huber", delta=delta, l1=0.01 * delta).fit(X, y)
    assert Facts(model, X, y).violation() <= 1.001e-6 * unit(model, X, y)
    assert model.certificate_.converged


def test_poisson_predicts_means():
    X = features()
    y = counts(X)
    model = GraftRegressor(loss="poisson", l1=0.01).fit(X, y)
    assert_allclose(model.predict(X), np.exp(X @ model.coef_ + model.intercept_), rtol=1e-12)
    assert_allclose(model.predict(X).mean(), y.mean(), rtol=1e-5)  # the intercept's condition


@every_loss
def test_a_larger_l1_selects_fewer_features_and_none_above_l1_max(loss):
    X = features()
    y = target_for(loss, X)
    top = l1_max(X, y, loss=loss)
    sizes = [abs(estimator_for(loss, l1=f * top).fit(X, y).coef_).sum() for f in (0.05, 0.2, 0.5, 1.001)]
    assert sizes[0] > sizes[1] > sizes[2] > sizes[3] == 0.0


@every_loss
def test_without_penalties_the_gradient_vanishes(loss):
    X = features()
    y = target_for(loss, X)
    model = estimator_for(loss, l1=0.0).fit(X, y)
    assert abs(Facts(model, X, y).gradient).max() <= 1.001e-6 * unit(model, X, y)
    assert model.support_.all()


@every_loss
@pytest.mark.parametrize("groups", [None, [0, 0, 0, 1, 1, 2, 2, 2, 2, 3]], ids=["single", "bags"])
@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_group_l1_selects_whole_bags_at_their_optimum(loss, groups, l1):
    X = features()
    y = target_for(loss, X)
    model = estimator_for(loss, l1=l1, group_l1=0.05, groups=groups).fit(X, y)
    facts = Facts(model, X, y)
    of = np.arange(10) if groups is None else np.array(groups)
    assert_allclose(model.objective_, facts.objective(of), rtol=1e-12)
    unit_ = unit(model, X, y)
    selected = []
    for label in np.unique(of):
        w, g = facts.w[of == label], facts.gradient[of == label]
        length, norm = np.linalg.norm(w), 0.05 * np.sqrt(len(w))
        beyond = np.maximum(abs(g) - l1, 0.0)
        selected.append(length > 0)
        if length == 0.0:
            assert np.linalg.norm(beyond) <= norm + 1.001e-6 * unit_
        else:
            at = abs(g + norm * w / length + l1 * np.sign(w))
            assert np.where(w == 0.0, beyond, at).max() <= 1.001e-6 * unit_
            assert l1 > 0.0 or (w != 0.0).all()
    assert any(selected)
    assert model.certificate_.converged


def test_a_large_group_l1_leaves_bags_out_and_a_huge_one_everything():
    X = features()
    y = numbers(X)
    groups = np.repeat(np.arange(5), 2)
    n_bags = [
        np.unique(groups[GraftRegressor(l1=0.0, group_l1=g, groups=groups).fit(X, y).support_]).size
        for g in (0.01, 0.5, 100.0)
    ]
    assert n_bags[0] == 5
    assert 0 < n_bags[1] < 5
    assert n_bags[2] == 0


def test_l0_charges_for_every_feature():
    X = features()
    y = numbers(X)
    for l0 in (0.003, 0.03, 0.3):
        model = GraftRegressor(l1=0.0, l0=l0).fit(X, y)
        assert model.total_cost_ == model.support_.sum()
        assert_allclose(model.objective_, Facts(model, X, y).loss + l0 * model.support_.sum(), rtol=1e-12)
    assert GraftRegressor(l1=0.0, l0=1e6).fit(X, y).support_.sum() == 0


def least_squares(X, y, subset):
    """Return ½ the mean squared error of least squares on some columns."""
    if not len(subset):
        return 0.5 * np.var(y)
    fit = LinearRegression().fit(X[:, list(subset)], y)
    return 0.5 * np.mean((y - fit.predict(X[:, list(subset)])) ** 2)


def neighbours(subset, n_features):
    """Return the subsets that a single drop, addition or swap makes of one."""
    subset = set(subset)
    outside = set(range(n_features)) - subset
    drops = [subset - {j} for j in subset]
    return drops + [subset | {j} for j in outside] + [d | {j} for d in drops for j in outside]


@pytest.mark.parametrize("l0", [0.005, 0.05, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_no_single_move_improves_a_polished_choice(l0, seed):
    X = features(40, 10, seed)
    y = scores(X, seed=seed)[:, 0]
    model = GraftRegressor(l1=0.0, l0=l0).fit(X, y)
    best = min(least_squares(X, y, sorted(s)) + l0 * len(s) for s in neighbours(np.flatnonzero(model.support_), 10))
    assert model.objective_ <= best * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_no_single_swap_improves_a_polished_choice_within_a_budget(seed):
    X = features(40, 10, seed)
    y = scores(X, seed=seed)[:, 0]
    model = GraftRegressor(l1=0.0, max_features=3).fit(X, y)
    near = [s for s in neighbours(np.flatnonzero(model.support_), 10) if len(s) <= 3]
    assert model.objective_ <= min(least_squares(X, y, sorted(s)) for s in near) * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["logistic", "poisson", "huber", "squared_hinge", "multinomial"])
def test_no_single_move_improves_a_polished_choice_of_any_loss(loss):
    X = features(60, 6)
    y = target_for(loss, X)
    penalty = {"l1": 0.001, "l2": 0.01}
    model = estimator_for(loss, l0=0.03, **penalty).fit(X, y)
    value = {}
    for subset in neighbours(np.flatnonzero(model.support_), 6):
        some = sorted(subset)
        part = estimator_for(loss, **penalty).fit(X[:, some], y) if some else None
        value[tuple(some)] = part.objective_ + 0.03 * part.total_cost_ if part else np.inf
    assert 0 < model.support_.sum() < 6
    assert model.objective_ <= min(value.values()) * (1 + 1e-7)


# --- agreement with scikit-learn ---


def test_l1_is_alpha_of_the_lasso():
    X = features()
    y = numbers(X)
    for intercept, positive in itertools.product([True, False], repeat=2):
        common = {"fit_intercept": intercept, "positive": positive}
        ours = GraftRegressor(l1=0.2, standardize=False, **common).fit(X, y)
        theirs = Lasso(alpha=0.2, tol=1e-14, max_iter=100_000, **common).fit(X, y)
        assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-6)
        assert_allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=1e-6)
        value = 0.5 * np.mean((y - theirs.predict(X)) ** 2) + 0.2 * abs(theirs.coef_).sum()
        assert_allclose(ours.objective_, value, rtol=1e-8)
        assert 0 < ours.support_.sum() < 10


@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.9])
def test_l1_and_l2_are_the_elastic_net(ratio):
    X = features()
    y = numbers(X)
    alpha = 0.3
    # scikit-learn: ½α(1 - ratio)·Σw²; here l2·Σw²
    ours = GraftRegressor(l1=alpha * ratio, l2=0.5 * alpha * (1 - ratio), standardize=False).fit(X, y)
    theirs = ElasticNet(alpha=alpha, l1_ratio=ratio, tol=1e-14, max_iter=100_000).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-6)
    value = 0.5 * np.mean((y - theirs.predict(X)) ** 2) + alpha * (
        ratio * abs(theirs.coef_).sum() + 0.5 * (1 - ratio) * (theirs.coef_**2).sum()
    )
    assert_allclose(ours.objective_, value, rtol=1e-8)


def test_l2_alone_is_ridge():
    X = features()
    y = three_targets(X)
    ours = GraftRegressor(l1=0.0, l2=0.1, standardize=False).fit(X, y)
    theirs = Ridge(alpha=2 * 0.1 * len(y)).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-5)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=1e-5)


@pytest.mark.parametrize("target", [two_classes, three_classes])
def test_l1_is_one_over_nc_of_logistic_regression(target):
    X = features(80, 6)
    y = target(X)
    ours = GraftClassifier(l1=0.02, standardize=False).fit(X, y)
    theirs = LogisticRegression(
        C=1 / (0.02 * len(y)), l1_ratio=1, solver="saga", tol=1e-12, max_iter=100_000, random_state=0
    ).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-5)
    chosen = np.searchsorted(ours.classes_, y)
    value = -theirs.predict_log_proba(X)[np.arange(len(y)), chosen].mean() + 0.02 * abs(theirs.coef_).sum()
    assert_allclose(ours.objective_, value, rtol=1e-8)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-5)
    assert_allclose(ours.predict_log_proba(X), np.log(ours.predict_proba(X)), rtol=1e-12)


def test_squared_hinge_is_that_of_the_linear_svm():
    X = features()
    y = two_classes(X)
    ours = GraftClassifier(loss="squared_hinge", l1=0.05, standardize=False, fit_intercept=False).fit(X, y)
    # liblinear: C·Σ max(0, 1 - ρ)² + Σ|w|, without the ½
    theirs = LinearSVC(
        penalty="l1", C=1 / (2 * 0.05 * len(y)), dual=False, fit_intercept=False, tol=1e-9, max_iter=100_000
    ).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-5)


def test_poisson_is_that_of_scikit_learn():
    X = features()
    y = counts(X)
    ours = GraftRegressor(loss="poisson", l1=0.0, l2=0.05, standardize=False).fit(X, y)
    theirs = PoissonRegressor(alpha=0.1, solver="newton-cholesky", tol=1e-12).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-5)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=0, atol=1e-5)


def test_group_l1_is_alpha_of_the_multi_task_lasso():
    X = features()
    Y = three_targets(X)
    ours = GraftRegressor(l1=0.0, group_l1=0.5, standardize=False).fit(X, Y)
    theirs = MultiTaskLasso(alpha=0.5, tol=1e-14, max_iter=100_000).fit(X, Y)
    assert_allclose(ours.coef_, theirs.coef_, rtol=0, atol=1e-6)
    value = 0.5 * ((Y - theirs.predict(X)) ** 2).sum(axis=1).mean()
    value += 0.5 * np.linalg.norm(theirs.coef_, axis=0).sum()
    assert_allclose(ours.objective_, value, rtol=1e-8)
    assert 0 < ours.support_.sum() < 10
    assert ((ours.coef_ != 0.0).all(axis=0) == ours.support_).all()


def test_several_targets_without_groups_are_as_many_lassos():
    X = features()
    Y = three_targets(X)
    together = GraftRegressor(l1=0.1).fit(X, Y)
    each = [GraftRegressor(l1=0.1).fit(X, Y[:, k]) for k in range(3)]
    assert_allclose(together.coef_, np.vstack([one.coef_ for one in each]), rtol=0, atol=1e-6)
    assert_allclose(together.objective_, sum(one.objective_ for one in each), rtol=1e-9)


# --- penalty_weights ---


@every_loss
def test_a_penalty_weight_of_zero_leaves_a_feature_unpenalised(loss):
    X = features()
    y = target_for(loss, X)
    a = np.ones(10)
    a[[1, 4]] = 0.0
    for penalty in ({"l1": 0.1}, {"l1": 10.0}, {"l1": 0.05, "l2": 0.1}, {"l1": 0.0, "group_l1": 0.1}):
        model = estimator_for(loss, penalty_weights=a, **penalty).fit(X, y)
        facts = Facts(model, X, y)
        assert abs(facts.gradient[[1, 4]]).max() <= 1.001e-6 * unit(model, X, y)
        assert model.support_[[1, 4]].all()
        assert model.certificate_.converged


@every_loss
def test_penalty_weights_multiply_l1_and_l2(loss):
    X = features()
    y = target_for(loss, X)
    a = np.linspace(0.0, 3.0, 10)
    model = estimator_for(loss, penalty_weights=a, l1=0.02, l2=0.03).fit(X, y)
    facts = Facts(model, X, y)
    assert facts.violation() <= 1.001e-6 * unit(model, X, y)
    assert_allclose(model.objective_, facts.objective(), rtol=1e-12)


def test_penalty_weights_are_the_lasso_of_rescaled_columns():
    X = features()
    y = numbers(X)
    a = np.linspace(0.2, 3.0, 10)
    ours = GraftRegressor(l1=0.1, penalty_weights=a, standardize=False).fit(X, y)
    theirs = Lasso(alpha=0.1, tol=1e-14, max_iter=100_000).fit(X / a, y)
    assert_allclose(ours.coef_, theirs.coef_ / a, rtol=0, atol=1e-6)


def test_penalty_weights_may_be_named():
    X = pd.DataFrame(features(), columns=[f"c{j}" for j in range(10)])
    y = numbers(X.to_numpy())
    by_name = GraftRegressor(l1=0.1, penalty_weights={"c3": 0.0, "c5": 4.0}).fit(X, y)
    a = np.ones(10)
    a[[3, 5]] = 0.0, 4.0
    assert_array_equal(by_name.coef_, GraftRegressor(l1=0.1, penalty_weights=a).fit(X, y).coef_)


# --- feature_costs and groups ---


@every_loss
@pytest.mark.parametrize("first_is_dear", [True, False])
def test_the_dearer_of_two_equal_columns_is_never_chosen(loss, first_is_dear):
    X = features(100, 5)
    y = target_for(loss, X)
    X = np.hstack([X, X])
    prices = np.repeat([1.1, 1.0] if first_is_dear else [1.0, 1.1], 5)
    for limits in ({"l0": 0.01}, {"l0": 0.01, "max_cost": 2.0}, {"l0": 0.01, "max_features": 2}):
        model = estimator_for(loss, l1=0.001, feature_costs=prices, **limits).fit(X, y)
        assert model.support_[prices == 1.0].any()
        assert not model.support_[prices == 1.1].any()
        assert model.total_cost_ == model.support_.sum()


def test_costs_may_be_an_array_or_named():
    X = pd.DataFrame(features(), columns=[f"c{j}" for j in range(10)])
    y = numbers(X.to_numpy())
    costs = np.ones(10)
    costs[[0, 4]] = 3.0, 0.5
    by_name = GraftRegressor(l1=0.0, l0=0.02, feature_costs={"c0": 3.0, "c4": 0.5}).fit(X, y)
    in_order = GraftRegressor(l1=0.0, l0=0.02, feature_costs=costs).fit(X, y)
    assert_array_equal(by_name.coef_, in_order.coef_)
    assert by_name.total_cost_ == in_order.total_cost_ == costs[in_order.support_].sum()
    assert_allclose(by_name.objective_, Facts(by_name, X, y).objective(), rtol=1e-12)


def test_a_feature_that_costs_nothing_is_only_tested_by_its_gradient():
    X = features()
    y = numbers(X)
    free = GraftRegressor(l1=0.05, l0=1e3, feature_costs=np.zeros(10)).fit(X, y)
    assert_allclose(free.coef_, GraftRegressor(l1=0.05).fit(X, y).coef_, rtol=0, atol=1e-6)
    assert free.total_cost_ == 0.0


BAGS = {"left": [0, 1, 2], "right": [3, 4, 5, 6]}
LABELS = ["left", "left", "left", "right", "right", "right", "right", "a", "b", "c"]


@every_loss
@pytest.mark.parametrize("limits", [{"l0": 0.02}, {"l0": 0.002, "max_cost": 2.5}], ids=str)
def test_a_bag_is_paid_for_once(loss, limits):
    X = features()
    y = target_for(loss, X)
    model = estimator_for(loss, l1=0.001, groups=LABELS, feature_costs={"left": 1.5}, **limits).fit(X, y)
    price = {label: 1.5 if label == "left" else 1.0 for label in LABELS}
    bought = {LABELS[j] for j in np.flatnonzero(model.support_)}
    assert model.total_cost_ == sum(price[label] for label in bought)
    assert model.support_.sum() > len(bought)
    assert_allclose(model.objective_, Facts(model, X, y).objective(), rtol=1e-12)
    assert model.history_[-1].cost == model.total_cost_


@pytest.mark.parametrize("penalty", [{"l1": 0.001, "l0": 0.02}, {"l1": 0.0, "group_l1": 0.1}], ids=str)
@both
def test_groups_may_be_labels_or_a_mapping(estimator, penalty):
    X, y = data(estimator)
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(10)])
    named = {bag: [f"c{j}" for j in members] for bag, members in BAGS.items()}
    by_label = estimator(groups=LABELS, **penalty).fit(X, y)
    assert_allclose(estimator(groups=BAGS, **penalty).fit(X, y).coef_, by_label.coef_, rtol=0, atol=1e-8)
    assert_allclose(estimator(groups=named, **penalty).fit(table, y).coef_, by_label.coef_, rtol=0, atol=1e-8)
    integers = np.unique(LABELS, return_inverse=True)[1]
    assert_allclose(estimator(groups=integers, **penalty).fit(X, y).coef_, by_label.coef_, rtol=0, atol=1e-8)


def test_once_a_bag_is_bought_its_other_features_are_free():
    X = features()
    y = numbers(X)
    model = GraftRegressor(l1=0.02, l0=0.05, groups=LABELS).fit(X, y)
    facts = Facts(model, X, y)
    bought = np.isin(LABELS, np.array(LABELS)[model.support_])
    slope = abs(facts.gradient + 0.02 * np.sign(facts.w))
    violation = np.where(facts.w == 0.0, slope - 0.02, slope)
    assert violation[bought].max() <= 1.001e-6 * unit(model, X, y)


# --- keep ---

KEPT = np.isin(np.arange(10), [2, 7])


@pytest.mark.parametrize(
    "keep",
    [[2, 7], (7, 2), np.array([2, 7]), {2, 7}, ["c2", "c7"], np.array(["c7", "c2"]), KEPT, KEPT.tolist()],
    ids=lambda keep: f"{type(keep).__name__} {keep}",
)
@both
def test_what_is_kept_is_always_in_and_never_charged(estimator, keep):
    X, y = data(estimator)
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(10)])
    penalties = [{"l1": 1e6}, {"l1": 0.0, "l0": 1e6}, {"l1": 1e6, "l0": 1.0}, {"l1": 0.0, "group_l1": 1e6}]
    for penalty in penalties:
        model = estimator(keep=keep, **penalty).fit(table, y)
        assert_array_equal(model.support_, KEPT)
        assert model.total_cost_ == 0.0
        assert_array_equal(np.sort(model.order_), [2, 7])
        assert_array_equal(model.transform(table), X[:, KEPT])
        assert_allclose(model.objective_, Facts(model, X, y).objective(), rtol=1e-12)


@both
def test_a_single_feature_may_be_kept_by_itself(estimator):
    X, y = data(estimator)
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(10)])
    for keep in (3, "c3"):
        assert_array_equal(np.flatnonzero(estimator(l1=1e6, keep=keep).fit(table, y).support_), [3])


@both
def test_l1_and_l2_still_shrink_what_is_kept(estimator):
    X, y = data(estimator)
    kept = estimator(l1=0.05, keep=[2, 7]).fit(X, y)
    assert_allclose(kept.coef_, estimator(l1=0.05).fit(X, y).coef_, rtol=0, atol=1e-6)
    only = estimator(l1=1e6, l0=1.0, keep=[2]).fit(X, y)
    assert_array_equal(only.coef_, np.zeros_like(only.coef_))


def test_what_is_kept_uses_its_weight_when_prices_keep_the_rest_out():
    X = features()
    y = numbers(X)
    model = GraftRegressor(l1=0.0, l0=1e6, keep=[2, 7]).fit(X, y)
    direct = LinearRegression().fit(X[:, [2, 7]], y)
    assert_allclose(model.coef_[[2, 7]], direct.coef_, rtol=1e-6)
    assert_allclose(model.objective_, least_squares(X, y, [2, 7]), rtol=1e-9)


def test_kept_features_count_among_the_most_but_not_towards_the_cost():
    X = features()
    y = numbers(X)
    model = GraftRegressor(l1=0.0, keep=[3, 5], max_features=3).fit(X, y)
    assert model.support_.sum() == 3
    assert model.support_[[3, 5]].all()
    model = GraftRegressor(l1=0.0, keep=[3, 5], max_cost=2.0).fit(X, y)
    assert model.support_.sum() == 4
    assert model.total_cost_ == 2.0


def test_a_bag_with_a_kept_feature_is_open_and_never_charged():
    X = features()
    y = numbers(X)
    model = GraftRegressor(l1=0.0, l0=1e3, groups=LABELS, keep=[0]).fit(X, y)
    assert_array_equal(np.flatnonzero(model.support_), [0, 1, 2])
    assert model.total_cost_ == 0.0


# --- budgets ---


@every_loss
@pytest.mark.parametrize(
    "others",
    [
        {},
        {"l0": 0.01},
        {"polish": False},
        {"on_increase": "next", "l0": 0.01},
        {"select_unit": 4},
        {"effort": "light"},
        {"effort": "batch"},
        {"effort": "newest"},
        {"effort": "gauss_seidel"},
        {"group_l1": 0.02, "groups": LABELS},
        {"groups": LABELS},
        {"keep": [9]},
        {"fit_intercept": False, "standardize": False},
        {"positive": True},
    ],
    ids=str,
)
def test_limits_are_never_exceeded(loss, others):
    X = features(40)
    y = target_for(loss, X)
    labels = np.array(others.get("groups", np.arange(10)))
    price = {label: 0.5 + j % 3 for j, label in enumerate(np.unique(labels).tolist())}
    kept = labels[others.get("keep", [])].tolist()
    limits = [{"max_features": 2}, {"max_cost": 2.0}, {"max_features": 3, "max_cost": 2.5}]
    for limit in limits:
        seen = []
        model = estimator_for(loss, l1=0.0, l2=0.001, feature_costs=price, callback=seen.append, max_iter=50)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # 50 steps are few for some efforts
            model.set_params(**limit, **others).fit(X, y)
        bought = set(labels[model.support_].tolist()) - set(kept)
        assert model.total_cost_ == sum(price[label] for label in bought)
        assert model.total_cost_ <= limit.get("max_cost", np.inf)
        assert model.support_.sum() <= limit.get("max_features", 10)
        assert max((record.cost for record in seen), default=0) <= limit.get("max_cost", np.inf)
        assert max((record.n_selected for record in seen), default=0) <= limit.get("max_features", 10)


@pytest.mark.parametrize("limit", [{"max_features": 2}, {"max_cost": 2.0}], ids=str)
@every_loss
def test_limits_are_not_exceeded_by_restarts(loss, limit):
    X = features(30, 4)
    y = target_for(loss, X)
    model = estimator_for(loss, l1=0.0, l2=0.01, polish="thorough", random_state=0, **limit).fit(X, y)
    assert model.support_.sum() == 2


@both
def test_limits_above_what_is_needed_change_nothing(estimator):
    X, y = data(estimator)
    unlimited = estimator(l1=0.05).fit(X, y)
    for limit in ({"max_features": 10}, {"max_features": 99}, {"max_cost": 10.0}):
        limited = estimator(l1=0.05, **limit).fit(X, y)
        assert_array_equal(limited.support_, unlimited.support_)
        assert_allclose(limited.objective_, unlimited.objective_, rtol=1e-9)


@both
def test_nothing_costs_nothing(estimator):
    X, y = data(estimator)
    model = estimator(l1=0.0, max_cost=0.0).fit(X, y)
    assert not model.support_.any()
    assert model.total_cost_ == 0.0
    free = estimator(l1=0.0, max_cost=0.0, feature_costs=np.where(np.arange(10) == 4, 0.0, 1.0)).fit(X, y)
    assert_array_equal(np.flatnonzero(free.support_), [4])


@every_loss
def test_a_budget_is_used(loss):
    X = features()
    y = target_for(loss, X)
    assert estimator_for(loss, l1=0.0, l2=0.001, max_features=3).fit(X, y).support_.sum() == 3


# --- how to grow ---


@every_loss
@pytest.mark.parametrize("penalty", [{"l1": 0.02}, {"l1": 0.01, "l2": 0.02}, {"l1": 0.005, "group_l1": 0.02}], ids=str)
def test_every_effort_but_newest_ends_at_the_same_optimum(loss, penalty):
    X = features()
    y = target_for(loss, X)
    penalty = {**penalty, "groups": LABELS if "group_l1" in penalty else None}
    value = {}
    for effort in ("full", "light", "batch", "gauss_seidel", "newest"):
        with warnings.catch_warnings():
            if effort == "newest":
                warnings.simplefilter("ignore", ConvergenceWarning)
            else:
                warnings.simplefilter("error", ConvergenceWarning)
            model = estimator_for(loss, effort=effort, **penalty).fit(X, y)
        value[effort] = model.objective_
        assert model.certificate_.converged or effort == "newest"
    for effort in ("light", "batch", "gauss_seidel"):
        assert_allclose(value[effort], value["full"], rtol=1e-8)
    assert value["full"] * (1 - 1e-8) <= value["newest"]


@every_loss
def test_newest_improves_on_the_empty_model(loss):
    X = features()
    y = target_for(loss, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        newest = estimator_for(loss, l1=0.02, effort="newest").fit(X, y)
    empty = estimator_for(loss, l1=1e6).fit(X, y)
    assert newest.objective_ < empty.objective_
    assert_allclose(newest.objective_, Facts(newest, X, y).objective(), rtol=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared", "huber", "poisson"])
def test_one_feature_comes_in_at_a_time_if_told_so(loss):
    X = features()
    y = target_for(loss, X)
    model = estimator_for(loss, l1=0.02, select_unit=1).fit(X, y)
    counts_ = [0, *(record.n_selected for record in model.history_)]
    assert max(np.diff(counts_)) == 1
    assert model.n_iter_ >= model.support_.sum()
    assert_allclose(model.objective_, estimator_for(loss, l1=0.02).fit(X, y).objective_, rtol=1e-8)


@every_loss
def test_one_weight_at_a_time_begins_with_the_largest_gradient(loss):
    X = features()
    y = target_for(loss, X)
    empty = estimator_for(loss, l1=1e6).fit(X, y)
    strongest = np.argmax(abs(Facts(empty, X, y).gradient).max(axis=1))
    model = estimator_for(loss, l1=0.02, select_unit=1).fit(X, y)
    assert model.history_[0].feature == strongest
    assert model.order_[0] == strongest


@every_loss
@pytest.mark.parametrize("penalty", [{"l1": 0.005}, {"l1": 0.001, "l0": 0.005, "polish": False}], ids=str)
def test_order_is_that_of_the_history(loss, penalty):
    X = features()
    y = target_for(loss, X)
    model = estimator_for(loss, select_unit=1, **penalty).fit(X, y)
    came_in = {}
    for record in model.history_:
        if record.kind == "graft" and (loss != "multinomial" or record.feature not in came_in):
            came_in.pop(record.feature, None)  # one that left and came back is as new
            came_in[record.feature] = record.step
    assert model.order_.tolist() == [feature for feature in came_in if model.support_[feature]]


@pytest.mark.parametrize("select_unit", [1, 3, 100])
@both
def test_how_many_come_in_at_a_time_does_not_change_the_optimum(estimator, select_unit):
    X, y = data(estimator)
    model = estimator(l1=0.02, select_unit=select_unit).fit(X, y)
    assert_allclose(model.objective_, estimator(l1=0.02).fit(X, y).objective_, rtol=1e-8)


@every_loss
def test_trying_the_next_candidate_never_ends_worse_than_stopping(loss):
    for seed in range(4):
        X = features(40, 8, seed)
        y = target_for(loss, X)
        costs = 0.2 + np.random.default_rng(seed).uniform(0, 3, size=8)
        common = {"l1": 0.001, "l0": 0.03, "polish": False, "feature_costs": costs}
        stop = estimator_for(loss, on_increase="stop", **common).fit(X, y).objective_
        following = estimator_for(loss, on_increase="next", **common).fit(X, y).objective_
        assert following <= stop * (1 + 1e-9)


def test_trying_the_next_candidate_finds_what_stopping_misses():
    # the dear column has the larger gradient and does not pay; the cheap one does
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] + 0.99 * X[:, 1]
    common = {"l1": 0.0, "l0": 0.05, "polish": False, "feature_costs": [1e3, 1.0], "select_unit": 1}
    following = GraftRegressor(on_increase="next", **common).fit(X, y)
    assert_array_equal(following.support_, [False, True])


@every_loss
def test_more_polish_is_never_worse(loss):
    X = features(30, 5)
    y = target_for(loss, X)
    greedy, polished, thorough = (
        estimator_for(loss, l1=0.001, l0=0.02, polish=polish, random_state=0).fit(X, y).objective_
        for polish in (False, True, "thorough")
    )
    assert thorough <= polished * (1 + 1e-9)
    assert polished <= greedy * (1 + 1e-9)


def greedy_trap():
    """Return columns of which the third is the best single one, and of no use once the others are in."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = X[:, 0] + X[:, 1]
    X[:, 2] = y + 0.3 * rng.normal(size=100)
    return X, y


def noise(n_samples, n_features, seed):
    """Return a target that the columns do not explain, of which many subsets say nearly as much as the best."""
    return features(n_samples, n_features, seed), np.random.default_rng(seed + 100).normal(size=n_samples)


def test_polish_mends_a_greedy_mistake():
    X, y = greedy_trap()
    greedy, polished = (GraftRegressor(l1=0.0, l0=1e-3, polish=p).fit(X, y) for p in (False, True))
    assert greedy.support_.all()
    assert_array_equal(polished.support_, [True, True, False])
    assert polished.history_[-1].kind == "drop"


@pytest.mark.parametrize("seed", range(3))
def test_thorough_reaches_the_best_subset_of_a_small_problem(seed):
    X, y = noise(30, 7, seed)
    model = GraftRegressor(l1=0.0, l0=0.02, polish="thorough", random_state=0).fit(X, y)
    subsets = itertools.chain.from_iterable(itertools.combinations(range(7), k) for k in range(8))
    best = min(least_squares(X, y, subset) + 0.02 * len(subset) for subset in subsets)
    assert_allclose(model.objective_, best, rtol=1e-8)


def test_thorough_polish_can_be_repeated():
    X, y = noise(40, 40, 1)  # where the result depends on the seed
    twice = [GraftRegressor(l1=0.0, max_features=5, polish="thorough", random_state=3).fit(X, y) for _ in "ab"]
    assert "restart" in {record.kind for record in twice[0].history_}
    assert_array_equal(twice[0].coef_, twice[1].coef_)
    assert_array_equal(twice[0].order_, twice[1].order_)


# --- intercept, scale, sign ---


@every_loss
def test_standardising_is_that_of_the_scaler(loss):
    y = target_for(loss, features())
    X = features() * np.linspace(0.1, 20, 10) + np.linspace(-5, 5, 10)
    scaler = StandardScaler().fit(X)
    inside = estimator_for(loss, l1=0.03).fit(X, y)
    outside = estimator_for(loss, l1=0.03, standardize=False).fit(scaler.transform(X), y)
    back = outside.coef_ / scaler.scale_
    assert_allclose(inside.coef_ * scaler.scale_, back * scaler.scale_, rtol=0, atol=1e-6)
    assert_allclose(inside.intercept_, outside.intercept_ - back @ scaler.mean_, rtol=0, atol=1e-5)
    assert_allclose(inside.objective_, outside.objective_, rtol=1e-9)


@every_loss
def test_without_an_intercept_columns_are_divided_by_their_root_mean_square(loss):
    y = target_for(loss, features())
    X = features() * np.linspace(0.1, 20, 10) + 1.0
    size = np.sqrt((X**2).mean(axis=0))
    inside = estimator_for(loss, l1=0.03, fit_intercept=False).fit(X, y)
    outside = estimator_for(loss, l1=0.03, fit_intercept=False, standardize=False).fit(X / size, y)
    assert_allclose(inside.coef_ * size, outside.coef_, rtol=0, atol=1e-6)
    assert_array_equal(inside.intercept_, np.zeros_like(inside.intercept_))


@every_loss
def test_intercepts_are_not_penalised(loss):
    X = features()
    y = target_for(loss, X)
    model = estimator_for(loss, l1=1e3, l2=1e3).fit(X, y)
    assert not model.coef_.any()
    assert abs(Facts(model, X, y).intercept_gradient).max() <= 1e-9
    if loss == "squared":
        assert_allclose(model.intercept_, y.mean(), rtol=1e-12)


@every_loss
@pytest.mark.parametrize("l0", [0.0, 0.01])
def test_positive_weights_are_not_negative_and_optimal(loss, l0):
    X = features()
    y = target_for(loss, X)
    model = estimator_for(loss, l1=0.01, l0=l0, positive=True).fit(X, y)
    assert (model.coef_ >= 0.0).all()
    assert model.support_.any()
    if l0 == 0.0:
        assert Facts(model, X, y).violation() <= 1.001e-6 * unit(model, X, y)
    assert (estimator_for(loss, l1=0.01).fit(X, y).coef_ < 0.0).any()


# --- class_weight ---


@pytest.mark.parametrize("target", [two_classes, three_classes])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0, 1: 0.5, 2: 1.0}], ids=str)
def test_class_weights_are_sample_weights(target, class_weight):
    X = features()
    y = target(X)
    if isinstance(class_weight, dict):
        class_weight = {c: class_weight[c] for c in np.unique(y)}
    by_class = GraftClassifier(l1=0.02, class_weight=class_weight).fit(X, y)
    by_sample = GraftClassifier(l1=0.02).fit(X, y, sample_weight=compute_sample_weight(class_weight, y))
    assert_allclose(by_class.coef_, by_sample.coef_, rtol=0, atol=1e-8)
    assert_allclose(by_class.objective_, by_sample.objective_, rtol=1e-12)
    assert np.abs(by_class.coef_ - GraftClassifier(l1=0.02).fit(X, y).coef_).max() > 1e-3


def test_class_and_sample_weights_multiply():
    X = features()
    y = two_classes(X)
    s = np.random.default_rng(0).uniform(0.5, 2.0, size=100)
    both_ = GraftClassifier(l1=0.02, class_weight={0: 3.0, 1: 0.5}).fit(X, y, sample_weight=s)
    product = GraftClassifier(l1=0.02).fit(X, y, sample_weight=s * np.where(y == 0, 3.0, 0.5))
    assert_allclose(both_.coef_, product.coef_, rtol=0, atol=1e-8)


def test_class_weights_go_by_the_classes_own_names():
    X = features()
    y = np.array(["no", "yes"])[two_classes(X)]
    named = GraftClassifier(l1=0.02, class_weight={"yes": 2.0, "no": 1.0}).fit(X, y)
    s = np.where(y == "yes", 2.0, 1.0)
    assert_allclose(named.coef_, GraftClassifier(l1=0.02).fit(X, y, sample_weight=s).coef_, rtol=0, atol=1e-8)


# --- warm_start ---


@every_loss
def test_a_warm_start_takes_fewer_steps_to_the_same_optimum(loss):
    X = features(200, 30)
    y = target_for(loss, X)
    model = estimator_for(loss, l1=0.02, warm_start=True, select_unit=2).fit(X, y)
    cold = model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ < cold
    moved = model.set_params(l1=0.019).fit(X, y)
    fresh = estimator_for(loss, l1=0.019, select_unit=2).fit(X, y)
    assert moved.n_iter_ < fresh.n_iter_
    assert_allclose(moved.objective_, fresh.objective_, rtol=1e-9)
    assert_allclose(moved.coef_, fresh.coef_, rtol=0, atol=1e-5)


@both
def test_without_warm_start_a_fit_forgets_the_one_before(estimator):
    X, y = data(estimator)
    model = estimator(l1=0.02).fit(X, y)
    first, steps = model.coef_, model.n_iter_
    model.fit(features(seed=8), y)
    assert_array_equal(model.fit(X, y).coef_, first)
    assert model.n_iter_ == steps


@both
@pytest.mark.parametrize("penalty", [{"l1": 0.02}, {"l1": 0.001, "l0": 0.01}], ids=str)
def test_a_warm_start_copes_with_other_features_and_other_targets(estimator, penalty):
    X = features()
    y = numbers(X) if estimator is GraftRegressor else two_classes(X)
    other = three_targets(X) if estimator is GraftRegressor else three_classes(X)
    rounds = [(X, y), (X[:, :6], y), (X, y), (X, other), (X[:50], other[:50]), (X, y), (1e3 * X + 5, y)]
    model = estimator(warm_start=True, **penalty)
    for features_, target in rounds:
        model.fit(features_, target)
        fresh = estimator(**penalty).fit(features_, target)
        assert model.coef_.shape == fresh.coef_.shape
        assert np.shape(model.intercept_) == np.shape(fresh.intercept_)
        if "l0" not in penalty:
            assert_allclose(model.objective_, fresh.objective_, rtol=1e-9)
    assert np.isfinite(model.coef_).all()


def test_a_warm_start_copes_with_renamed_classes():
    X = features()
    y = two_classes(X)
    model = GraftClassifier(l1=0.02, warm_start=True).fit(X, y)
    model.fit(X, np.array(["b", "a"])[y])  # the other way round
    assert_array_equal(model.classes_, ["a", "b"])
    fresh = GraftClassifier(l1=0.02).fit(X, np.array(["b", "a"])[y])
    assert_allclose(model.objective_, fresh.objective_, rtol=1e-9)
    assert_allclose(model.coef_, fresh.coef_, rtol=0, atol=1e-5)


@both
@pytest.mark.parametrize(
    "change",
    [
        {"max_features": 2},
        {"max_cost": 2.0},
        {"l0": 0.05},
        {"positive": True},
        {"fit_intercept": False},
        {"standardize": False},
        {"l1": 10.0},
        {"keep": [1]},
        {"group_l1": 0.1},
        {"effort": "light"},
        {"effort": "batch"},
        {"effort": "gauss_seidel"},
    ],
    ids=str,
)
def test_a_warm_start_keeps_to_parameters_that_have_changed(estimator, change):
    X, y = data(estimator)
    model = estimator(l1=0.005, warm_start=True).fit(X, y)
    assert model.support_.sum() > 5
    model.set_params(**change).fit(X, y)
    fresh = estimator(**{"l1": 0.005, **change}).fit(X, y)
    assert model.support_.sum() <= change.get("max_features", 10)
    assert model.total_cost_ <= change.get("max_cost", np.inf)
    if change.get("positive"):
        assert (model.coef_ >= 0.0).all()
    if change == {"fit_intercept": False}:
        assert_array_equal(model.intercept_, np.zeros_like(model.intercept_))
    if not {"max_features", "max_cost", "l0"} & set(change):  # else the two may end at different local optima
        assert_allclose(model.objective_, fresh.objective_, rtol=1e-8)
        assert_array_equal(model.support_, fresh.support_)


# --- tol and max_iter ---


@every_loss
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8])
def test_tol_bounds_the_violation_in_units_of_the_largest_gradient_of_the_empty_model(loss, tol):
    X = features()
    y = target_for(loss, X)
    model = estimator_for(loss, l1=0.02, tol=tol).fit(X, y)
    violation = Facts(model, X, y).violation() / unit(model, X, y)
    assert violation <= tol * 1.001
    assert model.certificate_.converged
    assert_allclose(model.certificate_.kkt_violation, violation, rtol=1e-2, atol=1e-12)


@every_loss
@pytest.mark.parametrize("penalty", [{"l1": 0.001}, {"l1": 0.0001, "l0": 0.0001}], ids=str)
def test_too_few_steps_are_warned_of_and_certified(loss, penalty):
    X = features()
    y = target_for(loss, X)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        model = estimator_for(loss, max_iter=1, select_unit=1, polish=False, **penalty).fit(X, y)
    assert not model.certificate_.converged
    assert model.n_iter_ == 1
    assert_allclose(model.objective_, Facts(model, X, y).objective(), rtol=1e-12)


@both
def test_a_good_fit_does_not_warn(estimator):
    X, y = data(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator().fit(X, y)
        estimator(l0=0.01).fit(X, y)


# --- threads, progress, interruption ---


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
@both
def test_the_number_of_threads_does_not_change_the_result(estimator, n_jobs):
    X, y = data(estimator, 150, 60)
    alone = estimator(l1=0.02).fit(X, y)
    model = estimator(l1=0.02, n_jobs=n_jobs).fit(X, y)
    assert_allclose(model.coef_, alone.coef_, rtol=0, atol=1e-9)
    assert_allclose(model.objective_, alone.objective_, rtol=1e-12)


@both
def test_progress_goes_to_standard_error_and_only_if_asked_for(estimator, capsys):
    X, y = data(estimator)
    estimator(l1=0.02, verbose=0).fit(X, y)
    assert capsys.readouterr() == ("", "")
    model = estimator(l1=0.02, verbose=1).fit(X, y)
    out, err = capsys.readouterr()
    assert out == ""
    assert f"step {model.n_iter_}" in err
    assert f"{model.support_.sum()} features" in err
    assert err.endswith("\n")


@both
@pytest.mark.parametrize("penalty", [{"l1": 0.02}, {"l1": 0.001, "l0": 0.01}], ids=str)
def test_the_callback_sees_every_record(estimator, penalty):
    X, y = data(estimator)
    seen = []
    model = estimator(select_unit=1, callback=seen.append, **penalty).fit(X, y)
    assert seen == list(model.history_)
    assert [record.step for record in seen] == list(range(1, model.n_iter_ + 1))
    assert model.certificate_.converged


@both
@pytest.mark.parametrize("yes", [True, np.True_])
def test_the_callback_ends_the_fit_by_returning_true(estimator, yes):
    X, y = data(estimator)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # stopping was wanted
        model = estimator(l1=0.001, select_unit=1, callback=lambda record: yes if record.step == 3 else None)
        model.fit(X, y)
    assert model.n_iter_ == len(model.history_) == 3
    assert model.support_.sum() == model.history_[-1].n_selected == 3
    assert not model.certificate_.converged
    assert_allclose(model.objective_, model.history_[-1].objective, rtol=1e-9)
    assert_allclose(model.objective_, Facts(model, X, y).objective(), rtol=1e-12)
    assert np.isfinite(model.predict(X)).all()


def interrupt(at):
    def callback(record):
        if at(record):
            raise KeyboardInterrupt

    return callback


def assert_whole(model, X, y):
    """Assert that nothing of a model is missing, and that its parts belong together."""
    assert_allclose(model.objective_, Facts(model, X, y).objective(), rtol=1e-12)
    assert_array_equal(model.support_, (np.atleast_2d(model.coef_) != 0.0).any(axis=0))
    assert_array_equal(np.sort(model.order_), np.flatnonzero(model.support_))
    assert model.n_iter_ == len(model.history_)
    assert model.transform(X).shape == (len(X), model.support_.sum())
    assert model.predict(X).shape[0] == len(X)


@every_loss
@pytest.mark.parametrize("l0", [0.0, 1e-4])
@pytest.mark.parametrize("step", [1, 3])
def test_an_interrupted_fit_leaves_the_best_model_so_far(loss, l0, step):
    X = features()
    y = target_for(loss, X)
    model = estimator_for(loss, l1=1e-4, l0=l0, select_unit=1, callback=interrupt(lambda record: record.step == step))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not model.certificate_.converged
    assert model.n_iter_ == step
    assert_allclose(model.objective_, model.history_[-1].objective, rtol=1e-9)
    assert_whole(model, X, y)


@pytest.mark.parametrize(
    ("kind", "problem", "limit"),
    [
        ("drop", greedy_trap(), {"l0": 1e-3}),
        ("swap", noise(30, 12, 1), {"max_features": 4}),
        ("restart", noise(30, 12, 5), {"max_features": 4, "polish": "thorough", "random_state": 0}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_interrupted_polish_leaves_the_best_model_so_far(kind, problem, limit):
    X, y = problem
    model = GraftRegressor(l1=0.0, callback=interrupt(lambda record: record.kind == kind), **limit)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.history_[-1].kind == kind
    assert not model.certificate_.converged
    assert_allclose(model.objective_, min(record.objective for record in model.history_), rtol=1e-9)
    assert_whole(model, X, y)


def test_interrupting_a_second_fit_leaves_a_model_of_the_second_problem():
    X = features()
    model = GraftRegressor(l1=1e-4, select_unit=1).fit(X, three_targets(X))
    model.set_params(callback=interrupt(lambda record: record.step == 2))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :7], numbers(X))
    assert model.coef_.shape == (7,)
    assert model.predict(X[:, :7]).shape == (100,)
    assert_whole(model, X[:, :7], numbers(X))


# --- fitted attributes ---

SHAPES = [
    (GraftClassifier, two_classes, (1, 10), (1,)),
    (GraftClassifier, three_classes, (3, 10), (3,)),
    (GraftRegressor, numbers, (10,), ()),
    (GraftRegressor, lambda X: numbers(X)[:, None], (1, 10), (1,)),
    (GraftRegressor, three_targets, (3, 10), (3,)),
]


@pytest.mark.parametrize(("estimator", "target", "coef", "intercept"), SHAPES)
@pytest.mark.parametrize(
    "parameters",
    [{"l1": 0.02}, {"l1": 0.001, "l0": 0.01}, {"l1": 0.0, "group_l1": 0.1}, {"l1": 1e6}, {"max_features": 3}],
    ids=str,
)
def test_fitted_attributes_are_there_and_belong_together(estimator, target, coef, intercept, parameters):
    X = features()
    y = target(X)
    model = estimator(**parameters).fit(X, y)
    assert model.coef_.shape == coef
    assert np.shape(model.intercept_) == intercept
    assert model.coef_.dtype == np.float64
    assert model.support_.dtype == bool
    assert_array_equal(model.support_, (np.atleast_2d(model.coef_) != 0.0).any(axis=0))
    assert np.issubdtype(model.order_.dtype, np.integer)
    assert_array_equal(np.sort(model.order_), np.flatnonzero(model.support_))
    assert isinstance(model.objective_, float)
    assert isinstance(model.total_cost_, float)
    assert isinstance(model.n_iter_, int)
    assert model.n_iter_ == max(1, len(model.history_))
    assert model.n_features_in_ == 10
    assert not hasattr(model, "feature_names_in_")
    assert model.certificate_.converged is True
    convex = "l0" not in parameters and "max_features" not in parameters
    assert (model.certificate_.duality_gap is not None) == convex
    assert model.predict(X).shape == y.shape
    if estimator is GraftClassifier:
        assert_array_equal(model.classes_, np.unique(y))
        n_classes = np.unique(y).size
        assert model.decision_function(X).shape == ((100,) if n_classes == 2 else (100, n_classes))
        assert model.predict_proba(X).shape == (100, n_classes)
        assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)


def test_a_column_of_targets_gives_the_model_of_the_plain_target():
    X = features()
    y = numbers(X)
    assert_array_equal(GraftRegressor().fit(X, y[:, None]).coef_[0], GraftRegressor().fit(X, y).coef_)


def test_the_squared_hinge_has_no_probabilities():
    X = features()
    model = GraftClassifier(loss="squared_hinge").fit(X, two_classes(X))
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")
    assert hasattr(GraftClassifier(), "predict_proba")


@pytest.mark.parametrize(
    "parameters",
    [{"l1": 0.02, "select_unit": 1}, {"l1": 0.02}, {"l0": 0.01}, {"keep": [3], "l1": 0.1}],
    ids=str,
)
@every_loss
def test_the_criterion_falls_from_step_to_step(loss, parameters):
    X = features()
    y = target_for(loss, X)
    model = estimator_for(loss, **parameters).fit(X, y)
    values = model.history_.column("objective")
    assert (np.diff(values) <= 1e-12 * abs(values[:-1])).all()
    assert_allclose(model.objective_, values[-1], rtol=1e-6)
    assert model.objective_ <= values[-1] * (1 + 1e-12)
    seconds = model.history_.column("seconds")
    assert (np.diff(seconds) >= 0.0).all()
    assert model.history_[-1].n_selected == model.support_.sum()


@pytest.mark.parametrize(
    ("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)]
)
def test_history_becomes_a_frame(backend, kind):
    X = features()
    history = GraftRegressor(select_unit=1).fit(X, numbers(X)).history_
    frame = history.to_frame(backend)
    assert isinstance(frame, kind)
    names = frame.column_names if backend == "pyarrow" else list(frame.columns)
    assert names[:7] == ["step", "feature", "gradient", "objective", "n_selected", "cost", "seconds"]
    assert len(frame) == len(history) > 1
    for name in names:
        column = frame[name].to_pylist() if backend == "pyarrow" else frame[name].to_list()
        if name == "features":
            column = [tuple(features) for features in column]
        assert column == [getattr(record, name) for record in history]


def test_history_is_a_pandas_frame_by_default():
    X = features()
    assert isinstance(GraftRegressor().fit(X, numbers(X)).history_.to_frame(), pd.DataFrame)


# --- l1_max ---

CIRCUMSTANCES = {
    "plain": {},
    "penalty weights": {"penalty_weights": np.linspace(0.5, 2.0, 10)},
    "positive": {"positive": True},
    "group norm": {"group_l1": 0.02},
    "group norm of bags": {"group_l1": 0.02, "groups": LABELS},
    "positive group norm of bags": {"group_l1": 0.02, "groups": LABELS, "positive": True},
    "no intercept": {"fit_intercept": False},
    "as is": {"standardize": False},
    "ridge": {"l2": 0.1},
}


@every_loss
@pytest.mark.parametrize("circumstances", CIRCUMSTANCES.values(), ids=CIRCUMSTANCES)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_l1_max_is_the_smallest_that_selects_nothing(loss, circumstances, storage, weighted):
    X = features(60)
    y = target_for(loss, X)
    X = storage(np.where(X > 0.3, X, 0.0))
    s = np.random.default_rng(0).integers(0, 4, size=60) if weighted else None
    top = l1_max(X, y, loss=loss, sample_weight=s, **circumstances)
    assert top > 0.0
    assert not estimator_for(loss, l1=1.0001 * top, **circumstances).fit(X, y, s).support_.any()
    assert estimator_for(loss, l1=0.999 * top, **circumstances).fit(X, y, s).support_.any()


@every_loss
def test_l1_max_leaves_unpenalised_features_in(loss):
    X = features()
    y = target_for(loss, X)
    a = np.ones(10)
    a[[0, 3]] = 0.0
    top = l1_max(X, y, loss=loss, penalty_weights=a)
    above = estimator_for(loss, l1=1.0001 * top, penalty_weights=a).fit(X, y)
    assert_array_equal(np.flatnonzero(above.support_), [0, 3])
    assert estimator_for(loss, l1=0.999 * top, penalty_weights=a).fit(X, y).support_.sum() > 2


def test_l1_max_is_zero_where_nothing_tells_anything():
    X = features()
    assert l1_max(np.ones((100, 3)), numbers(X)) == 0.0
    assert l1_max(X, np.full(100, 2.5), loss="squared") <= 1e-12
    assert l1_max(X, two_classes(X), penalty_weights=np.zeros(10)) == 0.0


def test_l1_max_of_the_lasso_is_its_textbook_formula():
    X = features()
    y = numbers(X)
    centred = X - X.mean(axis=0)
    expected = abs(centred.T @ (y - y.mean())).max() / len(y)
    assert_allclose(l1_max(X, y, standardize=False), expected, rtol=1e-12)


def test_l1_max_guesses_the_problem_from_the_target():
    X = features()
    classes = two_classes(X)
    assert l1_max(X, classes) == l1_max(X, classes, loss="logistic")
    assert l1_max(X, classes == 1) == l1_max(X, classes, loss="logistic")
    assert l1_max(X, np.array(["a", "b"])[classes]) == l1_max(X, classes, loss="logistic")
    assert l1_max(X, three_classes(X)) == l1_max(X, three_classes(X), loss="multinomial")
    assert l1_max(X, numbers(X)) == l1_max(X, numbers(X), loss="squared")
    for ambiguous in (classes.astype(float), np.where(classes, 1.0, -1.0)):
        with pytest.raises(ValueError, match="classes or quantities"):
            l1_max(X, ambiguous)
        with pytest.raises(ValueError, match="classes or quantities"):
            graft_path(X, ambiguous)
        assert l1_max(X, ambiguous, loss="logistic") == l1_max(X, classes)
    assert l1_max(X, three_targets(X)) == l1_max(X, three_targets(X), loss="squared")


def test_l1_max_knows_class_weights_and_delta():
    X = features()
    y = two_classes(X)
    weighted = l1_max(X, y, class_weight={0: 5.0, 1: 1.0})
    assert_allclose(weighted, l1_max(X, y, sample_weight=np.where(y == 0, 5.0, 1.0)), rtol=1e-9)
    assert abs(weighted - l1_max(X, y)) > 1e-3
    narrow, wide = (l1_max(X, numbers(X), loss="huber", delta=delta) for delta in (0.1, 1e6))
    assert narrow < wide
    assert_allclose(wide, l1_max(X, numbers(X), loss="squared"), rtol=1e-9)
