"""ClusterTree: cuts, levels, walks, exports, files; deep trees too."""

from __future__ import annotations

import io
import json
import pickle
import re
import zipfile

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

import reliac
from problems import CRITERIA, blobs, grid, lattice, tied
from reliac import ClusterTree
from reliac.errors import InvariantError
from reliac.tree.building import make_links


def chain(n):
    """A tree of n objects that grows by one object a level: as deep as trees get."""
    count = np.arange(n - 1)
    links = make_links(n, np.zeros(n - 1, dtype=np.intp), count + 1, count.astype(float), count + 1)
    return ClusterTree(
        n, links, np.arange(n), np.ones(n), parameters={"criterion": "single"}, engine="none", reason="made"
    )


# --- cuts ---


@pytest.mark.parametrize("by", ["distance", "level"])
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", range(6))
def test_cuts_have_exactly_k_clusters_and_are_nested(criterion, by, seed):
    X = tied(seed) if seed < 5 else blobs(seed)
    tree = reliac.cluster(X, criterion)
    finer = None
    for k in range(len(X), 0, -1):
        labels = tree.labels(k, by=by)
        first = [int(np.flatnonzero(labels == label)[0]) for label in range(k)]
        assert labels.max() == k - 1
        assert first == sorted(first)
        if finer is not None:
            assert len(np.unique(np.column_stack([finer, labels]), axis=0)) == k + 1
        finer = labels


def test_the_data_for_cuts_does_have_inversions():
    tree = reliac.cluster(blobs(5), "centroid")
    assert (tree.monotone_distances > tree.links["distance"]).any()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_cutting_by_level_gives_what_early_stopping_gives(criterion):
    X = lattice(4, n=40)
    tree = reliac.cluster(X, criterion)
    for k in range(1, 41):
        assert np.array_equal(tree.labels(k, by="level"), reliac.cluster(X, criterion, n_clusters=k).labels())
    for level in range(tree.n_levels + 1):
        assert np.array_equal(tree.labels(level=level), reliac.cluster(X, criterion, max_level=level).labels())


@pytest.mark.parametrize("criterion", ["single", "complete", "average", "weighted", "ward"])
def test_cutting_at_a_distance_gives_what_a_cap_gives(criterion):
    X = blobs(4)
    tree = reliac.cluster(X, criterion)
    for distance in (0.0, 0.5, 5.0, 50.0, 1e9):
        assert np.array_equal(
            tree.labels(distance=distance), reliac.cluster(X, criterion, max_distance=distance).labels()
        )


def test_a_cut_at_a_distance_counts_a_join_at_least_as_large_as_those_below():
    tree = reliac.cluster(blobs(5), "centroid")
    for distance in tree.links["distance"]:
        labels = tree.labels(distance=distance)
        assert np.array_equal(labels, tree.labels(int(labels.max()) + 1))


def test_an_early_stopped_tree_cannot_be_cut_into_fewer_clusters_than_it_has():
    tree = reliac.cluster(blobs(1), n_clusters=5)
    assert len(np.unique(tree.labels(5))) == 5
    with pytest.raises(ValueError, match="from 5 to 60"):
        tree.labels(4)


@pytest.mark.parametrize(
    "cut",
    [
        {"n_clusters": 0},
        {"n_clusters": 61},
        {"level": 99},
        {"level": -1},
        {"distance": -1.0},
        {"n_clusters": 2, "level": 1},
    ],
)
def test_bad_cuts_are_refused_in_three_parts(cut):
    with pytest.raises(ValueError, match=r"Allowed: .* Next: "):
        reliac.cluster(blobs(1)).labels(**cut)
    with pytest.raises(ValueError, match="did you mean 'distance'"):
        reliac.cluster(blobs(1)).labels(2, by="distanse")


