"""Graphs: of the listed edges those that may be in a minimum spanning tree."""

from __future__ import annotations

import numpy as np

from ...input.graph import Graph
from ..compiled.loading import compiled
from ..compiled.sets import top, unite
from .forest import Edges, as_edges, thin

#: Distances that are looked at to find a limit below which there are about twice as many edges as objects.
SAMPLE = 2**16


def edges_of_graph(graph: Graph) -> Edges:
    """Return the edges i < j of a graph but for most of those whose ends shorter ones connect.

    The first round is read from the rows of the graph: a copy of all edges costs more. What is left is thinned like any
    edges, while it is still in the graph's own types, which take half the memory.
    """
    if graph.n_edges <= 3 * graph.n:
        return as_edges(*graph.edges())
    sample = np.sort(graph.distances[:: max(1, len(graph.distances) // SAMPLE)])
    limit = sample[2 * len(sample) * graph.n // graph.n_edges]
    most = graph.n_edges
    i, j, distance = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, graph.distances.dtype)
    count = note_edges(graph.starts, graph.ends, graph.distances, limit, np.arange(graph.n), i, j, distance)
    some = thin(Edges(i[:count], j[:count], distance[:count], np.ones(count, np.int8)), np.arange(graph.n))
    del i, j, distance  # much room, of which little is needed yet
    return as_edges(some.i, some.j, some.weight)


@compiled
def note_edges(starts, ends, distances, limit, leader, i, j, distance):
    """Write down all edges up to the limit, then of the others those that connect what these left apart; count them."""
    count = 0
    for a in range(len(leader)):
        for k in range(starts[a], starts[a + 1]):
            b = np.int64(ends[k])
            if distances[k] <= limit:
                unite(leader, top(leader, a), top(leader, b))
                i[count], j[count], distance[count] = a, b, distances[k]
                count += 1
    for a in range(len(leader)):
        for k in range(starts[a], starts[a + 1]):
            b = np.int64(ends[k])
            if distances[k] > limit and top(leader, a) != top(leader, b):
                i[count], j[count], distance[count] = a, b, distances[k]
                count += 1
    return count
