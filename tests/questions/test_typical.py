"""Typical members and summaries, against literal definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist, squareform

import reliac
from oracle import mean, numbers, squared
from problems import CRITERIA, blobs, lattice, tied
from reliac.input.objects import make_objects
from reliac.questions.given import measure

X = blobs(0, n=60)
FRAME = pd.DataFrame(X, columns=["length", "width", "height"])
NEEDS_DATA = ("medoid", "medoid_name", "spread", "feature_1", "difference_1")


def cuts(tree):
    yield {"n_clusters": min(4, tree.n_objects)}
    yield {"level": tree.n_levels // 2}
    yield {"n_clusters": tree.n_clusters, "by": "level"}


def by_typicality(tree, cut, far):
    """The members of every cluster, sorted by a number for each object and its cluster."""
    return [
        sorted(members, key=lambda i: (far(i, members), i))
        for members in (part.tolist() for part in clusters(tree, cut))
    ]


def clusters(tree, cut):
    labels = tree.labels(**cut)
    return [np.flatnonzero(labels == label) for label in range(labels.max() + 1)]


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_the_medoid_is_the_member_nearest_to_the_mean_and_of_tied_ones_the_first(metric):
    for seed in range(12):
        points = tied(seed)[:20]
        weights = np.random.default_rng(seed).integers(1, 4, len(points)) if seed % 2 else None
        tree = reliac.cluster(points, CRITERIA[seed % 7], metric=metric, weights=weights)
        exact, one = numbers(points)
        weight = [one] * len(points) if weights is None else [one * int(value) for value in weights]

        def far(i, members, exact=exact, weight=weight):
            total = sum(weight[j] for j in members)
            return squared(exact[i], mean(exact, {j: weight[j] / total for j in members}))

        for cut in cuts(tree):
            expected = by_typicality(tree, cut, far)
            assert tree.medoids(**cut).tolist() == [members[0] for members in expected]
            assert [part.tolist() for part in tree.exemplars(3, **cut)] == [members[:3] for members in expected]
            if metric == "sqeuclidean":  # the same as the smallest sum

                def total(i, members, exact=exact, weight=weight):
                    return sum(weight[j] * squared(exact[i], exact[j]) for j in members)

                assert [members[0] for members in by_typicality(tree, cut, total)] == [part[0] for part in expected]


@pytest.mark.parametrize("kind", ["cityblock", "square", "condensed", "function", "exact", "sparse"])
def test_elsewhere_it_is_the_member_with_the_smallest_sum_of_distances(kind):
    for seed in range(4):
        points = lattice(seed, n=18)
        weights = np.arange(18) % 3 + 1
        metric = "euclidean" if kind in ("exact", "sparse") else "cityblock"
        distances = cdist(points, points, metric)
        given = {
            "square": distances,
            "condensed": squareform(distances),
            "sparse": csr_array(points),
        }.get(kind, points)
        how = "precomputed" if kind in ("square", "condensed") else metric
        how = (lambda x, y: float(np.abs(x - y).sum())) if kind == "function" else how
        tree = reliac.cluster(given, "average", metric=how, weights=weights)
        options = {"exact": True} if kind in ("exact", "sparse") else {}

        def far(i, members, distances=distances, weights=weights):
            return round(float(distances[i, members] @ weights[members]), 9)

        for cut in cuts(tree):
            found = tree.exemplars(2, **cut, **options)
            expected = by_typicality(tree, cut, far)
            for mine, theirs, part in zip(found, expected, clusters(tree, cut), strict=True):
                values = [far(i, part) for i in mine]
                assert values == [far(i, part) for i in theirs[:2]]
                assert kind in ("exact", "sparse") or mine.tolist() == theirs[:2]  # roots may break a tie


@pytest.mark.parametrize("form", [np.asarray, np.float32, csr_array], ids=["float64", "float32", "sparse"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_every_form_of_table_has_the_same_typical_members_and_summary(form, metric):
    rows = np.abs(X).astype(np.float32).astype(np.float64)
    plain = reliac.cluster(rows, "average", metric=metric)
    other = reliac.cluster(form(rows), "average", metric=metric)
    np.testing.assert_array_equal(other.medoids(5), plain.medoids(5))
    pd.testing.assert_frame_equal(other.summary(5), plain.summary(5), rtol=1e-6)


def test_the_summary_holds_what_its_columns_say():
    for seed in range(6):
        points = blobs(seed, n=40) if seed % 2 else lattice(seed, n=30, d=3)
        weights = np.random.default_rng(seed).integers(1, 4, len(points))
        tree = reliac.cluster(points, CRITERIA[seed], weights=weights)
        for cut in cuts(tree):
            table = tree.summary(**cut, features=2)
            for row, members in zip(table.itertuples(), clusters(tree, cut), strict=True):
                assert (row.size, row.weight) == (len(members), weights[members].sum())
                assert row.medoid_name == str(row.medoid)
                to_medoid = np.linalg.norm(points[members] - points[row.medoid], axis=1)
                assert row.spread == pytest.approx(np.average(to_medoid, weights=weights[members]))
            np.testing.assert_array_equal(table["medoid"], tree.medoids(**cut))
            check_differences(table, points, weights, tree.labels(**cut))


def check_differences(table, points, weights, labels):
    """Standardised differences of means, from every object as often as it counts."""
    rows, owner = np.repeat(points, weights, axis=0), np.repeat(labels, weights)
    for label, row in table.iterrows():
        inside, outside = rows[owner == label], rows[owner != label]
        if not len(outside):
            assert row["feature_1"] == ""
            assert np.isnan(row["difference_1"])
            continue
        pooled = np.sqrt((len(inside) * inside.var(axis=0) + len(outside) * outside.var(axis=0)) / len(rows))
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = (inside.mean(axis=0) - outside.mean(axis=0)) / pooled
        order = np.argsort(-np.abs(expected.round(9)), kind="stable")
        np.testing.assert_allclose(
            [row["difference_1"], row["difference_2"]], expected[order[:2]], rtol=1e-6, atol=1e-9
        )
        assert row["feature_1"] == str(order[0]) or abs(expected[order[0]]) == pytest.approx(abs(expected[order[1]]))


def test_birth_and_end_are_the_levels_and_distances_between_which_a_cluster_is_there():
    for seed in range(8):
        tree = reliac.cluster(tied(seed), CRITERIA[seed % 7], max_level=None if seed % 3 else 3)
        there = [
            {frozenset(part.tolist()) for part in tree.clusters(level=level)} for level in range(tree.n_levels + 1)
        ]
        for level in {0, 1, tree.n_levels // 2, tree.n_levels}:
            table = tree.summary(level=level)
            for row, members in zip(table.itertuples(), tree.clusters(level=level), strict=True):
                levels = [at for at, known in enumerate(there) if frozenset(members.tolist()) in known]
                assert (row.birth_level, row.end_level) == (levels[0], levels[-1] + 1)
                assert row.lifetime >= 0
                pairs = [(members[0], other) for other in members[1:]]
                far = tree.cophenetic(pairs).max() if pairs else 0.0
                assert row.birth_distance >= far
                assert np.isinf(row.end_distance) == (row.end_level == tree.n_levels + 1)


def test_classes_are_counted():
    tree = reliac.cluster(X)
    kinds = np.array(["b", "a", "c"])[np.arange(60) % 3]
    table = tree.summary(4, classes=kinds)
    expected = pd.crosstab(tree.labels(4), kinds)
    np.testing.assert_array_equal(table[["class a", "class b", "class c"]], expected)
    for wrong, told in ((kinds[:-1], "59 classes for 60 objects"), (5, "classes of shape"), (X, "classes of shape")):
        with pytest.raises(ValueError, match=told):
            tree.summary(4, classes=wrong)


def test_titles_and_names_are_shown_and_kept_in_files(tmp_path):
    named = FRAME.set_axis([f"object {i}" for i in range(60)])
    tree = reliac.cluster(named, "average")
    table = tree.summary(3)
    assert {*table["feature_1"]} <= {*FRAME.columns}
    assert table["medoid_name"].str.startswith("object ").all()
    assert tree.medoids(3, named=True).tolist() == table["medoid_name"].tolist()
    assert tree.exemplars(1, 3, named=True)[0].tolist() == table["medoid_name"].tolist()[:1]
    tree.save(tmp_path / "tree.reliac", data=True)
    pd.testing.assert_frame_equal(reliac.load(tmp_path / "tree.reliac").summary(3), table)


def test_a_tree_without_data_has_a_shorter_summary_and_takes_the_data(tmp_path):
    tree = reliac.cluster(FRAME)
    tree.save(tmp_path / "tree.reliac")
    read = reliac.load(tmp_path / "tree.reliac")
    whole = tree.summary(3)
    pd.testing.assert_frame_equal(read.summary(3), whole[list(read.summary(3).columns)])
    assert not {*NEEDS_DATA} & {*read.summary(3).columns}
    pd.testing.assert_frame_equal(read.summary(3, X=FRAME), whole)
    np.testing.assert_array_equal(read.medoids(3, X=FRAME), tree.medoids(3))
    with pytest.raises(ValueError, match=r"does not hold its data\. Allowed: medoids\(X=\.\.\.\)"):
        read.medoids(3)
    with pytest.raises(ValueError, match=r"exemplars\(k, X=\.\.\.\)"):
        read.exemplars(2, 3)


def test_given_distances_gaps_and_mixed_columns_have_what_they_can_have():
    given = reliac.cluster(pdist(X), "ward", metric="precomputed")
    assert "feature_1" not in given.summary(3)
    assert given.summary(3)["spread"].gt(0).all()
    holes = X.copy()
    holes[::7, 1] = np.nan
    gaps = reliac.cluster(holes, "average", metric="nan_euclidean").summary(3)
    assert np.isfinite(gaps["difference_1"]).all()
    mixed = reliac.cluster(FRAME.assign(kind=["x", "y"] * 30), "average", metric="gower").summary(3)
    assert "feature_1" not in mixed
    assert mixed["medoid"].nunique() == 3


def test_graphs_have_typical_members_only_where_all_pairs_have_a_distance():
    along = reliac.cluster(X, connectivity=np.eye(60, k=1))
    np.testing.assert_array_equal(along.medoids(3), along.summary(3)["medoid"])
    edges = reliac.cluster_edges(pd.DataFrame({"a": [0, 1], "b": [1, 2], "distance": [1.0, 2.0]}), "single")
    with pytest.raises(ValueError, match="only listed pairs have a distance"):
        edges.medoids()


@pytest.mark.parametrize(
    ("method", "options", "told"),
    [
        ("summary", {"n_clusters": 2, "features": -1}, "features=-1"),
        ("summary", {"n_clusters": 999}, "n_clusters=999"),
        ("summary", {"n_clusters": 2, "exact": "yes"}, "exact='yes'"),
        ("exemplars", {"k": 0, "n_clusters": 2}, "k=0"),
        ("medoids", {"n_clusters": [2, 3]}, "2 cuts at once"),
        ("medoids", {"n_clusters": 2, "metric": "cosine"}, "metric 'cosine' for a tree"),
    ],
)
def test_what_cannot_be_is_refused(method, options, told):
    with pytest.raises((ValueError, TypeError), match=told):
        getattr(reliac.cluster(X), method)(**options)


def test_one_object_and_one_cluster_are_summed_up_too():
    alone = reliac.cluster([[1.0, 2.0]]).summary()
    assert alone["size"].tolist() == [1]
    assert alone["medoid"].tolist() == [0]
    whole = reliac.cluster(X).summary()
    assert whole["lifetime"].tolist() == [np.inf]
    assert Fraction(whole["size"][0]) == 60


def test_an_object_is_at_distance_0_of_itself_in_either_form_of_matrix():
    X = blobs(2, n=9)
    every = np.arange(9)
    for matrix in (pdist(X), squareform(pdist(X))):
        objects = make_objects(matrix, "precomputed")
        np.testing.assert_array_equal(measure(objects, "precomputed")(every, every), squareform(pdist(X)))
