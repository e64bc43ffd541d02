"""The fast engines at sizes where lists run dry, radii tie and contraction happens several times."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import reliac
from problems import ALPHAS, CRITERIA, GEOMETRIC, blobs, grid, lattice
from references import FAST, cluster_squares, literal_tree, problem_of_squares, takers, takers_of_each
from reliac.algorithm.contract import TooManyTies
from reliac.engines.choice import choose, get_engine
from reliac.engines.compiled.ready import writable_folder
from reliac.native.library import library

#: Pairs (engine, criterion) that can be run. Which they are is a test of the conformance suite.
OF_VECTORS = takers_of_each(CRITERIA, blobs(0, n=8), FAST)
OF_DISTANCES = takers_of_each(CRITERIA, squareform(pdist(blobs(0, n=8))), FAST, metric="precomputed")
TOLERANT = takers_of_each(CRITERIA, blobs(0, n=8), FAST, tie_tolerance=0.05)


def run_by(takers):
    """Run a test with the engines and criteria of some pairs."""
    return pytest.mark.parametrize(("engine", "criterion"), takers)


def growing_gaps(n=400):
    return np.cumsum(1.01 ** np.arange(n))[:, None]


def shrinking_gaps(n=400):
    return growing_gaps(n)[::-1].copy()


def noise(n=500, d=128):
    return np.random.default_rng(5).normal(size=(n, d))


def duplicates(n=600):
    return np.random.default_rng(6).integers(0, 3, size=(n, 3)).astype(float)


def two_far_clusters(n=400):
    rng = np.random.default_rng(7)
    return np.where(np.arange(n) % 2, 0.0, 1000.0)[:, None] + rng.integers(0, 4, size=(n, 2))


WHOLE = {
    "lattice": lambda: lattice(3, n=900, d=3, side=12),
    "duplicates": duplicates,
    "two far clusters": two_far_clusters,
}
REAL = {
    "blobs": lambda: blobs(3, n=900, d=6),
    "noise": noise,
    "growing gaps": growing_gaps,
    "shrinking gaps": shrinking_gaps,
    "tight clusters far apart": lambda: blobs(4, n=700, d=5) * 1e-3 + np.arange(700)[:, None] % 7 * 1e4,
}


def cases(problems):
    return [
        pytest.param(engine, criterion, make, id=f"{engine}-{criterion}-{name}")
        for name, make in problems.items()
        for engine, criterion in takers_of_each(CRITERIA, make(), FAST)
    ]


def few_if_parts_count_alike(X, criterion):
    """Shares of equal parts are exact while their denominators fit into a float: for fewer objects."""
    return X[:120] if criterion in ("weighted", "median") else X


def both(engine, X, criterion, **options):
    return cluster_squares(X, criterion, engine=engine, **options), literal_tree(X, criterion, **options)


def assert_same_tree(fast, literal, rtol=1e-9):
    for field in ("left", "right", "level"):
        np.testing.assert_array_equal(fast.links[field], literal.links[field], err_msg=fast.engine)
    np.testing.assert_allclose(fast.links["distance"], literal.links["distance"], rtol=rtol)


@pytest.mark.parametrize(("engine", "criterion", "make"), cases(WHOLE))
def test_whole_numbers_give_the_literal_engines_links_bit_for_bit(engine, criterion, make):
    fast, literal = both(engine, few_if_parts_count_alike(make(), criterion), criterion)
    assert np.array_equal(fast.links, literal.links)


@pytest.mark.parametrize(("engine", "criterion", "make"), cases(REAL))
def test_real_numbers_give_the_literal_engines_tree(engine, criterion, make):
    # 1e-6: coordinates of 1e4 hold spreads of 1e-3 to nine digits only
    assert_same_tree(*both(engine, make(), criterion), rtol=1e-6)


@run_by(takers_of_each(["ward", "average", "centroid", "complete", "single"], blobs(3, n=8, d=4), FAST))
@pytest.mark.parametrize("shift", [1e8, -3e6])
def test_data_far_from_the_origin_give_the_tree_of_the_data_near_it(engine, criterion, shift):
    X = np.round(blobs(3, n=500, d=4) * 64) / 64  # fractions that the shift does not round
    near, literal = both(engine, X, criterion)
    far = cluster_squares(X + shift, criterion, engine=engine)
    assert np.array_equal(far.links["left"], literal.links["left"])
    np.testing.assert_allclose(far.links["distance"], near.links["distance"], rtol=1e-9)


@run_by(takers_of_each(["ward", "single"], blobs(3, n=8, d=4), FAST))
@pytest.mark.parametrize("scale", [1e-120, 1e60])
def test_the_scale_of_the_data_does_not_matter(engine, criterion, scale):
    X = blobs(3, n=400, d=4)
    fast = cluster_squares(X, criterion, engine=engine)
    scaled = cluster_squares(X * scale, criterion, engine=engine)
    assert np.array_equal(fast.links["left"], scaled.links["left"])


@run_by(OF_VECTORS)
def test_one_and_two_threads_give_the_same_bits(engine, criterion, monkeypatch):
    monkeypatch.setattr("reliac.engines.lists.engine.WORTH_THREADS", 0)
    X = blobs(8, n=900, d=8)
    one = cluster_squares(X, criterion, engine=engine, n_jobs=1)
    for jobs in (2, 3, -1):
        assert np.array_equal(one.links, cluster_squares(X, criterion, engine=engine, n_jobs=jobs).links)


@run_by(OF_VECTORS)
@pytest.mark.parametrize(
    "options",
    [*({"alpha": alpha} for alpha in ALPHAS[:-1]), {"n_clusters": 7}, {"max_level": 3}, {"max_distance": 9.0}],
)
def test_alpha_and_early_stopping_hold_at_size(engine, criterion, options):
    X = few_if_parts_count_alike(lattice(4, n=400, d=3, side=9), criterion)
    fast, literal = both(engine, X, criterion, **options)
    assert np.array_equal(fast.links, literal.links)


@run_by(OF_VECTORS)
def test_weights_hold_at_size(engine, criterion):
    X = few_if_parts_count_alike(lattice(4, n=400, d=3, side=9), criterion)
    weights = np.random.default_rng(4).integers(1, 4, size=len(X))
    fast, literal = both(engine, X, criterion, weights=weights)
    assert np.array_equal(fast.links, literal.links)


@run_by(TOLERANT)
def test_a_tie_tolerance_holds_at_size(engine, criterion):
    fast, literal = both(engine, blobs(4, n=400), criterion, tie_tolerance=0.05)
    assert np.array_equal(fast.links["level"], literal.links["level"])
    np.testing.assert_allclose(fast.links["distance"], literal.links["distance"], rtol=1e-9)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("form", ["square", "condensed"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_given_whole_distances_give_the_literal_engines_links_bit_for_bit(criterion, form, kind):
    D = pdist(few_if_parts_count_alike(lattice(5, n=700, d=3, side=40), criterion), "cityblock").astype(kind)
    given = D if form == "condensed" else squareform(D)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", reliac.NotEuclideanWarning)
        for engine in takers(given, criterion, FAST, metric="precomputed"):
            fast, literal = both(engine, given, criterion, metric="precomputed")
            if criterion in GEOMETRIC:  # squares of distances that no points have: sums are exact, quotients too
                assert np.array_equal(fast.links["level"], literal.links["level"])
            assert np.array_equal(fast.links, literal.links)


@pytest.mark.parametrize("form", ["square", "condensed", "vectors"])
@pytest.mark.parametrize("make", [noise, growing_gaps, lambda: blobs(3, n=700, d=6)], ids=["noise", "gaps", "blobs"])
@pytest.mark.parametrize("criterion", [name for name in CRITERIA if name != "single"])
def test_a_matrix_of_ones_own_is_kept_in_place_and_a_given_one_is_left_alone(criterion, form, make):
    """Noise and gaps let one cluster swallow the others one by one: its rows are many, so contraction comes early."""
    X = make()
    D = pdist(X)
    given = {"square": squareform(D), "condensed": D, "vectors": X}[form]
    before, metric = given.copy(), "euclidean" if form == "vectors" else "precomputed"
    tree = cluster_squares(given, criterion, metric=metric, engine="matrix")
    assert_same_tree(tree, literal_tree(X if form == "vectors" else D, criterion, metric=metric))
    assert np.array_equal(given, before)


@run_by([(engine, criterion) for engine, criterion in OF_DISTANCES if criterion not in GEOMETRIC])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_given_distances_of_zero_need_not_mean_equal_objects(engine, criterion, alpha):
    """Two sets of thirty, all 0 apart inside, with one 0 between them: rounded distances can be so."""
    D = np.full((60, 60), 5.0)
    D[:30, :30] = D[30:, 30:] = D[10, 40] = D[40, 10] = 0.0
    fast, literal = both(engine, D, criterion, metric="precomputed", alpha=alpha)
    assert np.array_equal(fast.links, literal.links)
    points = np.random.default_rng(3).normal(size=(205, 2))
    fast, literal = both(engine, np.rint(pdist(points) ** 2), criterion, metric="precomputed", alpha=alpha)
    assert np.array_equal(fast.links["level"], literal.links["level"])
    assert np.array_equal(fast.labels(level=1), literal.labels(level=1))


@run_by(OF_VECTORS)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_many_equal_rows_give_the_literal_engines_links_bit_for_bit(engine, criterion, alpha):
    X = np.repeat([[0.0], [1.0], [3.0], [70.0]], [60, 2, 45, 1], axis=0)[np.random.default_rng(1).permutation(108)]
    fast, literal = both(engine, X, criterion, alpha=alpha)
    assert np.array_equal(fast.links, literal.links)


def crowded(n=300):
    """Rows that repeat up to a hundred times, among others that do not."""
    rng = np.random.default_rng(9)
    X = rng.integers(0, 40, size=(n, 2)).astype(float)
    X[rng.random(n) < 0.4] = [7.0, 7.0]
    X[rng.random(n) < 0.2] = [7.0, 8.0]
    return X


@pytest.mark.parametrize("engine", ["vectors", "spatial"])
@pytest.mark.parametrize(
    ("criterion", "metric"), [("ward", "euclidean"), ("centroid", "euclidean"), ("average", "sqeuclidean")]
)
@pytest.mark.parametrize(
    "options",
    [{}, {"n_clusters": 250}, {"n_clusters": 40}, {"max_level": 1}, {"max_distance": 0.0}, {"tie_tolerance": 1e-9}],
    ids=str,
)
def test_equal_rows_among_others_give_the_literal_engines_links_bit_for_bit(engine, criterion, metric, options):
    fast, literal = both(engine, crowded(), criterion, metric=metric, **options)
    assert np.array_equal(fast.links, literal.links)


@run_by(OF_VECTORS)
@pytest.mark.parametrize("options", [{}, {"n_clusters": 70}, {"max_level": 20}, {"max_level": 60}], ids=str)
def test_one_link_at_a_time_equal_rows_come_first(engine, criterion, options):
    fast, literal = both(engine, few_if_parts_count_alike(crowded(), criterion), criterion, alpha=0.0, **options)
    for field in ("left", "right", "level"):
        np.testing.assert_array_equal(fast.links[field], literal.links[field])


@pytest.mark.parametrize("engine", ["vectors", "matrix", "dense"])
def test_progress_tells_of_equal_rows_too(engine):
    told = []
    cluster_squares(np.zeros((300, 2)), "ward", alpha=0.0, engine=engine, progress=told.append)
    assert [(state.level, state.n_clusters) for state in told] == [(299, 1)]


@pytest.mark.parametrize("engine", ["vectors", "spatial", "matrix"])
@pytest.mark.parametrize("options", [{"max_level": 0}, {"n_clusters": 300}], ids=str)
def test_a_run_that_stops_before_it_starts_searches_nothing(engine, options):
    run = get_engine(engine)(problem_of_squares(crowded(), "ward", **options))
    assert list(run.levels(0)) == []
    assert run.searches == 0


@pytest.mark.parametrize("engine", ["vectors", "spatial", "matrix"])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_rows_too_near_to_be_told_from_equal_ones_join_with_them(engine, alpha):
    X = crowded()
    first = np.flatnonzero((X == [7.0, 7.0]).all(axis=1))
    X -= 7.0
    X[0], X[first[3]] = 1e-170, -1e-170  # their squares are 0
    fast, literal = both(engine, X, "ward", alpha=alpha)
    assert np.array_equal(fast.links, literal.links)


@pytest.mark.parametrize("engine", ["vectors", "spatial"])
@pytest.mark.parametrize("places", [1, 2, 30])
def test_rows_that_repeat_are_searched_once(engine, places):
    X = np.random.default_rng(2).integers(0, places, size=(3000, 1)) * np.array([[1.0, 3.0]])
    run = get_engine(engine)(problem_of_squares(X, "ward"))
    links = [link for batch in run.levels(0) for link in batch.links.p]
    assert len(links) == len(X) - 1
    assert run.searches < 20 * places


@pytest.mark.parametrize(
    ("engine", "criterion", "metric", "alpha", "seed"),
    [
        ("vectors", "average", "cosine", 0.5, 5),
        ("spatial", "average", "cosine", 1.0, 72),
        ("spatial", "average", "cosine", 0.5, 91),
        ("matrix", "weighted", "euclidean", 0.5, 99),
    ],
)
def test_ties_that_rounding_has_broken_make_no_group_of_several_distances(engine, criterion, metric, alpha, seed):
    X = np.random.default_rng(seed).integers(0, 4, size=(150, 4)) * 0.3 + 1
    tree = cluster_squares(X, criterion, metric=metric, engine=engine, alpha=alpha)  # a tree checks itself
    assert tree.n_clusters == 1


def test_cosine_average_needs_no_matrix():
    X = np.abs(blobs(2, n=600, d=8)) + 0.1
    fast = cluster_squares(X, "average", metric="cosine", engine="vectors")
    literal = cluster_squares(X, "average", metric="cosine", engine="literal")
    assert np.array_equal(fast.links["left"], literal.links["left"])
    np.testing.assert_allclose(fast.links["distance"], literal.links["distance"], rtol=1e-9)


@pytest.mark.parametrize("criterion", ["ward", "complete"])
def test_a_run_that_ties_overwhelm_goes_on_with_the_literal_engine(criterion, monkeypatch):
    monkeypatch.setattr("reliac.engines.lists.engine.ListEngine.give_room", _no_room)
    X = np.repeat(np.arange(30.0), 20)[:, None]
    engine = "vectors" if criterion == "ward" else "matrix"
    tree = cluster_squares(X, criterion, engine=engine)
    assert np.array_equal(tree.links, cluster_squares(X, criterion, engine="literal").links)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("make", [lambda: np.ones((90, 90)) - np.eye(90), lambda: _two_values(90)], ids=["all", "most"])
def test_ties_beyond_number_are_thinned_out_without_changing_a_link(criterion, alpha, make, monkeypatch):
    options = {"metric": "precomputed", "alpha": alpha, "engine": "literal"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", reliac.NotEuclideanWarning)
        plain = cluster_squares(make(), criterion, **options)
        monkeypatch.setattr("reliac.engines.literal.MANY_TIES", 2)
        monkeypatch.setattr("reliac.engines.literal.BLOCK", 500)
        assert np.array_equal(cluster_squares(make(), criterion, **options).links, plain.links)


def test_a_link_that_becomes_reliable_after_thinning_is_not_lost():
    """p ties with q1 and q2; q2 is free for p when its own nearest has gone elsewhere, while q1 does not change."""
    names, block = ["q1", "p", "q2", "z2", "w2", "z1", "y1", "x1", "v1", "u1"], 200
    k, n = len(names), len(names) + block
    D = np.full((n, n), 100.0)
    D[k:, k:] = 5.0  # ties enough to be thinned out
    near = {
        ("q1", "p"): 10, ("q2", "p"): 10, ("q1", "z1"): 9, ("z1", "y1"): 8, ("y1", "x1"): 7, ("x1", "v1"): 6,
        ("v1", "u1"): 5.5, ("q2", "z2"): 9, ("z2", "w2"): 8, ("q2", "w2"): 20,
    }  # fmt: skip
    for (a, b), distance in near.items():
        i, j = names.index(a), names.index(b)
        D[i, j] = D[j, i] = distance
    np.fill_diagonal(D, 0.0)
    for criterion in ("complete", "average"):
        literal = cluster_squares(D, criterion, metric="precomputed", engine="literal")
        matrix = cluster_squares(D, criterion, metric="precomputed", engine="matrix")
        assert np.array_equal(literal.links, matrix.links)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("criterion", ["complete", "average", "ward", "single"])
def test_thinning_changes_no_level_of_distances_full_of_ties(criterion, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    D = np.triu(rng.integers(1, 2 + seed % 5, size=(60, 60)), 1).astype(float)
    D += D.T
    options = {"metric": "precomputed", "engine": "literal", "alpha": float(seed % 2)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", reliac.NotEuclideanWarning)
        plain = cluster_squares(D, criterion, **options)
        monkeypatch.setattr("reliac.engines.literal.MANY_TIES", 0)
        monkeypatch.setattr("reliac.engines.literal.BLOCK", 300)
        assert np.array_equal(cluster_squares(D, criterion, **options).links, plain.links)


@pytest.mark.parametrize("criterion", ["ward", "centroid", "median", "average", "complete"])
@pytest.mark.parametrize("engine", ["matrix", "dense"])
def test_whole_distances_in_float32_tie_exactly_after_contractions(engine, criterion):
    gap, k = np.random.default_rng(0).integers(1, 500, 300), np.arange(300) * 5003.0
    D = squareform(pdist(np.stack((k - gap, k + gap), 1).reshape(-1, 1))).astype(np.float32)  # exact in float32
    fast, literal = both(engine, D, criterion, metric="precomputed")
    assert np.array_equal(fast.links, literal.links)


@pytest.mark.parametrize("order", ["F", "read-only", "every second"])
def test_any_layout_of_a_given_matrix_gives_the_same_tree(order):
    D = squareform(pdist(blobs(2, n=400, d=3)))
    given = {"F": np.asfortranarray(D), "read-only": D.copy(), "every second": np.repeat(np.repeat(D, 2, 0), 2, 1)}[
        order
    ]
    if order == "every second":
        given = given[::2, ::2]
    given.flags.writeable = order != "read-only"
    for criterion in ("complete", "centroid"):
        fast = cluster_squares(given, criterion, metric="precomputed", engine="matrix")
        literal = literal_tree(D, criterion, metric="precomputed")
        assert np.array_equal(fast.links["left"], literal.links["left"])
        np.testing.assert_allclose(fast.links["distance"], literal.links["distance"], rtol=1e-9)


def _two_values(n):
    """Distances 1 and 2 at random: every object has many nearest neighbours, who have others."""
    D = np.triu(np.random.default_rng(1).integers(1, 3, size=(n, n)), 1).astype(float)
    return D + D.T


def _no_room(self, slot, length):
    if length > self.lists.room[slot]:
        raise TooManyTies("no room in this test")


@pytest.mark.parametrize(
    ("criterion", "metric", "d", "wanted"),
    [
        ("ward", "sqeuclidean", 64, "vectors"),
        ("average", "cosine", 64, "vectors"),
        ("complete", "euclidean", 4, "matrix"),
        ("average", "sqeuclidean", 4000, "matrix"),
    ],
)
def test_auto_chooses_by_criterion_and_metric(criterion, metric, d, wanted):
    choice = choose(problem_of_squares(np.random.default_rng(0).random((3000, d)), criterion, metric=metric))
    assert choice.engine.name == wanted


def test_the_choice_does_not_depend_on_what_the_process_or_the_machine_did_before(tmp_path):
    """Before and after a process compiles all that: test_kept_code.py."""
    first = (
        "import sys, numpy as np, reliac\n"
        "X = np.random.default_rng(0).random((700, 3))\n"
        "print(*{reliac.cluster(X, 'complete').engine for _ in range(12)}, end=' ')\n"
        "assert 'numba' not in sys.modules\n"
    )
    later = (
        "reliac.cluster(X[:30], 'complete', engine='dense')\n"
        "print(*{reliac.cluster(X, 'complete').engine for _ in range(3)}, end=' ')\n"
        "reliac.cluster(X, 'complete', engine='dense')\n"
        "print(reliac.cluster(X, 'complete').engine)"
    )

    def engines(code):
        env = {**os.environ, "RELIAC_CACHE": str(tmp_path), "RELIAC_KEEP_COMPILED": "1"}
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stdout

    assert engines(first).split() == ["small"]  # the machine has nothing
    reliac.warmup("dense", n_jobs=1)
    if (folder := writable_folder()) is not None:  # what this process has compiled, and no note of it
        shutil.copytree(folder, tmp_path / "compiled" / folder.name, dirs_exist_ok=True)
    assert not list(tmp_path.rglob("dense-*"))
    for _ in range(2):  # after the first process it is noted that the machine has the dense engine
        assert engines(first + later).split() == ["small"] * 3
        assert list(tmp_path.rglob("dense-*"))


@pytest.mark.parametrize("engine", ["dense", "matrix"])
@pytest.mark.parametrize("metric", ["mahalanobis", "seuclidean"])
def test_compiled_code_is_loaded_with_made_up_objects_whatever_the_metric_needs(engine, metric, monkeypatch):
    monkeypatch.setattr("reliac.engines.compiled.loading._loaded", set())
    X = np.random.default_rng(0).normal(size=(300, 30))
    X[:200, 0] = 0.0  # the first rows alone have no variance here, and are too few for a covariance
    tree, literal = (cluster_squares(X, "average", metric=metric, engine=name) for name in (engine, "literal"))
    assert np.allclose(tree.links["distance"], literal.links["distance"])


def test_a_run_that_makes_no_level_does_not_count_as_compiled(tmp_path):
    code = "import numpy as np, reliac; reliac.cluster(np.eye(30), 'single', engine='spanning', max_level=0)"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "RELIAC_CACHE": str(tmp_path)})
    assert not list(tmp_path.rglob("spanning-*"))


def test_a_dense_run_that_pauses_goes_on_where_it_was(monkeypatch):
    at_once = cluster_squares(blobs(2, n=300), "median", engine="dense")
    monkeypatch.setattr("reliac.engines.dense.engine.NUMBERS_BEFORE_PAUSE", 0)
    told = []
    paused = cluster_squares(blobs(2, n=300), "median", engine="dense", progress=told.append)
    assert len(told) == paused.n_levels
    assert np.array_equal(paused.links, at_once.links)


@pytest.mark.usefixtures("two_cores")
def test_auto_goes_to_disk_when_memory_is_short_and_to_an_error_when_disk_is_too(monkeypatch):
    problem = problem_of_squares(blobs(1, n=3000), "complete")
    monkeypatch.setattr("reliac.engines.choice.free_memory", lambda: 5 * 10**7)
    monkeypatch.setattr("reliac.engines.matrix.engine.MatrixEngine.memory", staticmethod(lambda problem: 2**40))
    assert choose(problem).engine.name == "disk"
    monkeypatch.setattr("reliac.engines.choice.LITTLE", 0)
    monkeypatch.setattr("reliac.engines.choice.free_memory", lambda: 2**20)
    with pytest.raises(MemoryError, match=r"^Complete of .* 3000 objects needs about .*\nNext: cluster a sample"):
        choose(problem)


def test_an_engine_that_cannot_do_a_problem_says_which_can():
    with pytest.raises(ValueError, match=r"cannot do this: .*engines literal, .*matrix"):
        cluster_squares(blobs(1), "complete", engine="vectors")


# --- levels of more than 512 new clusters, which are done in threads ---


def hubs():
    """Distances whose levels of complete linkage are thick, thin, thick: a hub keeps all who follow it waiting."""
    n, pairs, followers = 2405, np.arange(1200), np.arange(1200, 2400)
    g1, g2, h, k, m = range(2400, 2405)
    D = np.full((n, n), 100.0)
    near = [
        (g1, g2, 1.0), (h, g1, 5.0), (h, g2, 5.0), (m, h, 6.0), (k, m, 7.0),
        (pairs[::2], pairs[1::2], 1.0), (pairs, k, 20.0), (followers, h, 10.0), (followers[::2], followers[1::2], 15.0),
        *((pairs[i::4], pairs[j::4], 30.0) for i in (0, 1) for j in (2, 3)),
    ]  # fmt: skip
    for a, b, distance in near:
        D[a, b] = D[b, a] = distance
    np.fill_diagonal(D, 0.0)
    return D


def test_thick_and_thin_levels_take_turns():
    literal = cluster_squares(hubs(), "complete", metric="precomputed", engine="literal")
    assert (-np.diff(literal.cluster_counts)).tolist() == [601, 1, 601, 901, 300]
    for n_jobs in (1, 2, 3):
        matrix = cluster_squares(hubs(), "complete", metric="precomputed", engine="matrix", n_jobs=n_jobs)
        assert np.array_equal(matrix.links, literal.links)


THICK = {
    "a few ties": lambda: lattice(1, n=2600, d=2, side=1500),
    "more ties than clusters": lambda: grid(48),
    "none": lambda: np.random.default_rng(2).permutation(1 << 22)[: 2 * 2600].reshape(2600, 2).astype(float),
}


@pytest.mark.parametrize("make", THICK.values(), ids=THICK)
@pytest.mark.parametrize("criterion", ["ward", "average", "centroid", "complete"])
def test_thick_levels_give_the_literal_engines_tree(criterion, make):
    X = make()
    literal = cluster_squares(X, criterion, engine="literal")
    assert -np.diff(literal.cluster_counts)[0] > 512
    for engine in takers(X, criterion, ("vectors", "spatial", "matrix")):
        for n_jobs in (1, 3):
            assert_same_tree(cluster_squares(X, criterion, engine=engine, n_jobs=n_jobs), literal)


@pytest.mark.parametrize("options", [{"alpha": 0.7}, {"n_clusters": 1900}, {"max_distance": 40.0}, {"max_level": 1}])
def test_thick_levels_that_are_cut_give_the_literal_engines_tree(options):
    X = lattice(1, n=2600, d=2, side=1500)
    literal = cluster_squares(X, "ward", engine="literal", **options)
    for engine in ("vectors", "spatial", "matrix"):
        assert_same_tree(cluster_squares(X, "ward", engine=engine, **options), literal)


# --- one link at a time, where many distances are equal ---


@pytest.mark.parametrize("engine", ["matrix", "vectors"])
def test_one_link_at_a_time_a_run_that_ties_overwhelm_goes_on_with_the_dense_engine(engine, monkeypatch):
    monkeypatch.setattr("reliac.engines.lists.engine.FEW_TIES", 0)
    X = np.eye(40)  # all distances are equal
    literal = cluster_squares(X, "ward", engine="literal", alpha=0.0)
    tree = cluster_squares(X, "ward", engine=engine, alpha=0.0)
    assert np.array_equal(tree.links, literal.links)
    assert "dense" in tree.engine
    monkeypatch.setattr("reliac.engines.choice.free_memory", lambda: 0)  # the dense engine does not fit
    monkeypatch.setattr("reliac.engines.choice.LITTLE", 2**40)
    tree = cluster_squares(X, "ward", engine=engine, alpha=0.0)
    assert np.array_equal(tree.links, literal.links)
    assert "literal" in tree.engine


@pytest.mark.parametrize(
    ("criterion", "alpha", "digits", "name"),
    [
        ("average", 0.0, 0, "dense"),
        ("average", 0.0, 9, "matrix"),
        ("average", 1.0, 0, "matrix"),
        ("centroid", 0.0, 9, "dense"),
        ("average", 1.0, 9, "folding" if library() else "matrix"),
        ("centroid", 1.0, 9, "dense"),
        ("centroid", 0.5, 9, "matrix"),
    ],
)
def test_auto_takes_a_whole_matrix_where_lists_do_badly(criterion, alpha, digits, name):
    D = np.round(pdist(np.random.default_rng(0).random((2500, 3)) * 20), digits)
    assert choose(problem_of_squares(D, criterion, metric="precomputed", alpha=alpha)).engine.name == name


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("criterion", [name for name in CRITERIA if name != "single"])
def test_one_link_at_a_time_distances_full_of_ties_give_the_literal_engines_links(criterion, most):
    D = np.random.default_rng(most).integers(1, most + 1, size=90 * 89 // 2).astype(float)
    options = {"metric": "precomputed", "alpha": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", reliac.NotEuclideanWarning)
        literal = cluster_squares(D, criterion, engine="literal", **options)
        for engine in ("dense", "matrix"):
            assert_same_tree(cluster_squares(D, criterion, engine=engine, **options), literal)
