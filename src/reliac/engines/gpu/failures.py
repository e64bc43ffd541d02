"""What can go wrong on a device, and what becomes of the run: no memory left, or the device is gone."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...algorithm.contract import NoRoom
from ...errors import DeviceLost, explain
from .device import current, the_device, torch


@contextmanager
def on_device(heir: str = "vectors") -> Iterator[None]:
    """Turn what torch raises into what a run can go on from, or keeps its levels after. ``heir``: who goes on."""
    try:
        with current(the_device()):
            yield
    except torch().OutOfMemoryError:
        torch().cuda.empty_cache()
        raise NoRoom(heir, "the device ran out of memory") from None
    except RuntimeError as error:
        if "CUDA" not in str(error) and "HIP" not in str(error):
            raise
        raise DeviceLost(
            explain(
                f"The device failed ({str(error).splitlines()[0]:.200})",
                "a device that answers until the run is done",
                f"go on with engine={heir!r}: the levels done are in the error's tree, and in the checkpoint if there "
                "is one",
            )
        ) from error


#: Rows of a batch that is not made smaller.
SMALLEST_BATCH = 1024


def in_batches(rows: Any, most: int, work: Callable[[Any], None]) -> None:
    """Do some work on rows, so many at a time; half as many, again and again, where the device has no memory for it."""
    while len(rows):
        some = rows[:most]
        try:
            work(some)
        except torch().OutOfMemoryError:
            if len(some) <= SMALLEST_BATCH:
                raise
            gc.collect()  # tensors that the caller has dropped, but that point to each other, are still there
            torch().cuda.empty_cache()
            most = len(some) // 2
        else:
            rows = rows[most:]
