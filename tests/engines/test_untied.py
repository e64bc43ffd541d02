"""Levels of the dense engine without ties: short lists and a log of joins give the links that searches of rows give."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import reliac
from problems import CRITERIA, blobs, lattice, shrinking_chain
from reliac.engines.dense import engine as dense
from reliac.input.problem import make_problem

ALL_PAIRS = [criterion for criterion in CRITERIA if criterion != "single"]

STOPS = ({}, {"n_clusters": 7}, {"n_clusters": 2}, {"max_level": 3}, {"max_distance": 1.0}, {"max_distance": 0.0})


def noise(seed, n):
    """Given distances without any order: no points have them, so centroid and median are full of inversions."""
    D = np.triu(np.random.default_rng(seed).random((n, n)) + 0.2, 1)
    return D + D.T


def one_tie_later(seed, n):
    """Pairs, pairs of pairs, and noise between these, but for two that are as far from a third: a tie at level 3."""
    objects = np.arange(n)
    D = 5.0 + noise(seed, n)[np.ix_(objects // 4, objects // 4)]
    D[4:8, :12] = D[:12, 4:8] = 4.0
    D[objects[:, None] // 4 == objects // 4] = 2.0
    D[objects[:, None] // 2 == objects // 2] = 1.0
    np.fill_diagonal(D, 0.0)
    return D


def few_ties(seed, n):
    """Distances of which some are equal to others, but seldom the smallest of an object."""
    D = noise(seed, n)
    return np.where(D > 0.5, np.round(D, 2), D)


def next_to_equal(seed, n):
    """Distances that differ in their last bits only."""
    steps = np.triu(np.random.default_rng(seed).permutation(n * n).reshape(n, n), 1)
    return np.where(np.eye(n, dtype=bool), 0.0, 1.0 + (steps + steps.T) * np.spacing(1.0))


def generated():
    """Problems as (data, metric): widths of a row that are whole sets of the lists, and that are not."""
    for n in (30, 64, 90, 200, 300):
        yield noise(n, n), "precomputed"
        yield few_ties(n, n), "precomputed"
        yield one_tie_later(n, n), "precomputed"
        yield next_to_equal(n, n), "precomputed"
        yield blobs(n, n), "euclidean"
        yield lattice(n, n, d=3, side=6), "sqeuclidean"
    yield np.ones((70, 70)) - np.eye(70), "precomputed"
    yield shrinking_chain(120), "euclidean"
    yield noise(5, 120) * 1e100, "precomputed"
    yield noise(6, 120) * 1e-100, "precomputed"


PROBLEMS = list(generated())


def levels_of(problem, n_jobs=None, by_rows=False):
    """Return level, clusters and distance of all links, by short lists where they can be, or by searched rows alone."""
    engine = dense.DenseEngine(problem, n_jobs)
    if by_rows:
        batches = list(engine._levels_with_ties(dense.make_rules(problem, limits=engine.limits)))
    else:
        batches = list(engine.levels(0))
    columns = [np.concatenate([batch.level for batch in batches])] if batches else []
    for name in ("p", "q", "distance"):
        columns += [np.concatenate([getattr(batch.links, name) for batch in batches])] if batches else []
    return columns


def assert_same_levels(problem, n_jobs=None):
    columns = levels_of(problem, n_jobs), levels_of(problem, by_rows=True)
    assert len(columns[0]) == len(columns[1])
    assert all(np.array_equal(*both) for both in zip(*columns, strict=True))
    return columns[0]


def quiet_problem(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", reliac.NotEuclideanWarning)
        return make_problem(*arguments, **options)


@pytest.fixture
def threads_at_once(monkeypatch):
    """Let a few objects be done in threads, and Python be asked after every level."""
    monkeypatch.setattr(dense, "WORTH_THREADS", 2)
    monkeypatch.setattr(dense, "WORTH_SHARING", 0)
    monkeypatch.setattr(dense, "STRIP", 4)
    monkeypatch.setattr(dense, "NUMBERS_BEFORE_PAUSE", 1)


@pytest.mark.parametrize("criterion", ALL_PAIRS)
def test_short_lists_give_the_links_of_searched_rows_bit_for_bit(criterion):
    for X, metric in PROBLEMS:
        assert_same_levels(quiet_problem(X, criterion, metric=metric))


@pytest.mark.parametrize("criterion", ALL_PAIRS)
def test_short_lists_give_the_literal_tree(criterion):
    for X, metric in PROBLEMS[:12] + PROBLEMS[-4:]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", reliac.NotEuclideanWarning)
            tree = reliac.cluster(X, criterion, metric=metric, engine="dense")
            literal = reliac.cluster(X, criterion, metric=metric, engine="literal")
        for name in ("left", "right", "level"):
            assert np.array_equal(tree.links[name], literal.links[name])
        np.testing.assert_allclose(tree.links["distance"], literal.links["distance"], rtol=1e-9)


@pytest.mark.parametrize("criterion", ALL_PAIRS)
def test_threads_give_the_same_links_however_many_there_are(criterion, threads_at_once):
    for X, metric in PROBLEMS:
        problem = quiet_problem(X, criterion, metric=metric)
        for n_jobs in (1, 2, 4):
            assert_same_levels(problem, n_jobs)


@pytest.mark.parametrize("criterion", ALL_PAIRS)
def test_stopped_runs_and_weights_give_the_links_of_searched_rows(criterion):
    rng = np.random.default_rng(1)
    for X, metric in PROBLEMS[6:24]:
        for weights in (None, rng.integers(1, 9, size=len(X)), rng.random(len(X)) + 0.1):
            for stop in STOPS:
                assert_same_levels(quiet_problem(X, criterion, metric=metric, weights=weights, **stop))


@pytest.mark.parametrize("criterion", ALL_PAIRS)
def test_levels_go_on_from_clusters_that_were_joined_before(criterion):
    X = blobs(3, 200)
    whole = reliac.cluster(X, criterion, engine="dense")
    for level in (1, 3):
        grown = reliac.cluster(X, criterion, engine="dense", max_level=level).develop()
        for name in ("left", "right", "level"):
            assert np.array_equal(grown.links[name], whole.links[name])


@pytest.mark.parametrize("criterion", ALL_PAIRS)
def test_a_tie_that_comes_up_in_mid_run_hands_the_rest_over_to_searched_rows(criterion, monkeypatch):
    told, go_on = [], dense.DenseEngine._levels_with_ties

    def noted(self, rules):
        told.append(self.told)
        return go_on(self, rules)

    problem = quiet_problem(one_tie_later(4, 180), criterion, metric="precomputed")
    expected = levels_of(problem, by_rows=True)
    monkeypatch.setattr(dense.DenseEngine, "_levels_with_ties", noted)
    columns = levels_of(problem)
    assert all(np.array_equal(*both) for both in zip(columns, expected, strict=True))
    assert [0 < count < len(columns[0]) for count in told] == [True]


@pytest.mark.parametrize("criterion", ALL_PAIRS)
def test_without_ties_all_links_come_from_short_lists(criterion, monkeypatch):
    problems = [quiet_problem(noise(7, 300), criterion, metric="precomputed"), quiet_problem(blobs(7, 300), criterion)]
    dense.DenseEngine(problems[0])  # loads the code, by both ways
    monkeypatch.setattr(dense, "search_all", None)
    for problem in problems:
        assert len(levels_of(problem)[0]) == 299


@pytest.mark.parametrize("form", ["condensed", "square"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_given_distances_are_filled_in_threads_as_by_one(form, kind, threads_at_once):
    D = noise(2, 131).astype(kind)
    given = D[np.triu_indices(131, 1)] if form == "condensed" else D
    for criterion in ("average", "median"):
        problem = quiet_problem(given, criterion, metric="precomputed")
        expected = np.where(np.eye(131, dtype=bool), np.inf, D.astype(float) ** (2 if criterion == "median" else 1))
        for n_jobs in (1, 3):
            stored = dense.DenseEngine(problem, n_jobs).square.stored.reshape(131, -1)
            assert np.array_equal(stored[:, :131], expected)
            assert np.isinf(stored[:, 131:]).all()
