"""Nearest neighbours: every search gives what the definition says, to the last bit, ties by index."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial import KDTree

import reliac
from problems import blobs, grid, lattice, twins
from reliac.engines.neighbors import boxes, nearest, products, whole
from reliac.errors import DoesNotFit
from reliac.input.metrics import METRICS, pairwise, squares_of
from reliac.input.objects import Vectors, make_objects

FAST = ("euclidean", "sqeuclidean", "cosine")


def by_definition(X, k, metric="euclidean"):
    """All distances of the metric's table; of every row the k smallest, equal ones by index."""
    D = pairwise(make_objects(X, metric).rows, metric)
    np.fill_diagonal(D, np.inf)
    order = np.array([np.lexsort((np.arange(len(D)), row)) for row in D])[:, :k]
    return order, np.take_along_axis(D, order, axis=1)


SEARCHES = {
    "whole rows": lambda X, k, metric: whole.nearest_in_whole_rows(Vectors(X), k, metric, 2),
    "boxes": lambda X, k, metric: boxes.nearest_by_boxes(X, k, squares_of(metric), 2),
    "products": lambda X, k, metric: products.nearest_by_products(X, k, squares_of(metric), 2),
}


def check(X, k, metric, search):
    indices, distances = SEARCHES[search](X, k, metric)
    expected = by_definition(X, k, metric)
    assert np.array_equal(indices, expected[0])
    assert np.array_equal(distances, expected[1])


def problems():
    rng = np.random.default_rng(0)
    yield "grid", grid(9) + 1
    yield "lattice", lattice(3, n=300, d=3, side=4) + 1
    yield "line", rng.integers(1, 60, size=(300, 1))
    yield "twins", twins(1, 200) + 1
    yield "blobs", blobs(2, n=400, d=3)
    yield "bits", rng.integers(1, 3, size=(250, 20))
    yield "200 dimensions", rng.normal(size=(200, 200))
    yield "float32", rng.normal(size=(300, 33)).astype(np.float32)
    yield "far from the origin", rng.normal(size=(300, 9)) + 1e8
    yield "two scales", np.r_[rng.normal(size=(150, 12)) * 1e-6, rng.normal(size=(150, 12)) * 1e6]
    yield "all equal", np.ones((60, 4))
    yield "tiny", rng.integers(1, 5, size=(100, 3)) * 1e-170


PROBLEMS = dict(problems())


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_search_gives_the_nearest_of_the_definition_to_the_last_bit(name, search):
    for metric in FAST:
        for k in (1, 7, 24):
            check(PROBLEMS[name], k, metric, search)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(2, 40), st.integers(1, 6), st.sampled_from(FAST))
def test_generated_lattices_give_the_nearest_of_the_definition(seed, d, n, side, metric):
    X = lattice(seed, n=n, d=d, side=side) + 1
    k = 1 + seed % (n - 1)
    for search in SEARCHES:
        check(X, k, metric, search)


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_gives_the_distances_of_its_table(metric):
    rng = np.random.default_rng(1)
    X = rng.random((60, 5)) + 0.1
    X[::7] = X[3]
    if metric in ("hamming", "jaccard", "dice", "rogerstanimoto", "russellrao", "sokalsneath", "yule"):
        X = rng.random((60, 12)) < 0.5
    found = reliac.neighbors(X, 9, metric)
    expected = by_definition(X, 9, metric)
    assert np.array_equal(found.indices, expected[0])
    assert np.array_equal(found.distances, expected[1])


def test_functions_and_given_distances_have_neighbours_too():
    X = blobs(1)
    found = reliac.neighbors(X, 5, "cityblock")
    by_function = reliac.neighbors(X, 5, lambda a, b: float(np.abs(a - b).sum()))
    for form in (pairwise(X, "cityblock"), pairwise(X, "cityblock")[np.triu_indices(len(X), 1)]):
        given_distances = reliac.neighbors(form, 5, "precomputed")
        assert np.array_equal(found.indices, given_distances.indices)
        assert np.array_equal(found.distances, given_distances.distances)
    assert np.array_equal(found.indices, by_function.indices)


@pytest.mark.parametrize("metric", [*FAST, "cityblock"])
def test_sparse_rows_have_the_neighbours_of_their_table(metric):
    rng = np.random.default_rng(2)
    X = rng.integers(1, 5, size=(80, 30)) * (rng.random((80, 30)) < 0.2)
    X[:, 0] = 1
    X[10] = X[50]
    found = reliac.neighbors(csr_array(X), 6, metric)
    expected = by_definition(csr_array(X), 6, metric)
    assert np.array_equal(found.indices, expected[0])
    assert np.array_equal(found.distances, expected[1])


