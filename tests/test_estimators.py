"""The scikit-learn estimators: conventions, agreement with scikit-learn, levels, outliers among old and new rows."""

from __future__ import annotations

import inspect
import pickle
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.spatial import distance
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, FeatureAgglomeration
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import cosine_distances, euclidean_distances, manhattan_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import reliac
from reliac import ReliableAgglomerativeClustering, ReliableFeatureAgglomeration, ReliableOutlierDetector
from reliac.estimators import tables
from reliac.tree import placing as scoring

MANY_TIES = pytest.mark.filterwarnings("ignore:No row is flagged")
SCORES = ("level", "distance", "level of 5", "distance of 10")
SHARED = ("ward", "complete", "average", "single")
ALL = (*SHARED, "weighted", "centroid", "median")


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, 3, centers=4, cluster_std=1.5, random_state=3)[0]


@pytest.fixture(scope="module")
def planted():
    """A dense cloud, then three lone rows around it, each nearer to the cloud than to another of them."""
    cloud = np.random.default_rng(0).normal(size=(150, 2))
    return np.vstack((cloud, [[9.0, 9.0], [-9.0, 9.0], [0.0, -11.0]]))


def same_partition(a, b):
    return adjusted_rand_score(a, b) == 1.0


def members_of_merges(children, n):
    """The set of rows below every merge, which does not depend on how nodes are numbered."""
    members = [frozenset([i]) for i in range(n)]
    for left, right in children:
        members.append(members[left] | members[right])
    return members[n:]


# --- conventions ---


class WholeTable:
    """Euclidean distances as a function of the whole table; its name is the same in every process."""

    def __call__(self, X, Y=None):
        """Compare all rows."""
        return euclidean_distances(X, Y)

    def __repr__(self):
        """Name it."""
        return "WholeTable()"


class Largest:
    """The largest along an axis, under a name that is the same in every process."""

    def __call__(self, X, axis=None):
        """Pool some columns."""
        return np.max(X, axis=axis)

    def __repr__(self):
        """Name it."""
        return "Largest()"


@parametrize_with_checks(
    [
        ReliableAgglomerativeClustering(),
        ReliableAgglomerativeClustering(linkage="single", compute_full_tree=False),
        ReliableAgglomerativeClustering(linkage="centroid", alpha=0.0),
        ReliableAgglomerativeClustering(linkage="upgma", n_jobs=1, progress=True),
        ReliableAgglomerativeClustering(max_size=1000),
        ReliableAgglomerativeClustering(linkage="average", metric=WholeTable()),
        ReliableFeatureAgglomeration(),
        ReliableFeatureAgglomeration(linkage="average", metric=WholeTable(), pooling_func=Largest()),
        ReliableOutlierDetector(),
        ReliableOutlierDetector("single", contamination="auto"),
        ReliableOutlierDetector("ward", metric="sqeuclidean"),
        ReliableOutlierDetector("average", by="level"),
        ReliableOutlierDetector(by="level of 5", n_jobs=1),
        ReliableOutlierDetector("complete", metric=WholeTable(), by="distance"),
    ]
)
@MANY_TIES  # of a few random rows many have the highest score
def test_every_check_of_scikit_learn_passes(estimator, check):
    check(estimator)


def test_the_parameters_begin_with_those_of_scikit_learn_in_order_and_with_their_defaults():
    def signature(estimator):
        return [(p.name, p.default, p.kind) for p in inspect.signature(estimator).parameters.values()]

    for ours, theirs in (
        (ReliableAgglomerativeClustering, AgglomerativeClustering),
        (ReliableFeatureAgglomeration, FeatureAgglomeration),
    ):
        assert signature(ours)[: len(signature(theirs))] == signature(theirs)


@pytest.mark.parametrize("estimator", [ReliableAgglomerativeClustering(3), ReliableOutlierDetector("single")])
def test_a_clone_is_unfitted_and_has_the_same_parameters(estimator, blobs):
    copy = clone(estimator.fit(blobs))
    assert copy.get_params() == estimator.get_params()
    assert not hasattr(copy, "tree_")


def test_a_pickled_estimator_keeps_its_labels_and_its_tree(blobs):
    model = ReliableAgglomerativeClustering(3).fit(blobs)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.labels_, model.labels_)
    np.testing.assert_array_equal(copy.tree_.links, model.tree_.links)


def test_a_pickled_detector_scores_new_rows_as_before(planted):
    detector = ReliableOutlierDetector().fit(planted)
    new = planted[:40] + 0.3
    copy = pickle.loads(pickle.dumps(detector))
    np.testing.assert_array_equal(copy.score_samples(new), detector.score_samples(new))


def test_a_pipeline_passes_row_and_column_names_through_to_the_estimator(blobs):
    names = [f"row {i}" for i in range(len(blobs))]
    frame = pd.DataFrame(blobs, columns=["a", "b", "c"], index=names)
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), ReliableAgglomerativeClustering(3))
    labels = pipeline.fit_predict(frame)
    model = pipeline[-1]
    assert model.tree_.names.tolist() == names
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(labels, ReliableAgglomerativeClustering(3).fit_predict(scaled(blobs)))


def scaled(rows):
    return StandardScaler().fit_transform(rows)


