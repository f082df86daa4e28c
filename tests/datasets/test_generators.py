import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from skgraft.datasets import make_irrelevant, make_threshold_max

threshold_max_arguments = st.fixed_dictionaries(
    {
        "n_samples": st.integers(1, 40),
        "n_informative": st.integers(1, 8),
        "n_redundant": st.integers(0, 20),
        "n_irrelevant": st.integers(0, 20),
        "shuffle": st.booleans(),
        "random_state": st.integers(0, 2**32 - 1),
    }
)


def same(one, other):
    return (
        np.array_equal(one.data, other.data)
        and np.array_equal(one.target, other.target)
        and np.array_equal(one.informative, other.informative)
        and np.array_equal(one.copies_of, other.copies_of)
        and one.feature_names == other.feature_names
    )


def binomial_error(probability, n):
    """Five standard deviations of a share."""
    return 5 * np.sqrt(probability * (1 - probability) / n)


class TestThresholdMax:
    @pytest.mark.parametrize("n_informative", [1, 2, 3, 10, 100])
    def test_classes_are_equally_likely(self, n_informative):
        n = 20_000
        problem = make_threshold_max(n, n_informative, n_irrelevant=0, random_state=0)
        assert abs(np.mean(problem.target == 1) - 0.5) < binomial_error(0.5, n)

    @given(threshold_max_arguments)
    def test_informative_features_decide_the_label(self, arguments):
        problem = make_threshold_max(**arguments)
        # The cube [-1, t]^n has half the volume of [-1, 1]^n.
        side = problem.data[:, problem.informative].max(axis=1) + 1
        inside = (side / 2) ** arguments["n_informative"] <= 0.5
        assert np.array_equal(problem.target, np.where(inside, -1, 1))

    @given(threshold_max_arguments)
    def test_copies_equal_their_originals(self, arguments):
        problem = make_threshold_max(**arguments)
        assert np.array_equal(problem.data, problem.data[:, problem.copies_of])
        copies = problem.copies_of != np.arange(problem.data.shape[1])
        assert copies.sum() == arguments["n_redundant"]
        assert set(problem.copies_of[copies]) <= set(problem.informative)

    @given(threshold_max_arguments)
    def test_copies_are_dealt_out_evenly(self, arguments):
        problem = make_threshold_max(**arguments)
        times = np.bincount(problem.copies_of, minlength=problem.data.shape[1])[problem.informative]
        assert np.ptp(times) <= 1

    @given(threshold_max_arguments)
    def test_names_tell_what_each_feature_is(self, arguments):
        problem = make_threshold_max(**arguments)
        names = problem.feature_names
        assert len(set(names)) == problem.data.shape[1]
        for i, j in enumerate(problem.informative):
            assert names[j] == f"informative_{i}"
        for name, original in zip(names, problem.copies_of, strict=True):
            if name.startswith("copy_"):
                assert names[original] == f"informative_{name.rsplit('_', 1)[1]}"
            else:
                assert names[original] == name

    @given(threshold_max_arguments)
    def test_the_seed_decides_everything(self, arguments):
        assert same(make_threshold_max(**arguments), make_threshold_max(**arguments))

    def test_another_seed_gives_other_rows(self):
        one, other = (make_threshold_max(random_state=seed) for seed in (0, 1))
        assert not np.array_equal(one.data, other.data)

    def test_shuffling_only_reorders_the_features(self):
        plain, shuffled = (
            make_threshold_max(50, 3, 4, 5, shuffle=shuffle, random_state=0) for shuffle in (False, True)
        )
        order = [plain.feature_names.index(name) for name in shuffled.feature_names]
        assert order != sorted(order)
        assert np.array_equal(shuffled.data, plain.data[:, order])
        assert np.array_equal(shuffled.target, plain.target)

    def test_other_features_are_added_around_the_same_problem(self):
        bare = make_threshold_max(50, 3, 0, 0, random_state=0)
        full = make_threshold_max(50, 3, 7, 9, random_state=0)
        assert np.array_equal(bare.data, full.data[:, full.informative])
        assert np.array_equal(bare.target, full.target)

    def test_features_fill_the_interval_from_minus_one_to_one(self):
        data = make_threshold_max(20_000, 2, 0, 2, random_state=0).data
        quantiles = np.quantile(data, [0, 0.25, 0.5, 0.75, 1], axis=0).T
        assert np.allclose(quantiles, [-1, -0.5, 0, 0.5, 1], atol=0.04)
        assert np.abs(data).max() <= 1

    def test_irrelevant_features_tell_nothing(self):
        problem = make_threshold_max(20_000, 2, 0, 5, random_state=0)
        correlation = np.corrcoef(problem.data[:, 2:].T, problem.target)[-1, :-1]
        assert np.abs(correlation).max() < 5 / np.sqrt(20_000)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("n_samples", 0),
            ("n_samples", 10.5),
            ("n_samples", True),
            ("n_informative", 0),
            ("n_redundant", -1),
            ("n_irrelevant", -1),
            ("n_irrelevant", "many"),
        ],
    )
    def test_a_bad_argument_is_refused_by_name(self, name, value):
        with pytest.raises(ValueError, match=f"^{name} must be an integer of at least [01], got {value!r}$"):
            make_threshold_max(**{name: value})


