"""Graphs against scikit-learn and SciPy: connectivity, spanning trees, average on neighbour graphs, growth, memory.

    python benchmarks/graphs.py --out docs/graphs.md            # everything, about ten minutes on two quiet cores
    python benchmarks/graphs.py --sections connectivity --side 128 --vectors 10000 --objects 100000

Everybody takes turns, three times each, the best of one against the best of the other.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from measure import machine, memory_status, mixture, table, take_turns
from peers import write_into
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree

import reliac

#: What must be reached: as often as fast as scikit-learn, as often the time of SciPy, edges a second and core.
FASTER_AT_0, FASTER_AT_1, OF_SCIPY, EDGES_A_SECOND, EXPONENT, MEMORY = 10.0, 20.0, 2.0, 2e6, 1.15, 3.0

Edges = tuple[np.ndarray, np.ndarray, np.ndarray]


def neighbour_edges(n: int, k: int = 15, d: int = 4) -> Edges:
    """The edges of a k-nearest-neighbour graph of a mixture, sorted, each once."""
    found = reliac.neighbors(mixture(n, d), k)
    p, q = np.repeat(np.arange(n), k), found.indices.ravel().astype(np.int64)
    key, first = np.unique(np.minimum(p, q) * n + np.maximum(p, q), return_index=True)
    return (key // n).astype(np.int32), (key % n).astype(np.int32), found.distances.ravel()[first]


def ring(n: int = 20_000) -> Edges:
    """A graph that is large enough to have all code loaded, before anything is measured."""
    every = np.arange(n, dtype=np.int32)
    return every, np.roll(every, 1), np.sin(every) + 2.0


def reached(ratio: float, target: float, least: bool = True) -> str:
    """A figure and what it had to be, marked where it is missed."""
    good = ratio >= target if least else ratio <= target
    return f"{ratio:.2f}" if good else f"**{ratio:.2f}** of {target:g}"


def connectivity(side: int, n: int) -> Iterator[list[str]]:
    """Ward among neighbours: an image and a neighbour graph; scikit-learn's tree is that of alpha = 0."""
    from sklearn.cluster import ward_tree
    from sklearn.feature_extraction.image import grid_to_graph
    from sklearn.neighbors import kneighbors_graph

    rng = np.random.default_rng(0)
    image = np.cumsum(np.cumsum(rng.normal(size=(side, side)), 0), 1).reshape(-1, 1) + rng.normal(size=(side**2, 1))
    X = mixture(n, 16)
    warnings.simplefilter("ignore")  # scikit-learn warns when it completes a graph
    for name, rows, graph in (
        (f"image {side} x {side}", image, grid_to_graph(side, side)),
        (f"30 neighbours of {n:,} x 16", X, kneighbors_graph(X, 30, include_self=False)),
    ):
        graph = graph + graph.T

        def peer(rows: np.ndarray = rows, graph: csr_array = graph) -> None:
            ward_tree(rows, connectivity=graph)

        def ours(alpha: float, rows: np.ndarray = rows, graph: csr_array = graph) -> Callable[[], object]:
            return lambda: reliac.cluster(rows, "ward", connectivity=graph, alpha=alpha)

        scikit_learn, standard, reliable = take_turns(peer, ours(0.0), ours(1.0))
        for alpha, seconds, target in ((0, standard, FASTER_AT_0), (1, reliable, FASTER_AT_1)):
            ratio = reached(scikit_learn / seconds, target)
            yield [f"ward, {name}, alpha {alpha}", f"{seconds:.2f} s", f"scikit-learn {scikit_learn:.2f} s", ratio]


def single(edges: Edges, n: int) -> Iterator[list[str]]:
    """Single against the spanning tree alone."""
    graph = csr_array((edges[2], edges[:2]), shape=(n, n))
    seconds, scipy = take_turns(
        lambda: reliac.cluster_edges(edges, "single", objects=range(n)), lambda: minimum_spanning_tree(graph)
    )
    ratio = reached(seconds / scipy, OF_SCIPY, least=False)
    yield [f"single, {len(edges[0]):,} edges", f"{seconds:.2f} s", f"SciPy, spanning tree only {scipy:.2f} s", ratio]


def average(edges: Edges, n: int) -> Iterator[list[str]]:
    """Edges a second, in one thread and in all."""
    for criterion in ("average", "complete", "weighted"):
        for jobs in (1, None):
            reliac.cluster_edges(ring(), criterion, n_jobs=jobs)
    calls = [
        lambda criterion=criterion, jobs=jobs: reliac.cluster_edges(edges, criterion, objects=range(n), n_jobs=jobs)
        for criterion in ("average", "complete", "weighted")
        for jobs in (1, None)
    ]
    names = [f"{c}, {t}" for c in ("average", "complete", "weighted") for t in ("one thread", "all cores")]
    for name, seconds in zip(names, take_turns(*calls), strict=True):
        rate = len(edges[0]) / seconds
        told = reached(rate / 1e6, EDGES_A_SECOND / 1e6) if name == "average, one thread" else f"{rate / 1e6:.2f}"
        yield [f"{name}, {n:,} objects, {len(edges[0]):,} edges", f"{seconds:.2f} s", "million edges a second", told]


