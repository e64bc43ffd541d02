"""Data sets: their sizes, classes, names and quirks, and what is said about mistakes."""

from __future__ import annotations

import csv
import gzip
import hashlib

import numpy as np
import pytest
from scipy.sparse import issparse

import reliac
from reliac import datasets
from reliac.datasets import load, load_texts
from reliac.datasets.files import FILES, cache_folder
from reliac.datasets.unpacking import unpack
from reliac.errors import DatasetError
from servers import zipped

pytestmark = pytest.mark.usefixtures("own_places")

#: name -> objects, features, and how many objects the classes have, the largest first
SHAPES = {
    "ecoli": (336, 7, [143, 77, 52, 35, 20, 5, 2, 2]),
    "hayes-roth": (160, 4, [65, 64, 31]),
    "iris": (150, 4, [50, 50, 50]),
    "lung-cancer": (32, 56, [13, 10, 9]),
    "perfume": (560, 2, [28] * 20),
    "seeds": (210, 7, [70, 70, 70]),
    "wine": (178, 13, [71, 59, 48]),
    "news-comp": (1955, 47755, [395, 394, 392, 389, 385]),
    "news-rec": (1590, 23730, [399, 398, 397, 396]),
    "news-sci": (1579, 26934, [396, 396, 394, 393]),
    "letter": (20000, 16, None),
    "mnist-10k": (10000, 784, [1135, 1032, 1028, 1010, 1009, 982, 980, 974, 958, 892]),
}
FROM_SCIKIT_LEARN = ("iris", "wine")


# --- what the loaders give ---


@pytest.mark.parametrize("name", datasets.names())
def test_every_data_set_has_the_size_and_the_classes_that_its_documentation_says(name, data_folder):
    found = load(name, data_folder, download=False)
    n, d, counts = SHAPES[name]
    assert found.name == name
    assert found.X.shape == (n, d)
    assert found.X.dtype.kind == "f"
    assert len(found.y) == n
    assert len(found.feature_names) == d == len(set(found.feature_names))
    if counts is not None:
        assert sorted(found.class_counts.values(), reverse=True) == counts
    assert all(len(column) == n for column in found.columns.values())
    assert found.row_names is None or len(set(found.row_names)) == n
    assert found.description
    assert "http" in found.source
    assert repr(found) == f"Dataset {name!r}: {n} objects, {d} features, {len(found.class_counts)} classes"
    assert not cache_folder().exists()


def test_all_names_are_tested_and_listed():
    assert datasets.names() == list(SHAPES)
    assert reliac.datasets is datasets


@pytest.mark.parametrize("name", FROM_SCIKIT_LEARN)
def test_iris_and_wine_need_neither_a_folder_nor_a_network(name):
    found = load(name, download=False)
    assert found.X.shape == SHAPES[name][:2]


def test_iris_and_wine_are_those_of_the_original_files(data_folder):
    rows = [line.split(",") for line in (data_folder / "uci" / "bezdekIris.data").read_text().split()]
    iris = load("iris")
    assert np.array_equal(iris.X, np.array([row[:4] for row in rows], dtype=float))
    assert [f"Iris-{kind}" for kind in iris.y] == [row[4] for row in rows]
    table = np.loadtxt(data_folder / "uci" / "wine.data", delimiter=",")
    wine = load("wine")
    assert np.array_equal(np.column_stack(list(wine.columns.values()))[:, 1:], table[:, 1:])
    assert np.array_equal(wine.y + 1, table[:, 0])


def test_the_environment_variable_names_the_folder(data_folder, monkeypatch):
    monkeypatch.setenv("RELIAC_DATA", str(data_folder))
    assert load("seeds", download=False).X.shape == (210, 7)


def test_files_of_the_folder_have_the_checksums_of_the_table(data_folder):
    for file in FILES.values():
        plain, packed = data_folder / file.path, data_folder / f"{file.path}.gz"
        data = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
        assert hashlib.sha256(data).hexdigest() == file.sha256, file.path
        assert len(data) == file.size


