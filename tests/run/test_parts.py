"""Components under max_distance, solved separately: the tree of the whole problem, and where they are not taken."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist, squareform

import reliac
from problems import CRITERIA, GEOMETRIC, blobs
from reliac.algorithm.criteria import get_criterion
from reliac.engines import components
from reliac.engines.components import find_components
from reliac.input.problem import make_problem

BY_PAIRS = tuple(name for name in CRITERIA if get_criterion(name).between_pairs)


@pytest.fixture(autouse=True)
def components_of_few_objects(monkeypatch):
    """Let components be looked for although so few objects would not be worth it."""
    monkeypatch.setattr(components, "FEW", 10)


def islands(seed, n=90, d=2):
    """Whole numbers in a few small boxes, with ties and duplicates; no row of zeros."""
    rng = np.random.default_rng(seed)
    return 1.0 + rng.integers(0, 60, size=(9, d))[rng.integers(0, 9, n)] + rng.integers(0, 5, size=(n, d))


def apart(tree):
    """Whether components were solved separately."""
    return "components under max_distance" in tree.reason


def assert_same(tree, whole):
    assert np.array_equal(tree.links, whole.links)
    assert (tree.object_pairs is None) == (whole.object_pairs is None)
    if whole.object_pairs is not None:
        assert np.array_equal(tree.object_pairs, whole.object_pairs)
    assert tree.fingerprint == whole.fingerprint
    assert tree.parameters == whole.parameters


def inputs(kind, seed):
    """X, the metric, and all distances, of vectors or of given distances."""
    X = islands(seed)
    if kind in ("euclidean", "sqeuclidean", "cityblock", "cosine"):
        return X, kind, pdist(X, kind)
    condensed = pdist(X, "cityblock")
    given = {
        "condensed": condensed,
        "square": squareform(condensed),
        "columns": np.asfortranarray(squareform(condensed)),
    }
    given["float32"] = given["square"].astype(np.float32)
    return given[kind], "precomputed", condensed


KINDS = ("euclidean", "sqeuclidean", "cityblock", "cosine", "condensed", "square", "columns", "float32")


@pytest.mark.parametrize("options", [{}, {"alpha": 0.0}, {"max_level": 2}, {"alpha": 0.0, "max_level": 30}], ids=str)
@pytest.mark.parametrize("criterion", BY_PAIRS)
@pytest.mark.parametrize("kind", KINDS)
def test_components_give_the_tree_of_the_whole_bit_for_bit(kind, criterion, options):
    X, metric, distances = inputs(kind, 1)
    sums_round = kind in ("euclidean", "cosine") and criterion in ("average", "weighted")  # no whole numbers
    caps = [0.0, *np.quantile(distances, [0.03, 0.08]), np.nextafter(np.sort(distances)[300], 0.0)]
    used = 0
    for cap in map(float, caps):
        tree = reliac.cluster(X, criterion, metric=metric, max_distance=cap, **options)
        for engine in ("small",) if sums_round else ("small", "literal"):
            whole = reliac.cluster(X, criterion, metric=metric, max_distance=cap, engine=engine, **options)
            assert_same(tree, whole)
        used += apart(tree)
    assert used == len(caps)


@pytest.mark.parametrize("criterion", BY_PAIRS)
def test_weights_and_parts_that_are_run_by_themselves_change_nothing(criterion, monkeypatch):
    monkeypatch.setattr("reliac.run.groups.SIDE_BY_SIDE", 6)
    weights = np.arange(90) % 3 + 1
    for seed, jobs in ((2, 1), (3, 2), (4, 3)):
        X = islands(seed)
        options = {"metric": "cityblock", "max_distance": 4.0, "weights": weights, "n_jobs": jobs}
        tree = reliac.cluster(X, criterion, **options)
        assert apart(tree)
        assert_same(tree, reliac.cluster(X, criterion, engine="literal", **options))


@pytest.mark.parametrize("criterion", BY_PAIRS)
def test_a_pair_exactly_at_the_limit_is_joined_and_one_above_it_is_not(criterion):
    X = np.repeat(100.0 * np.arange(30), 2)[:, None] * [1.0, 0.0]
    X[1::2] += [1.0, 1.0]  # pairs at the root of 2, which rounds
    for cap, clusters in ((np.sqrt(2.0), 30), (np.nextafter(np.sqrt(2.0), 0.0), 60)):
        tree = reliac.cluster(X, criterion, max_distance=float(cap))
        assert apart(tree)
        assert tree.n_clusters == clusters
        assert_same(tree, reliac.cluster(X, criterion, max_distance=float(cap), engine="literal"))


@pytest.mark.parametrize("criterion", ["average", "weighted"])
def test_means_that_round_down_to_the_limit_are_joined_as_they_are_in_the_whole(criterion):
    cap, rng = 0.1, np.random.default_rng(0)
    for above in (1, 2, 4):
        beyond = cap + above * np.spacing(cap)
        D = np.where(rng.random((40, 40)) < 0.5, beyond, cap)  # all are so near to the limit that sums may reach it
        D[:20, 20:] = beyond
        D = np.triu(D, 1) + np.triu(D, 1).T
        D = np.block([[D, np.full_like(D, 9.0)], [np.full_like(D, 9.0), D]])
        D = np.block([[D, np.full_like(D, 9.0)], [np.full_like(D, 9.0), D]])
        tree = reliac.cluster(D, criterion, metric="precomputed", max_distance=cap)
        assert apart(tree)
        assert_same(tree, reliac.cluster(D, criterion, metric="precomputed", max_distance=cap, engine="small"))


def test_a_distance_that_float32_rounds_down_to_the_limit_is_joined():
    X = np.c_[np.repeat(100.0 * np.arange(20), 2), np.zeros(40)]
    X[1::2, 1] = 0.7  # a little more than in float32
    options = {"metric": "cityblock", "precision": "float32", "max_distance": float(np.float32(0.7))}
    assert options["max_distance"] < 0.7
    assert_same(reliac.cluster(X, "complete", **options), reliac.cluster(X, "complete", engine="literal", **options))


def test_components_are_those_of_the_graph_of_short_pairs():
    for seed in range(4):
        X = islands(seed)
        for metric in ("euclidean", "cityblock"):
            found = find_components(make_problem(X, "complete", metric=metric, max_distance=3.0), None)
            near = csr_array(squareform(pdist(X, metric) <= 3.0))
            expected = connected_components(near)[1]
            assert sorted(map(tuple, found)) == sorted(
                tuple(np.flatnonzero(expected == label)) for label in range(expected.max() + 1)
            )


@pytest.mark.parametrize("criterion", CRITERIA)
def test_only_criteria_that_stay_between_the_pairs_of_two_clusters_are_justified(criterion):
    X = np.random.default_rng(3).normal(size=(40, 5))
    squares = squareform(pdist(X, "sqeuclidean"))
    tree, below = reliac.cluster(X, criterion, metric="sqeuclidean"), False
    nodes = [np.array([i]) for i in range(len(X))]
    for left, right, distance in tree.links[["left", "right", "distance"]].tolist():
        below |= distance < squares[np.ix_(nodes[left], nodes[right])].min() * (1 - 1e-12)
        nodes.append(np.r_[nodes[left], nodes[right]])
    assert below == (criterion in GEOMETRIC) == (not get_criterion(criterion).between_pairs)


def sum_of_differences(a, b):
    return float(np.abs(a - b).sum())


@pytest.mark.parametrize(
    "options",
    [
        *({"criterion": name} for name in GEOMETRIC),
        {"alpha": 0.5},
        {"tie_tolerance": 0.1},
        {"max_size": 5},
        {"must_link": [(0, 1)]},
        {"engine": "small"},
        {"metric": "seuclidean"},
        {"metric": sum_of_differences},
        {"max_distance": 1e9},
        {"max_distance": None},
    ],
    ids=lambda options: ", ".join(f"{name} {getattr(value, '__name__', value)}" for name, value in options.items()),
)
def test_what_components_are_not_right_for_or_would_not_help_is_solved_as_a_whole(options, tmp_path):
    options = {"criterion": "complete", "max_distance": 3.0} | options
    X = islands(5)
    tree = reliac.cluster(X, **options)
    assert not apart(tree)
    assert np.array_equal(tree.links, reliac.cluster(X, **{**options, "engine": "literal"}).links)


def test_a_checkpoint_and_sparse_rows_are_solved_as_a_whole(tmp_path):
    X = islands(6)
    assert not apart(reliac.cluster(X, "complete", max_distance=3.0, checkpoint=tmp_path / "levels"))
    assert not apart(reliac.cluster(csr_array(X), "complete", max_distance=3.0))


def test_averages_that_need_no_matrix_are_solved_as_a_whole(monkeypatch):
    monkeypatch.setattr("reliac.engines.choice.NOT_WORTH_LOADING", 10)
    monkeypatch.setattr("reliac.engines.dense.engine.MOST", 10)
    X = islands(6)
    assert not apart(reliac.cluster(X, "average", metric="sqeuclidean", max_distance=3.0))
    assert apart(reliac.cluster(X, "average", metric="cityblock", max_distance=3.0))


def test_rows_that_a_metric_cannot_compare_are_refused_as_without_a_limit():
    X = islands(7) * (np.arange(90) % 30 != 0)[:, None]
    with pytest.raises(ValueError, match="rows 0 and 30"):
        reliac.cluster(X, "complete", metric="braycurtis", max_distance=0.01)


def test_what_does_not_fit_as_a_whole_fits_in_components(monkeypatch):
    X = np.concatenate([islands(8, n=180) + 1000.0 * k for k in range(3)])
    for module in ("reliac.engines.choice", "reliac.engines.components", "reliac.run.groups"):
        monkeypatch.setattr(f"{module}.free_memory", lambda: 24 * 100**2 + 10**5)
    monkeypatch.setattr("reliac.engines.choice.LITTLE", 0)
    for given, metric in ((X, "cityblock"), (X, "euclidean"), (pdist(X), "precomputed")):
        with pytest.raises(reliac.errors.DoesNotFit):
            reliac.cluster(given, "complete", metric=metric)
        tree = reliac.cluster(given, "complete", metric=metric, max_distance=3.0)
        assert apart(tree)
    with pytest.raises(reliac.errors.DoesNotFit):  # nor do components that are too large
        reliac.cluster(X, "complete", metric="cityblock", max_distance=150.0)


def test_progress_is_told_after_some_components_and_ends_with_the_clusters_of_the_tree(monkeypatch):
    monkeypatch.setattr("reliac.run.groups.AT_A_TIME", 1)
    monkeypatch.setattr("reliac.run.groups.SIDE_BY_SIDE", 3)
    told = []
    tree = reliac.cluster(islands(9), "complete", max_distance=3.0, progress=told.append)
    assert apart(tree)
    assert len(told) > 3
    assert all(a.n_clusters >= b.n_clusters and a.level <= b.level and a.share <= b.share for a, b in pairwise(told))
    assert (told[-1].n_clusters, told[-1].level) == (tree.n_clusters, tree.n_levels)


def test_a_run_that_is_stopped_between_components_has_no_complete_level():
    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(reliac.Interrupted) as caught:
        reliac.cluster(islands(9), "complete", max_distance=3.0, progress=stop)
    assert caught.value.tree.n_levels == 0


def test_a_tree_of_components_prints_how_it_was_made_and_can_be_developed():
    X = islands(10)
    tree = reliac.cluster(X, "average", metric="cityblock", max_distance=3.0)
    assert apart(tree)
    assert "components under max_distance" in str(tree)
    assert np.array_equal(
        tree.develop(max_distance=9.0).links,
        reliac.cluster(X, "average", metric="cityblock", max_distance=3.0, engine="literal")
        .develop(max_distance=9.0)
        .links,
    )


def test_blobs_that_fall_apart_at_their_own_scales_have_the_tree_of_the_whole():
    X = blobs(1, n=400)
    for criterion in BY_PAIRS:
        for cap in (0.05, 0.3, 1.5):
            tree = reliac.cluster(X, criterion, max_distance=cap)
            assert_same(tree, reliac.cluster(X, criterion, max_distance=cap, engine="small"))
