"""The spatial engine: the literal tree, bit for bit on integers, at sizes where its k-d tree is rebuilt."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from problems import ALPHAS, blobs, grid, lattice, shrinking_chain, twins
from references import problem_of_squares
from reliac.algorithm.links import Groups
from reliac.engines.compiled.loading import compiled
from reliac.engines.compiled.spaces import pair_distance
from reliac.engines.lists.engine import SEARCH_LENGTH
from reliac.engines.lists.entries import N_LINKS
from reliac.engines.literal import LiteralEngine
from reliac.engines.vectors.engine import VectorsEngine
from reliac.engines.vectors.spatial import SpatialEngine

CRITERIA = ("ward", "centroid", "median", "average")


def run(engine, X, criterion="ward", n_jobs=2, **options):
    """Level, p, q and distance of every link."""
    problem = problem_of_squares(X, criterion, **options)
    assert engine.refuses(problem) is None
    batches = list(engine(problem, n_jobs).levels(0))
    if not batches:
        return np.empty(0, int), np.empty(0, int), np.empty(0, int), np.empty(0)
    return tuple(
        np.concatenate([column(batch) for batch in batches])
        for column in (
            lambda b: b.level,
            lambda b: b.links.p,
            lambda b: b.links.q,
            lambda b: b.links.distance,
        )
    )


def assert_same(ours, theirs, ulps=0):
    """The same links in the same order; distances to the bit, or to some units in the last place."""
    for one, other in zip(ours[:3], theirs[:3], strict=True):
        np.testing.assert_array_equal(one, other)
    if ulps:
        np.testing.assert_array_max_ulp(ours[3], theirs[3], ulps)
    else:
        np.testing.assert_array_equal(ours[3], theirs[3])


def assert_close(ours, theirs):
    """The same links at the same levels; within a level in any order that equal-to-rounding distances allow."""
    ours, theirs = (tuple(column[np.lexsort((run[2], run[1], run[0]))] for column in run) for run in (ours, theirs))
    for one, other in zip(ours[:3], theirs[:3], strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(ours[3], theirs[3], rtol=1e-7)


def assert_literal(X, criterion, **options):
    """The literal engine's tree, bit for bit on integers; sums over equal parts pass 2^53 and round at the end."""
    ours, theirs = run(SpatialEngine, X, criterion, **options), run(LiteralEngine, X, criterion, **options)
    assert_same(ours, theirs, ulps=4 if criterion == "median" else 0)


def growing_chain(n):
    return np.cumsum(np.linspace(1.0, 4.0, n) ** 2)[:, None]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(
    "X",
    [
        lattice(0, n=300, d=2, side=30),
        lattice(1, n=300, d=1, side=1000),
        lattice(2, n=250, d=3, side=4),
        lattice(3, n=200, d=7, side=3),
        grid(14),
        twins(4, n=150),
        np.ones((60, 2)),
    ],
    ids=["plane", "line", "dense", "seven", "grid", "twins", "equal"],
)
def test_integer_points_give_the_literal_tree_bit_for_bit(X, criterion, alpha):
    assert_literal(X, criterion, alpha=alpha)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(("n", "side"), [(2000, 60), (2000, 12), (1500, 300)])
def test_large_lattices_give_the_literal_tree_bit_for_bit(criterion, n, side):
    X = lattice(5, n=n, d=2, side=side)
    assert_literal(X, criterion)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_weighted_lattices_give_the_literal_tree_bit_for_bit(criterion, alpha):
    X, weights = lattice(6, n=300, d=2, side=25), np.random.default_rng(6).integers(1, 9, size=300)
    options = {"weights": weights, "alpha": alpha}
    assert_literal(X, criterion, **options)


