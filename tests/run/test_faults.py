"""Killed at random moments, a checkpointed run goes on from where it was and gives the same tree."""

from __future__ import annotations

import os
import pkgutil
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import reliac
from graphs import random_edges
from problems import blobs

#: Slow enough to be hit: the standard strategy, one link a level, searches in small pieces, a checkpoint whenever one
#: can be written, and a short rest after each.
RUN = """
import sys, time
import numpy as np
import reliac, reliac.run.checkpoint, reliac.run.solve, reliac.engines.lists.engine
from reliac.engines.graph import engine as graph
from reliac.engines.spanning import engine, sweeps
from reliac.engines.vectors import engine as vectors, spatial
reliac.run.checkpoint.INTERVAL = reliac.run.checkpoint.TIMES_THE_COST = reliac.run.solve.SECONDS_BETWEEN = 0.0
reliac.engines.lists.engine.CLUSTERS_BEFORE_PAUSE = 20  # back to Python after every level
vectors.ROWS = spatial.SMALL_PIECE = spatial.PIECE = 8
sweeps.ROWS, engine.EDGES_BEFORE_PAUSE = 64, 50
graph.ENTRIES_BEFORE_PAUSE = 20
X = np.load(sys.argv[1])
options = dict(alpha=0.0, engine=sys.argv[3], checkpoint=sys.argv[4], progress=lambda state: time.sleep(0.004))
if sys.argv[3] == "graph":
    tree = reliac.cluster_edges(X, sys.argv[2], **options)
else:
    tree = reliac.cluster(X, sys.argv[2], **options)
tree.save(sys.argv[5])
"""


@pytest.mark.parametrize(
    ("criterion", "engine", "n", "d"),
    [
        ("ward", "vectors", 400, 4),
        ("centroid", "spatial", 400, 4),
        ("complete", "matrix", 400, 4),
        ("average", "literal", 400, 4),
        ("single", "spanning", 2500, 16),
        ("average", "graph", 400, 3000),
    ],
)
def test_a_run_killed_five_times_at_random_moments_gives_the_same_tree(tmp_path, criterion, engine, n, d):
    if engine == "graph":
        X = np.stack(random_edges(n, d, 10**9, 3), axis=1)
        wanted = reliac.cluster_edges(X, criterion, alpha=0.0, engine=engine)
    else:
        X = blobs(3, n=n, d=d)
        wanted = reliac.cluster(X, criterion, alpha=0.0, engine=engine)
    np.save(tmp_path / "X.npy", X)
    paths = [str(tmp_path / name) for name in ("X.npy", "run.part", "tree.reliac")]
    command = [sys.executable, "-c", RUN, paths[0], criterion, engine, paths[1], paths[2]]
    moments = random.Random(criterion)
    killed = 0
    while killed < 5:
        process = subprocess.Popen(command)
        while process.poll() is None and not (tmp_path / "run.part").exists():
            time.sleep(0.01)  # until the first checkpoint of all is there
        time.sleep(moments.uniform(0.0, 0.9))
        process.send_signal(signal.SIGKILL)
        if process.wait() == 0:
            break
        killed += 1
    subprocess.run(command, check=True)
    assert killed > 0
    assert np.array_equal(reliac.load(tmp_path / "tree.reliac").links, wanted.links)
    assert sorted(os.listdir(tmp_path)) == ["X.npy", "tree.reliac"]  # what killed runs left is gone too


def test_ctrl_c_is_answered_within_a_second_by_a_fast_engine(tmp_path):
    code = """
import time
import numpy as np, reliac
X = np.random.default_rng(0).normal(size=(30000, 64)).astype(np.float32)
reliac.cluster(X[:2000], "average")  # compiled code is loaded
print("started", flush=True)
try:
    reliac.cluster(X, "average")
except reliac.Interrupted as stopped:
    print("stopped", stopped.tree.n_objects, flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "started\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    answer = process.stdout.read()
    process.stdout.close()
    assert process.wait(30) == 0
    assert answer == "stopped 30000\n"


@pytest.mark.parametrize(
    "place",
    [
        "reliac.run.solve.choose",
        "reliac.run.checkpoint.Checkpoint.resume",
        "reliac.input.objects.Vectors.data_fingerprint",
        "reliac.engines.spanning.engine.spanning_edges",
        "reliac.engines.spanning.engine.make_nest",
        "reliac.run.checkpoint.Checkpoint.remove",
    ],
)
def test_ctrl_c_keeps_the_levels_done_wherever_it_comes(place, tmp_path, monkeypatch):
    module, _, name = place.rpartition(".")
    owner = pkgutil.resolve_name(module)
    real, count = getattr(owner, name), []

    def interrupted_once(*arguments):
        count.append(1)
        if len(count) == 1:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(owner, name, interrupted_once)
    with pytest.raises(reliac.Interrupted) as caught:
        reliac.cluster(blobs(3, n=60, d=2), "single", engine="spanning", checkpoint=tmp_path / "run")
    assert caught.value.tree.n_objects == 60
    assert count
    assert ".run.lock" not in os.listdir(tmp_path)