def test_clusters_of_a_level_are_the_papers_cluster_list():
    tree = reliac.cluster([[0.0], [1.0], [5.0], [6.0], [20.0]])
    assert [[part.tolist() for part in tree.clusters(level)] for level in range(4)] == [
        [[0], [1], [2], [3], [4]],
        [[0, 1], [2, 3], [4]],
        [[0, 1, 2, 3], [4]],
        [[0, 1, 2, 3, 4]],
    ]
    assert tree.cluster_counts.tolist() == [5, 3, 2, 1]


def test_outlier_levels_say_when_an_object_first_joins():
    tree = reliac.cluster([[0.0], [1.0], [5.0], [6.0], [20.0]])
    assert tree.join_levels.tolist() == [1, 1, 1, 1, 3]
    np.testing.assert_allclose(tree.outlier_scores(), [1 / 3] * 4 + [1.0])
    stopped = reliac.cluster([[0.0], [1.0], [5.0], [6.0], [20.0]], max_level=1)
    assert stopped.join_levels.tolist() == [1, 1, 1, 1, 2]
    assert stopped.outlier_scores().tolist() == [1.0] * 5


# --- invariants ---


@pytest.mark.parametrize(
    ("change", "number"),
    [
        ({"left": (1, 0)}, 1),
        ({"right": (0, 9)}, 1),
        ({"left": (0, -1)}, 1),
        ({"level": (0, 2)}, 2),
        ({"level": (2, 5)}, 2),
        ({"distance": (1, np.nan)}, 3),
        ({"distance": (0, -1.0)}, 3),
        ({"distance": (1, 0.1)}, 3),
        ({"size": (1, 7)}, 4),
    ],
)
def test_arrays_that_are_no_tree_are_refused_by_the_number_of_the_invariant(change, number):
    links = reliac.cluster([[0.0], [1.0], [5.0], [6.5], [20.0]]).links.copy()
    for field, (row, value) in change.items():
        links[field][row] = value
    with pytest.raises(InvariantError, match=f"invariant {number}"):
        ClusterTree(5, links, np.arange(5), np.ones(5))


def test_the_links_of_a_group_must_have_one_distance():
    links = reliac.cluster(grid(3)).links.copy()
    links["distance"][-1] += 1
    with pytest.raises(InvariantError, match="invariant 3: the links of a group"):
        ClusterTree(9, links, np.arange(9), np.ones(9))


def test_a_tree_cannot_be_changed():
    tree = reliac.cluster(blobs(1))
    with pytest.raises(ValueError, match="read-only"):
        tree.links["distance"][0] = 7
    with pytest.raises(AttributeError):
        tree.n_objects = 3


# --- other forms ---


@pytest.mark.parametrize("order", ["distance", "level"])
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("make", [lambda: blobs(3), lambda: lattice(3)])
def test_linkage_matrices_are_valid_and_work_in_scipy(criterion, order, make):
    X = make()
    Z = reliac.cluster(X, criterion).linkage_matrix(order=order)
    assert hierarchy.is_valid_linkage(Z, throw=True)
    assert len(hierarchy.dendrogram(Z, no_plot=True)["leaves"]) == len(X)
    assert len(hierarchy.fcluster(Z, 3, "maxclust")) == len(X)
    assert len(hierarchy.cophenet(Z)) == len(X) * (len(X) - 1) // 2


@pytest.mark.parametrize("criterion", CRITERIA)
def test_cophenetic_distances_equal_scipys(criterion):
    tree = reliac.cluster(lattice(3, n=30), criterion)
    wanted = hierarchy.cophenet(tree.linkage_matrix(order="level"))
    np.testing.assert_allclose(tree.cophenetic(), wanted)
    pairs = np.random.default_rng(0).integers(0, 30, size=(100, 2))
    np.testing.assert_allclose(tree.cophenetic(pairs), squareform(wanted)[pairs[:, 0], pairs[:, 1]])


def test_objects_of_two_trees_are_infinitely_far_apart():
    tree = reliac.cluster([[0.0], [1.0], [5.0], [6.0]], max_level=1)
    assert tree.cophenetic([[0, 1], [1, 2], [3, 2], [3, 3]]).tolist() == [1.0, np.inf, 1.0, 0.0]
    with pytest.raises(ValueError, match="rows"):
        tree.cophenetic([[0, 9]])


