"""Plain arrays of a few objects: one call of C code gives what the usual way gives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import reliac
from problems import CRITERIA, lattice
from reliac.algorithm.criteria import get_criterion
from reliac.engines.choice import choose
from reliac.errors import InvariantError
from reliac.input import fingerprints
from reliac.input.problem import make_problem
from reliac.native.library import address, library
from reliac.run import plain
from reliac.run.plain import USUAL_RULES, USUAL_RUN, linkage_of_array
from reliac.run.solve import cluster_problem
from reliac.run.standard import small_linkage
from reliac.tree import building
from reliac.tree.building import check_invariants

IN_C = pytest.mark.skipif(library() is None, reason="the package was built without a C compiler")

#: What is not plain: other types, gaps in memory, numbers that are none, other forms, too few and too many.
NOT_PLAIN = [
    pdist(np.eye(4)).astype(np.float32),
    pdist(np.eye(4)).astype(">f8"),
    np.repeat(pdist(np.eye(4)), 2)[::2],
    pdist(np.eye(4)).tolist(),
    np.full(6, np.nan),
    np.array([1.0, 1.0, np.nan, 1.0, 1.0, 1.0]),
    np.full(6, np.inf),
    -np.ones(6),
    np.full(6, 1e91),
    np.ones(5),
    np.ones(1),
    np.ones((2, 2)),
    np.ones((4, 0)),
    np.ones((0, 4)),
    squareform(pdist(np.eye(5))),
    np.ones((2, 3, 4)),
    np.ma.masked_array(np.ones(6)),
    np.ones((2000, 2)),
    np.array(1.0),
]


def tree_of_array(data, criterion, metric, alpha):
    rules = {**USUAL_RULES, "metric": metric, "alpha": alpha}
    return plain.tree_of_array(data, criterion.name, rules, USUAL_RUN)


def samples(n):
    """Vectors and their distances: without ties, and full of them."""
    for X in (np.random.default_rng(n).normal(size=(n, 5)), lattice(n, n, d=2, side=30).astype(float)):
        yield X, "euclidean"
        yield pdist(X), "precomputed"
    yield np.random.default_rng(n).normal(size=(n, n)), "euclidean"  # square, and no distances


@IN_C
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n", [3, 4, 16, 17, 60, 150])
def test_a_linkage_matrix_is_that_of_the_problem_bit_for_bit(criterion, n):
    for data, metric in samples(n):
        found = linkage_of_array(data, get_criterion(criterion), metric)
        expected = small_linkage(make_problem(data, criterion, metric=metric))
        assert (found is None) == (expected is None)  # ties of single
        assert found is None or np.array_equal(found, expected)


@IN_C
@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_linkage_matrix_has_the_links_of_one_link_at_a_time(criterion):
    """Against trees, which are built by other code: nodes, their order and their heights."""
    for seed in range(8):
        X = np.random.default_rng(seed).integers(0, 40, size=(30, 3)).astype(float)
        for data, metric in ((X, "euclidean"), (pdist(X), "precomputed")):
            tree = reliac.cluster(data, criterion, metric=metric, alpha=0.0, engine="literal")
            order = "distance" if get_criterion(criterion).reducible else "level"
            found = linkage_of_array(data, get_criterion(criterion), metric)
            assert found is None or np.allclose(found, tree.linkage_matrix(order), rtol=1e-12, atol=0.0)
        assert found is not None or criterion == "single"


@IN_C
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("n", [3, 17, 60, 150])
def test_a_tree_is_that_of_the_usual_way_in_every_field(criterion, alpha, n):
    for data, metric in samples(n):
        found = tree_of_array(data, get_criterion(criterion), metric, alpha)
        problem = make_problem(data, criterion, metric=metric, alpha=alpha)
        expected = cluster_problem(problem)
        if found is None:  # ties that are left to NumPy
            continue
        for name in ("links", "objects", "weights", "object_pairs"):
            one, other = getattr(found, name), getattr(expected, name)
            assert (one is None) == (other is None)
            assert one is None or (one.dtype == other.dtype and np.array_equal(one, other)), name
            assert one is None or not one.flags.writeable
        for name in ("names", "parameters", "engine", "reason", "fingerprint", "kept", "lists", "n_objects"):
            assert getattr(found, name) == getattr(expected, name), name
        assert found.problem.fingerprint() == problem.fingerprint()
        assert found.problem.objects.number_type == problem.objects.number_type
        assert getattr(found.problem.objects, "largest", 0) == getattr(problem.objects, "largest", 0)
        assert choose(problem).reason == found.reason


@IN_C
def test_only_calls_without_options_go_this_way(monkeypatch):
    X = np.random.default_rng(0).normal(size=(9, 2))
    usual = reliac.cluster(X, engine="small")
    monkeypatch.setattr(plain, "library", lambda: pytest.fail("a call with options went the short way"))
    for options in (
        {"n_clusters": 2},
        {"max_level": 9},
        {"max_distance": 9.0},
        {"weights": np.ones(9)},
        {"names": list("abcdefghi")},
        {"alpha": 0.5},
        {"tie_tolerance": 0.1},
        {"n_jobs": 1},
        {"engine": "small"},
        {"precision": "float32"},
        {"progress": False},
        {"keep_lists": True},
        {"max_size": 9},
    ):
        assert reliac.cluster(X, **options).n_objects == 9
    monkeypatch.undo()
    assert np.array_equal(reliac.cluster(X).links, usual.links)


@IN_C
@pytest.mark.parametrize("data", NOT_PLAIN, ids=range(len(NOT_PLAIN)))
def test_what_is_not_plain_is_left_to_who_can_complain(data):
    criterion = get_criterion("average")
    assert linkage_of_array(data, criterion, "euclidean") is None
    assert tree_of_array(data, criterion, "euclidean", 1.0) is None
    assert tree_of_array(data, criterion, "precomputed", 1.0) is None


@IN_C
def test_other_metrics_are_no_case_for_it_and_tables_of_edges_are_refused():
    X = np.random.default_rng(0).normal(size=(9, 2))
    for metric in ("cityblock", np.array([1, 2]), np.array([]), None, len):
        assert linkage_of_array(X, get_criterion("average"), metric) is None
        assert tree_of_array(X, get_criterion("average"), metric, 1.0) is None
    i, j = np.triu_indices(6, 1)
    for call in (reliac.linkage, reliac.cluster):
        with pytest.raises(ValueError, match="looks like a table of edges"):
            call(np.column_stack((i, j, np.arange(15) + 0.5)), "average")


def test_the_warning_about_distances_that_no_points_have_names_the_line_of_the_caller():
    distances = 1.0 + np.random.default_rng(0).random(4950) ** 8 * 30.0
    for call in (
        lambda: reliac.linkage(distances, "ward"),
        lambda: reliac.linkage(distances.tolist(), "ward"),
        lambda: reliac.cluster(distances, "ward", metric="precomputed"),
    ):
        with pytest.warns(reliac.NotEuclideanWarning) as caught:
            call()
        assert [warning.filename for warning in caught] == [__file__]


def test_wide_rows_have_the_distances_of_scipy_to_the_bit():
    """Columns are added up in pieces, in their order."""
    for columns in (1, 31, 32, 33, 100):
        X = np.random.default_rng(columns).normal(size=(20, columns))
        heights = reliac.linkage(X, "single")[:, 2]
        assert np.isin(heights, pdist(X)).all()


# --- twins of what is in Python ---


@IN_C
def test_the_hash_in_c_is_that_of_numpy_and_tells_numbers_and_their_order(monkeypatch):
    rng = np.random.default_rng(0)
    kinds = [rng.normal(size=n) for n in (0, 1, 2, 100, 10_001)]
    kinds += [np.array([0.0, -0.0, np.nan, np.inf]), np.arange(10.0), np.arange(10.0)[::-1], np.arange(20.0)[::2]]
    kinds += [np.arange(10), np.arange(12.0).reshape(3, 4).T, np.zeros(5), np.zeros(6)]
    in_c = [fingerprints._mixed(values) for values in kinds]
    monkeypatch.setattr(fingerprints, "library", lambda: None)
    assert in_c == [fingerprints._mixed(values) for values in kinds]
    assert len(set(in_c)) == len(in_c) - 1  # whole numbers are the same as floats
    assert fingerprints._mixed(np.array([0.0, 1.0])) == fingerprints._mixed(np.array([-0.0, 1.0]))


@IN_C
@pytest.mark.parametrize("n", [1, 2, 127, 128, 300])
def test_rows_of_distances_are_hashed_in_c_as_numpy_hashes_them(n, monkeypatch):
    """Of more than 127 objects only some rows are; both forms of a matrix have the same hash."""
    square = squareform(pdist(np.random.default_rng(n).normal(size=(n, 3)))) if n > 1 else np.zeros((1, 1))
    condensed = square[np.triu_indices(n, 1)]
    in_c = fingerprints.distances_fingerprint(condensed, n)
    monkeypatch.setattr(fingerprints, "library", lambda: None)
    assert in_c == fingerprints.distances_fingerprint(condensed, n)
    assert n == 1 or in_c == fingerprints.distances_fingerprint(square, n)


@IN_C
def test_rows_of_wide_vectors_are_hashed_in_c_as_numpy_hashes_them():
    X = np.random.default_rng(0).normal(size=(16, 300_000))
    plain_step = fingerprints.plain_step(*X.shape)
    assert plain_step > 1
    found = library().reliac_mixed(*X.shape, plain_step, address(X))
    assert fingerprints.plain_fingerprint(*X.shape, found) == fingerprints.vectors_fingerprint(X)


@IN_C
def test_links_that_c_code_finds_something_wrong_with_are_looked_at_again(monkeypatch):
    found_in_c = plain._links_in_c

    def wrong(*arguments):
        links, pairs, told = found_in_c(*arguments)
        links["size"][0], told.sound = 9, 0
        return links, pairs, told

    monkeypatch.setattr(plain, "_links_in_c", wrong)
    with pytest.raises(InvariantError, match="invariant 4"):
        reliac.cluster(np.random.default_rng(0).normal(size=(9, 2)))


@IN_C
@pytest.mark.parametrize("criterion", CRITERIA)
def test_what_may_not_be_written_to_is_clustered_all_the_same(criterion):
    X = np.random.default_rng(0).normal(size=(40, 3))
    for data, metric in ((X, "euclidean"), (pdist(X), "precomputed")):
        expected = reliac.cluster(data, criterion, metric=metric).links
        data.setflags(write=False)
        assert np.array_equal(reliac.cluster(data, criterion, metric=metric).links, expected)


@IN_C
@pytest.mark.parametrize("criterion", ["single", "average"])
def test_c_code_finds_wrong_with_links_what_numpy_finds(criterion, monkeypatch):
    rng = np.random.default_rng(0)
    tree = reliac.cluster(lattice(0, 40, d=2, side=6).astype(float), criterion)

    def fault(links, pairs):
        """What the invariants say about changed links."""
        made = object.__new__(reliac.ClusterTree)
        made.__dict__.update(tree.__dict__, links=links, object_pairs=pairs)
        try:
            check_invariants(made)
        except InvariantError as error:
            return str(error)
        return None

    assert fault(tree.links, tree.object_pairs) is None
    seen = set()
    for _ in range(600):
        links, pairs = tree.links.copy(), None if tree.object_pairs is None else tree.object_pairs.copy()
        row, name = rng.integers(len(links)), rng.choice(links.dtype.names)
        if pairs is not None and rng.random() < 0.2:
            pairs[row, rng.integers(2)] = rng.integers(-3, 50)
        elif name == "distance":
            links[name][row] = rng.choice([-1.0, np.nan, np.inf, 0.0, 3.0, links[name][row]])
        else:
            links[name][row] += rng.integers(-3, 4)
        by_c = fault(links, pairs)
        with monkeypatch.context() as patch:
            patch.setattr(building, "library", lambda: None)
            assert fault(links, pairs) == by_c
        seen.add(by_c and by_c[:11])
    assert {None, "invariant 1", "invariant 2", "invariant 3", "invariant 4"} <= seen
    assert ("invariant 5" in seen) == (criterion == "single")
