"""Small inputs against SciPy: in a process that has run before, and in a new one.

    python benchmarks/small.py --out docs/performance.md             # everything, about half an hour on two quiet cores
    python benchmarks/small.py --sections groups warm --sizes 10 100 # a part

reliac and SciPy take turns, at least five times each, and the best of one is compared with the best of the other, by
processor time: everything here runs in one thread. A new
process is timed from the import of the library on (NumPy is there already) to the end of its first call.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from measure import machine, mixture, table
from peers import Row, write_into
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

import reliac
from reliac.algorithm.criteria import CRITERIA

#: Objects of the problems.
SIZES = (10, 100, 300, 1000, 1500)

#: Rounds in which everybody is called once, at least.
ROUNDS = 5

#: Prints the seconds of a first call; arguments: who, criterion, objects, form.
NEW_PROCESS = """
import sys, time
import numpy as np
who, criterion, n, form = sys.argv[1:]
X = np.random.default_rng(0).normal(size=(int(n), 10))
if form == "condensed":
    i, j = np.triu_indices(len(X), 1)
    X = np.sqrt(((X[i] - X[j]) ** 2).sum(axis=1))
started = time.perf_counter()
if who == "scipy":
    from scipy.cluster.hierarchy import linkage
    linkage(X, criterion)
else:
    import reliac
    if who == "linkage":
        reliac.linkage(X, criterion)
    else:
        reliac.cluster(X, criterion, metric="precomputed" if form == "condensed" else "euclidean")
print(time.perf_counter() - started)
"""


def turns(*calls: Callable[[], object]) -> list[float]:
    """Seconds of processor time of the quickest call of each; they take turns, five times or more.

    All of them run in one thread, so on a quiet machine that is the time that passes; on a busy one it still compares.
    """
    best, began, rounds = [float("inf")] * len(calls), time.perf_counter(), 0
    while rounds < ROUNDS or (rounds < 200 and time.perf_counter() - began < 0.5):
        for k, call in enumerate(calls):
            started = time.process_time()
            call()
            best[k] = min(best[k], time.process_time() - started)
        rounds += 1
    return best


def problems(sizes: tuple[int, ...], criteria: tuple[str, ...]) -> Iterator[tuple[str, str, int, str]]:
    for n in sizes:
        for form in ("vectors", "condensed"):
            for criterion in criteria:
                yield f"{criterion}, {form}, n={n}", criterion, n, form


def warm(sizes: tuple[int, ...], criteria: tuple[str, ...]) -> Iterator[Row]:
    """SciPy's linkage, and with it reliac's linkage and cluster, in one process."""
    for work, criterion, n, form in problems(sizes, criteria):
        X = np.random.default_rng(0).normal(size=(n, 10))
        given, metric = (X, "euclidean") if form == "vectors" else (pdist(X), "precomputed")
        theirs, ours, tree = turns(
            lambda given=given, criterion=criterion: linkage(given, criterion),
            lambda given=given, criterion=criterion: reliac.linkage(given, criterion),
            lambda given=given, criterion=criterion, metric=metric: reliac.cluster(given, criterion, metric=metric),
        )
        yield row_of(work, theirs, ours, tree, 1.0 if n >= 100 else None)


def cold(sizes: tuple[int, ...], criteria: tuple[str, ...]) -> Iterator[Row]:
    """The same, each call in a process of its own."""
    for work, criterion, n, form in problems(sizes, criteria):

        def seconds(who: str, criterion: str = criterion, n: int = n, form: str = form) -> float:
            command = [sys.executable, "-c", NEW_PROCESS, who, criterion, str(n), form]
            return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

        rounds = [[seconds(who) for who in ("scipy", "linkage", "cluster")] for _ in range(ROUNDS)]
        theirs, ours, tree = (min(column) for column in zip(*rounds, strict=True))
        yield row_of(work, theirs, ours, tree, 0.5)


def row_of(work: str, theirs: float, ours: float, tree: float, must: float | None) -> Row:
    """A row of three times and the ratio that must be reached; without one, a millisecond is allowed."""
    most = theirs / must if must else 1e-3
    missed = [name for name, seconds in (("`linkage`", ours), ("`cluster`", tree)) if seconds > most]
    goal = f"{must:g}x" if must else "1 ms"
    if missed:
        goal += f", **not reached** by {' and '.join(missed)}"
    ratios = [f"{ratio:.1f}x" if ratio >= 1 else f"**{ratio:.2g}x**" for ratio in (theirs / ours, theirs / tree)]
    return [work, f"{1e3 * theirs:.3g} ms", f"{1e3 * ours:.3g} ms", f"{1e3 * tree:.3g} ms", *ratios, goal]


def groups(sizes: tuple[int, ...], criteria: tuple[str, ...]) -> Iterator[Row]:
    """500 groups of 3 to 60 rows: one call each, and all at once."""
    del sizes
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(500), rng.integers(3, 61, 500))
    X = mixture(len(labels), 5)
    parts = np.split(X, np.flatnonzero(np.diff(labels)) + 1)
    for criterion in criteria:

        def each(call: Callable[..., object], criterion: str = criterion) -> None:
            for part in parts:
                call(part, criterion)

        theirs, ours, together = turns(
            lambda each=each: each(linkage),
            lambda each=each: each(reliac.cluster),
            lambda criterion=criterion: reliac.cluster_groups(X, labels, criterion, n_jobs=1),
        )
        missed = ["" if found <= most else ", **not reached**" for found, most in ((ours, 0.5), (together, 0.1))]
        goal = f"0.5 s{missed[0]}; 0.1 s{missed[1]}"
        yield [criterion, f"{theirs:.3g} s", f"{ours:.3g} s", f"{together:.3g} s", goal]


TIMES = ["work", "SciPy", "`linkage`", "`cluster`", "`linkage` is", "`cluster` is", "must reach"]
SECTIONS: dict[str, tuple[list[str], Callable[..., Iterator[Row]]]] = {
    "groups": (
        ["criterion", "SciPy, one call each", "`cluster`, one call each", "`cluster_groups`", "must reach"],
        groups,
    ),
    "warm": (TIMES, warm),
    "cold": (TIMES, cold),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="parts of the page")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="N", help="objects")
    parser.add_argument("--criteria", nargs="+", choices=list(CRITERIA), default=list(CRITERIA), help="criteria")
    parser.add_argument("--out", type=Path, help="the docs page whose tables are written anew")
    arguments = parser.parse_args()
    for name in arguments.sections:
        columns, section = SECTIONS[name]
        rows = []
        for row in section(tuple(arguments.sizes), tuple(arguments.criteria)):
            rows.append(row)
            print("  ".join(row), flush=True)
        if arguments.out:
            write_into(arguments.out, f"small-{name}", table(columns, rows))
    print(machine())


if __name__ == "__main__":
    main()
