"""Forests: what a graph of several parts gives, in every form that a tree has."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array

import reliac
from reliac.evaluate import cophenetic_correlation
from reliac.tree.layout import dendrogram

A = ["ann", "anne", "bob", "anna", "rob", "cat"]
B = ["anne", "anna", "rob", "annie", "robert", "kat"]
DISTANCE = [0.1, 0.2, 0.3, 0.15, 0.5, 0.12]
NAMES = ["alone", "kat", "bob", "rob", "robert", "ann", "anne", "anna", "annie", "cat"]
PARTS = [["alone"], ["kat", "cat"], ["bob", "rob", "robert"], ["ann", "anne", "anna", "annie"]]
CRITERIA = ("single", "complete", "average", "weighted")


def forest(criterion: str = "single", **options: Any) -> reliac.ClusterTree:
    missing = "ignore" if criterion == "complete" else 1.0
    return reliac.cluster_edges((A, B, DISTANCE), criterion, **{"objects": NAMES, "missing": missing, **options})


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_parts_of_a_graph_are_the_trees_in_every_form(criterion: str) -> None:
    tree = forest(criterion)
    assert tree.n_components == tree.n_clusters == 4
    assert [cluster.tolist() for cluster in tree.clusters(named=True)] == PARTS
    for count in range(4, 11):
        assert tree.labels(count).max() == tree.labels(count, by="level").max() == count - 1
    lines = tree.to_newick().splitlines()
    assert [sorted(name for name in NAMES if f"{name}:" in line or line == f"{name};") for line in lines] == [
        sorted(part) for part in PARTS
    ]
    assert tree.to_nexus().count("  TREE ") == 4
    assert np.isinf(tree.cophenetic([[0, 1], [2, 5]])).all()
    assert tree.cophenetic([[5, 6]]).tolist() == [0.1]
    assert tree.join_levels[0] == tree.n_levels + 1
    assert tree.outlier_scores()[0] == tree.outlier_scores("distance of 10")[0] == 1.0
    assert "4 clusters at the last" in repr(tree)


def test_a_forest_goes_through_files_pickles_and_copies(tmp_path: Path) -> None:
    tree = forest("average")
    tree.save(tmp_path / "tree.reliac")
    forms = [
        reliac.load(tmp_path / "tree.reliac"),
        reliac.ClusterTree.from_json(tree.to_json()),
        pickle.loads(pickle.dumps(tree)),
        copy.deepcopy(tree),
    ]
    for other in forms:
        assert np.array_equal(other.links, tree.links)
        assert other.object_names.tolist() == NAMES
        assert other.n_components == 4
    frames, networkx = pytest.importorskip("pandas"), pytest.importorskip("networkx")
    assert isinstance(tree.to_frame(), frames.DataFrame)
    assert networkx.number_weakly_connected_components(tree.to_networkx()) == 4


def test_fewer_clusters_than_trees_are_an_error_that_says_how_many_there_are() -> None:
    for call in (
        lambda: forest().labels(3),
        lambda: forest().linkage_matrix(),
        lambda: forest(n_clusters=3),
        lambda: forest("average", n_clusters=3),
        lambda: forest().develop(n_clusters=2),
        lambda: forest("average").develop(n_clusters=2),
        lambda: cophenetic_correlation(forest(), np.ones((10, 10)) - np.eye(10)),
    ):
        with pytest.raises(ValueError, match=r"Allowed: .*Next: .*join_components=True") as caught:
            call()
        assert "4" in str(caught.value)
    matrix = coo_array(([1.0, 1.0], ([0, 2], [1, 3])), shape=(4, 4))
    with pytest.raises(ValueError, match=r"2 connected components.*Allowed: 2 to 4"):
        reliac.cluster(matrix, "single", metric="precomputed", n_clusters=1)
    chain = coo_array(
        ([1.0, 5.0, 1.0], ([0, 1, 2], [1, 2, 3])), shape=(4, 4)
    )  # the largest edge is as far as a missing pair
    with pytest.raises(ValueError, match=r"2 clusters, which are as far.*Allowed: 2 clusters or more"):
        reliac.cluster(chain, "average", metric="precomputed", n_clusters=1)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_a_root_joins_what_is_left_at_the_far_distance(criterion: str, alpha: float) -> None:
    tree = forest(criterion, alpha=alpha)
    joined = forest(criterion, alpha=alpha, join_components=True)
    assert joined.n_components == 1
    assert np.array_equal(joined.links[: len(tree.links)], tree.links)
    root = 0.5 if criterion == "complete" else 1.0  # M if a number was given, else the largest edge
    assert set(joined.links["distance"][len(tree.links) :]) == {root}
    assert joined.n_levels == tree.n_levels + (3 if alpha == 0.0 else 1)
    assert np.array_equal(joined.labels(4, by="level"), tree.labels())
    assert joined.linkage_matrix().shape == (9, 4)
    assert forest(criterion, alpha=alpha, join_components=True, n_clusters=2).n_clusters == 2
    assert joined.to_newick().count(";") == 1


def test_a_root_has_no_edges_and_comes_after_the_last_join() -> None:
    with pytest.raises(ValueError, match=r"no edges.*Allowed: .*Next: leave join_components out"):
        forest(join_components=True).spanning_tree()
    for rule in ({"max_level": 1}, {"max_distance": 0.2}):
        with pytest.raises(ValueError, match=r"join_components=True with a rule that stops early.*Allowed: .*Next: "):
            forest(join_components=True, **rule)


def test_the_spanning_forest_has_the_edges_of_every_part() -> None:
    edges = forest().spanning_tree()
    assert sorted(edges.weights.tolist()) == sorted(DISTANCE)
    assert {tuple(sorted((NAMES[i], NAMES[j]))) for i, j in edges.pairs.tolist()} == {
        tuple(sorted(pair)) for pair in zip(A, B, strict=True)
    }


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_forest_that_stopped_early_is_developed_from_its_file(criterion: str, tmp_path: Path) -> None:
    whole, part = forest(criterion), forest(criterion, max_level=1)
    part.save(tmp_path / "tree.reliac")
    loaded = reliac.load(tmp_path / "tree.reliac")
    order = np.random.default_rng(0).permutation(len(A))
    shuffled = ([A[i] for i in order], [B[i] for i in order], [DISTANCE[i] for i in order])
    for tree in (part.develop(), loaded.develop(X=(A, B, DISTANCE)), loaded.develop(X=shuffled)):
        assert np.array_equal(tree.links, whole.links)
        assert tree.object_names.tolist() == NAMES
    with pytest.raises(ValueError, match="other values"):
        loaded.develop(X=(A, B, [*DISTANCE[:-1], 0.9]))
    label = int(part.labels()[NAMES.index("bob")])
    bobs = part.develop([label, int(part.labels()[NAMES.index("robert")])])
    assert sorted(bobs.object_names.tolist()) == ["bob", "rob", "robert"]
    assert bobs.n_components == 1


def test_missing_pairs_are_as_far_in_a_part_as_in_the_whole() -> None:
    edges = ([0, 1, 3], [1, 2, 4], [1.0, 2.0, 8.0])  # M is 8: the mean of 2 and 8 is below it
    part = reliac.cluster_edges(edges, "average", max_level=1)
    assert part.develop().links["distance"].tolist() == [1.0, 5.0]
    labels = part.labels()
    some = part.develop([int(labels[0]), int(labels[2])])
    assert some.links["distance"].tolist() == [1.0, 5.0]
    assert some.parameters["missing"] == 8.0


@pytest.mark.parametrize("criterion", ["ward", "complete", "average"])
def test_a_tree_along_a_graph_is_developed_from_its_file_with_that_graph(criterion: str, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    graph = np.eye(12, k=1)
    graph[5, 6] = 0  # two chains
    whole, part = (reliac.cluster(X, criterion, connectivity=graph, max_level=level) for level in (None, 1))
    part.save(tmp_path / "tree.reliac")
    loaded = reliac.load(tmp_path / "tree.reliac")
    assert np.array_equal(loaded.develop(X=X, connectivity=graph).links, whole.links)
    assert whole.n_components == 2
    with pytest.raises(ValueError, match=r"made with connectivity.*Allowed: .*Next: pass the same graph"):
        loaded.develop(X=X)
    with pytest.raises(ValueError, match="other values"):
        loaded.develop(X=X, connectivity=np.eye(12, k=1))
    with pytest.raises(ValueError, match=r"without X.*Next: leave connectivity out"):
        part.develop(connectivity=graph)
    with pytest.raises(ValueError, match=r"made without.*Next: leave connectivity out"):
        pickle.loads(pickle.dumps(reliac.cluster(X, criterion, max_level=1))).develop(X=X, connectivity=graph)
    with pytest.raises(ValueError, match=r"2 clusters.*Next: .*add edges"):
        part.develop(n_clusters=1)


def test_the_trees_of_a_forest_stand_side_by_side_in_a_picture() -> None:
    layout = dendrogram(forest("average"))
    assert layout.texts == [name for part in PARTS for name in part]
    assert len(layout.roots) == 4
    gaps = np.diff(layout.positions)
    assert np.flatnonzero(gaps > 1.0).tolist() == [0, 2, 5]  # between the parts
    few = dendrogram(forest("average"), max_leaves=2)
    assert few.texts == ["[3]", "[4]"]
    pytest.importorskip("matplotlib").use("Agg")
    axes = forest("average").plot(color_clusters=4)
    assert "4 trees" in axes.get_title()
    forest("average").plot_levels()
