"""reliac against its peers: who is quicker, by how much, and what this version has set itself to reach.

    pip install '.[bench]'
    python benchmarks/peers.py --out docs/performance.md            # everything, about 20 minutes on two quiet cores
    python benchmarks/peers.py --sections given floor --sizes 6000  # a part
    python benchmarks/peers.py --sizes 500 1000                     # everything in small, to see that it runs

In every row peer and reliac take turns, at least three times each, and the best of one is compared with the best of
the other; once each, where one call takes over 30 s. See ``measure.take_turns``. Everybody may use all cores.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from measure import Clustering, machine, mixture, number_of_objects, peak_memory, real, table, take_turns
from scipy.spatial.distance import pdist, squareform

from reliac.algorithm.criteria import CRITERIA
from reliac.engines.choice import ENGINES, get_engine
from reliac.input.problem import make_problem
from reliac.machine import in_threads, n_threads

Row = list[str]

#: Objects of the problems with given distances.
SIZES = (2000, 6000, 12000, 20000)

#: For given distances: how many times quicker than fastcluster reliac must be, by criterion and number of objects.
MUST_REACH = {
    **{name: {20000: 5.0, 6000: 2.5, 2000: 1.5} for name in ("complete", "average", "weighted", "ward")},
    **{name: {20000: 2.0, 6000: 1.2} for name in ("centroid", "median")},
    "single": {20000: 2.0, 6000: 1.5},
}


class Sizes(NamedTuple):
    """How large the problems are: those with given distances, and all others in proportion to the largest of them."""

    given: tuple[int, ...]

    def of(self, n: int) -> int:
        """The number of objects that stands for n in a whole run."""
        return int(n * min(1.0, max(self.given) / max(SIZES)))


# --- rows ---


def against(work: str, peer: str, theirs: float, ours: float, must: float | None, engine: str) -> Row:
    """A row of a peer's time and ours; what is slower, or short of what must be reached, is marked."""
    ratio = theirs / ours
    found = f"{ratio:.1f}x" if ratio >= 1 else f"**{ratio:.2g}x, slower**"
    return [work, peer, f"{theirs:.3g} s", f"{ours:.3g} s", found, reached(must, ratio), engine]


def over(work: str, floor: str, least: float, ours: float, must: float, engine: str) -> Row:
    """A row of our time as a multiple of a time below which nobody can be."""
    ratio = ours / least
    wanted = f"at most {must:g}x" + ("" if ratio <= must else ", **not reached**")
    return [work, floor, f"{least:.3g} s", f"{ours:.3g} s", f"{ratio:.1f}x the floor", wanted, engine]


def reached(must: float | None, ratio: float) -> str:
    if must is None:
        return ""
    return f"{must:g}x" + ("" if ratio >= must else ", **not reached**")


# --- sections: each yields its rows ---


def given_distances(sizes: Sizes) -> Iterator[Row]:
    """fastcluster takes condensed distances only: for a square matrix, making one belongs to its time."""
    import fastcluster

    for n in sizes.given:
        D = pdist(mixture(n, 16))
        for form in ("condensed", "square"):
            if form == "square":
                D = squareform(D)
            for criterion in CRITERIA:

                def peer(D: np.ndarray = D, criterion: str = criterion) -> None:
                    fastcluster.linkage(D if D.ndim == 1 else squareform(D, checks=False), criterion)

                call = Clustering(D, criterion, metric="precomputed")
                theirs, ours = take_turns(peer, call)
                must = MUST_REACH[criterion].get(n)
                yield against(f"{criterion}, {form}, n={n}", "fastcluster.linkage", theirs, ours, must, call.engine)


def floor(sizes: Sizes) -> Iterator[Row]:
    """Average of given distances as a multiple of reading them once, in threads."""
    n = max(sizes.given)
    D = pdist(mixture(n, 16))
    for form in ("condensed", "square"):
        if form == "square":
            D = squareform(D)
        pieces = np.array_split(D.reshape(-1), 64)
        call = Clustering(D, "average", metric="precomputed")
        least, ours = take_turns(lambda pieces=pieces: in_threads(np.max, pieces, n_threads(None)), call)
        yield over(f"average, {form}, n={n}", "reading the input once", least, ours, 6.0, call.engine)


