"""Pure functions tree -> the forms other software reads: linkage matrix, Newick, networkx, pandas."""

from __future__ import annotations

import contextlib
import gc
import re
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, known_name, need
from ..input.options import check_switch
from .cuts import how_to_join
from .walks import parents, roots_in_order

if TYPE_CHECKING:
    from .clustertree import ClusterTree

_PLAIN_NAME = re.compile(r"[^\s()\[\]{}/\\,;:=*'\"`+<>_]+")

#: What no name without quotes may hold.
_NOT_PLAIN = re.compile(r"[\s()\[\]{}/\\,;:=*'\"`+<>]")


def linkage_matrix(tree: ClusterTree, order: str) -> NDArray[np.float64]:
    """Return SciPy's Z: (left id, right id, distance, size), ids below n for objects, n + row for clusters."""
    known_name("order", order, ["distance", "level"])
    if tree.n_clusters > 1:
        raise ValueError(
            explain(
                f"A forest of {tree.n_clusters} trees, and a linkage matrix has room for one tree only",
                "trees that end with one cluster",
                f"{how_to_join(tree)}, or use tree.links and tree.labels()",
            )
        )
    return linkage_rows(tree, order)


def linkage_rows(tree: ClusterTree, order: str) -> NDArray[np.float64]:
    """Return the same for a tree or a forest, which has one row less for every further tree."""
    rows = np.arange(len(tree.links))
    if order == "distance":
        rows = np.argsort(tree.monotone_distances, kind="stable")
    n, links = tree.n_objects, tree.links
    ids = np.arange(n + len(links))
    ids[n + rows] = np.arange(n, n + len(links))
    ends = np.stack((ids[links["left"][rows]], ids[links["right"][rows]]), axis=1)
    ends.sort(axis=1)
    return np.column_stack((ends, links["distance"][rows], links["size"][rows])).astype(np.float64)


def newick(tree: ClusterTree, lengths: bool, plain_names: bool = False, comments: bool = False) -> str:
    """Write every tree of the forest on a line; a group of ties becomes one node with many parts.

    Heights are half the (monotone) distances, so paths between leaves are as long as cophenetic distances.
    """
    lengths, comments = check_switch("lengths", lengths), check_switch("comments", comments)
    n, links = tree.n_objects, tree.links
    parent = parents(tree)
    above = parent[n:]
    inner = np.zeros(len(links), dtype=bool)  # made inside a group of three or more: not a node of its own
    has_parent = above >= 0
    inner[has_parent] = links["level"][above[has_parent] - n] == links["level"][has_parent]
    height = [0.0] * n + (tree.monotone_distances / 2.0).tolist()
    left, right, melts = links["left"].tolist(), links["right"].tolist(), inner.tolist()
    names, notes = written_names(tree, plain_names), _notes(tree) if comments else [""] * len(links)
    text: list[str] = []
    for root in roots_in_order(tree).tolist():
        # A stack of things to write: text as it is, or a node with the height of the node it hangs from.
        stack: list[str | tuple[int, float | None]] = [";\n", (root, None)]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                text.append(item)
                continue
            node, hangs_from = item
            if node >= n and melts[node - n]:
                stack += [(right[node - n], hangs_from), ",", (left[node - n], hangs_from)]
                continue
            length = "" if hangs_from is None or not lengths else f":{hangs_from - height[node]:.12g}"
            if node < n:
                text.append(names[node] + length)
            else:
                end = ")" + notes[node - n] + length
                text.append("(")
                stack += [end, (right[node - n], height[node]), ",", (left[node - n], height[node])]
    return "".join(text)


def nexus(tree: ClusterTree, lengths: bool, plain_names: bool = False, comments: bool = False) -> str:
    """Write the objects and the trees of the forest as a NEXUS file."""
    trees = newick(tree, lengths, plain_names, comments).splitlines()
    labels = "".join(f"    {name}\n" for name in written_names(tree, plain_names))
    lines = "".join(f"  TREE tree_{place} = [&R] {line}\n" for place, line in enumerate(trees, 1))
    taxa = f"BEGIN TAXA;\n  DIMENSIONS NTAX={tree.n_objects};\n  TAXLABELS\n{labels}  ;\nEND;\n"
    return f"#NEXUS\n{taxa}BEGIN TREES;\n{lines}END;\n"