def test_columns_in_another_order_are_refused_after_fit(planted):
    detector = ReliableOutlierDetector().fit(pd.DataFrame(planted, columns=["a", "b"]))
    with pytest.raises(ValueError, match="feature names"):
        detector.predict(pd.DataFrame(planted, columns=["b", "a"]))


@pytest.mark.parametrize("make", [ReliableAgglomerativeClustering, ReliableOutlierDetector])
def test_float32_stays_float32(make, blobs):
    narrow = blobs.astype(np.float32)
    assert make().fit(narrow).tree_.problem.objects.rows.dtype == np.float32
    assert make().fit(pd.DataFrame(narrow)).tree_.problem.objects.rows.dtype == np.float32


@pytest.mark.parametrize("make", [ReliableAgglomerativeClustering, ReliableOutlierDetector])
def test_a_bad_number_is_refused_by_row_and_column(make, blobs):
    frame = pd.DataFrame(blobs, columns=["a", "b", "c"])
    frame.loc[7, "b"] = np.nan
    with pytest.raises(ValueError, match=r"NaN \(first at row 7, column 'b'\).*Allowed: .*Next: "):
        make().fit(frame)


@pytest.mark.parametrize("make", [ReliableAgglomerativeClustering, ReliableOutlierDetector])
def test_a_column_of_text_is_refused_by_its_name_in_pandas_and_polars_frames(make, blobs):
    n = len(blobs)
    for texts in (
        [f"row {i}" for i in range(n)],
        [str(i) for i in range(n)],
        ["a"] * n,
    ):  # even if it looks like numbers
        columns = {"name": texts, "value": blobs[:, 0]}
        for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
            with pytest.raises(
                TypeError, match=rf"Column 'name' is not numeric: '{texts[0]}' in row 0\. Allowed: .*Next: "
            ):
                make().fit(frame)
    assert make().fit(pl.DataFrame({"value": blobs[:, 0]})).feature_names_in_.tolist() == ["value"]


@pytest.mark.parametrize("make", [ReliableAgglomerativeClustering, ReliableOutlierDetector])
def test_masked_values_are_refused(make, blobs):
    masked = np.ma.masked_array(blobs, mask=False)
    make().fit(masked)
    masked[3, 1] = np.ma.masked
    with pytest.raises(ValueError, match=r"masked .*row 3, column 1"):
        make().fit(masked)


def test_memory_caches_the_tree(tmp_path, blobs):
    first = ReliableAgglomerativeClustering(3, memory=str(tmp_path)).fit(blobs)
    again = ReliableAgglomerativeClustering(5, memory=str(tmp_path)).fit(blobs)
    assert first.tree_.problem is not None
    assert again.tree_.problem is None  # read back, not built
    np.testing.assert_array_equal(again.labels_, first.tree_.labels(5))
    # How a run goes does not change its tree, so what was kept is taken.
    other_run = {"n_jobs": 1, "progress": print, "checkpoint": tmp_path / "kept.reliac"}
    assert ReliableAgglomerativeClustering(5, memory=str(tmp_path), **other_run).fit(blobs).tree_.problem is None
    assert ReliableAgglomerativeClustering(5, memory=str(tmp_path), alpha=0.5).fit(blobs).tree_.problem is not None


# --- changing the import ---


@pytest.mark.parametrize("linkage", SHARED)
@pytest.mark.parametrize("n_clusters", [1, 2, 5, 40, 120])
def test_changing_the_import_gives_the_same_partition(blobs, linkage, n_clusters):
    theirs = AgglomerativeClustering(n_clusters, linkage=linkage).fit(blobs)
    ours = ReliableAgglomerativeClustering(n_clusters, linkage=linkage).fit(blobs)
    assert same_partition(ours.labels_, theirs.labels_)
    assert ours.n_clusters_ == theirs.n_clusters_ == len(set(ours.labels_))
    assert ours.n_leaves_ == theirs.n_leaves_
    assert ours.n_connected_components_ == theirs.n_connected_components_
    assert ours.n_features_in_ == theirs.n_features_in_


@pytest.mark.parametrize("linkage", SHARED)
def test_changing_the_import_gives_the_same_merges_at_the_same_distances(blobs, linkage):
    theirs = AgglomerativeClustering(linkage=linkage, compute_distances=True).fit(blobs)
    ours = ReliableAgglomerativeClustering(linkage=linkage).fit(blobs)
    n = len(blobs)
    expected = dict(zip(members_of_merges(theirs.children_, n), theirs.distances_, strict=True))
    found = dict(zip(members_of_merges(ours.children_, n), ours.distances_, strict=True))
    assert found.keys() == expected.keys()
    np.testing.assert_allclose([found[rows] for rows in expected], list(expected.values()), rtol=1e-9)


@pytest.mark.parametrize("linkage", SHARED)
def test_a_distance_threshold_gives_the_same_clusters_also_where_it_meets_a_merge(blobs, linkage):
    distances = ReliableAgglomerativeClustering(linkage=linkage).fit(blobs).distances_
    for threshold in (0.0, distances[60], np.nextafter(distances[60], 9e9), distances[-5], distances[-1] + 1):
        ours = ReliableAgglomerativeClustering(None, linkage=linkage, distance_threshold=threshold).fit(blobs)
        assert ours.n_clusters_ == np.count_nonzero(distances >= threshold) + 1 == len(set(ours.labels_))
    middle = (distances[-4] + distances[-5]) / 2
    options = {"linkage": linkage, "distance_threshold": middle}
    ours = ReliableAgglomerativeClustering(None, **options).fit(blobs)
    theirs = AgglomerativeClustering(None, **options).fit(blobs)
    assert ours.n_clusters_ == theirs.n_clusters_ == 5
    assert same_partition(ours.labels_, theirs.labels_)


