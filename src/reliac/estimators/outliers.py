"""Outliers among rows, old and new, by the tree of the old ones."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from ..algorithm.criteria import get_criterion
from ..calls import explain_calls
from ..errors import explain
from ..input.metrics import MetricLike, canonical_metric
from ..input.numbers import is_frame
from ..tree.outliers import BEST, BEST_CRITERION, read_score
from ..tree.placing import distances_to_training, row_fingerprints, scores_of_new
from .tables import check_table, describe_input, distances_between_tables, grow_tree, is_given, takes_whole_table

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class ReliableOutlierDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Outliers are the objects that come together with others late, or far away.

    A tree of the rows says for every row when its cluster first holds ten rows: at which level, and at which distance.
    Rows inside a crowd are soon among ten. A lone row is not, and neither are the few rows of a small group far from
    the rest, however near each other they are. The score is that distance, as a share of the tree's largest.

    The paper's own score, ``by="level"``, is the level of the first join. It finds lone rows, and little else. In the
    table of ``reliac reproduce`` (eleven kinds of data, docs/paper.md) the mean area under the ROC curve is 0.66 for
    it, 0.92 for the default here, 0.90 for ``LocalOutlierFactor`` and 0.93 for ``IsolationForest``.

    Rows that come together with others at once have equal scores, more of them by levels than by distances.

    A new row is scored without changing the tree. Let its nearest training row be at distance delta. By distance, the
    score is that of delta, or of the distance at which that training row's cluster has one row less than asked for
    (nine), whichever is larger. By level, it is the first level at which that training row's cluster merges at no less
    than two objects delta apart would, and with enough rows: until then the cluster finds nearer partners. Of several
    nearest rows the lowest score counts.

    With the single criterion that is what a tree with the new row would give, up to rows that are a bridge between two
    clusters, and about as many new rows are flagged as ``contamination`` says (12 to 13 of 100 where it says 10, on
    normally distributed rows). With the others a training row's distance is to a whole cluster, and delta to its
    nearest row: by distance fewer new rows are flagged, down to a quarter, and by the level of the first join more, up
    to three or four times as many.

    A training row gets its own score again. Only ``alpha=0`` can differ: it joins equal rows one after the other, and
    all of them then get the lowest of their scores.

    Parameters
    ----------
    linkage : {"single", "average", "complete", "weighted", "centroid", "median", "ward"}, default="single"
        Single ranks outliers best in the table of ``reliac reproduce``; the others follow closely.
    metric : str or callable, default="euclidean"
        As in :class:`ReliableAgglomerativeClustering`. With "precomputed", ``fit`` takes the (n, n) distances of
        the training rows and the other methods (n_new, n) distances to them.
    contamination : float in (0, 0.5] or "auto", default=0.1
        The share of training rows to flag: of rows with equal scores none where all would be too many. "auto" flags
        rows whose score by distance is more than twice the upper quartile: three quarters of the rows come together
        with others within half of that distance. By level it flags scores above 0.5: rows that come together with
        others in the second half of the levels.
    alpha, tie_tolerance : float
        As in :func:`reliac.cluster`.
    by : str, default="distance of 10"
        "level", "distance", "level of m" or "distance of m", as in :meth:`reliac.ClusterTree.outlier_scores`.
    n_jobs, progress, checkpoint : as in :func:`reliac.cluster`.
    max_level : int or None, default=None
        Stop after so many levels, which saves work: rows that have not come together with enough others score 1.

    Attributes
    ----------
    tree_ : ClusterTree of the training rows
    join_levels_ : (n,) array, the level at which each training row first joins another
    outlier_scores_ : (n,) array: the higher, the more an outlier
    offset_ : float, rows with ``score_samples`` below it are outliers
    n_features_in_, feature_names_in_ : as in every scikit-learn estimator

    Examples
    --------
    >>> from reliac import ReliableOutlierDetector
    >>> X = [[0.0], [1.0], [2.5], [3.6], [5.2], [6.1], [20.0]]
    >>> detector = ReliableOutlierDetector(contamination="auto").fit(X)
    >>> detector.outlier_scores_.round(2).tolist()
    [0.11, 0.11, 0.11, 0.11, 0.12, 0.12, 1.0]
    >>> detector.predict([[2.0], [20.0], [40.0]]).tolist()
    [1, -1, -1]
    """

    @explain_calls()
    def __init__(
        self,
        linkage: str = BEST_CRITERION,
        *,
        metric: MetricLike = "euclidean",
        contamination: float | str = 0.1,
        alpha: float = 1.0,
        tie_tolerance: float = 0.0,
        by: str = BEST,
        n_jobs: int | None = None,
        progress: Any = None,
        checkpoint: Any = None,
        max_level: int | None = None,
    ) -> None:
        self.linkage = linkage
        self.metric = metric
        self.contamination = contamination
        self.alpha = alpha
        self.tie_tolerance = tie_tolerance
        self.by = by
        self.n_jobs = n_jobs
        self.progress = progress
        self.checkpoint = checkpoint
        self.max_level = max_level

    def __sklearn_tags__(self) -> Any:
        return describe_input(super().__sklearn_tags__(), self.metric)

    def fit(self, X: Any, y: Any = None) -> ReliableOutlierDetector:
        """Build the tree of the rows of X and set the offset; ``y`` is ignored."""
        numbers = check_table(self, X)
        share = _check_contamination(self.contamination)
        score = read_score(self.by)
        self.tree_ = grow_tree(self, X if is_frame(X) else numbers, numbers)  # a frame carries the names of its rows
        self.join_levels_ = self.tree_.join_levels
        self.outlier_scores_ = self.tree_.outlier_scores(self.by)
        if share is not None:
            self.offset_ = _offset(self.outlier_scores_, share)
        else:
            self.offset_ = -0.5 if score.scale == "level" else -2.0 * float(np.quantile(self.outlier_scores_, 0.75))
        self._training_rows = None if is_given(self.metric) else numbers
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Indices:
        """Fit and return -1 for the outliers among the rows of X, 1 for the others."""
        self.fit(X)
        return np.where(-self.outlier_scores_ >= self.offset_, 1, -1)

    def predict(self, X: Any) -> Indices:
        """Return -1 for outliers, 1 for the others."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def decision_function(self, X: Any) -> Floats:
        """Return ``score_samples(X) - offset_``: below 0 for outliers."""
        return self.score_samples(X) - self.offset_

    def score_samples(self, X: Any) -> Floats:
        """Return minus the outlier score of every row: the higher, the more normal.

        From -1 to 0; by distance, rows that are farther away than any two clusters of the tree are below -1.
        """
        check_is_fitted(self)
        if self.metric == "gower":
            given = "New rows with metric 'gower', whose ranges and categories are those of one table"
            raise ValueError(explain(given, "rows that are fitted together", "use fit_predict on all rows at once"))
        numbers = check_table(self, X, reset=False)
        place = scores_of_new(self.tree_, read_score(self.by))
        by_size = get_criterion(self.linkage).by_size
        scale = 0.5 if by_size and canonical_metric(self.metric) == "sqeuclidean" else 1.0  # Ward's form: |x - y|^2 / 2
        scores = np.empty(numbers.shape[0])
        for rows, distances in self._distances(numbers):
            smallest = distances.min(axis=1)
            row, nearest = np.nonzero(distances <= smallest[:, None] * (1.0 + self.tie_tolerance))
            found = place(nearest, scale * smallest[row])
            scores[rows] = np.minimum.reduceat(found, np.searchsorted(row, np.arange(len(smallest))))
        self._recognise_training_rows(numbers, scores)
        return -scores

    def _distances(self, numbers: Any) -> Any:
        """Give the distances of new rows to all training rows, some rows at a time."""
        if self._training_rows is not None and takes_whole_table(self.metric):
            given: Any = distances_between_tables(self.metric, numbers, self._training_rows)  # type: ignore[arg-type]
            return distances_to_training(given, None, "precomputed")
        return distances_to_training(numbers, self._training_rows, canonical_metric(self.metric))

    def _recognise_training_rows(self, numbers: Any, scores: Floats) -> None:
        """Give rows that equal a training row its score: some metrics round a row's distance to itself above 0."""
        if self._training_rows is None:
            return
        known: dict[bytes, float] = {}
        for row, score in zip(row_fingerprints(self._training_rows), self.outlier_scores_.tolist(), strict=True):
            known[row] = min(score, known.get(row, score))
        for place, row in enumerate(row_fingerprints(numbers)):
            scores[place] = known.get(row, scores[place])


