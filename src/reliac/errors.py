"""What reliac raises and warns about, and the one way its messages are written."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tree.clustertree import ClusterTree


def explain(given: str, allowed: str, next_step: str) -> str:
    """Write a message in three parts: what was given, what is allowed, what to do next."""
    given, allowed = given.rstrip("."), allowed.rstrip(".")
    return f"{given}. Allowed: {allowed}. Next: {next_step}{'' if next_step.endswith(('?', '.')) else '.'}"


def unknown_name(kind: str, given: object, names: Iterable[str]) -> str:
    """Say that ``given`` is no known ``kind``, and offer the nearest names."""
    known = list(names)
    near = get_close_matches(given.lower(), known, n=3, cutoff=0.5) if isinstance(given, str) else []
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "pick one of these names"
    return explain(f"Unknown {kind} {given!r}", ", ".join(known), hint)


def need(module: str, extra: str) -> Any:
    """Import an optional package, or say which extra brings it."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(
            explain(
                f"This needs {module.partition('.')[0]}, which is not installed",
                f"any release that the extra '{extra}' names",
                f"run pip install 'reliac[{extra}]'",
            )
        ) from None


class Interrupted(KeyboardInterrupt):
    """A run was stopped by Ctrl-C; ``tree`` holds the levels finished before it."""

    def __init__(self, tree: ClusterTree, note: str = "") -> None:
        super().__init__(
            f"stopped at level {tree.n_levels} with {tree.n_clusters} clusters left; "
            "the exception's .tree holds the levels finished so far" + (f"; {note}" if note else "")
        )
        self.tree = tree
        self.note = note


class DatasetError(OSError):
    """A data set is not at hand: the message says what was tried, and where to put its file by hand."""


class NotEuclideanWarning(UserWarning):
    """Distances were used as Euclidean ones, but no set of points can have them."""
