"""Constraints on the command line: pairs from files, by name or row number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import reliac

TABLE = "name,x\nann,0\nbob,1\ncat,5\ndan,6\neve,20\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A table with names and one without, and pairs of its rows."""
    contents = {
        "table.csv": TABLE,
        "plain.csv": "0\n1\n5\n6\n20\n",
        "edges.csv": "a,b,distance\nann,bob,1\nbob,cat,2\n",
        "cannot.csv": "ann,bob\n",
        "must.tsv": "cat\tdan\ndan\teve\n",
        "rows.txt": "0 1\n",
        "three.csv": "ann,bob,cat\n",
    }
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    return {name: tmp_path / name for name in contents}


def labels(text: str) -> list[int]:
    return [int(line.rpartition(",")[2]) for line in text.splitlines()[1:]]


def test_pairs_come_from_files_by_name_and_by_row_number(run: Any, files: dict[str, Path]) -> None:
    told = run("cluster", files["table.csv"], "--cannot-link", files["cannot.csv"], "--to", "labels")
    assert labels(told.out) == [0, 1, 1, 1, 1]
    told = run("cluster", files["plain.csv"], "--cannot-link", files["rows.txt"], "--to", "labels")
    assert labels(told.out) == [0, 1, 1, 1, 1]
    told = run("cluster", files["table.csv"], "--must-link", files["must.tsv"], "--clusters", 3)
    assert labels(told.out) == [0, 1, 2, 2, 2]
    told = run("cluster", files["table.csv"], "--max-size", 2, "--clusters", 3)
    assert labels(told.out) == [0, 0, 1, 1, 2]


def test_constraints_go_with_edges_levels_and_spanning_trees(run: Any, files: dict[str, Path]) -> None:
    told = run(
        "cluster",
        files["edges.csv"],
        "--edges",
        "--cannot-link",
        files["cannot.csv"],
        "--missing",
        "9",
        "--to",
        "labels",
    )
    assert labels(told.out) == [0, 1, 1]
    told = run("mst", files["table.csv"], "--must-link", files["must.tsv"])
    assert told.out.splitlines()[1:3] == ["cat,dan,0.0,1", "dan,eve,0.0,1"]
    told = run("levels", files["table.csv"], "--max-size", 1)
    assert len(told.out.splitlines()) == 2


def test_a_tree_that_is_kept_knows_its_constraints(run: Any, files: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "tree.reliac"
    run("cluster", files["table.csv"], "--cannot-link", files["cannot.csv"], "--out", out)
    assert reliac.load(out).parameters["cannot_link"] == [[0, 1]]
    assert "cannot_link 1 pair\n" in run("info", out).out
    assert "--max-size with the saved tree" in run("cluster", out, "--max-size", 2, status=2).err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cannot-link", "cannot.csv", "--clusters", "1"], "the constraints leave 2 clusters: ask for more"),
        (
            ["--cannot-link", "cannot.csv", "--stop-clusters", "1"],
            "--stop-clusters 1: the constraints leave 2 clusters",
        ),
        (["--cannot-link", "rows.txt"], "Unknown object in cannot_link '0'. Allowed: ann, bob"),
        (["--must-link", "three.csv"], "Pairs of objects in 3 columns"),
        (["--must-link", "missing.csv"], "There is no file"),
        (["--must-link", "must.tsv", "--max-size", "2"], "--max-size 2, and must_link joins 3 objects"),
        (["--max-size", "0"], "--max-size 0. Allowed: a whole number of at least 1"),
    ],
)
def test_mistakes_are_told_with_the_words_that_were_typed(
    run: Any, files: dict[str, Path], tmp_path: Path, words: list[str], message: str
) -> None:
    paths = [tmp_path / word if "." in word else word for word in words]
    assert message in run("cluster", files["table.csv"], *paths, status=2).err