@pytest.mark.parametrize("d", [2, 16])
def test_rows_that_repeat_more_often_than_a_list_is_long_are_searched_once(d, monkeypatch):
    monkeypatch.setattr(nearest, "NOT_WORTH_LOADING", 0)
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, size=(12, d))[rng.integers(0, 12, size=900)].astype(np.float64)
    X[:200] = rng.integers(0, 3, size=(200, d))
    for k in (1, 4, 40):
        found = reliac.neighbors(X, k)
        expected = by_definition(X, k)
        assert np.array_equal(found.indices, expected[0])
        assert np.array_equal(found.distances, expected[1])
    same = reliac.neighbors(np.ones((500, d)), 3)
    assert same.indices[:3].tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3]]
    assert same.indices[300].tolist() == [0, 1, 2]


@pytest.mark.parametrize("d", [3, 40])
def test_rows_in_any_order_have_the_same_neighbours(d, monkeypatch):
    monkeypatch.setattr(nearest, "NOT_WORTH_LOADING", 0)
    X = np.random.default_rng(4).normal(size=(700, d))
    order = np.random.default_rng(5).permutation(len(X))
    found, moved = reliac.neighbors(X, 10), reliac.neighbors(X[order], 10)
    assert np.array_equal(order[moved.indices], found.indices[order])
    assert np.array_equal(moved.distances, found.distances[order])


@pytest.mark.parametrize("d", [3, 40])
def test_any_number_of_threads_and_float32_give_the_same_bits(d, monkeypatch):
    monkeypatch.setattr(nearest, "NOT_WORTH_LOADING", 0)
    X = np.random.default_rng(6).normal(size=(900, d)).astype(np.float32)
    found = reliac.neighbors(X, 10)
    for other in (reliac.neighbors(X, 10, n_jobs=1), reliac.neighbors(X.astype(np.float64), 10, n_jobs=3)):
        assert np.array_equal(found.indices, other.indices)
        assert np.array_equal(found.distances, other.distances)


def test_float32_rows_are_not_copied_to_float64(monkeypatch):
    seen = []
    original = products.Packed.exact

    def exact(self, some):
        rows = original(self, some)
        seen.append(len(rows))
        return rows

    monkeypatch.setattr(products.Packed, "exact", exact)
    X = np.random.default_rng(7).random((9000, 12), dtype=np.float32)
    products.nearest_by_products(X, 3, squares_of("euclidean"), 1)
    assert max(seen) <= max(products.READ, products.ROWS * (3 + products.BESIDES))


def test_the_search_is_chosen_by_dimensions_and_size():
    rng = np.random.default_rng(8)

    def way(n, d, k=5, metric="euclidean"):
        return nearest._way(Vectors(rng.random((n, d))), k, metric)

    assert way(100, 3) == way(5000, 3, metric="cityblock") == way(5000, 3, k=2000) == "whole rows"
    assert way(5000, 3) == "boxes"
    assert way(2000, 100) == "products"
    assert nearest._way(Vectors(rng.random((5000, 3)) * 1e200), 5, "euclidean") == "whole rows"


def test_a_graph_holds_both_directions_and_distances_of_zero():
    X = np.array([[0.0], [0.0], [1.0], [5.0]])
    graph = reliac.neighbors(X, 1).graph()
    assert graph.shape == (4, 4)
    assert graph.nnz == 6
    assert (graph != graph.T).nnz == 0
    assert graph.indices[graph.indptr[0] : graph.indptr[1]].tolist() == [1, 2]
    assert graph.data[graph.indptr[0] : graph.indptr[1]].tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda X: reliac.neighbors(X, 20), ("k=20", "1 to 19", "fewer neighbours")),
        (lambda X: reliac.neighbors(X, 0), ("k=0", "1 to 19", "fewer neighbours")),
        (lambda X: reliac.neighbors(X[:1], 1), ("a single row", "two rows", "check")),
        (lambda X: reliac.neighbors(np.where(X > 1, np.nan, X), 2), ("NaN", "finite", "drop")),
        (lambda X: reliac.neighbors(X * 0, 2, "cosine"), ("Row 0 is all zero", "not all zero", "drop row 0")),
        (lambda X: reliac.neighbors(X, 2, "euclid"), ("euclid", "euclidean", "did you mean")),
        (lambda X: reliac.neighbors(X, 2, n_jobs=0), ("n_jobs=0", "positive", "leave it out")),
        (lambda X: reliac.neighbors(X, 2, "cityblock", approximate=True), ("cityblock", "cosine", "approximate out")),
        (lambda X: reliac.Neighbors([[0], [0]], [[1.0], [1.0]]), ("Row 0 has the neighbour 0", "other rows", "drop")),
        (lambda X: reliac.Neighbors([[1], [0]], [[-1.0], [1.0]]), ("distance -1.0", "at least 0", "drop")),
        (lambda X: reliac.Neighbors([1, 0], [1.0, 1.0]), ("shapes (2,)", "one shape", "reliac.neighbors")),
    ],
)
def test_mistakes_are_told_in_three_parts(call, parts):
    X = np.random.default_rng(9).normal(size=(20, 3))
    with pytest.raises((ValueError, TypeError)) as told:
        call(X)
    message = str(told.value)
    assert " Allowed: " in message
    assert " Next: " in message
    for part in parts:
        assert part in message


