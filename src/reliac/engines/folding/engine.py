"""Given distances: whole tables are folded in C while levels join many clusters; others go on from there.

Levels follow from short certified lists. When too many lists prove nothing any more, the table is written anew, much
smaller, in one pass, and lists are made again (``table.py``, ``native/folding.c``). When levels become thin a few
hundred clusters are left, most of the time, and C code for small tables does the rest. Where more are left the dense
engine goes on with the table as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...algorithm.contract import Batch, Clusters, LeftToOthers
from ...algorithm.links import Groups
from ...errors import amount
from ...input.distances import many_are_equal, side_by_side
from ...input.objects import Distances
from ...input.problem import Problem
from ...machine import free_memory, n_threads
from ...native.library import library
from ..small.at_once import levels_of_table
from .table import FINISHED, MET_TIES, THIN_LEVEL, WITHOUT_MEMORY, Folding, bytes_of_list

#: Up to so many clusters that are left go to the C code for small tables.
SMALL_TABLE = 1500

#: Why nothing was folded.
ENDS = {
    THIN_LEVEL: "few links are reliable",
    MET_TIES: "links are tied",
    WITHOUT_MEMORY: "there was no room for a table",
}


class FoldingEngine:
    """All reliable links of every level, on given distances; not single, whose links need object pairs."""

    name = "folding"

    def __init__(self, problem: Problem, n_jobs: int | None = None) -> None:
        self.problem, self.n_jobs = problem, n_jobs
        self.n_joined = 0  # groups that were joined before

    @staticmethod
    def refuses(problem: Problem) -> str | None:
        """Say what folded tables cannot tell."""
        if not isinstance(problem.objects, Distances):
            return "it folds tables of given distances"
        if problem.constraints or problem.may_end_in_forest:
            return "some links may be forbidden"
        if problem.criterion.reduction is np.minimum:
            return "it keeps no object pairs"
        if not problem.criterion.reducible:
            return "joins can come nearer to others than their parts were"
        return None if library() is not None else "the package was built without a C compiler"

    @staticmethod
    def suits(problem: Problem) -> bool:
        """Where levels join many clusters: reducible criteria, all reliable links, no ties to speak of."""
        return _not_folded(problem) is None and not many_are_equal(_given(problem).matrix)

    @staticmethod
    def memory(problem: Problem) -> int:
        """A table of 0.56 n clusters (of 0.3 to 0.67 n, measured); lists; rows of every thread."""
        n, given = problem.n_objects, _given(problem).matrix
        copied = 0 if given.flags.forc and given.flags.aligned else given.nbytes
        return int(4 * (0.56 * n) ** 2) + copied + n * (200 + bytes_of_list(n) + 100 * n_threads(None))

    def join(self, groups: Groups) -> None:
        """Make every group one cluster, to catch up with levels that were made before: left to who goes on."""
        self.n_joined += len(groups.starts)

    def levels(self, level: int) -> Iterator[Batch]:
        """Fold tables as long as that is worth it, then let others go on."""
        problem, given, why_not = self.problem, _given(self.problem), _not_folded(self.problem)
        if why_not or self.n_joined:
            raise LeftToOthers(None, why_not or "clusters were joined before")
        if problem.n_objects <= problem.stop.n_clusters:
            return
        with Folding(problem, side_by_side(given.matrix), given.largest, n_threads(self.n_jobs)) as folding:
            yield from folding.batches()
            if folding.end == FINISHED:
                return
            if folding.level == 0 or folding.end == WITHOUT_MEMORY:
                raise LeftToOthers(None, ENDS[folding.end])
            level = folding.level
            self._check_room(folding.n_left)
            found = self._small_table(folding) if folding.n_left <= SMALL_TABLE else None
            left = folding.left() if found is None else None
        yield from iter([found]) if found is not None else self._by_dense(left, level)

    def _check_room(self, clusters: int) -> None:
        """Leave it to others if the clusters that are left do not fit as a square, and once more for who goes on."""
        need = 16 * clusters**2
        if clusters > SMALL_TABLE and need > free_memory():
            raise LeftToOthers(None, f"{clusters} clusters were left, which need {amount(need)}")

    def _by_dense(self, left: Clusters | None, level: int) -> Iterator[Batch]:
        """Let the dense engine go on: it is loaded only where it is needed."""
        from ..dense.engine import DenseEngine

        return DenseEngine(self.problem, self.n_jobs, left).levels(level)

    def _small_table(self, folding: Folding) -> Batch | None:
        """Do all levels that are left at once; None if ties are too many for that."""
        left = folding.left()
        found = levels_of_table(self.problem, left.stored, left.weight, folding.level)
        if found is None:
            return None
        links = found.links
        return found._replace(links=links._replace(p=left.name[links.p], q=left.name[links.q]))


def _not_folded(problem: Problem) -> str | None:
    """Say why levels of a problem are left to others from the beginning; None if they are not."""
    if problem.alpha != 1.0 or problem.tie_tolerance:
        return "it takes all reliable links, and exact ties"
    return "it begins with objects that weigh 1" if (problem.weights != 1.0).any() else None


def _given(problem: Problem) -> Distances:
    assert isinstance(problem.objects, Distances)
    return problem.objects
