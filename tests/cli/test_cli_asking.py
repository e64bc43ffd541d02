"""What the command line asks a saved tree: new rows, and a summary."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist, pdist

import reliac
from problems import blobs
from reliac.cli import main

X, NEW = blobs(3, n=40), blobs(4, n=15)
TITLES = ["length", "width", "height"]
KINDS = np.array(["one", "two"])[np.arange(40) % 2]


@pytest.fixture
def files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(X, columns=TITLES, index=pd.Index([f"row {i}" for i in range(40)], name="name"))
    frame.to_csv("data.csv")
    frame.assign(kind=KINDS).to_csv("classed.csv")
    new = pd.DataFrame(NEW, columns=TITLES, index=pd.Index([f"new {i}" for i in range(15)], name="name"))
    new[TITLES[::-1]].to_csv("new.csv")
    new.assign(kind=KINDS[:15]).to_csv("new_classed.csv")
    np.save("new.npy", NEW)
    assert main(["cluster", "data.csv", "--keep-data", "--out", "tree.reliac"]) == 0
    assert main(["cluster", "data.csv", "--out", "bare.reliac"]) == 0
    capsys.readouterr()


def written(words, capsys):
    assert main(words.split()) == 0, capsys.readouterr().err
    return pd.read_csv(io.StringIO(capsys.readouterr().out))


def told(words, capsys):
    try:
        status = main(words.split())
    except SystemExit as left:
        status = left.code
    message = capsys.readouterr().err
    assert status == 2, message
    assert "Allowed: " in message
    assert "Next: " in message
    return message


@pytest.mark.parametrize("source", ["new.csv", "new.npy"])
@pytest.mark.parametrize(
    ("words", "cut"),
    [("--clusters 4", {"n_clusters": 4}), ("--level 2", {"level": 2}), ("--distance 3", {"distance": 3.0})],
)
def test_new_rows_are_placed_as_the_tree_places_them(files, capsys, source, words, cut):
    labels, distances = reliac.cluster(X).predict(NEW, **cut, return_distance=True)
    found = written(f"predict tree.reliac {source} {words}", capsys)
    assert list(found.columns) == ["name", "cluster", "distance"]
    np.testing.assert_array_equal(found["cluster"], labels)
    np.testing.assert_allclose(found["distance"], distances)
    assert str(found["name"][0]) == ("new 0" if source == "new.csv" else "0")


def test_a_limit_known_classes_and_a_file_to_write_to(files, capsys):
    expected = reliac.cluster(X).predict(NEW, 4, max_distance=3.0)
    assert -1 in expected
    words = "predict tree.reliac new_classed.csv --clusters 4 --max-distance 3 --label-column kind --out placed.tsv"
    assert main(words.split()) == 0
    assert "ARI" in capsys.readouterr().err
    with open("placed.tsv") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    assert [int(row[1]) for row in rows[1:]] == expected.tolist()


def test_a_standardized_tree_scales_new_rows_as_its_own(files, capsys):
    assert main(["cluster", "data.csv", "--standardize", "--keep-data", "--out", "scaled.reliac"]) == 0
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    expected = reliac.cluster((X - mean) / deviation).predict((NEW - mean) / deviation, 4)
    np.testing.assert_array_equal(written("predict scaled.reliac new.csv --clusters 4", capsys)["cluster"], expected)
    np.testing.assert_array_equal(reliac.load("scaled.reliac").predict(NEW, 4), expected)
    assert "leave --standardize out" in told("predict scaled.reliac new.csv --clusters 4 --standardize", capsys)
    assert main(["info", "scaled.reliac"]) == 0
    assert "40 rows of 3 columns: length, width, height, standardized" in capsys.readouterr().out


def test_distances_of_new_rows_are_taken_for_a_tree_of_distances(files, capsys):
    np.save("distances.npy", pdist(X))
    np.save("apart.npy", cdist(NEW, X))
    for criterion, more in (("average", ""), ("ward", "--keep-data")):
        words = f"cluster distances.npy --metric precomputed --criterion {criterion} {more} --out given.reliac"
        assert main(words.split()) == 0
        expected = reliac.cluster(pdist(X), criterion, metric="precomputed").predict(cdist(NEW, X), 4)
        found = written("predict given.reliac apart.npy --clusters 4", capsys)
        np.testing.assert_array_equal(found["cluster"], expected)


def test_a_summary_is_that_of_the_tree_with_or_without_the_rows(files, capsys):
    tree = reliac.cluster(pd.read_csv("data.csv", index_col=0))
    whole = tree.summary(4)
    plain = [name for name in whole if name in ("size", "lifetime") or "level" in name or name.endswith("th_distance")]
    kept = written("summary tree.reliac --clusters 4 --to csv", capsys).set_index("cluster")
    pd.testing.assert_frame_equal(kept, whole, check_dtype=False)
    assert main(["summary", "bare.reliac", "--clusters", "4", "--to", "csv"]) == 0
    output = capsys.readouterr()
    assert "a tree without its rows" in output.err
    bare = pd.read_csv(io.StringIO(output.out)).set_index("cluster")
    pd.testing.assert_frame_equal(bare[plain], whole[plain], check_dtype=False)
    assert "medoid" not in bare
    words = "summary bare.reliac classed.csv --clusters 4 --label-column kind --features 1 --exact --to csv"
    expected = tree.summary(4, classes=KINDS, features=1, exact=True)
    pd.testing.assert_frame_equal(written(words, capsys).set_index("cluster"), expected, check_dtype=False)
    assert main(["summary", "tree.reliac", "--level", "2"]) == 0
    assert "medoid_name" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("predict bare.reliac new.csv --clusters 3", "make the tree again with --keep-data"),
        ("predict tree.reliac new.csv", "all objects in one cluster"),
        ("predict tree.reliac new.csv --clusters 99", "--clusters 99"),
        ("predict tree.reliac new.csv --clusters 2 --level 1", "--clusters and --level together"),
        ("predict tree.reliac new.csv more.csv --clusters 2", "one TREE and one FILE"),
        ("predict tree.reliac", "FILE is missing"),
        ("predict tree.reliac new.csv --clusters 3 --skip-column width", "without columns 'width'"),
        ("predict tree.reliac new_classed.csv --clusters 3", "Column 'kind' is not numeric"),
        ("predict tree.reliac nothing.csv --clusters 3", "There is no file"),
        ("predict data.csv new.csv --clusters 3", "not a usable tree file"),
        ("predict - - --clusters 3", "- twice"),
        ("predict tree.reliac new.csv --clusters 3 --max-distance -1", "--max-distance -1"),
        ("summary tree.reliac --clusters 3 --label-column kind", "--label-column with tree.reliac alone"),
        ("summary bare.reliac --clusters 3 --exact", "--exact with bare.reliac alone"),
        ("summary bare.reliac new.npy --clusters 3", "X has 15 rows"),
        ("summary tree.reliac --clusters 3 --features -1", "--features -1"),
        ("cluster data.csv --clusters 3 --keep-data", "--keep-data without a tree file"),
        ("cluster data.csv --neighbors 5 --keep-data --out t.reliac", "--keep-data with a graph"),
        ("cluster data.csv --metric gower --criterion average --keep-data --out t.reliac", "with --metric gower"),
        ("cluster bare.reliac --keep-data --out t.reliac", "does not hold its data"),
    ],
)
def test_mistakes_are_told(files, capsys, words, message):
    assert message in told(words, capsys)


def run(words):
    assert main(words.split()) == 0


@pytest.mark.parametrize("options", ["", "--criterion average --metric sqeuclidean", "--stop-clusters 5"])
def test_a_tree_is_extended_to_that_of_all_rows_again_and_again(files, capsys, options):
    assert main(f"cluster data.csv {options} --engine vectors --keep-data --keep-lists --out t.reliac".split()) == 0
    stop = "--stop-clusters 5" if "stop" in options else ""
    assert main(f"extend t.reliac new.csv {stop} --out more.reliac".split()) == 0
    assert "15 rows more: helped by lists" in capsys.readouterr().err
    again = pd.read_csv("new.csv").assign(name=[f"third {i}" for i in range(15)])
    again[TITLES] += 0.25
    again.to_csv("third.csv", index=False)
    assert main(f"extend more.reliac third.csv {stop} --out most.reliac".split()) == 0
    rows = np.concatenate((X, NEW, NEW + 0.25))
    how = {"criterion": "average", "metric": "sqeuclidean"} if "average" in options else {}
    fresh = reliac.cluster(rows, engine="vectors", n_clusters=5 if stop else None, **how)
    found = reliac.load("most.reliac")
    np.testing.assert_array_equal(found.links, fresh.links)
    assert found.names.tolist()[38:42] == ["row 38", "row 39", "new 0", "new 1"]
    assert found.lists


def test_rows_of_distances_standardized_rows_and_weights_extend_a_tree_too(files, capsys):
    both = np.concatenate((X, NEW))
    np.save("first.npy", cdist(X, X))
    np.save("last.npy", cdist(NEW, both))
    run("cluster first.npy --metric precomputed --criterion average --keep-data --out g.reliac")
    run("extend g.reliac last.npy --out g2.reliac")
    expected = reliac.cluster(cdist(both, both), "average", metric="precomputed")
    np.testing.assert_array_equal(reliac.load("g2.reliac").links, expected.links)
    pd.DataFrame(NEW, columns=TITLES).assign(often=2, name=[f"n{i}" for i in range(15)]).to_csv("w.csv", index=False)
    run("cluster data.csv --standardize --keep-data --out s.reliac")
    run("extend s.reliac w.csv --name-column name --weights-column often --out s2.reliac")
    scaled = (both - X.mean(axis=0)) / X.std(axis=0)
    expected = reliac.cluster(scaled, weights=np.r_[np.ones(40), np.full(15, 2.0)])
    np.testing.assert_allclose(reliac.load("s2.reliac").links["distance"], expected.links["distance"], rtol=1e-12)
    np.save("plain.npy", X)
    run("cluster plain.npy --keep-data --out p.reliac")
    run("extend p.reliac new.csv --out p2.reliac")
    assert "the names of new rows are left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("extend bare.reliac new.csv --out m.reliac", "make the tree again with --keep-data"),
        ("extend tree.reliac new.npy --out m.reliac", "without names"),
        ("extend tree.reliac new.csv --out m.csv", "extension of --out"),
        ("extend tree.reliac", "FILE is missing"),
        ("extend tree.reliac new.csv --standardize --out m.reliac", "leave --standardize out"),
        ("extend tree.reliac new.csv --skip-column width --out m.reliac", "without columns 'width'"),
        ("extend data.csv new.csv --out m.reliac", "not a usable tree file"),
        ("extend - - --out m.reliac", "- twice"),
        ("extend tree.reliac new.csv --stop-clusters 99 --out m.reliac", "--stop-clusters 99"),
        ("cluster data.csv --keep-lists --out m.csv --clusters 3", "--keep-lists without a tree file"),
        ("cluster data.csv --neighbors 3 --keep-lists --out m.reliac", "--keep-lists with a graph"),
    ],
)
def test_what_cannot_be_extended_is_told_before_any_work(files, capsys, words, message):
    assert message in told(words, capsys)
