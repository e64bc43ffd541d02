"""Figures as SVG: neutral on light and dark pages, the same bytes every time, no state of matplotlib kept.

matplotlib is an optional extra. Without it :func:`picture` gives no figure, and :data:`MISSING` says so.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ...errors import how_to_install
from .parts import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Grey that can be read on white and on black.
NEUTRAL = "#7c7c7c"
GRID = "#7c7c7c40"
#: For the two strategies; they differ in lightness too, and lines also in their dashes.
STANDARD, RELIABLE, THIRD, FOURTH = "#d55e00", "#2f86c9", "#009e73", "#cc79a7"

MISSING = f"The figure is left out, because matplotlib is not installed ({how_to_install('plot')})."

#: What comes before the name of an id, where it is given and where it is used.
_ID = re.compile(r'((?<!\S)id="|href="#|url\(#)')
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)


def available() -> bool:
    """Tell whether matplotlib can be imported."""
    try:
        return find_spec("matplotlib") is not None
    except ValueError:  # switched off by hand: None in sys.modules
        return False


def picture(
    name: str,
    caption: str,
    alternative: str,
    size: tuple[float, float],
    draw: Callable[[Any], None],
) -> tuple[Figure, ...]:
    """Return the figure that ``draw`` makes on an empty one of that size in inches, or nothing without matplotlib."""
    if not available():
        return ()
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    # text stays text, so that pages are small and can be searched
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": name, "font.size": 9.0}
    with matplotlib.rc_context(settings):
        canvas = Canvas(figsize=size, layout="constrained")
        canvas.patch.set_alpha(0.0)
        draw(canvas)
        for ax in canvas.axes:
            _neutral(ax)
        for text in [*canvas.texts, *(entry for legend in canvas.legends for entry in legend.get_texts())]:
            text.set_color(NEUTRAL)
        stream = io.StringIO()
        canvas.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return (Figure(name, caption, stream.getvalue(), alternative),)


def notes(figures: tuple[Figure, ...]) -> tuple[str, ...]:
    """Return the sentence that stands for figures that could not be drawn, if they could not."""
    return () if figures else (MISSING,)


def inline(figure: Figure) -> str:
    """Return the SVG for a page with other figures on it: ids named after the figure, no prologue, no metadata."""
    prefix = re.sub(r"\W+", "-", figure.name)
    svg = _METADATA.sub("", figure.svg[figure.svg.index("<svg") :])
    return _ID.sub(lambda found: f"{found[1]}{prefix}-", svg)


def _neutral(ax: Axes) -> None:
    """Give axes the neutral colour; without lines at the top and on the right."""
    ax.patch.set_alpha(0.0)
    ax.tick_params(colors=NEUTRAL, which="both")
    ax.spines[["top", "right"]].set_visible(False)
    for spine in ax.spines.values():
        spine.set_color(NEUTRAL)
    for text in (ax.title, ax.xaxis.label, ax.yaxis.label):
        text.set_color(NEUTRAL)
    legend = ax.get_legend()
    for entry in legend.get_texts() if legend else ():
        entry.set_color(NEUTRAL)
