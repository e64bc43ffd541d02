"""The gpu engine: seconds of whole calls on one device, and whether its links are those of the CPU, bit for bit.

    python benchmarks/gpu.py --out docs                    # everything, about ten minutes on a large card
    python benchmarks/gpu.py --sections gpu --largest 1000000
    python benchmarks/gpu.py --sections small              # little work: no input may take much longer than on the CPU
    python benchmarks/gpu.py --sections bound              # sums in tensor cores against the error that is allowed

Compiled code is loaded before. Each row is run three times (the largest once), the best counts. A section that runs out
of the minutes that it was given says so and leaves the rest out.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
import triton
import triton.language as tl
from measure import machine, real, table
from peers import write_into

import reliac
from reliac.engines.gpu.kernels import products_of_halves

#: The pages that tables are written into.
PAGES = {"gpu": "performance.md", "small": "gpu.md", "same": "gpu.md", "bound": "gpu.md"}

#: Rows that are made at a time.
BLOCK = 2**16


def in_blocks(n: int, d: int, fill: Callable[[np.random.Generator, int], np.ndarray]) -> np.ndarray:
    """A table in float32, made in threads; the same for any number of them."""
    out = np.empty((n, d), np.float32)

    def block(start: int) -> None:
        stop = min(n, start + BLOCK)
        out[start:stop] = fill(np.random.default_rng([0, start]), stop - start)

    with ThreadPoolExecutor() as pool:
        list(pool.map(block, range(0, n, BLOCK)))
    return out


def mixture(n: int, d: int) -> np.ndarray:
    """The mixture of the other benchmarks: 50 clusters of different spreads, and one tenth of uniform noise."""
    rng = np.random.default_rng(0)
    centres, spread = rng.normal(scale=4.0, size=(50, d)).astype(np.float32), rng.uniform(0.2, 1.5, 50)

    def fill(rng: np.random.Generator, count: int) -> np.ndarray:
        which = rng.integers(0, 50, count)
        rows = rng.standard_normal((count, d), np.float32) * spread[which, None].astype(np.float32) + centres[which]
        noise = rng.random(count) < 0.1
        rows[noise] = rng.random((int(noise.sum()), d), np.float32) * 20 - 10
        return rows

    return in_blocks(n, d, fill)


def noise(n: int, d: int) -> np.ndarray:
    """One Gaussian: nothing can be skipped."""
    return in_blocks(n, d, lambda rng, count: rng.standard_normal((count, d), np.float32))


def lattice(n: int, d: int) -> np.ndarray:
    """Whole numbers, full of ties."""
    return in_blocks(n, d, lambda rng, count: rng.integers(0, 6, (count, d)).astype(np.float32))


def cluster(X: np.ndarray, criterion: str, metric: str, engine: str = "gpu") -> reliac.ClusterTree:
    return reliac.cluster(X, criterion, metric=metric, engine=engine)


#: What is measured: a title, the data, how to make it, the work, and the seconds that it may take.
Work = tuple[str, Callable[[int, int], np.ndarray], int, int, Callable[[np.ndarray], object], float]


def works() -> Iterator[Work]:
    def by(criterion: str, metric: str = "sqeuclidean", engine: str = "gpu") -> Callable[[np.ndarray], object]:
        return lambda X: cluster(X, criterion, metric, engine)

    yield "ward, mixture", mixture, 100_000, 128, by("ward"), 1.0
    yield "ward, mixture", mixture, 300_000, 128, by("ward"), np.nan
    yield "ward, mixture", mixture, 1_000_000, 128, by("ward"), 5.0
    yield "ward, mixture, a tensor on the device", mixture, 1_000_000, 128, tensor(by("ward")), np.nan
    yield "exact 16 nearest neighbours, mixture", mixture, 1_000_000, 128, lambda X: neighbours(X), 3.0
    yield "single, mixture", mixture, 1_000_000, 128, by("single"), 10.0
    yield "ward, pure noise", noise, 1_000_000, 128, by("ward"), 7.0
    yield "average, cosine, mixture", mixture, 1_000_000, 64, by("average", "cosine"), 8.0
    yield "average, mixture with hubs", mixture, 100_000, 64, by("average"), 5.0
    yield "the same, CPU", mixture, 100_000, 64, by("average", engine="vectors"), np.nan
    yield "centroid, mixture", mixture, 20_000, 32, by("centroid"), np.nan
    yield "the same, CPU", mixture, 20_000, 32, by("centroid", engine="vectors"), np.nan
    yield "centroid, mixture", mixture, 100_000, 32, by("centroid"), np.nan
    yield "the same, CPU", mixture, 100_000, 32, by("centroid", engine="vectors"), np.nan
    yield "ward, mixture", mixture, 3_000_000, 128, by("ward"), np.nan
    yield "ward, mixture", mixture, 10_000_000, 128, by("ward"), 150.0


def neighbours(X: np.ndarray) -> object:
    return reliac.neighbors(X, 16, engine="gpu")


def tensor(work: Callable[[np.ndarray], object]) -> Callable[[np.ndarray], object]:
    return lambda X: work(torch.from_numpy(X).cuda() if isinstance(X, np.ndarray) else X)


def speed(largest: int, times: int) -> Iterator[list[str]]:
    """Seconds of whole calls; the exponent of growth from 300,000 to 3,000,000 at last."""
    seconds, last, X = {}, None, np.empty((0, 0), np.float32)
    for title, make, n, d, work, most in works():
        if n > largest:
            continue
        if last != (make, n, d):
            X, last = np.empty((0, 0), np.float32), (make, n, d)
            X = make(n, d)
        few = 1 if n > 2_000_000 or "CPU" in title else times
        if n > 20_000 and "CPU" not in title:
            work(make(20_000, d))  # compiled code is loaded
        taken = []
        torch.cuda.reset_peak_memory_stats()
        for _ in range(few):
            started = time.perf_counter()
            result = work(X)
            taken.append(time.perf_counter() - started)
        best = seconds[title, n] = min(taken)
        shown = f"{best:.2f}" if np.isnan(most) or best <= most else f"**{best:.2f}**"
        levels = str(result.n_levels) if isinstance(result, reliac.ClusterTree) else ""
        memory = f"{torch.cuda.max_memory_allocated() / 2**30:.1f}"
        yield [title, f"{n:,} x {d}", shown, "" if np.isnan(most) else f"{most:g}", levels, memory]
        del result
    ends = [seconds.get(("ward, mixture", n)) for n in (300_000, 3_000_000)]
    if all(ends):
        grown = np.log(ends[1] / ends[0]) / np.log(10)
        yield ["growth of ward, mixture", "300,000 to 3,000,000", f"exponent {grown:.2f}", "1.6", "", ""]


#: Criteria and metrics whose links are compared; the first ones only, of many rows.
FORMS = [
    ("ward", "euclidean"),
    ("average", "sqeuclidean"),
    ("average", "cosine"),
    ("single", "euclidean"),
    ("centroid", "sqeuclidean"),
]


def same(largest: int, times: int) -> Iterator[list[str]]:
    """Whether links, levels and distances are those of the vectors engine (spanning, for single), every bit."""
    tables = {
        "mixture 50,000 x 128": lambda: mixture(50_000, 128),
        "mixture 300,000 x 128": lambda: mixture(300_000, 128),
        "noise 20,000 x 64": lambda: noise(20_000, 64),
        "lattice 20,000 x 12": lambda: lattice(20_000, 12),
        "far from zero, float64, 20,000 x 24": lambda: mixture(20_000, 24).astype(np.float64) + 1e5,
        "float16, 20,000 x 32": lambda: mixture(20_000, 32).astype(np.float16),
        "rows repeated, 20,000 x 32": lambda: np.repeat(mixture(5_000, 32), 4, axis=0),
        "2,000 columns, 5,000 x 2,000": lambda: noise(5_000, 2_000),
        "one column, 20,000 x 1": lambda: mixture(20_000, 1),
        **{name: (lambda name=name: real(name)) for name in ("mnist", "sift", "letter")},
    }
    for name, make in tables.items():
        X = make()
        if X is None:
            yield [name, "not at hand"]
            continue
        found = []
        for criterion, metric in FORMS[: 1 if len(X) > 100_000 else 4 if len(X) > 20_000 else 5]:
            if (metric == "cosine" and not X.any(axis=1).all()) or (X.shape[1] == 1 and metric == "cosine"):
                continue
            other = "spanning" if criterion == "single" else "vectors"
            ours, theirs = (cluster(X, criterion, metric, engine).links for engine in ("gpu", other))
            found.append(f"{criterion} {metric}: {'yes' if np.array_equal(ours, theirs) else '**no**'}")
        yield [name, ", ".join(found)]


def small(largest: int, times: int) -> Iterator[list[str]]:
    """Time of the gpu engine over that of the CPU's engine where there is little to do; they take turns."""
    reliac.warmup(["gpu", "vectors", "spanning"])
    for n, d in ((10, 32), (100, 32), (1_000, 32), (2_000, 300), (2_500, 32), (4_001, 32), (6_000, 32), (10_000, 32)):
        for criterion, metric in (*FORMS, ("median", "sqeuclidean")):
            shown = []
            for make in (mixture, noise, lattice):
                ours, theirs = best_of_turns(make(n, d), criterion, metric, 10 * times)
                shown.append(f"{ours / theirs:.2f} ({ours * 1e3:.1f})")
            yield [f"{criterion}, {metric}", f"{n:,} x {d}", *shown]


