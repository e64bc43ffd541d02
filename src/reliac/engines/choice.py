"""The registry of engines, and the choice between them: which one, why, and whether it fits into memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import NamedTuple

import numpy as np

from ..algorithm.contract import Engine
from ..algorithm.criteria import CRITERIA, MeanForm
from ..errors import DoesNotFit, amount, explain, option, too_large, unknown_name
from ..input.metrics import EUCLIDEAN, metric_name
from ..input.objects import Vectors
from ..input.problem import Problem
from ..machine import free_memory
from .small.at_once import BYTES_OF_A_PAIR

#: name -> where the class lives; imported only when chosen. ``auto`` tries them from the last to the first.
ENGINES: dict[str, tuple[str, str]] = {
    "literal": ("reliac.engines.literal", "LiteralEngine"),
    "small": ("reliac.engines.small.engine", "SmallEngine"),
    "disk": ("reliac.engines.matrix.disk", "DiskEngine"),
    "matrix": ("reliac.engines.matrix.engine", "MatrixEngine"),
    "vectors": ("reliac.engines.vectors.engine", "VectorsEngine"),
    "spatial": ("reliac.engines.vectors.spatial", "SpatialEngine"),
    "dense": ("reliac.engines.dense.engine", "DenseEngine"),
    "folding": ("reliac.engines.folding.engine", "FoldingEngine"),
    "spanning": ("reliac.engines.spanning.engine", "SpanningEngine"),
    "graph": ("reliac.engines.graph.engine", "GraphEngine"),
    "gpu": ("reliac.engines.gpu.entry", "GpuEntry"),
}

#: Up to so many objects NumPy and SciPy are done before compiled code is loaded, which takes half a second.
NOT_WORTH_LOADING = 1500

#: With constraints only the literal engine is there without loading, which is slower: up to so many objects.
NOT_WORTH_LOADING_FOR_LITERAL = 500

#: Less memory than this is taken to be free, without asking the system.
LITTLE = 2**26


#: The reason for an engine that the user named.
ASKED = "asked for"


class Choice(NamedTuple):
    """An engine and why it was chosen."""

    engine: type[Engine]
    reason: str


def get_engine(name: object) -> type[Engine]:
    """Return an engine's class by name."""
    if not isinstance(name, str) or name not in ENGINES:
        raise ValueError(unknown_name("engine", name, [*ENGINES, "auto"]))
    return _loaded(name)


@cache
def _loaded(name: str) -> type[Engine]:
    module, attribute = ENGINES[name]
    engine: type[Engine] = getattr(import_module(module), attribute)
    return engine


def may_be_done_at_once(n: int) -> bool:
    """Tell whether objects are so few that nothing else would be chosen, in memory that is taken to be free."""
    return 2 < n <= NOT_WORTH_LOADING and BYTES_OF_A_PAIR * n**2 <= LITTLE


def done_at_once(n: int) -> Choice:
    """Return the choice for so few objects that nothing else would be chosen, and that fit anywhere."""
    return Choice(get_engine("small"), _few(n))


def _few(n: int) -> str:
    return f"{n} objects: few enough to be done at once"


def choose(problem: Problem, engine: str = "auto", without: str | None = None) -> Choice:
    """Choose an engine for the problem, or take the named one; refuse at once what cannot fit into memory.

    ``without``: an engine that has given up.
    """
    if engine != "auto":
        return _asked_for(problem, get_engine(engine))
    n = problem.n_objects
    plain = next((name for name in ("small", "literal") if _refusal(problem, get_engine(name)) is None), None)
    few = NOT_WORTH_LOADING_FOR_LITERAL if problem.constraints else NOT_WORTH_LOADING
    if n <= few and plain is not None:
        return _asked_for(problem, get_engine(plain), _few(n))
    passed_over: list[str] = []
    least = math.inf  # bytes that an engine would need
    for name in (name for name in reversed(ENGINES) if name != without):
        candidate = get_engine(name)
        asked_first = getattr(candidate, "costly_to_ask", False)  # such engines know of any problem whether they suit
        why_not = None if asked_first and not candidate.suits(problem) else _refusal(problem, candidate)
        if why_not is None and not candidate.suits(problem):
            why_not = "it would be slower"
        memory = 0 if why_not else candidate.memory(problem)
        if memory > LITTLE and memory > (free := free_memory()):
            least, why_not = min(least, memory), f"it needs {amount(memory)}, {amount(free)} are free"
        if why_not is None:
            reason = f"{n} objects, about {amount(memory)}"
            return Choice(candidate, "; ".join([reason, *passed_over[-1:]]))
        passed_over.append(f"not {name}: {why_not}")
    raise _does_not_fit(problem, least, passed_over)


