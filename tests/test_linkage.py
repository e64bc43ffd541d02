"""linkage(): the standard strategy, row for row what SciPy gives on tie-free data, and valid under ties."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform
from sklearn import datasets

import reliac
from oracle import oracle
from problems import CRITERIA, REDUCIBLE, blobs, lattice


@pytest.mark.parametrize("method", CRITERIA)
@pytest.mark.parametrize("seed", range(3))
def test_vectors_give_scipys_matrix_row_for_row(method, seed):
    X = blobs(seed, n=100)
    ours, theirs = reliac.linkage(X, method), hierarchy.linkage(X, method)
    assert np.array_equal(ours[:, [0, 1, 3]], theirs[:, [0, 1, 3]])
    np.testing.assert_allclose(ours[:, 2], theirs[:, 2], rtol=1e-9)


@pytest.mark.parametrize("method", CRITERIA)
def test_condensed_distances_give_scipys_matrix_row_for_row(method):
    y = pdist(blobs(3, n=80))
    ours, theirs = reliac.linkage(y, method), hierarchy.linkage(y, method)
    assert np.array_equal(ours[:, [0, 1, 3]], theirs[:, [0, 1, 3]])
    np.testing.assert_allclose(ours[:, 2], theirs[:, 2], rtol=1e-9)


def rows_of(name):
    """A data set that ships with scikit-learn."""
    return getattr(datasets, f"load_{name}")().data


@pytest.mark.parametrize("method", CRITERIA)
@pytest.mark.parametrize("name", ["wine", "breast_cancer", "diabetes", "linnerud"])
def test_public_sets_without_ties_give_scipys_matrix_row_for_row(name, method):
    X = rows_of(name)
    ours, theirs = reliac.linkage(X, method), hierarchy.linkage(X, method)
    assert np.array_equal(ours[:, [0, 1, 3]], theirs[:, [0, 1, 3]])
    np.testing.assert_allclose(ours[:, 2], theirs[:, 2], rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *itertools.product(["wine", "breast_cancer", "diabetes", "linnerud"], REDUCIBLE),
        *itertools.product(["iris", "digits"], ["average", "ward"]),  # ties, but none that these cuts depend on
    ],
)
def test_cuts_of_public_sets_are_scipys(name, method):
    X = rows_of(name)
    tree, theirs = reliac.cluster(X, method), hierarchy.linkage(X, method)
    for n_clusters in range(2, min(21, len(X))):
        pairs = zip(tree.labels(n_clusters), hierarchy.fcluster(theirs, n_clusters, "maxclust"), strict=True)
        assert len(set(pairs)) == n_clusters


@pytest.mark.parametrize("method", ["complete", "average"])
@pytest.mark.parametrize("metric", ["cityblock", "cosine"])
def test_other_metrics_give_scipys_matrix(method, metric):
    X = blobs(3, n=80)
    np.testing.assert_allclose(reliac.linkage(X, method, metric), hierarchy.linkage(X, method, metric), rtol=1e-9)


def test_the_arguments_are_those_of_scipy_and_fastcluster():
    X = blobs(1, n=30)
    assert np.array_equal(reliac.linkage(X), reliac.linkage(y=X, method="single", metric="euclidean"))
    assert np.array_equal(reliac.linkage(X, preserve_input=False), reliac.linkage(X))
    assert np.array_equal(reliac.linkage(X, "single", "euclidean", True), reliac.linkage(X, optimal_ordering=True))
    assert reliac.linkage(X.tolist(), "ward").shape == (29, 4)


@pytest.mark.parametrize("method", CRITERIA)
def test_under_ties_the_matrix_is_that_of_the_standard_strategy(method):
    X = lattice(2, n=20)
    ours = reliac.linkage(X, method, "sqeuclidean")
    assert hierarchy.is_valid_linkage(ours, throw=True)
    wanted = sorted(float(distance) for level in oracle(method, X, alpha=0.0) for _, distance in level)
    np.testing.assert_allclose(np.sort(ours[:, 2]), wanted, rtol=1e-12)


def test_complete_linkage_under_ties_still_bounds_the_diameter():
    X = lattice(2, n=40)
    D = squareform(pdist(X))
    Z = reliac.linkage(X, "complete")
    for height in np.unique(Z[:, 2]):
        labels = hierarchy.fcluster(Z, height, "distance")
        assert all(D[np.ix_(labels == k, labels == k)].max() <= height for k in np.unique(labels))


def test_a_square_matrix_is_not_mistaken_for_vectors():
    with pytest.raises(ValueError, match="looks like a distance matrix"):
        reliac.linkage(squareform(pdist(blobs(1, n=10))))


def length(Z, distances):
    leaves = hierarchy.leaves_list(Z)
    return squareform(distances)[leaves[1:], leaves[:-1]].sum()


@pytest.mark.parametrize("method", CRITERIA)
def test_the_optimal_ordering_is_never_longer_than_scipys_and_turns_nothing_but_clusters(method):
    shorter = 0
    for seed, n in enumerate([2, 3, 4, 7, 12, 30, 60]):
        X = blobs(seed, n=n) + np.random.default_rng(seed).normal(size=(n, 1))
        distances = pdist(X)
        ours, plain = reliac.linkage(X, method, optimal_ordering=True), reliac.linkage(X, method)
        assert hierarchy.is_valid_linkage(ours, throw=True)
        assert np.array_equal(np.sort(ours[:, :2], axis=1), np.sort(plain[:, :2], axis=1))
        assert np.array_equal(ours[:, 2:], plain[:, 2:])
        leaves = hierarchy.leaves_list(ours).tolist()
        assert leaves.index(0) <= leaves.index(n - 1)
        theirs = length(hierarchy.optimal_leaf_ordering(plain, distances), distances)
        assert length(ours, distances) <= theirs * (1 + 1e-12)
        shorter += length(ours, distances) < theirs * (1 - 1e-9)
        assert length(ours, distances) <= min(length(some, distances) for some in turns(plain)) * (1 + 1e-12) or n > 7
    assert shorter  # scipy/scipy issue 11227


def turns(Z):
    """All linkage matrices of the same tree, with parts in either order."""
    for which in itertools.product((False, True), repeat=len(Z) if len(Z) < 7 else 0):
        turned = Z.copy()
        turned[: len(which)][list(which), :2] = Z[: len(which)][list(which), 1::-1]
        yield turned


def test_optimal_ordering_works_for_sparse_rows_frames_and_functions():
    X = np.round(blobs(3, n=25), 3)

    def steps(a, b):
        return abs(a - b).sum()

    for data, metric, known in (
        (sparse.csr_array(X), "euclidean", "euclidean"),
        (pd.DataFrame(X), "l1", "cityblock"),
        (X, steps, "cityblock"),
    ):
        wanted = reliac.linkage(pdist(X, known), "average", optimal_ordering=True)
        np.testing.assert_allclose(reliac.linkage(data, "average", metric, optimal_ordering=True), wanted, rtol=1e-9)


# --- the other names that SciPy and fastcluster have ---


@pytest.mark.parametrize("method", CRITERIA)
def test_every_criterion_is_a_function_as_in_scipy_and_fastcluster(method):
    X = blobs(5, n=40)
    for data in (X, pdist(X)):
        np.testing.assert_allclose(getattr(reliac, method)(data), getattr(hierarchy, method)(data), rtol=1e-9)


@pytest.mark.parametrize("method", ["single", "ward", "centroid", "median"])
def test_linkage_vector_takes_the_arguments_of_fastcluster_and_gives_the_matrix_of_the_vectors(method):
    X = blobs(6, n=40)
    np.testing.assert_allclose(reliac.linkage_vector(X, method), hierarchy.linkage(X, method), rtol=1e-9)
    given = reliac.linkage_vector(X.tolist(), method=method, metric="euclidean", extraarg=None)
    np.testing.assert_array_equal(given, reliac.linkage_vector(X, method))


def test_linkage_vector_of_single_takes_other_metrics():
    X = blobs(6, n=40)
    theirs = hierarchy.linkage(X, "single", "cityblock")
    np.testing.assert_allclose(reliac.linkage_vector(X, "single", "cityblock"), theirs, rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.0], [1.0]], "average"), "method='average' of vectors alone.*Allowed: single, ward, .*Next: use reliac"),
        (([1.0, 2.0, 3.0],), "condensed matrix.*Allowed: vectors.*Next: use reliac.linkage"),
        (([[0.0], [1.0]], "single", "minkowski", 3), "extraarg.*Allowed: extraarg=None.*Next: pass the metric"),
    ],
)
def test_what_linkage_vector_cannot_do_is_refused_in_three_parts(arguments, message):
    with pytest.raises(ValueError, match=message):
        reliac.linkage_vector(*arguments)


# --- other names of criteria and options ---


@pytest.mark.parametrize(
    ("alias", "name"), [("upgma", "average"), ("WPGMA", "weighted"), ("upgmc", "centroid"), ("wpgmc", "median")]
)
def test_the_names_of_biology_mean_the_same_criteria(alias, name):
    X = blobs(7, n=30)
    tree = reliac.cluster(X, alias)
    assert tree.parameters["criterion"] == name
    np.testing.assert_array_equal(tree.links, reliac.cluster(X, name).links)
    np.testing.assert_array_equal(reliac.linkage(X, alias), reliac.linkage(X, name))
    known = alias.lower()
    with pytest.raises(ValueError, match=rf"^Unknown criterion '{known}a'\. Allowed: .*{known}.*mean .*'{known}'"):
        reliac.cluster(X, f"{known}a")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "average"}, r"cluster\(\) got method.*Allowed: the name 'criterion'.*write criterion='average'"),
        ({"linkage": "ward"}, r"cluster\(\) got linkage.*Next: write criterion='ward'"),
        ({"affinity": "cosine"}, "write metric='cosine'"),
        ({"distance_threshold": 2.0}, "write max_distance=2.0"),
        ({"sample_weight": [1.0, 1.0]}, "write weights="),
        ({"n_cluster": 2}, r"Unknown option of cluster\(\) 'n_cluster'.*did you mean 'n_clusters'"),
    ],
)
def test_the_options_of_other_libraries_are_answered_with_ours(options, message):
    with pytest.raises(TypeError, match=message):
        reliac.cluster([[0.0], [1.0]], **options)


LIKE_SCIPY = ("linkage", "linkage_vector", "single", "complete", "average", "weighted", "centroid", "median", "ward")


@pytest.mark.parametrize("function", LIKE_SCIPY)
def test_graphs_and_forests_are_refused_and_it_is_said_what_to_use(function):
    networkx = pytest.importorskip("networkx")
    graph = networkx.path_graph(4)
    networkx.set_edge_attributes(graph, 1.0, "distance")
    chain = sparse.diags_array([[1.0, 2.0, 3.0]] * 2, offsets=(1, -1)).tocsr()
    forest = reliac.cluster_edges(([0, 2], [1, 3], [1.0, 2.0]), "single")
    for given in (graph, chain, forest.problem.objects):
        with pytest.raises(TypeError, match=r"some pairs only.*Allowed: .*Next: use reliac.cluster_edges"):
            getattr(reliac, function)(given)
    with pytest.raises(TypeError, match=r"ClusterTree.*Allowed: .*Next: use tree.linkage_matrix"):
        getattr(reliac, function)(forest)


def test_sparse_distances_are_taken_where_they_list_every_pair():
    square = squareform(pdist(blobs(1, n=12)))
    expected = reliac.linkage(squareform(square), "average")
    assert np.array_equal(reliac.linkage(sparse.csr_array(square), "average", "precomputed"), expected)
    with pytest.raises(TypeError, match=r"some pairs only.*reliac.cluster_edges"):
        reliac.linkage(sparse.csr_array(np.triu(square)), "average", "precomputed")
    edges = reliac.cluster_edges(([0, 2], [1, 3], [1.0, 2.0]), "single", join_components=True)
    assert edges.linkage_matrix().tolist() == [[0, 1, 1, 2], [2, 3, 2, 2], [4, 5, 2, 4]]
    with pytest.raises(ValueError, match=r"forest of 2 trees.*Allowed: .*Next: .*join_components=True"):
        reliac.cluster_edges(([0, 2], [1, 3], [1.0, 2.0]), "single").linkage_matrix()
