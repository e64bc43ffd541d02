"""Is compiled code on the machine, and does it belong to the sources as they are now? Asked without importing Numba.

Numba keeps compiled functions in a folder and looks, before it uses one, whether the file that defines the function
has changed. It does not see that a function which was compiled into it, from another file, has changed. So every folder
of its cache gets a file of ours that holds a stamp of all sources of kernels: where it is another one, what lies
in the folder is deleted and compiled anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
from functools import cache
from pathlib import Path

from ...files import cache_folder, write_atomically

#: The package, and those of its folders and files whose functions are compiled.
PACKAGE = Path(__file__).parents[2]
SOURCES = ("engines", "algorithm", "input")

#: The file of ours in a folder of Numba's cache.
STAMP = "reliac.stamp"


@cache
def stamp() -> str:
    """Return a hash that changes when a source of kernels does: of the names and contents of all these files."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in SOURCES for path in (PACKAGE / folder).rglob("*.py")):
        digest.update(str(path).encode() + path.read_bytes())
    return digest.hexdigest()


def renew(folder: str) -> None:
    """Delete what was compiled from other sources out of a folder of Numba's cache."""
    mark = Path(folder) / STAMP
    with contextlib.suppress(OSError):
        if mark.exists() and mark.read_text() == stamp():
            return
        for kept in Path(folder).glob("*.nb[ic]"):  # Numba's files: indices and compiled functions
            kept.unlink(missing_ok=True)
        write_atomically(mark, stamp())


def ready(engine: str) -> bool:
    """Tell whether the machine had the compiled code of an engine when this process began: then loading it is quick."""
    return bool(_NOTES_AT_START) and _note(engine).name in _NOTES_AT_START


def note_ready(engine: str) -> None:
    """Note that the compiled code of an engine is kept on this machine."""
    with contextlib.suppress(OSError, RuntimeError):
        note = _note(engine)
        if not note.exists():
            note.parent.mkdir(parents=True, exist_ok=True)
            note.touch()


def _note(engine: str) -> Path:
    """Return the empty file that says so; its name holds all that compiled code depends on."""
    place = os.environ.get("NUMBA_CACHE_DIR", "")
    facts = (stamp(), sys.version, _numba_version(), platform.node(), platform.machine(), place)
    return cache_folder() / "compiled" / f"{engine}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:24]}"


@cache
def _numba_version() -> str:
    from importlib.metadata import version

    return version("numba")


def _notes() -> frozenset[str]:
    """Return the names of all notes on this machine."""
    with contextlib.suppress(OSError, RuntimeError):  # a home that cannot be found or read has no notes
        return frozenset(os.listdir(cache_folder() / "compiled"))
    return frozenset()


#: Read once: what a process compiles later must not change which engines it chooses.
_NOTES_AT_START = _notes()