def best_of_turns(X: np.ndarray, criterion: str, metric: str, turns: int) -> tuple[float, float]:
    """Seconds of the gpu engine and of the CPU's, best of so many turns; after half a second no third one is begun."""
    best = dict.fromkeys(("gpu", "spanning" if criterion == "single" else "vectors"), np.inf)
    began = time.perf_counter()
    for turn in range(turns):
        for engine in best:
            started = time.perf_counter()
            cluster(X, criterion, metric, engine)
            best[engine] = min(best[engine], time.perf_counter() - started)
        if turn and time.perf_counter() - began > 0.5:
            break
    ours, theirs = best.values()
    return ours, theirs


@triton.jit
def write_products(x, zero, halves, out, WIDTH: tl.constexpr, STEP: tl.constexpr):
    """Write -2 x y of 128 rows and 128 columns, by the products that searches use."""
    rows, k = tl.arange(0, 128), tl.arange(0, STEP)
    a = (tl.load(x + rows[:, None] * WIDTH + k[None, :]) * -2.0).to(tl.float16)
    v = products_of_halves(a, x, zero, halves, rows, 0, rows, k, WIDTH, STEP)
    tl.store(out + rows[:, None] * 128 + rows[None, :], v)


def products_of(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    width = x.shape[1]
    zero, out = torch.zeros(width, device=x.device), torch.empty(128, 128, device=x.device)
    write_products[(1,)](x, zero, y.half(), out, WIDTH=width, STEP=width if width <= 128 else 64)
    return out


def bound(largest: int, times: int) -> Iterator[list[str]]:
    """How far sums in tensor cores are off, against what searches allow for them: a search for the worst rows."""
    generator = torch.Generator("cuda").manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, device="cuda", generator=generator)

    kinds: dict[str, Callable[[int], torch.Tensor]] = {
        "normal": lambda width: normal(128, width),
        "all positive": lambda width: normal(128, width).abs(),
        "one large, the rest small": lambda width: torch.cat((normal(128, 1) * 300, normal(128, width - 1) / 100), 1),
        "of every size": lambda width: normal(128, width) * torch.exp2(normal(128, width) * 6),
        "equal rows": lambda width: normal(1, width).expand(128, width),
    }
    for width in (16, 64, 128, 384, 832, 2048):
        worst = {}
        for name, make in kinds.items():
            shares = []
            for turn in range(200):
                x = make(width)
                y = x.clone() if turn % 2 else make(width)
                x, y = (z / z.norm(dim=1).max() * 1000 for z in (x, y))
                found = products_of(x.contiguous(), y.contiguous()).double()
                exact = (x * -2.0).half().double() @ y.half().double().T
                allowed = (width + 16) * 2.0**-21 * (x.double().square().sum(1)[:, None] + y.double().square().sum(1))
                shares.append(float(((found - exact).abs() / allowed).max()))
            worst[name] = max(shares)
        name = max(worst, key=lambda key: worst[key])
        yield [str(width), f"{worst[name]:.4f}", name]


