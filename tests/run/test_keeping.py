"""What a checkpoint keeps: levels and lists, at every moment; a run that goes on searches nothing twice."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import reliac
import reliac.run.checkpoint as checkpoint
from problems import blobs
from reliac.engines.spanning import sweeps
from reliac.engines.vectors import engine as vectors
from reliac.engines.vectors import spatial
from reliac.engines.vectors.engine import VectorsEngine
from reliac.engines.vectors.spatial import SpatialEngine
from reliac.tree.storage import save as save_tree


class PowerCut(Exception):
    """Ends a run as hard as a test can without a process of its own."""


@pytest.fixture
def small_pieces(monkeypatch):
    """Searches in many small pieces, a checkpoint after each, and levels that return to Python often."""
    monkeypatch.setattr(checkpoint, "INTERVAL", 0.0)
    monkeypatch.setattr(checkpoint, "TIMES_THE_COST", 0.0)
    monkeypatch.setattr("reliac.engines.lists.engine.CLUSTERS_BEFORE_PAUSE", 50)
    monkeypatch.setattr(vectors, "ROWS", 32)
    monkeypatch.setattr(spatial, "SMALL_PIECE", 32)
    monkeypatch.setattr(spatial, "PIECE", 32)
    monkeypatch.setattr(sweeps, "ROWS", 128)


def cut_off(monkeypatch, writes, X, path, **options):
    """Run until the checkpoint was written so many times; return whether the run ended before that."""
    write, count = checkpoint.Checkpoint.write, []

    def counted(self, *arguments):
        write(self, *arguments)
        count.append(1)
        if len(count) == writes:
            raise PowerCut

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint.Checkpoint, "write", counted)
        try:
            reliac.cluster(X, checkpoint=path, **options)
        except PowerCut:
            return False
    return True


@pytest.mark.parametrize("writes", [5, 14, 25, 60])
@pytest.mark.parametrize(
    ("engine", "criterion", "metric", "alpha"),
    [
        ("vectors", "ward", "euclidean", 1.0),
        ("vectors", "average", "cosine", 1.0),
        ("vectors", "average", "sqeuclidean", 0.0),
        ("vectors", "centroid", "euclidean", 1.0),
        ("vectors", "median", "euclidean", 0.5),
        ("spatial", "ward", "euclidean", 0.5),
        ("spatial", "average", "sqeuclidean", 1.0),
        ("spatial", "centroid", "euclidean", 1.0),
    ],
)
def test_a_run_cut_off_anywhere_gives_the_same_bits(
    engine, criterion, metric, alpha, writes, small_pieces, tmp_path, monkeypatch
):
    X = blobs(4, n=400, d=3)
    options = {"criterion": criterion, "metric": metric, "alpha": alpha, "engine": engine}
    wanted = reliac.cluster(X, **options)
    cut_off(monkeypatch, writes, X, tmp_path / "run", **options)
    tree = reliac.cluster(X, checkpoint=tmp_path / "run", **options)
    assert tree.engine == engine
    assert np.array_equal(tree.links, wanted.links)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("engine", ["vectors", "spatial"])
def test_rows_that_repeat_very_often_survive_being_cut_off_too(engine, small_pieces, tmp_path, monkeypatch):
    X = blobs(4, n=40, d=3)[np.random.default_rng(0).integers(0, 40, 2100)]
    wanted = reliac.cluster(X, engine=engine)
    for writes in (1, 2, 4):
        cut_off(monkeypatch, writes, X, tmp_path / "run", engine=engine)
        assert np.array_equal(reliac.cluster(X, engine=engine, checkpoint=tmp_path / "run").links, wanted.links)


@pytest.mark.parametrize(("engine", "kind"), [("vectors", VectorsEngine), ("spatial", SpatialEngine)])
def test_going_on_costs_no_new_sweep(engine, kind, small_pieces, tmp_path, monkeypatch):
    X, rows, search = blobs(4, n=400, d=3), [], kind.search

    def counted(self, slots, push):
        if self.problem.n_objects == len(X):
            rows.append(len(slots))
        search(self, slots, push)

    monkeypatch.setattr(kind, "search", counted)
    reliac.cluster(X, engine=engine)
    later = sum(rows) - len(X)  # searched after the first sweep
    for writes in (6, 13, 20):  # in the first sweep, at its end (13 pieces of 30 to 32 rows), and after it
        cut_off(monkeypatch, writes, X, tmp_path / "run", engine=engine)
        rows.clear()
        reliac.cluster(X, engine=engine, checkpoint=tmp_path / "run")
        assert sum(rows) <= max(0, len(X) - 30 * (writes - 1)) + later


@pytest.mark.parametrize(("d", "objects_for_a_tree"), [(16, 50_000), (3, 500)])
def test_the_spanning_engine_goes_on_where_it_was_cut_off(d, objects_for_a_tree, small_pieces, tmp_path, monkeypatch):
    monkeypatch.setattr("reliac.engines.spanning.edges.OBJECTS_FOR_A_TREE", objects_for_a_tree)
    monkeypatch.setattr("reliac.engines.spanning.boruvka.PIECES", 12)
    monkeypatch.setattr("reliac.engines.spanning.engine.EDGES_BEFORE_PAUSE", 300)
    X = blobs(4, n=2500, d=d)
    X[-1] = X[0]
    options = {"criterion": "single", "engine": "spanning"}
    wanted = reliac.cluster(X, **options)
    swept, list_rows = [], sweeps.Sweep.list_rows
    monkeypatch.setattr(
        sweeps.Sweep,
        "list_rows",
        lambda self, first, component: swept.append(first) or list_rows(self, first, component),
    )
    for writes in (1, 2, 8, 16, 21, 23, 27):
        swept.clear()
        cut_off(monkeypatch, writes, X, tmp_path / "run", **options)
        done = min(writes - 1, 20)  # the first write is before the first block
        swept.clear()
        tree = reliac.cluster(X, checkpoint=tmp_path / "run", **options)
        assert len(swept) <= (20 - done if d > 3 else 0)
        assert np.array_equal(tree.links, wanted.links)
        assert np.array_equal(tree.object_pairs, wanted.object_pairs)


def test_ctrl_c_in_the_first_search_keeps_the_lists_found(small_pieces, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "INTERVAL", 1000.0)  # nothing is written before
    monkeypatch.setattr("reliac.run.solve.SECONDS_BETWEEN", 0.0)
    X = blobs(4, n=400, d=3)

    def stop(state):
        if state.searched > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(reliac.Interrupted) as caught:
        reliac.cluster(X, engine="vectors", checkpoint=tmp_path / "run", progress=stop)
    assert caught.value.tree.n_levels == 0
    with np.load(tmp_path / "run") as arrays:
        assert 200 <= len(arrays["found/clusters"]) < 400
    assert np.array_equal(
        reliac.cluster(X, engine="vectors", checkpoint=tmp_path / "run").links,
        reliac.cluster(X, engine="vectors").links,
    )


# --- the file ---


def test_a_checkpoint_of_a_release_that_kept_levels_only_is_gone_on_with(tmp_path):
    X = blobs(4, n=400, d=3)
    early = reliac.cluster(X, engine="vectors", max_level=3)
    fingerprint = reliac.cluster(X).problem.fingerprint()
    save_tree(early, tmp_path / "run", checkpoint_of=fingerprint)
    seen = []
    tree = reliac.cluster(X, engine="vectors", checkpoint=tmp_path / "run", progress=seen.append)
    assert seen[0].level > 3
    assert np.array_equal(tree.links, reliac.cluster(X, engine="vectors").links)


def test_a_checkpoint_is_a_tree_file_too(small_pieces, tmp_path, monkeypatch):
    X = blobs(4, n=400, d=3)
    assert not cut_off(monkeypatch, 20, X, tmp_path / "run", engine="vectors")
    tree = reliac.load(tmp_path / "run")
    assert tree.n_levels > 0
    assert np.array_equal(tree.links, reliac.cluster(X, max_level=tree.n_levels, engine="vectors").links)


@pytest.mark.parametrize("damage", ["cut short", "other bytes", "other clusters"])
def test_damaged_lists_are_refused_in_three_parts(damage, small_pieces, tmp_path, monkeypatch):
    X, path = blobs(4, n=400, d=3), tmp_path / "run"
    assert not cut_off(monkeypatch, 30, X, path, engine="vectors")
    if damage == "other clusters":
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        clusters = np.load(path)["found/entries"]
        clusters[:] = np.arange(len(clusters)) % 400
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content if name != "found/entries.npy" else npy(clusters))
    else:
        content = bytearray(path.read_bytes())
        place = content.index(b"found/radius.npy") + 300
        content[place : place + 16] = b"sixteen bytes!!!"
        path.write_bytes(bytes(content[:place] if damage == "cut short" else content))
    with pytest.raises(ValueError, match=r"Allowed: .*Next: "):
        reliac.cluster(X, engine="vectors", checkpoint=path)


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_what_another_engine_found_is_not_taken_but_its_levels_are(small_pieces, tmp_path, monkeypatch):
    X = blobs(4, n=400, d=3)
    assert not cut_off(monkeypatch, 20, X, tmp_path / "run", engine="vectors")
    done, seen = reliac.load(tmp_path / "run").n_levels, []
    tree = reliac.cluster(X, engine="literal", checkpoint=tmp_path / "run", progress=seen.append)
    assert seen[0].level == done + 1
    assert tree.engine == "literal"


def test_a_run_goes_on_with_the_engine_that_it_had(small_pieces, tmp_path, monkeypatch):
    X = blobs(4, n=400, d=3)
    assert not cut_off(monkeypatch, 20, X, tmp_path / "run", engine="spatial")
    tree = reliac.cluster(X, checkpoint=tmp_path / "run")
    assert (tree.engine, tree.reason) == ("spatial", "asked for")


def test_what_a_killed_writer_left_is_removed_by_the_next_run_and_nothing_else_is(tmp_path):
    others = [".run.b.abcdefgh.part", ".other.abcdefgh.part", "run.abcdefgh.part", ".run.abc.part"]
    for name in (".run.abcdefgh.part", ".run.12_45678.part", *others):
        (tmp_path / name).write_bytes(b"half a file")
    reliac.cluster(blobs(2), checkpoint=tmp_path / "run")
    assert sorted(os.listdir(tmp_path)) == sorted(others)


# --- one run at a time ---

HOLD = """
import sys, time, reliac
def wait(state):
    print("running", flush=True)
    time.sleep(60)
