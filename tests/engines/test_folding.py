"""The folding engine: tables that are folded level by level in C, and who goes on from there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import reliac
from problems import blobs, lattice
from reliac.engines.folding import engine, table
from reliac.native.library import library

pytestmark = pytest.mark.skipif(library() is None, reason="the package was built without a C compiler")

ALL_PAIRS = ["complete", "average", "weighted", "ward"]

STOPS = ({}, {"n_clusters": 7}, {"n_clusters": 2}, {"max_level": 3}, {"max_distance": 1.0}, {"max_distance": 0.0})


@pytest.fixture
def small_tables_too(monkeypatch):
    """Fold down to two clusters, in threads, however thin levels are."""
    monkeypatch.setattr(table, "FEW", 2)
    monkeypatch.setattr(table, "THIN", 10_000)
    monkeypatch.setattr(table, "WORTH_THREADS", 0)


def cluster(distances, criterion, by="folding", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", reliac.NotEuclideanWarning)
        return reliac.cluster(distances, criterion, metric="precomputed", engine=by, **options)


def assert_same_tree(tree, expected):
    for field in tree.links.dtype.names:
        if field != "distance":
            assert np.array_equal(tree.links[field], expected.links[field]), field
    assert np.allclose(tree.links["distance"], expected.links["distance"], rtol=1e-12, atol=0.0)


def forms(distances):
    """All forms in which distances may be given."""
    return (
        distances,
        squareform(distances),
        np.asfortranarray(squareform(distances)),
        distances.astype(np.float32),
        squareform(distances).astype(np.float32),
        np.repeat(distances, 2)[::2],
    )


def noise(seed, n):
    """Distances without any order: no points have them, so centroid and median are full of inversions."""
    return np.random.default_rng(seed).random(n * (n - 1) // 2) + 0.2


@pytest.mark.usefixtures("small_tables_too")
@pytest.mark.parametrize("criterion", ALL_PAIRS)
@pytest.mark.parametrize("n", [2, 3, 5, 17, 32, 33, 90, 150])
def test_folded_tables_give_the_tree_of_the_definition(criterion, n):
    for distances in (pdist(blobs(n, n)), noise(n, n)):
        for given in forms(distances):
            assert_same_tree(cluster(given, criterion), cluster(given, criterion, "literal"))


@pytest.mark.usefixtures("small_tables_too")
@pytest.mark.parametrize("criterion", ALL_PAIRS)
def test_most_levels_of_points_are_folded_and_not_left_to_others(criterion, monkeypatch):
    monkeypatch.setattr(engine.FoldingEngine, "_small_table", lambda *_: pytest.fail("a table was left"))
    monkeypatch.setattr(engine.FoldingEngine, "_by_dense", lambda *_: pytest.fail("a table was left"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "FEW", 1)
        tree = cluster(pdist(blobs(3, 100)), criterion)
    assert tree.engine == "folding"
    assert tree.n_clusters == 1


@pytest.mark.usefixtures("small_tables_too")
@pytest.mark.parametrize("criterion", ALL_PAIRS)
@pytest.mark.parametrize("stop", STOPS, ids=str)
def test_early_stopping_is_that_of_the_definition(criterion, stop):
    distances = pdist(blobs(7, 80))
    assert_same_tree(cluster(distances, criterion, **stop), cluster(distances, criterion, "literal", **stop))


@pytest.mark.parametrize("criterion", ALL_PAIRS)
@pytest.mark.parametrize("few", [3, 20, 50])
@pytest.mark.parametrize("goes_on", ["small tables", "dense"])
def test_others_go_on_with_the_table_that_is_left(criterion, few, goes_on, small_tables_too, monkeypatch):
    monkeypatch.setattr(table, "FEW", few)
    monkeypatch.setattr(engine, "SMALL_TABLE", 0 if goes_on == "dense" else 1500)
    for distances in (pdist(blobs(1, 90)), noise(1, 90)):
        assert_same_tree(cluster(distances, criterion), cluster(distances, criterion, "literal"))


@pytest.mark.usefixtures("small_tables_too")
@pytest.mark.parametrize("criterion", ALL_PAIRS)
def test_ties_of_whole_numbers_give_the_literal_engines_links_bit_for_bit(criterion, monkeypatch):
    for seed in range(6):
        squares = pdist(lattice(seed, 60, d=3, side=40), "sqeuclidean")
        for small in (0, 1500):
            monkeypatch.setattr(engine, "SMALL_TABLE", small)
            tree, literal = cluster(squares, criterion), cluster(squares, criterion, "literal")
            assert np.array_equal(tree.links["level"], literal.links["level"])
            assert np.array_equal(tree.links["left"], literal.links["left"])
            assert np.array_equal(tree.links["right"], literal.links["right"])


@pytest.mark.parametrize("criterion", ALL_PAIRS)
def test_all_numbers_of_threads_give_the_same_bits(criterion):
    distances = pdist(np.random.default_rng(5).normal(size=(1100, 5)))
    trees = [cluster(distances, criterion, n_jobs=n_jobs) for n_jobs in (1, 2, 3, 7)]
    assert trees[0].engine == "folding"
    for tree in trees[1:]:
        assert np.array_equal(tree.links, trees[0].links)


def test_a_table_that_shrinks_where_it_lies_is_read_before_it_is_written():
    """More clusters than are written to another place, in more threads than there are cores."""
    distances = pdist(np.random.default_rng(6).normal(size=(3500, 6)))
    tree, other = cluster(distances, "average", n_jobs=5), cluster(distances, "average", "matrix")
    assert_same_tree(tree, other)


@pytest.mark.parametrize("options", [{"alpha": 0.5}, {"alpha": 0.0}, {"tie_tolerance": 0.01}, {"weights": [2.0] * 40}])
def test_what_is_not_folded_is_left_to_whom_auto_takes_instead(options):
    distances = pdist(blobs(2, 40))
    tree = cluster(distances, "average", **options)
    assert_same_tree(tree, cluster(distances, "average", "literal", **options))
    assert tree.engine == "small"
    assert "relieved the folding engine" in tree.reason


def test_many_given_distances_are_folded_by_themselves_unless_they_are_tied():
    points = np.random.default_rng(0).normal(size=(1600, 3))
    assert reliac.cluster(pdist(points), "average", metric="precomputed").engine == "folding"
    tied = reliac.cluster(np.rint(pdist(points)), "average", metric="precomputed")
    assert tied.engine != "folding"


def test_ctrl_c_leaves_no_thread_behind_and_keeps_the_levels_done(monkeypatch):
    """A listener that wants no more after the first links: as if Ctrl-C came there."""
    monkeypatch.setattr(table, "BETWEEN_LOOKS", 0.0)
    before = threading.active_count()

    def listen(progress):
        raise KeyboardInterrupt

    with pytest.raises(reliac.Interrupted) as caught:
        cluster(pdist(np.random.default_rng(1).normal(size=(2500, 8))), "complete", progress=listen)
    assert threading.active_count() == before
    assert caught.value.tree.n_levels >= 1


#: Clusters given distances, and is interrupted as soon as threads are at work; prints what is still running then.
INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
import reliac
from reliac.engines.folding import table

n, jobs, times = map(int, sys.argv[1:])
given = np.random.default_rng(0).random(n * (n - 1) // 2) + 1.0
work = table.Folding._work

def work_and_interrupt(self, thread):
    for k in range(times if thread == 0 else 0):
        threading.Timer(0.05 + 0.05 * k, os.kill, (os.getpid(), signal.SIGINT)).start()
    work(self, thread)

table.Folding._work = work_and_interrupt
try:
    reliac.cluster(given, "average", metric="precomputed", engine="folding", n_jobs=jobs)
    print("done")
except (reliac.Interrupted, KeyboardInterrupt) as error:
    print(type(error).__name__, sum(t.name.startswith("reliac-folding") for t in threading.enumerate()))
time.sleep(0.5)  # what is left uses memory until it is done
"""


