"""Clustering on the graph of nearest neighbours, and what joins the parts that it leaves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import reliac
from problems import blobs, lattice, tied

ON_GRAPHS = ("single", "complete", "average", "weighted")


def same_tree(one, other):
    assert np.array_equal(one.links["left"], other.links["left"])
    assert np.array_equal(one.links["right"], other.links["right"])
    assert np.array_equal(one.links["level"], other.links["level"])
    np.testing.assert_allclose(one.links["distance"], other.links["distance"], rtol=1e-12, atol=1e-12)


def islands(n=120, count=3, d=4, seed=0):
    """Clusters so far from each other that no row has a neighbour in another."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + np.repeat(np.eye(count, d) * 50, n // count, axis=0)


@pytest.mark.parametrize("criterion", ON_GRAPHS)
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine", "cityblock"])
def test_all_other_rows_as_neighbours_give_the_tree_of_the_full_matrix_but_for_its_root(criterion, metric):
    X = blobs(3, n=70, d=4)
    tree = reliac.cluster(X, criterion, metric=metric, neighbors=len(X) - 1)
    same_tree(tree, reliac.cluster(X, criterion, metric=metric))


@pytest.mark.parametrize("criterion", ON_GRAPHS)
@pytest.mark.parametrize("seed", range(5))
def test_whole_numbers_full_of_ties_give_the_tree_of_the_completed_matrix(criterion, seed):
    X = tied(seed)
    for k in (1, 3, len(X) - 1):
        found = reliac.neighbors(X, k, "sqeuclidean")
        tree = reliac.cluster(X, criterion, metric="sqeuclidean", neighbors=k)
        graph = found.graph().tocoo()
        square = np.full((len(X), len(X)), graph.data.max())
        square[graph.row, graph.col] = graph.data
        np.fill_diagonal(square, 0.0)
        if criterion in ("average", "weighted"):
            cap = np.nextafter(graph.data.max(), 0) if graph.data.max() else 0.0
            if graph.data.max():
                expected = reliac.cluster(square, criterion, metric="precomputed", max_distance=cap)
                assert np.array_equal(tree.links, expected.links)
        same_tree(tree, reliac.cluster_edges(found.graph(), criterion))


@pytest.mark.parametrize("criterion", ON_GRAPHS)
def test_rows_in_any_order_give_the_same_clusters(criterion):
    X = lattice(5, n=60, d=3, side=5) + np.random.default_rng(1).normal(size=(60, 3))
    order = np.random.default_rng(2).permutation(len(X))
    tree, moved = (reliac.cluster(rows, criterion, neighbors=4) for rows in (X, X[order]))
    np.testing.assert_allclose(np.sort(tree.links["distance"]), np.sort(moved.links["distance"]), rtol=1e-12)
    for level in range(tree.n_levels + 1):
        found = {frozenset(order[cluster].tolist()) for cluster in moved.clusters(level)}
        assert found == {frozenset(cluster.tolist()) for cluster in tree.clusters(level)}


def test_the_result_of_a_search_serves_instead_of_a_number():
    X = blobs(1)
    found = reliac.neighbors(X, 6, "cosine")
    one = reliac.cluster(X, "average", metric="cosine", neighbors=found)
    other = reliac.cluster(X, "average", metric="cosine", neighbors=6)
    assert np.array_equal(one.links, other.links)


def test_a_tree_says_what_it_was_made_from():
    text = repr(reliac.cluster(blobs(1), "average", neighbors=6))
    assert "metric euclidean" in text
    assert "neighbors 6" in text
    assert "missing far" in text
    joined = repr(reliac.cluster(islands(), "average", neighbors=6, join_components=True))
    assert "join_components True" in joined
    assert "graph to 3 clusters" in joined


def test_names_of_a_frame_are_kept():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [0.0, 1.0, 5.0, 6.5]}, index=list("abcd"))
    tree = reliac.cluster(frame, "single", neighbors=2)
    assert tree.object_names.tolist() == ["a", "b", "c", "d"]


