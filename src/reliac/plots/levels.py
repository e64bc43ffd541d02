"""A picture of what happens level by level: how many clusters there are, and how large they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import need
from ..tree.layout import level_sizes
from .dendrogram import PALETTE
from .panels import check_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..tree.clustertree import ClusterTree

#: More levels than this are sampled when cluster sizes are counted.
LEVELS_COUNTED = 120


def plot_levels(tree: ClusterTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes]:
    """Draw two panels over the levels: how many clusters there are, and how large they are.

    Parameters
    ----------
    tree : what :func:`reliac.cluster` returned
    axes : the two panels to draw in; None makes a figure
    """
    if axes is None:
        _, axes = need("matplotlib.pyplot", "plot").subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
    counts, sizes = check_axes("axes", axes, 2, "two, one for each panel: plt.subplots(1, 2)[1]")
    style: dict[str, Any] = {"marker": "o", "markersize": 3.5} if tree.n_levels <= 60 else {}
    counts.plot(np.arange(tree.n_levels + 1), tree.cluster_counts, color=PALETTE[0], **style)
    counts.set_ylabel("clusters")
    _draw_sizes(sizes, tree, style)
    sizes.set_ylabel("objects per cluster")
    _scale(counts, tree.cluster_counts, tree.n_levels)
    _scale(sizes, np.append(tree.links["size"], 1), tree.n_levels)
    counts.set_title("Clusters at each level", fontsize="medium")
    sizes.set_title("Their sizes", fontsize="medium")
    return counts, sizes


def _draw_sizes(ax: Axes, tree: ClusterTree, style: dict[str, Any]) -> None:
    levels: NDArray[np.intp] = np.unique(np.linspace(0, tree.n_levels, LEVELS_COUNTED).round().astype(np.intp))
    smallest, low, middle, high, largest = level_sizes(tree, levels).T
    ax.fill_between(levels, low, high, color=PALETTE[0], alpha=0.2, linewidth=0, label="middle half")
    ax.plot(levels, largest, color=PALETTE[1], label="largest", **style)
    ax.plot(levels, middle, color=PALETTE[0], label="median", **style)
    ax.plot(levels, smallest, color=PALETTE[2], label="smallest", **style)
    ax.legend(frameon=False, fontsize="small", loc="best")


def _scale(ax: Axes, values: NDArray[np.integer[Any]], n_levels: int) -> None:
    """Count in whole numbers on both axes; logarithmic where the values span more than a factor of 20."""
    ticker = need("matplotlib.ticker", "plot")
    ax.set_xlabel("level")
    ax.set_xlim(-0.03 * max(n_levels, 1), 1.03 * max(n_levels, 1))
    ax.xaxis.set_major_locator(ticker.MaxNLocator(5, integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    largest = int(values.max(initial=1))
    if largest > 20 * int(values.min(initial=largest)):
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
        ax.yaxis.set_minor_formatter(ticker.NullFormatter())
    else:
        ax.yaxis.set_major_locator(ticker.MaxNLocator(integer=True))
        ax.set_ylim(0, largest * 1.08)
