"""Tables that live on a device: tensors of torch, arrays of CuPy. They stay there until the host asks for rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import need

#: What DLPack calls memory that the host can read as it is: its own, and its own pinned for a device.
HOST_MEMORY = (1, 3)


def lives_on_device(data: Any) -> bool:
    """Tell whether this is an array or a tensor in the memory of a device; by DLPack, which all of them speak."""
    where = getattr(data, "__dlpack_device__", None)
    if isinstance(data, np.ndarray) or where is None:
        return False
    try:
        return int(where()[0]) not in HOST_MEMORY
    except Exception:  # each library has its own way to say that something is nowhere
        return False


class DeviceRows:
    """A table on a device with as much of an array's manner as checks need, each answered there.

    Whatever else asks for an array gets a copy on the host, made once.
    """

    def __init__(self, data: Any) -> None:
        """``data``: anything that speaks DLPack; not copied, unless its numbers are 16 bits wide."""
        torch = need("torch", "gpu")
        tensor = (data if isinstance(data, torch.Tensor) else torch.from_dlpack(data)).detach()
        self.tensor = tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor
        self.shape, self.ndim = tuple(self.tensor.shape), self.tensor.ndim
        self.dtype = torch.empty(0, dtype=self.tensor.dtype).numpy().dtype

    @cached_property
    def host(self) -> NDArray[Any]:
        """The table on the host."""
        array: NDArray[Any] = self.tensor.cpu().numpy()
        return array

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, which: Any) -> Any:
        """Return some of it on the host; nothing else is copied."""
        if isinstance(which, np.ndarray):
            torch = need("torch", "gpu")
            which = torch.from_numpy(np.array(which)).to(self.tensor.device)
        return self.tensor[which].cpu().numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return it on the host."""
        return np.array(self.host, dtype=dtype, copy=copy)

    def sum(self) -> float:
        """Return the sum of all numbers: not finite if one of them is not."""
        return float(self.tensor.double().sum() if self.dtype.kind != "f" else self.tensor.sum())

    def min(self) -> float:
        """Return the smallest number."""
        return float(self.tensor.min())

    def max(self) -> float:
        """Return the largest number."""
        return float(self.tensor.max())

    def any(self, axis: int) -> NDArray[np.bool_]:
        """Tell which rows or columns hold a number other than 0."""
        return np.asarray((self.tensor != 0).any(axis).cpu().numpy())

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return int(self.tensor.numel())
