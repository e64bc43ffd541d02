"""Levels in a database: a few statements each, the same links as every other engine. See ``statements.py``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...algorithm.criteria import join_weights
from ...algorithm.links import Links, groups_of, joining_links, share_count
from . import statements as sql
from .connections import Tables
from .statements import Form

#: Up to so many edges, the links of a level are fetched and grouped here; of more edges those links that are tied ...
FEW_EDGES = 4_000_000

#: ... if they are at most so many. More are grouped by rounds of statements.
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
            count = self._group(self._taken(), self.n_clusters - stop.n_clusters)
            if not count:
                break
            state = self.tables.state
            self.tables.append("links", sql.links(form, self.level + 1))
            self.tables.keep("joined", sql.joined(form))
            self.tables.keep("edges", sql.next_edges(form))
            self.tables.done(state | {"level": self.level + 1, "n_links": state["n_links"] + count})
            yield self.level

    def _taken(self) -> str:
        """Return the statement of the links that are taken: all reliable ones, or the smallest share of them."""
        form, tables = self.form, self.tables
        if form.alpha == 1.0:
            return sql.reliable(form)
        tables.make("reliable", sql.reliable(form))
        if form.alpha == 0.0:
            return sql.smallest(1, "reliable")
        count, linked = tables.value(sql.SHARE_OF)
        lonely = self.n_clusters - linked if form.far is not None else 0
        place = share_count(form.alpha, count + lonely * (lonely - 1) // 2) - 1  # lonely ones are linked at M
        return sql.up_to(place, form.stop.max_distance)

    def _group(self, links: str, most: int) -> int:
        """Make ``taken``, those of some links that join, and ``moved``: what becomes of whom. Return how many links."""
        form, tables = self.form, self.tables
        if form.criterion.equal_parts or self.n_edges <= FEW_EDGES:  # equal parts: their factors are computed here
            return self._group_here(links, "moved", "taken", most)
        tables.remake("taken", links)
        tables.make("crowded", sql.CROWDED)
        tables.remake("tied", sql.links_of(crowded=True))
        tables.make("pairs", sql.links_of(crowded=False))
        ties, count = tables.value(sql.TIES)
        if ties <= FEW_TIES:
            count += self._group_here("SELECT * FROM tied", "more_moved", "more_links")
        else:
            tables.make("groups", sql.FIRST_GROUPS)
            connect(tables)
            tables.make("more_links", sql.LINKS_OF_TREE)
            tables.make("more_moved", sql.MOVED_BY_GROUPS)
            count += tables.value("SELECT count(*) FROM tree")[0]
        tables.make("moved", f"{sql.MOVED} UNION ALL SELECT i, g, n FROM more_moved")
        tables.make("taken", "SELECT * FROM pairs UNION ALL SELECT * FROM more_links")
        if count > most:
            tables.make("taken", sql.smallest(most, "taken"))
        return int(min(count, most))

    def _group_here(self, links: str, moved: str, joining: str, most: int | None = None) -> int:
        """Fetch links, and put back who moves, and those that join: the first of them. Return how many join."""
        import pyarrow

        rows = self.tables.fetch(links)
        p, q, d, m, n = (rows[name].to_numpy() for name in ("p", "q", "d", "m", "n"))
        names, first, ends = np.unique(np.concatenate((p, q)), return_index=True, return_inverse=True)
        order = np.lexsort((q, p, d))
        kept = joining_links(Links(ends[order], ends[len(p) + order], order), len(names)).take(slice(most))
        groups = groups_of(kept, len(names))
        weights = np.concatenate((m, n))[first][groups.parts]
        factors, joint = join_weights(self.form.criterion, weights, groups.starts)
        group = np.repeat(np.arange(len(joint)), np.diff(np.append(groups.starts, len(weights))))
        parts = {"i": names[groups.parts], "g": names[groups.heads[group]], "n": joint[group], "f": factors}
        self.tables.put(moved, pyarrow.table(parts))
        self.tables.put(joining, rows.take(kept.distance))
        return len(kept.p)


def connect(tables: Tables) -> None:
    """Join groups in ``groups(i, g)`` that links in ``tied(p, q)`` connect; these become a spanning ``tree(p, q)``.

    In every round each group goes to another one along its smallest link. Of two that go to each other one stays.
    """
    tables.make("tree", "SELECT p, q FROM tied LIMIT 0")
    while True:
        tables.make("hooks", sql.HOOKS)
        if not tables.value("SELECT count(*) FROM hooks")[0]:
            break
        tables.remake("tree", f"SELECT p, q FROM tree UNION ALL {sql.JOINING}")
        tables.remake("heads", sql.HEADS)
        while tables.value(sql.ON_THE_WAY)[0]:
            tables.remake("heads", sql.FARTHER)
        tables.remake("groups", sql.NEXT_GROUPS)
    tables.make("groups", sql.FIRST_OF_GROUPS)
