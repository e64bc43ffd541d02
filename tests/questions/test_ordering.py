"""Orders of the leaves: the optimal one against all orders there are, the quick one against the optimal one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.cluster.hierarchy import leaves_list, optimal_leaf_ordering
from scipy.spatial.distance import pdist, squareform

import reliac
from problems import blobs, lattice
from reliac.input.metrics import pairwise
from reliac.questions import ordering
from reliac.tree.walks import check_order


def length(distances, order):
    """The sum of the distances between neighbours."""
    return float(distances[order[1:], order[:-1]].sum())


def all_orders(tree):
    """Every order that turning the parts of joins round can give."""
    n, left, right = tree.n_objects, tree.links["left"], tree.links["right"]
    for turns in product((False, True), repeat=len(tree.links)):
        members = [[i] for i in range(n)]
        for a, b, turn in zip(left, right, turns, strict=True):
            members.append(members[b] + members[a] if turn else members[a] + members[b])
        yield np.array(members[-1])


def shortest(tree, distances):
    """The smallest sum by the definition: for every two ends of every cluster, over all ends of its parts."""
    n = tree.n_objects
    paths = [{(i, i): 0.0} for i in range(n)]
    for left, right in zip(tree.links["left"], tree.links["right"], strict=True):
        made = {}
        for (u, m), before in paths[left].items():
            for (k, w), after in paths[right].items():
                total = before + after + distances[m, k]
                if total < made.get((u, w), np.inf):
                    made[u, w] = made[w, u] = total
        paths.append(made)
    return min(paths[-1].values())


def chain(n):
    """Objects on a line whose gaps grow: every join takes one more object."""
    return np.cumsum(1.3 ** np.arange(n))[:, None]


def test_the_optimal_order_is_the_shortest_of_all_orders():
    rng = np.random.default_rng(0)
    for seed, n in enumerate([2, 3, 4, 6, 8, 9]):
        for X in (rng.normal(size=(n, 3)), lattice(seed, n=n, d=2, side=3), chain(n)):
            distances = squareform(pdist(X))
            for criterion in ("single", "average", "ward"):
                tree = reliac.cluster(X, criterion)
                found = tree.order_leaves()
                check_order(tree, found)
                least = min(length(distances, order) for order in all_orders(tree))
                np.testing.assert_allclose(length(distances, found), least, rtol=1e-12)


def test_compiled_code_finds_the_same_order_as_the_definition_in_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(ordering, "NOT_WORTH_LOADING", 0)
    monkeypatch.setattr(ordering, "WORTH_TWO_THREADS", 100)
    monkeypatch.setattr(ordering, "ROWS", 3)
    rng = np.random.default_rng(1)
    for n in (20, 45):
        for X in (rng.normal(size=(n, 4)), lattice(n, n=n, d=2, side=4), chain(n)):
            distances = squareform(pdist(X))
            tree = reliac.cluster(X, "average")
            found = tree.order_leaves(n_jobs=1)
            assert found.tolist() == tree.order_leaves(n_jobs=2).tolist()
            np.testing.assert_allclose(length(distances, found), shortest(tree, distances), rtol=1e-12)


def test_the_order_is_never_longer_than_scipys():
    # SciPy's sum is the smallest for some trees and larger for others: scipy/scipy issue 11227.
    for seed in range(6):
        X = blobs(seed)
        tree = reliac.cluster(X, "average")
        distances = squareform(pdist(X))
        peer = leaves_list(optimal_leaf_ordering(tree.linkage_matrix(), pdist(X)))
        own = length(distances, tree.order_leaves())
        assert own <= length(distances, peer) * (1 + 1e-12)


def test_the_quick_order_is_near_the_optimal_one():
    rng = np.random.default_rng(2)
    for n, metric in [(1, "euclidean"), (2, "euclidean"), (60, "euclidean"), (300, "sqeuclidean"), (300, "cosine")]:
        X = rng.normal(size=(n, 5)) + 4
        distances = pairwise(X, metric)
        for criterion in ("single", "average"):
            tree = reliac.cluster(X, criterion, metric=metric)
            found = tree.order_leaves(how="quick")
            check_order(tree, found)
            best = length(distances, tree.order_leaves(how="optimal"))
            assert best * (1 - 1e-12) <= length(distances, found) <= best * 1.03


def test_the_quick_order_goes_by_any_metric_and_by_given_distances():
    X = np.random.default_rng(3).normal(size=(50, 3))
    tree = reliac.cluster(X, "average")
    plain = tree.order_leaves(how="quick").tolist()
    for given in (pdist(X), squareform(pdist(X)), squareform(pdist(X)).astype(np.float32)):
        assert tree.order_leaves(given, metric="precomputed", how="quick").tolist() == plain
    other = tree.order_leaves(X, metric="cityblock", how="quick")
    assert length(squareform(pdist(X, "cityblock")), other) < length(squareform(pdist(X, "cityblock")), tree.leaf_order)
    by_function = tree.order_leaves(X, metric=lambda a, b: float(np.abs(a - b).sum()), how="quick")
    assert by_function.tolist() == other.tolist()


@pytest.mark.parametrize("how", ["optimal", "quick"])
def test_deep_trees_and_forests_are_ordered_too(how):
    deep = reliac.cluster(np.cumsum(np.arange(1.0, 1501.0))[:, None], "single")
    assert deep.order_leaves(how=how).tolist() in (list(range(1500)), list(range(1500))[::-1])
    X = [[0.0], [10.0], [0.4], [10.4], [0.1], [10.1], [90.0]]
    forest = reliac.cluster(X, "single", max_distance=1.0)
    assert forest.order_leaves(how=how).tolist() == [0, 4, 2, 1, 5, 3, 6]


def test_auto_is_optimal_for_few_objects_and_quick_for_many(monkeypatch):
    X = np.random.default_rng(4).normal(size=(150, 6))
    tree = reliac.cluster(X, "average")
    optimal, quick = (tree.order_leaves(how=how).tolist() for how in ("optimal", "quick"))
    assert optimal != quick
    assert tree.order_leaves().tolist() == optimal
    monkeypatch.setattr(ordering, "MOST", 149)
    assert tree.order_leaves().tolist() == quick


def test_what_cannot_be_ordered_says_why(tmp_path):
    X = [[0.0], [1.0], [5.0], [6.0]]
    tree = reliac.cluster(X, "average")
    tree.save(tmp_path / "tree")
    loaded = reliac.load(tmp_path / "tree")
    with pytest.raises(ValueError, match=r"comes from a file.*pass the data as X"):
        loaded.order_leaves()
    assert loaded.order_leaves(X).tolist() == tree.order_leaves().tolist()
    with pytest.raises(ValueError, match=r"3 objects.*the 4 objects"):
        tree.order_leaves(X[:3])
    with pytest.raises(ValueError, match="order"):
        tree.order_leaves(how="fast")
    graph = reliac.cluster_edges(([0, 1, 2], [1, 2, 3], [1.0, 2.0, 3.0]), "single")
    with pytest.raises(ValueError, match=r"only some pairs.*pass them as X"):
        graph.order_leaves()
    assert sorted(graph.order_leaves(X, metric="euclidean")) == [0, 1, 2, 3]
    by_function = reliac.cluster(X, "average", metric=lambda a, b: abs(a[0] - b[0]))
    with pytest.raises(ValueError, match=r"made with a function as metric.*metric="):
        by_function.order_leaves(X)
    assert sorted(by_function.order_leaves()) == [0, 1, 2, 3]


def test_a_plot_takes_an_order_and_refuses_one_that_takes_clusters_apart():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    tree = reliac.cluster([[0.0], [6.0], [1.0], [5.0]], "single")
    texts = [label.get_text() for label in tree.plot(order=tree.order_leaves()).get_xticklabels()]
    assert texts == ["0", "2", "3", "1"]
    pyplot.close("all")
    for order, words in [([0, 1, 2, 3], "contiguous"), ([0, 0, 1, 2], "once"), ([0, 1], "every object")]:
        with pytest.raises(ValueError, match=words):
            tree.plot(order=order)
    tied = reliac.cluster([[0.0], [1.0], [2.0], [10.0]], "single")
    bars = [tied.plot(order=order).collections[0].get_segments() for order in (None, tied.leaf_order[::-1])]
    heights = [sorted(float(path[:, 1].max()) for path in paths) for paths in bars]
    assert heights[0] == heights[1]
    pyplot.close("all")
