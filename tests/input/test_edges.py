"""Edge tables: every source gives the same graph, and what is wrong with one is said with its row."""

from __future__ import annotations

import doctest
import logging
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array

import reliac
from reliac.input.connectivity import meanings

A, B, DISTANCE = ["x", "y", "u", "x"], ["y", "z", "v", "z"], [1.0, 2.0, 1.0, 3.0]


def clusters(tree: reliac.ClusterTree) -> list[list[str]]:
    return [cluster.tolist() for cluster in tree.clusters(named=True)]


def sources(folder: Path) -> dict[str, Any]:
    pandas, polars, arrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    from pyarrow import csv, feather, parquet

    table = arrow.table({"a": A, "b": B, "distance": DISTANCE})
    parquet.write_table(table, folder / "edges.parquet")
    csv.write_csv(table, folder / "edges.csv")
    feather.write_feather(table, folder / "edges.feather")
    return {
        "arrays": (A, B, DISTANCE),
        "pandas": pandas.DataFrame({"a": A, "b": B, "distance": DISTANCE}),
        "polars": polars.DataFrame({"a": A, "b": B, "distance": DISTANCE}),
        "arrow": table,
        "parquet": folder / "edges.parquet",
        "csv": str(folder / "edges.csv"),
        "feather": folder / "edges.feather",
    }


def test_every_source_of_an_edge_table_gives_the_same_tree(tmp_path: Path) -> None:
    for name, source in sources(tmp_path).items():
        tree = reliac.cluster_edges(source, "single")
        assert clusters(tree) == [["u", "v"], ["x", "y", "z"]], name
        assert tree.n_components == 2
        assert tree.links["distance"].tolist() == [1.0, 1.0, 2.0], name


def test_a_symmetric_sparse_matrix_is_read_by_halves_and_all_others_as_a_table(monkeypatch) -> None:
    from reliac.input import edges, halves

    monkeypatch.setattr(halves, "ROWS_AT_ONCE", 3)
    rng, taken = np.random.default_rng(3), {True: 0, False: 0}
    for draw in range(200):
        n = int(rng.integers(2, 12))
        square = np.triu(rng.integers(1, 4, (n, n)) * (rng.random((n, n)) < 0.4), 1).astype(
            rng.choice(["f4", "f8", "i8"])
        )
        square = square + square.T
        if draw % 4 == 1:
            square[tuple(rng.integers(0, n, 2))] = 9  # another distance one way only, or on the diagonal
        matrix = (csr_array, csc_array)[draw % 2](square)
        if draw % 4 == 2:
            matrix.data[rng.random(len(matrix.data)) < 0.2] = 0  # zeros that are stored
        if draw % 8 == 4:
            matrix.indices[:], matrix.data[:] = matrix.indices[::-1].copy(), matrix.data[::-1].copy()  # no order
            matrix.has_sorted_indices = matrix.has_canonical_format = False
        half = halves.upper_half(matrix)
        taken[half is not None] += 1
        if half is not None:
            found = edges.make_graph(matrix)
            table = matrix.tocoo()
            expected = edges.make_graph((table.row, table.col, table.data), objects=range(n))
            for ours, theirs in zip(found.edges(), expected.edges(), strict=True):
                assert np.array_equal(ours, theirs)
    assert min(taken.values()) > 20


def test_what_is_wrong_with_a_sparse_matrix_is_said_of_its_own_entries() -> None:
    from reliac.input.halves import upper_half

    matrix = csr_array(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, -3.0], [2.0, -3.0, 0.0]]))
    with pytest.raises(ValueError, match=r"Row 3 of the edge table has the distance -3"):
        reliac.cluster_edges(matrix, "average")
    assert upper_half(abs(matrix)) is not None
    matrix.data = matrix.data[:3]
    assert upper_half(matrix) is None


def test_a_sparse_matrix_of_distances_is_a_graph_and_a_stored_zero_is_a_distance() -> None:
    p, q, d = np.array([0, 1, 3]), np.array([1, 2, 4]), np.array([0.0, 2.0, 1.0])
    upper = coo_array((d, (p, q)), shape=(6, 6))
    both = csr_array((np.r_[d, d], (np.r_[p, q], np.r_[q, p])), shape=(6, 6))
    for matrix in (upper, both):
        tree = reliac.cluster(matrix, "single", metric="precomputed")
        assert [cluster.tolist() for cluster in tree.clusters()] == [[0, 1, 2], [3, 4], [5]]
        assert tree.links["distance"].tolist() == [0.0, 1.0, 2.0]


