"""How fits are watched, interrupted and warned of, whatever the method."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

import skgraft as sg
from skgraft.run import Monitor

LONG = [
    sg.GraftClassifier(l1=1e-3, select_unit=1),
    sg.GraftClassifierCV(cv=3, n_l1s=5),
    sg.StreamGraftClassifier(l1=1e-3, select_unit=1),
    sg.MLPGraftClassifier(),
    sg.GBFSClassifier(n_trees=20),
    sg.AROMClassifier(C=1.0),
    sg.AROMClassifier(C=1.0, norm="l1"),
    sg.FSVClassifier(C=1.0),
    sg.L1SVC(l1=1e-3),
    sg.RFESelector(n_features_to_select=2, step=2),
    sg.R2W2Selector(n_features_to_select=2),
    sg.KernelAROMClassifier(C=1.0),
]


def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    return X, np.where(X[:, 1] + X[:, 4] * X[:, 2] + 0.7 * rng.normal(size=60) > 0.0, 1, 0)


@pytest.mark.parametrize("estimator", LONG, ids=lambda e: str(e)[:40])
def test_control_c_reaches_the_caller_and_leaves_a_whole_model(estimator):
    X, y = problem()

    def interrupt(record):
        if record.step >= 1:
            raise KeyboardInterrupt

    estimator.set_params(callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, y)
    assert not estimator.certificate_.converged
    assert len(estimator.history_) >= 1
    assert np.isin(estimator.predict(X), [0, 1]).all()
    assert estimator.transform(X).shape == (60, estimator.support_.sum())


def test_control_c_ends_a_cross_validation_around_a_fit():
    X, y = problem()
    fits = []

    def interrupt(record):
        fits.append(record)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cross_val_score(sg.GraftClassifier(l1=1e-3, callback=interrupt), X, y, cv=5)
    assert len(fits) == 1


@pytest.mark.parametrize("estimator", LONG[:1] + LONG[2:8], ids=lambda e: str(e)[:40])
def test_a_callback_that_returns_true_ends_the_fit_without_a_warning(estimator):
    X, y = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        estimator.set_params(callback=lambda record: record.step >= 1).fit(X, y)
    assert not estimator.certificate_.converged


def test_a_callback_ends_a_path_with_the_points_so_far():
    X, y = problem()
    seen = []

    def enough(record):
        seen.append(record)
        return len(seen) == 4

    path = sg.graft_path(X, y, n_values=20, callback=enough)
    assert 0 < len(path) < 20


def test_a_warning_points_at_the_line_that_called_fit():
    X, y = problem()
    with pytest.warns(ConvergenceWarning, match="max_iter=1") as caught:
        sg.GraftClassifier(l1=1e-3, select_unit=1, max_iter=1).fit(X, y)
    assert caught[0].filename == __file__


def test_the_state_of_the_last_step_is_kept_when_the_next_one_is_interrupted():
    monitor = Monitor()
    with monitor.watch():
        monitor.step("whole", kind="graft", objective=1.0, n_selected=1, cost=1.0, feature=3)
        raise KeyboardInterrupt
    assert monitor.latest == "whole"
    assert monitor.interrupted
    assert monitor.history[0].features == (3,)
    with pytest.raises(KeyboardInterrupt), Monitor().watch():
        raise KeyboardInterrupt  # nothing to keep
