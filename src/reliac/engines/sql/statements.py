"""Every statement of a level, in the SQL that DuckDB and Spark share; each says what its table holds.

Clusters go by their first object. Two tables go from one level to the next, and a third one grows:

* ``edges(p, q, d, ...)``: two clusters, p < q, and their distance d, NULL where they are not nearer than pairs without
  an edge. Beside it what the next distances follow from: ``s`` and ``c``, the sum (or largest) of the listed distances
  between the two and how many there are; for the smallest distance ``i`` and ``j`` instead, its objects in p and in q.
* ``joined(i, g, n)``: what became of every cluster at the last step, and what that weighs.
* ``links(p, q, distance, level)``: the result, for the smallest distance with ``i`` and ``j``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...algorithm.criteria import Criterion
from ...input.options import Stop


class Form(NamedTuple):
    """What statements depend on: the criterion, what missing pairs mean, the share of links, and where to stop."""

    criterion: Criterion
    far: float | None  # the distance of missing pairs, infinite where none is computed; None: they are ignored
    alpha: float
    stop: Stop

    @property
    def smallest(self) -> bool:
        """Whether the smallest distance counts: then edges carry their two objects."""
        return self.criterion.reduction is np.minimum


def number(value: float) -> str:
    """Return a float that both read back to the same bits."""
    return f"CAST('{'Infinity' if math.isinf(value) else repr(float(value))}' AS DOUBLE)"


def first_of_each(key: str, order: str, columns: str, rows: str) -> str:
    """Keep of rows with the same key the first one, in an order."""
    return f"""
        SELECT {columns} FROM (
            SELECT {columns}, row_number() OVER (PARTITION BY {key} ORDER BY {order}) AS place FROM ({rows}) AS listed
        ) AS ranked WHERE place = 1"""


# --- one level ---


def nearest(form: Form) -> str:
    """``nearest(i, d, n)``: the distance of every cluster's nearest, and the cluster's weight.

    A cluster without one can never be joined (a join comes no closer), so it is left out, and later its edges with it;
    the same goes for the distance cap, unless links beyond it are counted among those of which a share is taken.
    """
    most = form.stop.max_distance if form.alpha in (0.0, 1.0) else math.inf
    return f"""
        SELECT x.i, x.d, c.n FROM (
            SELECT i, min(d) AS d FROM {ends("edges", ", d")} GROUP BY i HAVING min(d) <= {number(most)}) AS x
        JOIN {CLUSTERS} AS c ON x.i = c.i"""


def reliable(form: Form) -> str:
    """``reliable(p, q, d, m, n)``: edges as long as the nearest of both their ends, and the weights of the two."""
    more = ", e.i, e.j" if form.smallest else ""
    return f"""
        SELECT e.p, e.q, e.d, a.n AS m, b.n{more} FROM edges AS e
        JOIN nearest AS a ON e.p = a.i AND e.d <= a.d JOIN nearest AS b ON e.q = b.i AND e.d <= b.d"""


def ends(links: str, more: str = "") -> str:
    """``ends(i)``: both clusters of every link, or edge, of a table; ``more``: a column that comes with them."""
    return f"(SELECT p AS i{more} FROM {links} UNION ALL SELECT q AS i{more} FROM {links}) AS ends"


#: One row: how many links are reliable, and how many clusters have a nearest.
SHARE_OF = "SELECT (SELECT count(*) FROM reliable), (SELECT count(*) FROM nearest)"


def smallest(count: int, links: str) -> str:
    """``taken``: the smallest links of a table, ties to the smallest pairs."""
    return f"SELECT * FROM {links} ORDER BY d, p, q LIMIT {count}"


def up_to(place: int, longest: float) -> str:
    """``taken``: reliable links up to a distance, and up to that of the link at a place if sorted, counted from 0."""
    last = f"coalesce((SELECT d FROM reliable ORDER BY d LIMIT 1 OFFSET {place}), {number(math.inf)})"
    return f"SELECT * FROM reliable WHERE d <= {number(longest)} AND d <= {last}"


#: ``crowded(i)``: clusters with several links.
CROWDED = f"SELECT i FROM {ends('taken')} GROUP BY i HAVING count(*) > 1"


def links_of(crowded: bool) -> str:
    """Links taken of which an end is crowded, or none is: groups of three and more, or pairs."""
    return f"""
        SELECT t.* FROM taken AS t LEFT JOIN crowded AS a ON t.p = a.i LEFT JOIN crowded AS b ON t.q = b.i
        WHERE {"" if crowded else "NOT "}(a.i IS NOT NULL OR b.i IS NOT NULL)"""


#: One row: how many links are tied, and how many are not.
TIES = "SELECT (SELECT count(*) FROM tied), (SELECT count(*) FROM pairs)"

#: ``moved(i, g, n)`` of pairs: both clusters, the first of them, and what the two weigh together.
MOVED = "SELECT p AS i, p AS g, m + n AS n FROM pairs UNION ALL SELECT q AS i, p AS g, m + n AS n FROM pairs"


def links(form: Form, level: int) -> str:
    """Rows of ``links``: the links of this level."""
    more = ", i, j" if form.smallest else ""
    return f"SELECT p, q, d AS distance, CAST({level} AS BIGINT) AS level{more} FROM taken"


#: The clusters with their weights, as the last step has left them: a group goes by its first part.
CLUSTERS = "(SELECT i, n FROM joined WHERE i = g)"


def joined(form: Form) -> str:
    """``joined(i, g, n)``: what becomes of every cluster that has a nearest, and what that weighs.

    Where parts count alike also ``f``, what the sums of a part are multiplied by.
    """
    factor = ", coalesce(m.f, 1) AS f" if form.criterion.equal_parts else ""
    return f"""
        SELECT x.i, coalesce(m.g, x.i) AS g, coalesce(m.n, x.n) AS n{factor}
        FROM nearest AS x LEFT JOIN moved AS m ON x.i = m.i"""


#: Two are different, written so that no planner joins a and b by it, which would go through all pairs of clusters.
_APART = "least(a.g, b.g) < greatest(a.g, b.g)"

#: Edges between clusters that are still two.
_BETWEEN = f"FROM edges AS e JOIN joined AS a ON e.p = a.i JOIN joined AS b ON e.q = b.i WHERE {_APART}"


def next_edges(form: Form) -> str:
    """``edges`` of the next level: what lies between two clusters now is put together.

    Of the smallest distances ties go to the smallest objects.
    """
    pair = "SELECT least(a.g, b.g) AS p, greatest(a.g, b.g) AS q"
    if form.smallest:
        objects = "CASE WHEN a.g < b.g THEN e.i ELSE e.j END AS i, CASE WHEN a.g < b.g THEN e.j ELSE e.i END AS j"
        return first_of_each("p, q", "d, i, j", "p, q, d, i, j", f"{pair}, d, {objects} {_BETWEEN}")
    reduction = "max" if form.criterion.reduction is np.maximum else "sum"
    factor = " * (a.f * b.f)" if form.criterion.equal_parts else ""
    between = f"""
        {pair}, {reduction}(e.s{factor}) AS s, sum(e.c{factor}) AS c, min(a.n * b.n) AS w
        {_BETWEEN} GROUP BY least(a.g, b.g), greatest(a.g, b.g)"""
    return with_distances(form, between)


def with_distances(form: Form, edges: str) -> str:
    """Add the distance d to edges with s, c and the product w of the two weights.

    Sums, and M for missing pairs: (s + M (w - c)) / w if that is below M. Largest: all pairs must be listed.
    """
    if form.criterion.reduction is np.maximum:
        distance = "s" if form.far is None else "CASE WHEN c >= w THEN s END"
    elif form.far is None:
        distance = "s / c"
    else:
        mean = f"(s + {number(form.far)} * (w - c)) / w"
        distance = f"CASE WHEN {mean} < {number(form.far)} THEN {mean} END"
    return f"SELECT p, q, s, c, {distance} AS d FROM ({edges}) AS reduced"


# --- groups of three and more, where they are too many to be fetched: the smallest link of every group, in rounds ---

#: ``groups(i, g)``: at the start every cluster with tied links is a group of its own.
FIRST_GROUPS = f"SELECT DISTINCT i, i AS g FROM {ends('tied')}"

#: Both directions of every tied link that leaves its group: from group g to h.
LEAVING = " UNION ALL ".join(
    f"""
    SELECT {g}.g AS g, {h}.g AS h, t.p, t.q
    FROM tied AS t JOIN groups AS a ON t.p = a.i JOIN groups AS b ON t.q = b.i WHERE {_APART}"""
    for g, h in ("ab", "ba")
)

#: ``hooks(g, h, p, q)``: of every group its smallest link to another one, h. All links of a group are equally long.
HOOKS = first_of_each("g", "p, q", "g, h, p, q", LEAVING)

#: ``tree(p, q)``: pairs of clusters whose links join groups; they are a spanning tree of each group in the end.
JOINING = "SELECT DISTINCT p, q FROM hooks"

#: ``heads(g, h)``: where every group goes; of two that go to each other the smaller one stays.
HEADS = """
    SELECT x.g, CASE WHEN y.h = x.g AND x.g < y.g THEN x.g ELSE x.h END AS h
    FROM hooks AS x JOIN hooks AS y ON x.h = y.g"""

#: ``heads(g, h)``: the same, but twice as far along the way.
FARTHER = "SELECT x.g, y.h FROM heads AS x JOIN heads AS y ON x.h = y.g"

#: One row: how many groups have not arrived.
ON_THE_WAY = "SELECT count(*) FROM heads AS x JOIN heads AS y ON x.h = y.g WHERE x.h <> y.h"

#: ``groups(i, g)`` after a round.
NEXT_GROUPS = "SELECT x.i, coalesce(y.h, x.g) AS g FROM groups AS x LEFT JOIN heads AS y ON x.g = y.g"

#: ``groups(i, g)`` in the end: a group goes by its first cluster.
FIRST_OF_GROUPS = "SELECT i, min(i) OVER (PARTITION BY g) AS g FROM groups"

#: Rows of ``moved``: the clusters of these groups.
MOVED_BY_GROUPS = """
    SELECT x.i, x.g, sum(c.n) OVER (PARTITION BY x.g) AS n FROM groups AS x JOIN nearest AS c ON x.i = c.i"""

#: The tied links that join.
LINKS_OF_TREE = "SELECT t.* FROM tied AS t JOIN tree AS x ON t.p = x.p AND t.q = x.q"
