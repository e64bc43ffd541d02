"""Levels in a database: a few statements each, the same links as every other engine. See ``statements.py``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...algorithm.criteria import join_weights
from ...algorithm.links import Links, groups_of, joining_links, share_count
from . import statements as sql
from .connections import Tables
from .statements import Form

#: Up to so many tied links are fetched, and grouped here; more are grouped by rounds of statements.
FEW_TIES = 1_000_000


class Run:
    """The levels of one edge table, from those that its database holds on."""

    def __init__(self, tables: Tables, form: Form) -> None:
        self.tables, self.form = tables, form

    @property
    def n_edges(self) -> int:
        """The number of edges left."""
        return self.tables.count("edges")

    @property
    def level(self) -> int:
        """The number of levels done."""
        return int(self.tables.state["level"])

    @property
    def n_clusters(self) -> int:
        """The number of clusters now."""
        return int(self.tables.state["n_objects"] - self.tables.state["n_links"])

    def levels(self, fits: Any) -> Iterator[int]:
        """Develop level after level, and yield the number of each; ``fits`` tells whether the rest can be fetched."""
        form, stop = self.form, self.form.stop
        while self.n_clusters > stop.n_clusters and self.level < stop.max_level and not fits(self):
            self.tables.make("nearest", sql.nearest(form))
            self._take()
            count, joined = self.tables.value(sql.COUNTS)
            if not count:
                break
            count = self._group(count, 2 * count > joined)
            most = self.n_clusters - stop.n_clusters
            if count > most:
                self.tables.make("taken", sql.first_links(most))
                count = most
            self._join()
            self._end_level(self.level + 1, count)
            yield self.level

    def _end_level(self, level: int, count: int) -> None:
        state = self.tables.state
        self.tables.done(state | {"level": level, "n_links": state["n_links"] + count})

    def _take(self) -> None:
        """Make ``taken``: all reliable links, or the smallest share of them."""
        form, tables = self.form, self.tables
        if form.alpha == 1.0:
            tables.make("taken", sql.reliable(form))
            return
        tables.make("reliable", sql.reliable(form))
        if form.alpha == 0.0:
            tables.make("taken", sql.SMALLEST_ONE)
            return
        count, linked = tables.value(sql.SHARE_OF)
        lonely = self.n_clusters - linked if form.far is not None and form.far < math.inf else 0
        place = share_count(form.alpha, count + lonely * (lonely - 1) // 2) - 1  # lonely ones are linked at M
        last = tables.value(sql.length_of(place)) if place < count else None
        tables.make("taken", sql.up_to(min(form.stop.max_distance, last[0] if last else math.inf)))

    def _group(self, count: int, tied: bool) -> int:
        """Leave in ``taken`` the links that join, and make ``moved``: what becomes of whom. Return how many links."""
        tables = self.tables
        if not tied:
            tables.make("moved", sql.MOVED)
            return count
        tables.make("crowded", sql.CROWDED)
        tables.make("tied", sql.links_of(crowded=True))
        tables.make("taken", sql.links_of(crowded=False))
        tables.make("moved", sql.MOVED)
        ties, pairs = tables.value(sql.TIES)
        joining = self._group_here() if ties <= FEW_TIES else self._group_there()
        tables.make("taken", "SELECT * FROM taken UNION ALL SELECT * FROM more_links")
        tables.make("moved", "SELECT * FROM moved UNION ALL SELECT * FROM more_moved")
        return int(pairs + joining)

    def _group_here(self) -> int:
        """Fetch tied links, and put back those that join and who moves; return how many join."""
        import pyarrow

        tied = self.tables.fetch("SELECT * FROM tied ORDER BY d, p, q")
        names, ends = np.unique(np.concatenate((tied["p"], tied["q"])), return_inverse=True)
        p, q = ends[: len(tied)], ends[len(tied) :]
        joining = joining_links(Links(p, q, np.arange(len(tied))), len(names))  # in their order; distances are places
        groups = groups_of(joining, len(names))
        heads = np.repeat(groups.heads, np.diff(np.append(groups.starts, len(groups.parts))))
        others = groups.parts != heads
        moved = {"i": names[groups.parts[others]], "g": names[heads[others]]}
        self.tables.put("more_links", tied.take(joining.distance))
        self.tables.put("more_moved", pyarrow.table(moved))
        return len(joining.p)

    def _group_there(self) -> int:
        """Group tied links by statements; return how many of them join."""
        tables = self.tables
        tables.make("groups", sql.FIRST_GROUPS)
        connect(tables)
        tables.make("more_links", sql.LINKS_OF_TREE)
        tables.make("more_moved", sql.MOVED_BY_GROUPS)
        return int(tables.value("SELECT count(*) FROM tree")[0])

    def _join(self) -> None:
        """Write down the links, and make the edges and clusters of the next level."""
        form, tables = self.form, self.tables
        tables.append("links", sql.links(form, self.level + 1))
        if form.criterion.equal_parts:
            self._share()
        tables.keep("joined", sql.joined(form))
        tables.keep("edges", sql.next_edges(form))

    def _share(self) -> None:
        """Make ``shares(i, f, n)``: what the parts of every group are multiplied by, and what the group weighs."""
        import pyarrow

        parts = self.tables.fetch(sql.PARTS)
        group, weights = parts["g"].to_numpy(), parts["n"].to_numpy()
        starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1))
        factors, joint = join_weights(self.form.criterion, weights, starts)
        sizes = np.diff(np.append(starts, len(group)))
        self.tables.put("shares", pyarrow.table({"i": parts["i"], "f": factors, "n": np.repeat(joint, sizes)}))


def connect(tables: Tables) -> None:
    """Join groups in ``groups(i, g)`` that links in ``tied(p, q)`` connect; these become a spanning ``tree(p, q)``.

    In every round each group goes to another one along its smallest link. Of two that go to each other one stays.
    """
    tables.make("tree", "SELECT p, q FROM tied LIMIT 0")
    while True:
        tables.make("hooks", sql.HOOKS)
        if not tables.value("SELECT count(*) FROM hooks")[0]:
            break
        tables.make("tree", f"SELECT p, q FROM tree UNION ALL {sql.JOINING}")
        tables.make("heads", sql.HEADS)
        while tables.value(sql.ON_THE_WAY)[0]:
            tables.make("heads", sql.FARTHER)
        tables.make("groups", sql.NEXT_GROUPS)
    tables.make("groups", sql.FIRST_OF_GROUPS)
