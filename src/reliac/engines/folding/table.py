"""The levels that join many clusters, in C: a table of given distances is folded at every level."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Batch, Clusters
from ...algorithm.links import Links
from ...errors import InvariantError
from ...input.problem import Problem
from ...native.library import address, library
from ..small.at_once import meaning_of

#: As few clusters as this are left to others ...
FEW = 256

#: ... and levels that join fewer pairs than one in so many clusters.
THIN = 16

#: Fewer objects than this are done sooner by one thread than threads are started.
WORTH_THREADS = 1000

#: New links are looked for so often, in seconds.
BETWEEN_LOOKS = 0.1

#: Why the work ends, as ``native/folding.h`` has it.
GOING, FINISHED, THIN_LEVEL, MET_TIES, WITHOUT_MEMORY = range(5)


class Folding:
    """Levels under way. All memory of the C code is let go at the end of the ``with`` block."""

    def __init__(self, problem: Problem, given: NDArray[Any], threads: int) -> None:
        self.problem, self.given = problem, given  # C code reads it
        n, stop, row = problem.n_objects, problem.stop, problem.criterion
        self.threads = threads if n >= WORTH_THREADS else 1
        self.links, self.distance = np.empty((3, n), np.int64), np.empty(n)
        self.end = GOING
        self.level = self.told = 0
        self.at: int | None = library().reliac_folding_begin(
            *(n, address(given), given.dtype == np.float32, row.geometric, n if given.ndim == 2 else 0),
            *(*meaning_of(row), stop.n_clusters, stop.max_level, problem.longest),
            *(FEW, THIN, self.threads, address(self.links), address(self.distance)),
        )
        if self.at is None:
            raise MemoryError(f"no room for a few numbers of each of {n} objects")

    def __enter__(self) -> Folding:
        return self

    def __exit__(self, *error: object) -> None:
        library().reliac_folding_end(self.at)
        self.at = None

    def batches(self) -> Iterator[Batch]:
        """Run levels until the work ends; hand on links as they are found."""
        ends: list[int] = []
        running: list[threading.Thread] = []
        try:
            _start(running, lambda thread: ends.append(library().reliac_folding_work(self.at, thread)), self.threads)
            library().reliac_folding_start(self.at, len(running))
            while running[0].is_alive():
                running[0].join(BETWEEN_LOOKS)
                yield from self._new_links()
        except BaseException:  # Ctrl-C: no further level is begun, and memory is let go when threads are done
            library().reliac_folding_stop(self.at)
            library().reliac_folding_start(self.at, len(running))  # in case that it came before
            raise
        finally:
            for thread in running:
                thread.join()
        if len(set(ends)) != 1:
            raise InvariantError(f"threads that fold one table ended as {sorted(ends)}: please report this")
        self.end = ends[0]
        if self.end == WITHOUT_MEMORY:
            raise MemoryError(f"no room to fold the distances of {self.problem.n_objects} objects")
        yield from self._new_links()

    def _new_links(self) -> Iterator[Batch]:
        new = slice(self.told, library().reliac_folding_count(self.at))
        self.told = new.stop
        if new.stop > new.start:
            level, p, q = self.links[:, new]
            self.level = int(level[-1])
            yield Batch(level, Links(p, q, self.distance[new]), None)

    @property
    def n_left(self) -> int:
        """The number of clusters that are left."""
        return int(library().reliac_folding_left(self.at, None, None, None))

    def left(self) -> Clusters:
        """Return what others go on with; not if no level was made."""
        m = self.n_left
        left = Clusters(np.empty((m, m)), np.empty(m), np.empty(m, np.int64))
        library().reliac_folding_left(self.at, *map(address, left))
        return left


def _start(running: list[threading.Thread], work: Callable[[int], None], count: int) -> None:
    """Start threads, which get their numbers; fewer where the system refuses some, but at least one."""
    for number in range(count):
        thread = threading.Thread(target=work, args=(number,), name=f"reliac-folding-{number}")
        try:
            thread.start()
        except RuntimeError:
            if not running:
                raise
            return
        running.append(thread)
