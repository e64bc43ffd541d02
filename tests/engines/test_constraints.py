"""Constraints: every engine gives the trees of the definition, and nothing forbidden is in any partition."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reliac
from constrained import Made, by_definition, check_made, defined, from_points, some_constraints, violations
from graphs import GRAPHS, random_edges
from problems import CRITERIA, REDUCIBLE, blobs, grid, lattice, tied
from reliac.engines.choice import ENGINES, get_engine
from reliac.input.problem import make_problem

ALPHAS = (0.0, 0.3, 0.5, 1.0)
TAKERS = ("literal", "dense")
ON_GRAPHS = ("single", "complete", "average", "weighted")
NONE: dict[str, Any] = {"must_link": [], "cannot_link": [], "max_size": None}


def cluster(X: Any, criterion: str, **options: Any) -> reliac.ClusterTree:
    return reliac.cluster(X, criterion, metric="sqeuclidean", **options)


def same(a: reliac.ClusterTree, b: reliac.ClusterTree) -> bool:
    pairs = a.object_pairs, b.object_pairs
    return np.array_equal(a.links, b.links) and (pairs[0] is pairs[1] is None or np.array_equal(*pairs))


def check_partitions(tree: reliac.ClusterTree, constraints: dict[str, Any]) -> None:
    """Look at every level, every number of clusters and every distance."""
    must, cannot = constraints["must_link"], constraints["cannot_link"]
    most = tree.n_objects - int((tree.links["level"] == 1).sum() if must else 0)
    cuts: list[dict[str, Any]] = [{"level": level} for level in range(bool(must), tree.n_levels + 1)]
    cuts += [{"n_clusters": k, "by": by} for k in range(tree.n_clusters, most + 1) for by in ("distance", "level")]
    cuts += [{"distance": float(here)} for here in {0.0, *tree.links["distance"].tolist()}]
    for cut in cuts:
        labels = tree.labels(**cut)
        assert not violations(labels, must, cannot, constraints["max_size"] or np.inf), cut
        assert "n_clusters" not in cut or labels.max() + 1 == cut["n_clusters"]


def few_points(seed: int) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
    X = [tied(seed)[:16], lattice(seed, n=14, d=1, side=9), grid(3)][seed % 3]
    return X, some_constraints(len(X), seed)


@lru_cache(maxsize=100)  # engines stand beside each other: what they are compared with is made once
def made_of_few(criterion: str, seed: int, alpha: float) -> list[Made]:
    X, constraints = few_points(seed)
    return by_definition(len(X), *from_points(X, criterion), alpha=alpha, **defined(constraints))


@pytest.mark.parametrize("engine", TAKERS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_trees_with_constraints_are_those_of_the_definition(criterion: str, engine: str) -> None:
    for seed in range(12):
        X, constraints = few_points(seed)
        for alpha in ALPHAS:
            expected = made_of_few(criterion, seed, alpha)
            check_made(cluster(X, criterion, engine=engine, alpha=alpha, **constraints), expected)


@pytest.mark.parametrize("engine", TAKERS)
@pytest.mark.parametrize("criterion", ["single", "complete"])
def test_with_a_tolerance_near_ties_are_settled_by_the_order_of_their_objects(criterion: str, engine: str) -> None:
    for seed in range(10):
        X = lattice(seed, n=14, d=1, side=12)
        constraints = some_constraints(len(X), seed)
        for alpha in ALPHAS:
            options = {"alpha": alpha, "tol": Fraction(1, 4)}
            expected = by_definition(len(X), *from_points(X, criterion), **options, **defined(constraints))
            tree = cluster(X, criterion, engine=engine, alpha=alpha, tie_tolerance=0.25, **constraints)
            check_made(tree, expected)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_dense_engine_gives_the_links_of_the_literal_one_bit_for_bit(criterion: str) -> None:
    for seed in range(8):
        X = [tied(seed), lattice(seed, n=70, side=5), blobs(seed, n=90), np.zeros((30, 1))][seed % 4]
        constraints = some_constraints(len(X), seed)
        for alpha in ALPHAS:
            for tolerance in (0.0, 0.3):
                options = {"alpha": alpha, "tie_tolerance": tolerance, **constraints}
                if seed % 4 == 2:  # no whole numbers: as far as rounding lets them agree
                    a, b = (cluster(X, criterion, engine=name, **options) for name in TAKERS)
                    assert np.array_equal(a.links[["left", "right", "level"]], b.links[["left", "right", "level"]])
                    assert np.allclose(a.links["distance"], b.links["distance"])
                else:
                    assert same(*(cluster(X, criterion, engine=name, **options) for name in TAKERS)), (seed, options)


@pytest.mark.parametrize("criterion", ["complete", "average", "weighted", "single"])
def test_more_ties_than_can_be_listed_are_settled_in_the_same_order(criterion: str) -> None:
    n = 120
    rng = np.random.default_rng(0)
    D = np.triu(np.where(rng.random((n, n)) < 0.9, 2.0, 3.0), 1)
    cannot = [tuple(map(int, rng.choice(n, 2, replace=False))) for _ in range(40)]
    for alpha in (0.3, 1.0):
        for tolerance in (0.0, 0.6):
            options = {"alpha": alpha, "tie_tolerance": tolerance, "cannot_link": cannot, "max_size": 9}
            trees = [
                reliac.cluster(D + D.T, criterion, metric="precomputed", engine=name, **options) for name in TAKERS
            ]
            assert same(*trees)


@lru_cache(maxsize=100)
def unconstrained(criterion: str, seed: int, **options: Any) -> reliac.ClusterTree:
    return cluster(tied(seed), criterion, engine="literal", **options)


#: Data and options for which constraints that forbid nothing are tried.
FREE = [
    (seed, {"alpha": alpha, "tie_tolerance": tolerance})
    for seed in range(5)
    for alpha in ALPHAS
    for tolerance in (0.0, 0.3)
]


@pytest.mark.parametrize("engine", TAKERS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_size_that_nothing_exceeds_changes_nothing(criterion: str, engine: str) -> None:
    for seed, options in FREE:
        X = tied(seed)
        bound = cluster(X, criterion, engine=engine, max_size=len(X), **options)
        assert same(bound, unconstrained(criterion, seed, **options))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_constraints_that_are_none_change_nothing(criterion: str) -> None:
    for seed, options in FREE:
        X = tied(seed)
        assert same(cluster(X, criterion, **NONE, **options), cluster(X, criterion, **options))


@settings(max_examples=150, deadline=None)
@given(
    st.integers(2, 16), st.integers(2, 6), st.integers(1, 2), st.integers(0, 10**6), st.sampled_from(ALPHAS),
    st.sampled_from(CRITERIA), st.sampled_from((0.0, 0.3)),
)  # fmt: skip
def test_no_partition_holds_anything_forbidden(
    n: int, side: int, d: int, seed: int, alpha: float, criterion: str, tolerance: float
) -> None:
    X, constraints = lattice(seed, n, d, side), some_constraints(n, seed)
    trees = [cluster(X, criterion, engine=name, alpha=alpha, tie_tolerance=tolerance, **constraints) for name in TAKERS]
    check_partitions(trees[0], constraints)
    assert same(*trees)
    last = trees[0].clusters()  # nothing that is left may be joined
    for k, one in enumerate(last):
        for other in last[:k]:
            labels = np.where(np.isin(np.arange(n), np.r_[one, other]), 0, 1 + np.arange(n))
            assert violations(labels, [], constraints["cannot_link"], constraints["max_size"] or np.inf)


@pytest.mark.parametrize("criterion", REDUCIBLE)
def test_without_ties_the_reliable_and_the_standard_strategy_join_the_same_clusters(criterion: str) -> None:
    def joined(tree: reliac.ClusterTree) -> set[tuple[frozenset[int], float]]:
        members = [frozenset([i]) for i in range(tree.n_objects)]
        for left, right in zip(tree.links["left"], tree.links["right"], strict=True):
            members.append(members[left] | members[right])
        return {(c, round(float(d), 9)) for c, d in zip(members[tree.n_objects :], tree.links["distance"], strict=True)}

    for seed in range(6):
        X, constraints = blobs(seed, n=80), some_constraints(80, seed)
        assert joined(cluster(X, criterion, **constraints)) == joined(cluster(X, criterion, alpha=0.0, **constraints))


# --- graphs ---


@pytest.mark.parametrize("criterion", ON_GRAPHS)
@pytest.mark.parametrize("name", GRAPHS)
def test_on_a_graph_the_tree_is_that_of_the_completed_matrix_with_constraints(name: str, criterion: str) -> None:
    n, edges = GRAPHS[name]
    for seed in range(4):
        constraints = some_constraints(n, seed)
        for alpha in ALPHAS:
            for tolerance in (0.0, 0.3):
                options = {"missing": float(edges[2].max()) + seed, "alpha": alpha, "tie_tolerance": tolerance}
                trees = [
                    reliac.cluster_edges(edges, criterion, objects=range(n), engine=engine, **options, **constraints)
                    for engine in ("graph", "literal")
                ]
                assert same(*trees), (options, constraints)
                check_partitions(trees[0], constraints)


@pytest.mark.parametrize("criterion", ["single", "complete", "average"])
def test_on_a_graph_whose_missing_pairs_are_ignored_the_tree_is_that_of_the_definition(criterion: str) -> None:
    reduce = {"single": min, "complete": max, "average": lambda d: sum(d, Fraction(0)) / len(d)}[criterion]
    for seed in range(12):
        n = 12
        edges = random_edges(n, 30, 5, seed)
        listed = {frozenset((int(p), int(q))): Fraction(float(d)) for p, q, d in zip(*edges, strict=True)}

        def distance(a: Any, b: Any, listed: Any = listed) -> Any:
            found = [listed[frozenset((p, q))] for p in a for q in b if frozenset((p, q)) in listed]
            return reduce(found) if found else None

        constraints = some_constraints(n, seed)
        for alpha in ALPHAS:
            made = by_definition(
                n, distance, lambda parts: {i: 1 for part in parts for i in part}, alpha=alpha, **defined(constraints)
            )
            options = {"missing": "ignore", "alpha": alpha, "objects": range(n), **constraints}
            check_made(reliac.cluster_edges(edges, criterion, **options), made)


@pytest.mark.parametrize("criterion", ["ward", "centroid", "median", "average"])
def test_with_connectivity_the_tree_is_that_of_the_definition(criterion: str) -> None:
    for seed in range(8):
        X = lattice(seed, n=14, side=5)
        edges = random_edges(len(X), 34, 3, seed)
        pairs = {frozenset((int(p), int(q))) for p, q in zip(*edges[:2], strict=True)}
        measure, joined = from_points(X, criterion)

        def distance(a: Any, b: Any, pairs: Any = pairs, measure: Any = measure) -> Any:
            return measure(a, b) if any(frozenset((p, q)) in pairs for p in a for q in b) else None

        graph = np.zeros((len(X), len(X)))
        graph[edges[0], edges[1]] = 1
        constraints = some_constraints(len(X), seed)
        for alpha in ALPHAS:
            made = by_definition(len(X), distance, joined, alpha=alpha, **defined(constraints))
            check_made(cluster(X, criterion, connectivity=graph, alpha=alpha, **constraints), made)


# --- who does it ---


def test_engines_that_cannot_keep_to_constraints_refuse_them_with_a_reason() -> None:
    X = blobs(0)
    for criterion in CRITERIA:
        problem = make_problem(X, criterion, cannot_link=[(0, 1)])
        able = [name for name in ENGINES if get_engine(name).refuses(problem) is None]
        assert able == ["literal", "dense"]
    with pytest.raises(
        ValueError, match=r"The vectors engine cannot do this: its lists .* Allowed: engines literal, de"
    ):
        reliac.cluster(X, max_size=5, engine="vectors")
    assert cluster(np.random.default_rng(0).random((1700, 2)), "single", max_size=9).engine == "dense"