def test_ecoli_has_the_names_of_the_sequences_and_all_eight_classes(data_folder):
    found = load("ecoli", data_folder)
    assert found.row_names[0] == "AAT_ECOLI"
    assert list(found.columns) == ["name", *found.feature_names, "class"]
    assert found.class_counts["imL"] == found.class_counts["imS"] == 2
    assert {*found.X[:, 2]} == {0.48, 1.0}


def test_hayes_roth_tells_its_parts_and_keeps_the_ids_of_the_training_part(data_folder):
    found = load("hayes-roth", data_folder)
    training = found.columns["part"] == "training"
    assert training.sum() == 132
    assert np.array_equal(np.bincount(found.y[training])[1:], [51, 51, 30])
    assert sorted(found.columns["name"][training]) == list(range(1, 133))
    assert np.isnan(found.columns["name"][~training]).all()
    raw = np.loadtxt(data_folder / "uci" / "hayes-roth.data", delimiter=",")
    assert np.array_equal(found.X[training], raw[:, 1:5])
    assert len(np.unique(found.X, axis=0)) == 84


def test_lung_cancer_has_five_missing_values_and_the_columns_in_the_order_of_the_file(data_folder):
    found = load("lung-cancer", data_folder)
    gaps = sorted((int(i) + 1, found.feature_names[j]) for i, j in np.argwhere(np.isnan(found.X)))
    assert gaps == [(row, "attribute 5") for row in (1, 15, 19, 21)] + [(26, "attribute 39")]
    table = np.column_stack(list(found.columns.values()))
    raw = np.genfromtxt(data_folder / "uci" / "lung-cancer.data", delimiter=",", missing_values="?")
    assert np.array_equal(table, raw, equal_nan=True)
    assert len(np.unique(table[:, -1])) == 2  # what the paper took for the class
    assert np.array_equal(np.unique(found.X[~np.isnan(found.X)]), [0, 1, 2, 3])


def test_perfume_splits_readings_into_code_and_strength_and_keeps_them(data_folder):
    found = load("perfume", data_folder)
    assert np.array_equal(found.X @ [1000, 1], found.columns["reading"])
    assert (found.X.min(axis=0) >= [46, 0]).all()
    assert (found.X.max(axis=0) <= [85, 999]).all()
    assert len(np.unique(found.columns["reading"])) == 152
    assert np.array_equal(found.columns["second"][:28], np.arange(1, 29))


def test_the_workbook_of_perfume_gives_the_same_cells_as_the_text(data_folder, tmp_path):
    (tmp_path / "uci").mkdir()
    workbook = (data_folder / "uci" / "perfume_data.xlsx").read_bytes()
    (tmp_path / "uci" / "perfume_data.xlsx").write_bytes(workbook)
    assert np.array_equal(load("perfume", tmp_path).X, load("perfume", data_folder).X)


def test_digits_are_pixels_row_by_row(data_folder):
    found = load("mnist-10k", data_folder)
    assert found.X.dtype == np.float32
    assert found.X.max() == 255
    assert found.y[:5].tolist() == [7, 2, 1, 0, 4]
    assert np.array_equal(found.columns["pixel 1,2"], found.X[:, 30])


def test_posts_come_by_group_and_name_and_can_be_stripped(data_folder):
    found = load_texts("news-sci", data_folder)
    assert found.row_names.tolist() == sorted(found.row_names.tolist())
    assert found.texts[0].startswith("From: ")
    assert repr(found) == "Texts 'news-sci': 1579 documents, 4 groups"
    bare = load_texts("news-sci", data_folder, remove=["headers"])
    assert bare.texts[0] == found.texts[0].partition("\n\n")[2]
    assert np.array_equal(bare.y, found.y)