@pytest.mark.parametrize("linkage", ["centroid", "median"])
def test_a_distance_threshold_never_splits_what_an_inversion_joined(linkage):
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])  # the third row is nearer to the middle of the two
    model = ReliableAgglomerativeClustering(None, linkage=linkage, distance_threshold=0.95).fit(triangle)
    assert model.distances_[1] < model.distances_[0]
    assert model.n_clusters_ == 3
    assert model.labels_.tolist() == [0, 1, 2]
    model.set_params(distance_threshold=1.1).fit(triangle)
    assert model.labels_.tolist() == [0, 0, 0]


@pytest.mark.parametrize(("linkage", "metric"), [("average", "l1"), ("complete", "cosine"), ("single", "manhattan")])
def test_other_metrics_give_the_same_partition(blobs, linkage, metric):
    options = {"n_clusters": 4, "linkage": linkage, "metric": metric}
    theirs = AgglomerativeClustering(**options).fit_predict(blobs)
    assert same_partition(ReliableAgglomerativeClustering(**options).fit_predict(blobs), theirs)


@pytest.mark.parametrize("linkage", ALL)
def test_given_distances_give_the_tree_of_the_rows_they_come_from(blobs, linkage):
    from_rows = ReliableAgglomerativeClustering(4, linkage=linkage).fit(blobs)
    given = ReliableAgglomerativeClustering(4, linkage=linkage, metric="precomputed").fit(squareform(pdist(blobs)))
    np.testing.assert_array_equal(given.labels_, from_rows.labels_)
    np.testing.assert_allclose(given.distances_, from_rows.distances_, rtol=1e-9)


@pytest.mark.parametrize("linkage", ALL)
def test_sparse_rows_give_the_tree_of_the_dense_ones(linkage):
    rows = sparse.random_array((60, 30), density=0.2, rng=np.random.default_rng(1), format="csr")
    dense = ReliableAgglomerativeClustering(5, linkage=linkage).fit(rows.toarray())
    np.testing.assert_array_equal(ReliableAgglomerativeClustering(5, linkage=linkage).fit_predict(rows), dense.labels_)


# --- what comes on top ---


@pytest.mark.parametrize("linkage", ALL)
def test_children_distances_and_levels_are_rows_of_one_table(blobs, linkage):
    model = ReliableAgglomerativeClustering(linkage=linkage).fit(blobs)
    links = model.tree_.links
    n = len(blobs)
    ends = np.column_stack((links["left"], links["right"]))
    facts = zip(links["distance"].tolist(), links["level"].tolist(), strict=True)
    expected = dict(zip(members_of_merges(ends, n), facts, strict=True))
    facts = zip(model.distances_.tolist(), model.levels_.tolist(), strict=True)
    assert dict(zip(members_of_merges(model.children_, n), facts, strict=True)) == expected
    assert (np.diff(model.levels_) < 0).any()  # sorted by distance, so the table tests something


@pytest.mark.parametrize("linkage", ALL)
def test_alpha_0_makes_one_merge_a_level(blobs, linkage):
    model = ReliableAgglomerativeClustering(3, linkage=linkage, alpha=0.0).fit(blobs)
    assert sorted(model.levels_) == list(range(1, len(blobs)))


def test_tie_tolerance_reaches_the_tree():
    rows = [[0.0], [1.0], [2.0 + 1e-9], [10.0]]
    assert ReliableAgglomerativeClustering(linkage="single").fit(rows).levels_.tolist() == [1, 2, 3]
    model = ReliableAgglomerativeClustering(linkage="single", tie_tolerance=1e-6).fit(rows)
    assert model.levels_.tolist() == [1, 1, 2]


@pytest.mark.parametrize("linkage", ALL)
def test_compute_full_tree_false_stops_early_with_the_merges_in_level_order(blobs, linkage):
    stopped = ReliableAgglomerativeClustering(7, linkage=linkage, compute_full_tree=False).fit(blobs)
    full = ReliableAgglomerativeClustering(7, linkage=linkage).fit(blobs)
    assert stopped.children_.shape == (len(blobs) - 7, 2)
    assert len(stopped.distances_) == len(stopped.levels_) == len(blobs) - 7
    assert (np.diff(stopped.levels_) >= 0).all()
    assert stopped.n_clusters_ == 7 == len(set(stopped.labels_))
    np.testing.assert_array_equal(stopped.labels_, full.tree_.labels(7, by="level"))


# --- what estimators hand on to the library ---


def test_threads_progress_and_checkpoint_reach_the_run(blobs, tmp_path, monkeypatch):
    seen = []

    def cluster(*given, **options):
        seen.append(options)
        return reliac.cluster(*given, **options)

    monkeypatch.setattr(tables, "cluster", cluster)
    told = []
    options = {"n_jobs": 1, "progress": told.append, "checkpoint": tmp_path / "kept"}
    for make in (ReliableAgglomerativeClustering, ReliableFeatureAgglomeration, ReliableOutlierDetector):
        make(**options).fit(blobs)
        assert {name: seen[-1][name] for name in options} == options
        assert told
        told.clear()


