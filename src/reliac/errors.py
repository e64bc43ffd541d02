"""What reliac raises and warns about, and the one way its messages are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tree.clustertree import ClusterTree


class Message(str):
    """A text that still knows its three parts, for those who show them one below the other."""

    parts: tuple[str, str, str]  # what was given, what is allowed, what to do next; each with its full stop, or empty


def explain(given: str, allowed: str, next_step: str) -> Message:
    """Write a message in three parts: what was given, what is allowed, what to do next."""
    step = next_step if next_step.endswith(("?", ".")) else f"{next_step}."
    parts = (f"{given.rstrip('.')}.", f"{allowed.rstrip('.')}.", step)
    message = Message("{} Allowed: {} Next: {}".format(*parts))
    message.parts = parts
    return message


def too_large(what: str, size: float, free: float, next_step: str) -> Message:
    """Write the one message about memory, in two lines: what is needed and what is free; what to do next."""
    given = f"{what} needs about {amount(size)}, and {amount(free)} are free."
    message = Message(f"{given}\nNext: {next_step.rstrip('.')}.")
    message.parts = (given, "", f"{next_step.rstrip('.')}.")
    return message


def amount(size: float) -> str:
    """Write a number of bytes."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**27 else f"{size / 2**20:.1f} MiB"


def other_values(holds: str) -> str:
    """Tell that data has changed since a tree was made from it; ``holds``: what it is that holds other values."""
    return explain(
        f"{holds} other values than when the tree was made",
        "the data that the tree was made from, unchanged",
        "pass that data as X, or make the tree again with reliac.cluster",
    )


def unknown_name(kind: str, given: object, names: Iterable[str]) -> Message:
    """Say that ``given`` is no known ``kind``, and offer the nearest names."""
    known = list(names)
    near = get_close_matches(given.lower(), known, n=3, cutoff=0.5) if isinstance(given, str) else []
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "pick one of these names"
    return explain(f"Unknown {kind} {shown(given)}", ", ".join(known), hint)


def known_name(kind: str, given: object, names: Iterable[str]) -> str:
    """Return a name if it is one of those that are known."""
    known = list(names)
    if not isinstance(given, str) or given not in known:  # an array is equal to no name, and to none in particular
        raise ValueError(unknown_name(kind, given, known))
    return given


def shown(value: object, longest: int = 100) -> str:
    """Return a value as Python writes it, in one line that is not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= longest else f"{text[: longest - 4]} ..."


def how_to_install(extra: str) -> str:
    """Say how the packages of an extra are had: from a clone, since no index has the package yet."""
    return f"in your clone of reliac run pip install '.[{extra}]'"


def need(module: str, extra: str) -> Any:
    """Import an optional package, or say which extra brings it."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(
            explain(
                f"This needs {module.partition('.')[0]}, which is not installed",
                f"any release that the extra '{extra}' names",
                how_to_install(extra),
            )
        ) from None


def _in_python(name: str, value: object) -> str:
    return f"{name}={shown(value)}"


#: How messages write an option. The command line puts its own way here for as long as one of its commands runs.
_spelling: ContextVar[Callable[[str, object], str]] = ContextVar("spelling", default=_in_python)


def option(name: str, value: object) -> str:
    """Write an option as the user would type it: ``metric='cosine'`` in Python, ``--metric cosine`` in a shell."""
    return _spelling.get()(name, value)


def in_python() -> bool:
    """Tell whether the user writes Python, and not a command."""
    return _spelling.get() is _in_python


@contextmanager
def options_written_by(spelling: Callable[[str, object], str]) -> Iterator[None]:
    """Let messages that are made inside the block write options in another way."""
    token = _spelling.set(spelling)
    try:
        yield
    finally:
        _spelling.reset(token)


class InvariantError(RuntimeError):
    """Something that always holds does not hold: a fault of reliac, and no mistake of its user."""


class Interrupted(KeyboardInterrupt):
    """A run was stopped by Ctrl-C; ``tree`` holds the levels finished before it."""

    def __init__(self, tree: ClusterTree, note: str = "") -> None:
        super().__init__(
            f"stopped at level {tree.n_levels} with {tree.n_clusters} clusters left; "
            "the exception's .tree holds the levels finished so far" + (f"; {note}" if note else "")
        )
        self.tree = tree
        self.note = note


class DeviceLost(RuntimeError):
    """A GPU failed in the midst of a run; ``tree`` holds the levels finished before."""

    tree: ClusterTree | None = None


class DoesNotFit(MemoryError):
    """Something needs more memory than is free, and was not begun; ``details`` tell what else was looked at."""

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message)
        self.details = details


class DatasetError(OSError):
    """A data set is not at hand: the message says what was tried, and where to put its file by hand."""


class NotEuclideanWarning(UserWarning):
    """Distances were used as Euclidean ones, but no set of points can have them."""
