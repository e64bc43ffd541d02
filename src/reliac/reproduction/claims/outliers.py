"""Outlier levels: does the level at which an object first joins tell outliers from the rest?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...api import cluster
from ...datasets import Dataset
from ...tree.clustertree import ClusterTree
from ..report.parts import Section, Table
from ..report.pictures import GRID, NEUTRAL, RELIABLE, STANDARD, THIRD, notes, picture
from .inputs import features, left_out

#: Criteria of the trees whose levels are scored.
CRITERIA = ("single", "average")
#: Not the paper's: the level at which an object's cluster first has so many objects, so that small groups count too.
GROWN = 10
NEIGHBOURS = 20
#: Real sets in which every class in turn becomes rare: all but so many of its objects are taken out.
RARE, KEPT = ("iris", "seeds", "wine"), 6
WANTED = ("ecoli", *RARE)
SMALL_CLASSES = ("omL", "imL", "imS")

Floats = NDArray[np.float64]
Case = tuple[str, Floats, NDArray[np.bool_]]  # name, objects, which are outliers


def _blob(rng: np.random.Generator) -> Floats:
    return rng.normal(size=(200, 2))


def _densities(rng: np.random.Generator) -> Floats:
    return np.vstack((0.3 * rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) * 1.5 + 7.0))


def _ring(rng: np.random.Generator) -> Floats:
    angle = rng.uniform(0.0, 2 * np.pi, 200)
    return 4.0 * np.column_stack((np.cos(angle), np.sin(angle))) + 0.15 * rng.normal(size=(200, 2))


def _line(rng: np.random.Generator) -> Floats:
    along = rng.uniform(-5.0, 5.0, 200)
    return np.column_stack((along, along)) + 0.15 * rng.normal(size=(200, 2))


def _many_dimensions(rng: np.random.Generator) -> Floats:
    centres = 4.0 * rng.normal(size=(4, 10))
    return np.repeat(centres, 50, axis=0) + rng.normal(size=(200, 10))


LONE, PAIRS = "one far outlier", "pairs of outliers"
SHAPES: dict[str, Callable[[np.random.Generator], Floats]] = {
    LONE: _blob,
    "one cluster": _blob,
    "two densities": _densities,
    "ring": _ring,
    "line": _line,
    "ten dimensions": _many_dimensions,
    PAIRS: _blob,
}


def planted(shape: str, seed: int, count: int = 10) -> Case:
    """Draw 200 objects of a shape and some outliers, anywhere in a box half as wide again."""
    rng = np.random.default_rng([list(SHAPES).index(shape), seed])
    X = SHAPES[shape](rng)
    middle, reach = (X.max(axis=0) + X.min(axis=0)) / 2, np.ptp(X, axis=0) / 2
    strays = middle + 1.5 * reach * rng.uniform(-1.0, 1.0, (count, X.shape[1]))
    if shape == LONE:  # outside the box
        strays = middle + 2.0 * reach * np.sign(strays[:1] - middle)
    elif shape == PAIRS:  # each has a close companion
        strays[1::2] = strays[::2] + 0.02 * reach * rng.normal(size=strays[::2].shape)
    return shape, np.vstack((X, strays)), np.arange(len(X) + len(strays)) >= len(X)


def rare_classes(dataset: Dataset, seed: int) -> Iterator[Case]:
    """Make each class rare in turn."""
    X, rng = features(dataset), np.random.default_rng(seed)
    for value in dataset.class_counts:
        rare = np.flatnonzero(dataset.y == value)
        kept = np.sort(np.concatenate((np.flatnonzero(dataset.y != value), rng.choice(rare, KEPT, replace=False))))
        yield f"{dataset.name}, one class rare", X[kept], dataset.y[kept] == value


def cases(datasets: Mapping[str, Dataset], seeds: int) -> Iterator[Case]:
    """Return all cases; those of one name are draws of the same experiment."""
    for shape in SHAPES:
        yield from (planted(shape, seed) for seed in range(seeds))
    if "ecoli" in datasets:
        ecoli = datasets["ecoli"]
        yield "ecoli, small classes", features(ecoli), np.isin(ecoli.y, SMALL_CLASSES)
    for name in RARE:
        if name in datasets:
            for seed in range(max(1, seeds // 3)):
                yield from rare_classes(datasets[name], seed)


def grown_levels(tree: ClusterTree, size: int = GROWN) -> NDArray[np.intp]:
    """Return the level at which each object's cluster first has ``size`` objects; size 2 is the first join."""
    n = tree.n_objects
    found = np.full(n + len(tree.links), tree.n_levels + 1, dtype=np.intp)
    for row in range(len(tree.links) - 1, -1, -1):  # from the roots down
        _, _, _, level, count = tree.links[row].item()
        if count >= size:
            found[n + row] = level
        found[[tree.links["left"][row], tree.links["right"][row]]] = found[n + row]
    return found[:n]


def aucs(X: Floats, outlier: NDArray[np.bool_], seed: int) -> dict[str, float]:
    """Return the area under the ROC curve of every method; equal scores count half."""
    from sklearn.ensemble import IsolationForest
    from sklearn.metrics import roc_auc_score
    from sklearn.neighbors import LocalOutlierFactor

    trees = [cluster(X, criterion, metric="sqeuclidean") for criterion in CRITERIA]
    neighbours = min(NEIGHBOURS, len(X) - 1)
    scores = (
        *(tree.join_levels for tree in trees),
        *(grown_levels(tree) for tree in trees),
        -LocalOutlierFactor(n_neighbors=neighbours).fit(X).negative_outlier_factor_,
        -IsolationForest(random_state=seed).fit(X).score_samples(X),
    )
    return {name: float(roc_auc_score(outlier, score)) for name, score in zip(METHODS, scores, strict=True)}


