"""Small inputs without ties get their matrix at once, by C code of ours or SciPy's; ties go to an engine."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

import reliac
from problems import CRITERIA, lattice, tie_free
from reliac.algorithm.criteria import get_criterion
from reliac.input.problem import make_problem
from reliac.native.library import library
from reliac.run import standard
from reliac.run.solve import cluster_problem
from reliac.run.standard import distances_tie, linkage_of_array, may_tie, small_linkage


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


IN_C = pytest.mark.skipif(library() is None, reason="the package was built without a C compiler")


@IN_C
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n", [3, 4, 16, 17, 60, 150])
def test_a_plain_array_is_done_in_one_call_and_has_the_matrix_of_its_problem_bit_for_bit(criterion, n):
    row = get_criterion(criterion)
    for X in (np.random.default_rng(n).normal(size=(n, 5)), lattice(n, n, d=2, side=30).astype(float)):
        for data, metric in ((X, "euclidean"), (pdist(X), "precomputed")):
            found, expected = (
                linkage_of_array(data, row, metric),
                small_linkage(make_problem(data, criterion, metric=metric)),
            )
            assert (found is None) == (expected is None)  # ties of single
            assert found is None or np.array_equal(found, expected)


@IN_C
@pytest.mark.parametrize("criterion", CRITERIA)
def test_one_call_in_c_has_the_links_of_one_link_at_a_time(criterion):
    """Against trees, which are built by other code: nodes, their order and their heights."""
    for seed in range(8):
        X = np.random.default_rng(seed).integers(0, 40, size=(30, 3)).astype(float)
        for data, metric in ((X, "euclidean"), (pdist(X), "precomputed")):
            tree = reliac.cluster(data, criterion, metric=metric, alpha=0.0, engine="literal")
            order = "distance" if get_criterion(criterion).reducible else "level"
            found = linkage_of_array(data, get_criterion(criterion), metric)
            expected = tree.linkage_matrix(order)
            assert found is None or np.allclose(found, expected, rtol=1e-12, atol=0.0)
        assert found is not None or criterion == "single"


@IN_C
@pytest.mark.parametrize(
    "data",
    [
        pdist(np.eye(4)).astype(np.float32),
        pdist(np.eye(4)).astype(">f8"),
        np.repeat(pdist(np.eye(4)), 2)[::2],
        pdist(np.eye(4)).tolist(),
        np.full(6, np.nan),
        np.full(6, np.inf),
        -np.ones(6),
        np.full(6, 1e91),
        np.ones(5),
        np.ones(1),
        np.ones((2, 2)),
        np.ones((4, 0)),
        np.zeros((5, 5)),
        np.ones((2, 3, 4)),
        np.ma.masked_array(np.ones(6)),
        np.ones((2000, 2)),
    ],
    ids=range(16),
)
def test_what_is_not_plain_is_left_to_who_can_complain(data):
    assert linkage_of_array(data, get_criterion("average"), "euclidean") is None


@IN_C
def test_other_metrics_and_tables_of_edges_are_no_plain_arrays():
    X = np.random.default_rng(0).normal(size=(9, 2))
    assert linkage_of_array(X, get_criterion("average"), "cityblock") is None
    i, j = np.triu_indices(6, 1)
    with pytest.raises(ValueError, match="looks like a table of edges"):
        reliac.linkage(np.column_stack((i, j, np.arange(15) + 0.5)), "average")


def test_the_warning_about_distances_that_no_points_have_names_the_line_of_the_caller():
    distances = 1.0 + np.random.default_rng(0).random(4950) ** 8 * 30.0
    for call in (lambda: reliac.linkage(distances, "ward"), lambda: reliac.linkage(distances.tolist(), "ward")):
        with pytest.warns(reliac.NotEuclideanWarning) as caught:
            call()
        assert [warning.filename for warning in caught] == [__file__]