def _notes(tree: ClusterTree) -> list[str]:
    """Return a comment for every link, in the form that FigTree and others read."""
    links = tree.links
    facts = zip(links["level"].tolist(), links["size"].tolist(), links["distance"].tolist(), strict=True)
    return [f"[&level={level},size={size},distance={distance:.12g}]" for level, size, distance in facts]


def written_names(tree: ClusterTree, plain: bool) -> list[str]:
    """Return the names of the objects as Newick and NEXUS have them: in quotes where needed, or made plain."""
    if not check_switch("plain_names", plain):
        return [_quoted(name) for name in tree.object_names.tolist()]
    names = tree.object_names.tolist()
    plain_names = [_NOT_PLAIN.sub("_", name) or "_" for name in names]
    if len(set(plain_names)) < len(set(names)):
        _warn_of_equal_names(names, plain_names)
    return plain_names


def _warn_of_equal_names(names: list[str], plain_names: list[str]) -> None:
    """Say that different names have become one."""
    first: dict[str, str] = {}
    pairs = ((first.setdefault(plain, name), name, plain) for name, plain in zip(names, plain_names, strict=True))
    one, other, plain = next(pair for pair in pairs if pair[0] != pair[1])
    warnings.warn(
        explain(
            f"Plain names make different names equal: {one!r} and {other!r} are both written as {plain}",
            "names that differ in letters, digits, and . or -",
            "leave plain names out, or rename the objects",
        ),
        stacklevel=5,
    )


def warn_if_repeated(names: NDArray[np.str_] | None) -> None:
    """Say that several objects have one name."""
    if names is None or len(set(names.tolist())) == len(names):
        return
    found, first, counts = np.unique(names, return_index=True, return_counts=True)
    some = int(np.argmin(np.where(counts > 1, first, len(names))))
    rows = np.flatnonzero(names == found[some])[:2].tolist()
    warnings.warn(
        explain(
            f"{int((counts > 1).sum())} of the names occur more than once, {str(found[some])!r} in rows {rows[0]} and "
            f"{rows[1]}",
            "any names, but results tell objects of one name apart only by their order",
            "give every object a name of its own",
        ),
        stacklevel=4,
    )


def _quoted(name: str) -> str:
    """Quote a name where Newick needs it."""
    return name if _PLAIN_NAME.fullmatch(name) else "'" + name.replace("'", "''") + "'"


def networkx_graph(tree: ClusterTree) -> Any:
    """Return a DiGraph: nodes with name or distance, level and size; edges from each node to its parts."""
    graph = need("networkx", "graph").DiGraph()
    n, links = tree.n_objects, tree.links
    with _nothing_collected():
        for node, name in enumerate(tree.object_names.tolist()):
            graph.add_node(node, name=name, size=1, level=0, distance=0.0)
        for row, (left, right, distance, level, size) in enumerate(links.tolist()):
            graph.add_node(n + row, size=size, level=level, distance=distance)
            graph.add_edge(n + row, left)
            graph.add_edge(n + row, right)
    return graph


@contextlib.contextmanager
def _nothing_collected() -> Iterator[None]:
    """Let Python look for no garbage while many small objects are made: none of them is any, and it takes as long."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def frame(tree: ClusterTree) -> Any:
    """Return the links as a DataFrame, one row per link, with the node that each one makes."""
    pandas = need("pandas", "frames")
    columns = {name: tree.links[name] for name in tree.links.dtype.names or ()}
    made = np.arange(tree.n_objects, tree.n_objects + len(tree.links))
    return pandas.DataFrame({"node": made, **columns})


def named_labels(tree: ClusterTree, labels: NDArray[np.intp], cuts: Any = None) -> Any:
    """Return labels as a Series with the row names as its index; those of several cuts as a frame."""
    pandas = need("pandas", "frames")
    if labels.ndim == 2:
        return pandas.DataFrame(labels, index=tree.object_names, columns=cuts)
    return pandas.Series(labels, index=tree.object_names, name="cluster")
