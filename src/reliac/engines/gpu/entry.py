"""The engine named gpu: by moments of clusters or by a spanning tree, as the criterion asks."""

from __future__ import annotations

import numpy as np

from ...algorithm.contract import Engine
from ...input.problem import Problem
from .engine import GpuEngine
from .loading import load_all
from .spanning import GpuSpanningEngine


def engine_for(problem: Problem) -> type[GpuEngine | GpuSpanningEngine]:
    """Return the class that does a problem: single goes by a spanning tree."""
    return GpuSpanningEngine if problem.criterion.reduction is np.minimum else GpuEngine


class GpuEntry:
    """Stands in the registry for both; what is made of it is one of them."""

    name = "gpu"
    costly_to_ask = True  # whether there is a device is known only once torch is imported
    reads_device = True  # whether it takes rows that are on a device already

    def __new__(cls, problem: Problem, n_jobs: int | None = None) -> Engine:  # type: ignore[misc]
        """Make the engine of the problem."""
        return engine_for(problem)(problem, n_jobs)

    @staticmethod
    def load_all(problem: Problem) -> None:
        """Load what any problem may need."""
        load_all(problem)

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say what the engine of the problem says."""
        return engine_for(problem).refuses(problem)

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Tell whether it is worth starting a device."""
        return engine_for(problem).suits(problem)

    @staticmethod
    def memory(problem: Problem) -> int:
        """Estimate what the host needs."""
        return engine_for(problem).memory(problem)
