"""The command line, from words to an exit code. What can be typed is in parser.py, the work in commands.py."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, TextIO

from reliac import __version__

from ..errors import DoesNotFit, Interrupted, InvariantError, Message, explain, options_written_by
from .terminal import complain, say

#: Exit codes; 70 is what systems call a fault of the software.
OK, UNEXPECTED, MISTAKE, FAULT, INTERRUPTED = 0, 1, 2, 70, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; no mistake of the user shows a traceback.

    Words that mean nothing, --help and --version leave by SystemExit.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        return _guarded(words)


def _answer(words: Sequence[str]) -> int:
    """Parse the words and run what they ask for."""
    from . import parser

    if os.environ.get(parser.COMPLETION_VARIABLE):  # a shell asks what could follow
        return parser.complete(os.environ[parser.COMPLETION_VARIABLE])
    try:
        asked = parser.parse(words)
    except parser.WrongWords as error:
        complain("error", parser.in_three_parts(error))
        raise SystemExit(MISTAKE) from None
    with options_written_by(asked.spelled):
        commands: Any = import_module("reliac.cli.commands")
        status: int = commands.COMMANDS[asked.command](asked)
    if sys.stdout is not None:
        sys.stdout.flush()
    return status


def _guarded(words: Sequence[str]) -> int:
    """Turn whatever stops a command into a message and an exit code."""
    try:
        return _answer(words)
    except BrokenPipeError:  # the reader of our output, `head` for example, has seen enough
        _forget_output()
        return OK
    except KeyboardInterrupt as error:
        where = f" at level {error.tree.n_levels}" if isinstance(error, Interrupted) else ""
        where += f"; {error.note}" if isinstance(error, Interrupted) and error.note else ""
        say(f"stopped by Ctrl-C{where}")
        return INTERRUPTED
    except InvariantError:
        return _our_fault("a fault of reliac", words, FAULT)
    except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
        told = error.args[0] if len(error.args) == 1 and isinstance(error.args[0], str) else str(error)
        if (
            isinstance(error, MemoryError) and not isinstance(error, DoesNotFit) and not isinstance(told, Message)
        ):  # Python's, or a library's
            given = f"Memory ran out ({told})" if told else "Memory ran out"
            told = explain(given, "data that fit into memory", "cluster a sample, or use a machine with more memory")
        complain("error", told or type(error).__name__)
        if isinstance(error, DoesNotFit) and "--verbose" in words:
            say(error.details, prefix="")
        _give_up_output()
        return MISTAKE
    except Exception:
        return _our_fault("unexpected error, a fault of reliac", words, UNEXPECTED)


def _our_fault(what: str, words: Sequence[str], status: int) -> int:
    """Show all that a report needs: the traceback, the version and the command."""
    if sys.stderr is not None:
        traceback.print_exc()
    say(f"{what}: please report the lines above, and these:")
    say(f"  reliac {__version__}, Python {sys.version.split()[0]} on {sys.platform}", prefix="")
    say(f"  {shlex.join(['reliac', *words])}", prefix="")
    return status


def _show_warning(message: Warning | str, category: type[Warning], filename: str, *_: Any, **__: Any) -> None:
    """Print a warning without the place in the code."""
    del category, filename
    told = message.args[0] if isinstance(message, Warning) and message.args else message
    complain("warning", told if isinstance(told, str) else str(told))


def _give_up_output() -> None:
    """Forget what standard output holds back if it cannot be written: Python would try again at its end, and fail."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        _forget_output()


def _forget_output() -> None:
    """Let Python's last flush of standard output go nowhere."""
    stream: TextIO = sys.stdout
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    raise SystemExit(main())
