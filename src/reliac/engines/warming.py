"""Loading the compiled code of engines before anyone waits for it: compiled, where an environment has none yet."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.criteria import CRITERIA
from ..errors import known_name
from ..input.edges import make_graph
from ..input.problem import Problem, make_problem
from ..machine import n_threads
from .choice import ENGINES, get_engine
from .compiled.ready import ready, writable_folder

#: Objects that are clustered, in a plane: too few to take time.
OBJECTS = 30

#: Engines that a second process compiles: they have the least in common with the others.
IN_SECOND_PROCESS = ("spanning", "graph")


class LoadedEngine(NamedTuple):
    """The compiled code of one engine: how many functions had to be compiled, and how long it took to have them."""

    engine: str
    functions: int
    seconds: float


class Warmup(NamedTuple):
    """What :func:`reliac.warmup` did."""

    engines: tuple[LoadedEngine, ...]
    seconds: float
    folder: str | None  # where compiled code is kept; None: nowhere

    def __str__(self) -> str:
        """Return a line for every engine, and one for all."""
        lines = [f"{one.engine:<9}{_told(one.functions):<24}{one.seconds:6.1f} s" for one in self.engines]
        where = "not kept: no folder can be written" if self.folder is None else f"kept in {self.folder}"
        return "\n".join([*lines, f"in all {self.seconds:.1f} s, {where}"])


def _told(functions: int) -> str:
    return f"{functions} functions compiled" if functions else "loaded"


def warm_up(names: Iterable[str] | None = None, n_jobs: int | None = None) -> Warmup:
    """Load the compiled code of some engines, or of all; with several cores a second process compiles half of them."""
    given: Any = list(ENGINES) if names is None else names
    several = isinstance(given, Iterable) and not isinstance(given, (str, bytes))
    wanted = [known_name("engine", name, ENGINES) for name in (given if several else [given])]
    started = time.monotonic()
    missing = [name for name in wanted if _problem_for(name) is not None and not ready(name)]
    alone = writable_folder() is None or n_threads(n_jobs) < 2
    other = [] if alone else [name for name in missing if name in IN_SECOND_PROCESS]
    mine = [name for name in missing if name not in other]
    helper = _start(other) if other else None
    try:
        done = {name: loaded for name in mine if (loaded := _load(name))}
        if helper is not None:
            done |= _finish(helper)
    finally:
        if helper is not None:
            helper.kill()
            helper.wait()
    for name in wanted:  # what another process compiled, and what was there, is loaded here
        loaded = _load(name)
        if loaded is not None and name not in done:
            done[name] = loaded
    folder = writable_folder()
    engines = tuple(done[name] for name in wanted if name in done)
    return Warmup(engines, time.monotonic() - started, None if folder is None else str(folder))


def _load(name: str) -> LoadedEngine | None:
    """Run an engine on a few objects, for which it loads all its code; None if it has no compiled code."""
    problem = _problem_for(name)
    if problem is None:
        return None
    started, engine = time.monotonic(), get_engine(name)
    from .compiled.loading import count_compiled, is_loaded

    before = count_compiled()
    for _ in engine(problem, 1).levels(0):
        pass
    getattr(engine, "load_all", lambda _: None)(problem)  # what this problem does not need, but others do
    return LoadedEngine(name, count_compiled() - before, time.monotonic() - started) if is_loaded(name) else None


def _problem_for(name: str) -> Problem | None:
    """Return a small problem that an engine can do: of points, or of a graph; None if there is none."""
    points, ring = np.random.default_rng(0).random((OBJECTS, 2)), np.arange(OBJECTS)
    graph = make_graph(np.column_stack((ring, np.roll(ring, 1), ring + 1.0)))
    engine = get_engine(name)
    for criterion in CRITERIA.values():
        problems = [make_problem(points, criterion.name, metric="sqeuclidean")]
        if not criterion.geometric:
            problems.append(make_problem(graph, criterion.name, metric="precomputed"))
        for problem in problems:
            if engine.refuses(problem) is None:
                return problem
    return None


# --- the second process ---


def _start(names: Sequence[str]) -> subprocess.Popen[str]:
    code = f"import sys; sys.path[:] = {sys.path!r}; from reliac.engines.warming import tell; tell({list(names)!r})"
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8"
    )


def _finish(helper: subprocess.Popen[str]) -> dict[str, LoadedEngine]:
    """Wait for the other process; whatever it could not do is done here afterwards."""
    out = helper.communicate()[0] or ""
    return {fields[0]: LoadedEngine(*fields) for fields in map(json.loads, out.splitlines())}


def tell(names: Sequence[str]) -> None:
    """Load some engines and print what was done, a line for each: what the second process does."""
    for name in names:
        loaded = _load(name)
        if loaded is not None:
            print(json.dumps(loaded), flush=True)
