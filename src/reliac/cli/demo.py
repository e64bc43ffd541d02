"""A short tour with the Iris data: what the command line shows to someone who has no data at hand."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..api import cluster
from ..errors import how_to_install
from ..tree.clustertree import ClusterTree
from ..tree.outliers import BEST
from .outputs import FORMATS, OUTLIER_COLUMNS, outlier_rows, picture, write_output
from .terminal import aligned, is_terminal, say, show_parts

OUTLIERS_SHOWN = 5

#: Orders of the rows that are tried, and clusters that are compared.
ORDERS, TIED_CLUSTERS = 20, 6

#: Rows that are timed: for reliac alone, and for SciPy too.
LARGE, SOME = 20_000, 5_000


def tour(folder: str | None) -> int:
    """Print the tour; with a folder also write what it speaks of."""
    from sklearn.datasets import load_iris

    iris = load_iris()
    numbers: NDArray[np.float64] = iris.data
    species = np.asarray(iris.target_names)[iris.target].astype(np.str_)
    names = np.array([f"{kind} {row}" for row, kind in enumerate(species.tolist(), 1)], dtype=np.str_)
    millimetres = (numbers * 10).round()
    tree = cluster(millimetres, "ward", names=names)
    parts = [
        "Iris: 150 flowers of three species, four measurements each, in whole millimetres.",
        _ties(millimetres),
        _levels(tree),
        _stopping(),
        _outliers(cluster(millimetres, "single", names=names)),
        _speed(),
    ]
    if folder is not None:
        parts.append(_files(tree, Path(folder)))
    parts.append(_next(folder))
    if is_terminal(sys.stdout):
        show_parts(parts)
    else:
        write_output("\n\n".join(parts) + "\n", None)
    return 0


def _titled(title: str, *texts: str) -> str:
    lines = [f"  {line}".rstrip() for text in texts for line in text.splitlines()]
    return "\n".join([title, *lines])


def _ties(numbers: NDArray[np.float64]) -> str:
    """Cluster the same rows in many orders with SciPy and with reliac, and count the different results."""
    from scipy.cluster.hierarchy import cut_tree, linkage

    rng, seen = np.random.default_rng(0), {"SciPy": set[bytes](), "reliac": set[bytes]()}
    for _ in range(ORDERS):
        order = rng.permutation(len(numbers))
        back, rows = np.argsort(order), numbers[order]
        seen["SciPy"].add(_partition(cut_tree(linkage(rows, "complete"), TIED_CLUSTERS).ravel()[back]))
        seen["reliac"].add(_partition(cluster(rows, "complete").labels(TIED_CLUSTERS)[back]))
    rows_of_table = [[name, len(found)] for name, found in seen.items()]
    title = f"1. Ties. The same flowers in {ORDERS} orders of the rows, {TIED_CLUSTERS} clusters, criterion complete."
    table = aligned(("library", "different results"), rows_of_table)
    return _titled(title, table, "Whole millimetres are full of equal distances. reliac joins all of a tie at once.")


def _partition(labels: NDArray[np.intp]) -> bytes:
    """Return labels numbered by first objects, as bytes: equal for equal partitions."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int64).tobytes()


def _levels(tree: ClusterTree) -> str:
    title = f"2. Levels. A step joins all pairs that are each other's nearest: {tree.n_levels} steps instead of 149."
    return _titled(title, repr(tree))


def _stopping() -> str:
    """Stop half-way on three clouds of different densities, and go on with the largest clusters."""
    rng, cloud = np.random.default_rng(0), np.repeat(np.arange(3), 50)
    centres, spreads = np.array([[0.0, 0.0], [60.0, 0.0], [0.0, 60.0]]), np.array([0.5, 2.0, 8.0])
    points = centres[cloud] + spreads[cloud, None] * rng.normal(size=(150, 2))
    rows: list[list[Any]] = []
    for name, alpha in (("standard (one link a step)", 0.0), ("reliable (all that are mutual)", 1.0)):
        tree = cluster(points, "average", alpha=alpha, n_clusters=75)
        alone = np.bincount(cloud[tree.join_levels > tree.n_levels], minlength=3)
        rows.append([name, *alone.tolist(), tree.n_levels])
    early = cluster(points, "average", max_level=4)
    grown = early.develop(np.bincount(early.labels()).argsort()[::-1][:5])
    title = "3. Stopping early. Three clouds of 50 points, 75 of 149 joins: points that are still alone."
    table = aligned(("strategy", "dense", "middle", "sparse", "levels"), rows)
    more = (
        f"After 4 levels {early.n_clusters} clusters are left. "
        f"The five largest, {grown.n_objects} points, are developed further: {grown.n_levels} levels."
    )
    return _titled(title, table, more)


def _speed() -> str:
    """Time a large tree, beside SciPy on a part of the rows."""
    from scipy.cluster.hierarchy import linkage

    rng = np.random.default_rng(0)
    X = 4.0 * rng.normal(size=(50, 16))[rng.integers(0, 50, LARGE)] + rng.normal(size=(LARGE, 16))
    cluster(X[:3000], "ward")  # loads the compiled code; on a new machine it is compiled first, and says so
    rows = [
        ["SciPy", SOME, _seconds(lambda: linkage(X[:SOME], "ward"))],
        ["reliac", SOME, _seconds(lambda: cluster(X[:SOME], "ward"))],
        ["reliac", LARGE, _seconds(lambda: cluster(X, "ward"))],
    ]
    matrix = (
        f"SciPy would need {4 * LARGE**2 / 2**30:.1f} GiB for the distances of {LARGE:,} rows; reliac needs no matrix."
    )
    return _titled("5. Speed. Ward on rows of 16 numbers.", aligned(("library", "rows", "time"), rows), matrix)


def _seconds(work: Callable[[], Any]) -> str:
    started = time.perf_counter()
    work()
    return f"{time.perf_counter() - started:.2f} s"


def _outliers(tree: ClusterTree) -> str:
    rows = [(name, round(score, 3), *more) for name, score, *more in outlier_rows(tree, BEST)[:OUTLIERS_SHOWN]]
    title = f"4. Outliers. The flowers that come together with nine others last (single, by {BEST})."
    return _titled(title, aligned(OUTLIER_COLUMNS, rows))


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
        say(f"no pictures, as matplotlib is not installed: {how_to_install('plot')}")
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
