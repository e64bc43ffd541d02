"""After the tree: what questions about a tree cost, and how good the answers are.

python benchmarks/after.py --out docs/after.md              # all tables
python benchmarks/after.py --sections order --sizes 500 2000
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from measure import machine, mixture, table, take_turns
from peers import write_into
from scipy.cluster.hierarchy import leaves_list, optimal_leaf_ordering
from scipy.spatial.distance import pdist
from sklearn import metrics

import reliac
from reliac.engines.compiled.products import one_blas_thread
from reliac.machine import in_threads, n_threads

Row = list[str]


# --- orders of the leaves ---


def order(arguments: argparse.Namespace) -> Iterator[Row]:
    """Sums of distances between neighbouring leaves, and seconds, against SciPy's optimal_leaf_ordering."""
    for n in arguments.sizes:
        X = mixture(n, 16)
        tree, distances = reliac.cluster(X, "average"), pdist(X)
        found: dict[str, np.ndarray] = {"leaf_order": tree.leaf_order}

        def peer(tree=tree, distances=distances, found=found) -> None:
            found["SciPy"] = leaves_list(optimal_leaf_ordering(tree.linkage_matrix(), distances))

        def ours(how: str, tree=tree, found=found) -> None:
            found[how] = tree.order_leaves(how=how)

        ours("quick")  # loads compiled code
        times = take_turns(peer, lambda ours=ours: ours("optimal"), lambda ours=ours: ours("quick"))
        sums = {name: length(X, leaves) for name, leaves in found.items()}
        shares = [f"{sums[name] / sums['optimal']:.4f}" for name in ("leaf_order", "SciPy", "quick")]
        yield [f"{n}", *shares, *(f"{seconds:.3g} s" for seconds in times)]
    for n in arguments.many:
        X = mixture(n, 16)
        tree = reliac.cluster(X, "ward")
        (seconds,) = take_turns(lambda tree=tree: tree.order_leaves(how="quick"))
        share = length(X, tree.leaf_order) / length(X, tree.order_leaves(how="quick"))
        yield [f"{n}, ward", f"{share:.4f} of quick", "", "", "", "", f"{seconds:.3g} s"]


def length(X: np.ndarray, leaves: np.ndarray) -> float:
    """The sum of the distances between neighbouring leaves."""
    return float(np.linalg.norm(np.diff(X[leaves], axis=0), axis=1).sum())


# --- how many clusters ---

#: The numbers of clusters that are scored.
COUNTS = range(2, 52)


def by_scikit_learn(X: np.ndarray, tree: reliac.ClusterTree, silhouettes: bool) -> None:
    """Score every cut by itself; exact silhouettes only where they are asked for, as they go through all pairs."""
    for labels in tree.labels(COUNTS).T:
        metrics.calinski_harabasz_score(X, labels)
        metrics.davies_bouldin_score(X, labels)
        if silhouettes:
            metrics.silhouette_score(X, labels)


def scores(arguments: argparse.Namespace) -> Iterator[Row]:
    """Seconds for the scores of 50 cuts, along the tree and by scikit-learn cut by cut."""
    for n in arguments.scored:
        X = mixture(n, 16)
        tree = reliac.cluster(X, "ward")
        exact = n <= 10_000
        times = take_turns(
            lambda tree=tree: tree.scores(n_clusters=COUNTS),
            lambda tree=tree: tree.scores(n_clusters=COUNTS, silhouette="none"),
            lambda tree=tree, X=X: by_scikit_learn(X, tree, silhouettes=False),
            *([lambda tree=tree, X=X: by_scikit_learn(X, tree, silhouettes=True)] if exact else []),
        )
        way = "exact" if exact else tree.scores(n_clusters=[2]).attrs["silhouette"].partition(":")[0]
        yield [f"{n} x 16", way, *(f"{seconds:.3g} s" for seconds in times), *([] if exact else ["-"])]


# --- new rows ---

#: Objects of the tree, and clusters of the cut, that new rows are placed in.
OBJECTS, CLUSTERS = 20_000, 1000

#: Rows of the blocks in which bare products are quickest.
ROWS = 1024


