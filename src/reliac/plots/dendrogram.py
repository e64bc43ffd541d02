"""A dendrogram with matplotlib: colours, lines and texts. Where they stand is computed in :mod:`reliac.tree.layout`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import need
from ..input.options import check_count
from ..tree.layout import Dendrogram, clusters_of_nodes, dendrogram
from .panels import check_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..tree.clustertree import ClusterTree

#: Distinct for colour-blind readers too, and none of them grey.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#44aa99")
PLAIN = "#404040"
REST = "#a0a0a0"

#: Font sizes of the leaf texts, in points: as large as fits, between these.
LARGEST_FONT, SMALLEST_FONT = 9.0, 4.5

#: Average width of a character and height of a line, in units of the font size.
CHARACTER_WIDTH, LINE_HEIGHT = 0.62, 1.15


def plot_tree(
    tree: ClusterTree,
    ax: Axes | None = None,
    *,
    max_leaves: int = 60,
    color_clusters: int | None = None,
    order: ArrayLike | None = None,
) -> Axes:
    """Draw a dendrogram; a tree of more than ``max_leaves`` objects shows its top part only.

    A cluster that is not opened is a triangle as high as its last join, with its number of objects in brackets.
    The trees of a forest stand side by side, each with a dot on its top.

    Parameters
    ----------
    tree : what :func:`reliac.cluster` returned
    ax : where to draw; None makes a figure wide enough for the leaves
    max_leaves : the number of leaves to show at most
    color_clusters : colour the clusters of ``tree.labels(color_clusters)``; everything above them is grey
    order : the objects from left to right, as ``tree.order_leaves()`` gives them; None is ``tree.leaf_order``
    """
    if ax is not None:
        ax = check_axes("ax", ax, 1)[0]
    layout = dendrogram(tree, max_leaves, order)
    colors = _colors(tree, layout, color_clusters)
    if ax is None:
        width = float(np.clip(1.5 + 0.16 * np.ptp(layout.positions), 6.4, 20.0))
        _, ax = need("matplotlib.pyplot", "plot").subplots(figsize=(width, 4.8), layout="constrained")
    collections = need("matplotlib.collections", "plot")
    nodes = layout.nodes.tolist()
    lines = collections.LineCollection(layout.paths, colors=[colors[node] for node in nodes], linewidths=1.2)
    lines.set_capstyle("projecting")
    ax.add_collection(lines)
    if len(layout.roots) > 1 or not len(layout.paths):
        ax.scatter(layout.roots[:, 0], layout.roots[:, 1], s=14, color=PLAIN, zorder=3, clip_on=False)
    _set_limits(ax, layout)
    _write_leaves(ax, layout, [colors[node] for node in layout.leaves.tolist()])
    ax.set_ylabel(_distance_label(tree))
    ax.set_title(_title(tree, layout), fontsize="medium")
    return ax


def _colors(tree: ClusterTree, layout: Dendrogram, color_clusters: int | None) -> dict[int, str]:
    """Return the colour of every node in the picture; neighbouring clusters never share one."""
    nodes = np.concatenate((layout.leaves, layout.nodes))
    if color_clusters is None:
        return dict.fromkeys(nodes.tolist(), PLAIN)
    step = f"raise max_leaves to colour more clusters than the {len(layout.leaves)} leaves of the picture"
    most = max(len(layout.leaves), tree.n_clusters)
    count = check_count("color_clusters", color_clusters, tree.n_clusters, most, step)
    found = clusters_of_nodes(tree, nodes, count).tolist()
    turn: dict[int, int] = {}
    for cluster in found[: len(layout.leaves)]:
        turn.setdefault(cluster, len(turn))
    color = {cluster: PALETTE[place % len(PALETTE)] for cluster, place in turn.items()}
    return {node: color.get(cluster, REST) for node, cluster in zip(nodes.tolist(), found, strict=True)}


def _set_limits(ax: Axes, layout: Dendrogram) -> None:
    top = float(layout.paths[:, :, 1].max(initial=0.0)) or 1.0
    ax.set_xlim(layout.positions[0] - 0.75, layout.positions[-1] + 0.75)
    ax.set_ylim(-0.01 * top, 1.05 * top)  # joins at distance 0 stay visible
    ax.spines[["top", "right", "bottom"]].set_visible(False)


def _write_leaves(ax: Axes, layout: Dendrogram, colors: list[str]) -> None:
    """Write the leaf texts as tick labels: level if they fit, else upright, smaller, or only every k-th."""
    figure: Any = ax.get_figure()
    room = ax.get_position().width * figure.get_figwidth() * 72.0 / float(np.ptp(ax.get_xlim()))
    longest = max(map(len, layout.texts))
    level = longest * CHARACTER_WIDTH * LARGEST_FONT + 4.0 <= room
    font = LARGEST_FONT if level else float(np.clip(room / LINE_HEIGHT, SMALLEST_FONT, LARGEST_FONT))
    step = 1 if level else int(np.ceil(font * LINE_HEIGHT / room - 1e-9))
    labels = ax.set_xticks(layout.positions[::step], layout.texts[::step])
    for tick, color in zip(labels, colors[::step], strict=True):
        tick.label1.set(rotation=0 if level else 90, fontsize=font, color=color, parse_math=False)
    ax.tick_params(axis="x", length=0)


def _distance_label(tree: ClusterTree) -> str:
    given = [str(tree.parameters[name]) for name in ("criterion", "metric") if name in tree.parameters]
    return f"distance ({', '.join(given)})" if given else "distance"


def _title(tree: ClusterTree, layout: Dendrogram) -> str:
    parts = [_count(tree.n_objects, "object"), _count(tree.n_levels, "level")]
    if tree.n_clusters > 1:
        parts.append(_count(tree.n_clusters, "tree"))
    leaves = len(layout.leaves)
    if leaves < tree.n_clusters:
        parts.append(f"the {leaves} largest shown" if leaves > 1 else "the largest shown")
    elif leaves < tree.n_objects:
        parts.append(f"top {_count(leaves, 'cluster')} shown")
    return ", ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