def test_a_run_that_was_stopped_goes_on_from_the_checkpoint_of_the_estimator(blobs, tmp_path):
    def stop(progress):
        if progress.level == 3:
            raise KeyboardInterrupt

    kept = tmp_path / "kept"
    options = {"alpha": 0.5, "checkpoint": kept}
    with pytest.raises(reliac.Interrupted):
        ReliableAgglomerativeClustering(3, progress=stop, **options).fit(blobs)
    assert kept.exists()
    model = ReliableAgglomerativeClustering(3, **options).fit(blobs)
    assert not kept.exists()
    np.testing.assert_array_equal(model.labels_, ReliableAgglomerativeClustering(3, alpha=0.5).fit_predict(blobs))


@pytest.mark.parametrize("linkage", ALL)
def test_max_level_gives_the_clusters_of_that_level(blobs, linkage):
    model = ReliableAgglomerativeClustering(None, linkage=linkage, max_level=3).fit(blobs)
    full = ReliableAgglomerativeClustering(linkage=linkage).fit(blobs)
    np.testing.assert_array_equal(model.labels_, full.tree_.labels(level=3))
    assert model.n_clusters_ == full.tree_.cluster_counts[3] == len(set(model.labels_))
    assert len(model.children_) == len(blobs) - model.n_clusters_
    assert model.levels_.max() == 3
    assert ReliableAgglomerativeClustering(None, linkage=linkage, max_level=999).fit(blobs).n_clusters_ == 1


def test_a_detector_that_stops_after_some_levels_gives_the_rest_the_score_1(planted):
    detector = ReliableOutlierDetector(by="level", max_level=2, contamination="auto").fit(planted)
    assert detector.tree_.n_levels == 2
    assert (detector.outlier_scores_[-3:] == 1.0).all()
    assert detector.score_samples([[900.0, 900.0]]).tolist() == [-1.0]


def test_a_weight_counts_as_so_many_equal_rows(blobs):
    weights = np.random.default_rng(1).integers(1, 4, len(blobs))
    for linkage in ALL:
        model = ReliableAgglomerativeClustering(4, linkage=linkage).fit(blobs, sample_weight=weights)
        tree = reliac.cluster(blobs, linkage, metric="euclidean", weights=weights)
        np.testing.assert_array_equal(model.labels_, tree.labels(4))
    repeated = ReliableAgglomerativeClustering(4, linkage="average").fit_predict(np.repeat(blobs, weights, axis=0))
    weighted = ReliableAgglomerativeClustering(4, linkage="average").fit_predict(blobs, sample_weight=weights)
    assert same_partition(repeated, np.repeat(weighted, weights))


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_rows_of_weight_0_take_no_part(blobs, metric):
    data = blobs if metric == "euclidean" else squareform(pdist(blobs))
    weights = np.ones(len(blobs))
    weights[[3, 50, 119]] = 0.0
    kept = np.flatnonzero(weights)
    model = ReliableAgglomerativeClustering(4, metric=metric).fit(data, sample_weight=weights)
    assert model.labels_[[3, 50, 119]].tolist() == [-1, -1, -1]
    assert model.n_leaves_ == len(kept)
    rest = data[kept] if metric == "euclidean" else data[np.ix_(kept, kept)]
    np.testing.assert_array_equal(
        model.labels_[kept], ReliableAgglomerativeClustering(4, metric=metric).fit_predict(rest)
    )


def test_names_of_a_frame_stay_with_their_rows_where_some_have_weight_0(blobs):
    frame = pd.DataFrame(blobs, columns=list("abc"), index=[f"row {i}" for i in range(len(blobs))])
    weights = [0.0, *[2.0] * 119]
    model = ReliableAgglomerativeClustering(4).fit(frame, sample_weight=weights)
    assert model.tree_.names.tolist() == frame.index[1:].tolist()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(120), "All sample weights are zero"),
        (np.ones(7), r"weights of shape \(7,\) for 120 rows"),
        (np.r_[0.0, -1.0, np.ones(118)], "weight .* of row"),
    ],
)
def test_weights_that_mean_nothing_are_refused(blobs, weights, message):
    with pytest.raises(ValueError, match=rf"{message}.*Allowed: .*Next: "):
        ReliableAgglomerativeClustering().fit(blobs, sample_weight=weights)


# --- metrics of whole tables, as scikit-learn has them ---


def half_steps(table):
    return cdist(table, table, "cityblock") / 2.0


@pytest.mark.parametrize("metric", [manhattan_distances, cosine_distances, half_steps, partial(euclidean_distances)])
@pytest.mark.parametrize("linkage", ["average", "complete", "single"])
def test_a_function_of_the_whole_table_works_as_in_scikit_learn(blobs, linkage, metric):
    options = {"n_clusters": 4, "linkage": linkage, "metric": metric}
    model = ReliableAgglomerativeClustering(**options).fit(blobs)
    assert same_partition(model.labels_, AgglomerativeClustering(**options).fit_predict(blobs))
    frame = pd.DataFrame(blobs, index=[f"row {i}" for i in range(len(blobs))]).rename(columns=str)
    assert ReliableAgglomerativeClustering(**options).fit(frame).tree_.names.tolist() == frame.index.tolist()


