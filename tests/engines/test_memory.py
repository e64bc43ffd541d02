"""What engines say that they need is what they take; what cannot fit is refused before it starts, in two lines."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import reliac
from graphs import random_edges
from problems import CRITERIA, blobs, lattice
from references import cluster_squares, takers_of_each
from reliac.cli import main
from reliac.engines.choice import ENGINES, choose, get_engine
from reliac.engines.graph import contraction
from reliac.errors import DoesNotFit
from reliac.input.edges import make_graph
from reliac.input.problem import make_problem
from reliac.machine import check_memory
from reliac.native.library import library

pytestmark = pytest.mark.usefixtures("two_cores")

#: An estimate is at least this share of what is taken, and at most so many times as much, but for ...
LEAST, MOST = 0.8, 3.2

#: ... so many bytes that any call takes.
ANY_CALL = 10**5


def noise(n, d=4):
    return np.random.default_rng(n).normal(size=(n, d))


def taken(engine, problem):
    """The most memory that a run holds at once, of what Python is told of: all arrays.

    Of three runs the one with the least counts: what a run needs it takes every time; a thread that an earlier test
    left behind, still compiling, takes something once.
    """
    run_through(engine, problem)  # what is compiled and imported is there from now on
    gc.collect()
    peaks = []
    for _ in range(3):
        gc.collect(1)  # what the run before left: all else was looked through above
        tracemalloc.start()
        with pytest.MonkeyPatch.context() as patch:
            before = watch_shrinking(patch)
            run_through(engine, problem)
        peaks.append(max([*before, tracemalloc.get_traced_memory()[1]]))
        tracemalloc.stop()
    return min(peaks)


def watch_shrinking(patch):
    """Note the peaks before arrays shrink: from 2.5 on NumPy tells Python of the smaller block before it takes the
    larger one from the books, though the two are one place in memory."""
    peaks = []

    def shrink(array, entries):
        peaks.append(tracemalloc.get_traced_memory()[1])
        usual(array, entries)
        tracemalloc.reset_peak()

    usual = contraction.shrink
    patch.setattr(contraction, "shrink", shrink)
    return peaks


def run_through(engine, problem):
    for _ in get_engine(engine)(problem).levels(0):
        pass


RUNS = [
    *(("literal", criterion, n, 4) for criterion in ("single", "complete", "average", "ward") for n in (27, 300, 900)),
    *(("dense", criterion, n, 4) for criterion in ("complete", "ward") for n in (27, 300, 900)),
    *((engine, "average", n, 4) for engine in ("matrix", "disk") for n in (27, 300, 2500)),
    *(("vectors", "ward", n, d) for n, d in ((27, 4), (300, 64), (5000, 8), (2000, 200))),
    *(("spatial", "ward", n, 4) for n in (27, 300, 8000)),
    *(("spanning", "single", n, d) for n, d in ((27, 4), (300, 4), (1500, 4), (5000, 20), (20000, 2))),
]


@pytest.mark.parametrize(("engine", "criterion", "n", "d"), RUNS)
def test_estimates_follow_what_a_run_takes_for_few_objects_and_for_many(engine, criterion, n, d):
    problem = make_problem(noise(n, d), criterion)
    estimate, peak = get_engine(engine).memory(problem), taken(engine, problem)
    assert LEAST * peak - ANY_CALL <= estimate <= MOST * peak + ANY_CALL


#: Of single one cluster takes in all others of such a graph, and is read again and again: it has fewer objects.
GRAPH_SIZES = [(27, 60), (300, 2000), (5000, 40_000), (5000, 200_000)]
GRAPH_RUNS = [
    *(("single", float, n, m) for n, m in (*GRAPH_SIZES, (15_000, 60_000))),
    *(("average", kind, n, m) for kind in (float, np.float32) for n, m in (*GRAPH_SIZES, (50_000, 200_000))),
]


@pytest.mark.parametrize(("criterion", "kind", "n", "m"), GRAPH_RUNS)
def test_estimates_follow_what_a_run_on_a_graph_takes(n, m, criterion, kind):
    a, b, distance = random_edges(n, m, 10**6, 0)
    graph = make_graph((a, b, np.asarray(distance, kind)), objects=range(n))
    problem = make_problem(graph, criterion, metric="precomputed")
    estimate, peak = get_engine("graph").memory(problem), taken("graph", problem)
    assert LEAST * peak - ANY_CALL <= estimate <= MOST * peak + ANY_CALL


@pytest.mark.parametrize(
    ("engine", "criterion", "n"),
    [("matrix", "average", 2500), ("vectors", "ward", 5000), ("spatial", "ward", 8000), ("spanning", "single", 5000)],
)
def test_estimates_hold_on_a_machine_with_many_cores(cores, engine, criterion, n):
    cores(16)
    problem = make_problem(noise(n), criterion)
    assert LEAST * taken(engine, problem) - ANY_CALL <= get_engine(engine).memory(problem)


@pytest.mark.parametrize("criterion", ["single", "average"])
def test_estimates_of_graphs_hold_on_a_machine_with_many_cores(cores, criterion):
    cores(16)
    graph = make_graph(random_edges(5000, 40_000, 10**6, 0), objects=range(5000))
    problem = make_problem(graph, criterion, metric="precomputed")
    assert LEAST * taken("graph", problem) - ANY_CALL <= get_engine("graph").memory(problem)


@pytest.mark.parametrize("criterion", ["single", "average", "complete"])
@pytest.mark.parametrize(("form", "near"), [("sorted", 40), ("in any order", 20), ("float32", 20)])
def test_edges_of_16_bytes_or_12_take_at_most_three_times_their_memory(criterion, form, near):
    n, rng = 5000, np.random.default_rng(0)  # on a circle, all have an edge to those that follow
    a, b = np.repeat(np.arange(n), near), (np.arange(n)[:, None] + np.arange(1, near + 1)).ravel() % n
    key = np.sort(np.minimum(a, b) * n + np.maximum(a, b))
    edges = (key // n).astype(np.int32), (key % n).astype(np.int32), rng.random(len(key))
    if form == "in any order":
        order = rng.permutation(len(key))
        edges = tuple(column[order] for column in edges)
    if form == "float32":
        edges = (*edges[:2], edges[2].astype(np.float32))
    reliac.cluster_edges(edges, criterion, objects=range(n))
    tracemalloc.start()
    reliac.cluster_edges(edges, criterion, objects=range(n), n_jobs=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 3 * sum(column.nbytes for column in edges)


@pytest.mark.parametrize(("engine", "criterion"), takers_of_each(CRITERIA, blobs(0, n=8)))
def test_no_estimate_has_a_part_that_a_few_objects_do_not_need(engine, criterion):
    assert get_engine(engine).memory(make_problem(noise(27), criterion, metric="sqeuclidean")) < 2**20


def test_the_disk_engine_does_27_objects_where_little_is_free(monkeypatch):
    monkeypatch.setattr("reliac.engines.choice.free_memory", lambda: 2 * 2**27 // 10)
    monkeypatch.setattr("reliac.engines.choice.LITTLE", 0)
    assert reliac.cluster(noise(27), "complete", engine="disk").engine == "disk"


# --- the message ---


@pytest.fixture
def short(monkeypatch):
    """Let so many bytes be free."""

    def be_free(size):
        monkeypatch.setattr("reliac.engines.choice.free_memory", lambda: size)
        monkeypatch.setattr("reliac.engines.choice.LITTLE", 0)
        monkeypatch.setattr("reliac.machine.free_memory", lambda: size)
        monkeypatch.setattr("reliac.engines.matrix.disk.shutil.disk_usage", lambda path: NO_DISK)

    return be_free


class NO_DISK:
    free = 0


def lines_of(X, criterion, **options):
    with pytest.raises(DoesNotFit) as refused:
        reliac.cluster(X, criterion, **options)
    told = str(refused.value).splitlines()
    assert len(told) == 2
    return told, refused.value.details


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_average_is_told_which_metrics_need_no_matrix(short, metric):
    short(10 * 2**20)
    (what, step), details = lines_of(noise(3000), "average", metric=metric)
    assert what.startswith(f"Average of '{metric}' distances of 3000 objects needs about ")
    assert what.endswith("MiB, and 10.0 MiB are free.")
    assert step == "Next: use metric='sqeuclidean' or metric='cosine', which need no matrix."
    assert "not matrix: it needs" in details
    assert "not disk: " in details


@pytest.mark.parametrize("criterion", ["weighted", "complete"])
def test_other_criteria_are_told_of_average_as_well(short, criterion):
    short(10 * 2**20)
    step = lines_of(noise(3000), criterion)[0][1]
    expected = "Next: use criterion='average' with metric='sqeuclidean' or metric='cosine', which need no matrix."
    assert step == expected


def test_the_step_that_is_named_does_fit(short):
    short(10 * 2**20)
    reliac.cluster(noise(3000), "average", metric="sqeuclidean")


def test_float32_vectors_are_told_of_a_float32_matrix_where_that_fits(short):
    short(70 * 2**20)
    X = noise(3000).astype(np.float32)
    assert lines_of(X, "average")[0][1] == "Next: use precision='float32', which halves the matrix."
    assert choose(make_problem(X, "average", precision="float32")).engine.name == "matrix"


def test_where_nothing_fits_a_sample_is_advised(short):
    short(2**15)
    assert "sample of the rows" in lines_of(noise(3000), "average")[0][1]
    assert "as float32 or condensed" in lines_of(pdist(noise(700)), "average", metric="precomputed")[0][1]


def test_an_engine_that_was_asked_for_is_named_and_another_that_fits_is_offered(short):
    short(30 * 2**20)
    (what, step), _ = lines_of(noise(3000), "ward", engine="dense")
    assert what.startswith("The dense engine, for ward of 'euclidean' distances of 3000 objects, needs about")
    assert step.startswith("Next: use engine='auto'")


def test_the_command_line_tells_two_lines_and_details_where_they_are_wanted(short, tmp_path, capsys):
    np.save(tmp_path / "X.npy", noise(3000))
    short(10 * 2**20)
    command = ["cluster", str(tmp_path / "X.npy"), "--criterion", "average", "--clusters", "3"]
    assert main(command) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert told[1] == "Next: use --metric sqeuclidean or --metric cosine, which need no matrix."
    assert main([*command, "--verbose"]) == 2
    assert "not disk: " in capsys.readouterr().err


# --- what makes n^2 numbers ---


def all_pairs(tree, X):
    return tree.cophenetic()


def ordered(tree, X):
    return reliac.linkage(X, "single", optimal_ordering=True)


def correlated(tree, X):
    from reliac.evaluate import cophenetic_correlation

    return cophenetic_correlation(tree, pdist(X))


def developed(tree, X):
    start = reliac.cluster(squareform(pdist(X)), "average", metric="precomputed", max_level=1)
    return start.develop()


def cut_everywhere(tree, X):
    return tree.labels(range(1, 101))


@pytest.mark.parametrize("work", [all_pairs, ordered, correlated, developed, cut_everywhere])
def test_what_makes_a_number_for_every_pair_is_refused_before_it_starts(work, monkeypatch):
    X = noise(100)
    tree = reliac.cluster(X, "single")
    work(tree, X)
    monkeypatch.setattr("reliac.machine.free_memory", lambda: 10**4)
    gc.collect()
    tracemalloc.start()
    with pytest.raises(DoesNotFit, match=r"100 objects needs about .* are free\.\nNext: "):
        work(tree, X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert work in (correlated, developed) or peak < 8 * 100**2  # these two were given a matrix
    assert tree.cophenetic([[0, 1]]).shape == (1,)


def test_an_uneven_matrix_is_not_copied_where_a_copy_does_not_fit(monkeypatch):
    D = squareform(pdist(noise(400)))
    D[0, 1] *= 1 + 1e-12
    monkeypatch.setattr("reliac.machine.free_memory", lambda: 10**5)
    with pytest.raises(DoesNotFit, match="A symmetric copy of the distances of 400 objects"):
        reliac.cluster(D, "average", metric="precomputed")


def test_what_fits_is_not_refused():
    check_memory(2**10, "This")


# --- float32 matrices ---

OF_MATRICES = [
    (engine, criterion)
    for engine, criterion in takers_of_each(["complete", "average", "weighted"], blobs(0, n=8), metric="cityblock")
]


@pytest.mark.parametrize(("engine", "criterion"), OF_MATRICES)
def test_a_float32_matrix_gives_the_tree_of_given_float32_distances(engine, criterion):
    X = noise(300, 3).astype(np.float32)
    given = squareform(pdist(X, "cityblock").astype(np.float32))
    tree = reliac.cluster(X, criterion, metric="cityblock", precision="float32", engine=engine)
    expected = reliac.cluster(given, criterion, metric="precomputed", engine="literal")
    assert np.array_equal(tree.links[["left", "right", "level"]], expected.links[["left", "right", "level"]])
    np.testing.assert_allclose(tree.links["distance"], expected.links["distance"], rtol=1e-5)
    assert tree.parameters["precision"] == "float32"


@pytest.mark.parametrize(("engine", "criterion"), OF_MATRICES)
def test_on_small_whole_numbers_a_float32_matrix_changes_no_bit(engine, criterion):
    X = lattice(3, n=60, side=6)
    tree = cluster_squares(X.astype(np.float32), criterion, precision="float32", engine=engine)
    assert np.array_equal(tree.links, cluster_squares(X, criterion, engine="literal").links)


def test_a_float32_matrix_takes_half_the_memory():
    X = noise(2500).astype(np.float32)
    half, whole = (taken("matrix", make_problem(X, "average", precision=kind)) for kind in ("float32", "float64"))
    assert 3 * 2500**2 < whole - half < 5 * 2500**2
    problem = make_problem(X, "average", precision="float32")
    assert LEAST <= get_engine("matrix").memory(problem) / half <= MOST


def test_where_no_matrix_is_computed_the_precision_changes_nothing():
    X = noise(200).astype(np.float32)
    for criterion, engine in (("ward", "vectors"), ("single", "spanning")):
        trees = [reliac.cluster(X, criterion, engine=engine, precision=kind) for kind in ("float32", "float64")]
        assert np.array_equal(trees[0].links, trees[1].links)


def test_a_saved_tree_goes_on_in_its_own_precision(tmp_path):
    X = noise(80).astype(np.float32)
    start = reliac.cluster(X, "average", precision="float32", max_level=2)
    start.save(tmp_path / "tree")
    grown = reliac.load(tmp_path / "tree").develop(X=X)
    assert np.array_equal(grown.links, reliac.cluster(X, "average", precision="float32").links)


@pytest.mark.parametrize("engine", ["literal", "matrix", "disk", "dense"])
def test_distances_that_float32_cannot_hold_are_refused(engine):
    with pytest.raises(ValueError, match=r"too large for float32.*Allowed: .*Next: .*precision='float64'"):
        reliac.cluster(1e25 * noise(40), "complete", precision="float32", engine=engine)


def test_a_precision_that_is_none_and_one_for_given_distances_are_refused():
    with pytest.raises(ValueError, match=r"Unknown precision 'float16'.*float64, float32"):
        reliac.cluster(noise(9), precision="float16")
    with pytest.raises(ValueError, match="given distances, which keep their own type"):
        reliac.cluster(pdist(noise(9)), metric="precomputed", precision="float32")


#: What a new process takes to fold the distances of so many objects. Python is not told of memory that C code takes.
FOLDED = """
import sys
from pathlib import Path
import numpy as np
from reliac.engines.choice import get_engine
from reliac.input.problem import make_problem

def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

def problem_of(n):
    X = np.random.default_rng(n).normal(size=(n, 4))
    return make_problem(np.sqrt(((X[:, None] - X) ** 2).sum(axis=-1)), "average", metric="precomputed")

engine = get_engine("folding")
list(engine(problem_of(300)).levels(0))  # what is imported is there from now on
problem = problem_of(int(sys.argv[1]))
Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
before = status("VmRSS")
list(engine(problem).levels(0))
print(engine.memory(problem), status("VmHWM") - before)
"""


@pytest.mark.skipif(library() is None, reason="the package was built without a C compiler")
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the system does not tell peaks of memory")
@pytest.mark.parametrize("n", [1600, 3500])
def test_the_estimate_of_folding_follows_what_the_process_takes(n):
    told = subprocess.run([sys.executable, "-c", FOLDED, str(n)], capture_output=True, text=True, check=True).stdout
    estimate, peak = map(int, told.split())
    assert LEAST * peak - 2**22 <= estimate <= MOST * peak + 2**22


def test_every_engine_is_measured_here():
    assert {engine for engine, *_ in RUNS} | {"folding"} >= set(ENGINES) - {"small", "graph", "gpu"}
