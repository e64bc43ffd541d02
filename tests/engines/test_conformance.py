"""Every engine gives the tree of the definition, for every criterion; ties bit for bit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import pdist, squareform

import reliac
from devices import HAS_TORCH
from oracle import DISTANCE, join, squared
from problems import ALPHAS, CRITERIA, GEOMETRIC, REDUCIBLE, blobs, lattice, pairs, tie_free, tied
from references import cluster_squares, definition, replayed, takers_of_each
from reliac.engines.choice import ENGINES
from reliac.native.library import library
from replay import groups_by_level, replay

VECTORS, DISTANCES = blobs(0, n=8), squareform(pdist(blobs(0, n=8)))

#: Pairs (engine, criterion) for vectors, for given distances, and for vectors with a tie tolerance.
OF_VECTORS = takers_of_each(CRITERIA, VECTORS)
OF_DISTANCES = takers_of_each(CRITERIA, DISTANCES, metric="precomputed")
TOLERANT = takers_of_each(CRITERIA, VECTORS, tie_tolerance=0.01)
ALL_PAIRS = set(CRITERIA) - {"single"}
FROM_MEANS = {"average", "centroid", "median", "ward"}


def run_by(takers):
    """Run a test with the engines and criteria of some pairs."""
    return pytest.mark.parametrize(("engine", "criterion"), takers)


def some(takers, criteria):
    return [(engine, criterion) for engine, criterion in takers if criterion in criteria]


def criteria_by_engine(takers):
    return {engine: {criterion for other, criterion in takers if other == engine} for engine in ENGINES}


def test_every_engine_takes_the_criteria_that_it_was_made_for():
    """Whatever is listed here is run below: no engine drops out of the tests by refusing more than before."""
    assert criteria_by_engine(OF_VECTORS) == {
        "literal": set(CRITERIA),
        "small": set(CRITERIA),
        "disk": ALL_PAIRS,
        "matrix": ALL_PAIRS,
        "dense": ALL_PAIRS,
        "folding": set(),  # given distances only
        "vectors": FROM_MEANS,
        "spatial": FROM_MEANS,
        "spanning": {"single"},
        "graph": set(),  # test_graph.py
        "gpu": FROM_MEANS | {"single"} if HAS_TORCH else set(),
    }
    assert criteria_by_engine(OF_DISTANCES) == {
        **{engine: set() for engine in ENGINES},
        "literal": set(CRITERIA),
        "small": set(CRITERIA),
        "matrix": ALL_PAIRS,
        "dense": ALL_PAIRS,
        # Its lists need joins that come no nearer than their parts were. test_folding.py has large tables.
        "folding": ALL_PAIRS - {"centroid", "median"} if library() else set(),
        "spanning": {"single"},
    }
    by_edges = {"spanning", "small", "gpu"} if HAS_TORCH else {"spanning", "small"}
    assert set(OF_VECTORS) - set(TOLERANT) == {(engine, "single") for engine in by_edges}


def levels_of(tree):
    """What the oracle returns, read off a tree."""
    return [
        {(frozenset(np.concatenate(parts).tolist()), distance) for parts, distance in groups}
        for groups in groups_by_level(tree)
    ]


def expect(levels, height=float):
    return [{(members, height(distance)) for members, distance in groups} for groups in levels]


def root(criterion):
    """The height that 'euclidean' shows for a squared distance."""
    factor = 2 if criterion == "ward" else 1
    return lambda distance: float(np.sqrt(factor * float(distance)))


def same_up_to_rounding(tree, levels, height=float):
    found = groups_by_level(tree)
    assert len(found) == len(levels)
    for groups, wanted in zip(found, levels, strict=True):
        ours = {frozenset(np.concatenate(parts).tolist()): distance for parts, distance in groups}
        theirs = {members: height(distance) for members, distance in wanted}
        assert ours.keys() == theirs.keys()
        for members, distance in theirs.items():
            assert ours[members] == pytest.approx(distance, rel=1e-9, abs=1e-9)


@run_by(OF_VECTORS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(5))
def test_tied_vectors_give_the_tree_of_the_definition_bit_for_bit(engine, criterion, alpha, seed):
    X = tied(seed)
    tree = cluster_squares(X, criterion, alpha=alpha, engine=engine)
    assert levels_of(tree) == expect(definition(criterion, X, alpha=alpha))


@run_by(OF_VECTORS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(3))
def test_tie_free_vectors_give_the_tree_of_the_definition(engine, criterion, alpha, seed):
    X = tie_free(seed)
    same_up_to_rounding(
        cluster_squares(X, criterion, alpha=alpha, engine=engine), definition(criterion, X, alpha=alpha)
    )


@run_by(OF_DISTANCES)
@pytest.mark.parametrize("form", ["square", "condensed", "float32"])  # beside each other: they have one reference
@pytest.mark.parametrize("alpha", ALPHAS)
def test_tied_given_distances_give_the_tree_of_the_definition_bit_for_bit(engine, criterion, alpha, form):
    rng = np.random.default_rng(7)
    D = np.triu(rng.integers(3, 7, size=(22, 22)), 1).astype(float)
    D += D.T
    given_form = {"square": D, "condensed": squareform(D), "float32": D.astype(np.float32)}[form]
    geometric = criterion in GEOMETRIC
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", reliac.NotEuclideanWarning)
        tree = cluster_squares(given_form, criterion, metric="precomputed", alpha=alpha, engine=engine)
    levels = definition(criterion, d=D**2 if geometric else D, alpha=alpha)
    assert levels_of(tree) == expect(levels, root(criterion) if geometric else float)


@run_by(OF_VECTORS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_a_share_of_100_links_is_the_whole_number_that_it_is_on_paper(engine, criterion, alpha):
    tree = cluster_squares(pairs(100), criterion, alpha=alpha, engine=engine, max_level=1)
    assert tree.cluster_counts.tolist() == [200, 200 - max(1, round(100 * alpha))]


@run_by(OF_VECTORS)
def test_lattices_with_weights_give_the_tree_of_the_definition_bit_for_bit(engine, criterion):
    X, weights = lattice(3), np.random.default_rng(3).integers(1, 5, size=24)
    tree = cluster_squares(X, criterion, weights=weights, engine=engine)
    assert levels_of(tree) == expect(definition(criterion, X, weight=weights))


@run_by(takers_of_each(CRITERIA, VECTORS, metric="euclidean"))
def test_euclidean_heights_are_roots_of_what_is_compared(engine, criterion):
    X = lattice(11)
    tree = cluster_squares(X, criterion, metric="euclidean", engine=engine)
    if criterion in ("average", "weighted"):
        replay(tree, X, metric="euclidean")
    else:
        assert levels_of(tree) == expect(definition(criterion, X), root(criterion))


@settings(max_examples=150, deadline=None)
@given(
    points=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=14),
    taker=st.sampled_from(OF_VECTORS),
    alpha=st.sampled_from(ALPHAS),
)
def test_no_counterexample_on_integer_points(points, taker, alpha):
    engine, criterion = taker
    X = np.array(points, dtype=float)
    tree = cluster_squares(np.hstack([X, np.ones((len(X), 1))]), criterion, alpha=alpha, engine=engine)
    assert levels_of(tree) == expect(definition(criterion, X, alpha=alpha))


@settings(max_examples=100, deadline=None)
@given(data=st.data(), n=st.integers(1, 9), taker=st.sampled_from(OF_VECTORS))
def test_no_counterexample_on_early_stopping(data, n, taker):
    engine, criterion = taker
    points = data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=n, max_size=n))
    X = np.hstack([np.array(points, dtype=float).reshape(n, 2), np.ones((n, 1))])
    k = data.draw(st.integers(1, n))
    tree = cluster_squares(X, criterion, n_clusters=k, engine=engine)
    assert levels_of(tree) == expect(definition(criterion, X, n_clusters=k))
    assert tree.n_clusters == k
    full = cluster_squares(X, criterion, engine=engine)
    assert np.array_equal(tree.labels(), full.labels(k, by="level"))


@run_by(OF_VECTORS)
@pytest.mark.parametrize("rule", [{"max_level": 2}, {"max_distance": 3.0}, {"max_level": 3, "max_distance": 2.0}])
def test_early_stopping_gives_the_first_levels_of_the_definition(engine, criterion, rule):
    X = lattice(5)
    tree = cluster_squares(X, criterion, engine=engine, **rule)
    assert levels_of(tree) == expect(definition(criterion, X, **rule))


@run_by(OF_VECTORS)
@pytest.mark.parametrize("alpha", [alpha for alpha in ALPHAS if alpha])
@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_rows_gives_the_same_tree(engine, criterion, alpha, seed):
    X = tied(seed)
    tree = cluster_squares(X, criterion, alpha=alpha, engine=engine)
    order = np.random.default_rng(seed).permutation(len(X))
    shuffled = cluster_squares(X[order], criterion, alpha=alpha, engine=engine)
    renamed = [
        {(frozenset(order[list(members)].tolist()), distance) for members, distance in groups}
        for groups in levels_of(shuffled)
    ]
    assert renamed == levels_of(tree)


@run_by(TOLERANT)
@pytest.mark.parametrize("tolerance", [0.01, 0.5])
def test_tie_tolerance_widens_what_counts_as_tied(engine, criterion, tolerance):
    X = blobs(2, n=25)
    tree = cluster_squares(X, criterion, tie_tolerance=tolerance, engine=engine)
    same_up_to_rounding(tree, definition(criterion, X, tol=tolerance))


@run_by(OF_VECTORS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_replay_verifies_every_level_on_larger_data(engine, criterion, alpha):
    X = blobs(1, n=250, d=4)
    tree = cluster_squares(X, criterion, alpha=alpha, engine=engine)
    assert replayed(tree, X, alpha=alpha) == tree.n_levels


@pytest.mark.parametrize("criterion", CRITERIA)
def test_replay_finds_out_a_tree_of_another_share_and_one_of_other_data(criterion):
    X = blobs(1, n=60, d=4)
    with pytest.raises(AssertionError, match="level 1: "):
        replay(cluster_squares(X, criterion, alpha=1.0), X, alpha=0.3)
    other = X.copy()
    other[7] += 5.0
    with pytest.raises(AssertionError, match="level"):
        replay(cluster_squares(X, criterion), other)


def with_metrics():
    """Engine, criterion and metric."""
    for criterion in CRITERIA:
        for metric in ("sqeuclidean", "euclidean", "cityblock", "cosine", "precomputed"):
            if criterion not in GEOMETRIC or metric not in ("cityblock", "cosine"):  # these compare points in space
                data = DISTANCES if metric == "precomputed" else VECTORS
                yield from ((*pair, metric) for pair in takers_of_each([criterion], data, metric=metric))


@pytest.mark.parametrize(("engine", "criterion", "metric"), list(with_metrics()))
def test_replay_verifies_every_level_for_other_metrics(engine, criterion, metric):
    X = blobs(4, n=120, d=6)
    data = (
        squareform(pdist(X, "cityblock" if criterion not in GEOMETRIC else "euclidean"))
        if metric == "precomputed"
        else X
    )
    tree = cluster_squares(data, criterion, metric=metric, engine=engine)
    assert replayed(tree, data, metric=metric) == tree.n_levels


@run_by(takers_of_each(REDUCIBLE, VECTORS, metric="euclidean"))
def test_without_ties_reducible_criteria_give_scipys_tree(engine, criterion):
    X = blobs(6, n=200, d=5)
    tree = cluster_squares(X, criterion, metric="euclidean", engine=engine)
    Z = scipy_linkage(X, criterion)
    ours = tree.linkage_matrix()
    assert np.array_equal(ours[:, [0, 1, 3]], Z[:, [0, 1, 3]])
    np.testing.assert_allclose(ours[:, 2], Z[:, 2], rtol=1e-10)


@run_by(some(OF_VECTORS, ["single"]))
@pytest.mark.parametrize("make", [lambda: blobs(8, n=150), lambda: lattice(8, n=80)])
def test_the_single_criterion_gives_a_minimum_spanning_tree(engine, criterion, make):
    X = make()
    tree = cluster_squares(X, criterion, engine=engine)
    found = tree.spanning_tree()
    base = squareform(pdist(X, "sqeuclidean"))
    assert np.allclose(base[found.pairs[:, 0], found.pairs[:, 1]], found.weights)
    graph = csr_array((np.ones(len(found.pairs)), found.pairs.T), shape=(len(X), len(X)))
    assert connected_components(graph, directed=False)[0] == 1
    # zero weights mean "no edge" to scipy: add one to every distance, which adds n - 1 to the tree
    total = minimum_spanning_tree(base + 1 - np.eye(len(X))).sum() - (len(X) - 1)
    assert found.weights.sum() == pytest.approx(total, rel=1e-12)


@run_by(some(OF_VECTORS, ["single"]))
def test_a_stopped_single_run_gives_a_forest_of_the_spanning_tree(engine, criterion):
    X = blobs(8, n=80)
    full = cluster_squares(X, criterion, engine=engine).spanning_tree()
    part = cluster_squares(X, criterion, max_level=3, engine=engine).spanning_tree()
    assert 0 < len(part.pairs) < len(full.pairs)
    assert {tuple(pair) for pair in part.pairs} <= {tuple(pair) for pair in full.pairs}
    assert part.levels.max() == 3


@run_by(some(OF_VECTORS, REDUCIBLE))
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_row_of_weight_three_is_three_equal_rows(engine, criterion, alpha):
    X = blobs(9, n=30)
    weights = np.random.default_rng(9).integers(1, 4, size=30)
    repeated = np.repeat(np.arange(30), weights)
    light = cluster_squares(X, criterion, weights=weights, alpha=alpha, engine=engine)
    heavy = cluster_squares(X[repeated], criterion, alpha=alpha, engine=engine)
    for k in range(1, 31):
        assert np.array_equal(light.labels(k)[repeated], heavy.labels(k))
    np.testing.assert_allclose(
        np.sort(light.links["distance"]), np.sort(heavy.links["distance"])[-29:], rtol=1e-9, atol=1e-9
    )


@run_by(some(OF_VECTORS, ["centroid", "median"]))
def test_weights_equal_repeated_rows_under_the_standard_strategy_for_centroid_and_median(engine, criterion):
    X = blobs(9, n=30)
    weights = np.random.default_rng(9).choice([1, 2, 4], size=30)
    repeated = np.repeat(np.arange(30), weights)
    light = cluster_squares(X, criterion, weights=weights, alpha=0, engine=engine)
    heavy = cluster_squares(X[repeated], criterion, alpha=0, engine=engine)
    for k in range(1, 31):
        assert np.array_equal(light.labels(k)[repeated], heavy.labels(k))


@run_by(OF_VECTORS)
def test_developing_all_clusters_gives_the_full_tree(engine, criterion):
    X = lattice(12, n=40)
    full = cluster_squares(X, criterion, engine=engine)
    start = cluster_squares(X, criterion, max_level=2, engine=engine)
    assert np.array_equal(start.develop().links, full.links)


@run_by(OF_VECTORS)
def test_developing_some_clusters_gives_the_tree_of_a_run_on_them(engine, criterion):
    X = blobs(12, n=60)
    start = cluster_squares(X, criterion, max_level=2, engine=engine)
    chosen = [0, 2, 3, 5, 8]
    developed = start.develop(chosen)
    objects = np.flatnonzero(np.isin(start.labels(), chosen))
    assert np.array_equal(developed.objects, objects)
    assert developed.n_clusters == 1
    assert np.array_equal(developed.labels(5, by="level"), np.unique(start.labels()[objects], return_inverse=True)[1])
    replay_after(developed, X[objects], start_level=2)


def replay_after(tree, X, start_level):
    """Later levels follow from the clusters that were chosen: the oracle, started there."""
    criterion = tree.parameters["criterion"]
    alone = groups_by_level(tree)[start_level:]
    reference = replay_from(criterion, X, groups_by_level(tree)[:start_level])
    assert len(alone) == len(reference)
    for groups, wanted in zip(alone, reference, strict=True):
        ours = {frozenset(np.concatenate(parts).tolist()): distance for parts, distance in groups}
        assert ours.keys() == wanted.keys()
        for members, distance in wanted.items():
            assert ours[members] == pytest.approx(distance, rel=1e-9)


def replay_from(criterion, X, levels):
    """The oracle's loop from given clusters on: all reliable links of tie-free data, pair by pair."""
    points = X.tolist()
    d = [[squared(x, y) for y in points] for x in points]
    weight = [1.0] * len(points)
    clusters = {i: {i: 1.0} for i in range(len(points))}
    for groups in levels:
        for parts, _ in groups:
            cluster = join([clusters.pop(int(part.min())) for part in parts], criterion, weight)
            clusters[min(cluster)] = cluster
    result = []
    while len(clusters) > 1:
        names = sorted(clusters)
        length = {
            (p, q): DISTANCE[criterion](points, d, clusters[p], clusters[q], weight)
            for p in names
            for q in names
            if p != q
        }
        nearest = {p: min((q for q in names if q != p), key=lambda q, p=p: length[p, q]) for p in names}
        new = {}
        for p in names:
            q = nearest[p]
            if p < q and nearest[q] == p:
                cluster = join([clusters.pop(p), clusters.pop(q)], criterion, weight)
                clusters[p] = cluster
                new[frozenset(cluster)] = length[p, q]
        result.append(new)
    return result
