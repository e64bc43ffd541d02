"""How long a run will still take. Searches take most of the time, so joins alone tell little.

A run is a first search and then levels. While it searches, the share of the search that is done tells how long the
whole search takes, and the engine says what the levels usually take in units of it. When levels come, what they really
take is believed the more, the more of them are done. Their work is spread over the joins in a way that the engine
knows, too: the first joins need no searches, the last ones search among few clusters.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from ..algorithm.contract import Pace
from ..input.options import Stop

#: What is known beforehand about the levels counts as much as this share of the levels seen.
BELIEF = 0.15

#: The share of the clusters that a level leaves, as long as there was none.
LEFT_BY_A_LEVEL = 0.6

#: Of an engine that tells nothing: no first search.
NO_SEARCH = Pace(searched=1.0, after=0.0)


class Estimate(NamedTuple):
    """How much of a run is done, and how many seconds are left; the latter is infinite before anything is known."""

    share: float
    seconds_left: float


class Outlook:
    """Watches a run and estimates what is left of it. ``spent``: what earlier parts of the run took, as below."""

    def __init__(self, n_objects: int, stop: Stop, spent: tuple[float, float] = (0.0, 0.0)) -> None:
        self.n, self.stop = n_objects, stop
        self.first, self.later = spent  # seconds of the first search, and of the levels
        self.now = self.started = time.monotonic()
        self.pace = NO_SEARCH
        self.share = 0.0

    @property
    def seconds(self) -> float:
        """Seconds since this part of the run began."""
        return self.now - self.started

    @property
    def spent(self) -> tuple[float, float]:
        """What all parts of the run took so far."""
        return self.first, self.later

    def look(self, n_clusters: int, level: int, pace: Pace | None = None) -> Estimate:
        """Take note of where the run is now."""
        now = time.monotonic()
        passed, self.now = now - self.now, now
        if self.pace.searched < 1.0:
            self.first += passed
        elif pace is None or self.pace is not NO_SEARCH:  # what comes before the first search counts for nothing
            self.later += passed
        if pace is not None:
            self.pace = pace
        left = self._left(n_clusters, level)
        if n_clusters <= self.stop.n_clusters or level >= self.stop.max_level:
            return Estimate(1.0, 0.0)
        if math.isfinite(left):
            self.share = max(self.share, 1.0 - left / max(left + self.first + self.later, 1e-9))
        return Estimate(float(self.share), float(left))

    def _left(self, n_clusters: int, level: int) -> float:
        pace, left = self.pace, self._work_left(n_clusters, level)
        if pace.searched < 1.0:
            whole = self.first / pace.searched if pace.searched > 0.0 else math.inf
            return whole - self.first + whole * pace.after * left
        belief = BELIEF if self.first and pace.after else 0.0
        if belief + 1.0 - left <= 0.0:
            return math.inf
        return (belief * pace.after * self.first + self.later) / (belief + 1.0 - left) * left

    def _work_left(self, n_clusters: int, level: int) -> float:
        """Return the share of the levels' work that is left."""
        target, now = self.stop.n_clusters / self.n, n_clusters / self.n
        if math.isfinite(self.stop.max_level):  # as if every level to come left the same share as those before
            each = now ** (1 / level) if level else LEFT_BY_A_LEVEL
            target = max(target, min(now, each**self.stop.max_level))
        whole = self._work_done(1.0 - target)
        return 1.0 - self._work_done(1.0 - now) / whole if whole > 0.0 else 0.0

    def _work_done(self, joined: float) -> float:
        """Return the share of the levels' work that is done with a share of all joins."""
        return float(1.0 - (1.0 - joined**self.pace.rising) ** self.pace.falling)