@pytest.mark.parametrize("criterion", ON_GRAPHS)
def test_parts_stay_apart_although_sums_of_far_distances_are_rounded(criterion):
    tree = reliac.cluster(islands(300), criterion, neighbors=8)
    assert tree.n_components >= 3
    for label in range(tree.n_components):
        rows = np.flatnonzero(tree.labels() == label)
        assert len(set((rows // 100).tolist())) == 1


# --- parts of the graph ---


def mean_distances(X, labels, metric):
    """The mean distance of every two clusters, by all pairs of their rows: the definition."""
    from scipy.spatial.distance import cdist

    parts = [X[labels == label] for label in range(labels.max() + 1)]
    return np.array([[cdist(p, q, metric).mean() for q in parts] for p in parts])


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_parts_are_joined_by_the_criterion_on_the_rows(metric):
    X = islands(160, count=4, seed=2)
    forest = reliac.cluster(X, "average", metric=metric, neighbors=6)
    tree = reliac.cluster(X, "average", metric=metric, neighbors=6, join_components=True)
    left, count = forest.n_clusters, len(forest.links)
    assert np.array_equal(tree.links[:count], forest.links)
    assert tree.n_clusters == 1
    between = mean_distances(X, forest.labels(), metric)
    np.fill_diagonal(between, np.inf)
    assert tree.links["distance"][count] == pytest.approx(between.min(), rel=1e-10)
    assert np.array_equal(tree.labels(left, by="level"), forest.labels())


@pytest.mark.parametrize("criterion", ON_GRAPHS)
def test_clusters_far_apart_have_the_labels_of_the_exact_tree(criterion):
    X = np.random.default_rng(3).normal(size=(240, 4))
    X[:, 0] += np.repeat([0.0, 50.0, 150.0, 450.0], 60)
    tree = reliac.cluster(X, criterion, neighbors=20, join_components=True)
    exact = reliac.cluster(X, criterion)
    for n_clusters in (1, 2, 3, 4):
        assert np.array_equal(tree.labels(n_clusters), exact.labels(n_clusters))


def test_joining_single_links_of_a_graph_gives_the_exact_tree():
    X = islands(240, count=4, seed=4)
    tree = reliac.cluster(X, "single", neighbors=10, join_components=True)
    exact = reliac.cluster(X, "single")
    np.testing.assert_allclose(np.sort(tree.links["distance"]), np.sort(exact.links["distance"]), rtol=1e-12)
    assert len(tree.spanning_tree().pairs) == len(X) - 1


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 7, 30])
def test_early_stopping_leaves_exactly_so_many_clusters(n_clusters):
    tree = reliac.cluster(islands(), "average", neighbors=5, join_components=True, n_clusters=n_clusters)
    assert tree.n_clusters == n_clusters


def test_where_a_level_or_a_distance_stops_the_run_nothing_else_is_joined():
    X = islands()
    for rule in ({"max_level": 2}, {"max_distance": 1.0}):
        tree = reliac.cluster(X, "average", neighbors=5, join_components=True, **rule)
        assert np.array_equal(tree.links, reliac.cluster(X, "average", neighbors=5, **rule).links)


def test_connectivity_can_be_joined_too():
    X = islands()
    graph = reliac.neighbors(X, 5).graph()
    assert reliac.cluster(X, connectivity=graph).n_clusters == 3
    tree = reliac.cluster(X, connectivity=graph, join_components=True)
    assert tree.n_clusters == 1
    assert np.array_equal(tree.labels(3), reliac.cluster(X).labels(3))
    last = reliac.cluster(X).links["distance"][-2:]
    np.testing.assert_allclose(np.sort(tree.links["distance"][-2:]), np.sort(last), rtol=1e-9)


def test_a_tree_from_a_file_goes_on_with_its_rows_or_neighbours(tmp_path):
    X = islands(90)
    early = reliac.cluster(X, "average", neighbors=5, max_level=2)
    early.save(tmp_path / "early.reliac")
    whole = reliac.cluster(X, "average", neighbors=5)
    for rows in (X, reliac.neighbors(X, 5)):
        assert np.array_equal(reliac.load(tmp_path / "early.reliac").develop(X=rows).links, whole.links)
    assert np.array_equal(early.develop().links, whole.links)
    with pytest.raises(ValueError, match="other values"):
        reliac.load(tmp_path / "early.reliac").develop(X=X + np.arange(4) * np.arange(90)[:, None])
    joined = reliac.cluster(X, "average", neighbors=5, n_clusters=2, join_components=True)
    joined.save(tmp_path / "joined.reliac")
    assert reliac.load(tmp_path / "joined.reliac").develop(X=X).n_clusters == 1


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({}, ("criterion='ward' with neighbors=5", "average", "connectivity=reliac.neighbors(X, 5).graph()")),
        ({"criterion": "centroid"}, ("centroid", "average", "connectivity=")),
        ({"criterion": "average", "n_clusters": 2}, ("3 connected components", "3 to 120", "join_components=True")),
        ({"criterion": "average", "connectivity": np.eye(120)}, ("and connectivity", "one of the two", "drop")),
        ({"criterion": "average", "neighbors": None, "join_components": True}, ("without a graph", "it together", "k")),
        ({"criterion": "average", "neighbors": 120}, ("k=120", "1 to 119", "fewer")),
        ({"criterion": "average", "join_components": "yes"}, ("join_components='yes'", "True or False", "pass")),
    ],
)
def test_mistakes_are_told_in_three_parts(options, parts):
    with pytest.raises((ValueError, TypeError)) as told:
        reliac.cluster(islands(), **{"neighbors": 5, **options})
    message = str(told.value)
    assert " Allowed: " in message
    assert " Next: " in message
    for part in parts:
        assert part in message


def test_neighbours_of_other_rows_or_another_metric_are_refused():
    X = islands()
    found = reliac.neighbors(X, 5)
    with pytest.raises(ValueError, match=r"120 rows for 90 rows.*Allowed:.*Next:"):
        reliac.cluster(X[:90], "average", neighbors=found)
    with pytest.raises(
        ValueError, match=r"metric='cosine'.*found by metric 'euclidean'.*Next: pass metric='euclidean'"
    ):
        reliac.cluster(X, "average", metric="cosine", neighbors=found)


def test_fewer_clusters_than_a_forest_has_are_refused_with_what_to_do():
    tree = reliac.cluster(islands(), "average", neighbors=5)
    with pytest.raises(ValueError, match="join_components=True"):
        tree.labels(2)


def test_weights_and_given_distances_work_with_neighbours():
    X = islands(60)
    weights = np.r_[np.full(30, 2.0), np.ones(30)]
    tree = reliac.cluster(X, "average", neighbors=5, weights=weights, join_components=True)
    assert tree.n_clusters == 1
    given = reliac.cluster(pdist(X), "average", metric="precomputed", neighbors=5)
    same_tree(given, reliac.cluster(X, "average", neighbors=5))
