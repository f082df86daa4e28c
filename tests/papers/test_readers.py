import re
from pathlib import Path

import numpy as np
import pytest
from papers.data import read_arrhythmia, read_mfeat


def write_mfeat(folder: Path):
    (folder / "mfeat").mkdir()
    names = np.array(["fou_0", "pix_0"])
    X, y = np.array([[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]]), np.array([0, 0, 9], dtype=np.int8)
    np.savez(folder / "mfeat" / "mfeat_2000x649.npz", X=X, y=y, feature_names=names)
    return X, y


def write_arrhythmia(folder: Path, cells: int = 280):
    """Write three records: one complete but for J, one that lacks the P interval, one with nothing missing."""
    (folder / "arrhythmia").mkdir()
    rows = [[str(100 * i + j) for j in range(cells - 1)] + [str(i)] for i in (1, 2, 16)]
    if cells == 280:
        rows[0][13] = rows[1][13] = rows[1][8] = "?"
    (folder / "arrhythmia" / "arrhythmia.data").write_text("\n".join(",".join(row) for row in rows) + "\n")


def test_mfeat_is_read_as_it_was_written(tmp_path):
    X, y = write_mfeat(tmp_path)
    read = read_mfeat(tmp_path)
    assert np.array_equal(read.data, X)
    assert np.array_equal(read.target, y)
    assert read.target.dtype == np.int64
    assert read.feature_names == ["fou_0", "pix_0"]
    assert repr(read) == "<RealData: 3 rows, 2 features, 2 classes>"


def test_arrhythmia_drops_j_and_then_incomplete_records(tmp_path):
    write_arrhythmia(tmp_path)
    read = read_arrhythmia(tmp_path)
    assert read.data.shape == (2, 278)
    assert read.target.tolist() == [1, 16]
    assert "angle J" not in read.feature_names
    assert read.data[0, read.feature_names.index("angle QRST")] == 112
    assert read.data[0, read.feature_names.index("heart rate")] == 114


def test_arrhythmia_keeps_everything_when_asked_to(tmp_path):
    write_arrhythmia(tmp_path)
    read = read_arrhythmia(tmp_path, drop_missing=False)
    assert read.data.shape == (3, 279)
    missing = {(int(i), read.feature_names[j]) for i, j in np.argwhere(np.isnan(read.data))}
    assert missing == {(0, "angle J"), (1, "angle J"), (1, "P interval")}


def test_arrhythmia_of_another_width_is_refused(tmp_path):
    write_arrhythmia(tmp_path, cells=12)
    with pytest.raises(ValueError, match="should have 279 features and a class in each line, not 12 cells"):
        read_arrhythmia(tmp_path)


# Numbers of the features in the data set's own description, which counts from one.
@pytest.mark.parametrize(
    ("number", "name"),
    [
        (1, "age"),
        (14, "angle J"),
        (15, "heart rate"),
        (16, "DI Q width"),
        (27, "DI diphasic T"),
        (28, "DII Q width"),
        (159, "V6 diphasic T"),
        (160, "DI JJ amplitude"),
        (169, "DI QRSTA"),
        (279, "V6 QRSTA"),
    ],
)
def test_arrhythmia_features_are_named_as_described(tmp_path, number, name):
    write_arrhythmia(tmp_path)
    names = read_arrhythmia(tmp_path, drop_missing=False).feature_names
    assert names[number - 1] == name
    assert len(set(names)) == 279


@pytest.mark.parametrize("read", [read_mfeat, read_arrhythmia])
def test_a_missing_file_says_where_it_was_looked_for_and_what_to_set(read, tmp_path, monkeypatch):
    monkeypatch.setenv("SKGRAFT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path / "nowhere"))) as error:
        read()
    assert "set the environment variable SKGRAFT_DATA" in str(error.value)


def test_the_environment_names_the_folder(tmp_path, monkeypatch):
    X, _ = write_mfeat(tmp_path)
    monkeypatch.setenv("SKGRAFT_DATA", str(tmp_path))
    assert np.array_equal(read_mfeat().data, X)


def test_without_the_environment_the_folder_is_beside_the_current_one(tmp_path, monkeypatch):
    monkeypatch.delenv("SKGRAFT_DATA", raising=False)
    (tmp_path / "shared" / "data").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    X, _ = write_mfeat(tmp_path / "shared" / "data")
    assert np.array_equal(read_mfeat().data, X)


@pytest.mark.data
def test_the_real_digits_are_two_hundred_of_each(data_dir):
    digits = read_mfeat(data_dir)
    assert digits.data.shape == (2000, 649)
    assert np.isfinite(digits.data).all()
    assert np.bincount(digits.target).tolist() == [200] * 10


@pytest.mark.data
def test_the_real_arrhythmias_keep_420_records_of_278_features(data_dir):
    hearts = read_arrhythmia(data_dir)
    assert hearts.data.shape == (420, 278)
    assert np.isfinite(hearts.data).all()
    assert (hearts.target == 1).sum() == 237
    assert read_arrhythmia(data_dir, drop_missing=False).data.shape == (452, 279)
