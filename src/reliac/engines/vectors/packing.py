"""What products read: means of clusters in one array, in the number type of a search; and who searches among whom."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled.products import product_floor, product_share
from .cells import InThreads
from .moments import Moments

#: Rows that are read at a time, where all are, and that are packed at a time.
READ, PACKED = 2**14, 2**11

#: What stands for the square of a cluster that is gone: farther than anything, and no infinity to multiply.
GONE = 1e30


class Among(NamedTuple):
    """Whom a search looks through: all clusters, or some of them."""

    means: NDArray[Any]  # of all columns, in the number type of the search
    columns: NDArray[np.int64]  # the clusters looked through, by slots
    others: NDArray[Any]  # their means
    weights: NDArray[np.float64]  # their weights


class Block(NamedTuple):
    """Some rows that are searched together, in the number type of the search."""

    own: NDArray[np.int64]  # their columns
    rows: NDArray[Any]  # their packed means
    left: NDArray[Any]  # what a product with packed means takes
    offset: NDArray[Any]  # what added to a product makes it a lower bound of squared distances
    weight: NDArray[Any]
    by_size: bool  # whether bounds are of distances by size
    share: NDArray[Any]  # else: what makes them so later
    scale: float  # from bounds to distances
    limit: NDArray[Any]  # what is farther is not looked for


def packed_means(
    space: Moments, slots: NDArray[np.int64], unit: float, kind: Any, in_threads: InThreads
) -> NDArray[Any]:
    """Return the representatives of clusters and, in one more column, their squares plus the spread inside.

    What products may be off by, a share of these and very little besides, is taken off: sums of products and squares
    are lower bounds then, and a row far from all others spoils nothing but its own.
    """
    d = space.sums.shape[1]
    packed = np.empty((len(slots), d + 1), kind)
    sure, floor = 1 - product_share(d, kind), product_floor(d, kind)

    def fill(start: int) -> None:
        some = slots[start : start + PACKED]
        weight = space.weight[some] * unit
        means = space.sums[some] / weight[:, None]
        extra = np.einsum("ij,ij->i", means, means)
        if space.with_spread:
            extra += space.spread[some] / weight**2
        packed[start : start + PACKED, :-1], packed[start : start + PACKED, -1] = means, extra * sure - floor

    in_threads(fill, range(0, len(slots), PACKED))
    return packed
