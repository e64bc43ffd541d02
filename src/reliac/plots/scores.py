"""A picture of how many clusters: every score over the number of clusters, and the number that they speak for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import need
from ..questions.suggestion import VOTERS, Suggestion, goodness
from .dendrogram import PALETTE, REST
from .panels import check_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More numbers of clusters than this are drawn without a mark for each.
MARKED = 60


def plot_suggestion(found: Suggestion, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Draw one panel for each score that has a say: a line over the number of clusters, with a ring at its best.

    A grey line marks the number that is suggested.
    """
    values = {name: good for name, good in goodness(found.table).items() if name in found.votes}
    if axes is None:
        columns = min(2, len(values))
        rows = -(-len(values) // columns)
        size = (4.4 * columns, 2.6 * rows + 0.5)
        figure, made = need("matplotlib.pyplot", "plot").subplots(rows, columns, figsize=size, layout="constrained")
        panels = list(np.ravel(np.asarray(made, dtype=object)))
        for spare in panels[len(values) :]:
            spare.set_visible(False)
        next_best = f", next best {found.runner_up}" if found.runner_up is not None else ""
        figure.suptitle(f"{found.n_clusters} clusters{next_best}", fontsize="medium")
        panels = panels[: len(values)]
    else:
        panels = check_axes("axes", axes, len(values), f"one for each of {len(values)} scores")
    order = np.argsort(found.table.counts)
    for panel, (name, good) in zip(panels, values.items(), strict=True):
        _draw(panel, np.array(found.table.counts)[order], VOTERS[name][1] * good[order], name, found)
    return panels


def _draw(panel: Axes, counts: Any, values: Any, name: str, found: Suggestion) -> None:
    """Draw one score; values that are not numbers are left out."""
    title, sign = VOTERS[name]
    drawn = np.isfinite(values)
    marks: dict[str, Any] = {"marker": "o", "markersize": 3} if len(counts) <= MARKED else {}
    panel.axvline(found.n_clusters, color=REST, linewidth=1.0, zorder=0)
    panel.plot(counts[drawn], values[drawn], color=PALETTE[0], linewidth=1.3, **marks)
    if "silhouette_error" in found.table.columns and name == "silhouette":
        error = np.array(found.table.columns["silhouette_error"])[np.argsort(found.table.counts)]
        panel.fill_between(counts, values - 2 * error, values + 2 * error, color=PALETTE[0], alpha=0.2, linewidth=0)
    best = found.votes[name]
    place = int(np.flatnonzero(counts == best)[0])
    if drawn[place]:
        ring: dict[str, Any] = {"marker": "o", "markersize": 9, "markerfacecolor": "none", "markeredgewidth": 1.5}
        panel.plot([best], [values[place]], color=PALETTE[1], linestyle="none", clip_on=False, **ring)
    panel.set_title(f"{title}: best at {best}", fontsize="medium")
    panel.set_xlabel(f"clusters ({'large' if sign > 0 else 'small'} values are good)", fontsize="small")
    panel.xaxis.set_major_locator(need("matplotlib.ticker", "plot").MaxNLocator(6, integer=True))
    panel.spines[["top", "right"]].set_visible(False)
