"""Readers of real data sets that are tables of text, some with categorical columns."""

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from papers.data.real_data import Folder, RealData, locate

_ADULT = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
)
_ADULT_NUMERIC = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
_KDD_CATEGORICAL = {"protocol_type", "service", "flag"}  # the other symbolic features are 0 or 1
_KDD_FILES = ("kddcup99/kddcup.data_10_percent.gz", "kddcup99/corrected.gz")


def read_spambase(folder: Folder = None) -> RealData:
    """Read the mails of Spambase (UCI): 4,601 mails, 57 features of their words and letters.

    The files are ``spambase/spambase.data``, comma-separated with the class last, and ``spambase/spambase.names``.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``spambase``; by default the one that the environment variable ``SKGRAFT_DATA`` names,
        or else ``../shared/data``.

    Returns
    -------
    RealData
        Features and classes: 1 is spam.

    Raises
    ------
    FileNotFoundError
        If a file is not there; the message says where it was looked for.

    References
    ----------
    M. Hopkins, E. Reeber, G. Forman and J. Suermondt, "Spambase", UCI Machine Learning Repository, 1999.
    """
    path = locate("spambase/spambase.data", folder)
    table = np.loadtxt(path, delimiter=",", ndmin=2)
    names = _named(locate("spambase/spambase.names", folder))
    if table.shape[1] != len(names) + 1:
        raise ValueError(f"{path} has {table.shape[1]} cells in a line; {len(names)} features and a class are named")
    return RealData(table[:, :-1], table[:, -1].astype(np.int64), names, target_names=["mail", "spam"])


def read_a9a(folder: Folder = None) -> RealData:
    """Read a9a, the census incomes of Adult as 123 columns of zeros and ones: 48,842 persons.

    The files are ``adult/a9a.gz`` and ``adult/a9a.t.gz`` in the svmlight format.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``adult``; by default the one that the environment variable ``SKGRAFT_DATA`` names, or
        else ``../shared/data``.

    Returns
    -------
    RealData
        Columns and classes: 1 for an income above 50,000 dollars, -1 otherwise. 32,561 persons are for training and
        16,281 for the test.

    Raises
    ------
    FileNotFoundError
        If a file is not there; the message says where it was looked for.

    See Also
    --------
    read_adult : The same persons with numbers and categories.

    References
    ----------
    J.C. Platt, "Fast training of support vector machines using sequential minimal optimization", in "Advances in
    Kernel Methods", MIT Press, 1998.
    """
    from sklearn.datasets import load_svmlight_file

    paths = [locate(name, folder) for name in ("adult/a9a.gz", "adult/a9a.t.gz")]
    parts = [load_svmlight_file(str(path), n_features=123) for path in paths]
    data = np.vstack([X.toarray() for X, _ in parts])
    target = np.concatenate([y for _, y in parts]).astype(np.int64)
    is_test = np.arange(target.size) >= parts[0][1].size
    return RealData(data, target, [f"column_{j + 1}" for j in range(123)], is_test=is_test)


def read_adult(folder: Folder = None) -> RealData:
    """Read the census incomes of Adult (UCI): 48,842 persons, 6 numbers and 8 categories of each.

    The files are ``adult/adult.data.gz`` and ``adult/adult.test.gz``, with ``?`` for what is not known.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``adult``; by default the one that the environment variable ``SKGRAFT_DATA`` names, or
        else ``../shared/data``.

    Returns
    -------
    RealData
        Features, of which 8 are categorical, and classes: 1 for an income above 50,000 dollars. 32,561 persons are
        for training and 16,281 for the test. What is not known is NaN.

    Raises
    ------
    FileNotFoundError
        If a file is not there; the message says where it was looked for.

    See Also
    --------
    read_a9a : The same persons as zeros and ones.

    References
    ----------
    R. Kohavi, "Scaling up the accuracy of naive-Bayes classifiers: a decision-tree hybrid", International Conference
    on Knowledge Discovery and Data Mining, 202-207, 1996.
    """
    records: list[list[str]] = []
    n_train = 0
    for name in ("adult/adult.data.gz", "adult/adult.test.gz"):
        path = locate(name, folder)
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines = [[cell.strip() for cell in line.rstrip(".\n").split(",")] for line in file if "," in line]
        part = [cells for cells in lines if cells[0] != _ADULT[0]]  # the test file has a line of names
        _check_width(path, part, len(_ADULT) + 1)
        n_train = n_train or len(part)
        records += part
    cells = np.array(records)
    data, categories = _encoded(cells[:, :-1], _ADULT, [name in _ADULT_NUMERIC for name in _ADULT])
    target = (cells[:, -1] == ">50K").astype(np.int64)
    is_test = np.arange(target.size) >= n_train
    return RealData(data, target, list(_ADULT), categories, ["<=50K", ">50K"], is_test)