METHODS = (
    *(f"level, {criterion}" for criterion in CRITERIA),
    *(f"level of ten, {criterion}" for criterion in CRITERIA),
    *("LOF", "isolation forest"),
)
#: Of the paper's levels filled marks, of the levels of ten open ones.
STYLES = dict(
    zip(METHODS, zip((RELIABLE, THIRD, RELIABLE, THIRD, STANDARD, NEUTRAL), "ovovsD", strict=True), strict=True)
)


def section(
    datasets: Mapping[str, Dataset], seeds: int = 10, progress: Callable[[str], None] = lambda text: None
) -> Section:
    """Score every method on planted outliers and on small classes."""
    progress("outlier levels")
    found: dict[str, list[list[float]]] = {}
    for place, (name, X, outlier) in enumerate(cases(datasets, seeds)):
        result = aucs(X, outlier, place)
        found.setdefault(name, []).append([result[method] for method in METHODS])
    table = {name: np.array(values) for name, values in found.items()}
    figures = picture(
        "claim-outliers",
        "Area under the ROC curve, mean and one standard deviation over the draws; 0.5 is chance.",
        "A row for each kind of data with a mark for each of six methods. The paper's levels lie left of the others on "
        "most rows.",
        (8.0, 0.5 * len(table) + 1.2),
        lambda canvas: _draw(canvas, table),
    )
    rows = tuple(
        (name, str(len(values)), *(_with_spread(values[:, column]) for column in range(len(METHODS))))
        for name, values in table.items()
    )
    caption = "Area under the ROC curve: mean and standard deviation over the draws"
    return Section(
        "Outlier levels",
        "claim-outliers",
        (*_words(table), *left_out(WANTED, datasets), *notes(figures)),
        (Table("claim-outliers", caption, ("data", "draws", *METHODS), rows),),
        figures,
    )


def _with_spread(values: Floats) -> str:
    return f"{values.mean():.3f}" if len(values) == 1 else f"{values.mean():.3f} ± {values.std(ddof=1):.3f}"


def _words(table: dict[str, Floats]) -> tuple[str, ...]:
    means = {name: values.mean(axis=0) for name, values in table.items()}
    overall = dict(zip(METHODS, np.mean(list(means.values()), axis=0), strict=True))
    count = len(CRITERIA)
    best = np.array([(m[:count].max(), m[count : 2 * count].max(), m[2 * count :].max()) for m in means.values()])
    good = [name for name, (first, _, others) in zip(means, best, strict=True) if first >= others - 0.01]
    chance = [name for name, (first, _, _) in zip(means, best, strict=True) if first < 0.6]
    close = [name for name, (_, ten, others) in zip(means, best, strict=True) if ten >= others - 0.03]
    return (
        "Claimed, without an experiment: outliers join the others only at higher levels, and the probability that an "
        "object is one is proportional to the level at which it first joins.",
        f"Done: {len(SHAPES)} made-up cases with outliers planted around and between the others (in one case a single "
        "one far away, in one close pairs), and real sets with small classes: those of ecoli (omL, imL, imS: 9 of 336 "
        f"objects), and every class of iris, seeds and wine in turn cut down to {KEPT} objects. Against two usual "
        f"methods of scikit-learn: the local outlier factor ({NEIGHBOURS} neighbours) and the isolation forest.",
        "Found, mean of all cases: " + ", ".join(f"{name} {value:.3f}" for name, value in overall.items()) + ". "
        f"The level of the first join is as good as the better of the two on: {_listed(good)}. It is near chance or "
        f"below (under 0.6) on: {_listed(chance)}.",
        "Holds for a lone object far from the rest, and hardly beyond. Two outliers near each other join at the first "
        "level, and so do the members of a small class; among normal objects many wait for a partner too, so the level "
        "of an object says little. Levels are whole numbers and few, and many objects tie (equal scores count half "
        "here). 'Proportional' was not tested, only the order.",
        f"A small change mends most of it: score an object by the level at which its cluster first has {GROWN} objects "
        f"(level of ten). That is within 0.03 of the better of the two others, or ahead, on: {_listed(close)}. It is "
        "not the paper's, and the comparison is kind to it: of 2, 5, 10 and 20 objects ten was chosen on these very "
        "cases, where no group of outliers is larger. With five the small classes escape again, as would groups of "
        "more than ten.",
    )


def _listed(names: list[str]) -> str:
    return "; ".join(names) if names else "none"


def _draw(canvas: Any, table: dict[str, Floats]) -> None:
    ax = canvas.subplots()
    style = {"markersize": 5, "elinewidth": 1.0, "linestyle": "none"}
    for column, (method, (colour, marker)) in enumerate(STYLES.items()):
        places = np.arange(len(table)) + 0.14 * (column - 2.5)
        mean = [values[:, column].mean() for values in table.values()]
        spread = [values[:, column].std(ddof=1) if len(values) > 1 else 0.0 for values in table.values()]
        filled = colour if "ten" not in method else "none"
        ax.errorbar(mean, places, xerr=spread, fmt=marker, color=colour, markerfacecolor=filled, **style, label=method)
    ax.axvline(0.5, color=NEUTRAL, linewidth=1.0, linestyle=":")
    for place in range(1, len(table)):
        ax.axhline(place - 0.5, color=GRID, linewidth=0.8)
    ax.set_yticks(range(len(table)), list(table))
    ax.set_xlim(right=1.015)
    ax.set_ylim(len(table) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("area under the ROC curve")
    canvas.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
