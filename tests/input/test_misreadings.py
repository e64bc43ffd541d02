"""Graphs that are passed as points are recognised and explained; points that only look like edges are not."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

import reliac
from problems import blobs
from reliac.errors import Message
from reliac.input.misreadings import refuse_edges

POINTS = blobs(0, n=20, d=3)
GRAPH = nx.random_geometric_graph(20, 0.5, seed=1)
LEFT, RIGHT = np.triu_indices(6, 1)
WEIGHTS = np.random.default_rng(0).random(len(LEFT))


def refused(X, metrics=("euclidean", "cosine", "precomputed"), **options):
    """Check that X is refused as a graph, and return what is said."""
    for metric in metrics:
        with pytest.raises((TypeError, ValueError)) as caught:
            reliac.cluster(X, "average", metric=metric, **options)
        told = caught.value.args[0]
        assert isinstance(told, Message)
    return told


# --- recognised ---


@pytest.mark.parametrize("graph", [GRAPH, nx.DiGraph([(1, 2), (2, 3)]), nx.MultiGraph([(1, 2)])], ids=str)
def test_a_networkx_graph_without_a_word_about_distances_is_explained(graph):
    assert "write metric='precomputed'" in refused(graph, ("euclidean", "cosine"))


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_array])
def test_a_sparse_matrix_that_is_square_hollow_and_symmetric_is_explained(make):
    matrix = make(nx.adjacency_matrix(GRAPH))
    told = refused(matrix, ("euclidean", "cosine"))
    assert "sparse matrix" in told
    assert "write metric='precomputed'" in told
    assert reliac.cluster(matrix, "single", metric="precomputed").n_objects == 20


def test_entries_that_are_stored_zeros_do_not_hide_a_graph():
    matrix = sparse.coo_array(([1.0, 1.0, 0.0, 0.0], ([0, 1, 2, 0], [1, 0, 2, 2])), shape=(3, 3))
    with pytest.raises(ValueError, match="looks like the edges of a graph"):
        reliac.cluster(matrix)


@pytest.mark.parametrize(
    "table",
    [
        np.column_stack([LEFT, RIGHT, WEIGHTS]),
        np.column_stack([RIGHT, LEFT, WEIGHTS]),
        np.column_stack([LEFT + 1, RIGHT + 1, WEIGHTS]).tolist(),
        np.column_stack([LEFT, RIGHT, WEIGHTS])[:-3],
        np.column_stack([np.r_[LEFT, RIGHT], np.r_[RIGHT, LEFT], np.r_[WEIGHTS, WEIGHTS]]),
        np.column_stack([LEFT, RIGHT, np.arange(len(LEFT))]),
        np.array([[i, (i + step) % 9, 0.5 * step] for i in range(9) for step in (1, 5)]),
        pd.DataFrame({"source": LEFT * 10, "target": RIGHT * 10, "w": WEIGHTS}),
        pd.DataFrame({"from": list("abc"), "to": list("xyz"), "kilometres": [1.5, 2, 3]}),
        pl.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "score": [0.5, 0.25]}),
        [("x", "y", 0.5), ("y", "z", 1)],
        [["x", "y", 0.5], ["y", "z", 1]],
    ],
    ids=lambda table: f"{type(table).__name__} {len(table)}",
)
def test_an_edge_table_is_explained(table):
    told = refused(table)
    assert "table of edges" in told
    assert "reliac.cluster_edges" in told


def test_the_command_line_explains_them_too(run, tmp_path):
    np.savetxt(tmp_path / "edges.csv", np.column_stack([LEFT, RIGHT, WEIGHTS]), delimiter=",")
    told = run("cluster", tmp_path / "edges.csv", status=2).err
    assert "table of edges" in told
    assert "Next: add --edges; if the rows really are points" in told


@pytest.mark.parametrize("titles", ["", "a,b,distance", "from,to,km"])
def test_the_command_line_explains_edges_between_named_objects(run, tmp_path, titles):
    (tmp_path / "edges.csv").write_text(f"{titles}\nx,y,1.5\ny,z,2.0\nx,z,0.5\n".lstrip())
    told = run("cluster", tmp_path / "edges.csv", status=2).err
    assert "table of edges" in told
    assert "Next: add --edges" in told
    columns = [titles] if titles else []
    assert "z,0" in run("cluster", tmp_path / "edges.csv", "--edges", *columns, "--clusters", "1").out


def test_a_table_with_two_columns_of_words_is_no_table_of_edges(run, tmp_path):
    (tmp_path / "data.csv").write_text("city,colour,size\nRome,red,1\nParis,blue,2\nOslo,red,4\n")
    assert "Column 'colour' is not numeric" in run("cluster", tmp_path / "data.csv", status=2).err


# --- not taken for one ---


@pytest.mark.parametrize("seed", range(200))
def test_points_with_small_whole_coordinates_are_not_taken_for_edges(seed):
    random = np.random.default_rng(seed)
    rows = int(random.integers(4, 60))
    points = random.integers(0, random.integers(2, 9), size=(rows, 3)).astype(float)
    refuse_edges(points)
    points[:, 2] = random.random(rows)
    refuse_edges(points)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_sparse_matrix_that_is_symmetric_up_to_rounding_is_explained(kind):
    near = np.random.default_rng(0).random((30, 30)).astype(kind)
    near = np.where(near < 0.2, near, 0)
    near = np.triu(near, 1) + np.triu(near, 1).T * (1 + kind(2) * np.finfo(kind).eps)
    with pytest.raises(ValueError, match="looks like the edges of a graph"):
        reliac.cluster(sparse.csr_array(near), "average")
    near[3, 4] = near[4, 3] = 0.1
    near[3, 4] = 0.2
    assert reliac.cluster(sparse.csr_array(near), "average").n_objects == 30


@pytest.mark.parametrize(
    "points",
    [
        np.arange(12).reshape(4, 3),
        [[0, 1, 2], [1, 2, 3], [2, 3, 4]],
        [[0, 1, 5.5], [1, 2, 3.5]],
        [[3, 2, 3], [3, 1, 2], [2, 1, 2]],
        POINTS,
        (POINTS * 10).round(),
        np.c_[np.arange(9), np.zeros(9), np.ones(9)],
        pd.DataFrame(POINTS, columns=list("abc")),
        pd.DataFrame({"left": [0.5, 1, 2], "right": [1.5, 2, 3], "score": [1, 2, 3]}),
        pd.DataFrame({"age": [30, 40, 50], "children": [1, 2, 3], "weight": [1.0, 2, 3]}),
    ],
    ids=lambda points: f"{type(points).__name__} {np.shape(points)}",
)
def test_points_are_points(points):
    assert reliac.cluster(points).n_objects == len(points)


def test_sparse_points_are_points_even_where_they_are_square():
    square = sparse.random_array((30, 30), density=0.2, rng=1)
    assert reliac.cluster(square).n_objects == 30
    both = (square + square.T).tolil()
    both.setdiag(1.0)
    assert reliac.cluster(both).n_objects == 30


def test_a_constant_column_says_that_the_rows_are_points_as_the_message_promises():
    matrix = nx.adjacency_matrix(GRAPH)
    assert reliac.cluster(sparse.hstack([matrix, np.ones((20, 1))])).n_objects == 20
    assert reliac.cluster(np.column_stack([LEFT, RIGHT, WEIGHTS, np.ones(len(LEFT))])).n_objects == len(LEFT)


# --- distances of all pairs, sparse by accident ---


def test_a_sparse_matrix_that_lists_all_pairs_is_a_matrix_of_distances():
    square = squareform(pdist(POINTS))
    square[3, 7] = square[7, 3] = 0.0
    rows, columns = np.nonzero(~np.eye(20, dtype=bool))
    listed = sparse.coo_array((square[rows, columns], (rows, columns)), shape=(20, 20))
    found = reliac.cluster(listed, "average", metric="precomputed")
    assert np.array_equal(found.links, reliac.cluster(square, "average", metric="precomputed").links)
    graph = reliac.cluster(sparse.csr_array(square), "average", metric="precomputed")
    assert graph.parameters["missing"] == "far"  # one pair is not listed: a graph
