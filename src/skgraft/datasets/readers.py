"""Readers of real data sets, which do not come with the project."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_VARIABLE = "SKGRAFT_DATA"
_BESIDE = Path("..", "shared", "data")
_J = 13  # the vector angle of J, missing in most records of the arrhythmia data


@dataclass(frozen=True, eq=False, repr=False)
class RealData:
    """A real data set.

    Attributes
    ----------
    data : ndarray of shape (n_samples, n_features)
        The feature values.
    target : ndarray of shape (n_samples,)
        The classes as the data set numbers them.
    feature_names : list of str
        What each feature is.
    """

    data: NDArray[np.float64]
    target: NDArray[np.int64]
    feature_names: list[str]

    def __repr__(self) -> str:
        rows, columns = self.data.shape
        return f"<RealData: {rows} rows, {columns} features, {np.unique(self.target).size} classes>"


def read_mfeat(folder: str | os.PathLike[str] | None = None) -> RealData:
    """Read the multiple features of handwritten digits (UCI): 2,000 digits, 649 features of six kinds.

    The file is ``mfeat/mfeat_2000x649.npz`` with the arrays ``X``, ``y`` and ``feature_names``.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``mfeat``; by default the one that the environment variable ``SKGRAFT_DATA`` names, or
        else ``../shared/data``.

    Returns
    -------
    RealData
        Features and digits, 0 to 9, 200 of each.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says where it was looked for.

    References
    ----------
    M. van Breukelen, R.P.W. Duin, D.M.J. Tax and J.E. den Hartog, "Handwritten digit recognition by combined
    classifiers", Kybernetika 34, 381-386, 1998.
    """
    with np.load(_locate("mfeat/mfeat_2000x649.npz", folder), allow_pickle=False) as arrays:
        names = [str(name) for name in arrays["feature_names"]]
        return RealData(arrays["X"].astype(np.float64), arrays["y"].astype(np.int64), names)


def read_arrhythmia(folder: str | os.PathLike[str] | None = None, *, drop_missing: bool = True) -> RealData:
    """Read the cardiac arrhythmia data (UCI): 452 electrocardiograms, 279 features, 16 classes.

    The file is ``arrhythmia/arrhythmia.data``, comma-separated, with the class last and ``?`` for what is missing.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``arrhythmia``; by default the one that the environment variable ``SKGRAFT_DATA`` names,
        or else ``../shared/data``.
    drop_missing : bool, default=True
        Drop the feature ``angle J``, which most records lack, and then the 32 records that lack anything else: 420
        records of 278 features remain. Otherwise everything is kept, with NaN for what is missing.

    Returns
    -------
    RealData
        Features and classes: 1 is a normal heart beat, 2 to 15 are kinds of arrhythmia, 16 is unclassified.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says where it was looked for.

    References
    ----------
    H.A. Guvenir, B. Acar, G. Demiroz and A. Cekin, "A supervised machine learning algorithm for arrhythmia analysis",
    Computers in Cardiology 24, 433-436, 1997.
    """
    path = _locate("arrhythmia/arrhythmia.data", folder)
    table = np.genfromtxt(path, delimiter=",", missing_values="?", dtype=np.float64, ndmin=2)
    data, target, names = table[:, :-1], table[:, -1].astype(np.int64), _arrhythmia_names()
    if data.shape[1] != len(names):
        raise ValueError(
            f"{path} should have {len(names)} features and a class in each line, not {table.shape[1]} cells"
        )
    if drop_missing:
        data, names = np.delete(data, _J, axis=1), names[:_J] + names[_J + 1 :]
        complete = ~np.isnan(data).any(axis=1)
        data, target = data[complete], target[complete]
    return RealData(data, target, names)


def _arrhythmia_names() -> list[str]:
    """Return the 279 features as the description of the data numbers them."""
    intervals = ("QRS duration", "P-R interval", "Q-T interval", "T interval", "P interval")
    person = ("age", "sex", "height", "weight", *intervals, *(f"angle {a}" for a in ("QRS", "T", "P", "QRST", "J")))
    waves = ("Q", "R", "S", "R'", "S'")
    shapes = [f"{shape} {wave}" for wave in ("R", "P", "T") for shape in ("ragged", "diphasic")]
    widths = [*(f"{wave} width" for wave in waves), "deflections", *shapes]
    heights = [*(f"{wave} amplitude" for wave in ("JJ", *waves, "P", "T")), "QRSA", "QRSTA"]
    channels = ("DI", "DII", "DIII", "AVR", "AVL", "AVF", "V1", "V2", "V3", "V4", "V5", "V6")
    measured = [f"{channel} {name}" for block in (widths, heights) for channel in channels for name in block]
    return [*person, "heart rate", *measured]


def _locate(name: str, folder: str | os.PathLike[str] | None) -> Path:
    """Return the path of a data file; where there is none, say where it was looked for and how to say where it is."""
    named = os.environ.get(_VARIABLE)
    root = Path(folder) if folder is not None else Path(named) if named else _BESIDE
    path = root / name
    if not path.is_file():
        msg = (
            f"there is no {path} (looked in {root.resolve()}); real data sets do not come with skgraft: "
            f"set the environment variable {_VARIABLE} to the folder that holds {Path(name).parent}, or pass folder="
        )
        raise FileNotFoundError(msg)
    return path
