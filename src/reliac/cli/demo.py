"""A short tour with the Iris data: what the command line shows to someone who has no data at hand."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..api import cluster
from ..evaluate import compare_strategies
from ..input.numbers import Names
from ..tree.clustertree import ClusterTree
from ..tree.outliers import BEST
from .outputs import FORMATS, OUTLIER_COLUMNS, outlier_rows, picture, score_line, write_output
from .terminal import aligned, is_terminal, say, shortened, show_parts

OUTLIERS_SHOWN = 5


def tour(folder: str | None) -> int:
    """Print the tour; with a folder also write what it speaks of."""
    from sklearn.datasets import load_iris

    iris = load_iris()
    numbers: NDArray[np.float64] = iris.data
    species = np.asarray(iris.target_names)[iris.target].astype(np.str_)
    names = np.array([f"{kind} {row}" for row, kind in enumerate(species.tolist(), 1)], dtype=np.str_)
    trees = {name: cluster(numbers, name, names=names) for name in ("ward", "average", "single")}
    parts = [
        "Iris: 150 flowers of three species, four measurements each.",
        _levels(trees["ward"]),
        _clusters(trees, species),
        _strategies(numbers, species),
        _outliers(trees["single"]),
        _spanning_tree(trees["single"]),
    ]
    if folder is not None:
        parts.append(_files(trees["ward"], Path(folder)))
    parts.append(_next(folder))
    if is_terminal(sys.stdout):
        show_parts(parts)
    else:
        write_output("\n\n".join(parts) + "\n", None)
    return 0


def _titled(title: str, *texts: str) -> str:
    lines = [f"  {line}".rstrip() for text in texts for line in text.splitlines()]
    return "\n".join([title, *lines])


def _levels(tree: ClusterTree) -> str:
    title = (
        f"1. Levels. Each step merges all pairs that are each other's nearest: {tree.n_levels} steps instead of 149."
    )
    return _titled(title, repr(tree))


def _clusters(trees: dict[str, ClusterTree], species: Names) -> str:
    kinds, kind_of_flower = np.unique(species, return_inverse=True)
    rows: list[list[Any]] = []
    lines = []
    for name in ("ward", "average"):
        labels = trees[name].labels(3)
        counts = np.zeros((3, len(kinds)), dtype=np.intp)
        np.add.at(counts, (labels, kind_of_flower), 1)
        rows += [[name, label, *row] for label, row in enumerate(counts.tolist())]
        lines.append(f"{name:<8}  {score_line(species, labels)}")
    table = aligned(("criterion", "cluster", *kinds.tolist()), rows)
    return _titled("2. Three clusters against the species (1 would be a perfect match).", table, *lines)


def _strategies(numbers: NDArray[np.float64], species: Names) -> str:
    found = compare_strategies(numbers, species, alphas=(0.0, 0.5, 1.0))
    rows = [[row.name, row.n_levels, round(row.ami or 0.0, 3), row.agreement, shortened(row.sizes)] for row in found]
    table = aligned(("strategy", "levels", "AMI", "agreement", "cluster sizes"), rows)
    outcome = "the same clusters" if all(row.agreement == 1.0 for row in found) else "not quite the same clusters"
    title = f"3. The standard strategy (one link a step) against the reliable one (all reliable links): {outcome}."
    return _titled(title, table)


def _outliers(tree: ClusterTree) -> str:
    rows = [(name, round(score, 3), *more) for name, score, *more in outlier_rows(tree, BEST)[:OUTLIERS_SHOWN]]
    title = f"4. Outliers. The flowers that come together with nine others last (single, by {BEST})."
    return _titled(title, aligned(OUTLIER_COLUMNS, rows))


def _spanning_tree(tree: ClusterTree) -> str:
    edges = tree.spanning_tree()
    longest = int(edges.weights.argmax())
    ends = " and ".join(tree.object_names[edges.pairs[longest]].tolist())
    title = "5. Spanning tree. The links of criterion single are a minimum spanning tree."
    facts = f"{len(edges.weights)} edges, total weight {edges.weights.sum():.6g}"
    return _titled(title, f"{facts}; the longest, {edges.weights[longest]:.6g}, is between {ends}.")


def _files(tree: ClusterTree, folder: Path) -> str:
    """Write labels, tree, Newick text and, with matplotlib, pictures; return a list of them."""
    folder.mkdir(parents=True, exist_ok=True)
    labels = tree.labels(3)
    files: dict[str, bytes | str] = {
        "labels.csv": FORMATS["labels"].render(tree, labels, ".csv"),
        "iris.reliac": FORMATS["tree"].render(tree, labels, ""),
        "iris.nwk": FORMATS["newick"].render(tree, labels, ""),
    }
    if find_spec("matplotlib") is not None:
        files["dendrogram.png"] = picture(lambda: tree.plot(color_clusters=3), "dendrogram.png")
        files["levels.png"] = picture(tree.plot_levels, "levels.png")
    else:
        say("no pictures, as matplotlib is not installed: pip install 'reliac[plot]'")
    for name, content in files.items():
        write_output(content, str(folder / name))
    return _titled(f"Files in {folder}:", ", ".join(files))


def _next(folder: str | None) -> str:
    where = "demo-output" if folder is None else folder
    lines = [] if folder is not None else [f"reliac demo --out {where}", "", "and then"]
    lines += [
        f"reliac info {where}/iris.reliac",
        f"reliac cluster {where}/iris.reliac --clusters 5",
        "reliac cluster YOUR.csv --clusters 3 --plot tree.png",
        "reliac --help",
    ]
    return _titled("Try next:", *(line or " " for line in lines))