reliac.cluster([[0.0], [1.0], [5.0], [6.0]], checkpoint=sys.argv[1], progress=wait)
"""


def test_a_second_run_with_the_same_checkpoint_is_refused_until_the_first_is_gone(tmp_path):
    path = tmp_path / "run"
    first = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    with first:
        assert first.stdout.readline() == "running\n"
        with pytest.raises(
            BlockingIOError, match=rf"in use by another run \(process {first.pid} on .*Allowed: .*Next: "
        ):
            reliac.cluster(blobs(2), checkpoint=path)
        first.kill()  # no chance to tidy up
    assert (tmp_path / ".run.lock").exists()
    assert reliac.cluster(blobs(2), checkpoint=path).n_clusters == 1
    assert os.listdir(tmp_path) == []


def test_a_second_run_in_the_same_process_is_refused_too(tmp_path):
    refused = []

    def again(state):
        with pytest.raises(BlockingIOError, match="in use by another run"):
            reliac.cluster(blobs(2), checkpoint=tmp_path / "run")
        refused.append(state.level)

    reliac.cluster(blobs(2), checkpoint=tmp_path / "run", progress=again)
    assert refused
    assert os.listdir(tmp_path) == []


def test_a_run_that_fails_leaves_no_lock(tmp_path):
    def fail(state):
        raise PowerCut

    with pytest.raises(PowerCut):
        reliac.cluster(blobs(2), checkpoint=tmp_path / "run", progress=fail)
    assert ".run.lock" not in os.listdir(tmp_path)


def test_an_engine_without_anything_to_keep_works_with_a_checkpoint(small_pieces, tmp_path, monkeypatch):
    X = blobs(2)
    assert not cut_off(monkeypatch, 2, X, tmp_path / "run", engine="literal")
    tree = reliac.cluster(X, engine="literal", checkpoint=tmp_path / "run")
    assert np.array_equal(tree.links, reliac.cluster(X, engine="literal").links)


@pytest.mark.parametrize(
    "content", [b"old notes of mine", b"", b"PK cut short", b'{"format": "reliac-tree", "version": 0}']
)
def test_a_file_that_is_no_checkpoint_is_left_alone_and_told_as_such(tmp_path, content):
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"is not a usable checkpoint: .*Allowed: .*Next: give another file name"):
        reliac.cluster([[0.0], [1.0], [5.0]], checkpoint=path)
    assert path.read_bytes() == content