def test_a_forest_has_no_linkage_matrix_and_the_error_says_what_to_do():
    with pytest.raises(ValueError, match=r"tree.develop\(\)"):
        reliac.cluster(blobs(1), n_clusters=3).linkage_matrix()


def test_newick_shows_ties_as_polytomies_and_halves_distances():
    assert reliac.cluster([[0.0], [2.0], [4.0], [10.0]], "single").to_newick() == "((0:1,1:1,2:1):2,3:3);\n"
    assert reliac.cluster([[0.0], [2.0], [9.0]], max_level=1).to_newick(lengths=False) == "(0,1);\n2;\n"
    assert reliac.cluster([[0.0]]).to_newick() == "0;\n"


def test_paths_in_the_newick_tree_are_as_long_as_cophenetic_distances():
    tree = reliac.cluster(blobs(2, n=15), "average")
    tokens = re.findall(r"[(),;]|[^(),;:\s]+|:[^(),;]+", tree.to_newick())
    stack, leaves = [], {}
    parent, node, node_length, counter = {}, None, {}, 0
    for token in tokens:
        if token == "(":
            counter += 1
            stack.append(("inner", counter))
            if len(stack) > 1:
                parent[stack[-1]] = stack[-2]
        elif token == ")":
            node = stack.pop()
        elif token.startswith(":"):
            node_length[node] = float(token[1:])
        elif token not in ",;":
            node = ("leaf", int(token))
            parent[node] = stack[-1]
            leaves[int(token)] = node

    def path(leaf):
        nodes, node, total = {}, leaf, 0.0
        while True:
            nodes[node] = total
            if node not in parent:
                return nodes
            total += node_length[node]
            node = parent[node]

    wanted = squareform(tree.cophenetic())
    for i in range(15):
        for j in range(i):
            ups, downs = path(leaves[i]), path(leaves[j])
            meeting = min(ups[node] + downs[node] for node in ups.keys() & downs.keys())
            assert meeting == pytest.approx(wanted[i, j], rel=1e-9)


def test_networkx_and_frames_hold_every_node_and_link():
    tree = reliac.cluster(blobs(2, n=15), "average")
    graph = tree.to_networkx()
    assert networkx.is_arborescence(graph)
    assert sorted(node for node in graph if graph.out_degree(node) == 0) == list(range(15))
    frame = tree.to_frame()
    assert frame["node"].tolist() == list(range(15, 29))
    assert frame["distance"].tolist() == tree.links["distance"].tolist()


def test_json_and_files_give_the_tree_back(tmp_path):
    for tree in (reliac.cluster(blobs(2), "single"), reliac.cluster(blobs(2), n_clusters=4), reliac.cluster([[1.0]])):
        again = ClusterTree.from_json(tree.to_json())
        tree.save(tmp_path / "tree.reliac")
        (tmp_path / "tree.json").write_text(tree.to_json())
        for other in (again, reliac.load(tmp_path / "tree.reliac"), reliac.load(tmp_path / "tree.json")):
            assert np.array_equal(other.links, tree.links)
            assert other.parameters == tree.parameters
            assert repr(other) == repr(tree)
            if tree.object_pairs is not None:
                assert np.array_equal(other.spanning_tree().pairs, tree.spanning_tree().pairs)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tree.json", "tree.reliac"]


def test_a_pickled_tree_leaves_the_data_behind():
    tree = reliac.cluster(blobs(2))
    again = pickle.loads(pickle.dumps(tree))
    assert np.array_equal(again.links, tree.links)
    assert again.problem is None


