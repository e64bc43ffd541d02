"""Sums that would leave the range of float64: refused before any work is done."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..algorithm.criteria import LARGEST_ODD_WEIGHT, Criterion
from ..errors import explain
from .metrics import EUCLIDEAN, MetricLike

#: float64 ends below 2**1024; this leaves room for the factor 4 in the sums below.
LARGEST_POWER = 1021.0

#: Products of weights below two to this power are too near the smallest normal number, 2**-1022.
SMALLEST_POWER = -1000.0


def check_sums(
    criterion: Criterion, metric: MetricLike, weights: NDArray[np.float64], largest: float, place: str
) -> None:
    """Refuse a largest distance whose sums, or those of its square, cannot be held; counted in powers of two.

    Sums of distances are at most W^2 d, with W the weight of all objects. Where points are spoken of, sums of squares
    are multiplied by weights once more: at most 4 W^4 d^2. ``place`` says what ``largest`` was read from.
    """
    times_squared = 2 if criterion.geometric or metric in EUCLIDEAN else 1
    times_weighted = 0 if criterion.reduction is not np.add else 4 if criterion.geometric else 2
    heaviest, lightest = float(weights.max()), float(weights.min())
    if criterion.equal_parts:
        weight_bits, lightest = math.log2(LARGEST_ODD_WEIGHT), 1.0
    else:
        weight_bits = math.log2(heaviest) + math.log2(len(weights))
    if times_weighted * math.log2(lightest) < SMALLEST_POWER:
        raise ValueError(
            explain(
                f"Products of weights underflow: the smallest weight is {lightest:.3g}",
                "weights that differ less",
                "divide the weights by the smallest of them",
            )
        )
    room = (LARGEST_POWER - times_weighted * weight_bits) / times_squared
    if largest > 0 and not math.log2(largest) <= room:
        others = "" if (weights == 1).all() else ", or the weights by theirs"
        raise ValueError(
            explain(
                f"{'Squares' if times_squared == 2 else 'Sums'} overflow: {place} is up to {largest:.3g}",
                f"at most {2.0**room:.3g} for this many objects and their weights",
                f"divide the data by a constant, for example by its largest value{others}",
            )
        )
