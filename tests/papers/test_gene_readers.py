"""Readers of the data sets of the paper on the zero-norm and of the lecture."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from papers.data import read_brown_yeast, read_leukemia, read_lymphoma, read_prostate

READERS = [read_brown_yeast, read_leukemia, read_lymphoma, read_prostate]


def write(folder: Path, name: str, text: str):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_npz(folder: Path, name: str, **arrays):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    np.savez(path, **arrays)


@pytest.mark.parametrize("read", READERS)
def test_a_missing_file_says_where_it_was_looked_for_and_what_to_set(tmp_path, monkeypatch, read):
    monkeypatch.setenv("SKGRAFT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path / "nowhere"))) as error:
        read()
    assert "set the environment variable SKGRAFT_DATA" in str(error.value)


def test_lymphoma_is_read_as_nine_kinds_or_two_classes(tmp_path):
    masks = {"malignant_66": [True, False, True], "malignant_62": [False, False, True]}
    write_npz(tmp_path, "lymphoma/lymphoma_96x4026.npz", X=np.eye(3), y=np.array([1, 2, 3], np.int8), **masks)
    assert read_lymphoma(tmp_path).target.tolist() == [1, 2, 3]
    assert read_lymphoma(tmp_path, malignant=66).target.tolist() == [1, 0, 1]
    two = read_lymphoma(tmp_path, malignant=62)
    assert two.target.tolist() == [0, 0, 1]
    assert two.target_names == ["other", "malignant"]
    assert two.feature_names == ["gene_1", "gene_2", "gene_3"]
    with pytest.raises(ValueError, match="66 or 62, got 61"):
        read_lymphoma(tmp_path, malignant=61)


def test_leukemia_knows_its_test_rows(tmp_path):
    parts = {"X_train": np.eye(2, dtype=np.int32), "y_train": [0, 1], "X_test": [[5, 6]], "y_test": [1]}
    names = {"feature_names": ["a_at", "b_at"], "target_names": ["ALL", "AML"]}
    write_npz(tmp_path, "leukemia/golub_7129.npz", **parts, **names)
    train, test = read_leukemia(tmp_path).split()
    assert_array_equal(train.data, np.eye(2))
    assert test.data.tolist() == [[5.0, 6.0]]
    assert [test.target_names[kind] for kind in test.target] == ["AML"]


def test_yeast_keeps_missing_cells_and_names_its_functions(tmp_path):
    head = "alpha 0\talpha 7\tfunction\tgene\ncontinuous\tcontinuous\td\tstring\n\t\tclass\tmeta\n"
    write(tmp_path, "brown_yeast/brown-selected.tab", head + "?\t0.5\tRibo\tYA\n1\t-2\tProteas\tYB\n")
    read = read_brown_yeast(tmp_path)
    assert_array_equal(read.data, [[np.nan, 0.5], [1.0, -2.0]])
    assert [read.target_names[code] for code in read.target] == ["Ribo", "Proteas"]
    assert read.feature_names == ["alpha 0", "alpha 7"]
    write(tmp_path, "brown_yeast/brown-selected.tab", head + "?\t0.5\tRibo\n")
    with pytest.raises(ValueError, match="4 cells in each line, not 3 as in line 4"):
        read_brown_yeast(tmp_path)


def test_prostate_explains_a_number(tmp_path):
    write(tmp_path, "prostate/prostate.csv", "lcavol,age,lpsa,train\n0.5,50,-0.43,True\n1.5,60,0.77,False\n")
    read = read_prostate(tmp_path)
    assert repr(read) == "<RealData: 2 rows, 2 features, numeric target>"
    train, test = read.split()
    assert train.target.tolist() == [-0.43]
    assert test.data.tolist() == [[1.5, 60.0]]
    assert read.feature_names == ["lcavol", "age"]


@pytest.mark.data
def test_the_real_data_sets_have_the_shapes_of_their_papers(data_dir):
    lymphoma = read_lymphoma(data_dir)
    assert lymphoma.data.shape == (96, 4026)
    assert np.unique(lymphoma.target).size == 9
    assert [int(read_lymphoma(data_dir, malignant=n).target.sum()) for n in (66, 62)] == [66, 62]
    assert_array_equal(read_lymphoma(data_dir, malignant=66).target == 1, np.isin(lymphoma.target, [1, 3, 4]))
    train, test = read_leukemia(data_dir).split()
    assert train.data.shape == (38, 7129)
    assert test.data.shape == (34, 7129)
    assert np.bincount(train.target).tolist() == [27, 11]
    assert np.bincount(test.target).tolist() == [20, 14]
    yeast = read_brown_yeast(data_dir)
    assert yeast.data.shape == (186, 79)
    assert dict(zip(yeast.target_names, np.bincount(yeast.target), strict=True)) == {
        "Proteas": 35,
        "Resp": 30,
        "Ribo": 121,
    }
    prostate = read_prostate(data_dir)
    assert prostate.data.shape == (97, 8)
    assert int(prostate.is_test.sum()) == 30