@pytest.mark.parametrize("tolerance", [1e-9, 0.1, 0.5])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_tie_tolerance_gives_the_literal_tree(criterion, tolerance):
    options = {"tie_tolerance": tolerance}
    X = blobs(7, n=300, d=2)
    assert_close(run(SpatialEngine, X, criterion, **options), run(LiteralEngine, X, criterion, **options))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(
    "X",
    [
        blobs(8, n=1500, d=2),
        blobs(9, n=700, d=10),
        np.random.default_rng(10).random((1000, 1)),
        shrinking_chain(400),
        growing_chain(400),
        np.cumsum(1.05 ** np.arange(300))[:, None],
    ],
    ids=["plane", "ten", "line", "shrinking", "growing", "doubling"],
)
def test_tie_free_points_give_the_literal_tree(X, criterion):
    assert_close(run(SpatialEngine, X, criterion), run(LiteralEngine, X, criterion))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("alpha", ALPHAS[:-1])
def test_shares_of_links_give_the_literal_tree(criterion, alpha):
    X = blobs(11, n=500, d=3)
    assert_close(run(SpatialEngine, X, criterion, alpha=alpha), run(LiteralEngine, X, criterion, alpha=alpha))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_other_metrics_give_the_literal_tree(metric):
    X = blobs(12, n=400, d=5)
    criterion = "average" if metric == "cosine" else "ward"
    assert_close(run(SpatialEngine, X, criterion, metric=metric), run(LiteralEngine, X, criterion, metric=metric))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_far_integers_give_the_tree_of_near_ones_bit_for_bit(criterion):
    X = lattice(13, n=600, d=2, side=60)
    assert_same(run(SpatialEngine, X + 1e8, criterion), run(SpatialEngine, X, criterion))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_far_points_are_searched_as_exactly_as_by_the_vectors_engine(criterion):
    """An offset of 1e8 leaves eight digits, one of 1e12 in one group none of the others': bounds must allow for it."""
    X = np.round(blobs(14, n=600, d=3) + 1e8, 6)
    assert_same(run(SpatialEngine, X, criterion), run(VectorsEngine, X, criterion))
    X = blobs(15, n=400, d=2)
    X[::2] += 1e12  # half of the points far away: a grid of 1e-4, full of ties
    assert_same(run(SpatialEngine, X, criterion), run(VectorsEngine, X, criterion))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_hundreds_of_equal_rows_give_the_literal_tree_bit_for_bit(criterion):
    X = np.vstack([np.repeat(lattice(16, n=4, d=2, side=1000), 150, axis=0), lattice(17, n=300, d=2, side=1000)])
    X = np.random.default_rng(18).permutation(X)
    assert_literal(X, criterion)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n", [1, 2, 3, 12, 13, SEARCH_LENGTH, SEARCH_LENGTH + 1, SEARCH_LENGTH + 2, 97])
def test_every_small_number_of_rows(criterion, n):
    X = lattice(n, n=n, d=2, side=50)
    assert_literal(X, criterion)


@settings(max_examples=60, deadline=None)
@given(
    points=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=120),
    criterion=st.sampled_from(CRITERIA),
    alpha=st.sampled_from(ALPHAS),
)
def test_no_counterexample_on_integer_points(points, criterion, alpha):
    X = np.hstack([np.array(points, float), np.ones((len(points), 1))])
    assert_literal(X, criterion, alpha=alpha)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_many_rows_give_the_tree_of_the_vectors_engine_bit_for_bit(criterion):
    X = blobs(19, n=20000 if criterion == "ward" else 6000, d=3)
    assert_same(run(SpatialEngine, X, criterion), run(VectorsEngine, X, criterion))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_one_and_two_threads_give_the_same_bits(criterion):
    X = np.round(blobs(20, n=5000, d=2), 2)
    assert_same(run(SpatialEngine, X, criterion, n_jobs=1), run(SpatialEngine, X, criterion, n_jobs=2))


def test_stopping_early_gives_the_first_links():
    X = blobs(21, n=800, d=2)
    for rule in ({"n_clusters": 40}, {"max_level": 3}, {"max_distance": 0.5}):
        assert_close(run(SpatialEngine, X, **rule), run(LiteralEngine, X, **rule))


