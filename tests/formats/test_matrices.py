"""Distances and sparse matrices from files of other programs, and trees for them."""

from __future__ import annotations

import gzip
import io
import warnings

import numpy as np
import pytest
from scipy import io as scipy_io
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

import reliac
from problems import blobs
from reliac.cli.columns import Choices
from reliac.cli.reading import read_table

NAMES = ["Human", "Chimp", "Gorilla", "Orang"]
SQUARE = np.array([[0, 1, 3, 5], [1, 0, 3.5, 5.5], [3, 3.5, 0, 6], [5, 5.5, 6, 0]])
EXPECTED = reliac.cluster(SQUARE, "average", metric="precomputed").links


def cells(values):
    return " ".join(f"{value:g}" for value in values)


PHYLIP = {
    "square": [cells(row) for row in SQUARE],
    "lower": [cells(SQUARE[i, :i]) for i in range(4)],
    "lower with diagonal": [cells(SQUARE[i, : i + 1]) for i in range(4)],
    "upper": [cells(SQUARE[i, i + 1 :]) for i in range(4)],
    "upper with diagonal": [cells(SQUARE[i, i:]) for i in range(4)],
    "wrapped": [f"{cells(row[:2])}\n  {cells(row[2:])}" for row in SQUARE],
}


@pytest.fixture
def read(tmp_path):
    def read_content(content, suffix, **choices):
        path = tmp_path / f"file{suffix}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(str(path), None, Choices(**choices))

    return read_content


def links(table):
    return reliac.cluster(table.numbers, "average", metric="precomputed").links


# --- PHYLIP ---


@pytest.mark.parametrize("suffix", [".phy", ".txt", ".phylip.gz"])
@pytest.mark.parametrize("form", PHYLIP)
def test_phylip_matrices_of_every_form_are_read_and_recognised(read, form, suffix):
    text = "   4\n" + "".join(f"{name} {row}\n" for name, row in zip(NAMES, PHYLIP[form], strict=True))
    content = gzip.compress(text.encode()) if suffix.endswith(".gz") else text
    table = read(content, suffix)
    assert table.names.tolist() == NAMES
    assert table.are_distances
    assert np.array_equal(links(table), EXPECTED)


@pytest.mark.parametrize("form", ["square", "lower"])
def test_names_of_strict_phylip_have_ten_characters_and_may_hold_blanks(read, form):
    names = ["Homo sap. ", "Pan trogl.", "Gorilla g ", "P. abelii "]
    text = "4\n" + "".join(f"{name}{row}\n" for name, row in zip(names, PHYLIP[form], strict=True))
    assert read(text, ".phy").names.tolist() == [name.strip() for name in names]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("4 120\nHuman ACGT\n", "holds sequences"),
        ("999999999999\nHuman 0\n", "declares 999999999999 objects"),
        ("3\na 0 1\nb 1\nc 1 2 3 4\n", "none of the forms"),
        ("2\na 0 x\nb x 0\n", "none of the forms"),
        ("", "does not begin with the number"),
    ],
)
def test_a_damaged_phylip_file_is_told_in_three_parts(read, text, told):
    with pytest.raises(ValueError, match=rf"cannot be read as phylip \(.*{told}.*Allowed: .*Next: "):
        read(text, ".phy")


def test_a_phylip_file_needs_no_metric_and_takes_no_other(run, tmp_path):
    text = "4\n" + "".join(f"{name} {row}\n" for name, row in zip(NAMES, PHYLIP["lower"], strict=True))
    (tmp_path / "d.phy").write_text(text)
    told = run("cluster", tmp_path / "d.phy", "--criterion", "average", "--to", "newick").out
    assert told == reliac.cluster(SQUARE, "average", metric="precomputed", names=NAMES).to_newick()
    assert "which holds distances" in run("cluster", tmp_path / "d.phy", "--metric", "cosine", status=2).err


def test_a_column_of_numbers_is_no_phylip_file(read):
    assert read("5\n1\n2\n", ".txt").numbers.tolist() == [[5], [1], [2]]


# --- triangles ---


@pytest.mark.parametrize(
    "text",
    [
        "Human\nChimp,1\nGorilla,3,3.5\nOrang,5,5.5,6\n",
        "Human,,,\nChimp,1,,\nGorilla,3,3.5,\nOrang,5,5.5,6\n",
        "Human\nChimp 1\nGorilla 3 3.5\nOrang 5 5.5 6\n",
        "Human\nChimp\t1\nGorilla\t3\t3.5\nOrang\t5\t5.5\t6\n",
        "Human,0\nChimp,1,0\nGorilla,3,3.5,0\nOrang,5,5.5,6,0\n",
        ",Human,Chimp,Gorilla,Orang\nHuman,0\nChimp,1,0\nGorilla,3,3.5,0\nOrang,5,5.5,6,0\n",
        "Human Chimp Gorilla\nChimp 1\nGorilla 3 3.5\nOrang 5 5.5 6\n",
    ],
)
def test_lower_triangles_with_names_are_read(read, text):
    table = read(text, ".csv", distances=True)
    assert table.names.tolist() == NAMES
    assert np.array_equal(links(table), EXPECTED)


