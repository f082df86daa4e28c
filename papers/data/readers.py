"""Readers of real data sets, which do not come with the project."""

import gzip
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from papers.data.real_data import Folder, RealData, locate

_J = 13  # the vector angle of J, missing in most records of the arrhythmia data


def read_mfeat(folder: Folder = None) -> RealData:
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
    with np.load(locate("mfeat/mfeat_2000x649.npz", folder), allow_pickle=False) as arrays:
        names = [str(name) for name in arrays["feature_names"]]
        return RealData(arrays["X"].astype(np.float64), arrays["y"].astype(np.int64), names)


def read_arrhythmia(folder: Folder = None, *, drop_missing: bool = True) -> RealData:
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
    path = locate("arrhythmia/arrhythmia.data", folder)
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


def read_usps(folder: Folder = None) -> RealData:
    """Read the digits of the US Postal Service: 9,298 images of 16 x 16 pixels.

    The file is ``usps/usps.npz`` with the arrays ``X_train``, ``y_train``, ``X_test`` and ``y_test``.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``usps``; by default the one that the environment variable ``SKGRAFT_DATA`` names, or
        else ``../shared/data``.

    Returns
    -------
    RealData
        Pixels from -1 to 1 and digits, 7,291 for training and 2,007 for the test.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says where it was looked for.

    References
    ----------
    Y. LeCun et al., "Handwritten digit recognition with a back-propagation network", Advances in Neural Information
    Processing Systems 2, 396-404, 1990.
    """
    with np.load(locate("usps/usps.npz", folder), allow_pickle=False) as arrays:
        data = np.vstack([arrays["X_train"], arrays["X_test"]]).astype(np.float64)
        target = np.concatenate([arrays["y_train"], arrays["y_test"]]).astype(np.int64)
        is_test = np.arange(target.size) >= arrays["y_train"].size
    return RealData(data, target, _pixels(data.shape[1]), is_test=is_test)


def read_mnist(folder: Folder = None, *, digits: Sequence[int] | None = None) -> RealData:
    """Read the handwritten digits of MNIST: 70,000 images of 28 x 28 pixels.

    The files are the four of the data set, in its own format and compressed: ``mnist/train-images-idx3-ubyte.gz``,
    ``mnist/train-labels-idx1-ubyte.gz``, ``mnist/t10k-images-idx3-ubyte.gz`` and ``mnist/t10k-labels-idx1-ubyte.gz``.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``mnist``; by default the one that the environment variable ``SKGRAFT_DATA`` names, or
        else ``../shared/data``.
    digits : sequence of int, optional
        The digits to keep, such as ``(3, 8)``; by default all.

    Returns
    -------
    RealData
        Pixels from 0 to 255 and digits, 60,000 for training and 10,000 for the test.

    Raises
    ------
    FileNotFoundError
        If a file is not there; the message says where it was looked for.

    References
    ----------
    Y. LeCun, L. Bottou, Y. Bengio and P. Haffner, "Gradient-based learning applied to document recognition",
    Proceedings of the IEEE 86, 2278-2324, 1998.
    """
    images, labels, tests = [], [], []
    for part in ("train", "t10k"):
        each = _idx(f"mnist/{part}-labels-idx1-ubyte.gz", folder, 1)
        kept = np.ones(each.size, bool) if digits is None else np.isin(each, list(digits))
        images.append(_idx(f"mnist/{part}-images-idx3-ubyte.gz", folder, 3).reshape(each.size, -1)[kept])
        labels.append(each[kept])
        tests.append(np.full(int(kept.sum()), part == "t10k"))
    data, target = np.vstack(images).astype(np.float64), np.concatenate(labels).astype(np.int64)
    return RealData(data, target, _pixels(data.shape[1]), is_test=np.concatenate(tests))


