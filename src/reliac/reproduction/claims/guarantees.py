"""Proposition 1 and theorem 1 of the paper, on thousands of small random inputs, ties included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...api import cluster
from ...input.metrics import pairwise
from ...tree.clustertree import ClusterTree
from ..report.parts import Section, Table
from ..report.pictures import FOURTH, RELIABLE, STANDARD, THIRD, notes, picture

SIZES = (4, 8, 16, 24)
#: The criteria that are tried beside single; those of the second row need vectors.
ANY, OF_VECTORS = ("complete", "average"), ("centroid", "ward")


@dataclass
class Counts:
    """What was seen on one kind of input."""

    inputs: int = 0
    steps: int = 0  # of all trees; proposition 1 is checked before each
    unreliable: int = 0  # smallest links that were not established
    trees: int = 0  # trees of the single criterion
    not_spanning: int = 0
    not_minimal: int = 0
    reordered: int = 0  # trees whose links come in another order than Kruskal's
    other_half: int = 0  # of those, whose first half of the links weighs more than Kruskal's


@dataclass(frozen=True)
class Input:
    """Vectors where there are any, and the distances of all pairs."""

    X: NDArray[np.float64] | None
    D: NDArray[np.float64]

    @property
    def criteria(self) -> tuple[str, ...]:
        """The criteria that can be tried."""
        return ANY if self.X is None else (*ANY, *OF_VECTORS)

    def tree(self, criterion: str) -> ClusterTree:
        """Run the reliable strategy."""
        if self.X is None:
            return cluster(self.D, criterion, metric="precomputed")
        return cluster(self.X, criterion, metric="sqeuclidean")


def _matrix(values: NDArray[np.float64]) -> Input:
    square = np.triu(values, 1)
    return Input(None, square + square.T)


def _points(X: NDArray[np.float64]) -> Input:
    return Input(X, pairwise(X, "sqeuclidean"))


Generator = np.random.Generator
KINDS: dict[str, Callable[[Generator, int], Input]] = {
    "points of a plane": lambda rng, n: _points(rng.normal(size=(n, 2))),
    "points of a lattice, many tied or equal": lambda rng, n: _points(rng.integers(0, 4, (n, 2)).astype(float)),
    "any distances": lambda rng, n: _matrix(rng.random((n, n))),
    "distances 1 to 5, many tied": lambda rng, n: _matrix(rng.integers(1, 6, (n, n)).astype(float)),
}
COLOURS = dict(zip(KINDS, (RELIABLE, STANDARD, THIRD, FOURTH), strict=True))


def inputs(kind: str, n: int, count: int) -> Iterator[Input]:
    """Draw inputs, the same ones every time."""
    rng = np.random.default_rng([list(KINDS).index(kind), n])
    return (KINDS[kind](rng, n) for _ in range(count))


def cluster_distances(given: Input, labels: NDArray[np.intp], criterion: str) -> NDArray[np.float64]:
    """Return the distances of all clusters from their members, as the criterion defines them."""
    of_cluster = (np.arange(labels.max() + 1)[:, None] == labels).astype(float)
    size = of_cluster.sum(axis=1)
    if given.X is not None and criterion in OF_VECTORS:
        distance = pairwise(of_cluster @ given.X / size[:, None], "sqeuclidean")
        return distance if criterion == "centroid" else distance * np.outer(size, size) / np.add.outer(size, size)
    if criterion == "average":
        return np.asarray(of_cluster @ given.D @ of_cluster.T / np.outer(size, size))
    extreme = np.minimum if criterion == "single" else np.maximum
    order = np.argsort(labels, kind="stable")
    starts = np.r_[0, np.cumsum(size)[:-1]].astype(np.intp)
    return np.asarray(extreme.reduceat(extreme.reduceat(given.D[np.ix_(order, order)], starts, 0), starts, 1))


def unreliable_steps(given: Input, tree: ClusterTree, criterion: str) -> int:
    """Count the steps at which a smallest link was not established, that is, was not reliable."""
    wrong = 0
    node = np.arange(tree.n_objects)
    labels = first = node
    for level in range(1, tree.n_levels + 1):
        distance = cluster_distances(given, labels, criterion)
        np.fill_diagonal(distance, np.inf)
        p, q = np.nonzero(distance == distance.min())
        for row in np.flatnonzero(tree.links["level"] == level).tolist():
            left, right = tree.links["left"][row], tree.links["right"][row]
            node = np.where((node == left) | (node == right), tree.n_objects + row, node)
        wrong += bool((node[first[p]] != node[first[q]]).any())
        _, first, labels = np.unique(node, return_index=True, return_inverse=True)
    return wrong


def check_spanning(given: Input, tree: ClusterTree, counts: Counts) -> None:
    """Compare the spanning tree with SciPy's, and the order of its links with Kruskal's."""
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

    found = tree.spanning_tree()
    n, (p, q) = tree.n_objects, found.pairs.T
    parts = connected_components(coo_array((np.ones(len(p)), (p, q)), shape=(n, n)), directed=False)[0]
    counts.trees += 1
    counts.not_spanning += not (len(p) == n - 1 and parts == 1 and np.allclose(found.weights, given.D[p, q]))
    # SciPy takes 0 for no edge: every spanning tree weighs n - 1 more when every distance is 1 more
    least = minimum_spanning_tree(csr_array(np.triu(given.D + 1.0, 1))).sum() - (n - 1)
    counts.not_minimal += not np.isclose(found.weights.sum(), least, rtol=1e-12, atol=1e-9)
    kruskal = np.sort(found.weights)
    half = (n - 1) // 2
    counts.reordered += bool((found.weights != kruskal).any())
    counts.other_half += bool(found.weights[:half].sum() > kruskal[:half].sum() * (1 + 1e-12))


def check(kind: str, n: int, count: int) -> Counts:
    """Check both claims on ``count`` inputs; every one with the single criterion and with another one."""
    counts = Counts()
    for place, given in enumerate(inputs(kind, n, count)):
        counts.inputs += 1
        for criterion in ("single", given.criteria[place % len(given.criteria)]):
            tree = given.tree(criterion)
            counts.steps += tree.n_levels
            counts.unreliable += unreliable_steps(given, tree, criterion)
            if criterion == "single":
                check_spanning(given, tree, counts)
    return counts


def section(count: int = 150, progress: Callable[[str], None] = lambda text: None) -> Section:
    """Check both claims on ``count`` inputs of every kind and size."""
    progress("proposition 1 and theorem 1: random inputs")
    found = {(kind, n): check(kind, n, count) for kind in KINDS for n in SIZES}
    figures = picture(
        "claim-guarantees",
        "Inputs on which the reliable strategy establishes the links of the spanning tree in another order than "
        "Kruskal's algorithm (shortest first).",
        "Four lines, one for each kind of input. The two without ties rise to 100 percent; the two with ties stay near "
        "0.",
        (6.2, 3.2),
        lambda canvas: _draw(canvas, found),
    )
    rows = tuple(
        (
            kind,
            str(n),
            *map(str, (c.inputs, c.steps, c.unreliable, c.trees, c.not_spanning, c.not_minimal)),
            f"{100 * c.reordered / c.trees:.0f} %",
            f"{100 * c.other_half / c.trees:.0f} %",
        )
        for (kind, n), c in found.items()
    )
    columns = (
        *("kind of input", "objects", "inputs", "steps", "smallest link not reliable"),
        *("spanning trees", "not a tree", "not minimal", "order not Kruskal's", "first half heavier"),
    )
    table = Table("claim-guarantees", "Counterexamples to proposition 1 and theorem 1, and the order", columns, rows)
    return Section(
        "Proposition 1 and theorem 1: the smallest link is reliable, and single linkage gives a minimum spanning tree",
        "claim-guarantees",
        (*_words(found), *notes(figures)),
        (table,),
        figures,
    )


def _words(found: dict[tuple[str, int], Counts]) -> tuple[str, ...]:
    def total(name: str) -> int:
        return sum(getattr(counts, name) for counts in found.values())

    wrong = total("unreliable") + total("not_spanning") + total("not_minimal")
    trees = total("trees")
    largest = [counts for (_, n), counts in found.items() if n == max(SIZES)]
    share = sum(counts.reordered for counts in largest) / sum(counts.trees for counts in largest)
    verdict = "Both hold" if wrong == 0 else f"There are {wrong} counterexamples"
    return (
        "Claimed: a smallest link is always reliable (proposition 1), so that the standard strategy only takes "
        "reliable links; with the single criterion the links are a minimum spanning tree (theorem 1), in another order "
        "than Kruskal's.",
        f"Done: {total('inputs')} random inputs of {min(SIZES)} to {max(SIZES)} objects, each with the single "
        "criterion and with complete, average, centroid or Ward in turn. Before every step all distances of clusters "
        "are computed anew from their members, and every smallest link must be established in that step. Every "
        "spanning tree is compared with SciPy's.",
        f"Found: {total('unreliable')} counterexamples to proposition 1 in {total('steps')} steps, and "
        f"{total('not_spanning') + total('not_minimal')} to theorem 1 in {trees} trees. The order differs from "
        f"Kruskal's on {100 * total('reordered') / trees:.0f} % of all inputs and on {100 * share:.0f} % of those of "
        f"{max(SIZES)} objects; on {100 * total('other_half') / trees:.0f} % the first half of the links weighs more "
        "than Kruskal's, so that stopping there leaves another forest. Where nearly everything is tied a few steps "
        "join all, and the order is Kruskal's.",
        f"{verdict} on these inputs. Both have proofs; what is tested here is that the program does what the proofs "
        "are about, with exact ties and equal objects. The last column also shows the price of the other order: a "
        "forest that is stopped early is heavier than Kruskal's, never lighter.",
    )


def _draw(canvas: Any, found: dict[tuple[str, int], Counts]) -> None:
    ax = canvas.subplots()
    markers = dict(zip(KINDS, "osD^", strict=True))
    for kind in KINDS:
        share = [100 * found[kind, n].reordered / found[kind, n].trees for n in SIZES]
        ax.plot(SIZES, share, marker=markers[kind], markersize=5, color=COLOURS[kind], label=kind)
    ax.set_xticks(SIZES)
    ax.set_ylim(0, 103)
    ax.set_xlabel("objects")
    ax.set_ylabel("other order than Kruskal's (%)")
    ax.legend(frameon=False, loc="center right", fontsize=8)