def test_what_does_not_fit_into_memory_is_refused_before_it_begins(monkeypatch):
    monkeypatch.setattr("reliac.machine.free_memory", lambda: 10**6)
    with pytest.raises(DoesNotFit, match="Finding 10 neighbours of 9000 rows needs about"):
        reliac.neighbors(np.zeros((9000, 20)), 10)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals")
def test_ctrl_c_stops_a_search():
    X = np.random.default_rng(10).random((60_000, 64), dtype=np.float32)
    reliac.neighbors(X[:2000], 5)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    started = time.monotonic()
    gc.disable()  # Hypothesis has a function called when it runs: an interrupt that meets that function is lost
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            reliac.neighbors(X, 5)
    finally:
        gc.enable()
        signal.signal(signal.SIGINT, handler)
        timer.cancel()
    assert time.monotonic() - started < 20


# --- approximate ---


def clustered(n=4000, d=24):
    rng = np.random.default_rng(11)
    return (rng.normal(scale=5, size=(30, d))[rng.integers(0, 30, n)] + rng.normal(size=(n, d))).astype(np.float32)


@pytest.mark.parametrize("metric", FAST)
def test_approximate_neighbours_are_the_same_for_the_same_seed_and_any_number_of_threads(metric):
    pytest.importorskip("faiss")
    X = clustered()
    found = reliac.neighbors(X, 10, metric, approximate=True, seed=3)
    for n_jobs in (1, 2, 3):
        other = reliac.neighbors(X, 10, metric, approximate=True, seed=3, n_jobs=n_jobs)
        assert np.array_equal(found.indices, other.indices)
        assert np.array_equal(found.distances, other.distances)
    exact = reliac.neighbors(X, 10, metric)
    same = found.indices[:, :, None] == exact.indices[:, None, :]
    assert same.any(axis=2).mean() > 0.95
    where = np.nonzero(same)
    assert np.array_equal(found.distances[where[0], where[1]], exact.distances[where[0], where[2]])


def test_approximate_neighbours_are_complete_and_sorted_where_rows_repeat():
    pytest.importorskip("faiss")
    X = np.zeros((600, 3))
    X[:5] = np.arange(1, 6)[:, None]
    found = reliac.neighbors(X, 20, approximate=True)
    assert (found.indices != np.arange(600)[:, None]).all()
    assert (np.diff(found.distances, axis=1) >= 0).all()
    assert all(len(set(row)) == 20 for row in found.indices.tolist())


def test_without_the_library_approximate_says_which_extra_brings_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    with pytest.raises(ImportError, match=r"faiss.*Allowed:.*'approximate'.*Next:.*\[approximate\]"):
        reliac.neighbors(clustered(100), 3, approximate=True)


def test_a_row_far_from_all_others_leaves_their_searches_in_float32(monkeypatch):
    settled, settle = [], products.settle_ties

    def note(packed, some, *found):
        settled.extend(some)
        return settle(packed, some, *found)

    monkeypatch.setattr(nearest, "NOT_WORTH_LOADING", 0)
    X = np.random.default_rng(11).normal(size=(3000, 30))
    X[5] += 1e6
    products.load_products()
    monkeypatch.setattr(products, "settle_ties", note)
    found = reliac.neighbors(X, 4)
    assert len(settled) < 5
    expected = KDTree(X).query(X, 5)[0][:, 1:]
    np.testing.assert_allclose(found.distances, expected, rtol=1e-12)
