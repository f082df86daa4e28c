"""Targets as people give them: classes, their codes and their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight

from skgraft.arrays import Array, Index

MOST_LABELS = 20  # different whole numbers that may be the names of classes


def read_classes(y: NDArray[Any], weight: Array, class_weight: Any) -> tuple[NDArray[Any], Index, Array]:
    """Return the classes, each sample's code among them, and the samples' weights times those of their classes.

    Raises
    ------
    ValueError
        If there is nothing to tell apart.
    """
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size < 2:
        msg = f"y holds one class only ({classes.tolist()[0]!r}); a classifier needs samples of at least 2 classes"
        raise ValueError(msg)
    if class_weight is not None:
        each = compute_class_weight(class_weight, classes=classes, y=y, sample_weight=weight)
        require_class_weights(each, classes)
        weight = weight * each[codes]
    if np.unique(codes[weight > 0.0]).size < 2:
        msg = (
            "all samples of nonzero weight are of one class; a classifier needs at least 2 classes "
            "(see sample_weight and class_weight)"
        )
        raise ValueError(msg)
    return classes, codes, weight


def are_quantities(y: Any) -> bool:
    """Return whether targets are quantities, being floating-point numbers, rather than classes.

    Raises
    ------
    ValueError
        If they may be either: one column of few whole numbers, stored as floating-point numbers.
    """
    target = np.asarray(y)
    if target.dtype.kind != "f":
        return False
    values = np.unique(target[np.isfinite(target)])
    few = 2 <= values.size <= MOST_LABELS and values.size < target.size and bool((values == np.rint(values)).all())
    if few and target.size == target.shape[0]:  # several columns are several quantities
        shown = ", ".join(f"{value:g}" for value in values[:4]) + (", ..." if values.size > 4 else "")
        msg = (
            f"y holds few whole numbers ({shown}) as floating-point numbers, which may be classes or quantities: say "
            "loss='logistic' (or 'multinomial') for classes, loss='squared' (or 'huber', 'poisson') for quantities"
        )
        raise ValueError(msg)
    return True


def require_class_weights(each: Array, classes: NDArray[Any]) -> None:
    """Refuse weights of classes that are no weights."""
    bad = np.flatnonzero(~np.isfinite(each) | (each < 0.0))
    if bad.size:
        k = int(bad[0])
        name = classes.tolist()[k]
        msg = f"class_weight gives class {name!r} the weight {each[k]:g}; it must be a number of at least 0"
        raise ValueError(msg)