def _check_contamination(contamination: Any) -> float | None:
    """Return the share of outliers, None for "auto"."""
    if isinstance(contamination, str) and contamination == "auto":
        return None
    if not isinstance(contamination, Real) or not 0.0 < contamination <= 0.5:  # type: ignore[operator]
        hint = "pass the share of outliers that you expect, for example 0.05"
        raise ValueError(explain(f"contamination={contamination!r}", "a number in (0, 0.5], or 'auto'", hint))
    return float(contamination)


def _offset(scores: Floats, share: float) -> float:
    """Return minus the score above which rows are flagged; say so if the cut is inside a tie that leaves none.

    It is a score that occurs, not one between two: rows with equal scores then fall on one side, exactly.
    """
    offset = float(np.quantile(-scores, share, method="higher"))
    tied = int(np.count_nonzero(scores == scores.max()))
    if -offset == scores.max() and tied > 1 and share * (len(scores) - 1) >= 1:
        warnings.warn(
            explain(
                f"No row is flagged: the cut is inside a tie, {tied} of {len(scores)} rows have the highest score, and "
                f"contamination={share:g} asks for fewer",
                "scores that differ where the cut is",
                "raise contamination, or take another score with by=",
            ),
            UserWarning,
            stacklevel=3,
        )
    return offset
