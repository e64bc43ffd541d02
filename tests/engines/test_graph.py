"""Graphs: the tree of the completed matrix, the definition that ignores missing pairs, and every order of edges."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array
from scipy.spatial.distance import pdist, squareform

import reliac
from graphs import GRAPHS, Edges, Made, among_neighbours, by_sizes, ignoring_missing, random_edges
from problems import ALPHAS
from reliac.engines.graph import brief, contraction, entries, levels, one_link, rows
from reliac.engines.graph import engine as graph_engine
from reliac.input.edges import make_graph
from reliac.input.problem import make_problem

CRITERIA = ("single", "complete", "average", "weighted")


@pytest.fixture
def size(request: Any, monkeypatch: Any) -> str:
    """Treat graphs as small ones, and as large ones: numbered anew, contracted again and again, in threads."""
    if request.param == "as a large one":
        monkeypatch.setattr(graph_engine, "WORTH_AN_ORDER", 1)
        monkeypatch.setattr(graph_engine, "WORTH_THREADS", 0)
        monkeypatch.setattr(graph_engine, "n_threads", lambda n_jobs: 3)
        monkeypatch.setattr(contraction, "FEWEST_SLOTS", 0)
    return str(request.param)


#: Both sizes stand beside each other: what their trees are compared with is made once.
both_sizes = pytest.mark.parametrize("size", ["as a small graph", "as a large one"], indirect=True)


def run(n: int, edges: Edges, criterion: str, engine: str = "graph", **options: Any) -> reliac.ClusterTree:
    return reliac.cluster_edges(edges, criterion, objects=range(n), engine=engine, **options)


@lru_cache(maxsize=100)
def completed(name: str, criterion: str, **options: Any) -> reliac.ClusterTree:
    """Return the tree of the completed matrix."""
    return run(*GRAPHS[name], criterion, engine="literal", **options)


@lru_cache(maxsize=100)
def listed_only(name: str, criterion: str, alpha: float) -> list[Made]:
    """Return what the definition makes where missing pairs are ignored."""
    return ignoring_missing(*GRAPHS[name], criterion, alpha)


@lru_cache(maxsize=100)
def of_neighbours(name: str, largest: int, criterion: str, alpha: float) -> list[Made]:
    """Return what the definition makes of points of which only neighbours may be joined."""
    n, edges = GRAPHS[name]
    return among_neighbours(some_points(n, largest), edges, criterion, alpha)


def some_points(n: int, largest: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(n).integers(0, largest, size=(n, 2)).astype(float)


def same(a: reliac.ClusterTree, b: reliac.ClusterTree) -> bool:
    pairs = (a.object_pairs is None) == (b.object_pairs is None) and (
        a.object_pairs is None or np.array_equal(a.object_pairs, b.object_pairs)
    )
    return np.array_equal(a.links, b.links) and pairs


def check_made(tree: reliac.ClusterTree, expected: list[Made]) -> None:
    """Compare the clusters that every level makes, and the distances at which they are made."""
    found = set()
    for level in range(1, tree.n_levels + 1):
        before = {frozenset(c.tolist()) for c in tree.clusters(level - 1)}
        found |= {(level, frozenset(c.tolist())) for c in tree.clusters(level)} - {(level, c) for c in before}
    assert found == {(level, objects) for level, objects, _ in expected}
    heights = np.unique([float(height) for _, _, height in expected])
    assert np.allclose(np.unique(tree.links["distance"]), heights, rtol=1e-12)


@both_sizes
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", GRAPHS)
def test_the_tree_is_that_of_the_completed_matrix_bit_for_bit(name: str, criterion: str, size: str) -> None:
    n, edges = GRAPHS[name]
    for missing in ("far", float(edges[2].max()) + 3.0):
        for alpha in ALPHAS:
            for tolerance in (0.0, 0.3):
                options = {"missing": missing, "alpha": alpha, "tie_tolerance": tolerance}
                assert same(run(n, edges, criterion, **options), completed(name, criterion, **options)), options


@pytest.mark.parametrize(
    ("engine", "criterion"),
    [
        *((engine, criterion) for engine in ("literal", "graph", "sql") for criterion in CRITERIA),
        ("spanning", "single"),
    ],
)
@pytest.mark.parametrize("name", ["few", "thin", "tied", "split"])
def test_the_completed_matrix_given_as_a_matrix_and_cut_below_m_has_the_same_tree(
    name: str, criterion: str, engine: str
) -> None:
    """Of all links of a level a share is taken: those of pairs without an edge are among them, whatever M is."""
    n, (p, q, distance) = GRAPHS[name]
    far = 3.0 * distance.max()
    matrix = np.full((n, n), far)
    matrix[p, q] = matrix[q, p] = distance
    np.fill_diagonal(matrix, 0.0)
    matrix_options: dict[str, Any] = {"metric": "precomputed", "max_distance": float(np.nextafter(far, 0))}
    for alpha in ALPHAS if engine != "sql" else (0.28, 1.0):
        expected = reliac.cluster(matrix, criterion, alpha=alpha, engine="literal", **matrix_options)
        for missing in (far, "far") if criterion in ("single", "complete") else (far,):
            tree = run(n, (p, q, distance), criterion, engine, missing=missing, alpha=alpha)
            assert np.array_equal(tree.links, expected.links), (alpha, missing)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_complete_graph_has_the_tree_of_its_matrix(criterion: str) -> None:
    n = 30
    p, q = np.triu_indices(n, 1)
    distance = np.random.default_rng(0).integers(1, 50, len(p)).astype(float)
    expected = reliac.cluster(distance, criterion, metric="precomputed", engine="literal")
    for missing in ("ignore", 60.0):
        assert same(run(n, (p, q, distance), criterion, missing=missing), expected)


@both_sizes
@pytest.mark.parametrize("criterion", ["single", "complete", "average"])
@pytest.mark.parametrize("name", GRAPHS)
def test_missing_pairs_that_are_ignored_do_not_count(name: str, criterion: str, size: str) -> None:
    n, edges = GRAPHS[name]
    if len(edges[0]) > 300:
        pytest.skip("the definition takes long here")
    for alpha in (0.0, 0.3, 1.0):
        tree = run(n, edges, criterion, missing="ignore", alpha=alpha)
        check_made(tree, listed_only(name, criterion, alpha))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("missing", ["far", "ignore"])
def test_rows_and_edges_in_any_order_give_the_same_tree(criterion: str, missing: str) -> None:
    n, (p, q, d) = GRAPHS["tied"]
    tree = run(n, (p, q, d), criterion, missing=missing)
    rng = np.random.default_rng(0)
    for _ in range(3):
        order, turned = rng.permutation(len(p)), rng.random(len(p)) < 0.5
        a, b = np.where(turned, q, p)[order], np.where(turned, p, q)[order]
        assert same(run(n, (a, b, d[order]), criterion, missing=missing), tree)
        number = rng.permutation(n)
        other = run(n, (number[p], number[q], d), criterion, missing=missing)
        for level in range(tree.n_levels + 1):
            clusters = {frozenset(number[c].tolist()) for c in tree.clusters(level)}
            assert clusters == {frozenset(c.tolist()) for c in other.clusters(level)}


@pytest.mark.parametrize("name", ["tied", "split", "grid", "chain"])
def test_single_is_replayed_on_spanning_trees_with_the_same_links_and_pairs(name: str) -> None:
    n, edges = GRAPHS[name]
    for alpha in ALPHAS:
        for missing in ("far", "ignore"):
            options = {"alpha": alpha, "missing": missing}
            assert same(run(n, edges, "single", engine="spanning", **options), run(n, edges, "single", **options))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 14), st.integers(1, 40), st.integers(2, 6), st.integers(0, 10**6), st.sampled_from(ALPHAS),
    st.sampled_from(CRITERIA), st.integers(0, 3),
)  # fmt: skip
def test_any_graph_has_the_tree_of_its_completed_matrix(
    n: int, m: int, largest: int, seed: int, alpha: float, criterion: str, more: int
) -> None:
    edges = random_edges(n, m, largest, seed)
    missing = float(edges[2].max(initial=1.0)) + more
    options = {"alpha": alpha, "missing": missing}
    assert same(run(n, edges, criterion, **options), run(n, edges, criterion, engine="literal", **options))


@both_sizes
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_counts_of_a_deep_tree_keep_every_bit(size: str, alpha: float) -> None:
    """One object after the other joins a growing cluster, so its share is halved 40 times; every third pair misses."""
    n = 42
    p, q = np.triu_indices(n, 1)
    listed = (p + q) % 3 > 0
    listed[q == p + 1] = True
    edges = p[listed], q[listed], (q[listed] + 1.0)
    options = {"missing": 1000.0, "alpha": alpha}
    assert same(run(n, edges, "weighted", **options), run(n, edges, "weighted", engine="literal", **options))


def test_any_count_is_kept_exactly() -> None:
    """Whole ones, those that float32 holds, and all others: only these need memory beyond four bytes."""
    problem = make_problem(make_graph(random_edges(30, 200, 50, 1)), "weighted", metric="precomputed")
    made = graph_engine.GraphEngine(problem).rows
    short = [0.0, 1.0, 2.0**31 - 2, 0.5, 2.0**-100, 3.0 * 2.0**-20, 2.0**31, 2.0**40]
    long = [1 / 3, 1.0 + 2.0**-40, 2.0**53 - 1, 2.0**31 + 1.0, 1e-300, 5e-324]
    made.long_count[:] = np.nan
    for k, count in enumerate(short + long):
        entries.put_count.py_func(made.count, k, made.long_count, k, count)
        assert entries.count_of.py_func(made.count[k], made.long_count, k) == count
    assert np.isnan(made.long_count[: len(short)]).all()
    assert np.array_equal(made.long_count[len(short) : len(short) + len(long)], long)


def test_complete_forgets_clusters_that_can_never_join() -> None:
    """A star: after its first join no pair of clusters has all its edges, and no entry is left."""
    n = 20
    edges = np.zeros(n - 1, np.int64), np.arange(1, n), np.arange(1.0, n)
    problem = make_problem(make_graph(edges), "complete", metric="precomputed")
    engine = graph_engine.GraphEngine(problem)
    assert sum(len(batch.level) for batch in engine.levels(0)) == 1
    assert engine.rows.used[0] == 0


@both_sizes
@pytest.mark.parametrize("criterion", ["complete", "average", "weighted"])
@pytest.mark.parametrize("name", [*GRAPHS, "floats"])
def test_float32_distances_take_half_the_memory_and_give_the_tree_of_the_same_numbers(
    name: str, criterion: str, size: str
) -> None:
    n, (p, q, whole) = GRAPHS["thick" if name == "floats" else name]
    distance = whole.astype(np.float32) * np.float32(0.1 if name == "floats" else 1.0)
    problem = make_problem(make_graph((p, q, distance), objects=range(n)), criterion, metric="precomputed")
    engine = graph_engine.GraphEngine(problem)
    assert engine.rows.stored.nbytes == 16 * len(p)
    assert np.shares_memory(engine.rows.places, engine.rows.stored)
    assert engine.rows.brief
    assert engine.rows.share.nbytes == (2 * len(p) if criterion == "weighted" else 0)
    assert criterion == "weighted" or not engine.rows.other.size + engine.rows.count.size
    for missing in ("far", "ignore", float(distance.max()) + 3.0):
        for alpha in ALPHAS:
            options = {"missing": missing, "alpha": alpha}
            wide = run(n, (p, q, distance.astype(float)), criterion, **options)
            assert same(run(n, (p, q, distance), criterion, **options), wide), options
            part = run(n, (p, q, distance), criterion, max_level=2, **options)
            assert np.array_equal(part.develop().links, wide.links), options


def ties_of(size: int, n: int) -> tuple[int, Edges]:
    """Return n groups that tie; an object beside each, joined next, so that it counts size / 2; one more sees two."""
    i, j = np.triu_indices(size, 1)
    a = (size + 2) * np.arange(n)
    beside, beyond = a + size, a + size + 1
    p = np.r_[np.add.outer(a, i).ravel(), np.add.outer(a, np.arange(size)).ravel(), beside, beside[1:]]
    q = np.r_[np.add.outer(a, j).ravel(), np.repeat(beside, size), beyond, beyond[:-1]]
    return (size + 2) * n, (p, q, np.r_[np.ones(n * len(i)), np.full(n * size, 2.0), 9.0 + np.arange(2 * n - 1) % 7])


def growing(n: int) -> tuple[int, Edges]:
    """Return objects that join one after the other, and one whose only edge, a long one, leads to the first of them."""
    p, q = np.triu_indices(n - 1, 1)
    return n, (np.r_[p, 0], np.r_[q, n - 1], np.r_[q + 1.0, 4.0 * n])


@both_sizes
@pytest.mark.parametrize(
    ("name", "alpha"), [("of three", 1.0), ("of nine", 1.0), ("halved often", 1.0), ("halved often", 0.0)]
)
def test_what_an_edge_counts_may_be_anything_where_distances_are_float32(
    name: str, alpha: float, size: str, monkeypatch: Any
) -> None:
    """Shares of three are told by a byte; what none tells takes two places of a row, or where there is no room a wide
    row.
    """
    halved_often = growing(brief.MOST_HALVINGS + 40)
    problems = {"of three": ties_of(3, 20), "of nine": ties_of(9, 20), "halved often": halved_often}
    n, (p, q, whole) = problems[name]
    distance = whole.astype(np.float32)
    monkeypatch.setattr(graph_engine, "ENTRIES_BEFORE_PAUSE", 0)
    graph = make_graph((p, q, distance), objects=range(n), missing=9.0 * n)
    problem = make_problem(graph, "weighted", metric="precomputed", alpha=alpha)
    engine, forms = graph_engine.GraphEngine(problem), set()
    for _ in engine.levels(0):
        forms |= set(engine.rows.form[engine.rows.leader == np.arange(len(engine.rows.leader))].tolist())
    assert forms == ({brief.BRIEF, brief.EVEN} if name == "of three" else {brief.BRIEF, brief.EVEN, brief.WIDE})
    for missing in ("far", "ignore", 9.0 * n):
        tree = run(n, (p, q, distance), "weighted", missing=missing, alpha=alpha)
        assert same(tree, run(n, (p, q, whole), "weighted", missing=missing, alpha=alpha))
        part = run(n, (p, q, distance), "weighted", missing=missing, alpha=alpha, max_level=2)
        assert np.array_equal(part.develop().links, tree.links)
        if missing != "ignore":
            full = run(n, (p, q, distance), "weighted", missing=missing, alpha=alpha, engine="literal")
            assert np.array_equal(tree.links[["left", "right", "level"]], full.links[["left", "right", "level"]])
            assert np.allclose(tree.links["distance"], full.links["distance"], rtol=1e-13)


@both_sizes
def test_early_stopping_and_developing_give_the_whole_tree(size: str) -> None:
    n, edges = GRAPHS["thick"]
    for criterion in CRITERIA:
        whole = run(n, edges, criterion, missing="ignore")
        part = run(n, edges, criterion, missing="ignore", max_level=2)
        assert part.n_levels == 2
        assert np.array_equal(part.develop().links, whole.links)


@both_sizes
def test_weights_stand_for_objects_that_have_joined_already(size: str) -> None:
    n, edges = GRAPHS["distinct"]
    weights = np.random.default_rng(1).integers(1, 4, n)
    options = {"weights": weights, "missing": 2.0e6}
    assert same(run(n, edges, "average", **options), run(n, edges, "average", engine="literal", **options))


def test_two_runs_of_float_distances_agree_with_the_completed_matrix_up_to_rounding() -> None:
    rng = np.random.default_rng(3)
    n = 300
    p, q, _ = random_edges(n, 3000, 5, 6)
    distance = rng.random(len(p)) + 0.1
    for criterion in ("average", "weighted", "complete"):
        a = run(n, (p, q, distance), criterion, missing=2.0)
        b = run(n, (p, q, distance), criterion, missing=2.0, engine="literal")
        assert np.array_equal(a.links[["left", "right", "level"]], b.links[["left", "right", "level"]])
        assert np.allclose(a.links["distance"], b.links["distance"], rtol=1e-13)


# --- vectors give the distance, a graph says who may be joined ---


def joined(X: Any, edges: Edges, criterion: str, **options: Any) -> reliac.ClusterTree:
    connectivity = coo_array((np.ones(len(edges[0])), edges[:2]), shape=(len(X), len(X)))
    return reliac.cluster(X, criterion, metric="sqeuclidean", connectivity=connectivity, **options)


@both_sizes
@pytest.mark.parametrize("criterion", ["ward", "centroid", "median", "average"])
@pytest.mark.parametrize("name", ["few", "thin", "tied", "star", "chain", "grid", "split"])
def test_only_neighbours_are_joined_by_the_distance_of_vectors(name: str, criterion: str, size: str) -> None:
    n, edges = GRAPHS[name]
    for largest in (3, 1000):
        X = some_points(n, largest)
        for alpha in (0.0, 0.3, 1.0):
            check_made(joined(X, edges, criterion, alpha=alpha), of_neighbours(name, largest, criterion, alpha))


@both_sizes
@pytest.mark.parametrize("criterion", ["ward", "average", "complete", "single"])
def test_one_link_at_a_time_is_the_tree_of_scikit_learn(criterion: str, size: str) -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    neighbors = pytest.importorskip("sklearn.neighbors")
    X = np.random.default_rng(0).normal(size=(200, 3))
    graph = neighbors.kneighbors_graph(X, 7, include_self=False)
    tree = reliac.cluster(X, criterion, connectivity=graph, alpha=0.0)
    matrix = tree.linkage_matrix("level")
    theirs = cluster.ward_tree if criterion == "ward" else partial(cluster.linkage_tree, linkage=criterion)
    children, *_, distance = theirs(X, connectivity=graph + graph.T, return_distance=True)
    sets: list[list[frozenset[int]]] = []
    for merges in (matrix[:, :2].astype(int), children):
        members = [frozenset([i]) for i in range(200)]
        for left, right in merges:
            members.append(members[left] | members[right])
        sets.append(members)
    assert sets[0] == sets[1]
    assert np.allclose(matrix[:, 2], distance)


def test_all_pairs_as_neighbours_give_the_tree_of_the_vectors() -> None:
    X = np.random.default_rng(0).integers(0, 9, size=(40, 2)).astype(float)
    for criterion in ("ward", "centroid", "median", "average"):
        for alpha in (0.0, 0.3, 1.0):
            options = {"metric": "sqeuclidean", "alpha": alpha}
            free = reliac.cluster(X, criterion, engine="literal", **options)
            bound = reliac.cluster(X, criterion, connectivity=np.ones((40, 40)), **options)
            assert np.array_equal(bound.links, free.links)


def test_connectivity_may_be_an_array_a_sparse_matrix_or_a_function() -> None:
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    array = np.zeros((4, 4))
    array[0, 3] = array[1, 2] = 1
    for connectivity in (array, coo_array(array), lambda rows: coo_array(array)):
        tree = reliac.cluster(X, connectivity=connectivity)
        assert [cluster.tolist() for cluster in tree.clusters()] == [[0, 3], [1, 2]]
        assert tree.n_components == 2
        assert tree.parameters["connectivity"] == "given"
    early = reliac.cluster(X, connectivity=np.ones((4, 4)), max_level=1)
    assert np.array_equal(early.develop().links, reliac.cluster(X, connectivity=np.ones((4, 4))).links)


def test_what_connectivity_cannot_do_is_said() -> None:
    X = np.zeros((4, 1))
    with pytest.raises(ValueError, match=r"shape \(3, 3\) for 4 rows"):
        reliac.cluster(X, connectivity=np.ones((3, 3)))
    with pytest.raises(ValueError, match=r"connectivity with criterion='ward' and given distances.*Next: pass the vec"):
        reliac.cluster(np.zeros((4, 4)), "ward", metric="precomputed", connectivity=np.ones((4, 4)))
    with pytest.raises(ValueError, match=r"connectivity with a graph.*Next: leave connectivity out"):
        reliac.cluster(coo_array(np.eye(4, k=1)), "single", metric="precomputed", connectivity=np.ones((4, 4)))
    with pytest.raises(ValueError, match=r"2 connected components"):
        reliac.cluster(X, connectivity=np.eye(4) + np.eye(4, k=1) * [0, 1, 0, 1], n_clusters=1)


@lru_cache(maxsize=100)
def of_parts(name: str, alpha: float, weighed: bool) -> list[Made]:
    """Return what the definition makes of an average along edges."""
    n, edges = GRAPHS[name]
    return by_sizes(n, edges, alpha, np.arange(n) % 3 + 1 if weighed else np.ones(n))


def along(name: str, criterion: str = "average", **options: Any) -> reliac.ClusterTree:
    """Return the tree of given distances along the edges of a graph."""
    n, (p, q, distance) = GRAPHS[name]
    matrix = np.zeros((n, n))
    matrix[p, q] = matrix[q, p] = distance
    connectivity = coo_array((np.ones(len(p)), (p, q)), shape=(n, n))
    return reliac.cluster(matrix, criterion, metric="precomputed", connectivity=connectivity, **options)


@both_sizes
@pytest.mark.parametrize("name", ["few", "thin", "tied", "distinct", "star", "chain", "grid", "split"])
def test_along_edges_an_average_is_the_mean_over_neighbouring_parts_by_their_sizes(name: str, size: str) -> None:
    n, _ = GRAPHS[name]
    for alpha in (0.0, 0.07, 0.5, 1.0):
        for weighed in (False, True):
            options = {"alpha": alpha, "weights": np.arange(n) % 3 + 1} if weighed else {"alpha": alpha}
            tree = along(name, **options)
            check_made(tree, of_parts(name, alpha, weighed))
            few = max(n // 2, tree.n_components)
            assert np.array_equal(along(name, n_clusters=few, **options).labels(), tree.labels(few, by="level"))
            assert np.array_equal(along(name, max_level=2, **options).develop().links, tree.links), (alpha, weighed)
            near = along(name, max_distance=2.5, **options).links["distance"]
            assert (near <= 2.5).all()
            assert len(near) >= (tree.links["distance"] <= 2.5).sum()


def test_along_all_pairs_an_average_is_that_of_the_matrix_and_whole_numbers_are_exact() -> None:
    """Also with a tie tolerance, weights and stops; with one listed pair a part there is nothing to weigh: a tree."""
    n = 40
    matrix = np.random.default_rng(3).integers(1, 9, size=(n, n)).astype(float)
    matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    every = np.ones((n, n))
    for alpha in ALPHAS:
        for more in ({}, {"tie_tolerance": 0.3}, {"weights": np.arange(n) % 3 + 1}, {"n_clusters": 7}):
            options: dict[str, Any] = {"metric": "precomputed", "alpha": alpha, **more}
            expected = reliac.cluster(matrix, "average", engine="literal", **options)
            for kind in (np.float32, np.float64):
                bound = reliac.cluster(matrix.astype(kind), "average", connectivity=every, **options)
                assert np.array_equal(bound.links, expected.links), (alpha, more)
        for name in ("star", "chain"):
            tree = run(*GRAPHS[name], "average", missing="ignore", alpha=alpha)
            assert np.array_equal(along(name, alpha=alpha).links, tree.links)


@pytest.mark.parametrize("criterion", [name for name in CRITERIA if name != "average"])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "seuclidean", "precomputed", "function"])
def test_edges_with_the_distances_of_their_objects_give_the_tree_of_that_graph(criterion: str, metric: str) -> None:
    n, (p, q, _) = GRAPHS["tied"]
    rng = np.random.default_rng(2)
    X, weights = rng.integers(0, 6, size=(n, 2)).astype(float), rng.integers(1, 4, n)
    measure: Any = {"function": lambda a, b: float(np.abs(a - b).max()), "precomputed": "cityblock"}.get(metric, metric)
    matrix = squareform(pdist(X, measure))
    connectivity = coo_array((np.ones(len(p)), (p, q)), shape=(n, n))
    data, given_as = (matrix, "precomputed") if metric == "precomputed" else (X, measure)
    for more in ({}, {"n_clusters": 12}, {"max_level": 2}, {"max_distance": 2.0}, {"weights": weights}):
        for alpha in ALPHAS:
            for tolerance in (0.0, 0.3):
                options = {"alpha": alpha, "tie_tolerance": tolerance, **more}
                tree = reliac.cluster(data, criterion, metric=given_as, connectivity=connectivity, **options)
                expected = run(n, (p, q, matrix[p, q]), criterion, engine="auto", missing="ignore", **options)
                rounded = ["left", "right", "level"]
                assert np.array_equal(tree.links[rounded], expected.links[rounded]), options
                assert np.allclose(tree.links["distance"], expected.links["distance"], rtol=1e-12)
                assert tree.parameters["connectivity"] == "given"
                assert tree.parameters["metric"] != "precomputed" or metric == "precomputed"


def test_float32_distances_along_edges_stay_float32_and_sparse_rows_are_compared_too() -> None:
    X = np.random.default_rng(0).integers(0, 3, size=(30, 8)).astype(float)
    plain = reliac.cluster(X, "complete", connectivity=np.ones((30, 30)))
    assert np.array_equal(reliac.cluster(csr_array(X), "complete", connectivity=np.ones((30, 30))).links, plain.links)
    matrix = squareform(pdist(X)).astype(np.float32)
    tree = reliac.cluster(matrix, "complete", metric="precomputed", connectivity=np.ones((30, 30)))
    assert tree.problem is not None
    assert tree.problem.objects.distances.dtype == np.float32
    with pytest.raises(ValueError, match=r"'broken' cannot compare rows.*ZeroDivisionError.*Allowed: .*Next: "):
        reliac.cluster(X, "single", metric=broken, connectivity=np.ones((30, 30)))


def broken(a: Any, b: Any) -> float:
    return 1 / 0


@pytest.mark.parametrize("criterion", ["ward", "centroid", "median", "average"])
def test_ties_weights_and_early_stops_hold_along_a_graph_too(criterion: str) -> None:
    rng = np.random.default_rng(4)
    n = 30
    X, weights = rng.integers(0, 9, size=(n, 2)).astype(float), rng.integers(1, 4, n)
    every, (p, q, _) = np.ones((n, n)), random_edges(n, 90, 9, 7)
    some = coo_array((np.ones(len(p)), (p, q)), shape=(n, n))
    options: dict[str, Any] = {"metric": "sqeuclidean"}
    for alpha in (0.0, 0.5, 1.0):
        for more in ({"tie_tolerance": 0.2}, {"weights": weights}, {"n_clusters": 7}, {"max_distance": 4.0}):
            free = reliac.cluster(X, criterion, alpha=alpha, engine="literal", **options, **more)
            assert np.array_equal(
                reliac.cluster(X, criterion, alpha=alpha, connectivity=every, **options, **more).links[
                    ["left", "level"]
                ],
                free.links[["left", "level"]],
            ), (alpha, more)
        whole = reliac.cluster(X, criterion, alpha=alpha, connectivity=some, **options)
        part = reliac.cluster(X, criterion, alpha=alpha, connectivity=some, max_level=2, **options)
        assert np.array_equal(part.links, whole.links[whole.links["level"] <= 2])
        few = reliac.cluster(X, criterion, alpha=alpha, connectivity=some, n_clusters=6, **options)
        assert few.n_clusters == 6
        assert np.array_equal(few.labels(), whole.labels(6, by="level"))
        near = reliac.cluster(X, criterion, alpha=alpha, connectivity=some, max_distance=3.0, **options)
        assert near.links["distance"].max() <= 3.0


def test_places_are_numbered_from_the_start_again_before_four_bytes_are_too_few() -> None:
    n, edges = GRAPHS["tied"]
    problem = make_problem(make_graph(edges, objects=range(n)), "average", metric="precomputed")
    links = []
    for first in (0, rows.LARGEST_BASE - n - 5):
        engine = graph_engine.GraphEngine(problem)
        engine.rooms[0].base[0] = first
        links.append([batch.links for batch in engine.levels(0)])
        assert engine.rooms[0].base[0] < rows.LARGEST_BASE - n
    assert all(np.array_equal(a, b) for a, b in zip(*links, strict=True))


def test_sorted_edges_are_not_copied() -> None:
    edges = np.array([0, 0, 1], np.int32), np.array([1, 2, 2], np.int32), np.array([1.0, 2.0, 3.0], np.float32)
    graph = make_graph(edges)
    assert np.shares_memory(graph.ends, edges[1])
    assert np.shares_memory(graph.distances, edges[2])


def test_one_link_at_a_time_finds_the_smallest_after_any_changes() -> None:
    numba = pytest.importorskip("numba")
    play_all = numba.njit(lambda rows, steps: one_link.play_all(rows, steps))

    @numba.njit
    def play_again(rows, steps, changed):  # type: ignore[no-untyped-def]
        for c in changed:
            one_link.play_again(rows, steps, c)

    rng = np.random.default_rng(5)
    for n in (2, 3, 7, 8, 13, 40):
        p = np.arange(n - 1)
        graph = make_graph((p, p + 1, np.ones(n - 1)))
        engine = graph_engine.GraphEngine(make_problem(graph, "average", metric="precomputed", alpha=0.0))
        rows, steps = engine.rows, engine.steps
        rows.best[:] = rng.integers(0, 4, n)
        play_all(rows, steps)
        for _ in range(30):
            changed = rng.permutation(n)[: rng.integers(1, n + 1)]
            rows.best[changed] = rng.choice([0.0, 1.0, 2.0, 3.0, np.inf], len(changed))
            play_again(rows, steps, changed)
            assert steps.first[1] == np.lexsort((rows.object_of, rows.best))[0]


def test_many_tied_links_before_many_others_have_room():
    """Of one level: blocks whose links all tie, and behind them pairs that have one link each."""
    for blocks, side, pairs in ((10, 10, 150), (10, 10, 160), (20, 10, 310), (5, 20, 400)):
        block = np.repeat(np.arange(blocks), side * side) * 2 * side
        left = block + np.tile(np.repeat(np.arange(side), side), blocks)
        right = block + side + np.tile(np.tile(np.arange(side), side), blocks)
        alone = 2 * side * blocks + 2 * np.arange(pairs)
        distance = np.r_[np.ones(len(block)), 1.0 + np.random.default_rng(0).random(pairs)]
        edges = np.r_[left, alone], np.r_[right, alone + 1], distance
        tree = reliac.cluster_edges(edges, "average", missing="ignore", engine="graph")
        expected = np.r_[np.repeat(np.arange(blocks), 2 * side), blocks + np.repeat(np.arange(pairs), 2)]
        assert np.array_equal(tree.labels(level=1), expected)
        assert np.array_equal(np.sort(tree.links["distance"])[-pairs:], np.sort(distance)[-pairs:])


@pytest.mark.parametrize("missing", ["far", "ignore"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_where_most_clusters_tie_links_that_join_nothing_are_left_out_and_the_tree_is_the_same(
    criterion: str, missing: str
) -> None:
    """Below alpha = 1 all links are written down; so near to 1 that a share of them is all of them."""
    n = 4 * levels.MANY
    edges = random_edges(n, 4 * n, 4, 8)
    options = {"missing": missing, "n_clusters": 5 * n // 8}
    tree, whole = run(n, edges, criterion, **options), run(n, edges, criterion, missing=missing)
    assert same(tree, run(n, edges, criterion, alpha=1 - 1e-9, **options))
    assert same(whole, run(n, edges, criterion, alpha=1 - 1e-9, missing=missing))
    assert tree.n_clusters == options["n_clusters"]
    first = whole.links[whole.links["level"] == 1]
    assert len(first) > levels.MANY


#: Objects 0 to 3 join in two levels; two more are equally near to all of them, and each sums up in another order.
ROUNDED = [(0, 3, 0.01), (0, 1, 0.02), (0, 2, 0.02)]
ROUNDED += [(i, c, d) for c in (4, 5) for i, d in enumerate((0.1, 0.1, 0.3, 0.1))]


@pytest.mark.parametrize("missing", ["ignore", "far"])
@pytest.mark.parametrize("criterion", ["average", "weighted"])
def test_sums_that_are_rounded_differently_on_both_sides_end_no_run_early(criterion: str, missing: str) -> None:
    """Beside one another, with ties on both sides of a link; and many times over, where links are thinned out."""
    p, q, d = (np.array(column) for column in zip(*ROUNDED, strict=True))
    shift, two = np.array([0, 0, 0, 0, 8, 9]), np.array([4, 5, 6, 7, 8, 9])
    both = np.r_[np.where(p < 4, p, shift[p]), two[np.minimum(p, 3)]], np.r_[np.where(q < 4, q, shift[q]), 0 * q]
    both[1][len(q) :] = np.where(q < 4, two[np.minimum(q, 3)], shift[q])
    for alpha in (0.999, 1.0):
        tree = run(10, (*both, np.r_[d, d]), criterion, missing=1.0 if missing == "far" else missing, alpha=alpha)
        assert len(tree.links) == 9, alpha
    for copies in (1, levels.MANY + 400):
        first = 6 * np.arange(copies)[:, None]
        edges = (p + first).ravel(), (q + first).ravel(), np.tile(d, copies)
        many = run(6 * copies, edges, criterion, missing=1.0 if missing == "far" else missing)
        assert len(many.links) == 5 * copies


def test_a_graph_that_is_too_large_for_the_literal_engine_is_told_of_another_one(monkeypatch: Any) -> None:
    monkeypatch.setattr("reliac.engines.choice.free_memory", lambda: 2**24)
    monkeypatch.setattr("reliac.engines.choice.LITTLE", 0)
    with pytest.raises(reliac.errors.DoesNotFit, match=r"The literal engine, .*\nNext: use engine='auto': another"):
        run(9000, ([0], [8999], [1.0]), "average", "literal")


def test_runs_along_edges_and_of_listed_pairs_do_not_go_on_from_each_other() -> None:
    """An average is another one there, so the hashes that checkpoints and trees go by differ."""
    n, (p, q, distance) = GRAPHS["tied"]
    graph = make_graph((p, q, distance), objects=range(n), missing="ignore")
    along_edges = along("tied").problem
    assert along_edges is not None
    assert along_edges.objects.data_fingerprint() != graph.data_fingerprint()
    assert along_edges.objects.exact_fingerprint("") != graph.exact_fingerprint("")
