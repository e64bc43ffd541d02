"""Cuts on the command line: several at once, within sizes, branch by branch."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import reliac
from problems import blobs
from reliac.cli import main

X = blobs(3)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("data.npy", X)
    reliac.cluster(X).save("tree.reliac")


def written(words, capsys):
    assert main(words.split()) == 0, capsys.readouterr().err
    header, *rows = csv.reader(capsys.readouterr().out.splitlines())
    return header, np.array([row[1:] for row in rows], dtype=int)


@pytest.mark.parametrize("source", ["data.npy", "tree.reliac"])
def test_cuts_that_are_typed_are_those_of_the_tree(files, capsys, source):
    tree = reliac.cluster(X)
    for words, wanted in {
        "--clusters 2,5,10": tree.labels([2, 5, 10]),
        "--split-above 9": tree.labels(max_size=9),
        "--clusters 12 --min-size 4": tree.labels(12, min_size=4),
        "--distance 5 --min-size 4 --small drop": tree.labels(distance=5.0, min_size=4, small="drop"),
        "--branches lifetime": tree.branches(),
        "--branches lifetime --min-size 3": tree.branches(min_size=3),
        "--branches inconsistency --threshold 0.8 --depth 3": tree.branches("inconsistency", threshold=0.8, depth=3),
    }.items():
        header, labels = written(f"cluster {source} {words}", capsys)
        assert np.array_equal(labels, wanted.reshape(len(X), -1)), words
        several = wanted.ndim > 1
        assert header == (["name", "clusters_2", "clusters_5", "clusters_10"] if several else ["name", "cluster"])


def test_an_array_of_several_cuts_has_their_columns_and_classes_are_compared_with_each(files, capsys):
    assert main(["cluster", "data.npy", "--clusters", "2,3", "--out", "labels.npy"]) == 0
    assert np.array_equal(np.load("labels.npy"), reliac.cluster(X).labels([2, 3]))
    table = "\n".join(["x,kind", *(f"{value},{kind}" for value, kind in zip(X[:, 0], X[:, 1] > 0, strict=True))])
    with open("classed.csv", "w") as file:
        file.write(table)
    capsys.readouterr()
    assert main(["cluster", "classed.csv", "--label-column", "kind", "--clusters", "2,3", "--out", "labels.csv"]) == 0
    assert capsys.readouterr().err.count("ARI") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--clusters 2,x", "is not a whole number, or several with commas"),
        ("--clusters 2,99", "--clusters 99"),
        ("--clusters 2 --branches lifetime", "--clusters and --branches together"),
        ("--branches life", "did you mean 'lifetime'"),
        ("--threshold 2", "--threshold without the cut"),
        ("--branches lifetime --split-above 3", "--split-above without the cut"),
        ("--branches lifetime --threshold 3", "--threshold 3"),
        ("--clusters 3 --small drop", "--small without --min-size"),
        ("--split-above 0", "--split-above 0"),
        ("--clusters 3 --min-size 5 --split-above 4", "contradict"),
    ],
)
def test_mistakes_about_cuts_are_told(files, capsys, words, message):
    try:
        status = main(["cluster", "tree.reliac", *words.split()])
    except SystemExit as left:
        status = left.code
    assert status == 2
    told = capsys.readouterr().err
    assert message in told
    assert "Allowed: " in told
    assert "Next: " in told
