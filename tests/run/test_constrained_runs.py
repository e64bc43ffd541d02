"""Constraints from a user's call to the tree: names, mistakes, stopping, developing, files, checkpoints."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import reliac
from constrained import violations
from problems import CRITERIA, blobs, lattice
from reliac.engines import choice
from reliac.errors import DoesNotFit
from reliac.input.problem import make_problem

X = blobs(1, n=30)
SOME: dict[str, Any] = {"must_link": [(0, 1), (1, 2), (5, 6)], "cannot_link": [(0, 3), (4, 7)], "max_size": 8}


def broken(labels: Any) -> list[str]:
    return violations(labels, SOME["must_link"], SOME["cannot_link"], SOME["max_size"])


# --- the tree ---


@pytest.mark.parametrize("criterion", CRITERIA)
def test_must_links_are_level_1_at_distance_0_whatever_stops_the_run(criterion: str) -> None:
    for options in ({}, {"max_level": 0}, {"max_level": 1}, {"max_distance": 0.0}, {"alpha": 0.0}):
        tree = reliac.cluster(X, criterion, **SOME, **options)
        first = tree.links[tree.links["level"] == 1]
        assert len(first) == 3
        assert not first["distance"].any()
        assert {frozenset(c.tolist()) for c in tree.clusters(1)} >= {frozenset((0, 1, 2)), frozenset((5, 6))}
    assert reliac.cluster(X, criterion, **SOME, max_level=0).n_levels == 1


def test_a_spanning_tree_has_the_must_links_as_edges_of_length_0() -> None:
    tree = reliac.cluster(X, "single", **SOME)
    edges = tree.spanning_tree()
    assert edges.pairs[:3].tolist() == [[0, 1], [1, 2], [5, 6]]
    assert not edges.weights[:3].any()
    later = edges.pairs[3:]
    assert np.allclose(np.linalg.norm(X[later[:, 0]] - X[later[:, 1]], axis=1), edges.weights[3:])


def test_no_cut_splits_what_must_be_together_and_only_level_0_shows_single_objects() -> None:
    tree = reliac.cluster(X, **SOME)
    assert tree.labels(level=0).max() == 29
    assert not broken(tree.labels(27))
    assert not broken(tree.labels(distance=0.0))
    with pytest.raises(ValueError, match=r"n_clusters=28. Allowed: a whole number from \d+ to 27"):
        tree.labels(28)
    with pytest.raises(ValueError, match="n_clusters=28: must-links leave 27 clusters of 30 objects"):
        reliac.cluster(X, **SOME, n_clusters=28)


def test_fewer_clusters_than_the_constraints_leave_is_an_error_that_says_how_many_there_are() -> None:
    tree = reliac.cluster(X, **SOME)
    count = tree.n_components
    assert count > 3
    for wanted in (1, 3):
        with pytest.raises(
            ValueError, match=f"n_clusters={wanted}: the constraints leave {count} clusters. Allowed: {count} "
        ):
            reliac.cluster(X, **SOME, n_clusters=wanted)
    with pytest.raises(ValueError, match=f"Allowed: a whole number from {count} to 27.*or drop constraints"):
        tree.labels(1)
    with pytest.raises(ValueError, match="the constraints leave"):
        reliac.cluster(X, **SOME, max_level=2).develop(n_clusters=1)
    assert reliac.cluster(X, **SOME, n_clusters=count).n_clusters == count


@pytest.mark.parametrize("engine", ["literal", "dense"])
def test_stopping_at_a_number_of_clusters_gives_what_the_whole_run_had_then(engine: str) -> None:
    for seed in range(4):
        points = lattice(seed, n=30, side=4)
        whole = reliac.cluster(points, "average", engine=engine, **SOME)
        for count in range(whole.n_clusters, 28):
            tree = reliac.cluster(points, "average", engine=engine, n_clusters=count, **SOME)
            assert tree.n_clusters == count
            assert not broken(tree.labels())


@pytest.mark.parametrize("criterion", CRITERIA)
def test_developing_a_stopped_tree_gives_the_whole_one_also_from_a_file(criterion: str, tmp_path: Any) -> None:
    whole = reliac.cluster(X, criterion, **SOME)
    part = reliac.cluster(X, criterion, **SOME, max_level=2)
    assert np.array_equal(part.develop().links, whole.links)
    part.save(tmp_path / "tree.reliac")
    loaded = reliac.load(tmp_path / "tree.reliac")
    assert loaded.parameters["cannot_link"] == [[0, 3], [4, 7]]
    assert "must_link 3 pairs" in repr(loaded)
    assert np.array_equal(loaded.develop(X=X).links, whole.links)
    again = reliac.ClusterTree.from_json(part.to_json())
    assert np.array_equal(again.develop(X=X).links, whole.links)


def test_developing_some_clusters_keeps_the_constraints_among_their_objects() -> None:
    part = reliac.cluster(X, "ward", **SOME, max_level=2)
    label = part.labels()
    chosen = sorted({int(label[i]) for i in (0, 3, 5, 20, 21, 22)})
    made = part.develop(chosen)
    everything = np.arange(30) + 100
    everything[made.objects] = made.labels()
    labels = np.unique(everything, return_inverse=True)[1]
    together = [(i, j) for i, j in SOME["must_link"] if i in made.objects]
    assert not violations(labels, together, SOME["cannot_link"], 8)
    assert made.parameters["max_size"] == 8


def test_a_graph_by_labels_takes_labels_and_goes_on_from_a_file(tmp_path: Any) -> None:
    a, b, d = [10, 20, 30, 40, 10], [20, 30, 40, 50, 50], [1.0, 2.0, 1.0, 3.0, 4.0]
    tree = reliac.cluster_edges((a, b, d), "single", cannot_link=[(10, 20)], must_link=[(40, 50)])
    assert [c.tolist() for c in tree.clusters(named=True)] == [["10"], ["20", "30", "40", "50"]]
    part = reliac.cluster_edges((a, b, d), "single", cannot_link=[(10, 20)], must_link=[(40, 50)], max_level=1)
    loaded = reliac.ClusterTree.from_json(part.to_json())
    assert np.array_equal(loaded.develop(X=(a, b, d)).links, tree.links)
    with pytest.raises(ValueError, match="Unknown object in cannot_link '11'"):
        reliac.cluster_edges((a, b, d), "single", cannot_link=[(11, 20)])


def test_a_root_over_what_must_not_be_joined_is_refused() -> None:
    edges = ([0, 2], [1, 3], [1.0, 2.0])
    assert reliac.cluster_edges(edges, "single", must_link=[(0, 1)], join_components=True).n_clusters == 1
    with pytest.raises(ValueError, match="a root would join what is forbidden"):
        reliac.cluster_edges(edges, "single", max_size=2, join_components=True)


def test_weights_do_not_count_as_objects() -> None:
    tree = reliac.cluster([[0.0], [1.0], [5.0]], weights=[4, 4, 1], max_size=2)
    assert tree.labels().tolist() == [0, 0, 1]


@pytest.mark.parametrize("engine", ["literal", "dense"])
def test_a_killed_run_goes_on_from_its_checkpoint_and_other_constraints_are_refused(engine: str, tmp_path: Any) -> None:
    path, whole = tmp_path / "run", reliac.cluster(X, "single", engine=engine, **SOME)

    def stop(told: reliac.Progress) -> None:
        if told.level >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reliac.cluster(X, "single", engine=engine, checkpoint=path, progress=stop, **SOME)
    with pytest.raises(ValueError, match="belongs to other data or options"):
        reliac.cluster(X, "single", engine=engine, checkpoint=path, **SOME | {"max_size": 9})
    with pytest.raises(ValueError, match="belongs to other data or options"):
        reliac.cluster(X, "single", engine=engine, checkpoint=path, **SOME | {"cannot_link": [(0, 4)]})
    tree = reliac.cluster(X, "single", engine=engine, checkpoint=path, **SOME)
    assert np.array_equal(tree.links, whole.links)
    assert np.array_equal(tree.object_pairs, whole.object_pairs)


def test_what_does_not_fit_with_constraints_is_told_with_what_would(monkeypatch: Any) -> None:
    monkeypatch.setattr(choice, "free_memory", lambda: 2**28)
    with pytest.raises(DoesNotFit, match="leave the constraints out"):
        choice.choose(make_problem(np.zeros((50_000, 2)), max_size=10))


@pytest.mark.parametrize("join_components", [False, True])
def test_constraints_hold_along_neighbours_and_where_their_components_are_joined(join_components: bool) -> None:
    names = [f"row {i}" for i in range(30)]
    tree = reliac.cluster(X, "average", neighbors=4, join_components=join_components, names=names, **SOME)
    assert not broken(tree.labels())
    by_name = {key: [(names[i], names[j]) for i, j in SOME[key]] for key in ("must_link", "cannot_link")}
    options = {"neighbors": 4, "join_components": join_components, "names": names, "max_size": 8, **by_name}
    assert np.array_equal(reliac.cluster(X, "average", **options).links, tree.links)


def test_constraints_hold_along_edges_that_have_the_distances_of_their_objects() -> None:
    graph = reliac.neighbors(X, 5).graph()
    for criterion in CRITERIA:
        assert not broken(reliac.cluster(X, criterion, connectivity=graph, **SOME).labels())


# --- names and mistakes ---


def test_objects_go_by_name_where_rows_have_names() -> None:
    frame = pd.DataFrame({"x": [0.0, 1.0, 5.0, 6.0]}, index=["a", "b", "c", "d"])
    tree = reliac.cluster(frame, cannot_link=[("a", "b"), ("c", 3)], must_link=[("a", "d")])
    assert tree.parameters["cannot_link"] == [[0, 1], [2, 3]]
    assert tree.parameters["must_link"] == [[0, 3]]
    pairs = pd.DataFrame({"a": ["a"], "b": ["b"]})
    assert reliac.cluster(frame, cannot_link=pairs).parameters["cannot_link"] == [[0, 1]]
    assert reliac.cluster(frame, cannot_link=np.array([[1, 0], [0, 1]])).parameters["cannot_link"] == [[0, 1]]
    assert "must_link" not in reliac.cluster(frame, must_link=[(1, 1)], max_size=3).parameters


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"must_link": [("a", "f")]}, "Unknown object in must_link 'f'"),
        ({"cannot_link": [(0, 4)]}, "cannot_link: object 4 of 4. Allowed: 0 to 3"),
        ({"cannot_link": [(-1, 2)]}, "cannot_link: object -1 of 4"),
        ({"cannot_link": [(2, 2)]}, "cannot_link: a pair of 'c' with itself"),
        ({"cannot_link": [(0, 1, 2)]}, "a list of pairs of objects"),
        ({"cannot_link": ["ab"]}, "a list of pairs of objects"),
        ({"cannot_link": 3}, "a list of pairs of objects"),
        ({"cannot_link": [(0, 1.5)]}, "1.5 is no object"),
        ({"max_size": 0}, "max_size=0. Allowed: a whole number of at least 1"),
        ({"max_size": 2.5}, "max_size=2.5 is not a whole number"),
        (
            {"cannot_link": [("d", "a")], "must_link": [("a", "c"), ("c", "d")]},
            "cannot_link has 'a' and 'd', which must_link joins: 'a' - 'c' - 'd'",
        ),
        ({"max_size": 2, "must_link": [(0, 1), (1, 2)]}, "max_size=2, and must_link joins 3 objects: 'a', 'b', 'c'"),
    ],
)
def test_mistakes_in_constraints_are_named(options: dict[str, Any], message: str) -> None:
    frame = pd.DataFrame({"x": [0.0, 1.0, 5.0, 6.0]}, index=["a", "b", "c", "d"])
    with pytest.raises((ValueError, TypeError)) as caught:
        reliac.cluster(frame, **options)
    assert message in str(caught.value)
    assert "Next: " in str(caught.value)


def test_a_name_that_two_objects_have_names_none_of_them() -> None:
    with pytest.raises(ValueError, match="several objects have the name 'a'"):
        reliac.cluster([[0.0], [1.0], [2.0]], names=["a", "a", "b"], cannot_link=[("a", "b")])


def test_text_counts_objects_where_there_are_no_names() -> None:
    tree = reliac.cluster([[0.0], [1.0], [2.0]], cannot_link=[("0", "1")])
    assert tree.parameters["cannot_link"] == [[0, 1]]
    with pytest.raises(TypeError, match="'x' is no object"):
        reliac.cluster([[0.0], [1.0]], cannot_link=[("x", "1")])


def test_what_the_page_about_constraints_shows_holds() -> None:
    page = Path(__file__).parents[2] / "docs" / "constraints.md"
    assert doctest.testfile(str(page), module_relative=False) == (0, 7)
