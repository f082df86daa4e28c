"""The baselines and problems behind the grafting paper's tables."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from papers._grafting.algorithms import ALGORITHMS, Algorithm, Trained, descend_and_prune, graft_without_prices
from papers._grafting.comparison import CHOSEN, STATED, compare
from papers._grafting.descent import descend, l1_logistic, prune
from papers._grafting.elimination import VANISHING, eliminate_backward, logistic_fits
from papers._grafting.irrelevant import GRIDS, L1, L2, NONE, _run_kind
from papers._grafting.problems import Problem, Split, load_problems
from scipy.optimize import approx_fprime

from skgraft import GraftClassifier
from skgraft.datasets import make_irrelevant, make_threshold_max


def threshold_max(i=0, n_redundant=0, n_irrelevant=20):
    train, test = (
        make_threshold_max(
            200, n_informative=4, n_redundant=n_redundant, n_irrelevant=n_irrelevant, random_state=10 * i + k
        )
        for k in (0, 1)
    )
    source = np.where(np.isin(train.copies_of, train.informative), train.copies_of, -1)
    return Split(train.data, train.target, test.data, test.target, source, 4)


def irrelevant_batch(size, n_irrelevant, sigma=1.0):
    problems = [make_irrelevant(10, n_irrelevant, sigma, random_state=i) for i in range(size)]
    return np.stack([p.data for p in problems]), np.stack([p.target for p in problems]).astype(float)


class TestDescent:
    def test_the_gradient_is_that_of_the_criterion(self):
        split = threshold_max()
        criterion = l1_logistic(split.X, split.y.astype(float), 0.03)
        w = np.random.default_rng(0).normal(size=split.X.shape[1] + 1)
        slopes = approx_fprime(w, lambda v: criterion(v)[0], 1e-7)
        np.testing.assert_allclose(criterion(w)[1], slopes, atol=1e-6)

    def test_a_quadratic_is_solved_in_few_steps(self):
        rng = np.random.default_rng(0)
        A = rng.normal(size=(8, 8))
        H, b = A @ A.T + np.eye(8), rng.normal(size=8)
        end = descend(lambda w: (0.5 * w @ H @ w - b @ w + 10.0, H @ w - b), np.zeros(8))
        assert end.steps < 60
        assert end.objective - (10.0 - 0.5 * b @ np.linalg.solve(H, b)) < 1e-5

    @pytest.mark.parametrize("l1", [3e-4, 0.02, 0.05])
    def test_it_ends_just_above_the_certified_optimum(self, l1):
        split = threshold_max()
        best = GraftClassifier(l1=l1, standardize=False).fit(split.X, split.y)
        assert best.certificate_.converged
        end = descend_and_prune(split.X, split.y, {"l1": l1})
        assert -1e-12 < end.objective - best.objective_ < 2e-4 * best.objective_

    def test_pruning_is_relative_to_the_largest_weight_and_spares_the_intercept(self):
        kept = prune(np.array([-200.0, 0.0199, 0.0201, 0.0, 1e-9]))
        assert kept.tolist() == [-200.0, 0.0, 0.0201, 0.0, 1e-9]


class TestElimination:
    def test_batched_fits_are_those_of_the_estimator(self):
        X, y = irrelevant_batch(6, 4)
        w, objective = logistic_fits(X, y, 0.01)
        for i in range(len(X)):
            model = GraftClassifier(l1=0.0, l2=0.01, standardize=False, tol=1e-9).fit(X[i], y[i])
            np.testing.assert_allclose(objective[i], model.objective_, rtol=1e-8)
            np.testing.assert_allclose(w[i], np.append(model.coef_[0], model.intercept_), atol=1e-4)

    def test_fits_on_separable_rows_are_finite_and_optimal(self):
        X, y = irrelevant_batch(5, 10, sigma=0.5)
        w, objective = logistic_fits(X, y)
        assert np.isfinite(w).all()
        margins = y * (np.einsum("bij,bj->bi", X, w[:, :-1]) + w[:, -1:])
        assert (margins > 0).all()
        for i in range(len(X)):
            best = GraftClassifier(l1=0.0, l2=VANISHING, standardize=False, tol=1e-9).fit(X[i], y[i])
            assert abs(objective[i] / best.objective_ - 1) < 1e-6

    def test_each_step_drops_the_feature_that_costs_least(self):
        X, y = irrelevant_batch(4, 3)
        by_size = eliminate_backward(X, y)
        assert sorted(by_size) == [1, 2, 3, 4, 5]
        for i in range(len(X)):
            kept = list(range(5))
            for size in (4, 3, 2, 1):
                fits = {
                    s: logistic_fits(X[i : i + 1, :, list(s)], y[i : i + 1])[1][0] for s in combinations(kept, size)
                }
                kept = list(min(fits, key=fits.get))
                assert np.flatnonzero(by_size[size][i, :-1]).tolist() == kept

    def test_a_coarse_elimination_of_separable_rows_is_left_to_chance(self):
        X, y = irrelevant_batch(60, 6, sigma=0.3)
        exact, coarse = (np.abs(eliminate_backward(X, y, r)[2][:, :-1]) > 0 for r in (0.0, 1e-2))
        assert (exact.sum(axis=1) == 2).all()
        assert (coarse.sum(axis=1) == 2).all()
        assert exact[:, :2].mean() > 0.8
        assert coarse[:, :2].mean() < 0.6

    def test_clear_cases_end_with_an_informative_feature(self):
        X, y = irrelevant_batch(20, 6, sigma=0.3)
        last = eliminate_backward(X, y)[1]
        assert (np.abs(last[:, :-1]).argmax(axis=1) < 2).all()


class TestProblems:
    @pytest.mark.parametrize(
        ("place", "shape", "n_copies"), [(0, (1000, 100), 0), (1, (1000, 100), 90), (2, (100, 1000), 490)]
    )
    def test_a_b_and_c_have_the_papers_shapes(self, place, shape, n_copies):
        split = load_problems().present[place].instance(0)
        assert split.X.shape == shape
        assert split.X_test.shape == (1000, shape[1])
        assert (split.source >= 0).sum() == 10 + n_copies
        np.testing.assert_allclose(split.X.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(split.X.std(axis=0), 1.0)

    def test_instances_are_fresh_and_repeatable(self):
        problem = load_problems().present[0]
        first, again, second = problem.instance(0), problem.instance(0), problem.instance(1)
        assert np.array_equal(first.X, again.X)
        assert not np.array_equal(first.X, second.X)
        assert not np.array_equal(first.y, first.y_test)

    def test_missing_real_data_are_named_and_the_rest_is_there(self, tmp_path, monkeypatch):
        monkeypatch.setenv("SKGRAFT_DATA", str(tmp_path))
        problems = load_problems()
        assert [problem.name for problem in problems.present] == ["A", "B", "C"]
        assert set(problems.missing) == {"D", "E"}
        assert all(str(tmp_path) in reason for reason in problems.missing.values())

    @pytest.mark.data
    def test_d_and_e_are_split_as_in_the_paper(self, data_dir, monkeypatch):
        monkeypatch.setenv("SKGRAFT_DATA", str(data_dir))
        digits, hearts = (problem.instance(0) for problem in load_problems().present[3:])
        assert digits.X.shape == digits.X_test.shape == (1000, 649)
        assert (digits.y == 1).sum() == 100
        assert hearts.X.shape == (280, 278)
        assert hearts.X_test.shape == (140, 278)

    def test_saliency_is_one_for_the_truth_and_minus_one_for_nothing_good(self):
        split = threshold_max(n_redundant=4)  # 4 informative, 4 copies, 20 irrelevant
        assert split.saliency(np.arange(4)) == 1.0
        assert split.saliency(np.arange(10, 15)) == -1.0
        assert split.saliency(np.arange(0)) == -1.0

    def test_a_copy_may_stand_for_its_original_but_not_beside_it(self):
        split = threshold_max(n_redundant=4)
        assert split.saliency(np.array([0, 1, 2, 7])) == 1.0
        assert split.saliency(np.array([0, 1, 2, 3, 7])) == pytest.approx(4 / 4 + 4 / 5 - 1)

    def test_saliency_is_undefined_where_the_truth_is_not_known(self):
        split = threshold_max()
        assert Split(split.X, split.y, split.X_test, split.y_test).saliency(np.arange(3)) is None


class TestComparison:
    def test_cross_validation_takes_the_first_of_the_best_parameters(self, monkeypatch):
        errors = {0.0: 0.5, 1.0: 0.2, 2.0: 0.2, 3.0: 0.4}

        def train(_X, _y, parameters):
            def predict(rows):
                truth = rows[:, 0].astype(int)
                wrong = np.arange(len(rows)) < errors[parameters["C"]] * len(rows)
                return np.where(wrong, -truth, truth)

            return Trained(predict)

        y = np.tile([-1, 1], 50)
        split = Split(y[:, None].astype(float), y, y[:, None].astype(float), y)
        grid = [{"C": C} for C in errors]
        monkeypatch.setitem(ALGORITHMS, "e", Algorithm("e", "stub", train, {"A": {"C": 3.0}}, grid))
        chosen, stated = sorted(compare([Problem("A", "stub", lambda _: split)], 1, 1, ["e"]), key=lambda r: r.version)
        assert (chosen.version, chosen.parameters, chosen.error) == (CHOSEN, {"C": 1.0}, 0.2)
        assert (stated.version, stated.parameters, stated.error) == (STATED, {"C": 3.0}, 0.4)

    def test_gradient_descent_shares_the_parameters_of_grafting(self, monkeypatch):
        grid = [{"l1": l1, "l0": 0.001} for l1 in (0.2, 0.03)]
        monkeypatch.setitem(ALGORITHMS, "a", replace(ALGORITHMS["a"], grid=grid))
        runs = compare([Problem("A", "small", threshold_max)], 1, 1, ["a", "a'", "c"])
        assert len(runs) == 3 * 2
        chosen = {run.algorithm: run for run in runs if run.version == CHOSEN}
        assert chosen["a"].parameters == grid[1]
        assert chosen["a"].parameters == chosen["c"].parameters == chosen["a'"].parameters
        assert chosen["a'"].objective <= chosen["c"].objective + 1e-12
        assert chosen["a"].n_features <= chosen["a'"].n_features

    def test_the_variant_without_prices_is_certified(self):
        split = threshold_max()
        trained = graft_without_prices(split.X, split.y, {"l1": 0.02})
        best = GraftClassifier(l1=0.02, standardize=False).fit(split.X, split.y)
        assert best.certificate_.converged
        assert trained.objective == best.objective_


def test_l1_bears_irrelevant_features_better_than_l2_and_both_better_than_nothing(monkeypatch):
    monkeypatch.setitem(GRIDS, L1, np.array([0.2, 0.1, 0.02]))
    monkeypatch.setitem(GRIDS, L2, np.array([1.0, 0.3, 0.01]))
    outcomes = {o.regulariser: o for o in _run_kind(1.0, 12, repetitions=20, tuning=4)}
    assert outcomes[L1].error < outcomes[L2].error < outcomes[NONE].error
    assert outcomes[L2].behind_l1 > 3 * outcomes[L2].behind_l1_se
    assert outcomes[NONE].n_weights == outcomes[L2].n_weights == 14
    assert outcomes[L1].n_weights < 8
