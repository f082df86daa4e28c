"""Readers of the data sets of the paper on gradient boosted feature selection."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from papers.data import (
    read_a9a,
    read_adult,
    read_colon,
    read_isolet,
    read_kddcup99,
    read_mnist,
    read_pcmac,
    read_spambase,
    read_usps,
)
from scipy.io import savemat

READERS = [
    read_a9a,
    read_adult,
    read_colon,
    read_isolet,
    read_kddcup99,
    read_mnist,
    read_pcmac,
    read_spambase,
    read_usps,
]
PERSON = "39, {work}, 77516, Bachelors, 13, Divorced, Sales, Husband, White, Male, 0, 0, 40, Cuba, {income}\n"


def write(folder: Path, name: str, text: str):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())


def write_npz(folder: Path, name: str, **arrays):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    np.savez(path, **arrays)


def write_idx(folder: Path, name: str, values):
    values = np.asarray(values, np.uint8)
    (folder / "mnist").mkdir(exist_ok=True)
    head = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">u4").tobytes()
    (folder / "mnist" / name).write_bytes(gzip.compress(head + values.tobytes()))


def write_mnist(folder: Path):
    write_idx(folder, "train-labels-idx1-ubyte.gz", [3, 1, 8])
    write_idx(folder, "train-images-idx3-ubyte.gz", np.arange(12).reshape(3, 2, 2))
    write_idx(folder, "t10k-labels-idx1-ubyte.gz", [8, 2])
    write_idx(folder, "t10k-images-idx3-ubyte.gz", np.arange(8).reshape(2, 2, 2) + 100)


def write_adult(folder: Path):
    write(folder, "adult/adult.data.gz", PERSON.format(work="Private", income=">50K") + "\n")
    first, *others = PERSON.split(", ")
    assert first == "39"
    names = "age, " + ", ".join(f"n{i}" for i in range(len(others))) + "\n"
    rows = PERSON.format(work="?", income="<=50K.") + PERSON.format(work="Never", income=">50K.")
    write(folder, "adult/adult.test.gz", names + rows)


def write_kdd(folder: Path):
    names = "normal,smurf.\nduration: continuous.\nprotocol_type: symbolic.\nflag: symbolic.\nland: symbolic.\n"
    write(folder, "kddcup99/kddcup.names", names)
    write(folder, "kddcup99/kddcup.data_10_percent.gz", "0,tcp,SF,1,normal.\n5,udp,S0,0,smurf.\n0,tcp,SF,1,normal.\n")
    write(folder, "kddcup99/corrected.gz", "7,icmp,SF,0,snmpguess.\n")


def test_a_missing_file_says_where_it_was_looked_for_and_what_to_set(tmp_path, monkeypatch):
    monkeypatch.setenv("SKGRAFT_DATA", str(tmp_path / "nowhere"))
    for read in READERS:
        with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path / "nowhere"))) as error:
            read()
        assert "set the environment variable SKGRAFT_DATA" in str(error.value)


def test_usps_knows_its_test_rows(tmp_path):
    X = np.arange(12, dtype=np.float32).reshape(3, 4)
    write_npz(tmp_path, "usps/usps.npz", X_train=X[:2], y_train=[6, 5], X_test=X[2:], y_test=[9])
    train, test = read_usps(tmp_path).split()
    assert np.array_equal(train.data, X[:2])
    assert test.target.tolist() == [9]
    assert train.feature_names == ["pixel_0_0", "pixel_0_1", "pixel_1_0", "pixel_1_1"]


def test_mnist_keeps_the_digits_asked_for(tmp_path):
    write_mnist(tmp_path)
    pair = read_mnist(tmp_path, digits=(3, 8))
    assert pair.target.tolist() == [3, 8, 8]
    assert pair.is_test.tolist() == [False, False, True]
    assert pair.data[:, 0].tolist() == [0, 8, 100]
    assert read_mnist(tmp_path).data.shape == (5, 4)


def test_mnist_of_another_format_is_refused(tmp_path):
    write_mnist(tmp_path)
    write_idx(tmp_path, "t10k-labels-idx1-ubyte.gz", [[1, 2]])
    with pytest.raises(ValueError, match="is no file of bytes in 1 dimensions"):
        read_mnist(tmp_path)


def test_isolet_is_tested_on_its_fifth_part(tmp_path):
    write_npz(tmp_path, "isolet/isolet_7797.npz", X=np.eye(3, dtype=np.float32), y=[1, 2, 26], part=[1, 5, 4])
    read = read_isolet(tmp_path)
    assert read.is_test.tolist() == [False, True, False]
    assert [read.target_names[letter] for letter in read.target] == ["A", "B", "Z"]


def test_colon_names_genes_and_tissues(tmp_path):
    names = {"feature_names": ["Hsa.1", "Hsa.1"], "target_names": ["normal", "tumor"]}
    write_npz(tmp_path, "colon/colon_raw.npz", X=[[1.0, 2.0]], y=np.array([1], np.int8), **names)
    read = read_colon(tmp_path)
    assert read.feature_names == ["Hsa.1", "Hsa.1"]
    assert read.target_names[read.target[0]] == "tumor"
    with pytest.raises(ValueError, match="comes without a test part"):
        read.split()


def test_pcmac_is_read_from_its_matlab_file(tmp_path):
    (tmp_path / "skfeature").mkdir()
    savemat(tmp_path / "skfeature" / "PCMAC.mat", {"X": np.array([[0, 2], [1, 0]], np.uint8), "Y": [[1], [2]]})
    read = read_pcmac(tmp_path)
    assert read.data.tolist() == [[0.0, 2.0], [1.0, 0.0]]
    assert read.target.tolist() == [1, 2]


def test_spambase_takes_its_names_from_the_description(tmp_path):
    write(tmp_path, "spambase/spambase.data", "0.5,3,1\n0,7,0\n")
    write(
        tmp_path, "spambase/spambase.names", "| see: elsewhere\nword_freq_make: continuous.\nlongest:   continuous.\n"
    )
    read = read_spambase(tmp_path)
    assert read.feature_names == ["word_freq_make", "longest"]
    assert read.data.tolist() == [[0.5, 3.0], [0.0, 7.0]]
    assert read.target.tolist() == [1, 0]
    write(tmp_path, "spambase/spambase.names", "word_freq_make: continuous.\n")
    with pytest.raises(ValueError, match="3 cells in a line; 1 features and a class are named"):
        read_spambase(tmp_path)


def test_a9a_has_123_columns_however_few_are_filled(tmp_path):
    write(tmp_path, "adult/a9a.gz", "-1 3:1 11:1\n+1 1:1\n")
    write(tmp_path, "adult/a9a.t.gz", "+1 5:1\n")
    train, test = read_a9a(tmp_path).split()
    assert train.data.shape == (2, 123)
    assert np.flatnonzero(train.data[0]).tolist() == [2, 10]
    assert test.target.tolist() == [1]


def test_adult_has_categories_and_what_is_not_known_is_nan(tmp_path):
    write_adult(tmp_path)
    read = read_adult(tmp_path)
    assert read.target.tolist() == [1, 0, 1]
    assert read.is_test.tolist() == [False, True, True]
    assert read.categories["workclass"] == ["Never", "Private"]
    assert np.array_equal(read.data[:, 1], [1.0, np.nan, 0.0], equal_nan=True)
    assert repr(read) == "<RealData: 3 rows, 14 features (8 categorical), 2 classes>"


def test_a_frame_of_adult_has_columns_of_categories(tmp_path):
    write_adult(tmp_path)
    frame = read_adult(tmp_path).to_frame()
    assert frame["age"].tolist() == [39.0, 39.0, 39.0]
    assert frame["workclass"].dtype == "category"
    assert frame["workclass"].isna().tolist() == [False, True, False]
    assert frame["workclass"].iloc[2] == "Never"


def test_an_unknown_category_is_zero_in_all_of_its_columns(tmp_path):
    write_adult(tmp_path)
    wide = read_adult(tmp_path).one_hot()
    columns = [j for j, name in enumerate(wide.feature_names) if name.startswith("workclass=")]
    assert wide.data[:, columns].tolist() == [[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]
    assert wide.categories == {}
    assert wide.data.shape[1] == len(wide.feature_names) == 6 + 2 + 7


def test_kddcup99_repeats_its_rows_in_order_and_numbers_both_parts_alike(tmp_path):
    write_kdd(tmp_path)
    read = read_kddcup99(tmp_path)
    assert read.data[:, 0].tolist() == [0, 5, 0, 7]
    assert [read.target_names[kind] for kind in read.target] == ["normal", "smurf", "normal", "snmpguess"]
    assert [read.categories["protocol_type"][int(code)] for code in read.data[:, 1]] == ["tcp", "udp", "tcp", "icmp"]
    assert set(read.categories) == {"protocol_type", "flag"}
    assert read.is_test.tolist() == [False, False, False, True]


def test_a_line_of_another_width_is_refused_with_its_text(tmp_path):
    write_kdd(tmp_path)
    write(tmp_path, "kddcup99/corrected.gz", "7,icmp,SF\n")
    with pytest.raises(ValueError, match="should have 5 cells in each line, not 3: 7,icmp,SF"):
        read_kddcup99(tmp_path)


@pytest.mark.data
@pytest.mark.parametrize(
    ("read", "shape", "n_test"),
    [
        (read_usps, (9298, 256), 2007),
        (read_mnist, (70000, 784), 10000),
        (read_isolet, (7797, 617), 1559),
        (read_colon, (62, 2000), None),
        (read_pcmac, (1943, 3289), None),
        (read_spambase, (4601, 57), None),
        (read_a9a, (48842, 123), 16281),
        (read_adult, (48842, 14), 16281),
        (read_kddcup99, (805050, 41), 311029),
    ],
)
def test_real_data_are_as_large_as_described(data_dir, read, shape, n_test):
    found = read(data_dir)
    assert found.data.shape == shape
    assert len(found.feature_names) == shape[1]
    assert (None if found.is_test is None else int(found.is_test.sum())) == n_test


@pytest.mark.data
def test_real_threes_and_eights_are_as_many_as_in_the_paper(data_dir):
    train, test = read_mnist(data_dir, digits=(3, 8)).split()
    assert (train.target.size, test.target.size) == (11982, 1984)


@pytest.mark.data
def test_real_tissues_are_40_tumours_and_22_normal(data_dir):
    assert np.bincount(read_colon(data_dir).target).tolist() == [22, 40]