@pytest.mark.parametrize(
    "text", ["1\n3 3.5\n5 5.5 6\n", "0\n1,0\n3,3.5,0\n5,5.5,6,0\n", "0;;;\n1;0;;\n3;3,5;0;\n5;5,5;6;0\n"]
)
def test_lower_triangles_without_names_are_read(read, text):
    table = read(text, ".csv", distances=True)
    assert table.names is None
    assert np.array_equal(links(table), EXPECTED)


def test_a_triangle_without_the_metric_is_told_what_to_add(run, tmp_path):
    (tmp_path / "d.csv").write_text("Human,0\nChimp,1,0\nGorilla,3,3.5,0\n")
    assert "--metric precomputed" in run("cluster", tmp_path / "d.csv", status=2).err


# --- pairs ---

PAIRS = [(NAMES[i], NAMES[j], SQUARE[i, j]) for i in range(4) for j in range(4)]


@pytest.mark.parametrize(
    "rows",
    [
        [pair for pair in PAIRS if NAMES.index(pair[0]) < NAMES.index(pair[1])],
        [pair for pair in PAIRS if NAMES.index(pair[0]) > NAMES.index(pair[1])],
        [pair for pair in PAIRS if pair[0] != pair[1]],
        PAIRS,
    ],
    ids=["upper", "lower", "both", "all"],
)
@pytest.mark.parametrize("header", ["", "a,b,distance\n"])
def test_tables_with_a_row_for_each_pair_are_read(read, rows, header):
    table = read(header + "".join(f"{a},{b},{d}\n" for a, b, d in rows), ".csv", distances=True)
    order = [table.names.tolist().index(name) for name in NAMES]
    square = squareform(table.numbers)
    assert np.array_equal(square[np.ix_(order, order)], SQUARE)


def test_objects_of_pairs_may_be_numbers_which_are_then_sorted(read):
    table = read("10,2,1\n3,10,4\n2,3,2\n", ".csv", distances=True)
    assert table.names.tolist() == ["2", "3", "10"]
    assert table.numbers.tolist() == [2, 1, 4]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b,1\nb,c,2\n", r"lists 2 of 3 pairs of 3 objects: 'a', 'c' is missing"),
        ("a,b,1\nb,a,2\n", r"the pair 'a', 'b' has two distances, 1 and 2"),
        ("a,a,1\na,b,2\n", r"the distance of 'a' to itself is not 0"),
    ],
)
def test_pairs_that_are_missing_or_contradict_each_other_are_named(read, text, told):
    with pytest.raises(ValueError, match=rf"{told}.*Allowed: .*Next: "):
        read(text, ".csv", distances=True)


# --- sparse ---

POINTS = blobs(1, n=20, d=4) * (blobs(2, n=20, d=4) > 0)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_what_scipy_saved_is_read(read, form):
    buffer = io.BytesIO()
    sparse.save_npz(buffer, getattr(sparse, f"{form}_array")(POINTS))
    table = read(buffer.getvalue(), ".npz")
    assert np.array_equal(table.numbers.toarray(), POINTS)


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("make", [np.asarray, sparse.coo_array])
@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
def test_matrix_market_is_read_as_scipy_reads_it(read, symmetry, make, field):
    if field == "pattern" and (make is np.asarray or symmetry.startswith("skew")):
        return  # there is no such thing
    square = np.random.default_rng(1).integers(-3, 4, size=(6, 6))
    square = square if symmetry == "general" else square + square.T if symmetry == "symmetric" else square - square.T
    buffer = io.BytesIO()
    scipy_io.mmwrite(buffer, make(square.astype(float if field == "real" else int)), field=field, symmetry=symmetry)
    buffer.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # SciPy 1.18 tells of another default type
        expected = scipy_io.mmread(buffer)
    numbers = read(buffer.getvalue(), ".mtx").numbers
    assert sparse.issparse(numbers) == sparse.issparse(expected)
    for matrix in (numbers, expected):
        assert matrix.shape == (6, 6)
    assert np.array_equal(sparse.csr_array(numbers).toarray(), sparse.csr_array(expected).toarray())


