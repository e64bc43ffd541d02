"""Progress of a long run: a line on the terminal, or the user's own callback."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from ..errors import explain
from .history import Progress

#: Seconds before the line appears, and between two updates of it.
PATIENCE = 1.0
REFRESH = 0.1


class ProgressLine:
    """One line on standard error, rewritten in place; nothing at all for work that is quickly done."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.shown = 0.0
        self.width = 0

    def __call__(self, progress: Progress) -> None:
        """Show how far the run has come."""
        text = (
            f"level {progress.level}, {progress.n_clusters} clusters left, "
            f"{progress.seconds:.0f} s, about {progress.seconds_left:.0f} s to go"
        )
        self.show(progress.share, text, progress.seconds, done=progress.n_clusters <= progress.target)

    def show(self, share: float, text: str, seconds: float, done: bool) -> None:
        """Draw a bar and a text, unless the last line is too young or all the work is."""
        now = time.monotonic()
        if seconds < PATIENCE or (now - self.shown < REFRESH and not done):
            return
        self.shown = now
        bar = "#" * round(20 * share)
        line = f"[{bar:<20}] {text}"
        self.stream.write("\r" + line.ljust(self.width))
        self.width = len(line)
        self.stream.flush()

    def close(self) -> None:
        """End the line."""
        if self.width:
            self.stream.write("\n")
            self.stream.flush()
            self.width = 0


def make_reporter(progress: Any) -> tuple[Callable[[Progress], None], Callable[[], None]]:
    """Return what to call after every level, and what to call at the end."""
    if progress is None or progress is False:
        return (lambda _: None), (lambda: None)
    if progress is True:
        line = ProgressLine()
        return line, line.close
    if callable(progress):
        return progress, (lambda: None)
    raise TypeError(
        explain(
            f"progress={progress!r}",
            "True, False, None or a function of one argument",
            "pass progress=True for a bar",
        )
    )
