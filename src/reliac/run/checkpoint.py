"""Long runs that survive a crash: the levels so far in a file, found again by the same call."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import explain
from ..files import check_target, path_of, read_bytes
from ..tree.clustertree import ClusterTree
from ..tree.storage import read_tree, save

if TYPE_CHECKING:
    from ..input.problem import Problem

#: Seconds between two writes.
INTERVAL = 30.0


class Checkpoint:
    """A tree file that carries the fingerprint of the problem it belongs to."""

    def __init__(self, path: str | os.PathLike[str], problem: Problem) -> None:
        check_target(path, "checkpoint ")
        self.path = Path(path_of(path))
        self.fingerprint = problem.fingerprint()
        self.written = time.monotonic()

    def resume(self) -> ClusterTree | None:
        """Return the levels of an earlier run, None if there are none; refuse those of another problem."""
        if not self.path.exists():
            return None
        tree, header = read_tree(read_bytes(self.path), self.path)
        if header.get("checkpoint_of") != self.fingerprint:
            raise ValueError(
                explain(
                    f"The checkpoint {self.path} belongs to other data or options",
                    "the checkpoint of the same call, or a file that does not exist yet",
                    "give another file name, or delete this file to start anew",
                )
            )
        return tree

    def due(self) -> bool:
        """Tell whether it is time to write."""
        return time.monotonic() - self.written >= INTERVAL

    def write(self, tree: ClusterTree) -> None:
        """Write the levels so far."""
        save(tree, self.path, checkpoint_of=self.fingerprint)
        self.written = time.monotonic()

    def remove(self) -> None:
        """Forget: the run is complete."""
        self.path.unlink(missing_ok=True)
