"""Estimators along a graph: scikit-learn's own tests of connectivity, its trees, and what is different on purpose."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering, FeatureAgglomeration, linkage_tree, ward_tree
from sklearn.cluster import _agglomerative as agglomerative
from sklearn.cluster.tests import test_hierarchical as theirs
from sklearn.feature_extraction.image import grid_to_graph
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.neighbors import kneighbors_graph

import reliac
from reliac import ReliableAgglomerativeClustering, ReliableFeatureAgglomeration

#: Tests of scikit-learn that are about connectivity, with the arguments that pytest would give them.
APPLY: list[tuple[str, dict[str, Any]]] = [
    ("structured_linkage_tree", {}),
    ("height_linkage_tree", {}),
    *(
        (
            "agglomerative_clustering_distances",
            {"linkage": linkage, "n_clusters": count, "distance_threshold": threshold, "compute_distances": True},
        )
        for linkage in ("ward", "complete", "average", "single")
        for count, threshold in ((None, 0.5), (10, None))
    ),
    ("agglomerative_clustering", {"global_random_seed": 42, "lil_container": sparse.lil_array}),
    ("ward_agglomeration", {"global_random_seed": 42}),
    ("sparse_scikit_vs_scipy", {"global_random_seed": 42}),
    ("identical_points", {}),
    ("connectivity_propagation", {}),
    ("ward_tree_children_order", {"global_random_seed": 42}),
    ("ward_linkage_tree_return_distance", {"global_random_seed": 42}),
    ("connectivity_callable", {}),
    ("connectivity_ignores_diagonal", {}),
    ("n_components", {}),
    *(
        ("agglomerative_clustering_with_distance_threshold", {"linkage": linkage, "global_random_seed": 42})
        for linkage in ("ward", "complete", "average")
    ),
    *(("agglomeration_ward_constrained_metric", {"Clustering": kind}) for kind in ("rows", "columns")),
    *(
        ("agglomeration_ward_euclidean", {"Clustering": kind, "metric": metric})
        for kind in ("rows", "columns")
        for metric in ("euclidean", "l2")
    ),
]

#: Tests of scikit-learn about connectivity that do not apply, and why.
DO_NOT_APPLY = {
    "connectivity_fixing_non_lil": "wants a warning that the graph was completed: it never is",
    "precomputed_connectivity_metric_with_2_connected_components": "wants the same warning",
    "linkage_misc": "is about other things, but for a graph of a wrong shape, which is refused below",
    "affinity_passed_to_fix_connectivity": "counts calls that complete the graph",
    "compute_full_tree": "wants an early end that nobody asked for: 'auto' builds the full tree, False stops early",
    "agglomerative_clustering_distances": "without compute_distances it wants no distances_: they are always there",
}

#: Those that hold for one pair after the other (alpha=0) only: where all reliable links are taken at once the tree
#: along a graph is another one, and the largest joins, which are undone first, need not be the last.
ONE_BY_ONE = {"agglomerative_clustering", "agglomerative_clustering_with_distance_threshold"}


def in_order_of_rows(labels: Any) -> Any:
    """Number clusters by their first row, as reliac does."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def grow(
    X: Any,
    connectivity: Any = None,
    n_clusters: int | None = None,
    linkage: str = "complete",
    affinity: Any = "euclidean",
    return_distance: bool = False,
) -> tuple[Any, ...]:
    """Grow a tree by reliac, and return it in the form of scikit-learn's functions."""
    tree = reliac.cluster(
        X, linkage, metric=affinity, connectivity=connectivity, n_clusters=n_clusters, alpha=0.0, engine="auto"
    )
    rows = tree.linkage_matrix("level") if tree.n_clusters == 1 else np.zeros((0, 4))
    found = (rows[:, :2].astype(int), tree.n_components, tree.n_objects, None)
    return (*found, rows[:, 2]) if return_distance else found


@pytest.mark.parametrize(
    ("alpha", "name", "options"),
    [(alpha, *test) for test in APPLY for alpha in (0.0, 1.0) if alpha == 0.0 or test[0] not in ONE_BY_ONE],
)
def test_the_tests_of_scikit_learn_about_connectivity_pass(
    alpha: float, name: str, options: dict[str, Any], monkeypatch: Any
) -> None:
    kinds = {
        "rows": partial(ReliableAgglomerativeClustering, alpha=alpha),
        "columns": partial(ReliableFeatureAgglomeration, alpha=alpha),
    }
    monkeypatch.setattr(theirs, "AgglomerativeClustering", kinds["rows"])
    monkeypatch.setattr(theirs, "FeatureAgglomeration", kinds["columns"])
    builders = {linkage: partial(grow, linkage=linkage) for linkage in ("ward", "complete", "average", "single")}
    if name == "agglomerative_clustering_with_distance_threshold":  # here their own trees are what is compared with
        cut = agglomerative._hc_cut
        monkeypatch.setattr(theirs, "_hc_cut", lambda *args, **more: in_order_of_rows(cut(*args, **more)))
    else:
        monkeypatch.setattr(theirs, "_TREE_BUILDERS", builders)
        monkeypatch.setattr(theirs, "ward_tree", builders["ward"])
        monkeypatch.setattr(theirs, "linkage_tree", grow)
    given = {key: kinds.get(value, value) if key == "Clustering" else value for key, value in options.items()}
    getattr(theirs, f"test_{name}")(**given)


