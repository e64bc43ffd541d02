"""The small engine: the literal engine's trees, bit for bit on whole numbers, without compiled code."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import pdist, squareform

import reliac
from problems import ALPHAS, CRITERIA, blobs, grid, lattice, shrinking_chain, tie_free, tied
from references import literal_tree
from reliac.engines.choice import choose
from reliac.input.problem import make_problem

TABLES = [criterion for criterion in CRITERIA if criterion != "single"]


def both(X, criterion, **options):
    options.setdefault("metric", "euclidean")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", reliac.NotEuclideanWarning)
        return reliac.cluster(X, criterion, engine="small", **options), literal_tree(X, criterion, **options)


def assert_same_bits(X, criterion, **options):
    small, literal = both(X, criterion, **options)
    np.testing.assert_array_equal(small.links, literal.links)
    if criterion == "single":
        np.testing.assert_array_equal(small.object_pairs, literal.object_pairs)


def assert_same_tree(X, criterion, **options):
    small, literal = both(X, criterion, **options)
    for name in ("left", "right", "level"):
        np.testing.assert_array_equal(small.links[name], literal.links[name])
    np.testing.assert_allclose(small.links["distance"], literal.links["distance"], rtol=1e-9)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(5))
def test_tied_vectors_give_the_literal_links_bit_for_bit(criterion, alpha, seed):
    assert_same_bits(tied(seed), criterion, alpha=alpha, metric="sqeuclidean")


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("form", ["vectors", "condensed"])
def test_tie_free_objects_give_the_literal_tree(criterion, alpha, form):
    for seed in range(3):
        X = tie_free(seed)
        X, metric = (X, "euclidean") if form == "vectors" else (pdist(X), "precomputed")
        assert_same_tree(X, criterion, alpha=alpha, metric=metric)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_given_whole_distances_full_of_ties_give_the_literal_links_bit_for_bit(criterion, alpha):
    rng = np.random.default_rng(3)
    for n, most in ((2, 2), (3, 2), (25, 3), (40, 6)):
        D = rng.integers(1, most, size=n * (n - 1) // 2).astype(float)
        if criterion in ("weighted", "median") and n > 3:  # groups of many sizes divide by many numbers, which rounds
            D = rng.permutation(len(D)) + 1.0
            assert_same_tree(D, criterion, metric="precomputed", alpha=alpha)
        else:
            assert_same_bits(D, criterion, metric="precomputed", alpha=alpha)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_tables_that_are_written_in_place_give_the_literal_links(criterion, alpha):
    """Above 200 rows levels of few joins leave the table as large as it is, and only stale rows are searched."""
    assert_same_bits(lattice(4, n=320, d=3, side=12), criterion, alpha=alpha, metric="sqeuclidean")
    assert_same_tree(blobs(4, n=320, d=8), criterion, alpha=alpha)


@pytest.mark.parametrize("criterion", TABLES)
@pytest.mark.parametrize("few_rows", [0, 10])
def test_every_way_to_shrink_a_table_gives_the_literal_links(criterion, few_rows, monkeypatch):
    monkeypatch.setattr("reliac.engines.small.tables.FEW_ROWS", few_rows)
    monkeypatch.setattr("reliac.engines.small.tables.BLOCK", 50)
    for few_joins in (0, 3, 10**6):
        monkeypatch.setattr("reliac.engines.small.tables.FEW_JOINS", few_joins)
        for alpha in (0.3, 1.0):
            assert_same_bits(lattice(7, n=45, d=2, side=7), criterion, alpha=alpha, metric="sqeuclidean")
            assert_same_tree(blobs(7), criterion, alpha=alpha)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_weights_give_the_literal_links_bit_for_bit(criterion, alpha):
    weights = np.random.default_rng(1).integers(1, 5, size=24)
    assert_same_bits(lattice(1), criterion, weights=weights, alpha=alpha, metric="sqeuclidean")


@pytest.mark.parametrize("criterion", TABLES)
@pytest.mark.parametrize("tolerance", [1e-9, 0.05, 0.5])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_tie_tolerances_give_the_literal_tree(criterion, tolerance, alpha):
    for X in (blobs(2, n=40), lattice(2, n=30, side=6) / 10):
        assert_same_tree(X, criterion, tie_tolerance=tolerance, alpha=alpha)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(
    "stop", [{"n_clusters": 7}, {"n_clusters": 30}, {"max_level": 2}, {"max_distance": 3.0}, {"max_distance": 0.0}]
)
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_stopped_runs_give_the_literal_links(criterion, stop, alpha):
    for X in (lattice(3), grid(5), shrinking_chain()):
        options = {name: min(value, len(X)) if name == "n_clusters" else value for name, value in stop.items()}
        assert_same_tree(X, criterion, alpha=alpha, **options)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_going_on_from_a_stopped_tree_gives_the_whole_tree(criterion, alpha):
    for X in (lattice(5, n=40), blobs(5)):
        whole = reliac.cluster(X, criterion, alpha=alpha, engine="small")
        early = reliac.cluster(X, criterion, alpha=alpha, engine="small", max_level=3)
        grown = early.develop()
        assert grown.engine == "small"
        for name in ("left", "right", "level"):
            assert np.array_equal(grown.links[name], whole.links[name])
        np.testing.assert_allclose(grown.links["distance"], whole.links["distance"], rtol=1e-12)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_small_problem_of_whole_numbers_gives_the_literal_links(data):
    n, d = data.draw(st.integers(1, 14)), data.draw(st.integers(1, 3))
    numbers = st.integers(0, data.draw(st.integers(1, 8)))
    X = np.array(data.draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=n, max_size=n)), dtype=float)
    X = np.column_stack((np.full(n, 9.5), X))  # else zeros and ones could pass as distances, whole numbers as edges
    options = {"alpha": data.draw(st.sampled_from(ALPHAS)), "metric": "sqeuclidean"}
    if data.draw(st.booleans()):
        options["weights"] = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    criterion = data.draw(st.sampled_from(CRITERIA))
    assert_same_bits(X, criterion, **options)


def test_equal_distances_beyond_what_a_list_holds_are_left_to_engines_without_lists(monkeypatch):
    for name in ("tables", "engine"):
        monkeypatch.setattr(f"reliac.engines.small.{name}.AND_IN_ALL", 0)
        monkeypatch.setattr(f"reliac.engines.small.{name}.MANY_TIES", 2)
    for criterion in ("single", "complete", "average"):
        D = np.ones(30 * 29 // 2)
        tree = reliac.cluster(D, criterion, metric="precomputed")
        assert (tree.engine, tree.n_levels) == ("literal" if criterion == "single" else "dense", 1)
        assert np.array_equal(tree.links, literal_tree(D, criterion, metric="precomputed").links)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 300, 1500])
@pytest.mark.parametrize("criterion", ["single", "complete", "average", "ward"])
def test_auto_takes_the_small_engine_up_to_1500_objects_whatever_the_machine_has_compiled(n, criterion, monkeypatch):
    X = np.random.default_rng(0).random((n, 2))
    choice = choose(make_problem(X, criterion))
    assert choice.engine.name == "small"
    assert f"{n} objects" in choice.reason


def test_a_tie_tolerance_for_single_is_left_to_the_literal_engine():
    choice = choose(make_problem(blobs(1), "single", tie_tolerance=0.1))
    assert choice.engine.name == "literal"


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n", [2, 100, 400])
def test_linkage_of_small_inputs_is_scipys(criterion, n):
    X = np.random.default_rng(n).normal(size=(n, 6))
    for form in (X, pdist(X)):
        ours, theirs = reliac.linkage(form, criterion), scipy_linkage(form, criterion)
        np.testing.assert_array_equal(ours[:, [0, 1, 3]], theirs[:, [0, 1, 3]])
        np.testing.assert_allclose(ours[:, 2], theirs[:, 2], rtol=1e-9)


def test_1500_objects_are_clustered_without_importing_numba():
    code = (
        "import sys, numpy as np, reliac\n"
        "X = np.random.default_rng(0).random((1500, 3))\n"
        "for criterion in ('single', 'complete', 'ward'): reliac.cluster(X, criterion)\n"
        "assert 'numba' not in sys.modules and 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("criterion", ["complete", "average", "weighted", "centroid", "median", "ward"])
@pytest.mark.parametrize("n", [150, 320, 450])
def test_an_early_stopped_tree_of_some_hundred_objects_is_developed_to_the_whole_tree(criterion, n):
    X = np.random.default_rng(n).normal(size=(n, 3))
    whole = reliac.cluster(X, criterion, engine="small")
    for level in (1, 3, whole.n_levels // 2):
        early = reliac.cluster(X, criterion, engine="small", max_level=level)
        assert np.array_equal(
            early.develop().links[["left", "right", "level"]], whole.links[["left", "right", "level"]]
        )


def test_float32_distances_one_link_at_a_time_stay_within_max_distance():
    flat = np.array([1.0, 9.0, 9.0, 9.0, 9.0, 4.0], np.float32)
    below = float(np.nextafter(4.0, 0.0))
    tree = reliac.cluster(flat, "complete", metric="precomputed", alpha=0.0, max_distance=below)
    assert tree.links["distance"].tolist() == [1.0]


@pytest.mark.parametrize("alpha", [0.07, 0.28, 0.5])
def test_links_beyond_the_largest_distance_count_among_those_that_a_share_is_taken_of(alpha):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = np.cumsum(rng.integers(1, 9, 40))[:, None] if seed % 2 else rng.normal(size=(40, 2))
        for longest in np.quantile(pdist(X), (0.02, 0.1, 0.3)):
            for criterion in ("single", "average"):
                assert_same_tree(X, criterion, alpha=alpha, max_distance=longest)


# --- many at once ---


def test_edges_of_many_problems_at_once_are_those_of_each():
    from reliac.engines.small.edges import edges_side_by_side, spanning_edges

    rng = np.random.default_rng(11)
    for _ in range(40):
        sizes = np.sort(rng.integers(2, 14, 6))[::-1]
        tables, expected = np.full((len(sizes), sizes[0], sizes[0]), np.inf), []
        for number, n in enumerate(sizes):
            X = rng.integers(0, 4, (n, 2)) if number % 2 else rng.normal(size=(n, 2))
            distances = pdist(X)
            tables[number, :n, :n] = squareform(distances)
            edges, first = spanning_edges(distances, n), sizes[:number].sum()
            expected += zip(
                edges.distance.tolist(), (edges.i + first).tolist(), (edges.j + first).tolist(), strict=True
            )
        found = edges_side_by_side(tables, sizes)
        assert list(zip(found.distance.tolist(), found.i.tolist(), found.j.tolist(), strict=True)) == sorted(expected)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_two_parts_of_weight_one_are_joined_as_groups_are(criterion):
    from reliac.algorithm.criteria import get_criterion, join_pair_weights, join_weights

    row, one = get_criterion(criterion), np.ones(3)
    expected = join_weights(row, np.ones(6), np.arange(0, 6, 2))
    for known in (False, True):
        factors, weight = join_pair_weights(row, one, one, known)
        np.testing.assert_array_equal(factors.ravel(), expected[0])
        np.testing.assert_array_equal(weight, expected[1])