def growth(n: int) -> Iterator[list[str]]:
    """The exponent of time over edges, from a hundredth of the objects on."""
    sizes, counts, times = [n // 100, n // 30, n // 10, n // 3, n], [], []
    for size in sizes:
        edges = neighbour_edges(size)
        counts.append(len(edges[0]))
        times += take_turns(
            lambda edges=edges, size=size: reliac.cluster_edges(edges, "average", objects=range(size), n_jobs=1)
        )
    exponent = float(np.polyfit(np.log(counts), np.log(times), 1)[0])
    names = f"average, {counts[0]:,} to {counts[-1]:,} edges"
    yield [names, f"{times[0]:.2f} to {times[-1]:.2f} s", "exponent", reached(exponent, EXPONENT, least=False)]


#: The forms in which edges are given when memory is measured.
FORMS = (
    "sorted, int32 ends",
    "in any order, int64 ends",
    "csr_array, both directions",
    "in any order, int32 ends",
    "float32",
    "float32, 150 different distances",
)


def memory(edges: Edges, n: int) -> Iterator[list[str]]:
    """The peak beyond the input, in multiples of it; in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.npz"
        np.savez(path, a=edges[0], b=edges[1], d=edges[2])
        for criterion, form in product(("average", "single", "complete", "weighted"), FORMS):
            command = [sys.executable, __file__, "--peak", str(path), criterion, str(n), form]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            size, most = (int(number) for number in printed.split())
            told = f"input {size / 2**20:.0f} MiB"
            ratio = reached(most / size, MEMORY, least=False)
            yield [f"memory, {criterion}, {form}, {len(edges[0]):,} edges", f"{most / 2**20:.0f} MiB", told, ratio]


def in_form(edges: Edges, form: str, n: int) -> tuple[Any, int]:
    """Edges as one of :data:`FORMS`, and their bytes."""
    a, b, d = edges
    if form == "csr_array, both directions":
        both = csr_array((np.r_[d, d], (np.r_[a, b], np.r_[b, a])), shape=(n, n))
        return both, both.data.nbytes + both.indices.nbytes + both.indptr.nbytes
    if form.startswith("in any order"):
        order = np.random.default_rng(0).permutation(len(a))
        a, b, d = (column[order] for column in edges)
    if form.endswith("int64 ends"):
        a, b = a.astype(np.int64), b.astype(np.int64)
    if "150" in form:  # many links tie
        d = np.searchsorted(np.quantile(d, np.arange(1, 150) / 150), d) + 1.0
    if form.startswith("float32"):
        d = d.astype(np.float32)
    return (a, b, d), a.nbytes + b.nbytes + d.nbytes


def peak(path: str, criterion: str, n: str, form: str) -> tuple[int, int]:
    """Bytes of the input, and the peak beyond it: what :func:`memory` runs in the new process."""
    stored = np.load(path)
    edges, size = in_form((stored["a"], stored["b"], stored["d"]), form, int(n))
    objects = {} if form.startswith("csr") else {"objects": range(int(n))}
    reliac.cluster_edges(ring(), criterion)  # a larger graph would leave memory behind that this run takes again
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = memory_status("VmRSS")
    reliac.cluster_edges(edges, criterion, **objects)
    return size, memory_status("VmHWM") - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sections", nargs="+", default=["connectivity", "single", "average", "growth", "memory"])
    parser.add_argument("--side", type=int, default=512, help="pixels of the image, each way")
    parser.add_argument("--vectors", type=int, default=50_000, help="rows of the neighbour graph with vectors")
    parser.add_argument("--objects", type=int, default=1_000_000, help="objects of the 15-neighbour graph")
    parser.add_argument("--out", type=Path, help="the page that the table is written into")
    parser.add_argument("--peak", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak:
        print(*peak(*arguments.peak))
        return
    reliac.warmup(["graph", "spanning"])
    rows: list[list[str]] = []
    n, needed = arguments.objects, {"single", "average", "memory"} & set(arguments.sections)
    edges = neighbour_edges(n) if needed else None
    sections: dict[str, Callable[[], Iterator[list[str]]]] = {
        "connectivity": lambda: connectivity(arguments.side, arguments.vectors),
        "single": lambda: single(edges, n),
        "average": lambda: average(edges, n),
        "growth": lambda: growth(n),
        "memory": lambda: memory(edges, n),
    }
    for name in arguments.sections:
        for row in sections[name]():
            rows.append(row)
            print("  ".join(row), flush=True)
    text = table(["work", "reliac", "beside it", "ratio or rate"], rows)
    print(f"\n{machine()}\n\n{text}")
    if arguments.out:
        write_into(arguments.out, "graphs", text)


if __name__ == "__main__":
    main()
