"""What is known of an entry: how entries of one cluster are put together, how they are counted in four bytes, and
memory for what few of them need.
"""

from __future__ import annotations

import contextlib
import mmap
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

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


def scattered_memory(size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of zeros of which only a few numbers, here and there, will ever be written.

    Memory comes a page at a time, when it is first written. For large arrays NumPy asks for pages of 2 MiB, of which
    every second one is soon written somewhere; these are the small ones, of 4 KiB.
    """
    whole = max(1, size * np.dtype(dtype).itemsize)
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows, where all of it counts from the beginning anyway
        return np.zeros(size, dtype)
    try:
        pages = mmap.mmap(-1, whole, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:  # what NumPy says then
        raise MemoryError(f"no room for {whole} bytes") from error
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with contextlib.suppress(OSError):  # a system that has no large pages
            pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, dtype, size)
