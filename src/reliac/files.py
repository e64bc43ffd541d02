"""Files: written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .errors import explain


def write_atomically(path: str | os.PathLike[str], data: bytes | str) -> None:
    """Write to a temporary file beside ``path`` and rename it, so that no reader ever sees half a file.

    A link is followed, and what is no plain file (a pipe, a device) is written to as it is.
    """
    target = Path(path).resolve()
    content = data.encode("utf-8") if isinstance(data, str) else data
    if not target.parent.is_dir():
        raise FileNotFoundError(
            explain(f"There is no folder {target.parent}", "a file in a folder that exists", "make the folder first")
        )
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
