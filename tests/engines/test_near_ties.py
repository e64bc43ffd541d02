"""Floats near ties: engines differ by rounding only, equal rows are equal, and small cosine distances are right."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

import reliac
from near_ties import fault_of, near_tie_problem, trees
from problems import CRITERIA
from references import takers
from replay import groups_by_level


@pytest.mark.parametrize("start", range(0, 112, 28))
def test_every_engine_differs_from_the_definition_by_rounding_only(start):
    for seed in range(start, start + 28):  # every kind of points with every criterion
        problem = near_tie_problem(seed)
        for name, tree in trees(problem).items():
            assert fault_of(problem, tree) is None, f"seed {seed}, {name}"


def test_the_check_finds_a_link_beyond_rounding():
    problem = near_tie_problem(4 * CRITERIA.index("ward"))
    problem.options.update(alpha=1.0, tie_tolerance=0.0, n_clusters=None, weights=None)
    tree = trees(problem)["literal"]
    assert fault_of(problem, tree) is None
    problem.points[0] += 0.05
    assert fault_of(problem, tree) is not None


def repeated_rows(seed):
    """Decimals, each row several times, with weights whose products round."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 100, size=(6, 2)) / 10
    which = np.sort(rng.integers(0, 6, size=24))
    return rows[which], which, rng.choice([0.1, 0.3, 0.7, 3.0, 5.0], size=24)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("alpha", [0.5, 1.0])
@pytest.mark.parametrize("tolerance", [0.0, 0.5])
def test_equal_rows_of_any_weights_join_at_the_first_level(criterion, alpha, tolerance):
    for seed in range(8):
        X, which, weights = repeated_rows(seed)
        options = {"weights": weights, "alpha": alpha, "tie_tolerance": tolerance, "metric": "sqeuclidean"}
        for engine in takers(X, criterion, **options):
            tree = reliac.cluster(X, criterion, engine=engine, max_level=1, **options)
            at_zero = tree.links["distance"] == 0.0
            assert at_zero.sum() == len(X) - len(np.unique(which)), f"{engine}, seed {seed}"


@pytest.mark.parametrize("criterion", ["average", "centroid", "median", "ward"])
def test_stopping_among_equal_rows_takes_one_level_in_every_engine(criterion):
    for seed in range(8):
        X, which, weights = repeated_rows(seed)
        options = {"weights": weights, "alpha": 0.5, "tie_tolerance": 0.5, "metric": "sqeuclidean"}
        options["n_clusters"] = len(np.unique(which)) + 2
        literal = reliac.cluster(X, criterion, engine="literal", **options)
        assert literal.n_levels == 1
        for engine in takers(X, criterion, **options):
            tree = reliac.cluster(X, criterion, engine=engine, **options)
            assert np.array_equal(tree.links, literal.links), f"{engine}, seed {seed}"


@pytest.mark.parametrize("criterion", ["average", "centroid", "ward"])
def test_the_standard_strategy_joins_equal_rows_of_any_weights_at_distance_0(criterion):
    for seed in range(4):
        X, which, weights = repeated_rows(seed)
        options = {"weights": weights, "alpha": 0.0, "metric": "sqeuclidean"}
        for engine in takers(X, criterion, **options):
            tree = reliac.cluster(X, criterion, engine=engine, **options)
            assert (tree.links["distance"] == 0.0).sum() == len(X) - len(np.unique(which)), f"{engine}, seed {seed}"


def exact_cosine_distance(x, y):
    """One minus the cosine in decimals of 60 digits."""
    with localcontext() as context:
        context.prec = 60
        x, y = ([Decimal(float(value)) for value in row] for row in (x, y))
        xy, xx, yy = (sum(a * b for a, b in zip(u, v, strict=True)) for u, v in ((x, y), (x, x), (y, y)))
        return 1 - xy / (xx * yy).sqrt()


def nearly_parallel(d, spread):
    """Pairs of float32 rows that point almost the same way, pairs far from each other."""
    rng = np.random.default_rng(d)
    base = np.repeat(rng.normal(size=(12, d)), 2, axis=0)
    scale = rng.uniform(0.1, 10.0, size=(24, 1))
    return (base * (1 + spread * rng.normal(size=(24, d))) * scale).astype(np.float32)


@pytest.mark.parametrize("spread", [1e-2, 1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("criterion", ["single", "complete", "average"])
def test_cosine_distances_of_nearly_parallel_rows_are_right_in_every_engine(criterion, spread):
    X = nearly_parallel(8, spread)
    for engine in takers(X, criterion, metric="cosine"):
        tree = reliac.cluster(X, criterion, metric="cosine", engine=engine, max_level=1)
        for parts, height in groups_by_level(tree)[0]:
            if sum(map(len, parts)) == 2:
                exact = exact_cosine_distance(*X[np.concatenate(parts)])
                error = abs(Decimal(height) - exact)
                assert error <= Decimal("1e-15") * exact.sqrt() + Decimal("1e-15") * exact, engine


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_cosine_distances_do_not_depend_on_the_length_of_rows(size):
    X = nearly_parallel(3, 1e-3).astype(float)
    tree = reliac.cluster(X, "average", metric="cosine", engine="literal")
    scaled = reliac.cluster(X * size, "average", metric="cosine", engine="literal")
    np.testing.assert_allclose(scaled.links["distance"], tree.links["distance"], rtol=1e-9)
