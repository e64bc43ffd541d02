"""Weights: a heavy row counts as equal rows that have joined already."""

from __future__ import annotations

import numpy as np
import pytest

from problems import ALPHAS, CRITERIA, lattice
from references import cluster_squares, literal_tree, problem_of_squares, takers_of_each
from reliac.engines.choice import get_engine
from replay import groups_by_level


def levels(tree, row_of_object):
    """For every level the rows of each group that it joins, and the group's distance."""
    return [
        {(frozenset(row_of_object[np.concatenate(parts)].tolist()), distance) for parts, distance in groups}
        for groups in groups_by_level(tree)
    ]


@pytest.mark.parametrize("alpha", ALPHAS[1:])
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", range(6))
def test_a_row_of_weight_three_counts_as_three_equal_rows_that_have_joined_already(criterion, seed, alpha):
    X = np.unique(lattice(seed, n=20, side=5), axis=0)
    weights = np.random.default_rng(seed).integers(1, 5, size=len(X))
    rows = np.repeat(np.arange(len(X)), weights)
    light = cluster_squares(X, criterion, weights=weights, alpha=alpha)
    joined = cluster_squares(X[rows], criterion, max_distance=0, alpha=alpha)
    assert levels(joined.develop(), rows)[joined.n_levels :] == levels(light, np.arange(len(X)))


def test_the_users_weights_stay_writable_and_a_later_change_does_not_reach_the_tree():
    weights = np.array([1.0, 2.0, 3.0])
    tree = cluster_squares([[0.0], [1.0], [5.0]], weights=weights)
    weights[0] = 7.0
    assert tree.weights.tolist() == [1, 2, 3]


@pytest.mark.parametrize("weights", [[1e160, 1, 1], [1e308, 1, 9e307], [1e-300, 1, 1]])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_weights_whose_products_leave_the_range_of_floats_are_refused_where_they_count(criterion, weights):
    X = [[0.0], [1.0], [5.0]]
    if criterion in ("single", "complete", "weighted", "median") and sum(weights) < 1e308:
        weighted = cluster_squares(X, criterion, weights=weights)  # nothing is multiplied by the weights
        assert weighted.links["distance"].tolist() == cluster_squares(X, criterion).links["distance"].tolist()
        return
    with pytest.raises(ValueError, match=r"(overflow|underflow).*Allowed: .*Next: divide"):
        cluster_squares(X, criterion, weights=weights)


FAR_APART = {
    "two": np.where(np.random.default_rng(0).random(90) < 0.5, 1e20, 1e-20),
    "many": 10.0 ** np.random.default_rng(1).choice([-20, -10, 0, 10, 20], size=90),
}


@pytest.mark.parametrize("weights", FAR_APART)
@pytest.mark.parametrize(
    ("engine", "criterion"),
    takers_of_each(("average", "centroid", "ward"), np.zeros((90, 3)), weights=FAR_APART["two"]),
)
def test_engines_agree_where_weights_are_too_far_apart_for_float32(engine, criterion, weights):
    X = np.random.default_rng(2).normal(scale=9.0, size=(90, 3))
    tree = cluster_squares(X, criterion, engine=engine, weights=FAR_APART[weights])
    literal = literal_tree(X, criterion, weights=FAR_APART[weights])
    for column in ("left", "right", "level"):
        assert tree.links[column].tolist() == literal.links[column].tolist()
    assert np.allclose(tree.links["distance"], literal.links["distance"], rtol=1e-9)


@pytest.mark.parametrize(("unit", "near"), [(1e-15, 3e-15), (1e-10, 9.5e-18), (1e12, 3e-15)])
def test_weights_in_any_unit_give_the_tree_of_the_literal_engine(unit, near):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(300, 6)) * near, rng.integers(1, 4, 300).astype(float)
    X[0], X[1] = 1, -1  # seen from so far away, squares of the others are hardly more than nothing
    tree = cluster_squares(X, "ward", engine="vectors", weights=unit * weights)
    literal = literal_tree(X, "ward", weights=unit * weights)
    for column in ("left", "right", "level"):
        assert tree.links[column].tolist() == literal.links[column].tolist()


def test_masked_weights_are_refused():
    with pytest.raises(ValueError, match="masked"):
        cluster_squares([[0.0], [1.0]], weights=np.ma.masked_array([1.0, 2.0], mask=[False, True]))


def test_whatever_the_memory_of_the_diagonal_held_before_is_not_weighed():
    X, weights = np.random.default_rng(0).normal(size=(12, 2)), np.arange(1.0, 13.0)
    engine = get_engine("dense")(problem_of_squares(X, "centroid", weights=weights), 1)
    rows = engine.square.stored.reshape(12, -1).copy()
    rows.view(np.uint64)[np.arange(12), np.arange(12)] = 0x7FF0000000000001  # a number that warns when it is used
    with np.errstate(all="raise"):
        engine._close(rows)
    assert np.isinf(np.diagonal(rows)).all()
