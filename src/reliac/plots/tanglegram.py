"""Two trees face to face, with matplotlib: a line from every object of one to the same object of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import explain, need, option
from ..input.options import check_count
from ..questions.agreement import entanglement, untangled
from ..questions.matching import match_objects
from ..tree.layout import Dendrogram, dendrogram, shorten
from ..tree.walks import check_order
from .dendrogram import CHARACTER_WIDTH, LARGEST_FONT, LINE_HEIGHT, PALETTE, PLAIN, REST, SMALLEST_FONT
from .panels import check_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..tree.clustertree import ClusterTree

#: More objects than this cannot be told apart in a picture.
MOST = 2000

#: Parts of the width: a tree, the lines between them; names stand between tree and lines.
TREE_WIDTH, LINES_WIDTH = 1.0, 0.7


def plot_tanglegram(
    tree: ClusterTree,
    other: ClusterTree,
    ax: Axes | None = None,
    *,
    orders: tuple[Any, Any] | None = None,
    color_clusters: int | None = None,
    titles: tuple[str, str] | None = None,
) -> Axes:
    """Draw two trees of the same objects; see :meth:`reliac.ClusterTree.plot_tanglegram`."""
    n, same = tree.n_objects, match_objects(tree, other)
    orders, titles = _check_pair("orders", orders), _check_pair("titles", titles)
    if ax is not None:
        ax = check_axes("ax", ax, 1)[0]
    if n > MOST:
        step = "draw a part of both, by tree.subtree, or compare them by tree.agreement(other)"
        raise ValueError(explain(f"A tanglegram of {n} objects", f"at most {MOST}", step))
    first, second = untangled(tree, other, same, 1.5) if orders is None else orders
    first, second = check_order(tree, first), check_order(other, second)
    layouts = dendrogram(tree, n, first), dendrogram(other, n, second)
    if ax is None:
        height = float(np.clip(1.0 + 0.16 * n, 4.0, 20.0))
        _, ax = need("matplotlib.pyplot", "plot").subplots(figsize=(10.0, height), layout="constrained")
    colors = _object_colors(tree, color_clusters, first)
    figure: Any = ax.get_figure()
    font = float(np.clip(0.8 * figure.get_figheight() * 72.0 / (n * LINE_HEIGHT), 0.0, LARGEST_FONT))
    texts = [shorten(str(name), 16) for name in tree.object_names] if font >= SMALLEST_FONT else []
    figure_width = figure.get_figwidth() * 72.0
    room = (
        max(map(len, texts), default=0) * CHARACTER_WIDTH * font / figure_width * (2 * TREE_WIDTH + LINES_WIDTH) * 1.3
    )
    inner = LINES_WIDTH / 2.0 + room + 0.02
    for one, layout, side, own in zip((tree, other), layouts, (-1.0, 1.0), (np.arange(n), same), strict=True):
        _draw_tree(ax, one, layout, side * inner, [colors[name] for name in own.tolist()])
        for leaf, at in zip(layout.leaves.tolist(), layout.positions.tolist(), strict=True):
            if texts:
                where, align = side * (LINES_WIDTH / 2.0 + 0.01), "right" if side < 0 else "left"
                ax.text(where, at, texts[own[leaf]], ha=align, va="center", fontsize=font, parse_math=False)
    _draw_lines(ax, layouts, same, colors)
    _finish(ax, layouts, inner, titles or (_words(tree), _words(other)))
    tangle = entanglement(first, same[second], 1.5)
    ax.set_xlabel(f"{n} objects, entanglement {tangle:.3f}")
    return ax


def _check_pair(name: str, given: Any) -> Any:
    """Refuse what is not one thing for each of the two trees; None is left."""
    if given is None or (isinstance(given, (tuple, list)) and len(given) == 2):
        return given
    given, pair = option(name, given), "two, the first for this tree, the second for the other"
    raise ValueError(explain(given, pair, f"pass a pair, or leave {name} out"))


def _object_colors(tree: ClusterTree, color_clusters: int | None, order: NDArray[np.intp]) -> list[str]:
    """Return the colour of every object by its cluster; clusters get colours from top to bottom."""
    if color_clusters is None:
        return [PLAIN] * tree.n_objects
    step = "ask for a number of clusters that the first tree has"
    count = check_count("color_clusters", color_clusters, tree.n_clusters, tree.n_objects, step)
    labels = tree.labels(count)
    turn: dict[int, int] = {}
    for cluster in labels[order].tolist():
        turn.setdefault(cluster, len(turn))
    return [PALETTE[turn[cluster] % len(PALETTE)] for cluster in labels.tolist()]


def _draw_tree(ax: Axes, tree: ClusterTree, layout: Dendrogram, inner: float, colors: list[str]) -> None:
    """Draw a tree on its side: leaves towards the middle, joins outwards. A branch of one colour has it too.

    ``colors``: of the objects.
    """
    color = list(colors)
    for left, right in zip(tree.links["left"].tolist(), tree.links["right"].tolist(), strict=True):
        color.append(color[left] if color[left] == color[right] else REST)
    top = float(layout.paths[:, :, 1].max(initial=0.0)) or 1.0
    paths = np.empty_like(layout.paths)
    paths[:, :, 0] = inner + np.sign(inner) * TREE_WIDTH * layout.paths[:, :, 1] / top
    paths[:, :, 1] = layout.paths[:, :, 0]
    drawn = [color[node] for node in layout.nodes.tolist()]
    lines = need("matplotlib.collections", "plot").LineCollection(paths, colors=drawn, linewidths=1.0)
    lines.set_capstyle("projecting")
    ax.add_collection(lines)


def _draw_lines(ax: Axes, layouts: tuple[Dendrogram, Dendrogram], same: NDArray[np.intp], colors: list[str]) -> None:
    """Draw a line from the place of every object in one tree to its place in the other."""
    here, there = np.empty(len(same)), np.empty(len(same))
    here[layouts[0].leaves] = layouts[0].positions
    there[same[layouts[1].leaves]] = layouts[1].positions
    ends = np.empty((len(same), 2, 2))
    ends[:, :, 0] = -LINES_WIDTH / 2.0, LINES_WIDTH / 2.0
    ends[:, 0, 1], ends[:, 1, 1] = here, there
    collections = need("matplotlib.collections", "plot")
    ax.add_collection(collections.LineCollection(ends, colors=colors, linewidths=0.8, alpha=0.8))


def _finish(ax: Axes, layouts: tuple[Dendrogram, Dendrogram], inner: float, titles: tuple[str, str]) -> None:
    """Set limits, from top to bottom, and write what the trees are above them."""
    last = max(float(layout.positions[-1]) for layout in layouts)
    ax.set_xlim(-inner - 1.03 * TREE_WIDTH, inner + 1.03 * TREE_WIDTH)
    ax.set_ylim(last + 0.75, -0.75)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    for side, title in zip((-1.0, 1.0), titles, strict=True):
        align = "left" if side < 0 else "right"
        ax.text(side * (inner + TREE_WIDTH), -1.0, title, ha=align, va="bottom", fontsize="medium", parse_math=False)


def _words(tree: ClusterTree) -> str:
    given = [str(tree.parameters[name]) for name in ("criterion", "metric") if name in tree.parameters]
    return ", ".join(given)