def test_every_test_of_scikit_learn_that_mentions_connectivity_is_run_or_has_a_reason() -> None:
    text = theirs.__file__
    assert text is not None
    with open(text, encoding="utf-8") as file:
        parts = file.read().split("\ndef test_")[1:]
    about = {part.partition("(")[0] for part in parts if "connectivity" in part}
    assert about == {name for name, _ in APPLY} | {*DO_NOT_APPLY}


# --- the trees of scikit-learn ---


def members(children: Any, n: int) -> list[frozenset[int]]:
    """Return the rows below every merge, which does not depend on how nodes are numbered."""
    found = [frozenset([i]) for i in range(n)]
    for left, right in children:
        found.append(found[left] | found[right])
    return found[n:]


@pytest.mark.parametrize("linkage", ["ward", "complete", "single"])
@pytest.mark.parametrize("seed", [0, 1])
def test_with_alpha_0_the_estimator_is_that_of_scikit_learn(linkage: str, seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(150, 3))
    graph = kneighbors_graph(X, 8, include_self=False)
    for cut in ({"n_clusters": 7}, {"n_clusters": None, "distance_threshold": 1.0}):
        ours = ReliableAgglomerativeClustering(linkage=linkage, connectivity=graph, alpha=0.0, **cut).fit(X)
        sklearns = AgglomerativeClustering(linkage=linkage, connectivity=graph + graph.T, compute_distances=True, **cut)
        sklearns.fit(X)
        assert members(ours.children_, 150) == members(sklearns.children_, 150)
        np.testing.assert_allclose(ours.distances_, sklearns.distances_, rtol=1e-12)
        assert ours.n_clusters_ == sklearns.n_clusters_
        assert adjusted_rand_score(ours.labels_, sklearns.labels_) == 1.0


@pytest.mark.parametrize("linkage", ["complete", "single"])
@pytest.mark.parametrize("metric", ["manhattan", "cosine", "precomputed", pairwise_distances])
def test_edges_have_the_distance_of_any_metric(linkage: str, metric: Any) -> None:
    X = np.random.default_rng(3).normal(size=(120, 4))
    graph = kneighbors_graph(X, 8, include_self=False)
    data = pairwise_distances(X) if metric == "precomputed" else X
    ours = ReliableAgglomerativeClustering(4, linkage=linkage, metric=metric, connectivity=graph, alpha=0.0).fit(data)
    affinity = "euclidean" if callable(metric) else metric
    children, *_, distance = linkage_tree(
        data, connectivity=graph + graph.T, linkage=linkage, affinity=affinity, return_distance=True
    )
    assert members(ours.children_, 120) == members(children, 120)
    np.testing.assert_allclose(ours.distances_, distance, rtol=1e-9)


@pytest.mark.parametrize("graph", ["complete", "tree", "grid"])
def test_average_is_that_of_scikit_learn_whatever_the_graph(graph: str) -> None:
    n = 64
    X = np.random.default_rng(4).normal(size=(n, 3))
    edges: Any = {"complete": np.ones((n, n)), "grid": grid_to_graph(8, 8)}.get(graph)
    if graph == "tree":
        edges = sparse.csgraph.minimum_spanning_tree(pairwise_distances(X))
    for metric in ("euclidean", "manhattan"):
        ours = ReliableAgglomerativeClustering(4, linkage="average", metric=metric, connectivity=edges, alpha=0.0).fit(
            X
        )
        children, *_, distance = linkage_tree(
            X, connectivity=edges, linkage="average", affinity=metric, return_distance=True
        )
        assert members(ours.children_, n) == members(children, n)
        np.testing.assert_allclose(ours.distances_, distance, rtol=1e-12)