def read_isolet(folder: Folder = None) -> RealData:
    """Read the spoken letters of ISOLET (UCI): 7,797 letters, 617 features of their sound.

    The file is ``isolet/isolet_7797.npz`` with the arrays ``X``, ``y`` and ``part``.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``isolet``; by default the one that the environment variable ``SKGRAFT_DATA`` names, or
        else ``../shared/data``.

    Returns
    -------
    RealData
        Features and letters, 1 to 26. Parts 1 to 4 are for training, part 5 is for the test.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says where it was looked for.

    References
    ----------
    M. Fanty and R. Cole, "Spoken letter recognition", Advances in Neural Information Processing Systems 3, 220-226,
    1991.
    """
    with np.load(locate("isolet/isolet_7797.npz", folder), allow_pickle=False) as arrays:
        data = arrays["X"].astype(np.float64)
        names = [f"f{j + 1}" for j in range(data.shape[1])]
        letters = [chr(ord("A") + i) for i in range(26)]
        return RealData(
            data, arrays["y"].astype(np.int64), names, target_names=["", *letters], is_test=arrays["part"] == 5
        )


def read_colon(folder: Folder = None) -> RealData:
    """Read the gene expression of colon tissues: 62 tissues, 2,000 genes.

    The file is ``colon/colon_raw.npz`` with the arrays ``X``, ``y``, ``feature_names`` and ``target_names``.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``colon``; by default the one that the environment variable ``SKGRAFT_DATA`` names, or
        else ``../shared/data``.

    Returns
    -------
    RealData
        Raw intensities, whose logarithm is usually taken, of 22 normal tissues (0) and 40 tumours (1). Some genes
        were measured more than once: their names repeat.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says where it was looked for.

    References
    ----------
    U. Alon et al., "Broad patterns of gene expression revealed by clustering analysis of tumor and normal colon
    tissues probed by oligonucleotide arrays", Proceedings of the National Academy of Sciences 96, 6745-6750, 1999.
    """
    with np.load(locate("colon/colon_raw.npz", folder), allow_pickle=False) as arrays:
        names = [str(name) for name in arrays["feature_names"]]
        kinds = [str(name) for name in arrays["target_names"]]
        return RealData(arrays["X"].astype(np.float64), arrays["y"].astype(np.int64), names, target_names=kinds)


def read_pcmac(folder: Folder = None) -> RealData:
    """Read the words of two news groups, about PCs and about Macs: 1,943 texts, 3,289 words.

    The file is ``skfeature/PCMAC.mat``, as the scikit-feature repository has it.

    Parameters
    ----------
    folder : path, optional
        The folder that holds ``skfeature``; by default the one that the environment variable ``SKGRAFT_DATA`` names,
        or else ``../shared/data``.

    Returns
    -------
    RealData
        Counts of the words, which the file does not name, and news groups, 1 and 2.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says where it was looked for.

    References
    ----------
    K. Lang, "NewsWeeder: learning to filter netnews", International Conference on Machine Learning, 331-339, 1995.
    """
    from scipy.io import loadmat

    arrays = loadmat(str(locate("skfeature/PCMAC.mat", folder)))
    data = np.asarray(arrays["X"], dtype=np.float64)
    return RealData(data, arrays["Y"].ravel().astype(np.int64), [f"word_{j}" for j in range(data.shape[1])])


def _pixels(n_pixels: int) -> list[str]:
    """Return the names of the pixels of a square image, row by row."""
    side = round(n_pixels**0.5)
    return [f"pixel_{j // side}_{j % side}" for j in range(n_pixels)]


def _idx(name: str, folder: Folder, n_dimensions: int) -> NDArray[np.uint8]:
    """Return an array of bytes in the IDX format: a magic number, the lengths as big-endian integers, the values."""
    path = locate(name, folder)
    with gzip.open(path) as file:
        content = file.read()
    kind, lengths = content[:4], np.frombuffer(content, ">u4", n_dimensions, 4)
    if kind != bytes([0, 0, 8, n_dimensions]):
        raise ValueError(f"{path} is no file of bytes in {n_dimensions} dimensions: it begins with {kind.hex()}")
    return np.frombuffer(content, np.uint8, offset=4 + 4 * n_dimensions).reshape(lengths.astype(int))


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
