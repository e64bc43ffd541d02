"""Shared by the benchmarks: data, timing (best of several), peak memory in a process of its own, tables."""

from __future__ import annotations

import gzip
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np


def mixture(n: int, d: int, seed: int = 0, kind: type = np.float64) -> np.ndarray:
    """A Gaussian mixture of 50 clusters with different spreads, and one tenth of uniform noise."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=4.0, size=(50, d))
    which = rng.integers(0, 50, n)
    points = centres[which] + rng.normal(size=(n, d)) * rng.uniform(0.2, 1.5, 50)[which, None]
    noise = rng.random(n) < 0.1
    points[noise] = rng.uniform(-10, 10, size=(int(noise.sum()), d))
    return points.astype(kind)


def real(name: str) -> np.ndarray | None:
    """A real data set from the folder that RELIAC_DATA names, None where there is none."""
    folder = os.environ.get("RELIAC_DATA")
    if not folder:
        return None
    paths = {
        "mnist": "vectors/mnist-t10k-images-idx3-ubyte.gz",
        "sift": "vectors/sift-dataset-5k.tsv.gz",
        "letter": "uci/letter-recognition.data.gz",
    }
    path = Path(folder) / paths[name]
    if not path.exists():
        return None
    if name == "mnist":
        return np.frombuffer(gzip.open(path).read(), np.uint8, offset=16).reshape(-1, 784).astype(np.float32)
    if name == "sift":
        return np.loadtxt(path)[:, :128].astype(np.float32)
    with gzip.open(path, "rt") as lines:
        return np.array([[int(cell) for cell in line.split(",")[1:]] for line in lines], dtype=np.float64)


def best_of(function: Callable[[], object], times: int = 3) -> float:
    """Seconds of the quickest of several calls."""
    best = float("inf")
    for _ in range(times):
        started = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - started)
    return best


MEMORY = """
import sys
import numpy as np
import reliac

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

X = np.load(sys.argv[1])
options = eval(sys.argv[3])
few = X[:3000] if X.ndim == 2 else X[: 3000 * 2999 // 2]
if X.ndim == 2 and len(X) == X.shape[1]:
    few = few[:, :3000].copy()
reliac.cluster(few, sys.argv[2], **options)  # compiled code is loaded
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # forget the peak so far
before = status("VmRSS")
reliac.cluster(X, sys.argv[2], **options)
print(status("VmHWM") - before)
"""


def peak_memory(X: np.ndarray, criterion: str, **options: object) -> int:
    """Bytes by which the peak of a new process exceeds what it held, input included, when the call began (Linux)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, X)
        command = [sys.executable, "-c", MEMORY, str(path), criterion, repr(options)]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def machine() -> str:
    """One paragraph: processor, cores, memory, versions."""
    names = ("reliac", "numpy", "scipy", "numba", "scikit-learn", "fastcluster", "genieclust")
    versions = []
    for name in names:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} not installed")
    processor = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as lines:
            processor = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    cores = len(os.sched_getaffinity(0))
    return f"{processor}, {cores} cores, {memory:.0f} GiB; Python {platform.python_version()}, {', '.join(versions)}."


def table(columns: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
