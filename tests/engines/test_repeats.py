"""Equal rows: who they are, and the links that a run may take without a search."""

from __future__ import annotations

import numpy as np
import pytest

from problems import blobs
from references import cluster_squares, problem_of_squares
from reliac.engines import repeats


def first_equal(rows):
    """The definition: for each row the first equal to it."""
    return [next(i for i in range(len(rows)) if (rows[i] == row).all()) for row in rows]


@pytest.mark.parametrize("seed", range(5))
def test_the_first_of_equal_rows_is_found_for_every_row(seed):
    rows = np.random.default_rng(seed).integers(0, 3, size=(40, 3)).astype(float)
    assert repeats.find_twins(rows).tolist() == first_equal(rows)


def test_rows_without_an_equal_one_have_no_twins():
    assert repeats.find_twins(blobs(0)) is None


def test_different_rows_with_the_same_projection_are_told_apart(monkeypatch):
    class Ones:
        def uniform(self, low, high, size):
            return np.ones(size)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Ones())
    rows = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [0.0, 3.0]])
    assert repeats.find_twins(rows).tolist() == [0, 1, 0, 3]
    assert repeats.find_twins(rows[[0, 1, 3]]) is None


def test_differences_vanish_where_their_squares_cannot_be_told_from_0():
    rows = np.array([[0.0], [1e-160], [1.0]])
    assert repeats.differences_vanish(rows, np.arange(3))
    assert not repeats.differences_vanish(rows[1:], np.arange(2))


def test_often_repeated_rows_are_found_only_where_one_is_there_more_often_than_asked():
    rows = np.repeat(blobs(0, n=5), [1, 4, 2, 1, 1], axis=0)
    assert repeats.often_repeated(rows, 3).tolist() == first_equal(rows)
    assert repeats.often_repeated(rows, 4) is None
    assert repeats.often_repeated(np.vstack((rows, rows[:1] + 1e-160, [[0, 0, 1e-160]], [[0, 0, 0]])), 3) is None


def test_a_sample_without_equal_rows_spares_the_search(monkeypatch):
    monkeypatch.setattr(repeats, "ROWS_LOOKED_AT", 4)
    rows = blobs(0, n=40)
    rows[1:4] = rows[0]  # none of them but the first is looked at
    assert repeats.often_repeated(rows, 2) is None


def test_the_links_of_equal_rows_are_the_first_that_the_standard_strategy_takes():
    rows = np.random.default_rng(0).integers(0, 3, size=(30, 2)).astype(float)
    links = repeats.first_links(problem_of_squares(rows, "average", alpha=0.0))
    tree = cluster_squares(rows, "average", alpha=0.0, engine="literal")
    count = int((tree.links["distance"] == 0).sum())
    assert len(links.p) == count > 0
    assert not links.distance.any()
    early = cluster_squares(rows, "average", alpha=0.0, engine="literal", max_level=3)
    stopped = repeats.first_links(problem_of_squares(rows, "average", alpha=0.0, max_level=3))
    assert len(stopped.p) == 3
    labels = early.labels()
    assert (labels[stopped.p] == labels[stopped.q]).all()


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 1.0},
        {"criterion": "single"},
        {"metric": "cityblock"},
        {"tie_tolerance": 0.1},
        {"weights": np.arange(1.0, 31.0)},
    ],
)
def test_no_links_are_taken_beforehand_where_a_search_decides(options):
    rows = np.random.default_rng(0).integers(0, 3, size=(30, 2)).astype(float)
    problem = problem_of_squares(rows, **{"criterion": "average", "alpha": 0.0} | options)
    assert len(repeats.first_links(problem).p) == 0