SECTIONS = {
    "gpu": (["work", "size", "seconds", "may take", "levels", "GiB on the device"], speed),
    "small": (["work", "size", "mixture: gpu / CPU (ms)", "noise", "lattice"], small),
    "same": (["data", "the same links, bit for bit"], same),
    "bound": (["columns", "largest error seen / error allowed", "rows that gave it"], bound),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--largest", type=int, default=10_000_000, help="objects, at most")
    parser.add_argument("--times", type=int, default=3, help="runs of each row but the largest; the best counts")
    parser.add_argument("--minutes", type=float, default=60.0, help="no row is begun after so many minutes")
    parser.add_argument("--out", type=Path, help="the folder of docs whose tables are written anew")
    arguments = parser.parse_args()
    words = f"{torch.cuda.get_device_name()}, torch {torch.__version__}; {machine()}"
    print(words, flush=True)
    started = time.perf_counter()
    for name in arguments.sections:
        columns, section = SECTIONS[name]
        rows = []
        for row in section(arguments.largest, arguments.times):
            rows.append(row)
            print("  ".join(row), flush=True)
            if arguments.out:
                write_into(arguments.out / PAGES[name], name, f"{words}\n\n{table(columns, rows)}")
            if time.perf_counter() - started > 60 * arguments.minutes:
                print("no more time", flush=True)
                break


if __name__ == "__main__":
    main()
