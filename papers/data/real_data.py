"""What a reader of a real data set returns, and where readers look for their files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

VARIABLE = "SKGRAFT_DATA"
BESIDE = Path("..", "shared", "data")
Folder = str | os.PathLike[str] | None


@dataclass(frozen=True, eq=False, repr=False)
class RealData:
    """A real data set.

    Attributes
    ----------
    data : ndarray of shape (n_samples, n_features)
        The feature values. A categorical feature holds the numbers of its categories, NaN where it is not known.
    target : ndarray of shape (n_samples,)
        The classes as the data set numbers them, or as ``target_names`` does; numbers where the task is regression.
    feature_names : list of str
        What each feature is.
    categories : dict of str to list of str
        For each categorical feature its categories, in the order of their numbers. Empty where all are numeric.
    target_names : list of str or None
        The classes in the order of their numbers, where the data set has names for them.
    is_test : ndarray of shape (n_samples,) or None
        Which samples are the test part, where the data set comes with one.
    """

    data: NDArray[np.float64]
    target: NDArray[Any]
    feature_names: list[str]
    categories: Mapping[str, list[str]] = field(default_factory=dict)
    target_names: list[str] | None = None
    is_test: NDArray[np.bool_] | None = None

    def __repr__(self) -> str:
        rows, columns = self.data.shape
        categorical = f" ({len(self.categories)} categorical)" if self.categories else ""
        classes = "numeric target" if self.target.dtype.kind == "f" else f"{np.unique(self.target).size} classes"
        return f"<RealData: {rows} rows, {columns} features{categorical}, {classes}>"

    def rows(self, chosen: NDArray[Any]) -> RealData:
        """Return some of the samples.

        Parameters
        ----------
        chosen : ndarray
            A mask over the samples, or their indices.

        Returns
        -------
        RealData
            The same data set with these samples alone.
        """
        is_test = None if self.is_test is None else self.is_test[chosen]
        return replace(self, data=self.data[chosen], target=self.target[chosen], is_test=is_test)

    def split(self) -> tuple[RealData, RealData]:
        """Return the training and the test part, as the data set divides itself.

        Returns
        -------
        train, test : RealData
            Together they hold all samples.

        Raises
        ------
        ValueError
            If the data set comes without a test part.
        """
        if self.is_test is None:
            raise ValueError("this data set comes without a test part: divide it with train_test_split")
        return self.rows(~self.is_test), self.rows(self.is_test)

    def one_hot(self) -> RealData:
        """Return the data with a column of zeros and ones for each category, after the numeric features.

        Returns
        -------
        RealData
            Features ``name=category`` in place of the categorical ones. Where the category is not known, all of
            them are zero.
        """
        numeric = [j for j, name in enumerate(self.feature_names) if name not in self.categories]
        blocks, names = [self.data[:, numeric]], [self.feature_names[j] for j in numeric]
        for feature, categories in self.categories.items():
            numbers = self.data[:, self.feature_names.index(feature)]
            blocks.append((numbers[:, None] == np.arange(len(categories))).astype(np.float64))
            names += [f"{feature}={category}" for category in categories]
        return replace(self, data=np.hstack(blocks), feature_names=names, categories={})

    def to_frame(self) -> Any:
        """Return the features as a pandas frame, whose categorical columns are of pandas' type for such.

        Returns
        -------
        pandas.DataFrame
            One column for each feature.
        """
        import pandas as pd

        columns: dict[str, Any] = {}
        for j, name in enumerate(self.feature_names):
            values = self.data[:, j]
            if name in self.categories:
                codes = np.where(np.isnan(values), -1, values).astype(np.int64)
                columns[name] = pd.Categorical.from_codes(codes, categories=self.categories[name])
            else:
                columns[name] = values
        return pd.DataFrame(columns)


def locate(name: str, folder: Folder) -> Path:
    """Return the path of a data file; where there is none, say where it was looked for and how to say where it is."""
    named = os.environ.get(VARIABLE)
    root = Path(folder) if folder is not None else Path(named) if named else BESIDE
    path = root / name
    if not path.is_file():
        msg = (
            f"there is no {path} (looked in {root.resolve()}); real data sets do not come with skgraft: "
            f"set the environment variable {VARIABLE} to the folder that holds {Path(name).parent}, or pass folder="
        )
        raise FileNotFoundError(msg)
    return path
