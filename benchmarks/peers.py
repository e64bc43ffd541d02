"""reliac against its peers, in one run: ratios, best of three, with what must be reached beside them.

    pip install '.[bench]'
    python benchmarks/peers.py            # everything, about half an hour on two cores
    python benchmarks/peers.py --quick    # a tenth of the sizes, to see that it runs
    python benchmarks/peers.py --only ward --out docs/performance.md

Peers are run once (they are the slow ones), reliac three times; ratios of two noisy times are noisy.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import best_of, machine, mixture, peak_memory, real, table
from threadpoolctl import threadpool_limits

import reliac

Row = list[str]


def row(work: str, peer: str, theirs: float, ours: float, must: str, engine: str) -> Row:
    found = [work, peer, f"{theirs:.3g} s", f"{ours:.3g} s", f"{theirs / ours:.1f}x", must, engine]
    print("  ".join(found), flush=True)
    return found


def run(X: np.ndarray, criterion: str, times: int = 3, **options: object) -> tuple[float, str]:
    """Best time of a whole call of reliac.cluster, and the engine it chose."""
    names = []
    seconds = best_of(lambda: names.append(reliac.cluster(X, criterion, **options).engine), times)
    return seconds, names[-1]


def ward_vectors(scale: float) -> list[Row]:
    import fastcluster

    rows = []
    for d, must in ((128, "15x"), (16, "5x")):
        X = mixture(int(20000 * scale), d)
        theirs = best_of(lambda X=X: fastcluster.linkage_vector(X, "ward"), 1)
        ours, engine = run(X, "ward", metric="euclidean")
        rows.append(row(f"ward, {len(X)} x {d}", "fastcluster.linkage_vector", theirs, ours, must, engine))
    for name in ("mnist", "sift", "letter"):
        X = real(name)
        if X is not None:
            X = X[: int(len(X) * scale)].astype(np.float64)
            theirs = best_of(lambda X=X: fastcluster.linkage_vector(X, "ward"), 1)
            ours, engine = run(X, "ward", metric="euclidean")
            rows.append(
                row(f"ward, {name} {X.shape[0]} x {X.shape[1]}", "fastcluster.linkage_vector", theirs, ours, "", engine)
            )
    return rows


def product_sweep(X: np.ndarray) -> float:
    """The floor: one sweep of X @ X.T in float32, in blocks."""
    X = X.astype(np.float32)

    def sweep() -> None:
        for start in range(0, len(X), 512):
            X[start : start + 512] @ X.T

    return best_of(sweep)


def average_vectors(scale: float) -> list[Row]:
    X = mixture(int(50000 * scale), 64, kind=np.float32)
    floor = product_sweep(X)
    rows = []
    for metric in ("sqeuclidean", "cosine"):
        ours, engine = run(X, "average", 2, metric=metric)
        found = [
            f"average {metric}, {len(X)} x 64: time over one product sweep",
            "X @ X.T",
            f"{floor:.2f} s",
            f"{ours:.2f} s",
        ]
        rows.append([*found, f"{ours / floor:.1f}x the floor", "at most 4x", engine])
        print(rows[-1], flush=True)
    return rows


def given_matrix(scale: float) -> list[Row]:
    import fastcluster
    from scipy.spatial.distance import pdist, squareform

    D = pdist(mixture(int(20000 * scale), 16))
    rows = []
    n = int(20000 * scale)
    for criterion in ("complete", "average", "weighted", "ward", "centroid", "median"):
        theirs = best_of(lambda criterion=criterion: fastcluster.linkage(D, criterion), 1)
        ours, engine = run(D, criterion, metric="precomputed")
        must = "2x" if criterion in ("centroid", "median") else "5x"
        rows.append(row(f"{criterion}, condensed matrix n={n}", "fastcluster.linkage", theirs, ours, must, engine))
        gc.collect()
    square = squareform(D)
    for criterion in ("complete", "average", "centroid"):
        theirs = best_of(
            lambda criterion=criterion: fastcluster.linkage(squareform(square, checks=False), criterion), 1
        )
        ours, engine = run(square, criterion, metric="precomputed")
        must = "2x" if criterion == "centroid" else "5x"
        rows.append(row(f"{criterion}, square matrix n={n}", "fastcluster.linkage", theirs, ours, must, engine))
        gc.collect()
    return rows


def single(scale: float) -> list[Row]:
    import genieclust
    from scipy.cluster.hierarchy import linkage

    rows = []
    X = mixture(int(20000 * scale), 128)
    ours, engine = run(X, "single", metric="euclidean")
    theirs = best_of(lambda: genieclust.Genie(n_clusters=2, gini_threshold=1.0).fit(X), 2)  # a used one would remember
    rows.append(row(f"single, {len(X)} x 128", "genieclust", theirs, ours, "1x", engine))
    theirs = best_of(lambda: linkage(X, "single"), 1)
    rows.append(row(f"single, {len(X)} x 128", "scipy", theirs, ours, "1x", engine))
    X = mixture(int(1_000_000 * scale), 2)
    ours, engine = run(X, "single", metric="euclidean")
    theirs = best_of(lambda: genieclust.Genie(n_clusters=2, gini_threshold=1.0).fit(X), 2)
    rows.append(row(f"single, {len(X)} x 2", "genieclust", theirs, ours, "0.5x", engine))
    return rows


def spatial(scale: float) -> list[Row]:
    from scipy.spatial import cKDTree

    X = mixture(int(1_000_000 * scale), 2)
    floor = best_of(lambda: cKDTree(X).query(X, k=16, workers=2))
    ours, engine = run(X, "ward", 2)
    found = [f"ward, {len(X)} x 2: time over a 16-nearest query", "cKDTree", f"{floor:.2f} s", f"{ours:.2f} s"]
    print(found, ours / floor, flush=True)
    return [[*found, f"{ours / floor:.1f}x the query", "at most 10x", engine]]


def memory(scale: float) -> list[Row]:
    """Peak memory beyond the input, in processes of their own."""
    from scipy.spatial.distance import pdist, squareform

    X = mixture(int(50000 * scale), 64, kind=np.float32)
    D = pdist(mixture(int(20000 * scale), 16))
    flat = mixture(int(1_000_000 * scale), 2)
    given = {"metric": "precomputed"}
    work = [
        (f"average sqeuclidean, {len(X)} x 64, float32", X, "average", {}, "under 1000 MB"),
        (f"average cosine, {len(X)} x 64, float32", X, "average", {"metric": "cosine"}, "under 1000 MB"),
        (f"average, condensed matrix n={int(20000 * scale)}", D, "average", given, "2x the input"),
        (f"centroid, condensed matrix n={int(20000 * scale)}", D, "centroid", given, "2x the input"),
        (f"average, square matrix n={int(20000 * scale)}", squareform(D), "average", given, "1x the input"),
        (f"centroid, square matrix n={int(20000 * scale)}", squareform(D), "centroid", given, "1x the input"),
        (f"ward, {len(flat)} x 2", flat, "ward", {}, ""),
        (f"single, {len(flat)} x 2", flat, "single", {}, ""),
    ]
    rows = []
    for name, data, criterion, options, must in work:
        peak = peak_memory(data, criterion, **options)
        found = f"{peak / 2**20:.0f} MB ({peak / data.nbytes:.2f}x the input)"
        rows.append([f"{name}: peak memory beyond the input", "", "", "", found, must, ""])
        print(rows[-1], flush=True)
    return rows


def small(scale: float) -> list[Row]:
    from scipy.cluster.hierarchy import linkage

    X = mixture(1000, 16)
    reliac.cluster(mixture(1600, 16), "ward")  # warm: compiled code is loaded
    reliac.cluster(mixture(1600, 16), "single")
    rows = []
    for criterion in ("ward", "average", "complete", "weighted", "single", "centroid", "median"):
        theirs = best_of(lambda criterion=criterion: linkage(X, criterion), 20)
        ours, engine = run(X, criterion, 20, metric="euclidean")
        rows.append(row(f"{criterion}, 1000 x 16, warm", "scipy", theirs, ours, "1x", engine))
    return rows


def threads(scale: float) -> list[Row]:
    rows = []
    for criterion, X in (("ward", mixture(int(20000 * scale), 128)), ("ward", mixture(int(300_000 * scale), 2))):
        one, engine = run(X, criterion, 2, n_jobs=1)
        two, _ = run(X, criterion, 2, n_jobs=2)
        work = f"{criterion}, {len(X)} x {X.shape[1]}: 2 threads against 1"
        rows.append(row(work, "1 thread", one, two, "1.7x", engine))
    return rows


SECTIONS: dict[str, Callable[[float], list[Row]]] = {
    "ward": ward_vectors,
    "average": average_vectors,
    "matrix": given_matrix,
    "single": single,
    "spatial": spatial,
    "memory": memory,
    "small": small,
    "threads": threads,
}
COLUMNS = ["work", "peer", "peer's time", "reliac's time", "ratio", "must reach", "engine"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes")
    parser.add_argument("--only", choices=SECTIONS, action="append", help="one part of the table")
    parser.add_argument("--out", type=Path, help="the docs page whose table is written anew")
    arguments = parser.parse_args()
    if arguments.out and not arguments.out.is_file():
        parser.error(f"--out {arguments.out}: no such page; give one with tables, such as docs/performance.md")
    scale = 0.1 if arguments.quick else 1.0
    for name in arguments.only or SECTIONS:
        with threadpool_limits(2):
            text = table(COLUMNS, SECTIONS[name](scale))
        print("\n" + text)
        if arguments.out:
            write_into(arguments.out, name, text)
    print("\n" + machine())
    if arguments.out:
        write_into(arguments.out, "machine", machine())


def write_into(page: Path, section: str, text: str) -> None:
    """Replace what stands between the marks of a section of the page."""
    begin, end = f"<!-- {section}: begin -->", f"<!-- {section}: end -->"
    old = page.read_text()
    head, tail = old[: old.index(begin) + len(begin)], old[old.index(end) :]
    page.write_text(f"{head}\n\n{text}\n\n{tail}")


if __name__ == "__main__":
    main()
