"""How many levels an edge table takes, what each leaves, and what 10^9 to 10^12 edges would cost on 1 to 100 machines.

python benchmarks/rounds.py [--objects 100000] [--seconds-a-level 3]

Graphs of three kinds are clustered in DuckDB, all in SQL. The edges left at every level and the seconds that it
took give the cost model of docs/sql.md: a level takes a fixed time and a time for every edge. Larger tables are then
simulated: edges shrink as measured, from level to level, until what is left fits into the memory of one machine.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np
from measure import machine, table
from sql import neighbour_graph

import reliac
from reliac.engines.sql import home

#: Bytes that a level moves for every edge: both ends with the distance for the nearest, the edge for reliable links,
#: and the whole edge three times to put parallel ones together (two names are looked up, then pairs are grouped).
BYTES_MOVED = 2 * 16 + 24 + 3 * 40

#: What one machine of a cluster moves in a second, through network and disk, beside everything else.
BYTES_A_SECOND = 200e6

#: What one machine can finish in memory: 64 GiB, half of it, at the bytes of an edge.
EDGES_AT_HOME = 32 * 2**30 / home.BYTES_AN_EDGE


def power_law(n: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return a graph with few objects of very many edges: ends are drawn by a power law."""
    rng = np.random.default_rng(seed)
    p = np.minimum((n * rng.random(10 * n) ** 3).astype(np.int64), n - 1)
    q = rng.integers(0, n, 10 * n)
    low, high = np.minimum(p, q)[p != q], np.maximum(p, q)[p != q]
    key = np.unique(low * n + high)
    return key // n, key % n, rng.random(len(key))


def noise(n: int) -> tuple[Any, Any, Any]:
    """Return the 15-nearest-neighbour graph of points without any structure, in 8 dimensions."""
    from scipy.spatial import KDTree

    X = np.random.default_rng(0).random((n, 8))
    distance, other = KDTree(X).query(X, 16, workers=-1)
    p, q, d = np.repeat(np.arange(n), 15), other[:, 1:].ravel(), distance[:, 1:].ravel()
    key, first = np.unique(np.minimum(p, q) * n + np.maximum(p, q), return_index=True)
    return key // n, key % n, d[first]


def levels_of(edges: tuple[Any, Any, Any], missing: str, most: int = 400) -> tuple[list[int], list[float]]:
    """Return the edges left before every level, and the seconds of a core that each level took."""
    left: list[int] = []
    clock: list[float] = []

    def look(run: Any) -> bool:
        left.append(run.n_edges)
        clock.append(time.process_time())
        return False

    before, home.fits = home.fits, look
    try:
        reliac.cluster_edges(edges, "average", engine="sql", missing=missing, max_level=most)
    finally:
        home.fits = before
    return left, np.diff(clock).tolist()


def fitted(edges: list[int], seconds: list[float]) -> tuple[float, float]:
    """Return the seconds of a level without edges, and of a million edges; the median of small levels, then a line."""
    left, took = np.array(edges[: len(seconds)]), np.array(seconds)
    fixed = float(np.median(took[left < 0.01 * left[0]])) if (left < 0.01 * left[0]).any() else float(took.min())
    large = left > 0.05 * left[0]
    return fixed, float((took[large] - fixed).sum() / left[large].sum() * 1e6)


def simulated(total: float, machines: int, shrink: list[float], fixed: float) -> tuple[int, float, float]:
    """Return levels in the cluster, bytes moved, and seconds, for so many edges on so many machines."""
    edges, level, moved, seconds = total, 0, 0.0, 0.0
    while edges > EDGES_AT_HOME:
        moved += edges * BYTES_MOVED
        seconds += fixed + edges * BYTES_MOVED / (machines * BYTES_A_SECOND)
        edges *= shrink[min(level, len(shrink) - 1)]
        level += 1
    return level, moved, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument(
        "--seconds-a-level", type=float, default=3.0, help="what a level takes in Spark whatever its size"
    )
    parser.add_argument("--missing", nargs="+", default=["far", "ignore"])
    arguments = parser.parse_args()
    n, rows, shrink = arguments.objects, [], [1.0]
    graphs = {"mixture": neighbour_graph(n), "noise": noise(n), "power law": power_law(n)}
    for name, edges in graphs.items():
        for missing in arguments.missing:
            left, seconds = levels_of(edges, missing)
            share = np.array(left) / left[0]
            fixed, each = fitted(left, seconds)
            until = [
                str(int(np.argmax(share <= part))) if (share <= part).any() else "-" for part in (0.1, 0.01, 0.001)
            ]
            rows.append(
                [
                    name,
                    missing,
                    str(left[0]),
                    *until,
                    str(len(seconds)),
                    f"{share.sum():.1f}",
                    f"{fixed:.2f}",
                    f"{each:.2f}",
                ]
            )
            print("  ".join(rows[-1]), flush=True)
            if (name, missing) == ("mixture", "far"):
                steps = share[1:] / share[:-1]
                usual = float(np.exp(np.mean(np.log(steps[3:15]))))
                shrink = [*steps[:3].tolist(), usual]
    print("\n" + machine() + "\n")
    titles = [
        "graph",
        "missing",
        "edges",
        "levels to 10 %",
        "to 1 %",
        "to 0.1 %",
        "all (at most 400)",
        "edges read, in units of the input",
    ]
    print(table([*titles, "a level, core seconds", "a million edges, core seconds"], rows))
    print(f"\nEdges left by a level (mixture, far): {', '.join(f'{part:.2f}' for part in shrink)} from then on\n")
    costs = []
    for total in (1e9, 1e10, 1e12):
        for machines in (1, 10, 100):
            level, moved, seconds = simulated(total, machines, shrink, arguments.seconds_a_level)
            costs.append(
                [f"10^{math.log10(total):.0f}", str(machines), str(level), f"{moved / 1e12:.2g} TB", hours(seconds)]
            )
    print(table(["edges", "machines", "levels there", "moved", "time there"], costs))


def hours(seconds: float) -> str:
    return (
        f"{seconds / 60:.0f} min"
        if seconds < 7200
        else f"{seconds / 3600:.0f} h"
        if seconds < 72 * 3600
        else f"{seconds / 86400:.0f} days"
    )


if __name__ == "__main__":
    main()
