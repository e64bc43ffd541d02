"""Levels, and rows searched in units of n (the first search alone is 1.0), on every generator.

python benchmarks/levels.py [--n 5000]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from measure import machine, mixture, real, table
from scipy.spatial.distance import pdist

from reliac.engines.choice import choose
from reliac.input.problem import Problem, make_problem


def generators(n: int) -> dict[str, np.ndarray]:
    """Easy and hard data; the last five are adversarial."""
    rng = np.random.default_rng(0)
    data = {
        "mixture 2-D": mixture(n, 2),
        "mixture 64-D": mixture(n, 64),
        "noise 128-D (hubs)": rng.normal(size=(n, 128)),
        "line, gaps grow": np.cumsum(1 + np.arange(n) * 1e-3)[:, None],
        "line, gaps shrink": np.cumsum(1 + np.arange(n)[::-1] * 1e-3)[:, None],
        "two far clusters of duplicates": np.where(rng.random(n) < 0.5, 0.0, 1e3)[:, None]
        + rng.integers(0, 20, (n, 2)),
    }
    for name in ("mnist", "sift", "letter"):
        X = real(name)
        if X is not None:
            data[name] = X[:n].astype(np.float64)
    return data


def measured(problem: Problem) -> list[str]:
    choice = choose(problem)
    started = time.perf_counter()
    engine = choice.engine(problem)
    last = 0
    for batch in engine.levels(0):
        last = int(batch.level[-1])
    seconds = time.perf_counter() - started
    searches = getattr(engine, "searches", None)
    return [
        choice.engine.name,
        str(last),
        "" if searches is None else f"{searches / problem.n_objects:.2f}",
        f"{seconds:.2f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=5000)
    arguments = parser.parse_args()
    rows = []
    for name, X in generators(arguments.n).items():
        for criterion in ("single", "complete", "average", "ward", "centroid"):
            rows.append([name, str(len(X)), criterion, *measured(make_problem(X, criterion))])
            print(rows[-1], flush=True)
    n = min(arguments.n, 3000)
    equal = np.ones(n * (n - 1) // 2)
    for criterion in ("single", "complete", "average"):
        rows.append(
            ["all distances equal", str(n), criterion, *measured(make_problem(equal, criterion, metric="precomputed"))]
        )
        print(rows[-1], flush=True)
    given = pdist(mixture(arguments.n, 16))
    rows.append(
        [
            "given distances",
            str(arguments.n),
            "average",
            *measured(make_problem(given, "average", metric="precomputed")),
        ]
    )
    print("\n" + machine() + "\n")
    print(table(["data", "n", "criterion", "engine", "levels", "rows searched / n", "seconds"], rows))


if __name__ == "__main__":
    main()