def test_parts_are_taken_out_of_all_posts_as_scikit_learn_does(data_folder):
    from sklearn.datasets import _twenty_newsgroups as rules

    from reliac.datasets.texts import _stripped

    texts = [text for name in ("news-comp", "news-rec", "news-sci") for text in load_texts(name, data_folder).texts]
    texts += ["", "\n\n", "--\nme", "--\n", "a\n---\n\nb", "> a\n| b\nhe wrote:\nc"]
    for part, rule in (("headers", "header"), ("footers", "footer"), ("quotes", "quoting")):
        expected = getattr(rules, f"strip_newsgroup_{rule}")
        assert [_stripped(text, (part,)) for text in texts] == [expected(text) for text in texts]


def test_settings_of_the_vectorizer_are_passed_on(data_folder):
    found = load("news-rec", data_folder, remove=("headers", "footers", "quotes"), min_df=5, stop_words="english")
    assert issparse(found.X)
    assert found.X.shape[1] < 10000
    assert "the" not in found.feature_names
    assert found.columns["id"][0] == found.row_names[0].partition("/")[2]


# --- mistakes ---


def test_an_unknown_name_is_answered_with_the_nearest_one():
    with pytest.raises(ValueError, match=r"Unknown data set 'mnist'\. Allowed: ecoli, .*did you mean 'mnist-10k'"):
        load("mnist")
    with pytest.raises(ValueError, match="Unknown data set 3"):
        load(3)
    with pytest.raises(ValueError, match="Unknown data set of texts 'iris'"):
        load_texts("iris")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"min_df": 2}, TypeError, "Data set 'iris' with min_df"),
        ({"remove": ["headers"]}, TypeError, "with remove"),
        ({"timeout": 0}, ValueError, "timeout=0"),
        ({"attempts": 0}, ValueError, "attempts=0"),
        ({"progress": "yes"}, TypeError, "progress='yes'"),
        ({"mirror": "file:///data"}, ValueError, "mirror='file:///data'"),
        ({"folder": "nowhere"}, DatasetError, "folder='nowhere' is no folder"),
    ],
)
def test_wrong_options_are_named(options, error, words):
    with pytest.raises(error, match=words):
        load("iris", **options)


def test_a_part_of_a_post_that_does_not_exist_is_named():
    with pytest.raises(ValueError, match=r"Unknown part of a post 'header'.*did you mean 'headers'"):
        load_texts("news-sci", remove=["header"])


def test_a_wrong_file_in_the_folder_is_an_error_and_is_left_alone(tmp_path):
    (tmp_path / "uci").mkdir()
    for text, words in (("1 2 3\n", "6 bytes where 19,488"), ("x" * 19488, "SHA-256")):
        (tmp_path / "uci" / "ecoli.data").write_text(text)
        with pytest.raises(DatasetError, match=rf"is not the file that data set 'ecoli' is made of.*{words}"):
            load("ecoli", tmp_path, download=False)
        assert (tmp_path / "uci" / "ecoli.data").read_text() == text
    (tmp_path / "uci" / "seeds_dataset.txt.gz").write_bytes(gzip.compress(b"half of it")[:-5])
    with pytest.raises(DatasetError, match="cannot be unpacked"):
        load("seeds", tmp_path, download=False)


def test_workbooks_of_other_programs_are_read():
    sheet = (
        b'<worksheet xmlns="urn:x"><sheetData><row><c r="A1" t="inlineStr"><is><t>rose </t></is></c>'
        b'<c r="B1"><v>46014.0</v></c><c r="C1" t="n"><v>4.5</v></c><c r="D1"/></row><row/></sheetData></worksheet>'
    )
    name = "xl__worksheets__sheet1_dot_xml"
    assert list(csv.reader(unpack(zipped(**{name: sheet})).decode().splitlines())) == [["rose", "46014", "4.5"]]
    with pytest.raises(ValueError, match="the workbook cannot be read"):
        unpack(zipped(**{name: b"<worksheet>"}))
