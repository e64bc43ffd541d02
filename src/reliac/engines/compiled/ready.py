"""Where compiled code is kept, and whether an engine's code is there already. Asked without importing Numba.

There are several places for compiled code: those that RELIAC_CACHE and NUMBA_CACHE_DIR name, and if neither is set the
installed package itself and the user's folder of caches. All of them are read; what is compiled is written to the
first that can be written. So code that was compiled by someone who may write to the installation (``reliac warmup``
while a container is built) serves everybody, and where nothing can be written everything still runs.

In a place, code lies in a folder whose name is a hash of all that it depends on: the sources of all kernels, Python,
Numba and the processor. Other sources have another folder, so nothing there is ever out of date, and processes that
compile at the same time write the same files.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ...files import cache_folder
from ...machine import processor

#: The package, and those of its folders and files whose functions are compiled.
PACKAGE = Path(__file__).parents[2]
SOURCES = ("engines", "algorithm", "input")

#: Variables that name a place for compiled code.
NAMING = ("RELIAC_CACHE", "NUMBA_CACHE_DIR")

#: Settings that change what Numba makes of a function.
SETTINGS = (
    *("RELIAC_PLAIN_NUMBA", "NUMBA_OPT", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX", "NUMBA_DEBUGINFO"),
    *("NUMBA_BOUNDSCHECK", "NUMBA_LOOP_VECTORIZE", "NUMBA_SLP_VECTORIZE", "NUMBA_DISABLE_INTEL_SVML"),
)

#: Folders of other sources that are left in a place when a new one is made: other versions of Python, other branches.
OTHERS_KEPT = 3


def kept_at_all() -> bool:
    """Tell whether compiled code is kept on disk and read from there; ``RELIAC_KEEP_COMPILED=0`` says no."""
    return os.environ.get("RELIAC_KEEP_COMPILED", "1") != "0"


def places() -> Iterator[Path]:
    """Give the places for compiled code, the first choice first."""
    if not kept_at_all():
        return
    if os.environ.get("RELIAC_CACHE"):
        yield cache_folder() / "compiled"
    if os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(os.environ["NUMBA_CACHE_DIR"]).expanduser() / "reliac"
    if any(map(os.environ.get, NAMING)):
        return  # who names a folder means this one and no other
    yield PACKAGE / "__pycache__" / "compiled"
    with contextlib.suppress(RuntimeError):  # there is no home
        yield cache_folder() / "compiled"


@cache
def stamp() -> str:
    """Return a hash that changes when a source of kernels does: of the names and contents of all these files."""
    digest = hashlib.sha256()
    for path in sorted(path for folder in SOURCES for path in (PACKAGE / folder).rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def environment() -> str:
    """Return a hash of all that compiled code depends on."""
    from importlib.metadata import version

    settings = [os.environ.get(name) for name in SETTINGS]
    facts = (stamp(), sys.version, version("numba"), version("llvmlite"), platform.machine(), processor(), settings)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:24]


def folders() -> list[Path]:
    """Return the folders that may hold code for this environment."""
    return [place / environment() for place in PLACES]


@cache
def writable_folder() -> Path | None:
    """Return the first folder for this environment that can be written; it is made. None if there is none."""
    for folder in folders():
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            _remove_old(folder)
            return folder
    return None


def obstacle() -> tuple[str, str]:
    """Say why compiled code is not kept, and what to do about it."""
    advice = "Set RELIAC_CACHE (or NUMBA_CACHE_DIR) to one that can be written, and it is compiled once"
    if not kept_at_all():
        return "RELIAC_KEEP_COMPILED=0 says so", "Leave that out, and it is compiled once"
    folder = writable_folder()
    if folder is not None:
        return f"something could not be written to {folder}", advice.replace("to one that", "to a folder that")
    named = [f"{name}={os.environ[name]}" for name in NAMING if os.environ.get(name)]
    if named:
        return f"{' and '.join(named)} cannot be written", advice.replace("to one that", "to a folder that")
    return "no folder for compiled code can be written", advice


def _remove_old(folder: Path) -> None:
    """Remove all but the newest of the other folders beside a folder, and their notes."""
    others = [other for other in folder.parent.iterdir() if other.is_dir() and other != folder]
    others.sort(key=lambda other: other.stat().st_mtime)
    for other in others[:-OTHERS_KEPT]:
        for note in folder.parent.glob(f"*-{other.name}"):
            note.unlink(missing_ok=True)
        shutil.rmtree(other, ignore_errors=True)


# --- notes: an empty file for each engine that is there ---


def ready(engine: str) -> bool:
    """Tell whether the machine had the compiled code of an engine when this process began: then loading it is quick."""
    return bool(_NOTES_AT_START) and _note(engine) in _NOTES_AT_START


def note_ready(engine: str) -> None:
    """Note that all code of an engine is kept."""
    folder = writable_folder()
    if folder is not None and not ready(engine):
        with contextlib.suppress(OSError):
            (folder.parent / _note(engine)).touch()


def _note(engine: str) -> str:
    """Return the name of the file that says so."""
    return f"{engine}-{environment()}"


def _notes() -> frozenset[str]:
    """Return the names of all notes."""
    found: list[str] = []
    for place in PLACES:
        with contextlib.suppress(OSError):  # a place that cannot be read has no notes
            found += os.listdir(place)
    return frozenset(found)


#: Both are asked for once: what a process does later must not change which engines it chooses.
PLACES = tuple(places())
_NOTES_AT_START = _notes()
