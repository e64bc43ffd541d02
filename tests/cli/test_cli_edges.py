"""Edges on the command line: every format, the names through to every output, and what cannot be."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys

import numpy as np
import pytest
from scipy.sparse import coo_array, save_npz

import reliac

A, B, DISTANCE = ["x", "y", "u", "x"], ["y", "z", "v", "z"], [1.0, 2.0, 1.5, 3.0]
ROWS = list(zip(A, B, DISTANCE, strict=True))


def written(rows, header="a,b,distance\n"):
    return header + "".join(f"{a},{b},{distance}\n" for a, b, distance in rows)


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text(written(ROWS))
    return str(path)


def labels(text):
    return [tuple(row) for row in csv.reader(io.StringIO(text))][1:]


APART = [("u", "0"), ("v", "0"), ("x", "1"), ("y", "1"), ("z", "1")]


def test_every_format_of_a_table_may_hold_edges(run, tmp_path, monkeypatch):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    table = arrow.table({"a": A, "b": B, "distance": DISTANCE})
    parquet.write_table(table, tmp_path / "edges.parquet")
    feather.write_feather(table, tmp_path / "edges.arrow")
    (tmp_path / "edges.csv").write_text(written(ROWS))
    (tmp_path / "edges.tsv").write_text(written(ROWS).replace(",", "\t"))
    (tmp_path / "plain.csv").write_text(written(ROWS, ""))
    (tmp_path / "semicolons").write_text("\n".join(f"{a};{b};{d}".replace(".", ",") for a, b, d in ROWS))
    (tmp_path / "edges.csv.gz").write_bytes(gzip.compress(written(ROWS).encode()))
    for name in ("parquet", "arrow", "csv", "tsv", "csv.gz"):
        assert labels(run("cluster", tmp_path / f"edges.{name}", "--edges", "--to", "labels").out) == APART, name
    for name in ("plain.csv", "semicolons"):
        assert labels(run("cluster", tmp_path / name, "--edges", "--out", "-", "--to", "labels").out) == APART, name
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written(ROWS).encode())))
    assert labels(run("cluster", "-", "--edges", "--to", "labels").out) == APART


def test_a_sparse_matrix_and_an_array_of_three_columns_are_edges_too(run, tmp_path):
    matrix = coo_array((DISTANCE, ([0, 1, 3, 0], [1, 2, 4, 2])), shape=(6, 6))
    save_npz(tmp_path / "edges.npz", matrix)
    numbered = [("0", "0"), ("1", "0"), ("2", "0"), ("3", "1"), ("4", "1")]
    assert labels(run("cluster", tmp_path / "edges.npz", "--edges", "--to", "labels").out) == [*numbered, ("5", "2")]
    np.save(tmp_path / "edges.npy", np.column_stack(([0, 1, 3, 0], [1, 2, 4, 2], DISTANCE)))
    assert labels(run("cluster", tmp_path / "edges.npy", "--edges", "--to", "labels").out) == numbered
    wrong = run("cluster", tmp_path / "edges.npz", "--edges", "--objects", tmp_path / "edges.npz", status=2)
    assert "a matrix whose rows are the objects" in wrong.err or "cannot be read" in wrong.err


def test_columns_are_found_by_name_or_position_and_similarities_turned(run, tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("score,left,right,note\n0.9,p,q,a b\n0.2,q,r,\n")
    named = run("cluster", path, "--edges", "left,right,score", "--similarity", "--missing", "1", "--to", "newick")
    assert named.out == "((p:0,q:0):0.425,r:0.425);\n"
    assert run("cluster", path, "--edges=2,3,1", "--similarity", "--missing", "1", "--to", "newick").out == named.out
    expected = reliac.cluster_edges((["p", "q"], ["q", "r"], [0.9, 0.2]), similarity=True, missing=1.0)
    assert named.out == expected.to_newick()
    for word in ("--edges", "--edges=left,right"):
        assert "name the two ends and the number: --edges A,B,NUMBER" in run("cluster", path, word, status=2).err
    with pytest.raises(SystemExit):
        run("cluster", path, "--edges", "left,right")


def test_names_are_kept_as_they_are_written(run, tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("a,b,distance\n007,7,1\n10,2,1\n7,10,5\n")
    assert labels(run("cluster", path, "--edges", "--distance", 1).out) == [
        ("007", "0"), ("10", "1"), ("2", "1"), ("7", "0")
    ]  # fmt: skip
    path.write_text("a,b,distance\n7,10,1\n10,2,5\n")
    assert [name for name, _ in labels(run("cluster", path, "--edges", "--level", 0).out)] == ["2", "7", "10"]


def test_names_go_through_to_every_output(run, edges, tmp_path):
    pytest.importorskip("matplotlib")
    run("cluster", edges, "--edges", "--out", tmp_path / "tree.reliac", "--plot", tmp_path / "tree.png")
    assert (tmp_path / "tree.png").read_bytes()[:4] == b"\x89PNG"
    tree = reliac.load(tmp_path / "tree.reliac")
    assert tree.object_names.tolist() == ["u", "v", "x", "y", "z"]
    assert tree.n_components == 2
    assert tree.parameters["missing"] == "far"
    assert labels(run("cluster", tmp_path / "tree.reliac", "--clusters", 2).out) == APART
    assert run("cluster", edges, "--edges", "--to", "newick").out.splitlines() == tree.to_newick().splitlines()
    assert "TREE tree_2" in run("cluster", edges, "--edges", "--to", "nexus").out
    assert json.loads(run("cluster", edges, "--edges", "--to", "json").out)["names"] == ["u", "v", "x", "y", "z"]
    assert "5 objects" in run("info", tmp_path / "tree.reliac").out
    assert run("cluster", tmp_path / "tree.reliac", "--edges", "--clusters", 2, status=2).err.count("--edges") == 1


def test_options_reach_cluster_edges(run, edges, tmp_path):
    for words, options in [
        (("--criterion", "single"), {"criterion": "single"}),
        (("--missing", "ignore"), {"missing": "ignore"}),
        (("--missing", "7.5", "--alpha", "0"), {"missing": 7.5, "alpha": 0.0}),
        (("--max-distance", "1"), {"max_distance": 1.0}),
        (("--max-level", "1"), {"max_level": 1}),
        (("--stop-clusters", "4"), {"n_clusters": 4}),
        (("--join-components",), {"join_components": True}),
        (("--tie-tolerance", "0.6", "--jobs", "1"), {"tie_tolerance": 0.6}),
    ]:
        run("cluster", edges, "--edges", *words, "--out", tmp_path / "tree.reliac")
        expected = reliac.cluster_edges((A, B, DISTANCE), **options)
        assert np.array_equal(reliac.load(tmp_path / "tree.reliac").links, expected.links), words
    twice = tmp_path / "twice.csv"
    twice.write_text("a,b,distance\nx,y,1\ny,x,3\n")
    assert "settle it with --duplicates min" in run("cluster", twice, "--edges", status=2).err
    made = run("cluster", twice, "--edges", "--duplicates", "mean", "--missing", "9", "--to", "newick")
    assert made.out == "(x:1,y:1);\n"


def test_objects_come_with_an_order_with_classes_and_with_weights(run, edges, tmp_path):
    (tmp_path / "objects.csv").write_text("id,kind,w\nz,A,1\nx,A,2\ny,A,1\nalone,C,1\nu,B,1\nv,B,1\n")
    words = ("--edges", "--objects", tmp_path / "objects.csv")
    listed = run("cluster", edges, *words, "--name-column", "id", "--label-column", "kind", "--criterion", "single")
    assert [name for name, _ in labels(listed.out)] == ["z", "x", "y", "alone", "u", "v"]
    assert "ARI 1.000" in listed.err
    run("cluster", edges, *words, "--weights-column", "w", "--out", tmp_path / "tree.reliac")
    names = ["z", "x", "y", "alone", "u", "v"]
    expected = reliac.cluster_edges((A, B, DISTANCE), objects=names, weights=[1, 2, 1, 1, 1, 1])
    tree = reliac.load(tmp_path / "tree.reliac")
    assert np.array_equal(tree.links, expected.links)
    assert tree.weights.tolist() == [1, 2, 1, 1, 1, 1]
    (tmp_path / "names.txt").write_text("u\nv\nx\ny\nz\n")
    assert labels(run("cluster", edges, "--edges", "--objects", tmp_path / "names.txt", "--to", "labels").out) == APART
    (tmp_path / "names.txt").write_text("u\nv\nx\ny\n")
    missing = run("cluster", edges, "--edges", "--objects", tmp_path / "names.txt", status=2)
    assert "names 'z'" in missing.err
    assert "Next: " in missing.err


def test_levels_outliers_and_spanning_forests_of_edges(run, edges):
    assert run("levels", edges, "--edges", "--to", "csv").out.splitlines()[1].startswith("0,5,0")
    assert run("mst", edges, "--edges").out.splitlines()[1:] == ["x,y,1.0,1", "u,v,1.5,1", "y,z,2.0,2"]
    assert run("outliers", edges, "--edges", "--by", "level", "--to", "csv").out.splitlines()[1].startswith("z,1.0,2")


def test_a_forest_is_cut_into_no_fewer_clusters_than_it_has_trees(run, edges):
    for words, message in [
        (("--clusters", 1), "the edges leave 2 clusters apart: ask for more, or add --join-components"),
        (("--stop-clusters", 1), "2 connected components. Allowed: 2 to 5 clusters. Next: .*--join-components"),
        (("--to", "z"), "A forest of 2 trees.*join the rest with --join-components"),
    ]:
        result = run("cluster", edges, "--edges", *words, status=2)
        assert re.search(message, result.err)
    joined = run("cluster", edges, "--edges", "--join-components", "--clusters", 1)
    assert {cluster for _, cluster in labels(joined.out)} == {"0"}
    assert run("cluster", edges, "--edges", "--join-components", "--to", "z").out.count("\n") == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,distance\nx,y,1\n,z,2\n", "empty at row 2 (line 3), column 'a'"),
        ("a,b,distance\nx,y,1\ny,z,\n", "empty at row 2 (line 3), column 'distance'"),
        ("a,b,distance\nx,y,1\ny,z,nan\n", "nan at row 2 (line 3), column 'distance'"),
        ("a,b,distance\nx,y,1\ny,z,inf\n", "inf at row 2 (line 3), column 'distance'"),
        ("a,b,distance\nx,y,1\ny,z,-2\n", "The distance -2 at row 2 (line 3), column 'distance'"),
        ("a,b,distance\nx,y,1\ny,z,near\n", "'near' at row 2 (line 3)"),
        ("a,b,distance\nx,y,1\ny,z", "line 3 has 2 cells, line 2 has 3"),
        ("a,b,distance\n", "a header and no rows"),
        ("", "is empty"),
        ("from,to,score\nx,y,1\n", "An edge table with columns from, to, score"),
        ("x,y\ny,z\n", "An edge table with columns 1, 2"),
    ],
)
def test_what_is_wrong_with_edges_is_told_with_its_line(run, tmp_path, text, message):
    path = tmp_path / "edges.csv"
    path.write_text(text)
    result = run("cluster", path, "--edges", status=2)
    assert message in result.err
    assert "Allowed: " in result.err
    assert "Next: " in result.err


def test_a_binary_file_that_ends_too_early_is_refused(run, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    table = arrow.table({"a": A * 100, "b": B * 100, "distance": DISTANCE * 100})
    parquet.write_table(table, tmp_path / "edges.parquet")
    feather.write_feather(table, tmp_path / "edges.arrow")
    for name in ("edges.parquet", "edges.arrow"):
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
        result = run("cluster", tmp_path / name, "--edges", status=2)
        assert "cannot be read as" in result.err
        assert "it may end too early" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--similarity", "--missing", "far"), "--similarity, --missing without --edges"),
        (("--edges", "--metric", "cosine"), "--metric with --edges"),
        (("--edges", "--standardize"), "--standardize with --edges"),
        (("--edges", "--label-column", "kind"), "add --objects FILE"),
        (("--edges", "--missing", "0.5"), "no edge exceeds"),
        (("--edges", "--duplicates", "first"), "Unknown duplicates 'first'"),
        (("--edges", "p,q,r"), "Unknown column 'p'"),
        (("--edges", "--criterion", "ward"), "--criterion ward on a graph"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run, edges, words, message):
    result = run("cluster", edges, *words, status=2)
    assert message in result.err
    assert "Next: " in result.err


def test_a_missing_distance_is_a_word_or_a_number(run, edges, capsys):
    with pytest.raises(SystemExit):
        run("cluster", edges, "--edges", "--missing", "near")
    assert "Allowed: far, ignore or a number." in capsys.readouterr().err


def test_large_text_is_read_by_arrow_with_the_same_names(run, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    from reliac.cli import delimited

    path = tmp_path / "edges.csv"
    path.write_text(written([("007", "x", 1.0), ("x", "12", 2.0), ("12", "13", 1.0)]))
    slow = run("cluster", path, "--edges", "--missing", "9", "--to", "newick").out
    monkeypatch.setattr(delimited, "LARGE", 1)
    assert run("cluster", path, "--edges", "--missing", "9", "--to", "newick").out == slow
    assert "007" in slow


def test_a_database_clusters_parquet_files_with_little_memory(run, tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("duckdb")
    for name, rows in (("one", slice(0, 2)), ("two", slice(2, 4))):
        table = arrow.table({"a": A[rows], "b": B[rows], "score": [1.0 - d / 10 for d in DISTANCE[rows]]})
        parquet.write_table(table, tmp_path / f"{name}.parquet")
    options = ("--edges", "a,b,score", "--similarity", "--missing", "far", "--max-distance", "0.4", "--engine", "sql")
    more = ("--memory-limit", "500MB", "--checkpoint", tmp_path / "run.duckdb", "--criterion", "single")
    found = run("cluster", tmp_path / "*.parquet", *options, *more, "--to", "labels", "--verbose")
    assert labels(found.out) == APART
    assert "engine sql (DuckDB)" in found.err
    assert not (tmp_path / "run.duckdb").exists()
    wrong = run("cluster", tmp_path / "one.parquet", *options, "--memory-limit", "much", status=2)
    assert "--memory-limit 2GB" in wrong.err
    wrong = run("cluster", tmp_path / "one.parquet", "--edges", "a,b,score", "--memory-limit", "2GB", status=2)
    assert "add --engine sql" in wrong.err


# --- neighbours ---


def points_file(folder):
    rows = ["x,y", *(f"{x + (0 if i < 20 else 100)},{x * x % 7}" for i, x in enumerate(range(40)))]
    path = folder / "points.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_neighbours_of_a_table_are_clustered_as_in_python(run, tmp_path):
    path = points_file(tmp_path)
    run("cluster", path, "--neighbors", 4, "--out", tmp_path / "tree.reliac")
    X = np.loadtxt(path, delimiter=",", skiprows=1)
    assert np.array_equal(reliac.load(tmp_path / "tree.reliac").links, reliac.cluster(X, "average", neighbors=4).links)
    assert "neighbors 4" in run("cluster", path, "--neighbors", 4).out
    joined = run("cluster", path, "--neighbors", 4, "--join-components", "--clusters", 1).out
    assert {line.split(",")[-1] for line in joined.split()[1:]} == {"0"}


def test_neighbours_that_do_not_fit_are_told_in_the_words_of_the_command_line(run, tmp_path):
    path = points_file(tmp_path)
    said = run("cluster", path, "--neighbors", 4, "--criterion", "ward", status=2).err
    assert "--criterion ward with --neighbors 4" in said
    assert "connectivity" in said
    said = run("cluster", path, "--neighbors", 4, "--clusters", 1, status=2).err
    assert "--join-components" in said
    assert "--neighbors" in run("cluster", path, "--edges", "--neighbors", 4, status=2).err
    assert "without --edges" in run("cluster", path, "--join-components", status=2).err
