"""The square matrix of the dense engine: what it holds, and the distances that it stands for."""

from __future__ import annotations

from collections import namedtuple

from ..compiled.formulas import ADD, from_sums
from ..compiled.loading import inside

#: ``stored`` lies flat, ``width`` numbers a row; the diagonal is infinite, sums inside a cluster are its ``spread``.
#: ``best``: distance of the nearest, minus infinity for a place that is free; ``tied``: it may not be the only one.
#: A forbidden link is infinitely long, and no number of a group makes it shorter.
Square = namedtuple(
    "Square",
    "stored slot weight spread best nearest tied looked reduction offset by_size equal_parts reducible",
)

#: What the levels leave: links, and the places whose rows were ``searched`` last; ``mark`` tells what to do with a row.
Steps = namedtuple("Steps", "p q distance level searched mark row scratch counters")

#: Places in Steps.counters.
N_ALIVE, N_PLACES, WIDTH, LEVEL, N_LINKS, N_SEARCHED = range(6)


@inside
def distances_of(square, r, width, out):
    """Return the distances of one cluster to all places, infinite to itself and to free ones. O(width)."""
    stored = square.stored[r * width : (r + 1) * width]
    if square.reduction != ADD:
        return stored
    weight, spread = square.weight, square.spread
    w, s = weight[r], spread[r]
    if not square.offset:
        for c in range(width):
            out[c] = from_sums(stored[c], s, spread[c], w, weight[c], False, False)
    elif square.by_size:
        for c in range(width):
            out[c] = from_sums(stored[c], s, spread[c], w, weight[c], True, True)
    else:
        for c in range(width):
            out[c] = from_sums(stored[c], s, spread[c], w, weight[c], True, False)
    return out[:width]
