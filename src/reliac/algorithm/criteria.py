"""The seven criteria, one row each, and the one formula that all of them share.

A cluster ``p`` carries a weight ``w_p``. For each pair of clusters one number ``s_pq`` is stored:

* reduction ``min`` or ``max``: the distance itself;
* reduction ``add``: the sum of ``w_i w_j d_ij`` over all object pairs, including ``s_pp`` inside the cluster.

Joining a group only ever reduces rows of that table, so nothing depends on the order of the parts, and the
distance is computed from sums with a single division. On integer data the sums are exact, so distances that
are equal on paper are equal in floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import unknown_name

Floats = NDArray[np.floating[Any]]

#: Odd weights above this are divided out; below it, sums over equal parts stay exact on integer data.
LARGEST_ODD_WEIGHT = 2**20


class Radius(IntEnum):
    """How the radius of a group follows from those of its parts (certified lists, ``docs/how-it-works.md``)."""

    NONE = 0  # a join can come closer: the new cluster is searched
    SMALLEST = 1
    LARGEST = 2
    MEAN = 3  # weighted by the parts' weights
    PLAIN_MEAN = 4
    WARD = 5


class MeanForm(IntEnum):
    """What of a cluster's vectors its distances follow from, so that no matrix is needed."""

    NONE = 0
    MEANS = 1  # the means alone
    SPREADS = 2  # the means and the mean squared distance inside each cluster


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """How the distance of two clusters follows from the distances of their objects, and what engines need to know."""

    name: str
    formula: str
    source: str
    reduction: np.ufunc  # minimum, maximum or add
    equal_parts: bool = False  # the parts of a group count alike, whatever their sizes
    offset: bool = False  # take off the spread inside both clusters: the distance of two representatives
    by_size: bool = False  # multiply by |p||q|/(|p|+|q|)
    reducible: bool = True  # a join never comes closer to a third cluster than the nearer of its parts was
    radius: Radius
    mean_form: MeanForm = MeanForm.NONE

    @property
    def geometric(self) -> bool:
        """Whether the criterion speaks of points, and so needs squared Euclidean distances."""
        return self.offset

    @property
    def by_squares(self) -> bool:
        """Whether squared Euclidean distances give the tree of plain ones: points, or distances only compared."""
        return self.geometric or self.reduction is not np.add

    @property
    def between_pairs(self) -> bool:
        """Whether a distance is never below the smallest, nor above the largest, of the two clusters' objects."""
        return not self.offset

    @property
    def height_factor(self) -> float:
        """What the squared distance is multiplied by before the root that gives SciPy's heights."""
        return 2.0 if self.by_size else 1.0


_ROWS = (
    Criterion(
        name="single",
        formula="min d(i, j)",
        source="Sneath 1957",
        reduction=np.minimum,
        radius=Radius.SMALLEST,
    ),
    Criterion(
        name="complete",
        formula="max d(i, j)",
        source="Lance and Williams 1967",
        reduction=np.maximum,
        radius=Radius.LARGEST,
    ),
    Criterion(
        name="average",
        formula="mean of d(i, j)",
        source="Sokal and Michener 1958",
        reduction=np.add,
        radius=Radius.MEAN,
        mean_form=MeanForm.SPREADS,
    ),
    Criterion(
        name="weighted",
        formula="plain mean of the parts' distances",
        source="McQuitty 1966",
        reduction=np.add,
        equal_parts=True,
        radius=Radius.PLAIN_MEAN,
    ),
    Criterion(
        name="centroid",
        formula="||m_p - m_q||^2, m the mean",
        source="Gower 1967",
        reduction=np.add,
        offset=True,
        reducible=False,
        radius=Radius.NONE,
        mean_form=MeanForm.MEANS,
    ),
    Criterion(
        name="median",
        formula="||m_p - m_q||^2, m the mean of the parts' m",
        source="Gower 1967",
        reduction=np.add,
        equal_parts=True,
        offset=True,
        reducible=False,
        radius=Radius.NONE,
        mean_form=MeanForm.MEANS,
    ),
    Criterion(
        name="ward",
        formula="|p||q|/(|p|+|q|) ||m_p - m_q||^2",
        source="Ward 1963",
        reduction=np.add,
        offset=True,
        by_size=True,
        radius=Radius.WARD,
        mean_form=MeanForm.MEANS,
    ),
)

CRITERIA: dict[str, Criterion] = {row.name: row for row in _ROWS}

#: What biologists call them, after Sneath and Sokal; in any mixture of small and capital letters.
ALIASES = {"upgma": "average", "wpgma": "weighted", "upgmc": "centroid", "wpgmc": "median"}


