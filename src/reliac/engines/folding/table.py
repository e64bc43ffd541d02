"""The levels that join many clusters, in C: a table of given distances is folded at every level."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Batch, Clusters, LeftToOthers
from ...algorithm.links import Links
from ...errors import InvariantError
from ...input.problem import Problem
from ...native.library import address, library
from ..small.at_once import meaning_of

#: As few clusters as this are left to others ...
FEW = 256

#: ... and tables that would be folded, but have lost fewer than one in so many clusters.
THIN = 16

#: Entries that the list of a cluster is cut to. Longer lists last for more levels, which pays where a table takes long
#: to fold: with 63 instead of 31, 20,000 objects take a tenth less time, and 6,000 a quarter more.
LENGTH, LENGTH_OF_MANY = 23, 63

#: From so many objects on lists are long.
MANY = 10_000

#: Fewer objects than this are done sooner by one thread than threads are started.
WORTH_THREADS = 1000

#: New links are looked for so often, in seconds.
BETWEEN_LOOKS = 0.1

#: Why the work ends, as ``native/folding.h`` has it.
GOING, FINISHED, THIN_LEVEL, MET_TIES, WITHOUT_MEMORY = range(5)


def length_of_list(n: int) -> int:
    """Return the number of entries that a list is cut to."""
    return LENGTH if n < MANY else LENGTH_OF_MANY


def bytes_of_list(n: int) -> int:
    """Return what a list takes: it has room for twice as many entries of 16 bytes, and two more."""
    return 2 * (length_of_list(n) + 1) * 16


class Folding:
    """Levels under way.

    C code reads and writes memory of its own, and arrays of this object. Who leaves last lets that memory go: the
    caller at the end of its ``with`` block, or one of the threads. After Ctrl-C a thread may still be at work when the
    caller leaves.
    """

    def __init__(self, problem: Problem, given: NDArray[Any], largest: float, threads: int) -> None:
        self.problem, self.given = problem, given  # C code reads it
        n, stop, row = problem.n_objects, problem.stop, problem.criterion
        self.threads = min(threads, library().reliac_most_threads()) if n >= WORTH_THREADS else 1
        self.links, self.distance = np.empty((3, n), np.int64), np.empty(n)
        self.end = GOING
        self.level = self.told = 0
        self.ends: list[int] = []  # of threads that are done
        self.done = threading.Semaphore(0)
        self.lock, self.holders = threading.Lock(), 1
        self.at: int | None = library().reliac_folding_begin(
            *(n, address(given), given.dtype == np.float32, row.geometric, n if given.ndim == 2 else 0),
            *(*meaning_of(row), stop.n_clusters, stop.max_level, problem.longest),
            *(largest, length_of_list(n), FEW, THIN, self.threads),
            *(address(self.links), address(self.distance)),
        )
        if self.at is None:
            raise LeftToOthers(None, f"there was no room for a few numbers of each of {n} objects")

    def __enter__(self) -> Folding:
        return self

    def __exit__(self, *error: object) -> None:
        self._leave()

    def _leave(self) -> None:
        with self.lock:
            self.holders -= 1
            last = self.holders == 0
        if last:
            library().reliac_folding_end(self.at)

    def _work(self, thread: int) -> None:
        """Take part, as a thread with a number."""
        try:
            self.ends.append(library().reliac_folding_work(self.at, thread))
        finally:
            self._leave()
            self.done.release()

    def _start(self) -> int:
        """Start threads; fewer where the system refuses some. Returns how many run."""
        for number in range(self.threads):
            with self.lock:
                self.holders += 1  # before it runs: a thread that Ctrl-C hides from us has to leave by itself
            try:
                threading.Thread(target=self._work, args=(number,), name=f"reliac-folding-{number}").start()
            except RuntimeError:
                self._leave()
                return number
        return self.threads

    def batches(self) -> Iterator[Batch]:
        """Run levels until the work ends; hand on links as they are found."""
        running = 0
        try:
            running = self._start()
            library().reliac_folding_start(self.at, max(running, 1))
            if not running:  # then this thread does it alone
                self.holders, running = self.holders + 1, 1
                self._work(0)
            while len(self.ends) < running:
                if not self.done.acquire(timeout=BETWEEN_LOOKS):
                    yield from self._new_links()
        except BaseException:  # Ctrl-C: no further level is begun
            library().reliac_folding_stop(self.at)
            library().reliac_folding_start(self.at, 0)  # if it came before threads were told to begin
            for _ in range(running - len(self.ends)):
                self.done.acquire()
            raise
        if len(set(self.ends)) != 1:
            raise InvariantError(f"threads that fold one table ended as {sorted(self.ends)}: please report this")
        self.end = self.ends[0]
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
