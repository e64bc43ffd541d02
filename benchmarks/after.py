"""After the tree: what questions about a tree cost, and how good the answers are.

python benchmarks/after.py --out docs/after.md              # all tables
python benchmarks/after.py --sections order --sizes 500 2000
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from measure import machine, mixture, table, take_turns
from peers import write_into
from scipy.cluster.hierarchy import leaves_list, optimal_leaf_ordering
from scipy.spatial.distance import pdist, squareform

import reliac

Row = list[str]


# --- orders of the leaves ---


def order(arguments: argparse.Namespace) -> Iterator[Row]:
    """Sums of distances between neighbouring leaves, and seconds, against SciPy's optimal_leaf_ordering."""
    for n in arguments.sizes:
        X = mixture(n, 16)
        distances = pdist(X)
        square = squareform(distances)
        tree = reliac.cluster(X, "average")
        tree.order_leaves(how="quick")  # loads compiled code
        Z, orders = tree.linkage_matrix(), {}

        def run(name: str, call: Callable[[], np.ndarray], orders: dict[str, np.ndarray] = orders) -> None:
            orders[name] = call()

        calls = {
            "SciPy": lambda Z=Z, d=distances: leaves_list(optimal_leaf_ordering(Z, d)),
            "optimal": lambda tree=tree: tree.order_leaves(how="optimal"),
            "quick": lambda tree=tree: tree.order_leaves(how="quick"),
        }
        times = take_turns(*(lambda name=name, call=call: run(name, call) for name, call in calls.items()))
        orders["leaf_order"] = tree.leaf_order
        sums = {name: float(square[found[1:], found[:-1]].sum()) for name, found in orders.items()}
        shares = [f"{sums[name] / sums['optimal']:.4f}" for name in ("leaf_order", "SciPy", "quick")]
        yield [f"{n}", *shares, *(f"{seconds:.3g} s" for seconds in times)]
    for n in arguments.many:
        X = mixture(n, 16)
        tree = reliac.cluster(X, "ward")
        (seconds,) = take_turns(lambda tree=tree: tree.order_leaves(how="quick"))
        first, last = tree.order_leaves(how="quick"), tree.leaf_order
        share = (
            np.linalg.norm(np.diff(X[last], axis=0), axis=1).sum()
            / np.linalg.norm(np.diff(X[first], axis=0), axis=1).sum()
        )
        yield [f"{n}", f"{share:.4f} of quick", "", "", "", "", f"{seconds:.3g} s"]


SECTIONS: dict[str, tuple[Row, Callable[[argparse.Namespace], Iterator[Row]]]] = {
    "order": (
        ["objects", "sum: leaf_order", "SciPy", "quick", "seconds: SciPy", "optimal", "quick"],
        order,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--sizes", nargs="+", type=int, default=[500, 2000, 5000], help="objects that SciPy orders too")
    parser.add_argument("--many", nargs="*", type=int, default=[100_000], help="objects that are ordered quickly only")
    parser.add_argument("--out", type=Path, help="the docs page whose tables are written anew")
    arguments = parser.parse_args()
    print(machine() + "\n")
    for name in arguments.sections:
        columns, section = SECTIONS[name]
        rows = []
        for row in section(arguments):
            print("  ".join(row), flush=True)
            rows.append(row)
        if arguments.out:
            write_into(arguments.out, f"after-{name}", table(columns, rows))
        else:
            print("\n" + table(columns, rows) + "\n")


if __name__ == "__main__":
    main()
