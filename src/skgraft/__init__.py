"""Finds the few features that matter, together with the model that uses them.

Names are imported when they are first used: ``import skgraft`` itself loads neither NumPy nor scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skgraft import datasets
    from skgraft.boosting import GBFSClassifier, GBFSPath, GBFSRegressor, gbfs_path, mu_max
    from skgraft.criterion import Certificate
    from skgraft.evaluation import CorrectedTTest, corrected_resampled_ttest
    from skgraft.grafting import (
        GraftClassifier,
        GraftClassifierCV,
        GraftPath,
        GraftRegressor,
        GraftRegressorCV,
        MLPGraftClassifier,
        MLPGraftRegressor,
        StreamGraftClassifier,
        StreamGraftRegressor,
        graft_path,
        l1_max,
    )
    from skgraft.ranking import R2W2Selector, RFESelector, fisher_score
    from skgraft.report import NetworkDisplay
    from skgraft.run import History
    from skgraft.zeronorm import L1SVC, AROMClassifier, AROMRegressor, FSVClassifier, KernelAROMClassifier, l1_svc_path

__version__ = "0.1.0"

__all__ = [
    "L1SVC",
    "AROMClassifier",
    "AROMRegressor",
    "Certificate",
    "CorrectedTTest",
    "FSVClassifier",
    "GBFSClassifier",
    "GBFSPath",
    "GBFSRegressor",
    "GraftClassifier",
    "GraftClassifierCV",
    "GraftPath",
    "GraftRegressor",
    "GraftRegressorCV",
    "History",
    "KernelAROMClassifier",
    "MLPGraftClassifier",
    "MLPGraftRegressor",
    "NetworkDisplay",
    "R2W2Selector",
    "RFESelector",
    "StreamGraftClassifier",
    "StreamGraftRegressor",
    "__version__",
    "corrected_resampled_ttest",
    "datasets",
    "fisher_score",
    "gbfs_path",
    "graft_path",
    "l1_max",
    "l1_svc_path",
    "mu_max",
]

_HOME = {
    "R2W2Selector": "skgraft.ranking",
    "RFESelector": "skgraft.ranking",
    "fisher_score": "skgraft.ranking",
    "AROMClassifier": "skgraft.zeronorm",
    "AROMRegressor": "skgraft.zeronorm",
    "Certificate": "skgraft.criterion",
    "CorrectedTTest": "skgraft.evaluation",
    "FSVClassifier": "skgraft.zeronorm",
    "GBFSClassifier": "skgraft.boosting",
    "GBFSPath": "skgraft.boosting",
    "GBFSRegressor": "skgraft.boosting",
    "GraftClassifier": "skgraft.grafting",
    "GraftClassifierCV": "skgraft.grafting",
    "GraftPath": "skgraft.grafting",
    "GraftRegressor": "skgraft.grafting",
    "GraftRegressorCV": "skgraft.grafting",
    "History": "skgraft.run",
    "MLPGraftClassifier": "skgraft.grafting",
    "MLPGraftRegressor": "skgraft.grafting",
    "NetworkDisplay": "skgraft.report",
    "KernelAROMClassifier": "skgraft.zeronorm",
    "L1SVC": "skgraft.zeronorm",
    "corrected_resampled_ttest": "skgraft.evaluation",
    "StreamGraftClassifier": "skgraft.grafting",
    "StreamGraftRegressor": "skgraft.grafting",
    "gbfs_path": "skgraft.boosting",
    "graft_path": "skgraft.grafting",
    "l1_max": "skgraft.grafting",
    "l1_svc_path": "skgraft.zeronorm",
    "mu_max": "skgraft.boosting",
}
_SUBPACKAGES = {"datasets"}


def __getattr__(name: str) -> object:
    if name in _SUBPACKAGES:
        return import_module(f"skgraft.{name}")
    if name in _HOME:
        value: object = getattr(import_module(_HOME[name]), name)
        globals()[name] = value  # the next use finds it without coming here
        return value
    raise AttributeError(f"module 'skgraft' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
