"""Graphs: of the listed edges those that may be in a minimum spanning tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...input.graph import Graph
from ..compiled.loading import compiled
from ..compiled.sets import top, unite
from .forest import Edges, as_edges, thin

#: Distances that are looked at to find the limits of the rounds: below the first there are about so many times as many
#: edges as objects, and below the next one so many times more.
SAMPLE, AT_FIRST, GROWTH = 2**16, 1.0, 1.25


def edges_of_graph(graph: Graph) -> Edges:
    """Return the edges i < j of a graph but for most of those whose ends shorter ones connect.

    They are read from the rows of the graph, in rounds: a copy of all edges costs more. What is left is thinned like
    any edges, while it is still in the graph's own types, which take half the memory.
    """
    if graph.n_edges <= 3 * graph.n:
        return as_edges(*graph.edges())
    most = graph.n_edges
    i, j, distance = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, graph.distances.dtype)
    limits = limits_of_rounds(graph)
    count = note_edges(graph.starts, graph.ends, graph.distances, limits, np.arange(graph.n), i, j, distance)
    for column in (i, j, distance):
        column.resize(count, refcheck=False)  # the kernel is done, and nobody else has them
    some = thin(Edges(i, j, distance, np.ones(count, np.int8)), np.arange(graph.n))
    del i, j, distance
    return as_edges(some.i, some.j, some.weight)


def limits_of_rounds(graph: Graph) -> NDArray[Any]:
    """Return the longest distance of every round; that of the last is infinite."""
    sample = np.sort(graph.distances[:: max(1, graph.n_edges // SAMPLE)])
    rounds = int(np.log(graph.n_edges / (AT_FIRST * graph.n)) / np.log(GROWTH)) + 1
    shares = AT_FIRST * GROWTH ** np.arange(rounds) * graph.n / graph.n_edges
    limits = np.unique(sample[(shares * (len(sample) - 1)).astype(np.intp)])  # under ties some are the same
    return np.append(limits, sample.dtype.type(np.inf))


@compiled
def note_edges(starts, ends, distances, limits, leader, i, j, distance):
    """Write down the edges of every round that connect what shorter rounds left apart; count them.

    Inside a round the components stay as they are: of its own edges the shorter ones are not known.
    """
    count, low = 0, -np.inf
    for limit in limits:
        before = count
        for a in range(len(leader)):
            for k in range(starts[a], starts[a + 1]):
                if low < distances[k] <= limit and top(leader, a) != top(leader, np.int64(ends[k])):
                    i[count], j[count], distance[count] = a, ends[k], distances[k]
                    count += 1
        for e in range(before, count):
            unite(leader, top(leader, np.int64(i[e])), top(leader, np.int64(j[e])))
        low = limit
    return count
