"""What the search for edges has found so far: arrays that are filled block by block, and that a file can keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Found
from .forest import Edges, Twins


class Findings:
    """Arrays by name, and for each step which of its blocks are done. ``tell`` hears the share of the whole search."""

    def __init__(self, tell: Callable[[float], None] = lambda share: None) -> None:
        self.arrays: Found = {}
        self.tell = tell

    def room(self, name: str, shape: tuple[int, ...], kind: Any, empty: Any) -> NDArray[Any]:
        """Return the array of that name: as an earlier run left it, or a new one."""
        found = self.arrays.get(name)
        if found is None or found.shape != shape or found.dtype != np.dtype(kind):
            found = self.arrays[name] = np.full(shape, empty, kind)
        return found

    def in_blocks(
        self,
        step: str,
        pool: Executor,
        work: Callable[[Any], Any],
        blocks: Sequence[Any],
        shares: tuple[float, float],
        then: Callable[[Any], None] = lambda result: None,
    ) -> None:
        """Do a step, block by block, in threads; blocks that an earlier run has done are left out.

        ``shares``: of the whole search, before and after this step. ``then`` takes the results in this thread.
        """
        done = self.room(f"{step} done", (len(blocks),), np.bool_, False)
        left = np.flatnonzero(~done).tolist()
        with closing(pool.map(lambda k: work(blocks[k]), left)) as results:  # type: ignore[type-var]
            for k, result in zip(left, results, strict=True):
                then(result)
                done[k] = True
                self.tell(shares[0] + (shares[1] - shares[0]) * float(np.count_nonzero(done)) / len(done))

    # --- all edges ---

    def note(self, edges: Edges, twins: Twins | None) -> None:
        """Keep the edges alone: all is found."""
        self.arrays = edges._asdict()
        if twins is not None:
            self.arrays |= {"twins": twins.first, "twins' distance": np.array(twins.distance)}

    def all_edges(self, search: Callable[[], tuple[Edges, Twins | None]]) -> tuple[Edges, Twins | None]:
        """Return the edges: those noted, or what a search finds."""
        known = self.noted()
        if known is None:
            known = search()
            self.note(*known)
        return known

    def noted(self) -> tuple[Edges, Twins | None] | None:
        """Return the edges, if all of them were found."""
        if "copies" not in self.arrays:
            return None
        twins = None
        if "twins" in self.arrays:
            twins = Twins(self.arrays["twins"], float(self.arrays["twins' distance"]))
        return Edges(*(self.arrays[name] for name in Edges._fields)), twins
