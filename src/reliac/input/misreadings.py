"""Graphs where points or full distances are expected: recognised and explained, never read as points."""

from __future__ import annotations

import numbers
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Message, explain, in_python, option
from .distances import rounding_of
from .numbers import is_frame, is_sparse

#: Titles of two columns that name the ends of an edge, in small letters; the second kind only beside a score.
ENDS = (("source", "target"), ("from", "to"), ("src", "dst"), ("node1", "node2"), ("node_1", "node_2"))
ENDS_OF_A_SCORE = (("a", "b"), ("i", "j"), ("u", "v"), ("left", "right"), ("id1", "id2"), ("id_1", "id_2"))
SCORES = ("score", "weight", "distance", "dist", "similarity", "sim", "length", "probability")

#: Fewer rows than this are no edge table: two rows of three numbers are two points.
FEWEST_EDGES = 3


# --- recognising them ---


def refuse_graph(X: Any) -> None:
    """Refuse a graph of networkx or igraph."""
    if not is_graph(X) and not (hasattr(X, "vs") and hasattr(X, "es")):
        return
    step = f"write {option('metric', 'precomputed')} if the edges have distances"
    if not is_graph(X):
        step = "pass its edges to reliac.cluster_edges as (a, b, distance)"
    raise TypeError(explain(f"X is a graph ({_full_name(X)})", "vectors, or a graph as distances", step))


def is_graph(X: object) -> bool:
    """Tell whether this is a networkx graph."""
    return hasattr(X, "edges") and hasattr(X, "nodes")


def _full_name(X: object) -> str:
    return f"{type(X).__module__.partition('.')[0]}.{type(X).__name__}"


def refuse_adjacency(data: Any) -> None:
    """Refuse a sparse matrix that is square, symmetric and has nothing on its diagonal: edges, not points."""
    if not looks_like_adjacency(data):
        return
    raise ValueError(
        explain(
            f"X is a sparse matrix of shape {data.shape}, symmetric with an empty diagonal: it looks like the edges of "
            "a graph",
            f"a graph as distances, with {option('metric', 'precomputed')}, or vectors",
            f"write {option('metric', 'precomputed')} if the entries are distances; if the rows really are vectors, "
            "append a constant column",
        )
    )


def looks_like_adjacency(data: Any) -> bool:
    """Tell whether a sparse matrix is square, symmetric up to rounding, and has nothing on its diagonal."""
    rows, columns = data.shape
    if rows != columns or rows <= 2 or not data.nnz or data.diagonal().any():
        return False
    entries = data.tocsr(copy=True)
    entries.eliminate_zeros()
    rounding = rounding_of(entries.dtype) if entries.dtype.kind == "f" else 0.0
    apart, listed = abs(entries - entries.T), entries.astype(bool)
    return bool(entries.nnz) and not (listed != listed.T).nnz and apart.max() <= rounding * abs(entries).max()


def refuse_for_linkage(y: Any, metric: object) -> None:
    """Refuse graphs and trees where a linkage matrix is asked for, and say what to use instead."""
    if hasattr(y, "linkage_matrix"):
        step = "use tree.linkage_matrix() of a tree with one root, tree.links of a forest"
        raise TypeError(explain(f"A {type(y).__name__} where data are expected", "vectors, or distances", step))
    listed = (
        is_sparse(y)
        and ((isinstance(metric, str) and metric == "precomputed") or looks_like_adjacency(y))
        and not lists_all_pairs(y)
    )
    if is_graph(y) or getattr(y, "may_end_in_forest", False) or listed:
        what = "A sparse matrix of distances" if is_sparse(y) else "A graph"
        raise TypeError(
            explain(
                f"{what} lists some pairs only: its tree may be a forest, and a linkage matrix has room for one tree",
                "vectors, or distances of all pairs",
                "use reliac.cluster_edges, with join_components=True and .linkage_matrix() if you need the matrix",
            )
        )


