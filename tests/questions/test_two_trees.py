"""Two trees of the same objects: measures against literal definitions, or against SciPy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet
from scipy.spatial.distance import pdist
from sklearn.metrics import fowlkes_mallows_score

import reliac
from problems import lattice
from reliac.evaluate import cophenetic_correlation
from reliac.questions import cophenetic
from reliac.questions.agreement import agreement, entanglement, untangled
from reliac.questions.matching import match_objects

CRITERIA = ["single", "complete", "average", "centroid", "ward"]


def problems():
    """Pairs of trees of few objects: with ties, chains, inversions and forests."""
    rng = np.random.default_rng(0)
    for seed, n in enumerate([1, 2, 3, 5, 8, 13, 21, 30]):
        for X in (rng.normal(size=(n, 3)), lattice(seed, n=n, d=2, side=4)):
            a, b = rng.choice(CRITERIA, 2, replace=False)
            yield reliac.cluster(X, a), reliac.cluster(X, b)
            if n > 2:
                yield reliac.cluster(X, a, max_level=1), reliac.cluster(X + rng.normal(size=X.shape), b)


def clusters_of(tree):
    """The sets of 2 to n - 1 objects that are a cluster of some level: ties are one cluster."""
    levels = [tree.clusters(level) for level in range(tree.n_levels + 1)]
    sets = {frozenset(members.tolist()) for level in levels for members in level}
    return {some for some in sets if 1 < len(some) < tree.n_objects}


def test_robinson_foulds_counts_the_sets_that_only_one_tree_has():
    seen = set()
    for a, b in problems():
        own, other = clusters_of(a), clusters_of(b)
        found = a.agreement(b)
        assert found.robinson_foulds == len(own ^ other)
        assert found.robinson_foulds_share == (len(own ^ other) / (len(own) + len(other)) if own or other else 0.0)
        assert a.agreement(a).robinson_foulds == 0
        seen.add(found.robinson_foulds > 0)
    assert seen == {True, False}


def test_fowlkes_mallows_is_scikit_learns_for_every_number_of_clusters():
    for a, b in problems():
        found = a.agreement(b)
        assert found.n_clusters.tolist() == list(range(max(a.n_clusters, b.n_clusters), a.n_objects + 1))
        for k, value in zip(found.n_clusters.tolist(), found.fowlkes_mallows.tolist(), strict=True):
            np.testing.assert_allclose(value, fowlkes_mallows_score(a.labels(k), b.labels(k)), rtol=1e-12)


def test_cophenetic_correlation_is_scipys():
    rng = np.random.default_rng(1)
    for n in (3, 10, 40):
        X = rng.normal(size=(n, 3))
        a, b = reliac.cluster(X, "average"), reliac.cluster(X, "single")
        wanted = cophenet(a.linkage_matrix(), pdist(X))[0]
        np.testing.assert_allclose(a.cophenetic_correlation(), wanted, rtol=1e-12)
        np.testing.assert_allclose(a.cophenetic_correlation(pdist(X), metric="precomputed"), wanted, rtol=1e-12)
        assert a.cophenetic_correlation() == cophenetic_correlation(a, pdist(X))
        both = np.corrcoef(cophenet(a.linkage_matrix()), cophenet(b.linkage_matrix()))[0, 1]
        found = a.agreement(b)
        np.testing.assert_allclose(found.cophenetic, both, rtol=1e-12)
        assert found.pairs_sampled is None
        forest = reliac.cluster(X, "average", n_clusters=2)
        assert np.isnan(a.agreement(forest).cophenetic)
        assert "never come together" in repr(a.agreement(forest))


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "precomputed"])
def test_of_many_objects_pairs_are_sampled_by_a_seed(metric, monkeypatch):
    X = np.random.default_rng(2).normal(size=(300, 3))
    X = pdist(X) if metric == "precomputed" else X
    a, b = reliac.cluster(X, "average", metric=metric), reliac.cluster(X, "complete", metric=metric)
    exact = a.cophenetic_correlation(), a.agreement(b).cophenetic
    monkeypatch.setattr(cophenetic, "MOST", 100)
    for seed in (0, 1):
        found = a.agreement(b, seed=seed)
        assert found.pairs_sampled == 300 * cophenetic.PARTNERS
        assert f"of {found.pairs_sampled} sampled pairs" in repr(found)
        np.testing.assert_allclose([a.cophenetic_correlation(seed=seed), found.cophenetic], exact, atol=0.02)
        assert found.cophenetic == a.agreement(b, seed=seed).cophenetic
    p, q = cophenetic.sampled_pairs(7, 0)
    assert (p != q).all()
    assert {*q.tolist()} == {*range(7)}


# --- leaves ---


def test_entanglement_is_the_sum_of_shifted_places_against_the_reverse():
    rng = np.random.default_rng(3)
    for n in (2, 5, 8):
        order, other = rng.permutation(n), rng.permutation(n)
        for exponent in (0.5, 1.0, 1.5, 2.0):
            place = [abs(list(order).index(i) - list(other).index(i)) ** exponent for i in range(n)]
            worst = [abs(i - (n - 1 - i)) ** exponent for i in range(n)]
            np.testing.assert_allclose(entanglement(order, other, exponent), sum(place) / sum(worst))
        assert entanglement(order, order, 1.5) == 0.0
        np.testing.assert_allclose(entanglement(order, order[::-1], 1.5), 1.0)
    assert entanglement(np.array([0]), np.array([0]), 1.5) == 0.0


def test_orders_are_turned_towards_each_other_and_stay_orders_of_their_trees():
    from reliac.tree.walks import check_order

    for a, b in problems():
        same = np.arange(a.n_objects)
        first, second = untangled(a, b, same, 1.5)
        check_order(a, first)
        check_order(b, second)
        assert entanglement(first, second, 1.5) <= entanglement(a.leaf_order, b.leaf_order, 1.5) or b.n_clusters > 1
        assert a.agreement(a).entanglement == 0.0


# --- which objects are the same ---


def test_objects_are_matched_by_names_or_rows_in_whatever_order_they_are():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(25, 3))
    shuffled = rng.permutation(25)
    names = np.array([f"object {i}" for i in range(25)])
    a = reliac.cluster(X, "average", names=names)
    b = reliac.cluster(X[shuffled], "average", names=names[shuffled])
    assert match_objects(a, b).tolist() == shuffled.tolist()
    found = a.agreement(b)
    assert found.robinson_foulds == 0
    np.testing.assert_allclose(found.cophenetic, 1.0)
    np.testing.assert_allclose(found.fowlkes_mallows[:-1], 1.0)
    assert found.entanglement == 0.0
    assert names[found.orders[0]].tolist() == names[shuffled][found.orders[1]].tolist()
    nameless = reliac.cluster(X, "average")
    assert nameless.agreement(a).robinson_foulds == 0
    repeated = reliac.cluster(X, "average", names=["same"] * 25)
    assert repeated.agreement(repeated).robinson_foulds == 0
    part = a.subtree(0, n_clusters=2)
    assert part.agreement(part).entanglement == 0.0


def test_trees_of_other_objects_are_refused_by_name():
    X = np.arange(6.0)[:, None] ** 2
    a = reliac.cluster(X, "average", names=list("abcdef"))
    with pytest.raises(ValueError, match=r"matched by names: 'x' is in one of them only.*same rows"):
        a.agreement(reliac.cluster(X, "average", names=list("abcdex")))
    with pytest.raises(ValueError, match=r"Trees of 6 and 5 objects.*two trees of the same objects"):
        a.agreement(reliac.cluster(X[:5], "average"))
    with pytest.raises(TypeError, match="ClusterTree"):
        a.agreement(X)
    with pytest.raises(ValueError, match="exponent"):
        a.agreement(a, exponent=0)
    with pytest.raises(ValueError, match="seed"):
        a.agreement(a, seed=-1)
    with pytest.raises(ValueError, match="never come together"):
        reliac.cluster(X, "average", n_clusters=2).cophenetic_correlation()


def test_deep_trees_are_compared_without_recursion():
    X = np.cumsum(np.arange(1.0, 1401.0))[:, None]
    a, b = reliac.cluster(X, "single"), reliac.cluster(X[::-1], "single")
    found = agreement(a, b, 1.5, 0)
    assert found.fowlkes_mallows[0] == 1.0
    assert found.robinson_foulds > 0


# --- the picture ---


def test_a_tanglegram_draws_both_trees_and_a_line_for_every_object(monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    from reliac.plots import tanglegram

    X = np.random.default_rng(5).normal(size=(20, 2))
    a = reliac.cluster(X, "ward", names=[f"n{i}" for i in range(20)])
    for b in (reliac.cluster(X, "single"), reliac.cluster(X, "single", n_clusters=3)):
        ax = a.plot_tanglegram(b, color_clusters=3)
        ax.figure.canvas.draw()
        left, right, lines = (collection.get_segments() for collection in ax.collections)
        assert (len(left), len(right), len(lines)) == (19, len(b.links), 20)
        assert {text.get_text() for text in ax.texts} >= {"n0", "n19", "ward, euclidean", "single, euclidean"}
        assert "entanglement" in ax.get_xlabel()
        for segment in lines:
            assert segment[0, 0] < 0 < segment[1, 0]
    own = a.plot_tanglegram(a, orders=(a.leaf_order, a.leaf_order[::-1]), titles=("one", "two"))
    assert "entanglement 1.000" in own.get_xlabel()
    pyplot.close("all")
    with pytest.raises(ValueError, match="contiguous"):
        a.plot_tanglegram(a, orders=(np.arange(20), a.leaf_order))
    monkeypatch.setattr(tanglegram, "MOST", 19)
    with pytest.raises(ValueError, match=r"A tanglegram of 20 objects.*tree.subtree"):
        a.plot_tanglegram(a)
