"""What compiled loops know of a problem: numbers only, always of the same types, so that they are compiled once."""

from __future__ import annotations

from collections import namedtuple

from ...algorithm.criteria import Radius
from ...algorithm.limits import Limits, make_limits
from ...input.problem import Problem

Rules = namedtuple(
    "Rules", "alpha tie_factor n_clusters max_level max_value radius_rule smallest_weight level_out limits"
)

#: How the radius of a group follows from those of its parts, as kernels know it.
RADIUS_NONE, RADIUS_SMALLEST, RADIUS_LARGEST, RADIUS_MEAN, RADIUS_PLAIN_MEAN, RADIUS_WARD = map(int, Radius)


def make_rules(problem: Problem, smallest_weight: float = 1.0, limits: Limits | None = None) -> Rules:
    """Return the rules of a problem; ``limits``: which clusters may be joined, for engines that take constraints."""
    return Rules(
        alpha=problem.alpha,
        tie_factor=problem.tie_factor,
        n_clusters=problem.stop.n_clusters,
        max_level=float(problem.stop.max_level),
        max_value=float(problem.longest),
        radius_rule=int(problem.criterion.radius),
        smallest_weight=smallest_weight,
        level_out=problem.tie_tolerance > 0,
        limits=make_limits(None, 1) if limits is None else limits,
    )
