"""Shared by the benchmarks: data, one timer for all, peak memory in a process of its own, tables."""

from __future__ import annotations

import gc
import gzip
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import reliac

#: Seconds of one call from which on everybody in the row is called only once.
SLOW = 30.0

#: Quick calls are repeated until a row has taken so many seconds, ...
LONG_ENOUGH = 1.0

#: ... but not more often than this.
MOST_ROUNDS = 25

#: Objects of the small problem that loads compiled code. Above 2,000 the same engines are chosen as for large inputs.
FEW = 3000


# --- data ---


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


def number_of_objects(X: np.ndarray) -> int:
    """Rows of vectors or of a square matrix; objects of condensed distances."""
    return len(X) if X.ndim == 2 else int((1 + (1 + 8 * len(X)) ** 0.5) / 2)


def first_objects(X: np.ndarray, count: int, given: bool) -> np.ndarray:
    """The problem of the first objects only, in the same form: vectors, square or condensed distances."""
    n = number_of_objects(X)
    count = min(count, n)
    if X.ndim == 2:
        return X[:count, :count].copy() if given else X[:count].copy()
    starts = [i * (2 * n - i - 1) // 2 for i in range(count - 1)]  # where the distances of object i to later ones begin
    return np.concatenate([X[start : start + count - 1 - i] for i, start in enumerate(starts)])


# --- time ---


def take_turns(*contestants: Callable[[], object], times: int = 3) -> list[float]:
    """Seconds of the quickest call of each function; the functions take turns.

    A round calls each of them once, every second round in the opposite order, so that a slow minute of the machine
    and memory that is touched for the first time meet all of them alike. There are at least ``times`` rounds, and more
    where calls are quick; only one where a call of the first round took over ``SLOW`` seconds.
    """
    best = [float("inf")] * len(contestants)
    began, rounds = time.perf_counter(), 0
    while rounds < times or (rounds < MOST_ROUNDS and time.perf_counter() - began < LONG_ENOUGH):
        numbers = range(len(contestants))
        for k in numbers if rounds % 2 == 0 else reversed(numbers):
            gc.collect()
            started = time.perf_counter()
            contestants[k]()
            best[k] = min(best[k], time.perf_counter() - started)
        rounds += 1
        if rounds == 1 and max(best) > SLOW:
            break
    return best


class Clustering:
    """A whole call of ``reliac.cluster``, to be timed. The code that it needs is compiled and loaded beforehand."""

    def __init__(self, X: np.ndarray, criterion: str, **options: Any) -> None:
        self.X, self.criterion, self.options = X, criterion, options
        self.engine = ""
        warm_up(X, criterion, **options)

    def __call__(self) -> None:
        self.engine = reliac.cluster(self.X, self.criterion, **self.options).engine


def warm_up(X: np.ndarray, criterion: str, **options: Any) -> None:
    """Run the engine that will be chosen for a problem on its first objects: its compiled code is then loaded."""
    from reliac.engines.choice import choose
    from reliac.input.problem import make_problem

    rules = {name: value for name, value in options.items() if name not in ("engine", "n_jobs")}
    engine = options.get("engine") or choose(make_problem(X, criterion, **rules)).engine.name
    few = first_objects(X, FEW, options.get("metric") == "precomputed")
    reliac.cluster(few, criterion, **{**options, "engine": engine})


# --- memory ---


def peak_memory(X: np.ndarray, criterion: str, **options: Any) -> int:
    """Bytes by which the peak of a new process exceeds what it held, input included, when the call began (Linux)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, X)
        command = [sys.executable, __file__, str(path), criterion, json.dumps(options)]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def peak_of_this_process(path: str, criterion: str, options: str) -> int:
    """What :func:`peak_memory` runs in the new process."""
    X, chosen = np.load(path), json.loads(options)
    warm_up(X, criterion, **chosen)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = memory_status("VmRSS")
    reliac.cluster(X, criterion, **chosen)
    return memory_status("VmHWM") - before


def memory_status(name: str) -> int:
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


# --- words ---


def machine() -> str:
    """One paragraph: processor, cores, memory, versions."""
    names = ("reliac", "numpy", "scipy", "numba", "scikit-learn", "fastcluster", "genieclust")
    versions = []
    for name in names:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
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


if __name__ == "__main__":
    print(peak_of_this_process(*sys.argv[1:]))
