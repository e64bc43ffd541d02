"""Long runs that survive a crash: levels, and what was found for the next ones, in a file that the same call finds.

The file is a tree file, which :func:`reliac.load` reads, with further arrays: what the engine has found, and a header
that says what it is (``found/header.npy``, the others beside it).
"""

from __future__ import annotations

import io
import json
import os
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..algorithm.contract import Found
from ..errors import explain
from ..files import check_target, path_of, read_bytes, remove_leftovers, write_atomically
from ..formats.arrays import Archive
from ..tree.clustertree import ClusterTree
from ..tree.storage import read_tree, to_bytes
from .locking import Lock

if TYPE_CHECKING:
    from ..input.problem import Problem

#: What a checkpoint may be, and what to do about one that cannot be used.
MAY_BE = "the checkpoint of the same call, or a file that does not exist yet"
START_ANEW = "give another file name, or delete this file to start anew"

#: Seconds between two writes, at least ...
INTERVAL = 30.0

#: ... and so many times what the last one took: writing is a few per cent of a run, whatever its size.
TIMES_THE_COST = 30.0

#: What the engines' arrays mean; it changes when they do.
VERSION = 1

_FOLDER = "found/"
_HEADER = f"{_FOLDER}header"


class Earlier(NamedTuple):
    """What an earlier run has left."""

    tree: ClusterTree  # its levels
    found: Found  # what its engine had found, no arrays if it keeps none
    spent: tuple[float, float]  # seconds of the first search, and of the levels


class Checkpoint:
    """A file for one run at a time: inside ``with`` nobody else can use it."""

    def __init__(self, path: str | os.PathLike[str], problem: Problem) -> None:
        check_target(path, "checkpoint ")
        self.path = Path(path_of(path))
        self.fingerprint = problem.fingerprint()
        self.lock = Lock(self.path)
        self.written, self.pause = time.monotonic(), INTERVAL

    def __enter__(self) -> Checkpoint:
        self.lock.take()
        remove_leftovers(self.path)
        return self

    def __exit__(self, *_: object) -> None:
        self.lock.give_back()

    def resume(self) -> Earlier | None:
        """Return what an earlier run has left, None if there was none; refuse what belongs to another problem."""
        if not self.path.exists():
            return None
        data = read_bytes(self.path)
        tree, header = read_tree(data, self.path, "checkpoint", MAY_BE, START_ANEW)
        if header.get("checkpoint_of") != self.fingerprint:
            raise ValueError(
                explain(
                    f"The checkpoint {self.path} belongs to other data or options",
                    MAY_BE,
                    START_ANEW,
                )
            )
        try:
            return Earlier(tree, *_read_found(data, tree.engine))
        except MemoryError:
            raise
        except Exception as error:  # damaged bytes make json and NumPy raise errors of many kinds
            raise ValueError(_damaged(self.path, error)) from None

    def due(self) -> bool:
        """Tell whether it is time to write."""
        return time.monotonic() - self.written >= self.pause

    def write(self, tree: ClusterTree, found: Found, spent: tuple[float, float]) -> None:
        """Write the levels so far, and what the engine has found for the next ones."""
        started = time.monotonic()
        save(tree, self.path, found, spent, self.fingerprint)
        self.written = time.monotonic()
        self.pause = max(INTERVAL, TIMES_THE_COST * (self.written - started))

    def remove(self) -> None:
        """Forget: the run is complete."""
        self.path.unlink(missing_ok=True)


def save(tree: ClusterTree, path: Path, found: Found, spent: tuple[float, float], fingerprint: str) -> None:
    """Write a checkpoint, whole or not at all."""
    header = {"version": VERSION, "engine": tree.engine, "spent": spent, "arrays": sorted(found)}
    arrays = {_HEADER: np.array(json.dumps(header)), **{f"{_FOLDER}{name}": found[name] for name in found}}
    buffer = io.BytesIO(to_bytes(tree, checkpoint_of=fingerprint))
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_STORED) as archive:  # lists hardly shrink, and writing is waited for
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array, order="C"), allow_pickle=False)
    write_atomically(path, buffer.getbuffer())


def _read_found(data: bytes, engine: str) -> tuple[Found, tuple[float, float]]:
    """Return the arrays of the engine that made the levels; none from a file of a release that kept levels only."""
    archive, nothing = Archive(data), (0.0, 0.0)
    if _HEADER not in archive:
        return {}, nothing
    header: dict[str, Any] = json.loads(str(archive.read(_HEADER)))
    if (header["version"], header["engine"]) != (VERSION, engine):
        return {}, nothing
    first, later = map(float, header["spent"])
    return {name: archive.read(f"{_FOLDER}{name}") for name in header["arrays"]}, (first, later)


def _damaged(path: Path, error: Exception) -> str:
    return explain(
        f"The checkpoint {path} is damaged: what was found for further levels cannot be read ({error!r:.200})",
        "a checkpoint as it was written",
        "delete this file to start anew",
    )