def relief(problem: Problem) -> Choice:
    """Choose who goes on where ties have overwhelmed an engine: one that does without lists of them, if it fits."""
    dense = get_engine("dense")
    if _refusal(problem, dense) is None and dense.memory(problem) < free_memory():
        return _asked_for(problem, dense)
    return _asked_for(problem, get_engine("literal"))


def _refusal(problem: Problem, engine: type[Engine]) -> str | None:
    """Say why an engine cannot do the problem: this kind of objects, or what it says itself; None if it can."""
    able = problem.objects.engines
    if able is not None and engine.name not in able:
        return f"it cannot work on {problem.objects.called}"
    return engine.refuses(problem)


def _asked_for(problem: Problem, engine: type[Engine], reason: str = ASKED) -> Choice:
    why_not = _refusal(problem, engine)
    if why_not:
        others = [name for name in ENGINES if _refusal(problem, get_engine(name)) is None]
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
        raise _does_not_fit(
            problem, memory, [f"the {engine.name} engine: {reason}"], engine if reason == ASKED else None
        )
    return Choice(engine, reason)


# --- what does not fit ---


def _does_not_fit(problem: Problem, memory: float, details: list[str], asked: type[Engine] | None = None) -> DoesNotFit:
    """Tell that a problem needs more memory than is free, and the change to it that fits and changes least."""
    free = free_memory()
    what = f"{problem.criterion.name} of {metric_name(problem.metric)!r} distances of {problem.n_objects} objects"
    what = f"The {asked.name} engine, for {what}," if asked else what.capitalize()
    step = problem.objects.how_to_fit
    if asked and _fits(problem, free):
        step = f"use {option('engine', 'auto')}: another engine does this in the memory there is"
    else:
        step = next((words for words, other in _other_problems(problem) if _fits(other, free)), step)
    return DoesNotFit(too_large(what, memory, free, step), "\n".join(details))


def _fits(problem: Problem, free: int) -> bool:
    """Tell whether some engine can do a problem in so much memory."""
    engines = map(get_engine, ENGINES)
    return any(_refusal(problem, one) is None and one.memory(problem) <= free for one in engines)


def _other_problems(problem: Problem) -> Iterator[tuple[str, Problem]]:
    """Go through problems that need less memory and are near to this one, with the words that say what to change."""
    if problem.constraints:
        yield (
            "leave the constraints out: engines that need less memory cannot do them",
            replace(problem, constraints=None),
        )
    if not isinstance(problem.objects, Vectors):
        return
    if problem.objects.rows.dtype == np.float32 and problem.objects.matrix_type != np.float32:
        halved = replace(problem.objects, matrix_type=np.dtype(np.float32))
        yield f"use {option('precision', 'float32')}, which halves the matrix", replace(problem, objects=halved)
    squares = replace(problem, metric=EUCLIDEAN[0])
    words = f"{option('metric', EUCLIDEAN[0])} or {option('metric', 'cosine')}, which need no matrix"
    yield f"use {words}", squares
    mean = next(row for row in CRITERIA.values() if row.mean_form is MeanForm.SPREADS)
    yield f"use {option('criterion', mean.name)} with {words}", replace(squares, criterion=mean)
