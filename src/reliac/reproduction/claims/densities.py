"""Figure 1 of the paper: two clusters of different density and an outlier, under three strategies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...api import cluster
from ...input.metrics import pairwise
from ..report.parts import Section, Table
from ..report.pictures import GRID, NEUTRAL, RELIABLE, STANDARD, THIRD, notes, picture

DENSE, SPARSE, OUTLIER = 0, 1, 2
STRATEGIES = ("standard", "nearest neighbour", "reliable")
COLUMNS = (
    "strategy",
    "clusters of two or more",
    "of them pure",
    "objects joined",
    "dense objects joined",
    "sparse objects joined",
    "outlier joined",
)


class Outcome(NamedTuple):
    """What a strategy has built; shares are between 0 and 1."""

    grown: float  # clusters of two objects or more
    pure: float  # share of them with objects of one kind
    joined: float
    dense: float
    sparse: float
    outlier: float


def two_densities(seed: int, dense: int = 60, sparse: int = 24) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Draw a dense and a sparse cluster side by side, and an object far above the sparse one."""
    rng = np.random.default_rng(seed)
    left = rng.uniform(-0.5, 0.5, (dense, 2))
    right = rng.uniform((0.75, -1.25), (3.25, 1.25), (sparse, 2))
    kinds = np.repeat([DENSE, SPARSE, OUTLIER], [dense, sparse, 1])
    return np.vstack((left, right, [[2.0, 3.2]])), kinds