def test_a_function_that_needs_two_arguments_gets_two_rows(blobs):
    for metric in (lambda a, b: abs(a - b).sum(), distance.cityblock):
        model = ReliableAgglomerativeClustering(4, linkage="average", metric=metric).fit(blobs)
        expected = ReliableAgglomerativeClustering(4, linkage="average", metric="cityblock").fit_predict(blobs)
        np.testing.assert_array_equal(model.labels_, expected)


@pytest.mark.parametrize("metric", [manhattan_distances, half_steps])
@pytest.mark.parametrize("by", ["level", "distance of 10"])
def test_new_rows_are_scored_by_a_function_of_whole_tables(blobs, metric, by):
    new = np.random.default_rng(5).normal(scale=6.0, size=(40, 3))
    found = ReliableOutlierDetector(metric=metric, by=by).fit(blobs).score_samples(new)
    expected = ReliableOutlierDetector(metric="cityblock", by=by).fit(blobs).score_samples(new)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("linkage", "metric", "message"),
    [
        ("ward", manhattan_distances, "criterion='ward' with metric="),
        ("average", lambda table: table, r"gives shape \(120, 3\) for a table of 120 rows"),
        ("average", lambda table: np.triu(cdist(table, table)), "Not symmetric"),
    ],
)
def test_a_function_of_the_whole_table_that_cannot_work_is_refused(blobs, linkage, metric, message):
    with pytest.raises(ValueError, match=rf"{message}.*Allowed: .*Next: "):
        ReliableAgglomerativeClustering(linkage=linkage, metric=metric).fit(blobs)


# --- clusters of columns ---


@pytest.mark.parametrize("linkage", SHARED)
@pytest.mark.parametrize("pooling_func", [np.mean, np.max, np.median])
def test_columns_are_pooled_as_scikit_learn_pools_them(linkage, pooling_func):
    X = make_blobs(40, 12, centers=3, random_state=1)[0]
    options = {"n_clusters": 4, "linkage": linkage, "pooling_func": pooling_func}
    theirs, ours = FeatureAgglomeration(**options).fit(X), ReliableFeatureAgglomeration(**options).fit(X)
    assert same_partition(ours.labels_, theirs.labels_)
    order = [theirs.labels_[np.flatnonzero(ours.labels_ == label)[0]] for label in range(4)]
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X)[:, order])
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), theirs.inverse_transform(theirs.transform(X)))


def test_names_of_columns_are_names_in_the_tree_and_pooled_columns_have_names_of_their_own(blobs):
    frame = pd.DataFrame(np.column_stack((blobs, blobs + 0.1)), columns=list("abcdef"))
    model = ReliableFeatureAgglomeration(3).set_output(transform="pandas").fit(frame)
    assert model.tree_.names.tolist() == list("abcdef")
    assert model.labels_.tolist() == [0, 1, 2, 0, 1, 2]
    assert model.transform(frame).columns.tolist() == [f"reliablefeatureagglomeration{i}" for i in range(3)]
    fitted = make_pipeline(StandardScaler(), ReliableFeatureAgglomeration(2), ReliableAgglomerativeClustering(3)).fit(
        frame
    )
    assert len(set(fitted[-1].labels_)) == 3


def test_columns_are_cut_by_distance_or_level_too(blobs):
    X = np.column_stack((blobs, blobs + 0.1))
    by_distance = ReliableFeatureAgglomeration(None, distance_threshold=5.0).fit(X)
    by_level = ReliableFeatureAgglomeration(None, max_level=1).fit(X)
    assert by_distance.n_clusters_ == by_level.n_clusters_ == 3
    np.testing.assert_array_equal(by_distance.labels_, by_level.labels_)
    with pytest.raises(ValueError, match=r"n_clusters=7.*6 features"):
        ReliableFeatureAgglomeration(7).fit(X)
    with pytest.raises(ValueError, match=r"X has 2 columns.*Allowed: .*3 clusters.*Next: "):
        by_level.inverse_transform(np.ones((4, 2)))


# --- refusals ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 2, "distance_threshold": 1.0}, "Exactly one of n_clusters and distance_threshold"),
        ({"n_clusters": None}, "Exactly one of n_clusters and distance_threshold"),
        ({"n_clusters": 2, "max_level": 3}, "n_clusters=2 and .* and max_level=3.*or max_level alone"),
        ({"n_clusters": None, "max_level": -1}, "max_level=-1"),
        (
            {"n_clusters": None, "distance_threshold": 1.0, "compute_full_tree": False},
            "compute_full_tree must be True if distance_threshold is set",
        ),
        ({"n_clusters": None, "distance_threshold": -1.0}, "distance_threshold=-1.0"),
        ({"n_clusters": 0}, "n_clusters=0"),
        ({"n_clusters": 121}, "n_clusters=121.*120 samples"),
        ({"connectivity": np.eye(120)}, "n_clusters=2 .* 120 connected components"),
        ({"compute_full_tree": "yes"}, "compute_full_tree='yes'"),
        ({"linkage": "wards"}, "did you mean 'ward'"),
        ({"metric": "cosine"}, "criterion='ward' with metric='cosine'"),
        ({"alpha": 2.0}, "alpha=2.0"),
    ],
)
def test_what_cannot_work_is_refused_in_three_parts(blobs, options, message):
    with pytest.raises(ValueError, match=rf"{message}") as raised:
        ReliableAgglomerativeClustering(**options).fit(blobs)
    assert "Allowed: " in str(raised.value)
    assert "Next: " in str(raised.value)