def ward_vectors(sizes: Sizes) -> Iterator[Row]:
    import fastcluster

    work = [(f"{d} columns", mixture(sizes.of(20000), d), must) for d, must in ((128, 15.0), (16, 5.0))]
    for name in ("mnist", "sift", "letter"):
        X = real(name)
        if X is not None:
            work.append((name, X[: sizes.of(len(X))].astype(np.float64), None))
    for name, X, must in work:
        call = Clustering(X, "ward", metric="euclidean")
        theirs, ours = take_turns(lambda X=X: fastcluster.linkage_vector(X, "ward"), call)
        shape = f"ward, {name}, {len(X)} x {X.shape[1]}"
        yield against(shape, "fastcluster.linkage_vector", theirs, ours, must, call.engine)


def average_vectors(sizes: Sizes) -> Iterator[Row]:
    """Average linkage as a multiple of one product X Xᵀ in float32, in blocks."""
    X = mixture(sizes.of(50000), 64, kind=np.float32)

    def product() -> None:
        for start in range(0, len(X), 512):
            X[start : start + 512] @ X.T

    for metric in ("sqeuclidean", "cosine"):
        call = Clustering(X, "average", metric=metric)
        least, ours = take_turns(product, call)
        yield over(f"average {metric}, {len(X)} x 64", "X @ X.T", least, ours, 4.0, call.engine)


def single_vectors(sizes: Sizes) -> Iterator[Row]:
    from genieclust import Genie
    from scipy.cluster.hierarchy import linkage

    X = mixture(sizes.of(20000), 128)
    call = Clustering(X, "single", metric="euclidean")
    genie, scipy, ours = take_turns(  # a used Genie would remember
        lambda: Genie(n_clusters=2, gini_threshold=1.0).fit(X), lambda: linkage(X, "single"), call
    )
    yield against(f"single, {len(X)} x 128", "genieclust", genie, ours, 1.0, call.engine)
    yield against(f"single, {len(X)} x 128", "scipy", scipy, ours, 1.0, call.engine)
    flat = mixture(sizes.of(1_000_000), 2)
    call = Clustering(flat, "single", metric="euclidean")
    genie, ours = take_turns(lambda: Genie(n_clusters=2, gini_threshold=1.0).fit(flat), call)
    yield against(f"single, {len(flat)} x 2", "genieclust", genie, ours, 0.5, call.engine)


def spatial(sizes: Sizes) -> Iterator[Row]:
    """Ward in the plane as a multiple of one query of 16 nearest neighbours."""
    from scipy.spatial import cKDTree

    X = mixture(sizes.of(1_000_000), 2)
    call = Clustering(X, "ward")
    least, ours = take_turns(lambda: cKDTree(X).query(X, k=16, workers=-1), call)
    yield over(f"ward, {len(X)} x 2", "cKDTree, 16 nearest", least, ours, 10.0, call.engine)


def threads(sizes: Sizes) -> Iterator[Row]:
    """The peer is reliac itself with one thread."""
    for n, d in ((20000, 128), (300_000, 2)):
        X = mixture(sizes.of(n), d)
        one, two = Clustering(X, "ward", n_jobs=1), Clustering(X, "ward", n_jobs=2)
        theirs, ours = take_turns(one, two)
        yield against(f"ward, {len(X)} x {d}, 2 threads", "1 thread", theirs, ours, 1.7, two.engine)


def memory(sizes: Sizes) -> Iterator[Row]:
    """Peak memory beyond the input, in processes of their own."""
    X = mixture(sizes.of(50000), 64, kind=np.float32)
    for metric in ("sqeuclidean", "cosine"):
        yield peak(f"average {metric}, {len(X)} x 64, float32", X, "average", 1e9, metric=metric)
    D = pdist(mixture(max(sizes.given), 16))
    for form, most in (("condensed", 2), ("square", 1)):
        if form == "square":
            D = squareform(D)
        for criterion in ("average", "centroid"):
            name = f"{criterion}, {form}, n={number_of_objects(D)}"
            yield peak(name, D, criterion, most * D.nbytes, metric="precomputed")
    flat = mixture(sizes.of(1_000_000), 2)
    for criterion in ("ward", "single"):
        yield peak(f"{criterion}, {len(flat)} x 2", flat, criterion, None)


