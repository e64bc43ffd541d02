"""reliac choose, and the scores that reliac compare shows."""

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
    tree = reliac.cluster(X)
    tree.save("tree.reliac")
    tree.save("whole.reliac", data=True)


def run(words, capsys):
    assert main(words.split()) == 0, capsys.readouterr().err
    shown = capsys.readouterr()
    header, *rows = csv.reader(shown.out.splitlines())
    return header, [[float(cell) if cell else np.nan for cell in row] for row in rows], shown.err


@pytest.mark.parametrize("source", ["data.npy", "whole.reliac"])
def test_choose_shows_the_scores_of_the_tree_and_tells_the_suggestion(files, capsys, source):
    header, rows, told = run(f"choose {source} --most 9 --to csv", capsys)
    tree = reliac.cluster(X)
    wanted = tree.scores(n_clusters=range(2, 10))
    assert header == ["n_clusters", *wanted.columns]
    np.testing.assert_allclose(np.array(rows)[:, 1:], wanted.to_numpy(), rtol=1e-9)
    assert repr(tree.suggest(n_clusters=range(2, 10))) in told
    assert "silhouette: exact, by euclidean" in told


def test_choose_lets_stability_have_a_say_and_draws(files, capsys):
    pytest.importorskip("matplotlib")
    header, rows, told = run("choose data.npy --fewest 3 --most 5 --repeats 2 --seed 4 --plot s.png --to csv", capsys)
    assert header[-1] == "stability"
    wanted = reliac.cluster(X).stability(n_clusters=[3, 4, 5], repeats=2, seed=4)
    np.testing.assert_allclose([row[-1] for row in rows], wanted["stability"])
    assert "2 trees of 48 of its 60 objects (seed 4)" in told
    with open("s.png", "rb") as picture:
        assert picture.read(4) == b"\x89PNG"


def test_a_tree_without_its_data_is_judged_by_itself_and_it_is_said(files, capsys):
    header, rows, told = run("choose tree.reliac --to csv", capsys)
    assert header == ["n_clusters", "distance", "gap", "level_lifetime"]
    assert len(rows) == 19
    assert "a tree without its data" in told
    assert "no other score was computed" in told


def test_compare_shows_scores_that_need_no_classes(files, capsys):
    assert main(["compare", "data.npy", "--clusters", "4", "--alpha", "1", "--to", "csv"]) == 0
    header, row = csv.reader(capsys.readouterr().out.splitlines())
    assert header[3:7] == ["silhouette", "CH", "DB", "agreement"]
    wanted = reliac.cluster(X).scores(n_clusters=4)
    scores = wanted.loc[4, ["silhouette", "calinski_harabasz", "davies_bouldin"]]
    np.testing.assert_allclose([float(cell) for cell in row[3:6]], scores, atol=1e-4)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--most 61", "--most 61"),
        ("--most 0", "--most 0"),
        ("--fewest 7 --most 3", "--fewest 7 and --most 3"),
        ("--repeats 0", "--repeats 0"),
        ("--sample 0", "--sample 0"),
        ("--fewest 1 --most 1", "No score is defined for 1 to 1 clusters"),
    ],
)
def test_numbers_that_cannot_be_are_refused(files, capsys, words, message):
    assert main(["choose", "data.npy", *words.split()]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "Allowed: " in told
    assert "Next: " in told
