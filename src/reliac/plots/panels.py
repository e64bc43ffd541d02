"""The axes that a user gives to draw in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import explain, need, option

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def check_axes(name: str, given: Any, count: int, panels: str = "") -> list[Axes]:
    """Return so many axes of matplotlib; ``panels`` says what there is one for, and how to have them."""
    axes = need("matplotlib.axes", "plot").Axes
    found = list(np.ravel(np.asarray(given, dtype=object)))
    if not all(isinstance(one, axes) for one in found):
        allowed = "axes of matplotlib" if count == 1 else f"{count} axes of matplotlib"
        step = f"leave {name} out, and write the picture with .figure.savefig('tree.png') of what comes back"
        raise TypeError(explain(f"{option(name, given)} is nothing to draw in", allowed, step))
    if len(found) != count:
        raise ValueError(explain(f"{len(found)} axes", panels or "one", f"pass {count}, or leave {name} out"))
    return found
