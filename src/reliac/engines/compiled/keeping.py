"""Compiled functions in files, one for each function and its types. Written whole or not at all.

Numba's own cache has an index for each function. Two processes that compile it for different types at the same time can
leave an index that leads to the wrong code; a folder that cannot be written is not read either; and an index knows
the file that defines a function, but not the functions from other files inside it. Here the folder stands for all
sources (:mod:`.ready`) and the name of a file for function and types, so there is nothing to keep in step: whoever
writes a file writes what everybody else would.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .ready import folders, writable_folder

logger = logging.getLogger("reliac")


class Kept:
    """What is kept of one function. Numba asks it for code before it compiles, and hands it what it has compiled."""

    #: Whether some function was compiled that could not be kept.
    lost = False

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = f"{function.__module__}.{function.__qualname__}".removeprefix("reliac.engines.")
        self.code = function.__code__.co_code
        self.folders = folders()

    @property
    def cache_path(self) -> str | None:
        """The folder that new code goes to."""
        folder = writable_folder()
        return None if folder is None else str(folder)

    def load_overload(self, types: Any, context: Any) -> Any:
        """Return the code for these types of arguments; None if it is not kept, or what is kept cannot be used."""
        from numba.core.compiler import CompileResult

        context.refresh()
        name = self._file_name(types, context.codegen())
        for folder in self.folders:
            try:
                data = (folder / name).read_bytes()
            except OSError:
                continue
            try:
                kept_types, result = pickle.loads(data)
                if tuple(kept_types) == tuple(types):
                    return CompileResult._rebuild(context, *result)
            except Exception as error:  # a file that was cut short, say: it is written anew
                logger.debug("%s cannot be used (%s): compiled anew", folder / name, error)
        return None

    def save_overload(self, types: Any, result: Any) -> None:
        """Keep what was compiled, if a folder can be written."""
        from numba.core.serialize import dumps

        folder = writable_folder()
        if folder is None or result.lifted or result.library.has_dynamic_globals:
            Kept.lost = True
            return
        try:
            _write(folder / self._file_name(types, result.codegen), dumps((tuple(types), result._reduce())))
        except OSError as error:  # no space is left, the folder has gone: it runs all the same
            Kept.lost = True
            logger.debug("compiled code cannot be kept in %s: %s", folder, error)

    def _file_name(self, types: Any, codegen: Any) -> str:
        facts = (tuple(map(repr, types)), codegen.magic_tuple(), self.code)
        return f"{self.name}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}.code"

    def enable(self) -> None:
        """Do nothing: it is always on."""

    def disable(self) -> None:
        """Do nothing: ``RELIAC_KEEP_COMPILED=0`` switches it off."""

    def flush(self) -> None:
        """Do nothing: files are never out of date."""


def _write(path: Path, data: bytes) -> None:
    """Write beside ``path`` and rename. Unlike other files it need not be safe on disk before it is used."""
    handle, temporary = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
