"""What is handed over in the wrong shape is refused with a message that says so, and what to do about it."""

import numpy as np
import pytest
from scipy import sparse

import skgraft
from skgraft import GraftClassifierCV, GraftRegressorCV, gbfs_path, graft_path, l1_svc_path

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
y = X[:, 0] > 0
ESTIMATORS = [
    skgraft.GraftClassifier,
    skgraft.GraftRegressor,
    skgraft.GraftClassifierCV,
    skgraft.GraftRegressorCV,
    skgraft.StreamGraftClassifier,
    skgraft.MLPGraftClassifier,
    skgraft.GBFSClassifier,
    skgraft.GBFSRegressor,
    skgraft.AROMClassifier,
    skgraft.AROMRegressor,
    skgraft.KernelAROMClassifier,
    skgraft.FSVClassifier,
    skgraft.L1SVC,
    skgraft.RFESelector,
    skgraft.R2W2Selector,
]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)

NO_TABLES = {
    "dict": ({"a": X[:, 0], "b": X[:, 1]}, r"X is a dict, not a table: pass pandas.DataFrame\(X\)"),
    "records": ([{"a": 1.0}] * 40, r"X is a list of records .*pass pandas.DataFrame\(X\)"),
    "structured": (np.zeros(40, [("a", float), ("b", float)]), "X is a structured array with the fields 'a', 'b'"),
    "series of lists": (pd.Series(X.tolist()), r"each entry of X is a list with a row in it.*numpy.stack\(X\)"),
    "series of arrays": (pd.Series(list(X)), "each entry of X is a ndarray with a row in it"),
    "masked": (np.ma.masked_greater(X, 1.0), r"X is a masked array.*X\.filled"),
    "masked nowhere": (np.ma.masked_array(X), r"X is a masked array.*X\.data"),
}


@every_estimator
@pytest.mark.parametrize("given", NO_TABLES)
def test_what_is_no_table_is_called_by_its_name(estimator, given):
    data, message = NO_TABLES[given]
    with pytest.raises(ValueError, match=message):
        estimator().fit(data, y)


@every_estimator
def test_hidden_targets_and_weights_are_refused(estimator):
    with pytest.raises(ValueError, match=r"y is a masked array.*y\.filled"):
        estimator().fit(X, np.ma.masked_array(y, X[:, 1] > 1))
    with pytest.raises(ValueError, match="sample_weight is a masked array"):
        estimator().fit(X, y, sample_weight=np.ma.masked_array(np.ones(40), X[:, 1] > 1))
    with pytest.raises(ValueError, match="y is a dict, not a column"):
        estimator().fit(X, dict(enumerate(y)))


@every_estimator
@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, pd.DataFrame, sparse.csr_array])
def test_y_before_x_is_noticed(estimator, form):
    with pytest.raises(ValueError, match="as if they were swapped"):
        estimator().fit(y, form(X))


def test_a_sparse_dictionary_of_keys_is_a_table():
    model = skgraft.GraftClassifier(l1=0.05)
    assert model.fit(sparse.dok_array(X), y).support_.tolist() == model.fit(X, y).support_.tolist()


BAD_LISTS = {
    "empty": ([], "is empty: give at least one number"),
    "matrix": ([[0.1, 0.2], [0.3, 0.4]], r"must be a list of numbers; got an array of shape \(2, 2\)"),
    "number": (0.1, r"must be a list of numbers; got an array of shape \(\)"),
    "words": (["much", "little"], r"must be a list of numbers; got \['much', 'little'\]"),
    "negative": ([0.1, -0.2], "must not be negative, but -0.2 is among them"),
    "infinite": ([0.1, np.inf], "must be finite, but inf is among them"),
}
PATHS = {
    "graft_path l1s": lambda values: graft_path(X, y, l1s=values),
    "graft_path l0s": lambda values: graft_path(X, y, l0s=values),
    "graft_path sizes": lambda values: graft_path(X, y, sizes=values),
    "l1_svc_path l1s": lambda values: l1_svc_path(X, y, l1s=values),
    "gbfs_path mus": lambda values: gbfs_path(X, y, values),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("bad", BAD_LISTS)
def test_the_values_of_a_path_are_a_list_of_numbers(path, bad):
    values, message = BAD_LISTS[bad]
    with pytest.raises(ValueError, match=f"{path.split()[1]} {message}"):
        PATHS[path](values)


@pytest.mark.parametrize("estimator", [GraftClassifierCV, GraftRegressorCV])
@pytest.mark.parametrize("bad", [bad for bad in BAD_LISTS if bad != "number"])
def test_so_are_those_of_cross_validation(estimator, bad):
    values, message = BAD_LISTS[bad]
    with pytest.raises(ValueError, match=f"l1s {message}"):
        estimator(l1s=values).fit(X, y)


@pytest.mark.parametrize("estimator", [GraftClassifierCV, GraftRegressorCV])
def test_cross_validation_without_folds_is_refused(estimator):
    with pytest.raises(ValueError, match="cv gives no folds"):
        estimator(cv=[]).fit(X, y)


def test_cross_validation_names_the_fold_without_weight():
    weight = np.ones(40)
    weight[8:16] = 0.0
    with pytest.raises(ValueError, match="the sample weights of all test rows of fold 1 are zero"):
        GraftRegressorCV(cv=5).fit(X, y, sample_weight=weight)
    alone = (np.arange(40) < 8).astype(float)
    with pytest.raises(ValueError, match="the sample weights of all training rows of fold 0 are zero"):
        GraftRegressorCV(cv=5).fit(X, y, sample_weight=alone)


def test_cross_validation_names_the_fold_that_cannot_be_learned_from():
    folds = [(np.arange(20), np.arange(20, 40)), (np.flatnonzero(y), np.flatnonzero(~y))]
    with pytest.raises(ValueError, match="in fold 1 of cv: y holds one class only"):
        GraftClassifierCV(cv=folds).fit(X, y)


@pytest.mark.parametrize("estimator", [GraftClassifierCV, GraftRegressorCV])
def test_cross_validation_takes_record_batches(estimator):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = estimator(n_l1s=3, cv=2).fit(pa.RecordBatch.from_pandas(frame), y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(model.coef_, estimator(n_l1s=3, cv=2).fit(frame, y).coef_, rtol=1e-9)
