"""The condensed form: every formula agrees with SciPy's order of the pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from problems import blobs
from reliac.input import condensed

SIZES = (1, 2, 3, 4, 7, 30)


@pytest.mark.parametrize("n", SIZES)
def test_every_pair_has_its_place_and_every_place_its_pair(n):
    pairs = list(combinations(range(n), 2))
    assert condensed.length_of(n) == len(pairs)
    assert [condensed.place_of(n, i, j) for i, j in pairs] == list(range(len(pairs)))
    assert [condensed.pair_at(n, place) for place in range(len(pairs))] == pairs
    assert list(zip(*condensed.pairs(n), strict=True)) == pairs
    i, j = condensed.pairs(n)
    assert np.array_equal(condensed.place_of(n, i, j), np.arange(len(pairs)))


def test_places_of_large_matrices_do_not_overflow():
    n = 200_000
    assert condensed.pair_at(n, condensed.length_of(n) - 1) == (n - 2, n - 1)
    assert condensed.place_of(n, n - 2, n - 1) == condensed.length_of(n) - 1


def test_the_number_of_objects_is_told_from_the_number_of_pairs_if_it_is_one():
    lengths = {condensed.length_of(n): n for n in range(2, 60)}
    for length in range(1, 1000):
        assert condensed.count_objects(length) == lengths.get(length)
    assert condensed.count_objects(0) == 1
    assert condensed.count_objects(condensed.length_of(10**9)) == 10**9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_square_and_condensed_forms_become_each_other_in_their_own_type(dtype):
    flat = pdist(blobs(0, n=9)).astype(dtype)
    square = squareform(flat)
    for form in (flat, square):
        made = condensed.to_square(form, 9)
        assert np.array_equal(made, square)
        assert made.dtype == dtype
        assert not np.shares_memory(made, form)
        assert np.array_equal(condensed.to_condensed(form, 9), flat)
        assert condensed.to_condensed(form, 9).dtype == dtype
        for i in range(9):
            assert np.array_equal(condensed.later_distances(form, 9, i), square[i, i + 1 :])


def test_a_subset_keeps_its_form_and_the_order_asked_for():
    flat, objects = pdist(blobs(0, n=9)), np.array([7, 2, 5])
    wanted = squareform(flat)[np.ix_(objects, objects)]
    assert np.array_equal(condensed.subset(squareform(flat), 9, objects), wanted)
    assert np.array_equal(condensed.subset(flat, 9, objects), squareform(wanted))


def test_a_subset_of_many_objects_is_picked_row_by_row_to_the_same_distances(monkeypatch):
    flat = np.arange(36.0)
    for objects in (np.array([0, 3, 4, 8]), np.array([4, 0, 8, 3]), np.array([2])):
        wanted = condensed.subset(flat, 9, objects)
        with monkeypatch.context() as few:
            few.setattr(condensed, "FEW", 0)
            assert np.array_equal(condensed.subset(flat, 9, objects), wanted)
