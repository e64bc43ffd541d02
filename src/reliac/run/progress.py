"""Progress of long work: a bar in a terminal or a notebook, or the user's own callback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..errors import explain, option
from .history import Progress

#: Seconds before the bar appears.
PATIENCE = 1.0

#: The share done, the bar, a text, the time gone and the time left.
_LAYOUT = "{percentage:3.0f}%|{bar}| {desc} [{elapsed}<{remaining}]"


class ProgressLine:
    """A bar by tqdm, drawn where it fits: in a terminal or in a notebook.

    tqdm is imported when there is something to show: work that is quickly done shows nothing and pays nothing.
    """

    def __init__(self) -> None:
        self._bar: Any = None

    def __call__(self, progress: Progress) -> None:
        """Show how far the run has come."""
        text = f"level {progress.level}, {progress.n_clusters} clusters left"
        self.show(progress.share, text, progress.seconds, done=progress.n_clusters <= progress.target)

    def show(self, share: float, text: str, seconds: float, done: bool) -> None:
        """Show which share is done, and a text; ``seconds`` tells how long the work has taken so far."""
        if seconds < PATIENCE or sys.stderr is None:
            return
        begun = self._bar is not None
        if not begun:
            from tqdm.auto import tqdm

            # smoothing=0: the time left follows from the mean speed, as levels differ much in what they cost;
            # miniters=0: only time decides when it is drawn again; delay: not before its text is known
            how = {"smoothing": 0, "miniters": 0, "delay": 1e-9, "dynamic_ncols": True}
            self._bar = tqdm(total=1.0, bar_format=_LAYOUT, **how)
            self._bar.start_t -= seconds
        self._bar.set_description_str(text, refresh=False)
        self._bar.update(share - self._bar.n)
        if done or not begun:  # between these two tqdm decides how often it draws
            self._bar.refresh()

    def close(self) -> None:
        """Leave the last state of the bar standing, and end its line."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


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
            option("progress", progress),
            "True, False, None or a function of one argument",
            f"pass {option('progress', True)} for a bar",
        )
    )
