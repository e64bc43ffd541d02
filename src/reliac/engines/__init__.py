"""The registry of engines, and the choice between them: which one, why, and whether it fits into memory."""

from __future__ import annotations

import contextlib
import os
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ..errors import explain, unknown_name
from ..problem import Problem
from .base import Engine

#: name -> where the class lives; imported only when chosen.
ENGINES: dict[str, tuple[str, str]] = {
    "literal": ("reliac.engines.literal", "LiteralEngine"),
    "matrix": ("reliac.engines.matrix", "MatrixEngine"),
    "vectors": ("reliac.engines.vectors", "VectorsEngine"),
}


class Choice(NamedTuple):
    """An engine, why it was chosen, and the bytes it will need."""

    engine: type[Engine]
    reason: str
    memory: int


def get_engine(name: str) -> type[Engine]:
    """Return an engine's class by name."""
    if name not in ENGINES:
        raise ValueError(unknown_name("engine", name, [*ENGINES, "auto"]))
    module, attribute = ENGINES[name]
    engine: type[Engine] = getattr(import_module(module), attribute)
    return engine


def choose(problem: Problem, engine: str = "auto") -> Choice:
    """Choose an engine for the problem, or take the named one; refuse at once what cannot fit into memory."""
    name, reason = engine, "asked for"
    if engine == "auto":
        name, reason = "literal", f"{problem.n_objects} objects: one matrix of all distances"
    chosen = get_engine(name)
    memory = chosen.memory(problem)
    free = free_memory()
    if memory > free:
        raise MemoryError(
            explain(
                f"The {name} engine needs about {memory / 2**30:.1f} GiB for {problem.n_objects} objects, and "
                f"{free / 2**30:.1f} GiB are free",
                f"up to about {int(problem.n_objects * (free / memory) ** 0.5)} objects here",
                "cluster a sample of the rows, or use a machine with more memory",
            )
        )
    return Choice(chosen, reason, memory)


def free_memory() -> int:
    """Return the bytes that can be allocated without swapping, as far as the system and its container tell."""
    free = 2**63 - 1
    with contextlib.suppress(AttributeError, OSError, ValueError):
        free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo") as lines:
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    with contextlib.suppress(OSError, ValueError):  # "max" where a container sets no limit
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        free = min(free, limit - int(Path("/sys/fs/cgroup/memory.current").read_text()))
    return free
