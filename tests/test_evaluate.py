"""Scores and comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import pdist, squareform
from sklearn import metrics

import reliac
from reliac.evaluate import compare_strategies, cophenetic_correlation, scores

POINTS = np.random.default_rng(3).normal(size=(40, 2))


def test_scores_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    truth, labels = random.integers(0, 3, 50), random.integers(0, 4, 50)
    assert scores(truth, labels) == {
        "ami": metrics.adjusted_mutual_info_score(truth, labels, average_method="max"),
        "ari": metrics.adjusted_rand_score(truth, labels),
        "v": metrics.v_measure_score(truth, labels),
    }


def test_scores_take_text_and_do_not_warn_about_many_small_clusters():
    names = [f"flower {i}" for i in range(60)]
    assert scores(names, range(60)) == {"ami": 1.0, "ari": 1.0, "v": 1.0}


@pytest.mark.parametrize(("truth", "labels"), [([0, 1], [0, 1, 1]), ([], []), ([[0, 1]], [0, 1])])
def test_scores_refuse_what_does_not_match(truth, labels):
    with pytest.raises(ValueError, match=r"Allowed: .*Next: "):
        scores(truth, labels)


@pytest.mark.parametrize("criterion", ["single", "complete", "average"])
def test_the_cophenetic_correlation_is_that_of_scipy(criterion):
    distances = pdist(POINTS)
    expected = cophenet(scipy_linkage(POINTS, criterion), distances)[0]
    tree = reliac.cluster(POINTS, criterion, metric="euclidean")
    assert cophenetic_correlation(tree, distances) == pytest.approx(expected)
    assert cophenetic_correlation(tree, squareform(distances)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("options", "rows", "message"),
    [
        ({"n_clusters": 3}, 40, "forest of 3 trees"),
        ({}, 39, "Distances of 39 objects"),
    ],
)
def test_the_cophenetic_correlation_refuses_forests_and_other_data(options, rows, message):
    tree = reliac.cluster(POINTS, "average", metric="euclidean", **options)
    with pytest.raises(ValueError, match=message):
        cophenetic_correlation(tree, pdist(POINTS[:rows]))


def test_equal_distances_have_no_correlation():
    with pytest.raises(ValueError, match="all equal"):
        cophenetic_correlation(reliac.cluster(1 - np.eye(4), metric="precomputed"), 1 - np.eye(4))


def test_a_comparison_has_one_row_for_each_alpha_in_the_order_asked_for():
    rows = compare_strategies(POINTS, criterion="average", alphas=(1.0, 0.5, 0.0), n_clusters=4)
    assert [row.name for row in rows] == ["reliable", "alpha 0.5", "standard"]
    assert [row.alpha for row in rows] == [1.0, 0.5, 0.0]
    assert rows[2].n_levels == 39 > rows[1].n_levels > rows[0].n_levels
    for row in rows:
        assert sum(row.sizes) == 40
        assert list(row.sizes) == sorted(row.sizes, reverse=True)
        assert row.agreement == 1.0  # without ties a reducible criterion gives one tree
        assert row.ami is row.ari is row.v is None
        assert row.seconds > 0


def test_agreement_is_with_the_standard_strategy_even_if_it_is_not_shown():
    points = np.random.default_rng(4).normal(size=(60, 2))
    (row,) = compare_strategies(points, criterion="centroid", alphas=[1.0], n_clusters=5)
    standard, reliable = (reliac.cluster(points, "centroid", alpha=alpha).labels(5) for alpha in (0.0, 1.0))
    assert row.agreement == metrics.adjusted_rand_score(standard, reliable)


def test_the_number_of_clusters_is_that_of_the_classes():
    classes = np.repeat(["a", "b", "c"], [20, 15, 5])
    (row,) = compare_strategies(POINTS, classes, alphas=[1.0])
    labels = reliac.cluster(POINTS).labels(3)
    assert len(row.sizes) == 3
    assert {"ami": row.ami, "ari": row.ari, "v": row.v} == scores(classes, labels)


def test_without_classes_and_number_only_cost_is_compared():
    rows = compare_strategies(POINTS)
    assert [(row.sizes, row.agreement) for row in rows] == [((), None), ((), None)]


@pytest.mark.parametrize(
    ("classes", "options", "message"),
    [
        (None, {"n_clusters": 41}, r"n_clusters=41\. Allowed: a whole number from 1 to 40"),
        (None, {"n_clusters": 0}, "n_clusters=0"),
        ([0, 1], {}, "2 classes for 40 objects"),
        (None, {"alphas": [1.0, 2.0]}, "alpha=2.0"),
        (None, {"engine": "magic"}, "Unknown engine 'magic'"),
    ],
)
def test_mistakes_are_found_before_anything_runs(monkeypatch, classes, options, message):
    monkeypatch.setattr("reliac.run.solve.Run.run", lambda *args: pytest.fail("a run was started"))
    monkeypatch.setattr("reliac.evaluate.cluster", lambda *args: None)  # the warming up
    with pytest.raises(ValueError, match=rf"{message}.*Next: "):
        compare_strategies(POINTS, classes, **options)


def test_options_reach_the_run():
    (row,) = compare_strategies(
        squareform(pdist(POINTS)), criterion="average", metric="precomputed", alphas=[1.0], n_clusters=2, by="level"
    )
    expected = reliac.cluster(POINTS, "average", metric="euclidean").labels(2, by="level")
    assert row.sizes == tuple(sorted(np.bincount(expected).tolist(), reverse=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "average"}, "got method.*write criterion='average'"),
        ({"alpha": 0.5}, "'alpha'.*did you mean 'alphas'"),
        ({"engines": "dense"}, "'engines'.*did you mean 'engine'"),
    ],
)
def test_an_option_that_a_comparison_does_not_have_is_refused_by_name(options, message):
    with pytest.raises(TypeError, match=message):
        compare_strategies([[0.0], [1.0], [5.0]], **options)
