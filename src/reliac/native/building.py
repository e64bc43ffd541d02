"""How the C code becomes a library, and what that is called. Only Python's own modules: ``hatch_build.py`` runs this
before anything is installed.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent

#: Products and sums are never fused: every number has the bits that NumPy gives it. Nobody asks ``errno`` about
#: roots, which are taken side by side then.
OPTIONS = (
    *("-O3", "-std=c11", "-ffp-contract=off", "-fno-math-errno", "-fopenmp-simd"),
    *("-fPIC", "-fvisibility=hidden", "-shared"),
)
OPTIONS_OF_MSVC = ("/nologo", "/O2", "/std:c11", "/fp:precise", "/LD")


def library_path(folder: Path = FOLDER) -> Path:
    """Return where the library of this source is, or would be: code that was made of another source is never loaded.

    Its name does not end as those of Python's own modules do, which could be taken for one.
    """
    digest = hashlib.sha256()
    for source in sorted(folder.glob("*.[ch]")):
        digest.update(source.read_bytes())
    return folder / f"reliac-{digest.hexdigest()[:12]}.library"


def open_library() -> ctypes.CDLL:
    """Load the library; an OSError where the package was built without a C compiler, or on another machine."""
    return ctypes.CDLL(str(library_path()))


def in_words() -> str:
    """Tell whether the C code is there, for those who wonder why something is slow."""
    try:
        open_library()
    except OSError:
        return "without its C code: NumPy and Numba do that part, more slowly (install again where a C compiler is)"
    return "with its C code"


def build(folder: Path = FOLDER) -> Path:
    """Build the library with the C compiler of this machine (``CC``, or the one that Python was built with).

    Raises an OSError where there is none, and a CalledProcessError where it fails.
    """
    path, sources = library_path(folder), [str(source) for source in sorted(folder.resolve().glob("*.c"))]
    command = [*_compiler(), *sources]
    with tempfile.TemporaryDirectory(dir=folder) as room:  # some compilers leave more files behind
        new = Path(room).resolve() / "reliac.library"
        msvc = Path(command[0]).stem.lower() == "cl"
        command += [*OPTIONS_OF_MSVC, f"/Fe:{new}"] if msvc else [*OPTIONS, "-o", str(new), "-lm"]
        subprocess.run(command, check=True, capture_output=True, text=True, cwd=room)
        new.replace(path)
    for old in folder.glob("reliac-*.library"):
        if old != path:
            with contextlib.suppress(OSError):  # one that a process has loaded may not be removed everywhere
                old.unlink()
    return path


def _compiler() -> list[str]:
    """Return the command of a C compiler."""
    named = os.environ.get("CC")
    for command in [named] if named else [sysconfig.get_config_var("CC"), "cc", "gcc", "clang", "cl"]:
        words = shlex.split(command or "", posix=os.name == "posix")
        if words and shutil.which(words[0]):
            return words
    raise FileNotFoundError(f"no C compiler was found (CC={named!r})")