class TestIrrelevant:
    @pytest.mark.parametrize("sigma", [0.5, 1.0])
    def test_the_best_classifier_errs_as_often_as_theory_says(self, sigma):
        n = 200_000
        problem = make_irrelevant(n // 2, 0, sigma, random_state=0)
        bayes_rate = norm.cdf(-np.sqrt(2) / sigma)
        error = np.mean(np.sign(problem.data.sum(axis=1)) != problem.target)
        assert abs(error - bayes_rate) < binomial_error(bayes_rate, n)

    @given(st.integers(1, 20), st.integers(0, 12), st.integers(0, 2**32 - 1))
    def test_classes_are_of_equal_size_and_two_features_are_informative(self, n, n_irrelevant, seed):
        problem = make_irrelevant(n, n_irrelevant, random_state=seed)
        assert problem.data.shape == (2 * n, 2 + n_irrelevant)
        assert np.array_equal(problem.target, [-1] * n + [1] * n)
        assert np.array_equal(problem.informative, [0, 1])
        assert np.array_equal(problem.copies_of, np.arange(2 + n_irrelevant))
        assert problem.feature_names[2:] == [f"irrelevant_{i}" for i in range(n_irrelevant)]

    def test_irrelevant_features_lose_the_label_and_each_other(self):
        n = 10_000
        problem = make_irrelevant(n, 5, random_state=0)
        correlation = np.corrcoef(problem.data[:, 2:].T, problem.target)
        assert np.abs(np.triu(correlation, 1)).max() < 5 / np.sqrt(2 * n)

    def test_irrelevant_features_keep_the_distribution(self):
        n, sigma = 20_000, 0.5
        data = make_irrelevant(n, 3, sigma, random_state=0).data
        at = np.array([-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5])
        expected = (norm.cdf(at, -1, sigma) + norm.cdf(at, 1, sigma)) / 2
        observed = (data[:, :, None] <= at).mean(axis=0)
        assert np.all(np.abs(observed - expected) < binomial_error(expected, 2 * n))

    def test_permuting_moves_values_within_their_column(self):
        # At this spread a column holds n values near -1 and n near +1, in any order.
        n = 50
        noise = make_irrelevant(n, 4, sigma=0.01, random_state=0).data[:, 2:]
        assert np.array_equal((noise > 0).sum(axis=0), [n] * 4)
        assert not np.array_equal(noise[:, 0] > 0, noise[:, 1] > 0)

    def test_the_seed_decides_everything(self):
        assert same(make_irrelevant(random_state=3), make_irrelevant(random_state=3))
        assert not same(make_irrelevant(random_state=3), make_irrelevant(random_state=4))

    def test_irrelevant_features_are_added_around_the_same_problem(self):
        bare, full = (make_irrelevant(10, n_irrelevant, random_state=0) for n_irrelevant in (0, 12))
        assert np.array_equal(bare.data, full.data[:, :2])

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("n_samples_per_class", 0),
            ("n_irrelevant", -1),
            ("sigma", 0.0),
            ("sigma", -1.0),
            ("sigma", np.nan),
            ("sigma", np.inf),
            ("sigma", "wide"),
        ],
    )
    def test_a_bad_argument_is_refused_by_name(self, name, value):
        with pytest.raises(ValueError, match=f"^{name} must be .*, got {value!r}$"):
            make_irrelevant(**{name: value})
