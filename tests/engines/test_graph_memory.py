"""Graphs whose rows reserve memory that they hardly ever touch: what the process takes in fact."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: What a new process takes for edges on a circle, by weighted: Python is told of memory that is never touched, too.
WEIGHTED = """
import sys
from pathlib import Path
import numpy as np
import reliac
from reliac.engines.choice import get_engine
from reliac.input.edges import make_graph
from reliac.input.problem import make_problem

def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

def edges_of(n, near, kind):
    a, b = np.repeat(np.arange(n), near), (np.arange(n)[:, None] + np.arange(1, near + 1)).ravel() % n
    key, rng = np.sort(np.minimum(a, b) * n + np.maximum(a, b)), np.random.default_rng(0)
    distance = rng.random(len(key)) if kind == "hardly tied" else rng.integers(1, 99, len(key))
    return (key // n).astype(np.int32), (key % n).astype(np.int32), distance.astype(np.float32)

reliac.cluster_edges(edges_of(20_000, 2, "hardly tied"), "weighted")  # what is imported is there from now on
n, edges = 150_000, edges_of(150_000, 9, sys.argv[1])
Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
before = status("VmRSS")
reliac.cluster_edges(edges, "weighted", objects=range(n), n_jobs=1)
peak = status("VmHWM") - before
problem = make_problem(make_graph(edges, objects=range(n)), "weighted", metric="precomputed")
print(get_engine("graph").memory(problem), peak, sum(column.nbytes for column in edges))
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the system does not tell peaks of memory")
@pytest.mark.parametrize("kind", ["hardly tied", "tied"])
def test_weighted_with_float32_distances_takes_at_most_three_times_their_memory(kind: str) -> None:
    at_once = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "100000"}  # what is let go is given back, and not kept for later
    command = [sys.executable, "-c", WEIGHTED, kind]
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=at_once)
    estimate, peak, size = map(int, run.stdout.split())
    assert peak <= 3 * size
    assert 0.8 * peak <= estimate <= 3.2 * peak
