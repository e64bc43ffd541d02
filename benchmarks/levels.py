"""Levels, and rows searched in units of n (the first search alone is 1.0), on every generator.

python benchmarks/levels.py [--n 5000]
"""

from __future__ import annotations

import argparse

import numpy as np
from measure import machine, mixture, real, table, take_turns
from scipy.spatial.distance import pdist

from reliac.algorithm.contract import Engine
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


class Levels:
    """All levels of a problem by the engine that is chosen for it, to be timed; no tree is built."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.choice = problem, choose(problem)
        self.engine: Engine | None = None
        self.last = 0

    def __call__(self) -> None:
        self.engine = self.choice.engine(self.problem)
        for batch in self.engine.levels(0):
            self.last = int(batch.level[-1])


def measured(problem: Problem) -> list[str]:
    """The first of several runs may compile; it is not the best one then."""
    levels = Levels(problem)
    (seconds,) = take_turns(levels)
    searches = getattr(levels.engine, "searches", None)
    return [
        levels.choice.engine.name,
        str(levels.last),
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
            rows.append([name, str(len(X)), criterion, *measured(make_problem(X, criterion, metric="sqeuclidean"))])
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
