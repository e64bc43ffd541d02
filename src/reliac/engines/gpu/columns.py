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

#: Slots whose means are made at a time, and that are looked at to choose a frame.
SLOTS, LOOKED_AT = 2**19, 2**12

#: Means are far if they are so many times as far from the centre as nine of ten others are.
FAR = 1024

#: The largest number that spreads add to a squared distance in the frame: a smaller one is a bound as well.
MOST = 1e30


def packed_width(d: int) -> int:
    """Return how many columns the kernels take for d: a power of two, or a multiple of 64."""
    return max(16, 1 << (d - 1).bit_length()) if d <= 128 else -(-d // 64) * 64


def bytes_of_rows(n: int, d: int) -> int:
    """Estimate what n rows and a search among them take: float64, float32, and float32 and halves for the kernels."""
    return 12 * n * (d + packed_width(d))


class Frame(NamedTuple):
    """Where means are seen from: packed rows are means / unit - centre, at most LARGEST long.

    Means that are farther out are moved to the sphere of that radius, straight towards the centre. No two points come
    farther apart by that, so distances of packed rows are lower bounds as ever; and a few rows very far away do not
    take the precision from all others.
    """

    centre: Any  # (d,) float64, in units
    unit: float
    norm: float  # of the centre


def make_frame(moments: DeviceMoments, slots: Any) -> Frame:
    """Choose a frame for clusters and all that they will be joined to. O(n d)."""
    some = slots[:: -(-len(slots) // LOOKED_AT)]
    means = moments.sums[some] / moments.weight[some, None]
    centre = means.median(0).values
    usual = float((means - centre).norm(dim=1).quantile(0.9))
    largest = 0.0
    for some in slots.split(SLOTS):
        gap = moments.sums[some] / moments.weight[some, None] - centre
        largest = max(largest, float((gap * gap).sum(1).max()) ** 0.5)
    if usual:
        largest = min(largest, FAR * usual)
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
            means = moments.sums[some] / (moments.weight[some, None] * frame.unit) - frame.centre
            self.rows[at : at + SLOTS] = means * (LARGEST / means.norm(dim=1, keepdim=True)).clamp(max=1.0)
        self.extra = torch().zeros(len(slots), device=moments.device)
        if moments.with_spread:
            spread = (moments.spread[slots] / (weight * frame.unit) ** 2 * (1 - 2.0**-20)).clamp(max=MOST)
            self.extra[:] = torch().where(moments.row[slots] >= 0, 0.0, spread)  # of equal rows it is but rounding
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