def test_a_new_engine_catches_up_with_levels_made_before():
    X = lattice(22, n=400, d=2, side=40)
    full = run(LiteralEngine, X)
    problem = problem_of_squares(X)
    engine = SpatialEngine(problem, 2)
    first = full[0] == 1
    leader = np.arange(len(X))
    for p, q in zip(full[1][first], full[2][first], strict=True):
        leader[leader == leader[q]] = leader[p]
    heads, sizes = np.unique(leader, return_counts=True)
    parts = [np.flatnonzero(leader == head) for head in heads[sizes > 1]]
    engine.join(Groups(np.concatenate(parts), np.cumsum([0, *map(len, parts)])[:-1]))
    batches = list(engine.levels(1))
    assert np.array_equal(np.concatenate([b.links.distance for b in batches]), full[3][~first])


# --- the tree itself ---


def checked_engine(monkeypatch, X, criterion):
    """An engine whose every search checks the whole tree and all lists against exact distances."""
    engine = SpatialEngine(problem_of_squares(X, criterion), 1)
    built = []
    search, build = engine.search, engine._built

    def checked_search(slots, push):
        search(slots, push)
        tree, alive = engine.tree, engine.alive
        left = tree.slots >= 0
        assert np.array_equal(np.sort(tree.slots[left]), alive)
        assert np.array_equal(tree.slots[tree.place[alive]], alive)
        d = X.shape[1]
        assert (tree.points[left, :d] >= tree.boxes[1, :d]).all()
        assert (tree.points[left, :d] <= tree.boxes[1, d : 2 * d]).all()
        for r in slots[:: max(1, len(slots) // 50)]:
            row = np.array([_pair(engine.space, r, q) if q != r else np.inf for q in alive])
            first, count = engine.lists.start[r], engine.lists.count[r]
            listed = engine.nodes.slot_of[engine.lists.nodes[first : first + count]]
            inside = alive[row < engine.lists.radius[r]]
            assert set(inside) == set(listed)
            assert np.array_equal(engine.lists.distances[first : first + count], np.sort(row)[:count])

    def counted(points, slots):
        built.append(len(slots))
        return build(points, slots)

    monkeypatch.setattr(engine, "search", checked_search)
    monkeypatch.setattr(engine, "_built", counted)
    return engine, built


@compiled
def _pair(space, p, q):
    return pair_distance(space, p, q)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("X", [blobs(23, n=900, d=2), lattice(24, n=900, d=3, side=9)], ids=["blobs", "lattice"])
def test_every_list_holds_all_inside_its_radius_and_the_tree_is_rebuilt(monkeypatch, X, criterion):
    engine, built = checked_engine(monkeypatch, X, criterion)
    for _ in engine.levels(0):
        pass
    assert engine.n_clusters == 1
    assert engine.work.counters[N_LINKS] == len(X) - 1
    assert len(built) >= 3
    assert all(later <= 0.7 * earlier for earlier, later in pairwise(built))


def test_what_it_refuses():
    assert "17" in SpatialEngine.refuses(problem_of_squares(np.random.default_rng(0).random((5, 17))))
    assert "dense" in SpatialEngine.refuses(problem_of_squares(csr_array(np.eye(4)[:, :3])))
    assert SpatialEngine.refuses(problem_of_squares(np.eye(5)[:, :2], "complete"))
    assert SpatialEngine.refuses(problem_of_squares(np.eye(5)[:, :2], "average", metric="cityblock"))
    assert SpatialEngine.refuses(problem_of_squares(np.eye(5)[:, :2])) is None


def test_memory_grows_in_proportion_to_rows():
    small, large = (SpatialEngine.memory(problem_of_squares(np.zeros((n, 3)))) for n in (1000, 100000))
    assert large == pytest.approx(100 * small, rel=0.01)
    assert 300 < small / 1000 < 1000
