"""The C code: the links of NumPy bit for bit, and everything goes on without a compiler."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

import reliac
from problems import CRITERIA, lattice, tie_free, tied
from reliac.algorithm.criteria import distance_from_sums
from reliac.engines.small import at_once
from reliac.engines.small.engine import SmallEngine
from reliac.errors import InvariantError
from reliac.input.condensed import to_square
from reliac.input.problem import make_problem
from reliac.native import building
from reliac.native.library import address, library
from reliac.tree import building as tree_building

needs_c = pytest.mark.skipif(library() is None, reason="the package was built without a C compiler")

STOPS = (
    {},
    {"n_clusters": 7},
    {"max_level": 2},
    {"max_distance": 1.5},
    {"max_level": 4, "max_distance": 2.5},
)


def links_of(problem):
    """All batches of the small engine as columns: level, p, q, distance and pairs of objects."""
    batches = list(SmallEngine(problem).levels(0))
    columns = [np.concatenate([batch.level for batch in batches])]
    columns += [np.concatenate(column) for column in zip(*(batch.links for batch in batches), strict=True)]
    pairs = [batch.object_pairs for batch in batches if batch.object_pairs is not None]
    return columns + ([np.concatenate(pairs)] if pairs else [])


def assert_as_numpy(monkeypatch, data, criterion, **options):
    problem = make_problem(data, criterion, **options)
    assert SmallEngine(problem).levels_at_once() is not None
    quick = links_of(problem)
    with monkeypatch.context() as patch:
        patch.setattr(at_once, "library", lambda: None)
        assert SmallEngine(problem).levels_at_once() is None
        plain = links_of(problem)
    assert len(quick) == len(plain)
    for one, other in zip(quick, plain, strict=True):
        np.testing.assert_array_equal(one, other)


@needs_c
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_links_are_those_of_numpy_bit_for_bit(monkeypatch, criterion, alpha):
    rng = np.random.default_rng(0)
    for n in (2, 3, 4, 9, 33, 100, 240):
        X = rng.normal(size=(n, 3))
        for data, metric in ((X, "euclidean"), (pdist(X), "precomputed"), (pdist(X).astype(np.float32), "precomputed")):
            assert_as_numpy(monkeypatch, data, criterion, metric=metric, alpha=alpha)


@needs_c
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_stops_and_weights_are_those_of_numpy(monkeypatch, criterion, alpha):
    X, weights = tie_free(1), np.random.default_rng(1).integers(1, 9, len(tie_free(1))).astype(float)
    for stop in STOPS:
        assert_as_numpy(monkeypatch, X, criterion, alpha=alpha, **stop)
        assert_as_numpy(monkeypatch, X, criterion, alpha=alpha, weights=weights, **stop)


@needs_c
@pytest.mark.parametrize("criterion", CRITERIA)
def test_chains_and_growing_gaps_are_those_of_numpy(monkeypatch, criterion):
    """Levels that join a single pair, of clusters of very different sizes: rows are gone before a table shrinks."""
    for X in (np.cumsum(np.arange(1.0, 90.0) ** 1.5)[:, None], np.cumsum(np.arange(90.0, 1.0, -1.0) ** 1.5)[:, None]):
        for alpha in (0.0, 1.0):
            assert_as_numpy(monkeypatch, X, criterion, alpha=alpha)


@needs_c
@pytest.mark.parametrize("criterion", ["average", "weighted", "centroid", "median", "ward"])
def test_tables_that_outgrow_the_distances_that_are_kept_are_those_of_numpy(monkeypatch, criterion):
    """Distances are kept from 512 clusters on: at first there are more."""
    X = np.random.default_rng(2).normal(size=(900, 2))
    for alpha in (0.0, 1.0):
        assert_as_numpy(monkeypatch, X, criterion, alpha=alpha)


@needs_c
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(3, 70),
    criterion=st.sampled_from(CRITERIA),
    alpha=st.sampled_from([0.0, 1.0]),
)
def test_any_small_problem_is_that_of_the_literal_engine(seed, n, criterion, alpha):
    X = np.random.default_rng(seed).integers(0, 40, size=(n, 2)).astype(float)  # some are tied, some are not
    options = {"metric": "sqeuclidean", "alpha": alpha}
    small, literal = (reliac.cluster(X, criterion, engine=engine, **options) for engine in ("small", "literal"))
    np.testing.assert_array_equal(small.links, literal.links)
    np.testing.assert_array_equal(small.object_pairs, literal.object_pairs)


@needs_c
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_tied_links_are_those_of_numpy(monkeypatch, criterion, alpha):
    if criterion == "single":
        assert SmallEngine(make_problem(lattice(0), criterion, alpha=alpha)).levels_at_once() is None
        return
    late = np.array(
        [[0.0], [1.0], [4.5], [7.75], [9.25]]
    )  # the one in the middle is as far from the means of both pairs
    thirds = alpha == 1.0 and criterion in ("weighted", "median")  # groups of three are left to NumPy there
    for X in (lattice(0), late, tied(0), tied(1), np.repeat(tied(2), 3, axis=0)):
        for metric in ("sqeuclidean", "euclidean"):
            for stop in ({}, {"n_clusters": 2}, {"max_level": 2}):
                options = {"metric": metric, "alpha": alpha, **stop}
                if thirds and SmallEngine(make_problem(X, criterion, **options)).levels_at_once() is None:
                    continue
                assert_as_numpy(monkeypatch, X, criterion, **options)
    whole = SmallEngine(make_problem(lattice(0), criterion, metric="sqeuclidean", alpha=alpha)).levels_at_once()
    assert (whole is None) == thirds


@needs_c
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_of_two_nearest_pairs_of_objects_single_takes_the_first(alpha):
    """Objects 2 and 3 are as near to 0: all joins differ in length, and yet two spanning trees are the shortest."""
    given = np.array([1.0, 5.0, 5.0, 6.0, 6.0, 2.0])
    tree = reliac.cluster(given, "single", metric="precomputed", alpha=alpha, engine="small")
    assert sorted(tree.object_pairs.tolist()) == [[0, 1], [0, 2], [2, 3]]


@needs_c
def test_more_ties_than_there_is_room_for_are_left_to_numpy():
    assert SmallEngine(make_problem(np.zeros((40, 1)), "complete")).levels_at_once() is None


@needs_c
def test_other_strategies_and_many_objects_are_left_to_others():
    X = tie_free(0)
    for options in ({"alpha": 0.5}, {"tie_tolerance": 0.1}):
        assert SmallEngine(make_problem(X, "average", **options)).levels_at_once() is None
    many = make_problem(np.random.default_rng(0).normal(size=(at_once.MOST_OBJECTS + 1, 1)), "average")
    assert not at_once.can_do(many)


@needs_c
@pytest.mark.parametrize("criterion", ["average", "centroid", "ward"])
def test_the_formula_in_c_is_the_one_in_python(criterion):
    """Two clusters of weights w and v, of three: the distance at which they join is the formula, bit for bit."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        weights, stored = rng.uniform(0.1, 9.0, 2), np.zeros((2, 2))
        stored[0, 1] = stored[1, 0] = rng.uniform(1.0, 100.0)
        spreads = rng.uniform(0.0, 3.0, 2)
        np.fill_diagonal(stored, spreads)
        problem = make_problem(np.array([1.0]), criterion, metric="precomputed", weights=weights)
        row = problem.criterion
        expected = distance_from_sums(stored[0, 1], *spreads, *weights, row.offset, row.by_size)
        found = at_once.levels_of_table(problem, stored)
        assert found.links.distance.tolist() == [expected]