@pytest.mark.parametrize("make", [np.asarray, sparse.coo_array, sparse.csr_array], ids=["array", "coo", "csr"])
def test_matrix_market_files_are_read(read, make):
    buffer = io.BytesIO()
    scipy_io.mmwrite(buffer, make(POINTS))
    for suffix in (".mtx", ".txt"):
        numbers = read(buffer.getvalue(), suffix).numbers
        assert np.allclose(numbers.toarray() if sparse.issparse(numbers) else numbers, POINTS)


@pytest.mark.parametrize(
    "text",
    [
        "%%MatrixMarket matrix coordinate real general\n9999999999 9999999999 9999999999\n1 1 1\n",
        "%%MatrixMarket matrix coordinate real general\n999999999999 3 1\n1 1 1\n",
        "%%MatrixMarket matrix array real general\n99999 99999\n1\n",
        "%%MatrixMarket matrix coordinate real general\n3 3 1\n7 7 1\n",
        "%%MatrixMarket matrix\n",
        "%%MatrixMarket matrix coordinate real general\n-1 2 3\n",
    ],
)
def test_a_matrix_market_file_that_cannot_be_is_refused_in_our_words(run, tmp_path, text):
    (tmp_path / "m.mtx").write_text(text)
    assert "Next: " in run("cluster", tmp_path / "m.mtx", status=2).err


def test_sparse_files_are_clustered_like_their_arrays(run, tmp_path):
    sparse.save_npz(tmp_path / "m.npz", sparse.csr_array(POINTS))
    np.save(tmp_path / "m.npy", POINTS)
    words = ("--criterion", "average", "--clusters", 3)
    assert run("cluster", tmp_path / "m.npz", *words).out == run("cluster", tmp_path / "m.npy", *words).out
    assert "--standardize" in run("cluster", tmp_path / "m.npz", "--standardize", status=2).err
    assert "A column was named" in run("cluster", tmp_path / "m.npz", "--name-column", 1, status=2).err


# --- trees for other programs ---

TREE = reliac.cluster(
    squareform(pdist([[0.0], [1], [5], [7]])), "average", metric="precomputed", names=["a b", "c_d", "e's", "f"]
)


def test_different_names_that_become_one_are_told():
    tree = reliac.cluster([[0.0], [1.0], [5.0]], names=["a b", "a_b", "c"])
    with pytest.warns(UserWarning, match=r"'a b' and 'a_b' are both written as a_b.*Allowed: .*Next: "):
        tree.to_newick(plain_names=True)


def test_newick_without_quotes_has_plain_names():
    assert "'" in TREE.to_newick()
    assert TREE.to_newick(plain_names=True) == "((a_b:0.5,c_d:0.5):2.25,(e_s:1,f:1):1.75);\n"


def test_comments_tell_level_size_and_distance():
    assert "(e_s,f)[&level=1,size=2,distance=2]" in TREE.to_newick(False, plain_names=True, comments=True)


def test_nexus_holds_the_objects_and_the_trees():
    text = TREE.to_nexus()
    assert text.startswith(
        "#NEXUS\nBEGIN TAXA;\n  DIMENSIONS NTAX=4;\n  TAXLABELS\n    'a b'\n    'c_d'\n    'e''s'\n    f\n  ;\nEND;\n"
    )
    assert f"  TREE tree_1 = [&R] {TREE.to_newick()}" in text
    assert text.endswith("END;\n")


def test_the_command_line_writes_them(run, tmp_path):
    TREE.save(tmp_path / "t.reliac")
    assert run("cluster", tmp_path / "t.reliac", "--to", "nexus").out == TREE.to_nexus()
    run("cluster", tmp_path / "t.reliac", "--out", tmp_path / "t.nex", "--comments", "--plain-names")
    assert (tmp_path / "t.nex").read_text() == TREE.to_nexus(comments=True, plain_names=True)
    assert "--comments without" in run("cluster", tmp_path / "t.reliac", "--to", "json", "--comments", status=2).err


@pytest.mark.filterwarnings("default")
def test_names_that_occur_twice_are_said(run, tmp_path):
    (tmp_path / "d.csv").write_text("id,x\na,1\nb,2\na,5\n")
    said = run("cluster", tmp_path / "d.csv", "--name-column", "id", "--to", "newick").err
    assert said.count("1 of the names occur more than once, 'a' in rows 0 and 2") == 1
    with pytest.warns(UserWarning, match=r"occur more than once.*Allowed: .*Next: "):
        reliac.cluster([[1.0], [2.0], [5.0]], names=["a", "b", "a"]).to_newick()