@pytest.mark.parametrize("contamination", [0, 0.0, 0.6, -0.1, True, "often", None, np.nan])
def test_a_contamination_outside_its_range_is_refused(planted, contamination):
    with pytest.raises(ValueError, match=r"contamination=.*Allowed: .*'auto'.*Next: "):
        ReliableOutlierDetector(contamination=contamination).fit(planted)


def test_sparse_distances_are_refused():
    with pytest.raises(TypeError, match="dense"):
        ReliableOutlierDetector(metric="precomputed").fit(sparse.eye_array(5, format="csr"))


# --- outliers among the training rows ---


@pytest.mark.parametrize("linkage", ALL)
def test_planted_outliers_have_the_highest_scores(planted, linkage):
    detector = ReliableOutlierDetector(linkage).fit(planted)
    scores = detector.outlier_scores_
    assert scores[-3:].min() >= np.sort(scores[:-3])[-4]
    assert (detector.fit_predict(planted)[-3:] == -1).all()


def test_planted_outliers_are_flagged_without_a_contamination(planted):
    flagged = np.flatnonzero(ReliableOutlierDetector(contamination="auto").fit_predict(planted) == -1)
    assert set(flagged) >= {150, 151, 152}
    assert len(flagged) < 10


@pytest.mark.parametrize("contamination", [0.01, 0.05, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("linkage", ["single", "average", "ward"])
def test_contamination_is_honoured_up_to_ties(planted, linkage, contamination):
    detector = ReliableOutlierDetector(linkage, contamination=contamination).fit(planted)
    wanted = int(np.ceil(contamination * (len(planted) - 1)))
    flagged = int((detector.predict(planted) == -1).sum())
    at_the_border = int((-detector.outlier_scores_ == detector.offset_).sum())
    assert flagged <= wanted < flagged + at_the_border


@pytest.mark.parametrize("contamination", [0.05, "auto"])
def test_fit_predict_is_fit_then_predict(planted, contamination):
    detector = ReliableOutlierDetector(contamination=contamination)
    np.testing.assert_array_equal(detector.fit_predict(planted), detector.fit(planted).predict(planted))


def test_the_attributes_are_what_the_tree_says(planted):
    detector = ReliableOutlierDetector("single").fit(planted)
    tree = reliac.cluster(planted, "single", metric="euclidean")
    np.testing.assert_array_equal(detector.join_levels_, tree.join_levels)
    np.testing.assert_array_equal(detector.outlier_scores_, tree.outlier_scores("distance of 10"))
    for by in SCORES:
        detector.set_params(by=by).fit(planted)
        np.testing.assert_array_equal(detector.outlier_scores_, tree.outlier_scores(by))


def test_the_offset_of_auto_is_twice_the_upper_quartile_of_distances_and_half_of_the_levels(planted):
    detector = ReliableOutlierDetector(contamination="auto").fit(planted)
    assert detector.offset_ == -2.0 * np.quantile(detector.outlier_scores_, 0.75)
    assert detector.set_params(by="level of 5").fit(planted).offset_ == -0.5


def test_a_contamination_that_a_tie_keeps_from_flagging_anybody_is_said():
    with pytest.warns(UserWarning, match=r"No row is flagged: the cut is inside a tie, 40 of 40 rows.*Next: raise"):
        detector = ReliableOutlierDetector(by="distance of 40", contamination=0.1).fit(np.ones((40, 1)))
    assert (detector.predict(np.ones((3, 1))) == 1).all()


@MANY_TIES
@pytest.mark.parametrize("by", SCORES)
@pytest.mark.parametrize("alpha", [1.0, 0.5])
@pytest.mark.parametrize(
    ("linkage", "metric"),
    [
        *((linkage, "euclidean") for linkage in ALL),
        ("ward", "sqeuclidean"),
        *(("average", metric) for metric in ("cosine", "correlation", "seuclidean", "mahalanobis", "jaccard")),
        ("average", lambda x, y: np.abs(x - y).sum() + 1e-12),  # a row is not at distance 0 from itself
    ],
)
def test_score_samples_on_training_rows_is_minus_their_outlier_score_exactly(linkage, metric, alpha, by):
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(60, 4))
    lattice = rng.integers(0, 3, size=(30, 4)) + np.array([0.5, 0.0, 0.0, 0.25])
    rows = np.vstack((rows, rows[:10], 3.0 * rows[:20], lattice))
    detector = ReliableOutlierDetector(linkage, metric=metric, alpha=alpha, by=by).fit(rows)
    np.testing.assert_array_equal(detector.score_samples(rows), -detector.tree_.outlier_scores(by))
    shuffled = rng.permutation(len(rows))[:37]
    np.testing.assert_array_equal(detector.score_samples(rows[shuffled]), -detector.outlier_scores_[shuffled])


# --- outliers among new rows ---


def level_by_definition(tree, i, reach, size=1):
    """Climb from object i to the first link as far as ``reach`` and as large as ``size``; a level more if none is."""
    parent = {}
    for row, link in enumerate(tree.links):
        parent[link["left"]] = parent[link["right"]] = row
    node = i
    while node in parent:
        row = parent[node]
        if tree.monotone_distances[row] >= reach and tree.links["size"][row] >= size:
            return tree.links["level"][row]
        node = tree.n_objects + row
    return tree.n_levels + 1


@MANY_TIES
@pytest.mark.parametrize(("by", "size"), [("level", 1), ("level of 10", 9)])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
@pytest.mark.parametrize("linkage", ALL)
def test_a_new_row_gets_the_first_level_at_which_its_nearest_row_merges_that_far(blobs, linkage, metric, by, size):
    new = np.random.default_rng(5).normal(scale=8.0, size=(80, 3))
    detector = ReliableOutlierDetector(linkage, metric=metric, by=by).fit(blobs)
    tree = detector.tree_
    expected = []
    for row in cdist(new, blobs):
        pair = reliac.cluster([[0.0], [row.min()]], linkage, metric=metric)  # how far two such objects merge
        expected.append(level_by_definition(tree, int(row.argmin()), pair.links["distance"][0], size))
    assert len(set(expected)) > 3
    np.testing.assert_array_equal(detector.score_samples(new), -np.minimum(np.divide(expected, tree.n_levels), 1.0))


@pytest.mark.parametrize("size", [2, 3, 10])
def test_a_new_row_scores_as_in_the_single_tree_that_holds_it_unless_it_is_a_bridge(blobs, size):
    by = f"distance of {size}"
    new = np.random.default_rng(5).normal(scale=8.0, size=(60, 3))
    detector = ReliableOutlierDetector(by=by).fit(blobs)
    largest = detector.tree_.links["distance"].max()
    exact = 0
    for row, score in zip(new, detector.score_samples(new), strict=True):
        tree = reliac.cluster(np.vstack((blobs, row)), "single", metric="euclidean")
        true = tree.outlier_scores(by)[-1] * tree.links["distance"].max() / largest
        assert -score >= true - 1e-12  # a bridge between two clusters makes one large cluster of them
        exact += abs(-score - true) < 1e-12
    assert exact >= (60 if size == 2 else 45)


@pytest.mark.parametrize("linkage", ALL)
def test_by_distance_a_new_row_is_as_far_as_its_nearest_row_and_that_ones_company(blobs, linkage):
    new = np.random.default_rng(5).normal(scale=8.0, size=(60, 3))
    detector = ReliableOutlierDetector(linkage).fit(blobs)
    tree = detector.tree_
    largest = tree.links["distance"].max()
    apart = cdist(new, blobs)
    company = tree.outlier_scores("distance of 9")[apart.argmin(axis=1)]
    np.testing.assert_allclose(
        detector.score_samples(new), -np.maximum(company, apart.min(axis=1) / largest), rtol=1e-12
    )


def test_the_nearest_training_row_that_joins_first_decides_a_tie():
    rows = np.array([[0.0], [1.0], [3.0], [4.5], [8.0], [16.0], [16.5]])
    for order in (np.arange(7), np.arange(7)[::-1]):
        detector = ReliableOutlierDetector("single", by="level").fit(rows[order])
        joins = dict(zip(rows[order].ravel().tolist(), detector.join_levels_.tolist(), strict=True))
        assert joins[4.5] < joins[8.0]
        level = level_by_definition(detector.tree_, int(np.flatnonzero(rows[order] == 4.5)[0]), 1.75)
        assert level < joins[8.0]
        assert detector.score_samples([[6.25]]).tolist() == [-level / detector.tree_.n_levels]


@pytest.mark.parametrize("linkage", ALL)
def test_a_new_far_row_scores_lower_than_a_new_inlier(planted, linkage):
    detector = ReliableOutlierDetector(linkage).fit(planted)
    new = [[0.1, 0.1], [7.0, -7.0], [900.0, 900.0], [9000.0, 900.0]]
    inlier, far, farther, farthest = detector.score_samples(new)
    assert inlier > far > farther > farthest
    inlier, far, farther, farthest = detector.set_params(by="level").fit(planted).score_samples(new)
    assert inlier > far >= farther == farthest == -1.0


def test_new_rows_are_flagged_by_their_scores(planted):
    detector = ReliableOutlierDetector(contamination="auto").fit(planted)
    new = [[0.1, 0.1], [-0.5, 0.7], [7.0, -7.0], [900.0, 900.0]]
    assert detector.predict(new).tolist() == [1, 1, -1, -1]
    np.testing.assert_array_equal(detector.decision_function(new), detector.score_samples(new) - detector.offset_)
    by_level = ReliableOutlierDetector(contamination="auto", by="level").fit(planted)
    assert by_level.predict(new).tolist() == [1, 1, -1, -1]
    np.testing.assert_array_equal(by_level.decision_function(new), by_level.score_samples(new) + 0.5)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "seuclidean", "mahalanobis", "cityblock"])
