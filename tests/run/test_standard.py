"""Small inputs without ties get their matrix at once, by C code of ours or SciPy's; ties go to an engine."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

import reliac
from problems import CRITERIA, lattice, tie_free
from reliac.input.problem import make_problem
from reliac.run import standard
from reliac.run.solve import cluster_problem
from reliac.run.standard import distances_tie, may_tie, small_linkage


@pytest.fixture(params=["C", "SciPy"])
def by(request, monkeypatch):
    """By our C code, or without it by SciPy's."""
    if request.param == "SciPy":
        monkeypatch.setattr(standard, "library", lambda: None)
    elif standard.library() is None:
        pytest.skip("the package was built without a C compiler")
    return request.param


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", range(3))
def test_without_ties_the_matrix_is_that_of_the_engines_row_for_row(criterion, seed, by):
    X = tie_free(seed)
    for data, metric in ((X, "euclidean"), (pdist(X), "precomputed")):
        problem = make_problem(data, criterion, metric=metric, alpha=0.0)
        quick = small_linkage(problem)
        assert quick is not None
        slow = cluster_problem(problem).linkage_matrix("distance" if problem.criterion.reducible else "level")
        assert np.array_equal(quick[:, [0, 1, 3]], slow[:, [0, 1, 3]])
        assert np.allclose(quick[:, 2], slow[:, 2], rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_ties_are_settled_by_index_or_go_to_an_engine(criterion, by):
    problem = make_problem(lattice(0), criterion, metric="sqeuclidean", alpha=0.0)
    matrix = small_linkage(problem)
    if by == "SciPy" or criterion == "single":
        assert matrix is None
    else:
        expected = cluster_problem(problem, "literal")
        order = "distance" if problem.criterion.reducible else "level"
        np.testing.assert_array_equal(matrix, expected.linkage_matrix(order))


def test_sums_of_whole_numbers_may_tie_where_no_two_of_them_are_equal():
    distances = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert distances_tie(distances, summed=True, geometric=False)
    assert distances_tie(np.sqrt(distances), summed=True, geometric=True)
    assert not distances_tie(distances, summed=False, geometric=False)
    assert not distances_tie(distances + 0.3, summed=True, geometric=False)


def test_squared_distances_of_points_are_not_a_case_for_scipy(by):
    problem = make_problem(tie_free(0), "ward", metric="sqeuclidean")
    assert (small_linkage(problem) is None) == (by == "SciPy")
    assert small_linkage(make_problem(tie_free(0), "average", metric="sqeuclidean")) is not None


def test_the_public_function_agrees_with_scipy_on_vectors_and_distances(by):
    X = np.random.default_rng(0).normal(size=(200, 4))
    for criterion in CRITERIA:
        assert np.allclose(reliac.linkage(X, criterion), linkage(X, criterion))
        assert np.allclose(reliac.linkage(pdist(X), criterion), linkage(pdist(X), criterion))


@pytest.mark.parametrize("criterion", ["complete", "average", "weighted", "ward"])
def test_a_tie_that_joins_no_three_clusters_is_settled_by_index(criterion, by):
    """Object 2 is at 8 from 4 and 5. At first 4 has 3 nearer, so 2 and 5 are reliable; one link later 4 has not."""
    tied = np.array([15.0, 27, 3, 27, 8, 18, 18, 19, 24, 10, 8, 8, 7, 19, 24])
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", reliac.NotEuclideanWarning)
        for given in [tied, *(rng.integers(1, 30, n * (n - 1) // 2).astype(float) for n in [5, 8, 11, 14] * 10)]:
            expected = reliac.cluster(given, criterion, metric="precomputed", alpha=0.0, engine="literal")
            np.testing.assert_array_equal(reliac.linkage(given, criterion), expected.linkage_matrix("distance"))


def test_of_many_objects_rounded_numbers_may_tie_and_others_do_not():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1600, 3))
    assert not may_tie(make_problem(X, "average"))
    assert may_tie(make_problem(np.round(X), "average"))
    assert not may_tie(make_problem(pdist(X), "average", metric="precomputed"))
    assert not may_tie(make_problem(pdist(X).astype(np.float32), "average", metric="precomputed"))
    assert may_tie(make_problem(np.round(pdist(X), 2).astype(np.float32), "average", metric="precomputed"))
    assert may_tie(make_problem(np.round(pdist(X), 2), "average", metric="precomputed"))