@pytest.mark.parametrize(("jobs", "times"), [(1, 1), (2, 1), (2, 2), (3, 3)])
def test_ctrl_c_at_any_moment_lets_go_of_memory_only_when_no_thread_uses_it(jobs, times):
    """Real signals: an interrupted wait for a thread must not be taken for its end."""
    environment = {**os.environ, "MALLOC_PERTURB_": "165"}  # memory that was let go is overwritten, where glibc is used
    command = [sys.executable, "-c", INTERRUPTED, "9000", str(jobs), str(times)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode in (0, 1, -signal.SIGINT), done.stderr  # no other signal has ended it
    if times == 1 and done.stdout.strip() != "done":
        assert done.stdout.split() == ["Interrupted", "0"]


def test_more_threads_than_c_code_has_room_for_are_not_started():
    distances = pdist(np.random.default_rng(4).normal(size=(1200, 4)))
    trees = [cluster(distances, "average", n_jobs=n_jobs) for n_jobs in (1, 100)]
    assert np.array_equal(trees[0].links, trees[1].links)


def test_who_takes_over_may_be_relieved_too():
    """Many equal distances: ties end the folding, and leave the lists of the matrix engine no room."""
    rng = np.random.default_rng(0)
    distances = rng.random(2100 * 2099 // 2) + 1.0
    distances[rng.random(len(distances)) < 0.4] = 1.0
    tree = cluster(distances, "average", "auto")
    assert tree.n_clusters == 1
    assert tree.engine not in ("folding", "matrix")


def test_an_array_that_lies_between_two_places_is_taken():
    distances = pdist(np.random.default_rng(5).normal(size=(1600, 4)))
    room = np.zeros(distances.nbytes + 1, np.uint8)
    shifted = room[1:].view(np.float64)
    shifted[:] = distances
    assert not shifted.flags.aligned
    assert np.array_equal(cluster(shifted, "average", "auto").links, cluster(distances, "average", "auto").links)


def test_clusters_that_do_not_fit_for_who_goes_on_are_left_to_an_engine_that_needs_less(monkeypatch):
    monkeypatch.setattr(engine, "SMALL_TABLE", 100)
    monkeypatch.setattr(table, "FEW", 500)
    monkeypatch.setattr(engine, "free_memory", lambda: 1000)
    distances = pdist(np.random.default_rng(6).normal(size=(1600, 4)))
    tree = cluster(distances, "average")
    assert "relieved the folding engine" in tree.reason
    assert "clusters were left, which need" in tree.reason
    assert_same_tree(tree, cluster(distances, "average", "matrix"))


def test_threads_that_the_system_refuses_are_not_waited_for(monkeypatch):
    distances, start = pdist(np.random.default_rng(3).normal(size=(1600, 4))), threading.Thread.start
    expected = cluster(distances, "ward", n_jobs=3)

    for refused in (0, 1):

        def refuse(thread, refused=refused):
            if thread.name == f"reliac-folding-{refused}":
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", refuse)
        assert np.array_equal(cluster(distances, "ward", n_jobs=3).links, expected.links)


def test_a_folded_run_that_was_stopped_is_developed_to_the_tree_of_a_whole_run():
    squares = pdist(np.random.default_rng(8).permutation(4000)[:1600, None].astype(float))
    early = cluster(squares, "complete", max_level=2)
    grown = early.develop(np.arange(early.n_clusters))
    assert_same_tree(grown, cluster(squares, "complete", "literal"))
