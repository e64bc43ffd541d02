"""Neighbours: how quickly they are found, and how near trees of neighbour graphs come to the exact tree.

    python benchmarks/neighbors.py --out docs/graphs.md              # all tables
    python benchmarks/neighbors.py --sections search --sizes 1000 20000
    python benchmarks/neighbors.py --sections large --kinds nested    # one kind of data, 100,000 x 128

Real data are read from the folder that RELIAC_DATA names; data sets that are not there are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from measure import machine, mixture, real, table, take_turns
from peers import write_into
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

import reliac

#: Neighbours that are searched, and numbers of clusters at which trees are compared.
K, CUTS = 15, (10, 100, 1000)

Row = list[str]


# --- how quickly ---


def search(arguments: argparse.Namespace) -> Iterator[Row]:
    """Exact neighbours of a Gaussian mixture in float32, against scikit-learn and SciPy."""
    for d in (3, 16, 128):
        for n in arguments.sizes:
            X = mixture(n, d, kind=np.float32)
            calls: dict[str, Callable[[], object]] = {
                "reliac": lambda X=X: reliac.neighbors(X, K),
                "kd_tree" if d <= 16 else "": lambda X=X: sklearn_search(X, "kd_tree"),
                "brute": lambda X=X: sklearn_search(X, "brute"),
                "cKDTree" if d <= 16 else "": lambda X=X: scipy_search(X),
            }
            calls = {name: call for name, call in calls.items() if name and not (name == "brute" and d == 3)}
            reliac.neighbors(X[: max(2000, n // 10)], K)  # loads compiled code
            times = dict(zip(calls, take_turns(*calls.values()), strict=True))
            best = min(seconds for name, seconds in times.items() if name != "reliac")
            others = [f"{times[name]:.3g} s" if name in times else "" for name in ("kd_tree", "brute", "cKDTree")]
            ratio = best / times["reliac"]
            shown = f"{ratio:.1f}x" if ratio >= 1 else f"**{ratio:.2f}x, slower**"
            yield [f"{n} x {d}", *others, f"{times['reliac']:.3g} s", shown]


def sklearn_search(X: np.ndarray, algorithm: str) -> object:
    return NearestNeighbors(n_neighbors=K, algorithm=algorithm, n_jobs=-1).fit(X).kneighbors()


def scipy_search(X: np.ndarray) -> object:
    from scipy.spatial import cKDTree

    return cKDTree(X).query(X, K + 1, workers=-1)


# --- how near to the exact tree ---


def real_data() -> Iterator[tuple[str, np.ndarray]]:
    yield "iris", load_iris().data
    yield "digits", load_digits().data
    for name in ("sift", "letter", "mnist"):
        X = real(name)
        if X is not None:
            yield name, X


def agreement(arguments: argparse.Namespace) -> Iterator[Row]:
    """Average of squared Euclidean distances on real data: the exact tree and those of neighbour graphs."""
    for name, X in real_data():
        exact = reliac.cluster(X, "average", metric="sqeuclidean")
        for k in (5, 15, 50):
            found = reliac.neighbors(X, k, "sqeuclidean")
            for way, tree in trees(X, found):
                yield [
                    f"{name}, {len(X)} x {X.shape[1]}",
                    str(k),
                    way,
                    f"{equal_merges(exact, tree):.3f}",
                    *cuts(exact, tree),
                ]


def trees(X: np.ndarray, found: reliac.Neighbors) -> Iterator[tuple[str, reliac.ClusterTree]]:
    """The tree of the graph's own distances, and the one of the rows along the graph; parts are joined by the rows."""
    options = {"metric": "sqeuclidean", "join_components": True}
    yield "neighbors", reliac.cluster(X, "average", neighbors=found, **options)
    yield "connectivity", reliac.cluster(X, "average", connectivity=found.graph(), **options)