def peak(work: str, X: np.ndarray, criterion: str, most: float | None, **options: str) -> Row:
    found = peak_memory(X, criterion, **options)
    must = "" if most is None else f"at most {most / 1e6:.0f} MB" + ("" if found <= most else ", **not reached**")
    return [work, f"{found / 1e6:.0f} MB", f"{found / X.nbytes:.2f}x", must]


#: Times the first call of an engine in a process; what was compiled before is loaded from the folder of the cache.
FIRST_CALL = """
import sys, time
import numpy as np
import reliac
criterion, engine = sys.argv[1:]
X = np.random.default_rng(0).random((300, 3))
edges = np.arange(299), np.arange(1, 300), X[1:, 0]
started = time.perf_counter()
if engine == "graph":
    reliac.cluster_edges(edges, criterion, engine=engine)
else:
    reliac.cluster(X, criterion, engine=engine)
print(time.perf_counter() - started)
"""


def compiling(sizes: Sizes) -> Iterator[Row]:
    """The first call of every engine: with an empty cache, and (best of three processes) with what that has left."""
    X = np.zeros((300, 3))
    for name in ENGINES:
        done = [criterion for criterion in CRITERIA if get_engine(name).refuses(make_problem(X, criterion)) is None]
        if name == "graph":  # edges, not points
            done = ["average"]
        if name in ("literal", "small") or not done:  # nothing to compile, or for given distances and tables only
            continue
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", FIRST_CALL, done[-1], name]
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
            seconds = [
                float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
                for _ in range(4)
            ]
        first, again = seconds[0], min(seconds[1:])
        missed = "" if first < 20 and again < 1 else ", **not reached**"
        yield [name, f"{first:.1f} s", f"{again:.2f} s", "under 20 s, under 1 s" + missed]


# --- the page ---

TIMES = ["work", "peer", "peer's time", "reliac's time", "ratio", "must reach", "engine"]
FLOORS = ["work", "floor", "the floor's time", "reliac's time", "ratio", "must reach", "engine"]
PEAKS = ["work", "peak memory beyond the input", "of the input", "must reach"]
FIRST = ["engine", "first call on a machine (compiled)", "first call of a process (loaded)", "must reach"]

SECTIONS: dict[str, tuple[list[str], Callable[[Sizes], Iterator[Row]]]] = {
    "given": (TIMES, given_distances),
    "floor": (FLOORS, floor),
    "ward": (TIMES, ward_vectors),
    "average": (FLOORS, average_vectors),
    "single": (TIMES, single_vectors),
    "spatial": (FLOORS, spatial),
    "threads": (TIMES, threads),
    "memory": (PEAKS, memory),
    "compiling": (FIRST, compiling),
}


def write_into(page: Path, section: str, text: str) -> None:
    """Replace what stands between the marks of a section of the page."""
    begin, end = f"<!-- {section}: begin -->", f"<!-- {section}: end -->"
    old = page.read_text()
    head, tail = old[: old.index(begin) + len(begin)], old[old.index(end) :]
    page.write_text(f"{head}\n\n{text}\n\n{tail}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="parts of the page")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="N", help="objects of given distances")
    parser.add_argument("--out", type=Path, help="the docs page whose tables are written anew")
    arguments = parser.parse_args()
    if arguments.out and not arguments.out.is_file():
        parser.error(f"--out {arguments.out}: no such page; give one with tables, such as docs/performance.md")
    sizes = Sizes(tuple(arguments.sizes))
    started = time.perf_counter()
    for name in arguments.sections:
        columns, section = SECTIONS[name]
        rows = []
        for row in section(sizes):
            rows.append(row)
            print("  ".join(row), flush=True)
        print(f"\n{table(columns, rows)}\n\n{name}: {(time.perf_counter() - started) / 60:.1f} minutes so far\n")
        if arguments.out:
            write_into(arguments.out, name, table(columns, rows))
    print(machine())
    if arguments.out:
        write_into(arguments.out, "machine", machine())


if __name__ == "__main__":
    main()
