"""The moments of clusters of vectors: sums, weights and spreads, and the distances that follow from them.

With ``s`` the weighted sum of a cluster's vectors, ``w`` its weight and ``h`` the sum of squared distances of its
object pairs, all distances follow from one numerator that has no cancellation and is exact on integer data,

    N = sum_k (w_q s_pk - w_p s_qk)^2  [+ w_q^2 h_p + w_p^2 h_q for average]

divided by ``w_p w_q (w_p + w_q)`` (by size) or ``(w_p w_q)^2``.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.criteria import MeanForm
from ...input.metrics import Squares, squares_of, unit_rows
from ...input.problem import Problem
from ..compiled.formulas import shares_of_parts
from ..compiled.loading import bare_inlined, inside
from ..compiled.spaces import register_space
from ..repeats import find_twins
from .shift import exact_shift

#: ``row``: the first row equal to all rows of a cluster, or below 0 if it has different ones. It tells that clusters of
#: equal rows are at distance 0: products of their sums and weights may round differently.
Moments = namedtuple("Moments", "sums weight row spread with_spread by_size equal_parts scale")


def _moments_pair(space, p, q):
    if space.row[p] == space.row[q]:
        return 0.0
    wp, wq = space.weight[p], space.weight[q]
    s = space.sums
    a = b = c = e = 0.0
    for k in range(0, s.shape[1], 4):  # four sums: the order is fixed, so is every bit
        t = wq * s[p, k] - wp * s[q, k]
        u = wq * s[p, k + 1] - wp * s[q, k + 1]
        v = wq * s[p, k + 2] - wp * s[q, k + 2]
        x = wq * s[p, k + 3] - wp * s[q, k + 3]
        a += t * t
        b += u * u
        c += v * v
        e += x * x
    numerator = (a + b) + (c + e)
    if space.with_spread:
        numerator += wq * wq * space.spread[p] + wp * wp * space.spread[q]
    product = wp * wq
    return space.scale * (numerator / (product * (wp + wq) if space.by_size else product * product))


def _moments_join(space, parts):
    head = parts[0]
    s = space.sums
    for part in parts:
        if space.row[part] != space.row[head]:
            space.row[head] = -1 - head
    if space.equal_parts:
        factors, total = shares_of_parts(space.weight[parts])
        for k in range(s.shape[1]):
            value = 0.0
            for i in range(len(parts)):
                value += factors[i] * s[parts[i], k]
            s[head, k] = value
        space.weight[head] = total
        return
    for part in parts[1:]:
        wp, wq = space.weight[head], space.weight[part]
        if space.with_spread:  # pairs across: the mean distance times the number of pairs
            across = 0.0
            for k in range(s.shape[1]):
                t = wq * s[head, k] - wp * s[part, k]
                across += t * t
            across += wq * wq * space.spread[head] + wp * wp * space.spread[part]
            space.spread[head] += space.spread[part] + across / (wp * wq)
        for k in range(s.shape[1]):
            s[head, k] += s[part, k]
        space.weight[head] = wp + wq


_pair = bare_inlined(_moments_pair)
_join = inside(_moments_join)
register_space(Moments, lambda space, p, q: _pair(space, p, q), lambda space, parts: _join(space, parts))


def make_moments(problem: Problem, vectors: NDArray[Any]) -> Moments:
    """Return every object as a cluster of its own. O(n d)."""
    row, squares, (n, d) = problem.criterion, squares_of(problem.metric), vectors.shape
    weight = np.ones(n) if row.equal_parts else problem.weights.copy()
    sums = np.zeros((n, -(-d // 4) * 4))
    sums[:, :d] = unit_rows(vectors) if squares is Squares.UNIT else vectors
    shift = exact_shift(sums)
    if shift.any():
        sums -= shift
    first = find_twins(sums) if (weight != 1).any() or problem.alpha == 0.0 else None
    if (weight != 1).any():
        sums *= weight[:, None]
    return Moments(
        sums=sums,
        weight=weight,
        row=np.arange(n) if first is None else first,
        spread=np.zeros(n if row.mean_form is MeanForm.SPREADS else 1),
        with_spread=row.mean_form is MeanForm.SPREADS,
        by_size=row.by_size,
        equal_parts=row.equal_parts,
        scale=0.5 if squares is Squares.UNIT else 1.0,
    )


def refusal(problem: Problem) -> str | None:
    """Say why distances of the problem do not follow from sums and spreads alone; None if they do."""
    row, metric = problem.criterion, problem.metric
    if row.mean_form is MeanForm.MEANS or (row.mean_form is MeanForm.SPREADS and squares_of(metric).mean_form):
        return None
    return f"{row.name} of metric {metric!r} does not follow from means and spreads"