def predict(arguments: argparse.Namespace) -> Iterator[Row]:
    """New rows in float32 against 1,000 clusters: by means against bare products, by members against scikit-learn."""
    X, new = mixture(OBJECTS, 64, kind=np.float32), mixture(arguments.rows, 64, seed=1, kind=np.float32)
    for criterion in ("ward", "centroid", "average", "single", "complete"):
        metric = "sqeuclidean" if criterion == "average" else "euclidean"
        tree = reliac.cluster(X, criterion, metric=metric)
        labels = tree.labels(CLUSTERS)
        few = new if criterion in ("ward", "centroid", "average") else new[:: max(1, len(new) // 20_000)]
        if len(few) == len(new):
            means = np.stack([np.bincount(labels, weights=column) for column in X.T], axis=1).astype(np.float32)
            means /= np.bincount(labels)[:, None]
            name, peer = "products alone", lambda means=means: products(new, means)
        else:
            name, peer = "argmin of scikit-learn", lambda few=few: metrics.pairwise_distances_argmin(few, X)
        tree.predict(few[:10], CLUSTERS)
        ours, far, theirs = take_turns(
            lambda tree=tree, few=few: tree.predict(few, CLUSTERS),
            lambda tree=tree, few=few: tree.predict(few, CLUSTERS, return_distance=True),
            peer,
        )
        shares = (f"{seconds:.3g} s, {seconds / theirs:.2f}" for seconds in (ours, far))
        yield [criterion, f"{len(few)}", *shares, f"{theirs:.3g} s ({name})"]


def products(new: np.ndarray, means: np.ndarray) -> None:
    """Multiply all rows with all means in blocks, in as many threads, and look at nothing."""

    def multiply(start: int) -> None:
        np.matmul(new[start : start + ROWS], means.T)

    with one_blas_thread():
        in_threads(multiply, range(0, len(new), ROWS), n_threads(None))


# --- more data ---


def extend(arguments: argparse.Namespace) -> Iterator[Row]:
    """1 % more rows, and 1 % fewer: against a fresh run on the same rows."""
    n = arguments.extended
    count = n // 100
    for kind, X in (
        ("clusters", mixture(n + count, 64)),
        ("noise", np.random.default_rng(0).normal(size=(n + count, 64))),
    ):
        for criterion, metric in (("ward", "euclidean"), ("average", "sqeuclidean")):
            options = {"criterion": criterion, "metric": metric, "engine": "vectors"}
            tree = reliac.cluster(X[:n], keep_lists=True, **options)
            assert tree.lists is not None
            size = sum(array.nbytes for array in tree.lists.values()) / n
            made: dict[str, reliac.ClusterTree] = {}

            def fresh(X=X, options=options, made=made) -> None:
                made["fresh"] = reliac.cluster(X, **options)

            def more(X=X, tree=tree, made=made) -> None:
                made["more"] = tree.extend(X[n:])

            calls = (fresh, more, lambda tree=tree: tree.without(range(count)))
            anew, longer, shorter = take_turns(*calls)
            assert (made["fresh"].links == made["more"].links).all()
            shares = (f"{seconds:.3g} s, {seconds / anew:.2f}" for seconds in (longer, shorter))
            yield [f"{n} x 64, {kind}", criterion, f"{anew:.3g} s", *shares, f"{size:.0f}"]


SECTIONS: dict[str, tuple[Row, Callable[[argparse.Namespace], Iterator[Row]]]] = {
    "predict": (["criterion", "new rows", "predict", "with distances", "peer"], predict),
    "extend": (["data", "criterion", "fresh run", "1 % more rows", "1 % fewer", "bytes an object"], extend),
    "order": (
        ["objects", "sum: leaf_order", "SciPy", "quick", "seconds: SciPy", "optimal", "quick"],
        order,
    ),
    "scores": (
        [
            *("data", "silhouettes", "all scores", "without silhouettes"),
            *("scikit-learn, cut by cut, without silhouettes", "with exact ones"),
        ],
        scores,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[500, 2000, 5000], help="objects that SciPy orders too")
    parser.add_argument("--many", nargs="*", type=int, default=[100_000], help="objects that are ordered quickly only")
    parser.add_argument("--scored", nargs="+", type=int, default=[10_000, 100_000], help="objects of scored cuts")
    parser.add_argument("--rows", type=int, default=1_000_000, help="new rows that are placed")
    parser.add_argument("--extended", type=int, default=50_000, help="rows of a tree that is extended")
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
            write_into(arguments.out, f"after-{name}", table(columns, rows))
        else:
            print("\n" + table(columns, rows) + "\n")


if __name__ == "__main__":
    main()
