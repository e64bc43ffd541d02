"""Time and memory against n, with fitted exponents and a plot. The sizes of a series take turns.

python benchmarks/scaling.py [--quick] [--plot scaling.png]
"""

from __future__ import annotations

import argparse

import numpy as np
from measure import Clustering, machine, mixture, peak_memory, table, take_turns

SERIES = {
    "ward, 2-D": ("ward", 2, [100_000, 200_000, 500_000, 1_000_000], 1.25),
    "ward, 64-D": ("ward", 64, [10_000, 20_000, 35_000, 50_000], 2.1),
    "average, 64-D": ("average", 64, [10_000, 20_000, 35_000, 50_000], 2.1),
    "single, 2-D": ("single", 2, [100_000, 200_000, 500_000, 1_000_000], 1.25),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes, no memory")
    parser.add_argument("--plot", help="write a picture")
    arguments = parser.parse_args()
    rows, curves = [], {}
    for name, (criterion, d, sizes, limit) in SERIES.items():
        if arguments.quick:
            sizes = [n // 10 for n in sizes]
        calls = [Clustering(mixture(n, d, kind=np.float32), criterion, metric="sqeuclidean") for n in sizes]
        seconds = take_turns(*calls)
        exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        peak = "" if arguments.quick else f"{peak_memory(calls[-1].X, criterion, metric='sqeuclidean') / 2**20:.0f} MB"
        times = ", ".join(f"{second:.2f}" for second in seconds)
        rows.append([name, ", ".join(map(str, sizes)), times, f"{exponent:.2f}", f"{limit}", peak])
        print("  ".join(rows[-1]), flush=True)
        curves[name] = (sizes, seconds)
    print("\n" + machine() + "\n")
    print(table(["work", "n", "seconds", "exponent", "must reach", "peak memory at the largest n"], rows))
    if arguments.plot:
        draw(curves, arguments.plot)


def draw(curves: dict[str, tuple[list[int], list[float]]], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for name, (sizes, seconds) in curves.items():
        axes.loglog(sizes, seconds, "o-", label=name)
    axes.set(xlabel="objects", ylabel="seconds")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