def lists_all_pairs(data: Any) -> bool:
    """Tell whether a sparse matrix of distances lists every pair both ways: full, and sparse by accident."""
    rows, columns = data.shape
    if rows != columns or data.nnz < rows * (rows - 1):
        return False
    entries = data.tocoo()
    off = entries.row != entries.col
    return bool(len(np.unique(entries.row[off].astype(np.int64) * columns + entries.col[off])) == rows * (rows - 1))


def refuse_edges(data: NDArray[Any]) -> None:
    """Refuse a table of edges (a, b, score), where the first two columns can be nothing but the ends of edges."""
    if data.ndim == 2 and data.shape[1] == 3 and _are_edges(data):
        n = len(np.unique(data[:, :2]))
        raise ValueError(_edge_table(f"X of shape {data.shape} looks like a table of edges between {n} objects"))


def refuse_named_edges(X: Any) -> None:
    """Refuse a table of edges (a, b, score) whose objects are texts, or whose titles say what they are."""
    if is_frame(X):
        titles = [str(title) for title in X.columns]
        columns = list(map(list, X.to_numpy().T)) if len(titles) == 3 else []
    else:
        titles = ["a", "b", "score"]
        shaped = isinstance(X, (list, tuple)) and len(X) and all(isinstance(row, (list, tuple)) for row in X)
        columns = [list(column) for column in zip(*X, strict=False)] if shaped and {*map(len, X)} == {3} else []
    if not columns or not _is_number(columns[2]):
        return
    ends = (titles[0].strip().lower(), titles[1].strip().lower())
    told = is_frame(X) and (ends in ENDS or (ends in ENDS_OF_A_SCORE and titles[2].strip().lower() in SCORES))
    texts = all(isinstance(end, str) for end in (*columns[0], *columns[1]))
    if (told and (texts or _are_counts(columns[:2]))) or (texts and {*columns[0]} & {*columns[1]}):
        raise ValueError(_edge_table(f"X holds a table of edges ({', '.join(titles)})"))


def _is_number(values: list[Any]) -> bool:
    return all(isinstance(value, numbers.Real) for value in values)


def _are_counts(columns: list[list[Any]]) -> bool:
    """Tell whether columns hold whole numbers from 0 on."""
    return all(isinstance(value, numbers.Real) and float(value) >= 0 == value % 1 for value in chain(*columns))


def _edge_table(given: str) -> Message:
    return explain(
        f"{given}: two objects and a number in each row",
        "vectors, or distances of all pairs of objects",
        f"{'pass it to reliac.cluster_edges' if in_python() else 'add --edges'}; if the rows really are points, append "
        "a constant column",
    )


def _are_edges(data: NDArray[Any]) -> bool:
    """Tell whether a table of three columns of numbers can be nothing but edges.

    The ends are counted from 0 or 1 without gaps, no edge leads from an object to itself, none occurs twice, and the
    edges stand as programs write them: the smaller (or the larger) end first, or every edge both ways, or the same
    number of edges for every object in turn. Where the scores are whole numbers too, all pairs must be there, and more
    than three: a few points with small whole coordinates can look like edges by accident.
    """
    ends, scores = data[:, :2], data[:, 2]
    if len(data) < FEWEST_EDGES or ends.dtype.kind == "b" or (ends[:1] != np.floor(ends[:1])).any():
        return False
    if (ends != np.floor(ends)).any() or ends.min() not in (0, 1) or ends.max() >= 2 * len(data) + 2:
        return False
    a, b = ends.astype(np.int64).T
    n = int(ends.max()) + 1
    if (a == b).any() or len(np.unique(ends)) != n - int(ends.min()) or len(np.unique(a * n + b)) != len(data):
        return False
    one_way = bool((a < b).all() or (a > b).all())
    both_ways = np.array_equal(np.sort(a * n + b), np.sort(b * n + a))
    if scores.dtype.kind != "f" or (scores == np.floor(scores)).all():
        objects = n - int(ends.min())
        all_pairs = len(data) == objects * (objects - 1) // (1 if both_ways else 2)
        return all_pairs and len(data) > FEWEST_EDGES and (one_way or both_ways)
    in_turn = bool((np.diff(a) >= 0).all() and len(np.unique(np.bincount(a)[int(ends.min()) :])) == 1)
    return one_way or both_ways or in_turn
