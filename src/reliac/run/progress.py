"""Progress of long work: a bar in a terminal or a notebook, lines of JSON for a log, or the user's own function."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..errors import explain, option
from .history import Progress

#: Seconds before the bar appears.
PATIENCE = 1.0

#: Seconds between two lines of JSON, at least, and the share of the time since the start.
SECONDS_BETWEEN, SHARE_BETWEEN = 1.0, 0.01

#: What is asked for by lines of JSON.
JSON = "json"

#: The share done, the bar, a text, the time gone and the time left.
_LAYOUT = "{{percentage:3.0f}}%|{{bar}}| {{desc}} [{{elapsed}}<{left}]"


class ProgressLine:
    """A bar by tqdm, drawn where it fits: in a terminal or in a notebook.

    tqdm is imported when there is something to show: work that is quickly done shows nothing and pays nothing.
    """

    def __init__(self) -> None:
        self._bar: Any = None

    def __call__(self, progress: Progress) -> None:
        """Show how far the run has come."""
        text = f"level {progress.level}, {progress.n_clusters} clusters left"
        if progress.searched < 1.0:
            text = f"first search of {progress.n_objects} objects, {progress.searched:.0%}"
        done = progress.n_clusters <= progress.target
        self.show(progress.share, text, progress.seconds, done, progress.seconds_left)

    def show(self, share: float, text: str, seconds: float, done: bool, left: float | None = None) -> None:
        """Show which share is done, and a text; ``seconds`` tells how long the work has taken so far.

        ``left``: an estimate of the seconds that are left; without one it follows from the share.
        """
        if seconds < PATIENCE or sys.stderr is None:
            return
        from tqdm.auto import tqdm

        begun = self._bar is not None
        if left is None:
            left = seconds * (1.0 - share) / share if share else math.inf
        layout = _LAYOUT.format(left=tqdm.format_interval(left) if math.isfinite(left) else "?")
        if not begun:
            # miniters=0: only time decides when it is drawn again; delay: not before its text is known
            self._bar = tqdm(total=1.0, bar_format=layout, miniters=0, delay=1e-9, dynamic_ncols=True)
            self._bar.start_t -= seconds
        self._bar.bar_format = layout
        self._bar.set_description_str(text, refresh=False)
        self._bar.update(share - self._bar.n)
        if done or not begun:  # between these two tqdm decides how often it draws
            self._bar.refresh()

    def close(self, complete: bool = True) -> None:
        """Leave the last state of the bar standing, and end its line."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class JsonLines:
    """Lines of JSON on standard error, for logs and other programs: about one a second, fewer in very long runs.

    The last line has ``"done": true``; where a run ends otherwise there is none.
    """

    def __init__(self) -> None:
        self._next = 0.0
        self._last: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        """Write how far the run has come, if it is time to."""
        self._last = progress
        if progress.seconds >= self._next:
            self._next = progress.seconds + max(SECONDS_BETWEEN, SHARE_BETWEEN * progress.seconds)
            self._write(progress, done=False)

    def close(self, complete: bool = True) -> None:
        """Write the last line of a run that is complete."""
        if complete and self._last is not None:
            self._write(replace(self._last, share=1.0, seconds_left=0.0), done=True)

    def _write(self, progress: Progress, done: bool) -> None:
        left = progress.seconds_left
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "seconds": round(progress.seconds, 3),
            "seconds_left": round(left, 3) if math.isfinite(left) else None,
            "share": round(progress.share, 4),
            "searched": round(progress.searched, 4),
            "level": progress.level,
            "clusters": progress.n_clusters,
            "objects": progress.n_objects,
            "done": done,
        }
        if sys.stderr is not None:
            print(json.dumps(line), file=sys.stderr, flush=True)


def say_nothing(_: object) -> None:
    """Stand in for a reporter where nobody listens."""


def make_reporter(progress: Any) -> tuple[Callable[[Progress], None], Callable[[bool], None]]:
    """Return what to call after every level, and what to call at the end, with whether the run is complete."""
    if progress is None or progress is False:
        return say_nothing, say_nothing
    if progress is True:
        line = ProgressLine()
        return line, line.close
    if isinstance(progress, str) and progress == JSON:
        lines = JsonLines()
        return lines, lines.close
    if callable(progress):
        return progress, say_nothing
    raise TypeError(
        explain(
            option("progress", progress),
            f"True, False, None, {JSON!r} or a function of one argument",
            f"pass {option('progress', True)} for a bar",
        )
    )