def get_criterion(name: object) -> Criterion:
    """Return the row of a criterion by name, or by another name that the field has for it."""
    if isinstance(name, str):
        known = ALIASES.get(name.lower(), name)
        if known in CRITERIA:
            return CRITERIA[known]
    raise ValueError(unknown_name("criterion", name, [*CRITERIA, *ALIASES]))


def link_distance(
    criterion: Criterion, stored: Floats, spread_p: Floats, spread_q: Floats, weight_p: Floats, weight_q: Floats
) -> Floats:
    """Turn stored pair numbers ``s_pq`` into distances; shapes broadcast."""
    if criterion.reduction is not np.add:
        return stored
    return distance_from_sums(stored, spread_p, spread_q, weight_p, weight_q, criterion.offset, criterion.by_size)


def distance_from_sums(
    stored: Floats,
    spread_p: Floats,
    spread_q: Floats,
    weight_p: Floats,
    weight_q: Floats,
    offset: bool,
    by_size: bool,
) -> Floats:
    """Give the distance that sums over object pairs stand for; the same bits for (p, q) and (q, p).

    Without offset: ``s_pq / (w_p w_q)``. With offset, over one common denominator:
    ``(2 w_p w_q s_pq - (w_q^2 s_pp + w_p^2 s_qq)) / (2 (w_p w_q)^2)``, times ``w_p w_q / (w_p + w_q)`` by size.
    Never below zero: on distances that no points can have, the representatives count as coinciding. Compiled as it
    stands by the fast engines.
    """
    if not offset:
        return stored / (weight_p * weight_q)
    twice = 2.0 * weight_p * weight_q  # small arrays first: of tables, every product is a pass over all of them
    numerator = twice * stored - (weight_q**2 * spread_p + weight_p**2 * spread_q)
    if by_size:
        return np.maximum(numerator / (twice * (weight_p + weight_q)), 0.0)
    return np.maximum(numerator / (twice * (weight_p * weight_q)), 0.0)


def join_weights(
    criterion: Criterion, weights: Floats, starts: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the factor of every part in its group's sums, and every group's weight.

    ``weights`` holds the parts' weights group after group, ``starts`` where each group begins. By objects every
    factor is 1 and weights add up. With equal parts see :func:`equal_shares`.
    """
    if not criterion.equal_parts:
        return np.ones(len(weights)), np.add.reduceat(weights, starts)
    if (weights == 1.0).all():  # usual: only the sizes of the groups matter
        sizes = np.diff(np.append(starts, len(weights)))
        by_size = {size: equal_shares(np.ones(size)) for size in set(sizes.tolist())}
        factor = np.array([by_size[size][0][0] for size in sizes.tolist()])
        return np.repeat(factor, sizes), np.array([by_size[size][1] for size in sizes.tolist()])
    shares = [equal_shares(part) for part in np.split(weights, starts[1:])]
    return np.concatenate([factors for factors, _ in shares]), np.array([weight for _, weight in shares])


def join_pair_weights(
    criterion: Criterion, one: Floats, other: Floats, alike: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the same for groups of two parts each: the factors, (groups, 2), and every group's weight.

    ``alike``: with equal parts, all weights are known to be 1.
    """
    room = 1 << len(one).bit_length()
    if not criterion.equal_parts:
        return _same_factors(1.0, room)[: len(one)], one + other
    if alike:
        factor, weight = two_alike()
        return _same_factors(factor, room)[: len(one)], _same_factors(weight, room)[: len(one), 0]
    weights = np.column_stack((one, other)).ravel()
    factors, joint = join_weights(criterion, weights, np.arange(0, len(weights), 2))
    return factors.reshape(-1, 2), joint


@cache
def two_alike() -> tuple[float, float]:
    """Give the factor of each, and the joint weight, of two parts that weigh 1."""
    factors, joint = equal_shares(np.ones(2))
    return float(factors[0]), joint


@cache
def _same_factors(factor: float, room: int) -> NDArray[np.float64]:
    """Give factors that are all the same; kept, since small problems ask for a few of them at every level."""
    factors = np.full((room, 2), factor)
    factors.flags.writeable = False
    return factors


def equal_shares(weights: Floats) -> tuple[NDArray[np.float64], float]:
    """Give the factors and the joint weight that make the parts of one group count alike.

    The weights are brought to their least common multiple; a power of two that all share cancels, so weights
    stay small odd integers and a pair of equal weights is halved exactly. Compiled as it stands by the fast engines.
    """
    multiple = 1
    for weight in weights:
        multiple *= int(weight) // math.gcd(multiple, int(weight))
        if multiple > LARGEST_ODD_WEIGHT:
            return np.asarray(1.0 / (len(weights) * weights)), 1.0
    total = multiple * len(weights)
    power = total & -total
    factors = np.asarray(multiple / weights / power)
    if total // power > LARGEST_ODD_WEIGHT:
        return factors * power / total, 1.0
    return factors, float(total // power)
