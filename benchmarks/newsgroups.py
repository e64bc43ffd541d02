"""Which tf-idf settings come nearest to the paper's figures for COMP, REC and SCI? It says "tf-idf" and nothing more.

    RELIAC_DATA=folder python benchmarks/newsgroups.py news-rec          # about five minutes a data set
    python benchmarks/newsgroups.py news-comp --top 20 --metric euclidean

Every setting is run with three criteria that hardly depend on ties (average, weighted behind "average, reliable", and
Ward) and judged by the mean difference to the printed scores. The nearest of many tries is no evidence by itself: look
for one that agrees in all digits.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

import reliac
from reliac import datasets
from reliac.evaluate import scores
from reliac.reproduction.tables.published import PUBLISHED, Place
from reliac.reproduction.tables.readings import Objects

PARTS = ((), ("headers",), ("headers", "footers"), ("headers", "footers", "quotes"))
GRID: dict[str, tuple[Any, ...]] = {
    "stop_words": (None, "english"),
    "min_df": (1, 2, 3, 5, 10),
    "max_df": (1.0, 0.95, 0.5),
    "sublinear_tf": (False, True),
    "max_features": (None, 1000, 2000, 5000, 10000),
}

#: Printed place, and the criterion that is run for it.
RUNS = ((("average", "standard"), "average"), (("average", "reliable"), "weighted"), (("ward", "standard"), "ward"))


def settings() -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    for remove in PARTS:
        for values in product(*GRID.values()):
            yield remove, dict(zip(GRID, values, strict=True))


def differences(name: str, objects: Objects, metric: str) -> list[float]:
    """Return how far our scores are from the printed ones, place after place, score after score."""
    found = []
    for (column, strategy), criterion in RUNS:
        if metric == "euclidean":  # cosine distances of unit vectors are half their squares: the same trees
            tree = reliac.cluster(np.sqrt(objects.squared), criterion, metric="precomputed")
        else:
            tree = objects.tree(criterion, 1.0)
        ours = scores(objects.y, tree.labels(objects.n_clusters))
        printed = PUBLISHED[Place(name.removeprefix("news-").upper(), column, strategy)]
        found += [abs(value - wanted) for value, wanted in zip(ours.values(), printed, strict=True)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=[name for name in datasets.names() if name.startswith("news")])
    parser.add_argument("--metric", choices=("sqeuclidean", "euclidean"), default="sqeuclidean")
    parser.add_argument("--every", type=int, default=1, help="run only one setting in so many")
    parser.add_argument("--top", type=int, default=10, help="how many of the nearest to print")
    arguments = parser.parse_args()
    rows = []
    for number, (remove, chosen) in enumerate(settings()):
        if number % arguments.every:
            continue
        loaded = datasets.load(arguments.name, remove=remove, **chosen)
        apart = differences(arguments.name, Objects(loaded.X, loaded.y), arguments.metric)
        rows.append((float(np.mean(apart)), sum(value <= 1e-4 for value in apart), remove, chosen))
        print(f"\r{len(rows)} settings, nearest {min(row[0] for row in rows):.4f}", end="", flush=True)
    print()
    for mean, equal, remove, chosen in sorted(rows, key=lambda row: row[0])[: arguments.top]:
        words = ", ".join(f"{key}={value}" for key, value in chosen.items())
        print(f"{mean:.4f}  {equal} of {3 * len(RUNS)} equal  remove={'+'.join(remove) or 'nothing'}, {words}")


if __name__ == "__main__":
    main()
