"""What a search compares: the means of the living clusters in float32, and how far each number may be off."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .device import torch
from .moments import DeviceMoments

#: The largest norm of a packed row: halves neither overflow nor lose small numbers.
LARGEST = 2.0**10

#: The share of a squared distance by which bounds are moved, so that ``absolute`` becomes a constant: Columns.slack.
STRETCH = 1e-4

#: Slots whose means are made at a time.
SLOTS = 2**19


class Frame(NamedTuple):
    """Where means are seen from: packed rows are means / unit - centre, at most LARGEST long. Joins stay inside."""

    centre: Any  # (d,) float64, in units
    unit: float
    norm: float  # of the centre


def make_frame(moments: DeviceMoments, slots: Any) -> Frame:
    """Choose a frame for clusters and all that they will be joined to. O(n d)."""
    centre = torch().zeros(moments.sums.shape[1], dtype=torch().float64, device=moments.device)
    for some in slots.split(SLOTS):
        centre += (moments.sums[some] / moments.weight[some, None]).sum(0)
    centre /= max(1, len(slots))
    largest = 0.0
    for some in slots.split(SLOTS):
        gap = moments.sums[some] / moments.weight[some, None] - centre
        largest = max(largest, float((gap * gap).sum(1).max()) ** 0.5)
    unit = 2.0 ** math.frexp(largest)[1] / LARGEST if largest else 1.0
    return Frame(centre / unit, unit, float((centre / unit).norm()))


class Columns:
    """Living clusters as searches see them.

    Attributes
    ----------
    rows : (N, d) float32, means in the frame
    extra : (N,) float32, what spreads add to every squared distance, at most
    inverse : (N,) float32, 1 / weight where distances go by size, else 0
    weighted : whether weights differ and distances go by size
    factor : what squared distances are multiplied by where all weights are the same
    absolute : how far the distance of two packed rows may be from that of their means
    slack : the same for squared distances: (r + absolute)^2 <= (1 + STRETCH) r^2 + slack, and (r - absolute)^2 >=
        (1 - STRETCH) r^2 - slack
    scale : from squared distances here to those that engines compare
    """

    def __init__(self, moments: DeviceMoments, slots: Any, frame: Frame) -> None:
        weight, self.kernels = moments.weight[slots], moments.kernels
        self.rows = torch().empty(len(slots), moments.sums.shape[1], dtype=torch().float32, device=moments.device)
        for at in range(0, len(slots), SLOTS):
            some = slots[at : at + SLOTS]
            self.rows[at : at + SLOTS] = moments.sums[some] / (moments.weight[some, None] * frame.unit) - frame.centre
        self.extra = torch().zeros(len(slots), device=moments.device)
        if moments.with_spread:
            self.extra[:] = moments.spread[slots] / (weight * frame.unit) ** 2 * (1 - 2.0**-20)
        self.weighted = moments.by_size and bool((weight != weight[0]).any())
        self.inverse = (1.0 / weight).float() if moments.by_size else torch().zeros_like(self.extra)
        self.factor = float(weight[0]) / 2 if moments.by_size and not self.weighted else 1.0
        self.square = (self.rows * self.rows).sum(1)
        self.norm = float(self.square.max()) ** 0.5
        self.absolute = 2.0**-22 * self.norm + 2.0**-49 * (self.norm + frame.norm)
        self.slack = self.absolute**2 * (1 + 1 / STRETCH)
        self.scale = moments.scale * frame.unit**2

    def __len__(self) -> int:
        return len(self.rows)


#: Skipping is given up where more than this share of the tiles is needed all the same, after so many were looked at.
USELESS, ENOUGH = 0.9, 2**23


class Skipping:
    """Whether to look for tiles of columns that are too far: what the searches of a run have found so far."""

    def __init__(self) -> None:
        self.needed = self.looked_at = 0

    def note(self, needed: int, looked_at: int) -> None:
        """Note that so many tiles were looked at, and how many of them are needed."""
        self.needed, self.looked_at = self.needed + needed, self.looked_at + looked_at

    @property
    def worth_it(self) -> bool:
        """Whether enough is left out; rows of noise, which need everything, are weighed against all others."""
        return self.looked_at < ENOUGH or self.needed < USELESS * self.looked_at


class Candidates(NamedTuple):
    """What a search found for m rows."""

    places: Any  # (m, k) int64, columns that may be nearest, -1 where there are no more
    bound: Any  # (m,) float32, every other column is at least so far
    sure: Any  # (m,) whether it is so; of others nothing is known
