"""The smallest and the largest of many numbers: one pass, in threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..machine import in_threads
from ..native.library import address, is_plain, library
from .device_rows import DeviceRows


def extremes(numbers: NDArray[Any] | DeviceRows, threads: int) -> tuple[float, float]:
    """Return the smallest and the largest number; NaN if there is one. One pass, in runs that fit into the cache."""
    if not numbers.size:
        return 0.0, 0.0
    if isinstance(numbers, DeviceRows):
        return numbers.min(), numbers.max()
    if numbers.size <= 2**16:
        return float(numbers.min()), float(numbers.max())
    if numbers.flags.forc:
        numbers = numbers.ravel(order="K")
    if numbers.dtype == np.float64 and is_plain(numbers) and (native := library()) is not None:
        return _extremes_in_c(native, numbers, threads)
    each = numbers.size // len(numbers)
    run, share = max(1, 2**16 // each), max(1, 2**22 // each)

    def look(start: int) -> tuple[Any, Any]:
        runs = [numbers[at : at + run] for at in range(start, min(start + share, len(numbers)), run)]
        found = [(some.min(), some.max()) for some in runs]
        return np.min([low for low, _ in found]), np.max([high for _, high in found])

    found = in_threads(look, range(0, len(numbers), share), threads)
    return float(np.min([low for low, _ in found])), float(np.max([high for _, high in found]))


def _extremes_in_c(native: Any, numbers: NDArray[np.float64], threads: int) -> tuple[float, float]:
    share, last, numbers = 2**19, numbers.size, numbers.reshape(-1)

    def look(start: int) -> NDArray[np.float64]:
        found, some = np.empty(2), numbers[start : start + share]
        native.reliac_extremes(len(some), address(some), address(found))
        return found

    low, high = np.transpose(in_threads(look, range(0, last, share), threads))
    return float(low.min()), float(high.max())
