"""Edge tables in a database against the in-memory graph engine: all in SQL, finished in memory, limited, and in Spark.

python benchmarks/sql.py --out docs/sql.md                      # everything, about half an hour on two quiet cores
python benchmarks/sql.py --parts duckdb --edges graph.npz

graph.npz holds p, q and d; without it a 15-nearest-neighbour graph of 1,000,000 points in 4 dimensions is made. Lengths
are rounded to multiples of 2^-20, so that all sums are exact and trees can be compared bit for bit.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import machine, mixture, table, take_turns
from peers import write_into

import reliac
from reliac.engines.sql import home

#: Copies of the graph, with other distances, that make the large one.
COPIES = 6


def neighbour_graph(n: int, k: int = 15) -> tuple[Any, Any, Any]:
    """Return the k-nearest-neighbour graph of a mixture in 4 dimensions: every pair once."""
    from scipy.spatial import KDTree

    X = mixture(n, 4)
    distance, other = KDTree(X).query(X, k + 1, workers=-1)
    p, q, d = np.repeat(np.arange(n), k), other[:, 1:].ravel(), distance[:, 1:].ravel()
    key, first = np.unique(np.minimum(p, q) * n + np.maximum(p, q), return_index=True)
    return key // n, key % n, d[first]


def write(path: Path, p: Any, q: Any, d: Any) -> None:
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"a": p, "b": q, "distance": d}), path)


def same(*trees: reliac.ClusterTree) -> str:
    return (
        "the same, bit for bit" if all(np.array_equal(tree.links, trees[0].links) for tree in trees) else "OTHER TREE"
    )


class Timed:
    """A call of cluster_edges, and the tree of its last one."""

    def __init__(self, source: Any, share: float, **options: Any) -> None:
        self.source, self.share, self.options = source, share, options
        self.tree: Any = None

    def __call__(self) -> None:
        home.SHARE, before = self.share, home.SHARE
        tree_fits, home.tree_fits = home.tree_fits, lambda tables, n: True
        try:
            self.tree = reliac.cluster_edges(self.source, "average", **self.options)
        finally:
            home.SHARE, home.tree_fits = before, tree_fits


def duckdb_rows(edges: tuple[Any, Any, Any], folder: Path, times: int) -> list[list[str]]:
    """Everything in SQL, and finished in memory, against the graph engine; they take turns."""
    path = folder / "edges.parquet"
    write(path, *edges)
    calls = [
        Timed(edges, 0.5, engine="graph"),
        Timed(path, 0.0, engine="sql"),
        Timed(path, 0.5, engine="sql"),
    ]
    reliac.cluster_edges(tuple(column[:1000] for column in edges), "average", engine="graph")  # loads compiled code
    seconds = take_turns(*calls, times=times)
    levels = calls[1].tree.n_levels
    names = ["graph engine in memory", f"DuckDB, all {levels} levels in SQL", "DuckDB, finished in memory"]
    goals = ["", "20x, try 8x", "5x, try 2x"]
    found = ["", *(same(calls[0].tree, call.tree) for call in calls[1:])]
    size = f"average (far), {len(edges[0]) / 1e6:.1f} million edges"
    return [
        [f"{size}, {name}", f"{second:.1f} s", f"{second / seconds[0]:.1f}x", goal, tree]
        for name, second, goal, tree in zip(names, seconds, goals, found, strict=True)
    ]


def limit_rows(edges: tuple[Any, Any, Any], folder: Path) -> list[list[str]]:
    """Six times as many edges, with 2 GB and without a limit; nothing is finished in memory."""
    import duckdb

    p, q, d = edges
    n = int(q.max()) + 1
    path = folder / "large.parquet"
    write(
        path,
        np.concatenate([p.astype(np.int64) + n * k for k in range(COPIES)]),
        np.concatenate([q.astype(np.int64) + n * k for k in range(COPIES)]),
        np.concatenate([np.round(d * (1.0 + k / 8.0) * 2**20) / 2**20 for k in range(COPIES)]),
    )
    rows, trees = [], []
    for limit in ("2GB", None):
        spill = folder / "spill"
        config = {"temp_directory": str(spill), "preserve_insertion_order": "false"}
        connection = duckdb.connect(config=config | ({"memory_limit": limit} if limit else {}))
        call = Timed(path, 0.0, connection=connection)
        started = time.perf_counter()
        call()
        seconds = time.perf_counter() - started
        connection.close()
        shutil.rmtree(spill, ignore_errors=True)
        trees.append(call.tree)
        size = f"{COPIES * len(p) / 1e6:.1f} million edges, DuckDB, all in SQL"
        rows.append([f"{size}, {'without a limit' if limit is None else f'limit {limit}'}", f"{seconds:.0f} s", ""])
    return [[*row, goal, tree] for row, goal, tree in zip(rows, ("finishes", ""), (same(*trees), ""), strict=True)]


def spark_rows(edges: tuple[Any, Any, Any], folder: Path, levels: int = 8) -> list[list[str]]:
    """Seconds a level on a standalone cluster of two workers, about 10^6 edges; at first Java still warms up."""
    sys.path.append(str(Path(__file__).parents[1] / "examples"))
    from spark_cluster import SparkCluster

    path = folder / "spark.parquet"
    write(path, *edges)
    told: list[float] = []
    with SparkCluster(memory="2g") as cluster:
        session = cluster.session()
        frame = session.read.parquet(str(path))
        call = Timed(
            frame,
            0.0,
            checkpoint=folder / "run",
            max_level=levels,
            progress=lambda progress: told.append(progress.seconds),
        )
        call()
        session.stop()
    plain = reliac.cluster_edges(edges, "average", engine="graph", max_level=levels)
    seconds, tree = np.diff(told, prepend=0.0), same(call.tree, plain)
    size = f"{len(edges[0]) / 1e6:.2f} million edges, Spark standalone, two workers of one core each"
    return [
        [f"{size}, level {level}", f"{second:.1f} s", "", "6 s, try 3 s" if level > 1 else "", tree]
        for level, second in enumerate(seconds, 1)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", help="a .npz file with p, q and d")
    parser.add_argument("--spark-edges", help="the same, of about 10^6 edges, for Spark")
    parser.add_argument("--parts", nargs="+", default=["duckdb", "limit", "spark"])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--out", type=Path, help="the page that the tables are written into")
    arguments = parser.parse_args()
    tables: dict[str, list[list[str]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if {"duckdb", "limit"} & set(arguments.parts):
            edges = rounded(*(loaded(arguments.edges) if arguments.edges else neighbour_graph(1_000_000)))
            if "duckdb" in arguments.parts:
                tables["duckdb"] = duckdb_rows(edges, folder, arguments.times)
            if "limit" in arguments.parts:
                tables["limit"] = limit_rows(edges, folder)
        if "spark" in arguments.parts:
            small = loaded(arguments.spark_edges) if arguments.spark_edges else neighbour_graph(100_000)
            tables["spark"] = spark_rows(rounded(*small), folder)
    print(f"\n{machine()}\n")
    for part, rows in tables.items():
        text = table(["work", "time", "against the graph engine", "goal", "tree"], rows)
        print(f"{text}\n")
        if arguments.out:
            write_into(arguments.out, f"sql-{part}", text)


def rounded(p: Any, q: Any, d: Any) -> tuple[Any, Any, Any]:
    """Round distances, so that sums are exact."""
    return p, q, np.round(d * 2**20) / 2**20


def loaded(path: str) -> tuple[Any, Any, Any]:
    with np.load(path) as file:
        return file["p"], file["q"], file["d"]


if __name__ == "__main__":
    main()