@needs_c
def test_the_square_form_is_that_of_scipy():
    rng = np.random.default_rng(0)
    for n in (2, 3, 31, 32, 33, 64, 65, 130):
        distances = rng.random(n * (n - 1) // 2)
        np.testing.assert_array_equal(to_square(distances, n), squareform(distances))


@needs_c
def test_nodes_are_those_of_python(monkeypatch):
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 50):
        tree = reliac.cluster(rng.normal(size=(n, 2)), "ward")
        p, q = (tree.links[side] for side in ("left", "right"))
        first = np.arange(2 * n)
        for row, (a, b) in enumerate(zip(p.tolist(), q.tolist(), strict=True)):
            first[n + row] = rng.choice([first[a], first[b]])  # any object of a cluster stands for it
        arguments = n, first[p], first[q], tree.links["distance"], tree.links["level"]
        quick = tree_building.make_links(*arguments)
        with monkeypatch.context() as patch:
            patch.setattr(tree_building, "library", lambda: None)
            np.testing.assert_array_equal(quick, tree_building.make_links(*arguments))


@needs_c
def test_objects_that_do_not_exist_are_an_error_and_no_crash():
    for wrong in (-8, 5, 10**9):
        with pytest.raises(IndexError):
            tree_building.make_links(5, np.array([0, 1]), np.array([2, wrong]), np.ones(2), np.arange(1, 3))


def test_arrays_with_gaps_are_refused():
    with pytest.raises(InvariantError, match="gaps"):
        address(np.zeros(10)[::2])


# --- building ---


@pytest.fixture
def source(tmp_path):
    for path in building.FOLDER.glob("*.[ch]"):
        shutil.copy(path, tmp_path)
    return tmp_path


@needs_c
def test_the_library_is_built_anew_when_its_source_changes(source):
    first = building.build(source)
    assert first == building.library_path(source)
    with (source / "nodes.c").open("a") as file:
        file.write("\n/* changed */\n")
    second = building.library_path(source)
    assert second != first
    assert not second.exists()
    assert building.build(source) == second
    assert [path.name for path in source.iterdir() if path.suffix not in (".c", ".h")] == [second.name]


def test_without_a_compiler_the_error_says_so_and_nothing_is_left_behind(source, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(FileNotFoundError, match="no-such-compiler"):
        building.build(source)
    monkeypatch.setenv("CC", f"{sys.executable} -c exit(3)")
    with pytest.raises(subprocess.CalledProcessError):
        building.build(source)
    assert {path.suffix for path in source.iterdir()} == {".c", ".h"}


WITHOUT_LIBRARY = """
import sys
from reliac.native import building
building.library_path = lambda: building.FOLDER / "missing.library"
import numpy as np, reliac
from reliac.native.library import library
assert library() is None
X = np.random.default_rng(0).normal(size=(200, 3))
for criterion in ("single", "average", "ward"):
    np.save(sys.stdout.buffer, reliac.cluster(X, criterion).links)
    np.save(sys.stdout.buffer, reliac.linkage(X, criterion))
"""


def test_without_the_library_trees_are_the_same(tmp_path):
    path = tmp_path / "links.npy"
    with path.open("wb") as file:
        subprocess.run([sys.executable, "-c", WITHOUT_LIBRARY], check=True, stdout=file, cwd=Path(__file__).parent)
    X = np.random.default_rng(0).normal(size=(200, 3))
    with path.open("rb") as file:
        for criterion in ("single", "average", "ward"):
            np.testing.assert_array_equal(np.load(file), reliac.cluster(X, criterion).links)
            np.testing.assert_allclose(np.load(file), reliac.linkage(X, criterion), rtol=1e-12)