def test_scores_do_not_depend_on_the_batch_or_on_the_size_of_the_blocks(blobs, metric, monkeypatch):
    detector = ReliableOutlierDetector(metric=metric).fit(blobs)
    new = np.random.default_rng(6).normal(scale=6.0, size=(50, 3))
    together = detector.score_samples(new)
    one_by_one = np.concatenate([detector.score_samples(row[None]) for row in new])
    np.testing.assert_array_equal(one_by_one, together)
    monkeypatch.setattr(scoring, "BLOCK", 256)
    np.testing.assert_array_equal(detector.score_samples(new), together)


def test_given_distances_score_new_rows_as_the_rows_do(planted):
    new = planted[:50] + 0.4
    from_rows = ReliableOutlierDetector().fit(planted)
    given = ReliableOutlierDetector(metric="precomputed").fit(squareform(pdist(planted)))
    np.testing.assert_array_equal(given.score_samples(cdist(new, planted)), from_rows.score_samples(new))
    np.testing.assert_array_equal(given.score_samples(cdist(planted, planted)), -given.outlier_scores_)


def test_given_distances_of_new_rows_must_be_to_all_training_rows_and_not_negative(planted):
    detector = ReliableOutlierDetector(metric="precomputed").fit(squareform(pdist(planted)))
    with pytest.raises(ValueError, match="expecting 153 features"):
        detector.predict(np.ones((2, 5)))
    with pytest.raises(ValueError, match=r"row 1 to training row 0 is -1.0.*Allowed: .*Next: drop or correct row 1"):
        detector.predict(np.vstack((np.ones(153), -np.ones(153))))


