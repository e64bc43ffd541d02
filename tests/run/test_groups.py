"""cluster_groups: for every group the tree that cluster gives, and one numbering of clusters for all rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import reliac
from problems import CRITERIA, blobs, lattice


def some_groups(n, seed=0):
    """Labels of groups of 1 to 14 rows, scattered over the rows."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n), rng.integers(1, 15, size=n))[:n]
    return rng.permutation(labels)


def assert_trees_of_cluster(X, groups, criterion, **options):
    trees = reliac.cluster_groups(X, groups, criterion, **options)
    assert len(trees) == len(set(groups.tolist()))
    for group, tree in trees.items():
        rows = np.flatnonzero(groups == group)
        stop = {"n_clusters": min(options["n_clusters"], len(rows))} if options.get("n_clusters") else {}
        alone = reliac.cluster(X[rows], criterion, **{**options, **stop})
        assert np.array_equal(tree.links, alone.links), (criterion, group)
        assert np.array_equal(tree.objects, rows)
        assert tree.fingerprint == alone.fingerprint
        if criterion == "single":
            assert np.array_equal(tree.object_pairs, alone.object_pairs)
    return trees


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_level": 2},
        {"n_clusters": 3},
        {"max_distance": 1.5},
        {"alpha": 0.0},
        {"alpha": 0.4},
        {"tie_tolerance": 0.1},
        {"metric": "sqeuclidean", "n_jobs": 1},
    ],
)
def test_every_group_has_the_tree_that_cluster_gives_bit_for_bit(criterion, options):
    for X in (lattice(1, n=300, d=2, side=5), blobs(1, n=300)):
        assert_trees_of_cluster(X, some_groups(300), criterion, **options)


@pytest.mark.parametrize("criterion", ["single", "average", "ward"])
@pytest.mark.parametrize(("columns", "kind"), [(1, np.float64), (7, np.float32), (32, np.float64), (33, np.float64)])
def test_rows_of_any_width_are_compared_to_the_same_bits_whether_groups_are_alone_or_side_by_side(
    criterion, columns, kind
):
    X = np.random.default_rng(0).normal(size=(300, columns)).astype(kind)
    assert_trees_of_cluster(X, some_groups(300), criterion)


@pytest.mark.parametrize("metric", ["cosine", "cityblock", "seuclidean"])
def test_other_metrics_compare_the_rows_of_a_group_only(metric):
    X = np.random.default_rng(0).random((200, 3)) + 0.1
    groups = np.repeat(np.arange(20), 10)
    assert_trees_of_cluster(X, groups, "average", metric=metric)


def test_large_groups_are_run_by_themselves_and_give_the_same_trees(monkeypatch):
    monkeypatch.setattr("reliac.run.groups.SIDE_BY_SIDE", 6)
    for criterion in ("single", "average"):
        assert_trees_of_cluster(lattice(2, n=200), some_groups(200), criterion)


def test_labels_number_the_clusters_of_all_groups_by_their_first_rows():
    X, groups = blobs(3, n=120), some_groups(120, seed=3)
    trees = reliac.cluster_groups(X, groups, "average")
    for cut in ({"distance": 2.0}, {"level": 1}, {"n_clusters": 2}, {"n_clusters": 2, "by": "level"}, {}):
        labels = trees.labels(**cut)
        _, first = np.unique(labels, return_index=True)
        assert (np.diff(first) > 0).all()
        for group, tree in trees.items():
            rows = trees.rows[group]
            own = dict(cut)
            if "n_clusters" in own:
                own["n_clusters"] = min(own["n_clusters"], len(rows))
            if "level" in own:
                own["level"] = min(own["level"], tree.n_levels)
            assert np.array_equal(np.unique(labels[rows], return_inverse=True)[1], tree.labels(**own))
        assert all(len(set(groups[labels == label])) == 1 for label in set(labels.tolist()))


def test_the_forest_holds_every_link_of_every_group():
    X, groups = lattice(4, n=90), some_groups(90, seed=4)
    trees = reliac.cluster_groups(X, groups, "complete")
    assert len(trees.forest.links) == sum(len(tree.links) for tree in trees.values())
    assert trees.forest.n_clusters == len(trees)
    assert "90 rows" in repr(trees)


def test_groups_may_be_texts_of_any_container_and_come_in_the_order_of_their_rows():
    X = [[0.0], [5.0], [1.0], [7.0]]
    trees = reliac.cluster_groups(X, ("b", "a", "b", "a"))
    assert list(trees) == ["b", "a"]
    assert trees["a"].objects.tolist() == [1, 3]
    with pytest.raises(KeyError):
        trees["c"]


def test_a_group_with_names_and_weights_keeps_them_and_can_be_developed():
    X, groups = blobs(5, n=40), np.arange(40) % 2
    weights, names = np.arange(1.0, 41.0), [f"row {i}" for i in range(40)]
    tree = reliac.cluster_groups(X, groups, weights=weights, names=names, max_level=2)[1]
    whole = reliac.cluster(X[1::2], weights=weights[1::2])
    assert tree.object_names[0] == "row 1"
    assert np.array_equal(tree.develop().links["left"], whole.links["left"])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], "2 labels for 3 rows"),
        ("abc", "one label for every row"),
        (None, "one label for every row"),
        ([1, None, 2], "row 1 has no label"),
        ([1.0, 2.0, float("nan")], "row 2 has no label"),
        ([1, 2, pd.NA], "row 2 has no label"),
        (np.ma.array([1, 2, 3], mask=[1, 0, 0]), "row 0 has no label"),
        ({0: "a", 1: "a", 2: "b"}, "of type dict for 3 rows"),
        ({"a", "b", "c"}, "of type set for 3 rows"),
        (pd.DataFrame({"a": [1], "b": [2], "c": [3]}), r"of type DataFrame for 3 rows.*Next: .*X\['user'\]"),
        (np.array(1), "of type ndarray for 3 rows"),
    ],
)
def test_labels_that_do_not_fit_the_rows_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        reliac.cluster_groups([[0.0], [1.0], [2.0]], groups)


def test_labels_that_cannot_be_compared_are_refused():
    with pytest.raises(TypeError, match="no simple value"):
        reliac.cluster_groups([[0.0], [1.0]], [[1], [2]])


def test_no_rows_at_all_are_refused_in_three_parts():
    with pytest.raises(ValueError, match=r"^0 sample\(s\).* Allowed: .* Next: "):
        reliac.cluster_groups([], [])


def test_a_group_that_is_not_there_is_told_with_those_that_are():
    trees = reliac.cluster_groups(blobs(0, n=7), list("abcdefg"))
    with pytest.raises(KeyError, match=r"No group 'z'\. Allowed: 'a', 'b', 'c', 'd', 'e' and 2 more\. Next: "):
        trees["z"]
    assert trees.get("z") is None
    assert "z" not in trees


def test_groups_are_counted_in_words_that_fit():
    assert repr(reliac.cluster_groups([[0.0]], [5])) == "GroupTrees of 1 group: 1 row, 1 cluster at the last levels"
    assert repr(reliac.cluster_groups([[0.0]] * 2, [5, 6])).startswith("GroupTrees of 2 groups: 2 rows, 2 clusters")