def read_kddcup99(folder: Folder = None) -> RealData:
    """Read the network connections of the KDD Cup 1999: 805,050 connections, 41 features, 39 kinds.

    The files are ``kddcup99/kddcup.data_10_percent.gz``, a tenth of the training part, ``kddcup99/corrected.gz``, the
    test part with its classes, and ``kddcup99/kddcup.names``.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``kddcup99``; by default the one that the environment variable ``SKGRAFT_DATA`` names,
        or else ``../shared/data``.

    Returns
    -------
    RealData
        Features, of which 3 are categorical, and kinds of connections: ``normal`` and the attacks. 494,021
        connections are for training and 311,029 for the test, which has attacks that the training part has not.

    Raises
    ------
    FileNotFoundError
        If a file is not there; the message says where it was looked for.

    References
    ----------
    S.J. Stolfo, W. Fan, W. Lee, A. Prodromidis and P.K. Chan, "Cost-based modeling for fraud and intrusion detection:
    results from the JAM project", DARPA Information Survivability Conference, 130-144, 2000.
    """
    names = _named(locate("kddcup99/kddcup.names", folder))
    numbers: dict[str, int] = {}  # of distinct lines: most connections are repetitions of a few
    order: list[int] = []
    n_train = 0
    for name in _KDD_FILES:
        with gzip.open(locate(name, folder), "rt", encoding="utf-8") as file:
            order += [numbers.setdefault(line.rstrip(".\n"), len(numbers)) for line in file]
        n_train = n_train or len(order)
    records = [line.split(",") for line in numbers]
    _check_width(locate(_KDD_FILES[0], folder), records, len(names) + 1)
    cells = np.array(records)
    data, categories = _encoded(cells[:, :-1], names, [name not in _KDD_CATEGORICAL for name in names])
    kinds, target = np.unique(cells[:, -1], return_inverse=True)
    rows = np.array(order)
    is_test = np.arange(rows.size) >= n_train
    target_names = [str(kind) for kind in kinds]
    return RealData(data[rows], target.astype(np.int64)[rows], names, categories, target_names, is_test)


def read_prostate(folder: Folder = None) -> RealData:
    """Read the prostate cancer data of Stamey et al.: 97 men, 8 clinical measures and a level to be explained.

    The file is ``prostate/prostate.csv`` with a line of names; its last two columns are ``lpsa`` and ``train``.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``prostate``; by default the one that the environment variable ``SKGRAFT_DATA`` names,
        or else ``../shared/data``.

    Returns
    -------
    RealData
        Measures and the logarithm of the level of prostate specific antigen, a number. 67 men are for training and 30
        for the test.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says where it was looked for.

    References
    ----------
    T.A. Stamey et al., "Prostate specific antigen in the diagnosis and treatment of adenocarcinoma of the prostate II:
    radical prostatectomy treated patients", Journal of Urology 141, 1076-1083, 1989.
    """
    path = locate("prostate/prostate.csv", folder)
    names, *records = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    _check_width(path, records, len(names))
    cells = np.array(records)
    data, target = cells[:, :-2].astype(np.float64), cells[:, -2].astype(np.float64)
    return RealData(data, target, names[:-2], is_test=cells[:, -1] == "False")


def _named(path: Path) -> list[str]:
    """Return the features that a file lists as ``name: kind.``, with remarks after ``|``."""
    lines = [line.split("|")[0] for line in path.read_text(encoding="utf-8").splitlines()]
    return [line.split(":")[0].strip() for line in lines if ":" in line]


def _encoded(
    cells: NDArray[np.str_], names: Sequence[str], numeric: Sequence[bool]
) -> tuple[NDArray[np.float64], dict[str, list[str]]]:
    """Return the cells as numbers, those of categories in alphabetical order, and the categories."""
    data = np.empty(cells.shape)
    categories: dict[str, list[str]] = {}
    for j, name in enumerate(names):
        if numeric[j]:
            data[:, j] = cells[:, j].astype(np.float64)
            continue
        known, codes = np.unique(cells[:, j], return_inverse=True)
        kept = known != "?"
        data[:, j] = np.where(kept, np.cumsum(kept) - 1.0, np.nan)[codes]
        categories[name] = [str(category) for category in known[kept]]
    return data, categories


def _check_width(path: Path, records: Sequence[Sequence[str]], width: int) -> None:
    for record in records:
        if len(record) != width:
            raise ValueError(f"{path} should have {width} cells in each line, not {len(record)}: {','.join(record)}")