def test_a_new_row_without_a_distance_is_named(blobs):
    detector = ReliableOutlierDetector(metric="cosine").fit(blobs)
    with pytest.raises(ValueError, match="The distance of row 1 to training row 0 is nan"):
        detector.predict([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])


def test_sparse_and_dense_new_rows_score_alike():
    rows = sparse.random_array((80, 20), density=0.3, rng=np.random.default_rng(2), format="csr")
    detector = ReliableOutlierDetector().fit(rows[:50])
    expected = ReliableOutlierDetector().fit(rows[:50].toarray()).score_samples(rows.toarray())
    np.testing.assert_allclose(detector.score_samples(rows), expected, rtol=1e-12)
    np.testing.assert_array_equal(detector.score_samples(rows.toarray()), detector.score_samples(rows))


def test_equal_rows_under_the_standard_strategy_all_get_the_score_of_the_first_that_joins():
    rows = np.array([[0.0], [0.0], [0.0], [5.0], [7.0]])
    detector = ReliableOutlierDetector("single", alpha=0.0, by="level").fit(rows)
    assert detector.join_levels_[:3].tolist() == [1, 1, 2]
    assert detector.score_samples(rows[:3]).tolist() == [-0.25, -0.25, -0.25]


# --- constraints ---


def test_constraints_hold_in_the_labels_and_fewer_clusters_than_they_leave_are_an_error(blobs):
    must, cannot = [(0, 1), (1, 2)], [(0, 3), (4, 5)]
    model = ReliableAgglomerativeClustering(12, must_link=must, cannot_link=cannot, max_size=20).fit(blobs)
    assert all(model.labels_[i] == model.labels_[j] for i, j in must)
    assert all(model.labels_[i] != model.labels_[j] for i, j in cannot)
    assert np.bincount(model.labels_).max() <= 20
    tree = reliac.cluster(blobs, must_link=must, cannot_link=cannot, max_size=20)
    assert np.array_equal(model.labels_, tree.labels(12))
    again = clone(model).set_params(n_clusters=None, distance_threshold=np.inf).fit(blobs)
    assert again.n_clusters_ == tree.n_clusters
    for whole in (True, False):
        with pytest.raises(ValueError, match="drop constraints"):
            ReliableAgglomerativeClustering(2, max_size=20, compute_full_tree=whole).fit(blobs)


def test_rows_of_weight_0_take_no_part_in_constraints(blobs):
    weights = np.ones(len(blobs))
    weights[[1, 7]] = 0
    rows = np.flatnonzero(weights)
    must, cannot = [(0, 1), (1, 2), (3, 9)], [(4, 5), (7, 8)]
    model = ReliableAgglomerativeClustering(12, must_link=must, cannot_link=cannot, max_size=20)
    labels = model.fit(blobs, sample_weight=weights).labels_
    tree = reliac.cluster(blobs[rows], must_link=[(2, 7)], cannot_link=[(3, 4)], max_size=20)
    assert np.array_equal(labels[rows], tree.labels(12))


def test_constraints_go_by_the_names_of_a_frame():
    frame = pd.DataFrame({"x": [0.0, 1.0, 5.0, 6.0]}, index=["a", "b", "c", "d"])
    model = ReliableAgglomerativeClustering(2, cannot_link=[("a", "b")]).fit(frame)
    assert model.labels_[0] != model.labels_[1]


@pytest.mark.parametrize(
    ("name", "value"),
    [*((name, np.array([1, 2])) for name in ("n_clusters", "metric", "linkage", "alpha")), ("memory", "a\0")],
)
def test_parameters_of_odd_types_are_told_in_three_parts(name, value):
    with pytest.raises((TypeError, ValueError), match=r"Allowed: .*Next: "):
        reliac.ReliableAgglomerativeClustering(**{name: value}).fit(np.arange(12.0).reshape(6, 2))
