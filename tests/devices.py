"""The gpu engine in tests: torch on the CPU, the same code as on a GPU; without torch its tests are skipped."""

from __future__ import annotations

import os
from importlib.util import find_spec

#: Whether torch is installed; then the engine runs on the device that RELIAC_DEVICE names, or on the CPU.
HAS_TORCH = find_spec("torch") is not None

WHY_SKIPPED = "torch is not installed: pip install its CPU build to run the tests of the gpu engine"


def choose_device() -> None:
    """Have the gpu engine compute on the CPU, unless another device is named, and leave the cores to other tests."""
    if HAS_TORCH:
        os.environ.setdefault("RELIAC_DEVICE", "cpu")
        os.environ.setdefault("OMP_NUM_THREADS", "1")
