"""Ties: how many different results the same data give when only the order of the rows changes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...api import cluster
from ...datasets import Dataset
from ..report.parts import Section, Table
from ..report.pictures import RELIABLE, STANDARD, THIRD, notes, picture
from .inputs import features, left_out

CRITERIA = ("single", "complete", "average", "centroid", "ward")
WANTED = ("hayes-roth", "lung-cancer")
COLOURS = {"SciPy": STANDARD, "fastcluster": THIRD, "reliac": RELIABLE}

Linkage = Callable[..., NDArray[np.float64]]


class Spread(NamedTuple):
    """The number of different partitions over all orders, per library."""

    clusters: int  # at that level
    at_level: dict[str, int]  # as many clusters as a level of reliac's tree has
    at_classes: dict[str, int]  # as many as there are classes, wherever that cuts


def lattice(count: int = 100, side: int = 20) -> NDArray[np.float64]:
    """Return some points of a square lattice: every distance is tied many times."""
    places = np.random.default_rng(0).choice(side * side, count, replace=False)
    return np.column_stack(np.divmod(places, side)).astype(float)


def libraries() -> dict[str, Linkage]:
    """Return the linkage functions to compare with; fastcluster only where it is installed."""
    found: dict[str, Linkage] = {"SciPy": import_module("scipy.cluster.hierarchy").linkage}
    with contextlib.suppress(ImportError):
        found["fastcluster"] = import_module("fastcluster").linkage
    return found


def first_joins(Z: NDArray[np.float64], n_clusters: int) -> NDArray[np.intp]:
    """Return the partition that the first rows of a linkage matrix make: what stopping there would give."""
    n = len(Z) + 1
    node = np.arange(n)
    for row, (left, right) in enumerate(Z[: n - n_clusters, :2].astype(np.intp)):
        node[(node == left) | (node == right)] = n + row
    return node


def canonical(labels: NDArray[np.intp], order: NDArray[np.intp]) -> bytes:
    """Return a partition in the original order of the rows, numbered by first objects: equal ones are equal bytes."""
    original = np.empty_like(labels)
    original[order] = labels
    _, first, inverse = np.unique(original, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.intp).tobytes()


def spread(X: NDArray[np.float64], criterion: str, n_classes: int, orders: int) -> Spread:
    """Cluster the rows in many orders and count the different partitions."""
    from scipy.spatial.distance import pdist

    counts = cluster(X, criterion, metric="sqeuclidean").cluster_counts
    level = int(np.flatnonzero(counts >= n_classes)[-1])
    rng = np.random.default_rng(0)
    seen: dict[tuple[str, int], set[bytes]] = {}
    for _ in range(orders):
        order = rng.permutation(len(X))
        rows = X[order]
        tree = cluster(rows, criterion, metric="sqeuclidean")
        seen.setdefault(("reliac", 0), set()).add(canonical(tree.labels(level=level), order))
        seen.setdefault(("reliac", 1), set()).add(canonical(tree.labels(n_classes), order))
        # whole numbers tie exactly; SciPy takes Euclidean distances for the criteria of centroids
        given = pdist(rows, "euclidean" if criterion in ("centroid", "ward") else "sqeuclidean")
        for name, linkage in libraries().items():
            Z = linkage(given, criterion)
            for place, wanted in enumerate((int(counts[level]), n_classes)):
                seen.setdefault((name, place), set()).add(canonical(first_joins(Z, wanted), order))
    names = [*libraries(), "reliac"]
    by_place = ({name: len(seen[name, place]) for name in names} for place in (0, 1))
    return Spread(int(counts[level]), *by_place)


def section(
    datasets: Mapping[str, Dataset], orders: int = 50, progress: Callable[[str], None] = lambda text: None
) -> Section:
    """Count the partitions on data full of ties."""
    tables = {name: (features(datasets[name]), len(datasets[name].class_counts)) for name in WANTED if name in datasets}
    tables["lattice"] = (lattice(), 4)
    found: dict[tuple[str, str], Spread] = {}
    for name, (X, n_classes) in tables.items():
        progress(f"ties: {name}")
        for criterion in CRITERIA:
            found[name, criterion] = spread(X, criterion, n_classes, orders)
    names = [*libraries(), "reliac"]
    figures = picture(
        "claim-ties",
        f"Different partitions that {orders} orders of the same rows give, at the number of clusters of one of "
        "reliac's levels.",
        "One panel for each data set, a bar for each library and criterion; the bars of reliac all stand at 1.",
        (9.0, 2.9),
        lambda canvas: _draw(canvas, found, list(tables), names, orders),
    )
    rows = tuple(
        (
            data,
            criterion,
            str(result.clusters),
            *(str(result.at_level[name]) for name in names),
            *(str(result.at_classes[name]) for name in names),
        )
        for (data, criterion), result in found.items()
    )
    columns = (
        "data",
        "criterion",
        "clusters of the level",
        *(f"{n}, level" for n in names),
        *(f"{n}, K" for n in names),
    )
    caption = (
        f"Different partitions from {orders} orders of the rows; level: as many clusters as the last level of reliac's "
        "tree that has at least K; K: as many as there are classes (4 for the lattice, 100 random points of 20 x 20)"
    )
    return Section(
        "Ties: the order of the rows",
        "claim-ties",
        (*_words(found, orders), *left_out(WANTED, datasets), *notes(figures)),
        (Table("claim-ties", caption, columns, rows),),
        figures,
    )


def _words(found: dict[tuple[str, str], Spread], orders: int) -> tuple[str, ...]:
    most = max(result.at_level["reliac"] for result in found.values())
    several = sum(result.at_level["SciPy"] > 1 for result in found.values())
    largest = max(result.at_level["SciPy"] for result in found.values())
    cut = sum(result.at_classes["reliac"] > 1 for result in found.values())
    missing = () if "fastcluster" in libraries() else ("fastcluster is not installed and was left out.",)
    holds = "Holds" if most == 1 else "Does not hold"
    return (
        "Stated: a cluster can have several nearest neighbours, and Algorithm 1 joins all clusters that reliable links "
        "connect; ties are broken by index only where a cut asks for exactly K clusters. It follows, though the paper "
        "does not say it, that the levels cannot depend on the order of the rows.",
        f"Done: {orders} random orders of the same rows, on data full of ties. Each partition is brought back to the "
        "original order and compared. The other libraries are stopped at the number of clusters of a level of reliac's "
        "tree, so that no tie has to be broken for reliac, and a second time at the number of classes. Missing values "
        "count as the median of their column.",
        f"Found: reliac gives {most} partition{'s' * (most != 1)} for every data set and criterion; SciPy gives "
        f"several in {several} of {len(found)} cases, up to {largest} from {orders} orders.",
        f"{holds} for levels. Asking for exactly K clusters is another matter: where K falls inside a tie, some tied "
        f"links are taken and others not, and then reliac depends on the order too (in {cut} of {len(found)} cases "
        "here). Cut at a level or at a distance where the order must not matter.",
        *missing,
    )


def _draw(canvas: Any, found: dict[tuple[str, str], Spread], data: list[str], names: list[str], orders: int) -> None:
    panels = canvas.subplots(1, len(data), sharey=True, squeeze=False)[0]
    hatches = {"SciPy": "", "fastcluster": "////", "reliac": ""}
    for ax, name in zip(panels, data, strict=True):
        for place, library in enumerate(names):
            heights = [found[name, criterion].at_level[library] for criterion in CRITERIA]
            x = np.arange(len(CRITERIA)) + 0.26 * (place - (len(names) - 1) / 2)
            bars = ax.bar(x, heights, 0.24, facecolor="none" if hatches[library] else COLOURS[library], label=library)
            for bar in bars:
                bar.set_edgecolor(COLOURS[library])
                bar.set_hatch(hatches[library])
        ax.set_xticks(range(len(CRITERIA)), CRITERIA, fontsize=7.5)
        ax.tick_params(axis="x", length=0)
        ax.set_title(name)
        ax.set_ylim(0, orders * 1.04)
    panels[0].set_ylabel("different partitions")
    canvas.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(names), frameon=False)
