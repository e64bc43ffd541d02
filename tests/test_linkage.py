"""linkage(): the standard strategy, row for row what SciPy gives on tie-free data, and valid under ties."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform

import reliac
from oracle import oracle
from problems import CRITERIA, blobs, lattice


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


@pytest.mark.parametrize("method", ["complete", "average"])
@pytest.mark.parametrize("metric", ["cityblock", "cosine"])
def test_other_metrics_give_scipys_matrix(method, metric):
    X = blobs(3, n=80)
    np.testing.assert_allclose(reliac.linkage(X, method, metric), hierarchy.linkage(X, method, metric), rtol=1e-9)


def test_the_arguments_are_those_of_scipy_and_fastcluster():
    X = blobs(1, n=30)
    assert np.array_equal(reliac.linkage(X), reliac.linkage(y=X, method="single", metric="euclidean"))
    assert np.array_equal(reliac.linkage(X, preserve_input=False), reliac.linkage(X))
    np.testing.assert_allclose(
        reliac.linkage(X, "average", optimal_ordering=True), hierarchy.linkage(X, "average", optimal_ordering=True)
    )
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


def test_optimal_ordering_works_for_sparse_rows_frames_and_functions():
    X = np.round(blobs(3, n=25), 3)

    def steps(a, b):
        return abs(a - b).sum()

    for data, metric, known in (
        (sparse.csr_array(X), "euclidean", "euclidean"),
        (pd.DataFrame(X), "l1", "cityblock"),
        (X, steps, "cityblock"),
    ):
        wanted = hierarchy.linkage(X, "average", known, optimal_ordering=True)
        np.testing.assert_allclose(reliac.linkage(data, "average", metric, optimal_ordering=True), wanted, rtol=1e-9)