def damaged(data):
    """Ways in which a file can be wrong."""
    yield "empty", b""
    yield "cut short", data[: len(data) // 2]
    yield "text", b"hello"
    yield "other json", b'{"a": 1}'
    yield "broken json", b'{"format": "reliac-tree"'
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 255
    yield "one byte", bytes(flipped)
    buffer = io.BytesIO()
    np.savez(buffer, x=np.ones(3))
    yield "other npz", buffer.getvalue()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("readme", "no arrays")
    yield "other zip", buffer.getvalue()
    yield "pickle", pickle.dumps([1, 2])


def test_damaged_and_foreign_files_get_a_clear_error(tmp_path):
    path = tmp_path / "tree.reliac"
    reliac.cluster(blobs(2)).save(path)
    for name, data in damaged(path.read_bytes()):
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(ValueError, match=r"not a usable tree file.*Allowed: .*Next: ") as caught:
            reliac.load(tmp_path / "bad")
        assert "bad" in str(caught.value), name


def test_a_changed_array_is_found_by_its_checksum(tmp_path):
    path = tmp_path / "tree.reliac"
    reliac.cluster(blobs(2)).save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays["links"]["distance"][3] *= 1.0000001
    with open(path, "wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ValueError, match="checksum"):
        reliac.load(path)


def test_a_future_version_is_refused(tmp_path):
    body = json.loads(reliac.cluster(blobs(2)).to_json())
    with pytest.raises(ValueError, match="version 2, this release reads 1"):
        ClusterTree.from_json(json.dumps(body | {"version": 2}))


def test_a_failed_save_leaves_the_old_file_and_no_rubbish(tmp_path, monkeypatch):
    path = tmp_path / "tree.reliac"
    reliac.cluster(blobs(2)).save(path)
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        reliac.cluster(blobs(3)).save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["tree.reliac"]


def test_repr_is_a_small_table_that_names_the_engine_and_the_reason():
    text = repr(reliac.cluster(blobs(2)))
    assert "60 objects" in text
    assert "engine small (60 objects" in text
    assert "clusters" in text
    assert len(repr(chain(5000)).splitlines()) < 25


# --- depth ---


def test_a_chain_of_a_million_objects_cuts_exports_and_lays_out():
    n = 1_000_000
    tree = chain(n)
    assert np.bincount(tree.labels(3)).tolist() == [n - 2, 1, 1]
    assert np.bincount(tree.labels(level=n // 2))[0] == n // 2 + 1
    assert tree.labels(distance=10.0).max() == n - 12
    assert tree.join_levels[-1] == n - 1
    assert tree.cophenetic([[0, n - 1], [5, 9]]).tolist() == [n - 2.0, 8.0]
    assert tree.leaf_order[:3].tolist() == [0, 1, 2]
    newick = tree.to_newick()
    assert newick.count("(") == newick.count(")") == n - 1
    assert hierarchy.is_valid_linkage(tree.linkage_matrix())
    assert len(json.loads(tree.to_json())["links"]["left"]) == n - 1
    assert "1000000 objects" in repr(tree)
    assert tree.to_networkx().number_of_edges() == 2 * (n - 1)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_sequence_of_joins_makes_a_tree_that_cuts_like_its_joins(data):
    n = data.draw(st.integers(1, 12))
    groups = [{i} for i in range(n)]
    p, q = [], []
    while len(groups) > 1:
        a, b = data.draw(st.lists(st.integers(0, len(groups) - 1), min_size=2, max_size=2, unique=True))
        p.append(data.draw(st.sampled_from(sorted(groups[a]))))
        q.append(data.draw(st.sampled_from(sorted(groups[b]))))
        groups = [g for k, g in enumerate(groups) if k not in (a, b)] + [groups[a] | groups[b]]
    count = np.arange(n - 1)
    links = make_links(n, np.array(p, dtype=np.intp), np.array(q, dtype=np.intp), count.astype(float), count + 1)
    tree = ClusterTree(n, links, np.arange(n), np.ones(n))
    for k in range(1, n + 1):
        parent = list(range(n))
        for a, b in zip(p[: n - k], q[: n - k], strict=True):
            old, new = parent[a], parent[b]
            parent = [new if x == old else x for x in parent]
        labels = tree.labels(k)
        assert len(set(zip(parent, labels.tolist(), strict=True))) == k == len(set(parent))
