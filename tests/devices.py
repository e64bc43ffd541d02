"""The gpu engine in tests: torch on the CPU, the same code as on a GPU; without torch its tests are skipped."""

from __future__ import annotations

import os
from importlib.util import find_spec

import reliac.engines.gpu.engine as engine

#: Whether torch is installed; then the engine runs on the device that RELIAC_DEVICE names, or on the CPU.
HAS_TORCH = find_spec("torch") is not None

WHY_SKIPPED = "torch is not installed: pip install its CPU build to run the tests of the gpu engine"


#: Squared differences from which a device is used, when no test asks for more.
ENOUGH = engine.WORTH_USING


def choose_device() -> None:
    """Have the gpu engine compute on the CPU, unless another device is named, and leave the cores to other tests.

    It is used for the few objects of tests too: what is tested is that code.
    """
    if HAS_TORCH:
        engine.WORTH_USING = 0
        os.environ.setdefault("RELIAC_DEVICE", "cpu")
        os.environ.setdefault("OMP_NUM_THREADS", "1")
