"""What is known of an entry: how entries of one cluster are put together, and how they are counted in four bytes."""

from __future__ import annotations

import numpy as np

from ..compiled.loading import bare_inlined

#: How entries of one cluster are put together.
SMALLEST, LARGEST, SUM = range(3)

#: Stands for a count that four bytes cannot hold.
IS_LONG = np.int32(-(2**31))

#: The largest whole number of four bytes.
LARGEST_SHORT = 2**31 - 1


@bare_inlined
def count_of(short, long_count, k):
    """Return the count of place k by its four bytes: as it is if it is a whole number, else as the bits of a negative
    float32 if that is exact; all other counts are in ``long_count``, which takes memory only then.
    """
    if short >= 0:
        return np.float64(short)
    return long_count[k] if short == IS_LONG else -np.float64(np.int32(short).view(np.float32))


@bare_inlined
def put_count(counts, i, long_count, k, count):
    """Write the count of place k, never negative, into ``counts[i]``; see :func:`count_of`."""
    if count <= LARGEST_SHORT and np.float64(np.int32(count)) == count:
        counts[i] = np.int32(count)
    elif np.float64(np.float32(count)) == count:
        counts[i] = np.float32(-count).view(np.int32)
    else:
        counts[i], long_count[k] = IS_LONG, count
