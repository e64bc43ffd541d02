"""How the C code becomes a library, and what that is called. Only Python's own modules: ``hatch_build.py`` runs this
before anything is installed.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

FOLDER = Path(__file__).parent

#: Products and sums are never fused: every number has the bits that NumPy gives it.
OPTIONS = ("-O3", "-std=c11", "-ffp-contract=off", "-fPIC", "-fvisibility=hidden", "-shared")
OPTIONS_OF_MSVC = ("/nologo", "/O2", "/std:c11", "/fp:precise", "/LD")


def library_path(folder: Path = FOLDER) -> Path:
    """Return where the library of this source is, or would be: code that was made of another source is never loaded.

    Its name does not end as those of Python's own modules do, which could be taken for one.
    """
    digest = hashlib.sha256()
    for source in sorted(folder.glob("*.[ch]")):
        digest.update(source.read_bytes())
    return folder / f"reliac-{digest.hexdigest()[:12]}.library"


def build(folder: Path = FOLDER) -> Path:
    """Build the library with the C compiler of this machine (``CC``, or the one that Python was built with).

    Raises an OSError where there is none, and a CalledProcessError where it fails.
    """
    path, new = library_path(folder), folder / f"reliac.{os.getpid()}.part"
    command = [*_compiler(), *(source.name for source in sorted(folder.glob("*.c")))]
    msvc = Path(command[0]).stem.lower() == "cl"
    command += [*OPTIONS_OF_MSVC, f"/Fe:{new}"] if msvc else [*OPTIONS, "-o", str(new), "-lm"]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
        for old in folder.glob("reliac-*.library"):
            old.unlink()
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    return path


def _compiler() -> list[str]:
    """Return the command of a C compiler."""
    named = os.environ.get("CC")
    for command in [named] if named else [sysconfig.get_config_var("CC"), "cc", "gcc", "clang", "cl"]:
        words = shlex.split(command or "")
        if words and shutil.which(words[0]):
            return words
    raise FileNotFoundError(f"no C compiler was found (CC={named!r})")
