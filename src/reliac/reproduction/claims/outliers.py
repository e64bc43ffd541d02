"""Outlier scores: does the level at which an object first joins tell outliers from the rest? What does it better?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...api import cluster
from ...datasets import Dataset
from ...tree.outliers import BEST, BEST_CRITERION
from ..report.parts import Section, Table
from ..report.pictures import GRID, NEUTRAL, RELIABLE, STANDARD, THIRD, notes, picture
from .inputs import features, left_out

#: Criteria of the trees that are scored.
CRITERIA = ("single", "average")
#: Scales of the scores. "level" is the paper's, the level of the first join; the others are ours.
SCALES = ("level", "distance")
#: How many objects a cluster has to hold until it counts; 2 is the first join.
SIZES = (2, 3, 5, 10, 20)
#: The sizes that stand beside other methods.
SHOWN = (2, 10)
NEIGHBOURS = 20
#: Real sets in which every class in turn becomes rare: all but so many of its objects are taken out.
RARE, KEPT = ("iris", "seeds", "wine"), 6
WANTED = ("ecoli", *RARE)
SMALL_CLASSES = ("omL", "imL", "imS")

Floats = NDArray[np.float64]
Case = tuple[str, Floats, NDArray[np.bool_]]  # name, objects, which are outliers
Results = Mapping[str, Mapping[str, Floats]]  # of every kind of data and every method: the areas of all draws


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


def score_name(scale: str, size: int) -> str:
    """Return what ``ClusterTree.outlier_scores`` calls a score."""
    return scale if size == 2 else f"{scale} of {size}"


OURS = tuple(f"{score_name(scale, size)}, {name}" for scale in SCALES for size in SIZES for name in CRITERIA)
OTHERS = ("LOF", "isolation forest")
METHODS = (*OURS, *OTHERS)
BESIDE = (*(f"{score_name(scale, size)}, {name}" for scale in SCALES for size in SHOWN for name in CRITERIA), *OTHERS)
PAPER = tuple(f"level, {name}" for name in CRITERIA)
DEFAULT = f"{BEST}, {BEST_CRITERION}"


def aucs(X: Floats, outlier: NDArray[np.bool_], seed: int) -> dict[str, float]:
    """Return the area under the ROC curve of every method; equal scores count half."""
    from sklearn.ensemble import IsolationForest
    from sklearn.metrics import roc_auc_score
    from sklearn.neighbors import LocalOutlierFactor

    trees = {criterion: cluster(X, criterion, metric="euclidean") for criterion in CRITERIA}
    neighbours = min(NEIGHBOURS, len(X) - 1)
    scores = [
        trees[criterion].outlier_scores(score_name(scale, size))
        for scale in SCALES
        for size in SIZES
        for criterion in CRITERIA
    ]
    scores += [
        -LocalOutlierFactor(n_neighbors=neighbours).fit(X).negative_outlier_factor_,
        -IsolationForest(random_state=seed).fit(X).score_samples(X),
    ]
    return {name: float(roc_auc_score(outlier, score)) for name, score in zip(METHODS, scores, strict=True)}


#: Circles: levels, triangles: distances; open: those of ten objects; blue: single, green: average.
STYLES = {
    name: ("ov"[name.startswith("distance")], (RELIABLE, THIRD)[name.endswith(CRITERIA[1])]) for name in BESIDE[:-2]
} | {OTHERS[0]: ("s", STANDARD), OTHERS[1]: ("D", NEUTRAL)}


def section(
    datasets: Mapping[str, Dataset], seeds: int = 10, progress: Callable[[str], None] = lambda text: None
) -> Section:
    """Score every method on planted outliers and on small classes."""
    progress("outlier scores")
    found: dict[str, list[dict[str, float]]] = {}
    for place, (name, X, outlier) in enumerate(cases(datasets, seeds)):
        found.setdefault(name, []).append(aucs(X, outlier, place))
    table = {
        name: {method: np.array([draw[method] for draw in draws]) for method in METHODS}
        for name, draws in found.items()
    }
    overall = {method: float(np.mean([values[method].mean() for values in table.values()])) for method in METHODS}
    figures = picture(
        "claim-outliers",
        "Area under the ROC curve, mean and one standard deviation over the draws; 0.5 is chance.",
        "A row for each kind of data with a mark for each of ten methods. The paper's levels lie left of the others on "
        "most rows.",
        (8.0, 0.6 * len(table) + 1.6),
        lambda canvas: _draw(canvas, table),
    )
    return Section(
        "Outlier scores",
        "claim-outliers",
        (*_words(table, overall), *left_out(WANTED, datasets), *notes(figures)),
        _tables(table, overall),
        figures,
    )


def _tables(table: Results, overall: Mapping[str, float]) -> tuple[Table, Table]:
    """Return the table of all kinds of data, and the means of our scores by the number of objects."""
    rows = [
        (name, str(len(values[DEFAULT])), *(_with_spread(values[method]) for method in BESIDE))
        for name, values in table.items()
    ]
    rows.append(("mean of all", "", *(f"{overall[method]:.3f}" for method in BESIDE)))
    columns = [f"{scale}, {name}" for scale in SCALES for name in CRITERIA]
    by_size = tuple(
        (str(size), *(f"{overall[f'{score_name(scale, size)}, {name}']:.3f}" for scale in SCALES for name in CRITERIA))
        for size in SIZES
    )
    caption = "Area under the ROC curve: mean and standard deviation over the draws"
    sizes = "Mean over all kinds of data, by how many objects a cluster has to hold until it counts; 2: the first join"
    return (
        Table("claim-outliers", caption, ("data", "draws", *BESIDE), tuple(rows)),
        Table("claim-outliers-sizes", sizes, ("objects", *columns), by_size),
    )


def _with_spread(values: Floats) -> str:
    return f"{values.mean():.3f}" if len(values) == 1 else f"{values.mean():.3f} ± {values.std(ddof=1):.3f}"


def _words(table: Results, overall: Mapping[str, float]) -> tuple[str, ...]:
    means = {name: {method: values[method].mean() for method in METHODS} for name, values in table.items()}
    good = [name for name, m in means.items() if max(m[p] for p in PAPER) >= max(m[o] for o in OTHERS) - 0.01]
    chance = [name for name, m in means.items() if max(m[p] for p in PAPER) < 0.6]
    close = [name for name, m in means.items() if m[DEFAULT] >= max(m[o] for o in OTHERS) - 0.03]
    best = max(OURS, key=lambda method: overall[method])
    verdict = "that one" if best == DEFAULT else f"{best}, {overall[best]:.3f}"
    return (
        "Claimed, without an experiment: outliers join the others only at higher levels, and the probability that an "
        "object is one is proportional to the level at which it first joins.",
        f"Done: {len(SHAPES)} made-up cases with outliers planted around and between the others (in one case a single "
        "one far away, in one close pairs), and real sets with small classes: those of ecoli (omL, imL, imS: 9 of 336 "
        f"objects), and every class of iris, seeds and wine in turn cut down to {KEPT} objects. Euclidean distances. "
        "Objects are scored by the level of their first join, which is the paper's score, by its distance, and by the "
        "level and the distance at which their cluster first holds 3, 5, 10 or 20 objects. Against two usual methods "
        f"of scikit-learn: the local outlier factor ({NEIGHBOURS} neighbours) and the isolation forest.",
        "Found, mean of all cases: " + ", ".join(f"{name} {overall[name]:.3f}" for name in BESIDE) + ". "
        f"The level of the first join is as good as the better of the two on: {_listed(good)}. It is near chance or "
        f"below (under 0.6) on: {_listed(chance)}.",
        "The claim holds for a lone object far from the rest, and hardly beyond. Two outliers near each other join at "
        "the first level, and so do the members of a small class; among normal objects many wait for a partner too, so "
        "the level of an object says little. Levels are whole numbers and few, and many objects tie (equal scores "
        "count half here). 'Proportional' was not tested, only the order.",
        "Two changes mend most of it: the distance instead of the level, and to wait until the cluster holds more than "
        f"two objects. This table decides what the outlier detector and the command take: {DEFAULT}. The highest mean "
        f"of our scores in this run: {verdict}. It is within 0.03 of the better of the two others, or ahead, on: "
        f"{_listed(close)}. It is not the paper's score, and the comparison is kind to it, since it was chosen on "
        "these very cases, where no group of outliers has more than ten objects. The second table shows what other "
        "numbers of objects would give.",
    )


def _listed(names: list[str]) -> str:
    return "; ".join(names) if names else "none"


def _draw(canvas: Any, table: Results) -> None:
    ax = canvas.subplots()
    style = {"markersize": 5, "elinewidth": 1.0, "linestyle": "none"}
    for column, (method, (marker, colour)) in enumerate(STYLES.items()):
        places = np.arange(len(table)) + 0.085 * (column - (len(STYLES) - 1) / 2)
        mean = [values[method].mean() for values in table.values()]
        spread = [values[method].std(ddof=1) if len(values[method]) > 1 else 0.0 for values in table.values()]
        filled = "none" if " of " in method else colour
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
