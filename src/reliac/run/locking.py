"""One run at a time for a file: a lock that the system takes away from a process that dies, however it dies."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from ..errors import explain

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class Lock:
    """A lock file beside a file. It is there while a run uses the file; one that a killed run left is taken over."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.target = os.fspath(path)
        whole = Path(path).resolve()
        self.path = whole.parent / f".{whole.name}.lock"
        self.handle = -1

    def take(self) -> None:
        """Take the lock, or say who has it."""
        while True:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            if not _locked_by_us(handle):
                owner = os.read(handle, 200).decode(errors="replace").strip()
                os.close(handle)
                raise BlockingIOError(
                    explain(
                        f"The checkpoint {self.target} is in use by another run{f' ({owner})' if owner else ''}",
                        "one run at a time for each checkpoint",
                        "wait until that run has ended or stop it, or give another file name",
                    )
                )
            if self._still_there(handle):
                break
            os.close(handle)  # the run before us has removed the file between our two steps: once more
        os.ftruncate(handle, 0)
        os.write(handle, f"process {os.getpid()} on {socket.gethostname()}".encode())
        self.handle = handle

    def _still_there(self, handle: int) -> bool:
        try:
            return os.path.samestat(os.fstat(handle), os.stat(self.path))
        except FileNotFoundError:
            return False

    def give_back(self) -> None:
        """Remove the lock file. It is removed before it is unlocked: whoever waits for it then makes a new one."""
        if self.handle < 0:
            return
        if fcntl:
            self.path.unlink(missing_ok=True)
        os.close(self.handle)
        self.handle = -1
        if not fcntl:  # an open file cannot be removed there
            self.path.unlink(missing_ok=True)


def _locked_by_us(handle: int) -> bool:
    """Lock an open file if nobody else has; where a file system knows no locks, we cannot do better than go on."""
    if not fcntl:
        return _locked_on_windows(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _locked_on_windows(handle: int) -> bool:
    import msvcrt

    try:
        os.lseek(handle, 1000, os.SEEK_SET)  # a byte that nobody reads: what is locked cannot be read there
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        return False
    finally:
        os.lseek(handle, 0, os.SEEK_SET)
    return True
