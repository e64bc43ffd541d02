"""The hardest ties and the thinnest levels: all given distances equal, few different ones, and gaps that grow.

python benchmarks/ties.py [--n 10000] [--line 80000]
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from measure import Clustering, machine, peak_memory, table, take_turns

import reliac


def given(n: int, values: int) -> np.ndarray:
    """Condensed distances of which so many are different."""
    return np.random.default_rng(0).integers(5, 5 + values, size=n * (n - 1) // 2).astype(np.float64)


def growing_gaps(n: int) -> np.ndarray:
    """Points on a line: about one reliable link a level."""
    return np.cumsum(1 + np.arange(n) * 1e-3)[:, None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000, help="objects whose distances are given")
    parser.add_argument("--line", type=int, default=80_000, help="points on a line, at most")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", reliac.NotEuclideanWarning)
    rows = []
    for name, values in (("all equal", 1), ("two values", 2)):
        D = given(arguments.n, values)
        for criterion in ("complete", "average", "ward"):
            for alpha in (1.0, 0.5):
                call = Clustering(D, criterion, metric="precomputed", alpha=alpha)
                (seconds,) = take_turns(call)
                peak = peak_memory(D, criterion, metric="precomputed", alpha=alpha) / 2**30
                row = [f"given distances, {name}", str(arguments.n), criterion, f"{alpha:g}", call.engine]
                rows.append([*row, f"{seconds:.2f}", f"{peak:.2f} GiB", ""])
                print("  ".join(rows[-1]), flush=True)
    sizes = [arguments.line // 4, arguments.line // 2, arguments.line]
    for criterion in ("average", "ward"):
        for alpha in (1.0, 0.5):
            calls = [Clustering(growing_gaps(n), criterion, metric="sqeuclidean", alpha=alpha) for n in sizes]
            times = take_turns(*calls)
            exponent = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
            row = ["line, gaps grow", str(sizes[-1]), criterion, f"{alpha:g}", calls[-1].engine]
            rows.append([*row, f"{times[-1]:.2f}", "", f"{exponent:.2f}"])
            print("  ".join(rows[-1]), flush=True)
    print("\n" + machine() + "\n")
    print(table(["data", "n", "criterion", "alpha", "engine", "seconds", "peak beyond input", "exponent"], rows))


if __name__ == "__main__":
    main()
