"""torch and the device that it computes on: imported when asked for; what is missing is said in words.

Other files of this room take torch from here, so that nothing imports it before an engine of this room is chosen.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import amount, how_to_install
from ...machine import free_memory, in_threads, n_threads

#: Names the device, as torch does ("cuda:1"); "cpu" runs the same code without a GPU, for tests.
VARIABLE = "RELIAC_DEVICE"

#: Numbers that one thread copies at a time on their way to the device.
PIECE = 2**22


@cache
def torch() -> Any:
    """Return torch, imported now."""
    return import_module("torch")


def why_not() -> str | None:
    """Say why there is no device to compute on; None if there is one. Imports torch if it is installed."""
    if find_spec("torch") is None:
        return f"torch is not installed ({how_to_install('gpu')})"
    name = _wanted()
    if name == "cpu" or name in _seen:
        return None
    try:
        if not torch().cuda.is_available():
            return "torch sees no CUDA device"
        torch().zeros(1, dtype=torch().float64, device=name)
    except Exception as error:  # torch has errors of many kinds here: no driver, no such device, no float64
        return _cannot_be_used(error)
    _seen.add(name)
    return None


def _cannot_be_used(error: Exception) -> str:
    return f"the device {_wanted()!r} cannot be used ({str(error).splitlines()[0]:.200})"


#: Devices that were found to be there, and to know float64; one that fails is asked again.
_seen: set[str] = set()


def forget_devices() -> None:
    """Ask devices again whether they can be used, after one of them failed."""
    _seen.clear()


def _wanted() -> str:
    return os.environ.get(VARIABLE, "") or "cuda"


def the_device() -> Any:
    """Return the device."""
    return torch().device(_wanted())


def is_gpu(device: Any) -> bool:
    """Tell whether it is more than the CPU."""
    return bool(device.type != "cpu")


#: Squared differences for each core of the CPU from which a device is sooner done, its start included.
WORTH_STARTING = 2.5e10


def worth_starting(squares: float) -> bool:
    """Tell whether there is a GPU, and so many squared differences are worth starting it."""
    return squares >= WORTH_STARTING * n_threads(None) and why_not() is None and is_gpu(the_device())


def current(device: Any) -> AbstractContextManager[Any]:
    """Let it be the device that kernels are started on: not the first one, where RELIAC_DEVICE names another."""
    context: AbstractContextManager[Any] = torch().cuda.device(device) if is_gpu(device) else nullcontext()
    return context


def free_bytes(device: Any) -> int:
    """Return how much memory of the device can be taken: what is free, and what torch holds and does not use."""
    if not is_gpu(device):
        return free_memory()
    cuda = torch().cuda
    free = cuda.mem_get_info(device)[0]
    return int(free + cuda.memory_reserved(device) - cuda.memory_allocated(device))


def no_room(needed: int) -> str | None:
    """Say that the device has too little memory for what is to be done; None if it has enough."""
    try:
        free = free_bytes(the_device())
    except RuntimeError as error:  # it was there before, and has failed since
        forget_devices()
        return _cannot_be_used(error)
    return (
        None if needed <= free else f"it needs {amount(needed)} of memory on the device, {amount(free)} are free there"
    )


@contextmanager
def exact_products() -> Iterator[None]:
    """Have float32 products computed as such, whatever the process has asked torch for: bounds rely on it."""
    before = torch().get_float32_matmul_precision()
    torch().set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch().set_float32_matmul_precision(before)


def to_device(array: NDArray[Any], device: Any, threads: int = 1) -> Any:
    """Return a copy of an array on the device, of the same type; pieces of it are copied in threads."""
    array = np.asarray(array)
    kind = torch().from_numpy(np.empty(0, array.dtype)).dtype
    out = torch().empty(array.shape, dtype=kind, device=device)
    if not array.size:
        return out
    step = max(1, PIECE * array.shape[0] // array.size)

    def copy(start: int) -> None:
        piece = np.array(array[start : start + step])  # torch takes no array that cannot be written
        out[start : start + step].copy_(torch().from_numpy(piece))

    in_threads(copy, range(0, len(array), step), threads if is_gpu(device) else 1)
    return out


def to_host(tensor: Any) -> NDArray[Any]:
    """Return a tensor as an array of its own."""
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array if is_gpu(tensor.device) else array.copy()