def cuts(exact: reliac.ClusterTree, tree: reliac.ClusterTree) -> Row:
    """Adjusted Rand indices of the cuts into so many clusters."""
    return [
        f"{adjusted_rand_score(exact.labels(count), tree.labels(count)):.3f}" if count < exact.n_objects else ""
        for count in CUTS
    ]


def equal_merges(exact: reliac.ClusterTree, tree: reliac.ClusterTree) -> float:
    """The share of the exact tree's clusters of two objects or more that the other tree has too, object for object."""
    return float(np.isin(cluster_keys(exact), cluster_keys(tree)).mean())


def cluster_keys(tree: reliac.ClusterTree) -> np.ndarray:
    """A number for every cluster that depends on its objects alone: the sum of random numbers of them, modulo 2^64."""
    keys = np.random.default_rng(0).integers(0, 2**64, size=tree.n_objects, dtype=np.uint64).tolist()
    for left, right in zip(tree.links["left"].tolist(), tree.links["right"].tolist(), strict=True):
        keys.append((keys[left] + keys[right]) % 2**64)
    return np.array(keys[tree.n_objects :], np.uint64)


# --- 100,000 rows ---


def nested(n: int) -> np.ndarray:
    """10 groups of 10 groups of 10 Gaussian clusters each: clusters at all three cuts."""
    rng = np.random.default_rng(0)
    shapes = ((10, 1, 1, 128), (10, 10, 1, 128), (10, 10, 10, 128))
    centres = sum(rng.normal(scale=scale, size=shape) for scale, shape in zip((8, 4, 2), shapes, strict=True))
    return (centres.reshape(-1, 128)[rng.integers(0, 1000, n)] + rng.normal(size=(n, 128))).astype(np.float32)


def flat(n: int) -> np.ndarray:
    """50 Gaussian clusters of different spreads: clusters at neither cut."""
    rng = np.random.default_rng(0)
    which = rng.integers(0, 50, n)
    spread = rng.uniform(0.2, 1.5, 50)[which, None]
    return (rng.normal(scale=4.0, size=(50, 128))[which] + rng.normal(size=(n, 128)) * spread).astype(np.float32)


def noisy(n: int) -> np.ndarray:
    """Such clusters, and a tenth of the rows noise: the exact tree splits off single rows of noise first."""
    return mixture(n, 128, kind=np.float32)


KINDS = {"nested": nested, "flat": flat, "noisy": noisy}


def large(arguments: argparse.Namespace) -> Iterator[Row]:
    """100,000 x 128, approximate neighbours, average of squared Euclidean distances."""
    for kind in arguments.kinds:
        X = KINDS[kind](arguments.rows)
        exact = reliac.cluster(X, "average", metric="sqeuclidean")
        found = reliac.neighbors(X, K, "sqeuclidean", approximate=True)
        for way, tree in trees(X, found):
            yield [f"{kind}, {len(X)} x 128", way, f"{equal_merges(exact, tree):.3f}", *cuts(exact, tree)]


SECTIONS: dict[str, tuple[Row, Callable[[argparse.Namespace], Iterator[Row]]]] = {
    "search": (["rows", "kd_tree", "brute", "cKDTree", "reliac", "against the quickest"], search),
    "agreement": (["data", "k", "way", "equal merges", *(f"ARI at {count}" for count in CUTS)], agreement),
    "large": (["data", "way", "equal merges", *(f"ARI at {count}" for count in CUTS)], large),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 20_000, 100_000], help="rows that are searched")
    parser.add_argument("--rows", type=int, default=100_000, help="rows of the large data")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--out", type=Path, help="the docs page whose tables are written anew")
    arguments = parser.parse_args()
    print(machine() + "\n")
    for name in arguments.sections:
        columns, section = SECTIONS[name]
        rows = []
        for row in section(arguments):
            print("  ".join(row), flush=True)
            rows.append(row)
        if arguments.out:
            write_into(arguments.out, f"neighbours-{name}", table(columns, rows))
        else:
            print("\n" + table(columns, rows) + "\n")


if __name__ == "__main__":
    main()
