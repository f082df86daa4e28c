"""The parts of the paper on the zero-norm, and what its command prints and stores."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from papers import zero_norm
from papers._storage import stored
from papers._zero_norm import leukemia, linear, microarray, paper, polynomials, yeast
from papers._zero_norm.compare import Pair, pair
from papers._zero_norm.leukemia import Outcome
from papers._zero_norm.linear import Trials
from papers._zero_norm.linear_report import Results
from papers._zero_norm.machines import Split, linear_error, linear_errors_of_classes
from papers._zero_norm.methods import METHODS
from papers._zero_norm.microarray import Errors, Seconds
from papers._zero_norm.polynomials import Learned
from papers._zero_norm.yeast import Folds
from sklearn.svm import SVC

FIGURES = ("zero_norm-table1.png", "zero_norm-genes.png", "zero_norm-figure1.png")


def errors(seed, n=6):
    return np.random.default_rng(seed).integers(0, 40, n) / 100


def made_up_sections():
    trials = [
        Trials(variant, n, method, errors(n + i + 10 * j).tolist(), 3)
        for j, variant in enumerate(linear.VARIANTS)
        for n in paper.POINTS
        for i, method in enumerate(paper.TABLE_1)
    ]
    genes = [
        Errors(data, variant, method, size, errors(i * size).tolist())
        for data, variants in microarray.VARIANTS.items()
        for variant in variants
        for i, method in enumerate(paper.COMPARED)
        for size in microarray.PUBLISHED[data]
    ]
    genes += [
        Errors(data, variant, "SVM", next(iter(microarray.PUBLISHED[data])), errors(5).tolist())
        for data, variants in microarray.VARIANTS.items()
        for variant in variants
    ]
    learned = [
        Learned(target, size, trial, method, float(errors(trial + i)[0]), 5)
        for target in polynomials.TARGETS
        for size in paper.SIZES
        for trial in range(2)
        for i, method in enumerate(polynomials.METHODS)
    ]
    folds = [Folds(m, n, errors(n).tolist(), 0.1) for m in yeast.METHODS for n in paper.YEAST_FEATURES]
    tested = [Outcome(p, m, r, 1 + r, 2, 20) for p in leukemia.PREPARED for m in paper.LEUKEMIA for r in range(2)]
    seconds = [Seconds(m, 0.01 * (i + 1)) for i, m in enumerate(("SVM", "CORR", "RFE", "FSV", "l2-AROM", "l1-AROM"))]
    return {
        "linear": {"trials": 6, "records": stored(trials)},
        "genes": {"splits": 6, "records": stored(genes)},
        "time": {"records": stored(seconds)},
        "yeast": {"repetitions": 1, "records": stored(folds)},
        "polynomials": {"trials": 2, "records": stored(learned)},
        "leukemia": {"records": stored(tested)},
    }


def test_everything_is_stored_and_can_be_drawn_again_from_what_is_stored(tmp_path):
    zero_norm.store(made_up_sections(), tmp_path)
    known = json.loads((tmp_path / "zero_norm.json").read_text(encoding="utf-8"))
    assert list(known) == list(zero_norm.EXPERIMENTS)
    page = (tmp_path / "zero_norm.md").read_text(encoding="utf-8")
    for figure in FIGURES:
        assert figure in page
        assert (tmp_path / figure).stat().st_size > 10_000
    zero_norm.main(["--render", "--output", str(tmp_path)])
    assert (tmp_path / "zero_norm.md").read_text(encoding="utf-8") == page


def test_the_page_has_the_papers_figures_beside_ours():
    page = zero_norm.page(made_up_sections())
    assert "26.7 ± 1.5 (15)" in page  # l2-AROM at 10 points
    assert "139.34 s" in page
    assert "| 1-norm SVM" in page
    assert "2/38" in page
    assert "/ 5.9" in page  # l2-AROM with 100 genes of lymphomas, 5.93
    assert "A stand-in" in page


def test_an_experiment_without_its_data_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("SKGRAFT_DATA", str(tmp_path / "nowhere"))
    for name in ("genes", "time", "yeast", "leukemia"):
        section = zero_norm.measured(name, zero_norm.parse(["--quick", "--n-jobs", "1"]))
        assert section["records"] == []
        assert "set the environment variable SKGRAFT_DATA" in zero_norm.tables(name, section)[0].markdown()
    zero_norm.store({"yeast": section}, tmp_path)
    page = (tmp_path / "zero_norm.md").read_text(encoding="utf-8")
    assert "left out" in page
    assert "Not run yet: Table 1, Tables 2 and 3, Training times, Figure 1, The lecture." in page


def test_ours_differ_by_more_than_three_combined_standard_errors():
    assert Pair(10.0, 0.3, 8.4, 0.4).apart == pytest.approx(3.2)
    assert Pair(10.0, 0.3, 8.4, 0.4).differs
    assert not Pair(9.8, 0.3, 8.4, 0.4).differs
    assert Pair(8.4, 0.3, 10.0, 0.4).cell() == "8.4 ± 0.3 / 10.0 *"
    assert pair([0.1, 0.2, 0.3], (20.0, 1.0)).ours == pytest.approx(20.0)


def test_cells_that_differ_in_a_variant_are_found():
    made = [Trials(v, n, m, [0.9, 0.91], 0) for v in linear.VARIANTS for n in paper.POINTS for m in paper.TABLE_1]
    assert len(Results(made).differing()) == 27
    as_the_paper = [
        Trials(v, n, m, (np.array([0.99, 1.01]) * paper.TABLE_1[m][n][0] / 100).tolist(), 0)
        for v in linear.VARIANTS
        for n in paper.POINTS
        for m in paper.TABLE_1
    ]
    assert Results(as_the_paper).differing() == []


def test_a_pair_is_perfect_with_one_relevant_feature_of_each_group():
    assert linear.is_perfect(np.array([5, 1]))
    assert not linear.is_perfect(np.array([1, 2]))
    assert not linear.is_perfect(np.array([1, 50]))
    assert not linear.is_perfect(np.arange(100))


def test_features_are_scaled_by_the_rows_that_a_variant_names():
    drawn = linear.draw_trial(20, 0)
    own = linear.scaled(drawn, linear.MAIN)
    assert_allclose(own.X.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(own.X.std(axis=0), 1.0)
    both = linear.scaled(drawn, linear.ALL_ROWS)
    assert_allclose(np.vstack([both.X, both.X_test]).std(axis=0), 1.0)
    assert np.abs(both.X.std(axis=0) - 1.0).max() > 0.1


def test_errors_of_machines_are_those_of_libsvm():
    drawn = linear.draw_trial(30, 1)
    split = linear.scaled(drawn, linear.MAIN)
    features = np.array([2, 5, 7])
    peer = SVC(C=1e3, kernel="linear", tol=1e-8).fit(split.X[:, features], split.y)
    expected = 1.0 - peer.score(split.X_test[:, features], split.y_test)
    assert linear_error(split, features) == pytest.approx(expected, abs=0.003)
    assert linear_errors_of_classes(split, features) == pytest.approx(expected, abs=0.003)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_chooses_as_many_features_as_asked_for(method):
    split = linear.scaled(linear.draw_trial(20, 2), linear.MAIN)
    choice = METHODS[method](split.X, split.y, [7, 2])
    if method == "SVM":
        assert_array_equal(choice[2], np.arange(100))
        return
    assert [np.unique(choice[size]).size for size in (7, 2)] == [7, 2]
    errs = {size: linear_error(split, choice[size]) for size in choice}
    assert errs[2] < 0.45  # the relevant features are not hard to find with twenty points


def test_a_trial_of_table_1_has_every_method_in_every_variant_but_the_slowest_in_one():
    rows = linear.run_trial(10, 0)
    assert {row[:2] for row in rows} == {(v, m) for v in linear.VARIANTS for m in METHODS} - {(linear.ALL_ROWS, "R2W2")}


def test_smaller_training_sets_of_figure_1_have_both_classes():
    for target in polynomials.TARGETS:
        split = polynomials.draw_trial(target, 0)
        assert split.X.shape == (100, 10)
        assert np.unique(split.y[:20], return_counts=True)[1].min() >= 2


def test_few_monomials_win_where_the_target_is_sparse():
    found = {each.method: each for each in polynomials.learn("b", polynomials.SPANNED) if each.n_points == 50}
    assert set(found) == {polynomials.SVM, polynomials.LINEAR, polynomials.AROM}
    assert found[polynomials.AROM].error < found[polynomials.LINEAR].error < found[polynomials.SVM].error


def test_missing_values_of_yeast_are_filled_from_the_training_genes():
    from papers.data import RealData

    data = RealData(np.array([[1.0], [3.0], [np.nan], [np.nan]]), np.array([0, 1, 0, 1]), ["x"])
    split = yeast.fold(data, np.array([0, 1, 2]), np.array([3]))
    assert_allclose(split.X_test, 0.0)
    assert split.X.shape == (3, 1)


def test_standardising_leaves_constant_columns_alone():
    split = Split(np.array([[1.0, 5.0], [3.0, 5.0]]), np.ones(2), np.array([[2.0, 6.0]]), np.ones(1)).standardised()
    assert_allclose(split.X_test, [[0.0, 1.0]])


@pytest.mark.data
def test_real_splits_have_the_sizes_of_the_paper(data_dir, monkeypatch):
    monkeypatch.setenv("SKGRAFT_DATA", str(data_dir))
    for data, variants in microarray.VARIANTS.items():
        X, y = microarray.load(data, variants[0])
        train, test = microarray.splits(data, y, 2)[0]
        assert (train.size, test.size) == paper.SPLITS[data]
        assert X.shape[1] == next(iter(microarray.PUBLISHED[data]))
    found = leukemia.run_repetition("as measured", 0)
    assert [each.method for each in found] == list(paper.LEUKEMIA)
    assert all(each.test_errors <= 10 for each in found)
