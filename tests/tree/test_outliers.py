"""Outlier scores by level and by distance, of the first join and of larger clusters, and partners, by definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import reliac
from problems import CRITERIA, blobs, lattice
from reliac.tree.outliers import join_sizes, read_score


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("size", [2, 3, 5, 10, 20])
def test_the_level_of_m_is_the_first_at_which_the_objects_cluster_holds_m_objects(criterion, size):
    for X in (blobs(4, n=80), lattice(4, n=80)):
        for stop in ({}, {"n_clusters": 15}):
            tree = reliac.cluster(X, criterion, **stop)
            scores = tree.outlier_scores(f"level of {size}")
            for level in range(tree.n_levels):  # objects that never come so far share the score of the last level
                labels = tree.labels(level=level)
                assert ((np.bincount(labels)[labels] >= size) == (scores <= level / tree.n_levels)).all()
    np.testing.assert_array_equal(tree.outlier_scores("level of 2"), tree.outlier_scores())
    np.testing.assert_array_equal(tree.outlier_scores("level-of-3"), tree.outlier_scores("level of 3"))


@pytest.mark.parametrize("criterion", ["single", "complete", "average", "weighted", "ward"])
@pytest.mark.parametrize("size", [2, 3, 5, 10, 20])
def test_the_distance_of_m_is_the_smallest_at_which_the_objects_cluster_holds_m_objects(criterion, size):
    for X in (blobs(4, n=80), lattice(4, n=80)):
        tree = reliac.cluster(X, criterion)
        largest = tree.links["distance"].max()
        scores = tree.outlier_scores(f"distance of {size}")
        for distance in np.unique(tree.links["distance"]):
            labels = tree.labels(distance=distance)
            assert ((np.bincount(labels)[labels] >= size) == (scores <= distance / largest)).all()
    np.testing.assert_array_equal(tree.outlier_scores("distance"), tree.join_distances / largest)


def test_m_is_at_most_a_quarter_of_the_objects_and_who_never_comes_so_far_scores_1():
    X = [[0.0], [1.0], [5.0], [6.5], [60.0], [60.5]]
    tree = reliac.cluster(X, "single", metric="euclidean")
    for scale in ("level", "distance"):
        np.testing.assert_array_equal(tree.outlier_scores(f"{scale} of 99"), tree.outlier_scores(f"{scale} of 3"))
    sizes = {n: read_score("distance of 99").of_tree(n).size for n in (1, 5, 6, 15, 16, 60, 80, 1000)}
    assert sizes == {1: 2, 5: 2, 6: 3, 15: 3, 16: 4, 60: 15, 80: 20, 1000: 99}
    stopped = reliac.cluster(X, "single", metric="euclidean", max_level=2)
    assert stopped.outlier_scores("distance of 3").tolist() == [1.0] * 6
    assert stopped.outlier_scores("distance").max() == 1.5 / 4.0
    alone = reliac.cluster([[1.0]])
    assert alone.outlier_scores("distance of 10").tolist() == alone.outlier_scores("distance").tolist() == [1.0]
    assert (alone.join_distances.tolist(), alone.join_partners.tolist()) == ([np.inf], [-1])


@pytest.mark.parametrize("criterion", ["average", "single"])
def test_objects_far_from_everybody_have_the_highest_distances_even_if_they_join_at_the_first_level(criterion):
    rng = np.random.default_rng(7)
    relatives = rng.integers(0, 2, size=(1, 3000)) ^ (rng.random((300, 3000)) < 0.004)  # about 24 apart
    strangers = np.arange(0, 300, 60)
    shared = rng.random(3000) < 0.14
    for stranger in strangers:  # about 700 from everybody, 500 from each other
        relatives[stranger] ^= shared ^ (rng.random(3000) < 0.1)
    tree = reliac.cluster(relatives.astype(float), criterion, metric="cityblock")
    assert min(tree.join_levels[strangers]) == 1
    for by in ("distance", "distance of 10"):
        assert set(np.argsort(-tree.outlier_scores(by))[:5].tolist()) == set(strangers.tolist())


@pytest.mark.parametrize("by", ["size", "level of 1", "level of", "Level", "level of ten", 10, None])
def test_an_unknown_score_is_refused(by):
    with pytest.raises(ValueError, match=r"by=.*Allowed: 'level', 'distance', 'level of m'.*Next: write by="):
        reliac.cluster([[0.0], [1.0]]).outlier_scores(by)


@pytest.mark.parametrize("alpha", [1.0, 0.5, 0.0])
def test_partners_of_the_single_criterion_are_nearest_neighbours_at_the_distance_of_the_join(alpha):
    for X in (blobs(4, n=80), lattice(4, n=80)):
        tree = reliac.cluster(X, "single", alpha=alpha)
        apart = cdist(X, X)
        np.testing.assert_allclose(apart[np.arange(80), tree.join_partners], tree.join_distances)
        assert (tree.join_partners != np.arange(80)).all()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_partners_are_in_the_cluster_that_an_object_joins(criterion):
    for X in (blobs(4, n=80), lattice(4, n=80)):
        tree = reliac.cluster(X, criterion)
        for row, (partner, level, size) in enumerate(
            zip(tree.join_partners, tree.join_levels, join_sizes(tree), strict=True)
        ):
            before, after = tree.labels(level=level - 1), tree.labels(level=level)
            assert before[row] != before[partner]
            assert after[row] == after[partner]
            assert (after == after[row]).sum() == size