def test_a_part_counts_by_its_size_in_an_average_along_edges() -> None:
    X = np.array([[0.0], [1.0], [2.5], [10.0]])  # 0 and 1 join, then 2; edges to 3 lead from 0 and from 2
    edges = np.array([[0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    tree = ReliableAgglomerativeClustering(1, linkage="average", connectivity=edges, alpha=0.0).fit(X).tree_
    last = (2 * 10.0 + 7.5) / 3  # the part {0, 1} counts twice, with its one edge
    assert np.allclose(tree.links["distance"], [1.0, 1.5, last], rtol=1e-15)
    assert linkage_tree(X, connectivity=edges, linkage="average", return_distance=True)[-1][-1] == last


def test_columns_are_joined_along_a_grid_as_in_scikit_learn() -> None:
    X = np.random.default_rng(5).normal(size=(30, 64))
    grid = grid_to_graph(8, 8)
    ours = ReliableFeatureAgglomeration(5, connectivity=grid, alpha=0.0).fit(X)
    sklearns = FeatureAgglomeration(5, connectivity=grid).fit(X)
    assert members(ours.children_, 64) == members(sklearns.children_, 64)
    assert adjusted_rand_score(ours.labels_, sklearns.labels_) == 1.0
    assert ours.transform(X).shape == (30, 5)
    by_function = ReliableFeatureAgglomeration(5, connectivity=lambda columns: grid, alpha=0.0).fit(X)
    np.testing.assert_array_equal(by_function.labels_, ours.labels_)


# --- what is different on purpose, and what comes on top ---

TWO_PARTS = np.array([[0, 1, 1, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]])


@pytest.mark.parametrize("linkage", ["ward", "complete", "average", "single", "weighted", "centroid", "median"])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_a_graph_of_several_parts_is_never_completed(linkage: str, alpha: float) -> None:
    X = np.random.default_rng(0).normal(size=(5, 3))
    options = {"linkage": linkage, "connectivity": TWO_PARTS, "alpha": alpha}
    model = ReliableAgglomerativeClustering(2, **options).fit(X)
    assert model.labels_.tolist() == [0, 0, 0, 1, 1]
    assert model.n_connected_components_ == model.tree_.n_components == 2
    assert model.children_.shape == (3, 2)
    far = ReliableAgglomerativeClustering(None, distance_threshold=1e9, **options).fit(X)
    assert far.n_clusters_ == 2
    stopped = ReliableAgglomerativeClustering(3, compute_full_tree=False, **options).fit(X)
    assert stopped.n_connected_components_ == 2
    assert stopped.tree_.n_clusters == 3
    for compute_full_tree in ("auto", False):
        model = ReliableAgglomerativeClustering(1, compute_full_tree=compute_full_tree, **options)
        with pytest.raises(ValueError, match=r"n_clusters=1 .* 2 connected components.*Allowed: 2 to 5.*Next: .*never"):
            model.fit(X)


@pytest.mark.parametrize("linkage", ["ward", "average"])
def test_rows_of_weight_0_take_no_part_and_join_nothing(linkage: str) -> None:
    X = np.array([[0.0], [1.1], [2.5], [4.4], [9.0]])
    chain = sparse.diags_array([1.0] * 4, offsets=1, shape=(5, 5))
    model = ReliableAgglomerativeClustering(2, linkage=linkage, connectivity=chain)
    assert model.fit(X, sample_weight=[1, 2, 0, 1, 1]).labels_.tolist() == [0, 0, -1, 1, 1]
    assert model.n_connected_components_ == 2
    repeated = ReliableAgglomerativeClustering(2, linkage=linkage, connectivity=np.ones((6, 6)))
    weighted = ReliableAgglomerativeClustering(2, linkage=linkage, connectivity=np.ones((5, 5)))
    weights = [1, 2, 1, 1, 1]
    expected = repeated.fit(np.repeat(X, weights, axis=0)).tree_.links["distance"][1:]
    np.testing.assert_allclose(weighted.fit(X, sample_weight=weights).tree_.links["distance"], expected)


def test_a_cached_tree_is_that_of_its_own_graph(tmp_path: Any) -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    for graph in (np.ones((12, 12)), np.eye(12, k=1), np.eye(12, k=1)):
        options = {"connectivity": graph, "linkage": "complete"}
        kept = ReliableAgglomerativeClustering(3, memory=str(tmp_path), **options).fit(X)
        np.testing.assert_array_equal(kept.labels_, ReliableAgglomerativeClustering(3, **options).fit(X).labels_)


@pytest.mark.parametrize(
    ("connectivity", "message"),
    [
        (np.ones((3, 3)), r"shape \(3, 3\) for 5 rows"),
        (sparse.eye_array(7), r"shape \(7, 7\) for 5 rows"),
        (np.ones(5), r"shape \(5,\) for 5 rows"),
        (np.full((5, 5), np.nan), r"holds nan at \(0, 0\)"),
        ("knn", "connectivity of type str"),
        (lambda X: None, "connectivity of type NoneType"),
    ],
)
def test_a_graph_that_is_none_is_refused_in_three_parts(connectivity: Any, message: str) -> None:
    X = np.random.default_rng(0).normal(size=(5, 3))
    for fit in (
        lambda: ReliableAgglomerativeClustering(2, connectivity=connectivity).fit(X),
        lambda: reliac.cluster(X, connectivity=connectivity),
    ):
        with pytest.raises((ValueError, TypeError), match=rf"{message}.*Allowed: .*Next: "):
            fit()


def test_one_pair_after_the_other_along_a_grid_is_the_ward_tree_of_scikit_learn() -> None:
    X, grid = np.random.default_rng(6).normal(size=(144, 2)), grid_to_graph(12, 12)
    tree = reliac.cluster(X, "ward", connectivity=grid, alpha=0.0)
    children, *_, distance = ward_tree(X, connectivity=grid, return_distance=True)
    assert members(tree.linkage_matrix("level")[:, :2].astype(int), 144) == members(children, 144)
    np.testing.assert_allclose(tree.links["distance"], distance, rtol=1e-9)
