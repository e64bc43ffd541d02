"""Files: written whole or not at all; what cannot be read or written is told in three parts. Tables as CSV text."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from .errors import Message, explain
from .machine import check_memory, free_memory

#: Bytes that are read at once.
PIECE = 2**20

#: What to do about what a system can say of a file.
_STEPS = {
    errno.ENOSPC: "free some space, or choose another folder",
    getattr(errno, "EDQUOT", -1): "free some space, or choose another folder",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EROFS: "choose another folder",
    errno.EACCES: "choose another file, or change its mode",
    errno.EPERM: "choose another file, or change its mode",
    errno.EMFILE: "close some files first",
    errno.EIO: "check the disk",
}


def path_of(path: Any, called: str = "") -> str:
    """Return a path as text; refuse what no file can be called. ``called`` is what the user calls it."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        given = f"{called or 'path '}{path!r:.60} is of type {type(path).__name__}"
        raise TypeError(explain(given, "a path: a text or a pathlib.Path", "pass the name of a file"))
    name = os.fsdecode(path)
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        given = f"{called}{name!r:.60} holds what is no character of a file name"
        raise ValueError(explain(given, "names that a file can have", "check where the name comes from")) from None
    if "\0" in name:
        given = f"{called}{name!r:.60} holds a null character"
        raise ValueError(explain(given, "names that a file can have", "check where the name comes from"))
    return name


@contextlib.contextmanager
def explained(given: str) -> Iterator[None]:
    """Say in three parts what the system has to say about a file; ``given`` tells what was tried."""
    try:
        yield
    except BrokenPipeError:  # somebody has read enough, which is no mistake
        raise
    except OSError as error:
        if error.args and isinstance(error.args[0], Message):
            raise
        reason = (error.strerror or str(error) or type(error).__name__).rstrip(".").lower()
        step = _STEPS.get(error.errno or 0, "check the name, the folder and your rights to both")
        kind = type(error) if type(error).__module__ == "builtins" else OSError
        told = kind(explain(f"{given}: {reason}", "files that the system can read and write here", step))
        told.errno = error.errno
        raise told from error


#: How names of files end that are being written.
_PART = ".part"


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return what a file holds; refuse one that is larger than the free memory."""
    check_source(path)
    with explained(f"{path_of(path)} cannot be read"), open(path, "rb") as file:
        check_memory(os.fstat(file.fileno()).st_size, f"The file {path_of(path)}")
        return read_all(file, f"The file {path_of(path)}").getvalue()


class Readable(Protocol):
    """Whatever gives bytes."""

    def read(self, size: int, /) -> bytes:
        """Return up to so many bytes, none at the end."""


def read_all(stream: Readable, what: str) -> io.BytesIO:
    """Return all that a stream gives; refuse one that gives more than half of the free memory, however it goes on.

    A device or a compressed file does not tell beforehand how much it will give.
    """
    most, content = free_memory() // 2, io.BytesIO()
    while piece := stream.read(PIECE):
        content.write(piece)
        if content.tell() > most:
            raise MemoryError(
                explain(
                    f"{what} holds more than {most / 2**30:.1f} GiB, half of the free memory",
                    "what fits into memory",
                    "use a machine with more memory, or check whether the file is damaged",
                )
            )
    content.seek(0)
    return content


def check_source(path: str | os.PathLike[str], allowed: str = "the path of a file") -> None:
    """Refuse a path that leads nowhere, or to a folder."""
    name = path_of(path)
    if os.path.isdir(name):
        raise IsADirectoryError(explain(f"{name!r} is a folder", allowed, "name one of the files in it"))
    if not os.path.exists(name):
        raise FileNotFoundError(explain(f"There is no file {name!r:.300}", allowed, "check the name and the folder"))


def check_target(path: str | os.PathLike[str], called: str = "") -> None:
    """Refuse a path that nothing can be written to; ``called`` is what the user calls it."""
    given = f"{called}{path_of(path, called):.300}"
    with explained(f"{given} cannot be written to"):
        target = _followed(path)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.stat(target)  # a name that is too long, for example, is no name for a new file either
        if not target.parent.is_dir():
            given = f"{given}: there is no folder {target.parent}"
            raise FileNotFoundError(explain(given, "a file in a folder that exists", "make the folder first"))
        if target.is_dir():
            raise IsADirectoryError(explain(f"{given} is a folder", "a file", "add a file name"))
        needed = [target] if target.exists() else []
        if not target.exists() or target.is_file():  # a plain file is replaced by a new one
            needed.append(target.parent)
        if not all(os.access(place, os.W_OK) for place in needed):
            step = "choose another folder, or change its mode"
            raise PermissionError(explain(f"{given} cannot be written to", "a file that you may write", step))


def _followed(path: str | os.PathLike[str]) -> Path:
    """Return where a path leads to, links followed."""
    return Path(os.path.realpath(path_of(path)))  # Path.resolve would raise for links that lead in a circle


def write_atomically(path: str | os.PathLike[str], data: bytes | memoryview | str) -> None:
    """Write to a temporary file beside ``path`` and rename it, so that no reader ever sees half a file.

    A link is followed, an existing file's mode is kept, and what is no plain file (a pipe, a device) is written to
    as it is.
    """
    check_target(path)
    content = data.encode("utf-8") if isinstance(data, str) else data
    with explained(f"{path_of(path)} cannot be written"):
        _write(_followed(path), content)


def _write(target: Path, content: bytes | memoryview) -> None:
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask()
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=_PART, dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove what processes that were killed while they wrote to ``path`` have left; none may be writing now."""
    target = _followed(path)
    name = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}{re.escape(_PART)}")  # as tempfile makes them
    for found in target.parent.iterdir():
        if name.fullmatch(found.name):
            with contextlib.suppress(OSError):
                found.unlink()


def cache_folder() -> Path:
    """Return the folder for what can be made or downloaded again: RELIAC_CACHE, or the user's folder of caches."""
    own, shared = os.environ.get("RELIAC_CACHE"), os.environ.get("XDG_CACHE_HOME")
    if own:
        return Path(own).expanduser()
    if shared:
        return Path(shared) / "reliac"
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"]) / "reliac" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "reliac"
    return Path.home() / ".cache" / "reliac"


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


def delimited(columns: Sequence[str], rows: Iterable[Sequence[Any]], delimiter: str) -> str:
    """Return a table as CSV or TSV, numbers in full."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()
