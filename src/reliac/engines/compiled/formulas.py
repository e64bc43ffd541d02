"""Formulas of criteria and of condensed matrices, compiled as they stand, and Euclidean distances of all pairs."""

from __future__ import annotations

import numpy as np

from ...algorithm.criteria import Criterion, distance_from_sums, equal_shares
from ...input import condensed
from .loading import bare, bare_inlined, inside

#: How stored numbers are reduced when clusters join. The smallest distance has an engine of its own, but for
#: constraints: there an infinite number, a forbidden link, counts more than any other.
MAXIMUM, ADD, MINIMUM = range(3)

#: Rows of a square matrix that are copied from columns together: what is read for them stays in the cache.
STRIP = 64

#: Weights are above zero: a check for that would keep loops from vector instructions.
from_sums = bare_inlined(distance_from_sums)
shares_of_parts = inside(equal_shares)

#: Where the row of an object begins in a condensed matrix.
row_start = bare_inlined(condensed.row_start)


def reduction_of(criterion: Criterion) -> int:
    """Return how kernels know the reduction of a criterion."""
    if criterion.reduction is np.add:
        return ADD
    return MINIMUM if criterion.reduction is np.minimum else MAXIMUM


@bare
def euclidean_square(points, stored, width, root):
    """Fill the matrix with squared Euclidean distances, or their roots. ``points`` (d, n): one column per object.

    The terms of every pair are added one after the other, as SciPy does: the bits are the same. Cost: n^2 d / 2.
    """
    d, n = points.shape
    for left in range(0, n, 256):
        right = min(left + 256, n)
        for i in range(right):
            start = max(left, i + 1)
            row = stored[i * width + start : i * width + right]
            row[:] = 0.0
            k = 0
            while k + 4 <= d:
                a, b, c, e = points[k, i], points[k + 1, i], points[k + 2, i], points[k + 3, i]
                t, u, v, w = points[k, start:], points[k + 1, start:], points[k + 2, start:], points[k + 3, start:]
                for j in range(len(row)):
                    value = row[j] + (t[j] - a) * (t[j] - a)
                    value += (u[j] - b) * (u[j] - b)
                    value += (v[j] - c) * (v[j] - c)
                    row[j] = value + (w[j] - e) * (w[j] - e)
                k += 4
            while k < d:
                a, t = points[k, i], points[k, start:]
                for j in range(len(row)):
                    row[j] += (t[j] - a) * (t[j] - a)
                k += 1
            if root:
                for j in range(len(row)):
                    row[j] = np.sqrt(row[j])
    for start in range(0, n, STRIP):
        mirror_rows(stored, width, start, min(start + STRIP, n))


@bare
def mirror_rows(stored, width, start, stop):
    """Copy into rows ``start`` to ``stop`` of a square matrix what stands in their columns, above the diagonal.

    In squares of four by four, which become a few vector instructions; ``start`` is a multiple of four.
    """
    whole = start + (stop - start) // 4 * 4
    for left in range(0, start, 4):
        for top in range(start, whole, 4):
            at = left * width + top
            a, b, at = stored[at : at + 4], stored[at + width : at + width + 4], at + 2 * width
            c, d = stored[at : at + 4], stored[at + width : at + width + 4]
            for k in range(4):
                to = (top + k) * width + left
                stored[to], stored[to + 1], stored[to + 2], stored[to + 3] = a[k], b[k], c[k], d[k]
    for i in range(start, stop):
        for j in range(start if i < whole else 0, i):
            stored[i * width + j] = stored[j * width + i]
