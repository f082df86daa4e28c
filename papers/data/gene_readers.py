"""Readers of gene expression data: few samples, thousands of genes."""

from __future__ import annotations

import numpy as np

from papers.data.real_data import Folder, RealData, locate

_LYMPHOMA = (66, 62)


def read_lymphoma(folder: Folder = None, *, malignant: int | None = None) -> RealData:
    """Read the gene expression of lymphomas and normal cells: 96 samples, 4,026 genes, 9 kinds.

    The file is ``lymphoma/lymphoma_96x4026.npz`` with the arrays ``X`` (logarithms of ratios, missing ones imputed),
    ``y``, ``malignant_66`` and ``malignant_62``.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``lymphoma``; by default the one that the environment variable ``SKGRAFT_DATA`` names,
        or else ``../shared/data``.
    malignant : {66, 62}, optional
        Give two classes, where 1 is malignant, in place of the nine kinds: 66 are the kinds 1, 3 and 4, and 62 those of
        them that an often used smaller set holds, which leaves four samples of kind 1 among the others. The paper
        on the zero-norm counts 61, and which they are is not recorded.

    Returns
    -------
    RealData
        Features and kinds, 1 to 9: 1 is diffuse large B-cell lymphoma, 3 follicular lymphoma and 4 chronic lymphocytic
        leukaemia; the others are normal cells and cell lines.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says where it was looked for.

    References
    ----------
    A.A. Alizadeh et al., "Distinct types of diffuse large B-cell lymphoma identified by gene expression profiling",
    Nature 403, 503-511, 2000.
    """
    if malignant is not None and malignant not in _LYMPHOMA:
        raise ValueError(f"malignant must be None (the nine kinds), 66 or 62, got {malignant!r}")
    with np.load(locate("lymphoma/lymphoma_96x4026.npz", folder), allow_pickle=False) as arrays:
        data = arrays["X"].astype(np.float64)
        names = [f"gene_{j + 1}" for j in range(data.shape[1])]
        if malignant is None:
            return RealData(data, arrays["y"].astype(np.int64), names)
        target = arrays[f"malignant_{malignant}"].astype(np.int64)
    return RealData(data, target, names, target_names=["other", "malignant"])


def read_leukemia(folder: Folder = None) -> RealData:
    """Read the gene expression of two leukaemias: 72 patients, 7,129 genes.

    The file is ``leukemia/golub_7129.npz`` with the arrays ``X_train``, ``y_train``, ``X_test``, ``y_test``,
    ``feature_names`` and ``target_names``.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``leukemia``; by default the one that the environment variable ``SKGRAFT_DATA`` names,
        or else ``../shared/data``.

    Returns
    -------
    RealData
        Intensities, some of them negative, and kinds: 0 is ALL, 1 is AML. 38 patients are for training and 34 for the
        test.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says where it was looked for.

    References
    ----------
    T.R. Golub et al., "Molecular classification of cancer: class discovery and class prediction by gene expression
    monitoring", Science 286, 531-537, 1999.
    """
    with np.load(locate("leukemia/golub_7129.npz", folder), allow_pickle=False) as arrays:
        data = np.vstack([arrays["X_train"], arrays["X_test"]]).astype(np.float64)
        target = np.concatenate([arrays["y_train"], arrays["y_test"]]).astype(np.int64)
        is_test = np.arange(target.size) >= arrays["y_train"].size
        names = [str(name) for name in arrays["feature_names"]]
        kinds = [str(name) for name in arrays["target_names"]]
    return RealData(data, target, names, target_names=kinds, is_test=is_test)


def read_brown_yeast(folder: Folder = None) -> RealData:
    """Read the expression of yeast genes of three functions: 186 genes under 79 conditions.

    The file is ``brown_yeast/brown-selected.tab``: three lines of head (names, kinds and roles of the columns), then
    a line for each gene with its function and name last and ``?`` for what is missing.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``brown_yeast``; by default the one that the environment variable ``SKGRAFT_DATA``
        names, or else ``../shared/data``.

    Returns
    -------
    RealData
        Expression values, NaN where missing, and functions, as ``target_names`` lists them: proteasome, respiration and
        ribosome, under the short names of the file. Here genes are the samples and conditions the features.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says where it was looked for.

    References
    ----------
    M.P.S. Brown et al., "Knowledge-based analysis of microarray gene expression data by using support vector machines",
    Proceedings of the National Academy of Sciences 97, 262-267, 2000.
    """
    path = locate("brown_yeast/brown-selected.tab", folder)
    head, _, _, *lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    for number, cells in enumerate(lines, start=4):
        if len(cells) != len(head):
            raise ValueError(f"{path} should have {len(head)} cells in each line, not {len(cells)} as in line {number}")
    data = np.array([[np.nan if cell == "?" else float(cell) for cell in cells[:-2]] for cells in lines])
    functions, target = np.unique([cells[-2] for cells in lines], return_inverse=True)
    return RealData(data, target.astype(np.int64), head[:-2], target_names=[str(name) for name in functions])