def join_nearest(X: NDArray[np.float64]) -> NDArray[np.intp]:
    """Join every object to its nearest neighbour, reliable or not: one step of the strategy the paper warns of."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    distance = pairwise(X, "sqeuclidean")
    np.fill_diagonal(distance, np.inf)
    n = len(X)
    graph = coo_array((np.ones(n), (np.arange(n), distance.argmin(axis=1))), shape=(n, n)).tocsr()
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.intp)


def partitions(X: NDArray[np.float64], criterion: str = "single") -> dict[str, NDArray[np.intp]]:
    """Return what the three strategies have built after as many merges as the first step of joining nearest takes."""
    nearest = join_nearest(X)
    left = int(nearest.max()) + 1
    return {
        "standard": cluster(X, criterion, metric="sqeuclidean", alpha=0.0, n_clusters=left).labels(),
        "nearest neighbour": nearest,
        "reliable": cluster(X, criterion, metric="sqeuclidean", n_clusters=left).labels(),
    }


def outcome(labels: NDArray[np.intp], kinds: NDArray[np.intp]) -> Outcome:
    """Measure a partition."""
    counts = np.zeros((labels.max() + 1, kinds.max() + 1))
    np.add.at(counts, (labels, kinds), 1)
    sizes = counts.sum(axis=1)
    joined = sizes[labels] > 1
    grown = sizes > 1
    pure = (counts.max(axis=1) == sizes)[grown]
    shares = [float(joined[kinds == kind].mean()) for kind in (DENSE, SPARSE, OUTLIER)]
    return Outcome(float(grown.sum()), float(pure.mean()), float(joined.mean()), *shares)


def section(draws: int = 100, progress: Callable[[str], None] = lambda text: None) -> Section:
    """Build the three panels of one draw, and count what happens over many."""
    progress("figure 1: densities and an outlier")
    X, kinds = two_densities(0)
    built = partitions(X)
    results = {name: outcome(labels, kinds) for name, labels in built.items()}
    merges = len(X) - int(built["standard"].max()) - 1
    rows = [(name, *_single(results[name])) for name in STRATEGIES]
    many = _many(draws)
    figures = picture(
        "claim-densities",
        f"The same {len(X)} objects after {merges} merges. Lines join what is in one cluster. Crosses: the dense "
        "cluster; dots: the sparse one; star: the outlier.",
        "Three panels. Standard: only the dense cluster has grown. Nearest neighbour: the outlier and objects of both "
        "clusters are joined. Reliable: both clusters have grown and the outlier is alone.",
        (9.0, 3.3),
        lambda canvas: _draw(canvas, X, kinds, built),
    )
    tables = (
        Table(
            "claim-densities", f"The draw of the figure after {merges} merges, criterion single", COLUMNS, tuple(rows)
        ),
        Table(
            "claim-densities-draws",
            f"Mean of {draws} draws, each after as many merges as the first step of the nearest-neighbour strategy",
            ("criterion", *COLUMNS),
            tuple((criterion, name, *_mean(values)) for (criterion, name), values in many.items()),
        ),
    )
    return Section(
        "Figure 1: clusters of different density and an outlier",
        "claim-densities",
        (*_words(many), *notes(figures)),
        tables,
        figures,
    )


def _many(draws: int) -> dict[tuple[str, str], NDArray[np.float64]]:
    """Average the outcomes of many draws, for each criterion and strategy."""
    found: dict[tuple[str, str], list[Outcome]] = {}
    for seed in range(draws):
        X, kinds = two_densities(seed)
        for criterion in ("single", "average"):
            for name, labels in partitions(X, criterion).items():
                found.setdefault((criterion, name), []).append(outcome(labels, kinds))
    return {key: np.array(values).mean(axis=0) for key, values in found.items()}


def _single(result: Outcome) -> tuple[str, ...]:
    return (f"{result.grown:.0f}", *_mean(np.array(result))[1:-1], "yes" if result.outlier else "no")


def _mean(values: NDArray[np.float64]) -> tuple[str, ...]:
    return (f"{values[0]:.1f}", *(f"{100 * value:.0f} %" for value in values[1:]))


def _words(many: dict[tuple[str, str], NDArray[np.float64]]) -> tuple[str, ...]:
    standard, nearest, reliable = (Outcome(*many["single", name]) for name in STRATEGIES)
    other, averaged = (Outcome(*many["average", name]) for name in ("standard", "reliable"))
    return (
        "Claimed: the standard strategy grows the densest cluster first, so that stopping early leaves the sparse one "
        "untouched; joining every object to its nearest neighbour grows both but also takes in outliers and mixes "
        "clusters of different density; joining only what is reliable avoids both.",
        "Done: a dense and a sparse cluster side by side and one object far away, drawn at random. The "
        "nearest-neighbour strategy makes its first step; the other two make as many merges.",
        f"Found, single criterion: the standard strategy has joined {100 * standard.sparse:.0f} % of the sparse "
        f"objects, the reliable one {100 * reliable.sparse:.0f} %. The nearest-neighbour strategy takes in the outlier "
        f"always, the reliable one in {100 * reliable.outlier:.0f} % of the draws. Of the clusters of two objects or "
        f"more {100 * nearest.pure:.0f} % are pure with nearest neighbours, {100 * reliable.pure:.0f} % with reliable "
        f"links and {100 * standard.pure:.0f} % with the standard strategy.",
        "Holds on these data, with limits. The reliable strategy joins fewer of the dense objects than the standard "
        "one after the same number of merges, which is the other side of the coin, and fewer sparse ones than nearest "
        "neighbours, because some wait for a reliable link. How large the differences are depends on the criterion and "
        f"on how unlike the densities are: with average linkage the standard strategy joins {100 * other.sparse:.0f} % "
        f"of the sparse objects and the reliable one {100 * averaged.sparse:.0f} %.",
    )


def _draw(canvas: Any, X: NDArray[np.float64], kinds: NDArray[np.intp], built: dict[str, NDArray[np.intp]]) -> None:
    from matplotlib.collections import LineCollection

    colours = dict(zip(STRATEGIES, (STANDARD, THIRD, RELIABLE), strict=True))
    panels = canvas.subplots(1, 3, sharex=True, sharey=True)
    for ax, name in zip(panels, STRATEGIES, strict=True):
        lines = LineCollection(_edges(X, built[name]), colors=colours[name], linewidths=1.6, zorder=4)
        ax.add_collection(lines)
        for kind, marker, size in ((DENSE, "x", 10), (SPARSE, "o", 14), (OUTLIER, "*", 80)):
            ax.scatter(*X[kinds == kind].T, marker=marker, s=size, color=NEUTRAL, linewidths=1.0, zorder=3)
        ax.set_title(name)
        ax.set_aspect("equal")
        ax.set_xticks([])
        ax.set_yticks([])
        ax.spines[:].set_visible(False)
        ax.margins(0.06)
    for ax in panels[1:]:
        ax.axvline(-0.85, color=GRID, linewidth=1.0)


def _edges(X: NDArray[np.float64], labels: NDArray[np.intp]) -> list[NDArray[np.float64]]:
    """Return short lines that hold each cluster together: its own spanning tree."""
    lines: list[NDArray[np.float64]] = []
    for label in np.flatnonzero(np.bincount(labels) > 1):
        own = X[labels == label]
        lines.extend(own[cluster(own, "single").spanning_tree().pairs])
    return lines
