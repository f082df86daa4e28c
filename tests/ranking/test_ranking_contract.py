"""Selectors of this folder keep scikit-learn's contract."""

from __future__ import annotations

import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from skgraft import R2W2Selector, RFESelector

pytest.importorskip("pandas")
pytest.importorskip("polars")

ESTIMATORS = [RFESelector(), RFESelector(loss="squared_hinge", step=0.3), R2W2Selector()]

FOR_SCIKIT_LEARN_ONLY = [
    "check_get_feature_names_out_error",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_inplace_ensure_writeable",
    "check_param_validation",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
]


@parametrize_with_checks(ESTIMATORS)
def test_the_checks_that_scikit_learn_gives_to_third_parties_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", FOR_SCIKIT_LEARN_ONLY)
@pytest.mark.parametrize("estimator", [RFESelector(), R2W2Selector()], ids=str)
def test_the_checks_that_scikit_learn_keeps_for_itself_pass_too(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, estimator)