def test_a_networkx_graph_keeps_its_nodes_as_names() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_node("alone")
    graph.add_weighted_edges_from(zip(A, B, DISTANCE, strict=True))
    tree = reliac.cluster(graph, "single", metric="precomputed")
    assert sorted(map(sorted, clusters(tree))) == [["alone"], ["u", "v"], ["x", "y", "z"]]


def test_objects_without_an_edge_can_be_listed() -> None:
    tree = reliac.cluster_edges((A, B, DISTANCE), "single", objects=["w", "x", "y", "z", "u", "v"])
    assert clusters(tree) == [["w"], ["x", "y", "z"], ["u", "v"]]
    with pytest.raises(ValueError, match=r"Row 0 .*'x'.* Next: add it there"):
        reliac.cluster_edges((A, B, DISTANCE), objects=["y", "z"])


def test_a_list_of_edges_is_read_edge_by_edge_and_three_lists_of_three_are_refused() -> None:
    edges = list(zip(A, B, DISTANCE, strict=True))
    for some in (edges, edges[:3]):
        expected = reliac.cluster_edges(tuple(map(list, zip(*some, strict=True))), "single")
        assert np.array_equal(reliac.cluster_edges(some, "single").links, expected.links)
    with pytest.raises(ValueError, match="three edges, or the three columns"):
        reliac.cluster_edges([[0, 1, 2], [1, 2, 3], [1.0, 2.0, 3.0]], "single")
    assert reliac.cluster_edges(([0, 1, 2], [1, 2, 3], [1.0, 2.0, 3.0]), "single").n_objects == 4


def test_any_integers_name_objects() -> None:
    tree = reliac.cluster_edges(([10**12, -5], [-5, 7], [1.0, 2.0]), "single")
    assert tree.object_names.tolist() == ["-5", "7", "1000000000000"]


def test_similarities_become_distances_from_the_largest() -> None:
    tree = reliac.cluster_edges(([0, 1], [1, 2], [0.9, 0.4]), "single", similarity=True)
    assert tree.links["distance"].tolist() == [0.0, 0.5]


def test_both_directions_of_an_edge_may_be_given_and_loops_are_dropped(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "reliac"):
        tree = reliac.cluster_edges(([0, 1, 2, 1], [1, 0, 2, 2], [1.0, 1.0, 5.0, 3.0]), "single")
    assert tree.links["distance"].tolist() == [1.0, 3.0]
    assert "1 edges from an object to itself were dropped" in caplog.text


def test_two_distances_of_one_pair_are_settled_by_a_rule_or_refused() -> None:
    edges = (["p", "q"], ["q", "p"], [1.0, 3.0])
    with pytest.raises(ValueError, match=r"\('p', 'q'\) has the distances 1.0 and 3.0"):
        reliac.cluster_edges(edges, "single")
    for rule, expected in {"min": 1.0, "max": 3.0, "mean": 2.0}.items():
        assert reliac.cluster_edges(edges, "single", duplicates=rule).links["distance"].tolist() == [expected]


def test_components_stay_apart_unless_a_root_is_asked_for() -> None:
    with pytest.raises(ValueError, match=r"2 connected components.*join_components"):
        reliac.cluster_edges((A, B, DISTANCE), n_clusters=1)
    tree = reliac.cluster_edges((A, B, DISTANCE), join_components=True)
    assert tree.n_clusters == 1
    assert tree.links["distance"][-1] == 3.0  # M, the largest edge
    assert reliac.cluster_edges((A, B, DISTANCE), n_clusters=2).n_clusters == 2
    assert reliac.cluster_edges((A, B, DISTANCE), n_clusters=1, join_components=True, alpha=0.0).n_clusters == 1


def test_a_number_of_clusters_that_far_pairs_do_not_allow_is_an_error() -> None:
    edges = ([0, 1, 2], [1, 2, 3], [1.0, 5.0, 1.0])  # the largest edge is as far as a missing pair
    with pytest.raises(ValueError, match=r"2 clusters.*join_components"):
        reliac.cluster_edges(edges, "average", n_clusters=1)
    assert reliac.cluster_edges(edges, "average", n_clusters=1, missing=9.0).n_clusters == 1


