"""What can go wrong on a device, and what becomes of the run: no memory left, or the device is gone."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from ...algorithm.contract import NoRoom
from ...errors import DeviceLost, explain
from .device import current, forget_devices, the_device, torch


class OnDevice:
    """Turns what torch raises into what a run can go on from, or keeps its levels after.

    A class and not a generator: from Python 3.12 on, the frame of a generator that another error leaves would hold on
    to the tensors of the run until the next collection.
    """

    def __init__(self, heir: str = "vectors") -> None:
        self.heir = heir  # the engine that goes on
        self.current: AbstractContextManager[Any] | None = None

    def __enter__(self) -> None:
        try:
            self.current = current(the_device())
            self.current.__enter__()
        except RuntimeError as error:
            self._translate(error)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self.current is not None
        try:
            self.current.__exit__(kind, error, traceback)
        except RuntimeError as gone:  # a device that failed may not even be left
            if error is None:
                self._translate(gone)
                raise
        self._translate(error)

    def _translate(self, error: BaseException | None) -> None:
        """Raise what a run understands, if the error is the device's."""
        if isinstance(error, torch().OutOfMemoryError):
            torch().cuda.empty_cache()
            raise NoRoom(self.heir, "the device ran out of memory") from None
        if isinstance(error, RuntimeError) and ("CUDA" in str(error) or "HIP" in str(error)):
            forget_devices()
            raise DeviceLost(
                explain(
                    f"The device failed ({str(error).splitlines()[0]:.200})",
                    "a device that answers until the run is done",
                    f"go on with engine={self.heir!r}: the levels done are in the error's tree, and in the checkpoint "
                    "if there is one",
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
