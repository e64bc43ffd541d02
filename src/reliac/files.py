"""Files: written whole or not at all; what cannot be read or written is told in three parts. Tables as CSV text."""

from __future__ import annotations

import csv
import io
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .errors import explain


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return what a file holds."""
    check_source(path)
    return Path(path).read_bytes()


def check_source(path: str | os.PathLike[str], allowed: str = "the path of a file") -> None:
    """Refuse a path that leads nowhere, or to a folder."""
    name = os.fspath(path)
    if os.path.isdir(path):
        raise IsADirectoryError(explain(f"{name!r} is a folder", allowed, "name one of the files in it"))
    if not os.path.exists(path):
        raise FileNotFoundError(explain(f"There is no file {name!r}", allowed, "check the name and the folder"))


def check_target(path: str | os.PathLike[str], called: str = "") -> None:
    """Refuse a path that nothing can be written to; ``called`` is what the user calls it."""
    target = Path(path).resolve()
    given = f"{called}{os.fspath(path)}"
    if not target.parent.is_dir():
        given = f"{given}: there is no folder {target.parent}"
        raise FileNotFoundError(explain(given, "a file in a folder that exists", "make the folder first"))
    if target.is_dir():
        raise IsADirectoryError(explain(f"{given} is a folder", "a file", "add a file name"))
    needed = [target] if target.exists() else []
    if not target.exists() or target.is_file():  # a plain file is replaced by a new one
        needed.append(target.parent)
    if not all(os.access(place, os.W_OK) for place in needed):
        given = f"{given} cannot be written to"
        raise PermissionError(explain(given, "a file that you may write", "choose another folder, or change its mode"))


def write_atomically(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Write to a temporary file beside ``path`` and rename it, so that no reader ever sees half a file.

    A link is followed, an existing file's mode is kept, and what is no plain file (a pipe, a device) is written to
    as it is.
    """
    check_target(path)
    target = Path(path).resolve()
    content = data.encode("utf-8") if isinstance(data, str) else data
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask()
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
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
