"""The registry of engines, and the choice between them: which one, why, and whether it fits into memory."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from ..algorithm.contract import Engine
from ..errors import explain, option, unknown_name
from ..input.problem import Problem
from ..machine import free_memory

#: name -> where the class lives; imported only when chosen. ``auto`` tries them from the last to the first.
ENGINES: dict[str, tuple[str, str]] = {
    "literal": ("reliac.engines.literal", "LiteralEngine"),
    "small": ("reliac.engines.small.engine", "SmallEngine"),
    "disk": ("reliac.engines.matrix.disk", "DiskEngine"),
    "matrix": ("reliac.engines.matrix.engine", "MatrixEngine"),
    "vectors": ("reliac.engines.vectors.engine", "VectorsEngine"),
    "spatial": ("reliac.engines.vectors.spatial", "SpatialEngine"),
    "dense": ("reliac.engines.dense.engine", "DenseEngine"),
    "spanning": ("reliac.engines.spanning.engine", "SpanningEngine"),
}

#: Up to so many objects NumPy and SciPy are done before compiled code is loaded, which takes half a second.
NOT_WORTH_LOADING = 1500

#: Less memory than this is taken to be free, without asking the system.
LITTLE = 2**26


class Choice(NamedTuple):
    """An engine and why it was chosen."""

    engine: type[Engine]
    reason: str


def get_engine(name: object) -> type[Engine]:
    """Return an engine's class by name."""
    if not isinstance(name, str) or name not in ENGINES:
        raise ValueError(unknown_name("engine", name, [*ENGINES, "auto"]))
    module, attribute = ENGINES[name]
    engine: type[Engine] = getattr(import_module(module), attribute)
    return engine


def choose(problem: Problem, engine: str = "auto") -> Choice:
    """Choose an engine for the problem, or take the named one; refuse at once what cannot fit into memory."""
    if engine != "auto":
        return _asked_for(problem, get_engine(engine))
    n = problem.n_objects
    if n <= NOT_WORTH_LOADING:
        small = get_engine("small")
        plain = get_engine("literal") if small.refuses(problem) else small
        return _asked_for(problem, plain, f"{n} objects: done before compiled code is loaded")
    passed_over: list[str] = []
    for name in reversed(ENGINES):
        candidate = get_engine(name)
        why_not = candidate.refuses(problem)
        if why_not is None and not candidate.suits(problem):
            why_not = "it would be slower"
        memory = 0 if why_not else candidate.memory(problem)
        if memory > LITTLE and memory > (free := free_memory()):
            why_not = f"it needs {_gib(memory)}, {_gib(free)} are free"
        if why_not is None:
            reason = f"{n} objects, about {_gib(memory)}"
            return Choice(candidate, "; ".join([reason, *passed_over[-1:]]))
        passed_over.append(f"not {name}: {why_not}")
    raise MemoryError(
        explain(
            f"{n} objects fit into no engine ({'; '.join(passed_over)})",
            f"what needs less than the {_gib(free_memory())} that are free",
            problem.objects.how_to_fit,
        )
    )


def relief(problem: Problem) -> Choice:
    """Choose who goes on where ties have overwhelmed an engine: one that does without lists of them, if it fits."""
    dense = get_engine("dense")
    if problem.alpha == 0.0 and dense.refuses(problem) is None and dense.memory(problem) < free_memory():
        return _asked_for(problem, dense)
    return _asked_for(problem, get_engine("literal"))


def _asked_for(problem: Problem, engine: type[Engine], reason: str = "asked for") -> Choice:
    why_not = engine.refuses(problem)
    if why_not:
        others = [name for name in ENGINES if get_engine(name).refuses(problem) is None]
        raise ValueError(
            explain(
                f"The {engine.name} engine cannot do this: {why_not}",
                f"engines {', '.join(others)}",
                f"use {option('engine', 'auto')}",
            )
        )
    memory = engine.memory(problem)
    free = free_memory() if memory > LITTLE else LITTLE
    if memory > free:
        raise MemoryError(
            explain(
                f"The {engine.name} engine needs about {_gib(memory)} for {problem.n_objects} objects, "
                f"and {_gib(free)} are free",
                f"up to about {int(problem.n_objects * (free / memory) ** 0.5)} objects here",
                problem.objects.how_to_fit,
            )
        )
    return Choice(engine, reason)


def _gib(size: float) -> str:
    return f"{size / 2**30:.1f} GiB"