def test_a_forest_can_be_saved_cut_drawn_and_developed(tmp_path: Path) -> None:
    tree = reliac.cluster_edges((A, B, DISTANCE), "single", max_level=1)
    tree.save(tmp_path / "tree.npz")
    loaded = reliac.load(tmp_path / "tree.npz")
    assert np.array_equal(loaded.links, tree.links)
    whole = loaded.develop(X=(A, B, DISTANCE))
    assert whole.links["distance"].tolist() == [1.0, 1.0, 2.0]
    assert whole.to_newick().count("\n") == 2
    assert whole.labels(3).tolist() == [0, 0, 1, 1, 2]
    assert len(whole.spanning_tree().pairs) == 3
    pytest.importorskip("matplotlib")
    whole.plot()


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ((["x", None], ["y", "z"], [1.0, 2.0]), "Row 1 .* no first object"),
        ((["x", "x"], ["y", "z"], [1.0, np.nan]), "Row 1 .* distance nan"),
        ((["x", "x"], ["y", "z"], [1.0, -2.0]), "Row 1 .* distance -2.0"),
        ((["x", "x"], ["y", "z"], [1.0, np.inf]), "Row 1 .* distance inf"),
        (([], [], []), "without a row"),
        (([0, 1], [1, 2], [1.0, "far"]), "Row 0 .* distance '1.0'|Row 1 .* distance 'far'"),
        (([0, 1], [1, 2], np.array([1.0, "far"], object)), "Row 1 .* distance 'far'"),
        (([0, 1], [1, 2], np.array([1.0, None], object)), "Row 1 .* distance nan"),
        ((["x", "y"], ["y", ""], [1.0, 1.0]), "Row 1 .* no second object"),
        (([0.0, np.nan], [1.0, 2.0], [1.0, 1.0]), "Row 1 .* no first object"),
        ((["x"], ["y", "z"], [1.0]), "one length"),
        (3, "three arrays"),
        ("edges.txt", "extensions .parquet"),
        (csr_array((0, 0)), "without a row"),
        ((np.ma.array([0, 1], mask=[False, True]), [1, 2], [1.0, 2.0]), "A value is masked .*position 1"),
        ((np.array(["2020-01-01", "NaT"], "M8[D]"), ["x", "y"], [1.0, 2.0]), "Row 1 .* no first object"),
        (coo_array(np.ones((2, 3))), "square one"),
    ],
)
def test_a_bad_edge_table_is_refused_with_what_to_do(edges: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        reliac.cluster_edges(edges)
    assert " Allowed: " in str(caught.value)
    assert " Next: " in str(caught.value)


def test_a_file_that_ends_in_the_middle_of_a_row_is_refused(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    (tmp_path / "edges.csv").write_text("a,b,distance\nx,y,1.0\nx,z")
    table = arrow.table({"a": A * 50, "b": B * 50, "distance": DISTANCE * 50})
    parquet.write_table(table, tmp_path / "edges.parquet")
    feather.write_feather(table, tmp_path / "edges.arrow")
    for name in ("edges.parquet", "edges.arrow"):
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    for name in ("edges.csv", "edges.parquet", "edges.arrow"):
        with pytest.raises(ValueError, match=r"no table.*Allowed: .*Next: .*may end in the middle"):
            reliac.cluster_edges(tmp_path / name)
    with pytest.raises(FileNotFoundError, match=r"no file.*Allowed: .*Next: "):
        reliac.cluster_edges(tmp_path / "nowhere.csv")


def test_an_empty_cell_of_a_file_is_told_with_its_row(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for text, message in {
        "x,y,1\n,z,2\n": "Row 1 .* no first object",
        "1,2,1\n3,,2\n": "Row 1 .* no second object",
        "1,2,1\n2,3,\n": "Row 1 .* distance nan",
        "1,2,1\n2,3,NA\n": "Row 1 .* distance 'NA'|Row 0 .* distance '1'",
        "1,2,1\n2,3,-1\n": "Row 1 .* distance -1",
    }.items():
        (tmp_path / "edges.csv").write_text("a,b,distance\n" + text)
        with pytest.raises((ValueError, TypeError), match=rf"{message}.*Allowed: .*Next: "):
            reliac.cluster_edges(tmp_path / "edges.csv")


def test_names_in_a_file_are_kept_as_they_are_written(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "edges.csv").write_text("a,b,distance\n007,7,1\nNA,null,2\n")
    tree = reliac.cluster_edges(tmp_path / "edges.csv", "single")
    assert tree.object_names.tolist() == ["007", "7", "NA", "null"]
    (tmp_path / "edges.csv").write_text("a,b,distance\n10,9,1\n9,11,2\n")
    assert reliac.cluster_edges(tmp_path / "edges.csv", "single").object_names.tolist() == ["9", "10", "11"]
    (tmp_path / "edges.tsv").write_text("p\tq\tscore\n1\t0\t5\n")
    assert reliac.cluster_edges(tmp_path / "edges.tsv", "single", columns=("p", "q", "score")).names is None


def test_frames_with_gaps_and_whole_numbers_as_floats_are_understood() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [5.0, 6.0], "b": [6.0, 9.0], "distance": [1.0, 2.0]})
    assert reliac.cluster_edges(frame, "single").object_names.tolist() == ["5", "6", "9"]
    ends, numbers = pandas.array([5, None], dtype="Int64"), pandas.array([1.0, None], dtype="Float64")
    for column, values, message in [("a", ends, "Row 1 .* no first object"), ("distance", numbers, "Row 1 .* nan")]:
        with pytest.raises(ValueError, match=message):
            reliac.cluster_edges(frame.assign(**{column: values}))


def test_an_object_that_does_not_exist_is_told_with_its_row() -> None:
    with pytest.raises(ValueError, match=r"Row 1 .* names object 7, and there are 5.*Allowed: .*0 to 4.*Next: "):
        reliac.cluster_edges(([0, 1], [1, 7], [1.0, 1.0]), objects=range(5))
    with pytest.raises(ValueError, match=r"Row 1 .* names object -1.*Allowed: .*0 to 4.*Next: "):
        reliac.cluster_edges(([0, -1], [1, 2], [1.0, 1.0]), objects=range(5))
    broken = csr_array((np.ones(2), np.array([1, 9]), np.array([0, 1, 2, 2])), shape=(3, 10))
    broken._shape = (3, 3)  # what SciPy does not check
    with pytest.raises(ValueError, match=r"contradicts itself: .*index 9.*Allowed: .*Next: "):
        reliac.cluster(broken, "single", metric="precomputed")
    with pytest.raises(ValueError, match=r"objects= lists 'x' twice.*Allowed: .*Next: "):
        reliac.cluster_edges((A, B, DISTANCE), objects=["u", "x", "v", "x"])


def test_labels_of_any_kind_name_objects() -> None:
    for a, b, names in [
        (np.array([2**64 - 1, 5], np.uint64), np.array([5, 7], np.uint64), ["5", "7", str(2**64 - 1)]),
        ([10**30, 5], [5, 7], ["5", "7", str(10**30)]),
        ([(1, 2), (3, 4)], [(3, 4), (5, 6)], ["(1, 2)", "(3, 4)", "(5, 6)"]),
        ([True, False], [False, True], ["False", "True"]),
    ]:
        tree = reliac.cluster_edges((a, b, [1.0, 1.0]), "single")
        assert tree.object_names.tolist() == names
        assert tree.n_clusters == 1
    edges = [((1, 2), (3, 4), 1.0), ((3, 4), (5, 6), 2.0)]
    assert reliac.cluster_edges(edges, "single").object_names.tolist() == ["(1, 2)", "(3, 4)", "(5, 6)"]


def test_what_lists_no_objects_or_no_columns_is_refused() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for objects in (5, "xyz"):
        with pytest.raises(TypeError, match=r"objects=.*Allowed: .*Next: list them"):
            reliac.cluster_edges((A, B, DISTANCE), objects=objects)
    twice = pandas.DataFrame([["x", "y", 1.0, 2.0]], columns=["a", "b", "distance", "distance"])
    with pytest.raises(ValueError, match=r"columns a, b, distance, distance.*Allowed: .*Next: "):
        reliac.cluster_edges(twice)
    with pytest.raises(TypeError, match=r"not computed yet.*Allowed: .*Next: collect it"):
        reliac.cluster_edges(polars.LazyFrame({"a": A, "b": B, "distance": DISTANCE}))


def test_objects_without_any_edge_are_trees_of_their_own() -> None:
    tree = reliac.cluster_edges(([], [], []), objects=["x", "y", "z"])
    assert tree.n_components == 3
    assert reliac.cluster(csr_array((4, 4)), "single", metric="precomputed").n_components == 4
    networkx = pytest.importorskip("networkx")
    with pytest.raises(ValueError, match=r"without a row.*Allowed: .*Next: "):
        reliac.cluster(networkx.Graph(), "single", metric="precomputed")


def test_more_objects_than_memory_can_hold_are_refused_before_anything_is_made(monkeypatch: Any) -> None:
    with pytest.raises(ValueError, match=r"3000000000 objects.*Allowed: at most 2147483647.*Next: "):
        reliac.cluster_edges(([0], [1], [1.0]), objects=range(3_000_000_000))
    with pytest.raises(ValueError, match=r"1000000000000 objects.*Allowed: .*Next: "):
        reliac.cluster(coo_array(([1.0], ([0], [1])), shape=(10**12, 10**12)), "single", metric="precomputed")
    monkeypatch.setattr("reliac.machine.free_memory", lambda: 2**30)
    for objects in (range(100_000_000), range(1, 100_000_001)):
        with pytest.raises(MemoryError, match=r"100000000 objects and 1 edges needs about .* are free.\nNext: "):
            reliac.cluster_edges(([1], [2], [1.0]), objects=objects)


def test_edges_in_any_order_are_let_go_when_they_are_in_rows_and_made_again_when_they_are_needed() -> None:
    p, q, distance = np.array([0, 0, 1, 1, 2, 3]), np.array([1, 3, 2, 4, 4, 4]), np.array([1.0, 4, 2, 6, 3, 5])
    order = np.array([3, 1, 5, 0, 4, 2])
    given = q[order].astype(np.int32), p[order].astype(np.int32), distance[order]
    tree = reliac.cluster_edges(given, "average", objects=range(5), missing=9.0, max_level=1, engine="graph")
    assert tree.problem is not None
    kept: Any = tree.problem.objects
    assert not {"ends", "distances"} & set(vars(kept))
    whole = reliac.cluster_edges((p, q, distance), "average", objects=range(5), missing=9.0)
    assert np.array_equal(tree.develop().links, whole.links)
    assert np.array_equal(kept.ends, q)
    assert np.array_equal(kept.subset(np.arange(4)).distances, [1.0, 4.0, 2.0])
    given[2][:] = 5.0
    kept.let_go()
    with pytest.raises(ValueError, match="other values than when the tree was made"):
        tree.develop()
    with pytest.raises(AttributeError, match="no attribute 'begins'"):
        kept.begins  # noqa: B018


def test_arrays_that_have_changed_since_are_refused_by_whoever_needs_the_edges_again() -> None:
    ring = np.arange(60, dtype=np.int32)
    for change in ("distances", "pairs"):
        given = np.roll(ring, 1).copy(), ring.copy(), np.sin(ring) + 2.0
        tree = reliac.cluster_edges(given, "average", missing=9.0, max_level=2, engine="graph", duplicates="min")
        if change == "distances":
            given[2][:] = given[2][::-1].copy()
        else:
            given[0][:], given[1][:] = 0, 1  # one pair is left
        with pytest.raises(ValueError, match="The arrays of edges hold other values"):
            tree.subtree(0)


def test_of_edges_in_order_only_what_a_graph_consists_of_is_kept() -> None:
    p, q, distance = np.arange(59, dtype=np.int32), np.arange(1, 60, dtype=np.int32), np.arange(1.0, 60.0)
    tree = reliac.cluster_edges((p, q, distance), "average", missing=99.0)
    first = weakref.ref(p)
    del p
    assert first() is None
    kept: Any = tree.problem
    assert kept.objects.n_edges == 59


def test_criteria_that_need_points_are_refused_on_graphs() -> None:
    for criterion in ("ward", "centroid", "median"):
        with pytest.raises(ValueError, match="criteria single, complete, average, weighted"):
            reliac.cluster_edges((A, B, DISTANCE), criterion)


def test_engines_for_other_kinds_refuse_graphs() -> None:
    with pytest.raises(ValueError, match=r"cannot work on a graph.*engines literal, spanning, graph"):
        reliac.cluster_edges((A, B, DISTANCE), "single", engine="matrix")


def test_the_page_about_graphs_holds_and_shows_the_table_of_the_code() -> None:
    page = Path(__file__).parents[2] / "docs" / "graphs.md"
    text = page.read_text(encoding="utf-8")
    assert meanings() in text
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried > 2
    assert not failed
