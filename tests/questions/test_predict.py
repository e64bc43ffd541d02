"""New rows go to the cluster that they are nearest to by the tree's own criterion: against the literal definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist, squareform

import reliac
from oracle import DISTANCE, components, join, numbers, squared
from problems import CRITERIA, GEOMETRIC, blobs, lattice, tied
from reliac.questions import bymeans

SQUARED = ("single", "complete", *GEOMETRIC)


def literal_clusters(tree, labels, criterion, weight, one):
    """The clusters of a cut, made again level by level: each object with its share."""
    n = tree.n_objects
    clusters = {i: {i: one} for i in range(n)}
    node = {i: i for i in range(n)}  # of every node the cluster that holds it
    members = {i: [i] for i in range(n)}
    for level in range(1, tree.n_levels + 1):
        rows = np.flatnonzero(tree.links["level"] == level).tolist()
        links = []
        for row in rows:
            left, right = int(tree.links["left"][row]), int(tree.links["right"][row])
            members[n + row] = members[left] + members[right]
            if len({labels[i] for i in members[n + row]}) == 1:
                links.append((node[left], node[right]))
                node[n + row] = node[left]
        for group in components(links):
            joined = join([clusters.pop(part) for part in sorted(group)], criterion, weight)
            clusters[min(group)] = joined
            node = {key: min(group) if value in group else value for key, value in node.items()}
    return [clusters[i] for i in sorted(clusters)]


def literal(tree, X, new, labels, criterion, weight=None, d=None):
    """For every new row the distances to all clusters, as fractions where all numbers are whole.

    ``d``: a function of two points; without one squared distances.
    """
    both, one = numbers([*X.tolist(), *new.tolist()])
    points, rows = both[: len(X)], both[len(X) :]
    weight = [one] * len(X) if weight is None else [one * int(value) for value in weight]
    clusters = literal_clusters(tree, labels, criterion, weight, one)
    measure, among = DISTANCE[criterion], d or squared
    geometric = criterion in GEOMETRIC  # these compare places and need no distances of the objects
    inside = [] if geometric else [[among(x, y) for y in points] for x in points]
    found = []
    for row in rows:
        place = [*points, row] if geometric else None
        to_row = [] if geometric else [among(x, row) for x in points]
        distances = [*([*line, end] for line, end in zip(inside, to_row, strict=True)), [*to_row, among(row, row)]]
        found.append([measure(place, distances, cluster, {len(X): one}, [*weight, one]) for cluster in clusters])
    return found


def cuts(tree):
    """Some cuts of every kind."""
    counts = {tree.n_clusters, min(3, tree.n_objects), tree.n_objects}
    yield from ({"n_clusters": count} for count in counts if count >= tree.n_clusters)
    yield {"n_clusters": max(tree.n_clusters, 4), "by": "level"}
    yield {"level": tree.n_levels // 2}
    yield {"distance": float(np.median(tree.links["distance"]))}


def height(criterion, metric, value):
    if metric == "sqeuclidean":
        return float(value)
    return math.sqrt((2 if criterion == "ward" else 1) * value)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_new_rows_get_the_label_and_the_distance_of_the_definition_ties_included(criterion):
    for seed in range(10):
        X = tied(seed)[:16]
        rng = np.random.default_rng(seed)
        new = np.vstack((rng.integers(-1, 6, size=(6, X.shape[1])), X[:6])).astype(float)
        weights = rng.integers(1, 4, len(X)) if seed % 2 else None
        metric = "sqeuclidean" if seed % 3 or criterion not in SQUARED else "euclidean"
        tree = reliac.cluster(X, criterion, metric=metric, weights=weights, alpha=(1.0, 0.0)[seed % 4 == 3])
        for cut in cuts(tree):
            expected = literal(tree, X, new, tree.labels(**cut), criterion, weights)
            labels, distances = tree.predict(new, **cut, return_distance=True)
            assert labels.tolist() == [row.index(min(row)) for row in expected], (seed, cut)
            heights = [height(criterion, metric, min(row)) for row in expected]
            np.testing.assert_allclose(distances, heights, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kind", ["float32", "float64", "sparse"])
def test_new_rows_without_ties_follow_the_definition_in_every_form_of_table(criterion, kind):
    X, new = blobs(3, n=40), blobs(4, n=60)
    if kind == "float32":
        X, new = X.astype(np.float32), new.astype(np.float32)
    given = csr_array(X) if kind == "sparse" else X
    tree = reliac.cluster(given, criterion)
    for cut in cuts(tree):
        points = criterion in GEOMETRIC
        expected = np.array(literal(tree, X, new, tree.labels(**cut), criterion, d=None if points else math.dist))
        expected = np.sqrt(expected * (2 if criterion == "ward" else 1)) if points else expected
        for rows in (new, csr_array(new)):
            labels, distances = tree.predict(rows, **cut, return_distance=True)
            np.testing.assert_array_equal(labels, expected.argmin(axis=1))
            np.testing.assert_allclose(distances, expected.min(axis=1), rtol=1e-7)


@pytest.mark.parametrize("metric", ["cosine", "cityblock", "correlation", "seuclidean", "mahalanobis", "jensenshannon"])
@pytest.mark.parametrize("criterion", ["single", "complete", "average", "weighted"])
def test_other_metrics_give_the_distances_of_scipy_and_the_criterion(criterion, metric):
    X, new = np.abs(blobs(1, n=30)), np.abs(blobs(2, n=25))
    tree = reliac.cluster(X, criterion, metric=metric)
    options = {"seuclidean": {"V": X.var(axis=0, ddof=1)}, "mahalanobis": {"VI": np.linalg.inv(np.cov(X.T))}}
    between = cdist(new, X, metric, **options.get(metric, {}))
    for cut in cuts(tree):
        labels = tree.labels(**cut)
        shares = literal_clusters(tree, labels, criterion, [1.0] * 30, 1.0)
        how = {"single": np.min, "complete": np.max}.get(criterion)
        expected = np.column_stack(
            [
                how(between[:, list(part)], axis=1) if how else between[:, list(part)] @ np.array(list(part.values()))
                for part in shares
            ]
        )
        found, distances = tree.predict(new, **cut, return_distance=True)
        np.testing.assert_array_equal(found, expected.argmin(axis=1))
        np.testing.assert_allclose(distances, expected.min(axis=1), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("square", [True, False])
def test_distances_of_new_rows_to_all_objects_give_what_the_rows_give(criterion, square):
    for seed in range(4):
        X, new = lattice(seed, n=18), lattice(seed + 50, n=12)
        by_rows = reliac.cluster(X, criterion)
        matrix = pdist(X)
        tree = reliac.cluster(squareform(matrix) if square else matrix, criterion, metric="precomputed")
        given = cdist(new, X)
        for cut in cuts(by_rows):
            labels, distances = by_rows.predict(new, **cut, return_distance=True)
            found, others = tree.predict(given, **cut, return_distance=True)
            np.testing.assert_allclose(others, distances, rtol=1e-6, atol=1e-6)
            same = np.flatnonzero(found != labels)  # roots of squares may break a tie
            assert len(same) <= len(new) // 2


@pytest.mark.parametrize("criterion", CRITERIA)
def test_many_rows_and_clusters_are_decided_as_in_float64(criterion):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(3000, 12)), rng.normal(size=(5000, 12))
    tree = reliac.cluster(X, criterion)
    labels = tree.labels(2500)
    found, distances = tree.predict(new.astype(np.float32), 2500, return_distance=True)
    again, same = tree.predict(new.astype(np.float32), 2500, return_distance=True, n_jobs=1)
    np.testing.assert_array_equal(found, again)
    np.testing.assert_array_equal(distances, same)
    if criterion in ("ward", "centroid"):
        size = np.bincount(labels)
        means = np.stack([np.bincount(labels, weights=column) for column in X.T], axis=1) / size[:, None]
        expected = cdist(new.astype(np.float32), means)
        expected *= np.sqrt(2 * size / (size + 1)) if criterion == "ward" else 1.0
        np.testing.assert_array_equal(found, expected.argmin(axis=1))
    if criterion == "single":
        np.testing.assert_array_equal(found, labels[cdist(new.astype(np.float32), X).argmin(axis=1)])


@pytest.mark.parametrize("criterion", CRITERIA)
def test_large_and_small_numbers_are_placed_as_others_are(criterion):
    X, new = blobs(5, n=40), blobs(6, n=50)
    expected = reliac.cluster(X, criterion).predict(new, 6)
    for scale in (2.0**200, 2.0**-200):
        np.testing.assert_array_equal(reliac.cluster(X * scale, criterion).predict(new * scale, 6), expected)
    far = reliac.cluster(X + 2.0**20, criterion)
    np.testing.assert_array_equal(far.predict(new + 2.0**20, 6), expected)
    np.testing.assert_array_equal(far.predict(new.astype(np.float32), 6), far.predict(new, 6))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("criterion", ["ward", "centroid", "median"])
def test_compiled_and_plain_code_find_the_same_clusters_in_blocks_of_any_size(criterion, kind, monkeypatch):
    pytest.importorskip("numba")
    for seed, sizes in enumerate([(3, 5), (7, 2), (1, 1), (16, 4), (64, 64)]):
        X, new = lattice(seed, n=40), lattice(seed + 50, n=67)
        if kind is not np.int64 and seed % 2:
            X, new = X + blobs(seed, n=40)[:, : X.shape[1]] / 8, new * 1.1
        X, new = X.astype(kind), new.astype(kind)
        tree = reliac.cluster(X, criterion)
        for count in (1, 2, 9, 40):
            plain = tree.predict(new, count)
            expected = literal(tree, X, new, tree.labels(count), criterion)
            exact = np.array([[float(value) for value in row] for row in expected])
            assert (exact[np.arange(len(new)), plain] <= exact.min(axis=1) * (1 + 1e-12)).all()
            with monkeypatch.context() as patch:
                patch.setattr(bymeans, "BLOCK_ROWS", sizes[0])
                patch.setattr(bymeans, "COLUMNS", sizes[1])
                np.testing.assert_array_equal(tree.predict(new, count), plain)
                patch.setattr(bymeans, "WORTH_LOADING", 0)
                np.testing.assert_array_equal(tree.predict(new, count), plain)
                np.testing.assert_array_equal(tree.predict(np.asfortranarray(new)[::2], count), plain[::2])


@pytest.mark.parametrize(
    ("criterion", "metric"), [("ward", "euclidean"), ("average", "sqeuclidean"), ("average", "cosine")]
)
def test_compiled_code_measures_as_plain_code_does_near_and_far_from_zero(criterion, metric, monkeypatch):
    pytest.importorskip("numba")
    for seed, (kind, far) in enumerate(itertools.product((np.float32, np.float64, np.int64), (0.0, 300.0, 1e6))):
        X, new = ((4 * blobs(seed + k, n=n) + far + k).astype(kind) for k, n in ((0, 50), (1, 83)))
        if metric == "cosine":
            X, new = X + kind(1), new + kind(1)
        tree = reliac.cluster(X, criterion, metric=metric)
        plain, distances = tree.predict(new, 12, return_distance=True)
        with monkeypatch.context() as patch:
            patch.setattr(bymeans, "BLOCK_ROWS", 7)
            patch.setattr(bymeans, "WORTH_LOADING", 0)
            labels, measured = tree.predict(new, 12, return_distance=True)
        np.testing.assert_array_equal(labels, plain)
        np.testing.assert_allclose(measured, distances, rtol=1e-10 if far < 1e6 else 1e-6, atol=1e-12)
        table = [literal_distances(tree, X, row, tree.labels(12), criterion, metric) for row in new]
        np.testing.assert_allclose(measured, np.min(table, axis=1), rtol=1e-6, atol=1e-9)


def literal_distances(tree, X, row, labels, criterion, metric):
    """How far a row is from every cluster, as the tree shows it, in float64 from the members."""
    found = []
    for label in range(labels.max() + 1):
        members = X[labels == label].astype(float)
        if criterion == "average":
            found.append(cdist([row.astype(float)], members, metric).mean())
        else:
            size = len(members)
            found.append(np.sqrt(2 * size / (size + 1)) * np.linalg.norm(row - members.mean(axis=0)))
    return found


def test_rows_that_float32_cannot_tell_apart_are_decided_together_and_as_before(monkeypatch):
    X = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [50.0, 50.0]])
    new = np.tile([[2.0, 0.0], [0.0, 2.0], [2.0, 2.0], [1.0, 0.0], [40.0, 50.0]], (40, 1))
    tree = reliac.cluster(X, "centroid")
    decided, decide = [], bymeans.ByMeans._decide
    monkeypatch.setattr(
        bymeans.ByMeans, "_decide", lambda self, rows, left: decided.append(len(left)) or decide(self, rows, left)
    )
    monkeypatch.setattr(bymeans, "BLOCK_ROWS", 20)
    labels, distances = tree.predict(new, 4, return_distance=True, n_jobs=2)
    assert labels[:5].tolist() == [0, 0, 0, 0, 3]
    assert distances[:5].tolist() == [2.0, 2.0, np.sqrt(8.0), 1.0, 10.0]
    assert np.array_equal(labels, np.tile(labels[:5], 40))
    assert [count for count in decided if count] == [120]  # three of five, of all blocks at once


def test_many_new_rows_are_looked_at_in_compiled_code_and_nothing_is_compiled_after_it_is_loaded(monkeypatch):
    loading = pytest.importorskip("reliac.engines.compiled.loading")
    monkeypatch.setattr(bymeans, "WORTH_LOADING", 300)
    tree = reliac.cluster(blobs(0, n=30), "ward")
    for _ in range(2):  # the first one loads
        before = loading.count_compiled()
        for kind in (np.float32, np.float64):
            new = blobs(1, n=100).astype(kind)
            new.flags.writeable = kind is np.float32
            tree.predict(new, 3)
            tree.predict(new[::3], 9)
    assert loading.is_loaded("predict")
    assert loading.count_compiled() == before


def test_rows_beyond_the_range_of_float32_are_placed_as_in_float64(monkeypatch):
    X = np.array([[0.0, 0.0], [1e29, 0.0], [1e30, 0.0], [1.1e30, 0.0], [0.0, 3e38]])
    new = np.array([[8e28, 0.0], [9e29, 1.0], [1e38, 2e38], [2e38, 1e30], [1e60, 0.0], [0.0, 1e60]])
    tree = reliac.cluster(X, "centroid")
    expected = [np.hypot(*(X - row).T).argmin() for row in new]
    for worth in (2**28, 0):
        if worth == 0:
            pytest.importorskip("numba")
        monkeypatch.setattr(bymeans, "WORTH_LOADING", worth)
        assert tree.predict(new, 5).tolist() == expected
