"""The tables again: as published, as written, and extended; and a verdict for every place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import evaluate
from ...algorithm.criteria import CRITERIA as ALL_CRITERIA
from ...datasets import Dataset
from ...tree.clustertree import ClusterTree
from .old_scipy import linkage_by_first_pair
from .published import CRITERIA, DATASETS, PUBLISHED, STRATEGIES, Place, Scores, impossible
from .readings import DATA_SLIPS, Objects, as_published, as_written

PROTOCOLS = ("as published", "as written")
ALPHAS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)

#: Two scores are equal if they differ by no more than this: one in the last printed digit.
TOLERANCE = 1e-4

#: The ways in which printed figures depart from the paper's words, apart from slips in the data.
SLIPS = {
    "data": "the data are not those of the text",
    "criterion": "the criterion is `weighted` and not average",
    "cut": "clusters come from SciPy's `cut_tree`, which gives fewer than K where a join is nearer than one below it",
    "ties": "ties are broken as in old versions of SciPy: the first smallest pair, put in the place of its later part",
}

REPRODUCED, DIFFERS, CANNOT, NOT_RUN = "reproduced", "differs", "cannot be reproduced", "not run"
WORDS = (REPRODUCED, DIFFERS, CANNOT, NOT_RUN)

IMPOSSIBLE = "AMI is larger than V, which no two partitions can have: the figures come from different runs"
NOT_PUBLIC = "the data are not public"
UNKNOWN_SETTINGS = "the paper does not give the settings of its tf-idf vectors"
UNEXPLAINED = "no settings that were tried give these figures"
SAME_TREE = "without ties both strategies build one tree, so that the two printed columns should agree"


@dataclass(frozen=True)
class Verdict:
    """One of four words, and the reason."""

    word: str
    reason: str = ""

    def __str__(self) -> str:
        if self.word == REPRODUCED:
            return f"{self.word}, {self.reason}" if self.reason else self.word
        return f"{self.word}, because {self.reason}"


@dataclass(frozen=True)
class Cell:
    """What came out at one place of the tables under one protocol."""

    protocol: str
    place: Place
    printed: Scores
    ours: Scores | None
    n_clusters: int | None  # of our clustering
    verdict: Verdict
    needs: str = ""  # the fewest slips that lead from the paper's words to the printed figures


@dataclass(frozen=True)
class ExtendedRow:
    """One tree, cut in three ways: by distance, by level, and at the level nearest to K clusters."""

    dataset: str
    criterion: str
    alpha: float
    n_levels: int
    n_clusters: int
    by_distance: Scores
    by_level: Scores
    level: int
    clusters_at_level: int
    at_level: Scores


class Bench:
    """One data set, both readings of it, and the trees made so far."""

    def __init__(self, title: str, dataset: Dataset) -> None:
        self.title = title
        self.name = dataset.name
        self.written = as_written(dataset)
        self.published = as_published(dataset) if dataset.name in DATA_SLIPS else self.written
        self._matrices: dict[tuple[int, str, str], NDArray[np.float64]] = {}
        self._trees: dict[tuple[int, str, float], ClusterTree] = {}
        self._reasons: dict[Place, str] = {}
        self._outcomes: dict[tuple[Place, tuple[str, ...]], tuple[Scores, int]] = {}

    def cells(self) -> Iterator[Cell]:
        """Give every place of this data set under both protocols."""
        for criterion in CRITERIA:
            for strategy in STRATEGIES:
                place = Place(self.title, criterion, strategy)
                yield self._cell("as published", place, self._slips(place))
                yield self._cell("as written", place, ())

    def extended(self) -> Iterator[ExtendedRow]:
        """Give every criterion with several alphas, on the data as written."""
        objects, K = self.written, self.written.n_clusters
        for criterion in ALL_CRITERIA:
            for alpha in ALPHAS:
                tree = self._tree(objects, criterion, alpha)
                level = int(np.abs(tree.cluster_counts - K).argmin())
                yield ExtendedRow(
                    dataset=self.title,
                    criterion=criterion,
                    alpha=alpha,
                    n_levels=tree.n_levels,
                    n_clusters=K,
                    by_distance=_scores(objects, tree.labels(K)),
                    by_level=_scores(objects, tree.labels(K, by="level")),
                    level=level,
                    clusters_at_level=int(tree.cluster_counts[level]),
                    at_level=_scores(objects, tree.labels(level=level)),
                )

    def reason(self, place: Place) -> str:
        """Say what the printed figures need and our words do not give: the fewest slips that lead to them."""
        if place not in self._reasons:
            self._reasons[place] = self._find_reason(place)
        return self._reasons[place]

    def _find_reason(self, place: Place) -> str:
        if self.name.startswith("news"):
            return UNKNOWN_SETTINGS
        slips = self._slips(place)
        for count in range(1, len(slips) + 1):
            for chosen in combinations(slips, count):
                if agreement(self._score(place, chosen)[0], PUBLISHED[place]) is not None:
                    return "; ".join(self._in_words(slip) for slip in chosen)
        other = PUBLISHED[place._replace(strategy=next(s for s in STRATEGIES if s != place.strategy))]
        suspect = ALL_CRITERIA[place.criterion].reducible and other != PUBLISHED[place]
        return f"{UNEXPLAINED}; {SAME_TREE}" if suspect else UNEXPLAINED

    def _in_words(self, slip: str) -> str:
        return "; ".join(DATA_SLIPS[self.name]) if slip == "data" else SLIPS[slip]

    def _slips(self, place: Place) -> tuple[str, ...]:
        """Return the slips that stand behind a place. The printed Iris is average in both columns."""
        chosen = {
            "data": self.name in DATA_SLIPS,
            "criterion": place[1:] == ("average", "reliable") and self.name != "iris",
            "cut": True,
            "ties": place.strategy == "standard",
        }
        return tuple(slip for slip, wanted in chosen.items() if wanted)

    def _cell(self, protocol: str, place: Place, slips: tuple[str, ...]) -> Cell:
        ours, n_clusters = self._score(place, slips)
        printed = PUBLISHED[place]
        needs = "" if agreement(self._score(place, ())[0], printed) is not None else self.reason(place)
        return Cell(protocol, place, printed, ours, n_clusters, self._judge(place, ours), needs)

    def _judge(self, place: Place, ours: Scores) -> Verdict:
        printed = PUBLISHED[place]
        note = agreement(ours, printed)
        if note is not None:
            return Verdict(REPRODUCED, note)
        if impossible(printed):
            return Verdict(CANNOT, IMPOSSIBLE)
        reason = self.reason(place)
        return Verdict(CANNOT if reason == UNKNOWN_SETTINGS else DIFFERS, reason)

    def _score(self, place: Place, slips: tuple[str, ...]) -> tuple[Scores, int]:
        """Run one place with some slips, and return its scores and the number of clusters."""
        if (place, slips) not in self._outcomes:
            self._outcomes[place, slips] = self._run(place, slips)
        return self._outcomes[place, slips]

    def _run(self, place: Place, slips: tuple[str, ...]) -> tuple[Scores, int]:
        objects = self.published if "data" in slips else self.written
        criterion = "weighted" if "criterion" in slips else place.criterion
        if "ties" not in slips and "cut" not in slips:
            labels = self._tree(objects, criterion, _alpha(place)).labels(objects.n_clusters)
        else:
            matrix = self._matrix(objects, criterion, "ties" if "ties" in slips else place.strategy)
            labels = _cut(matrix, objects.n_clusters, scipy="cut" in slips)
        return _scores(objects, labels), len(np.unique(labels))

    def _tree(self, objects: Objects, criterion: str, alpha: float) -> ClusterTree:
        key = (id(objects), criterion, alpha)
        if key not in self._trees:
            self._trees[key] = objects.tree(criterion, alpha)
        return self._trees[key]

    def _matrix(self, objects: Objects, criterion: str, strategy: str) -> NDArray[np.float64]:
        key = (id(objects), criterion, strategy)
        if key not in self._matrices:
            if strategy == "ties":
                matrix = linkage_by_first_pair(objects.squared, criterion)
            else:
                matrix = self._tree(objects, criterion, float(strategy == "reliable")).linkage_matrix(order="level")
            self._matrices[key] = matrix
        return self._matrices[key]


def agreement(ours: Scores, printed: Scores) -> str | None:
    """Return None if scores differ, else a note: nothing, or that the signs were lost in print."""
    differences = np.abs(np.subtract(ours, printed))
    if (differences <= TOLERANCE).all():
        return ""
    lost = (np.less(ours, 0)) & (np.abs(np.add(ours, printed)) <= TOLERANCE)
    return "with the sign lost in print" if (lost | (differences <= TOLERANCE)).all() else None


def cells_without_data(reasons: Mapping[str, str]) -> Iterator[Cell]:
    """Give the places of data sets that were not run; ``reasons`` says why, by printed name."""
    for place, printed in PUBLISHED.items():
        if place.dataset not in reasons:
            continue
        verdict = Verdict(NOT_RUN, reasons[place.dataset])
        if DATASETS[place.dataset] is None:
            verdict = Verdict(CANNOT, NOT_PUBLIC)
        elif impossible(printed):
            verdict = Verdict(CANNOT, IMPOSSIBLE)
        for protocol in PROTOCOLS:
            yield Cell(protocol, place, printed, None, None, verdict)


def _alpha(place: Place) -> float:
    return 1.0 if place.strategy == "reliable" else 0.0


def _scores(objects: Objects, labels: Any) -> Scores:
    return Scores(**evaluate.scores(objects.y, labels))


def _cut(matrix: NDArray[np.float64], n_clusters: int, scipy: bool) -> NDArray[np.intp]:
    """Return the labels that SciPy's ``cut_tree`` gives, or undo the K - 1 last rows."""
    n = len(matrix) + 1
    if not scipy:
        return _joined(matrix[: n - n_clusters], n)
    heights = np.sort(matrix[:, 2])
    below = np.concatenate((np.zeros(n), matrix[:, 2]))[matrix[:, :2].astype(np.intp)]
    inverted = (below > matrix[:, 2:3]).any()
    if not inverted and heights[n - n_clusters - 1] < heights[n - n_clusters]:  # then it is slow, but right
        return _joined(np.where(matrix[:, 2:3] <= heights[n - n_clusters - 1], matrix, 0.0), n)
    from scipy.cluster.hierarchy import cut_tree

    return np.asarray(cut_tree(matrix, n_clusters=n_clusters).ravel())


def _joined(matrix: NDArray[np.float64], n: int) -> NDArray[np.intp]:
    """Return the labels after the joins of these rows; rows of zeros join nothing."""
    label = np.arange(n)
    members = [[i] for i in range(n)]
    for left, right in matrix[:, :2].astype(np.intp).tolist():
        members.append(members[left] + members[right] if left != right else [])
        label[members[-1]] = len(members)
    return np.unique(label, return_inverse=True)[1]
