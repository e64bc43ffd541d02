"""The spanning engine: levels on all edges of all minimum spanning trees, against the literal engine and SciPy."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba")

from concurrent.futures import ThreadPoolExecutor

from scipy.cluster.hierarchy import linkage
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform

import reliac
from problems import ALPHAS, blobs, grid, lattice, shrinking_chain, tie_free, tied, twins
from reliac.algorithm.contract import TooManyTies
from reliac.algorithm.links import groups_of
from reliac.engines.literal import LiteralEngine
from reliac.engines.spanning import edges as trees
from reliac.engines.spanning import given, listed, prim
from reliac.engines.spanning.boruvka import edges_of_points
from reliac.engines.spanning.engine import SpanningEngine
from reliac.engines.spanning.forest import thin
from reliac.engines.spanning.sweeps import edges_by_products
from reliac.input.edges import make_graph
from reliac.input.metrics import Squares
from reliac.input.problem import make_problem

STOPS = ({}, {"n_clusters": 5}, {"max_level": 2}, {"max_distance": 2.0})
NAMES = {Squares.PLAIN: "sqeuclidean", Squares.UNIT: "cosine"}


def links_of(engine, level=0):
    """All that an engine says: level, clusters, distance, nearest objects."""
    return [
        (int(level), int(p), int(q), float(distance), int(i), int(j))
        for batch in engine.levels(level)
        for level, p, q, distance, (i, j) in zip(batch.level, *batch.links, batch.object_pairs, strict=True)
    ]


def same_as_literal(X, n_jobs=2, **options):
    problem = make_problem(X, "single", **options)
    assert links_of(SpanningEngine(problem, n_jobs)) == links_of(LiteralEngine(problem))


def heights(X, n_jobs=None, **options):
    problem = make_problem(X, "single", **options)
    return np.sort(problem.heights([link[3] for link in links_of(SpanningEngine(problem, n_jobs))]))


@pytest.fixture
def pool():
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(10))
def test_every_link_is_that_of_the_literal_engine(seed, alpha, stop):
    for X in (tied(seed), tie_free(seed), lattice(seed, n=40, side=6), twins(seed, n=40)):
        same_as_literal(X, alpha=alpha, **stop)


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_every_link_of_a_grid_and_of_a_chain_is_that_of_the_literal_engine(alpha, stop):
    for X in (grid(6), shrinking_chain()):
        same_as_literal(X, alpha=alpha, **stop)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_any_number_of_objects_from_one(alpha):
    for n in range(1, 12):
        same_as_literal(np.random.default_rng(n).integers(0, 3, size=(n, 1)).astype(float), alpha=alpha)


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("number", [np.float32, np.float64])
@pytest.mark.parametrize("low", [0, 3])
def test_given_distances_that_no_space_has(low, number, alpha, stop):
    D = np.triu(np.random.default_rng(7).integers(low, 7, size=(30, 30)), 1).astype(number)
    D += D.T
    for form in (D, np.asfortranarray(D), squareform(D)):
        same_as_literal(form, metric="precomputed", alpha=alpha, **stop)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("stop", STOPS)
def test_all_distances_equal_need_no_room_for_all_links(monkeypatch, alpha, stop):
    monkeypatch.setattr(prim, "most_edges", lambda n: n)
    for D in (np.ones((30, 30)) - np.eye(30), np.zeros((30, 30))):
        same_as_literal(D, metric="precomputed", alpha=alpha, **stop)
        same_as_literal(squareform(D), metric="precomputed", alpha=alpha, **stop)


def edge_set(edges):
    return set(zip(edges.i.tolist(), edges.j.tolist(), edges.weight.tolist(), strict=True))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("number", [np.float32, np.float64])
@pytest.mark.parametrize("largest", [3, 30, 1000, 10**6])
def test_components_of_given_distances_have_the_edges_of_prims_scan(monkeypatch, largest, number, threads):
    monkeypatch.setattr(given, "SCANNED_AT_ONCE", 1)
    rng = np.random.default_rng(largest)
    found = 0
    for n in (40, 90, 250):
        points = np.r_[rng.integers(0, largest, (n // 2, 2)), rng.integers(0, largest, (n - n // 2, 2)) + 5 * largest]
        for D in (pdist(points, "cityblock"), rng.integers(1, largest, n * (n - 1) // 2)):
            D = D.astype(number)
            expected, twins = trees.edges_of_matrix(D, n)
            for form in (D, squareform(D), np.asfortranarray(squareform(D))):
                edges, same = given.edges_of_given(form, n, threads)
                assert (twins is None) == (same is None)
                assert edge_set(edges) == edge_set(expected)
                assert len(edges.i) == len(expected.i)
            with ThreadPoolExecutor(threads) as pool:
                found += given.edges_by_components(D, n, False, threads, pool) is not None
    assert found or largest == 3  # not all were left to the scan


def test_too_many_ties_are_told(monkeypatch):
    monkeypatch.setattr(prim, "most_edges", lambda n: n)
    D = np.ones((30, 30)) - np.eye(30)
    D[0, 1] = D[1, 0] = 2.0
    with pytest.raises(TooManyTies):
        links_of(SpanningEngine(make_problem(D, "single", metric="precomputed")))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "cityblock", "chebyshev", "correlation"])
def test_other_metrics(metric):
    same_as_literal(lattice(5, n=40, d=4, side=5) + np.arange(4), metric=metric)


def test_weights_change_nothing():
    same_as_literal(lattice(3), weights=np.arange(1.0, 25.0))


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(5))
def test_catching_up_goes_on_as_if_never_stopped(seed, alpha):
    X = tied(seed)
    for stop in ({"max_level": 1}, {"max_level": 3}, {"n_clusters": len(X) * 2 // 3}):
        first = list(SpanningEngine(make_problem(X, "single", alpha=alpha, **stop)).levels(0))
        problem = make_problem(X, "single", alpha=alpha)
        engines = SpanningEngine(problem), LiteralEngine(problem)
        for engine in engines:
            for batch in first:
                for level in np.unique(batch.level):
                    engine.join(groups_of(batch.links.take(batch.level == level), len(X)))
        last = int(first[-1].level[-1]) if first else 0
        assert links_of(engines[0], last) == links_of(engines[1], last)


def test_other_criteria_and_tolerances_are_refused():
    assert SpanningEngine.refuses(make_problem(grid(), "single")) is None
    assert "smallest" in SpanningEngine.refuses(make_problem(grid(), "average"))
    assert "tolerance" in SpanningEngine.refuses(make_problem(grid(), "single", tie_tolerance=0.1))


# --- the builders find every edge of every minimum spanning tree ---


def canonical(edges):
    order = np.lexsort((edges.j, edges.i, edges.weight))
    return np.column_stack((edges.i, edges.j, edges.weight))[order]


def definition(D):
    """All edges whose ends lighter edges do not connect: as long as the highest edge between them in one tree."""
    n = len(D)
    tree = minimum_spanning_tree(csr_array(np.where(D, D, 0.0))).toarray()
    tree += tree.T
    highest = np.where(tree, tree, np.inf)
    np.fill_diagonal(highest, 0.0)
    for k in range(n):
        highest = np.minimum(highest, np.maximum(highest[:, k, None], highest[None, k]))
    i, j = np.nonzero(np.triu(highest == D, 1))
    order = np.lexsort((j, i, D[i, j]))
    return np.column_stack((i, j, D[i, j]))[order]


@pytest.mark.parametrize("seed", range(4))
def test_the_scan_finds_all_edges(seed):
    X = np.unique(np.random.default_rng(seed).integers(0, 8, size=(60, 2)), axis=0).astype(float)
    D = squareform(pdist(X))
    edges, none = trees.edges_of_matrix(D, len(D))
    assert none is None
    assert (canonical(edges) == definition(D)).all()


def point_sets(seed, d):
    rng = np.random.default_rng(seed)
    yield rng.normal(size=(700, d))
    yield blobs(seed, n=600, d=d)
    yield np.unique(rng.integers(0, max(3, int(1500 ** (1 / d))), size=(900, d)), axis=0).astype(float)
    yield np.unique(np.round(rng.normal(size=(800, d)), 1), axis=0)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_tree_search_finds_all_edges(d, pool):
    for X in point_sets(d, d):
        expected, _ = trees.edges_of_matrix(pdist(X, "sqeuclidean"), len(X))
        assert (canonical(edges_of_points(X, pool)) == canonical(expected)).all()


@pytest.mark.parametrize("kind", list(NAMES))
@pytest.mark.parametrize("d", [2, 7, 12])
def test_products_find_all_edges(d, kind, pool):
    rng = np.random.default_rng(d)
    base, centres = rng.normal(size=(700, d)), rng.normal(size=(6, d))[rng.integers(0, 6, size=700)]
    lattices = np.unique(rng.integers(1, 5, size=(700, d)), axis=0).astype(float)
    for X in (base, base + 20 * centres, lattices, base + 1e6, 1e-3 * base + 1e8, 1e-7 * base + 1e3 * centres):
        expected, _ = trees.edges_of_matrix(np.maximum(pdist(X, NAMES[kind]), 0.0), len(X))
        assert (canonical(edges_by_products(X, kind, pool)) == canonical(expected)).all()


# --- larger ---


@pytest.mark.parametrize("d", [1, 2, 6, 40])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_larger_tie_free_data_have_the_heights_of_scipy(d, metric):
    X = np.random.default_rng(d).normal(size=(6000, d)) * np.linspace(1, 4, 6000)[:, None]
    assert (heights(X, metric=metric) == np.sort(linkage(X, "single", metric)[:, 2])).all()


@pytest.mark.parametrize("d", [2, 16])
def test_larger_lattices_with_duplicates_are_those_of_the_literal_engine(d):
    X = np.random.default_rng(d).integers(0, 60 if d == 2 else 2, size=(2600, d)).astype(float)
    for alpha in ALPHAS[1:]:
        problem = make_problem(X, "single", alpha=alpha)
        assert links_of(SpanningEngine(problem)) == [(*link,) for link in links_of(LiteralEngine(problem))]


@pytest.mark.parametrize("d", [2, 20])
def test_the_same_bits_for_any_number_of_threads(d):
    X = np.random.default_rng(d).integers(0, 300, size=(9000, d)).astype(float)
    problem = make_problem(X, "single", metric="euclidean")
    assert links_of(SpanningEngine(problem, 1)) == links_of(SpanningEngine(problem, 2))


@pytest.mark.parametrize("gaps", [np.linspace(1, 2, 50000), np.linspace(2, 1, 50000)])
def test_a_line_with_as_many_levels_as_points(gaps):
    links = links_of(SpanningEngine(make_problem(np.cumsum(gaps)[:, None], "single")))
    assert links[-1][0] == len(links) == len(gaps) - 1


def test_pieces_that_were_half_done_when_a_run_was_cut_off_are_listed_anew():
    from concurrent.futures import ThreadPoolExecutor

    from reliac.engines.spanning.boruvka import edges_of_points
    from reliac.engines.spanning.findings import Findings

    X, first, again = np.random.default_rng(0).random((900, 3)), Findings(), Findings()
    with ThreadPoolExecutor(2) as pool:
        expected = edges_of_points(X, pool, first)
        again.arrays = {name: first.arrays[name].copy() for name in ("places", "values")}  # and no piece is done
        found = edges_of_points(X, pool, again)
    for name in expected._fields:
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def test_of_a_neighbour_graph_few_edges_are_written_down_and_all_of_its_spanning_tree(monkeypatch):
    n, noted = 3000, []
    found = reliac.neighbors(np.random.default_rng(0).normal(size=(n, 4)), 15)
    graph = make_graph(found.graph(), objects=range(n))
    monkeypatch.setattr(listed, "thin", lambda edges, leader: noted.append(len(edges.i)) or thin(edges, leader))
    edges = listed.edges_of_graph(graph)
    assert noted[0] < 4 * n < graph.n_edges / 2
    tree = minimum_spanning_tree(csr_array((graph.distances, graph.ends, graph.starts), shape=(n, n))).tocoo()
    written = set(zip(edges.i.tolist(), edges.j.tolist(), strict=True))
    assert all(pair in written for pair in zip(tree.row.tolist(), tree.col.tolist(), strict=True))
